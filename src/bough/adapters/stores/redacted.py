"""A wrapper that keeps secrets out of any store.

Promises: no value in `secrets` reaches the store in an event or a blob, neither as it is, nor as JSON escapes it once
or twice, nor in base64; nor does anything that looks like a key of a well-known kind. `[secret]` replaces it. Prompts
are made of events, so it reaches no model either. Without a hit an event costs one encoding and a search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import msgspec

from bough.adapters.stores.secrets import SHAPES, list_base64_forms
from bough.adapters.stores.sqlite import encode_event, replace_lone_surrogates, rewrite_texts
from bough.core.events import AnyEvent, Record
from bough.ports import Claim, Store

STRUCK = "[secret]"
_SHAPES = re.compile(SHAPES.pattern.encode())
SHORTEST = 8
"""Shorter values are not secrets but placeholders (`ollama`, `EMPTY`); redacting them would garble the run."""


class RedactedStore:
    def __init__(self, store: Store, secrets: Sequence[str]) -> None:
        self.inner = store
        spellings = {s for secret in secrets if len(secret) >= SHORTEST for s in _list_spellings(secret)}
        self._spellings = sorted(spellings, key=len, reverse=True)  # one that contains another is redacted whole
        self._in_events = [msgspec.json.encode(spelling)[1:-1] for spelling in self._spellings]
        self._in_blobs = [spelling.encode() for spelling in self._spellings]

    def claim(self, run: str, task: str, worker: str, lease: float) -> AbstractAsyncContextManager[Claim]:
        return self.inner.claim(run, task, worker, lease)

    async def renew(self, worker: str, lease: float) -> None:
        await self.inner.renew(worker, lease)

    async def check(self, claim: Claim) -> None:
        await self.inner.check(claim)

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        return await self.inner.append(claim, [self._clean(event) for event in events], expected)

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        return await self.inner.post(run, task, self._clean(event))

    async def read(
        self,
        run: str,
        task: str | None = None,
        since: int = 0,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        return await self.inner.read(run, task, since, kinds, limit)

    async def runs(self) -> list[str]:
        return await self.inner.runs()

    async def names(self) -> list[str]:
        return await self.inner.names()

    async def holder(self, run: str, task: str) -> str | None:
        return await self.inner.holder(run, task)

    async def forget(self, claim: Claim) -> None:
        await self.inner.forget(claim)

    async def compact(self) -> set[str]:
        return await self.inner.compact()

    async def put_blob(self, body: bytes) -> str:
        for spelling in self._in_blobs:
            body = body.replace(spelling, STRUCK.encode())
        body = _SHAPES.sub(STRUCK.encode(), body)
        return await self.inner.put_blob(body)

    async def get_blob(self, name: str) -> bytes:
        return await self.inner.get_blob(name)

    async def close(self) -> None:
        await self.inner.close()

    def _clean(self, event: AnyEvent) -> AnyEvent:
        event, body = encode_event(event)
        struck = any(spelling in body for spelling in self._in_events) or _SHAPES.search(body) is not None
        return rewrite_texts(event, self._strike) if struck else event

    def _strike(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, STRUCK)
        return SHAPES.sub(STRUCK, text)


def _list_spellings(secret: str) -> set[str]:
    """The secret as it is, and inside JSON, and inside JSON that is text in JSON."""
    spellings = {replace_lone_surrogates(secret), *list_base64_forms(replace_lone_surrogates(secret))}
    for _ in range(2):
        spellings |= {json.dumps(s, ensure_ascii=ascii)[1:-1] for s in spellings for ascii in (True, False)}
    return spellings
