"""Find the check that proves a task: the step's own, then one named after the task, then the project's.

This module reads the list of the workspace's files and some of the files; it runs nothing. If it finds no check, none
is known for this task, and that never counts as a pass.
"""

import posixpath
import re
from collections.abc import Collection

from msgspec.structs import replace

from bough.core.acceptance.verdict import Check
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Step
from bough.core.verdict.paths import find_stem, find_suffix, last_segment, parent_folder
from bough.core.verdict.project_check import RUNNABLE, find_file_check, find_runner_behind, list_project_checks
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.texts import Read

GIVEN, SET = "you gave it", "[check] command in bough.toml says so"
"""Origins of a check that a person chose."""


def is_given(run: Run, check: Check) -> bool:
    """Whether a person chose the check. Such a check is used even if bough doubts it; the doubts are only shown."""
    return check.why in (GIVEN, SET) or check.command == run.plan.goal.test_command


def list_checks(
    step: Step,
    task: str,
    files: Collection[str],
    read: Read,
    folder: str = "",
    own: str = "",
    preferred: str = "",
    refused: Collection[str] = (),
    proposed: Check | None = None,
) -> list[Check]:
    """List the candidates for the check of a task and why each was chosen. A check that a person or the step names, and
    a test file named after the task, is the only candidate; `own` is what the person has set. Otherwise they are the
    commands of the project that contains `folder`, the person's folder, with `preferred` first and without `refused`,
    and the check that a model `proposed`."""
    look = ProjectFiles(files, read)
    if step.test_command and step.test_command.strip():
        why = GIVEN if task == GOAL else "its step names it"
        return [Check(step.test_command, why, find_runner_behind(step.test_command, look))]
    name = "" if task == GOAL else last_segment(task)
    # A file outside the workspace, or in a language without a runner, cannot be the check.
    path = posixpath.normpath((step.test_file or "").strip() or "/")
    if not path.startswith(("/", "../")) and (found := find_file_check(path, look)):
        return [replace(found, why=f"its step names {path}")]
    if name and (found := _find_named_after(name, look)):
        return [found]
    if own.strip():
        return [Check(own, SET, find_runner_behind(own, look))]
    every = list_project_checks(look, folder, step.instructions)
    every += [replace(proposed, runner=find_runner_behind(proposed.command, look))] if proposed else []
    return sorted((one for one in every if one.command not in refused), key=lambda one: one.command != preferred)


def _find_named_after(name: str, look: ProjectFiles) -> Check | None:
    """Find a test file named after a task, also as JavaScript (`{id}.test.ts`) and Ruby (`{id}_spec.rb`) spell it."""
    ranks = {suffix[1:]: at for at, suffix in enumerate(RUNNABLE)}
    id = "[-_. ]".join(map(re.escape, re.split("[-_. ]", name)))
    pattern = rf"(?i)test[-_. ]{id}|{id}[-_. ](?:test|spec)"
    named = [path for path in look if find_suffix(path) in ranks and re.fullmatch(pattern, find_stem(path))]
    named.sort(key=lambda path: (parent_folder(path) != "tests", ranks[find_suffix(path)]))
    more = f" ({len(named) - 1} more of that name)" if len(named) > 1 else ""
    found = next(filter(None, (find_file_check(path, look) for path in named)), None)
    return replace(found, why=f"{found.why}, named after the task{more}") if found else None
