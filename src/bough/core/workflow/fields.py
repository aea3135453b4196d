"""The fields of a step from its node: texts with inputs filled in, commands, conditions; and the steps that it can
refer to: names among siblings, needs, and whose results exist when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bough.core.planning.plan import Condition, Retry, find_circle
from bough.core.spelling import shorten_line
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


class Level:
    """The steps of one compound step, in order, and the levels around them."""

    def __init__(
        self,
        nodes: list[Node],
        prefix: str = "",
        *,
        parallel: bool = False,
        loops: bool = False,
        above: Level | None = None,
        inside: int = 0,
        own: bool = True,
    ) -> None:
        self.nodes = nodes
        self.prefix = prefix
        """The prefix of its tasks' paths: empty at the top, otherwise `path/`."""
        self.parallel = parallel
        self.loops = loops
        """Its steps may run again, so each of them may use any other's last result."""
        self.above = above
        self.inside = inside
        """The number of the step, in the level above, that has these steps."""
        self.own = own
        """It is the top of a file: names beyond it are not visible from here."""
        self.number: dict[str, int] = {}
        for number, node in enumerate(nodes):
            self.number.setdefault(node.name, number)
        self.needs = [
            [self.number[name] for name in node.table.get("needs", ()) if name in self.number] for node in nodes
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


_SAME = (
    *("may_edit_tests", "requires_testing", "plan_first", "parallel", "join", "complexity", "rounds", "role", "model"),
    *("agent", "do", "on_error", "max_retries", "repeat", "summarize"),
)
"""Keys that are fields of a step under the same name and with the same value."""


class StepPosition(Struct, frozen=True):
    """The position of a step: among which others, and with which inputs."""

    level: Level
    number: int
    values: Mapping[str, Parts]


class Fields:
    """The fields of a step that a node gives."""

    def __init__(self, node: Node, scope: StepPosition) -> None:
        self._node = node
        self._table = node.table
        self._scope = scope

    def all(self) -> dict[str, Any]:
        table, node = self._table, self._node
        fields: dict[str, Any] = {key: table[key] for key in _SAME if key in table}
        fields |= {key: tuple(table[key]) for key in ("needs", "covers", "runs_on") if key in table}
        for key in ("title", "test_file"):
            if key in table:
                fields[key] = render_plain(self.parts(key, table[key]))
        for key in ("interfaces", "files"):
            if key in table:
                fields[key] = tuple(render_plain(self.parts(key, each)) for each in table[key])
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
            level = self._scope.level
            if level.parallel:
                self._node.wrong("do", "A parallel step cannot leave or restart the pass.")
            elif self._table["do"] == "continue" and not level.again:
                self._node.wrong("do", "No enclosing step repeats: give one `repeat`, or use `break`.")
        self._read_action(fields)
        return fields

    def _read_action(self, fields: dict[str, Any]) -> None:
        action = self._table.get("action", {})
        if isinstance(action, str):
            fields["instructions"] = self._loaded("action", action)
        elif "check" in action:
            fields["test_command"] = self._check("action", action["check"])
        elif "run" in action:
            env = {name: self._loaded("env", text) for name, text in self._table.get("env", {}).items()}
            pieces = self._command("action", action["run"], results=True)
            fields["run"] = load_command(pieces, self._scope.values, env)
            if env:
                fields["env"] = env

    def _loaded(self, key: str, text: str) -> str:
        return render_loaded(self.parts(key, text, results=True))

    def parts(self, key: str, text: str, *, results: bool = False, into: bool = True) -> Parts:
        """A text split into parts, its names resolved. With `into`, inputs are filled in."""
        try:
            pieces = split_places(text)
        except NotAPlace as error:
            self._node.wrong(key, str(error), error.piece)
            return ("",)
        if len(pieces) == 1 and isinstance(pieces[0], str):
            return pieces
        whole: list[Any] = []
        for piece in pieces:
            found = (piece,) if isinstance(piece, str) else self._look_up(key, piece, results)
            whole += found if into or isinstance(piece, ResultPlace) else [piece]
        return tuple(merge_texts(whole))

    def _look_up(self, key: str, piece: Input | ResultPlace, results: bool) -> Parts:
        node, scope = self._node, self._scope
        if isinstance(piece, Input):
            if piece.name not in scope.values:
                known = suggest_nearest(piece.name, scope.values) if scope.values else "declare it under [inputs]."
                text = f"There is no input `{piece.name}`: {known}"
                node.wrong(key, f"{text} Write `{{{{` for a literal brace.", f"{{{piece.name}}}")
            value = scope.values.get(piece.name, ("",))
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
        path, wrong = resolve_result(scope.level, scope.number, piece.step)
        if wrong:
            node.wrong(key, wrong, needle)
        return (ResultPlace(path),)

    def _check(self, key: str, text: str) -> str:
        return load_check(self._command(key, text, results=False), self._scope.values)

    def _command(self, key: str, text: str, *, results: bool) -> Parts:
        pieces = self.parts(key, text, results=results, into=False)
        for place, reason in find_refusals(pieces):
            name = f"{{{place.name}}}" if isinstance(place, Input) else "{steps."
            self._node.wrong(key, f"`{shorten_line(name)}` cannot be used there in a command: {reason}.", name)
        return pieces

    def condition(self, key: str) -> Condition | None:
        condition = parse_condition(self._table[key])
        if isinstance(condition, str):
            self._node.wrong(key, condition)
            return None
        if condition.text:
            text = render_plain(self.parts(key, condition.text))
            condition = Condition(condition.outcome, condition.step, text, condition.negated)
        return condition

    def _read_condition(self) -> Condition | None:
        """A question about a sibling that has ended by then."""
        condition, level, number = self.condition("condition"), self._scope.level, self._scope.number
        if condition is None:
            return None
        if not condition.step:
            if level.parallel:
                self._node.wrong("condition", "Parallel steps have no previous step: write `STEP.` in front.")
            elif number == 0:
                self._node.wrong("condition", "There is no step before this one: write `STEP.` in front.")
            asked = number - 1
        elif condition.step not in level.number:
            known = [node.name for node in level.nodes if node is not self._node and node.name]
            said = f"No sibling step is called `{condition.step}`: {suggest_nearest(condition.step, known)}"
            self._node.wrong("condition", said)
            return condition
        else:
            asked = level.number[condition.step]
            if not level.waits(number, asked) and not level.again:
                way = f'add needs = ["{condition.step}"]' if level.parallel else "write it before this one"
                self._node.wrong("condition", f"`{condition.step}` has not ended when this starts: {way}.")
        if asked >= 0:
            self._check_reachable(condition, level, asked)
        return condition

    def _check_reachable(self, condition: Condition, level: Level, asked: int) -> None:
        """A step whose failure fails its parent has never failed when the next one starts."""
        other = level.nodes[asked]
        strict = other.table.get("on_error", "fail") in ("fail", "retry") and not level.parallel
        if condition.outcome == "failure" and not condition.negated and strict and other.kind != "do":
            said = f'When `{other.name}` fails, its parent step fails too: give it on_error = "skip" to continue here.'
            self._node.wrong("condition", said)

    def _read_until(self) -> Condition | None:
        condition = self.condition("until")
        names = [node.name for node in self._node.body.nodes if node.name]
        if condition is not None and condition.step and condition.step not in names:
            said = f"None of its steps is called `{condition.step}`: {suggest_nearest(condition.step, names)}"
            self._node.wrong("until", said)
        if condition is not None and not condition.step and self._table.get("parallel"):
            self._node.wrong("until", "Parallel steps have no last step: write `STEP.` in front.")
        return condition
