"""Small things that people met: what is said about runs, journals, homes and budgets is right."""

import asyncio
from pathlib import Path

import pytest

from bough.adapters.state_folder import make_state_folder
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.budget.limits import describe_spent
from bough.core.errors import ClaimLost
from bough.core.ids import GOAL
from bough.core.messages import Answer, Call
from tests import zygote
from tests.harness import git, make_project
from tests.interfaces.journals import write_small_run
from tests.interfaces.shell import bough, environment, repair, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import KEY, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def test_a_report_of_an_interrupted_run_says_so(tmp_path: Path) -> None:
    asyncio.run(write_small_run(tmp_path, 2))
    assert bough(tmp_path, "report", "--json").json["status"] == "interrupted"
    assert "interrupted" in bough(tmp_path, "report").out


def test_a_step_has_spent_its_part_and_not_the_budget() -> None:
    assert describe_spent(GOAL, "20 rounds") == "the budget of 20 rounds is spent"
    assert describe_spent("parser", "2 rounds") == "parser has spent its 2 rounds"


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_journal_that_is_removed_under_a_run_stops_it(tmp_path: Path, how: str) -> None:
    path = tmp_path / "journal.db"

    async def main() -> None:
        store = SqliteStore(path)
        async with store.claim("run", GOAL, "w", 15) as claim:
            await store.check(claim)
            path.unlink()
            if how == "replaced":
                path.write_bytes(b"")
            with pytest.raises(ClaimLost, match="was removed or replaced while it was in use"):
                await store.check(claim)
        await store.close()

    asyncio.run(main())


def test_no_home_is_created_where_there_is_none(tmp_path: Path) -> None:
    home = tmp_path / "nonexistent"
    with pytest.raises(FileNotFoundError, match="no such home folder"):
        make_state_folder({"HOME": str(home)})
    assert not home.exists()
    assert make_state_folder({"HOME": str(home), "XDG_STATE_HOME": str(tmp_path / "state")}).is_dir()
    home.mkdir()
    assert make_state_folder({"HOME": str(home)}).is_dir()


@in_turn
def test_undoing_what_was_edited_since_says_how_to_undo(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Start")
    edit = Call("c1", "write", '{"path": "a.txt", "content": "two\\n"}')
    script = [Answer(calls=(edit,)), Answer(calls=(Call("c2", "done", '{"summary": "s"}'),))]
    with WireModel(script) as wire:
        ran = bough(
            project,
            *("run", "Write two", "--check", "grep two a.txt", "--model", "openai:m", "--base-url", wire.base_url),
            *("--sandbox", "none", "--apply"),
            OPENAI_API_KEY=KEY,
        )
    assert ran.status == 0, ran.out + ran.err
    (project / "a.txt").write_text("three\n")
    said = bough(project, "undo")
    assert said.status == 2 and "Nothing was undone" in said.err and "`bough undo " in said.err
    assert "bough apply" not in said.err and (project / "a.txt").read_text() == "three\n"


@in_turn
def test_a_run_without_a_home_leaves_none_behind(tmp_path: Path) -> None:
    project, home = make_project(tmp_path / "project"), tmp_path / "nonexistent"
    env = {name: value for name, value in environment().items() if not name.startswith("XDG_")} | {"HOME": str(home)}
    with WireModel(repair()) as wire:
        status, _, err = zygote.run("bough", *run_args(wire.base_url), cwd=project, env=env)
    assert (status, "Traceback" in err) == (0, False), err
    assert not home.exists()
