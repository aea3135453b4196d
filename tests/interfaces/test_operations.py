"""An operation is said once: the command line, the dashboard, the tools for agents and Python say the same of it."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from inspect import Parameter, signature
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import pytest
from mcp.server.mcpserver.exceptions import ToolError

import bough
from bough.core.errors import BoughError
from bough.core.textual.cleaning import escape_text
from bough.interfaces.cli.entry import bough as command_line
from bough.interfaces.mcp import DRAWN, Commands, make_server
from bough.interfaces.web.actions import act
from bough.interfaces.web.routes import make_app
from bough.operations import OPERATIONS
from bough.services.question_links import name_project
from tests.interfaces.shell import here
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

Call = tuple[str, str, dict[str, Any]]
"""An operation, what it is done to, and its arguments."""
Heard = tuple[str, Any]
"""The sentence, and the facts; None where a face said that it could not be done."""
RUNS = [*["jade-fox"] * 5, *["jade", "latest"] * 2, "no-such-run", "jade-fox-2", "a..b", "Zoë"]
GOALS = ["one", "two", "three", "1", "2", "nine", ""]
TEXTS = [*["Keep the flag."] * 5, "  ", "", "--now", "a\nb", "Größe 🦊", "{steps.a.result}", "x" * 30_000]
TASKS = ["", *["goal"] * 4, "group-0", "group-0/leaf-1", "nowhere"]
VALUES: dict[str, list[Any]] = {
    "text": TEXTS,
    "say": TEXTS,
    "task": TASKS,
    "branch": ["", "fix", "bough/fix", "--force", "a..b", "no spaces please"],
    "to": [0, 1, 99, -1, "three"],
    "restore": [0, 1, 99, "many"],
    "goal": GOALS,
    "before": GOALS,
    "fields": [{"priority": 2}, {"needs": ["nine"]}, {"check": "true"}, {"rounds": 3}],
}
UNKNOWN = ["soon", "texts", "brnch", "verbose", "x" * 200]


def make_calls(seed: int, count: int) -> list[Call]:
    """Right and wrong calls: unknown places, unknown arguments, missing ones, values of another type."""
    chance, calls = random.Random(seed), list[Call]()
    while len(calls) < count:
        made = OPERATIONS[chance.choice(["stop", "pause", "say", "say", "rewind", "undo", "apply", "pr", *LISTED])]
        given: dict[str, Any] = {}
        for key, kind, default, _ in made.arguments:
            wanted = default is Parameter.empty and chance.random() < 0.9
            if wanted or (default is not Parameter.empty and chance.random() < 0.3):
                given[key] = True if kind is bool else chance.choice(VALUES[key])
        if made.of == "run" and chance.random() < 0.15:
            given[chance.choice(UNKNOWN)] = "x"
        needed = {one[0] for one in made.arguments if one[2] is Parameter.empty}
        if (made.name in LISTED and needed - {*given}) or (made.name == "say" and not given):
            continue  # The command line has another meaning for these: it lists points, or asks for the word.
        calls.append((made.name, chance.choice(RUNS) if made.of == "run" else "backlog", given))
    return calls


LISTED = {"accept_goal": "accept", "edit_goal": "edit", "move_goal": "move", "drop_goal": "drop"}


def to_words(name: str, place: str, given: dict[str, Any], as_json: bool) -> list[str]:
    """The call as a person types it. What stands behind `--` is no option."""
    given = dict(given)
    if name in LISTED:
        fields = {**given.pop("fields", {})}
        fields = {key: value[0] if isinstance(value, list) else value for key, value in fields.items()}
        if name == "move_goal":
            fields = {key: given[key] for key in ("before", "last") if given.get(key)}
        words = ["backlog", LISTED[name]]
        behind = [given["goal"]]
    else:
        words, behind = [name, *(["--json"] if as_json else [])], [place]
        behind += [given.pop("text")] if "text" in given else []
        fields = given
    for key, value in fields.items():
        option = f"--{key.replace('_', '-')}"
        words += [option] if value is True else [f"{option}={value}"]
    return [*words, "--", *behind]


def hear_command_line(root: Path, calls: list[Call], capsys: pytest.CaptureFixture[str]) -> list[Heard]:
    """Every other call is asked for its facts, the others for their sentence."""
    heard: list[Heard] = []
    for number, (name, place, given) in enumerate(calls):
        as_json = number % 2 == 0 and name not in LISTED
        done = here(root, capsys, *to_words(name, place, given, as_json))
        words = " ".join((done.out or done.err).split()).removeprefix("bough: ").partition(" Resume it with")[0]
        if done.status:
            heard.append((words, None))
        else:
            heard.append(("", done.json) if as_json else (words, {}))
    return heard


async def hear_http(root: Path, calls: list[Call]) -> list[Heard]:
    heard: list[Heard] = []
    served = make_app([root], "token")
    transport, headers = httpx2.ASGITransport(served), {"x-bough": "token", "origin": "http://127.0.0.1"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        top = f"/api/{name_project(root)}"
        for name, place, given in calls:
            where = f"/runs/{quote(place, safe='')}" if OPERATIONS[name].of == "run" else ""
            done = (await client.post(f"{top}{where}/do/{name}", content=json.dumps(given))).json()
            heard.append((done["error"], None) if "error" in done else (done.pop("said"), done))
    await served.state.house.close()
    return heard


async def hear_mcp(root: Path, calls: list[Call]) -> list[Heard]:
    heard: list[Heard] = []
    commands = Commands(root)
    server = make_server(commands)
    for name, place, given in calls:
        try:
            if name in DRAWN:
                done: Any = getattr(await server.call_tool(name, {"run": place, **given}), "structured_content")  # noqa: B009
            else:  # No agent may do it: there is no tool, but it would be this one.
                done = await commands.draw_tool(name)(place, **given)
            heard.append((done.pop("said"), done))
        except ToolError as error:
            heard.append((str(error), None))
    return heard


async def hear_python(root: Path, calls: list[Call]) -> list[Heard]:
    """Where something is wrong, nothing is recorded."""
    heard: list[Heard] = []
    for name, place, given in calls:
        before = count_events(root)
        try:
            done = await getattr(bough, name)(place, dir=str(root), **given)
            heard.append((done.said, msgspec.to_builtins(done.facts)))
        except BoughError as error:
            heard.append((str(error), None))
            assert count_events(root) == before, (name, place, given)
    return heard


def count_events(root: Path) -> int:
    with closing(sqlite3.connect(root / ".bough" / "journal.db")) as journal:
        return int(journal.execute("SELECT count(*) FROM events").fetchone()[0])


def plain(heard: Heard, root: Path) -> Heard:
    said, facts = heard
    return " ".join(escape_text(said.replace(str(root), "ROOT")).split()), facts


@in_turn
def test_200_calls_say_the_same_at_every_face(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("TESTS_CALLS", "43"))
    calls, faces = make_calls(seed, 200), dict[str, list[Heard]]()
    for face in ("command line", "http", "mcp", "python"):
        root = tmp_path / face.replace(" ", "-")
        root.mkdir()
        journals.write(root, "jade-fox", journals.large(3, 2, over=False))
        for goal in ("One", "Two", "Three"):
            asyncio.run(bough.add_goals(goal, dir=str(root)))
        does = {"http": hear_http, "mcp": hear_mcp, "python": hear_python}.get(face)
        heard = asyncio.run(does(root, calls)) if does else hear_command_line(root, calls, capsys)
        faces[face] = [plain(one, root) for one in heard]
    assert len({count_events(tmp_path / face.replace(" ", "-")) for face in faces}) == 1
    wrong = []
    for number, call in enumerate(calls):
        typed, http, mcp, python = (faces[face][number] for face in faces)
        same = http == mcp == python and typed[0] in ("", python[0]) and typed[1] in ({}, python[1])
        wrong += [] if same else [(call, typed, http, mcp, python)]
    assert wrong == [], f"seed {seed}"
    done = sum(heard[1] is not None for heard in faces["python"])
    assert 30 < done < 170, "right calls and wrong ones"


@in_turn
def test_a_body_of_a_hundred_megabytes_is_refused_in_a_sentence(tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))
    before, call = count_events(tmp_path), ("say", "jade-fox", {"text": "x" * 100_000_000})
    for hear in (hear_http, hear_mcp, hear_python):
        ((said, facts),) = asyncio.run(hear(tmp_path, [call]))
        assert facts is None and len(said) < 200 and "put it in a file" in said.replace("the text into", "it in")
    assert count_events(tmp_path) == before


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_in_every_table(name: str) -> None:
    keys = [key for key, *_ in OPERATIONS[name].arguments]
    place = [] if OPERATIONS[name].of == "project" else [OPERATIONS[name].of]
    assert list(signature(getattr(bough, name)).parameters) == [*place, "dir", *keys] and name in dir(bough)
    assert list(signature(Commands(Path()).draw_tool(name)).parameters) == [*place, *keys]
    if name in bough.OPERATIONS:
        assert name in command_line.list_commands(None)  # type: ignore[arg-type]


def say_what_came(does: Callable[[], Awaitable[dict[str, Any]]]) -> str:
    try:
        return str(asyncio.run(does())["said"])  # type: ignore[arg-type]
    except BoughError as error:
        return str(error)


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
        ("stop_night", {}, ["stop"]),
        ("schedule", {"at": "25:00"}, ["schedule", "25:00"]),
        ("sync", {"where": "github"}, ["sync", "github"]),
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
    with pytest.raises(BoughError, match="`stop` has no argument `soon`"):
        asyncio.run(act(tmp_path, "jade-fox", "stop", b'{"soon": true}'))
    with pytest.raises(BoughError, match="`stop` has no argument `soon`"):
        asyncio.run(bough.stop("jade-fox", dir=str(tmp_path), soon=True))


def test_what_is_done_in_a_project_says_the_same_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is a run, which the page starts as a process; neither is refused in other words for that."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.chdir(tmp_path)
    subprocess.run(("git", "init", "-q", str(tmp_path / "project")), check=True)
    project = tmp_path / "project"
    calls: list[tuple[str, dict[str, Any], list[str]]] = [
        ("test_hooks", {"event": "needs_you"}, ["hooks", "test", "needs_you"]),
        (
            "examine",
            {"goal": "Totals are right.", "what": "nowhere"},
            ["examine", "--goal=Totals are right.", "nowhere"],
        ),
    ]
    for name, given, words in calls:
        typed = here(project, capsys, *words)
        line = " ".join(typed.err.split()).removeprefix("bough: ")
        assert typed.status == 2 and line
        for face in (
            lambda name=name, given=given: act(project, "", name, json.dumps(given).encode()),
            lambda name=name, given=given: getattr(bough, name)(dir=str(project), **given),
        ):
            with pytest.raises(BoughError) as refused:
                asyncio.run(face())
            assert " ".join(str(refused.value).split()) == line, name


TOY = '''
from typing import Annotated
from bough.operations.runs import RunResult
from bough.operations.table import operation

@operation("bough cheer amber-heron --loud", group="Talk to it")
async def cheer(opened: object, run: str, *, loud: Annotated[bool, "In capitals."] = False) -> RunResult:
    """Cheer for a run."""
    said = f"Go, {run}!"
    return RunResult(run=run, said=said.upper() if loud else said)
'''
FACES = """
import asyncio, bough, sys
from bough.interfaces.cli.entry import run_command_line
from bough.interfaces.mcp import DRAWN
from bough.interfaces.web.actions import act
print("cheer" in DRAWN, asyncio.run(bough.cheer(dir=sys.argv[1], loud=True)).said)
print(asyncio.run(act(sys.argv[1], "jade-fox", "cheer", b"{}"))["said"], flush=True)
for words in (["--help"], ["cheer", "--help"], ["cheer", "--loud", "--dir", sys.argv[1]]):
    run_command_line(words)
"""


@in_turn
def test_an_operation_is_one_file_and_every_face_has_it(tmp_path: Path) -> None:
    package, project = tmp_path / "bough", tmp_path / "project"
    shutil.copytree(Path(str(bough.__file__)).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "operations" / "toy.py").write_text(TOY)
    project.mkdir()
    journals.write(project, "jade-fox", journals.large(3, 2, over=False))
    argv = (sys.executable, "-c", FACES, str(project))
    done = subprocess.run(argv, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True)
    drawn, posted, *said = done.stdout.decode().splitlines()
    assert (drawn, posted) == ("True GO, JADE-FOX!", "Go, jade-fox!"), done.stderr.decode()
    talk = said.index("Talk to it:")
    assert "  cheer       Cheer for a run." in said[talk : said.index("Keep house:")]
    assert any(line.split() == ["--loud", "In", "capitals."] for line in said) and said[-1] == "GO, JADE-FOX!"
