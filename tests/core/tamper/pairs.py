"""Small before and after texts, and what the tamper gate says about them."""

from __future__ import annotations

from textwrap import dedent

from bough.core.acceptance import Tampering
from bough.core.tamper import inspect

Files = dict[str, str]
TEST = "tests/test_calc.py"


def texts(files: Files) -> Files:
    return {path: dedent(text).lstrip("\n") for path, text in files.items()}


def one(text: str) -> Files:
    """A project with one test file."""
    return {TEST: text}


def findings(before: Files, after: Files, command: str = "pytest") -> list[Tampering]:
    return inspect(texts(before), texts(after), command)


def said(found: list[Tampering]) -> str:
    return "\n".join(f"{one.path}:{one.line}: {one.what}" for one in found)
