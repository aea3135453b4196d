"""Parallel work is merged without loss: additions, renames, lock files; killed halfway, and rewound."""

import asyncio
import signal
from pathlib import Path

import pytest

import bough
from bough import app
from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.rules import Rules
from bough.core.tree.task_state import State
from bough.testing import ScriptedModel, call
from bough.views.charts import WAITING, Charts
from bough.views.run_view import view_run
from bough.views.task_rows import describe_task
from tests import zygote
from tests.engine.merge_victim import NAMES, model_answer
from tests.engine.parallel_runs import (
    DONE,
    LINES,
    Agents,
    Meeting,
    both,
    files_of,
    left_behind,
    look,
    make_project,
    run_to_end,
    step,
    text_of,
    writes,
)
from tests.harness import by_progress, git, resume
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def victim(verb: str, project: Path, point: int) -> tuple[int, str]:
    return zygote.start("tests.engine.merge_victim", verb, str(project), str(point)).wait()


@in_turn
def test_five_steps_append_to_one_file_and_are_killed_eight_times(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", list="entry zero\n")
    status, output = victim("start", project, 20)
    assert status == -signal.SIGKILL, output
    kills = 1
    for point in (24, 30, 22, 40, 12, 35, 18):
        status, output = victim("resume", project, point)
        assert status == -signal.SIGKILL, output
        kills += 1
    assert kills == 8

    outcome = asyncio.run(resume(project, ScriptedModel(model_answer)))
    assert outcome.status == "completed", outcome.summary
    journal = look(project)
    lines = text_of(project, outcome, "list").splitlines()
    assert sorted(lines) == sorted(["entry zero", *(f"entry {name}" for name in NAMES)]), "every line once"
    assert {task.path for task in outcome.tree} == {"goal", *NAMES}, "nobody was asked to merge"
    assert any(merged.both for merged in journal.of(e.ChildMerged))
    assert not left_behind(project)
    git(project / ".bough" / "repo.git", "fsck", "--strict")


@in_turn
def test_renames_survive_edits_of_the_old_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps: two rename, two edit under the old name, one adds to a folder that is renamed."""
    project = make_project(tmp_path / "p", alpha=LINES, beta=LINES.upper())
    monkeypatch.setenv("BOUGH_ACCEPTANCE_EXAMINE", "never")
    (project / "lib").mkdir()
    for name in ("x", "y"):
        (project / "lib" / f"{name}.txt").write_text(f"{name}\n{LINES}")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "more")
    does = {
        "move-alpha": ("mv alpha.txt first.txt", "test -f first.txt"),
        "edit-alpha": ("sed -i s/three/drei/ alpha.txt", "grep -q drei *.txt"),
        "move-lib": ("mv lib pkg", "test -d pkg"),
        "edit-lib": ("sed -i s/seven/sieben/ lib/y.txt", "grep -q sieben */y.txt"),
        "add-lib": ("echo new > lib/z.txt", "test -f lib/z.txt || test -f pkg/z.txt"),
    }
    goal = both(*(step(name, check) for name, (_, check) in does.items()))
    agents = Agents()
    agents.says = {name: by_progress(call("bash", command=command), DONE) for name, (command, _) in does.items()}

    agents.before = Meeting(*does)
    outcome, journal = run_to_end(project, goal, agents, jobs=5)
    assert outcome.completed, outcome.summary
    assert files_of(project, outcome) == {"first.txt", "beta.txt", "pkg/x.txt", "pkg/y.txt", "pkg/z.txt"}
    assert text_of(project, outcome, "first") == LINES.replace("three", "drei")
    assert "sieben" in text_of(project, outcome, "pkg/y")
    assert not any(merged.conflicts for merged in journal.of(e.ChildMerged))
    assert set(agents.asked) == set(does), "nobody was asked to merge"


@in_turn
def test_a_lock_file_that_both_changed_is_a_conflict_without_markers(tmp_path: Path) -> None:
    """Whoever resolves it is told the command that makes it."""
    project = make_project(tmp_path / "p", wants="a\n")
    (project / "uv.lock").write_text("1 a\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "more")
    goal = both(*(step(name, f"grep -q {name} wants.txt && grep -q {name} uv.lock") for name in "xy"))
    resolve = call("bash", command="grep '<<<' uv.lock; cat -n wants.txt > uv.lock")
    agents = Agents(x__merge=by_progress(resolve, DONE), y__merge=by_progress(resolve, DONE))
    agents.says |= {
        name: by_progress(call("bash", command=f"echo {name} >> wants.txt; cat -n wants.txt > uv.lock"), DONE)
        for name in "xy"
    }
    agents.before = Meeting("x", "y")
    outcome, journal = run_to_end(project, goal, agents)
    assert outcome.completed, outcome.summary
    lock = git(project / ".bough" / "repo.git", "show", f"{outcome.tree[0].tree}:uv.lock")
    assert {line.split()[1] for line in lock.splitlines()} == {"a", "x", "y"}
    (merged,) = journal.of(e.ChildMerged)
    assert merged.conflicts == ("uv.lock",)
    briefs = [started.brief for started in journal.of(e.AttemptStarted)]
    assert any("Regenerate it with `uv lock`" in brief and "<<<<" not in brief for brief in briefs)


@in_turn
def test_a_ready_step_says_for_whom_it_waits(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    goal = both(
        step("a", "true", files=("text.txt",)),
        step("b", "true", files=("other.txt", "text.txt")),
        step("c", "true", files=("list.txt+",)),
        step("d", "true", files=("list.txt+",)),
    )
    agents = Agents(**{name: writes(name) for name in "abcd"})
    agents.before = Meeting("a", "c", "d")
    outcome, journal = run_to_end(project, goal, agents, jobs=4)
    assert outcome.completed
    (held,) = journal.of(e.ChildHeld)
    assert (held.step, held.other, held.files) == ("b", "a", ("text.txt",))
    begun = [event.step for event in journal.of(e.ChildStarted)]
    assert begun.index("b") == 3, "only what is merely added to is no reason to wait"
    shown = shell(project, "log")
    assert "its step b waits for a: both change text.txt" in shown


def test_a_waiting_step_says_so_in_the_tree() -> None:
    started = e.TaskCreated(both(step("a"), step("b")), "0" * 40, Limits(), Rules())
    records = [
        e.Record(1, "r", "goal", 1, 0.0, started),
        e.Record(2, "r", "goal", 2, 0.0, e.ChildStarted("a", "a", Limits())),
        e.Record(3, "r", "goal", 3, 0.0, e.ChildHeld("b", "a", ("x.py", "y.py"))),
    ]
    assert describe_task(view_run("r", records).tasks["b"]) == "waits for a: both change x.py and 1 more"


def test_a_timeline_shows_how_long_a_finished_step_waits_for_its_turn() -> None:
    """The one that runs again, under a path of its own, too; a turn that comes at once is no wait."""
    charts, done = Charts(), e.StateChanged(State.COMPLETED, "its check passes")
    told = [
        ("goal", 1.0, e.ChildStarted("a", "a", Limits())),
        ("goal", 1.0, e.ChildStarted("b", "b@2", Limits())),
        ("a", 10.0, done),
        ("goal", 10.0, e.MergeStarted("a")),
        ("b@2", 12.0, done),
        ("goal", 50.0, e.MergeStarted("b")),
        ("goal", 60.0, done),
    ]
    for number, (task, at, event) in enumerate(told):
        charts.see(e.Record(number, "r", task, number, at, event))
    drawn = dict(charts.timeline(["goal", "a", "b@2"], 0.0, 100.0, 800))
    assert (drawn["goal"], drawn["a"]) == ([], [])
    assert drawn["b@2"] == [(12.0, 50.0, WAITING, "waits for its turn to merge", 1, 0)]


SLOW = "sleep 0.5 && "


@in_turn
def test_the_next_step_is_proven_while_the_one_before_it_still_is(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    names = ("a", "b", "c", "d")
    agents = Agents(**{name: writes(name) for name in names})
    agents.before = Meeting(*names)
    goal = both(*(step(name, f"{SLOW}test -f {name}.txt") for name in names))
    outcome, journal = run_to_end(project, goal, agents, jobs=4)
    assert outcome.completed
    assert files_of(project, outcome) == {f"{name}.txt" for name in names}
    merged = journal.of(e.ChildMerged)
    assert len(merged) == 3
    assert any(each.ahead for each in merged), "it did not wait for the one before it to be proven"
    assert all(each.verdict.tree == each.tree for each in merged), "and was proven on just what landed"
    assert not left_behind(project)


@in_turn
def test_what_was_proven_ahead_is_thrown_away_when_the_one_before_does_not_land(tmp_path: Path) -> None:
    """`b` does not hold beside `a`; what `c` was proven on never comes to be."""
    project = make_project(tmp_path / "p")
    fails = f"{SLOW}test -f b.txt && (! test -f a.txt || test -f both.txt)"
    goal = both(step("a"), step("b", fails), step("c", f"{SLOW}test -f c.txt"))
    merge = by_progress(call("write", path="both.txt", content="both\n"), DONE)
    agents = Agents(a=writes("a"), b=writes("b"), c=writes("c"), b__merge=merge)
    order = {"a": None, "b": asyncio.Event(), "c": asyncio.Event()}

    async def in_turn(task: str) -> None:
        if (event := order.get(task)) is not None:
            await asyncio.wait_for(event.wait(), 240)

    def recorded(record: e.Record) -> None:
        if isinstance(record.event, e.ChildSettled) and record.event.child == "a":
            order["b"].set()  # type: ignore[union-attr]
        if isinstance(record.event, e.StateChanged) and record.task == "b" and record.event.to is State.COMPLETED:
            order["c"].set()  # type: ignore[union-attr]

    agents.before = in_turn
    watch = app.RunObserver(recorded=recorded)
    outcome = asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=3, watch=watch))
    journal = look(project)
    assert outcome.completed, outcome.summary
    assert files_of(project, outcome) == {"a.txt", "b.txt", "c.txt", "both.txt"}
    (last,) = [each for each in journal.of(e.ChildMerged) if each.child == "c"]
    assert not last.ahead and last.verdict.ruling == "passed"
    assert not left_behind(project)


def shell(project: Path, *args: str) -> str:
    status, out, err = zygote.run("bough", *args, cwd=project)
    assert status == 0, err
    return out
