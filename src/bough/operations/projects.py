"""What a person can do in a project besides its runs and lists. Nothing that an operation needs is loaded here."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

from bough.core.errors import UsageError
from bough.operations.runs import RunResult
from bough.operations.table import OperationResult, operation
from bough.views.vocabulary import describe_status

if TYPE_CHECKING:
    from bough.app.session import Session

HookEvent = Literal[
    "run_finished", "given_up", "budget", "needs_you", "backlog_finished", "before_apply", "before_push"
]
MOST_CHECKS = 40
"""Runs of the check in which parts of a change are taken out."""


class CalledHooks(OperationResult, frozen=True, kw_only=True):
    event: str
    calls: list[Any]


class ExaminedChange(RunResult, frozen=True, kw_only=True):
    status: str
    """`completed`: it is proven; `failed`: refuted; `not_proven`: not shown."""
    requirements: Any


@operation(
    "bough hooks test needs_you",
    "bough hooks test before_push",
    of="project",
    command="hooks test",
    begins=True,
    person=True,
    json="As a JSON object: each call, and what came of it.",
)
async def test_hooks(opened: Session, *, event: HookEvent) -> CalledHooks:
    """Send an example of an event to your hooks. The exit status is 2 when one fails."""
    from bough.app.config import find_person_file, load_hooks
    from bough.services.hooks import REFUSED, Outbox, call_hook
    from bough.services.notices import make_example

    hooks, root, before = load_hooks(os.environ), opened.root, event.startswith("before_")
    commands = [getattr(hooks, event), "" if before else hooks.notify]
    if not any(commands):
        raise UsageError(
            f"You have no hook for {event}: write `{event} = …` below [hooks] in {find_person_file(os.environ)}."
        )
    notice = make_example(event, str(root))
    calls = [call_hook(Outbox(root), root, one, notice, hooks.timeout) for one in commands if one]
    lines, failed = [], False
    for call in calls:
        line = call.command if isinstance(call.command, str) else shlex.join(call.command)
        refused = before and call.status == REFUSED
        failed |= bool(call.failure) and not refused
        refusal = f"refuses: {call.err.strip() or 'it says no reason'}"
        lines.append(f"`{line}` {refusal if refused else call.failure or f'works ({call.seconds:.1f} s)'}")
        lines += [call.out.strip()] if call.out.strip() else []
    return CalledHooks(event=event, calls=calls, said="\n".join(lines), exit_status=2 if failed else 0)


@operation(
    'bough examine --goal "Totals round half up"',
    "bough examine fix-totals --max-cost 1",
    "bough examine main..fix-totals --check 'pytest -q'",
    "bough examine '#123'",
    of="project",
    begins=True,
    runs=True,
    json="One event per line, as it happens.",
)
async def examine(
    opened: Session,
    watcher: Any = None,
    *,
    what: str = "",
    goal: Annotated[str, "What the change should achieve (default: its commit messages)."] = "",
    base: Annotated[str, "What the change is compared with (default: where the branch left main)."] = "",
    check: Annotated[str, "The command that has to pass (default: the tests bough finds)."] = "",
    needless: Annotated[
        bool, f"Unless it is refuted, find what nothing that was asked needs: at most {MOST_CHECKS} checks."
    ] = False,
) -> ExaminedChange:
    """Judge a change that anybody made.

    WHAT is a branch, a range A..B, a commit, a patch file or a pull request ('#123', with your own `gh`); without it,
    your uncommitted changes. What it should achieve comes from --goal, or else from its commit messages; you see that
    before it costs anything.

    The check runs on the files without and with the change. Then an examiner, who sees only what was asked and what
    the code offers, writes cases; bough runs them on both sides. Nobody repairs anything, and nothing of yours is
    changed: the code runs in private copies, in the sandbox.

    It is a run like any other: `bough show`, `report`, `resume` and `serve` know it, and
    `bough run --continue RUN "…"` has what was refuted repaired.

    Exit status: 0 proven, 3 refuted, 5 not shown, 8 needs your word (`bough approve`); 4 budget spent, 6 stopped, 7
    model unavailable, 2 wrong usage or the check cannot run here, 1 internal error.
    """
    from bough.app.known_projects import remember_project
    from bough.services import examine as service
    from bough.services.needless import find_needless

    remember_project(opened.root)
    if asked := re.fullmatch(r"#(\d+)", what):
        change = await service.find_request(opened, asked[1], base)
    else:
        change = await service.find_change(opened, what, base)
    wanted, where = service.choose_goal(change, goal)
    trees, watcher = await service.take_change(opened, change), watcher or service.Watcher()
    watcher.tell_goal(wanted, where, trees.says)
    outcome = await watcher.attend(
        opened, lambda watch: service.examine(opened, trees, wanted, check or None, watcher.choices, watch)
    )
    if needless and outcome.status in ("completed", "not_proven"):
        watcher.notice(f"Taking parts of the change out, one after the other: at most {MOST_CHECKS} checks.")
        try:
            await find_needless(opened, outcome.run, watcher.choices, MOST_CHECKS)
        except UsageError as error:
            watcher.notice(str(error))
    rows, said = (await opened.evidence(outcome.run)).rows, f"Examined {trees.says}: {describe_status(outcome.status)}."
    status = outcome.exit_status
    return ExaminedChange(run=outcome.run, status=outcome.status, requirements=rows, said=said, exit_status=status)
