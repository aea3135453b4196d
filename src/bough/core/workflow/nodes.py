"""From TOML tables to nodes: known keys, right types, one kind of work each, and files that include others.

A node keeps only what is valid; what is not is reported, and the rest is still checked, so that a person sees every
problem at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.ids import GOAL, slug
from bough.core.workflow.inputs import InputSpec, read_declared
from bough.core.workflow.keys import (
    ACTION_KEYS,
    ALIASES,
    HEADER_KEYS,
    KINDS,
    RETRY_KEYS,
    STATE_KEYS,
    STEP_KEYS,
    TRANSITION_KEYS,
    Key,
    Kind,
    explain_misfit,
)
from bough.core.workflow.problems import Problems, Source, shorten_quote, suggest_nearest
from bough.core.workflow.toml_positions import KeyPath

Read = Callable[[str], str]
"""Returns the text of a file by its path in the project, or raises `UsageError` with the reason."""
MAX_STEPS = 10_000
_WAYS = ("action", "steps", "states", "do")
_TABLES = {"retry": RETRY_KEYS}


class Node(Struct):
    """A step, a state or a whole workflow, as written."""

    source: Source
    at: KeyPath
    name: str
    table: dict[str, Any]
    """The valid keys."""
    kind: Kind
    nodes: list[Node]
    """Its own steps or states."""
    specs: dict[str, InputSpec]
    """The inputs of a whole workflow."""
    included: Node | None = None
    """The workflow that is included here."""

    def wrong(self, key: str, text: str, needle: str = "") -> None:
        self.source.wrong((*self.at, key), text, needle)

    @property
    def body(self) -> Node:
        """Where its steps are written."""
        return self.included or self


class Reader:
    """Reads one workflow and the files that it uses."""

    def __init__(self, problems: Problems, read: Read | None, max_depth: int) -> None:
        self._problems = problems
        self._read = read
        self._max_depth = max_depth
        self._sources: dict[str, Source] = {}
        self._steps = 0

    def whole(self, source: Source, depth: int = 0, around: tuple[str, ...] = ()) -> Node:
        """A file. `around` are the files that include it."""
        table = _sift_table(source, (), source.table, HEADER_KEYS, "A workflow")
        node = Node(
            source, (), table.get("name", ""), table, "agent", [], read_declared(source, table.get("inputs", {}))
        )
        if node.name and node.name != slug(node.name):
            node.wrong("name", f"`{shorten_quote(node.name)}` is not a valid workflow name: use `{slug(node.name)}`.")
        if source.table:
            self._fill(node, depth, (*around, source.file))
        elif not self._problems:
            source.wrong((), "The workflow is empty: write its steps, each under [[steps]].")
        return node

    def _step(
        self,
        source: Source,
        at: KeyPath,
        said: dict[str, Any],
        keys: Mapping[str, Key],
        depth: int,
        files: tuple[str, ...],
    ) -> Node:
        what = "A state" if keys is STATE_KEYS else "A step"
        table = _sift_table(source, at, said, keys, what)
        node = Node(source, at, table.get("name", ""), table, "agent", [], {})
        if "name" not in said:
            source.wrong(at, f"{what} has no name: give it `name`, in lower-case letters, digits and dashes.")
        elif "name" in table and (node.name != slug(node.name) or node.name == GOAL):
            better = "another name" if node.name == GOAL else f"`{slug(node.name)}`"
            node.wrong("name", f"`{shorten_quote(node.name)}` is not a valid step name: use {better}.")
        self._fill(node, depth, files)
        return node

    def _fill(self, node: Node, depth: int, files: tuple[str, ...]) -> None:
        ways = [way for way in _WAYS if way in node.table]
        if len(ways) > 1:
            node.wrong(ways[1], f"`{ways[1]}` and `{ways[0]}` are mutually exclusive: a step runs in one way.")
        if not ways and not any(way in _get_raw_table(node) for way in _WAYS):
            node.source.wrong(node.at, "Nothing to do here: add an `action` or `steps`.")
        way = ways[0] if ways else ""
        if way == "action":
            self._read_action(node, depth, files)
        elif way == "do":
            node.kind = "do"
        elif way:
            node.kind = "compound"
            self._read_children(node, way, depth, files)
        if way and node.table[way] and not (node.included is None and "workflow" in node.table[way]):
            _check_fit(node)

    def _read_children(self, node: Node, way: str, depth: int, files: tuple[str, ...]) -> None:
        listed = node.table[way]
        if not listed:
            node.wrong(way, f"There are no {way} here: write at least one, under [[{way}]].")
        elif depth >= self._max_depth:
            node.wrong(way, f"Steps are nested deeper than {self._max_depth} levels here: lift them up one level.")
        elif self._steps + len(listed) > MAX_STEPS:
            node.wrong(way, f"The workflow has more than {MAX_STEPS:,} steps: split it into several.")
        else:
            self._steps += len(listed)
            keys = STATE_KEYS if way == "states" else STEP_KEYS
            at = (*node.at, way)
            node.nodes = [
                self._step(node.source, (*at, number), said, keys, depth + 1, files)
                for number, said in enumerate(listed)
            ]

    def _read_action(self, node: Node, depth: int, files: tuple[str, ...]) -> None:
        action = node.table["action"]
        if isinstance(action, str):
            if not action.strip():
                node.wrong("action", "The action is empty: say what to do.")
            return
        action = _sift_table(node.source, (*node.at, "action"), action, ACTION_KEYS, "An action")
        node.table["action"] = action
        ways = [way for way in ("run", "check", "workflow") if way in action]
        if len(ways) != 1:
            if len(ways) or not any(way in _get_raw_table(node)["action"] for way in ("run", "check", "workflow")):
                node.wrong("action", "An action table has exactly one of `run`, `check` and `workflow`.")
            node.table["action"] = {}
            return
        if not action[ways[0]].strip() or "\0" in action[ways[0]]:
            node.wrong("action", f"`{ways[0]}` is empty: fill it in.")
        if "inputs" in action and ways[0] != "workflow":
            node.wrong("action", "`inputs` are for a `workflow` file: a command uses `{name}` directly.")
        if ways[0] == "workflow":
            self._include(node, action["workflow"], depth, files)
        else:
            node.kind = "run" if ways[0] == "run" else "check"

    def _include(self, node: Node, said: str, depth: int, files: tuple[str, ...]) -> None:
        file = resolve_file(node.source.file, said)
        at = (*node.at, "action", "workflow")
        if file is None:
            node.source.wrong(
                at, f"`{shorten_quote(said)}` is not a file of this project: write a path relative to this file."
            )
            return
        if file in files:
            circle = " → ".join((*files[files.index(file) :], file))
            node.source.wrong(at, f"The workflow uses itself: {circle}.")
            return
        source = self._open_file(file, node, at)
        if source is not None and source.table:
            node.included = self.whole(source, depth, files)
            node.kind = node.included.kind

    def _open_file(self, file: str, node: Node, at: KeyPath) -> Source | None:
        if file not in self._sources:
            try:
                if self._read is None:
                    raise UsageError("other files are not available here")
                text = self._read(file)
            except UsageError as error:
                node.source.wrong(
                    at, f"The workflow {shorten_quote(file, 80)} cannot be read: {str(error).rstrip('.')}."
                )
                return None
            self._sources[file] = Source(file, text, self._problems)
        return self._sources[file]


def _get_raw_table(node: Node) -> dict[str, Any]:
    """The table as written in the file."""
    table: Any = node.source.table
    for key in node.at:
        table = table[key]
    said: dict[str, Any] = table
    return said


def _sift_table(
    source: Source, at: KeyPath, said: dict[str, Any], keys: Mapping[str, Key], owner: str
) -> dict[str, Any]:
    """The valid part of a table; the rest is reported."""
    kept: dict[str, Any] = {}
    for name, value in said.items():
        key = keys.get(name)
        if key is None:
            source.wrong((*at, name), _explain_unknown(name, keys, owner))
        elif wrong := explain_misfit(key, value):
            source.wrong((*at, name), _render_misfit(name, key, value, wrong))
        else:
            kept[name] = value
    for name, inner in _TABLES.items():
        if name in kept:
            kept[name] = _sift_table(source, (*at, name), kept[name], inner, f"`{name}`")
    if "transitions" in kept:
        kept["transitions"] = [
            _sift_table(source, (*at, "transitions", number), each, TRANSITION_KEYS, "A transition")
            for number, each in enumerate(kept["transitions"])
        ]
    return kept


def _explain_unknown(name: str, keys: Mapping[str, Key], owner: str) -> str:
    meant = ALIASES.get(name.lower(), "")
    if meant and meant.partition(" ")[0] in keys:
        return f"{owner} has no key `{shorten_quote(name)}`: did you mean `{meant}`?"
    if name in STEP_KEYS and name not in keys:
        return f"{owner} has no `{name}`: only steps do."
    return f"{owner} has no key `{shorten_quote(name)}`: {suggest_nearest(name, keys)}"


def _render_misfit(name: str, key: Key, value: Any, wrong: str) -> str:
    if wrong != "choice":
        return f"`{name}` {wrong}."
    if (name, value) == ("role", "planner"):
        return "No step has the role `planner`: write `plan_first = true` for one that is planned when it starts."
    return f"`{name}` cannot be `{shorten_quote(value)}`: {suggest_nearest(value, key.choices)}"


def _check_fit(node: Node) -> None:
    """Keys that would do nothing in this kind of step are errors."""
    for name in node.table:
        key = HEADER_KEYS.get(name) or STEP_KEYS.get(name)
        if key is not None and node.kind not in key.fits and name != "do" and name not in _WAYS:
            node.wrong(name, f"`{name}` does nothing in {KINDS[node.kind]}: remove it.")
    if "states" not in node.table:
        for name in ("start", "max_transitions"):
            if name in node.table and node.kind == "compound":
                node.wrong(name, f"`{name}` is for steps with `states`: remove it.")


def resolve_file(file: str, said: str) -> str | None:
    """The path in the project of a file that another names; None if it is outside the project."""
    if said.startswith(("/", "~")) or "\\" in said or "\0" in said or not said.strip():
        return None
    path = file.split("/")[:-1]
    for part in said.split("/"):
        if part == "..":
            if not path:
                return None
            path.pop()
        elif part not in ("", "."):
            path.append(part)
    return "/".join(path) or None
