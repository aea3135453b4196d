"""The operations on a backlog, which is a list of goals. Each imports what it needs when it is called."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import to_builtins

from bough.core import events as e
from bough.core.backlog.entry import GoalEntry
from bough.core.errors import NotFound, UsageError
from bough.core.ids import CONTROL
from bough.operations.table import OperationResult, operation, read_value

if TYPE_CHECKING:
    from bough.app.session import Session
    from bough.core.backlog.state import Backlog


class ChangedList(OperationResult, frozen=True, kw_only=True):
    list: str
    goal: str


class SyncedList(OperationResult, frozen=True, kw_only=True):
    added: Sequence[str]
    dropped: Sequence[str]
    edited: Sequence[str]
    taken: Sequence[str]
    kept: Sequence[str]
    refused: dict[str, str]
    commented: Sequence[str]


class ScheduledList(OperationResult, frozen=True, kw_only=True):
    list: str
    at: str
    system: str = ""
    """The system that runs the timer, such as systemd; empty if none was installed."""


Goals = str | tuple[str, ...]
Labels = tuple[str, ...]
SYNCED = {
    "added": "Added",
    "dropped": "Dropped, because its issue is closed:",
    "edited": "Its issue was edited (--edits takes the new text over if the goal has not begun):",
    "taken": "Changed",
    "kept": "Kept, because it has begun, although its issue is closed:",
    "refused": "Not added:",
    "commented": "Commented on the issue of",
}


def _name_all(goal: Goals) -> tuple[str, ...]:
    return (goal,) if isinstance(goal, str) else goal


@operation(of="list", begins=True)
async def add_goal(opened: "Session", backlog: "Backlog", *, fields: GoalEntry) -> ChangedList:
    """Add a goal to the backlog."""
    from bough.services.backlog import add_goals

    (added,) = await add_goals(opened, backlog, [("", fields)])
    return ChangedList(list=backlog.name, goal=added.name, said=f"Added {added.name} to the {backlog.name}.")


@operation("bough backlog accept amber-heron-812", of="list", command="backlog accept")
async def accept_goal(opened: "Session", backlog: "Backlog", *, goal: Goals) -> ChangedList:
    """Accept goals that agents proposed, and add them to the backlog. `bough backlog list --proposed` lists them."""
    from bough.services.backlog import add_goals, list_proposals

    proposed = {one.name: one.entry for one in await list_proposals(opened, backlog)}
    for name in _name_all(goal):
        if name not in proposed:
            raise NotFound(f"No goal `{name}` is proposed: `bough backlog list --proposed` lists them.")
    added = await add_goals(opened, backlog, [("", proposed[name]) for name in _name_all(goal)])
    said = "\n".join(f"Added {one.name} to the {backlog.name}." for one in added)
    return ChangedList(list=backlog.name, goal=", ".join(one.name for one in added), said=said)


@operation(of="list")
async def edit_goal(opened: "Session", backlog: "Backlog", *, goal: str, fields: dict[str, Any]) -> ChangedList:
    """Change these fields of a goal. Other fields stay as they are."""
    from bough.services import backlog as lists

    found = backlog.find(goal)
    await lists.edit_goal(
        opened, backlog, found, read_value("fields", {**to_builtins(found.entry), **fields}, GoalEntry)
    )
    late = found.name in await lists.find_held(opened, backlog)
    said = f"Changed {found.name}.{' Its run has already begun with the old version.' if late else ''}"
    return ChangedList(list=backlog.name, goal=found.name, said=said)


@operation(
    "bough backlog move fix-totals --before docs", "bough backlog move 3 --last", of="list", command="backlog move"
)
async def move_goal(
    opened: "Session",
    backlog: "Backlog",
    *,
    goal: str,
    before: Annotated[str, "The goal before which this one is put."] = "",
    last: Annotated[bool, "Put the goal at the end (the default)."] = False,
) -> ChangedList:
    """Move a goal within the backlog. Goals begin in this order, those with a higher priority first."""
    from bough.services.run_messages import find_person

    found, other = backlog.find(goal), backlog.find(before).name if before else ""
    if other and last:
        raise UsageError(f"{found.name} cannot be both before {other} and last: choose one.")
    if other == found.name:
        raise UsageError(f"{found.name} cannot come before itself: name another goal.")
    await opened.store.post(backlog.stream, CONTROL, e.GoalMoved(found.name, other, find_person()))
    said = f"Moved {found.name} {f'before {other}' if other else 'to the end'}."
    return ChangedList(list=backlog.name, goal=found.name, said=said)


@operation("bough backlog drop fix-totals", "bough backlog drop 3 4", of="list", command="backlog drop")
async def drop_goal(opened: "Session", backlog: "Backlog", *, goal: Goals) -> ChangedList:
    """Remove goals from the backlog. A goal that is running is stopped; its run and its work stay."""
    from bough.services.run_messages import find_person

    said = []
    for name in (names := [backlog.find(one).name for one in _name_all(goal)]):
        await opened.store.post(backlog.stream, CONTROL, e.GoalDropped(name, find_person()))
        needing = [one.name for one in backlog.items.values() if name in one.entry.needs and not one.dropped]
        left = f" {', '.join(needing)} cannot begin any more: `bough backlog edit` can change that." if needing else ""
        said.append(f"Dropped {name}.{left}")
    return ChangedList(list=backlog.name, goal=", ".join(names), said="\n".join(said))


@operation("bough backlog stop", of="list", command="backlog stop")
async def stop_night(opened: "Session", backlog: "Backlog") -> ChangedList:
    """Ask every process that works through the backlog to stop, as Ctrl-C does."""
    from bough.services.run_messages import find_person

    if backlog.open_night is None:
        raise UsageError(f"{backlog.name} is not being worked through: nothing to stop. `bough backlog run` starts it.")
    await opened.store.post(backlog.stream, CONTROL, e.StopRequested(by=find_person()))
    said = "Asked the night to stop after its current actions. `bough backlog run` continues it."
    return ChangedList(list=backlog.name, goal="", said=said)


@operation(
    "bough backlog sync github --label bough",
    "bough backlog sync github --comment",
    of="list",
    command="backlog sync",
    begins=True,
    person=True,
)
async def sync(
    opened: "Session",
    backlog: "Backlog",
    issues: Any = None,
    *,
    where: Literal["github"],
    labels: Annotated[Labels, "Only issues with one of these labels."] = (),
    edits: Annotated[bool, "Goals that have not begun take over the edited text of their issue."] = False,
    comment: Annotated[bool, "Write state and branch into one comment on each issue whose goal has begun."] = False,
    yes: Annotated[bool, "Accept all issues, which anybody can open, if no --label is given."] = False,
) -> SyncedList:
    """Bring the backlog up to date with the issues, with your own `gh`.

    New issues are added, once each; goals of closed issues are dropped if they have not begun; edited issues are
    reported. As with `import`, the text of an issue becomes the goal and nothing else. A goal that you dropped stays
    dropped."""
    from bough.services.issue_sync import comment_on_issues, read_tracker, sync_issues

    if not (labels or yes or issues is not None):
        raise UsageError(
            "Without --label, anybody can open an issue that becomes a goal: choose a label, or pass --yes."
        )

    found = read_tracker(where, labels, 1000, opened.root, "all") if issues is None else issues
    done, refused = await sync_issues(opened, backlog.name, found, edits=edits)
    done["commented"] = await comment_on_issues(opened, backlog.name, time.time()) if comment else []
    facts: dict[str, Any] = {what: done.get(what, []) for what in SYNCED} | {"refused": refused}
    lines = [
        f"{SYNCED[what]} {goal}{f': {goals[goal]}' if isinstance(goals, dict) else ''}"
        for what, goals in facts.items()
        for goal in goals
    ]
    return SyncedList(said="\n".join(lines) or "Nothing has changed.", **facts)


@operation(
    'bough backlog schedule "22:30" --label bough',
    'bough backlog schedule "22:30" --install',
    of="list",
    command="backlog schedule",
    begins=True,
    person=True,
)
async def schedule(
    opened: "Session",
    backlog: "Backlog",
    *,
    at: str = "",
    labels: Annotated[Labels, "Sync the issues with this label first."] = (),
    install: Annotated[bool, "Install the timer, in place of an earlier one."] = False,
    remove: Annotated[bool, "Remove the timer."] = False,
) -> ScheduledList:
    """Work through the backlog every day at a set time, with a system timer.

    Prints the timer for systemd and for cron; --install installs it with the one that your system has. Each backlog has
    its own timer. It starts `bough backlog sync` (with --label) and `bough backlog run`. `bough backlog list` shows it.
    A timer does not see your shell's variables: keep keys in the keyring, and everything else in your settings."""
    from bough.services import schedule as timers

    if bool(at) == remove or (install and remove):
        raise UsageError("A schedule needs a time: give a TIME (with --install to install it), or --remove.")
    chosen = timers.make_schedule(opened.root, backlog.name, at or "00:00", labels)
    if remove:
        said = "Removed the timer." if timers.remove(chosen) else "There is no timer: nothing to remove."
        return ScheduledList(list=backlog.name, at="", said=said)
    if install:
        system = timers.install(chosen)
        said = f"`bough backlog run` starts every day at {chosen.at}, by {system}."
        return ScheduledList(list=backlog.name, at=chosen.at, system=system, said=said)
    texts = {
        str(chosen.script): chosen.render_script(),
        **chosen.render_units(),
        "or, with cron:": chosen.render_line(),
    }
    said = "\n".join(
        (*(f"# {title}\n{text}" for title, text in texts.items()), "", "Install the timer with --install.")
    )
    return ScheduledList(list=backlog.name, at=chosen.at, said=said)
