"""Finished work from real libraries, and the same with bugs in it."""

import ast
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CATALOGUE = HERE / "catalogue.toml"
SOURCES = HERE.parent / ".planted"
LEAN = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
MOST = 3
"""Bugs that are planted at once, each in a function of its own: a request to an examiner is worth more than one."""


@dataclass(frozen=True)
class Bug:
    id: str
    kind: str
    old: str
    new: str
    shows: str
    """A program that fails with the bug and passes without."""


@dataclass(frozen=True)
class Work:
    """A goal, and the work of an author who has tested it."""

    module: str
    goal: str
    text: str
    tests: str
    bugs: tuple[Bug, ...]

    def planted(self, *bugs: Bug) -> str:
        text = self.text
        for bug in bugs:
            if text.count(bug.old) != 1:
                raise ValueError(f"{self.module}: {bug.id} does not fit: `old` is there {text.count(bug.old)} times")
            text = text.replace(bug.old, bug.new)
        return text

    def function(self, bug: Bug) -> str:
        at = self.text.index(bug.old)
        return self.text[:at].rpartition("\ndef ")[2].partition("(")[0]


@dataclass(frozen=True)
class Variant:
    """One piece of work with a few bugs."""

    work: Work
    bugs: tuple[Bug, ...] = field(default=())

    @property
    def id(self) -> str:
        return f"{self.work.module}:{'+'.join(bug.id for bug in self.bugs)}"


def load(path: Path = CATALOGUE) -> list[Work]:
    return [_work(table) for table in tomllib.loads(path.read_text("utf-8"))["work"]]


def variants(work: Work) -> list[Variant]:
    """All its bugs, a few at a time, never two in one function."""
    groups: list[list[Bug]] = []
    for bug in work.bugs:
        fits = (
            group
            for group in groups
            if len(group) < MOST and work.function(bug) not in {work.function(other) for other in group}
        )
        group = next(fits, None)
        if group is None:
            groups.append([bug])
        else:
            group.append(bug)
    return [Variant(work, tuple(group)) for group in groups]


def _work(table: dict[str, Any]) -> Work:
    parts = [table["preamble"].strip()]
    for place in ({"file": table["file"], "names": table["names"]}, *table.get("more", ())):
        parts += _taken(installed(table["library"]) / place["file"], place["names"])
    bugs = tuple(Bug(**{key: _exact(value) for key, value in bug.items()}) for bug in table["bugs"])
    text = "\n\n\n".join(parts) + "\n"
    return Work(table["module"], table["goal"].strip(), text, table["tests"].lstrip(), bugs)


def _exact(text: str) -> str:
    """Without the line breaks that only hold the quotes; what ends in one on purpose keeps it."""
    return text.removeprefix("\n").removesuffix("\n") if text.startswith("\n") else text


def installed(library: str) -> Path:
    """The library's files, fetched once; `python`: those of Python itself."""
    if library == "python":
        return Path(sysconfig.get_path("stdlib"))
    target = SOURCES / library.replace("==", "-")
    if not target.is_dir():
        command = ["uv", "pip"] if shutil.which("uv") else [sys.executable, "-m", "pip"]
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run([*command, "install", "-q", "--no-deps", "--target", str(part), library], check=True)
        part.rename(target)
    return target


def _taken(path: Path, names: list[str]) -> list[str]:
    """Definitions out of a source file, in the order of the names; of a docstring the first paragraph."""
    source = path.read_text("utf-8")
    lines = source.splitlines(keepends=True)
    found: dict[str, str] = {}
    for node in ast.parse(source).body:
        for name in _named(node):
            text = "".join(lines[node.lineno - 1 : node.end_lineno]).rstrip()
            found[name] = _shorter(text, node) if isinstance(node, ast.FunctionDef) else text
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"{path.name} has no {', '.join(missing)}")
    return [found[name] for name in names]


def _named(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _shorter(text: str, node: ast.FunctionDef) -> str:
    said, first = ast.get_docstring(node), node.body[0]
    if not said:
        return text
    lines = text.splitlines()
    begin, end = first.lineno - node.lineno, (first.end_lineno or first.lineno) - node.lineno
    paragraph = " ".join(said.split("\n\n")[0].split()).replace("\\", "\\\\").replace('"""', "'''")
    return "\n".join([*lines[:begin], f'    """{paragraph}"""', *lines[end + 1 :]])


# ── holding the catalogue to its word ───────────────────────────────────────────────────────────────────────────────


def laid_out(work: Work, text: str, folder: Path) -> None:
    (folder / "tests").mkdir(parents=True, exist_ok=True)
    (folder / "conftest.py").write_text("")
    (folder / f"{work.module}.py").write_text(text)
    (folder / "tests" / f"test_{work.module}.py").write_text(work.tests)


def tests_pass(folder: Path, *paths: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", *LEAN, "--rootdir", str(folder), *paths]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def _runs(program: str, folder: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def problems(work: Work) -> list[str]:
    """What is wrong with an entry of the catalogue; nothing: every bug is one, and the author's tests see none."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        laid_out(work, work.text, folder)
        if not tests_pass(folder):
            return [f"{work.module}: the tests fail without any bug"]
        found += [f"{bug.id}: it shows without the bug" for bug in work.bugs if not _runs(bug.shows, folder)]
        for bug in work.bugs:
            laid_out(work, work.planted(bug), folder)
            if not tests_pass(folder):
                found.append(f"{bug.id}: the author's tests see it")
            if _runs(bug.shows, folder):
                found.append(f"{bug.id}: it does not show")
        for variant in variants(work):
            laid_out(work, work.planted(*variant.bugs), folder)
            if not tests_pass(folder):
                found.append(f"{variant.id}: the author's tests see them together")
    return found
