"""Receives people's messages to a live run, which any process can post to the control stream of its journal."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance.examination import list_failing_probes
from bough.core.acceptance.requirements import list_active, render_requirements
from bough.core.budget.limits import find_reached_limit
from bough.core.conversation import context
from bough.core.ids import CONTROL, GOAL
from bough.core.journal.round_fold import PERSON
from bough.core.planning import message_reading as reading
from bough.core.planning import prompt_values
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Step
from bough.core.planning.tool_specs import HEAR
from bough.core.tree.task import Task
from bough.core.tree.task_state import SETTLED, State
from bough.engine.consult import try_consult
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Approval, Batches, Ports
from bough.ports.steering import Inbox

T = TypeVar("T", e.PlanRuled, e.ChangesAnswered)
WISHES = (e.PersonSaid, e.RequirementRestored, e.RequirementsDropped)
"""Events by which people change what the goal asks."""
HEARD = (*WISHES, e.MessageRead, e.PlanRuled, e.CommandRuled, e.ChangesAnswered)


async def listen(run: str, ports: Ports, since: int | None = None) -> Callable[[], Awaitable[None]]:
    """Put people's messages so far into the inbox. Return a function that reads what was posted since, and passes on
    messages and stop requests. `since`: stop requests up to this event are obsolete; None: all that exist now are."""
    looking = asyncio.Lock()
    posted = await ports.store.read(run, CONTROL)
    last = since if since is not None else posted[-1].seq if posted else 0
    for record in posted:
        if isinstance(record.event, (*WISHES, e.MessageRead)) and record.seq <= last:
            ports.inbox.add(record)

    async def look() -> None:
        nonlocal last
        async with looking:
            for record in await ports.store.read(run, CONTROL, since=last):
                last = record.seq
                match record.event:
                    case e.StopRequested(now=now):
                        ports.stop.request(now=now)
                    case e.PauseRequested(by=by):
                        ports.stop.request(halt=("paused", f"paused by {by}" if by else "a person paused it"))
                    case event if isinstance(event, HEARD):
                        ports.inbox.add(record)

    ports.inbox.look = look
    return look


def collect_received(task: Task, inbox: Inbox) -> Sequence[e.MessageReceived | e.RequirementsDropped]:
    """Return messages to this task, or to all tasks, that have not reached it yet. Return none while the task has an
    open question, which takes the next message as its answer."""
    if task.talk.question:
        return []
    read = {record.event.said: record.event for record in inbox.after(0) if isinstance(record.event, e.MessageRead)}
    found: list[e.MessageReceived | e.RequirementsDropped] = []
    found += _list_dropped(task, inbox)
    for record in inbox.after(task.talk.heard):
        said = record.event
        if not isinstance(said, e.PersonSaid) or said.answers or not _is_for_task(said, task):
            continue
        if record.seq not in read and (task.id != GOAL or task.plan.steps):
            break  # The goal has to read the message first, and decide which step does what it asks.
        if record.seq in read and read[record.seq].asks:
            continue
        found.append(_build_received(record, said, task, read.get(record.seq)))
    return found


def _list_dropped(task: Task, inbox: Inbox) -> list[e.RequirementsDropped]:
    """List the step's requirements that a person has dropped since it began. Return none for the goal itself:
    `read_message` handles those."""
    if task.id == GOAL:
        return []
    last: dict[int, e.Record] = {}
    for record in inbox.after(0):
        if isinstance(record.event, e.RequirementsDropped):
            last |= dict.fromkeys(record.event.numbers, record)
        elif isinstance(record.event, e.RequirementRestored):
            last.pop(record.event.number, None)
    gone = tuple(one.number for one in list_active(task.asked) if one.number in last)
    return [e.RequirementsDropped(gone, getattr(last[gone[0]].event, "by", ""))] if gone else []


def _build_received(record: e.Record, said: e.PersonSaid, task: Task, read: e.MessageRead | None) -> e.MessageReceived:
    """Return the message as one task receives it. The step that has to meet its demands gets them as requirements;
    others are told which step that is."""
    if read is None or not read.requirements or not read.owner:
        return e.MessageReceived(record.seq, said.text, said.by)
    if task.id == read.owner or task.id.startswith(f"{read.owner}/") or task.id.partition("@")[0] == read.owner:
        return e.MessageReceived(record.seq, said.text, said.by, read.requirements)
    text = (
        f"{said.text}\n\n(The step `{read.owner}` does this. Leave it to that step, and keep it in mind for your own.)"
    )
    return e.MessageReceived(record.seq, text, said.by)


def find_unread(task: Task, inbox: Inbox) -> e.Record | None:
    """Find the first message whose demands have not become requirements of the goal yet."""
    if task.id != GOAL or task.state in SETTLED:
        return None
    waiting = (r for r in inbox.after(task.talk.read) if isinstance(r.event, WISHES))
    return next((r for r in waiting if not getattr(r.event, "answers", 0)), None)


async def read_message(command: c.ReadMessage, task: Task, runtime: TaskRuntime) -> Batches:
    """Turn a message's demands into requirements of the goal, and choose the step that has to meet them. If a model
    plans the goal, a model also reads the message; otherwise the form of the text decides."""
    record, ports = command.said, runtime.ports
    said = record.event
    if isinstance(said, e.RequirementRestored | e.RequirementsDropped):
        yield [replace(said, said=record.seq)]
        return
    assert isinstance(said, e.PersonSaid)
    drops = reading.read_drop(said.text, (), ()) is not None  # The message only drops requirements.
    heard = reading.ParsedMessage(()) if drops else reading.ParsedMessage()
    if not drops and task.step.plan_first and not find_reached_limit(task.budget.spend, task.budget.limits):
        values = {
            "asked": render_requirements(task.asked),
            "steps": prompt_values.outline_steps(task.plan.steps) or "There is one engineer, and no steps.",
            "said": said.text,
        }
        asked = await try_consult(task, runtime, "message", "fast", values, HEAR)
        heard = reading.read_heard(asked.answer) if asked.answer is not None else heard
        yield asked.events
    at = time.strftime("%H:%M", time.localtime(record.at))
    added = reading.list_demands(said.text, heard, task.asked, f"{said.by or 'you'}, {at}")
    replaces = reading.list_replaced(heard, task.asked, added)
    owner, events = "", list[e.AnyEvent]()
    if added and task.plan.steps:
        found = reading.find_owner(task, heard, tuple(replaces), said.task)
        replaced = [f"\n\nIt replaces “{one.whole}” where they differ." for one in task.asked if one.number in replaces]
        owner, changed = reading.plan_for_demands(task, added, "".join((said.text, *replaced)), found)
        if changed is not None:
            events = _change_plan(task, changed)
    # A question may be a polite demand, and only a model can tell.
    asks = heard.requirements is not None and not added and reading.only_asks(said.text)
    read = e.MessageRead(record.seq, added, replaces, owner, asks)
    if ports.inbox.post is not None:  # From now on all agents get the message.
        await ports.inbox.post(read)
    if ports.inbox.look is not None:
        await ports.inbox.look()
    yield [read, *events]


def _change_plan(task: Task, changed: Step) -> list[e.AnyEvent]:
    """Return the events that add a step to the plan, or replace one that has not begun, so that the task continues."""
    later = [step for step in task.plan.steps if step.name not in task.children.begun]
    names = [step.name for step in later]
    steps = [changed if step.name == changed.name else step for step in later]
    steps += [changed] if changed.name not in names else []
    said = f"add {changed.name}: a message of yours" if changed.name not in names else f"{changed.name} covers more"
    events: list[e.AnyEvent] = [e.PlanChanged(tuple(steps), (said,))]
    if task.state is State.TESTING:
        events.append(e.StateChanged(State.IN_PROGRESS, "a message adds a requirement"))
    return events


def _is_for_task(said: e.PersonSaid, task: Task) -> bool:
    return said.task in ("", task.id) or task.id.startswith(f"{said.task}/")


async def relay_message(command: c.Relay, task: Task, runtime: TaskRuntime) -> Batches:
    """Pass the person's messages on to the agent. If it had claimed to be done, it continues to work."""
    told = context.render(runtime.ports.prompt(PERSON), {"said": "\n\n".join(task.talk.unheard)})
    events: list[e.AnyEvent] = [e.MessageAdded(PERSON, told)]
    if task.state is State.TESTING:
        events.append(e.StateChanged(State.IN_PROGRESS, "the person sent a message"))
    yield events


async def ask_question(question: str, task: Task, ports: Ports) -> e.PersonAnswered | None:
    """Return the person's answer to a question, from the terminal or another process; None if there is none yet."""

    def find() -> e.PersonAnswered | None:
        answered = set[int]()  # A second answer to one question must not answer the next one.
        for record in ports.inbox.after(0):
            if not isinstance(said := record.event, e.PersonSaid):
                continue
            if record.seq > task.talk.heard and _is_for_task(said, task) and said.answers not in answered:
                return e.PersonAnswered(question, said.text, said.by, record.seq)
            answered |= {said.answers} - {0}
        return None

    answer = await ports.inbox.first(find, _ask_person(question, ports))
    if isinstance(answer, str) and ports.inbox.post is not None:
        refuted = [number for probe in list_failing_probes(task) for number in probe.requirements]
        if dropped := reading.read_drop(answer, task.asked, refuted):
            await ports.inbox.post(e.RequirementsDropped(dropped, ports.person))
            if ports.inbox.look is not None:
                await ports.inbox.look()
    return e.PersonAnswered(question, answer.strip(), ports.person) if isinstance(answer, str) else answer


async def ask_about_plan(task: Task, advice: ApprovalAdvice, ports: Ports) -> tuple[Approval | None, str]:
    """Return the person's answer to the proposed plan, from the terminal or another process, and their name."""
    assert ports.approve is not None, "nobody is there to ask"
    asking = ports.approve(task.plan.proposed, advice)
    said = await ports.inbox.first(partial(_find_ruling, e.PlanRuled, task, ports), asking)
    if isinstance(said, e.PlanRuled):
        return Approval(said.says, said.wish, said.steps, said.requirements), said.by
    return said, ports.person


async def ask_about_changes(question: str, task: Task, ports: Ports) -> e.ChangesAnswered | str | None:
    """Return the person's decision about changes to existing tests: a text, or an event from another process."""
    return await ports.inbox.first(partial(_find_ruling, e.ChangesAnswered, task, ports), _ask_person(question, ports))


def _find_ruling(kind: type[T], task: Task, ports: Ports) -> T | None:
    """Find a decision that another process posted about this task's current question; earlier ones are ignored."""
    for record in ports.inbox.after(0):
        if isinstance(said := record.event, kind) and said.task == task.id and record.at >= task.at:
            return said
    return None


async def _ask_person(question: str, ports: Ports) -> str | None:
    return await ports.ask(question) if ports.ask else None
