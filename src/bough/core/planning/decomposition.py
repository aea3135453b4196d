"""Read a planner's answer as the steps of a goal or phase, or as smaller steps for a stuck task: its parts, a new way,
or one step for what its check still reports."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bough.core.acceptance.requirements import Requirement, find_coverage_problems
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.conversation.text_fitting import render_bullets
from bough.core.ids import GOAL
from bough.core.messages import Answer
from bough.core.planning import given_steps as g
from bough.core.planning.plan import Step, derive_step, find_all_needs
from bough.core.planning.similarity import find_alike, find_shared_words, is_repetition, is_smaller
from bough.core.planning.tool_specs import ALIASES, MOST, PLAN, SPLIT


def read_plan(
    goal: Step,
    answer: Answer,
    depth_left: int,
    at_once: bool = False,
    requirements: Sequence[Requirement] = (),
) -> tuple[Step, ...] | Problems:
    """Read the steps of a goal. `depth_left`: how many levels may lie below it; if more than one, steps may be phases.
    `at_once`: steps run in parallel, so the files that each changes must be named. `requirements`: each must be covered
    by a step."""
    read_answer = parse_answer(answer, PLAN, g.PlanAnswer, ALIASES)
    if isinstance(read_answer, str):
        return Problems((read_answer,))
    steps, found = _build_level(goal, read_answer.steps, depth_left)
    if at_once and not found:
        found = _find_missing_files(steps)
    found += find_coverage_problems(steps, requirements) if steps else []
    return Problems(tuple(dict.fromkeys(found))) if found else steps


def _find_missing_files(steps: Sequence[Step]) -> list[str]:
    """List, for all levels, the steps that may run in parallel with another one and do not name their files."""
    after, found = {step.name: find_all_needs(step, steps) for step in steps}, []
    for step in steps:
        others = (other for other in steps if other.name != step.name and other.name not in after[step.name])
        beside = next((other for other in others if step.name not in after[other.name]), None)
        if beside is not None and not step.plan_first and not step.steps and not step.files:
            found.append(
                f"Step `{step.name}` may run at the same time as `{beside.name}`: give its `files`, so that no two "
                "steps change the same one at once."
            )
    return found + [line for step in steps for line in _find_missing_files(step.steps)]


def read_conventions(answer: Answer) -> tuple[str, ...]:
    """Read the conventions that hold for every step of the plan."""
    read_answer = parse_answer(answer, PLAN, g.PlanAnswer, ALIASES)
    return () if isinstance(read_answer, str) else tuple(dict.fromkeys(read_answer.conventions))


def _build_level(parent: Step, items: Sequence[g.StepDraft], depth_left: int) -> tuple[tuple[Step, ...], list[str]]:
    below = "the plan" if parent.name == GOAL else f"`{parent.name}`"
    if depth_left < 1:
        return (), [f"There is no room for steps below {below}: give its steps one level up."]
    if len(items) > MOST:
        way_out = "group them into phases" if depth_left > 1 else "join those that belong together"
        return (), [f"There are {len(items)} steps in {below}; the limit at one level is {MOST}: {way_out}."]
    if len(items) < 2:
        return (), [f"There is {'one step' if items else 'no step'} in {below}: give 2 to {MOST}."]
    made, found = g.build_steps(items, parent)
    found += find_repetitions(made, parent)
    made = [_build_phase(item, step, depth_left - 1, found) for item, step in zip(items, made, strict=True)]
    steps, circles = g.link_needs(items, made, chain=False)
    return steps, found + circles


def _build_phase(item: g.StepDraft, step: Step, depth_left: int, found: list[str]) -> Step:
    """Complete a step: as a phase with steps, as a phase that is planned when it starts (if the depth allows), or as a
    plain step."""
    step = replace(step, covers=item.covers)
    if item.steps:
        steps, wrong = _build_level(step, item.steps, depth_left)
        found += wrong
        covers = tuple(sorted({*step.covers, *(number for below in steps for number in below.covers)}))
        return replace(step, steps=steps, covers=covers)
    return replace(step, plan_first=item.phase and depth_left > 0)


def find_repetitions(steps: Sequence[Step], parent: Step, parts: frozenset[str] = frozenset()) -> list[str]:
    """Find steps that restate their parent or each other. `parts`: steps known to cover only a part of the parent."""
    found = []
    shared = find_shared_words(steps)
    for index, step in enumerate(steps):
        if not step.instructions:
            continue
        if not is_smaller(step, parent, shared, part=step.name in parts):
            found.append(f"Step `{step.name}` restates the whole: say which part of it this step does, and where.")
        if twin := find_alike(step, steps[:index]):
            found.append(f"Steps `{twin.name}` and `{step.name}` are the same: leave one out.")
    return found


def read_split(parent: Step, answer: Answer, taken: frozenset[str]) -> tuple[Step, ...] | Problems:
    """Read 2 to 4 steps that together do the parent's work: each is smaller than the parent, and each of the parent's
    criteria belongs to one step."""
    return _read_parts(parent, answer, 4, taken)


def read_replan(
    parent: Step, answer: Answer, kept: Sequence[Step], blocked: Sequence[Step], taken: frozenset[str]
) -> tuple[Step, ...] | Problems:
    """Read 2 or 3 new steps that go another way, besides the completed ones; none may repeat what was tried or done."""
    steps = _read_parts(parent, answer, 3, taken, kept)
    if isinstance(steps, Problems):
        return steps
    found = []
    for step in steps:
        if again := next((old for old in blocked if is_repetition(step, old)), None):
            found.append(f"Step `{step.name}` repeats `{again.name}`, which did not work: find another way.")
        elif done := find_alike(step, kept):
            found.append(f"Step `{step.name}` repeats what `{done.name}` has done: leave it out.")
    return Problems(tuple(found)) if found else steps


def build_focus_step(parent: Step, failure: str, template: str, taken: frozenset[str]) -> Step:
    """Build ONE step for what the parent's check still reports, without a model. `template`: the prompt `focus`."""
    item = g.StepDraft(name=f"fix-{parent.name}"[:40])
    (name,), _ = g.assign_names([item], taken)
    values = {"instructions": parent.instructions, "criteria": render_bullets(parent.criteria), "failure": failure}
    return derive_step(
        parent,
        name,
        render(template, values),
        title=f"What the check of {parent.title or parent.name} still reports",
        criteria=parent.criteria,
        test_command=parent.test_command,
        test_file=parent.test_file,
        files=parent.files,
        complexity=max(1, parent.complexity - 1),
    )


def _read_parts(
    parent: Step, answer: Answer, most: int, taken: frozenset[str], kept: Sequence[Step] = ()
) -> tuple[Step, ...] | Problems:
    read_answer = parse_answer(answer, SPLIT, g.PlanAnswer, ALIASES)
    if isinstance(read_answer, str):
        return Problems((read_answer,))
    items = read_answer.steps
    if not 2 <= len(items) <= most:
        return Problems((f"There are {len(items)} steps: give 2 to {most}.",))
    made, found = g.build_steps(items, parent, taken | {step.name for step in kept})
    # A step that covers some, but not all, of the parent's criteria is a part of it, whatever its wording.
    numbers = set(range(1, len(parent.criteria) + 1))
    covered = ((step.name, numbers.intersection(item.covers)) for item, step in zip(items, made, strict=True))
    found += find_repetitions(made, parent, frozenset(name for name, mine in covered if mine and mine < numbers))
    made, uncovered = _assign_criteria(parent, items, made, kept)
    steps, circles = g.link_needs(items, made, (step.name for step in kept), chain=True)
    found += uncovered + circles
    return Problems(tuple(dict.fromkeys(found))) if found else steps


def _assign_criteria(
    parent: Step, items: Sequence[g.StepDraft], made: list[Step], kept: Sequence[Step]
) -> tuple[list[Step], list[str]]:
    """Assign each criterion of the parent to the last step that covers it, so that one step is responsible for it. A
    criterion that a completed step has met needs no other step."""
    count = len(parent.criteria)
    found = [
        f"Step `{step.name}` covers criterion {number}, but criteria are numbered 1 to {count}."
        for item, step in zip(items, made, strict=True)
        for number in item.covers
        if count and not 0 < number <= count
    ]
    done = {criterion for step in kept for criterion in step.criteria}
    for number, criterion in enumerate(parent.criteria, 1):
        holders = [index for index, item in enumerate(items) if number in item.covers]
        if holders:
            last = made[holders[-1]]
            made[holders[-1]] = replace(last, criteria=tuple(dict.fromkeys((*last.criteria, criterion))))
        elif criterion not in done:
            found.append(f"No step covers criterion {number} (`{criterion[:80]}`): name it in one step's `covers`.")
    return made, found
