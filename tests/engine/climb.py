"""A run that climbs the whole ladder and gives up, told by models that can be asked again at any point."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bough import app
from bough.app.run_ports import open_ports
from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.messages import Answer, Prompt, Result, Usage, UserMessage
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.tree.task_state import State
from bough.engine import run_loop
from bough.ports import Ports
from bough.testing import Fuse, ScriptedModel, call, say
from bough.views.run_view import Outcome
from tests.answers import combine_answers
from tests.engine.cast import LOOK, SWAP
from tests.harness import QUICK_CHECK, Journal, allow_settings

SETTINGS = """\
[ladder]
task_rounds = 2
[stuck]
repeats = 1
[planning]
min_split = 2
"""
"""Short tempers, so that the story is short."""

LOG = {
    "name": "log",
    "instructions": "Keep a log of the repair in log.txt.",
    "criteria": ["log.txt has a line"],
    "test_command": "test -s log.txt",
    "needs": [],
}
REWRITE = {**SWAP, "name": "rewrite", "instructions": "Write calc.py from nothing: the function gives the sum."}
READ = call("read", path="calc.py")
DONE = call("done", summary="done as asked")
TRIES = combine_answers(*(call("write", path=f"try-{n}.txt", content=f"{n}\n") for n in range(3)))
"""Three actions: honestly tried."""

TOLD: dict[str, list[str]] = {
    GOAL: ["nudge", "prune", "nudge", "decompose", "stronger_model", "replan", "verify", "ask", "give_up"],
    "swap": ["zoom_out", "zoom_out"],
    "rewrite": ["zoom_out"],
    "fix-goal": ["zoom_out"],
}
STATES: dict[str, list[str]] = {
    GOAL: ["in_progress", "decomposed", "testing", "test_failed", "decomposed", "failed"],
    "look": ["in_progress", "testing", "completed"],
    "swap": ["in_progress", "blocked", "blocked"],
    "rewrite": ["in_progress", "blocked"],
    "log": ["in_progress", "testing", "completed"],
    "fix-goal": ["in_progress", "blocked"],
}


def split(*steps: dict[str, Any]) -> Answer:
    return call("split", approach="smaller", steps=list(steps))


def model_answer(prompt: Prompt) -> Answer:
    first = prompt.messages[0]
    assert isinstance(first, UserMessage)
    answer = _answer(prompt, first.text)
    return Answer(answer.text, answer.calls, answer.stop, Usage(input=100, output=10), cost=0.001)


def _answer(prompt: Prompt, brief: str) -> Answer:
    if "Cut a task" in brief:
        return split(LOOK, SWAP) if "was rejected" in brief else split(LOOK)
    if "What can still be reached" in brief:
        return split(REWRITE, LOG)
    if not prompt.tools:
        return say("#### Found out\nThe operator is wrong.")
    got = sum(isinstance(m, Result) and not m.text.startswith("Interrupted") for m in prompt.messages)
    for name, done in (("look", call("write", path="plan.txt", content="minus\n")), ("log", LOG_IT)):
        if f"(goal › {name})" in brief:
            return DONE if got else done
    if "(goal › " in brief:
        return TRIES if not got else READ
    return READ


LOG_IT = call("write", path="log.txt", content="repaired\n")


async def nobody(question: str) -> str:
    return ""


@asynccontextmanager
async def _ports(session: app.Session, fuse: Fuse | None) -> AsyncIterator[Ports]:
    main, strong = ScriptedModel(model_answer, "scripted:main"), ScriptedModel(model_answer, "scripted:strong")
    choices = app.Choices(model=main, strong_model=strong)
    async with open_ports(
        session, choices.models(session.config.models), choices, app.RunObserver(ask=nobody)
    ) as ports:
        yield fuse.wrap(ports) if fuse else ports


async def begin(folder: Path, fuse: Fuse | None = None) -> None:
    (folder / "bough.toml").write_text(SETTINGS)
    allow_settings(folder)
    async with app.open_session(folder, create=True) as session, _ports(session, fuse) as ports:
        first = e.RunStarted(
            plan=Plan(build_goal_step("Make add add.", check=QUICK_CHECK)),
            base=await session.workspaces.take(),
            folder="",
            models={"main": "scripted:main", "fast": "scripted:main", "strong": "scripted:strong"},
            limits=session.config.budget.__class__(rounds=200),
            rules=session.config.limits,
            version="test",
        )
        await run_loop.start_run("test-run", first, ports)


async def resume(folder: Path, fuse: Fuse | None = None) -> None:
    async with app.open_session(folder) as session, _ports(session, fuse) as ports:
        run = await session.run("test-run")
        if run.end is None:
            await run_loop.resume_run("test-run", e.RunResumed(ports.worker, run.limits, run.models), ports)


async def told(folder: Path) -> tuple[Outcome, Journal, Any]:
    async with app.open_session(folder) as session:
        journal = Journal(await session.store.read("test-run"))
        return await session.outcome("test-run"), journal, await session.task("test-run")


def assert_climbed(outcome: Outcome, journal: Journal, goal: Any) -> None:
    """The same end by the same rungs, however often the process died on the way."""
    assert (outcome.status, outcome.exit_status) == ("failed", 3), outcome.summary
    rungs: dict[str, list[str]] = {}
    states: dict[str, list[str]] = {}
    for record in journal.records:
        if isinstance(record.event, e.Escalated):
            rungs.setdefault(record.task, []).append(record.event.decision.rung)
        if isinstance(record.event, e.StateChanged):
            states.setdefault(record.task, []).append(record.event.to.value)
    assert rungs == TOLD, "no rung is lost, and none is counted twice"
    assert states == STATES
    created = Counter(record.task for record in journal.records if isinstance(record.event, e.TaskCreated))
    assert set(created.values()) == {1}, "no step is begun twice"
    settled = Counter((r.event.child, r.event.state) for r in journal.records if isinstance(r.event, e.ChildSettled))
    assert settled == Counter(
        {
            ("look", State.COMPLETED): 1,
            ("swap", State.BLOCKED): 2,
            ("rewrite", State.BLOCKED): 1,
            ("log", State.COMPLETED): 1,
            ("fix-goal", State.BLOCKED): 1,
        }
    )
    assert len(journal.of(e.Reported)) == len(journal.of(e.PersonAnswered)) == 1
    answers = journal.of(e.ModelAnswered, e.HelperAnswered)
    assert outcome.spend.rounds == goal.budget.spend.rounds == len(answers), "the budget is exact"
    assert outcome.spend.tokens == goal.budget.spend.tokens == sum(a.usage.input + a.usage.output for a in answers)
    assert goal.ladder.taken == Counter(TOLD[GOAL])
