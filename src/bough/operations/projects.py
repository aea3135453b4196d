"""The operations on a project besides its runs and backlogs. Each imports what it needs when it is called."""

import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

from bough.core.errors import UsageError
from bough.operations.runs import RunResult
from bough.operations.table import OperationResult, operation
from bough.views.formatting import format_size, pluralize
from bough.views.vocabulary import describe_status

if TYPE_CHECKING:
    from bough.app.session import Session

HookEvent = Literal[
    "run_finished", "given_up", "budget", "needs_you", "backlog_finished", "before_apply", "before_push"
]
AGES = {"h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0, "m": 30 * 86_400.0, "y": 365 * 86_400.0}
SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
MOST_CHECKS = 40
"""How often the check runs at most to find parts of a change that nothing needs."""


class CalledHooks(OperationResult, frozen=True, kw_only=True):
    event: str
    calls: list[Any]


class RemovedRuns(OperationResult, frozen=True, kw_only=True):
    removed: list[str]


class PrunedRuns(OperationResult, frozen=True, kw_only=True):
    runs: list[str]
    removed: bool
    before: int
    """The bytes that bough's files took before."""
    after: int
    """The bytes that bough's files take now."""


class ExaminedChange(RunResult, frozen=True, kw_only=True):
    status: str
    """`completed`: the change is proven; `failed`: it is refuted; `not_proven`: neither."""
    requirements: Any


@operation(
    "bough hooks test needs_you",
    "bough hooks test before_push",
    of="project",
    command="hooks test",
    begins=True,
    person=True,
    json="As a JSON object: each call and its result.",
)
async def test_hooks(opened: "Session", *, event: HookEvent) -> CalledHooks:
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
)
async def examine(
    opened: "Session",
    choices: Any = None,
    attend: Any = None,
    tell: Callable[[str], None] = lambda text: None,
    *,
    what: str = "",
    goal: Annotated[str, "What the change should achieve (default: its commit messages)."] = "",
    base: Annotated[str, "What the change is compared with (default: where the branch left main)."] = "",
    check: Annotated[str, "The command that has to pass (default: the tests bough finds)."] = "",
    needless: Annotated[bool, f"Also find parts that the goal does not need: at most {MOST_CHECKS} checks."] = False,
) -> ExaminedChange:
    """Judge a change that anybody made.

    WHAT is a branch, a range A..B, a commit, a patch file or a pull request ('#123', with your own `gh`); without it,
    your uncommitted changes. You see its purpose (--goal, or its commit messages) before it costs anything.

    The check runs on the files without and with the change. Then an examiner (a model that sees only the goal and the
    interface of the code) writes test cases; bough runs them on both sides. Nothing is repaired, and none of your files
    is changed: the code runs in private copies, in the sandbox.

    An examination is a run like any other: `bough show`, `report`, `resume` and `serve` know it, and
    `bough run --continue RUN "…"` repairs what was refuted.

    Exit status: 0 proven, 3 refuted, 5 not shown (neither of the two), 8 needs your word (`bough approve`); 4
    budget spent, 6 stopped, 7 model unavailable, 2 wrong usage or the check cannot run here, 1 internal error."""
    from bough.app.choices import Choices, RunObserver
    from bough.app.journal_location import remember_project
    from bough.services import examine as service
    from bough.services.needless import find_needless

    remember_project(opened.root)
    change, choices = await service.find_change(opened, what, base), choices or Choices()
    before, head = await service.take_change(opened, change)
    step, said = service.choose_goal(change, head, goal, check or None)
    tell(said)
    begin = partial(service.examine, opened, change.says, before, step, choices)
    outcome = await service.find_examined(opened, before, step) if needless else None
    if outcome is not None:
        tell(f"{outcome.run} has already examined this change: its result is used.")
    else:
        outcome = await (attend(begin) if attend is not None else begin(RunObserver()))
    if needless and outcome.status in service.JUDGED:
        tell(f"Taking parts of the change out, one after the other: at most {MOST_CHECKS} checks.")
        try:
            await find_needless(opened, outcome.run, choices, MOST_CHECKS)
        except UsageError as error:
            tell(str(error))
    rows, status = (await opened.evidence(outcome.run)).rows, outcome.exit_status
    said = f"Examined {change.says}: {describe_status(outcome.status)}."
    return ExaminedChange(run=outcome.run, status=outcome.status, requirements=rows, said=said, exit_status=status)


@operation(
    "bough rm amber-heron",
    "bough rm amber-heron teal-finch --yes",
    of="project",
    person=True,
    json="As a JSON object: the runs that were removed.",
)
async def rm(
    opened: "Session",
    *,
    runs: tuple[str, ...],
    yes: Annotated[bool, "Also remove work that was never applied."] = False,
) -> RemovedRuns:
    """Remove runs, with their work.

    Their events, checkouts and stored files are deleted; applied changes stay in your files. Work that was never
    applied is removed only with --yes. A live run is not removed: stop it first."""
    names = list(dict.fromkeys([await opened.find(run) for run in runs]))
    unapplied = [name for name in names if not (await opened.run(name)).applied and await opened.diff(name, True)]
    if unapplied and not yes:
        raise UsageError(f"The work of {', '.join(unapplied)} was never applied: pass --yes to remove it anyway.")
    for name in names:
        await opened.remove(name)
    await opened.tidy()
    return RemovedRuns(removed=names, said=f"Removed {names[0] if len(names) == 1 else pluralize(len(names), 'run')}.")


@operation(
    "bough prune --dry-run",
    "bough prune --older-than 2w",
    "bough prune --max-size 2G",
    of="project",
    person=True,
    json="As a JSON object: the runs, and bytes before and after.",
)
async def prune(
    opened: "Session",
    *,
    older_than: Annotated[
        str, "Runs that ended longer ago: 12h, 30d, 2w, 6m, 1y (default: 30d, unless --max-size is given)."
    ] = "",
    max_size: Annotated[str, "Remove the oldest until .bough is at most this size: 500M, 2G."] = "",
    unfinished: Annotated[bool, "Also remove runs that could be resumed."] = False,
    dry_run: Annotated[bool, "Only list the runs."] = False,
) -> PrunedRuns:
    """Remove old runs.

    Runs are chosen by age, by the size of .bough, or both. Live runs are kept, and so are those that can be resumed,
    unless you pass --unfinished. Applied changes stay in your files; unapplied work is removed with its run."""
    age = _read_amount(older_than or ("" if max_size else "30d"), AGES, "d")
    size, before, now = _read_amount(max_size, SIZES, ""), opened.size(), time.time()
    ended = await opened.list_removable(unfinished)
    chosen = [name for name, at in ended.items() if now - at > age]
    left, killed = [name for name in ended if name not in chosen], list[str]()
    if not dry_run:
        killed = await opened.clear_inspections()
        for name in chosen:
            await opened.remove(name)
        await opened.tidy()
    while not dry_run and left and opened.size() > size:
        chosen.append(left.pop(0))
        await opened.remove(chosen[-1])
        await opened.tidy()
    after = opened.size()
    said = [f"Removed what {pluralize(len(killed), 'killed check')} left behind."] if killed else []
    if chosen and dry_run:
        said.append(f"Would remove {pluralize(len(chosen), 'run')}: {', '.join(chosen)}.")
    elif chosen:
        uses = f".bough uses {format_size(after)}, down from {format_size(before)}"
        said.append(f"Removed {pluralize(len(chosen), 'run')}: {uses}.")
    said = said or [f"Nothing to remove: .bough uses {format_size(before)}."]
    return PrunedRuns(runs=chosen, removed=not dry_run, before=before, after=after, said="\n".join(said))


def _read_amount(text: str, units: Mapping[str, float], usual: str) -> float:
    """Read a number with a unit, such as `30d` or `2G`. Return infinity for an empty text."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]?)(?:i?b)?", text.strip().lower())
    if text and (found is None or (found[2] or usual) not in units):
        raise UsageError(f"`{text}` is not an amount: give a number and one of {', '.join(filter(None, units))}.")
    return float(found[1]) * units[found[2] or usual] if found else inf
