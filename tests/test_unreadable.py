"""JSON that somebody else wrote is malformed, of another shape or nested without end: a sentence, and nothing else."""

import ast
import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bough.core.acceptance.receipt import read_receipt
from bough.core.errors import UsageError
from bough.services import examine

SOURCES = Path(__file__).parents[1] / "src" / "bough"
DECODERS = ("msgspec.json.decode", "msgspec.msgpack.decode", "json.loads")
DEEP = "[" * 200_000


def find_guards(call: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """The errors that are expected around a call, as they are written."""
    guards = ""
    while call in parents:
        above = parents[call]
        if isinstance(above, ast.Try) and call in above.body:
            guards += " ".join(ast.unparse(handler.type) for handler in above.handlers if handler.type)
        elif isinstance(above, ast.With):
            guards += " ".join(ast.unparse(item.context_expr) for item in above.items)
        call = above
    return guards


def test_whoever_expects_malformed_text_expects_depth_too() -> None:
    """A decoder raises `RecursionError`, which is none of its own errors: see `UNREADABLE`."""
    wrong = []
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        parents = {below: above for above in ast.walk(tree) for below in ast.iter_child_nodes(above)}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in DECODERS:
                guards = find_guards(call, parents)
                if "Error" in guards and "RecursionError" not in guards and "UNREADABLE" not in guards:
                    wrong.append(f"{path.relative_to(SOURCES)}:{call.lineno}: {guards}")
    assert not wrong, wrong


@pytest.mark.parametrize("body", [DEEP, '{"predicate":' * 50_000, "9" * 5_000, "null", "\ufeff{}"])
def test_a_receipt_that_is_none(body: str) -> None:
    with pytest.raises(UsageError, match="is not a bough receipt"):
        read_receipt(body.encode(), "r.json")


@pytest.mark.parametrize("said", [DEEP, "", "[]", '{"title": 5}', '{"title": null}'])
def test_a_forge_that_says_something_else(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = SimpleNamespace(root=tmp_path)
    monkeypatch.setattr(examine, "run_theirs", lambda words, root: said)
    with pytest.raises(UsageError, match="cannot be read"):
        asyncio.run(examine.find_change(session, "#1"))
