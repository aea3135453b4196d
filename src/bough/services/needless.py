"""Finds parts of a change that nothing needs: divides it into files, places in a file and paragraphs of added lines,
takes out one part after the other, and runs the tests that prove the requirements.

A part that no test misses stays out while the others are tried, so that all parts listed can be removed together. Each
file is tried from the bottom up, since code usually stands above what uses it. In a file with needed parts, a part
counts as needless only if tests run its function: they fail if a statement that ends the program begins it. Each try is
recorded in the journal, so that a killed search can continue."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from msgspec import Struct, field

from bough.app.choices import Choices
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.receipt import CHECK
from bough.core.acceptance.verdict import ChangePart
from bough.core.conversation.code_outline import is_document
from bough.core.errors import UsageError
from bough.core.journal.run_fold import Run
from bough.core.merge.conflict_hunks import GENERATED, find_remake_command
from bough.core.verdict.alteration import insert_switch
from bough.core.verdict.language import is_test_path
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import is_foreign, is_test_file
from bough.services.recheck import BAD, Measuring, open_finished

NAMED = 20
"""The most tests that are named for one part: those that fail without it."""
LISTED = 200
RARE = 3
"""A word of the goal counts as rare if at most this many lines of the changed files had it before the change."""
LIMITED = "the limit of checks was reached"


class LineEdit(Struct, frozen=True):
    """A change of lines `old` to `old_end` of the old file to lines `new` to `new_end` of the new one."""

    old: int
    old_end: int
    new: int
    new_end: int


class EditedFile(Struct, frozen=True, eq=False):
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

    def locate(self, edits: Collection[LineEdit], *, by: tuple[str, ...] = (), why: str = "") -> ChangePart:
        if len(edits) == len(self.edits):
            return ChangePart(self.path, by=by, why=why)
        first, last = min(one.new for one in edits), max(one.new_end for one in edits)
        while last > first + 1 and not self.after[last - 1].strip():
            last -= 1
        return ChangePart(self.path, min(first + 1, max(last, 1)), max(last, 1), by, why)

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


Part = tuple[EditedFile, tuple[LineEdit, ...]]


async def find_needless(session: Session, name: str, choices: Choices, limit: int) -> e.NeedlessFound:
    """Find the needless parts of a finished run's change, with at most `limit` checks, and record the result."""
    async with open_finished(session, name, choices, passed=True) as (run, task, probes, measuring):
        changed = [one.path for one in await session.workspaces.changes(run.base, task.tree)]
        before, after = [await session.workspaces.files(tree, changed) for tree in (run.base, task.tree)]
        edited = [edit_file(path, *(side.get(path, ("", None))[1] for side in (before, after))) for path in changed]
        files = [file for file in edited if file is not None]
        known = (record.event for record in await session.store.read(name, kinds=("PartTried",)))
        tried = {one.tree: one for one in known if isinstance(one, e.PartTried)}
        event = await NeedlessSearch(session, run, measuring, files, probes, limit, tried).search()
    await session.record(name, event)
    return event


class NeedlessSearch(Struct, eq=False):
    session: Session
    run: Run
    measuring: Measuring
    files: list[EditedFile]
    probes: tuple[Probe, ...]
    limit: int
    tried: dict[str, e.PartTried]
    """The result of each try, by the tree that was run."""
    out: list[Part] = field(default_factory=list)
    """The parts that are taken out so far."""
    kept: dict[Part, e.PartTried] = field(default_factory=dict)
    untried: list[Part] = field(default_factory=list)
    checks: int = 3
    passing: dict[str, bool] = {}
    """The tests that pass with the change, and whether they also pass without it."""

    async def search(self) -> e.NeedlessFound:
        after, before = [await self._run_all(tree) for tree in (self.measuring.rerun.head, self.run.base)]
        # A test that the change alters may have passed before, and test something else now.
        altered = await self.measuring.measure(self.run.base, tests=self.measuring.rerun.head)
        both = {name for name, outcome in before.items() if outcome == "passed" and altered.get(name) not in BAD}
        self.passing = {name: name in both for name, outcome in after.items() if outcome == "passed"}
        if all(self.passing.values()):
            why = "no test or probe fails without the change. Add a test for its purpose, and examine it again"
            raise UsageError(f"Needless parts cannot be found, because {why}.")
        for file in self.files:
            await self._try_part((file, file.edits))
        for part in [part for part, loss in self.kept.items() if loss.others and self.out]:
            await self._try_part(part)  # The code that used this part may be taken out now.
        entangled = [part for part, loss in self.kept.items() if loss.others]
        if len(entangled) > 1 and self.checks < self.limit and not await self._lose(entangled):
            self._take_out(entangled)
        return await self._describe()

    async def _try_part(self, part: Part) -> None:
        file, edits = part
        if self.checks >= self.limit:
            if part not in self.kept:
                self.untried.append(part)
            return
        if (loss := await self._lose([part])) is None:
            self._take_out([part])
        elif pieces := file.split(edits):
            for piece in reversed(pieces):
                await self._try_part((file, piece))
        else:
            self.kept[part] = loss

    async def _lose(self, parts: list[Part]) -> e.PartTried | None:
        """Return which tests fail if these parts are taken out, too; None if none does."""
        out = _group([*self.out, *parts])
        whole = [file.path for file, edits in out.items() if len(edits) == len(file.edits)]
        texts = {file.path: file.render(edits) for file, edits in out.items() if file.path not in whole}
        return await self._try(
            await self.session.workspaces.graft(self.measuring.rerun.head, self.run.base, whole, texts)
        )

    async def _try(self, tree: str) -> e.PartTried | None:
        self.checks += 1
        if tree not in self.tried:
            now = await self._run_all(tree)
            lost = [name for name in self.passing if now.get(name) != "passed"]
            asked, others = ([name for name in lost if self.passing[name] == both][:NAMED] for both in (False, True))
            self.tried[tree] = e.PartTried(tree, tuple(asked), tuple(others))
            await self.session.record(self.run.name, self.tried[tree])
        loss = self.tried[tree]
        return loss if loss.asked or loss.others else None

    async def _run_all(self, tree: str) -> dict[str, str]:
        """Return the outcome of each probe and test on a tree; if no test is known by name, of the check itself."""
        found = await self.measuring.measure(tree, self.probes)
        if len(found) > 1 + len(self.probes):
            del found[CHECK]
        return found

    def _take_out(self, parts: list[Part]) -> None:
        self.out += parts
        self.kept = {part: loss for part, loss in self.kept.items() if part not in parts}

    async def _describe(self) -> e.NeedlessFound:
        undecided = [file.locate(edits, why=LIMITED) for file, edits in self.untried]
        needed, gone, subject = list[ChangePart](), list[ChangePart](), self._find_subject()
        for (file, edits), loss in self.kept.items():
            fails = [f"without it alone {name} fails, which passes without the whole change" for name in loss.others]
            (undecided if fails else needed).append(file.locate(edits, by=loss.asked, why="".join(fails[:1])))
        for file, out in _group(self.out).items():
            edits = tuple(one for one in file.edits if one in out)
            for piece in (edits != file.edits and file.split(edits)) or [edits]:
                why = await self._doubt(file, piece, subject)
                (undecided if why else gone).append(file.locate(piece, why=why))
        carried = tuple(name for name, both in self.passing.items() if not both)[:LISTED]
        parts = self.measuring.rerun.head, tuple(gone), tuple(undecided), tuple(needed)
        return e.NeedlessFound(*parts, carried, self.checks, self.limit)

    def _find_subject(self) -> tuple[set[str], set[str]]:
        """Return the words that tell what the needed parts are about, in added and in removed lines: new words, rare
        words of the goal, and functions that these parts change or no longer use."""
        before = Counter(word for file in self.files for row in file.before for word in find_words([row]))
        rare = {word for word in find_words([self.run.plan.goal.instructions]) if before[word] <= RARE}
        olds = ((find_language(file.path), "".join(file.before)) for file in self.files)
        gone = {name for language, text in olds for name, _ in language.find_bodies(text)}
        gone -= {word for file in self.files for word in find_words(file.after)}
        added, removed = set[str](), set[str]()
        for file, edits in self.kept:
            new, old = file.list_words(edits)
            changed = {*file.find_functions(edits).values()}
            added |= {word for word in new if not before[word] or word in rare} | changed
            removed |= (old & gone) | changed
        return added, removed

    async def _doubt(self, file: EditedFile, edits: tuple[LineEdit, ...], subject: tuple[set[str], set[str]]) -> str:
        """Return why a part that no test misses may be needed all the same; empty if it is in a file without needed
        parts, or tests run it."""
        pairs = zip(file.list_words(edits), subject, strict=True)
        if shared := sorted(set[str]().union(*(words & needed for words, needed in pairs))):
            return f"no test notices, but it is about `{shared[0]}`, as a part that is needed is"
        if all(file is not kept for kept, _ in self.kept) or not (text := file.stop(edits)):
            return ""
        if self.checks >= self.limit:
            return LIMITED
        stopped = await self.session.workspaces.graft(
            self.measuring.rerun.head, self.measuring.rerun.head, (), {file.path: text}
        )
        return "" if await self._try(stopped) else "no test notices, but none runs it, either"


def _group(parts: list[Part]) -> dict[EditedFile, set[LineEdit]]:
    """Return the edits of these parts by file."""
    return {file: {one for other, edits in parts if other is file for one in edits} for file, _ in parts}
