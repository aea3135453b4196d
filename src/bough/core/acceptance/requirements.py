"""The requirements of a goal, and which step has to meet which. Each is a passage of the goal's own text: a person's
words are never paraphrased, so that nothing gets lost on the way to the agent that does the work."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core.planning.plan import Step

By = Literal["person", "model", "rule"]
"""The source of a goal's requirements: a person, a model that named each beginning, or the text's own form."""
Kind = Literal["behaviour", "document", "coverage", "restructure", "speed", "upgrade", "unchanged", "background"]
"""The evidence that a requirement needs: a test that fails without the work (behaviour); changed documents; new tests
(coverage); a changed form of the code (restructure), time (speed) or version (upgrade); something that stays as it was
(unchanged); or none, since it asks for nothing (background)."""
_ADDS = r"(?i)\s*(?:please\s+)?(?:add|write|create|document|describe|introduce|provide|translate)\b"
_REPAIRS = (
    r"(?i)\b(?:fix\w*|repair\w*|bugs?|wrong\w*|broken|breaks?|fail\w*|errors?|crash\w*|regress\w*|red|green|pass\w*"
    r"|tests?|specs?|suite|checks?|correct\w*|instead|again|missing)\b"
)
_COMMON = r"(?:with|that|this|from|files?|lines?|into|when|which|have|each|also|their|them|than)(?![a-z])"


class Requirement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that the goal, or a later message, asks for."""

    number: int
    text: str
    start: int = 0
    """The offset in the goal's text at which the requirement begins."""
    end: int = 0
    """The offset at which the requirement ends; 0 if it is not in the goal's text (a criterion, a later message)."""
    step: str = ""
    """The path of the step of a written plan that has to meet it; if empty, the plan's `covers` decide."""
    within: str = ""
    """The words before the enumeration, if the requirement is an item of one."""
    kind: Kind = "behaviour"
    source: str = ""
    """The person who asked for it in a later message, and when; empty if the goal itself asks for it."""
    superseded: int = 0
    """The number of the later requirement that replaces this one; 0 if none does."""
    dropped: str = ""
    """The person who dropped the requirement; empty if nobody did."""

    def __str__(self) -> str:
        return f"{self.number}. {self.whole}"

    @property
    def counts(self) -> bool:
        return not self.superseded and not self.dropped

    @property
    def whole(self) -> str:
        """Return the requirement in one line; for an item of a list, with the words that open the list."""
        text = " ".join(self.text.split())
        return f"{' '.join(self.within.split())} {text}" if self.within else text


def list_covered(
    step: Step, path: str, around: Sequence[Requirement], siblings: Sequence[Step]
) -> tuple[Requirement, ...]:
    """List those of the requirements `around` that a step has to meet: all if no step of the plan names any."""
    if any(one.step for one in around):
        return tuple(one for one in around if not one.step or f"{one.step}/".startswith(f"{path}/"))
    if not any(other.covers for other in siblings):
        return tuple(around)
    return tuple(one for one in around if one.number in step.covers)


def find_coverage_problems(steps: Sequence[Step], around: Sequence[Requirement]) -> list[str]:
    """Tell the planner what is wrong with the requirements that its steps cover; a single one cannot be missed."""
    numbers = {one.number for one in around}
    covered = [(step.name, number) for step in steps for number in step.covers]
    said, known = {number for _, number in covered}, ", ".join(map(str, sorted(numbers)))
    found = [
        f"Step `{name}` covers requirement {number}, which does not exist: the numbers are {known}."
        for name, number in covered
        if number not in numbers
    ]
    found += [
        f"No step covers requirement {one.number} (`{' '.join(one.text.split())[:120]}`): list it in the `covers` "
        "of each step that it depends on."
        for one in around
        if one.number not in said
    ]
    return found if len(around) > 1 else []


def list_active(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """List the requirements that nobody replaced or dropped."""
    return tuple(one for one in requirements if one.counts)


def add_requirements(
    known: Sequence[Requirement], added: Sequence[Requirement], replaces: Mapping[int, int]
) -> tuple[Requirement, ...]:
    """Return the requirements after a person's message."""
    kept = [one for one in known if one.number not in {new.number for new in added}]
    return (*(replace(one, superseded=replaces.get(one.number, one.superseded)) for one in kept), *added)


def number_from_one(requirements: Sequence[Requirement], after: int = 0) -> tuple[Requirement, ...]:
    """Number the requirements in order, from `after` + 1."""
    return tuple(replace(one, number=after + place) for place, one in enumerate(requirements, 1))


def render_requirements(requirements: Sequence[Requirement]) -> str:
    """Render the requirements in full for planners, agents and examiners; replaced and dropped ones are left out."""
    lines = []
    for one in list_active(requirements):
        around = f"({' '.join(one.within.split())} …) " if one.within else ""
        source = f" [{one.source}]" if one.source else ""
        lines.append(f"{one.number}. {around}{one.text}{source}")
    return "\n".join(lines)


def speaks_of(goal: str, failures: Iterable[str]) -> bool:
    """Whether a goal may be about these failures from before the work; each is a text of the test's name and message.
    In doubt it is, since a failing test is often the reason for a goal."""
    if not re.match(_ADDS, goal) or re.search(_REPAIRS, goal):
        return True
    said = "\n".join(failures).lower()
    words = re.findall(rf"(?<![a-z])(?!{_COMMON})[a-z]{{4,}}", re.sub("[a-z]+", "", goal.lower(), count=1))
    return not words or any(word in said for word in words)
