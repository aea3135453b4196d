"""Runs probes, small programs by another author, on a task's tree, in a fresh checkout that nobody works in."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from secrets import token_hex

from msgspec.structs import replace

from bough.adapters.tools.output_text import decode_output, pluralize
from bough.adapters.verifiers.check_runner import CheckRunner, Say, run_line
from bough.core.acceptance.probes import SCRIPT, Form, Probe, ProbeResult
from bough.core.acceptance.verdict import Check
from bough.core.tree.task import Task
from bough.core.verdict import canary, case_programs
from bough.core.verdict.literals import COMPARED
from bough.core.verdict.project_files import run_in_folder
from bough.core.verdict.registry import find_language
from bough.ports import Workspace
from bough.ports.verifier import Work
from bough.trust.files import Place

Run = Callable[[Probe], Awaitable[ProbeResult]]
SECONDS = 60.0
"""Seconds that one probe may take."""
SEEN = "seen to fail"
"""How the sentence of a verdict begins whose tests failed with a changed value."""
MOST_CHANGED = 3
"""The most expected values of a probe that are changed to see it fail."""


def write_files(root: Path, texts: Mapping[str, str]) -> None:
    """Put files into a checkout, following no link that an agent left, and not where there is a folder."""
    for path, text in texts.items():
        place = Place(root, path)
        place.make_parents()
        if place.kind != "folder" and (place.above().kind == "folder"):
            place.write(text.encode())


def write_kept(probe: Probe, check: Check) -> str:
    """Return a case for the project to keep: its purpose, its command, and the program that ran."""
    start = case_programs.make_command(probe, check).removeprefix(case_programs.UNSEEN)
    how = f"Run it at the top of the project: {start}" if start else ""
    mark = find_language(probe.path).comment
    head = "".join(f"{mark} {' '.join(line.split())}\n" for line in (probe.says, how) if line)
    first, rest = re.match(r"((?:#!|<\?).*\n)?((?s:.*))", case_programs.make_file(probe)).groups("")  # type: ignore[union-attr]
    return f"{first}{head}{rest}"


class Prober:
    def __init__(self, runner: CheckRunner) -> None:
        self._runner, self._workspaces = runner, runner.workspaces
        self._passed: dict[str, set[Probe]] = {}
        """Passing probes, by tree: a merge, and the task above it, are often about the same tree."""

    async def form(self, task: Task) -> Form:
        changed = [change.path for change in await self._workspaces.changes(task.base, task.tree)]
        return case_programs.find_form(await self._workspaces.paths(task.tree), changed)

    async def probe(self, work: Work, chosen: Sequence[Probe], say: Say, once: bool = False) -> tuple[ProbeResult, ...]:
        """Return the results of all probes; run those that are not known to pass on this very tree."""
        known = self._passed.setdefault(work.task.tree, set())
        fresh = [probe for probe in chosen if probe not in known]
        ran = {one.name: one for one in await self._probe(work, fresh, say, once)} if fresh else {}
        if not once:
            known |= {probe for probe in fresh if ran[probe.name].outcome == "passed"}
        return tuple(ran.get(probe.name) or ProbeResult(probe.name, "passed") for probe in chosen)

    async def _probe(self, work: Work, chosen: Sequence[Probe], say: Say, once: bool) -> tuple[ProbeResult, ...]:
        """Run all probes at once, and each failing one again, alone: neither chance nor another may be the cause."""
        task = work.task
        async with self._runner.checkout(work, task.tree) as workspace:
            mark = token_hex()
            made = {one.path: case_programs.make_file(one, mark) for one in chosen}
            await asyncio.to_thread(write_files, workspace.root, made)
            say(f"running {pluralize(len(chosen), 'probe')}")
            run = partial(self._run_probe, work=work, workspace=workspace, mark=mark)
            results = await asyncio.gather(*map(run, chosen))
            verdict = task.acceptance.verdict
            sound = verdict is not None and verdict.canary.startswith(SEEN)
            for at, probe in enumerate(chosen if not once else ()):
                if results[at].outcome == "failed":
                    say(f"running a probe that fails again: {probe.says}")
                    results[at] = await run(probe)
                elif results[at].outcome == "passed" and not sound:
                    results[at] = await self._see_it_fail(probe, run, workspace.root, mark)
        return tuple(results)

    async def _see_it_fail(self, probe: Probe, run: Run, root: Path, mark: str) -> ProbeResult:
        """Return the result of a probe that passed, after changing its compared values one by one until it fails. If no
        test was seen to fail with a changed value, the work's results may compare equal to anything, in a probe too."""
        texts = {probe.path: probe.text} if probe.language != SCRIPT else {}
        values = await asyncio.to_thread(canary.list_file_changes, texts, list(texts))
        green = ""
        for value in [one for one in values if one[1].rank == COMPARED][:MOST_CHANGED]:
            altered = replace(probe, text=canary.apply_changes(texts, [value])[probe.path])
            await asyncio.to_thread(write_files, root, {probe.path: case_programs.make_file(altered, mark)})
            if (await run(altered)).outcome != "passed":
                return ProbeResult(probe.name, "passed")
            green = green or f"It also passes with {canary.describe_value(value)}, so it shows nothing."
        return ProbeResult(probe.name, "broken" if green else "passed", green)

    async def _run_probe(self, probe: Probe, work: Work, workspace: Workspace, mark: str) -> ProbeResult:
        command, rules = case_programs.make_command(probe, work.check), work.task.rules
        if not command:
            return ProbeResult(probe.name, "broken", "Nothing here runs a case like this one.")
        at = "" if workspace.folder == workspace.root else str(workspace.root)
        given = {"workspace": workspace, "timeout": min(SECONDS, rules.check_timeout), "limit": rules.kept}
        finished = await run_line(self._runner.sandbox, run_in_folder(at, command), **given)
        text = await asyncio.to_thread(decode_output, finished.output)
        return case_programs.read_probe(probe, finished, text, mark)
