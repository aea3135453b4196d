"""What a person can do to a list of goals. Nothing that an operation needs is loaded here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


@operation(of="list", begins=True)
async def add_goal(opened: Session, backlog: Backlog, *, fields: GoalEntry) -> ChangedList:
    """Put a goal on the list."""
    from bough.services.backlog import add_goals

    (added,) = await add_goals(opened, backlog, [("", fields)])
    return ChangedList(list=backlog.name, goal=added.name, said=f"Added {added.name} to the {backlog.name}.")


@operation(of="list")
async def accept_goal(opened: Session, backlog: Backlog, *, goal: str) -> ChangedList:
    """Put a goal that an agent proposed on the list."""
    from bough.services.backlog import add_goals, list_proposals

    found = [("", one.entry) for one in await list_proposals(opened, backlog) if one.name == goal]
    if not found:
        raise NotFound(f"No goal `{goal}` is proposed: `bough backlog list --proposed` lists them.")
    (added,) = await add_goals(opened, backlog, found)
    return ChangedList(list=backlog.name, goal=added.name, said=f"Added {added.name} to the {backlog.name}.")


@operation(of="list")
async def edit_goal(opened: Session, backlog: Backlog, *, goal: str, fields: dict[str, Any]) -> ChangedList:
    """Change those fields of a goal; what somebody else changes meanwhile stays."""
    from bough.services import backlog as lists

    found = backlog.find(goal)
    await lists.edit_goal(
        opened, backlog, found, read_value("fields", {**to_builtins(found.entry), **fields}, GoalEntry)
    )
    late = found.name in await lists.find_held(opened, backlog)
    said = f"Changed {found.name}.{' Its run has begun with what it said before.' if late else ''}"
    return ChangedList(list=backlog.name, goal=found.name, said=said)


@operation(of="list")
async def move_goal(opened: Session, backlog: Backlog, *, goal: str, before: str = "") -> ChangedList:
    """Move a goal before another one, or to the end."""
    from bough.services.run_messages import find_person

    found, other = backlog.find(goal), backlog.find(before).name if before else ""
    if other == found.name:
        raise UsageError(f"{found.name} cannot come before itself.")
    await opened.store.post(backlog.stream, CONTROL, e.GoalMoved(found.name, other, find_person()))
    said = f"Moved {found.name} {f'before {other}' if other else 'to the end'}."
    return ChangedList(list=backlog.name, goal=found.name, said=said)


@operation(of="list")
async def drop_goal(opened: Session, backlog: Backlog, *, goal: str) -> ChangedList:
    """Remove a goal from the list. One that is running is stopped; its run and its work stay."""
    from bough.services.run_messages import find_person

    name = backlog.find(goal).name
    await opened.store.post(backlog.stream, CONTROL, e.GoalDropped(name, find_person()))
    needing = [one.name for one in backlog.items.values() if name in one.entry.needs and not one.dropped]
    left = f" {', '.join(needing)} cannot begin any more: `bough backlog edit` changes needs." if needing else ""
    return ChangedList(list=backlog.name, goal=name, said=f"Dropped {name}.{left}")


@operation(of="list")
async def stop_night(opened: Session, backlog: Backlog) -> ChangedList:
    """Ask every process that works through the list to stop, as Ctrl-C does."""
    from bough.services.run_messages import find_person

    await opened.store.post(backlog.stream, CONTROL, e.StopRequested(by=find_person()))
    said = "The night stops after the current effects. Continue it whenever you like."
    return ChangedList(list=backlog.name, goal="", said=said)
