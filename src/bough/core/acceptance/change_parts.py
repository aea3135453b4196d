"""Divide a change into parts that can be undone one by one: files, places in a file, paragraphs of added lines."""

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from msgspec import Struct

from bough.core.conversation.code_outline import is_document
from bough.core.merge.conflict_hunks import GENERATED, find_remake_command
from bough.core.verdict.alteration import insert_switch
from bough.core.verdict.language import is_test_path
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import is_foreign, is_test_file


class LineEdit(Struct, frozen=True):
    """A change of lines `old` to `old_end` of the old file to lines `new` to `new_end` of the new one."""

    old: int
    old_end: int
    new: int
    new_end: int


class EditedFile(Struct, frozen=True):
    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    edits: tuple[LineEdit, ...]
    """The edits that change more than comments, from the top; if empty, the file's change can only be undone whole."""

    def render(self, out: Collection[LineEdit]) -> str:
        """Return the text of the changed file with these edits undone."""
        lines, at = list[str](), 0
        for one in self.edits:
            lines += self.after[at : one.new]
            lines += self.before[one.old : one.old_end] if one in out else self.after[one.new : one.new_end]
            at = one.new_end
        return "".join([*lines, *self.after[at:]])

    def stop(self, edits: Collection[LineEdit]) -> str:
        """Return the changed file with a statement that ends the program at the beginning of each function in which
        these edits are; empty if they are in none, or if the language has no such statement."""
        switch, places = find_language(self.path).switch.replace("{on}", "1"), [*self.find_functions(edits)]
        return insert_switch("".join(self.after), places, switch) if switch and places else ""

    def find_functions(self, edits: Collection[LineEdit]) -> dict[int, str]:
        """Map the offset of each function's body in which these edits are to the function's name."""
        text, found = "".join(self.after), dict[int, str]()
        bodies = {text.count("\n", 0, at): (at, name) for name, at in find_language(self.path).find_bodies(text)}
        for one in edits:
            at = next((at for at in range(one.new, one.new_end) if self.after[at].strip()), one.new)
            for first in sorted((first for first in bodies if first <= at), reverse=True):
                rows = [row for row in self.after[first : at + 1] if row.strip()]
                if all(len(_indent(row)) >= len(_indent(rows[0])) for row in rows):
                    found.update([bodies[first]])
                    break
        return found

    def locate(self, edits: Collection[LineEdit]) -> tuple[int, int]:
        """Return the first and the last line of these edits in the new file; zeros if they are all of them."""
        if len(edits) == len(self.edits):
            return 0, 0
        first, last = min(one.new for one in edits), max(one.new_end for one in edits)
        while last > first + 1 and not self.after[last - 1].strip():
            last -= 1
        return min(first + 1, max(last, 1)), max(last, 1)

    def list_words(self, edits: Collection[LineEdit]) -> tuple[set[str], set[str]]:
        """List the words in the lines that these edits add, and in the lines that they remove."""
        added = find_words(line for one in edits for line in self.after[one.new : one.new_end])
        return added, find_words(line for one in edits for line in self.before[one.old : one.old_end])

    def split(self, edits: tuple[LineEdit, ...]) -> list[tuple[LineEdit, ...]]:
        """Split a part into its places in the file, or a single place into its paragraphs; empty if it has only one."""
        if len(edits) < 2:
            return []
        cuts = [at for at, (one, other) in enumerate(pairwise(edits), 1) if one.new_end < other.new]
        cuts = [0, *(cuts or range(1, len(edits))), len(edits)]
        return [edits[first:last] for first, last in pairwise(cuts)]


def find_words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r"\w{3,}", line)}


def edit_file(path: str, before: bytes | None, after: bytes | None) -> EditedFile | None:
    """Return the edits that a change makes in a file; None for tests, documents, generated files and mere comments."""
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
        least = min((len(_indent(line)) for line in added if line.strip()), default=0)
        starts = [
            to + at
            for at, (above, line) in enumerate(pairwise(added), 1)
            if line.strip() and not above.strip() and len(_indent(line)) <= least
        ]
        # The first paragraph replaces the old lines.
        olds = [(first, end), *[(end, end)] * len(starts)]
        for (begin, ends), (new_begin, new_ends) in zip(olds, pairwise((to, *starts, to_end)), strict=True):
            yield LineEdit(begin, ends, new_begin, new_ends)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
