"""Carry out a rung of the ladder. It was decided and recorded before; here are its effects."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import context, pruning
from bough.core import events as e
from bough.core.compaction import measured
from bough.core.errors import Unavailable
from bough.core.escalation import Decision, Rung
from bough.core.ids import below
from bough.core.measure import tokens
from bough.core.messages import Answer
from bough.core.plan import Step, Tier
from bough.core.planning import brief
from bough.core.planning.attempts import fresh_attempts
from bough.core.planning.brief import Past
from bough.core.planning.specs import SPLIT
from bough.core.planning.splits import decomposed, focused, replanned
from bough.core.report import report
from bough.core.state import fold
from bough.core.states import State
from bough.core.structured import Problems
from bough.core.task import Task
from bough.core.tree import not_well
from bough.engine.conclude import conclude
from bough.engine.consult import Consulted, consult
from bough.engine.hear import answered
from bough.engine.site import Site, check_command, diff_of, needed, system_prompt
from bough.engine.speak import agent_of, attempt_of
from bough.engine.steps import Taken, ask_for_steps
from bough.ports import Batches

DEAD_END = 600
"""Characters of a dead end that bough itself writes down."""
PART = 24_000
"""Tokens of a conversation that a helper is shown at once."""


def climb(command: c.Climb, task: Task, site: Site) -> Batches:
    return _CLIMB[command.decision.rung](command.decision, task, site)


async def _prune(decision: Decision, task: Task, site: Site) -> Batches:
    """A fresh agent with the same role starts from only what the task needs."""
    assert task.attempt is not None, "no context to prune"
    if task.in_text:  # It is told only what is needed as it is.
        yield [await attempt_of(task, site, task.attempt.role, task.attempt.tier)]
        return
    messages, facts = task.attempt.messages, await needed(task, site)
    learned = _dead_end(task)
    facts = replace(facts, dead_ends=(*facts.dead_ends, *(note.text for note in learned)))
    extract, usable = "", True
    parts = pruning.parts(messages, PART)
    if len(parts) >= task.left.rounds:  # Each part is a round, and the agent needs one too.
        parts, usable = [], False
    heard: list[e.AnyEvent] = []
    for number, part in enumerate(parts, 1):
        if heard:  # The last part's answer is recorded together with what comes of it.
            yield heard
        values = pruning.question(part, number, len(parts), facts, extract)
        try:
            asked = await consult(task, site, "pruner", "fast", values)
        except Unavailable as error:
            asked = Consulted((e.HelperFailed("pruner", str(error)),), None)
        heard = list(asked.events)
        usable = asked.answer is not None and pruning.usable(asked.answer)
        if asked.answer is None or not usable:
            break
        extract = asked.answer.text
    text = pruning.pruned(extract, facts) if usable else pruning.plain(messages, facts)
    pruned = e.ContextPruned(measured(messages), tokens(text), "model" if usable else "rule")
    yield [*heard, *learned, pruned, await _fresh(task, site, text, task.attempt.tier)]


def _dead_end(task: Task) -> list[e.NoteKept]:
    """What failed the same way again and again, for all who come later."""
    trouble = task.trouble
    if trouble is None or trouble.recommended != "other_approach":
        return []
    return [e.NoteKept("dead_end", context.shortened(" ".join((trouble.says, *trouble.evidence)), DEAD_END))]


async def _fresh(task: Task, site: Site, text: str, tier: Tier) -> e.AttemptStarted:
    why = task.trouble.says if task.trouble else "the work did not move"
    place = context.place(task)
    values = {"context": text, "why": why, "place": place, "rounds": str(task.left.rounds)}
    role = task.attempt.role if task.attempt else task.step.role
    told = context.render(site.ports.prompt("pruned"), values)
    if agent := agent_of(task, site, role, tier):
        return e.AttemptStarted(role, tier, await system_prompt(task, site, "outside"), told, "agent", agent=agent)
    return e.AttemptStarted(role, tier, await system_prompt(task, site), told)


async def _stronger(decision: Decision, task: Task, site: Site) -> Batches:
    """A stronger model takes over: a stuck leaf from its facts, a parent's blocked steps where they stopped; of several
    attempts at the same thing, one."""
    if task.steps:
        blocked = tuple(child.child for child in not_well(task))
        yield [e.ChildrenReopened(blocked[:1] if task.step.join == "any" else blocked, decision.reason)]
        return
    messages = task.attempt.messages if task.attempt else ()
    text = pruning.plain(messages, await needed(task, site))
    spoken = site.ports.protocols.of(site.ports.models["strong"].name)
    role = task.attempt.role if task.attempt else task.step.role
    in_text = spoken.protocol == "text" and not agent_of(task, site, role, "strong")
    fresh = attempt_of(task, site, role, "strong") if in_text else _fresh(task, site, text, "strong")
    begins: list[e.AnyEvent] = [await fresh]
    if task.state is State.TEST_FAILED:
        begins.append(e.StateChanged(State.IN_PROGRESS, decision.reason))
    yield begins


async def _other_protocol(decision: Decision, task: Task, site: Site) -> Batches:
    """The same work starts over in the other protocol, which the model uses from now on."""
    assert task.attempt is not None, "nobody was spoken to"
    attempt = task.attempt
    site.ports.protocols.learn(site.ports.models[attempt.tier].name, "text", _says(task, decision))
    yield [await attempt_of(task, site, attempt.role, attempt.tier)]


async def _attempts(decision: Decision, task: Task, site: Site) -> Batches:
    """Several fresh attempts, each from where the task began. The first that is proven carries it."""
    workspace = await site.open(task)
    await workspace.restore(task.base)
    restored = e.WorkspaceRestored(task.base, "each attempt starts from the beginning")
    steps = fresh_attempts(task.step, task.rules.ladder.attempts)
    change = [] if task.state is State.DECOMPOSED else [e.StateChanged(State.DECOMPOSED, "fresh attempts are made")]
    yield [restored, e.Planned(steps, "fresh attempts are made", join="any"), *change]


async def _decompose(decision: Decision, task: Task, site: Site) -> Batches:
    def read(answer: Answer) -> tuple[Step, ...] | Problems:
        return decomposed(task.step, answer, frozenset())

    values = brief.decomposer(
        task.step,
        task.id,
        _why(task, decision),
        diff=await diff_of(task, site),
        kept=context.learned(task),
        command=await check_command(task, site),
    )
    taken = _split(task, "it is split")
    async for batch in ask_for_steps(task, site, "decomposer", values, SPLIT, read, taken):
        yield batch


def _why(task: Task, decision: Decision) -> str:
    """What a planner is told about what went wrong."""
    failing = task.verdict if task.verdict and task.verdict.ruling != "passed" else None
    evidence = task.trouble.evidence if task.trouble else ()
    said = [decision.reason, *(f"- {line}" for line in evidence), context.failure(failing) if failing else ""]
    return "\n".join(text for text in said if text)


async def _replan(decision: Decision, task: Task, site: Site) -> Batches:
    """New steps in place of those that did not end well. What is completed stays."""
    bad = {child.child for child in not_well(task)} | {s.name for s in task.steps if s.name not in task.settled}
    kept = tuple(step for step in task.steps if step.name not in bad)
    blocked = tuple(step for step in task.steps if step.name in bad)
    taken = frozenset(task.begun) | {step.name for step in task.steps}

    def read(answer: Answer) -> tuple[Step, ...] | Problems:
        return replanned(task.step, answer, kept, blocked, taken)

    helper = "replan_goal" if decision.level == "goal" else "replan"
    past = [await _past(child, task, site) for child in task.settled.values()]
    command = await check_command(task, site)
    values = brief.replan(task.step, task.id, _why(task, decision), past, kept=context.learned(task), command=command)
    instead = _split(task, "another approach", tuple(sorted(bad)))
    async for batch in ask_for_steps(task, site, helper, values, SPLIT, read, instead):
        yield batch


async def _past(child: e.ChildSettled, task: Task, site: Site) -> Past:
    """A step that is over, with its work where that is not part of the task."""
    past = Past(child.child, child.state, child.result or child.why, child.files)
    if child.state is State.COMPLETED or not child.task:
        return past
    path = below(task.id, child.task)
    begun = fold(path, await site.ports.store.read(site.run.name, path))
    return replace(past, commit=begun.commit, work=await diff_of(begun, site))


def _split(task: Task, why: str, dropped: tuple[str, ...] = ()) -> Taken:
    """New steps carry the task, in place of those that are dropped."""
    change = [] if task.state is State.DECOMPOSED else [e.StateChanged(State.DECOMPOSED, why)]
    return lambda steps: [e.Planned(steps, why, dropped), *change]


async def _zoom_out(decision: Decision, task: Task, site: Site) -> Batches:
    async for batch in conclude(State.BLOCKED, _says(task, decision), task, site):
        yield batch


def _says(task: Task, decision: Decision) -> str:
    """Why, without what the ladder made of it."""
    return task.trouble.says.rstrip(".") if task.trouble else decision.reason


async def _verify(decision: Decision, task: Task, site: Site) -> Batches:
    yield [e.StateChanged(State.TESTING, "more of it is completed than blocked: it may be done")]


async def focus(command: c.Focus, task: Task, site: Site) -> Batches:
    """One focused step for what the check still finds."""
    assert task.verdict is not None, "nothing was checked"
    bad = tuple(child.child for child in not_well(task))
    template = site.ports.prompt("focus")
    step = focused(task.step, context.failure(task.verdict), template, frozenset(task.begun))
    why = "one focused step for what the check still finds"
    yield [e.Planned((step,), why, bad), e.StateChanged(State.DECOMPOSED, why)]


async def _ask(decision: Decision, task: Task, site: Site) -> Batches:
    """Nobody has to be there: the run waits, and no process with it."""
    told = report(task, _says(task, decision), asks=True)
    question = task.question or context.render(site.ports.prompt("ask"), {"report": told})
    if not task.question:
        yield [e.QuestionAsked(question)]
    yield [await answered(question, task, site.ports) or e.TaskHalted("waiting", _says(task, decision))]


async def _give_up(decision: Decision, task: Task, site: Site) -> Batches:
    why = _says(task, decision)
    told = e.Reported(report(task, why))
    async for batch in conclude(State.FAILED, why, task, site):
        yield [told, *batch]


_CLIMB: dict[Rung, Callable[[Decision, Task, Site], Batches]] = {
    "other_protocol": _other_protocol,
    "attempts": _attempts,
    "prune": _prune,
    "decompose": _decompose,
    "zoom_out": _zoom_out,
    "stronger_model": _stronger,
    "verify": _verify,
    "replan": _replan,
    "ask": _ask,
    "give_up": _give_up,
}
