"""`bough trust`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option, option
from bough.interfaces.cli.printing import print_json

if TYPE_CHECKING:
    from bough.interfaces.terminal.output import TerminalOutput
    from bough.services.permission_store import Answers


@bough_command("bough trust", "bough trust --yes", "bough trust amber-heron --yes", "bough trust --revoke")
@click.argument("subject", required=False)
@dir_option
@click.option("--yes", "answer", flag_value="yes", help="Allow all of it here, from now on.")
@click.option("--no", "answer", flag_value="no", help="Allow none of it; it is not asked about again.")
@flag("--revoke", "Forget what you allowed and refused: it is asked about again.")
@option("--moved-from", "PATH", "Take over what you allowed where the project was before.", to="before")
@json_option("What waits for an answer and what you answered, as a JSON object.")
async def command(
    subject: str | None, folder: Path, answer: str | None, revoke: bool, before: str | None, as_json: bool
) -> int:
    """Show what this project asks for and what you allowed, and allow, refuse or revoke it.

    Three things ask: the repository's settings (bough.toml, .mcp.json), for all that could spend money, give access,
    weaken a verdict or start programs; a run that you did not begin on this machine, for its agents, variables,
    network, set-up, models and rounds; a goal of a backlog that you did not add here. Permissions never come with a
    folder, a journal or a database: they are kept in your own state folder, for this machine and this folder.

    SUBJECT is `settings`, a run, or a goal as LIST/NAME; without it, all of them. The exit status is 1 while something
    waits for an answer.
    """
    from bough.app.journal import find_project_root
    from bough.core.errors import UsageError
    from bough.interfaces.cli.consent_prompt import ask_permission
    from bough.interfaces.terminal.output import is_interactive, make_output
    from bough.services.permission_store import SETTINGS, Permissions
    from bough.services.permissions import list_asked

    root = find_project_root(folder)
    permissions = Permissions(os.environ, root)
    if before is not None and not permissions.carry_over(Path(before)):
        raise UsageError(f"You have allowed nothing for {before}: name the folder that the project was in.")
    known = [name for name in permissions.all() if subject in (None, name, name.partition(" ")[2])]
    for name in known if revoke else ():
        permissions.revoke(name)
    asked = {name: one for name, one in (await list_asked(folder)).items() if subject in (None, name)}
    if subject and not asked and not known:
        raise UsageError(f"`{subject}` asks for nothing here: `bough trust` lists what does.")
    left: dict[str, dict[str, str]] = {}
    for name, one in asked.items():
        said = {"yes": True, "no": False}.get(answer or "")
        if answer is None and is_interactive() and not as_json and not revoke:
            said = ask_permission(root, name, one.wants)
        if said is None:
            left[name] = dict(one.wants)
        else:
            one.answer(said)
    answers = permissions.all()
    if as_json:
        print_json({"folder": str(root), "wishes": left.get(SETTINGS, {}), "waiting": left, "answers": answers})
    else:
        shown = {name: one for name, one in answers.items() if subject in (None, name, name.partition(" ")[2])}
        _print(make_output(), left, shown, root)
    return 1 if left else 0


def _print(page: TerminalOutput, left: dict[str, dict[str, str]], answers: dict[str, Answers], root: Path) -> None:
    from bough.services.permissions import BEGAN

    def tell(what: str, name: str, wants: dict[str, str]) -> None:
        listed = ", ".join(f"{want.partition(' ')[0]} = {value}" for want, value in wants.items() if want != BEGAN)
        page.paragraph(text=f"{what} {name}: {listed or 'the run as it began'}")

    for name, wants in left.items():
        tell("Waits for your answer:", name, wants)
    for name, one in answers.items():
        for what, wants in (("Allowed:", one.allowed), ("Not allowed:", one.refused)):
            if wants:
                tell(what, name, wants)
    if not left and not answers:
        page.paragraph(text=f"Nothing in {root} asks for more, and you have allowed nothing there.")
