"""A wrapper that keeps secrets out of any store.

Promises: no value in `secrets` reaches the store in an event or a blob, neither as it is, nor as JSON escapes it once
or twice, nor in base64; nor does anything that looks like a key of a well-known kind. `[secret]` replaces it. Prompts
are made of events, so it reaches no model either. Without a hit an event costs one encoding and a search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from bough.adapters.stores.secrets import SHAPES, list_base64_forms
from bough.adapters.stores.sqlite import encode_event, rewrite_texts
from bough.adapters.tools.output_text import repair_surrogates
from bough.core.events import AnyEvent, Record
from bough.ports import Claim, Store

STRUCK = "[secret]"
_SHAPES = re.compile(SHAPES.pattern.encode())
SHORTEST = 8
"""Shorter values are not secrets but placeholders (`ollama`, `EMPTY`); redacting them would garble the run."""


def redact_secrets(store: Store, secrets: Sequence[str]) -> Store:
    """The store, with none of these secrets in what it is given."""
    return cast(Store, _RedactedStore(store, secrets))


class _RedactedStore:
    def __init__(self, store: Store, secrets: Sequence[str]) -> None:
        self.inner = store
        spellings = {s for secret in secrets if len(secret) >= SHORTEST for s in _list_spellings(secret)}
        self._spellings = sorted(spellings, key=len, reverse=True)  # one that contains another is redacted whole
        self._in_events = [msgspec.json.encode(spelling)[1:-1] for spelling in self._spellings]
        self._in_blobs = [spelling.encode() for spelling in self._spellings]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        return await self.inner.append(claim, [self._clean(event) for event in events], expected)

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        return await self.inner.post(run, task, self._clean(event))

    async def put_blob(self, body: bytes) -> str:
        for spelling in self._in_blobs:
            body = body.replace(spelling, STRUCK.encode())
        body = _SHAPES.sub(STRUCK.encode(), body)
        return await self.inner.put_blob(body)

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
    spellings = {repair_surrogates(secret), *list_base64_forms(repair_surrogates(secret))}
    for _ in range(2):
        spellings |= {json.dumps(s, ensure_ascii=ascii)[1:-1] for s in spellings for ascii in (True, False)}
    return spellings
