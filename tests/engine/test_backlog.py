"""A night: goals of a backlog as runs of their own, with everything real but the model."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.adapters.stores.liveness import worker_id
from bough.app import Choices, Session, open_session
from bough.app.backlog import add_goals, drop_goal, edit_goal, load_backlog, load_page
from bough.app.night import NightObserver, NightPlan, work_through
from bough.app.night_branch import TOGETHER
from bough.core import events as e
from bough.core.backlog.entry import GoalEntry
from bough.core.backlog.state import Backlog
from bough.core.errors import NotFound, UsageError
from bough.core.messages import Answer, Call, Prompt, Replied
from bough.steering import Stop
from bough.testing import ScriptedModel
from tests.harness import git

pytestmark = pytest.mark.anyio
QUICK_CHECK = "sh check.sh"
SCRIPT = "test ! -e broken && for file in t_*; do sh $file || exit 1; done\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "check.sh").write_text(SCRIPT)
    (folder / "t_base").write_text("grep -q line list\n")
    (folder / "list").write_text("line\n")
    git(folder, "init", "-q", "-b", "main", "--template=")
    git(folder, "config", "user.name", "t")
    git(folder, "config", "user.email", "t@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    return folder


def said(prompt: Prompt) -> int:
    return sum(isinstance(message, Replied) for message in prompt.messages)


def answer(prompt: Prompt) -> Answer:
    """Does what the goal says between braces, as a shell command; `ask` gives up and asks."""
    text = " ".join(str(message) for message in prompt.messages)
    found = re.search(r"\{(.+?)\}", text)
    if found is None:
        return Answer("{}")
    if said(prompt) == 0:
        return Answer(calls=(Call("c", "bash", f'{{"command": "{found[1]}"}}'),))
    return Answer(calls=(Call("d", "done", '{"summary": "done"}'),))


class House:
    """The project, its session and a model that does as it is told."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.model = ScriptedModel(answer)
        self.choices = Choices(model=self.model, flat=True, rounds=8)

    async def add(self, name: str, command: str, **more: object) -> None:
        entry = GoalEntry(f"Do {{{command}}}", **{"check": QUICK_CHECK, **more})  # type: ignore[arg-type]
        await add_goals(self.session, await load_backlog(self.session), [(name, entry)])

    async def night(self, watch: NightObserver | None = None, **plan: object) -> Backlog:
        chosen = NightPlan("backlog", **{"jobs": 2, "ask": False, **plan})  # type: ignore[arg-type]
        return await work_through(self.session, chosen, self.choices, watch or NightObserver())

    async def kinds(self) -> dict[str, tuple[str, str]]:
        page = await load_page(self.session, await load_backlog(self.session), 0.0)
        return {goal.name: (goal.kind, goal.why) for goal in page.goals}


async def test_every_goal_is_a_run_with_a_branch_and_needs_build_on_each_other(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        await house.add("two", "test -e one && echo 2 > two; echo test -e two > t_two", needs=("one",))
        await house.add("bad", "touch broken")
        backlog = await house.night()
        kinds = {name: kind for name, (kind, _) in (await house.kinds()).items()}
        assert kinds == {"one": "proven", "two": "proven", "bad": "given_up"}
        assert await session.store.runs() == [
            item.run for item in sorted(backlog.items.values(), key=lambda i: i.settled_at)
        ]
        two, bad = backlog.items["two"].report, backlog.items["bad"].report
        assert two is not None and bad is not None and not bad.branch
        assert git(project, "show", f"{two.branch}:one") == "1\n", "the branch stands by itself"
        assert git(project, "status", "--porcelain") == "" and not (project / "one").exists()
        assert backlog.night is not None and backlog.night.why == "nothing is left that can begin"
        page = await load_page(session, backlog, 0.0)
        assert page.exit_status == 3 and {goal.name: goal.added for goal in page.goals}["one"] == 2


async def test_branches_that_conflict_say_so_and_together_they_are_proven_or_left_out(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("first", "echo red line > list; echo grep -q red list > t_red")
        await house.add("second", "echo blue line > list; echo grep -q blue list > t_blue")
        await house.add("third", "echo 3 > three; echo test -e three > t_three")
        await house.add("fourth", "echo 4 > four; echo test ! -e three > t_four")
        backlog = await house.night(together="night", jobs=1)
        night = backlog.night
        assert night is not None and night.joined is not None
        joined = night.joined
        assert (joined.branch, joined.landed) == ("night", ("first", "third"))
        assert "list" in joined.left_out["second"], "git could not merge it"
        assert "Merged, they fail" in joined.left_out["fourth"], "merged, it breaks a test of third"
        assert git(project, "log", "--format=%s", "main..night").count("\n") == 2, "one commit for each goal"
        page = await load_page(session, backlog, 0.0)
        lines = {goal.name: goal for goal in page.goals}
        assert lines["first"].conflicts == {"second": ("list",)} and lines["second"].conflicts == {"first": ("list",)}
        assert lines["first"].together == "on it" and page.branch == "night"
        with pytest.raises(UsageError, match="night already exists"):
            await house.night(together="night")


async def test_a_night_that_another_process_brings_together_stays_open_and_no_empty_one_follows(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        stream = (await load_backlog(session)).stream
        async with session.store.claim(stream, TOGETHER, worker_id(), 60.0):
            backlog = await house.night(together="night")
        assert backlog.open_night is not None and backlog.items["one"].report is not None
        backlog = await house.night(together="night")  # The other one was killed.
        assert backlog.night is not None and backlog.night.joined is not None and backlog.night.joined.branch == "night"
        assert backlog.night == (await house.night()).night, "there is nothing to do: the page stays"


async def test_the_list_may_change_while_it_is_worked_on(project: Path) -> None:
    """A goal is dropped while it runs and another one added: the first is stopped, the second done the same night."""
    async with open_session(project, create=True) as session:
        house = House(session)
        began = asyncio.Event()
        waits = ScriptedModel(lambda prompt: _hang(began) if "slowly" in str(prompt.messages) else answer(prompt))
        house.choices = replace(house.choices, model=waits)
        await house.add("slow", "true # slowly")
        night = asyncio.create_task(house.night(jobs=1))
        await began.wait()
        backlog = await load_backlog(session)
        await house.add("late", "echo 1 > late; echo test -e late > t_late")
        await drop_goal(session, backlog, backlog.items["slow"])
        backlog = await night
        slow, late = backlog.items["slow"].report, backlog.items["late"].report
        assert slow is not None and slow.status == "dropped" and late is not None and late.status == "completed"


async def _hang(began: asyncio.Event) -> Answer:
    began.set()
    await asyncio.sleep(1.5)
    return Answer(calls=(Call("c", "bash", '{"command": "true"}'),))


async def test_a_stopped_night_goes_on_and_the_base_stays(project: Path) -> None:
    """The base branch moves under it: branches are made on the commit of the evening."""
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        await house.add("two", "echo 2 > two; echo test -e two > t_two")
        stop = Stop()

        def listed(backlog: Backlog, record: e.Record) -> None:
            if isinstance(record.event, e.GoalSettled):
                stop.request()

        backlog = await house.night(NightObserver(stop, listed), jobs=1)
        assert backlog.open_night is not None and backlog.items["two"].report is None
        before = git(project, "rev-parse", "HEAD").strip()
        (project / "list").write_text("moved\n")
        git(project, "commit", "-qam", "the base moves")
        backlog = await house.night()
        reports = {item.name: item.report for item in backlog.items.values()}
        for report in reports.values():
            assert report is not None and report.status == "completed" and report.branch, report
            assert git(project, "rev-parse", f"{report.branch}~1").strip() == before
        runs = [
            record.event.run
            for record in await session.store.read(backlog.stream)
            if isinstance(record.event, e.GoalTaken)
        ]
        assert len(runs) == len(set(runs)) == 2


async def test_a_goal_that_was_given_up_is_tried_again_when_it_is_changed(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "touch broken")
        await house.night()
        first = (await load_backlog(session)).items["one"]
        assert (await house.kinds())["one"][0] == "given_up"
        backlog = await load_backlog(session)
        await edit_goal(
            session, backlog, first, replace(first.entry, goal="Do {echo 1 > one; echo test -e one > t_one}")
        )
        await house.night()
        second = (await load_backlog(session)).items["one"]
        assert (await house.kinds())["one"][0] == "proven" and second.run != first.run


async def test_what_cannot_be_listed_is_refused_and_nothing_is_written(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "true")
        backlog = await load_backlog(session)
        for entries, says in (
            ([("one", GoalEntry("x"))], "already a goal called `one`"),
            ([("", GoalEntry("Do {true}"))], "already in the backlog, as `one`"),
            ([("a", GoalEntry("a", needs=("b",))), ("b", GoalEntry("b", needs=("a",)))], "need each other"),
        ):
            with pytest.raises(UsageError, match=says):
                await add_goals(session, backlog, entries)
        with pytest.raises(NotFound, match="no goal `nobody`"):
            await add_goals(session, backlog, [("a", GoalEntry("a", needs=("nobody",)))])
        long = await add_goals(
            session, backlog, [("a", GoalEntry("x" * 5_000_000)), ("b", GoalEntry("b"))], keep_going=True
        )
        assert "5,000,000 characters" in long[0].refused and not long[1].refused
        assert list((await load_backlog(session)).items) == ["one", "b"]
