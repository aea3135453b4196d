"""Probe: run small tests by another author on a task's tree, in a fresh checkout that nobody works in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.tools.output_text import decode_output
from bough.adapters.verifiers.check_runner import KEPT, CheckRunner, Say, Work, to_argv
from bough.adapters.verifiers.tree_texts import Texts
from bough.core.acceptance.probes import Form, Probe, Probed
from bough.core.acceptance.verdict import Check
from bough.core.ids import GOAL
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree.task import Task
from bough.core.verdict import probe_forms
from bough.core.verdict.discover import discover_check
from bough.core.verdict.language import PlainProgram
from bough.core.verdict.plain_program import add_program, join_programs, read_result
from bough.core.verdict.project_files import run_in_folder
from bough.ports import Finished, Sandbox, Workspace, Workspaces
from bough.trust.files import Place

SECONDS = 60.0
"""Seconds that one probe may take."""
EXAMPLE = 1_200
"""Characters of a test that shows how tests are written here."""


def write_files(root: Path, texts: Mapping[str, str]) -> None:
    """Put files into a checkout. What lies there is the agent's: its links are not followed, and a file whose place a
    folder takes is left out."""
    for path, text in texts.items():
        place = Place(root, path)
        place.make_parents()
        if place.kind != "folder" and (place.above().kind == "folder"):
            place.write(text.encode())


class Prober:
    def __init__(self, sandbox: Sandbox, workspaces: Workspaces, texts: Texts, runner: CheckRunner) -> None:
        self._sandbox = sandbox
        self._workspaces = workspaces
        self._texts = texts
        self._runner = runner
        self._passed: dict[tuple[str, str], set[Probe]] = {}
        """The probes that pass, by run and tree. A merge, and the task above it, are often about the same tree."""

    async def form(self, task: Task, check: Check) -> tuple[Form, str]:
        form = probe_forms.find_form(await self._find_framework(task, check), await self._workspaces.paths(task.tree))
        changed = [change.path for change in await self._workspaces.changes(task.base, task.tree)]
        path = probe_forms.find_example(form, await self._workspaces.paths(task.base), changed)
        texts = await self._workspaces.texts(task.base, [path]) if path else {}
        return form, texts.get(path, "")[:EXAMPLE].strip()

    async def probe(self, work: Work, chosen: Sequence[Probe], say: Say, once: bool = False) -> tuple[Probed, ...]:
        """The results of all of them: of those that are not known to pass on this very tree, by running them."""
        known = self._passed.setdefault((work.run.name, work.task.tree), set())
        fresh = [probe for probe in chosen if probe not in known]
        ran = {one.name: one for one in (await self._probe(work, fresh, say, once) if fresh else ())}
        if not once:
            known |= {probe for probe in fresh if ran[probe.name].outcome == "passed"}
        for old in list(self._passed)[:-KEPT]:
            del self._passed[old]
        return tuple(ran.get(probe.name) or Probed(probe.name, "passed") for probe in chosen)

    async def _probe(self, work: Work, chosen: Sequence[Probe], say: Say, once: bool) -> tuple[Probed, ...]:
        task, used = work.task, await self._find_framework(work.task, work.check)
        paths = await self._workspaces.paths(task.tree)
        framework = probe_forms.find_form(used, paths).framework
        results: list[Probed] = []
        async with self._runner.checkout(work, task.tree) as workspace:
            await asyncio.to_thread(write_files, workspace.root, {probe.path: probe.text for probe in chosen})
            passed, ran = await self._run_together(chosen, used, framework, workspace, task.rules, say)
            for number, probe in enumerate(chosen, 1):
                if probe.name in passed or (once and ran):
                    results.append(Probed(probe.name, "passed" if probe.name in passed else "failed"))
                    continue
                say(f"probe {number} of {len(chosen)}: {probe.says}")
                times = 1 if ran or once else 2
                results.append(await self._run_probe(probe, used, framework, workspace, task.rules, times, say))
            if once:
                return tuple(results)
            results = await self._rerun_plainly(chosen, results, task, used, workspace, say)
        return tuple(results)

    async def _run_together(
        self, chosen: Sequence[Probe], check: Check, framework: str, workspace: Workspace, rules: Rules, say: Say
    ) -> tuple[set[str], bool]:
        """Run the probes in one process. Return those that pass, and whether there was such a run; one that does not
        pass is run alone later."""
        command = probe_forms.make_joint_command(chosen, check, framework) if len(chosen) > 1 else ""
        if not command:
            return set(), False
        _, text = await self._run(command, workspace, rules, rules.check_timeout, say)
        return probe_forms.find_passed(chosen, framework, text), True

    async def _run_probe(
        self, probe: Probe, check: Check, framework: str, workspace: Workspace, rules: Rules, times: int, say: Say
    ) -> Probed:
        """One that fails does so twice, with the others or alone: not by chance."""
        command = probe_forms.make_command(probe, check, framework)
        for _ in range(times):
            finished, text = await self._run(command, workspace, rules, SECONDS, say)
            result = probe_forms.read_probe(probe, framework, finished, text)
            if result.outcome != "failed":
                break
        return result

    async def _rerun_plainly(
        self,
        chosen: Sequence[Probe],
        results: list[Probed],
        task: Task,
        check: Check,
        workspace: Workspace,
        say: Say,
    ) -> list[Probed]:
        """Run the probes that passed once more where the code cannot tell that it is tested. One that fails there shows
        that the code can tell; it must fail there twice, so that chance is ruled out."""
        programs: list[PlainProgram] = []
        groups: list[list[Probe]] = []
        passed = {result.name for result in results if result.outcome == "passed"}
        texts = await self._texts.of(task.tree)
        for path in dict.fromkeys(probe.path for probe in chosen if probe.name in passed):
            own = [probe for probe in chosen if probe.path == path and probe.name in passed]
            wanted = {probe.case for probe in own} if len(own) > 1 else None  # Cases may share a file.
            if add_program(programs, path, own[0].text, wanted, check.command, texts.get):
                groups.append(own)
        if not programs:
            return results
        plain = join_programs(programs, [*await self._workspaces.paths(task.tree), *(probe.path for probe in chosen)])
        await asyncio.to_thread(write_files, workspace.root, plain.files)
        fails: dict[str, str] = {}
        for _ in range(2):
            say(f"{len(passed)} that pass, once more as a plain program")  # What it prints is not for people.
            ran, text = await self._run(plain.command, workspace, task.rules, SECONDS * len(programs))
            said = read_result(text, ran.exit_status, plain).failures
            fails = {
                probe.name: line
                for number, _, line in (one.partition(" ") for one in sorted(said))
                for probe in groups[int(number)]
                if len(groups[int(number)]) == 1 or line.startswith(f"{probe.case}: ")
            }
            if not fails:
                return results
        return [probe_forms.unmask(result, fails.get(result.name, "")) for result in results]

    async def _run(
        self, command: str, workspace: Workspace, rules: Rules, seconds: float, say: Say = lambda line: None
    ) -> tuple[Finished, str]:
        """How a command ended at the top of a checkout, and what it printed."""
        at = "" if workspace.folder == workspace.root else str(workspace.root)
        timeout, argv = min(seconds, rules.check_timeout), to_argv(run_in_folder(at, command))
        ran = await self._sandbox.run(argv, workspace=workspace, timeout=timeout, limit=rules.kept, progress=say)
        return ran, await asyncio.to_thread(decode_output, ran.output)

    async def _find_framework(self, task: Task, check: Check) -> Check:
        """The check whose framework probes are written in: the project's own, where the step's is a plain command."""
        if check.runner:
            return check
        read = (await self._texts.of(task.tree)).get
        own = discover_check(Step(GOAL), GOAL, await self._workspaces.paths(task.tree), read)
        return own if own is not None and own.runner else check
