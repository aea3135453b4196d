"""What a run may cost: limits that hold, and that say so when they cannot."""

from pathlib import Path

import pytest

from bough.app.choices import Choices
from bough.core import events as e
from bough.core.budget.grants import set_rounds
from bough.core.budget.limits import Limits, ModelPrice
from bough.core.messages import Usage
from bough.core.planning.plan import Plan, Step, build_goal_step
from bough.core.rules import Rules
from bough.views.run_view import view_run
from tests.harness import allow_settings, make_project
from tests.interfaces.shell import bough, busy, here, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

UNSET = Limits()
TWO_STEPS = Step("goal", "x", steps=(Step("a", "a"), Step("b", "b")))


def test_a_price_counts_cached_tokens_apart() -> None:
    usage = Usage(input=1_000_000, output=100_000, cache_read=400_000)
    assert ModelPrice(3, 15, cached=0.5).of(usage) == pytest.approx(0.6 * 3 + 0.4 * 0.5 + 1.5)
    assert ModelPrice(3, 15).of(usage) == pytest.approx(3 + 1.5)


def test_tokens_have_a_ceiling_that_follows_the_rounds_until_a_person_sets_it() -> None:
    def ledger(goal: Step = TWO_STEPS, configured: Limits = UNSET, **chosen: int) -> tuple[int, int | None]:
        limits = Choices(**chosen).limits_for(configured, goal)  # type: ignore[arg-type]
        return limits.rounds, limits.tokens

    assert ledger(build_goal_step("x")) == (40, 6_000_000)
    assert ledger() == (56, 56 * 150_000)
    assert ledger(rounds=10) == (10, 1_500_000)
    assert ledger(tokens=5) == (56, 5) and ledger(configured=Limits(tokens=7)) == (56, 7)
    assert ledger(tokens=0) == (56, None) and ledger(configured=Limits(tokens=0)) == (56, None)
    assert set_rounds(Limits(40, 6_000_000), 100).tokens == 15_000_000
    assert set_rounds(Limits(40, 5), 100).tokens == 5 and set_rounds(Limits(40), 100).tokens is None


def test_the_ledger_of_a_run_is_that_of_its_goal() -> None:
    limits = Limits(40, 6_000_000)
    events: list[tuple[str, e.AnyEvent]] = [
        ("", e.RunStarted(Plan(TWO_STEPS), "a", "", {}, limits, Rules(), "0", grows=True)),
        ("goal", e.TaskCreated(TWO_STEPS, "a", limits, Rules())),
        ("goal", e.Granted(set_rounds(limits, 136))),
    ]
    run = view_run("r", [e.Record(n, "r", task, n, 0.0, event) for n, (task, event) in enumerate(events, 1)])
    assert run.limits == run.tasks["goal"].limits == Limits(136, 136 * 150_000)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_limit_of_cost_that_cannot_be_kept_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = make_project(tmp_path / "p")
    said = here(project, capsys, *run_args("http://127.0.0.1:1/v1", "--max-cost", "2"))
    assert said.status == 2 and '[prices] "openai:test" = {input' in said.err and "--allow-unpriced" in said.err
    assert here(project, capsys, "runs", "--json").json == [], "nothing has begun"


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_price_of_ones_own_ends_the_run_at_its_limit(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text('[prices]\n"openai:test" = {input = 1000, output = 0}\n')
    allow_settings(project)
    with WireModel(busy) as wire:
        said = bough(project, *run_args(wire.base_url, "--max-cost", "2"))
        assert said.status == 4, said
        assert len(wire.requests) == 2 and "$2.40" in said.out
        resumed = bough(project, "resume", "--max-cost", "3")
        assert resumed.status == 4 and "$3.60" in resumed.out, resumed
