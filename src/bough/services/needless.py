"""Needless parts of a change: they are taken out one after the other while the tests that carry the requirements run.

What was not noticed stays out while the others are tried, so that all that is listed can go at once. From the bottom of
each file up, since what is used stands above what uses it. What no test misses beside a needed part is listed only if
the tests run it: for that it runs once with a statement that ends the program there. Each try is in the journal: a
killed search goes on.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from msgspec import Struct, field
from msgspec.structs import replace

from bough.app.choices import Choices
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance.change_parts import EditedFile, LineEdit, edit_file, find_words, list_functions
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.verdict import ChangePart
from bough.core.errors import UsageError
from bough.services.recheck import Measuring, open_finished
from bough.services.still_proven import THE_CHECK, find_carried

NAMED = 20
"""The most tests that a part names."""
LISTED = 200
RARE = 3
"""Words of the goal on so few lines of the changed files tell what is asked."""
LIMITED = "the limit of checks was reached"

Part = tuple[str, tuple[LineEdit, ...]]
"""A path, and edits of its change."""


async def find_needless(session: Session, name: str, choices: Choices, limit: int) -> e.NeedlessFound:
    """Take out parts of a finished run's change, with so many checks at most, and record the result."""
    async with open_finished(session, name, choices, passed=True) as (run, task, measuring):
        changed = [one.path for one in await session.workspaces.changes(run.base, task.tree)]
        before, after = [await session.workspaces.files(tree, changed) for tree in (run.base, task.tree)]
        files = {}
        for path in changed:
            old, new = (side[path][1] if path in side else None for side in (before, after))
            if found := edit_file(path, old, new):
                files[path] = found
        probes, goal = find_carried(run.base, task).probes, run.plan.goal.instructions
        search = NeedlessSearch(session, name, measuring, run.base, task.tree, goal, files, probes, limit)
        for record in await session.store.read(name, kinds=("PartTried",)):
            if isinstance(record.event, e.PartTried):
                search.tried[record.event.tree] = record.event
        event = await search.search()
    await session.record(name, event)
    return event


class NeedlessSearch(Struct, eq=False):
    session: Session
    run: str
    measuring: Measuring
    base: str
    head: str
    goal: str
    files: dict[str, EditedFile]
    probes: tuple[Probe, ...]
    limit: int
    out: dict[str, frozenset[LineEdit]] = field(default_factory=dict)
    """Edits that are taken out, by file."""
    kept: dict[Part, e.PartTried] = field(default_factory=dict)
    tried: dict[str, e.PartTried] = field(default_factory=dict)
    """What came of each, by the tree that ran."""
    untried: list[Part] = field(default_factory=list)
    checks: int = 0
    passing: list[str] = field(default_factory=list)
    both: set[str] = field(default_factory=set)
    """What of that passes without the change, too."""

    async def search(self) -> e.NeedlessFound:
        after, before = await self._run_all(self.head), await self._run_all(self.base)
        # A test that the change alters may have passed before, and say something else now.
        _, altered = await self.measuring.run_tests(self.base, tests=self.head)
        self.checks += 1
        self.passing = [name for name, outcome in after.items() if outcome == "passed"]
        failed = {name for name, outcome in altered.items() if outcome in ("failed", "error")}
        self.both = {name for name in self.passing if before.get(name) == "passed"} - failed
        carried = [name for name in self.passing if name not in self.both]
        if not carried:
            raise UsageError(
                "What nothing needs cannot be found: no test or case fails without the change."
                " Add a test of what it is for, and examine it again."
            )
        for path, file in self.files.items():
            await self._try_part((path, file.edits))
        for part in [part for part, loss in self.kept.items() if loss.others and self.out]:
            await self._try_part(part)  # What used it may be out now.
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
        loss = await self._lose([part])
        pieces = self.files[path].split(edits)
        if loss is None:
            self._take_out([part])
        elif not pieces:
            self.kept[part] = loss
        for piece in reversed(pieces) if loss is not None else ():
            await self._try_part((path, piece))

    async def _lose(self, parts: list[Part]) -> e.PartTried | None:
        """Return what notices that these are gone, too; None: nothing does."""
        out = self._without(parts)
        whole = [path for path, edits in out.items() if len(edits) == len(self.files[path].edits)]
        texts = {path: self.files[path].render(edits) for path, edits in out.items() if path not in whole}
        loss = await self._try(await self.session.workspaces.graft(self.head, self.base, whole, texts))
        return loss if loss.asked or loss.others else None

    async def _try(self, tree: str) -> e.PartTried:
        if tree in self.tried:
            self.checks += 1
        else:
            now = await self._run_all(tree)
            lost = [name for name in self.passing if now.get(name) != "passed"]
            asked, others = ([name for name in lost if (name in self.both) == old][:NAMED] for old in (False, True))
            self.tried[tree] = e.PartTried(tree, tuple(asked), tuple(others))
            await self.session.record(self.run, self.tried[tree])
        return self.tried[tree]

    async def _run_all(self, tree: str) -> dict[str, str]:
        """Return each case and test with its outcome; if no test is known by name, the check itself."""
        self.checks += 1
        cases = await self.measuring.probe(tree, self.probes)
        ended, tests = await self.measuring.run_tests(tree)
        return cases | (tests or {THE_CHECK: ended})

    def _without(self, parts: list[Part]) -> dict[str, frozenset[LineEdit]]:
        """Return the removed edits with these added."""
        out = dict(self.out)
        for path, edits in parts:
            out[path] = out.get(path, frozenset()) | {*edits}
        return out

    def _take_out(self, parts: list[Part]) -> None:
        self.out = self._without(parts)
        self.kept = {part: loss for part, loss in self.kept.items() if part not in parts}

    async def _describe(self, carried: tuple[str, ...]) -> e.NeedlessFound:
        def place(part: Part) -> ChangePart:
            return self.files[part[0]].locate(part[1])

        needed, undecided = [], [replace(place(part), why=LIMITED) for part in self.untried]
        for part, loss in self.kept.items():
            found = replace(place(part), by=loss.asked)
            if loss.others:
                why = f"without it alone {loss.others[0]} fails, which passes without the whole change"
                undecided.append(replace(found, why=why))
            else:
                needed.append(found)
        gone, subject = [], self._find_subject()
        for path, edits in self.out.items():
            ordered = tuple(one for one in self.files[path].edits if one in edits)
            pieces = [ordered] if len(ordered) == len(self.files[path].edits) else self.files[path].split(ordered)
            for piece in pieces or [ordered]:
                if why := await self._doubt((path, piece), subject):
                    undecided.append(replace(place((path, piece)), why=why))
                else:
                    gone.append(place((path, piece)))
        return e.NeedlessFound(
            self.head, tuple(gone), tuple(undecided), tuple(needed), carried[:LISTED], self.checks, self.limit
        )

    def _find_subject(self) -> tuple[set[str], set[str]]:
        """Find the words that tell what the needed parts are about, in lines that a change adds and in those that it
        takes away: new ones, rare ones that the goal has, too, functions that they change or no longer use."""
        files = self.files.values()
        before = Counter(word for file in files for row in file.before for word in find_words([row]))
        rare = {word for word in find_words([self.goal]) if before[word] <= RARE}
        gone = {name for file in files for name in list_functions(file.path, file.before).values()}
        gone -= {word for file in files for word in find_words(file.after)}
        added, removed = set[str](), set[str]()
        for path, edits in self.kept:
            new, old = self.files[path].list_words(edits)
            changed = self.files[path].list_changed_functions(edits)
            added |= {word for word in new if not before[word] or word in rare} | changed
            removed |= (old & gone) | changed
        return added, removed

    async def _doubt(self, part: Part, subject: tuple[set[str], set[str]]) -> str:
        """Return why what no test misses may be needed all the same; empty: it lies in a file of its own, or tests
        run it."""
        path, edits = part
        words = self.files[path].list_words(edits)
        if shared := sorted((words[0] & subject[0]) | (words[1] & subject[1])):
            return f"no test notices, but it is about `{shared[0]}`, as a part that is needed is"
        beside = any(path == kept for kept, _ in self.kept)
        if not beside or not (text := await asyncio.to_thread(self.files[path].stop, edits)):
            return ""
        if self.checks >= self.limit:
            return LIMITED
        tried = await self._try(await self.session.workspaces.graft(self.head, self.head, (), {path: text}))
        return "" if tried.asked or tried.others else "no test notices, but none runs it, either"
