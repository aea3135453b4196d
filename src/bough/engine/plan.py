"""From a goal to a tree: which steps, and does the person agree?

The same acts serve a goal and a phase: a phase is planned when it starts, and when it is over the steps after it may
change. Whatever a planner answers, work continues: a goal whose plan is refused twice runs as one leaf.
"""

from __future__ import annotations

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import context, grants, requirements
from bough.core import events as e
from bough.core.errors import Unavailable
from bough.core.ids import depth
from bough.core.messages import Answer
from bough.core.plan import Plan, Step, checked, leaves
from bough.core.planning import brief
from bough.core.planning.brief import Past
from bough.core.planning.changes import Changed, changed_plan
from bough.core.planning.estimate import Advice, Estimate, advice
from bough.core.planning.plans import conventions, planned
from bough.core.planning.specs import CHANGE, PLAN
from bough.core.structured import Problems
from bough.core.task import Task
from bough.engine.consult import consult
from bough.engine.estimate import known_of, size_of
from bough.engine.hear import agreed
from bough.engine.site import Site
from bough.engine.steps import ask_for_steps
from bough.ports import Batches


async def plan(command: c.MakePlan, task: Task, site: Site) -> Batches:
    """Ask the planner; a bad plan may be repaired once, then the task runs as one leaf."""
    room = task.rules.planning.max_depth - depth(task.id)
    if task.proposal == "flat":
        room = min(room, 1)
    helper, values = await _question(task, site, room)
    ask = site.ports.approve is not None and _advice(task) != "take"

    agreed: tuple[str, ...] = ()
    asked = bool(task.problems)

    def read(answer: Answer) -> tuple[Step, ...] | Problems:
        """The planner is asked once for files that it does not name, and whether a plan can be wider; a plan is not
        refused for that."""
        nonlocal agreed, asked
        agreed, again, asked = conventions(answer), asked, True
        return planned(task.step, answer, room, site.run.jobs > 1 and not again, task.asked, asked_again=again)

    def proposed(steps: tuple[Step, ...]) -> list[e.AnyEvent]:
        return [e.PlanProposed(steps, agreed), *([] if ask else _taken(task, steps, site, "the plan", agreed))]

    async for batch in ask_for_steps(task, site, helper, values, PLAN, read, proposed):
        yield batch


def _taken(task: Task, steps: tuple[Step, ...], site: Site, why: str, agreed: tuple[str, ...] = ()) -> list[e.AnyEvent]:
    """The plan holds from here on. The ledger follows its leaves, unless a person has set it."""
    events: list[e.AnyEvent] = [e.Planned(steps, why, conventions=agreed)]
    if depth(task.id) == 0 and site.run.grows:
        known = task.estimate.steps if task.estimate else 0
        rounds = grants.root_grant(max(known, sum(map(leaves, steps))))
        if rounds > task.limits.rounds:
            events.append(e.Granted(grants.with_tokens(task.limits, rounds)))
    return events


def _advice(task: Task) -> Advice:
    found = task.estimate
    if found is None:
        return "take"
    return advice(Estimate(found.atomic, found.steps, found.phases, found.domains, found.reason))


async def agree(command: c.Agree, task: Task, site: Site) -> Batches:
    """Show the proposal and hear what the person says: yes, no (one leaf), words for another proposal, or own steps."""
    answer, by = await agreed(task, _advice(task), site.ports)
    if answer is None:
        return
    events: list[e.AnyEvent] = [e.PlanAnswered(answer.says, answer.wish, by)]
    if answer.says == "yes":
        events += _taken(task, task.proposed, site, "the plan", task.conventions)
    elif answer.says == "own":
        checked(Plan(replace(task.step, steps=answer.steps)))
        if answer.requirements:
            goal = replace(task.step, criteria=answer.requirements)
            events.append(e.RequirementsRead(requirements.given(goal), "person"))
        events += _taken(task, answer.steps, site, "the person's plan")
    yield events


async def review(command: c.Review, task: Task, site: Site) -> Batches:
    """A phase is over: does the rest of the plan still hold? A refused change leaves it as it is."""
    begun = frozenset(task.begun)
    later = [step for step in task.steps if step.name not in begun]
    values = brief.change(task.step, _past(task), later, context.learned(task))
    try:
        asked = await consult(task, site, "plan_change", "main", values, CHANGE)
    except Unavailable as error:
        yield [e.HelperFailed("plan_change", str(error)), e.PlanChanged(tuple(later))]
        return
    changed = _changed(task, asked.answer, begun) if asked.answer else None
    if changed is None or isinstance(changed, Problems):
        refused = [e.PlanRefused("plan_change", changed.said, final=True)] if changed else []
        yield [*asked.events, *refused, e.PlanChanged(tuple(later))]
        return
    following = tuple(step for step in changed.steps if step.name not in begun)
    yield [*asked.events, e.PlanChanged(following, changed.said)]


def _changed(task: Task, answer: Answer, begun: frozenset[str]) -> Changed | Problems:
    room = task.rules.planning.max_depth - depth(task.id)
    changed = changed_plan(replace(task.step, steps=task.steps), answer, begun, room)
    if isinstance(changed, Problems) or not any(step.covers for step in task.steps):
        return changed
    lost = requirements.uncovered(changed.steps, task.asked)
    return Problems(tuple(lost)) if lost else changed


def _past(task: Task) -> list[Past]:
    return [Past(child.child, child.state, child.result or child.why, child.files) for child in task.settled.values()]


def _means(task: Task, site: Site) -> str:
    """What there is to carry the plan out with."""
    from bough.engine.machine import means

    goal = site.run.plan.goal.instructions
    rounds = grants.LEAF_ROUNDS if site.run.grows else max(1, task.left.rounds)
    return means(goal, site.run.jobs, rounds)


async def _question(task: Task, site: Site, room: int) -> tuple[str, dict[str, str]]:
    size, known = await size_of(task, site), await known_of(task, site)
    if depth(task.id):
        goal = site.run.plan.goal
        told = (result.partition(": ") for result in task.inherited.results)
        past = [Past(name, "completed", text) for name, _, text in told]
        values = brief.phase_planner(
            task.step,
            task.id,
            goal,
            size,
            room,
            past=past,
            later=task.inherited.later,
            requirements=task.asked,
            means=_means(task, site),
            agreed=(*task.inherited.conventions, *task.inherited.interfaces),
            kept=context.learned(task),
            command=known["command"],
            files=known["files"],
            built=known["built"],
            project=known["project"],
        )
        return "phase_planner", values
    found = task.estimate
    guess = Estimate(found.atomic, found.steps, found.phases, found.domains, found.reason) if found else None
    return "planner", brief.planner(
        context.following(task),
        size,
        room,
        estimate=guess,
        wish=task.wish,
        proposed=task.proposed,
        requirements=task.asked,
        means=_means(task, site),
        **known,
    )
