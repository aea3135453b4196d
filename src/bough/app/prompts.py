"""The prompt templates that ship with bough."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def load_prompt(name: str) -> str:
    """A prompt template that ships with bough."""
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8")
