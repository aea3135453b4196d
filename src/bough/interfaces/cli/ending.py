"""The end of `bough run` and `bough resume`: apply when that was wished, say how it ended."""

from __future__ import annotations

from contextlib import suppress

from bough.app import Session
from bough.core.errors import BoughError, WorkspaceError
from bough.interfaces.views import Outcome
from bough.ports import Change


async def ending(session: Session, outcome: Outcome, *, apply: bool, as_json: bool) -> int:
    """The exit status. A refused `--apply` is told after the summary: the run itself is completed all the same."""
    changes: list[Change] = []
    refusal: BoughError | None = None
    if apply and outcome.completed:
        from bough.interfaces.cli.apply import consents

        try:
            changes = await session.apply(outcome.run, not as_json and await consents(session, outcome.run))
        except BoughError as error:
            refusal = error
    if not as_json:
        # When nobody reads the summary, the exit status still says how it went.
        with suppress(OSError):
            await _say(session, outcome, changes)
    if refusal is not None:
        raise refusal
    return outcome.exit_status


async def _say(session: Session, outcome: Outcome, changes: list[Change]) -> None:
    from bough.interfaces.terminal.changes import change_lines
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.summary import summary
    from bough.interfaces.terminal.words import many

    stat = ""
    with suppress(WorkspaceError):  # a summary without the files is still a summary
        stat = await session.diff(outcome.run, stat=True) if outcome.tree else ""
    page = paper()
    if not page.terminal:
        page.line("")  # on a terminal the live tree stood here
    summary(page, await session.view(outcome.run), stat, await session.evidence(outcome.run))
    if changes:
        page.line("")
        page.line(f"Applied: {many(len(changes), 'file')} in your files now.")
        change_lines(page, changes)
    page.flush()
