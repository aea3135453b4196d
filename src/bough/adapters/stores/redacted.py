"""A wrapper that keeps secrets out of any store.

Promises: no value in `secrets` reaches the store in an event or a blob, neither as it is, nor as JSON escapes it once
or twice, nor in base64; nor does anything that looks like a key of a well-known kind. `[secret]` replaces it. Prompts
are made of events, so no secret reaches a model either. An event without a secret costs one encoding and a search."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import msgspec

from bough.adapters.stores.sql import encode_event, rewrite_texts
from bough.core.events import AnyEvent, Record
from bough.core.textual.cleaning import repair_surrogates
from bough.ports import Claim, Store
from bough.trust.files import Place

SHORTEST = 8
"""Shorter values are not secrets but placeholders (`ollama`, `EMPTY`); redacting them would garble the run."""
_LARGEST = 65_536
"""The most bytes of a `.env` file."""
_DEEPEST, _MOST = 2, 300
"""Depth and number of folders that are searched: `apps/web/.env`."""
_HEAVY = frozenset({"node_modules", "target", "vendor", "venv", "build", "dist"})
_ENV_FILE = re.compile(r"\.env(\..*)?(?<!\.example)(?<!\.sample)(?<!\.template)(?<!\.dist)")
_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*[=:]\s*(.*?)\s*$")
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_NAME = re.compile(r"secret|token|passw|pwd|credential|private|api_?key|(^|_)key(s)?($|_)|auth|dsn|salt", re.IGNORECASE)

SHAPES = re.compile(
    r"AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,}|glpat-[\w-]{20,}|sk-ant-[\w-]{40,}"
    r"|sk-(?:proj-)?[A-Za-z0-9_-]{40,}|xox[abprs]-[\w-]{20,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{60,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
)
"""Keys that are recognisable by their shape."""


def find_in_addresses(env: Mapping[str, str]) -> Iterator[str]:
    """Find passwords in variables such as DATABASE_URL, both as written and decoded."""
    for value in env.values():
        for password in _PASSWORD.findall(value):
            yield from (text for text in {password, unquote(password)} if len(text) >= SHORTEST)


def find_in_files(root: Path, env_file: str | None = None) -> Iterator[str]:
    """Find the secret values in the project's `.env` files, also in its subfolders, and in the file that its settings
    name (`env_file`)."""
    folders = [(Place(root), 0)]
    for folder, depth in folders:  # The list grows during the walk.
        for name, kind in folder.list():
            if kind == "folder" and depth < _DEEPEST and not name.startswith(".") and name not in _HEAVY:
                folders += [(folder / name, depth + 1)] if len(folders) < _MOST else []
            elif _ENV_FILE.fullmatch(name):
                yield from _parse_values((folder / name).text(_LARGEST))
    if env_file:
        yield from _parse_values(Place(root, env_file, links=True).text(_LARGEST))


def _parse_values(text: str) -> Iterator[str]:
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        name, value = found.group(1), found.group(2).strip("'\"")
        if len(value) >= SHORTEST and _NAME.search(name):
            yield value
        yield from (password for password in _PASSWORD.findall(value) if len(password) >= SHORTEST)


STRUCK = "[secret]"
_SHAPES = re.compile(SHAPES.pattern.encode())


def redact_secrets(store: Store, secrets: Sequence[str]) -> Store:
    """Return the store, wrapped so that none of these secrets reaches it."""
    return cast(Store, _RedactedStore(store, secrets))


def strike_secrets(store: Store, text: str) -> str:
    """Remove from a text the secrets that are kept out of the store."""
    redacted: object = store
    return redacted.strike(text) if isinstance(redacted, _RedactedStore) else text


class _RedactedStore:
    def __init__(self, store: Store, secrets: Sequence[str]) -> None:
        self.inner = store
        spellings = {s for secret in secrets if len(secret) >= SHORTEST for s in _list_spellings(secret)}
        # Replace the longest first: others may be parts of it.
        self._spellings = sorted(spellings, key=len, reverse=True)
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
        return rewrite_texts(event, self.strike) if struck else event

    def strike(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, STRUCK)
        return SHAPES.sub(STRUCK, text)


def _list_spellings(secret: str) -> set[str]:
    """List the secret's spellings: as it is, in base64, escaped in JSON, and escaped twice (JSON in JSON)."""
    spellings, body = {repair_surrogates(secret)}, repair_surrogates(secret).encode(errors="surrogatepass")
    for before in range(3):  # In base64 a text has three alignments, depending on what precedes it.
        coded = base64.b64encode(b"\0" * before + body).decode().rstrip("=")
        # The first letters mix in bits of the text before the secret, and the last one of the text after it.
        kept = coded[(0, 2, 3)[before] : len(coded) - (1 if (before + len(body)) % 3 else 0)]
        spellings |= {kept, kept.replace("+", "-").replace("/", "_")} if len(kept) >= SHORTEST else set()
    for _ in range(2):
        spellings |= {json.dumps(s, ensure_ascii=ascii)[1:-1] for s in spellings for ascii in (True, False)}
    return spellings
