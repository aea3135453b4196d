"""What a CI configuration runs, in which folder, and what the step is called.

Every CI service has a format of its own, and nearly all of them are YAML. Only its outline is read: keys, items, and
texts of several lines.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_KEY = r"(?:\"([^\"]+)\"|'([^']+)'|([\w./-]+))\s*:(?:\s+(.*))?$"
_NAMES = frozenset({"name", "displayName", "label", "title", "stage", "id"})
_FOLDERS = frozenset({"working-directory", "working_directory", "workingDirectory", "dir"})
_CONDITIONS = frozenset({"if", "condition", "runs-on", "os", "vmImage"})
_SCRIPTS = (
    r"(?i)(?:[\w-]*[-_])?(?:runs?|scripts?|commands?|cmds?|tasks?|tests?|bash|sh|pwsh|check|exec|install|setup|build|steps?)"
    r"|before_\w+"
)
"""Keys of texts that run something."""
_DEEPEST = 60
"""Levels of an outline: a file with more is none, and must not use up the stack."""
_ELSEWHERE, _HERE = r"(?i)\b(?:windows|macos|osx|freebsd)\b", r"!|\b(?:ubuntu|linux|not|ne)\b|\|\|"
_TOP = r"^\$(?:\{\{.*?\}\}|\{\w+\}|\([\w.]+\)|\w+)/?"
"""How CI services call the folder of the project: by a variable of their own."""


class CodeBlock(NamedTuple):
    """What runs in one shell: a step of CI, or the code of another file."""

    text: str
    folder: str = ""
    name: str = ""
    """The name of the step, the key of the script, or the sentence before it."""
    job: int = 0
    """Steps of one job have the same number: they run one after the other on one machine."""


class _Node:
    """A key, an item or the whole of an outline."""

    def __init__(self, above: _Node | None = None, key: str = "") -> None:
        self.key = key
        self.text = ""
        self.inner: list[_Node] = []
        if above is not None:
            above.inner.append(self)

    def find(self, *path: str) -> str:
        """The text at a path of keys; empty: there is none."""
        if not path:
            return self.text
        return next((found for one in self.inner if one.key == path[0] and (found := one.find(*path[1:]))), "")


def list_scripts(text: str) -> Iterator[CodeBlock]:
    """The scripts of a CI configuration in the order in which they stand there, without those of other systems."""
    jobs = iter(range(len(text)))
    yield from _walk(_read_outline(text.splitlines()), "", "", -1, jobs)


def _walk(node: _Node, folder: str, name: str, job: int, jobs: Iterator[int]) -> Iterator[CodeBlock]:
    keys = {one.key for one in node.inner}
    conditions = (one.text for one in node.inner if one.key in _CONDITIONS)
    if any(re.search(_ELSEWHERE, said) and not re.search(_HERE, said) for said in conditions):
        return
    named = next((one.text for one in node.inner if one.key in _NAMES and one.text), "")
    placed = next((one.text for one in node.inner if one.key in _FOLDERS and one.text), "")
    placed = placed or node.find("defaults", "run", "working-directory")
    folder = posixpath.normpath(re.sub(_TOP, "./", placed.strip("\"'"))) if placed else folder
    begins = keys & {"steps", "tasks"} or (keys & {"script", "commands"} and (node.key or job < 0))
    job = next(jobs) if begins else job
    for one in node.inner:
        said = named or (one.key if re.search(r"(?i)test", one.key) else name)
        lines = [item.text for item in one.inner if not item.key and not item.inner]  # In one shell.
        runs = re.fullmatch(_SCRIPTS, one.key or node.key) or node.key == "tasks"
        if runs and (text := one.text or "\n".join(lines)):
            yield CodeBlock(text, "" if folder == "." else folder, said, job)
        if len(lines) < len(one.inner):
            yield from _walk(one, folder, said, job, jobs)


def _read_outline(lines: Sequence[str]) -> _Node:
    top = _Node()
    open_nodes: list[tuple[int, _Node]] = [(-1, top)]
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        indent, rest = len(line) - len(line.lstrip()), line.strip()
        if not rest or rest.startswith(("#", "---", "%")):
            continue
        while (rest == "-" or rest.startswith("- ")) and len(open_nodes) < _DEEPEST:
            while open_nodes[-1][0] >= indent:
                open_nodes.pop()
            open_nodes.append((indent, _Node(open_nodes[-1][1])))
            inside = rest[1:].lstrip()
            indent, rest = indent + len(rest) - len(inside), inside
        if (found := re.match(_KEY, rest)) and len(open_nodes) < _DEEPEST:
            while open_nodes[-1][0] >= indent:
                open_nodes.pop()
            open_nodes.append((indent, _Node(open_nodes[-1][1], found[1] or found[2] or found[3])))
            rest = (found[4] or "").strip()
        indent, node = open_nodes[-1]
        if re.fullmatch(r"[|>][-+\d]*(?:\s+#.*)?", rest):
            node.text, at = _read_block(lines, at, indent, folded=rest.startswith(">"))
        else:  # A text goes on on the next line.
            node.text = f"{node.text} {rest}".strip()
    return top


def _read_block(lines: Sequence[str], at: int, indent: int, *, folded: bool) -> tuple[str, int]:
    """A text of several lines that are further in than its key, and where the next key is."""
    first = at
    while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent):
        at += 1
    body = [line.strip() for line in lines[first:at]]
    return (" " if folded else "\n").join(body).strip(), at
