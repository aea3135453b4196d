"""What JavaScript's test runners have in common: package.json, package managers, and names of test files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

from bough.core.shell_syntax import Part, get_program_name
from bough.core.verdict.paths import find_stem, last_segment, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner

SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
LOCKS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
PROBE_CASE = r"(?:test|it)\(\s*['\"`](.*?)['\"`]"
"""How a test begins in a probe."""
PROBE_HOW = "Tests with the framework's own assertions; `await import(…)` inside each."
_NO_TESTS = r"No tests? (?:files )?found, exiting with code [01]"


class JavaScript(Runner):
    """Chosen when it is among a package's dependencies."""

    suffixes = SUFFIXES
    probe_suffix = ".test.js"

    def find_probe_suffix(self, tests: Sequence[str]) -> str:
        found = (re.search(r"\.(test|spec)\.[cm]?[jt]sx?$", path) for path in tests)
        return next((hit[0] for hit in found if hit), self.probe_suffix)

    def recognise(self, part: Part, at: int) -> int | None:
        if get_program_name(part, at) == self.name:
            return at
        if get_program_name(part, at) in ("node", "nodejs", "tsx"):
            places = range(at + 1, len(part))
            return next(
                (index for index in places if re.sub(r"\.m?js$", "", get_program_name(part, index)) == self.name), None
            )
        return None

    def chosen(self, look: ProjectFiles) -> bool:
        return find_test_tool(look) == self.name

    def command(self, look: ProjectFiles, path: str = "") -> str:
        """The command for one test file of a package, or for all of them; the path is quoted."""
        return f"{make_run_command(look)}{self.name}{path}"

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if not self.chosen(look):
            return
        nested = {parent_folder(path) for path in look if last_segment(path) == "package.json"} - {""}
        tests = (path for path in look if _is_test(path))
        own = next((path for path in tests if not any(path.startswith(f"{folder}/") for folder in nested)), None)
        why = f"{self.name} is in package.json" if find_test_tool(look) else f"there are JavaScript tests ({own})"
        if own:
            yield ProjectCommand(self.command(look), why)

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        return self.command(look, f" {quote(path)}") if self.chosen(look) else None

    def home(self, path: str, look: ProjectFiles) -> str:
        """The nearest package above that has a test tool, else the nearest: workspaces keep their tools at the top."""
        nearest = home = look.home(path, "package.json")
        while home and not find_test_tool(look.inside(home)):
            home = look.home(home, "package.json")
        return home if find_test_tool(look.inside(home)) else nearest


def _is_test(path: str) -> bool:
    if not path.endswith(SUFFIXES):
        return False
    named = re.search(r"[._-]test$|[._-]spec$|^test-|^test$", find_stem(path))
    return named is not None or "test" in path.split("/")[:-1]


def read_package(look: ProjectFiles) -> dict[str, Any]:
    """The content of package.json; empty when there is none or it is not an object."""
    try:
        read = json.loads(look.text("package.json") or "null")
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def get_table(holder: dict[str, Any], key: str) -> dict[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def list_dependencies(look: ProjectFiles) -> dict[str, Any]:
    about = read_package(look)
    return {**get_table(about, "dependencies"), **get_table(about, "devDependencies")}


def find_manager(look: ProjectFiles) -> str:
    """The package manager of a project, by what package.json says and by its lock file."""
    named = str(read_package(look).get("packageManager", "")).split("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    for lock, name in LOCKS:
        if lock in look.files:
            return name
    return "npm"


def make_run_command(look: ProjectFiles) -> str:
    """How the project's package manager runs a program of a dependency."""
    return {"npm": "npx --no-install ", "pnpm": "pnpm exec ", "yarn": "yarn ", "bun": "bunx "}[find_manager(look)]


def find_test_tool(look: ProjectFiles) -> str:
    """The test tool among a package's dependencies, preferably the one that its test script names; empty: none."""
    known, script = list_dependencies(look), str(get_table(read_package(look), "scripts").get("test", ""))
    tools = [name for name in ("vitest", "jest", "mocha") if name in known]
    return next((name for name in tools if re.search(rf"\b{name}\b", script)), tools[0] if tools else "")


def says_no_tests(line: str) -> bool:
    return bool(re.fullmatch(_NO_TESTS, line.strip()))


def escape_regex(name: str) -> str:
    """A name as a JavaScript regular expression."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", name)
