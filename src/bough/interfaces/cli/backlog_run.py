"""The commands `bough backlog run` and `bough backlog check`."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.printing import ask_consent, ask_permission, print_json, print_json_line, warn_ignored

if TYPE_CHECKING:
    from bough.core import events as e
    from bough.core.backlog.state import Backlog
    from bough.core.budget.limits import Spend
    from bough.interfaces.terminal.output import Line
    from bough.services.night import NightPlan


@cli.bough_command(
    "bough backlog run --jobs 3 --until 07:00 --max-cost 20 --per-goal 2",
    "bough backlog run --apply-together night-2026-05-01 --checks 2",
)
@cli.option("--jobs", "N", "Goals at once (default: 1, or [backlog] jobs).", click.IntRange(1, 100))
@cli.option("--until", "HH:MM", "When the night ends: then no goal begins, and those that run are stopped.")
@cli.option("--per-goal", "USD", "Limit on the cost of one goal in US dollars.", cli.POSITIVE)
@cli.option(
    "--pr",
    None,
    "Push proven branches and open draft pull requests with your own `gh`, or not (default: none).",
    click.Choice(("draft", "none")),
)
@cli.flag("--partial", "Make branches also for work that is finished and not proven.")
@cli.flag("--give-up", "Give up a stuck goal instead of waiting for your answer.")
@cli.option(
    "--apply-together",
    "BRANCH",
    "Merge all proven goals on this branch, and prove them together.",
    to="together",
    default="",
)
@cli.flag("--no-review", "Begin without the review of the goals (`bough backlog check`) that a terminal gets.")
@cli.option("--max-disk", "GB", "Limit on the disk space that bough's files of this project may take.", cli.POSITIVE)
@cli.dir_option
@cli.list_option
@cli.work_options(" of each goal", "Limit on cost of the whole night in US dollars")
async def run(
    jobs: int | None,
    until: str | None,
    per_goal: float | None,
    pr: str | None,
    partial: bool,
    give_up: bool,
    together: str,
    no_review: bool,
    max_disk: float | None,
    folder: Path,
    name: str,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Work through the goals of a backlog.

    Every goal is a run of its own from the same files, with its own branch (bough/RUN), budget and verdict; only what
    is proven gets a branch. A goal that is stuck gets the same help as any run; if nothing helps, it waits for
    `bough answer` and the next goal begins, or it is given up. A goal starts when the goals it needs are proven, from
    their work. Ctrl-C stops after the current actions; the same command continues, also after a crash, and several such
    processes share the goals, also on several machines with the same --store.

    With --apply-together finished branches are merged one after the other and proven on top of each other, by the whole
    check and by the tests and probes of the earlier goals; one that breaks another is left out and named.

    At a terminal you are asked about goals that you did not add on this machine; else these wait for `bough trust`.

    Exit status: as for `bough backlog report`."""
    from bough.app.journal_location import remember_project
    from bough.core.errors import NotFound
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.backlog import load_backlog
    from bough.services.night import NightPlan
    from bough.services.night_branch import open_pull_request

    over = parse_until(until, time.time()) if until else 0.0
    cost, choices = chosen.pop("cost"), app.Choices(**chosen)
    ask = ask_consent if not as_json and is_interactive() else None
    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored, ask=ask) as opened:
        remember_project(opened.root)
        backlog = await load_backlog(opened, name)
        if not backlog.items:
            raise NotFound(f"The backlog {name} is empty: add a goal with `bough backlog add GOAL`.")
        if ask is not None:
            await _ask_first(opened, backlog, folder)
        if ask is not None and not no_review:
            await _review(opened, backlog, choices)
        usual = opened.config.backlog
        disk, most = int((max_disk or usual.max_disk or 0) * 1e9), per_goal or usual.per_goal
        deliver = open_pull_request if (pr or usual.pr) == "draft" else None
        plan = NightPlan(
            name, jobs or usual.jobs, over, cost, most, together, disk, partial, ask=not give_up, deliver=deliver
        )
        return await watch_night(opened, plan, choices, as_json)


async def _ask_first(opened: "app.Session", backlog: "Backlog", folder: Path) -> None:
    from bough.services.permission_store import SETTINGS
    from bough.services.permissions import list_asked, list_barred

    if await list_barred(opened, backlog):
        for subject, asked in (await list_asked(folder)).items():
            if subject != SETTINGS and (said := ask_permission(opened.root, subject, asked.wants)) is not None:
                asked.answer(said)


async def _review(opened: "app.Session", backlog: "Backlog", choices: "app.Choices") -> None:
    """Review the goals while the person is there to answer. If the model fails, the work begins without a review."""
    from bough.core.errors import Unavailable
    from bough.services.backlog_review import review_goals

    try:
        backlog, spend = await review_goals(opened, backlog, choices)
    except Unavailable as error:
        click.echo(f"The goals were not reviewed: {error}")
        return
    await tell_findings(opened, backlog, spend, asks=True)


def parse_until(text: str, now: float) -> float:
    """Return the next moment at which the clock shows that time of day."""
    from bough.services.hooks import find_next_moment

    try:
        return find_next_moment(text, now)
    except ValueError:
        raise click.UsageError(f"`{text}` is not a time of day: write --until 07:00") from None


async def watch_night(opened: "app.Session", plan: "NightPlan", choices: "app.Choices", as_json: bool) -> int:
    """Work through the backlog, report events and the outcome, and return the exit status. Ctrl-C stops the work so
    that it can be continued."""
    import asyncio

    from bough.core.backlog.state import Backlog
    from bough.interfaces.cli.execution import handle_interrupts
    from bough.interfaces.terminal.night_page import NightDisplay, print_page
    from bough.interfaces.terminal.output import make_output
    from bough.ports.steering import Stop
    from bough.services.backlog import load_page
    from bough.services.night import NightObserver, work_through

    stop, display = Stop(), NightDisplay(make_output())

    def listed(backlog: "Backlog", record: "e.Record") -> None:
        if as_json:
            print_json_line(record)
        else:
            display.listed(record)
            if told := _tell(backlog, record):
                display.tell(told)

    def merged(record: "e.Record") -> None:
        if not as_json:
            display.tell(_tell(Backlog(plan.name), record))

    watch = NightObserver(stop, listed, print_json_line if as_json else display.recorded, merged, display.doing)
    stop.watch(lambda: None if as_json else display.tell([("Stopping: the same command continues.", "")]))
    cli.enable_gc()
    try:
        with handle_interrupts(stop), nullcontext() if as_json else display.shown():
            backlog = await work_through(opened, plan, choices, watch)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    night = await load_page(opened, backlog, time.time())
    if not as_json:
        page = make_output()
        page.line("")
        print_page(page, night)
    return night.exit_status


def _tell(backlog: "Backlog", record: "e.Record") -> "Line":
    """Describe on one line what happened to the backlog, or to its night branch; empty: nothing notable."""
    from bough.core import events as e
    from bough.core.tree.task_state import State
    from bough.views.formatting import first_sentence, format_clock, pluralize
    from bough.views.vocabulary import STATUS_STYLES, STATUS_WORDS

    clock, style, text = format_clock(record.at), "", ""
    item = backlog.items.get(record.task)
    match record.event:
        case e.NightStarted():
            text = f"the night begins with {pluralize(len(backlog.items), 'goal')}"
        case e.GoalTaken(run) if item is not None:
            text = f"{item.name}: {first_sentence(item.entry.title)} ({run})"
        case e.GoalSettled(report) if item is not None:
            said = STATUS_WORDS.get(report.status, report.status)
            style = STATUS_STYLES.get(report.status, "yellow")
            text = f"{item.name}: {said}{f' on {report.branch}' if report.branch else ''} – {report.why}"
            text += "".join(f"; conflicts with {name} in {', '.join(at)}" for name, at in report.conflicts.items())
        case e.GoalsListed(entries) if backlog.open_night is not None:
            text = f"{', '.join(entries)}: added to the list"
        case e.GoalDropped(name):
            text = f"{name}: dropped from the list"
        case e.NightJoining(run):
            text = f"merging the branches of the goals ({run})"
        case e.NightJoined() as joined:
            text = f"together: {len(joined.landed)} on {joined.branch or 'no branch'}, {len(joined.left_out)} left out"
        case e.NightEnded(why):
            text = f"the night ends: {why}"
        case e.ChildSettled(child, state, why):
            done = state is State.COMPLETED
            text = "on the night branch" if done else f"left out of the night branch – {first_sentence(why)}"
            text, style = f"{child}: {text}", "green" if done else "yellow"
        case _:
            return []
    return [(f"{clock}  ", "dim"), (text, style)]


@cli.bough_command("bough backlog check", "bough backlog check --fast-model openai:gpt-5-mini --json")
@cli.dir_option
@cli.list_option
@cli.model_options
async def check(folder: Path, name: str, as_json: bool, **chosen: Any) -> int:
    """Review the goals before `bough backlog run` begins.

    A fast model reads each goal once and reports goals that are vague, contradictory, duplicate or too large; bough
    itself reports needs that are missing and goals without a check. At a terminal you can answer at once: your answer
    is added to the goal. The cost counts towards the limit of the next night (`bough backlog run`), which begins with
    the same review at a terminal, unless --no-review.

    Exit status: 0 when nothing was found, 8 when something waits for your answer."""
    from bough.core.errors import NotFound
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.backlog import load_backlog
    from bough.services.backlog_review import review_goals
    from bough.services.permissions import list_barred

    choices, asks = app.Choices(**chosen), is_interactive() and not as_json
    async with app.open_session(
        folder, choices=choices, tell=warn_ignored, ask=ask_consent if asks else None
    ) as opened:
        backlog = await load_backlog(opened, name)
        if not backlog.items:
            raise NotFound(f"The backlog {name} is empty: add a goal with `bough backlog add GOAL`.")
        for goal, why in (await list_barred(opened, backlog)).items():
            click.echo(f"{goal} is not reviewed: {why}", err=True)
        backlog, spend = await review_goals(opened, backlog, choices)
        left = await tell_findings(opened, backlog, spend, asks=asks, quiet=as_json)
    if as_json:
        print_json({"findings": left, "spend": spend})
    return 8 if left else 0


async def tell_findings(
    opened: "app.Session", backlog: "Backlog", spend: "Spend", *, asks: bool, quiet: bool = False
) -> dict[str, Any]:
    """Show the findings, and, if `asks`, let the person answer them. Return the unanswered findings, by goal."""
    from msgspec import to_builtins
    from msgspec.structs import replace

    from bough.interfaces.terminal.output import make_output
    from bough.services.backlog import edit_goal
    from bough.services.backlog_review import add_answer
    from bough.views.formatting import first_sentence, format_usage, one_line, pluralize

    found = {item.name: item for item in backlog.items.values() if item.findings and not item.dropped and not item.run}
    left: dict[str, Any] = {}
    out = make_output()
    if not quiet and spend.rounds:
        said = pluralize(len(found), "goal") if found else "nothing"
        out.paragraph(text=f"The goals were reviewed ({format_usage(spend)}): {said} to look at.")
    for item in found.values():
        goal, open_ = item.entry.goal, []
        if not quiet:
            out.line((item.name, "bold"), f"  {first_sentence(item.entry.title)}")
        for one in item.findings or ():
            if not quiet:
                out.line(("  ", ""), (one.kind, "yellow"), f": {one_line(one.says)}")
                out.flush()
            answer = ""
            if asks and one.question:
                answer = click.prompt(f"  {one_line(one.question)} (Enter: leave it)", default="", show_default=False)
            goal = add_answer(goal, one.question, answer) if answer.strip() else goal
            open_ += [] if answer.strip() else [to_builtins(one)]
        if goal != item.entry.goal:
            await edit_goal(opened, backlog, item, replace(item.entry, goal=goal))
        left |= {item.name: open_} if open_ else {}
    return left
