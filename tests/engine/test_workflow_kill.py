"""The process dies in the middle of a parallel loop, and nothing is lost or done twice."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from bough.core import events as e
from bough.testing import Fuse
from bough.views.run_view import Outcome
from tests import zygote
from tests.engine.workflow_runs import NOBODY, repository, resumed
from tests.engine.workflow_victim import go_on, start
from tests.harness import git, journal_of
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LEAVES = 8


def points(folder: Path) -> int:
    """How many points the engine passes on the way."""
    fuse = Fuse()
    asyncio.run(start(folder, fuse))
    return len(fuse.points)


def assert_told_whole(folder: Path, outcome: Outcome) -> None:
    assert outcome.completed, outcome.summary
    tree = outcome.tree[0].tree
    repo = folder / ".bough" / "repo.git"
    files = set(git(repo, "ls-tree", "-r", "--name-only", tree).split())
    assert files >= {f"{name}{number}" for name in "abc" for number in (1, 2)}
    assert git(repo, "show", f"{tree}:counts") == "a1 is there\na2 is there\n"
    journal = asyncio.run(journal_of(folder, "test-run"))
    completed = Counter(
        record.task
        for record in journal.records
        if isinstance(record.event, e.StateChanged) and record.event.to == "completed"
    )
    assert set(completed.values()) == {1} and len(completed) == LEAVES + 4
    assert [event.number for event in journal.of(e.PassEnded)] == [1]
    assert not list((folder / ".bough" / "work").glob("*/*")), "no workspace is left behind"


@in_turn
@pytest.mark.parametrize("seed", sample(range(4), 2))
def test_killed_anywhere_in_a_parallel_loop(tmp_path: Path, seed: int) -> None:
    """Not at every point, which would take minutes: at random ones, and at others again while it is resumed."""
    dice = random.Random(seed)
    project = repository(tmp_path / "p", {"x": "x\n"})
    for verb, at in (("start", dice.randrange(20, 200)), ("resume", dice.randrange(5, 120))):
        status, said = zygote.start("tests.engine.workflow_victim", verb, str(project), str(at)).wait()
        assert status == -signal.SIGKILL or (verb == "resume" and status == 0), said
    assert_told_whole(project, go_on(project))


INTERRUPTED = """
requires_testing = false
[[steps]]
name = "slow"
action = {{ run = "touch begun; sleep 60" }}
{more}
[[steps]]
name = "after"
action = {{ run = "true" }}
"""


def kill_in_the_middle(folder: Path, more: str) -> None:
    (folder / "workflows").mkdir()
    (folder / "workflows" / "w.toml").write_text(INTERRUPTED.format(more=more))
    program = (
        "import asyncio, bough, sys; from bough.testing import ScriptedModel; "
        "asyncio.run(bough.run(bough.load_workflow('workflows/w.toml'), model=ScriptedModel([])))"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=folder) as process:
        while not any(path.exists() for path in (folder / ".bough" / "work").glob("*/slow/begun")):
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()


@in_turn
def test_an_interrupted_command_is_not_silently_repeated(tmp_path: Path) -> None:
    project = repository(tmp_path / "p", {"x": "x\n"})
    kill_in_the_middle(project, "")
    stopped = resumed(project, NOBODY)
    assert (stopped.outcome.status, stopped.outcome.exit_status) == ("stopped", 6)
    assert "was interrupted" in stopped.outcome.summary and "`bough resume` runs it again" in stopped.outcome.summary
    assert [event.interrupted for event in stopped.journal.of(e.CommandFinished)] == [True]


@in_turn
def test_an_interrupted_command_that_may_fail_is_gone_on_without(tmp_path: Path) -> None:
    project = repository(tmp_path / "p", {"x": "x\n"})
    kill_in_the_middle(project, 'on_error = "skip"')
    ended = resumed(project, NOBODY)
    assert ended.outcome.completed
    assert ended.states["slow"] == "failed" and ended.why("slow") == "its command was interrupted"
