"""What a command loads, and how long it takes on a large journal."""

import asyncio
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bough.interfaces.cli.entry import COMMANDS, GROUPS, HOMES, bough, list_groups
from bough.operations import OPERATIONS
from tests.interfaces.journals import write_large_run, write_small_run
from tests.interfaces.shell import BOUGH, environment, here
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

HEAVY = {"rich", "httpx2", "genai_prices", "keyring", "pydantic", "hypothesis"}
LOADED = """
import json, sys
from bough.interfaces.cli.entry import run_command_line
run_command_line(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""

WITHOUT_CHECK = """
import asyncio, json, sys
import bough
from bough.testing import ScriptedModel, call
model = ScriptedModel([call("read", path="notes.txt"), call("done", summary="It says hello.")])
outcome = asyncio.run(bough.run("Read notes.txt.", requires_testing=False, model=model))
print(json.dumps([outcome.completed, sorted(sys.modules)]))
"""


def modules_after(folder: Path, *args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *args], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    asyncio.run(write_small_run(folder, 3))
    return folder


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("args", [(), ("--help",), ("--version",), ("run", "--help"), ("show", "--help")])
def test_help_loads_next_to_nothing(tmp_path: Path, args: tuple[str, ...]) -> None:
    loaded = modules_after(tmp_path, *args)
    assert not loaded & (
        HEAVY | {"asyncio", "msgspec", "sqlite3", "subprocess", "bough.app.journal", "bough.core.events"}
    )


def test_importing_the_python_interface_loads_no_adapters() -> None:
    code = "import json, sys, bough, bough.api, bough.app; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & (HEAVY | {"sqlite3", "bough.app.session"})
    assert not [name for name in loaded if name.startswith(("bough.adapters", "bough.engine"))]


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_looking_loads_neither_models_nor_git_nor_tools(small: Path) -> None:
    for command in ("show", "runs", "log"):
        loaded = modules_after(small, command)
        assert "sqlite3" in loaded
        assert not loaded & HEAVY
        for package in ("models", "sandboxes", "tools", "verifiers"):
            assert not any(name.startswith(f"bough.adapters.{package}") for name in loaded), (command, package)
        assert "bough.adapters.workspaces.git" not in loaded and "bough.engine" not in loaded
        assert not any(name.startswith("bough.core.verdict.languages") for name in loaded), command


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_run_without_a_check_loads_no_language(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CHECK],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    completed, loaded = json.loads(done.stdout.splitlines()[-1])
    assert completed
    found = [name for name in loaded if name.startswith(("bough.core.verdict.languages", "bough.core.workflow.load"))]
    assert not found and not {"difflib", "bough.engine.examine_work"} & {*loaded}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_each_command_says_itself(name: str) -> None:
    command = bough.get_command(click.Context(bough), name)
    assert command is not None and command.help is not None
    assert command.help.splitlines()[0] in [commands.get(name) for commands in list_groups().values()]
    assert command.epilog is not None and f"bough {name}" in command.epilog, "every command has an example"
    inner = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    options = {option for each in inner for parameter in each.params for option in parameter.opts}
    assert "--dir" in options or name in ("completion", "acp")
    assert "--json" in options or name in ("diff", "mcp", "acp", "completion", "receipt"), (
        "what they print is for programs anyway"
    )


def test_every_command_is_listed_and_every_one_listed_is_there() -> None:
    folder = Path(sys.modules["bough.interfaces.cli.entry"].__file__ or "").parent
    with_command = {path.stem for path in folder.glob("*.py") if "def command(" in path.read_text()}
    drawn = {each.name for each in OPERATIONS.values() if each.name in COMMANDS}
    assert with_command - {"drawn"} | {*HOMES} | drawn == set(COMMANDS)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_bough_alone_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = here(tmp_path, capsys)
    assert said.status == 0
    about, first, *groups = said.out.split("\n\n")
    assert len(about.splitlines()) == 3 and "demo, run, show, diff, apply" in first
    assert [group.partition(":")[0] for group in groups[:-1]] == [*GROUPS]
    assert all(f"\n  {name} " in said.out for name in COMMANDS)
    assert here(tmp_path, capsys, "--help").status == 0
    assert here(tmp_path, capsys, "--version").out.startswith("bough 0.")


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_help_of_a_run_is_short_and_whole_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short, whole = (here(tmp_path, capsys, "run", f"--help{wish}") for wish in ("", "-all"))
    assert short.status == whole.status == 0
    assert len(re.findall(r"^  --", short.out, re.MULTILINE)) <= 12 and len(short.out.splitlines()) <= 45
    assert "--check CMD" in short.out and "--accept-failing" not in short.out and "Exit status" not in short.out
    command = bough.get_command(click.Context(bough), "run")
    assert command is not None
    assert all(option in whole.out for one in command.params for option in one.opts if option.startswith("--"))
    assert "Exit status: 0" in whole.out and "    " not in whole.out.partition("Options:")[0]


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_an_internal_error_is_one_line_and_a_traceback_on_request(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("it broke \x1b[31m")

    monkeypatch.setattr("bough.app.journal.view_run", broken)
    said = here(small, capsys, "show")
    assert said.status == 1 and said.err.count("\n") == 1 and "\x1b" not in said.err
    assert said.err.startswith("bough: internal error: RuntimeError: it broke") and "--traceback" in said.err
    said = here(small, capsys, "--traceback", "show")
    assert said.status == 1 and "Traceback" in said.err

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bough.app.journal.view_run", interrupted)
    assert here(small, capsys, "show").status == 6

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device", "/somewhere")

    monkeypatch.setattr("bough.app.journal.view_run", full)
    said = here(small, capsys, "show")
    assert (said.status, said.err) == (1, "bough: /somewhere: No space left on device.\n")


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_thousand_tasks_are_shown_at_once(tmp_path: Path) -> None:
    (tmp_path / ".bough").mkdir()
    events = asyncio.run(write_large_run(tmp_path / ".bough" / "journal.db"))
    assert events > 97_000
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*BOUGH, "show"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    lines = done.stdout.splitlines()
    assert len(lines) == 1000 + 4
    assert lines[4].startswith("✔ goal ") and "$22.00" in lines[4]
    # Half a second of the processor on a quiet machine; a test must also hold on a busy one.
    assert took < 3, f"{took:.2f} s"
