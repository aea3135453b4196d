"""`bough backlog sync`"""

from __future__ import annotations

import time
from pathlib import Path

import click

from bough import app
from bough.interfaces.cli.backlog_run import list_option
from bough.interfaces.cli.options import BoughCommand, dir_option, flag, format_example, json_option, option
from bough.interfaces.cli.printing import print_json

SYNCED = {
    "added": "Added",
    "dropped": "Dropped, because its issue is closed:",
    "edited": "Its issue was edited (--edits takes it over until it begins):",
    "taken": "Changed",
    "kept": "Its issue is closed, and it has begun:",
    "refused": "Not added:",
    "commented": "Commented on the issue of",
}


@click.command(
    "sync",
    cls=BoughCommand,
    short_help="Bring the list up to date with the issues, with your own `gh`.",
    epilog=format_example("bough backlog sync github --label bough", "bough backlog sync github --comment"),
)
@click.argument("where", type=click.Choice(("github",)))
@option("--label", "L", "Only issues with one of these labels.", to="labels", multiple=True)
@flag("--edits", "Goals that have not begun take over the edited text of their issue.")
@flag("--comment", "Write state and branch into one comment of each issue that has begun.")
@flag("--yes", "Add issues without a label, which anybody can open, without asking.")
@dir_option
@list_option
@json_option("As a JSON object.")
async def sync(
    where: str,
    labels: tuple[str, ...],
    edits: bool,
    comment: bool,
    yes: bool,
    folder: Path,
    name: str,
    as_json: bool,
) -> None:
    """Bring the list up to date with the issues, with your own `gh`.

    New issues are added, once each; goals of closed ones are dropped if they have not begun; edited ones are named. As
    with `import`, the text of an issue becomes the goal and nothing else. A goal that you dropped stays dropped.
    """
    import msgspec

    from bough.core.backlog.reading import read_issues
    from bough.interfaces.cli.backlog import ask_tracker, confirm_issues
    from bough.interfaces.terminal.output import is_interactive, make_output
    from bough.services.issue_sync import comment_on_issues, sync_issues

    if not (labels or yes) and (as_json or not is_interactive()):
        raise click.UsageError("anybody can open an issue: choose with --label, or pass --yes")
    issues = read_issues(ask_tracker(where, labels, 1000, folder, "all"), "gh")
    issues = [issue for issue in issues if not labels or set(issue.labels) & set(labels)]
    if not (labels or yes) and issues and not confirm_issues([issue for issue in issues if not issue.closed]):
        return
    async with app.open_session(folder, create=True) as opened:
        said = msgspec.to_builtins(await sync_issues(opened, name, issues, edits=edits))
        if comment:
            from bough.trust.remotes import run_theirs

            def ask(path: str, *words: str) -> bytes:
                return run_theirs(["gh", "api", path, *words], opened.root, timeout=120).encode()

            said["commented"] = await comment_on_issues(opened, name, ask, time.time())
    if as_json:
        print_json(said)
        return
    page = make_output()
    for what, goals in said.items():
        for goal in goals:
            why = f": {goals[goal]}" if isinstance(goals, dict) else ""
            page.paragraph((f"{SYNCED[what]} ", "dim"), (goal, "bold"), text=why)
    if not any(said.values()):
        page.line("Nothing has changed.")


@click.command(
    "schedule",
    cls=BoughCommand,
    short_help="Begin the night at a time of day, by a timer of your system.",
    epilog=format_example('bough backlog schedule "22:30" --label bough', 'bough backlog schedule "22:30" --install'),
)
@click.argument("at", metavar="TIME", required=False)
@option("--label", "L", "Sync the issues with this label first.", to="labels", multiple=True)
@flag("--install", "Install it, in place of an earlier one.", "wanted")
@flag("--remove", "Remove it.", "unwanted")
@dir_option
@list_option
def schedule(at: str | None, labels: tuple[str, ...], wanted: bool, unwanted: bool, folder: Path, name: str) -> None:
    """Begin the night at a time of day, by a timer of your system.

    Prints the timer for systemd and for cron; --install installs it with whichever is there, one for each list. It
    starts `bough backlog sync` (with --label) and `bough backlog run`. `bough backlog list` shows it. A timer does not
    have your shell's variables: keep keys in the keyring, and all else in your settings.
    """
    from bough.app.journal import find_project_root
    from bough.core.ids import slug
    from bough.services import schedule as timers

    if (at is None) != unwanted or (wanted and unwanted):
        raise click.UsageError("give a TIME (with --install to install it), or --remove")
    if name != slug(name):
        raise click.UsageError(f"`{name}` is not a valid name of a backlog: use `{slug(name)}`")
    chosen = timers.make_schedule(find_project_root(folder), name, at or "00:00", labels)
    if unwanted:
        click.echo("Removed the timer." if timers.remove(chosen) else "There is no timer: nothing to remove.")
    elif wanted:
        click.echo(f"The night begins every day at {chosen.at}, by {timers.install(chosen)}.")
    else:
        for title, text in {str(chosen.script): chosen.render_script(), **chosen.render_units()}.items():
            click.echo(f"# {title}\n{text}")
        click.echo(f"# or, with cron:\n{chosen.render_line()}\n\nInstall it with --install.")
