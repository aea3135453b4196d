"""The part of a planning prompt that can be learned, and the first estimate of a goal's size (the gate).

A template has facts (the goal, the repository) and guidance on what to weigh. Only the guidance is replaced, so a
learned prompt gives the same facts and asks for the same call as the plain one. At the gate a cheap model estimates
whether a goal is one piece of work or several."""

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from bough.core.acceptance.goal_reading import NamedKind
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.events.planning import Estimated
from bough.core.messages import Answer
from bough.core.planning.decomposition import Lines, Text
from bough.core.planning.tool_specs import GATE

ATOMIC = 3
"""An estimate of more steps than this means several pieces of work, whatever else the answer says."""
ASK, RECOMMEND = 10, 15
"""Above the first number of steps, bough asks the person about phases; above the second, it recommends them."""

Proposal = Literal["leaf", "flat", "hierarchy"]
ApprovalAdvice = Literal["take", "ask", "recommend"]


class SizeEstimate(Struct, frozen=True, omit_defaults=True):
    atomic: bool
    steps: Annotated[int, Meta(ge=1, le=1_000)]
    phases: Lines = ()
    domains: Lines = ()
    reason: Text = ""


class GateReading(Struct, frozen=True):
    """What the estimating model (the gate) read in a goal: its requirements and their kinds."""

    requirements: Lines = ()
    """The first words of each requirement."""
    kinds: tuple[NamedKind, ...] = ()


def read_estimate(answer: Answer) -> SizeEstimate | Problems:
    """Read the estimate. If an answer contradicts itself, the number of steps counts."""
    found = parse_answer(answer, GATE, SizeEstimate)
    if isinstance(found, str):
        return Problems((found,))
    return replace(found, atomic=found.steps == 1 or (found.atomic and found.steps <= ATOMIC))


def read_gate_reading(answer: Answer) -> GateReading:
    found = parse_answer(answer, GATE, GateReading)
    return GateReading() if isinstance(found, str) else found


def choose_proposal(estimate: SizeEstimate, max_depth: int) -> Proposal:
    """Propose one piece of work (leaf), one level of steps, or phases with steps of their own."""
    if estimate.atomic or max_depth < 1:
        return "leaf"
    return "hierarchy" if max_depth > 1 and choose_advice(estimate) != "take" else "flat"


def choose_advice(estimate: SizeEstimate | Estimated) -> ApprovalAdvice:
    """Decide whether to ask a person about the proposal."""
    if estimate.atomic:
        return "take"
    if estimate.steps > RECOMMEND:
        return "recommend"
    asked = estimate.steps > ASK or len(estimate.phases) > 1 or len(estimate.domains) > 1
    return "ask" if asked else "take"


LONGEST = 8_000
"""The maximum number of characters of guidance."""
_HEADING = re.compile(r"(?m)^## What (to weigh|makes a plan good)\n+")
_PLACE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def places(template: str) -> list[str]:
    """List the names of a template's placeholders."""
    return list(dict.fromkeys(_PLACE.findall(template)))


def guidance_of(template: str) -> str:
    """Return the guidance of a prompt, as a reader sees it."""
    start, end = _span(template)
    return _PLACE.sub("", template[start:end]).replace("{{", "{").replace("}}", "}").strip()


def with_guidance(template: str, guidance: str) -> str:
    """Return a prompt with new guidance. The placeholders of the old guidance are put after the new one."""
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
