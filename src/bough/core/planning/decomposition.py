"""Read a planner's answer as the steps of a goal or phase, or as smaller steps for a stuck task: its parts, a new way,
or one step for what its check still reports."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from bough.core.acceptance.requirements import Requirement, find_coverage_problems
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.conversation.text_fitting import render_bullets
from bough.core.ids import GOAL, slug
from bough.core.messages import Answer
from bough.core.planning.plan import Step, derive_step, find_all_needs, find_circle
from bough.core.planning.similarity import find_alike, find_shared_words, is_repetition, is_smaller, is_vague
from bough.core.planning.tool_specs import ALIASES, MOST, PLAN, SPLIT

Line = Annotated[str, Meta(max_length=300)]
Text = Annotated[str, Meta(max_length=8_000)]
Lines = Annotated[tuple[Annotated[str, Meta(max_length=1_000)], ...], Meta(max_length=100)]


class StepDraft(Struct, frozen=True):
    """A step as a model's answer gives it."""

    name: Line = ""
    title: Line = ""
    instructions: Text = ""
    criteria: Lines = ()
    files: Lines = ()
    needs: Lines | None = None
    test_command: Line = ""
    test_file: Line = ""
    requires_testing: bool = True
    complexity: int = 1
    phase: bool = False
    steps: "Annotated[tuple[StepDraft, ...], Meta(max_length=200)]" = ()
    covers: Annotated[tuple[int, ...], Meta(max_length=100)] = ()
    interfaces: Lines = ()


class PlanAnswer(Struct, frozen=True):
    """A model's answer to the tool `plan` or `split`."""

    steps: Annotated[tuple[StepDraft, ...], Meta(max_length=200)]
    conventions: Lines = ()


def build_step(given: StepDraft, name: str, parent: Step) -> Step:
    """Build a step from a draft, without its needs, which depend on its siblings."""
    files = tuple(dict.fromkeys(path for path in map(_normalize_path, given.files) if path))
    only_prose = bool(files) and all(re.search(_PROSE, path.removesuffix("+")) for path in files)
    made = derive_step(
        parent,
        name,
        given.instructions,
        title=given.title,
        interfaces=given.interfaces,
        criteria=tuple(dict.fromkeys(c for c in given.criteria if not is_vague(c))),
        test_command=given.test_command or None,
        test_file=_normalize_path(given.test_file) or None,
        files=files,
        complexity=max(1, min(5, given.complexity)),
    )
    return made if given.requires_testing or not only_prose else replace(made, requires_testing=False)


def build_steps(items: Sequence[StepDraft], parent: Step, taken: Iterable[str] = ()) -> tuple[list[Step], list[str]]:
    """Build the steps of an answer, and list what is wrong with each on its own."""
    names, found = assign_names(items, taken)
    made = [build_step(item, name, parent) for item, name in zip(items, names, strict=True)]
    return made, found + [fault for item, step in zip(items, made, strict=True) for fault in find_faults(item, step)]


def find_faults(given: StepDraft, made: Step) -> list[str]:
    """List what is wrong with a step on its own."""
    found = []
    if not given.instructions:
        found.append(f"Step `{made.name}` has no instructions: say what to do, in which files.")
    if not made.criteria and not made.test_command and not made.test_file:
        bad = next(iter(given.criteria), "")
        because = f"`{bad[:80]}` cannot be checked" if bad else "it has no criteria and no test"
        found.append(f"Step `{made.name}` cannot be proven: {because}. Give a fact that a test or a command can show.")
    if given.test_file and not made.test_file:
        found.append(f"The `test_file` of `{made.name}` must be a path within the project: `tests/test_name.py`.")
    if made.test_command and _proves_nothing(made.test_command):
        found.append(f"The `test_command` of `{made.name}` proves nothing: give one that fails when the work is wrong.")
    return found


_EMPTY_COMMANDS = frozenset("true : echo printf exit ls cat pwd cd sleep".split())  # noqa: SIM905
_SWALLOWED = r"(\|\||;)\s*(true|:|exit 0|echo\b[^|&;]*)\s*$|\|\s*(tail|head|cat|tee|less)\b[^|&;]*$"


def _proves_nothing(command: str) -> bool:
    """Whether a check passes whatever the work is, or hides a failure, so that a planner could make its steps pass."""
    if "\n" in command or re.search(_SWALLOWED, command):
        return True
    parts = (part.split() for part in re.split(r"&&|\|\||[;|&]", command))
    return all(not words or words[0] in _EMPTY_COMMANDS for words in parts)


def _normalize_path(path: str) -> str:
    """Return a path in the project as git writes it; empty if it leads outside the project."""
    path = path.strip().strip("`")
    while path.startswith("./"):
        path = path[2:]
    outside = not path or path[0] in "/~-" or ":" in path or "\\" in path or ".." in path.split("/")
    return "" if outside or any(ord(c) < 32 for c in path) else path


_PROSE = r"(?i)(\.(md|rst|txt|adoc|tex)|(^|/)(LICENSE|README|CHANGELOG|AUTHORS|NOTICE))$"


def assign_names(given: Sequence[StepDraft], taken: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """Assign a path segment to each step, and list the problems. A name that is taken elsewhere gets a number; a name
    that the answer uses twice is rejected, since a need could mean either step."""
    used, chosen, found = set(taken), list[str](), list[str]()
    seen: set[str] = set()
    for number, item in enumerate(given, 1):
        said = item.name or item.title
        name = slug(said) if re.search(r"[A-Za-z0-9]", said) and slug(said) != GOAL else f"step-{number}"
        if name in seen:
            found.append(f"Two steps are called `{name}`: give each a name of its own.")
        seen.add(name)
        numbered = (f"{name[:36]}-{number}" for number in count(2))
        chosen.append(next(free for free in chain([name], numbered) if free not in used))
        used.add(chosen[-1])
    return chosen, found


def link_needs(
    given: Sequence[StepDraft], steps: Sequence[Step], known: Iterable[str] = (), *, chain: bool
) -> tuple[tuple[Step, ...], list[str]]:
    """Return the steps with their needs, each after the steps that it needs, otherwise in the order of the answer.

    A step that omits `needs` needs nothing or, with `chain`, the step before it. If all steps omit `needs`, they run in
    the written order. `known`: names of other steps that may be needed."""
    chain = chain or all(item.needs is None for item in given)
    places = {name: name for name in known}
    for item, made in zip(given, steps, strict=True):
        places |= {slug(item.name): made.name, made.name: made.name, item.name: made.name}
    found: list[str] = []
    told: list[Step] = []
    for index, (item, made) in enumerate(zip(given, steps, strict=True)):
        before = (steps[index - 1].name,) if chain and index else ()
        needs = before if item.needs is None else resolve_needs(item.needs, made, places, found)
        told.append(replace(made, needs=needs))
    ordered, circle = sort_by_needs(told)
    path = " → ".join(f"`{name}`" for name in circle)
    return ordered, found + ([f"The needs form a cycle: {path}. Remove one of them."] if circle else [])


def resolve_needs(needs: Sequence[str], made: Step, places: dict[str, str], found: list[str]) -> tuple[str, ...]:
    resolved: dict[str, None] = {}
    for need in needs:
        name = places.get(need) or places.get(slug(need))
        if name == made.name:
            found.append(f"Step `{made.name}` needs itself: remove that.")
        elif name is None:
            others = ", ".join(f"`{n}`" for n in dict.fromkeys(places.values()) if n != made.name)
            found.append(f"Step `{made.name}` needs `{need[:60]}`, which is not a step here; the steps are {others}.")
        else:
            resolved[name] = None
    return tuple(resolved)


def sort_by_needs(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Sort the steps so that each comes after those that it needs; or return the names of a cycle."""
    if circle := find_circle({made.name: made.needs for made in steps}):
        return tuple(steps), tuple(circle)
    waiting = list(steps)
    ordered: list[Step] = []
    while waiting:
        left = {made.name for made in waiting}
        ordered.append(next(made for made in waiting if not left & set(made.needs)))
        waiting.remove(ordered[-1])
    return tuple(ordered), ()


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
    read_answer = parse_answer(answer, PLAN, PlanAnswer, ALIASES)
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
    read_answer = parse_answer(answer, PLAN, PlanAnswer, ALIASES)
    return () if isinstance(read_answer, str) else tuple(dict.fromkeys(read_answer.conventions))


def _build_level(parent: Step, items: Sequence[StepDraft], depth_left: int) -> tuple[tuple[Step, ...], list[str]]:
    below = "the plan" if parent.name == GOAL else f"`{parent.name}`"
    if depth_left < 1:
        return (), [f"There is no room for steps below {below}: give its steps one level up."]
    if len(items) > MOST:
        way_out = "group them into phases" if depth_left > 1 else "join those that belong together"
        return (), [f"There are {len(items)} steps in {below}; the limit at one level is {MOST}: {way_out}."]
    if len(items) < 2:
        return (), [f"There is {'one step' if items else 'no step'} in {below}: give 2 to {MOST}."]
    made, found = build_steps(items, parent)
    found += find_repetitions(made, parent)
    made = [_build_phase(item, step, depth_left - 1, found) for item, step in zip(items, made, strict=True)]
    steps, circles = link_needs(items, made, chain=False)
    return steps, found + circles


def _build_phase(item: StepDraft, step: Step, depth_left: int, found: list[str]) -> Step:
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
    (name,), _ = assign_names([StepDraft(name=f"fix-{parent.name}"[:40])], taken)
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
    read_answer = parse_answer(answer, SPLIT, PlanAnswer, ALIASES)
    if isinstance(read_answer, str):
        return Problems((read_answer,))
    items = read_answer.steps
    if not 2 <= len(items) <= most:
        return Problems((f"There are {len(items)} steps: give 2 to {most}.",))
    made, found = build_steps(items, parent, taken | {step.name for step in kept})
    # A step that covers some, but not all, of the parent's criteria is a part of it, whatever its wording.
    numbers = set(range(1, len(parent.criteria) + 1))
    covered = ((step.name, numbers.intersection(item.covers)) for item, step in zip(items, made, strict=True))
    found += find_repetitions(made, parent, frozenset(name for name, mine in covered if mine and mine < numbers))
    made, uncovered = _assign_criteria(parent, items, made, kept)
    steps, circles = link_needs(items, made, (step.name for step in kept), chain=True)
    found += uncovered + circles
    return Problems(tuple(dict.fromkeys(found))) if found else steps


def _assign_criteria(
    parent: Step, items: Sequence[StepDraft], made: list[Step], kept: Sequence[Step]
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
