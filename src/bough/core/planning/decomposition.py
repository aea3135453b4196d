"""Smaller steps for a stuck task: split, replanned, or one step for what its check still reports."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bough.core.conversation.context import render
from bough.core.conversation.context import render_criteria as listed
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.messages import Answer
from bough.core.planning import given_steps as g
from bough.core.planning.plan import Step
from bough.core.planning.planner_answer import find_repetitions
from bough.core.planning.similarity import find_alike, is_repetition
from bough.core.planning.tool_specs import ALIASES, SPLIT

SPLIT_SIZES = (2, 4)
REPLAN_SIZES = (2, 3)


def read_split(parent: Step, answer: Answer, taken: frozenset[str]) -> tuple[Step, ...] | Problems:
    """2 to 4 steps that together are the parent: each strictly smaller, in order, each of its criteria assigned."""
    return _read_parts(parent, answer, SPLIT_SIZES, taken)


def read_replan(
    parent: Step,
    answer: Answer,
    kept: Sequence[Step],
    blocked: Sequence[Step],
    taken: frozenset[str],
    sizes: tuple[int, int] = REPLAN_SIZES,
) -> tuple[Step, ...] | Problems:
    """New steps next to the completed ones, by another way: none repeats what was tried or is done."""
    steps = _read_parts(parent, answer, sizes, taken, kept)
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
    """ONE step for what the parent's check still reports, built without a model. `template`: the prompt `focus`."""
    item = g.Given(name=f"fix-{parent.name}"[:40])
    (name,), _ = g.assign_names([item], taken)
    values = {"instructions": parent.instructions, "criteria": listed(parent), "failure": failure}
    return Step(
        name,
        render(template, values),
        title=f"What the check of {parent.title or parent.name} still reports",
        criteria=parent.criteria,
        test_command=parent.test_command,
        test_file=parent.test_file,
        may_edit_tests=parent.may_edit_tests,
        requires_testing=parent.requires_testing,
        files=parent.files,
        complexity=max(1, parent.complexity - 1),
        model=parent.model,
        on_error="escalate",
        context="inherited",
    )


def _read_parts(
    parent: Step, answer: Answer, sizes: tuple[int, int], taken: frozenset[str], kept: Sequence[Step] = ()
) -> tuple[Step, ...] | Problems:
    read_answer = parse_answer(answer, SPLIT, g.Answered, ALIASES)
    if isinstance(read_answer, str):
        return Problems((read_answer,))
    items = read_answer.steps
    least, most = sizes
    if not least <= len(items) <= most:
        return Problems((f"There are {len(items)} steps: give {least} to {most}.",))
    names, found = g.assign_names(items, taken | {step.name for step in kept})
    made = [g.build_step(item, name, parent) for item, name in zip(items, names, strict=True)]
    for item, step in zip(items, made, strict=True):
        found += g.find_faults(item, step)
    found += find_repetitions(made, parent, _find_parts(parent, items, made))
    made, uncovered = _assign_criteria(parent, items, made, kept)
    steps, circles = g.link_needs(items, made, (step.name for step in kept), chain=True)
    found += uncovered + circles
    return Problems(tuple(dict.fromkeys(found))) if found else steps


def _find_parts(parent: Step, items: Sequence[g.Given], made: Sequence[Step]) -> frozenset[str]:
    """Steps that are a part of their parent by what they cover, whatever their wording: some of its criteria, not
    all."""
    numbers = set(range(1, len(parent.criteria) + 1))
    covered = ((step.name, numbers.intersection(item.covers)) for item, step in zip(items, made, strict=True))
    return frozenset(name for name, mine in covered if mine and mine < numbers)


def _assign_criteria(
    parent: Step, items: Sequence[g.Given], made: list[Step], kept: Sequence[Step]
) -> tuple[list[Step], list[str]]:
    """Each criterion of the parent goes to the last step that covers it, in the parent's words, so that its owner is
    known later. One that a completed step has met needs no other step."""
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
