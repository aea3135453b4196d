"""Other files that say how tests are run: tox, nox, CI, Cargo, build tools, entry points, scripts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config import recipes, shell
from bough.core.tamper.config.settings import ini, line_of, table, toml
from bough.core.tamper.python.syntax import constant, last, parse, walk
from bough.core.tamper.wording import short

_WEAK = (
    *(r"continue-on-error:\s*true", r"allow_failure:\s*true", r"ignoreFailures\s*=?\s*true", r"testFailureIgnore"),
    *(r"skipTests", r"maven\.test\.skip", r"failIfNoTests\s*>?\s*false", r"\bWILL_FAIL\b", r"\bDISABLED\s+TRUE"),
    *(
        r"\bif:\s*(?:false|\$\{\{\s*false)",
        r"when:\s*never",
        r"test\s*\{\s*enabled\s*=\s*false",
        r"tests?\.enabled\s*=\s*false",
    ),
    *(r"stopOnFailure=\"false\" failOn\w+=\"false\"", r"ignore_outcome\s*=\s*true", r"ignore_errors\s*=\s*true"),
    *(r"--force-exit-zero", r"success_codes\s*=", r"TreatWarningsAsErrors>false", r"<SkipTests>true"),
    *(r"fail_on_error\s*=\s*false", r"\bPYTEST_ADDOPTS\b", r"\bPYTEST_PLUGINS\b", r"abort:\s*false"),
)
_LISTED_TESTS = (r"\badd_test\s*\(", r"gtest_discover_tests", r"<testsuite\b", r"include\s+'test", r"\btask\s+:?test")
_RUNS_TESTS = re.compile(
    r"^(?!-?\s*(?:uses|name|id|description|on|branches)\b|.*\binstall\b).*\b(?:tests?|check|verify|pytest|tox|nox|jest|vitest)\b"
)


def words_that_weaken(old: str, new: str, path: str) -> Iterator[Tampering]:
    """Settings by which a build goes on after failing tests."""
    for pattern in _WEAK:
        before, after = len(re.findall(pattern, old, re.I)), list(re.finditer(pattern, new, re.I))
        if len(after) > before:
            line = new.count("\n", 0, after[-1].start()) + 1
            yield Tampering(path, line, f"`{short(after[-1][0], 60)}` is new in {path}")
    for pattern in _LISTED_TESTS:
        before, now = len(re.findall(pattern, old)), len(re.findall(pattern, new))
        if now < before:
            yield Tampering(path, 0, f"{path} lists {now} tests where it listed {before}")


def ci(old: str | None, new: str | None, path: str) -> Iterator[Tampering]:
    """A CI file that existed may grow; what it ran must still run."""
    if old is None:
        return
    if new is None:
        yield Tampering(path, 0, f"CI file {path} was removed")
        return
    weak = list(words_that_weaken(old, new, path))
    yield from weak
    if weak:
        return
    before = [(n, _step(line)) for n, line in recipes.lines_of(old)]
    after = [(n, _step(line)) for n, line in recipes.lines_of(new)]
    kept = [line for _, line in after]
    lost = [(n, line) for n, line in before if line not in kept and _RUNS_TESTS.search(line)]
    fresh = [(n, line) for n, line in after if line not in [one for _, one in before]]
    for number, what in recipes.compare(lost, fresh, strict=True):
        yield Tampering(path, number, f"CI file changed: {what}")


def _step(line: str) -> str:
    bare = re.sub(r"^-?\s*(?:run|script|command)\s*:\s*[|>]?-?\s*", "", line.strip())
    quoted = re.fullmatch(r"(['\"])(.*)\1", bare)
    return quoted[2] if quoted is not None else bare


def tox(old: str, new: str, path: str) -> Iterator[Tampering]:
    before, after = ini(old), ini(new)
    if before is None:
        return
    if after is None:
        yield Tampering(path, 1, f"{path} no longer parses")
        return
    for section, values in before.items():
        if not section.startswith("testenv"):
            continue
        everything = "\n".join(found.get("commands", "") for found in after.values())
        for key in ("commands", "commands_pre"):
            now = after[section].get(key, "") if section in after else everything
            old_lines = recipes.lines_of(values.get(key, ""))
            for number, what in recipes.compare(old_lines, recipes.lines_of(now), strict=False):
                yield Tampering(path, line_of(new, key) + number, f"[{section}] {what}")
    yield from words_that_weaken(old, new, path)


def nox(old: str, new: str, path: str) -> Iterator[Tampering]:
    for number, what in recipes.compare(_session_runs(old), _session_runs(new)):
        yield Tampering(path, number, f"session changed: {what}")
    yield from words_that_weaken(old, new, path)


def _session_runs(text: str) -> list[tuple[int, str]]:
    tree = parse(text)
    found = []
    for node in walk(tree) if isinstance(tree, ast.Module) else []:
        if isinstance(node, ast.Call) and last(node.func) == "run":
            parts = [str(constant(a)) for a in node.args if isinstance(constant(a), str)]
            if parts and shell.asked(" ".join(parts)).runner:
                found.append((node.lineno, " ".join(parts)))
    return found


def cargo(old: str, new: str, path: str) -> Iterator[Tampering]:
    before, after = toml(old), toml(new)
    if after is None:
        if before is not None:
            yield Tampering(path, 1, f"{path} no longer parses as TOML")
        return
    for key in ("test", "harness", "doctest", "autotests"):
        pattern = rf"(?m)^\s*{key}\s*=\s*false"
        if len(re.findall(pattern, new)) > len(re.findall(pattern, old)):
            yield Tampering(path, line_of(new, key), f"`{key} = false` is new: tests are left out")
    for section in ("alias", "target", "build"):
        was, now = table(before, section), table(after, section)
        risky = str({k: v for k, v in now.items() if was.get(k) != v})
        if "config" in path and re.search(r"'(?:test|t)'|runner|rustc-wrapper|'rustc'", risky):
            yield Tampering(path, line_of(new, section), f"[{section}] changes what cargo runs: {short(risky, 60)}")


def project_file(old: str, new: str, path: str) -> Iterator[Tampering]:
    """It has to stay readable, with the commands that it keeps for hatch, poe, pdm and their like."""
    was, now = toml(old), toml(new)
    if was is not None and now is None:
        yield Tampering(path, 1, f"{path} no longer parses as TOML")
    before, after = _commands(was, ()), _commands(now, ())
    for key, command in before.items():
        if not shell.asked(command).runner or after.get(key) == command:
            continue
        became = after.get(key)
        clause = "it was removed" if became is None else shell.weaker(command, became)
        if clause:
            what = f"{'.'.join(key)}: `{short(command, 60)}` became `{short(became or '', 60)}`: {clause}"
            yield Tampering(path, line_of(new, key[-1]), what)


def _commands(value: object, key: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    if isinstance(value, str):
        return {key: value} if {"scripts", "tasks"} & set(key[:-1]) else {}
    if isinstance(value, list):
        whole = " && ".join(part for part in value if isinstance(part, str))
        return _commands(whole, key) if whole else {}
    found: dict[tuple[str, ...], str] = {}
    for name, inner in table(value).items() if len(key) < 12 else []:
        found |= _commands(inner, (*key, name))
    return found


def entry_points(old: str, new: str, path: str) -> Iterator[Tampering]:
    if "pytest11" in new and "pytest11" not in old:
        yield Tampering(path, line_of(new, "pytest11"), "a pytest11 entry point is new: it loads a plugin into pytest")


def script(old: str | None, new: str | None, path: str, named: bool) -> Iterator[Tampering]:
    """A script that the check calls, or that looks as if it ran tests."""
    if old is None:
        return
    runs = any(shell.asked(line).runner for _, line in recipes.lines_of(old))
    testing = re.search(r"(?:^|[-_/.])(?:run[-_]?)?(?:tests?|check|ci|verify)(?:$|[-_/.])", path) is not None
    if not named and not (testing and runs):
        return
    if new is None:
        yield Tampering(path, 0, f"script {path} was removed")
        return
    before = [item for item in recipes.lines_of(old) if _matters(item[1])]
    after = [item for item in recipes.lines_of(new) if _matters(item[1])]
    for number, what in recipes.compare(before, after, strict=False):
        yield Tampering(path, number, f"script {path}: {what}")
    for option in (r"set\s+-\w*e", r"pipefail", r"errexit"):
        if re.search(option, old) and not re.search(option, new):
            yield Tampering(path, 0, f"script {path} no longer stops at a failure")
            break


def _matters(line: str) -> bool:
    command = recipes.bare(line)
    if shell.asked(command).runner or shell.forced(command):
        return True
    return re.match(r"(?:exec|exit|return|\./|bash|sh|set)\b", command) is not None


def python_script(old: str, new: str, path: str) -> Iterator[Tampering]:
    """A Python program that is the check itself: it has to end with what it found out."""
    before, after = _exit_values(old), _exit_values(new)
    lost = [text for text in before if text not in after]
    if lost and (len(after) < len(before) or any(text.isdigit() for text in after)):
        yield Tampering(path, 0, f"{path} no longer ends with `{short(lost[0], 60)}`")
    runners = [r for r in files.RUNNER_MODULES if re.search(rf"\b{r}\b", old) and not re.search(rf"\b{r}\b", new)]
    if runners:
        yield Tampering(path, 0, f"{path} no longer runs {sorted(runners)[0]}")


def _exit_values(text: str) -> list[str]:
    tree = parse(text)
    found = []
    for node in walk(tree) if isinstance(tree, ast.Module) else []:
        if isinstance(node, ast.Call) and last(node.func) in ("exit", "_exit", "SystemExit") and node.args:
            found.append(ast.unparse(node.args[0]))
    return found
