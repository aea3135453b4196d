"""The commands `bough run` and `bough resume`."""

import os
from collections.abc import Mapping
from contextlib import closing, nullcontext, suppress
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.interfaces.cli import options as cli
from bough.interfaces.cli.options import run_to_end as wait
from bough.interfaces.cli.printing import ask_consent, ask_permission, read_given, warn_ignored

if TYPE_CHECKING:
    import subprocess

    from bough.core.planning.plan import Plan, Step
    from bough.interfaces.terminal.output import Display


USUAL = {"check", "model", "file", "jobs", "rounds", "cost", "yes", "apply", "continues", "web", "help", "help_all"}
"""The common options, which --help shows; --help-all shows all options."""
ALL = "bough.help_all"


class _RunCommand(cli.BoughCommand):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # An option with an optional value would take the next word, the goal, as its value.
        return super().parse_args(ctx, [f"{arg}=*" if arg == "--allow-test-changes" else arg for arg in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = [one for one in options if one.name in USUAL or ctx.meta.get(ALL)]
        with formatter.section("Options"):
            formatter.write_dl([record for one in shown if (record := one.get_help_record(ctx))])

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        if ctx.meta.get(ALL):
            more = cleandoc((self.help or "").partition("\f")[2])
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(more)


def _print_all(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


@cli.bough_command(
    'bough run "Make the tests pass" --check "pytest -q" --model anthropic:claude-sonnet-4-5',
    "bough run --workflow bug-fix --input issue='Totals are off by one'",
    'bough run --continue amber-heron "Now document it in the manual"',
    "bough run --file goal.md --check 'make test' --rounds 60 --max-cost 2",
    cls=_RunCommand,
)
@click.argument("goal", required=False)
@cli.dir_option
@cli.option("--file", "F", "Read the goal from a file; `-` is standard input.")
@cli.option("--workflow", "F", "Run a workflow: a TOML file, or the name of a listed one.")
@cli.option("--input", "NAME=VALUE", "An input of the workflow.", to="pairs", multiple=True)
@cli.option("--continue", "RUN", "Follow up on a finished run.", to="continues", default="")
@cli.flag("--fresh", "Run every step of the workflow, even those an earlier run completed.")
@cli.option("--check", "CMD", "The command that proves the goal (default: the tests bough finds).")
@cli.option(
    "--max-depth",
    "N",
    "How deep the tree may grow below the goal (0: the goal is never split; default: 3).",
    click.IntRange(0, 3),
)
@cli.option(
    "--jobs",
    "N",
    "Agents that may work at once (default: 1; 4, or the workers' slots, for a workflow with parallel steps).",
    click.IntRange(1, 1000),
)
@cli.option("--remote", "GIT", "A git remote that all workers reach, for a large project.", default="")
@cli.flag("--flat", "Run the goal as one piece of work, without a plan.", default=None)
@cli.flag("--yes", "Accept the proposed plan, and ask no questions.")
@cli.flag(
    "--ask-elsewhere", "Without a terminal: wait for your answer about the plan from the dashboard or `bough approve`."
)
@cli.option(
    "--allow-test-changes",
    "[=PATTERN]",
    "Let existing tests change what they expect: all, or those whose name or file matches the pattern.",
    multiple=True,
)
@cli.flag("--web", "Also show the run in a browser while it runs: see `bough serve`.")
@cli.run_options
@cli.flag(
    "--help-all",
    "Show every option, and more of how a run works.",
    is_eager=True,
    expose_value=False,
    callback=_print_all,
)
def command(
    goal: str | None,
    folder: Path,
    file: str | None,
    workflow: str | None,
    pairs: tuple[str, ...],
    check: str | None,
    apply: bool,
    yes: bool,
    ask_elsewhere: bool,
    web: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Work on a goal in a private workspace.

    A fast model estimates the size of the goal; a large one is planned first, and you are asked about the plan. Then
    models work on copies of the project with real tools; your files stay unchanged until you run `bough apply`.

    bough itself runs the check and calls the goal done only when it passes; when it fails, a fresh agent gets the
    failure to repair, up to three times. Ctrl-C stops the run after its current action (a model call, a tool, a check),
    a second Ctrl-C at once; `bough resume` continues it, also after a crash.

    \f

    With --workflow bough runs a plan you wrote instead; a step that an earlier run completed from the same starting
    point (instructions, inputs, model and files) is reused.

    With --continue the goal follows up on a finished run: it starts from that run's work, applied or not, and its
    agents know what was asked, done and learned there; models and check are that run's unless you give others.

    When the original tests do not pass on the new code, and nothing in the goal demands that they change, the run waits
    for you: `bough approve` accepts the change or sends it back.

    Exit status: 0 completed and proven, 3 gave up, 4 budget spent, 5 finished but not proven (or nothing changed), 6
    stopped or paused, 7 model unavailable or quota exhausted, 8 waiting for `bough approve` or `bough answer`; 2 wrong
    usage, 1 internal error."""
    from bough.interfaces.terminal.output import is_interactive

    plan = _read_work(goal, file, check, workflow, folder, pairs, chosen)
    there = not as_json and is_interactive()
    asks = "here" if there and not yes and not ask_elsewhere else "elsewhere" if ask_elsewhere and not yes else ""
    with closing(Dashboard()) if web else nullcontext() as dashboard:
        status = wait(_run(plan, folder, app.Choices(**chosen), apply, asks, as_json, dashboard))
        if there and dashboard is not None:
            dashboard.stay()
    return status


def _read_work(
    goal: str | None,
    file: str | None,
    check: str | None,
    workflow: str | None,
    folder: Path,
    pairs: tuple[str, ...],
    chosen: Mapping[str, Any],
) -> "Step | Plan":
    from bough.app.workflow_files import plan_of
    from bough.core.planning.plan import build_goal_step
    from bough.core.workflow.inputs import parse_pairs
    from bough.core.workflow.problems import WorkflowError

    if workflow is None:
        if pairs or chosen["fresh"]:
            raise click.UsageError(f"{'--input' if pairs else '--fresh'} needs --workflow F")
        return build_goal_step(read_goal(goal, file, "run"), check=check)
    others = {
        "GOAL": goal,
        "--file": file,
        "--check": check,
        "--flat": chosen["flat"],
        "--continue": chosen["continues"],
    }
    if twice := next((name for name, value in others.items() if value), None):
        raise click.UsageError(f"--workflow and {twice} are mutually exclusive: the file defines the work")
    try:
        return plan_of(workflow, folder, parse_pairs(pairs))
    except WorkflowError as error:
        for problem in error.problems[:-1]:
            click.echo(str(problem), err=True)
        raise WorkflowError(error.problems[-1:]) from None


def read_goal(goal: str | None, file: str | None, name: str) -> str:
    """Return the goal of the command `name`, from its argument or from a file."""
    if (goal is None) == (file is None):
        both = "GOAL and --file are mutually exclusive" if goal is not None else "no goal given"
        raise click.UsageError(f"{both}; write `bough {name} GOAL`, or `bough {name} --file F`")
    return goal if goal is not None else read_given(str(file))


async def _run(
    step: "Step | Plan",
    folder: Path,
    choices: "app.Choices",
    apply: bool,
    asks: str,
    as_json: bool,
    dashboard: "Dashboard | None",
) -> int:
    """Run the work, and return the exit status. `asks`: where the person answers questions: `here` (at this terminal)
    or `elsewhere` (from another process); empty: nobody answers."""
    from msgspec.structs import replace

    from bough.app.journal_location import remember_project
    from bough.core.planning.plan import Step
    from bough.interfaces.cli.execution import finish_run, make_display, retry_on_quota, run_to_end

    display = make_display(as_json)
    ask = ask_consent if asks == "here" else None
    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored, ask=ask) as opened:
        remember_project(opened.root)
        if dashboard is not None:
            dashboard.start(opened.root)
            # Print the address before the display starts drawing.
            click.echo(f"The dashboard is at {dashboard.url}", err=True)
        if choices.continues:
            choices = replace(choices, continues=await opened.find(choices.continues))
        asked = step if isinstance(step, Step) else None
        work = retry_on_quota(opened, display, choices, lambda watch: opened.start(step, choices, watch))
        return await finish_run(opened, await run_to_end(display, work, asked, asks), apply=apply, as_json=as_json)


class Dashboard:
    """The server process of `--web`: the engine never waits for a page. It ends with this command, even if this process
    is killed."""

    def __init__(self) -> None:
        from bough.installed import lacking

        if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
            raise lacking("The dashboard", "web")
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self, root: Path) -> None:
        import msgspec

        from bough.core.errors import UsageError
        from bough.trust.programs import start_own

        self._process = start_own(root, "serve", "--dir", str(root), "--json", "--until", str(os.getpid()))
        assert self._process.stdout is not None and self._process.stderr is not None
        said = self._process.stdout.readline()
        if not said:
            why = self._process.stderr.read().decode("utf-8", "replace").strip().removeprefix("bough: ")
            self.close()
            raise UsageError(f"The dashboard failed to start: {why}")
        self.url = str(msgspec.json.decode(said, type=dict[str, str | int])["url"])

    def stay(self) -> None:
        """Keep serving until the person presses Ctrl-C."""
        click.echo(f"\nThe dashboard stays at {self.url}\nuntil you press Ctrl-C.")
        with suppress(KeyboardInterrupt):
            if self._process is not None:
                self._process.wait()

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            self._process = None


@cli.bough_command("bough resume", "bough resume amber-heron --rounds 80")
@cli.run_argument
@cli.option("--check", "CMD", "The command that proves the goal from now on.", default="")
@cli.run_options
async def resume(run: str | None, folder: Path, apply: bool, as_json: bool, **chosen: Any) -> int:
    """Resume a run that was stopped or interrupted.

    It continues with the first unfinished action (a model call, a tool, a check); nothing that is finished is done
    again. Models, limits and --network are those it started with unless given here; what it has spent is never reset. A
    run that is already running is refused, naming the process; for a finished run, the summary is shown. If you did not
    begin the run on this machine, you are asked about its agents, variables, network, set-up, models and rounds, or
    allow them with the same options here; else it stays halted. Exit status: 8 then, else as for `bough run`."""
    from bough.interfaces.cli.execution import make_display

    display, choices = make_display(as_json), app.Choices(**chosen)
    async with app.open_session(folder, choices=choices) as opened:
        return await resume_run(opened, await opened.find(run), display, choices, apply, as_json)


async def resume_run(
    opened: "app.Session", name: str, display: "Display", choices: "app.Choices", apply: bool, as_json: bool
) -> int:
    """Resume a run, show it on the display, and return the exit status."""
    from bough.adapters.stores.liveness import describe_worker, is_alive, is_stopped
    from bough.core.errors import ClaimHeld
    from bough.core.ids import RUN
    from bough.interfaces.cli.execution import finish_run, retry_on_quota, run_to_end
    from bough.interfaces.terminal.output import is_interactive
    from bough.services.permissions import allow_run, list_wants
    from bough.views.run_view import LIVE_KINDS

    holder = await opened.store.holder(name, RUN)
    if holder and is_alive(holder):
        # Claiming the run would fail too, but only after everything else has been checked.
        way = f"watch it with `bough log {name} --follow`, or stop it first with `bough stop {name}`"
        if is_stopped(holder):
            way = "resume it with `fg`, or end it with `kill -9` and try again"
        raise ClaimHeld(f"{name} is already running in {describe_worker(holder)}: {way}.", holder)
    for record in await opened.store.read(name, kinds=LIVE_KINDS):
        display.seen(record)
    if (await opened.run(name)).end is not None:
        display.notice(f"{name} is finished: nothing to resume. `bough rewind {name}` reopens it.")
        return await finish_run(opened, await opened.outcome(name), apply=apply, as_json=as_json)
    asks = "here" if not as_json and is_interactive() else ""
    stored = await opened.run(name)
    wants = await list_wants(opened, stored, choices) if asks else {}
    if wants and (said := ask_permission(opened.root, name, wants)) is not None:
        allow_run(opened, stored, wants, said)
    work = retry_on_quota(opened, display, choices, lambda watch: opened.resume(name, choices, watch))
    return await finish_run(opened, await run_to_end(display, work, asks=asks), apply=apply, as_json=as_json)
