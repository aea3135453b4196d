"""The command `bough workflow`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough.interfaces.cli.options import bough_command, dir_option, json_option, option
from bough.interfaces.cli.printing import print_json

if TYPE_CHECKING:
    from bough.core.workflow.loading import Workflow
    from bough.core.workflow.problems import Problem

BROKEN = 2


@bough_command(
    "bough workflow list",
    "bough workflow check workflows/release.toml",
    "bough workflow show bug-fix --input issue='Totals are off by one'",
)
@click.argument("what", metavar="check|list|show", type=click.Choice(("check", "list", "show")))
@click.argument("files", metavar="[FILE]...", nargs=-1)
@dir_option
@option("--input", "NAME=VALUE", "Show the workflow with this input filled in.", to="pairs", multiple=True)
@json_option("As JSON: the problems, the workflows, or the plan.")
def command(what: str, files: tuple[str, ...], folder: Path, pairs: tuple[str, ...], as_json: bool) -> int:
    """Check, list and show written plans.

    A workflow is a TOML file with steps. `check` reads files (by default all that `list` finds) and reports every
    problem with its line; `list` shows this project's workflows (the TOML files in workflows/ and examples/workflows/)
    and those that ship with bough; `show` draws one as a tree. FILE is a path, or the name of a listed workflow.
    Nothing is run.

    Exit status: 0, or 2 if there are problems.
    """
    if pairs and what != "show":
        raise click.UsageError("--input is for `bough workflow show`")
    from bough.app.journal import find_project_root
    from bough.app.workflow_files import found, located

    root = find_project_root(folder)
    if what == "list":
        if files:
            raise click.UsageError("`bough workflow list` takes no FILE: --dir says where to look")
        return _list(root, as_json)
    if what == "show":
        if len(files) != 1:
            raise click.UsageError("`bough workflow show` takes one FILE: `bough workflow list` lists the files")
        return _show(located(files[0], folder, root), root, pairs, as_json)
    return _check([located(file, folder, root) for file in files] or found(root), root, as_json)


def _try_load(path: Path, root: Path, inputs: dict[str, str] | None) -> "Workflow | Sequence[Problem]":
    from bough.app.workflow_files import load_file
    from bough.core.errors import UsageError
    from bough.core.workflow.problems import Problem, WorkflowError

    try:
        return load_file(path, root, inputs)
    except WorkflowError as error:
        return error.problems
    except UsageError as error:
        return [Problem(_format_path(root, path), 1, f"The file cannot be read: {error}.")]


def _format_path(root: Path, file: Path | str) -> str:
    """Return a file's path as a person names it from the current folder."""
    from bough.views.formatting import one_line

    path = os.path.relpath(root / file)
    return one_line(str(root / file) if path.startswith("../..") else path)


def _print_problems(problems: "Sequence[Problem]", root: Path) -> int:
    from bough.views.formatting import one_line

    for problem in problems:
        print(f"{_format_path(root, problem.file)}:{problem.line}: {one_line(problem.text)}", file=sys.stderr)
    return BROKEN


def _check(paths: Sequence[Path], root: Path, as_json: bool) -> int:
    from bough.app.workflow_files import PLACES
    from bough.core.planning.plan import count_leaves
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import pluralize

    page = make_output()
    tried = [(path, _try_load(path, root, None)) for path in paths]
    broken = [problems for _, problems in tried if isinstance(problems, Sequence)]
    if as_json:
        print_json([_workflow_to_dict(path, got, root) for path, got in tried])
        return BROKEN if broken else 0
    if not paths:
        page.paragraph(text=f"No workflows found in {' or '.join(PLACES)} of {root}.")
    for path, got in tried:
        if isinstance(got, Sequence):
            page.flush()
            _print_problems(got, root)
        else:
            said = f"{pluralize(count_leaves(got.plan.goal), 'step')}, {pluralize(len(got.inputs), 'input')}"
            page.line(("✔ ", "green"), (_format_path(root, path), "bold"), f"  {said}")
    if len(broken) > 1:
        page.line(("✘ ", "red"), f"{len(broken)} of {len(paths)} have problems")
    return BROKEN if broken else 0


def _list(root: Path, as_json: bool) -> int:
    from bough.app.workflow_files import PLACES, found, shipped
    from bough.core.planning.plan import count_leaves
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import first_line, pad, pluralize

    own = found(root)
    tried = [(path, _try_load(path, root, None)) for path in own]
    tried += [(path, _try_load(path, path.parent, None)) for path in shipped() if path not in own]
    if as_json:
        print_json([{**_workflow_to_dict(path, got, root), "shipped": path not in own} for path, got in tried])
        return 0
    page = make_output()
    if not own:
        page.paragraph(text=f"There are no workflows here yet: add one to {PLACES[0]}/, as a TOML file.")
    wide = max((len(path.stem) for path, _ in tried), default=0)
    for index, (path, got) in enumerate(tried):
        if index == len(own):
            page.line("")
            page.line(("shipped with bough: bough run --workflow NAME, bough workflow show NAME", "dim"))
        name = (pad(path.stem, wide), "bold")
        if isinstance(got, Sequence):
            page.line(
                name,
                ("  ✘ ", "red"),
                f"{pluralize(len(got), 'problem')}: bough workflow check {_format_path(root, path)}",
            )
        else:
            steps = f"  {count_leaves(got.plan.goal):>3} {'step ' if count_leaves(got.plan.goal) == 1 else 'steps'}  "
            page.line(name, (steps, "cyan"), first_line(got.description or got.plan.goal.title))
    return 0


def _workflow_to_dict(path: Path, got: "Workflow | Sequence[Problem]", root: Path) -> dict[str, Any]:
    file = _format_path(root, path)
    if isinstance(got, Sequence):
        problems = [{"file": _format_path(root, one.file), "line": one.line, "text": one.text} for one in got]
        return {"file": file, "name": path.stem, "problems": problems}
    return {"file": file, "name": got.name, "description": got.description, "inputs": got.inputs, "problems": []}


def _show(path: Path, root: Path, pairs: Sequence[str], as_json: bool) -> int:
    from bough.core.workflow.inputs import parse_pairs

    got = _try_load(path, root, parse_pairs(pairs) if pairs else None)
    if isinstance(got, Sequence):
        return _print_problems(got, root)
    if as_json:
        print_json({**_workflow_to_dict(path, got, root), "plan": got.plan})
        return 0

    from bough.interfaces.terminal import plan_tree as drawing
    from bough.interfaces.terminal.output import make_output

    page = make_output()
    page.paragraph((got.name, "bold"), "  ", text=got.description or got.plan.goal.title, indent=len(got.name) + 2)
    if got.inputs:
        page.line(("inputs", "dim"))
        page.lines(drawing.render_inputs(got.inputs))
    page.line("")
    page.lines(drawing.render_plan(got.plan, page.width))
    return 0
