"""Makefiles: the targets that the check uses, with variables put in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config import recipes, shell
from bough.core.tamper.wording import short

_TARGET = re.compile(r"^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*([^;=]*?)(?:;\s*(.*))?$")
_VARIABLE = re.compile(r"^(?:export\s+|override\s+)*([\w.\-]+)\s*(?:[:?+!]{0,3}=)\s*(.*)$")
_LOCAL = re.compile(r"^[^\s#:=][^:=#]*?\s*::?\s*((?:export\s+|override\s+|private\s+)*[\w.\-]+\s*(?:[:?+!]{0,3}=).*)$")
"""A variable of a target: it holds for its recipe, and is read as one of all."""
_INCLUDE = re.compile(r"^-?s?include\s+(.+)$")
_TESTING = re.compile(r"(?:^|[-_/.])(?:tests?|check|ci|verify|specs?)(?:$|[-_/.])", re.I)
_USE = re.compile(r"\$[({]([\w.\-]+)[)}]")


class Target(Struct, eq=False):
    line: int = 0
    needs: list[str] = []
    recipe: list[tuple[int, str]] = []
    earlier: bool = False
    """The recipe is from an earlier rule for the same target: the first line of this one replaces it."""

    def add(self, number: int, line: str) -> None:
        if self.earlier:
            self.recipe, self.earlier = [], False
        self.recipe.append((number, line.strip()))


class Make(Struct, eq=False):
    variables: dict[str, str] = {}
    targets: dict[str, Target] = {}
    default: str = ""

    def expand(self, text: str) -> str:
        for _ in range(5):
            new = _USE.sub(lambda use: self.variables.get(use[1], use[0])[:2_000], text)[:10_000]
            if new == text:
                break
            text = new
        return text

    def recipe(self, name: str) -> list[tuple[int, str]]:
        target = self.targets.get(name)
        return [(number, self.expand(line)) for number, line in target.recipe] if target is not None else []

    def used(self, wanted: list[str]) -> list[str]:
        """The targets and everything that they need or make themselves."""
        found: list[str] = []
        queue = list(wanted) or [self.default]
        while queue and len(found) < 200:
            name = queue.pop(0)
            if name in found or name not in self.targets:
                continue
            found.append(name)
            queue += self.targets[name].needs
            for _, line in self.recipe(name):
                queue += re.findall(r"(?:\$\(MAKE\)|\$\{MAKE\}|\bmake)\s+([\w.\-]+)", line)
        return found


def read(text: str, texts: Mapping[str, str], depth: int = 0) -> Make:
    made = Make()
    current: list[Target] = []
    for number, line in _lines(text):
        if line.startswith("\t"):
            for target in current:
                target.add(number, line)
            continue
        stripped = line.strip()
        included = _INCLUDE.match(stripped)
        if included is not None and depth < 3:
            for path in included[1].split():
                if path in texts:
                    inner = read(texts[path], texts, depth + 1)
                    made.variables |= inner.variables
                    made.targets |= inner.targets
            continue
        local = _LOCAL.match(stripped)
        variable = _VARIABLE.match(local[1] if local is not None else stripped)
        if variable is not None:
            more = "+=" in variable.string[: variable.start(2)]
            old = made.variables.get(variable[1], "")
            made.variables[variable[1]] = f"{old} {variable[2]}".strip() if more else variable[2]
            continue
        target_line = _TARGET.match(stripped)
        current = _targets(made, target_line, number) if target_line is not None else current
    return made


def _targets(made: Make, found: re.Match[str], number: int) -> list[Target]:
    current = []
    for name in found[1].split():
        known = made.targets.get(name)
        target = Target(number, [*(known.needs if known is not None else []), *made.expand(found[2] or "").split()])
        target.recipe = list(known.recipe) if known is not None else []
        target.earlier = True
        if found[3]:
            target.add(number, found[3])
        made.targets[name] = target
        made.default = made.default or (name if not name.startswith(".") else "")
        current.append(target)
    return current


def _lines(text: str) -> Iterator[tuple[int, str]]:
    whole, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        start = start or number
        if raw.endswith("\\"):
            whole += raw[:-1] + " "
            continue
        whole += raw
        if whole.strip() and not whole.strip().startswith("#"):
            yield start, whole
        whole, start = "", 0
    if whole.strip():
        yield start, whole


def _branches(text: str, first: bool) -> str:
    """The text with one side of each condition: the one that is written first, or the others. Lines stay in place."""
    kept, taken = [], list[bool]()
    for line in text.splitlines():
        word = line.split(" ")[0].strip() if not line.startswith("\t") else ""
        directive = word in ("ifdef", "ifndef", "ifeq", "ifneq", "else", "endif")
        if word.startswith("if") and directive:
            taken.append(first)
        elif word == "else" and taken:
            taken[-1] = not first
        elif word == "endif" and taken:
            taken.pop()
        kept.append("" if directive or not all(taken) else line)
    return "\n".join(kept)


def compare(
    before: Mapping[str, str], after: Mapping[str, str], changed: list[str], command: str
) -> Iterator[Tampering]:
    """`changed`: paths that differ."""
    for folder in sorted({files.folder_of(path) for path in changed if files.makefile(path)}):
        old, new = _effective(before, folder), _effective(after, folder)
        if old is None:
            continue
        if new is None:
            yield Tampering(old, 0, f"{old} was removed")
            continue
        wanted = _wanted(command, folder)
        for first in (True, False):
            was = read(_branches(before[old], first), before)
            now = read(_branches(after[new], first), after)
            yield from _specials(was, now, new, after[new])
            strict = was.used(wanted) if wanted is not None else []
            others = [name for name in was.targets if name not in strict and _TESTING.search(name)]
            for name in [*strict, *others]:
                yield from _target(name, was, now, new, name in strict)
            for name in now.used(wanted) if wanted is not None else []:
                known = {line for _, line in was.recipe(name)}
                for number, line in now.recipe(name):
                    place = shell.rewrites(recipes.bare(line)) if line not in known else ""
                    if place in before:
                        yield Tampering(new, number, f"target {name} changes {place} before the tests")


def _effective(texts: Mapping[str, str], folder: str) -> str | None:
    """The file that make reads in a folder."""
    here = [p for p in texts if files.makefile(p) and files.folder_of(p) == folder and files.makefile_rank(p) < 3]
    return min(here, key=files.makefile_rank, default=None)


def _wanted(command: str, folder: str) -> list[str] | None:
    """The targets that the command makes in a folder; None when it does not."""
    asked = shell.asked(command)
    if asked.runner != "make":
        return None
    place = (asked.options.get("-C") or asked.options.get("--directory") or [""])[-1]
    if files.plain_path(place) not in (folder, folder or "."):
        return None
    return [path for path in asked.paths if "=" not in path]


_DECIDING = (
    *("SHELL", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES", "PATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE"),
    *("GOFLAGS", "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "LD_PRELOAD", "RUSTFLAGS", "CARGO_BUILD_RUSTC"),
)
"""Variables by which something else is run than what a recipe says."""
_USUAL_PATH = re.compile(
    r"\$[({]?\{?PATH[)}]?|.*(?:node_modules/\.bin|\.?venv/bin|\.local/bin|go/bin|\.cargo/bin)/?|/(?:usr|opt|bin|sbin).*"
)


def _specials(was: Make, now: Make, path: str, text: str) -> Iterator[Tampering]:
    for name in (".IGNORE", ".ONESHELL"):
        if name in now.targets and name not in was.targets:
            yield Tampering(path, now.targets[name].line, f"{name} is new: failures of recipes can go unnoticed")
    for name in _DECIDING:
        value = now.variables.get(name)
        if value is None or value == was.variables.get(name) or _harmless(name, value.strip()):
            continue
        line = next((n for n, one in enumerate(text.splitlines(), 1) if name in one), 0)
        yield Tampering(path, line, f"{name} is now `{short(value, 60)}`")


def _harmless(name: str, value: str) -> bool:
    if name == "SHELL":
        return re.fullmatch(r"(?:/usr)?/bin/(?:env )?(?:ba|da|z)?sh", value) is not None
    if name == "PATH":
        return all(_USUAL_PATH.fullmatch(part) for part in value.split(":"))
    return name == "MAKEFLAGS" and not re.search(r"(?:^|\s)-?[a-z]*[inkt]", value)


def _target(name: str, was: Make, now: Make, path: str, strict: bool) -> Iterator[Tampering]:
    if name not in now.targets:
        yield Tampering(path, 0, f"target {name} was removed")
        return
    line = now.targets[name].line
    before, after = was.recipe(name), now.recipe(name)
    if before and not after and not now.targets[name].needs:
        yield Tampering(path, line, f"target {name} does nothing any more")
        return
    everywhere = [item for needed in now.used([name]) for item in now.recipe(needed)] if strict else after
    there, known = {text for _, text in everywhere}, {text for _, text in before}
    gone = [item for item in before if item[1] not in there]
    fresh = [item for item in after if item[1] not in known]
    for number, what in recipes.compare(gone, fresh, strict):
        yield Tampering(path, number or line, f"target {name}: {what}")
    if strict:
        now_needed = now.used([name])
        for needed in was.targets[name].needs:
            if needed in was.targets and needed not in now_needed and was.recipe(needed):
                yield Tampering(path, line, f"target {name} no longer makes {needed}")
