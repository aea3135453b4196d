"""The command that runs one test file, by its language and by what its project uses.

| file | command |
| --- | --- |
| `.py` | pytest; `python -m unittest` when the file and its project know nothing else |
| `.js .mjs .cjs .jsx .ts .mts .cts .tsx` | vitest, jest or mocha, whichever package.json has; else `node --test`, `bun test`, `deno test` |
| `.go` | `go test` of its package |
| `.rs` | `cargo test --test NAME` in a `tests` folder, else the tests of the module of that name |
| `_spec.rb`, `.rb` | `rspec`, `ruby` |
| `.sh .bats .t .php .exs` | `bash`, `bats`, `prove`, `phpunit`, `mix test` |

Run from the nearest folder above that holds the project's manifest.
"""  # noqa: E501 (a table)

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from shlex import quote
from typing import Any

from bough.adapters.verifiers.look import Look, folder_of, last, within

Run = tuple[str, str]
"""A command and the runner in it."""
PYTHON_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
JAVASCRIPT = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})
_MOST_READ = 300
"""Files that are looked into to learn what a project's tests are written with."""


def run_file(path: str, look: Look) -> Run | None:
    """The command that runs the tests of one file, and its runner; None for a language that bough has no runner for.

    The file need not exist yet: a step may name the test that is still to be written. pytest's `::test` may follow.
    """
    file, _, chosen = path.partition("::")
    suffix = PurePosixPath(file).suffix.lower()
    run = _RUNS.get(".js" if suffix in JAVASCRIPT else suffix)
    if run is None:
        return None
    home = _js_home(file, look) if suffix in JAVASCRIPT else look.home(file, *_MANIFESTS.get(suffix, ()))
    inside = str(PurePosixPath(file).relative_to(home)) if home else file
    made = run(f"./{inside}" if inside.startswith("-") else inside, look.inside(home), chosen)
    return (within(home, made[0]), made[1]) if made else None


# Python


def _python(path: str, look: Look, chosen: str) -> Run:
    if not chosen and unittest_alone(look, path) and re.fullmatch(r"[\w/]+\.py", path):
        return f"{look.python()} -m unittest {quote(path)}", "unittest"
    return f"{look.python()} -m pytest {quote(f'{path}::{chosen}' if chosen else path)}", "pytest"


def python_tests(look: Look) -> list[str]:
    """The files that hold Python tests by their name, but for those of projects nested in this one."""
    patterns = [r"test_.*\.py", r".*_test\.py", *_configured_files(look)]
    wanted = re.compile("|".join(patterns))
    nested = {folder_of(path) for path in look if last(path) in PYTHON_MANIFESTS[:2]} - {""}
    named = (path for path in look if path.endswith(".py") and wanted.fullmatch(last(path)))
    return [path for path in named if not any(path.startswith(f"{folder}/") for folder in nested)]


def _configured_files(look: Look) -> list[str]:
    """pytest's `python_files`, as regular expressions."""
    found: list[str] = []
    for name in ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"):
        for value in re.findall(r"^python_files\s*=\s*(\[[^\]]*\]|[^\n]*)", look.text(name), re.MULTILINE):
            found += [re.escape(glob).replace(r"\*", ".*") for glob in re.findall(r"[\w*.-]+\.py\b", value)]
    return found


_DEPENDENCIES = re.compile(
    r"pyproject\.toml|setup\.(py|cfg)|Pipfile|tox\.ini|noxfile\.py|[\w-]*requirements[\w-]*\.txt|requirements/[^/]+\.txt"
)


def pytest_sign(look: Look) -> str:
    """Where a project shows that it uses pytest, as a phrase for people; empty when nowhere."""
    for name, section in (
        ("pyproject.toml", r"^\[tool\.pytest[.\]]"),
        ("pytest.ini", r"^\[pytest\]"),
        (".pytest.ini", r"^\[pytest\]"),
        ("tox.ini", r"^\[pytest\]"),
        ("setup.cfg", r"^\[tool:pytest\]"),
    ):
        if re.search(section, look.text(name), re.MULTILINE):
            return f"pytest is configured in {name}"
    if any(last(path) == "conftest.py" for path in look):
        return "there is a conftest.py"
    for path in look:
        if path.count("/") < 2 and _DEPENDENCIES.fullmatch(path) and re.search(r"\bpytest\b", look.text(path)):
            return f"{path} names pytest"
    return ""


def unittest_alone(look: Look, path: str = "") -> bool:
    """Whether a project's tests (or one file of them) are unittest's, and nothing shows that it uses pytest."""
    if pytest_sign(look):
        return False
    texts = [look.text(test) for test in ([path] if path else python_tests(look)[:_MOST_READ])]
    for text in texts:
        if re.search(r"^\s*(import|from) pytest\b|^(async )?def test", text, re.MULTILINE):
            return False
    return any(re.search(r"^\s*(import|from) unittest\b", text, re.MULTILINE) for text in texts)


# JavaScript and TypeScript


def package(look: Look) -> dict[str, Any] | None:
    """package.json, or None when there is none or it is not an object."""
    try:
        read = json.loads(look.text("package.json") or "null")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def table(holder: dict[str, Any] | None, key: str) -> dict[str, Any]:
    value = (holder or {}).get(key)
    return value if isinstance(value, dict) else {}


def manager(look: Look) -> str:
    """Which package manager a project uses, by what package.json says and by its lock file."""
    named = str((package(look) or {}).get("packageManager", "")).split("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    for lock, name in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")):
        if lock in look.files:
            return name
    return "npm"


def _js_home(path: str, look: Look) -> str:
    """The nearest package above that has a test tool, else the nearest: workspaces keep their tools at the top."""
    nearest = home = look.home(path, "package.json")
    while home and not js_tool(look.inside(home)):
        home = look.home(home, "package.json")
    return home if js_tool(look.inside(home)) else nearest


def js_tool(look: Look) -> str:
    """The test tool among a package's dependencies, first the one that its test script names; empty: none."""
    about = package(look)
    known = {**table(about, "dependencies"), **table(about, "devDependencies")}
    script = str(table(about, "scripts").get("test", ""))
    tools = [tool for tool in ("vitest", "jest", "mocha") if tool in known]
    return next((tool for tool in tools if re.search(rf"\b{tool}\b", script)), tools[0] if tools else "")


def js_command(look: Look, path: str = "") -> Run:
    """The command for one test file of a package, or for all of them."""
    tool, by = js_tool(look), manager(look)
    program = {"npm": "npx --no-install ", "pnpm": "pnpm exec ", "yarn": "yarn ", "bun": "bunx "}[by]
    file = f" {quote(path)}" if path else ""
    if tool == "vitest":
        return f"{program}vitest run{file}", "vitest"
    if tool == "jest":
        return f"{program}jest{f' --runTestsByPath{file}' if path else ''}", "jest"
    if tool == "mocha":
        return f"{program}mocha{file}", ""
    if by == "bun":
        return f"bun test{file}", ""
    if {"deno.json", "deno.jsonc"} & look.files:
        return f"deno test -A{file}", ""
    about = package(look)
    loads_types = "tsx" in {**table(about, "dependencies"), **table(about, "devDependencies")}
    return f"node {'--import tsx ' if loads_types else ''}--test{file}", "node"


def _javascript(path: str, look: Look, chosen: str) -> Run:
    return js_command(look, path)


# The others


def _go(path: str, look: Look, chosen: str) -> Run:
    folder = str(PurePosixPath(path).parent)
    return f"go test {quote('.' if folder == '.' else f'./{folder}')}", "go"


def _rust(path: str, look: Look, chosen: str) -> Run:
    where = PurePosixPath(path)
    if where.parts[0] == "tests" and len(where.parts) == 2:
        return f"cargo test --test {quote(where.stem)}", "cargo"
    return f"cargo test {quote(where.stem)}", "cargo"


def _ruby(path: str, look: Look, chosen: str) -> Run:
    bundle = "bundle exec " if "Gemfile" in look.files else ""
    if path.endswith("_spec.rb"):
        return f"{bundle}rspec {quote(path)}", ""
    return f"{bundle}ruby -Ilib -Itest {quote(path)}", ""


def _simple(program: str) -> Callable[[str, Look, str], Run]:
    return lambda path, look, chosen: (f"{program} {quote(path)}", "")


_RUNS: dict[str, Callable[[str, Look, str], Run | None]] = {
    ".py": _python,
    ".js": _javascript,
    ".go": _go,
    ".rs": _rust,
    ".rb": _ruby,
    ".sh": _simple("bash"),
    ".bats": _simple("bats"),
    ".t": _simple("prove -l"),
    ".php": _simple("vendor/bin/phpunit"),
    ".exs": _simple("mix test"),
}
_MANIFESTS = {
    ".py": PYTHON_MANIFESTS,
    ".go": ("go.mod",),
    ".rs": ("Cargo.toml",),
    ".rb": ("Gemfile",),
    ".php": ("composer.json",),
    ".exs": ("mix.exs",),
}
RUNNABLE = tuple(_RUNS)
"""Suffixes in the order in which they are preferred; `.js` stands for all of JavaScript and TypeScript."""
