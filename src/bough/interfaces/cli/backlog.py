"""The command `bough backlog`."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.core.backlog.entry import GoalEntry
from bough.core.errors import NotFound
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.backlog_run import check, run
from bough.interfaces.cli.drawn import add_drawn
from bough.interfaces.cli.printing import print_json, read_given
from bough.operations import OPERATIONS

if TYPE_CHECKING:
    from bough.core.backlog.reading import Issue, Named
    from bough.core.backlog.state import Backlog


@click.group(
    "backlog",
    cls=cli.BoughGroup,
    epilog=cli.format_example(
        'bough backlog add "Fix the totals of empty carts" --check "pytest -q"',
        "bough backlog add --file goals.md",
        "bough backlog run --jobs 3 --until 07:00 --max-cost 20",
        "bough backlog report",
    ),
)
def command() -> None:
    """Work through a list of goals and find proven branches in the morning.

    A backlog is a list of goals of this repository. `bough backlog run` works through it: every goal is a run of its
    own with a branch, a budget and a verdict. It can be stopped or killed at any time and continues where it was, also
    on several machines that share a --store; the list may change meanwhile."""


async def _ask(opened: "app.Session", backlog: "Backlog", **given: Any) -> dict[str, Any]:
    """Show the issues that `sync` would add, and ask whether to add them, unless a label selects them."""
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.issue_sync import read_tracker

    if {"labels", "yes"} & {*given} or not is_interactive():
        return {}
    issues = read_tracker(given["where"], (), 1000, opened.root, "all")
    if not _confirm_issues([issue for issue in issues if not issue.closed]):
        raise click.Abort
    return {"issues": issues}


command.add_command(check)
command.add_command(run)
add_drawn(command, sync=_ask)


_goal_options = cli.add_options(
    cli.option("--check", "CMD", "The command that proves the goal (default: the tests that bough finds)."),
    cli.option("--needs", "ITEM", "A goal that must be proven first.", multiple=True),
    cli.option("--priority", "N", "Goals with higher numbers begin first (default: 0).", int),
    cli.option("--label", "L", "A label, for `list --label`.", to="labels", multiple=True),
    cli.option(
        "--files",
        "F",
        "A file that the goal changes: two goals that change the same one do not run at once.",
        multiple=True,
    ),
    cli.option("--rounds", "N", "Limit on the goal's rounds.", click.IntRange(1)),
    cli.option("--max-tokens", "N", "Limit on the goal's tokens.", click.IntRange(1), to="tokens"),
    cli.option("--max-cost", "USD", "… dollars.", cli.POSITIVE, to="cost"),
    cli.option("--max-minutes", "N", "… and minutes.", cli.POSITIVE, to="minutes"),
)


def _collect(said: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in said.items() if value is not None and value != ()}


@command.command(
    "add", epilog=cli.format_example('bough backlog add "Fix the totals"', "bough backlog add --file goals.md")
)
@click.argument("goal", required=False)
@cli.option("--file", "F", "Read a list: Markdown, TOML, JSON lines; `-`: stdin.")
@cli.option("--name", "ITEM", "The goal's name (default: its first words).", to="item", default="")
@_goal_options
@cli.dir_option
@cli.list_option
@cli.json_option("As a JSON list.")
async def add(
    goal: str | None, file: str | None, item: str, folder: Path, name: str, as_json: bool, **said: Any
) -> None:
    """Add goals to the backlog.

    A file is a Markdown checklist (`- [ ] GOAL`; what is indented below belongs to the goal, and lines such as
    `check: CMD`, `needs: ITEM` or `priority: 2` set its fields), TOML with [[goals]], or one JSON object a line.
    Ticked items are left out."""
    from bough.core.backlog.reading import read_list

    if (goal is None) == (file is None):
        raise click.UsageError("give one GOAL, or a list with --file F")
    if file is not None and (item or _collect(said)):
        raise click.UsageError("options for one goal and --file are mutually exclusive: the file has them")
    entries = read_list(read_given(file), file if file != "-" else "stdin") if file is not None else []
    if goal is not None:
        entries = [(item, GoalEntry(goal, **_collect(said)))]
    await _add(folder, name, entries, as_json, again=file is not None)


async def _add(folder: Path, name: str, entries: "Sequence[Named]", as_json: bool, **how: bool) -> None:
    from bough.interfaces.terminal.output import make_output
    from bough.services.backlog import add_goals, load_backlog
    from bough.views.formatting import first_sentence

    async with app.open_session(folder, create=True) as opened:
        done = await add_goals(opened, await load_backlog(opened, name), entries, **how)
    if as_json:
        print_json(
            [
                {"name": one.name, "goal": one.entry.goal, "check": one.entry.check, "refused": one.refused}
                for one in done
            ]
        )
        return
    for one in done:
        if one.refused:
            click.echo(f"bough: not added: {one.refused}", err=True)
    page = make_output()
    added = [one for one in done if not one.refused]
    for one in added:
        check = f" (check: {one.entry.check})" if one.entry.check else ""
        page.paragraph(
            ("Added ", "dim"), (one.name, "bold"), (": ", ""), text=f"{first_sentence(one.entry.title)}{check}"
        )
    if not added:
        page.line("Nothing was added.")


@command.command(
    "import",
    epilog=cli.format_example(
        "bough backlog import github --label good-first-issue",
        "gh issue list --json number,title,body,labels,url | bough backlog import github --stdin --yes",
    ),
)
@click.argument("where", type=click.Choice(("github", "gitlab")))
@cli.option("--label", "L", "Only issues with one of these labels.", to="labels", multiple=True)
@cli.option("--limit", "N", "The newest N.", click.IntRange(1, 1000), default=30, show_default=True)
@cli.flag("--stdin", "Read the issues as JSON from standard input.")
@cli.flag("--yes", "Import without asking.")
@cli.dir_option
@cli.list_option
@cli.json_option("As a JSON list.")
async def import_(
    where: str, labels: tuple[str, ...], limit: int, stdin: bool, yes: bool, folder: Path, name: str, as_json: bool
) -> None:
    """Import open issues, with your own `gh` or `glab`.

    You are shown what would be imported and asked. The text of an issue becomes the goal and nothing else: it sets no
    check, no budget, no network and no needs; set those with `bough backlog edit`."""
    from bough.core.backlog.reading import read_issues
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.issue_sync import read_tracker

    if stdin:
        read = read_issues(read_given("-"), "standard input")
        issues = [issue for issue in read if not labels or set(issue.labels) & set(labels)][:limit]
    else:
        issues = read_tracker(where, labels, limit, folder)[:limit]
    if not issues:
        raise click.UsageError("there are no such issues")
    if not yes and (stdin or as_json or not is_interactive()):
        raise click.UsageError("nobody can be asked here: pass --yes to import without asking")
    if not yes and not _confirm_issues(issues):
        return
    await _add(folder, name, [(issue.name, issue.entry) for issue in issues], as_json, keep_going=True)


def _confirm_issues(issues: "Sequence[Issue]") -> bool:
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import first_sentence, one_line, pluralize

    page = make_output()
    for issue in issues:
        size = f"  ({len(issue.entry.goal):,} characters)" if len(issue.entry.goal) > 10_000 else ""
        page.line((f"  {one_line(issue.number):>6}  ", "dim"), first_sentence(issue.title), (size, "yellow"))
    return click.confirm(f"Import {pluralize(len(issues), 'issue')} as goals?", default=False)


@command.command("list", epilog=cli.format_example("bough backlog list", "bough backlog list --label ui --json"))
@cli.option("--label", "L", "Only goals with one of these labels.", to="labels", multiple=True)
@cli.flag("--proposed", "List the goals that agents proposed instead: none begins unless you accept it.")
@cli.dir_option
@cli.list_option
@cli.json_option("As a JSON list.")
async def list_(labels: tuple[str, ...], proposed: bool, folder: Path, name: str, as_json: bool) -> None:
    """List the goals with their status, in the order in which they begin."""
    import msgspec

    from bough.app.journal import find_project_root
    from bough.core.backlog.state import Backlog
    from bough.interfaces.terminal.night_page import STYLES
    from bough.interfaces.terminal.output import make_output
    from bough.services.backlog import load_backlog, load_page
    from bough.services.schedule import find_moment
    from bough.views.formatting import first_sentence, pad
    from bough.views.night import HEADINGS

    if proposed:
        await _print_proposals(folder, name, as_json)
        return
    try:
        async with app.open_journal(folder) as opened:
            backlog = await load_backlog(opened, name)
            shown = (await load_page(opened, backlog, time.time())).goals
    except NotFound:  # If bough has not been used here, the list is empty; that is no error.
        backlog, shown = Backlog(name), ()
    goals = [goal for goal in shown if not labels or set(labels) & set(backlog.items[goal.name].entry.labels)]
    if as_json:
        items = [(backlog.items[goal.name], {"standing": goal.kind, "why": goal.why}) for goal in goals]
        print_json(
            [
                {"number": item.number, "name": item.name, **said, "run": item.run, **msgspec.to_builtins(item.entry)}
                for item, said in items
            ]
        )
        return
    out = make_output()
    if when := find_moment(find_project_root(folder), name):
        out.line((when, "dim"))
    if not goals:
        out.paragraph(text='The backlog is empty: add a goal with `bough backlog add "GOAL"`.')
        return
    room = max(len(goal.name) for goal in goals)
    states = [goal.why if goal.why == "interrupted" else HEADINGS[goal.kind].lower() for goal in goals]
    for goal, state in zip(goals, states, strict=True):
        entry, style = backlog.items[goal.name].entry, STYLES[goal.kind][1]
        more = [f"needs {', '.join(entry.needs)}"] if entry.needs else []
        more += [f"priority {entry.priority}"] if entry.priority else []
        more += [f"check: {entry.check}"] if entry.check else []
        out.line(
            (f"{goal.number:>3}  ", "dim"),
            (pad(goal.name, room), "bold"),
            (f"  {pad(state, max(map(len, states)))}  ", style),
            first_sentence(goal.title),
            (f"  ({'; '.join(more)})" if more else "", "dim"),
        )


async def _print_proposals(folder: Path, name: str, as_json: bool) -> None:
    import msgspec

    from bough.interfaces.terminal.output import make_output
    from bough.services.backlog import list_proposals, load_backlog

    async with app.open_journal(folder) as opened:
        found = await list_proposals(opened, await load_backlog(opened, name))
    if as_json:
        print_json([{"name": one.name, "why": one.why, **msgspec.to_builtins(one.entry)} for one in found])
        return
    page = make_output()
    for one in found:
        page.paragraph((f"{one.name}  ", "bold"), text=" ".join(f"{one.entry.goal} ({one.why})".split()))
    page.line("`bough backlog accept NAME` puts one on the list." if found else "No agent has proposed a goal.")


@command.command(
    "edit", epilog=cli.format_example('bough backlog edit fix-totals --check "pytest -q tests/test_cart.py"')
)
@click.argument("item")
@cli.option("--goal", "TEXT", "The goal's new text.")
@_goal_options
@cli.flag("--no-needs", "The goal needs no other goal any more.")
@cli.dir_option
@cli.list_option
async def edit(item: str, no_needs: bool, folder: Path, name: str, **said: Any) -> None:
    """Change a goal. A goal that was given up is tried again; a running goal is not affected."""
    fields = _collect(said) | ({"needs": ()} if no_needs else {})
    if not fields:
        raise click.UsageError("pass an option for what to change, such as --goal or --check")
    click.echo((await OPERATIONS["edit_goal"].call(folder, name, {"goal": item, "fields": fields})).said)


@command.command("report", epilog=cli.format_example("bough backlog report", "bough backlog report --html night.html"))
@cli.option("--html", "F", "Write the report as one HTML file.", click.Path(path_type=Path))
@cli.option("--md", "F", "Write the report as Markdown.", click.Path(path_type=Path))
@cli.dir_option
@cli.list_option
@cli.json_option("As a JSON object.")
async def report(html: Path | None, md: Path | None, folder: Path, name: str, as_json: bool) -> int:
    """Show the outcome of every goal.

    Exit status: 0 when every goal is done and proven, else by what is worst: 3 given up, 5 finished but not proven,
    8 waiting for an answer, 6 not finished."""
    import msgspec

    from bough.interfaces.terminal.night_page import print_page, render_html, render_markdown
    from bough.interfaces.terminal.output import make_output
    from bough.services.backlog import load_backlog, load_page
    from bough.trust.files import Place

    async with app.open_journal(folder) as opened:
        backlog = await load_backlog(opened, name)
        if not backlog.items:
            raise NotFound(f"There is no backlog {name} here: add a goal with `bough backlog add GOAL`.")
        night = await load_page(opened, backlog, time.time())
    for path, render in ((html, render_html), (md, render_markdown)):
        if path is not None:
            path = path.absolute()
            Place(path.parent, path.name).write(render(night).encode())
            click.echo(f"The report is in {path}.", err=True)
    if as_json:
        print_json({**msgspec.to_builtins(night), "exit_status": night.exit_status})
    elif html is None and md is None:
        print_page(make_output(), night)
    return night.exit_status
