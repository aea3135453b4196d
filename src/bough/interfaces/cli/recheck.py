"""`bough recheck`"""

from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option, option, setup_option


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
@json_option("As JSON: what differs and who signed the receipt; for runs, a list.")
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
    from bough.interfaces.cli.printing import print_json
    from bough.interfaces.terminal.output import make_output
    from bough.operations import OPERATIONS
    from bough.operations.proof import recheck_file
    from bough.services.recheck import list_proven_runs

    receipt = what.endswith(".json") or "/" in what
    if every == bool(what):
        raise click.UsageError("name a receipt, a run or a backlog, or pass --all")
    if (signers is not None or of) and not receipt:
        raise click.UsageError(f"{'--of' if of else '--signers'} needs a receipt")
    if onto is not None and receipt:
        raise click.UsageError("--onto needs a run: a receipt is run on its own trees")
    choices, page = app.Choices(**chosen, network="off" if receipt else None), make_output()

    def tell(text: str, style: str = "dim", name: str = "") -> None:
        for line in () if as_json else text.splitlines():
            page.paragraph(*([(f"{name}  ", "bold")] if name else []), text=line, style=style)
            page.flush()

    async with app.open_session(folder, create=receipt, choices=choices) as opened:
        if receipt:
            done = await recheck_file(opened, what, signers, of, choices, tell)
            tell(done.said, "red" if done.exit_status else "green")
            if as_json:
                print_json(done.facts)
            return done.exit_status
        found = []
        for name in await list_proven_runs(opened, what):
            found.append(await OPERATIONS["recheck"].does(opened, name, onto=onto or "", setup=chosen["setup"] or ""))
            tell(found[-1].said, "red" if found[-1].exit_status else "green", name)
        if as_json:
            print_json([{"said": one.said, **one.facts} for one in found])
        return max(one.exit_status for one in found)
