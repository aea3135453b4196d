"""A person's answer: it helps, it counts once, and it demands nothing that has to be proven."""

import asyncio
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.ids import CONTROL
from bough.core.messages import Answer, Prompt
from bough.services import run_messages
from bough.testing import Fuse, ScriptedModel
from bough.testing.fuse import FuseBlown
from bough.views.waiting import WaitingView
from tests.engine.cast import DONE, act, in_order
from tests.engine.telling import FinishedRun
from tests.engine.test_examine import BUILDER, RIGHT, WRONG, Court, carried
from tests.engine.test_talk import _WORK, stuck
from tests.harness import begin, by_progress, journal_of, make_project, resume, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

HINT = "The first of two wins: use -i."
HOPELESS = in_order(act("write", path="pick.py", content=f"{WRONG}\n"), DONE)


@pytest.mark.usefixtures("acceptance_as_shipped")
@in_turn
def test_an_answer_helps_a_goal_whose_probes_fail(tmp_path: Path) -> None:
    """The commonest question of a night. What led to it counts from zero; what was spent does not."""
    run = carried(tmp_path, Court(BUILDER, prober=HOPELESS), ask_later=True, flat=True, max_depth=0)
    assert run.outcome.status == "waiting" and "probes still fail after 2 repairs" in run.outcome.summary
    able = Court(in_order(act("write", path="pick.py", content=RIGHT), DONE))
    again = answered(run, able, HINT)
    assert again.outcome.status == "completed", again.outcome.summary
    assert HINT in able.asked[0].brief and again.outcome.spend.tokens > run.outcome.spend.tokens
    hopeless = carried(tmp_path / "2", Court(BUILDER, prober=HOPELESS), ask_later=True, flat=True, max_depth=0)
    cast = Court(in_order(act("write", path="pick.py", content=WRONG), DONE), prober=HOPELESS)
    tried = answered(hopeless, cast, "No idea.")
    assert tried.outcome.status == "failed" and len(cast.hunted) > 1, "it is not given up in the same second"


def answered(run: FinishedRun, cast: Court, text: str) -> FinishedRun:
    async def work() -> FinishedRun:
        with WireModel(cast) as wire:
            choices = app.Choices(model="openai:m", base_url=wire.base_url, ask_later=True, max_depth=0)
            async with app.open_session(run.project) as session:
                name = run.outcome.run
                assert await run_messages.answer_question(session, name, text) is None
                outcome = await session.resume(name, choices, app.RunObserver())
        return FinishedRun(run.project, outcome, await journal_of(run.project, name), cast)

    return asyncio.run(work())


def test_an_answer_is_no_requirement_and_the_second_one_counts_for_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    choices = app.Choices(model=ScriptedModel(stuck), ask_later=True, max_depth=0)
    outcome, _ = run_to_end(project, stuck, choices=choices)

    async def answer() -> None:
        async with app.open_session(project) as session:
            (waiting,) = await run_messages.list_waiting(session, outcome.run, "question")
            await run_messages.answer_question(session, outcome.run, "a plus, not a minus")
            late = e.PersonSaid("leave it", "ben", answers=waiting.seq)
            with pytest.raises(UsageError, match=r"answered, by .+ \(a plus, not a minus\): the first answer counts"):
                await run_messages.answer_once(session, outcome.run, waiting, late)
            with pytest.raises(UsageError, match=r"answered, by .+ \(a plus, not a minus\): the first answer counts"):
                await run_messages.answer_question(session, outcome.run, "another one")
            (given,) = (await run_messages.load_waiting(session, outcome.run)).answered
            assert given.says == "a plus, not a minus"
            assert (await session.resume(outcome.run, choices, app.RunObserver())).completed

    asyncio.run(answer())
    journal = asyncio.run(journal_of(project))
    assert [event.text for event in journal.of(e.PersonAnswered)] == ["a plus, not a minus"]
    assert not journal.of(e.MessageRead, e.MessageReceived), "it was an answer, not a message"


def test_the_first_ruling_on_a_command_is_the_one_that_is_recorded() -> None:
    seen = WaitingView()
    said = (
        e.CommandHeld("c1", "rm -r x"),
        e.CommandRuled("c1", False, "never", "anna"),
        e.CommandRuled("c1", True, "", "b"),
    )
    for seq, event in enumerate(said, 1):
        seen.see(e.Record(seq, "r", CONTROL, seq, 0.0, event))
    assert [(each.says, each.by) for each in seen.answered] == [("do not run it: never", "anna")]


@in_turn
def test_a_message_is_in_the_first_request_of_an_agent_that_is_resumed(tmp_path: Path) -> None:
    """The process died while the model was asked: the same question is asked again, with what was said meanwhile."""
    fuse = Fuse()
    asyncio.run(begin(make_project(tmp_path / "p", repository=False), ScriptedModel(by_progress(*_WORK)), fuse=fuse))
    project = make_project(tmp_path / "q", repository=False)
    with pytest.raises(FuseBlown):
        at = fuse.points.index("before ask")
        asyncio.run(begin(project, ScriptedModel(by_progress(*_WORK)), fuse=Fuse(at)))
    heard: list[bool] = []

    async def say() -> None:
        async with app.open_session(project) as session:
            await run_messages.say_to_run(session, "test-run", "Mind the sign.")

    def answer(prompt: Prompt) -> Answer:
        heard.append(any("Mind the sign." in str(message) for message in prompt.messages))
        return by_progress(*_WORK)(prompt)

    asyncio.run(say())
    asyncio.run(resume(project, ScriptedModel(answer)))
    assert heard == [True, True]
