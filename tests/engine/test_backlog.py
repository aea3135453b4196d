"""A night: goals of a backlog as runs of their own, with everything real but the model."""

import asyncio
import re
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.adapters.stores.liveness import worker_id
from bough.app import Choices, Session, open_session
from bough.core import events as e
from bough.core.backlog.entry import GoalEntry
from bough.core.backlog.state import TOGETHER, Backlog
from bough.core.errors import NotFound, RequestRefused, UsageError
from bough.core.messages import Answer, Call, ModelMessage, Prompt
from bough.operations import OPERATIONS
from bough.ports.steering import Stop
from bough.services.backlog import add_goals, edit_goal, load_backlog, load_page
from bough.services.night import NightObserver, NightPlan, work_through
from bough.testing import ScriptedModel
from tests.harness import git
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]
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
    return sum(isinstance(message, ModelMessage) for message in prompt.messages)


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


@in_turn
async def test_every_goal_is_a_run_with_a_branch_and_needs_build_on_each_other(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        await house.add("two", "test -e one && echo 2 > two; echo test -e two > t_two", needs=("one",))
        await house.add("bad", "touch broken")
        backlog = await house.night()
        kinds = {name: kind for name, (kind, _) in (await house.kinds()).items()}
        assert kinds == {"one": "proven", "two": "proven", "bad": "given_up"}
        assert sorted(await session.store.runs()) == sorted(item.run for item in backlog.items.values())
        two, bad = backlog.items["two"].report, backlog.items["bad"].report
        assert two is not None and bad is not None and not bad.branch
        assert git(project, "show", f"{two.branch}:one") == "1\n", "the branch stands by itself"
        assert "Bough-Goal: backlog/two\n" in git(project, "log", "-1", "--format=%B", two.branch)
        assert git(project, "status", "--porcelain") == "" and not (project / "one").exists()
        assert backlog.night is not None and backlog.night.why == "nothing is left that can begin"
        page = await load_page(session, backlog, 0.0)
        assert page.exit_status == 3 and {goal.name: goal.added for goal in page.goals}["one"] == 2


@in_turn
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


@in_turn
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


@in_turn
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
        await OPERATIONS["drop_goal"].does(session, backlog, goal="slow")
        backlog = await night
        slow, late = backlog.items["slow"].report, backlog.items["late"].report
        assert slow is not None and slow.status == "dropped" and late is not None and late.status == "completed"


async def _hang(began: asyncio.Event) -> Answer:
    began.set()
    await asyncio.sleep(1.5)
    return Answer(calls=(Call("c", "bash", '{"command": "true"}'),))


@in_turn
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


@in_turn
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


@in_turn
async def test_a_removed_run_leaves_the_list_usable(project: Path) -> None:
    """A goal that needs it says so, and begins once the work is in the person's files; the others go on."""
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        await house.night()
        first = (await load_backlog(session)).items["one"]
        await session.remove(first.run)
        await house.add("two", "echo 2 > two; echo test -e two > t_two", needs=("one",))
        await house.add("three", "echo 3 > three; echo test -e three > t_three")
        backlog = await house.night(together="night")
        kinds = await house.kinds()
        assert kinds["three"][0] == "proven" and kinds["two"][0] == "ready", "another night tries again"
        assert "whose run was removed" in kinds["two"][1]
        assert backlog.night is not None and backlog.night.joined is not None
        assert backlog.night.joined.landed == ("three",)
        assert first.report is not None
        git(project, "merge", "-q", first.report.branch)
        await house.night()
        assert (await house.kinds())["two"][0] == "proven"


@in_turn
async def test_a_branch_of_somebody_else_stays_as_it_is_and_another_name_is_said(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")

        def listed(backlog: Backlog, record: e.Record) -> None:
            if isinstance(record.event, e.GoalTaken):
                git(project, "branch", "night", "main")
                git(project, "branch", f"bough/{record.event.run}", "main")

        backlog = await house.night(NightObserver(listed=listed), together="night")
        report, night = backlog.items["one"].report, backlog.night
        assert report is not None and night is not None and night.joined is not None
        assert report.branch.endswith("-2") and git(project, "show", f"{report.branch}:one") == "1\n"
        assert night.joined.branch == "night-2" and "night is not a branch of this list" in night.joined.why
        for own in ("night", report.branch.removesuffix("-2")):
            assert git(project, "rev-parse", own) == git(project, "rev-parse", "main"), "it is the person's"


@in_turn
async def test_merging_does_not_wait_for_an_answer_and_begins_again_after_it(project: Path) -> None:
    """Nothing runs, and one goal has a question: the others are merged now, and again with the answered one."""
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        await house.add("two", "touch broken")
        merged: list[str] = []
        joins: list[tuple[str, ...]] = []
        later: set[asyncio.Task[object]] = set()

        async def edit(backlog: Backlog) -> None:
            await house.add("three", "echo 3 > three; echo test -e three > t_three")
            await OPERATIONS["drop_goal"].does(session, backlog, goal="two")

        def listed(backlog: Backlog, record: e.Record) -> None:
            if isinstance(record.event, e.NightJoined):
                joins.append(record.event.landed)
                if len(joins) == 1:
                    later.add(asyncio.create_task(edit(backlog)))

        def noted(record: e.Record) -> None:
            assert isinstance(record.event, e.ChildSettled)
            merged.append(record.event.child)

        watch = NightObserver(listed=listed, merged=noted)
        house.choices = replace(house.choices, max_depth=0)
        backlog = await house.night(watch, together="night", ask=True, until=9e9)
        assert list(map(sorted, joins)) == [["one"], ["one", "three"]] and sorted(merged) == ["one", "one", "three"]
        assert backlog.night is not None and backlog.night.joined is not None
        assert backlog.night.joined.branch == "night" and git(project, "show", "night:three") == "3\n"


@in_turn
async def test_the_commit_of_the_evening_may_be_rewritten(project: Path) -> None:
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")

        def listed(backlog: Backlog, record: e.Record) -> None:
            if isinstance(record.event, e.GoalTaken):
                git(project, "commit", "-q", "--amend", "-m", "other words")
                git(project, "reflog", "expire", "--expire=now", "--all")
                git(project, "gc", "-q", "--prune=now")

        backlog = await house.night(NightObserver(listed=listed), together="night")
        report, night = backlog.items["one"].report, backlog.night
        assert report is not None and report.branch and night is not None and night.joined is not None
        assert night.joined.branch == "night" and not list((project / ".git").glob("fast_import_crash*"))


async def test_together_needs_git(project: Path) -> None:
    import shutil

    shutil.rmtree(project / ".git")
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one")
        with pytest.raises(UsageError, match="needs a git repository"):
            await house.night(together="night")


async def test_a_long_list_takes_seconds_and_can_be_added_again(project: Path) -> None:
    async with open_session(project, create=True) as session:
        entries = [("", GoalEntry(f"Goal number {number}.")) for number in range(3_000)]
        began = time.monotonic()
        assert len(await add_goals(session, await load_backlog(session), entries, again=True)) == 3_000
        done = await add_goals(session, await load_backlog(session), [*entries, ("", GoalEntry("new"))], again=True)
        assert [one.name for one in done if not one.refused] == ["new"]
        assert time.monotonic() - began < 60, "it took minutes"


async def test_a_night_that_is_started_again_asks_the_model_at_once(project: Path) -> None:
    """The key is right now: nobody waits for the time that the last failure set."""
    async with open_session(project, create=True) as session:
        house = House(session)
        await house.add("one", "echo 1 > one; echo test -e one > t_one")
        stop = Stop()

        def listed(backlog: Backlog, record: e.Record) -> None:
            if isinstance(record.event, e.GoalSettled):
                stop.request()

        house.choices = replace(house.choices, model=ScriptedModel([RequestRefused("wrong key")] * 9))
        backlog = await house.night(NightObserver(stop, listed))
        assert backlog.items["one"].report is not None and backlog.items["one"].report.status == "unavailable"
        house.choices = replace(house.choices, model=house.model)
        began = time.monotonic()
        await house.night()
        assert (await house.kinds())["one"][0] == "proven" and time.monotonic() - began < 25
