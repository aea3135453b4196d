"""Runs a check in a fresh checkout that holds one tree and nothing else, and reads its report.

Every check of every verdict runs in such a checkout, never where an agent works. So they look alike: names, times, git
and temporary files are of the same kind whatever the tree is (the work, its base, the original tests, wrong
expectations), and the tested code cannot tell which one it is in. The task's workspace lends installed packages.
"""

import asyncio
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from bough.adapters.tools.output_text import decode_output
from bough.adapters.verifiers.check_environment import CheckEnvironment, is_published
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.verdict import Case, Check
from bough.core.errors import BoughError, SetupFailed
from bough.core.journal.run_fold import Run
from bough.core.shell_syntax import split_argv
from bough.core.textual.spelling import UNREADABLE
from bough.core.tree.task import Task
from bough.core.verdict import original_tests
from bough.core.verdict.check_run import (
    NOT_STARTED,
    Baseline,
    CheckRun,
    Progress,
    count_progress,
    count_told,
    does_nothing,
    strip_root,
)
from bough.core.verdict.junit import LARGEST
from bough.core.verdict.missing import ProjectFacts, find_missing, names_dependencies
from bough.core.verdict.project_files import run_in_folder
from bough.core.verdict.registry import has_refused, instrument, read_closing_lines, read_results
from bough.ports import CommandResult, Sandbox, WorkFolder, Workspace, Workspaces
from bough.ports.verifier import Work
from bough.trust import handles
from bough.trust.files import Place

FORMAT = 10
"""The version of the entries' format: those of an earlier bough lack fields, and are not read."""
Measure = Callable[[], Awaitable[Baseline]]
Kept = TypeVar("Kept")


class Baselines:
    """The results of a check at the bases of tasks, each measured once, in parallel with the work.

    They are stored in `.bough/baselines/` by what they depend on (tree, command, surroundings) for later runs; this
    cache may be deleted at any time. A check that failed in an earlier process runs again: a missing thing may be there
    by now. The runs of one process share running measurements, and failures of the last hour."""

    def __init__(self, folder: Path, surroundings: str = "") -> None:
        self._folder, self._surroundings = folder, surroundings
        self._under_way: dict[Path, asyncio.Task[Baseline]] = {}

    def forget(self, tree: str, check: Check) -> None:
        """Measure again at the next request."""
        _FAILED.pop(self._path(tree, check), None)
        self._path(tree, check).unlink(missing_ok=True)

    def find_time(self, tree: str, check: Check) -> float:
        """Return when the check's result at this tree was stored; 0: it is not stored."""
        path = self._path(tree, check)
        return path.stat().st_mtime if path.exists() else 0.0

    def know(self, tree: str, check: Check, known: Baseline) -> None:
        """Record a result of the check at this tree that was measured elsewhere."""
        _save(self._path(tree, check), known)

    def look(self, tree: str, check: Check) -> Baseline | None:
        """Return what is known by now, without waiting."""
        path = self._path(tree, check)
        task = self._under_way.get(path)
        if task is not None and task.done() and not _has_failed(task):
            return task.result()
        return load_kept(Place(path.parent, path.name), Baseline)

    def _path(self, tree: str, check: Check) -> Path:
        # `surroundings` are the interpreter, packages and settings, on which it depends whether a tree passes.
        key = hashlib.sha256(f"{check.command}\0{self._surroundings}".encode()).hexdigest()[:16]
        return self._folder / f"{tree}-{key}.{FORMAT}.json"

    def begin(self, tree: str, check: Check, measure: Measure) -> asyncio.Task[Baseline]:
        path = self._path(tree, check)
        task = self._under_way.get(path)
        if task is None or _has_failed(task):
            task = self._under_way[path] = asyncio.create_task(_load_or_measure(path, measure))
        return task

    async def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)


_LOCKS: WeakValueDictionary[tuple[Path, asyncio.AbstractEventLoop], asyncio.Lock] = WeakValueDictionary()
"""A lock for each measurement that somebody waits for, so that all runs of this process share it."""
_FAILED: dict[Path, tuple[float, Baseline]] = {}
"""Failures of this process's measurements with their times, for all of its runs."""
SHARED = 3600.0
"""Seconds for which a failure counts for other runs: it may have been the machine's fault, or chance."""


async def _load_or_measure(path: Path, measure: Measure) -> Baseline:
    async with _LOCKS.setdefault((path, asyncio.get_running_loop()), asyncio.Lock()):
        kept = load_kept(Place(path.parent, path.name), Baseline)
        if kept is not None and kept.exit_status == 0 and not kept.lacking:
            return kept
        failed_at, failed = _FAILED.get(path, (0.0, None))
        if failed is not None and time.monotonic() - failed_at < SHARED:
            return failed
        known = await measure()
        if known.red:
            _FAILED[path] = time.monotonic(), known
            for old in list(_FAILED)[:-KEPT]:
                del _FAILED[old]
        _save(path, known)
        return known


def load_kept(place: Place, kind: type[Kept]) -> Kept | None:
    """Load what an earlier process kept; None if it is not there, or unreadable."""
    try:
        return msgspec.json.decode(place.read(LARGEST), type=kind)
    except (FileNotFoundError, *UNREADABLE):
        return None


def _save(path: Path, known: Baseline) -> None:
    # Leave out traces, which would only fill the disk.
    outcomes = tuple(Case(case.id, case.outcome, case.message) for case in known.report.cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    body = msgspec.json.encode(replace(known, report=replace(known.report, cases=outcomes)))
    Place(path.parent, path.name).write(body)


MARKS = r"[.FEsxXu]+"
"""A line of marks, one for each finished test, as test runners print it."""
BASELINE = "@baseline"
OWNED = b"is now a copy that belongs to this workspace: run the command again."
SHADOW = rb"Sanitizer[^\n]*(?:failed to allocate|can ?not mmap)"
"""What AddressSanitizer and ThreadSanitizer print if they cannot reserve addresses."""
KEPT = 12
"""The most results of checks kept with their output, for a later verdict on the same tree."""

Say = Callable[[str], None]


class CheckRunner:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, home: Path, environment: CheckEnvironment) -> None:
        self._environment, self.sandbox, self.workspaces = environment, sandbox, workspaces
        self.texts = Texts(workspaces)
        self._sweeping: asyncio.Task[None] | None = None
        self._results: dict[tuple[str, str, bool, Path | None], asyncio.Task[CheckRun]] = {}
        """Results by tree, command, whether it runs in the person's folder, and the workspace that lends packages."""
        self._lenders: dict[str, Path] = {}
        """Workspaces with packages of their own, by task."""
        self.goal_command = ""
        """The check of the whole goal, once it was chosen at the base."""
        self.baselines = Baselines(home / "baselines", environment.surroundings)

    async def prepare(self, work: Work, workspace: Workspace) -> None:
        """Lend the packages that were installed in the task's workspace to its checks from now on; called before each
        verdict. The packages are in no tree, so earlier results that used them are forgotten."""
        self._lenders.pop(work.task.id, None)
        if await workspace.lends(work.task.tree):
            self._lenders[work.task.id] = workspace.root
            self._results = {key: one for key, one in self._results.items() if key[-1] != workspace.root}

    def _find_lender(self, work: Work, tree: str) -> Path | None:
        return self._lenders.get(work.task.id) if tree not in (work.run.base, work.task.base) else None

    def once(self, work: Work, tree: str, say: Say = lambda line: None) -> asyncio.Task[CheckRun]:
        """Run the check on a tree, or return its earlier result on that tree in this run."""
        key = tree, work.check.command, bool(work.task.step.test_command), self._find_lender(work, tree)
        known = self._results.get(key)
        if known is None or not _may_be_reused(known):
            known = self._results[key] = asyncio.create_task(self.in_fresh_checkout(work, tree, say))
            for old in [key for key, one in self._results.items() if one.done()][:-KEPT]:
                del self._results[old]
        return known

    async def in_fresh_checkout(self, work: Work, tree: str, say: Say = lambda line: None) -> CheckRun:
        """Run the check on a tree, even if it has run there before: a chance failure may pass now."""
        async with self.checkout(work, tree) as workspace:
            return await self._run_check(work, tree, workspace, say)

    @asynccontextmanager
    async def checkout(self, work: Work, tree: str) -> AsyncIterator[Workspace]:
        """Open a fresh checkout of a tree, like every other one in which a check of this task runs. The first call
        removes checkouts in which a bough process that has ended ran checks; if it is cancelled, that continues."""
        run, task = work.run, work.task
        self._sweeping = self._sweeping or asyncio.create_task(self.workspaces.sweep(run.name, BASELINE))
        await asyncio.shield(self._sweeping)
        name = _name_checkout(task)
        start, lender = run.base or task.base, self._find_lender(work, tree)
        try:
            workspace = await self.workspaces.open(run.name, name, tree, run.folder, start=start, lender=lender)
            await workspace.clear(tree)
            workspace.folder.mkdir(parents=True, exist_ok=True)
            await workspace.furnish()
            # A reused checkout has older files: times would reveal which files were restored.
            changed = await self.workspaces.changes(start, task.tree)
            await asyncio.to_thread(touch_files, workspace, [change.path for change in changed])
            yield workspace
        finally:
            await self.workspaces.discard(run.name, name)

    async def reserve(self, run: Run, task: Task) -> None:
        """Prepare a checkout for the verdict while the model thinks."""
        with suppress(BoughError):  # The next call of `open` meets the same obstacle, and reports it.
            await self.workspaces.reserve(run.name, _name_checkout(task), task.base)

    def at_tree(self, work: Work, tree: str, say: Say = lambda line: None) -> asyncio.Task[Baseline]:
        """Return the check's result at a tree: known from before, or measured alongside other work."""

        async def measure() -> Baseline:
            ran = await asyncio.shield(self.once(work, tree, say))
            if ran.finished.exit_status == 0 and not ran.known.runs_nothing:
                return ran.known
            paths = await self.workspaces.paths(tree)
            texts = await self.workspaces.texts(tree, [path for path in paths if names_dependencies(path)])
            # A module that a step below is asked to write is not missing.
            asked = "\n".join(one.instructions for one in (work.task.step, *work.task.step.steps))
            facts = ProjectFacts(texts, paths, asked, tree != work.run.base, is_published)
            return self._environment.examined(ran, work.check, facts)

        if self._find_lender(work, tree) is not None:
            return asyncio.create_task(measure())
        return self.baselines.begin(tree, work.check, measure)

    async def require_commands(self, work: Work, ran: CheckRun, known: Baseline) -> None:
        """Raise `SetupFailed` for a missing command that only the end of a check needs (a linter after the tests). It
        shows first when all tests pass, unlike at the base: it is no bug of the work, and no agent could repair it."""
        if known.exit_status == 0 or ran.report.failing or not ran.report.passed or self._environment.root is None:
            return
        base = ProjectFacts({}, await self.workspaces.paths(work.task.base), work.task.step.instructions)
        lacks = find_missing(ran.finished.exit_status, work.check.command, ran.text, ran.report, base)
        if lacks is not None and lacks.kind == "command":
            raise SetupFailed(f"All tests pass, but {lacks}. {self._environment.for_missing(lacks, base)}")

    async def close(self) -> None:
        for result in self._results.values():
            result.cancel()
        await asyncio.gather(*filter(None, [self._sweeping]), *self._results.values(), return_exceptions=True)
        await self.baselines.close()

    async def _run_check(self, work: Work, tree: str, workspace: Workspace, say: Say) -> CheckRun:
        check, task = work.check, work.task
        # A fresh name each time: a report left by the agent or an earlier check is never taken for this one.
        path = workspace.scratch / f"report-{secrets.token_hex(8)}"
        # The check runs without the options that bough adds if it failed with them before.
        bases = {work.run.base or task.base, task.base}
        plain = any((known := self.baselines.look(base, check)) is not None and known.plain for base in bases)
        command, env = (check.command, {}) if plain else instrument(check.command, check.runner, str(path), {})
        # A check that bough found runs at the top of the project; one that the step names, in the person's folder.
        at = "" if task.step.test_command or workspace.folder == workspace.root else str(workspace.root)
        run = partial(self._run, workspace, work, say)
        before = self._environment.before  # What has to run before every check.
        finished = await run(before or run_in_folder(at, command), {} if before else env)
        if before and finished.exit_status == 0:
            finished = await run(run_in_folder(at, command), env)
        if OWNED in finished.output:  # A lent folder was read-only, and is now a copy that commands may write to.
            finished = await run(run_in_folder(at, command), env)
        text = await asyncio.to_thread(decode_output, finished.output)
        at_base = tree in (work.run.base, task.base) and command != check.command
        refused = has_refused(text, (command.removeprefix(check.command), *env.values()), check.runner)
        if finished.exit_status not in (0, None) and (at_base or refused):
            # Run the check as the person would: an old runner may refuse the options that bough adds.
            alone = await run(run_in_folder(at, check.command), {})
            if alone.exit_status == 0 or refused:
                finished, plain, path = alone, True, path.with_suffix(".none")
                text = await asyncio.to_thread(decode_output, finished.output)
        ran = await asyncio.to_thread(_read_run, check, finished, text, path, str(workspace.root))
        return replace(ran, known=replace(ran.known, plain=True)) if plain else ran

    async def _run(
        self, workspace: Workspace, work: Work, say: Say, command: str, env: dict[str, str]
    ) -> CommandResult:
        so_far, rules = Progress(), work.task.rules

        def tell(line: str) -> None:
            nonlocal so_far
            so_far = count_progress(so_far, line)
            say(str(so_far) if so_far.done else line)
            if so_far.done or (work.check.runner and re.fullmatch(MARKS, line)):
                work.seen()

        env, limits = {**self._environment.env, **env}, {"timeout": rules.check_timeout, "limit": rules.kept}
        return await run_line(self.sandbox, command, workspace=workspace, progress=tell, env=env, **limits)


def _name_checkout(task: Task) -> str:
    return f"{task.id}{BASELINE}-{secrets.token_hex(4)}"


def _may_be_reused(task: asyncio.Task[CheckRun]) -> bool:
    """Whether a result may be reused: a check that was killed, or could not start, may do better the next time."""
    return not task.done() or not (_has_failed(task) or task.result().finished.exit_status in (None, *NOT_STARTED))


def _has_failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _read_run(check: Check, finished: CommandResult, text: str, path: Path, root: str) -> CheckRun:
    report = read_results(load_report(path), text, finished.exit_status, check.runner, root)
    known = Baseline(
        report,
        read_closing_lines(text, check.runner, root) is not None,
        finished.exit_status,
        original_tests.hash_refutation(strip_root(text, root)),
        seconds=finished.seconds,
        told=count_told(text) if report.how == "exit status" else 0,
        absent=finished.exit_status == 0 and report.how == "exit status" and does_nothing(text),
    )
    return CheckRun(finished, text, known)


def to_argv(command: str) -> list[str]:
    """Split a command line into words. If it needs a shell, return the words that run it as one line in a shell."""
    return split_argv(command) or [shutil.which("bash") or "sh", "-c", command]


async def run_line(sandbox: Sandbox, command: str, **given: Any) -> CommandResult:
    """Run a command line; once more without the limit of its data if a sanitizer could not reserve its addresses."""
    finished = await sandbox.run(to_argv(command), **given)
    if re.search(SHADOW, finished.output):
        # Without namespaces the limit is set just after the start.
        finished = await sandbox.run(to_argv(f"sleep 0.1; ulimit -Sd unlimited; {command}"), **given)
    return finished


def touch_files(workspace: WorkFolder, paths: Collection[str]) -> None:
    """Set the times of existing files to now."""
    for path in paths:
        folder, _, name = os.fsencode(path).rpartition(b"/")
        with suppress(OSError), handles.open_folder(os.fsencode(workspace.root), folder) as place:
            os.utime(name, dir_fd=place, follow_symlinks=False)


def load_report(path: Path) -> bytes | None:
    """Load the report, if there is one. Its size is limited, because the tested code could have written it."""
    with suppress(OSError):
        return Place(path.parent, path.name).read(LARGEST + 1)
    return None
