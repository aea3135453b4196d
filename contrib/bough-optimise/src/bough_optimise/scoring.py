"""How well an answer of the gate or the planner fits what a finished run took."""

from collections.abc import Iterable, Sequence
from math import log2

from msgspec import Struct

from bough.core.acceptance.requirements import Requirement
from bough.core.budget.grants import ATOMIC_ROUNDS
from bough.core.conversation.structured_answer import Problems
from bough.core.conversation.text_fitting import shorten_middle
from bough.core.messages import Answer
from bough.core.planning.decomposition import read_plan
from bough.core.planning.guidance import read_estimate
from bough.core.planning.plan import Step, count_leaves

TITLE = 100
"""Tokens of a goal that the optimiser sees."""


class Lesson(Struct, frozen=True):
    """A finished run: what its planners were told, and what it took."""

    run: str
    goal: Step
    gate: dict[str, str]
    """The values of `gate.md`."""
    planner: dict[str, str]
    """The values of `planner.md`."""
    requirements: tuple[Requirement, ...]
    room: int
    """Levels that may grow below the goal."""
    rounds: int
    leaves: int
    """Steps that were completed."""
    files: tuple[str, ...]
    """What it changed."""

    @property
    def atomic(self) -> bool:
        """One engineer could have done it."""
        return self.rounds <= ATOMIC_ROUNDS

    @property
    def steps(self) -> int:
        return 1 if self.atomic else max(self.leaves, 2)

    @property
    def took(self) -> str:
        piece = "one piece of work" if self.atomic else f"{self.steps} steps"
        return f"It took {self.rounds} rounds, so it was {piece}."

    @property
    def title(self) -> str:
        return f"“{shorten_middle(' '.join(self.goal.instructions.split()), TITLE)}”"


class Score(Struct, frozen=True):
    value: float
    """A number from 0 to 1."""
    says: str
    """What was right and wrong, for the optimiser."""


def score_gate(answer: Answer, lesson: Lesson) -> Score:
    found = read_estimate(answer)
    if isinstance(found, Problems):
        return Score(0.0, f"{lesson.title}: the answer is unusable: {found}")
    right = found.atomic == lesson.atomic
    value = 0.6 * right + 0.4 * _near(found.steps, lesson.steps)
    kind = "atomic" if found.atomic else "not atomic"
    return Score(value, f"{lesson.title}: the estimate was {kind}, {found.steps} steps. {lesson.took}")


def score_plan(answer: Answer, lesson: Lesson) -> Score:
    """Score a plan by whether it is valid, whether it names the files that were changed in the end, and by its size."""
    found = read_plan(lesson.goal, answer, lesson.room, False, lesson.requirements)
    if isinstance(found, Problems):
        return Score(0.0, f"{lesson.title}: the plan was rejected: {found}")
    named = {file.rstrip("+") for step in _all(found) for file in step.files}
    changed = set(lesson.files)
    hit = 2 * len(named & changed) / max(len(named) + len(changed), 1)
    size = sum(map(count_leaves, found))
    value = 0.3 + 0.5 * hit + 0.2 * _near(size, lesson.steps)
    missed, extra = sorted(changed - named)[:10], sorted(named - changed)[:10]
    says = f"{lesson.title}: the plan had {size} steps. {lesson.took}"
    says += f" Changed but named by no step: {', '.join(missed)}." if missed else ""
    says += f" Named but not changed: {', '.join(extra)}." if extra else ""
    return Score(value, says)


def _near(guess: int, true: int) -> float:
    """1 for the same number, 0 for one that differs by a factor of four."""
    return max(0.0, 1 - abs(log2(guess / true)) / 2)


def _all(steps: Sequence[Step]) -> Iterable[Step]:
    for step in steps:
        yield step
        yield from _all(step.steps)
