"""A person talks to a run from elsewhere: every word reaches the agent once, whenever the process dies."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough import app
from bough.app.run_ports import open_ports
from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.errors import UsageError
from bough.core.ids import CONTROL
from bough.core.journal.task_fold import evolve_task
from bough.core.messages import Answer, Prompt, UserMessage
from bough.core.planning.message_reading import read_drop
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.rules import Rules
from bough.core.tree.task import Task
from bough.core.tree.task_groups import TaskTalk
from bough.core.tree.task_state import Inheritance
from bough.engine import run_loop
from bough.engine.person_messages import collect_received
from bough.operations import OPERATIONS
from bough.ports.steering import Inbox
from bough.services import run_messages
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from tests.harness import CHECK, FIXED, Journal, begin, by_progress, git, journal_of, make_project, resume, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

WISH = "Say so in NOTES.md too."
_WORK = (call("write", path="calc.py", content=FIXED), call("done", summary="fixed"))
_ALL = by_progress(*_WORK, call("write", path="NOTES.md", content="fixed\n"), call("done", summary="noted"))


def told(prompt: Prompt) -> int:
    return sum(isinstance(message, UserMessage) and WISH in message.text for message in prompt.messages)


def heedful(project: Path) -> Callable[[Prompt], Answer]:
    """A model that is spoken to while it says that it is done, and that does then what it hears."""

    def answer(prompt: Prompt) -> Answer:
        move = _ALL(prompt)
        if move == _WORK[1] and not told(prompt):
            said = e.PersonSaid(WISH, "anna")

            async def post() -> None:
                async with app.open_session(project) as session:
                    if not await session.store.read("test-run", CONTROL):
                        await session.store.post("test-run", CONTROL, said)

            in_another_process(post)
        return move

    return answer


def in_another_process(work: Callable[[], object]) -> None:
    """As good as: a loop and a connection of its own."""
    from threading import Thread

    thread = Thread(target=lambda: asyncio.run(work()))  # type: ignore[arg-type]
    thread.start()
    thread.join()


def assert_heard(project: Path) -> Journal:
    journal = asyncio.run(journal_of(project, "test-run"))
    assert journal.of(e.RunFinished)[-1].end == "completed"
    assert [(event.text, event.by) for event in journal.of(e.MessageReceived)] == [(WISH, "anna")]
    assert [event.why for event in journal.of(e.MessageAdded)] == ["person"]
    assert "NOTES.md" in journal.of(e.CheckpointMade)[-1].files
    git(project / ".bough" / "repo.git", "fsck", "--strict", "--no-dangling")
    return journal


@in_turn
def test_a_word_is_heard_before_the_work_is_completed_whenever_the_process_dies(tmp_path: Path) -> None:
    project, fuse = make_project(tmp_path / "p", repository=False), Fuse()
    asyncio.run(begin(project, ScriptedModel(heedful(project)), fuse=fuse))
    assert_heard(project)
    around = [at for at, name in enumerate(fuse.points) if "Message" in name or "DoneClaimed" in name]
    assert len(around) >= 6
    for at in around[2::2]:  # What is after one is before the next effect.
        project = make_project(tmp_path / str(at), repository=False)
        with pytest.raises(FuseBlown):
            asyncio.run(begin(project, ScriptedModel(heedful(project)), fuse=Fuse(at)))
        asyncio.run(resume(project, ScriptedModel(heedful(project))))
        assert_heard(project)


def stuck(prompt: Prompt) -> Answer:
    """Gets nowhere until it is told how."""
    if "The person says: a plus" in str(prompt.messages[0]):
        return by_progress(*_WORK)(prompt)
    return call("done", summary="surely done")


def test_a_question_waits_without_a_process_and_is_answered_later(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    choices = app.Choices(model=ScriptedModel(stuck), ask_later=True, max_depth=0)
    outcome, journal = run_to_end(project, stuck, choices=choices)
    assert (outcome.status, outcome.exit_status) == ("waiting", 8)
    (asked,) = journal.of(e.QuestionAsked)
    assert "What was tried" in asked.question

    async def answer() -> None:
        async with app.open_session(project) as session:
            assert (await session.view(outcome.run)).question == asked.question
            again = await session.resume(outcome.run, choices, app.RunObserver())
            assert again.status == "waiting", "nothing has been answered"
            with pytest.raises(UsageError, match="message is empty"):
                await run_messages.answer_question(session, outcome.run, "  ")
            assert await run_messages.answer_question(session, outcome.run, "a plus, not a minus") is None
            with pytest.raises(UsageError, match="already answered"):
                await run_messages.answer_question(session, outcome.run, "another one")
            assert (await session.resume(outcome.run, choices, app.RunObserver())).completed
            assert not (await session.view(outcome.run)).question
            with pytest.raises(UsageError, match="--continue"):
                await run_messages.say_to_run(session, outcome.run, "one more thing")

    asyncio.run(answer())
    journal = asyncio.run(journal_of(project))
    (heard,) = journal.of(e.PersonAnswered)
    assert (heard.text, heard.by) == ("a plus, not a minus", run_messages.find_person()) and heard.said
    assert len(journal.of(e.QuestionAsked)) == 1, "one question, however often it was waited for"


async def asking(project: Path, fuse: Fuse | None, answer: str | None, again: bool) -> Journal:
    """A run that gets stuck and may ask, with the fuse in; `again`: it is resumed."""
    choices = app.Choices(model=ScriptedModel(stuck), max_depth=0)

    async def person(question: str) -> str | None:
        return answer

    async with app.open_session(project, create=True) as session:
        models = choices.models(session.config.models)
        async with open_ports(session, models, choices, app.RunObserver(ask=person)) as ports:
            ports = fuse.wrap(ports) if fuse else ports
            if again:
                run = await session.run("test-run")
                await run_loop.resume_run("test-run", e.RunResumed(ports.worker, run.limits, models), ports)
            else:
                rules = replace(session.config.limits, max_repairs=1, planning=choices.rules(Rules()).planning)
                plan, base = Plan(build_goal_step("Make add add.", check=CHECK)), await session.workspaces.take()
                first = e.RunStarted(plan, base, "", models, session.config.budget, rules, "test")
                await run_loop.start_run("test-run", first, ports)
        return Journal(await session.store.read("test-run"))


@in_turn
def test_a_crash_around_a_question_asks_it_once(tmp_path: Path) -> None:
    fuse, hint = Fuse(), "a plus, not a minus"
    asyncio.run(asking(make_project(tmp_path / "p", repository=False), fuse, hint, again=False))
    around = [at for at, name in enumerate(fuse.points) if "QuestionAsked" in name or "PersonAnswered" in name]
    assert len(around) == 4
    for at in around[::2]:  # What is after one is before the next effect.
        project = make_project(tmp_path / str(at), repository=False)
        with pytest.raises(FuseBlown):
            asyncio.run(asking(project, Fuse(at), hint, again=False))
        journal = asyncio.run(asking(project, None, hint, again=True))
        assert len(journal.of(e.QuestionAsked)) == len(journal.of(e.PersonAnswered)) == 1
        assert journal.of(e.RunFinished)[-1].end == "completed"


def test_a_word_for_one_task_reaches_it_and_those_below_it() -> None:
    inbox = Inbox()
    for seq, said in enumerate((e.PersonSaid("one"), e.PersonSaid("two", task="a"), e.PersonSaid("three")), 1):
        inbox.add(e.Record(seq, "r", CONTROL, seq, 0.0, said))

    def heard(task: Task) -> list[str]:
        return [event.text for event in collect_received(task, inbox) if isinstance(event, e.MessageReceived)]

    assert heard(Task("a")) == [], "first it is read for what it demands"
    for seq in (1, 2, 3):
        inbox.add(e.Record(seq + 3, "r", CONTROL, seq + 3, 0.0, e.MessageRead(seq)))
    assert heard(Task("a")) == heard(Task("a/b")) == ["one", "two", "three"]
    assert heard(Task("ab")) == ["one", "three"]
    assert heard(Task("a", talk=TaskTalk(heard=2))) == ["three"]
    inbox.add(e.Record(7, "r", CONTROL, 7, 0.0, e.PersonSaid("How is it going?")))
    assert heard(Task("a", talk=TaskTalk(heard=3))) == [], "nor this one"
    inbox.add(e.Record(8, "r", CONTROL, 8, 0.0, e.MessageRead(7, asks=True)))
    assert heard(Task("a", talk=TaskTalk(heard=3))) == [], "no agent has to answer a mere question"
    assert heard(Task("goal", talk=TaskTalk(question="What would you do?"))) == [], "it is the answer then"


@in_turn
def test_a_paused_run_halts_and_resumes(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")

    async def work() -> None:
        async def at_first(prompt: Prompt) -> Answer:
            async with app.open_session(project) as session:
                assert (await OPERATIONS["pause"].does(session, await session.find(None))).facts["asked"]
            await session_heard.wait()
            return _WORK[0]

        session_heard, watch = asyncio.Event(), app.RunObserver()
        watch.stop.watch(session_heard.set)
        async with app.open_session(project, create=True) as session:
            step = app.Choices(model=ScriptedModel(at_first), flat=True)
            outcome = await session.start(build_goal_step("Make add add.", check=CHECK), step, watch)
            assert (outcome.status, outcome.summary, outcome.exit_status) == (
                "paused",
                f"paused by {run_messages.find_person()}",
                6,
            )
            go_on = app.Choices(model=ScriptedModel(by_progress(*_WORK)))
            assert (await session.resume(outcome.run, go_on, app.RunObserver())).completed
            assert (await OPERATIONS["pause"].does(session, outcome.run)).facts["asked"] is None

    asyncio.run(work())


@in_turn
def test_a_follow_up_begins_with_the_work_and_the_knowledge_of_the_earlier_run(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    note = call("note", kind="decision", text="plus it is")
    first, _ = run_to_end(project, [note, *_WORK], check=CHECK)
    more = [call("write", path="NOTES.md", content="fixed\n"), call("done", summary="noted")]
    model = ScriptedModel(more)
    choices = app.Choices(model=model, continues=first.run, flat=True)
    second, journal = run_to_end(project, model, goal="Write it down in NOTES.md.", check=None, choices=choices)
    assert second.completed, second.summary
    brief = str(model.prompts[0].messages[0])
    for known in ("Make add add.", "which was completed", "fixed", "calc.py", "plus it is", "test_calc"):
        assert known in brief, known
    (started,) = journal.of(e.RunStarted)
    assert started.continues == first.run and started.base == first.tree[0].tree
    assert journal.of(e.BaseChecked)[0].exit_status == 0, "the check passes where it begins"

    async def look() -> None:
        async with app.open_session(project) as session:
            assert "a + b" in await session.diff(second.run), "the work of both"
            await session.apply(second.run)
            with pytest.raises(UsageError, match="already applied"):
                await session.apply(second.run)

    asyncio.run(look())
    assert (project / "calc.py").read_text() == FIXED and (project / "NOTES.md").exists()
    _, journal = run_to_end(project, more[1:], check=None, choices=app.Choices(continues=second.run, flat=True))
    (started,) = journal.of(e.RunStarted)
    assert not started.origin, "what is applied is in the person's files"
    halted, _ = run_to_end(project, [call("list")] * 3, choices=app.Choices(rounds=1, flat=True))
    with pytest.raises(UsageError, match=f"bough resume {halted.run}"):
        run_to_end(project, more, choices=app.Choices(continues=halted.run))


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("Drop this requirement: None may raise anything.", (2,)),
        ("Please drop requirement 1.", (1,)),
        ("drop requirements 1 and 2", (1, 2)),
        ("Drop requirement 9.", ()),
        ("Drop requirements 1, 2 and 3.", ()),
        ("Drop the old flag.", None),
        ("Requirement 2 stays.", None),
    ],
)
def test_words_that_drop_a_requirement(text: str, dropped: tuple[int, ...] | None) -> None:
    known = [Requirement(number, f"Thing {number}.") for number in (1, 2, 3)]
    assert read_drop(text, known, [2, 2]) == dropped


def test_a_dropped_requirement_reaches_the_step_that_had_to_meet_it_once() -> None:
    inbox = Inbox()
    inbox.add(e.Record(1, "r", CONTROL, 1, 0.0, e.RequirementsDropped((2,), "ann")))
    step = Task("a", inherited=Inheritance(requirements=(Requirement(2, "Raise."), Requirement(3, "Add."))))
    (dropped,) = collect_received(step, inbox)
    assert dropped == e.RequirementsDropped((2,), "ann")
    without = evolve_task(step, e.Record(2, "r", "a", 1, 0.0, dropped))
    assert [(one.number, one.dropped) for one in without.asked] == [(2, "ann"), (3, "")]
    assert not collect_received(without, inbox)
    inbox.add(e.Record(3, "r", CONTROL, 2, 0.0, e.RequirementRestored(2, "ann")))
    assert not collect_received(step, inbox), "the person wants it again"
