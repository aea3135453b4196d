"""A change in parts that can be taken out: a file, a place in it, a paragraph of an addition there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from msgspec import Struct

from bough.core.acceptance.verdict import ChangePart
from bough.core.conversation.code_outline import is_document
from bough.core.merge.conflict_hunks import GENERATED, find_remake_command
from bough.core.verdict.language import is_test_path
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import is_foreign, is_test_file


class LineEdit(Struct, frozen=True):
    """Lines `old` to `old_end` of the file before became lines `new` to `new_end`."""

    old: int
    old_end: int
    new: int
    new_end: int


class EditedFile(Struct, frozen=True):
    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    edits: tuple[LineEdit, ...]
    """The edits that count, from the top; empty: the file is taken out whole, or not at all."""

    def render(self, out: Collection[LineEdit]) -> str:
        """Return the changed file without these edits."""
        lines, at = list[str](), 0
        for one in self.edits:
            lines += self.after[at : one.new]
            lines += self.before[one.old : one.old_end] if one in out else self.after[one.new : one.new_end]
            at = one.new_end
        return "".join((*lines, *self.after[at:]))

    def locate(self, edits: Collection[LineEdit]) -> ChangePart:
        if len(edits) == len(self.edits):
            return ChangePart(self.path)
        first, last = min(one.new for one in edits), max(one.new_end for one in edits)
        while last > first + 1 and not self.after[last - 1].strip():
            last -= 1
        return ChangePart(self.path, min(first + 1, max(last, 1)), max(last, 1))

    def list_words(self, edits: Collection[LineEdit]) -> set[str]:
        """List the words of the lines that these add."""
        return find_words(line for one in edits for line in self.after[one.new : one.new_end])

    def split(self, edits: tuple[LineEdit, ...]) -> list[tuple[LineEdit, ...]]:
        """Split a part into smaller ones, from the top: places of a file, paragraphs of a place; empty: none."""
        if len(edits) < 2:
            return []
        cuts = [at for at, (one, other) in enumerate(pairwise(edits), 1) if one.new_end < other.new]
        cuts = [0, *(cuts or range(1, len(edits))), len(edits)]
        return [edits[first:last] for first, last in pairwise(cuts)]


def find_words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r"\w{3,}", line)}


def edit_file(path: str, before: bytes | None, after: bytes | None) -> EditedFile | None:
    """Return a change's edits of a file; None for tests, documents and generated files, which nothing can need."""
    aside = is_test_file(path) or is_test_path(path) or is_document(path) or is_foreign(path)
    head = b"\n".join((after or before or b"")[:2_000].splitlines()[:5])
    if aside or find_remake_command(path) or any(mark in head for mark in GENERATED):
        return None
    if after is None or b"\0" in after or b"\0" in (before or b""):
        return EditedFile(path, (), (), ())
    old, new = (tuple((body or b"").decode(errors="surrogateescape").splitlines(True)) for body in (before, after))
    found = EditedFile(path, old, new, tuple(_list_edits(old, new)))
    bare = find_language(path).strip_comments
    code = bare("".join(new))
    edits = tuple(one for one in found.edits if bare(found.render({one})) != code)
    return EditedFile(path, old, new, edits) if edits else None


def _list_edits(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[LineEdit]:
    for kind, first, end, to, to_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        added = new[to:to_end]
        least = min((_measure(line) for line in added if line.strip()), default=0)
        starts = [
            to + at
            for at, (above, line) in enumerate(pairwise(added), 1)
            if line.strip() and not above.strip() and _measure(line) <= least
        ]
        # The first paragraph replaces the old lines.
        olds = [(first, end), *[(end, end)] * len(starts)]
        for (begin, ends), (new_begin, new_ends) in zip(olds, pairwise((to, *starts, to_end)), strict=True):
            yield LineEdit(begin, ends, new_begin, new_ends)


def _measure(line: str) -> int:
    return len(line) - len(line.lstrip())
