"""The fields of a step from its node: texts with inputs filled in, commands, conditions; and the steps that it can
refer to: names among siblings, needs, and whose results exist when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bough.core.planning.plan import Condition, Retry, Step, find_circle
from bough.core.textual.spelling import shorten_line
from bough.core.workflow.command_values import find_refusals, load_check, load_command
from bough.core.workflow.conditions import parse_condition
from bough.core.workflow.nodes import Node
from bough.core.workflow.placeholders import (
    Input,
    NotAPlace,
    Parts,
    ResultPlace,
    merge_texts,
    render_loaded,
    render_plain,
    split_places,
)
from bough.core.workflow.problems import suggest_nearest


class Level(Struct):
    """The steps of one compound step, in order, and the levels around them."""

    nodes: list[Node]
    prefix: str = ""
    """The prefix of its tasks' paths: empty at the top, otherwise `path/`."""
    parallel: bool = False
    loops: bool = False
    """Its steps may run again, so each of them may use any other's last result."""
    above: Level | None = None
    inside: int = 0
    """The number of the step, in the level above, that has these steps."""
    own: bool = True
    """It is the top of a file: names beyond it are not visible from here."""
    number: dict[str, int] = {}
    needs: list[list[int]] = []

    def __post_init__(self) -> None:
        for number, node in enumerate(self.nodes):
            self.number.setdefault(node.name, number)
        self.needs = [
            [self.number[name] for name in node.table.get("needs", ()) if name in self.number] for node in self.nodes
        ]

    @property
    def again(self) -> bool:
        """Whether any enclosing step runs more than once."""
        return self.loops or (self.above is not None and self.above.again)

    def waits(self, number: int, other: int) -> bool:
        """Whether one step begins only after the other has ended."""
        if not self.parallel:
            return other < number
        seen: set[int] = set()
        ahead = list(self.needs[number])
        while ahead:
            if (this := ahead.pop()) not in seen:
                seen.add(this)
                ahead += self.needs[this]
        return other in seen


def check_siblings(level: Level) -> None:
    """Duplicate names, and needs that are unknown, impossible or cyclic."""
    for number, node in enumerate(level.nodes):
        if node.name and level.number[node.name] != number:
            node.wrong("name", f"Two steps here are called `{node.name}`: give each a name of its own.")
        for name in node.table.get("needs", ()):
            if name == node.name:
                node.wrong("needs", f"`{name}` needs itself.", name)
            elif name not in level.number:
                others = [other.name for other in level.nodes if other.name and other is not node]
                said = (
                    f"`{node.name}` needs `{name}`, but no sibling step is called that: {suggest_nearest(name, others)}"
                )
                node.wrong("needs", said, name)
            elif not level.parallel and level.number[name] > number:
                node.wrong(
                    "needs",
                    f"`{node.name}` needs `{name}`, which is written after it: "
                    "write it before, or let the steps run in `parallel`.",
                    name,
                )
    if level.parallel:
        _check_circles(level)


def _check_circles(level: Level) -> None:
    """Report the cycles of needs, each once: a step of one that was found is left out of the next search."""
    waiting = {at: [need for need in needs if need != at] for at, needs in enumerate(level.needs)}
    while circle := find_circle(waiting)[:-1]:
        first = circle.index(min(circle))
        names = [level.nodes[at].name for at in (*circle[first:], *circle[: first + 1])]
        level.nodes[circle[first]].wrong("needs", f"These steps need each other: {' → '.join(names)}.")
        waiting[circle[first]] = []


def resolve_result(level: Level, number: int, name: str) -> tuple[str, str]:
    """The path of the task whose result `name` means, for a step of a level, or why there is none."""
    chain = [(level, number)]
    """The path from the top of the file down to the step: each level, and which of its steps is on the path."""
    while not (top := chain[0][0]).own and top.above is not None:
        chain.insert(0, (top.above, top.inside))
    if "/" in name:
        segments = name.strip("/").split("/")
    else:
        found = next((depth for depth in reversed(range(len(chain))) if name in chain[depth][0].number), None)
        if found is None:
            known = [node.name for each, _ in chain for node in each.nodes if node.name]
            return "", f"There is no step `{name}` whose result can be used: {suggest_nearest(name, known)}"
        segments = [each.nodes[at].name for each, at in chain[:found]] + [name]
    nodes = top.nodes
    for segment in segments:
        node = next((node for node in nodes if node.name == segment), None)
        if node is None:
            return (
                "",
                f"There is no step `{name}`: {suggest_nearest(segment, [node.name for node in nodes if node.name])}",
            )
        nodes = node.body.nodes
    return top.prefix + "/".join(segments), _explain_too_early(chain, segments)


def _explain_too_early(chain: list[tuple[Level, int]], segments: list[str]) -> str:
    """Why the result of the step at `segments` does not exist yet; empty if it does."""
    same = 0
    while same < min(len(segments), len(chain)) and chain[same][0].nodes[chain[same][1]].name == segments[same]:
        same += 1
    name = "/".join(segments)
    if same == len(chain) == len(segments):
        return "" if chain[-1][0].again else f"`{name}` cannot use its own result before it has run."
    if same in (len(chain), len(segments)):
        return f"`{name}` has not ended when this starts: one is a part of the other."
    level, mine = chain[same]
    other = level.number[segments[same]]
    if level.waits(mine, other) or level.again:
        return ""
    if level.parallel:
        return f'`{name}` runs at the same time: give `{level.nodes[mine].name}` needs = ["{segments[same]}"].'
    return f"`{name}` comes later: only results of earlier steps can be used."


_FIELDS = {*Step.__struct_fields__} - {"name", "steps", "env"}
_TEXTS = ("title", "test_file", "interfaces", "files")
"""Keys that may name inputs, and are fields of a step under the same name."""


class StepReader(Struct, frozen=True):
    """Reads the fields of a step from its node, which has its place among others and the inputs around it."""

    node: Node
    level: Level
    number: int
    values: Mapping[str, Parts]

    def fields(self) -> dict[str, Any]:
        node, table = self.node, self.node.table
        fields = {key: self._read_value(key, value) for key, value in table.items() if key in _FIELDS}
        if "criteria" in table:
            fields["criteria"] = tuple(self._loaded("criteria", each) for each in table["criteria"])
        if "description" in table:
            into = "instructions" if node.kind == "compound" else "title"
            if into in fields:
                node.wrong("description", "`description` and `title` are the same in this kind of step: use one.")
            fields[into] = render_plain(self.parts("description", table["description"]))
        if "test_command" in table:
            if not table["test_command"].strip():
                node.wrong("test_command", "The check is empty: give the command, or omit `test_command`.")
            fields["test_command"] = self._check("test_command", table["test_command"])
        if "context_mode" in table:
            fields["context"] = table["context_mode"]
        if "retry" in table:
            fields["retry"] = Retry(**table["retry"])
        if "condition" in table:
            fields["condition"] = self._read_condition()
        if "until" in table:
            fields["until"] = self._read_until()
        if "do" in table:
            if self.level.parallel:
                node.wrong("do", "A parallel step cannot leave or restart the pass.")
            elif table["do"] == "continue" and not self.level.again:
                node.wrong("do", "No enclosing step repeats: give one `repeat`, or use `break`.")
        self._read_action(fields)
        return fields

    def _read_value(self, key: str, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self._read_value(key, each) for each in value)
        return render_plain(self.parts(key, value)) if key in _TEXTS else value

    def _read_action(self, fields: dict[str, Any]) -> None:
        action = self.node.table.get("action", {})
        if isinstance(action, str):
            fields["instructions"] = self._loaded("action", action)
        elif "check" in action:
            fields["test_command"] = self._check("action", action["check"])
        elif "run" in action:
            env = {name: self._loaded("env", text) for name, text in self.node.table.get("env", {}).items()}
            pieces = self._command("action", action["run"], results=True)
            fields["run"] = load_command(pieces, self.values, env)
            if env:
                fields["env"] = env

    def _loaded(self, key: str, text: str) -> str:
        return render_loaded(self.parts(key, text, results=True))

    def parts(self, key: str, text: str, *, results: bool = False, into: bool = True) -> Parts:
        """A text split into parts, its names resolved. With `into`, inputs are filled in."""
        try:
            pieces = split_places(text)
        except NotAPlace as error:
            self.node.wrong(key, str(error), error.piece)
            return ("",)
        if len(pieces) == 1 and isinstance(pieces[0], str):
            return pieces
        whole: list[Any] = []
        for piece in pieces:
            found = (piece,) if isinstance(piece, str) else self._look_up(key, piece, results)
            whole += found if into or isinstance(piece, ResultPlace) else [piece]
        return tuple(merge_texts(whole))

    def _look_up(self, key: str, piece: Input | ResultPlace, results: bool) -> Parts:
        node, values = self.node, self.values
        if isinstance(piece, Input):
            if piece.name not in values:
                known = suggest_nearest(piece.name, values) if values else "declare it under [inputs]."
                text = f"There is no input `{piece.name}`: {known}"
                node.wrong(key, f"{text} Write `{{{{` for a literal brace.", f"{{{piece.name}}}")
            value = values.get(piece.name, ("",))
            if not results and any(isinstance(part, ResultPlace) for part in value):
                said = f"`{{{piece.name}}}` holds a step's result, which `{key}` cannot use."
                node.wrong(key, said, f"{{{piece.name}}}")
            return value
        needle = f"{{steps.{piece.step}.result}}"
        if not results:
            node.wrong(
                key, f"`{needle}` cannot be used here: only instructions, criteria and `run` take results.", needle
            )
            return ("",)
        path, wrong = resolve_result(self.level, self.number, piece.step)
        if wrong:
            node.wrong(key, wrong, needle)
        return (ResultPlace(path),)

    def _check(self, key: str, text: str) -> str:
        return load_check(self._command(key, text, results=False), self.values)

    def _command(self, key: str, text: str, *, results: bool) -> Parts:
        pieces = self.parts(key, text, results=results, into=False)
        for place, reason in find_refusals(pieces):
            name = f"{{{place.name}}}" if isinstance(place, Input) else "{steps."
            self.node.wrong(key, f"`{shorten_line(name)}` cannot be used there in a command: {reason}.", name)
        return pieces

    def condition(self, key: str) -> Condition | None:
        condition = parse_condition(self.node.table[key])
        if isinstance(condition, str):
            self.node.wrong(key, condition)
            return None
        if condition.text:
            text = render_plain(self.parts(key, condition.text))
            condition = Condition(condition.outcome, condition.step, text, condition.negated)
        return condition

    def _read_condition(self) -> Condition | None:
        """A question about a sibling that has ended by then."""
        condition, level, number = self.condition("condition"), self.level, self.number
        if condition is None:
            return None
        if not condition.step:
            if level.parallel:
                self.node.wrong("condition", "Parallel steps have no previous step: write `STEP.` in front.")
            elif number == 0:
                self.node.wrong("condition", "There is no step before this one: write `STEP.` in front.")
            asked = number - 1
        elif condition.step not in level.number:
            known = [node.name for node in level.nodes if node is not self.node and node.name]
            said = f"No sibling step is called `{condition.step}`: {suggest_nearest(condition.step, known)}"
            self.node.wrong("condition", said)
            return condition
        else:
            asked = level.number[condition.step]
            if not level.waits(number, asked) and not level.again:
                way = f'add needs = ["{condition.step}"]' if level.parallel else "write it before this one"
                self.node.wrong("condition", f"`{condition.step}` has not ended when this starts: {way}.")
        if asked >= 0:
            self._check_reachable(condition, level, asked)
        return condition

    def _check_reachable(self, condition: Condition, level: Level, asked: int) -> None:
        """A step whose failure fails its parent has never failed when the next one starts."""
        other = level.nodes[asked]
        strict = other.table.get("on_error", "fail") in ("fail", "retry") and not level.parallel
        if condition.outcome == "failure" and not condition.negated and strict and other.kind != "do":
            said = f'When `{other.name}` fails, its parent step fails too: give it on_error = "skip" to continue here.'
            self.node.wrong("condition", said)

    def _read_until(self) -> Condition | None:
        condition = self.condition("until")
        names = [node.name for node in self.node.body.nodes if node.name]
        if condition is not None and condition.step and condition.step not in names:
            said = f"None of its steps is called `{condition.step}`: {suggest_nearest(condition.step, names)}"
            self.node.wrong("until", said)
        if condition is not None and not condition.step and self.node.table.get("parallel"):
            self.node.wrong("until", "Parallel steps have no last step: write `STEP.` in front.")
        return condition
