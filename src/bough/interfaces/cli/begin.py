"""Commands to begin with: a demo, what works here, the check, a plan."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.core.errors import BoughError
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.printing import ask_consent, print_json, warn_ignored

if TYPE_CHECKING:
    from bough.services.demo import Demo
    from bough.services.diagnosis import Diagnosis


@cli.bough_command("bough demo", "bough demo project", "bough demo backlog --dir /tmp/try-bough")
@click.argument("name", required=False)
@cli.option(
    "--dir",
    "D",
    "A new folder for the demo (default: a temporary one). It is not removed.",
    click.Path(path_type=Path),
    to="folder",
)
@cli.json_option("One event per line, as it happens.")
async def demo(name: str | None, folder: Path | None, as_json: bool) -> int:
    """Watch a whole run with a recorded model: no key, no network.

    The files, the edits, the workspace and the tests are real, and bough itself runs them; only the model's answers are
    replayed from a recording.

    `fix` (the default) is one task: some tests fail, and a probe finds what their repair forgot. `project` builds a
    program in three phases, two agents at a time: one makes a mistake that a bug hunter repairs, one gets stuck and its
    task is replanned. `backlog` works through five goals: three are done and proven, one conflicts with another, one is
    given up."""
    from bough.services.demo import BACKLOG, find, own_environment, unpack

    demo = find(name)
    project, recording = unpack(demo, folder)
    with own_environment():
        async with app.open_session(project, create=True) as opened:
            status = await (_run_night if name == BACKLOG else _run)(opened, demo, project, recording, as_json)
    if not as_json:
        commands = "show, bough report, bough log, bough diff, bough apply"
        nightly = "backlog report, bough diff, git log night, bough serve"
        click.echo(f"\nLook around: cd {project}, then bough {nightly if name == BACKLOG else commands}.")
    return status


async def _run(opened: "app.Session", demo: "Demo", project: Path, recording: Path, as_json: bool) -> int:
    from bough.core.planning.plan import build_goal_step
    from bough.interfaces.cli.execution import finish_run, make_display, run_to_end
    from bough.services.demo import recorded_model

    display = make_display(as_json)
    notice = f"The model is a recording; everything else is real, in {project}."
    if as_json:
        display.notice(notice)
    else:
        display.announce([[(notice, "yellow")]])
    model = recorded_model(recording)
    choices = app.Choices(model=model, fast_model=model, strong_model=model, flat=demo.flat, jobs=demo.jobs)
    step = build_goal_step(demo.goal, check=demo.check)
    outcome = await run_to_end(display, lambda watch: opened.start(step, choices, watch))
    return await finish_run(opened, outcome, apply=False, as_json=as_json)


async def _run_night(opened: "app.Session", demo: "Demo", project: Path, recording: Path, as_json: bool) -> int:
    from bough.core.backlog.reading import read_list
    from bough.interfaces.cli.backlog_run import watch_night
    from bough.services.backlog import add_goals, load_backlog
    from bough.services.demo import LIST, RecordedNight
    from bough.services.night import NightPlan
    from bough.trust.files import Place

    click.echo(f"The model is a recording; everything else is real, in {project}.", err=as_json)
    entries = read_list(Place(project, LIST).text(), LIST)
    model = RecordedNight(recording, {name: entry.goal for name, entry in entries})
    choices = app.Choices(model=model, fast_model=model, strong_model=model, flat=True, max_depth=0)
    await add_goals(opened, await load_backlog(opened), entries)
    return await watch_night(opened, NightPlan("backlog", demo.jobs, together="night", ask=False), choices, as_json)


@cli.bough_command("bough doctor", "bough doctor --model ollama:qwen3")
@cli.dir_option
@cli.option("--model", "M", "Try this model on three tiny tasks (this calls it and may cost money).")
@cli.flag("--forget", "With --model: forget what was learned about it, and do nothing else.")
@cli.option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
@cli.option("--protocol", None, "With --model: the protocol to use (default: auto-detected).", cli.PROTOCOLS)
@cli.json_option("As a JSON object.")
async def doctor(
    folder: Path, model: str | None, forget: bool, base_url: str | None, protocol: Any, as_json: bool
) -> int:
    """Check what works here and what is missing.

    Checks Python, git, the journal, ripgrep, the sandbox (which it tries to break out of), API keys (never shown) and
    whether the model can be reached; then runs the project's check, as `bough check` does. No model is called unless
    you name one with --model: bough then tries it on three tiny tasks in a temporary folder, says in four lines whether
    it is reachable, which protocol it uses and why, how large its window is and whether its price is known, and
    remembers what it learned for later runs. Exit status: 0 if a run could start, else 1."""
    from bough.services.diagnosis import Diagnosis, diagnose, diagnose_model, forget_model

    if forget and model is None:
        raise click.UsageError("--forget needs --model.")
    choices = app.Choices(model=model, base_url=base_url, protocol=protocol)
    if forget:
        known = await forget_model(folder, choices)
        sys.stdout.write(f"{model}: {'forgotten' if known else 'nothing was learned about it'}.\n")
        return 0
    python = Diagnosis("python", True, f"{sys.version.split()[0]} ({sys.executable})")
    findings = [python, *await diagnose(folder, choices)]
    if model is not None and all(finding.ok for finding in findings if finding.needed):
        findings += await diagnose_model(folder, choices)
    if not as_json:
        _print_findings(findings)
    if all(finding.ok for finding in findings if finding.what in ("git", "journal", "settings", "sandbox")):
        findings.append(await _check_project(folder))
        if not as_json:
            _print_findings(findings[-1:])
    ready = all(finding.ok for finding in findings if finding.needed)
    if as_json:
        listed = [{"what": f.what, "ok": f.ok, "needed": f.needed, "says": f.says} for f in findings]
        print_json({"ready": ready, "findings": listed})
    else:
        verdict = "A run can start here." if ready else "A run cannot start here until the problems above are fixed."
        sys.stdout.write(f"\n{verdict}\n")
    return 0 if ready else 1


async def _check_project(folder: Path) -> "Diagnosis":
    """Run the project's check as a run would. Failing tests do not prevent a run."""
    from bough.interfaces.terminal.banner import describe_check
    from bough.services.diagnosis import Diagnosis, run_check
    from bough.views.event_lines import describe_base

    try:
        found = await run_check(folder)
    except BoughError as error:
        return Diagnosis("check", False, str(error))
    if not found.command:
        return Diagnosis("check", False, "none found: pass one with `bough run --check CMD`", needed=False)
    says = f"{describe_check(found)}: {describe_base(found)}"
    if found.lacking:
        return Diagnosis("check", False, f"{says}. {found.way_out}")
    passes = found.exit_status == 0 or bool(found.aside and found.failed <= len(found.aside))
    return Diagnosis("check", passes, says, needed=False, fails=not passes)


def _print_findings(findings: "list[Diagnosis]") -> None:
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import pad

    page = make_output()
    for finding in findings:
        if finding.ok:
            mark, style = "✔ ok      ", "green"
        elif finding.fails:
            mark, style = "✘ fails   ", "yellow"
        else:
            mark, style = ("✘ problem ", "red") if finding.needed else ("○ missing ", "yellow")
        page.paragraph((mark, style), "  ", (pad(finding.what, 8), "bold"), "  ", text=finding.says, indent=22)
    page.flush()


NOT_FOUND = 5
SCOUT = (
    "The manifests, task files and CI lines here do not say how this project is tested. `bough check --scout` lets a "
    "model look and tries what it proposes (it needs a model: `--model M`, or `[models] main` in your settings)."
)


@cli.bough_command("bough check", "bough check --check 'pytest -q' --dir packages/web", "bough check --scout --model M")
@cli.dir_option
@cli.option("--check", "CMD", "Try this command instead of the one bough finds.")
@cli.sandbox_options
@cli.setup_option
@cli.flag("--cached", "Show the last result on these files, with its age; run nothing.")
@cli.flag(
    "--scout", "Where the project's own files leave the check unclear, let a model look for it (ten requests at most)."
)
@cli.model_option
@cli.json_option("As a JSON object.")
async def check(folder: Path, check: str | None, cached: bool, scout: bool, as_json: bool, **chosen: Any) -> int:
    """Run the project's check as bough finds it, before any work.

    Shows which check a run would use, why, in which environment, and whether it passes on your files now. It runs
    every time, in a private checkout as in a run; only --cached shows the last result instead. Your files are only
    read. A model is called only with --scout; a check that it finds is tried, kept for this project and shown from then
    on.

    Exit status: 0 passes, 1 fails, 2 cannot start (something is missing), 5 no check found."""
    from bough.core import events as e
    from bough.core.planning.plan import build_goal_step
    from bough.interfaces.terminal.banner import print_failing, render_banner
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import format_duration

    page, choices = make_output(), app.Choices(**chosen)

    def recorded(record: e.Record) -> None:
        if not as_json:
            page.lines(render_banner(record, ""))
            page.flush()

    async with app.open_session(folder, create=True, choices=choices) as opened:
        step, watch = build_goal_step("Go.", check=check), app.RunObserver(recorded=recorded)
        found, at = await opened.check(step, choices, watch, cached=cached, scout=scout)
    if as_json:
        print_json(found)
    else:
        if cached and at:
            for event in (e.BaseStarted(found.command, found.why, found.environment), found):
                recorded(e.Record(0, "", "", 0, at, event))
            page.line((f"  {format_duration(time.time() - at)} ago", "dim"))
        elif cached:
            page.line(("No result is kept for these files as they are: run `bough check`.", ""))
        print_failing(page, found)
        if not cached and not scout and not check and (found.absent or not found.command):
            page.paragraph("  ", text=SCOUT, indent=2)
        page.flush()
    if not found.command:
        return NOT_FOUND
    if found.lacking:
        return 2
    return 0 if found.exit_status == 0 and not found.failed else 1


@cli.bough_command(
    'bough plan "Add undo and redo to the editor" --model anthropic:claude-sonnet-4-5',
    "bough plan --file goal.md --save plan.toml && bough run --workflow plan.toml",
)
@click.argument("goal", required=False)
@cli.dir_option
@cli.option("--file", "F", "Read the goal from a file; `-` is standard input.")
@cli.option("--check", "CMD", "The command that proves the goal (default: the tests bough finds).")
@cli.option("--max-depth", "N", "How deep the plan may be below the goal (default: 3).", click.IntRange(1, 3))
@cli.option("--save", "F", "Write the plan as a workflow, to edit and run.", click.Path(path_type=Path, dir_okay=False))
@cli.model_options
async def plan(
    goal: str | None, folder: Path, file: str | None, check: str | None, save: Path | None, as_json: bool, **chosen: Any
) -> None:
    """Plan a goal without running it.

    A fast model estimates the size of the goal; if it is more than one piece of work, a planner splits it into steps,
    each with acceptance criteria and a check. The steps of a phase are planned when it starts. Nothing is run, and
    nothing in the project changes."""
    from bough.core.planning.plan import build_goal_step, count_leaves
    from bough.interfaces.cli.run import read_goal
    from bough.interfaces.terminal.output import is_interactive, make_output
    from bough.interfaces.terminal.plan_tree import print_plan
    from bough.views.formatting import format_usage, pluralize

    step = build_goal_step(read_goal(goal, file, "plan"), check=check)
    choices = app.Choices(**chosen)
    ask = ask_consent if is_interactive() and not as_json else None
    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored, ask=ask) as opened:
        planned = await opened.plan(step, choices, app.RunObserver())
    if save is not None:
        from bough.core.workflow.writing import write_workflow

        save.write_text(write_workflow(planned.plan), encoding="utf-8")
    if as_json:
        print_json(planned)
        return
    whole, estimate = planned.plan.goal, planned.estimate
    if estimate is not None and estimate.reason:
        click.echo(f"{estimate.reason}\n")
    for refused in planned.refused:
        click.echo(f"A plan was rejected: {refused}")
    print_plan(make_output(), planned.plan, planned.requirements)
    steps = pluralize(count_leaves(whole), "piece") + " of work" if whole.steps else "one piece of work"
    click.echo(f"\n{steps}; planning used {format_usage(planned.spend)}.")
    click.echo(f"Written to {save}: `bough run --workflow {save}` runs it." if save else "")
