"""JavaScript projects: scripts of package.json, and the settings of jest, vitest and mocha, read as text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config import packages, recipes, shell
from bough.core.tamper.config.settings import line_of, table
from bough.core.tamper.text.scan import nesting
from bough.core.tamper.wording import listed, short

_NARROWING = listed(
    """
    testMatch testRegex roots projects spec include testDir dir files specPattern testNamePattern grep fgrep testRunner
    runner globalSetup globalTeardown preset filter
    """
)
"""Settings of which a change, or a value where there was none, can leave tests out."""
_IGNORING = listed("testPathIgnorePatterns modulePathIgnorePatterns exclude ignore testIgnore excludeSpecPattern")
_SWITCHES = listed(
    """
    passWithNoTests dangerouslyIgnoreUnhandledErrors allowOnly invert bail retry retries updateSnapshot onlyChanged
    pass-on-failing-test-suite grepInvert skipFiles failWithoutAssertions
    """
)
_REPLACING = listed("moduleNameMapper alias transform resolver testEnvironment environment snapshotResolver")
"""Settings by which a file of the project takes the place of what tests load, or rewrites it."""
_STARTERS = re.compile(r"\b(?:npm|yarn|pnpm|bun)\s+(?:run\s+|run-script\s+)?([\w:.\-]+)|\bnpm-run-all\s+([\w:.\-]+)")


def package(was_text: str, now_text: str, path: str, command: str, known: Collection[str] = ()) -> Iterator[Tampering]:
    """`known`: the paths of the base."""
    was, now = _json(was_text), _json(now_text)
    if now is None:
        if was is not None:
            yield Tampering(path, 1, f"{path} no longer parses as JSON")
        return
    before, after = _scripts(was), _scripts(now)
    used = _used(command, before)
    for name, old in before.items():
        if name in used or re.search(r"(?:^|[:\-])(?:test|check|ci|verify|spec)", name):
            yield from _script(name, old, after.get(name), path, now_text, name in used)
    for name in ("pretest", "posttest", "test"):
        if name in after and name not in before and (why := shell.forced(after[name])):
            yield Tampering(path, line_of(now_text, f'"{name}"'), f"script {name} is new: {why}")
        if before.get(name) != after.get(name) and (place := shell.rewrites(after.get(name, ""))) in known:
            yield Tampering(path, line_of(now_text, f'"{name}"'), f"script {name} changes {place} before the tests")
    for name, what in packages.dependencies(was, now):
        yield Tampering(path, line_of(now_text, f'"{name}"'), what)
    for tool in ("jest", "vitest", "mocha", "ava"):
        old_text = json.dumps(table(was, tool), indent=1)
        new_text = json.dumps(table(now, tool), indent=1)
        for key, what in settings(old_text, new_text):
            yield Tampering(path, line_of(now_text, key), f"{tool}: {what}")


def _json(text: str) -> dict[str, object] | None:
    try:
        return table(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _scripts(package_json: dict[str, object] | None) -> dict[str, str]:
    return {name: text for name, text in table(package_json, "scripts").items() if isinstance(text, str)}


def _used(command: str, scripts: dict[str, str]) -> set[str]:
    """Scripts that the command runs, directly or through one another."""
    found: set[str] = set()
    queue = [command]
    while queue and len(found) < 100:
        for match in _STARTERS.finditer(queue.pop()):
            name = {"t": "test", "tst": "test"}.get(match[1] or match[2], match[1] or match[2])
            for wanted in (f"pre{name}", name, f"post{name}"):
                if wanted in scripts and wanted not in found:
                    found.add(wanted)
                    queue.append(scripts[wanted])
    return found


def _script(name: str, old: str, new: str | None, path: str, text: str, strict: bool) -> Iterator[Tampering]:
    if new is None:
        yield Tampering(path, 0, f"script {name} was removed")
        return
    if old == new or ("no test specified" in old and shell.asked(new).runner and not shell.forced(new)):
        return
    for _, what in recipes.compare([(1, old)], [(1, new)], strict):
        yield Tampering(path, line_of(text, f'"{name}"'), f"script {name}: {what}")


def settings(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Keys of which the value leaves out more tests, or lets more pass, than before."""
    old, new = _without_coverage(before), _without_coverage(after)
    for key in _NARROWING:
        was, now = value_of(key, old), value_of(key, new)
        if was == now:
            continue
        kept = set(_strings(was)) <= set(_strings(now)) and was and now
        if not kept:
            became = f"`{short(was, 50)}` became `{short(now, 50)}`" if was and now else f"`{short(now or was, 50)}`"
            verb = "was changed:" if was and now else "is new:" if now else "was dropped:"
            if now or key in ("testMatch", "testRegex", "include", "spec", "roots", "projects"):
                yield key, f"{key} {verb} {became}"
    for key in _IGNORING:
        was, now = value_of(key, old), value_of(key, new)
        fresh = [one for one in _strings(now) if one not in _strings(was) and "node_modules" not in one]
        fresh = [one for one in fresh if not re.search(r"dist|build|coverage|\.git|cypress|e2e-results", one)]
        if fresh:
            yield key, f"{key} now leaves out {fresh[0]}"
    for key in _REPLACING:
        was, now = value_of(key, _uncommented(before)), value_of(key, _uncommented(after))
        fresh = [one for one in _strings(now) if one not in _strings(was) and "__mocks__" not in one]
        fresh = [one for one in fresh if re.match(r"(?:\.{1,2}/|<rootDir>)[^$]*\.[cm]?[jt]sx?$", one)]
        if fresh:
            yield key, f"{key} now puts {fresh[0]} in place of what the tests load"
    for key in _SWITCHES:
        was, now = value_of(key, old), value_of(key, new)
        if now and now not in ("false", "0") and was != now:
            yield key, f"{key} is now {short(now, 30)}"


def value_of(key: str, text: str) -> str:
    """The text of a setting's value, brackets balanced; empty when the key is not there."""
    found = _setting(key, text)
    return " ".join(text[found[1] : found[2]].split()).rstrip(",;") if found is not None else ""


def _setting(key: str, text: str) -> tuple[int, int, int] | None:
    """Where a setting begins, where its value does, and where that ends."""
    match = re.search(rf"(?<![\w.$-])['\"]?{re.escape(key)}['\"]?\s*:\s*", text)
    if match is None:
        return None
    for found, depth in nesting(text, match.end(), also=r"[,\n]"):
        if depth < 0 or (depth == 0 and found[0] in ",\n"):
            return match.start(), match.end(), found.start()
    return match.start(), match.end(), len(text)


def _strings(value: str) -> list[str]:
    return [a or b or c for a, b, c in re.findall(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`", value)] or (
        [value] if value else []
    )


def _uncommented(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", re.sub(r"(?m)^\s*//.*$", "", text), flags=re.S)


def _without_coverage(text: str) -> str:
    """What is measured is no matter of which tests run."""
    plain = _uncommented(text)
    for key in ("coverage", "optimizeDeps", "build", "resolve", "server"):
        found = _setting(key, plain)
        if found is not None and plain.startswith("{", found[1]):
            plain = plain[: found[0]] + plain[found[2] :]
    return plain


def config(before: Mapping[str, str], after: Mapping[str, str], path: str) -> Iterator[Tampering]:
    """A settings file of a JavaScript runner. A new one is compared with nothing: it may only add."""
    old, new = before.get(path, ""), after.get(path)
    if new is None:
        yield Tampering(path, 0, f"{path} was removed")
        return
    if path not in before and not any(files.in_tests(p) or files.test_file(p) for p in before):
        return
    for key, what in settings(old, new):
        if path in before or key not in ("testMatch", "include", "roots", "globalSetup", "testRunner", "preset", "dir"):
            yield Tampering(path, line_of(new, key), what)
    why = shell.forced(new)
    if why and why != shell.forced(old):
        yield Tampering(path, 1, f"{path}: {why}")
