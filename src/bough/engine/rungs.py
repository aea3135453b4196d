"""Takes the rungs of the ladder (the measures against a stuck task, from a fresh agent to giving up) once they
have been decided and recorded. Also compacts a long conversation, and writes the report on a task that is given up."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.budget.limits import LAST_SHARE, find_reached_limit
from bough.core.conversation import compaction, context, pruning
from bough.core.conversation.compaction import measure_messages
from bough.core.conversation.text_fitting import estimate_tokens
from bough.core.ids import GOAL, child_path
from bough.core.journal.task_fold import fold_task
from bough.core.ladder.escalation import Decision, Rung
from bough.core.messages import AnswerProtocol, Message
from bough.core.planning import prompt_values
from bough.core.planning.decomposition import build_focus_step, read_replan, read_split
from bough.core.planning.plan import Role, Tier
from bough.core.planning.prompt_values import FinishedStep
from bough.core.planning.tool_specs import SPLIT
from bough.core.tree.next_moves import list_unsuccessful
from bough.core.tree.task import Attempt, Task
from bough.core.tree.task_state import State
from bough.engine import task_workspace
from bough.engine.agent_protocol import build_attempt, choose_next_tactic, find_agent, find_protocol, repeat_attempt
from bough.engine.consult import Consultation, try_consult
from bough.engine.make_plan import Taken, ask_for_steps
from bough.engine.person_messages import ask_question
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Batches

DEAD_END = 600
"""The most characters of a note about a dead end."""
UNFIT = {"tools": "this model does not call tools reliably", "text": "this model does not write usable blocks"}
"""Why a model is switched to the other protocol, by the protocol that it used."""
PART = 24_000
"""The most tokens of a conversation that a helper model is shown at once."""


async def _prune(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    """Start a fresh agent of the same role, with only what the task needs from the old conversation."""
    assert task.attempt is not None, "no context to prune"
    if task.in_text:  # Prompts for models that act in text hold only what is needed anyway.
        yield [await build_attempt(task, runtime, task.attempt.role, task.attempt.tier)]
        return
    messages, facts = task.attempt.messages, await task_workspace.collect_facts(task, runtime)
    learned = _build_dead_end(task)
    facts = replace(facts, dead_ends=(*facts.dead_ends, *(note.text for note in learned)))
    extract, usable = "", True
    parts = pruning.split_transcript(messages, PART)
    # Each part costs a round, and the agent needs at least one: otherwise plain rules prune the conversation.
    if len(parts) >= task.left.rounds:
        parts, usable = [], False
    heard: list[e.AnyEvent] = []
    for number, part in enumerate(parts, 1):
        if heard:  # Record all answers but the last one here; below, the last one is recorded with its result.
            yield heard
        values = pruning.build_question(part, number, len(parts), facts, extract)
        asked = await try_consult(task, runtime, "pruner", "fast", values)
        heard = list(asked.events)
        usable = asked.answer is not None and pruning.is_usable(asked.answer)
        if asked.answer is None or not usable:
            break
        extract = asked.answer.text
    text = pruning.prune_context(extract, facts) if usable else pruning.prune_plainly(messages, facts)
    pruned = e.ContextPruned(measure_messages(messages), estimate_tokens(text), "model" if usable else "rule")
    yield [*heard, *learned, pruned, await _build_attempt(task, runtime, text, task.attempt.tier)]


def _build_dead_end(task: Task) -> list[e.NoteKept]:
    trouble = task.ladder.trouble
    if trouble is None or trouble.recommended != "other_approach":
        return []
    return [e.NoteKept("dead_end", context.shorten_text(" ".join((trouble.says, *trouble.evidence)), DEAD_END))]


async def _build_attempt(task: Task, runtime: TaskRuntime, text: str, tier: Tier) -> e.AttemptStarted:
    why = task.ladder.trouble.says if task.ladder.trouble else "the work was stuck"
    values = {"context": text, "why": why, "place": context.render_place(task), "rounds": str(task.left.rounds)}
    role = task.attempt.role if task.attempt else task.step.role
    told = context.render(runtime.ports.prompt("pruned"), values)
    if agent := find_agent(task, runtime, role, tier):
        return e.AttemptStarted(
            role, tier, await task_workspace.render_system_prompt(task, runtime, "outside"), told, "agent", agent=agent
        )
    return e.AttemptStarted(role, tier, await task_workspace.render_system_prompt(task, runtime), told)


async def _use_stronger_model(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    """Let a stronger model take over. A stuck task continues with a fresh agent; a task with steps reopens its blocked
    steps, but only one if they are alternatives."""
    if task.plan.steps:
        blocked = tuple(child.child for child in list_unsuccessful(task))
        yield [e.ChildrenReopened(blocked[:1] if task.step.join == "any" else blocked, decision.reason)]
        return
    messages = task.attempt.messages if task.attempt else ()
    text = pruning.prune_plainly(messages, await task_workspace.collect_facts(task, runtime))
    known = find_protocol(task, runtime, "strong")
    role = task.attempt.role if task.attempt else task.step.role
    in_text = known.protocol == "text" and not find_agent(task, runtime, role, "strong")
    fresh = build_attempt(task, runtime, role, "strong") if in_text else _build_attempt(task, runtime, text, "strong")
    yield [await fresh, *_continue(task, decision)]


async def _switch_protocol(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    """Restart the work in the other protocol (tool calls or text), which the model uses from now on."""
    assert task.attempt is not None, "no conversation is open"
    attempt = task.attempt
    other: AnswerProtocol = "tools" if task.in_text else "text"
    name, why = runtime.find_model(task, attempt.tier).name, _describe_reason(task, decision)
    runtime.ports.protocols.learn(name, other, f"{UNFIT[attempt.protocol]}: {why}")
    yield [await build_attempt(task, runtime, task.step.role, attempt.tier, other), *_continue(task, decision)]


async def _try_again(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    """Start another attempt by a model that acts in text. A repair continues the best attempt so far; any other attempt
    starts from the beginning, because independent attempts are worth more than variations of one mistake."""
    assert task.attempt is not None, "no attempt has failed"
    last, best = task.attempt, task.acceptance.best
    workspace = await runtime.open(task)
    if task.ladder.spare:
        tree, begun, why = task.base, repeat_attempt(last), "the model's next answer to the same prompt"
    else:
        tactic = await choose_next_tactic(task, runtime)
        repairs = tactic == "repair" and best is not None
        tree = best.tree if best and repairs else task.base
        role: Role = "bug_hunter" if repairs else task.step.role
        begun = await build_attempt(replace(task, tree=tree), runtime, role, last.tier, tactic=tactic)
        why = "the best attempt so far is repaired" if repairs else "another attempt from the beginning"
    await workspace.restore(tree)
    yield [e.WorkspaceRestored(tree, why), begun, *_continue(task, decision)]


def _continue(task: Task, decision: Decision) -> list[e.AnyEvent]:
    return [e.StateChanged(State.IN_PROGRESS, decision.reason)] if task.state is State.TEST_FAILED else []


async def _decompose(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    values = prompt_values.build_split_values(
        task.step,
        task.id,
        _explain_trouble(task, decision),
        diff=await task_workspace.render_diff(task, runtime),
        kept=context.list_learned_notes(task),
        command=await task_workspace.find_check_command(task, runtime),
    )
    taken = _make_planned_events(task, "it is split")
    read = partial(read_split, task.step, taken=frozenset())
    async for batch in ask_for_steps(task, runtime, "decomposer", values, SPLIT, read, taken):
        yield batch


def _explain_trouble(task: Task, decision: Decision) -> str:
    failing = task.acceptance.failing
    evidence = task.ladder.trouble.evidence if task.ladder.trouble else ()
    said = [decision.reason, *(f"- {line}" for line in evidence), context.render_failure(failing) if failing else ""]
    return "\n".join(text for text in said if text)


async def _replan(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    """Ask a planner for new steps in place of the failed ones. Completed steps stay."""
    bad = {child.child for child in list_unsuccessful(task)} | {
        s.name for s in task.plan.steps if s.name not in task.children.settled
    }
    kept = tuple(step for step in task.plan.steps if step.name not in bad)
    blocked = tuple(step for step in task.plan.steps if step.name in bad)
    taken = frozenset(task.children.begun) | {step.name for step in task.plan.steps}

    helper = "replan_goal" if decision.level == "goal" else "replan"
    values = prompt_values.build_replan_values(
        task.step,
        task.id,
        _explain_trouble(task, decision),
        [await _describe_past(child, task, runtime) for child in task.children.settled.values()],
        kept=context.list_learned_notes(task),
        command=await task_workspace.find_check_command(task, runtime),
    )
    instead = _make_planned_events(task, "another approach", tuple(sorted(bad)))
    read = partial(read_replan, task.step, kept=kept, blocked=blocked, taken=taken)
    async for batch in ask_for_steps(task, runtime, helper, values, SPLIT, read, instead):
        yield batch


async def _describe_past(child: e.ChildSettled, task: Task, runtime: TaskRuntime) -> FinishedStep:
    """Describe a step that ended; if it was not completed, with its changes, which the task's files do not have."""
    past = FinishedStep(child.child, child.state, child.result or child.why, child.files)
    if child.state is State.COMPLETED or not child.task:
        return past
    path = child_path(task.id, child.task)
    begun = fold_task(path, await runtime.ports.store.read(runtime.run.name, path))
    return replace(past, commit=begun.outcome.commit, work=await task_workspace.render_diff(begun, runtime))


def _make_planned_events(task: Task, why: str, dropped: tuple[str, ...] = ()) -> Taken:
    change = [] if task.state is State.DECOMPOSED else [e.StateChanged(State.DECOMPOSED, why)]
    return lambda steps: [e.Planned(steps, why, dropped), *change]


def _describe_reason(task: Task, decision: Decision) -> str:
    """Return why the task is stuck, without what is done about it."""
    return task.ladder.trouble.says.rstrip(".") if task.ladder.trouble else decision.reason


async def _verify(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    yield [e.StateChanged(State.TESTING, "more steps are completed than blocked: it may be done")]


async def focus_step(command: c.Focus, task: Task, runtime: TaskRuntime) -> Batches:
    """Plan one focused step for what the check still finds."""
    assert task.acceptance.verdict is not None, "nothing was checked"
    bad = tuple(child.child for child in list_unsuccessful(task))
    template = runtime.ports.prompt("focus")
    step = build_focus_step(
        task.step, context.render_failure(task.acceptance.verdict), template, frozenset(task.children.begun)
    )
    why = "one focused step for what the check still finds"
    yield [e.Planned((step,), why, bad), e.StateChanged(State.DECOMPOSED, why)]


async def _ask(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    """Ask the person what to do. Without an answer the task halts until one arrives; no process has to wait."""
    told = render_report(task, _describe_reason(task, decision), asks=True)
    question = task.talk.question or context.render(runtime.ports.prompt("ask"), {"report": told})
    if not task.talk.question:
        yield [e.QuestionAsked(question)]
    yield [
        await ask_question(question, task, runtime.ports) or e.TaskHalted("waiting", _describe_reason(task, decision))
    ]


async def _give_up(decision: Decision, task: Task, runtime: TaskRuntime) -> Batches:
    why = _describe_reason(task, decision)
    told = e.Reported(render_report(task, why))
    async for batch in task_workspace.conclude(State.FAILED, why, task, runtime):
        yield [told, *batch]


EFFECTS: dict[Rung, Callable[[Decision, Task, TaskRuntime], Batches]] = {
    "other_protocol": _switch_protocol,
    "attempts": _try_again,
    "prune": _prune,
    "decompose": _decompose,
    "zoom_out": lambda seen, task, runtime: task_workspace.conclude(
        State.BLOCKED, _describe_reason(task, seen), task, runtime
    ),
    "stronger_model": _use_stronger_model,
    "verify": _verify,
    "replan": _replan,
    "ask": _ask,
    "give_up": _give_up,
}
"""The function for each rung. The rung `nudge` is missing, because `perform` adds its message when it is decided."""


WORDS: dict[Rung, str] = {
    "other_protocol": "the model was switched to the other protocol",
    "attempts": "fresh attempts were made",
    "nudge": "the agent was told that it is stuck",
    "prune": "its context was pruned",
    "decompose": "it was split into smaller steps",
    "zoom_out": "it was set aside",
    "stronger_model": "a stronger model took over",
    "verify": "it was checked in case it was already done",
    "replan": "another approach was planned",
    "ask": "you were asked",
    "give_up": "it was given up",
}
"""What to say in a report about each rung that was used."""


def render_report(task: Task, why: str, *, asks: bool = False) -> str:
    """Write the report on a stuck task in Markdown. `asks`: it is part of a question, before the task is given up."""
    done = [child for child in task.children.settled.values() if child.state is State.COMPLETED]
    open_ = [step for step in task.plan.steps if step.name not in {child.child for child in done}]
    left_out = ("give_up", "ask") if asks else ("give_up",)
    taken = [
        (WORDS[rung], task.ladder.taken[rung]) for rung in WORDS if rung in task.ladder.taken and rung not in left_out
    ]
    tried = [f"{words}{f' ({times} times)' if times > 1 else ''}" for words, times in taken]
    if task.acceptance.repairs:
        who = "a bug hunter" if task.acceptance.repairs == 1 else f"{task.acceptance.repairs} bug hunters"
        tried.append(f"{who} tried to repair it")
    tried += [
        f"{child.child}: {child.why}" for child in task.children.settled.values() if child.state is not State.COMPLETED
    ]
    where = "" if task.id == GOAL else f" {task.id}"
    left = [context.shorten_text(step.title or step.instructions, context.CRUMB) for step in open_]
    if (verdict := task.acceptance.verdict) is not None and verdict.ruling != "passed":
        left.append(f"the check: {verdict.reason}")
        left += [f"{failure.id} ({failure.kind})" for failure in verdict.failures[:10]]
    parts = [
        f"{'Stuck' if asks else 'Given up'}: {why.rstrip('.')}.",
        _render_section("What was tried", tried),
        _render_section("What was learned", list(context.list_lessons(task))),
        _render_section("What is done", [context.render_result(child) for child in done]),
        _render_section("What is left", left or [context.shorten_text(task.step.instructions, context.CRUMB)]),
        "" if asks else _render_section("How to continue", [line.format(where) for line in HOW_TO_CONTINUE]),
    ]
    return "\n".join(part for part in parts if part)


HOW_TO_CONTINUE = (
    "`bough diff` shows the work so far; it is kept, and `bough apply --partial` applies it",
    "`bough log{}` shows what happened, round by round",
    "`bough rewind` rewinds the run to an earlier round, and `bough resume` continues from there",
    "a narrower goal, or a check that proves less at once, often helps",
)


def _render_section(heading: str, lines: Sequence[str]) -> str:
    return "\n".join(("", f"## {heading}", *(f"- {line}" for line in lines))) if lines else ""


async def compact_conversation(command: c.Compact, task: Task, runtime: TaskRuntime) -> Batches:
    """Compact the conversation. The last event is `Compacted`, unless a person stops the run. The fast model's last
    answer is recorded together with it, so that after a crash the model is not asked again."""
    assert task.attempt is not None, "no conversation to compact"
    messages = task.attempt.messages
    yield [e.CompactionStarted(task.attempt.used, task.attempt.window)]
    facts = await task_workspace.collect_facts(task, runtime)
    aim = compaction.compute_target(messages, task.rules.compaction, task.attempt.window)
    at = compaction.find_cut(messages, aim)  # Messages from the index `at` on stay.
    gone = tuple(messages)[1:at]
    limit = compaction.compute_room(messages, at, aim)
    pinned = compaction.render_pinned(facts, messages)
    parts = _split_parts(task.attempt, gone, task, runtime)
    written, asked = "", Consultation((), None)
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
