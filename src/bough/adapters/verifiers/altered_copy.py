"""Runs the check on an altered copy of a tree, in which some files have other texts.

Other files change a value in a test, which shows whether the test asserts anything. This file breaks the product, which
shows whether the check tests it, and stores the result for the command and the files that decide about it, so that it
is measured only once.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bough.adapters.verifiers.check_runner import CheckRunner, Say
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.decoding import UNREADABLE
from bough.core.verdict.alteration import (
    Belief,
    How,
    alter,
    counts_tests,
    find_run_files,
    list_product,
    weigh,
    weigh_base,
    weigh_control,
)
from bough.core.verdict.check_run import Baseline, CheckRun
from bough.core.verdict.original_tests import find_file
from bough.core.verdict.test_files import is_configuration
from bough.ports import Workspaces
from bough.ports.verifier import Work
from bough.trust.files import Place

FORMAT = 1
"""The version of the stored format."""
LEAST, TIMES = 60.0, 4
"""The time limit of a check on a broken product: `LEAST` seconds, or `TIMES` its usual time if that is longer."""


class AlteredCopies:
    def __init__(self, workspaces: Workspaces, texts: Texts, runner: CheckRunner, home: Path) -> None:
        self._workspaces = workspaces
        self._texts = texts
        self._runner = runner
        self._home = home / "beliefs"
        self._known: dict[str, asyncio.Task[Belief]] = {}

    async def run(self, work: Work, tree: str, texts: Mapping[str, str], say: Say = lambda line: None) -> CheckRun:
        """Run the check on a tree with these files altered."""
        made = await self._workspaces.graft(tree, tree, (), texts)
        return await asyncio.shield(self._runner.once(work, made, say))

    async def believe(self, work: Work, tree: str, known: Baseline, say: Say = lambda line: None) -> Belief:
        """Decide whether a check tests the product of a tree. `known`: the check's result on that tree."""
        seen = weigh_base(known)
        if seen is not None:
            return seen
        if known.exit_status != 0:
            return Belief("unknown", "it does not pass on these files, so breaking them shows nothing")
        key = await self.make_key(work, tree)
        task = self._known.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._known[key] = asyncio.create_task(self._look(work, tree, known, key, say))
        return await asyncio.shield(task)

    async def make_key(self, work: Work, tree: str) -> str:
        """Make a key of the command and of the files that decide its result: those it runs, and test configuration."""
        contents = (await self._texts.of(tree, work.check.command)).contents
        run = find_run_files(work.check.command)
        paths = [path for path in await self._workspaces.paths(tree) if path in run or is_configuration(path)]
        files = await asyncio.to_thread(lambda: "\n".join(f"{path}\0{contents.id(path)}" for path in sorted(paths)))
        return hashlib.sha256(f"{work.check.command}\0{work.check.environment}\0{files}".encode()).hexdigest()[:24]

    async def _look(self, work: Work, tree: str, known: Baseline, key: str, say: Say) -> Belief:
        place = Place(self._home, f"{key}.{FORMAT}.json")
        try:
            return msgspec.json.decode(place.read(10_000), type=Belief)
        except (FileNotFoundError, *UNREADABLE):
            pass
        found = await self._break(work, tree, known, say)
        if found.kind not in ("nothing", "unknown"):
            self._home.mkdir(parents=True, exist_ok=True)
            place.write(msgspec.json.encode(found))
        return found

    async def _break(self, work: Work, tree: str, known: Baseline, say: Say) -> Belief:
        paths = list_product(await self._workspaces.paths(tree), work.check.command)
        reported = {find_file(case.id) for case in known.report.cases}
        texts = await self._workspaces.texts(tree, [path for path in paths if path not in reported])
        rules = work.task.rules
        limit = min(rules.check_timeout, max(LEAST, TIMES * known.seconds))
        brief = Work(work.run, replace(work.task, rules=replace(rules, check_timeout=limit)), work.check)
        ran = False
        how: How
        for how in ("on", "emptied"):
            made = await asyncio.to_thread(alter, texts, how, reported)
            if not made:
                continue
            ran = True
            say("the check runs once on a copy with the product broken")
            now = (await self.run(brief, tree, made, say)).known
            if found := weigh(how, now, known):
                return found
            if how == "on" and now.exit_status not in (0, None) and not counts_tests(known):
                same = await asyncio.to_thread(alter, texts, "off", reported)
                return weigh_control((await self.run(brief, tree, same, say)).known)
        if not ran:
            return Belief("nothing", "there is no product code yet that could be broken")
        return Belief("unknown", f"it was cut off on a broken product after {limit:g} s")

    async def close(self) -> None:
        for task in self._known.values():
            task.cancel()
        await asyncio.gather(*self._known.values(), return_exceptions=True)
