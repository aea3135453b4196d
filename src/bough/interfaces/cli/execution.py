"""Running while a person, a log or a program watches: what `bough run` and `bough resume` share."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from bough.app import Choices, RunObserver, Session
from bough.core import events as e
from bough.core.errors import BoughError, ClaimLost
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Step
from bough.interfaces.cli.display import Display
from bough.interfaces.cli.options import enable_gc
from bough.interfaces.terminal.output import Line
from bough.ports import Approval
from bough.steering import Stop
from bough.views.run_view import Outcome

LOOK = 30.0
"""Seconds between looks at the clock while waiting for the quota."""


async def run_to_end(
    session: Session,
    display: Display,
    work: Callable[[RunObserver], Awaitable[Outcome]],
    asked: Step | None = None,
    there: bool = False,
    elsewhere: bool = False,
) -> Outcome:
    """Do the work with the display on; Ctrl-C stops it so that it can be resumed.

    `asked`: the goal, if the person is asked about its plan. `there`: a person can answer questions about the work.
    `elsewhere`: they answer from another process."""
    stop = Stop()
    name: list[str] = []

    def recorded(record: e.Record) -> None:
        if isinstance(record.event, e.RunStarted | e.RunResumed):
            name[:] = [record.run]
        if lines := make_announcement(session, record):
            display.announce(lines, more=isinstance(record.event, e.RunStarted | e.BaseStarted))
        display.recorded(record)

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

    unwatch = stop.watch(stopping)
    enable_gc()
    try:
        with display.shown(), handle_interrupts(stop):
            watch = _make_watch(stop, display, recorded, asked, there)
            return await work(replace(watch, approve=partial(_wait_for_answer, stop)) if elsewhere else watch)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except BoughError as error:
        if name and not isinstance(error, ClaimLost) and "bough resume" not in str(error):
            error.args = (f"{str(error).rstrip('.')}. Nothing is lost: `bough resume {name[0]}` continues the run.",)
        raise
    finally:
        unwatch()


def retry_on_quota(
    session: Session, display: Display, choices: Choices, work: Callable[[RunObserver], Awaitable[Outcome]]
) -> Callable[[RunObserver], Awaitable[Outcome]]:
    """The work, resumed whenever the quota resets, if the person wants that. No process holds the run meanwhile."""

    async def patiently(watch: RunObserver) -> Outcome:
        outcome = await work(watch)
        while choices.wait_for_quota and outcome.status == "quota":
            at = time.strftime("%A, %H:%M", time.localtime(outcome.until))
            display.notice(f"Quota exhausted until {at}: the run resumes on its own then; Ctrl-C leaves it halted.")
            if not await _wait_until(outcome.until, watch.stop):
                return outcome
            display.notice("The quota should be available again: resuming.")
            outcome = await session.resume(outcome.run, choices, watch)
        return outcome

    return patiently


async def _wait_until(moment: float, stop: Stop) -> bool:
    """Wait until a time of day, even if the machine sleeps meanwhile; False if the person stops it."""
    # In short waits against the wall clock, because asyncio's clock stands still while the machine sleeps.
    while (left := moment - time.time()) > 0:
        if await stop.wait(min(left, LOOK)):
            return False
    return True


def _make_watch(
    stop: Stop, display: Display, recorded: Callable[[e.Record], None], asked: Step | None, there: bool
) -> RunObserver:
    if asked is None and not there:
        return RunObserver(stop, display.progress, recorded, display.doing, display.waiting)
    from bough.interfaces.cli.questions import Person

    person = Person(asked or Step("", ""), display, stop)

    def seen(record: e.Record) -> None:
        if isinstance(record.event, e.RequirementsRead):
            person.requirements = record.event.requirements
        recorded(record)

    approve = person.approve if asked is not None else None
    return RunObserver(stop, display.progress, seen, display.doing, display.waiting, approve, person.ask, person.permit)


async def _wait_for_answer(stop: Stop, steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
    """The answer comes from elsewhere, unless the person wants to stop."""
    await stop.wait()
    return None


def make_announcement(session: Session, record: e.Record) -> list[Line]:
    from bough.interfaces.terminal.banner import render_banner

    return render_banner(record, session.confinement)


@contextmanager
def handle_interrupts(stop: Stop) -> Iterator[None]:
    """The first SIGINT, SIGTERM or SIGHUP asks for a stop after the current effect, the second for one now; the third
    waits for nothing."""
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
