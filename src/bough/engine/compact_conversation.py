"""Make a conversation smaller before it fills the model's window.

The fast model summarises what is dropped, part by part, each charged like a round. Where it may not be used or does not
answer, plain rules take its place: a compaction always finishes.
"""

from __future__ import annotations

from msgspec import Struct

from bough.core import commands as c
from bough.core import events as e
from bough.core.budget.limits import LAST_SHARE, find_reached_limit
from bough.core.conversation import compaction, context, pruning
from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.pruning import EssentialFacts
from bough.core.errors import Unavailable
from bough.core.messages import Message
from bough.core.tree.task import Task
from bough.engine.consult import Consulted, consult
from bough.engine.rungs import PART
from bough.engine.task_workspace import TaskRuntime, collect_facts
from bough.ports import Batches


class CompactionPlan(Struct, frozen=True):
    """How to shrink a conversation."""

    messages: PersistentList[Message]
    at: int
    """Kept from here on."""
    limit: int
    """Tokens for the summary."""
    facts: EssentialFacts
    pinned: str

    @property
    def gone(self) -> tuple[Message, ...]:
        return tuple(self.messages)[1 : self.at]


async def compact_conversation(command: c.Compact, task: Task, runtime: TaskRuntime) -> Batches:
    """Ends with `Compacted`, unless a person stops the run meanwhile. The fast model's last answer and its result are
    recorded together, so that a crash in between does not ask it again."""
    assert task.attempt is not None, "no conversation to compact"
    yield [e.CompactionStarted(task.attempt.used, task.attempt.window)]
    facts = await collect_facts(task, runtime)
    aim = compaction.compute_target(task.attempt.messages, task.rules.compaction)
    at = compaction.find_cut(task.attempt.messages, aim)
    plan = CompactionPlan(
        task.attempt.messages,
        at,
        compaction.compute_room(task.attempt.messages, at, aim),
        facts,
        compaction.render_pinned(facts, task.attempt.messages),
    )
    parts = _split_parts(plan, task, runtime)
    written, asked = "", Consulted((), None)
    for number, part in enumerate(parts, 1):
        if asked.events:
            yield asked.events
        values = pruning.build_material(part, number, len(parts), plan.facts, written, max(plan.limit // 2, 100))
        try:
            asked = await consult(task, runtime, "compactor", "fast", values)
        except Unavailable as error:
            asked = Consulted((e.HelperFailed("compactor", str(error)),), None, str(error))
        written = asked.answer.text if asked.answer and pruning.is_usable(asked.answer) else ""
        if not written:
            break
    if asked.events and not written and runtime.ports.stop.requested:
        yield asked.events
        return
    if written:
        text = compaction.parse_summary(written, plan.pinned, plan.limit, plan.facts.files)
    else:
        text = compaction.summarize_plainly(plan.gone, plan.pinned, plan.limit)
    told = context.render(runtime.ports.prompt("compacted"), {"summary": text})
    before = compaction.measure_messages(plan.messages)
    after = compaction.measure_messages(compaction.compact_messages(plan.messages, plan.at, told))
    yield [*asked.events, e.Compacted(told, plan.at, before, after, "model" if written else "rule")]


def _split_parts(plan: CompactionPlan, task: Task, runtime: TaskRuntime) -> list[str]:
    """The parts to show the fast model; none when plain rules are wanted or suffice."""
    spent = find_reached_limit(task.budget.spend, task.budget.limits, LAST_SHARE)
    if spent or task.rules.compaction.summarizer == "truncate":
        return []
    used = max(compaction.measure_messages(plan.messages), task.attempt.used if task.attempt else 0)
    if not compaction.has_helped(used, used - compaction.measure_messages(plan.gone)):
        return []
    window = runtime.ports.models["fast"].window
    parts = pruning.split_transcript(plan.gone, min(PART, window // 2) if window else PART)
    return parts if len(parts) < task.left.rounds else []  # Each part is a round, and the agent needs one too.
