"""Runs work with a display (for a person, a log or a program) and prints the summary: for `bough run`, `bough resume`
and `bough examine`."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import click
from msgspec.structs import replace

from bough.app import Choices, RunObserver, Session
from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.errors import BoughError, ClaimLost, UsageError, WorkspaceError
from bough.core.ids import GOAL
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Plan, Step
from bough.core.verdict.texts import FileChange
from bough.interfaces.cli.options import enable_gc
from bough.interfaces.cli.printing import print_json_line
from bough.interfaces.terminal import output
from bough.interfaces.terminal.banner import render_banner
from bough.interfaces.terminal.evidence import render_closing
from bough.interfaces.terminal.plan_tree import print_plan
from bough.interfaces.terminal.run_tree import STATUS_ICONS
from bough.ports import Approval
from bough.ports.steering import Stop
from bough.views import vocabulary
from bough.views.formatting import format_duration, format_spend, one_line, pluralize
from bough.views.next_steps import list_next_steps
from bough.views.run_view import Outcome

ADVICE = {
    "take": "",
    "ask": "This looks like more than one piece of work.",
    "recommend": "This is a large goal: running it in these steps is recommended.",
}
QUESTION = "Run this plan? [Y]es, [n]o (as one piece of work), [c]ustomize: "
CHANGE = "Say what should be different, or press Enter to edit the plan as TOML: "


class JsonDisplay(output.Display):
    """Prints one event per line, and nothing else on standard output. Events from before a resume are left out:
    `bough log --json` prints them. If the reader goes away, the run continues."""

    def recorded(self, record: e.Record) -> None:
        with suppress(OSError):
            print_json_line(record)
            sys.stdout.flush()

    def notice(self, text: str) -> None:
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)

    def waiting(self, text: str) -> None:
        if text:
            self.notice(text)


def make_display(as_json: bool) -> output.Display:
    if as_json:
        return JsonDisplay()
    page = output.make_output()
    if page.terminal and page.in_front:
        from bough.interfaces.terminal.live_display import LiveDisplay

        return LiveDisplay(page)
    from bough.interfaces.terminal.plain_display import PlainDisplay

    return PlainDisplay(page)


class Person:
    def __init__(self, goal: Step, display: output.Display, stop: Stop) -> None:
        self._goal = goal
        self._display = display
        self._stop = stop
        self.requirements: tuple[Requirement, ...] = ()
        self._one_question = asyncio.Lock()
        """Lets one task ask at a time here; meanwhile all questions can be answered elsewhere."""

    @asynccontextmanager
    async def _aside(self) -> AsyncIterator[None]:
        """Leave the terminal to the person, and tell them if the question is answered elsewhere meanwhile."""
        async with self._one_question:
            with self._display.aside():
                try:
                    yield
                except asyncio.CancelledError:
                    click.echo("\nAnswered elsewhere.")
                    raise

    async def approve(self, steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
        """Return the person's answer to a plan; None if they want to stop."""
        asked = tuple(one.text for one in self.requirements) if len(self.requirements) > 1 else ()
        plan = Plan(replace(self._goal, steps=steps, parallel=True, criteria=self._goal.criteria or asked))
        async with self._aside():
            print_plan(output.make_output(), plan, self.requirements)
            click.echo(f"\n{ADVICE[advice]}" if ADVICE[advice] else "")
            while True:
                answer = await self._read_line(QUESTION)
                if answer is None:
                    return None
                match answer.strip().lower()[:1]:
                    case "" | "y":
                        return Approval("yes")
                    case "n":
                        return Approval("no")
                    case "c":
                        changed = await self._customize(plan)
                        if changed is not None:
                            return changed
                    case _:
                        click.echo("Please answer y, n or c.")

    async def ask(self, question: str) -> str | None:
        """Return the person's answer; None if they postpone it (Ctrl-D) or want to stop."""
        async with self._aside():
            page = output.make_output()
            for line in question.splitlines():
                page.paragraph(text=line)
            page.flush()
            click.echo("Ctrl-D postpones the answer: the run waits, and `bough answer` resumes it.")
            return await self._read_line("> ", stops=False)

    async def permit(self, line: str, task: str) -> str | None:
        """Return the person's answer to a command that needs approval; None: no answer."""
        async with self._aside():
            shown = line.replace("\n", "\n  ")
            whose = f" of {task}" if task else ""
            click.echo(f"This command{whose} needs your approval:\n\n  {shown}\n")
            return await self._read_line("Run it? [y]es, [N]o, or say what to do instead: ", stops=False)

    async def _customize(self, plan: Plan) -> Approval | None:
        from bough.core.workflow.writing import write_workflow
        from bough.services.run_messages import read_own_plan

        wish = await self._read_line(CHANGE)
        if wish and wish.strip():
            return Approval("change", wish=wish.strip())
        text = write_workflow(plan)
        while True:
            edited = await asyncio.to_thread(click.edit, text, extension=".toml")
            if edited is None or not edited.strip():
                return None
            try:
                return read_own_plan(plan, edited)
            except UsageError as error:
                click.echo(str(error))
                again = await self._read_line("Edit again? [Y]es, [n]o: ")
                if again is None or again.strip().lower().startswith("n"):
                    return None
                text = edited

    async def _read_line(self, prompt: str, stops: bool = True) -> str | None:
        """Read one typed line; None at the end of input (Ctrl-D) or at a stop request (Ctrl-C). `input` in a thread
        would not do, because it cannot be cancelled."""
        click.echo(prompt, nl=False)
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[str | None] = loop.create_future()

        def read() -> None:
            text = os.read(sys.stdin.fileno(), 4096).decode(errors="replace")
            if not typed.done():
                typed.set_result(text.rstrip("\n") if text else None)

        def stopped() -> None:
            if not typed.done():
                typed.set_result(None)

        loop.add_reader(sys.stdin.fileno(), read)
        with self._stop.watch(stopped):
            try:
                line = await typed
            finally:
                loop.remove_reader(sys.stdin.fileno())
        if line is None:
            click.echo()
            if stops and not self._stop.requested:
                self._stop.request()
        return line


LOOK = 30.0
"""Seconds between checks of the clock while waiting for the quota."""


async def run_to_end(
    display: output.Display, work: Callable[[RunObserver], Awaitable[Outcome]], goal: Step | None = None, asks: str = ""
) -> Outcome:
    """Do the work while the display shows it; Ctrl-C stops the work so that it can be resumed.

    `goal`: the goal whose plan the person approves. `asks`: where the person answers questions: `here` (at this
    terminal) or `elsewhere` (from another process); empty: nobody answers."""
    stop = Stop()
    name: list[str] = []
    mounted, examines = [""], [False]
    person = Person(goal or Step("", ""), display, stop)

    def recorded(record: e.Record) -> None:
        if isinstance(record.event, e.RunStarted | e.RunResumed):
            name[:] = [record.run]
        if isinstance(record.event, e.RequirementsRead):
            person.requirements = record.event.requirements
        if isinstance(record.event, e.RunStarted):
            examines[:] = [bool(record.event.examines)]
        if lines := render_banner(record, mounted[-1], examines[0]):
            display.announce(lines, more=isinstance(record.event, e.RunStarted | e.BaseStarted))
        display.recorded(record)

    async def wait_for_answer(steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
        """Wait until the person wants to stop: an answer comes from another process, which cancels this wait."""
        await stop.wait()
        return None

    def stopping() -> None:
        again = f"`bough resume{f' {name[0]}' if name else ''}` continues"
        if stop.halt[0] == "paused":
            display.notice(f"Pausing after the current effect: {again}.")
            return
        display.notice(
            f"Stopping now: {again}; nothing is lost."
            if stop.now
            else f"Stopping after the current effect (Ctrl-C again: now): {again}."
        )

    stop.watch(stopping)
    enable_gc()
    try:
        with display.shown(), handle_interrupts(stop):
            watch = RunObserver(stop, display.progress, recorded, display.doing, display.waiting, mounted.append)
            if asks == "here":
                watch = replace(watch, approve=person.approve if goal else None, ask=person.ask, permit=person.permit)
            elif asks:
                watch = replace(watch, approve=wait_for_answer)
            return await work(watch)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except BoughError as error:
        if name and not isinstance(error, ClaimLost) and "bough resume" not in str(error):
            error.args = (f"{str(error).rstrip('.')}. Nothing is lost: `bough resume {name[0]}` continues the run.",)
        raise


def retry_on_quota(
    session: Session, display: output.Display, choices: Choices, work: Callable[[RunObserver], Awaitable[Outcome]]
) -> Callable[[RunObserver], Awaitable[Outcome]]:
    """Return a function that does the work and, if the person wants that, resumes it whenever the quota resets. While
    it waits, no process holds the run."""

    async def patiently(watch: RunObserver) -> Outcome:
        outcome = await work(watch)
        while choices.wait_for_quota and outcome.status == "quota":
            at = time.strftime("%A, %H:%M", time.localtime(outcome.until))
            display.notice(f"Quota exhausted until {at}: the run resumes on its own then; Ctrl-C leaves it halted.")
            # Wait in short steps and look at the wall clock, because asyncio's clock stops while the machine sleeps.
            while (left := outcome.until - time.time()) > 0:
                if await watch.stop.wait(min(left, LOOK)):
                    return outcome
            display.notice("The quota should be available again: resuming.")
            outcome = await session.resume(outcome.run, choices, watch)
        return outcome

    return patiently


@contextmanager
def handle_interrupts(stop: Stop) -> Iterator[None]:
    """Handle SIGINT, SIGTERM and SIGHUP: the first signal asks for a stop after the current action, the second for a
    stop now, and the third cancels the work."""
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()
    times = 0

    def interrupted() -> None:
        nonlocal times
        times += 1
        if times <= 2:
            stop.request(now=times == 2)
        elif main is not None:
            main.cancel()

    # A signal that is already ignored (nohup) stays ignored.
    signals = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    for number in signals:
        loop.add_signal_handler(number, interrupted)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def finish_run(session: Session, outcome: Outcome, *, apply: bool, as_json: bool) -> int:
    """Apply the work if wanted, print the summary, and return the exit status. If applying is refused, the error is
    raised after the summary, since the run itself is completed."""
    changes: list[FileChange] = []
    refusal: BoughError | None = None
    if apply and outcome.completed:
        try:
            changes = await session.apply(outcome.run, not as_json and await confirm_edges(session, outcome.run))
        except BoughError as error:
            refusal = error
    if not as_json:
        # If the summary cannot be written, the exit status still says how the run ended.
        with suppress(OSError):
            await _print_summary(session, outcome, changes)
    if refusal is not None:
        raise refusal
    return outcome.exit_status


async def confirm_edges(session: Session, run: str) -> bool:
    """Ask whether to apply changes that take effect on their own (hooks, CI files). Return False also if there are
    none, or if nobody can be asked."""
    if not output.is_interactive() or not (found := await session.edges(run)):
        return False
    page = output.make_output()
    page.paragraph(text=f"Some changes of {run} take effect on their own:")
    for edge in found:
        page.line(f"  {one_line(edge.path)}  {one_line(edge.why)}")
    page.flush()
    return click.confirm("Apply them too?", default=False)


async def _print_summary(session: Session, outcome: Outcome, changes: list[FileChange]) -> None:
    """Print how the run ended, according to its verdicts and its journal, never to what the model says."""
    stat = ""
    with suppress(WorkspaceError):  # Without the list of files the summary is still useful.
        stat = await session.diff(outcome.run, stat=True) if outcome.tree else ""
    run, page = await session.view(outcome.run), output.make_output()
    if not page.terminal:
        page.line("")  # On a terminal, the live tree was here, so no empty line is needed.
    style = vocabulary.STATUS_STYLES.get(run.status, "yellow")
    icon = STATUS_ICONS.get(run.status, "○")
    page.line((f"{icon} {vocabulary.describe_status(run.status, run.accepted, run.examines)}", style), f"  {run.name}")
    goal = run.tasks.get(GOAL)
    verdict = goal.verdict if goal else None
    if verdict is not None:
        page.paragraph(
            "  ", text=vocabulary.describe_verdict(verdict), indent=2, style=vocabulary.choose_style(verdict)
        )
        for line in vocabulary.list_shortcomings(verdict, 3):
            page.line("    ", (line, "dim"))
    report = goal.report if goal and run.status == "failed" else ""
    if run.status != "completed" and not report and run.summary and not (verdict and run.summary == verdict.reason):
        page.paragraph("  ", text=run.summary, indent=2)
    output.print_stat(page, stat)
    page.line((f"  {format_spend(run.spend)} · {format_duration(run.elapsed())}", "dim"))
    if report:
        page.line("")
        output.print_report(page, report)
    if run.examines:
        from bough.interfaces.cli.evidence import print_examined

        await print_examined(session, run.name, page)
    steps = list_next_steps(run, run.status, bool(stat.strip()))
    if steps:
        page.line("")
    output.print_advice(page, steps)
    if (
        run.status in vocabulary.OVER
        and not run.examines
        and (closing := render_closing(await session.evidence(outcome.run), page.width))
    ):
        page.line("")
        page.lines(closing)
    if changes:
        page.line("")
        page.line(f"Applied: {pluralize(len(changes), 'file')} changed.")
        output.print_changes(page, changes)
    page.flush()
