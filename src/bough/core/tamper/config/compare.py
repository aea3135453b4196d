"""Everything that says how tests are found and run, compared with the base: each kind of file by its own module."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.wording import listed

_JS_CONFIG = r"(?:jest|vitest|vite|playwright|cypress|ava|karma)\b.*\.(?:js|ts|mjs|cjs|mts|cts|json)$|\.mocharc"
_PYTEST = listed("pytest.toml .pytest.toml pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg")
_PACKAGES = listed(
    """
    .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml bunfig.toml go.mod go.work rust-toolchain
    rust-toolchain.toml .pnp.cjs .pnp.loader.mjs .python-version .swcrc .babelrc .babelrc.json
    """
)
_RECIPES = listed("justfile Justfile .justfile Taskfile.yml Taskfile.yaml Rakefile")
_BUILDS = _RECIPES | listed(
    """
    pom.xml build.gradle build.gradle.kts CMakeLists.txt .rspec phpunit.xml mix.exs phpunit.xml.dist .env tox.toml
    CTestCustom.cmake
    """
)


def compare(
    before: Mapping[str, str],
    after: Mapping[str, str],
    changed: list[str],
    readable: list[str],
    command: str,
    tests: Collection[str],
) -> Iterator[Tampering]:
    """`changed`: paths that differ. `readable`: those that are not too large. `tests`: the base's Python tests."""
    if any(files.name_of(path) in _PYTEST for path in changed):
        from bough.core.tamper.config import settings

        yield from settings.compare(before, after, changed, tests)
    if any(files.makefile(path) for path in changed):
        from bough.core.tamper.config import make

        yield from make.compare(before, after, changed, command)
    reached = f"{command}\n{_recipes(before)}"
    added = {after[path] for path in readable if path in after and path not in before}
    for path in readable:
        if path in after or before[path] not in added:
            yield from _one(path, before, after, command)
            yield from _scripts(path, before.get(path), after.get(path), command, reached)


def _recipes(texts: Mapping[str, str]) -> str:
    """What the base's Makefile and package.json run: scripts that they name belong to the check."""
    found = [t for p, t in texts.items() if "/" not in p and (files.makefile(p) or p == "package.json")]
    return "\n".join(found)


def _one(path: str, before: Mapping[str, str], after: Mapping[str, str], command: str) -> Iterator[Tampering]:
    name, old, new = files.name_of(path), before.get(path), after.get(path)
    was, now = old or "", new or ""
    own = not files.foreign(path)
    if files.ci_file(path):
        yield from _build(path, old, new)
    elif name == "package.json" and own:
        from bough.core.tamper.config import node

        yield from node.package(was or "{}", "{}" if new is None else new, path, "" if old is None else command, before)
    elif re.match(_JS_CONFIG, name) and own:
        from bough.core.tamper.config import node

        yield from node.config(before, after, path)
    elif name in _PACKAGES or name.startswith("babel.config"):
        from bough.core.tamper.config import packages

        yield from packages.compare(was, now, path)
    elif files.config_file(path):
        yield from _build(path, old, new)


def _build(path: str, old: str | None, new: str | None) -> Iterator[Tampering]:
    from bough.core.tamper.config import builds

    name, was, now = files.name_of(path), old or "", new or ""
    if files.ci_file(path):
        yield from builds.ci(old, new, path)
    elif name in ("tox.ini", "setup.cfg") and old is not None:
        yield from builds.tox(old, now, path)
    elif name == "noxfile.py" and old is not None:
        yield from builds.nox(old, now, path)
    elif name == "Cargo.toml" or ".cargo/" in path:
        yield from builds.cargo(was, now, path)
    elif name in _BUILDS:
        yield from builds.words_that_weaken(was, now, path)
    if name in _RECIPES:
        yield from builds.script(old, new, path, named=True)
    if name in ("pyproject.toml", "pytest.toml", ".pytest.toml") and old is not None and new is not None:
        yield from builds.project_file(old, new, path)
    if name in ("pyproject.toml", "setup.py", "setup.cfg"):
        yield from builds.entry_points(was, now, path)


def _scripts(path: str, old: str | None, new: str | None, command: str, reached: str) -> Iterator[Tampering]:
    language = files.language(path)
    if old is None or (language and language not in ("python", "shell")):
        return
    written = path in reached and re.search(rf"(?<![\w/]){re.escape(path)}(?![\w/])", reached) is not None
    named = bool(path.strip()) and (written or files.named(command, path))
    if not named and (language == "python" or not (language or files.script(path))):
        return
    from bough.core.tamper.config import builds

    if language == "python":
        yield from builds.python_script(old, new or "", path)
    else:
        yield from builds.script(old, new, path, named)
