"""What a check reported at the base of a task, measured once and in parallel with the work.

The result depends on the base tree, the command and its surroundings (interpreter, installed packages, variables), so
it is stored under these in `.bough/baselines/` for later runs; it is a cache that may be deleted at any time. A check
that failed in an earlier process runs again: what it lacked may be there by now.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bough.core.acceptance.verdict import Case, Check
from bough.core.verdict.check_run import Baseline
from bough.trust.files import Place

FORMAT = 7
"""The version of the entries' format: those of an earlier bough say too little, and are not read."""
Measure = Callable[[], Awaitable[Baseline]]


class Baselines:
    """Each baseline is measured at most once at a time, however many tasks need it."""

    def __init__(self, folder: Path, surroundings: str = "") -> None:
        """`surroundings`: what identifies the environment that checks run in."""
        self._folder = folder
        self._surroundings = surroundings
        self._under_way: dict[Path, asyncio.Task[Baseline]] = {}

    def forget(self, tree: str, check: Check) -> None:
        """Measure again when this is next asked."""
        self._path(tree, check).unlink(missing_ok=True)

    def find_time(self, tree: str, check: Check) -> float:
        """When the check's result at this tree was kept; 0: it is not."""
        with suppress(FileNotFoundError):
            return self._path(tree, check).stat().st_mtime
        return 0.0

    def know(self, tree: str, check: Check, known: Baseline) -> None:
        """The check's result at this tree was seen elsewhere."""
        _save(self._path(tree, check), known)

    def look(self, tree: str, check: Check) -> Baseline | None:
        """What is known by now, without waiting."""
        path = self._path(tree, check)
        task = self._under_way.get(path)
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            return task.result()
        return _load(path)

    def _path(self, tree: str, check: Check) -> Path:
        # With the surroundings (interpreter, packages, settings), because the same tree fails or passes depending on
        # them.
        key = hashlib.sha256(f"{check.command}\0{self._surroundings}".encode()).hexdigest()[:16]
        return self._folder / f"{tree}-{key}.{FORMAT}.json"

    def begin(self, tree: str, check: Check, measure: Measure) -> asyncio.Task[Baseline]:
        path = self._path(tree, check)
        task = self._under_way.get(path)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._under_way[path] = asyncio.create_task(_load_or_measure(path, measure))
        return task

    async def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)


async def _load_or_measure(path: Path, measure: Measure) -> Baseline:
    # A failure may have been the machine's, or chance: only what passed is still known in a later process.
    if (kept := _load(path)) is not None and kept.exit_status == 0:
        return kept
    known = await measure()
    _save(path, known)
    return known


def _load(path: Path) -> Baseline | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _save(path: Path, known: Baseline) -> None:
    # Traces would only fill the disk.
    outcomes = tuple(Case(case.id, case.outcome, case.message) for case in known.report.cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    body = msgspec.json.encode(replace(known, report=replace(known.report, cases=outcomes)))
    Place(path.parent, path.name).write(body)
