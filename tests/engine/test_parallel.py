"""Steps that run in parallel: each in a workspace of its own, merged one by one, proven there."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

import bough
from bough import app
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.messages import Answer, ModelMessage, Prompt
from bough.core.tree.task_state import State
from bough.ports.steering import Stop
from bough.testing import ScriptedModel, call
from bough.views.run_view import Outcome
from tests.engine.parallel_runs import (
    DONE,
    LINES,
    Agents,
    Meeting,
    Says,
    a_first,
    both,
    edits,
    files_of,
    left_behind,
    look,
    make_project,
    run_to_end,
    states,
    step,
    text_of,
    writes,
)
from tests.harness import Journal, by_progress, git
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@in_turn
def test_ready_steps_are_at_work_at_the_same_time_each_in_its_own_workspace(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(a=writes("a"), b=writes("b"))

    async def run() -> Outcome:
        agents.before = Meeting("a", "b")
        return await bough.run(both(step("a"), step("b")), dir=project, model=ScriptedModel(agents), jobs=2)

    before = git(project, "status", "--porcelain"), git(project, "for-each-ref"), git(project, "write-tree")
    outcome, journal = asyncio.run(run()), look(project)
    assert outcome.completed
    assert files_of(project, outcome) == {"a.txt", "b.txt"}
    a, b = outcome.tree[1:]
    assert a.base == b.base == outcome.tree[0].base, "neither saw the other's work"
    assert set(a.files) == {"a.txt"} and set(b.files) == {"b.txt"}
    (merged,) = journal.of(e.ChildMerged)
    assert merged.verdict is not None and merged.verdict.ruling == "passed", "proven on top of the other's work"
    after = git(project, "status", "--porcelain"), git(project, "for-each-ref"), git(project, "write-tree")
    assert before == after and not (project / "a.txt").exists(), "the person's tree, index and refs stay as they are"
    assert not left_behind(project)


@in_turn
def test_an_old_git_is_refused_for_more_than_one_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, old = make_project(tmp_path / "p"), tmp_path / "bin" / "git"
    old.parent.mkdir()
    real = shutil.which("git")
    old.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo "git version 2.34.1" || exec {real} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    goal, agents = both(step("a"), step("b")), Agents(a=writes("a"), b=writes("b"))
    with pytest.raises(UsageError, match=r"jobs= 2 needs git 2\.38 or newer, this is 2\.34\.1"):
        asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=2))
    outcome = asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents)))
    assert outcome.completed and not look(project).of(e.ChildMerged), "unasked: one after the other"


@in_turn
def test_no_more_at_once_than_jobs(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(**{name: writes(name) for name in "abcd"})
    now: set[str] = set()
    most = 0

    async def count(task: str) -> None:
        nonlocal most
        now.add(task)
        most = max(most, len(now))
        await asyncio.sleep(0)
        now.discard(task)

    agents.before = count
    outcome, journal = run_to_end(project, both(*map(step, "abcd")), agents, jobs=2)
    assert outcome.completed
    assert most <= 2
    running: set[str] = set()
    for event in journal.of(e.ChildStarted, e.ChildSettled):
        running = running | {event.step} if isinstance(event, e.ChildStarted) else running - {event.child}
        assert len(running) <= 2


def test_edits_of_one_file_that_do_not_meet_are_merged(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    goal = both(step("a", "grep -q ONE text.txt"), step("b", "grep -q SEVEN text.txt"))
    agents = Agents(a=edits("text", "one", "ONE"), b=edits("text", "seven", "SEVEN"))
    outcome, _ = run_to_end(project, goal, agents)
    assert outcome.completed
    assert text_of(project, outcome, "text") == LINES.replace("one", "ONE").replace("seven", "SEVEN")


def test_steps_that_expect_to_change_one_file_are_never_at_work_together(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    goal = both(step("a", "true", files=("text.txt",)), step("b", "true", files=("text.txt",)))
    agents = Agents(a=edits("text", "one", "ONE"), b=edits("text", "ONE", "Eins"))
    outcome, journal = run_to_end(project, goal, agents)
    assert outcome.completed
    assert text_of(project, outcome, "text").startswith("Eins\n")
    assert not journal.of(e.ChildMerged), "there was nothing to bring together"


def conflict(project: Path, merge: Says) -> tuple[Outcome, Journal]:
    """Both change one line."""
    goal = both(step("a", "grep -q A text.txt"), step("b", "grep -q B text.txt"))
    agents = Agents(a=edits("text", "one", "A one"), b=edits("text", "one", "B one"), b__merge=merge)
    return a_first(project, goal, agents)


@in_turn
def test_a_conflict_becomes_a_subtask_of_the_step_that_came_later(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    resolved = call("bash", command="git show ours:text.txt | sed 's/A one/A B one/' > text.txt")
    outcome, journal = conflict(project, by_progress(resolved, call("done", summary="A before B.")))
    assert outcome.completed
    assert states(outcome)["b/merge"] == "completed"
    assert text_of(project, outcome, "text") == LINES.replace("one", "A B one", 1)
    (merged,) = journal.of(e.ChildMerged)
    assert merged.conflicts == ("text.txt",)
    told = next(r.event.brief for r in journal.records if r.task == "b/merge" and isinstance(r.event, e.AttemptStarted))
    marked = "<<<<<<< ours\nA one\n||||||| base\none\n=======\nB one\n>>>>>>> theirs\n"
    assert marked in told, "every hunk whole"
    assert "Make a." in told and "Make b." in told, "both intents"
    (settled,) = [event for event in journal.of(e.ChildSettled) if event.child == "b"]
    assert "A before B." in settled.result, "the settled step says what whoever merged it said"
    assert not left_behind(project)


@in_turn
def test_markers_that_are_left_fail_before_any_check(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    half = call("edit", path="text.txt", old="<<<<<<< ours\n", new="")
    rest = call("bash", command="git show ours:text.txt | sed 's/A one/A B one/' > text.txt")

    def merge(prompt: Prompt) -> Answer:
        hunted = "conflict markers are left" in prompt.messages[0].text
        return by_progress(rest, DONE)(prompt) if hunted else by_progress(half, DONE)(prompt)

    outcome, journal = conflict(project, merge)
    assert outcome.completed
    verdicts = [
        r.event.verdict for r in journal.records if r.task == "b/merge" and isinstance(r.event, e.CheckFinished)
    ]
    assert [verdict.ruling for verdict in verdicts] == ["failed", "passed"]
    assert "text.txt:6" in verdicts[0].reason and not verdicts[0].command, "no check was run"


def test_additions_at_one_place_need_no_model(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    goal = both(step("a", "grep -q ^a text.txt"), step("b", "grep -q ^b text.txt"))
    agents = Agents(a=edits("text", "seven\n", "seven\na\n"), b=edits("text", "seven\n", "seven\nb\n"))
    outcome, journal = a_first(project, goal, agents)
    assert outcome.completed
    assert text_of(project, outcome, "text") == LINES + "a\nb\n"
    (merged,) = journal.of(e.ChildMerged)
    assert (merged.conflicts, merged.both, merged.verdict.ruling) == ((), ("text.txt",), "passed")
    assert set(agents.asked) == {"a", "b"}


@in_turn
def test_when_both_additions_fail_together_an_agent_decides(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    last = step("b", "tail -n 1 text.txt | grep -q b && ! grep -q ^a text.txt || grep -q '^b a' text.txt")
    goal = both(step("a", "grep -q a text.txt"), last)
    merge = by_progress(call("bash", command="(git show base:text.txt; echo b a) > text.txt"), DONE)
    agents = Agents(a=edits("text", "seven\n", "seven\na\n"), b=edits("text", "seven\n", "seven\nb\n"), b__merge=merge)
    outcome, journal = a_first(project, goal, agents)
    assert outcome.completed
    assert text_of(project, outcome, "text") == LINES + "b a\n"
    told = next(r.event.brief for r in journal.records if r.task == "b/merge" and isinstance(r.event, e.AttemptStarted))
    assert "Merged, they fail" in told and "<<<<<<< ours\na\n" in told


TESTS = "import unittest\n\n\nclass {}(unittest.TestCase):\n    def test_{}(self):\n        self.assertTrue(True)\n"
RUN_TESTS = "python3 -m unittest discover -v -p 'test_*.py'"


@in_turn
def test_a_merge_that_loses_a_test_fails_and_says_whose_it_was(tmp_path: Path) -> None:
    """Both are proven by the same command; who merges drops the other's test."""
    project = make_project(tmp_path / "p", text=LINES)

    def works(name: str) -> Says:
        test = call("write", path=f"test_{name}.py", content=TESTS.format(name.upper(), name))
        return by_progress(test, call("edit", path="text.txt", old="one", new=f"{name} one"), DONE)

    resolved = "git show ours:text.txt | sed 's/a one/a b one/' > text.txt"
    drops = call("bash", command=f"{resolved}; rm test_a.py")

    def merge(prompt: Prompt) -> Answer:
        mends = call("bash", command="git checkout ours -- test_a.py")
        told = any("passed before the merge" in getattr(message, "text", "") for message in prompt.messages)
        fresh = told and not any(isinstance(message, ModelMessage) for message in prompt.messages)
        return by_progress(mends, DONE)(prompt) if fresh else by_progress(drops, DONE, mends, DONE)(prompt)

    goal = both(step("a", RUN_TESTS, may_edit_tests=True), step("b", RUN_TESTS), check=RUN_TESTS)
    outcome, journal = a_first(project, goal, Agents(a=works("a"), b=works("b"), b__merge=merge))
    assert outcome.completed, outcome.summary
    assert files_of(project, outcome) == {"text.txt", "test_a.py", "test_b.py"}
    verdicts = [
        r.event.verdict for r in journal.records if r.task == "b/merge" and isinstance(r.event, e.CheckFinished)
    ]
    assert [verdict.ruling for verdict in verdicts] == ["failed", "passed"], [verdict.reason for verdict in verdicts]
    (settled,) = [event for event in journal.of(e.ChildSettled) if event.child == "b"]
    assert settled.cases == verdicts[-1].cases and "2 tests" in settled.verdict, "the verdict of after the merge"


@in_turn
def test_what_others_proved_holds_after_the_merge_too(tmp_path: Path) -> None:
    """Disjoint files and each its own check; what `b` did breaks what `a` has proven."""
    project = make_project(tmp_path / "p")
    alone = step("a", "test -f a.txt && ! test -f b.txt || test -f both.txt")
    merge = by_progress(call("bash", command="touch both.txt"), DONE)
    agents = Agents(a=writes("a"), b=writes("b"), b__merge=merge)
    outcome, journal = a_first(project, both(alone, step("b")), agents)
    assert outcome.completed
    (merged,) = journal.of(e.ChildMerged)
    assert merged.verdict.ruling == "failed" and "step a" in merged.verdict.reason
    assert files_of(project, outcome) == {"a.txt", "b.txt", "both.txt"}


@in_turn
def test_a_check_that_fails_at_the_merged_head_becomes_one_too(tmp_path: Path) -> None:
    """Disjoint files, so nothing conflicts; but the two together break what `b` proves."""
    project = make_project(tmp_path / "p")
    alone = step("b", 'test "$(ls *.txt | wc -l)" = 1 || test -f both.txt')
    merge = by_progress(call("bash", command="touch b.txt both.txt"), DONE)
    agents = Agents(a=writes("a"), b=writes("b"), b__merge=merge)
    outcome, journal = a_first(project, both(step("a"), alone), agents)
    assert outcome.completed
    assert files_of(project, outcome) == {"a.txt", "b.txt", "both.txt"}
    assert [m.verdict.ruling for m in journal.of(e.ChildMerged) if m.verdict] == ["failed"]


def test_a_merge_that_cannot_be_solved_blocks_the_later_step_and_keeps_the_earlier_work(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    outcome, _ = conflict(project, lambda prompt: DONE)
    assert (outcome.status, outcome.exit_status) == ("failed", 3)
    assert states(outcome)["a"] == "completed"
    assert "could not be merged" in outcome.summary
    assert text_of(project, outcome, "text") == LINES.replace("one", "A one", 1), "finished work is kept"
    assert not left_behind(project)


@in_turn
def test_a_failing_step_never_takes_the_others_finished_work_with_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(a=lambda prompt: DONE, b=writes("b"), c=writes("c"))
    outcome, _ = run_to_end(project, both(step("a"), step("b"), step("c")), agents, jobs=3)
    assert outcome.status == "failed"
    assert (states(outcome)["a"], states(outcome)["b"], states(outcome)["c"]) == ("blocked", "completed", "completed")
    assert files_of(project, outcome) == {"b.txt", "c.txt"}
    assert not left_behind(project)


def test_one_is_enough_and_the_others_are_called_off(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    asked, never = asyncio.Event(), asyncio.Event()

    async def wait_forever(task: str) -> None:
        if task == "slow/below":
            asked.set()
            await never.wait()
        await asyncio.wait_for(asked.wait(), 240)

    slow = step("slow", steps=(step("below"),))
    agents = Agents(quick=writes("quick"), slow__below=writes("below"))
    agents.before = wait_forever
    outcome, _ = run_to_end(project, both(step("quick"), slow, join="any"), agents)
    assert outcome.completed
    assert states(outcome) == {
        "goal": "completed",
        "quick": "completed",
        "slow": "cancelled",
        "slow/below": "cancelled",
    }
    assert outcome.spend.rounds == 3, "what a step that was called off has spent below it is charged too"
    assert not left_behind(project)


@in_turn
@pytest.mark.parametrize("now", [False, True])
def test_a_stop_with_steps_under_way_and_then_on(tmp_path: Path, now: bool) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(a=writes("a"), b=writes("b"))
    stop = Stop()

    async def run() -> Outcome:
        meeting = Meeting("a", "b")

        async def stopped(task: str) -> None:
            await meeting(task)
            stop.request(now=now)

        agents.before = stopped
        goal = both(step("a"), step("b"))
        return await bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=2, watch=app.RunObserver(stop))

    outcome = asyncio.run(run())
    assert (outcome.status, outcome.exit_status) == ("stopped", 6)
    look(project)
    agents.before = None
    again = asyncio.run(bough.resume(dir=project, model=ScriptedModel(agents)))
    assert again.completed
    assert files_of(project, again) == {"a.txt", "b.txt"}
    assert again.spend.rounds == 4
    look(project)
    assert not left_behind(project)


@in_turn
def test_the_budget_ends_with_steps_under_way_and_then_on(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(a=writes("a"), b=writes("b"), c=writes("c"))
    outcome, _ = run_to_end(project, both(*map(step, "abc")), agents, rounds=3)
    assert (outcome.status, outcome.exit_status) == ("budget", 4)
    assert outcome.spend.rounds <= 3
    done = [path for path, state in states(outcome).items() if state == "completed"]
    assert len(look(project).of(e.TaskHalted)) < 12, "those that wait for each other's rounds do not wake each other up"
    again = asyncio.run(bough.resume(dir=project, model=ScriptedModel(agents), rounds=20))
    assert again.completed
    journal = look(project)
    assert files_of(project, again) == {"a.txt", "b.txt", "c.txt"}
    ended = [r.task for r in journal.records if isinstance(r.event, e.StateChanged) and r.event.to is State.COMPLETED]
    assert len(ended) == len(set(ended)) == 4 and set(done) <= set(ended)
    assert not left_behind(project)


@in_turn
def test_rounds_that_a_sibling_gives_back_are_waited_for(tmp_path: Path) -> None:
    """`a` needs five rounds and gets two; `b` holds the rest until it ends, and needs two."""
    project = make_project(tmp_path / "p")
    long = by_progress(*[call("write", path=f"{n}.txt", content="x\n") for n in range(4)], DONE)
    a = step("a", "test -f 3.txt")
    b = step("b", rounds=8)
    held = asyncio.Event()
    agents = Agents(a=long, b=writes("b"))

    async def until_halted(task: str) -> None:
        if task == "b":
            await asyncio.wait_for(held.wait(), 240)

    def recorded(record: e.Record) -> None:
        if record.task == "a" and isinstance(record.event, e.TaskHalted):
            held.set()

    agents.before = until_halted
    watch = app.RunObserver(recorded=recorded)
    outcome = asyncio.run(
        bough.run(both(a, b), dir=project, model=ScriptedModel(agents), jobs=2, rounds=10, watch=watch)
    )
    look(project)
    assert outcome.completed, outcome.summary
    assert outcome.spend.rounds == 7
