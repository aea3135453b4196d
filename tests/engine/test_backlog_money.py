"""What a night costs: one sum over its runs, whatever is done to them and to the list."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace
from pytest import approx

from bough.app import Session, open_journal, open_session
from bough.core import events as e
from bough.core.backlog.entry import GoalEntry, GoalReport
from bough.core.budget.limits import Spend
from bough.core.ids import CONTROL
from bough.core.messages import Answer, Prompt, Usage
from bough.operations import OPERATIONS
from bough.services.backlog import edit_goal, load_backlog, load_page
from bough.services.night import NightObserver
from bough.testing import ScriptedModel
from tests.engine.test_backlog import House, answer, project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]
__all__ = ["project"]
GOOD = "echo {0} > {0}; echo test -e {0} > t_{0}"


class Shop(House):
    """A house whose model costs one cent a call."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.calls = 0
        self.model = ScriptedModel(self.sell)
        self.choices = replace(self.choices, model=self.model, allow_unpriced=True)

    def sell(self, prompt: Prompt) -> Answer:
        self.calls += 1
        return replace(answer(prompt), cost=0.01, usage=Usage(100, 10))

    async def spent(self) -> float:
        page = await load_page(self.session, await load_backlog(self.session), 0.0)
        assert page.spend.tokens == approx(page.spend.cost * 11_000), "tokens and dollars are of the same calls"
        return page.spend.cost


@in_turn
async def test_a_killed_night_with_a_budget_continues(project: Path) -> None:
    async with open_session(project, create=True) as session:
        shop = Shop(session)
        await shop.add("one", GOOD.format("one"))
        await shop.add("two", GOOD.format("two"))
        taken = asyncio.Event()

        def recorded(record: e.Record) -> None:
            if isinstance(record.event, e.DoneClaimed):
                taken.set()

        work = asyncio.create_task(shop.night(NightObserver(recorded=recorded), jobs=1, cost=0.5))
        await taken.wait()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        assert (await load_backlog(session)).items["one"].running, "as after a kill"
        backlog = await shop.night(jobs=1, cost=0.5)
        assert {kind for kind, _ in (await shop.kinds()).values()} == {"proven"}
        assert await shop.spent() == approx(0.01 * shop.calls)
        ended = [r.event for r in await session.store.read(backlog.stream) if isinstance(r.event, e.NightEnded)]
        assert [event.spend.cost for event in ended] == [approx(0.01 * shop.calls)]


@in_turn
async def test_changed_goals_do_not_spend_the_budget_twice(project: Path) -> None:
    """A person changes a goal again and again while the night works: every one of its runs counts."""
    async with open_session(project, create=True) as session:
        shop = Shop(session)
        await shop.add("one", "touch broken")
        edits: set[asyncio.Task[object]] = set()

        async def edit() -> None:
            backlog = await load_backlog(session)
            item = backlog.items["one"]
            await edit_goal(session, backlog, item, replace(item.entry, goal=f"{item.entry.goal} again"))

        def recorded(record: e.Record) -> None:
            if isinstance(record.event, e.RunStarted):
                edits.add(asyncio.create_task(edit()))

        backlog = await shop.night(NightObserver(recorded=recorded), cost=0.3)
        assert backlog.night is not None and len(backlog.night.runs) > 1
        assert backlog.night.why == "the night's budget of $0.3 is spent"
        spent = await shop.spent()
        assert spent == approx(0.01 * shop.calls) and 0.2 < spent < 0.32


@in_turn
async def test_totals_are_those_of_the_night_whatever_becomes_of_its_runs(project: Path) -> None:
    """Earlier nights are not counted in; dropped goals, first tries of changed goals and removed runs are."""
    async with open_session(project, create=True) as session:
        shop = Shop(session)
        await shop.add("one", GOOD.format("one"))
        await shop.night()
        before = shop.calls
        assert await shop.spent() == approx(0.01 * before)
        for name in ("two", "three", "four"):
            await shop.add(name, GOOD.format(name))
        await shop.add("five", "touch broken")
        backlog = await shop.night(jobs=1)
        night = approx(0.01 * (shop.calls - before))
        assert await shop.spent() == night, "the first night is another night's"
        await OPERATIONS["drop_goal"].does(session, backlog, goal="two")
        assert await shop.spent() == night, "its money is spent"
        await session.remove(backlog.items["three"].run)
        await session.remove(backlog.items["two"].run)
        assert await shop.spent() == night
        assert (await shop.kinds())["three"][0] == "proven"
        page = await load_page(session, await load_backlog(session), 0.0)
        lines = {goal.name: goal.spend.cost for goal in page.goals}
        assert lines["one"] == 0.0 and lines["three"] > 0.0


async def test_a_removed_run_that_begins_again_under_its_name_counts_twice(tmp_path: Path) -> None:
    """A goal keeps the name of its run: what it spent before the person removed it is spent all the same."""
    listed = [e.GoalsListed({"one": GoalEntry("Do one.")}), e.NightStarted("b" * 40)]
    journals.write(tmp_path, "@backlog/backlog", [(CONTROL, event) for event in listed])
    for spend in (Spend(tokens_in=100), Spend(tokens_in=10)):
        journals.append(tmp_path, "@backlog/backlog", "one", [e.GoalTaken("jade-fox", "b" * 40)])
        journals.append(tmp_path, "@backlog/backlog", CONTROL, [e.RunRemoved("jade-fox", spend)])
    journals.append(tmp_path, "@backlog/backlog", "one", [e.GoalTaken("jade-fox", "b" * 40)])
    settled = e.GoalSettled(GoalReport("completed", "proven", spend=Spend(tokens_in=1)))
    journals.append(tmp_path, "@backlog/backlog", "one", [settled])
    async with open_journal(tmp_path) as journal:
        page = await load_page(journal, await load_backlog(journal), 0.0)
    assert page.spend.tokens_in == 111 == page.goals[0].spend.tokens_in
