"""Commands about what belongs to the person: permissions, settings, their shell."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option, option
from bough.interfaces.cli.printing import ask_permission, print_json

if TYPE_CHECKING:
    from bough.interfaces.terminal.output import TerminalOutput
    from bough.services.permission_store import Answers


@bough_command("bough trust", "bough trust --yes", "bough trust amber-heron --yes", "bough trust --revoke")
@click.argument("subject", required=False)
@dir_option
@click.option("--yes", "answer", flag_value="yes", help="Allow all that is asked for, here and from now on.")
@click.option("--no", "answer", flag_value="no", help="Allow nothing, and do not ask again.")
@flag("--revoke", "Forget what you allowed and refused, so that you are asked again.")
@option("--moved-from", "PATH", "Take over what you allowed in the folder where the project was before.", to="before")
@json_option("What waits for an answer and what you answered, as a JSON object.")
async def trust(
    subject: str | None, folder: Path, answer: str | None, revoke: bool, before: str | None, as_json: bool
) -> int:
    """Show what this project asks for and what you allowed, and allow, refuse or revoke it.

    Three things ask: the repository's settings (bough.toml, .mcp.json), for all that could spend money, give access,
    weaken a verdict or start programs; a run that you did not begin on this machine, for its agents, variables,
    network, set-up, models and rounds; a goal of a backlog that you did not add here. Permissions never come with a
    folder, a journal or a database: they are kept in your own state folder, for this machine and this folder.

    SUBJECT is `settings`, a run, or a goal as LIST/NAME; without it, all of them. The exit status is 1 while something
    waits for an answer."""
    from bough.app.journal import find_project_root
    from bough.core.errors import UsageError
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


def _print(page: "TerminalOutput", left: dict[str, dict[str, str]], answers: "dict[str, Answers]", root: Path) -> None:
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


@bough_command("bough config", "bough config --all", "BOUGH_BUDGET_ROUNDS=80 bough config")
@dir_option
@flag("--all", "Also settings that are not set anywhere.", "everything")
@json_option("As a JSON object.")
def config(folder: Path, everything: bool, as_json: bool) -> None:
    """Show which settings are in force, and where they come from.

    Later sources override earlier ones: your own file (~/.config/bough/config.toml), the project's (bough.toml, or
    [tool.bough] in pyproject.toml), BOUGH_SECTION_KEY variables, and command-line options. The project's file may lower
    limits; it needs your consent to raise them or to choose a model."""

    from bough.services.permission_store import find_effective_settings

    found = find_effective_settings(folder, everything)
    if as_json:
        print_json(found)
        return
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import count_cells, one_line, pad, shorten_home

    page = make_output()
    for label, place in (("yours", found.person_file), ("project", found.project_file)):
        there = "" if place and Path(place).exists() else " (does not exist)"
        page.line((pad(label, 9), "dim"), shorten_home(place) + there)
    page.line("")
    if not found.settings:
        page.paragraph(text="Nothing is set: `bough config --all` shows the defaults.")
    width = max((count_cells(setting.name) for setting in found.settings), default=0)
    for setting in found.settings:
        style = "dim" if setting.source == "default" else ""
        value = setting.value or "(none)"
        source = (shorten_home(setting.source), "dim")
        page.line((pad(setting.name, width), style), "  ", (value, style), "  ", source)
    for name, value in found.ignored.items():
        page.paragraph(
            text=f"The project asks for {one_line(name)} = {one_line(value)}, which is ignored: "
            "`bough run --trust-config` allows it."
        )


@bough_command(
    "echo 'eval \"$(bough completion bash)\"' >> ~/.bashrc",
    "echo 'eval \"$(bough completion zsh)\"' >> ~/.zshrc",
    "bough completion fish > ~/.config/fish/completions/bough.fish",
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print shell completion for bash, zsh or fish.

    Commands, options, their values and the names of runs are completed."""
    from click.shell_completion import get_completion_class

    from bough.interfaces.cli.entry import COMPLETE, bough

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(bough, {}, "bough", COMPLETE).source())
