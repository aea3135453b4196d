"""The scope of a step: what it sees of the tasks around it, and whether an earlier result can be reused.

A step's view depends on its `context`:

    isolated    nothing of the parent's: only its own instructions
    shared      the parent's context, and its notes become the parent's: all who share or inherit the context see them
    inherited   the parent's context, but its notes stay its own

Everything here is computed from the journal; a step's view is recorded when the step begins."""

import hashlib

import msgspec
from msgspec.structs import replace

from bough.core.acceptance.requirements import list_covered
from bough.core.conversation import context
from bough.core.ids import GOAL
from bough.core.planning.plan import Step, find_all_needs
from bough.core.tree.task import Task
from bough.core.tree.task_state import Inheritance, State, Subject
from bough.core.workflow.keys import classify_step

LATER = 300
"""The maximum number of characters that a phase (planned when it begins) sees of each later step."""
RESULTS = 20
"""The number of finished siblings whose results a step sees, besides the steps that it needs."""


def build_inherited(task: Task, step: Step) -> Inheritance:
    loop = task.step.repeat > 1 or task.inherited.loop
    above = [] if task.id == GOAL else [segment.partition("@")[0] for segment in task.id.split("/")]
    path = "/".join((*above, step.name))  # The step's path in the written plan.
    requirements = list_covered(step, path, task.asked, task.plan.steps)
    if step.context == "isolated":  # An isolated step still gets its requirements.
        return Inheritance(loop=loop, requirements=requirements)
    needs = find_all_needs(step, task.plan.steps)
    others = [other for other in task.plan.steps if other.name != step.name]
    to_come = (other for other in others if step.plan_first and other.name not in task.children.begun)
    beside = (other for other in others if other.name in task.children.running)
    # Exact names and signatures that the step can use, and those that others need from it.
    there = (f"{other.name} provides: {each}" for other in others if other.name in needs for each in other.interfaces)
    users = [other.name for other in others if step.name in other.needs]
    asked = f"for {', '.join(users)}" if users else "for others"
    way, known = (*task.inherited.above, context.render_crumb(task)), task.inherited.results
    finished = _list_finished(task, needs)
    if task.rules.planning.context == "list":  # Show all that was finished, anywhere.
        way, results = way[:1], (*known, *finished)[-RESULTS:]
    else:
        # The steps of a task that was split replace it, so they need the results that it knew.
        results = (*known, *finished) if task.state is State.DECOMPOSED else finished
    return Inheritance(
        above=way,
        results=results,
        dead_ends=context.list_lessons(task),
        decisions=_list_decisions(task, needs),
        beside=tuple(f"{other.name} ({', '.join(other.files)})" if other.files else other.name for other in beside),
        later=tuple(f"{other.name}: {context.shorten_text(other.instructions, LATER)}" for other in to_come),
        requirements=requirements,
        conventions=tuple(dict.fromkeys((*task.inherited.conventions, *task.plan.conventions))),
        interfaces=(*there, *(f"this step provides {asked}: {each}" for each in step.interfaces)),
        loop=loop,
    )


def _list_finished(task: Task, needs: frozenset[str]) -> tuple[str, ...]:
    """List the results of the siblings that a step needs, and the latest others, also from earlier passes, so that a
    step which runs again knows its last result."""
    completed = [child for child in task.children.ended.values() if child.state is State.COMPLETED]
    needed = [child for child in completed[:-RESULTS] if child.child in needs]
    return tuple(
        context.render_result(child, None if child.child in needs else context.RESULT)
        for child in (*needed, *completed[-RESULTS:])
    )


def _list_decisions(task: Task, needs: frozenset[str]) -> tuple[str, ...]:
    theirs = (child for child in task.children.ended.values() if child.child in needs and not child.shared)
    told = (f"{child.child}: {text}" for child in theirs for text in child.decisions)
    return tuple(dict.fromkeys((*context.list_decisions(task), *told)))[-task.rules.notes :]


def compute_key(step: Step, base: str, model: str, told: Inheritance, subject: Subject | None = None) -> str:
    """Compute a key from all that a step's outcome depends on: an agent's work is reused if its instructions, inputs,
    model and starting tree are the same. Empty for commands and checks, which always run, since their results may
    depend on the outside world."""
    if classify_step(step) != "agent":
        return ""
    known = replace(told, beside=())  # Which siblings run meanwhile is chance.
    # Leave out the fields that only decide when the step runs.
    plain = Step(step.name)
    step = replace(step, needs=(), condition=None, rounds=None, title="", runs_on=())
    step = replace(step, on_error=plain.on_error, max_retries=1, retry=plain.retry)
    parts = (msgspec.json.encode(part) for part in (step, base, model, known, subject))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
