"""Receive people's messages to a live run. They post them to the control stream from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bough.core import commands as c
from bough.core import events as e
from bough.core.conversation import context
from bough.core.ids import CONTROL
from bough.core.journal.round_fold import PERSON
from bough.core.planning.size_estimate import Advice
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.first_answer import wait_for_first
from bough.engine.task_workspace import Site
from bough.ports import Approval, Batches, Inbox, Ports


def make_listener(run: str, since: int, ports: Ports) -> Callable[[], Awaitable[None]]:
    """Reads what was posted since the last time, and passes it on: stop requests, messages to agents."""
    looking = asyncio.Lock()

    async def look() -> None:
        nonlocal since
        async with looking:
            for record in await ports.store.read(run, CONTROL, since=since):
                since = record.seq
                match record.event:
                    case e.StopRequested(now=now):
                        ports.stop.request(now=now)
                    case e.PauseRequested(by=by):
                        ports.stop.request(halt=("paused", f"paused by {by}" if by else "a person paused it"))
                    case e.PersonSaid() | e.PlanRuled() | e.CommandRuled() | e.ChangesAnswered():
                        ports.inbox.add(record)

    return look


def collect_received(task: Task, inbox: Inbox) -> list[e.MessageReceived]:
    """Messages to the task, or to all tasks, that have not reached it yet. An open question takes one as its answer."""
    if task.talk.question:
        return []
    return [
        e.MessageReceived(record.seq, said.text, said.by)
        for record in inbox.after(task.talk.heard)
        if isinstance(said := record.event, e.PersonSaid) and _is_for_task(said, task)
    ]


def _is_for_task(said: e.PersonSaid, task: Task) -> bool:
    return said.task in ("", task.id) or task.id.startswith(f"{said.task}/")


async def relay_message(command: c.Relay, task: Task, site: Site) -> Batches:
    """Tell the agent. Any claim it made before is withdrawn."""
    told = context.render(site.ports.prompt(PERSON), {"said": "\n\n".join(task.talk.unheard)})
    events: list[e.AnyEvent] = [e.MessageAdded(PERSON, told)]
    if task.state is State.TESTING:
        events.append(e.StateChanged(State.IN_PROGRESS, "the person sent a message"))
    yield events


async def ask_question(question: str, task: Task, ports: Ports) -> e.PersonAnswered | None:
    """The person's answer to a question, at the terminal or from elsewhere; None: it may come later."""

    def find() -> e.PersonAnswered | None:
        for record in ports.inbox.after(task.talk.heard):
            if isinstance(said := record.event, e.PersonSaid) and _is_for_task(said, task):
                return e.PersonAnswered(question, said.text, said.by, record.seq)
        return None

    answer = await wait_for_first(ports.inbox, find, _ask_person(question, ports))
    return e.PersonAnswered(question, answer.strip(), ports.person) if isinstance(answer, str) else answer


async def ask_about_plan(task: Task, advice: Advice, ports: Ports) -> tuple[Approval | None, str]:
    """The person's answer to the proposed plan, at the terminal or from elsewhere, and who they are."""
    assert ports.approve is not None, "nobody is there to ask"

    def find() -> tuple[Approval, str] | None:
        for record in ports.inbox.after(0):
            said = record.event
            # Answers to an earlier proposal are older than this one.
            if isinstance(said, e.PlanRuled) and said.task == task.id and record.at >= task.at:
                return Approval(said.says, said.wish, said.steps, said.requirements), said.by
        return None

    answer = await wait_for_first(ports.inbox, find, ports.approve(task.plan.proposed, advice))
    return answer if isinstance(answer, tuple) else (answer, ports.person)


async def ask_about_changes(question: str, task: Task, ports: Ports) -> e.ChangesAnswered | str | None:
    """What the person says about changes to original tests: at the terminal, in words, or from elsewhere."""

    def find() -> e.ChangesAnswered | None:
        for record in ports.inbox.after(0):
            said = record.event
            # Answers about earlier work are older than this question.
            if isinstance(said, e.ChangesAnswered) and said.task == task.id and record.at >= task.at:
                return said
        return None

    return await wait_for_first(ports.inbox, find, _ask_person(question, ports))


async def _ask_person(question: str, ports: Ports) -> str | None:
    return await ports.ask(question) if ports.ask else None
