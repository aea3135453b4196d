"""The parts that differ if several machines share a journal: files come from the store, tasks go to workers, and the
database server tells the time. With a journal in the project's folder none of the adapters named here is loaded."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bough.adapters.workspaces.git import GitWorkspaces
from bough.core.errors import UsageError
from bough.ports import Store

if TYPE_CHECKING:
    from bough.adapters.executors.dbos import DbosExecutor
    from bough.adapters.stores.postgresql import PostgresStore
    from bough.app.choices import Choices


def find_shared_store(store: Store) -> "PostgresStore | None":
    """Return the store as the journal that several machines share; None if only this machine uses it."""
    inner: Any = getattr(store, "inner", store)
    if not hasattr(inner, "server"):
        return None
    found: PostgresStore = inner
    return found


def find_clock(store: Store) -> Callable[[], float]:
    journal = find_shared_store(store)
    return time.time if journal is None else journal.now


def share_workspaces(workspaces: GitWorkspaces, store: Store, remote: str) -> GitWorkspaces:
    """Return the workspaces. If several machines share the journal, make them exchange files through its server, or
    through the git remote if one is named."""
    journal = find_shared_store(store)
    if journal is not None:
        from bough.adapters.workspaces.exchange import share

        share(workspaces, journal.server, remote)
    elif remote:
        raise UsageError("--remote needs --store: it is for runs on many machines.")
    return workspaces


async def start_dispatch(store: Store, choices: "Choices") -> "DbosExecutor | None":
    """Return the executor that sends tasks without steps to workers; None if they run on this machine."""
    journal = find_shared_store(store)
    if journal is None or choices.workers is False:
        if choices.workers:
            raise UsageError("--workers needs --store: it is for runs on many machines.")
        return None
    from bough.adapters.executors.fleet import LEASE, list_present_workers

    there = [each for each in await journal.transact(list_present_workers) if not each.draining and each.silent < LEASE]
    if not there and choices.workers is None:
        return None
    if not there:
        raise UsageError(f"No workers are running: start one with `bough worker --store {journal.path}`.")
    if choices.given():
        raise UsageError("A model object cannot be sent to workers: use a named model, or run without --workers.")
    from bough.adapters.executors.dbos import DbosExecutor
    from bough.engine.run_loop import is_leaf

    return DbosExecutor(journal.server, is_leaf, sum(each.slots for each in there))
