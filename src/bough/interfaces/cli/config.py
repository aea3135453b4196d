"""`bough config`"""

from __future__ import annotations

from pathlib import Path

from bough.interfaces.cli.options import bough_command, dir_option, flag, json_option
from bough.interfaces.cli.printing import print_json


@bough_command("bough config", "bough config --all", "BOUGH_BUDGET_ROUNDS=80 bough config")
@dir_option
@flag("--all", "Also settings that are not set anywhere.", "everything")
@json_option("As a JSON object.")
def command(folder: Path, everything: bool, as_json: bool) -> None:
    """Show which settings are in force, and where they come from.

    Later sources override earlier ones: your own file (~/.config/bough/config.toml), the project's (bough.toml, or
    [tool.bough] in pyproject.toml), BOUGH_SECTION_KEY variables, and command-line options. The project's file may lower
    limits; it needs your consent to raise them or to choose a model.
    """
    from bough.services.settings_consent import find_effective_settings

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
