"""Sends a person's messages and answers to a run, from any process: they are posted to the journal, where the process
that works on the run reads them. If there is none, they are read when the run is resumed."""

import asyncio
import os
import pwd
import secrets
import time
from collections.abc import Callable
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.sandboxes.approval import YES, Permit
from bough.app.journal import Journal
from bough.core import events as e
from bough.core.errors import NotFound, UsageError
from bough.core.ids import CONTROL, GOAL
from bough.core.planning.message_reading import read_drop
from bough.core.planning.plan import Plan, validate_plan
from bough.core.tree.task_state import SETTLED
from bough.ports import Approval
from bough.ports.steering import Inbox
from bough.views.formatting import cut, one_line
from bough.views.waiting import KINDS, Waiting, WaitingView

LONGEST = 20_000
"""The most characters of a message; more belongs in a file of the project."""


def find_person() -> str:
    """Return the name of the user who runs this process."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


async def say_to_run(journal: Journal, name: str, text: str, task: str = "") -> str | None:
    """Send a message to a run's agents. Return the process that is working on the run, or None if there is none and
    they get the message when it is resumed."""
    words = clean_words(text)
    await _require_unfinished(journal, name)
    if task:
        found = (await journal.view(name)).tasks.get(task)
        if found is None:
            raise NotFound(f"{name} has no task `{task}`: `bough show {name}` lists them.")
        if found.state in SETTLED and task != GOAL:
            raise UsageError(f"{task} of {name} is finished ({found.state}): send the message without --task.")
    await _post_drop(journal, name, words)
    await journal.store.post(name, CONTROL, e.PersonSaid(words, find_person(), task))
    return await journal.holder(name)


async def _post_drop(journal: Journal, name: str, words: str) -> None:
    """Post which requirements a message or an answer drops, if any."""
    rows = (await journal.evidence(name)).rows
    refuted = [row.requirement.number for row in rows if row.standing == "refuted"]
    dropped = read_drop(words, [row.requirement for row in rows], refuted)
    if dropped == ():
        raise UsageError(
            f"It is unclear which requirement to drop, or none would be left: name it by its number, as in "
            f'"Drop requirement 2.". `bough report {name}` lists them; "leave it" gives the goal up.'
        )
    if dropped:
        await journal.store.post(name, CONTROL, e.RequirementsDropped(dropped, find_person()))


async def restore_requirement(journal: Journal, name: str, number: int) -> str | None:
    """Restore a requirement that a message replaced or dropped. Return the process that works on the run, or None."""
    rows = {row.requirement.number: row.requirement for row in (await journal.evidence(name)).rows}
    if number not in rows or rows[number].counts:
        none = f"No message has replaced or dropped requirement {number} of {name}"
        raise UsageError(f"{none}: see `bough report {name}`.")
    await _require_unfinished(journal, name)
    await journal.store.post(name, CONTROL, e.RequirementRestored(number, find_person()))
    return await journal.holder(name)


async def answer_question(journal: Journal, name: str, text: str, task: str = "") -> str | None:
    """Answer the open question of a run, or of one task. Return the process that is working on the run, or None if
    there is none and the answer is read when it is resumed."""
    words = clean_words(text)
    await _require_unfinished(journal, name)
    seen = await load_waiting(journal, name)
    asked = [each for each in seen.open(live=True) if each.kind == "question" and task in ("", each.task)]
    if not asked:
        none = f'{name} has no open question: use `bough say {name} "…"` to message its agents.'
        refuse_second(name, seen, "question", task, none)
    if len(asked) > 1:
        tasks = ", ".join(each.task for each in asked)
        raise UsageError(f"Several tasks of {name} have a question: choose one with --task ({tasks}).")
    await _post_drop(journal, name, words)
    to = "" if asked[0].task == GOAL else asked[0].task
    await answer_once(journal, name, asked[0], e.PersonSaid(words, find_person(), to, asked[0].seq))
    return await journal.holder(name)


def refuse_second(name: str, seen: WaitingView, kind: str, task: str, otherwise: str, id: str = "") -> NoReturn:
    """Raise the error that somebody else has already answered. `otherwise`: the message if nobody has."""
    for each in seen.answered:
        if each.kind == kind and task in ("", each.task) and id in ("", each.id):
            who = f", by {each.by}" if each.by else ""
            said = f"{name} is already answered{who} ({cut(one_line(each.says), 60)})"
            raise UsageError(f"{said}: the first answer counts.")
    raise UsageError(otherwise)


async def load_waiting(journal: Journal, name: str, until: int = 0) -> WaitingView:
    """Load the run's questions to a person, and their answers. `until`: only those before this event."""
    found = WaitingView()
    for record in await journal.store.read(name, kinds=KINDS):
        if not until or record.seq < until:
            found.see(record)
    return found


async def list_waiting(journal: Journal, name: str, kind: str = "", task: str = "") -> list[Waiting]:
    """List the run's open questions; `kind` and `task` restrict them."""
    waiting = (await load_waiting(journal, name)).open(live=await journal.holder(name) is not None)
    return [each for each in waiting if kind in ("", each.kind) and task in ("", each.task)]


async def answer_once(
    journal: Journal, name: str, waiting: Waiting, said: e.PlanRuled | e.CommandRuled | e.ChangesAnswered | e.PersonSaid
) -> None:
    """Post an answer. Raises `UsageError` if another answer is earlier in the journal: only the first one counts."""
    seen = await load_waiting(journal, name, until=(await journal.store.post(name, CONTROL, said)).seq)
    if waiting.seq not in [each.seq for each in seen.open(live=True)]:
        late = f"{name} no longer waits for an answer: see `bough status {name}`."
        refuse_second(name, seen, waiting.kind, waiting.task, late, waiting.id)


def clean_words(text: str) -> str:
    words = text.strip()
    if not words:
        raise UsageError("The message is empty: write it in quotes after the run.")
    if len(words) > LONGEST:
        raise UsageError(f"That is {len(words):,} characters, more than {LONGEST:,}: put it in a file and name it.")
    return words


async def _require_unfinished(journal: Journal, name: str) -> None:
    if (await journal.run(name)).end is not None:
        raise UsageError(f'{name} is finished: `bough run --continue {name} "…"` follows up on it.')


def read_own_plan(plan: Plan, text: str) -> Approval:
    """Read the plan, edited as TOML, that a person gave as the answer to a proposed plan."""
    from bough.core.workflow.loading import load

    goal = load(text, "plan.toml", inputs={}).plan.goal
    return Approval("own", steps=goal.steps, requirements=goal.criteria if goal.criteria != plan.goal.criteria else ())


async def find_proposal(journal: Journal, name: str, task: str = "") -> tuple[Waiting, Plan]:
    """Find the proposed plan that waits for an answer, and its question. `task` chooses among several."""
    for each in await list_waiting(journal, name, task=task):
        if each.plan is not None:
            return each, each.plan
    none = f"No plan of {name} is waiting for your answer: see `bough status {name}`."
    refuse_second(name, await load_waiting(journal, name), "plan", task, none)


async def rule_on_plan(journal: Journal, name: str, waiting: Waiting, approval: Approval) -> None:
    """Record the person's answer to a plan. The process that works on the run reads it and stops asking."""
    if approval.steps:
        validate_plan(Plan(replace((await journal.task(name, waiting.task)).step, steps=approval.steps)))
    chosen = (approval.says, approval.wish, approval.steps, approval.requirements)
    await answer_once(journal, name, waiting, e.PlanRuled(waiting.task, *chosen, find_person()))


class AskAnywhere(Struct, frozen=True, eq=False):
    """Asks the person to approve a command line, at the terminal and in other processes (the dashboard, `bough
    approve`) at once. The first answer counts. Without a terminal it waits at most `_wait` seconds for an answer."""

    _inbox: Inbox
    _terminal: Permit | None
    _wait: float
    _person: str
    _recorded: Callable[[e.Record], None] = lambda record: None

    async def __call__(self, line: str, task: str = "") -> str | None:
        """Return the person's answer; None if there was none."""
        post, look = self._inbox.post, self._inbox.look
        if post is None or look is None:
            return await self._terminal(line, task) if self._terminal else None
        id = secrets.token_hex(4)
        until = 0.0 if self._terminal else time.time() + self._wait

        def find() -> e.CommandRuled | None:
            said = (record.event for record in self._inbox.after(0))
            return next((each for each in said if isinstance(each, e.CommandRuled) and each.id == id), None)

        self._recorded(await post(e.CommandHeld(id, line, task, until)))
        here = self._terminal(line, task) if self._terminal else asyncio.sleep(self._wait)
        ruled = await self._inbox.first(find, here)
        if not isinstance(ruled, e.CommandRuled):
            said = (ruled or "").strip()
            allow = said.lower() in YES
            mine = e.CommandRuled(id, allow, "" if allow else said, "" if ruled is None else self._person)
            # Another process may have posted an answer a moment ago. The journal's order decides which was first.
            await post(mine)
            await look()
            ruled = find() or mine
        return "yes" if ruled.allow else (ruled.say or "no") if ruled.by else None


async def rule_on_command(journal: Journal, name: str, allow: bool, say: str = "", id: str = "", task: str = "") -> str:
    """Allow or refuse a command that a live run waits to run, and return its command line. `id` or `task` chooses among
    several; otherwise the first is meant."""
    waiting = [each for each in await list_waiting(journal, name, "command", task) if id in ("", each.id)]
    if not waiting:
        none = f"No command of {name} is waiting for your answer: see `bough status {name}`."
        refuse_second(name, await load_waiting(journal, name), "command", task, none, id)
    await answer_once(journal, name, waiting[0], e.CommandRuled(waiting[0].id, allow, say, find_person()))
    return waiting[0].question
