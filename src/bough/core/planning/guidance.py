"""The part of a planning prompt that can be learned, and how well an answer fits what a finished run took.

A template has facts (the goal, the repository) and guidance: what to weigh. Only the guidance is replaced, so a learned
prompt gives the same facts and asks for the same call as the plain one. The first question is whether a goal is one
piece of work or many: a cheap model's estimate, and what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import log2
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from bough.core.acceptance.requirements import NamedKind, Requirement
from bough.core.budget.grants import ATOMIC_ROUNDS
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.conversation.text_fitting import shorten_middle
from bough.core.events.planning import Estimated
from bough.core.messages import Answer
from bough.core.planning.decomposition import read_plan
from bough.core.planning.given_steps import Lines, Text
from bough.core.planning.plan import Step, count_leaves
from bough.core.planning.tool_specs import GATE

ATOMIC = 3
"""An estimate of more steps than this is not one piece of work, whatever else the answer says."""
ASK, RECOMMEND = 10, 15
"""Above the first number of steps a person is asked whether to use a hierarchy; above the second it is
recommended."""

Proposal = Literal["leaf", "flat", "hierarchy"]
ApprovalAdvice = Literal["take", "ask", "recommend"]


class SizeEstimate(Struct, frozen=True, omit_defaults=True):
    """How big a goal is. Made once, and passed on."""

    atomic: bool
    steps: Annotated[int, Meta(ge=1, le=1_000)]
    phases: Lines = ()
    domains: Lines = ()
    reason: Text = ""


class GateReading(Struct, frozen=True):
    """The goal as the gate reads it."""

    requirements: Lines = ()
    """The first words of each requirement."""
    kinds: tuple[NamedKind, ...] = ()
    programs: Lines = ()
    """Programs that the result has to behave like."""


def read_estimate(answer: Answer) -> SizeEstimate | Problems:
    """The estimate. In an answer that contradicts itself the number counts."""
    found = parse_answer(answer, GATE, SizeEstimate)
    if isinstance(found, str):
        return Problems((found,))
    return replace(found, atomic=found.steps == 1 or (found.atomic and found.steps <= ATOMIC))


def read_gate_reading(answer: Answer) -> GateReading:
    """Read as much as the answer has of it: what is wrong in one part does not spoil the others."""
    found = parse_answer(answer, GATE, GateReading)
    if not isinstance(found, str):
        return found
    plain = parse_answer(answer, GATE, _Requirements)
    return GateReading() if isinstance(plain, str) else GateReading(plain.requirements)


class _Requirements(Struct, frozen=True):
    requirements: Lines = ()


def choose_proposal(estimate: SizeEstimate, max_depth: int) -> Proposal:
    """One leaf; one level of steps; or phases with steps of their own."""
    if estimate.atomic or max_depth < 1:
        return "leaf"
    return "hierarchy" if max_depth > 1 and choose_advice(estimate) != "take" else "flat"


def choose_advice(estimate: SizeEstimate | Estimated) -> ApprovalAdvice:
    """Whether a person should be asked about the proposal."""
    if estimate.atomic:
        return "take"
    if estimate.steps > RECOMMEND:
        return "recommend"
    asked = estimate.steps > ASK or len(estimate.phases) > 1 or len(estimate.domains) > 1
    return "ask" if asked else "take"


TITLE = 100
"""Tokens of a goal that the optimiser sees."""
LONGEST = 8_000
"""Characters of guidance."""
_HEADING = re.compile(r"(?m)^## What (to weigh|makes a plan good)\n+")
_PLACE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def places(template: str) -> list[str]:
    """The names of the placeholders."""
    return list(dict.fromkeys(_PLACE.findall(template)))


def guidance_of(template: str) -> str:
    """The guidance of a prompt, as a reader sees it."""
    start, end = _span(template)
    return _PLACE.sub("", template[start:end]).replace("{{", "{").replace("}}", "}").strip()


def with_guidance(template: str, guidance: str) -> str:
    """The prompt with new guidance. Placeholders of the old guidance follow the new one."""
    start, end = _span(template)
    kept = "".join(f"{{{name}}}\n" for name in places(template[start:end]))
    escaped = guidance.strip()[:LONGEST].replace("{", "{{").replace("}", "}}")
    return f"{template[:start]}{escaped}\n\n{kept}{template[end:]}"


def _span(template: str) -> tuple[int, int]:
    heading = _HEADING.search(template)
    end = template.rfind("\nCall `")
    if heading is None or end < heading.end():
        raise ValueError("the prompt has no guidance")
    return heading.end(), end


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
