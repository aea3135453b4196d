"""A finished phase can change what follows it: steps that have not begun are added, dropped or reworded."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.ids import slug
from bough.core.messages import Answer
from bough.core.planning import given_steps as g
from bough.core.planning.plan import Step
from bough.core.planning.similarity import find_alike, is_smaller
from bough.core.planning.tool_specs import ALIASES, CHANGE, MOST


class StepChange(Struct, frozen=True):
    """A change as an answer gives it. Of an existing step only the given fields change."""

    change: Literal["add", "drop", "reword"]
    name: g.Line
    reason: g.Text
    after: g.Line = ""
    title: g.Line = ""
    instructions: g.Text = ""
    criteria: g.Lines | None = None
    files: g.Lines | None = None
    needs: g.Lines | None = None
    test_command: g.Line = ""
    test_file: g.Line = ""
    requires_testing: bool | None = None
    complexity: int | None = None
    phase: bool | None = None


class Changes(Struct, frozen=True):
    changes: Annotated[tuple[StepChange, ...], Meta(max_length=50)]


class Changed(Struct, frozen=True):
    """The whole level after the changes, and each of them in words for people. Empty `said`: nothing changed."""

    steps: tuple[Step, ...]
    said: tuple[str, ...] = ()


_SAID_OF_A_STEP = (
    *("instructions", "title", "criteria", "files", "complexity"),
    *("test_command", "test_file", "requires_testing"),
)


def apply_changes(parent: Step, answer: Answer, begun: frozenset[str], depth_left: int) -> Changed | Problems:
    """The steps of `parent` after the planner's changes. Those in `begun` stay as and where they are.
    `depth_left`: how many levels may grow below `parent`."""
    read_answer = parse_answer(answer, CHANGE, Changes, ALIASES)
    if isinstance(read_answer, str):
        return Problems((read_answer,))
    level = _Level(parent, begun, depth_left)
    for change in read_answer.changes:
        level.take(change)
    return level.outcome()


class _Level:
    """The steps during the change. Needs are resolved at the end, when all names are known."""

    def __init__(self, parent: Step, begun: frozenset[str], depth_left: int) -> None:
        self.parent, self.begun, self.depth_left = parent, begun, depth_left
        self.steps = list(parent.steps)
        self.taken = {step.name for step in parent.steps}
        self.needs: dict[str, g.Lines] = {}
        self.touched: set[str] = set()
        self.said: list[str] = []
        self.found: list[str] = []

    def take(self, change: StepChange) -> None:
        if change.change == "add":
            return self._add(change)
        step = next((step for step in self.steps if step.name in (change.name, slug(change.name))), None)
        if step is None:
            names = ", ".join(f"`{s.name}`" for s in self.steps if s.name not in self.begun) or "none"
            self.found.append(f"There is no step `{change.name[:60]}` to {change.change}; remaining: {names}.")
        elif step.name in self.begun:
            self.found.append(f"Step `{step.name}` has begun or is done: it cannot change. Add a step instead.")
        elif change.change == "drop":
            self._drop(step, change)
        else:
            item = _merge_given(change, step)
            told = g.build_step(item, step.name, self.parent)
            self.found += g.find_faults(item, told)
            # Steps planned for other instructions no longer apply.
            stale = bool(change.instructions) and bool(step.steps)
            phase = step.plan_first or stale if change.phase is None else change.phase and self.depth_left > 1
            steps = () if stale or change.phase is False else step.steps
            said = {name: getattr(told, name) for name in _SAID_OF_A_STEP}
            made = replace(step, **said, steps=steps, plan_first=phase and not steps)
            self.steps[self.steps.index(step)] = made
            if change.needs is not None:
                self.needs[step.name] = change.needs
            self._note("reworded", step.name, change)
        return None

    def _add(self, change: StepChange) -> None:
        item = _merge_given(change)
        (step,), wrong = g.build_steps([item], self.parent, self.taken)
        self.found += wrong
        step, name = replace(step, plan_first=item.phase and self.depth_left > 1), step.name
        place = self._find_position(change)
        before = (self.steps[place - 1].name,) if place else ()
        self.needs[name] = before if change.needs is None else change.needs
        self.steps.insert(place, step)
        self.taken.add(name)
        self._note("added", name, change)

    def _find_position(self, change: StepChange) -> int:
        """Where an added step goes: after the one it names, and after all that have begun."""
        first = max((i + 1 for i, step in enumerate(self.steps) if step.name in self.begun), default=0)
        if not change.after:
            return len(self.steps)
        names = [step.name for step in self.steps]
        if slug(change.after) not in names:
            self.found.append(f"`{change.name[:60]}` should follow `{change.after[:60]}`, which is not a step here.")
            return len(self.steps)
        return max(first, names.index(slug(change.after)) + 1)

    def _drop(self, step: Step, change: StepChange) -> None:
        self.steps.remove(step)
        # Steps that needed it now need what it needed, which keeps the order.
        for index, other in enumerate(self.steps):
            if step.name in other.needs:
                needs = dict.fromkeys((*(need for need in other.needs if need != step.name), *step.needs))
                self.steps[index] = replace(other, needs=tuple(needs))
        self._note("dropped", step.name, change)

    def _note(self, what: str, name: str, change: StepChange) -> None:
        self.touched.add(name)
        self.said.append(f"{what} `{name}`" + (f": {change.reason}" if change.reason else ""))

    def outcome(self) -> Changed | Problems:
        if len(self.steps) > max(MOST, len(self.parent.steps)):
            self.found.append(
                f"There would be {len(self.steps)} steps; the limit at one level is {MOST}: add fewer, or drop some."
            )
        for step in self.steps:
            if step.name not in self.touched:
                continue
            if not is_smaller(step, self.parent):
                self.found.append(f"Step `{step.name}` restates the whole: say which part of it this step does.")
            if twin := find_alike(step, (other for other in self.steps if other is not step)):
                self.found.append(f"Steps `{twin.name}` and `{step.name}` are the same: leave one out.")
        # The needs are resolved; steps that have begun come first, unchanged.
        places = {step.name: step.name for step in self.steps}
        steps = [
            replace(step, needs=g.resolve_needs(self.needs[step.name], step, places, self.found))
            if step.name in self.needs
            else step
            for step in self.steps
        ]
        done = [step for step in steps if step.name in self.begun]
        rest, circle = g.sort_by_needs([step for step in steps if step.name not in self.begun])
        self.found += g.describe_circle(circle)
        found = tuple(dict.fromkeys(self.found))
        return Problems(found) if found else Changed((*done, *rest), tuple(self.said))


def _merge_given(change: StepChange, step: Step | None = None) -> g.StepDraft:
    """The step with the fields that the change gives."""
    old = step or Step("", "")
    tested = old.requires_testing if change.requires_testing is None else change.requires_testing
    return g.StepDraft(
        name=old.name or change.name,
        title=change.title or old.title,
        instructions=change.instructions or old.instructions,
        criteria=old.criteria if change.criteria is None else change.criteria,
        files=old.files if change.files is None else change.files,
        test_command=change.test_command or ("" if change.test_file else old.test_command or ""),
        test_file=change.test_file or old.test_file or "",
        requires_testing=tested,
        complexity=old.complexity if change.complexity is None else change.complexity,
        phase=bool(change.phase),
    )
