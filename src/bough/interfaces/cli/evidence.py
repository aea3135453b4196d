"""The commands `bough examine`, `bough receipt` and `bough recheck`."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.core.errors import UsageError
from bough.interfaces.cli import options
from bough.interfaces.cli.options import bough_command, flag, option
from bough.interfaces.cli.printing import print_json, read_given, require_folder, warn_ignored, write_output
from bough.operations import OPERATIONS

if TYPE_CHECKING:
    from bough.interfaces.terminal.output import TerminalOutput

MADE = OPERATIONS["examine"]
PATH = click.Path(path_type=Path)
ABOUT = {key: about for key, _, _, about in MADE.arguments}

CASE_LINES = 8
"""The most lines of a failing case's output that are shown."""


@bough_command(*MADE.examples, help=MADE.about)
@click.argument("what", default="")
@options.dir_option
@option("--goal", "TEXT", ABOUT["goal"], default="")
@option("--goal-file", "F", "Read the goal from a file; `-` is standard input.")
@option("--issue", "N", "Read the goal from an issue, with your own `gh`.", click.IntRange(1))
@option("--base", "REF", ABOUT["base"], default="")
@option("--check", "CMD", ABOUT["check"], default="")
@option("--receipt", "F", "Write the evidence to a file that anybody can check again: see `bough receipt`.")
@flag("--needless", ABOUT["needless"])
@options.judging_options
async def examine(
    folder: Path, goal_file: str | None, issue: int | None, receipt: str | None, as_json: bool, **said: Any
) -> int:
    from bough.interfaces.cli.execution import finish_run, make_display, retry_on_quota, run_to_end
    from bough.interfaces.terminal.output import make_output

    require_folder(receipt or "")
    asked = {key: said.pop(key) for key in ABOUT}
    display, choices, page = make_display(as_json), app.Choices(**said), make_output()

    def tell(text: str) -> None:
        (display.notice if as_json else page.text)(text)
        page.flush()

    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored) as opened:
        asked["goal"] = _read_goal(asked["goal"], goal_file, issue, opened.root)
        keep = partial(retry_on_quota, opened, display, choices)
        name = (await MADE.does(opened, choices, lambda work: run_to_end(display, keep(work)), tell, **asked)).facts[
            "run"
        ]
        status = await finish_run(opened, await opened.outcome(name), apply=False, as_json=as_json)
        if receipt is not None and (await opened.run(name)).end is not None:
            await _write_receipt(opened, name, receipt, None, quiet=as_json)
        return status


def _read_goal(goal: str, file: str | None, issue: int | None, root: Path) -> str:
    """Return what the person says the change should achieve; empty: they did not say."""
    named = [name for name, value in (("--goal", goal), ("--goal-file", file), ("--issue", issue)) if value]
    if len(named) > 1:
        raise click.UsageError(f"{named[0]} and {named[1]} are mutually exclusive")
    if issue:
        from bough.trust.remotes import run_theirs

        wanted = ("gh", "issue", "view", str(issue), "--json", "title,body", "--jq", '.title + "\\n\\n" + .body')
        return run_theirs(wanted, root, timeout=120)
    if file and not (goal := read_given(file).strip()):
        raise UsageError(f"{'Standard input' if file == '-' else file} is empty: say what the change should achieve.")
    return goal


async def print_examined(opened: "app.Session", name: str, page: "TerminalOutput") -> None:
    """Print the evidence, and the cases that refute the change, each as a file that the person can run."""
    from bough.core.acceptance.examination import list_failing_probes
    from bough.core.acceptance.verdict import Check
    from bough.core.verdict.case_programs import UNSEEN, make_command, make_file
    from bough.core.verdict.registry import recognise
    from bough.interfaces.terminal.evidence import render_closing, render_evidence
    from bough.trust.files import Place

    table, task = await opened.evidence(name), await opened.look_at_task(name)
    if table.rows:
        page.line("")
        page.lines(render_evidence(table, page.width))
        page.lines(render_closing(table, page.width) if not table.refuted else ())
    check = task.acceptance.verdict.command if task.acceptance.verdict is not None else ""
    for probe in list_failing_probes(task):
        place = Place(opened.home, f"cases/{name}/{probe.path}")
        place.make_parents()
        place.write(make_file(probe).encode())
        line = make_command(probe, Check(check, "", recognise(check))).removeprefix(UNSEEN)
        page.line("")
        page.paragraph(text=f"{probe.name} fails: {probe.says}", style="red")
        for printed in task.examination.results[probe.name].output.splitlines()[-CASE_LINES:]:
            page.text(f"    {printed}", "dim")
        page.paragraph("  ", text="To see it fail, where the change is checked out:", indent=2)
        folder, _, _ = probe.path.rpartition("/")
        aside = f"mkdir -p {shlex.quote(folder)} && " if folder else ""
        copied = " ".join(map(shlex.quote, (f".bough/{place.name}", probe.path)))
        page.text(f"    {aside}cp {copied} && {line}", "bold")


@bough_command(
    "bough receipt --output receipt.json", "bough receipt amber-heron --output r.json --sign ~/.ssh/id_ed25519"
)
@options.open_run
@option("--output", "F", "Write the receipt to this file (default: standard output).")
@option("--sign", "KEY", "Sign the receipt with your ssh key; the signature is F.sig.", PATH)
async def receipt(opened: "app.Session", name: str, output: str | None, sign: Path | None) -> None:
    """Write the evidence of a run to a file that anybody can recheck.

    The check and the examiner's cases run once more on the files without and with the change of RUN (default: the
    latest), and the outcomes are written down, with the trees, the command and the cases: `bough recheck F` repeats
    them in any clone that has these trees, without a model. Requirements, models and cost are claims: only a signature
    protects them. The file is an in-toto statement and holds no secrets."""
    if sign is not None and output is None:
        raise click.UsageError("--sign needs --output F: the signature is written to F.sig")
    await _write_receipt(opened, name, output, sign, quiet=False)


async def _write_receipt(opened: "app.Session", name: str, output: str | None, sign: Path | None, quiet: bool) -> None:
    from bough.core.acceptance.receipt import write_receipt
    from bough.services.recheck import SIGNATURE, sign_receipt

    body = write_receipt((await OPERATIONS["receipt"].does(opened, name)).facts["receipt"])
    write_output(output or "-", body)
    if sign is not None:
        write_output(f"{output}{SIGNATURE}", sign_receipt(body, sign, opened.root))
    if output and not quiet:
        click.echo(f"Wrote what {name} shows to {output}: `bough recheck {output}` runs it again anywhere.")


@bough_command(
    "bough recheck receipt.json --signers ~/.ssh/allowed_signers",
    "bough recheck amber-heron",
    "bough recheck --all --onto origin/main",
)
@click.argument("what", default="")
@options.dir_option
@option("--signers", "F", "Whose signatures of a receipt count, as git's `gpg.ssh.allowedSignersFile`.", PATH)
@option("--of", "CHANGE", "The change that a receipt must be about, named as for `bough examine`.", default="")
@option("--onto", "REF", "The branch or commit that a run's work has to hold on (default: main as it is now).")
@flag("--all", "Every run of this project whose work is proven.", "every")
@options.setup_option
@options.json_option("As JSON: what differs and who signed the receipt; for runs, a list.")
async def recheck(
    what: str, folder: Path, signers: Path | None, of: str, onto: str | None, every: bool, as_json: bool, **chosen: Any
) -> int:
    """Check again what a run or a receipt showed, without a model.

    WHAT is a receipt (a file: F.json, ./F), a run, or a backlog, for its proven goals.

    A receipt's command and cases run on both of its trees, in the sandbox without network; the trees must be in this
    repository. Nothing else in a receipt is run, and its other claims (requirements, models, cost) are only as good as
    its signature. With --of, nothing runs unless both trees are those of that change; the receipt may be part of it.

    A run's work is merged with main as it is now, in a separate checkout. The tests that proved its requirements
    run first, then the whole check. The work is still proven there, or conflicts with a commit, or was broken by one,
    which is found by bisection. The result is recorded in the run.

    Exit status: 0 the same or still proven, 3 something differs, 2 cannot run here."""
    from bough.interfaces.terminal.output import make_output
    from bough.operations.proof import recheck_file
    from bough.services.recheck import list_proven_runs

    file = what.endswith(".json") or "/" in what
    if every == bool(what):
        raise click.UsageError("name a receipt, a run or a backlog, or pass --all")
    if (signers is not None or of) and not file:
        raise click.UsageError(f"{'--of' if of else '--signers'} needs a receipt")
    if onto is not None and file:
        raise click.UsageError("--onto needs a run: a receipt is run on its own trees")
    choices, page = app.Choices(**chosen, network="off" if file else None), make_output()

    def tell(text: str, style: str = "dim", name: str = "") -> None:
        for line in () if as_json else text.splitlines():
            page.paragraph(*([(f"{name}  ", "bold")] if name else []), text=line, style=style)
            page.flush()

    again, found, asked = OPERATIONS["recheck"].does, list[Any](), {"onto": onto or "", "setup": chosen["setup"] or ""}
    async with app.open_session(folder, create=file, choices=choices) as opened:
        for name in [""] if file else await list_proven_runs(opened, what):
            work = recheck_file(opened, what, signers, of, choices, tell) if file else again(opened, name, **asked)
            found.append(await work)
            tell(found[-1].said, "red" if found[-1].exit_status else "green", name)
    if as_json:
        print_json(found[0].facts if file else [{"said": one.said, **one.facts} for one in found])
    return int(max(one.exit_status for one in found))
