"""Turn TOML tables into nodes: known keys, right types, one kind of work each, and files that include others.

A node keeps only what is valid; what is not is reported, and the rest is still checked, so that a person sees every
problem at once.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.ids import GOAL, slug
from bough.core.textual.spelling import shorten_line
from bough.core.workflow.inputs import InputSpec, read_declared
from bough.core.workflow.keys import (
    KINDS,
    OWNERS,
    ActionKeys,
    Kind,
    StateKeys,
    StepKeys,
    Table,
    WorkflowKeys,
    get_fitting_kinds,
    read_table,
)
from bough.core.workflow.problems import KeyPath, Problems, Source

Read = Callable[[str], str]
"""Returns the text of a file by its path in the project, or raises `UsageError` with the reason."""
MAX_STEPS = 10_000
_WAYS = ("action", "steps", "states", "do")
_COMMANDS = ("run", "check", "workflow")


class Node(Struct):
    """A step, a state or a whole workflow, as written."""

    source: Source
    at: KeyPath
    said: Table
    """Everything that is written there."""
    table: Table
    """The valid keys."""
    files: tuple[str, ...] = ()
    """The file it is in, after those that include it."""
    depth: int = 0
    kind: Kind = "agent"
    nodes: list[Node] = []
    """Its own steps or states."""
    specs: dict[str, InputSpec] = {}
    """The inputs of a whole workflow."""
    included: Node | None = None
    """The workflow that is included here."""

    @property
    def name(self) -> str:
        return str(self.table.get("name", ""))

    def wrong(self, key: str, text: str, needle: str = "") -> None:
        self.source.wrong((*self.at, key), text, needle)

    @property
    def body(self) -> Node:
        """Where its steps are written."""
        return self.included or self


class Reader(Struct, eq=False):
    """Reads one workflow and the files that it uses."""

    _problems: Problems
    _read: Read | None
    _max_depth: int
    _sources: dict[str, Source] = {}
    _steps: int = 0

    def whole(self, source: Source, depth: int = 0, around: tuple[str, ...] = ()) -> Node:
        """Read a file. `around` are the files that include it."""
        table = read_table(source, (), source.table, WorkflowKeys)
        node = Node(source, (), source.table, table, (*around, source.file), depth)
        node.specs = read_declared(source, table.get("inputs", {}))
        if node.name and node.name != slug(node.name):
            node.wrong("name", f"`{shorten_line(node.name)}` is not a valid workflow name: use `{slug(node.name)}`.")
        if source.table:
            self._fill(node)
        elif not self._problems:
            source.wrong((), "The workflow is empty: write its steps, each under [[steps]].")
        return node

    def _step(self, parent: Node, at: KeyPath, said: Table, shape: Any) -> Node:
        source = parent.source
        node = Node(source, at, said, read_table(source, at, said, shape), parent.files, parent.depth + 1)
        if "name" not in said:
            source.wrong(at, f"{OWNERS[shape]} has no name: give it `name`, in lower-case letters, digits and dashes.")
        elif "name" in node.table and (node.name != slug(node.name) or node.name == GOAL):
            better = "another name" if node.name == GOAL else f"`{slug(node.name)}`"
            node.wrong("name", f"`{shorten_line(node.name)}` is not a valid step name: use {better}.")
        self._fill(node)
        return node

    def _fill(self, node: Node) -> None:
        ways = [way for way in _WAYS if way in node.table]
        if len(ways) > 1:
            node.wrong(ways[1], f"`{ways[1]}` and `{ways[0]}` are mutually exclusive: a step runs in one way.")
        if not any(way in node.said for way in _WAYS):
            node.source.wrong(node.at, "Nothing to do here: add an `action` or `steps`.")
        way = ways[0] if ways else ""
        if way == "action":
            self._read_action(node)
        elif way == "do":
            node.kind = "do"
        elif way:
            node.kind = "compound"
            self._read_children(node, way)
        if way and node.table[way] and not (node.included is None and "workflow" in node.table[way]):
            # Keys that would do nothing in this kind of step are errors.
            for name in node.table:
                if node.kind not in get_fitting_kinds(name) and name not in _WAYS:
                    node.wrong(name, f"`{name}` does nothing in {KINDS[node.kind]}: remove it.")
                elif name in ("start", "max_transitions") and "states" not in node.table:
                    node.wrong(name, f"`{name}` is for steps with `states`: remove it.")

    def _read_children(self, node: Node, way: str) -> None:
        listed = node.table[way]
        if not listed:
            node.wrong(way, f"There are no {way} here: write at least one, under [[{way}]].")
        elif node.depth >= self._max_depth:
            node.wrong(way, f"Steps are nested deeper than {self._max_depth} levels here: lift them up one level.")
        elif self._steps + len(listed) > MAX_STEPS:
            node.wrong(way, f"The workflow has more than {MAX_STEPS:,} steps: split it into several.")
        else:
            self._steps += len(listed)
            shape = StateKeys if way == "states" else StepKeys
            node.nodes = [self._step(node, (*node.at, way, at), said, shape) for at, said in enumerate(listed)]

    def _read_action(self, node: Node) -> None:
        action = node.table["action"]
        if isinstance(action, str):
            if not action.strip():
                node.wrong("action", "The action is empty: say what to do.")
            return
        action = node.table["action"] = read_table(node.source, (*node.at, "action"), action, ActionKeys)
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
            self._include(node, action["workflow"])
        else:
            node.kind = "run" if way == "run" else "check"

    def _include(self, node: Node, said: str) -> None:
        file = resolve_file(node.source.file, said)
        at = (*node.at, "action", "workflow")
        if file is None:
            text = f"`{shorten_line(said)}` is not a file of this project: write a path relative to this file."
            node.source.wrong(at, text)
            return
        if file in node.files:
            circle = " → ".join((*node.files[node.files.index(file) :], file))
            node.source.wrong(at, f"The workflow uses itself: {circle}.")
            return
        if file not in self._sources:
            try:
                if self._read is None:
                    raise UsageError("other files are not available here")
                self._sources[file] = Source(file, self._read(file), self._problems)
            except UsageError as error:
                text = f"The workflow {shorten_line(file, 80)} cannot be read: {str(error).rstrip('.')}."
                node.source.wrong(at, text)
                return
        if self._sources[file].table:
            node.included = self.whole(self._sources[file], node.depth, node.files)
            node.kind = node.included.kind


def resolve_file(file: str, said: str) -> str | None:
    """Return the path in the project of a file that another names; None if it is outside the project."""
    if said.startswith(("/", "~")) or "\\" in said or "\0" in said or not said.strip():
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), said))
    return None if path in (".", "..") or path.startswith("../") else path
