"""Calls of tools: what the model is told, and what it is told when it calls them wrongly."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.tools.output_text import cut_line, cut_middle, decode_output
from bough.adapters.tools.workbench import WorkbenchTools
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.events import DoneClaimed, NoteKept, encode
from bough.core.messages import Call
from bough.core.rules import Rules
from bough.ports import ToolResult, Tools
from tests.sampling import in_turn

TOOLS: Tools = WorkbenchTools(make_sandbox("auto", make_env(os.environ)))
NAMES = ["read", "write", "edit", "search", "list", "bash", "note", "propose_goal", "dispute", "split", "done"]


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    return make_plain_folder(tmp_path)


def raw(
    checkout: PlainFolder, name: str, arguments: str, rules: Rules | None = None, tools: Tools = TOOLS
) -> ToolResult:
    result = asyncio.run(tools.run(Call("1", name, arguments), checkout, rules or Rules(), lambda line: None))
    result.output.encode()  # no half characters: the journal must be able to hold it
    assert result.output
    return result


def use(checkout: PlainFolder, name: str, *, rules: Any = None, tools: Any = TOOLS, **arguments: Any) -> ToolResult:
    return raw(checkout, name, json.dumps(arguments), rules, tools)


# ── what the model is offered ───────────────────────────────────────────────────────────────────────────────────


def test_the_tools_and_which_of_them_write() -> None:
    assert [spec.name for spec in TOOLS.specs] == NAMES
    assert {spec.name for spec in TOOLS.specs if spec.writes} == {"write", "edit", "bash"}


def test_schemas_stand_by_themselves_and_describe_everything() -> None:
    for spec in TOOLS.specs:
        text = json.dumps(spec.parameters)
        assert "$ref" not in text and "$defs" not in text and "anyOf" not in text
        assert spec.parameters["type"] == "object" and spec.parameters["additionalProperties"] is False
        assert len(spec.description) > 30, f"say in the description when to use {spec.name}"
        for argument in spec.parameters["properties"].values():
            assert argument["description"] and argument["type"]
        assert len(text) < (2400 if spec.name == "split" else 1200), "it is sent with every request"


# ── wrong calls ─────────────────────────────────────────────────────────────────────────────────────────────────

WRONG = {
    "cut off": ("read", '{"path": "a', "not valid JSON"),
    "not JSON": ("read", "path=a", "not valid JSON"),
    "not an object": ("read", '["a"]', "one JSON object"),
    "null": ("read", "null", "one JSON object"),
    "empty": ("read", "", "missing required field `path`"),
    "missing": ("write", '{"path": "a"}', "missing required field `content`"),
    "null for a required one": ("read", '{"path": null}', "missing required field `path`"),
    "unknown": ("read", '{"path": "a", "strat": 3}', "did you mean `start`?"),
    "wrong type": ("read", '{"path": 3}', "Expected `str`"),
    "wrong number": ("read", '{"path": "a", "start": "many"}', "Expected `int`"),
    "out of range": ("read", '{"path": "a", "start": 0}', ">= 1"),
    "huge number": ("read", '{"path": "a", "start": 1e400}', "read("),
    "empty path": ("read", '{"path": ""}', "length >= 1"),
    "wrong choice": ("note", '{"kind": "thought", "text": "x"}', "Invalid enum value"),
    "half a character, escaped": ("write", r'{"path": "a", "content": "\ud800"}', "write("),
    "half a character": ("write", '{"path": "a", "content": "\ud800"}', "lone surrogate"),
    "nested": ("read", "[" * 100_000, "read("),
    "huge": ("write", " " * 5_000_000, "the limit is 4,000,000"),
}


@pytest.mark.parametrize(("name", "arguments", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_call_is_a_fault_with_the_way_out(checkout: PlainFolder, name: str, arguments: str, says: str) -> None:
    result = raw(checkout, name, arguments)
    assert not result.ok and result.fault
    assert says in result.output
    assert f"Call it as {name}(" in result.output and "for example with {" in result.output
    assert len(result.output) < 1000
    assert list(checkout.root.iterdir()) == []


def test_models_that_write_null_or_numbers_in_quotes_are_understood(checkout: PlainFolder) -> None:
    (checkout.root / "a").write_text("one\ntwo\n")
    result = raw(checkout, "read", '{"path": "a", "start": "2", "lines": null}')
    assert result.ok and "two" in result.output and "one" not in result.output


JSON = st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps)


@settings(max_examples=40, deadline=None)
@given(arguments=st.one_of(st.text(max_size=60), JSON))
def test_nothing_that_a_model_writes_is_an_exception(arguments: str) -> None:
    gone = PlainFolder(Path("/gone/at/all"), Path("/gone/at/all"), Path("/gone/at/all"))
    for name in ("read", "write", "edit", "list", "note", "done", arguments):
        result = asyncio.run(TOOLS.run(Call("1", name, arguments), gone, Rules(), lambda line: None))
        assert not result.ok


# ── notes and the claim ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_an_event(checkout: PlainFolder) -> None:
    result = use(checkout, "note", kind="dead_end", text="  The lock is held. ")
    assert result.ok and result.events == (NoteKept("dead_end", "The lock is held."),)
    assert encode(result.events[0])


def test_a_claim_is_an_event(checkout: PlainFolder) -> None:
    result = use(checkout, "done", summary="Fixed it. 🌳")
    assert result.ok and result.events == (DoneClaimed("Fixed it. 🌳"),)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("done", {"summary": ""}),
        ("done", {"summary": " \n"}),
        ("done", {"summary": "x" * 10_000}),
        ("note", {"kind": "decision", "text": " "}),
        ("note", {"kind": "decision", "text": "x" * 3_000}),
    ],
)
def test_an_empty_or_endless_one_is_a_fault(checkout: PlainFolder, name: str, arguments: dict[str, str]) -> None:
    result = use(checkout, name, **arguments)
    assert not result.ok and result.fault and result.events == ()


# ── text ────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(text=st.text(alphabet="ab\n", max_size=3000), limit=st.integers(200, 1500))
def test_a_cut_text_fits_and_keeps_its_ends(text: str, limit: int) -> None:
    shown, cut = cut_middle(text, limit)
    assert len(shown) <= limit
    assert cut is (len(text) > limit)
    if cut:
        head, _, rest = shown.partition("\n[… ")
        tail = rest.partition(" left out …]\n")[2]
        assert text.startswith(head) and text.endswith(tail)
        assert "characters" in rest
    else:
        assert shown == text


def test_a_cut_text_says_how_much_is_missing_and_is_cut_between_lines() -> None:
    text = "\n".join(f"line {n}" for n in range(1000))
    shown, _ = cut_middle(text, 1000)
    before, after = shown.split("[… ")
    missing = int(after.split(" lines")[0].replace(",", ""))
    assert before.splitlines()[0] == "line 0" and shown.endswith("line 999")
    assert len(before.splitlines()) + missing + len(after.splitlines()) - 1 == 1000


def test_a_long_line_is_cut_in_the_middle() -> None:
    line = cut_line("a" * 5000 + "z" * 5000, 300)
    assert len(line) <= 310 and line.startswith("aaa") and line.endswith("zzz") and "left out" in line
    assert cut_line("short", 300) == "short"


@pytest.mark.parametrize(
    ("raw_bytes", "seen"),
    [
        (b"\x1b[31mred\x1b[0m \x1b[1;32mgreen\x1b[K\x1b(B", "red green"),
        (b"\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "text link"),
        (b"10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        (b"10%\r50%\r", "50%"),
        (b"windows\r\nlines\r\n", "windows\nlines\n"),
        (b"\xff\xfeok\xf0\x9f", "��ok�"),
        (b"a\0b\x07c\x7f\td", "abc\td"),
        (b"bo\bold", "bold"),
        ("höhe 🌳".encode(), "höhe 🌳"),
        (b"\x1b", ""),
    ],
)
def test_output_is_cleaned_of_what_terminals_want(raw_bytes: bytes, seen: str) -> None:
    assert decode_output(raw_bytes) == seen


@in_turn
def test_cleaning_is_quick_whatever_comes() -> None:
    for piece in (b"\x1b[", b"\x1b]", b"a\r", b"\r", b"a\b", b"\x1bP", b"x" * 99 + b"\r", b"x"):
        decode_output(piece * (2_000_000 // len(piece)) + b"\n\r\x1b\b")
