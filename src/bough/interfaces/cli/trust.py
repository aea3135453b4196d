"""`bough trust`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import bough_command, dir_option, json_option
from bough.interfaces.cli.printing import print_json


@bough_command("bough trust", "bough trust --yes", "bough trust --no")
@dir_option
@click.option("--yes", "answer", flag_value="yes", help="Allow all of it here, from now on.")
@click.option("--no", "answer", flag_value="no", help="Allow none of it; it is not asked about again.")
@json_option("What waits for an answer, as a JSON object.")
def command(folder: Path, answer: str | None, as_json: bool) -> int:
    """Show what this repository's settings ask for, and allow it or not.

    Most settings in a repository's bough.toml (and its .mcp.json) apply only once you have allowed them: what spends,
    opens, weakens a verdict, lends, prices or starts something. Answer here before a night of runs, where nobody is
    there to be asked; `bough run` asks at the terminal.

    The exit status is 1 while something waits for an answer.
    """
    from bough.app.settings_consent import answer_wishes, list_open_wishes
    from bough.interfaces.cli.consent_prompt import ask_consent
    from bough.interfaces.terminal.output import is_interactive, make_output

    root, wishes = list_open_wishes(folder)
    if wishes and answer is None and is_interactive() and not as_json:
        said = ask_consent(root, wishes)
        answer = None if said is None else "yes" if said else "no"
    if wishes and answer is not None:
        answer_wishes(root, wishes, allowed=answer == "yes")
    left = wishes if answer is None else {}
    if as_json:
        print_json({"folder": str(root), "wishes": left})
    else:
        page = make_output()
        what = {"yes": "Allowed: ", "no": "Not allowed: "}.get(answer or "", "Waits for your answer: ")
        listed = ", ".join(f"{name} = {value}" for name, value in wishes.items())
        page.paragraph(text=f"{what}{listed}" if wishes else f"The settings in {root} ask for nothing more.")
    return 1 if left else 0
