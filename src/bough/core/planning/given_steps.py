"""Turn the steps in a model's answer into steps that can run, or into a list of problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from bough.core.ids import GOAL, slug
from bough.core.planning.plan import Step, derive_step, find_circle
from bough.core.planning.similarity import is_vague

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
    steps: Annotated[tuple[StepDraft, ...], Meta(max_length=200)] = ()
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
    return ordered, found + describe_circle(circle)


def describe_circle(circle: Sequence[str]) -> list[str]:
    path = " → ".join(f"`{name}`" for name in circle)
    return [f"The needs form a cycle: {path}. Remove one of them."] if circle else []


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
