"""The work with the base's tests: which files to put back so that old tests judge new code. Pure, and never raises.

Whatever was done to tests and to how they are run, a test that failed at the base and fails in the same way again once
all that is undone shows that the code is what it was. Only what nothing but a test run needs is put back: code that is
tested by accident of its place, versions and dependencies stay as the work has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from bough.core.tamper import files
from bough.core.tamper.config import shell
from bough.core.tamper.text.scan import balanced
from bough.core.tamper.wording import listed

_FOLDERS = listed("test tests spec specs e2e __tests__ __mocks__ __snapshots__")
_SETTINGS = re.compile(
    r"(?:jest|vite(?:st)?|playwright|cypress|ava|karma|babel)\.\w[\w.]*|\.babelrc.*|\.swcrc|\.mocharc.*|\.npmrc|\.yarnrc.*|\.pnpmfile\.cjs|bunfig\.toml"
    r"|\.?pytest\.(?:ini|toml)|tox\.ini|noxfile\.py|\.?[jJ]ustfile|Taskfile\.ya?ml"
)
_SCRIPTED = listed("scripts jest vitest mocha ava")
"""Parts of package.json that say how tests are run."""
_CARGO = re.compile(r"(?m)^\[(?:\[test\]|profile\.\w+)\]\s*\n(?:[^\[\n].*\n|\n)*")
_RUST_TESTS = re.compile(r"(?m)^#\[cfg\([^\]]*test[^\]]*\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*(?=\{)")


def put_back(before: Mapping[str, str], after: Mapping[str, str], command: str) -> dict[str, str | None]:
    """Texts by path; None: the file was not there. Empty: the tests are run as they were."""
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    return dict(found for path in changed for found in _one(path, before.get(path), after.get(path), command))


def _one(path: str, old: str | None, new: str | None, command: str) -> Iterator[tuple[str, str | None]]:
    name, programs = files.name_of(path), {files.name_of(word) for word in files.words(command)}
    if files.foreign(path):
        return
    if _FOLDERS & {*files.folders(path)} or _SETTINGS.fullmatch(name) or ".cargo/config" in path:
        yield path, old
    elif files.language(path) == "rust":
        if old is not None and new is not None and (made := _with_tests(old, new)) != new:
            yield path, made
    elif name == "package.json":
        if old is not None and new is not None and (made := _with_scripts(old, new)) != new:
            yield path, made
    elif name == "Cargo.toml":
        if old is not None and new is not None and _CARGO.findall(old) != _CARGO.findall(new):
            yield path, "\n".join([_CARGO.sub("", new), *_CARGO.findall(old)])
    elif files.makefile(path):
        if "make" in programs:
            yield path, old
    elif files.test_named(path) or (files.named(command, path) and _runs_tests(old or "")):
        yield path, old


def _runs_tests(script: str) -> bool:
    return script.startswith("#!") and any(shell.asked(line).runner for line in script.splitlines())


def _with_scripts(old: str, new: str) -> str:
    try:
        was, now = json.loads(old), json.loads(new)
    except (ValueError, RecursionError):
        return old
    if not isinstance(was, dict) or not isinstance(now, dict):
        return old
    kept = {key: value for key, value in now.items() if key not in _SCRIPTED}
    made = kept | {key: value for key, value in was.items() if key in _SCRIPTED}
    return new if made == now else json.dumps(made, indent=2)


def _with_tests(old: str, new: str) -> str:
    """Rust keeps tests beside the code: the code of the one with the tests of the other."""
    was = _tests(old)
    return new if not was or was == _tests(new) else "\n\n".join([_code(new).rstrip(), *was]) + "\n"


def _tests(text: str) -> list[str]:
    return [text[start:end] for start, end in _spans(text)]


def _code(text: str) -> str:
    for start, end in reversed(_spans(text)):
        text = text[:start] + text[end:]
    return text


def _spans(text: str) -> list[tuple[int, int]]:
    return [(found.start(), balanced(text, found.end())) for found in _RUST_TESTS.finditer(text)]
