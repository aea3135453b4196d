"""Commands that show runs: their state, evidence and work."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bough import app
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.printing import print_json, write_output

if TYPE_CHECKING:
    from bough.views.stats import Stats


NEWEST = 20


@cli.bough_command("bough runs", "bough runs --all --json")
@cli.dir_option
@cli.flag("--all", f"Not only the newest {NEWEST}.", "everything")
@cli.json_option("As a JSON list.")
async def runs(folder: Path, everything: bool, as_json: bool) -> None:
    """List the runs of this project.

    The newest is last. A run is `interrupted` when it is unfinished and no process is running it: `bough resume`
    continues it."""
    from bough.core.errors import NewerRun, NotFound
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_runs
    from bough.views.formatting import pluralize
    from bough.views.task_rows import run_to_dict

    names: list[str] = []
    newer: list[str] = []
    found = []
    try:
        async with app.open_journal(folder) as opened:
            names = await opened.store.runs()
            for name in names if everything else names[-NEWEST:]:
                try:
                    run = await opened.view(name)
                    found.append((run, *await opened.standing(run)))
                except NewerRun as error:
                    newer.append(str(error))
    except NotFound:
        found = []  # If bough has not been used here, the list is empty; that is no error.
    for said in newer:
        click.echo(f"bough: {said}", err=True)
    if as_json:
        print_json([run_to_dict(*entry) for entry in found])
        return
    page = make_output()
    if not found and not newer:
        page.paragraph(text="There are no runs here yet: start one with `bough run GOAL`.")
        return
    page.lines(render_runs([(run, status) for run, status, _ in found], page.width) if found else ())
    if len(names) > len(found) + len(newer):
        hidden = pluralize(len(names) - len(found) - len(newer), "older run")
        page.line((f"{hidden} not shown: `bough runs --all` lists all.", "dim"))


@cli.bough_command("bough show", "bough show amber-heron --depth 1", "bough show amb --flat", "bough show amb --json")
@cli.look_at_run
@cli.option("--depth", "N", "At most N levels below the goal.", click.IntRange(0))
@cli.flag("--flat", "Only the leaves, each with its full path.")
@cli.json_option("As a JSON object: the run and its tasks.")
async def show(opened: "app.Journal", name: str, depth: int | None, flat: bool, as_json: bool) -> None:
    """Show a run as a tree: states, rounds, checks, cost.

    RUN is a run's name, its beginning, or `latest` (the default). For each task: its state, the rounds used and granted
    (including the tasks below it; `own` excludes them), the result of its check, and its cost; `total` includes the
    tasks below it, even those that --depth hides."""
    from bough.views.task_rows import list_rows, run_to_dict, task_to_dict

    found = await opened.view(name)
    status, holder = await opened.standing(found)
    waiting = await opened.waiting(name) if holder else ""
    rows = list_rows(found, depth=depth, flat=flat)
    if as_json:
        tasks = [task_to_dict(row) for row in rows]
        print_json({**run_to_dict(found, status, holder), "waiting": waiting or None, "tasks": tasks})
        return

    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_heading, render_table
    from bough.views.formatting import one_line

    page = make_output()
    page.lines(render_heading(found, status, time.time() if holder else None))
    if waiting:
        page.paragraph(text=one_line(waiting), style="yellow")
    page.line("")
    page.lines(render_table(rows, page.width))


@cli.bough_command("bough status", "bough status amber-heron buffer/insert-line", "bough status --json")
@cli.run_argument
@cli.task_argument
@cli.json_option("As a JSON object.")
async def status(run: str | None, task: str | None, folder: Path, as_json: bool) -> None:
    """Show where a run or a task stands and what to do next.

    RUN is a run's name, its beginning, or `latest` (the default); TASK is a path as shown by `bough show` (default: the
    goal). A task path alone refers to the latest run. Shows its state and the reason, the verdict with its evidence,
    the files changed so far, notes, and the tree below it."""
    from bough.core.ids import GOAL
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.status_page import print_status
    from bough.views.next_steps import list_next_steps
    from bough.views.run_view import LIVE_KINDS, view_run
    from bough.views.task_rows import describe_progress, list_rows, run_to_dict, task_to_dict

    async with app.open_session(folder) as opened:
        name, path = await opened.find_task(run, task)
        found = view_run(name, await opened.store.read(name, kinds=LIVE_KINDS))
        status, holder = await opened.standing(found)
        drawn = list_rows(found, path or GOAL)
        detail = await opened.look_at_task(name, path or GOAL)
        goal = (path or GOAL) == GOAL and detail.created
        base = (await opened.work(name)).base if goal else detail.base
        changes = await opened.workspaces.changes(base, detail.tree) if detail.tree else []
        table = await opened.evidence(name) if (path or GOAL) == GOAL else None
    if as_json:
        facts = task_to_dict(drawn[0])
        facts["files"] = [change.path for change in changes]
        facts["doing"] = found.tasks[drawn[0].task.path].doing if holder else None
        facts["notes"] = [{"kind": note.kind, "text": note.text} for note in detail.talk.notes]
        facts["claim"] = detail.acceptance.claim
        facts["requirements"] = [
            {"number": row.requirement.number, "text": row.requirement.text, "standing": row.standing}
            for row in (table.rows if table is not None else ())
        ]
        facts["below"] = [row.task.path for row in drawn[1:]]
        facts["progress"] = describe_progress(drawn) or None
        steps = [{"command": command, "use": use} for command, use in list_next_steps(found, status, bool(changes))]
        print_json({**run_to_dict(found, status, holder), "task": facts, "next": steps})
        return
    print_status(make_output(), found, status, holder, drawn, detail, changes, table)


@cli.bough_command("bough report", "bough report --full", "bough report amber-heron --json")
@cli.look_at_run
@cli.flag("--full", "The whole text of each requirement, with all evidence.")
@cli.flag("--markdown", "As Markdown for a pull request: at most 60 lines, the rest folded.")
@cli.json_option("As a JSON object.")
async def report(opened: "app.Journal", name: str, full: bool, markdown: bool, as_json: bool) -> int:
    """Show the evidence for each requirement of the goal.

    One line per requirement of RUN (default: the latest). With --full also where to read how it is met, the tasks that
    cover it with their verdicts, commits and tests, the probes written by examiners who did not see the work being
    done, and what in the goal is not a demand.

    \b
    proven                     your check, a test you had or a probe fails without the work and passes with it
    refuted                    a probe that the goal asks for fails
    tested only by its author  only tests of its author fail without the work
    not shown                  nothing shows that the work made the difference
    nothing to run             documents, comments, or the form of the code; the check still passes
    superseded                 a later message of yours asks for something else
    dropped                    an answer or a message of yours drops it

    Exit status: 0 when nothing is refuted, else 3."""
    from bough.interfaces.terminal.evidence import render_closing, render_evidence
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.run_tree import render_heading
    from bough.views.vocabulary import render_totals

    table = await opened.evidence(name)
    found = await opened.view(name)
    standing, _ = await opened.standing(found)
    status = 3 if table.refuted else 0
    if as_json:
        more = {"notes": table.notes, "background": table.background, "accepted_by": table.accepted}
        parts = {"needless": table.needless} if table.needless is not None else {}
        print_json({"run": name, "status": standing, "requirements": table.rows, **more, **parts})
        return status
    if markdown:
        from bough.views.markdown import render_report

        print(render_report(found, standing, table), end="")
        return status
    page = make_output()
    page.lines(render_heading(found, standing, None))
    page.line("")
    if not table.rows:
        page.paragraph(text=f"{name} has no requirements: an older version of bough wrote it, or it has not started.")
        return status
    page.line(render_totals(table))
    page.lines(render_evidence(table, page.width, whole=full))
    goal = next(iter(found.tasks.values()), None)
    if goal is not None and goal.verdict is not None and goal.verdict.unseen:
        page.paragraph(text=goal.verdict.unseen)
    closing = render_closing(table, page.width)
    if closing:
        page.line("")
    page.lines(closing)
    return status


@cli.bough_command("bough stats", "bough stats amber-heron --json")
@cli.run_argument
@cli.json_option("The numbers as JSON.")
async def stats(run: str | None, folder: Path, as_json: bool) -> int:
    """Show statistics: tasks, repairs, checks, time.

    For all runs of the project, or for one. Warns when the numbers suggest a change."""
    from bough.views.stats import KINDS, compute_stats

    async with app.open_journal(folder) as opened:
        names = [await opened.find(run)] if run is not None else await opened.store.runs()
        records = [record for name in names for record in await opened.store.read(name, kinds=KINDS)]
    made = compute_stats(records)
    if as_json:
        print_json(made)
    else:
        click.echo("\n".join(_render_lines(made, len(names))))
    return 0


def _render_lines(made: "Stats", runs: int) -> list[str]:
    from bough.views.formatting import format_count, format_money, pluralize
    from bough.views.vocabulary import PATTERNS, RUNGS, describe_roles

    lines = [
        (
            f"{_format_part(made.completed, made.tasks)} tasks completed, in {pluralize(runs, 'run')} and "
            f"{pluralize(made.rounds, 'round')}"
        ),
        f"{_format_part(made.repaired, made.repairs)} repairs by bug hunters made the check pass",
        f"{_format_part(made.checks_not_found, made.checks)} tasks had no check",
        f"{_format_share(made.check_seconds, made.seconds)} of {made.seconds:.0f} s in checks",
        (
            f"{pluralize(made.disagreed, 'verdict')} that disagree with the original tests, "
            f"{pluralize(made.flaky, 'flaky test')}"
        ),
    ]
    if made.merges:
        without = f"{made.merged_without_model} of those resolved without a model"
        lines.append(f"{pluralize(made.merges, 'merge')}, {made.conflicts} with conflicts, {without}")
        price = f", {format_money(made.merge_cost)}" if made.merge_cost else ""
        rounds, tokens = pluralize(made.merge_rounds, "round"), f"{format_count(made.merge_tokens)} tokens"
        lines.append(f"merging took {made.merge_seconds:.0f} s, {rounds} and {tokens}{price}")
    if made.tokens_by_role:
        lines.append(f"tokens by role: {describe_roles(made.tokens_by_role)}")
    for what, counts, words in (("stuck work", made.signals, PATTERNS), ("rungs taken", made.rungs, RUNGS)):
        if said := [f"{words[name]} {format_times(counts[name])}" for name in words if name in counts]:
            lines.append(f"{what}: {', '.join(said)}")
    for tier, share in sorted(made.tiers.items()):
        cost = f", {share.cost:.2f} USD" if share.cost else ""
        times = f"the check passed {format_times(share.won)} after its work"
        won = "" if tier == "helpers" else f", {times if share.won else 'its work never passed a check'}"
        who = tier if tier == "helpers" else f"{tier} model"
        lines.append(f"{who}: {pluralize(share.rounds, 'round')}, {share.tokens:,} tokens{cost}{won}")
    if made.pruned:
        lines.append(f"{made.pruned:,} tokens pruned from conversations")
    if made.compacted:
        lines.append(f"{made.compacted:,} tokens saved by compaction")
    return lines + [f"! {warning}" for warning in made.warnings]


def format_times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _format_part(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({_format_share(part, whole)})" if whole else "")


def _format_share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"


STYLES = (("+++", "bold"), ("---", "bold"), ("diff ", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


@cli.bough_command("bough diff", "bough diff amber-heron --stat", "bough diff > changes.patch")
@cli.open_run
@cli.flag("--stat", "Only the files and their line counts.")
async def diff(opened: "app.Session", name: str, stat: bool) -> None:
    """Show what a run changed.

    Everything RUN (default: the latest) has changed so far, finished or not, compared with your files as they were when
    it started. In a pipe or a file the output is a plain patch."""
    from bough.interfaces.terminal.output import make_output

    diff = await opened.diff(name, stat)
    if not diff.strip():
        sys.stderr.write(f"{name} has changed nothing so far.\n")
    elif sys.stdout.isatty():
        page = make_output()
        for line in diff.splitlines():
            page.text(line, next((style for start, style in STYLES if line.startswith(start)), ""))
    else:
        # A patch must stay exact, byte for byte: file names and contents may hold anything.
        write_output("-", diff.encode("utf-8", "surrogateescape"))


@cli.bough_command("bough export --html", "bough export amber-heron --html --output review.html", "bough export --json")
@cli.run_argument
@cli.flag("--html", "As a self-contained page: RUN.html.", "as_html")
@cli.flag("--json", "The data of the page as JSON, on standard output.", "as_json")
@cli.option("--output", "F", "Write the page or the JSON to this file instead; `-` is standard output.")
async def export(run: str | None, folder: Path, as_html: bool, as_json: bool, output: str | None) -> None:
    """Write a run to one file, to read or attach.

    The page is a snapshot of the dashboard: the tree, the timeline, every conversation, all changes, checks and
    evidence. It opens offline in any browser and loads nothing. Keys are redacted as in the journal; the output of
    models, files and commands is included, so review it before you publish it."""
    if as_html == as_json:
        raise click.UsageError("pass --html or --json")
    import msgspec

    from bough.interfaces.web.export import export_run, render_page
    from bough.views.formatting import escape_json

    async with app.open_session(folder) as opened:
        name = await opened.find(run)
        data = await export_run(opened, name)
    body = render_page(data, f"{name} · bough") if as_html else escape_json(msgspec.json.encode(data)).encode() + b"\n"
    target = output or (f"{name}.html" if as_html else "-")
    write_output(target, body)
    if target != "-":
        click.echo(f"Wrote {name} to {target} ({len(body) / 1e6:.1f} MB).")
