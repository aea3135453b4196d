"""Merge two lines of work: find the conflicts that git marked in a text, and resolve those that need no decision.

A marked text has hunks in git's `diff3` form. Where both sides only added something at the same place, both additions
stay, ours first; everything else needs a decision."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, takewhile

from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.planning.plan import Step

OURS, BASE, THEIRS = "ours", "base", "theirs"
"""The names of the sides: in the markers, and as branches in the checkout where they are resolved."""
MARKER = 7
"""Length of a marker."""
_OURS, _BASE, _MIDDLE, _THEIRS = (letter * MARKER for letter in (b"<", b"|", b"=", b">"))
GENERATED = (b"@generated", b"DO NOT EDIT")
"""Marks in the first lines of a generated file, which cannot be merged: it has to be generated again."""
LEAVES = ("return", "raise", "break", "continue", "throw", "goto", "exit")
"""Beginnings of lines after which nothing is reachable."""


class StepCheck(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The check of a step, and its passed tests, which must still pass after a merge."""

    step: Step
    """The part of the step that defines its check."""
    task: str
    """The path of the step's task."""
    cases: str = ""
    """The key, in the blob store, of every test's outcome; empty if single tests are unknown."""
    probes: tuple[Probe, ...] = ()
    """The probes that the step has passed, until it is accepted."""


class Merge(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The two sides that a task merges. It works on `tree`, and is judged by the difference from `ours`."""

    base: str
    ours: str
    """The git tree with the work that was merged first (the head)."""
    theirs: str
    """The git tree with the step's work."""
    tree: str
    """The git tree with both, and with markers where they disagree."""
    needed: tuple[StepCheck, ...] = ()
    accepted: tuple[Probe, ...] = ()
    """Probes of the finished steps."""

    @property
    def probes(self) -> tuple[Probe, ...]:
        """Return all probes that passed on either side: they must pass on the merge."""
        needed = (probe for need in self.needed for probe in need.probes)
        return tuple({probe.name: probe for probe in (*self.accepted, *needed)}.values())

    @property
    def sides(self) -> dict[str, str]:
        """Return the git trees by the names of the sides."""
        return {BASE: self.base, OURS: self.ours, THEIRS: self.theirs}


TEXT_END = re.compile(rb"[^=(\"']*(?:\"{3}|'{3})")
"""Pattern for the last line of a multi-line string, which defines no name."""


class Hunk(Struct, frozen=True):
    """One place where the sides disagree."""

    ours: bytes
    base: bytes
    theirs: bytes
    line: int = 0
    """The line of the hunk's first marker, from 1."""
    whole: bytes = b""
    """The hunk as it is in the text, with its markers."""


def parse_conflicts(
    text: bytes, ours: bytes = OURS.encode(), theirs: bytes = THEIRS.encode()
) -> list[bytes | Hunk] | None:
    """Split a marked text into pieces; `ours` and `theirs` are the names of the sides in its markers. None if the
    markers do not match up, or if a line in a hunk could be one of them."""
    first, last = b"%s %s" % (_OURS, ours), b"%s %s" % (_THEIRS, theirs)
    found: list[bytes | Hunk] = []
    at = done = 0
    while (at := _find_marker(text, first, at)) >= 0:
        end = _find_marker(text, last, at)
        if end < 0:
            return None
        after = text.find(b"\n", end) + 1 or len(text)
        hunk = _read_hunk(text[at:after], text.count(b"\n", 0, at) + 1)
        if hunk is None:
            return None
        found += [text[done:at], hunk]
        at = done = after
    return [*found, text[done:]]


def _find_marker(text: bytes, marker: bytes, at: int) -> int:
    """Find the next marker line; git adds the path if the sides have the file under different names."""
    while (at := text.find(marker, at)) >= 0:
        if (at == 0 or text[at - 1 : at] == b"\n") and text[at + len(marker) : at + len(marker) + 1] in b":\r\n":
            return at
        at += len(marker)
    return -1


def _read_hunk(whole: bytes, line: int) -> Hunk | None:
    lines = _split_lines(whole)
    bare = [each.rstrip(b"\r\n") for each in lines]
    bases = [at for at, each in enumerate(bare) if each.startswith(_BASE + b" ")]
    middles = [at for at, each in enumerate(bare) if each == _MIDDLE]
    if len(bases) != 1 or len(middles) != 1 or bases[0] > middles[0]:
        return None
    ours, base, theirs = lines[1 : bases[0]], lines[bases[0] + 1 : middles[0]], lines[middles[0] + 1 : -1]
    return Hunk(b"".join(ours), b"".join(base), b"".join(theirs), line, whole)


def name_sides(text: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Rename the sides in git's markers to the usual names: git uses commit ids, which mean nothing to readers."""
    labels = ((_OURS, ours, OURS), (_THEIRS, theirs, THEIRS))
    for marker, label, name in labels:
        text = text.replace(b"%s %s" % (marker, label), b"%s %s" % (marker, name.encode()))
    pieces = parse_conflicts(text)
    if pieces is None:
        return text
    line, base = rb"(?m)^\|{7} [^\r\n]*", b"%s %s" % (_BASE, BASE.encode())
    return b"".join(piece if isinstance(piece, bytes) else re.sub(line, base, piece.whole) for piece in pieces)


def list_hunks(text: bytes) -> list[Hunk]:
    """List the hunks of a marked text; empty if it cannot be parsed."""
    return [piece for piece in parse_conflicts(text) or () if isinstance(piece, Hunk)]


def find_leftover_markers(text: bytes) -> list[int]:
    """Return the numbers of marker lines, from 1."""
    markers = rb"(?m)^(?:<{7} ours|>{7} theirs)(?=[:\r\n]|\Z)"
    return [text.count(b"\n", 0, found.start()) + 1 for found in re.finditer(markers, text)]


def unite_additions(pieces: list[bytes | Hunk], new: bool = False) -> bytes | None:
    """Return a marked text with both sides' additions; None if that would be a guess. `new`: both created the file."""
    head = _split_lines(pieces[0][:2_000])[:5] if isinstance(pieces[0], bytes) else []
    if len(pieces) == 1 or any(mark in line for line in head for mark in GENERATED):
        return None
    whole: list[bytes] = []
    for piece in pieces:
        both = _join_both(piece, new) if isinstance(piece, Hunk) else piece
        if both is None:
            return None
        whole.append(both)
    return b"".join(whole)


def _join_both(hunk: Hunk, new: bool) -> bytes | None:
    """Return our addition followed by theirs; None if a side did not only add, or if that would be a guess."""
    ours, theirs, base = hunk.ours, hunk.theirs, hunk.base
    # Only with the base (diff3) can an addition be told from a change.
    if not (ours.startswith(base) and theirs.startswith(base)):
        return None
    ours, theirs = ours[len(base) :], theirs[len(base) :]
    first, second = (_split_lines(side) for side in (ours, theirs))
    flat = _is_flat(first) and _is_flat(second)
    if new and not (flat and not any(line.lstrip()[:1] in b"{[<" for line in _skip_blank([*first, *second]))):
        return None  # Two documents with a beginning and an end cannot be joined into one.
    if flat:
        # What both added at the beginning (a heading, the same import) is needed once; a decorator of the next line is
        # needed each time.
        both = takewhile(
            lambda both: both[0] == both[1] and not both[0].startswith(b"@"), zip(first, second, strict=False)
        )
        return base + ours + b"".join(second[len(list(both)) :])
    if _list_headings(first) & _list_headings(second) or _is_unreachable(first, second):
        return None
    return base + ours + theirs


def _split_lines(text: bytes) -> list[bytes]:
    """Split a text into lines and keep the line ends. A carriage return alone does not end a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+", text)


def _measure_indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _skip_blank(lines: Iterable[bytes]) -> Iterator[bytes]:
    return (line for line in lines if line.strip())


def _is_flat(lines: list[bytes]) -> bool:
    """Whether every line is independent: entries of a list, imports, a changelog."""
    return len({_measure_indent(line) for line in _skip_blank(lines)}) <= 1 and not _is_unreachable(lines, lines)


def _list_headings(lines: list[bytes]) -> set[bytes]:
    """List the outermost lines that begin a block. They show whether two texts define a function of the same name, of
    which the second would hide the first."""
    solid = list(_skip_blank(lines))
    outer = min((_measure_indent(line) for line in solid), default=0)
    return {
        line.strip()
        for line, after in pairwise(solid)
        if _measure_indent(line) == outer and _measure_indent(after) > outer and not TEXT_END.match(line)
    }


def _is_unreachable(first: list[bytes], second: list[bytes]) -> bool:
    """Whether the first text ends (by a return, say) the block that the second would continue."""
    last, begin = next(_skip_blank(reversed(first)), b""), next(_skip_blank(second), b"")
    word = last.decode(errors="replace").strip().partition(" ")[0].rstrip(";")
    return word.partition("(")[0] in LEAVES and _measure_indent(begin) >= _measure_indent(last)


_COMMANDS = {
    "Cargo.lock": "cargo update --workspace",
    "Gemfile.lock": "bundle lock",
    "Pipfile.lock": "pipenv lock",
    "composer.lock": "composer update --lock --no-install --no-scripts",
    "package-lock.json": "npm install --package-lock-only --ignore-scripts --no-audit --no-fund",
    "npm-shrinkwrap.json": "npm install --package-lock-only --ignore-scripts --no-audit --no-fund",
    "pdm.lock": "pdm lock --update-reuse",
    "pnpm-lock.yaml": "pnpm install --lockfile-only --ignore-scripts",
    "poetry.lock": "poetry lock",
    "uv.lock": "uv lock",
    "yarn.lock": "yarn install --ignore-scripts",
}


def find_remake_command(path: str) -> str | None:
    """Return the command that regenerates a lock file, to be run in the file's folder; None for any other file."""
    return _COMMANDS.get(path.rpartition("/")[2])
