"""An operation is said once: the command line, the dashboard, the tools for agents and Python say the same of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import bough
from bough.core.errors import BoughError
from bough.interfaces.cli.entry import bough as command_line
from bough.interfaces.mcp import Commands
from bough.interfaces.web.actions import act
from bough.operations.runs import OPERATIONS
from tests.interfaces.shell import here
from tests.shipped import AGENT_ONLY
from tests.web import journals

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("stop", "jade-fox", {}),
    ("stop", "jade-fox", {"now": True}),
    ("pause", "jade-fox", {}),
    ("say", "jade-fox", {"text": "Keep the flag."}),
    ("say", "jade-fox", {"text": "Keep the flag.", "task": "group-0"}),
    ("say", "jade-fox", {"text": "  "}),
    ("say", "jade-fox", {"text": "One", "restore": 3}),
    ("say", "jade-fox", {"restore": 99}),
    ("stop", "no-such-run", {}),
    ("undo", "jade-fox", {}),
    ("say", "no-such-run", {"text": "Hello."}),
    ("answer", "jade-fox", {"text": "Yes."}),
    ("apply", "jade-fox", {}),
    ("apply", "jade-fox", {"steps": True}),
    ("pr", "jade-fox", {}),
    ("apply", "jade-fox", {"commit": True, "branch": "fix"}),
]


def to_words(name: str, run: str, arguments: dict[str, Any]) -> list[str]:
    words = [name, run]
    for key, value in arguments.items():
        words += [value] if key == "text" else [f"--{key}"] if value is True else [f"--{key}", str(value)]
    return words


def say_what_came(does: Callable[[], Awaitable[dict[str, Any]]]) -> str:
    try:
        return str(asyncio.run(does())["said"])  # type: ignore[arg-type]
    except BoughError as error:
        return str(error)


@pytest.mark.parametrize(("name", "run", "arguments"), CALLS)
def test_every_face_says_the_same(
    name: str, run: str, arguments: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for face in ("command line", "http", "mcp", "python"):
        root = tmp_path / face
        root.mkdir()
        journals.write(root, "jade-fox", journals.large(3, 2, over=False))
        if face == "command line":
            done = here(root, capsys, *to_words(name, run, arguments))
            words = " ".join((done.out or done.err).split()).removeprefix("bough: ")
            said.append(words.partition(" Resume it with")[0])
        elif face == "http":
            if run == "no-such-run":  # The address of a run that is not there leads nowhere.
                continue
            said.append(say_what_came(lambda root=root: act(root, run, name, json.dumps(arguments).encode())))  # type: ignore[misc]
        elif face == "mcp":
            try:
                said.append(asyncio.run(Commands(root).draw_tool(name)(run, **arguments))["said"])  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 (the client gets its text)
                said.append(str(error))
        else:

            async def call(root: Path = root) -> dict[str, Any]:
                return {"said": (await getattr(bough, name)(run, dir=str(root), **arguments)).said}

            said.append(say_what_came(call))
    assert len({text.replace(str(tmp_path), "").replace("/http", "") for text in said}) == 1 and said[0], said


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_in_every_table(name: str) -> None:
    keys = [key for key, *_ in OPERATIONS[name].arguments]
    assert list(OPERATIONS[name].request.__struct_fields__) == ["list"] * (OPERATIONS[name].of == "list") + keys
    if name in bough.OPERATIONS:
        assert name in command_line.list_commands(None)  # type: ignore[arg-type]
        assert list(signature(getattr(bough, name)).parameters) == ["run", "dir", *keys]


def test_the_page_and_the_command_line_say_the_same_of_a_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each goal is changed at one face and the next one at the other; wrong names are refused in the same words."""
    assert here(tmp_path, capsys, "backlog", "add", "One").status == 0
    for goal in ("Two", "Three", "Four"):
        said = asyncio.run(act(tmp_path, "", "add_goal", json.dumps({"fields": {"goal": goal}}).encode()))["said"]
        assert said == f"Added {goal.lower()} to the backlog."
    calls: list[tuple[str, dict[str, Any], list[str]]] = [
        ("edit_goal", {"goal": "GOAL", "fields": {"priority": 2}}, ["edit", "GOAL", "--priority", "2"]),
        ("edit_goal", {"goal": "GOAL", "fields": {"needs": ["nine"]}}, ["edit", "GOAL", "--needs", "nine"]),
        ("move_goal", {"goal": "GOAL", "before": "four"}, ["move", "GOAL", "--before", "four"]),
        ("move_goal", {"goal": "GOAL", "before": "GOAL"}, ["move", "GOAL", "--before", "GOAL"]),
        ("move_goal", {"goal": "GOAL"}, ["move", "GOAL", "--last"]),
        ("drop_goal", {"goal": "GOAL"}, ["drop", "GOAL"]),
        ("drop_goal", {"goal": "nine"}, ["drop", "nine"]),
    ]
    for name, body, words in calls:
        request = json.dumps(body).replace("GOAL", "two").encode()
        page = say_what_came(lambda name=name, request=request: act(tmp_path, "", name, request))  # type: ignore[misc]
        typed = here(tmp_path, capsys, "backlog", *(word.replace("GOAL", "three") for word in words))
        line = " ".join((typed.out or typed.err).split()).removeprefix("bough: ")
        assert line == page.replace("two", "three"), name


def test_a_word_that_is_no_run_is_named_and_an_unknown_field_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))
    asked = here(tmp_path, capsys, "say", "hello")
    assert asked.status == 2 and "hello" in asked.err and "TEXT or --restore" not in asked.err
    with pytest.raises(BoughError, match="The request for `stop` is invalid"):
        asyncio.run(act(tmp_path, "jade-fox", "stop", b'{"soon": true}'))
    with pytest.raises(BoughError, match="no argument `soon`"):
        asyncio.run(bough.stop("jade-fox", dir=str(tmp_path), soon=True))  # type: ignore[operator]
