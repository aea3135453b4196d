"""`bough receipt`"""

from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.options import bough_command, open_run, option


@bough_command(
    "bough receipt --output receipt.json", "bough receipt amber-heron --output r.json --sign ~/.ssh/id_ed25519"
)
@open_run
@option("--output", "F", "Write it there (default: standard output).")
@option("--sign", "KEY", "Sign it with your ssh key: F.sig.", click.Path(path_type=Path))
async def command(opened: "app.Session", name: str, output: str | None, sign: Path | None) -> None:
    """Write the evidence of a run to a file that anybody can recheck.

    The check and the examiner's cases run once more on the files without and with the change of RUN (default: the
    latest), and the outcomes are written down, with the trees, the command and the cases: `bough recheck F` repeats
    them in any clone that has these trees, without a model. Requirements, models and cost are claims: only a signature
    protects them. The file is an in-toto statement and holds no secrets.
    """
    if sign is not None and output is None:
        raise click.UsageError("--sign needs --output F: the signature is written to F.sig")
    await write_receipt(opened, name, output, sign)


async def write_receipt(
    opened: "app.Session", name: str, output: str | None, sign: Path | None = None, quiet: bool = False
) -> None:
    from bough.core.acceptance.receipt import write_receipt as write
    from bough.interfaces.cli.printing import write_output
    from bough.operations import OPERATIONS
    from bough.services.recheck import sign_receipt

    body = write((await OPERATIONS["receipt"].does(opened, name)).facts["receipt"])
    write_output(output or "-", body)
    if sign is not None:
        ending, signature = sign_receipt(opened, body, sign)
        write_output(f"{output}{ending}", signature)
    if output and not quiet:
        click.echo(f"Wrote what {name} shows to {output}: `bough recheck {output}` runs it again anywhere.")
