"""The requirements of a goal, and which step has to meet which. Each is a stretch of the goal's own text, in full: a
person's words are never paraphrased, and nothing gets lost on the way to the agent that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core.planning.plan import Step

By = Literal["person", "model", "rule"]
"""The source of the split: the person listed the requirements, a model named the beginning of each, or the text's own
form decides."""
Kind = Literal["behaviour", "document", "coverage", "restructure", "speed", "upgrade", "unchanged", "background"]
"""The evidence that it needs: a test that fails without the work; nothing that runs (documentation, comments); tests
of the author's (coverage); the code's form, a time or a version; that something stays as it was; or it asks for
nothing."""


class Requirement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that the goal, or a later message, asks for."""

    number: int
    text: str
    start: int = 0
    """Where it begins in the goal's text, in characters."""
    end: int = 0
    """Where it ends in the goal's text; 0: it is not in the text (a criterion, a message)."""
    step: str = ""
    """The path of the step of a written plan that has to meet it; empty: the step that covers it."""
    within: str = ""
    """The words around it, if it is an item of an enumeration."""
    kind: Kind = "behaviour"
    source: str = ""
    """The person who asked for it later, and when; empty: the goal asks for it."""
    superseded: int = 0
    """The number of the later requirement that replaces it; 0: none does."""
    dropped: str = ""
    """The person who dropped it; empty: nobody."""

    def __str__(self) -> str:
        return f"{self.number}. {self.whole}"

    @property
    def counts(self) -> bool:
        return not self.superseded and not self.dropped

    @property
    def whole(self) -> str:
        """The requirement in one line, with the words around it."""
        text = " ".join(self.text.split())
        return f"{' '.join(self.within.split())} {text}" if self.within else text


def list_covered(
    step: Step, path: str, around: Sequence[Requirement], siblings: Sequence[Step]
) -> tuple[Requirement, ...]:
    """List the parent's requirements that a step has to meet: all of them if no step of the plan names any."""
    if any(one.step for one in around):
        return tuple(one for one in around if not one.step or f"{one.step}/".startswith(f"{path}/"))
    if not any(other.covers for other in siblings):
        return tuple(around)
    return tuple(one for one in around if one.number in step.covers)


def find_coverage_problems(steps: Sequence[Step], around: Sequence[Requirement]) -> list[str]:
    """List faults of a plan's coverage, in sentences for the planner. With one requirement there are none: every step
    is for it."""
    if len(around) < 2:
        return []
    numbers = {one.number for one in around}
    found = [
        f"Step `{step.name}` covers requirement {number}, which does not exist: the numbers are "
        f"{', '.join(map(str, sorted(numbers)))}."
        for step in steps
        for number in step.covers
        if number not in numbers
    ]
    said = {number for step in steps for number in step.covers}
    found += [
        f"No step covers requirement {one.number} (`{' '.join(one.text.split())[:120]}`): list it in the `covers` "
        "of each step that it depends on."
        for one in around
        if one.number not in said
    ]
    return found


def list_active(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """List the requirements that nobody replaced or dropped."""
    return tuple(one for one in requirements if one.counts)


def add_requirements(
    known: Sequence[Requirement], added: Sequence[Requirement], replaces: Mapping[int, int]
) -> tuple[Requirement, ...]:
    """Return the requirements after a person's message."""
    numbers = {one.number for one in added}
    kept = [one for one in known if one.number not in numbers]
    return (*(replace(one, superseded=replaces.get(one.number, one.superseded)) for one in kept), *added)


def number_from_one(requirements: Sequence[Requirement], after: int = 0) -> tuple[Requirement, ...]:
    """Renumber the requirements in order."""
    return tuple(replace(one, number=after + place) for place, one in enumerate(requirements, 1))


def restore_requirement(known: Sequence[Requirement], number: int) -> tuple[Requirement, ...]:
    """Return the requirements with a replaced or dropped one restored."""
    return tuple(replace(one, superseded=0, dropped="") if one.number == number else one for one in known)


def drop_requirements(known: Sequence[Requirement], numbers: Sequence[int], by: str) -> tuple[Requirement, ...]:
    """Return the requirements with some dropped."""
    return tuple(replace(one, dropped=by or "you") if one.number in numbers else one for one in known)


def render_requirements(requirements: Sequence[Requirement]) -> str:
    """Render the requirements in full for planners, engineers and examiners, without replaced ones."""
    lines = []
    for one in list_active(requirements):
        around = f"({' '.join(one.within.split())} …) " if one.within else ""
        source = f" [{one.source}]" if one.source else ""
        lines.append(f"{one.number}. {around}{one.text}{source}")
    return "\n".join(lines)
