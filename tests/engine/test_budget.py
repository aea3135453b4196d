"""One hard budget for a run: it grows with the plan unless a person sets it, and it is exact whatever happens."""

import asyncio
from pathlib import Path

import pytest

import bough
from bough import Step
from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.messages import Answer, Prompt, Usage
from bough.core.planning.plan import count_most_leaves
from bough.interfaces.terminal.banner import render_banner
from bough.testing import ScriptedModel
from tests.engine.parallel_runs import Agents, Says, both, files_of, look, make_project, states, step, writes
from tests.harness import Journal, journal_of
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

PHASES = Step("goal", "All.", test_command="true", steps=(both(step("a"), step("b")), step("c")))


def begun(project: Path, goal: Step, **chosen: int) -> Limits:
    agents = Agents(**{name: writes(name.rpartition("__")[2]) for name in ("a", "b", "c", "goal")})
    asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), **chosen))  # type: ignore[arg-type]
    started = asyncio.run(journal_of(project)).of(e.RunStarted)[0]
    return started.limits  # type: ignore[no-any-return]


@in_turn
def test_the_ledger_grows_with_the_leaves_unless_a_person_sets_it(tmp_path: Path) -> None:
    goal = both(step("a"), step("b"), step("c"))
    assert begun(make_project(tmp_path / "grown"), goal).rounds == 40 + 2 * 16
    assert begun(make_project(tmp_path / "leaf"), step("goal")).rounds == 40
    assert begun(make_project(tmp_path / "chosen"), goal, rounds=9).rounds == 9
    configured = make_project(tmp_path / "configured")
    (configured / "bough.toml").write_text("[budget]\nrounds = 25\n")
    assert begun(configured, goal).rounds == 25


def test_leaves_of_a_plan() -> None:
    assert count_most_leaves(step("a")) == 1
    assert count_most_leaves(PHASES) == 3
    assert count_most_leaves(Step("goal", "", steps=(step("a"), step("b")), repeat=3)) == 6


def test_the_ledger_is_said_before_the_run_starts(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(a=writes("a"), b=writes("b"))
    asyncio.run(bough.run(both(step("a"), step("b")), dir=project, model=ScriptedModel(agents), jobs=2))
    record = asyncio.run(journal_of(project)).records[0]
    text = "\n".join("".join(span for span, _ in line) for line in render_banner(record, "on"))
    assert "budget   56 rounds" in text
    assert "plan     2 tasks, up to 2 at once" in text


def costly(says: Says) -> Says:
    def answer(prompt: Prompt) -> Answer:
        plain = says(prompt)
        return Answer(plain.text, plain.calls, plain.stop, Usage(input=100, output=10), cost=0.01)

    return answer


@pytest.mark.parametrize("jobs", [1, 3])
@in_turn
def test_tokens_and_money_are_exact_and_bounded_in_parallel_too(tmp_path: Path, jobs: int) -> None:
    project = make_project(tmp_path / "p")
    names = "abcdef"
    agents = Agents(**{name: costly(writes(name)) for name in names})
    goal = both(*map(step, names))
    outcome = asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=jobs, tokens=100_000))
    assert outcome.completed
    journal = look(project)
    assert (outcome.spend.rounds, outcome.spend.tokens) == (12, 12 * 110)
    assert outcome.spend.cost == pytest.approx(0.12)
    assert_tokens_fit(journal)


def test_a_token_limit_halts_all_and_they_resume_with_more(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(**{name: costly(writes(name)) for name in "abc"})
    outcome = asyncio.run(
        bough.run(both(*map(step, "abc")), dir=project, model=ScriptedModel(agents), jobs=3, tokens=400)
    )
    assert (outcome.status, outcome.exit_status) == ("budget", 4), states(outcome)
    again = asyncio.run(bough.resume(dir=project, model=ScriptedModel(agents), tokens=10_000))
    assert again.completed, again.summary
    assert files_of(project, again) == {"a.txt", "b.txt", "c.txt"}
    look(project)


def assert_tokens_fit(journal: Journal) -> None:
    for event in journal.of(e.ChildStarted):
        assert event.grant.tokens is not None and event.grant.tokens <= 100_000
