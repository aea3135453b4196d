"""The end of `bough run` and `bough resume`: apply if requested, and say how it ended."""

from __future__ import annotations

from contextlib import suppress

from bough.app import Session
from bough.core.errors import BoughError, WorkspaceError
from bough.ports import FileChange
from bough.views.run_view import Outcome


async def finish_run(session: Session, outcome: Outcome, *, apply: bool, as_json: bool) -> int:
    """Return the exit status. A refused `--apply` is reported after the summary: the run itself is still completed."""
    changes: list[FileChange] = []
    refusal: BoughError | None = None
    if apply and outcome.completed:
        from bough.interfaces.cli.apply import confirm_edges

        try:
            changes = await session.apply(outcome.run, not as_json and await confirm_edges(session, outcome.run))
        except BoughError as error:
            refusal = error
    if not as_json:
        # When nobody reads the summary, the exit status still says how it ended.
        with suppress(OSError):
            await _print_summary(session, outcome, changes)
    if refusal is not None:
        raise refusal
    return outcome.exit_status


async def _print_summary(session: Session, outcome: Outcome, changes: list[FileChange]) -> None:
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.parts import print_changes
    from bough.interfaces.terminal.summary import print_summary
    from bough.views.formatting import pluralize

    stat = ""
    with suppress(WorkspaceError):  # a summary without the files is still a summary
        stat = await session.diff(outcome.run, stat=True) if outcome.tree else ""
    page = make_output()
    if not page.terminal:
        page.line("")  # on a terminal the live tree was here
    print_summary(page, await session.view(outcome.run), stat, await session.evidence(outcome.run))
    if changes:
        page.line("")
        page.line(f"Applied: {pluralize(len(changes), 'file')} changed.")
        print_changes(page, changes)
    page.flush()
