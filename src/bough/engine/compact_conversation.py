"""Makes a conversation smaller before it fills the model's window.

The fast model summarises the dropped messages in parts, each charged like a round. If it may not be used or does not
answer, plain rules shorten them instead, so that a compaction always succeeds.
"""

from __future__ import annotations

from bough.core import commands as c
from bough.core import events as e
from bough.core.budget.limits import LAST_SHARE, find_reached_limit
from bough.core.conversation import compaction, context, pruning
from bough.core.messages import Message
from bough.core.tree.task import Attempt, Task
from bough.engine.consult import Consulted, try_consult
from bough.engine.rungs import PART
from bough.engine.task_workspace import TaskRuntime, collect_facts
from bough.ports import Batches


async def compact_conversation(command: c.Compact, task: Task, runtime: TaskRuntime) -> Batches:
    """Compact the conversation. The last event is `Compacted`, unless a person stops the run. The fast model's last
    answer is recorded together with it, so that after a crash the model is not asked again."""
    assert task.attempt is not None, "no conversation to compact"
    messages = task.attempt.messages
    yield [e.CompactionStarted(task.attempt.used, task.attempt.window)]
    facts = await collect_facts(task, runtime)
    aim = compaction.compute_target(messages, task.rules.compaction, task.attempt.window)
    at = compaction.find_cut(messages, aim)  # The messages from this index on stay.
    gone = tuple(messages)[1:at]
    limit = compaction.compute_room(messages, at, aim)
    pinned = compaction.render_pinned(facts, messages)
    parts = _split_parts(task.attempt, gone, task, runtime)
    written, asked = "", Consulted((), None)
    for number, part in enumerate(parts, 1):
        if asked.events:
            yield asked.events
        values = pruning.build_material(part, number, len(parts), facts, written, max(limit // 2, 100))
        asked = await try_consult(task, runtime, "compactor", "fast", values)
        written = asked.answer.text if asked.answer and pruning.is_usable(asked.answer) else ""
        if not written:
            break
    if asked.events and not written and runtime.ports.stop.requested:
        yield asked.events
        return
    if written:
        text = compaction.parse_summary(written, pinned, limit, facts.files)
    else:
        text = compaction.summarize_plainly(gone, pinned, limit, facts.editors)
    told = context.render(runtime.ports.prompt("compacted"), {"summary": text})
    before = compaction.measure_messages(messages)
    after = compaction.measure_messages(compaction.compact_messages(messages, at, told))
    yield [*asked.events, e.Compacted(told, at, before, after, "model" if written else "rule")]


def _split_parts(attempt: Attempt, gone: tuple[Message, ...], task: Task, runtime: TaskRuntime) -> list[str]:
    """Split the dropped messages into parts for the fast model. Return no parts if plain rules are to be used: by the
    settings, because the budget is short, or because little would be gained."""
    spent = find_reached_limit(task.budget.spend, task.budget.limits, LAST_SHARE)
    if spent or task.rules.compaction.summarizer == "truncate":
        return []
    used = max(compaction.measure_messages(attempt.messages), attempt.used)
    if not compaction.has_helped(used, used - compaction.measure_messages(gone)):
        return []
    window = runtime.find_model(task, "fast").window
    parts = pruning.split_transcript(gone, min(PART, window // 2) if window else PART)
    return parts if len(parts) < task.left.rounds else []  # Each part costs a round, and the agent needs one too.
