"""A `Store` that keeps the journal in memory, for tests, and for runs that need not be resumed."""

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import islice

from bough.core.errors import ClaimHeld, ClaimLost, NotFound, VersionConflict
from bough.core.events import AnyEvent, Record
from bough.core.ids import OWN
from bough.ports import Claim


class MemoryStore:
    """Does everything that a `Store` must do, except that its events are lost when the process ends."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        gone: Callable[[str], bool] = lambda worker: False,
    ) -> None:
        """`clock` dates events; `steady`, which never jumps, measures leases; `gone` tells if a worker has ended."""
        self._clock = clock
        self._steady = steady
        self._gone = gone
        self._records: list[Record] = []
        self._versions: dict[tuple[str, str], int] = {}
        self._claims: dict[tuple[str, str], Claim] = {}
        self._leases: dict[int, float] = {}
        self._epoch = 0
        self._blobs: dict[str, bytes] = {}

    @asynccontextmanager
    async def claim(self, run: str, task: str, worker: str, lease: float) -> AsyncIterator[Claim]:
        holder = await self.holder(run, task)
        if holder is not None:
            raise ClaimHeld(f"Task {task!r} of run {run} is held by {holder}: wait until it is finished.", holder)
        self._epoch += 1
        claim = self._claims[run, task] = Claim(run, task, worker, self._epoch)
        self._leases[claim.epoch] = self._steady() + lease
        try:
            yield claim
        finally:
            if self._claims.get((run, task)) == claim:
                del self._claims[run, task]

    async def renew(self, worker: str, lease: float) -> None:
        for claim in self._claims.values():
            if claim.worker == worker:
                self._leases[claim.epoch] = self._steady() + lease

    async def check(self, claim: Claim) -> None:
        if self._claims.get((claim.run, claim.task)) != claim:
            raise ClaimLost(f"Task {claim.task!r} of run {claim.run} is no longer held by {claim.worker}.")

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        await self.check(claim)
        version = self._versions.get((claim.run, claim.task), 0)
        if version != expected:
            raise VersionConflict(f"Task {claim.task!r} of run {claim.run} is at version {version}, not {expected}.")
        at = self._clock()
        return [self._add(claim.run, claim.task, at, event) for event in events]

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        return self._add(run, task, self._clock(), event)

    def _add(self, run: str, task: str, at: float, event: AnyEvent) -> Record:
        version = self._versions[run, task] = self._versions.get((run, task), 0) + 1
        record = Record(len(self._records) + 1, run, task, version, at, event)
        self._records.append(record)
        return record

    async def read(
        self,
        run: str,
        task: str | None = None,
        since: int = 0,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        found = (
            record
            for record in self._records[max(since, 0) :]
            if record.run == run
            and task in (None, record.task)
            and (kinds is None or type(record.event).__name__ in kinds)
        )
        return list(islice(found, limit))

    async def runs(self) -> list[str]:
        return [name for name in await self.names() if not name.startswith(OWN)]

    async def names(self) -> list[str]:
        return list(dict.fromkeys(record.run for record in self._records))

    async def holder(self, run: str, task: str) -> str | None:
        claim = self._claims.get((run, task))
        alive = claim is not None and self._leases[claim.epoch] > self._steady() and not self._gone(claim.worker)
        return claim.worker if claim is not None and alive else None

    async def forget(self, claim: Claim) -> None:
        await self.check(claim)
        self._records = [record for record in self._records if record.run != claim.run]

    async def compact(self) -> set[str]:
        return set()

    async def put_blob(self, body: bytes) -> str:
        name = hashlib.sha256(body).hexdigest()
        self._blobs[name] = body
        return name

    async def get_blob(self, name: str) -> bytes:
        if name not in self._blobs:
            raise NotFound(f"There is no blob {name} in this store.")
        return self._blobs[name]

    async def close(self) -> None:
        """Do nothing: the events can still be read."""
