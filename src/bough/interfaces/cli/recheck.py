"""`bough recheck`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option, option, setup_option

DIFFERS = 3


@bough_command(
    "bough recheck receipt.json --signers ~/.ssh/allowed_signers",
    "bough recheck amber-heron",
    "bough recheck --all --onto origin/main",
)
@click.argument("what", default="")
@dir_option
@option(
    "--signers",
    "F",
    "Whose signatures of a receipt count: a file as git's `gpg.ssh.allowedSignersFile`.",
    click.Path(path_type=Path),
)
@option("--of", "CHANGE", "The change that a receipt must be about, named as for `bough examine`.", default="")
@option("--onto", "REF", "The branch or commit that a run's work has to hold on (default: main as it is now).")
@flag("--all", "Every run of this project whose work is proven.", "every")
@setup_option
@json_option("As a JSON object: what differs, and who signed it; of runs: a list.")
async def command(
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

    Exit status: 0 the same or still proven, 3 something differs, 2 cannot run here.
    """
    receipt = what.endswith(".json") or "/" in what
    if every == bool(what):
        raise click.UsageError("name a receipt, a run or a backlog, or pass --all")
    if (signers is not None or of) and not receipt:
        raise click.UsageError(f"{'--of' if of else '--signers'} needs a receipt")
    if onto is not None and receipt:
        raise click.UsageError("--onto needs a run: a receipt is run on its own trees")
    choices = app.Choices(**chosen, network="off" if receipt else None)
    async with app.open_session(folder, create=receipt, choices=choices) as opened:
        if receipt:
            return await _recheck_receipt(opened, what, signers, of, choices, as_json)
        return await _recheck_runs(opened, what, onto or "", chosen["setup"] or "", as_json)


async def _recheck_receipt(
    opened: app.Session, what: str, signers: Path | None, of: str, choices: app.Choices, as_json: bool
) -> int:
    from bough.interfaces.cli.printing import print_json
    from bough.interfaces.terminal.output import make_output
    from bough.services.recheck import open_receipt, recheck_receipt
    from bough.views.formatting import pluralize

    receipt, who = await open_receipt(opened, what, signers, of)
    rerun, page = receipt.predicate.rerun, make_output()
    if not as_json:
        page.text(f"Running `{rerun.command}` without and with the change.", "dim")
        page.flush()
    if found := await recheck_receipt(opened, receipt, choices):
        said = "Not the same as in the receipt."
    else:
        counted = f"{pluralize(len(rerun.tests), 'test')} and {pluralize(len(rerun.probes), 'case')}"
        said = f"The same as in the receipt: {counted} on both sides."
    signed = f"Signed by {who}." if who else "Not signed: what it claims beside is anybody's word."
    if as_json:
        print_json({"same": not found, "differences": found, "signed_by": who})
    else:
        for one in found:
            page.paragraph(text=one, style="red")
        page.paragraph(text=f"{said} {signed}", style="" if found else "green")
    return DIFFERS if found else 0


async def _recheck_runs(opened: app.Session, what: str, onto: str, setup: str, as_json: bool) -> int:
    from bough.interfaces.cli.printing import print_json
    from bough.interfaces.terminal.output import make_output
    from bough.operations import OPERATIONS
    from bough.services.recheck import list_proven_runs

    page, found = make_output(), list[dict[str, Any]]()
    for name in await list_proven_runs(opened, what):
        done = await OPERATIONS["recheck"].does(opened, name, onto=onto, setup=setup)
        found.append({"said": done.said, **done.facts})
        if not as_json:
            style = "green" if found[-1]["standing"] == "proven" else "red"
            page.paragraph((f"{name}  ", "bold"), text=done.said, style=style)
            page.flush()
    if as_json:
        print_json(found)
    return 0 if all(one["standing"] == "proven" for one in found) else DIFFERS
