"""Read the demands in a person's message: they become requirements of the goal, and one step has to meet them."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.goal_reading import NamedKind, read_goal
from bough.core.acceptance.requirements import Requirement, list_active
from bough.core.conversation.structured_answer import parse_answer
from bough.core.ids import GOAL
from bough.core.messages import Answer
from bough.core.planning.decomposition import Lines
from bough.core.planning.plan import Step, derive_step
from bough.core.planning.tool_specs import HEAR
from bough.core.tree.task import Task
from bough.core.tree.task_state import State


class ParsedMessage(Struct, frozen=True):
    requirements: Lines | None = None
    """The beginnings of the demands; None if no model has read the message."""
    kinds: tuple[NamedKind, ...] = ()
    replaces: tuple[int, ...] = ()
    step: str = ""


def read_heard(answer: Answer) -> ParsedMessage:
    """Read the usable parts of the answer."""
    found = parse_answer(answer, HEAR, ParsedMessage)
    return ParsedMessage() if isinstance(found, str) else found


def list_demands(text: str, heard: ParsedMessage, known: Sequence[Requirement], source: str) -> tuple[Requirement, ...]:
    """List the requirements that a message adds. Without a model's reading, a message of only questions adds none."""
    if only_asks(text) if heard.requirements is None else not heard.requirements:
        return ()
    found = read_goal(Step(GOAL, text), heard.requirements or (), heard.kinds).requirements
    first = max((one.number for one in known), default=0)
    return tuple(
        replace(one, number=first + place, start=0, end=0, source=source) for place, one in enumerate(found, 1)
    )


def only_asks(text: str) -> bool:
    """Whether a message consists of questions only, by its form."""
    return all(one.text.rstrip().endswith("?") for one in read_goal(Step(GOAL, text)).requirements)


def list_replaced(heard: ParsedMessage, known: Sequence[Requirement], added: Sequence[Requirement]) -> dict[int, int]:
    numbers = {one.number for one in list_active(known)}
    return {number: added[0].number for number in heard.replaces if number in numbers} if added else {}


_DROP = re.compile(
    r"\W*(?:please\s+)?(?:drop|remove|skip|leave\s+out)\s+(?:(?:the|this|that|these|those)\s+)?requirements?\b"
    r"((?:[\s,#]|and\b|\d)*)",
    re.IGNORECASE,
)


def read_drop(text: str, known: Sequence[Requirement], refuted: Sequence[int]) -> tuple[int, ...] | None:
    """Return the numbers of the requirements that a message explicitly drops or, if it gives no number, the refuted
    one. None if it drops nothing; empty if it is unclear which one, or if nothing would be left to do."""
    found = _DROP.match(text)
    if found is None:
        return None
    active = {one.number for one in list_active(known)}
    named = {int(number) for number in re.findall(r"\d+", found[1])} or ({*refuted} if len({*refuted}) == 1 else set())
    return tuple(sorted(named)) if named < active else ()


def find_owner(task: Task, heard: ParsedMessage, replaced: Sequence[int], directed: str) -> Step | None:
    """Find the step that a message is for: the one that it was sent to, that the reading names, that covers what it
    replaces, or that alone is running; None if there is no such step."""
    steps = {step.name: step for step in task.plan.steps}
    covering = [step.name for step in task.plan.steps if {*step.covers} & {*replaced}]
    running = list(task.children.running) if len(task.children.running) == 1 else []
    for name in (directed.partition("/")[0], heard.step, *covering, *running):
        if name in steps:
            return steps[name]
    return None


def plan_for_demands(
    task: Task, added: Sequence[Requirement], text: str, owner: Step | None
) -> tuple[str, Step | None]:
    """Choose the step that has to meet the new requirements, and return its name and the changed or new step. A step
    that has not begun covers them too, a running one just gets the message, and after a finished one a new step
    follows."""
    numbers = tuple(one.number for one in added)
    if owner is not None and owner.name in task.children.running:
        return owner.name, None
    if owner is not None and owner.name not in task.children.begun:
        covers = (*owner.covers, *numbers) if any(step.covers for step in task.plan.steps) else owner.covers
        return owner.name, replace(owner, covers=covers, criteria=(*owner.criteria, *(one.text for one in added)))
    ended = task.children.settled.get(owner.name) if owner is not None else None
    needs = (ended.child,) if ended is not None and ended.state is State.COMPLETED else ()
    files = owner.files if owner is not None else ()
    name = f"message-{numbers[0]}"
    return name, derive_step(task.step, name, text, needs=needs, covers=numbers, files=files, complexity=2)
