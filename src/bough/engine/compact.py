"""Make a conversation smaller before it fills the model's window.

The fast model summarises what goes, part by part, each charged like a round. Where it is not to be asked or does not
answer, plain rules take its place: a compaction always comes to an end.
"""

from __future__ import annotations

from msgspec import Struct

from bough.core import commands as c
from bough.core import compaction, context, pruning
from bough.core import events as e
from bough.core.budget import LAST_SHARE, used_up
from bough.core.errors import Unavailable
from bough.core.messages import Message
from bough.core.pruning import Needed
from bough.core.task import Task
from bough.core.trail import Trail
from bough.engine.consult import Consulted, consult
from bough.engine.rungs import PART
from bough.engine.site import Site, needed
from bough.ports import Batches


class Plan(Struct, frozen=True):
    """What is to become of a conversation."""

    messages: Trail[Message]
    at: int
    """Kept from here on."""
    limit: int
    """Tokens for the summary."""
    facts: Needed
    pinned: str

    @property
    def gone(self) -> tuple[Message, ...]:
        return tuple(self.messages)[1 : self.at]


async def compact(command: c.Compact, task: Task, site: Site) -> Batches:
    """Ends with `Compacted`, unless a person wants to stop meanwhile. The last answer of the fast model and what came
    of it are recorded together, so that a crash in between does not ask it again."""
    assert task.attempt is not None, "no conversation to compact"
    yield [e.CompactionStarted(task.attempt.used, task.attempt.window)]
    plan = await _plan(task, task.attempt.messages, site)
    parts = _parts(plan, task, site)
    written, asked = "", Consulted((), None)
    for number, part in enumerate(parts, 1):
        if asked.events:
            yield asked.events
        values = compaction.question(part, number, len(parts), plan.facts, written, plan.limit)
        asked = await _ask(task, site, values)
        written = asked.answer.text if asked.answer and pruning.usable(asked.answer) else ""
        if not written:
            break
    if asked.events and not written and site.ports.stop.requested:
        yield asked.events
        return
    yield [*asked.events, _compacted(plan, written, site)]


async def _plan(task: Task, messages: Trail[Message], site: Site) -> Plan:
    facts = await needed(task, site)
    aim = compaction.target(messages, task.rules.compaction)
    at = compaction.cut(messages, aim)
    return Plan(messages, at, compaction.room(messages, at, aim), facts, compaction.pinned(facts, messages))


def _parts(plan: Plan, task: Task, site: Site) -> list[str]:
    """What the fast model is to be shown; nothing when plain rules are wanted, or are all that is worth it."""
    if task.rules.compaction.summarizer == "truncate" or used_up(task.spend, task.limits, LAST_SHARE):
        return []
    used = max(compaction.measured(plan.messages), task.attempt.used if task.attempt else 0)
    if not compaction.helped(used, used - compaction.measured(plan.gone)):
        return []
    window = site.ports.models["fast"].window
    parts = pruning.parts(plan.gone, min(PART, window // 2) if window else PART)
    return parts if len(parts) < task.left.rounds else []  # Each part is a round, and the agent needs one too.


async def _ask(task: Task, site: Site, values: dict[str, str]) -> Consulted:
    try:
        return await consult(task, site, "compactor", "fast", values)
    except Unavailable as error:
        return Consulted((e.HelperFailed("compactor", str(error)),), None, str(error))


def _compacted(plan: Plan, written: str, site: Site) -> e.Compacted:
    if written:
        text = compaction.summary(written, plan.pinned, plan.limit, plan.facts.files)
    else:
        text = compaction.truncated(plan.gone, plan.pinned, plan.limit)
    told = context.render(site.ports.prompt("compacted"), {"summary": text})
    before = compaction.measured(plan.messages)
    after = compaction.measured(compaction.compacted(plan.messages, plan.at, told))
    return e.Compacted(told, plan.at, before, after, "model" if written else "rule")
