"""Everything that says how tests are found and run, compared with the base."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import builds, files, make, node, packages, settings

_JS_CONFIG = re.compile(
    r"^(?:jest|vitest|vite|playwright|cypress|ava|karma)\b.*\.(?:js|ts|mjs|cjs|mts|cts|json)$|^\.mocharc"
)
_BUILD_NAMES = (
    *("pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "Rakefile", ".rspec", "phpunit.xml", "mix.exs"),
    *("phpunit.xml.dist", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", ".env", "tox.toml"),
    *("CTestCustom.cmake",),
)


def compare(
    before: Mapping[str, str], after: Mapping[str, str], changed: list[str], command: str, tests: list[str]
) -> Iterator[Tampering]:
    """`changed`: paths that differ. `tests`: the Python test files of the base."""
    yield from settings.compare(before, after, tests)
    yield from make.compare(before, after, command)
    reached = f"{command}\n{_recipes(before)}"
    added = {after[path] for path in changed if path in after and path not in before}
    for path in changed:
        if path in after or before[path] not in added:
            yield from _one(path, before, after, command, reached)


def _recipes(texts: Mapping[str, str]) -> str:
    """What the base's Makefile and package.json run: scripts that they name belong to the check."""
    found = [t for p, t in texts.items() if "/" not in p and (files.makefile(p) or p == "package.json")]
    return "\n".join(found)


def _one(
    path: str, before: Mapping[str, str], after: Mapping[str, str], command: str, reached: str
) -> Iterator[Tampering]:
    name, old, new = files.name_of(path), before.get(path), after.get(path)
    if files.ci_file(path):
        yield from builds.ci(old, new, path)
    elif name == "package.json" and not files.foreign(path):
        yield from node.package(old or "{}", new if new is not None else "{}", path, command if old is not None else "")
    elif _JS_CONFIG.match(name) and not files.foreign(path):
        yield from node.config(before, after, path)
    elif name in ("tox.ini", "setup.cfg") and old is not None:
        yield from builds.tox(old, new or "", path)
    elif name == "noxfile.py" and old is not None:
        yield from builds.nox(old, new or "", path)
    elif name == "Cargo.toml" or ".cargo/" in path:
        yield from builds.cargo(old or "", new or "", path)
    elif name in packages.NAMES or name.startswith("babel.config"):
        yield from packages.compare(old or "", new or "", path)
    elif name in _BUILD_NAMES:
        yield from builds.words_that_weaken(old or "", new or "", path)
    if name in ("justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", "Rakefile"):
        yield from builds.script(old, new, path, named=True)
    if name == "pyproject.toml" and old is not None and new is not None:
        yield from builds.project_scripts(old, new, path)
    yield from _parses(path, old, new)
    if name in ("pyproject.toml", "setup.py", "setup.cfg"):
        yield from builds.entry_points(old or "", new or "", path)
    yield from _scripts(path, old, new, command, reached)


def _parses(path: str, old: str | None, new: str | None) -> Iterator[Tampering]:
    if files.name_of(path) not in ("pyproject.toml", "pytest.toml", ".pytest.toml") or old is None or new is None:
        return
    if settings.toml(old) is not None and settings.toml(new) is None:
        yield Tampering(path, 1, f"{path} no longer parses as TOML")


def _scripts(path: str, old: str | None, new: str | None, command: str, reached: str) -> Iterator[Tampering]:
    language = files.language(path)
    written = re.search(rf"(?<![\w/]){re.escape(path)}(?![\w/])", reached) if path.strip() else None
    named = files.named(command, path) or written is not None
    if language == "python":
        if named and old is not None:
            yield from builds.python_script(old, new or "", path)
    elif language == "shell" or (not language and (files.script(path) or named)):
        yield from builds.script(old, new, path, named)
