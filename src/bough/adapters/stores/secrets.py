"""Secrets besides those that the environment names as such: in `.env` files, in addresses, and by their shape."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from bough.trust.files import Place

SHORTEST = 8
_LARGEST = 65_536
"""Bytes of a `.env` file."""
_DEEPEST, _MOST = 2, 300
"""Folders below the top that are looked into: `apps/web/.env`."""
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
    """Passwords in variables such as DATABASE_URL, both as written and decoded."""
    for value in env.values():
        for password in _PASSWORD.findall(value):
            yield from (text for text in {password, unquote(password)} if len(text) >= SHORTEST)


def find_in_files(root: Path, env_file: str | None = None) -> Iterator[str]:
    """The secret values of the project's `.env` files, those of its parts included, and of the one that it names."""
    folders = [(Place(root), 0)]
    for folder, depth in folders:  # grows during the walk
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


def list_base64_forms(secret: str) -> Iterable[str]:
    """The parts of a secret that are always the same in base64, whatever precedes and follows it: three alignments."""
    body = secret.encode(errors="surrogatepass")
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + body).decode().rstrip("=")
        # The first letters hold bits of what precedes, the last one those of what follows.
        start = (0, 2, 3)[before]
        end = len(coded) - (1 if (before + len(body)) % 3 else 0)
        kept = coded[start:end]
        if len(kept) >= SHORTEST:
            yield kept
            yield kept.replace("+", "-").replace("/", "_")
