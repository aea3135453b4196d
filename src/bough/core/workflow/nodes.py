"""Nodes: the tables of a workflow and of the files that it includes, each with its parent and its steps.

A node holds only valid keys. Invalid ones are reported and the rest is still checked, so that a person sees every
problem at once."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.ids import GOAL, slug
from bough.core.planning.plan import find_circle, find_reachable
from bough.core.textual.spelling import shorten_line
from bough.core.workflow import keys
from bough.core.workflow.inputs import InputSpec, read_declared
from bough.core.workflow.placeholders import Parts
from bough.core.workflow.problems import KeyPath, Problems, Source, suggest_nearest

Read = Callable[[str], str]
"""Returns the text of a file by its path in the project, or raises `UsageError` with the reason."""
MAX_STEPS = 10_000
_WAYS = ("action", "steps", "states", "do")
_COMMANDS = ("run", "check", "workflow")


class Node(Struct, eq=False):
    """A step, a state or a whole workflow, as written."""

    source: Source
    at: KeyPath
    said: keys.Table
    """The whole table as written."""
    table: keys.Table
    """The valid keys."""
    above: "Node | None" = None
    """The node that contains this one as a step; None at the top of a file."""
    number: int = 0
    files: tuple[str, ...] = ()
    """The files that include this one, the outermost first, and the file that contains this node."""
    kind: keys.Kind = "agent"
    nodes: "list[Node]" = []
    """The node's own steps or states, or those of the workflow that it includes."""
    numbers: dict[str, int] = {}
    """The indexes of the steps in `nodes`, by name."""
    specs: dict[str, InputSpec] = {}
    """The declared inputs, if the node is a whole workflow."""
    included: "Node | None" = None
    """The workflow that this node includes."""
    values: Mapping[str, Parts] = {}
    """The values of the inputs that the node's texts may use."""

    @property
    def name(self) -> str:
        return str(self.table.get("name", ""))

    @property
    def path(self) -> str:
        """The path of the node's task; empty for the goal."""
        return "" if self.above is None else f"{self.above.path}/{self.name}".lstrip("/")

    @property
    def body(self) -> "Node":
        """Return the node in which the steps are written: this one, or the workflow that it includes."""
        return self if self.included is None else self.included.body

    def get(self, key: str, default: Any = None) -> Any:
        """Return a key's value from this node, or else from the included workflow."""
        return self.table.get(key, default if self.included is None else self.included.get(key, default))

    @property
    def again(self) -> bool:
        """Whether the node's steps may run several times, so that each may use any other's last result."""
        own = "states" in self.body.table or self.get("repeat", 1) > 1
        return own or (self.above is not None and self.above.again)

    def wrong(self, key: str, text: str, needle: str = "") -> None:
        """Report a problem with a key, at its place in this node or in the included workflow."""
        (self if key in self.said else self.body).report((key,), text, needle)

    def report(self, at: KeyPath, text: str, needle: str = "") -> None:
        self.source.wrong((*self.at, *at), text, needle)

    def take(self, nodes: "list[Node]") -> None:
        """Make these nodes the steps of this one."""
        self.nodes, self.numbers = nodes, {node.name: at for at, node in reversed([*enumerate(nodes)])}
        for number, node in enumerate(nodes):
            node.above, node.number = self, number

    def needs(self, number: int) -> list[int]:
        """List the indexes of the steps that step `number` names in its `needs`."""
        return [self.numbers[name] for name in self.nodes[number].table.get("needs", ()) if name in self.numbers]

    def waits(self, number: int, other: int) -> bool:
        """Whether step `number` begins only after step `other` has ended."""
        return other in find_reachable(self.needs(number), self.needs) if self.get("parallel") else other < number

    def check_steps(self) -> None:
        """Report duplicate names, and needs that are unknown, impossible or cyclic."""
        parallel = self.get("parallel")
        for number, node in enumerate(self.nodes):
            if node.name and self.numbers[node.name] != number:
                node.wrong("name", f"Two steps here are called `{node.name}`: give each a name of its own.")
            for name in node.table.get("needs", ()):
                said = ""
                if name == node.name:
                    said = f"`{name}` needs itself."
                elif name not in self.numbers:
                    near = suggest_nearest(name, [one.name for one in self.nodes if one.name and one is not node])
                    said = f"`{node.name}` needs `{name}`, but no sibling step is called that: {near}"
                elif not parallel and self.numbers[name] > number:
                    said = f"`{node.name}` needs `{name}`, which is written after it: "
                    said += "write it before, or let the steps run in `parallel`."
                if said:
                    node.wrong("needs", said, name)
        # Report each cycle once: clear the needs of one of its steps before the next search.
        waiting = {at: [need for need in self.needs(at) if need != at] for at in range(len(self.nodes)) if parallel}
        while circle := find_circle(waiting)[:-1]:
            first = circle.index(min(circle))
            names = [self.nodes[at].name for at in (*circle[first:], *circle[: first + 1])]
            self.nodes[circle[first]].wrong("needs", f"These steps need each other: {' → '.join(names)}.")
            waiting[circle[first]] = []

    def find_result(self, name: str) -> tuple[str, str]:
        """Return the path of the task whose result `name` means here, and the reason if that cannot be used."""
        chain = [self] if self.above is not None else []
        """The nodes from the top of the file down to this one."""
        while chain and (top := chain[0].above) is not None and top.included is None and top.above is not None:
            chain.insert(0, top)
        around = [node.above for node in chain if node.above is not None]
        segments = name.strip("/").split("/")
        if "/" not in name:
            found = next((depth for depth in reversed(range(len(chain))) if name in around[depth].numbers), None)
            if found is None:
                known = [node.name for each in around for node in each.nodes if node.name]
                return "", f"There is no step `{name}` whose result can be used: {suggest_nearest(name, known)}"
            segments = [node.name for node in chain[:found]] + [name]
        at = around[0] if around else self
        prefix = at.path
        for segment in segments:
            if segment not in at.numbers:
                return "", f"There is no step `{name}`: {suggest_nearest(segment, filter(None, at.numbers))}"
            at = at.nodes[at.numbers[segment]]
        return "/".join(filter(None, (prefix, *segments))), _explain_too_early(chain, segments)


def _explain_too_early(chain: list[Node], segments: list[str]) -> str:
    """Explain why the step at `segments` has no result yet when the last node of `chain` starts; empty if it has."""
    same = 0
    while same < min(len(segments), len(chain)) and chain[same].name == segments[same]:
        same += 1
    name = "/".join(segments)
    if same in (len(chain), len(segments)):
        if len(chain) != len(segments):
            return f"`{name}` has not ended when this starts: one is a part of the other."
        again = chain[-1].above is not None and chain[-1].above.again
        return "" if again else f"`{name}` cannot use its own result before it has run."
    mine, level = chain[same], chain[same].above
    if level is None or level.again or level.waits(mine.number, level.numbers[segments[same]]):
        return ""
    if level.get("parallel"):
        return f'`{name}` runs at the same time: give `{mine.name}` needs = ["{segments[same]}"].'
    return f"`{name}` comes later: only results of earlier steps can be used."


class Reader(Struct, eq=False):
    """Reads one workflow and the files that it uses."""

    _problems: Problems
    _read: Read | None
    _max_depth: int
    _sources: dict[str, Source] = {}
    _steps: int = 0

    def whole(self, source: Source, depth: int = 0, around: tuple[str, ...] = ()) -> Node:
        """Read a workflow file. `around`: the files that include it; `depth`: how deeply it is nested."""
        table = keys.read_table(source, (), source.table, keys.WorkflowKeys)
        node = Node(source, (), source.table, table, files=(*around, source.file))
        node.specs = read_declared(source, table.get("inputs", {}))
        if node.name and node.name != slug(node.name):
            node.wrong("name", f"`{shorten_line(node.name)}` is not a valid workflow name: use `{slug(node.name)}`.")
        if source.table:
            self._fill(node, depth)
        elif not self._problems:
            source.wrong((), "The workflow is empty: write its steps, each under [[steps]].")
        return node

    def _step(self, parent: Node, depth: int, at: KeyPath, said: keys.Table, shape: Any) -> Node:
        node = Node(parent.source, at, said, keys.read_table(parent.source, at, said, shape), files=parent.files)
        if "name" not in said:
            node.report(
                (), f"{keys.OWNERS[shape]} has no name: give it `name`, in lower-case letters, digits and dashes."
            )
        elif "name" in node.table and (node.name != slug(node.name) or node.name == GOAL):
            better = "another name" if node.name == GOAL else f"`{slug(node.name)}`"
            node.wrong("name", f"`{shorten_line(node.name)}` is not a valid step name: use {better}.")
        self._fill(node, depth)
        return node

    def _fill(self, node: Node, depth: int) -> None:
        ways = [way for way in _WAYS if way in node.table]
        if len(ways) > 1:
            node.wrong(ways[1], f"`{ways[1]}` and `{ways[0]}` are mutually exclusive: a step runs in one way.")
        if not any(way in node.said for way in _WAYS):
            node.report((), "Nothing to do here: add an `action` or `steps`.")
        way = ways[0] if ways else ""
        if way == "action":
            self._read_action(node, depth)
        elif way == "do":
            node.kind = "do"
        elif way:
            node.kind = "compound"
            self._read_children(node, way, depth)
        if way and node.table[way] and not (node.included is None and "workflow" in node.table[way]):
            # Keys that would do nothing in this kind of step are errors.
            for name in node.table:
                if node.kind not in keys.get_fitting_kinds(name) and name not in _WAYS:
                    node.wrong(name, f"`{name}` does nothing in {keys.KINDS[node.kind]}: remove it.")
                elif name in ("start", "max_transitions") and "states" not in node.table:
                    node.wrong(name, f"`{name}` is for steps with `states`: remove it.")

    def _read_children(self, node: Node, way: str, depth: int) -> None:
        listed = node.table[way]
        if not listed:
            node.wrong(way, f"There are no {way} here: write at least one, under [[{way}]].")
        elif depth >= self._max_depth:
            node.wrong(way, f"Steps are nested deeper than {self._max_depth} levels here: lift them up one level.")
        elif self._steps + len(listed) > MAX_STEPS:
            node.wrong(way, f"The workflow has more than {MAX_STEPS:,} steps: split it into several.")
        else:
            self._steps += len(listed)
            shape = keys.StateKeys if way == "states" else keys.StepKeys
            node.take([self._step(node, depth + 1, (*node.at, way, at), said, shape) for at, said in enumerate(listed)])

    def _read_action(self, node: Node, depth: int) -> None:
        action = node.table["action"]
        if isinstance(action, str):
            if not action.strip():
                node.wrong("action", "The action is empty: say what to do.")
            return
        action = node.table["action"] = keys.read_table(node.source, (*node.at, "action"), action, keys.ActionKeys)
        ways = [way for way in _COMMANDS if way in action]
        if len(ways) != 1:
            if ways or not any(way in node.said["action"] for way in _COMMANDS):
                node.wrong("action", "An action table has exactly one of `run`, `check` and `workflow`.")
            node.table["action"] = {}
            return
        (way,) = ways
        if not action[way].strip() or "\0" in action[way]:
            node.wrong("action", f"`{way}` is empty: fill it in.")
        if "inputs" in action and way != "workflow":
            node.wrong("action", "`inputs` are for a `workflow` file: a command uses `{name}` directly.")
        if way == "workflow":
            if wrong := self._include(node, action["workflow"], depth):
                node.report(("action", "workflow"), wrong)
        else:
            node.kind = "run" if way == "run" else "check"

    def _include(self, node: Node, said: str, depth: int) -> str:
        """Include a workflow file in a step, or return the reason why that is impossible."""
        file = posixpath.normpath(posixpath.join(posixpath.dirname(node.source.file), said))
        outside = said.startswith(("/", "~")) or "\\" in said or "\0" in said or not said.strip()
        if outside or file in (".", "..") or file.startswith("../"):
            return f"`{shorten_line(said)}` is not a file of this project: write a path relative to this file."
        if file in node.files:
            return f"The workflow uses itself: {' → '.join((*node.files[node.files.index(file) :], file))}."
        if file not in self._sources:
            try:
                if self._read is None:
                    raise UsageError("a plan given as text cannot use other files; write the steps out instead")
                self._sources[file] = Source(file, self._read(file), self._problems)
            except UsageError as error:
                return f"The workflow {shorten_line(file, 80)} cannot be read: {str(error).rstrip('.')}."
        if self._sources[file].table:
            node.included = self.whole(self._sources[file], depth, node.files)
            node.kind = node.included.kind
            node.take(node.included.nodes)
        return ""
