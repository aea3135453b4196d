"""Finds parts of a change that nothing needs: takes out one part after the other, and runs the tests that prove the
requirements.

A part that no test misses stays out while the others are tried, so that all parts listed can be removed together. Each
file is tried from the bottom up, since code usually stands above what uses it. In a file with needed parts, a part
counts as needless only if tests run its function: they fail if a statement that ends the program begins it. Each try is
recorded in the journal, so that a killed search can continue.
"""

from collections import Counter

from msgspec import Struct, field

from bough.app.choices import Choices
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance.change_parts import EditedFile, LineEdit, edit_file, find_words
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.receipt import CHECK
from bough.core.acceptance.verdict import ChangePart
from bough.core.errors import UsageError
from bough.core.journal.run_fold import Run
from bough.core.verdict.registry import find_language
from bough.services.recheck import Measuring, open_finished

NAMED = 20
"""The most tests that are named for one part: those that fail without it."""
LISTED = 200
RARE = 3
"""A word of the goal counts as rare if at most this many lines of the changed files had it before the change."""
LIMITED = "the limit of checks was reached"

Part = tuple[str, tuple[LineEdit, ...]]
"""A part of a change: a path, and edits of this file."""


async def find_needless(session: Session, name: str, choices: Choices, limit: int) -> e.NeedlessFound:
    """Find the needless parts of a finished run's change, with at most `limit` checks, and record the result."""
    async with open_finished(session, name, choices, passed=True) as (run, task, probes, measuring):
        changed = [one.path for one in await session.workspaces.changes(run.base, task.tree)]
        before, after = [await session.workspaces.files(tree, changed) for tree in (run.base, task.tree)]
        edited = [edit_file(path, *(side.get(path, ("", None))[1] for side in (before, after))) for path in changed]
        files = {file.path: file for file in edited if file is not None}
        known = (record.event for record in await session.store.read(name, kinds=("PartTried",)))
        tried = {one.tree: one for one in known if isinstance(one, e.PartTried)}
        event = await NeedlessSearch(session, run, task.tree, measuring, files, probes, limit, tried).search()
    await session.record(name, event)
    return event


class NeedlessSearch(Struct, eq=False):
    session: Session
    run: Run
    head: str
    measuring: Measuring
    files: dict[str, EditedFile]
    probes: tuple[Probe, ...]
    limit: int
    tried: dict[str, e.PartTried]
    """The result of each try, by the tree that was run."""
    out: list[Part] = field(default_factory=list)
    """The parts that are taken out so far."""
    kept: dict[Part, e.PartTried] = field(default_factory=dict)
    untried: list[Part] = field(default_factory=list)
    checks: int = 0
    passing: list[str] = field(default_factory=list)
    both: set[str] = field(default_factory=set)
    """The tests of `passing` that also pass without the change."""

    async def search(self) -> e.NeedlessFound:
        after, before = await self._run_all(self.head), await self._run_all(self.run.base)
        # A test that the change alters may have passed before, and test something else now.
        altered = await self.measuring.measure(self.run.base, tests=self.head)
        self.checks = 3
        self.passing = [name for name, outcome in after.items() if outcome == "passed"]
        failed = {name for name, outcome in altered.items() if outcome in ("failed", "error")}
        self.both = {name for name in self.passing if before.get(name) == "passed"} - failed
        carried = [name for name in self.passing if name not in self.both]
        if not carried:
            raise UsageError(
                "Needless parts cannot be found, because no test or probe fails without the change."
                " Add a test for its purpose, and examine it again."
            )
        for path, file in self.files.items():
            await self._try_part((path, file.edits))
        for part in [part for part, loss in self.kept.items() if loss.others and self.out]:
            await self._try_part(part)  # The code that used this part may be taken out now.
        entangled = [part for part, loss in self.kept.items() if loss.others]
        if len(entangled) > 1 and self.checks < self.limit and not await self._lose(entangled):
            self._take_out(entangled)
        return await self._describe(tuple(carried))

    async def _try_part(self, part: Part) -> None:
        path, edits = part
        if self.checks >= self.limit:
            if part not in self.kept:
                self.untried.append(part)
            return
        if (loss := await self._lose([part])) is None:
            self._take_out([part])
        elif pieces := self.files[path].split(edits):
            for piece in reversed(pieces):
                await self._try_part((path, piece))
        else:
            self.kept[part] = loss

    async def _lose(self, parts: list[Part]) -> e.PartTried | None:
        """Return which tests fail if these parts are taken out, too; None if none does."""
        out = _group([*self.out, *parts])
        whole = [path for path, edits in out.items() if len(edits) == len(self.files[path].edits)]
        texts = {path: self.files[path].render(edits) for path, edits in out.items() if path not in whole}
        loss = await self._try(await self.session.workspaces.graft(self.head, self.run.base, whole, texts))
        return loss if loss.asked or loss.others else None

    async def _try(self, tree: str) -> e.PartTried:
        self.checks += 1
        if tree not in self.tried:
            now = await self._run_all(tree)
            lost = [name for name in self.passing if now.get(name) != "passed"]
            asked, others = ([name for name in lost if (name in self.both) == old][:NAMED] for old in (False, True))
            self.tried[tree] = e.PartTried(tree, tuple(asked), tuple(others))
            await self.session.record(self.run.name, self.tried[tree])
        return self.tried[tree]

    async def _run_all(self, tree: str) -> dict[str, str]:
        """Return the outcome of each probe and test on a tree; if no test is known by name, of the check itself."""
        found = await self.measuring.measure(tree, self.probes)
        if len(found) > 1 + len(self.probes):
            del found[CHECK]
        return found

    def _take_out(self, parts: list[Part]) -> None:
        self.out += parts
        self.kept = {part: loss for part, loss in self.kept.items() if part not in parts}

    async def _describe(self, carried: tuple[str, ...]) -> e.NeedlessFound:
        undecided = [self._locate(part, why=LIMITED) for part in self.untried]
        for part, loss in self.kept.items():
            if loss.others:
                why = f"without it alone {loss.others[0]} fails, which passes without the whole change"
                undecided.append(self._locate(part, by=loss.asked, why=why))
        needed = [self._locate(part, by=loss.asked) for part, loss in self.kept.items() if not loss.others]
        subject, gone = self._find_subject(), list[ChangePart]()
        for path, edits in _group(self.out).items():
            file = self.files[path]
            ordered = tuple(one for one in file.edits if one in edits)
            for piece in (ordered != file.edits and file.split(ordered)) or [ordered]:
                why = await self._doubt((path, piece), subject)
                (undecided if why else gone).append(self._locate((path, piece), why=why))
        return e.NeedlessFound(
            self.head, tuple(gone), tuple(undecided), tuple(needed), carried[:LISTED], self.checks, self.limit
        )

    def _locate(self, part: Part, *, by: tuple[str, ...] = (), why: str = "") -> ChangePart:
        return ChangePart(part[0], *self.files[part[0]].locate(part[1]), by, why)

    def _find_subject(self) -> tuple[set[str], set[str]]:
        """Return the words that tell what the needed parts are about, in added and in removed lines: new words, rare
        words of the goal, and functions that these parts change or no longer use."""
        files = self.files.values()
        before = Counter(word for file in files for row in file.before for word in find_words([row]))
        rare = {word for word in find_words([self.run.plan.goal.instructions]) if before[word] <= RARE}
        olds = ((find_language(file.path), "".join(file.before)) for file in files)
        gone = {name for language, text in olds for name, _ in language.find_bodies(text)}
        gone -= {word for file in files for word in find_words(file.after)}
        added, removed = set[str](), set[str]()
        for path, edits in self.kept:
            new, old = self.files[path].list_words(edits)
            changed = {*self.files[path].find_functions(edits).values()}
            added |= {word for word in new if not before[word] or word in rare} | changed
            removed |= (old & gone) | changed
        return added, removed

    async def _doubt(self, part: Part, subject: tuple[set[str], set[str]]) -> str:
        """Return why a part that no test misses may be needed all the same; empty if it is in a file without needed
        parts, or tests run it."""
        path, edits = part
        words = self.files[path].list_words(edits)
        if shared := sorted((words[0] & subject[0]) | (words[1] & subject[1])):
            return f"no test notices, but it is about `{shared[0]}`, as a part that is needed is"
        beside = any(path == kept for kept, _ in self.kept)
        if not beside or not (text := self.files[path].stop(edits)):
            return ""
        if self.checks >= self.limit:
            return LIMITED
        tried = await self._try(await self.session.workspaces.graft(self.head, self.head, (), {path: text}))
        return "" if tried.asked or tried.others else "no test notices, but none runs it, either"


def _group(parts: list[Part]) -> dict[str, set[LineEdit]]:
    """Return the edits of these parts by file."""
    return {path: {one for other, edits in parts if other == path for one in edits} for path, _ in parts}
