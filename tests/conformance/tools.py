"""What all `Tools` promise of every tool that they offer, one function a promise. New ones add themselves to the list
in `test_tools.py`, and a right call of each tool to `CALLS`."""

import json
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bough.adapters.workspaces.plain_folder import PlainFolder
from bough.core.messages import Call, ToolSpec
from bough.core.rules import Rules
from bough.ports import ToolResult, Tools

FILES = {"a.py": "def f():\n    return 1\n", "sub/b.txt": "needle\n"}
SECRET = "the person's own words"
STEPS = [
    {"name": name, "action": f"Do {name}.", "test_command": "true", "reads": ["a.py"]} for name in ("first", "second")
]
CALLS: dict[str, dict[str, Any]] = {
    "read": {"path": "a.py"},
    "write": {"path": "new/c.py", "content": "x = 1\n"},
    "edit": {"path": "a.py", "old": "return 1", "new": "return 2"},
    "search": {"pattern": "needle"},
    "list": {},
    "bash": {"command": "echo x > made; echo done"},
    "note": {"kind": "decision", "text": "Keep it."},
    "propose_goal": {"title": "Old dates are parsed.", "why": "They are not.", "files": ["a.py"]},
    "dispute": {"test": "test_a.py::test_b", "evidence": "The task says otherwise."},
    "split": {"steps": STEPS},
    "done": {"summary": "It is done."},
    "small__add": {"a": 1, "b": 2},
    "small__put": {"path": "put.txt", "text": "t"},
    "small__see": {"path": "a.py"},
    "small__know": {"name": "HOME"},
    "small__wait": {"seconds": 0},
    "small__flood": {"bytes": 10},
}
"""A right call of each tool, in a folder with `FILES`."""
RULES = replace(Rules(), shown=2_000)

Promise = Callable[[Tools, PlainFolder], Awaitable[None]]
PROMISES: list[Promise] = []


def promise(function: Promise) -> Promise:
    PROMISES.append(function)
    return function


def fill(top: Path) -> None:
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def read_all(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def offered(tools: Tools) -> Iterator[tuple[ToolSpec, dict[str, Any]]]:
    for spec in tools.specs:
        assert spec.name in CALLS, f"add a right call of {spec.name} to CALLS"
        yield spec, CALLS[spec.name]


async def use(tools: Tools, here: PlainFolder, name: str, arguments: dict[str, Any] | str) -> ToolResult:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    result = await tools.run(Call("1", name, text), here, RULES, lambda line: None)
    assert result.output and result.output.encode(), "the journal must be able to hold it"
    assert result.ok or not result.events, "what failed means nothing"
    return result


@promise
async def every_tool_describes_itself(tools: Tools, here: PlainFolder) -> None:
    names = [spec.name for spec in tools.specs]
    assert len(set(names)) == len(names)
    for spec in tools.specs:
        assert spec.name.replace("_", "").isalnum() and len(spec.name) <= 64, "not every provider takes it"
        assert len(spec.description) > 10
        assert spec.parameters["type"] == "object"
        known = spec.parameters.get("properties", {})
        assert set(spec.parameters.get("required", ())) <= set(known)
        assert json.loads(json.dumps(spec.parameters)) == spec.parameters and "$ref" not in json.dumps(known)
        assert all(argument.get("type") or argument.get("anyOf") for argument in known.values())


@promise
async def a_right_call_is_carried_out(tools: Tools, here: PlainFolder) -> None:
    for spec, arguments in offered(tools):
        result = await use(tools, here, spec.name, arguments)
        assert result.ok and not result.fault, f"{spec.name}: {result.output}"


@promise
async def what_is_no_json_object_is_a_fault_told_to_the_model(tools: Tools, here: PlainFolder) -> None:
    before = read_all(here.root)
    for spec, _ in offered(tools):
        for wrong in ("path=a", '{"path": "a', '["a"]', "null", "[" * 100_000, '"\ud800"'):
            result = await use(tools, here, spec.name, wrong)
            assert result.fault and not result.ok, f"{spec.name} {wrong[:20]!r}"
            assert spec.name in result.output and len(result.output) < 2_000
    assert read_all(here.root) == before


@promise
async def wrong_arguments_are_refused_in_words(tools: Tools, here: PlainFolder) -> None:
    before = read_all(here.root)
    for spec, arguments in offered(tools):
        wrong: list[dict[str, Any]] = [{**arguments, name: {"no": ["such"]}} for name in arguments]
        required = spec.parameters.get("required", ())
        wrong += [{key: value for key, value in arguments.items() if key != name} for name in required]
        for call in wrong:
            result = await use(tools, here, spec.name, call)
            assert not result.ok and len(result.output) > 20, f"{spec.name} {call}: {result.output}"
    assert read_all(here.root) == before


@promise
async def an_unknown_tool_is_a_fault_that_names_the_nearest(tools: Tools, here: PlainFolder) -> None:
    for name, meant in (("raed", "read"), ("Bash", "bash"), ("file_search", "search"), ("", ""), ("x" * 5_000, "")):
        result = await use(tools, here, name, {})
        assert result.fault and not result.ok and "There are: read, write, " in result.output
        assert len(result.output) < 1_000 and (not meant or f"Did you mean `{meant}`?" in result.output)


@promise
async def only_those_that_say_so_write(tools: Tools, here: PlainFolder) -> None:
    """A snapshot is made after these alone."""
    for spec, arguments in offered(tools):
        before = read_all(here.root)
        await use(tools, here, spec.name, arguments)
        assert spec.writes or read_all(here.root) == before, spec.name
    assert {"new/c.py", "made"} <= set(read_all(here.root))


@promise
async def no_path_leads_out_of_the_workspace(tools: Tools, here: PlainFolder) -> None:
    outside = here.root.with_name(f"{here.root.name}-of-the-person")  # its path begins like the workspace's
    outside.mkdir(exist_ok=True)
    (outside / "secret.txt").write_text(SECRET)
    (here.root / "link").symlink_to(outside)
    ways = [f"{outside}/secret.txt", f"../{outside.name}/secret.txt", "link/secret.txt", "link/new.txt"]
    for spec, arguments in offered(tools):
        for path in ways if "path" in spec.parameters.get("properties", {}) else ():
            call = {**arguments, "path": path}
            result = await use(tools, here, spec.name, {**call, "old": "own"} if "old" in call else call)
            assert not result.ok and SECRET not in result.output, f"{spec.name} {path}: {result.output}"
    assert read_all(outside) == {"secret.txt": SECRET.encode()}


@promise
async def the_model_sees_a_bounded_text(tools: Tools, here: PlainFolder) -> None:
    noise = b"\x1b[31mneedle \xff\xfe\0 and more\x07\r\n" * 20_000
    (here.root / "a.py").write_bytes(b"return 1\n" + noise.replace(b"\0", b""))
    (here.root / "long.txt").write_text("needle" * 100_000)
    (here.root / os.fsdecode(b"n\xe4me\x1b[31m")).write_text("needle")
    for number in range(3_000):
        (here.root / f"file-{number}").touch()
    more: dict[str, dict[str, Any]] = {"bash": {"command": "cat a.py long.txt; ls"}}
    more["small__flood"] = {"bytes": 200_000}
    for spec, arguments in offered(tools):
        result = await use(tools, here, spec.name, more.get(spec.name, arguments))
        assert len(result.output) < 3 * RULES.shown, f"{spec.name}: {len(result.output)}"
        assert result.whole is None or len(result.whole) <= RULES.kept
