"""Fetch the projects of the table and lay out the base of each goal as a git repository.

    python bench/earned/fetch.py FOLDER                 all of them; some minutes and a network
    python bench/earned/fetch.py FOLDER roman soundex   some of them

`FOLDER/PROJECT/GOAL` is the release as its authors ship it, with the goal's planted bug where there is one, in one
commit. `FOLDER/.venv` holds what the Python projects need to run their tests. What is there already stays, so a second
run only adds what is missing. Needs `pip`, `npm` and, for the C library, `apt-get` with Debian's package sources.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parent
GIT = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]
BUILDERS = ["setuptools", "setuptools_scm", "wheel", "flit_core", "hatchling", "poetry-core"]
"""What `pip download` builds metadata with: one environment for all instead of one for each project."""


@dataclass(frozen=True)
class Edit:
    """One edit: `old` (which occurs exactly once) becomes `new`, or the file is written as `text`."""

    path: str
    old: str = ""
    new: str = ""
    text: str | None = None

    def apply(self, folder: Path) -> None:
        """Make the edit below the folder; an `old` that does not occur exactly once is an error."""
        file = folder / self.path
        if self.text is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text, encoding="utf-8")
            return
        with file.open(encoding="utf-8", newline="") as stream:
            before = stream.read()
        count = before.count(self.old)
        if count != 1:
            raise LookupError(f"{self.path}: the text to replace occurs {count} times: {self.old[:80]!r}")
        with file.open("w", encoding="utf-8", newline="") as stream:
            stream.write(before.replace(self.old, self.new))


@dataclass(frozen=True)
class Change:
    """What an agent leaves behind when it says that it is done."""

    name: str
    kind: str
    right: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Case:
    """One example that an independent examiner would write; `keeps` marks what holds at the base already."""

    name: str
    text: str
    keeps: bool


@dataclass(frozen=True)
class Script:
    """A file that is written into the repository, and the command that runs it."""

    path: str
    text: str
    command: str


@dataclass(frozen=True)
class Goal:
    """One goal in a person's words, and everything that tells right from wrong."""

    name: str
    text: str
    requirements: tuple[str, ...]
    plant: tuple[Edit, ...]
    hidden: Script
    prelude: Script
    """Where a case is written, the lines before it, and the command that runs it."""
    cases: tuple[Case, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Project:
    """A release of a real project, the command that is its check, and its goals."""

    kind: str
    name: str
    version: str
    setup: tuple[str, ...]
    check: str
    weak: str
    """Why its check says little, in a few words; empty where it is an ordinary suite."""
    ignore: tuple[str, ...]
    goals: tuple[Goal, ...]


def _edits(rows: list[dict[str, str]]) -> tuple[Edit, ...]:
    return tuple(Edit(**row) for row in rows)


def _goal(row: dict[str, Any]) -> Goal:
    examples = row.get("examples", {"path": "", "text": "", "command": ""})
    return Goal(
        name=row["name"],
        text=row["text"].strip(),
        requirements=tuple(row["requirements"]),
        plant=_edits(row.get("plant", [])),
        hidden=Script(**row["hidden"]),
        prelude=Script(**examples),
        cases=tuple(Case(each["name"], each["text"], each.get("keeps", False)) for each in row.get("case", [])),
        changes=tuple(
            Change(each["name"], each["kind"], each["right"], _edits(each["edits"])) for each in row["change"]
        ),
    )


def projects(names: list[str] | None = None) -> list[Project]:
    """The table, or those of its projects that are named."""
    found = []
    for file in sorted(TABLE.glob("*.toml")):
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        about = document["project"]
        project = Project(
            kind=about["kind"],
            name=about["name"],
            version=about["version"],
            setup=tuple(about.get("setup", [])),
            check=about["check"],
            weak=about.get("weak", ""),
            ignore=tuple(about.get("ignore", [])),
            goals=tuple(_goal(row) for row in document["goal"]),
        )
        if not names or project.name in names:
            found.append(project)
    return found


def run(words: list[str], folder: Path, **env: str) -> None:
    """Run a command; its last lines are the message of the error when it fails."""
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        raise LookupError(f"{' '.join(words[:4])} failed: {done.stdout[-600:]}")


def environment(top: Path) -> Path:
    """The environment in which the Python projects are fetched and tested; its folder of programs."""
    place = top / ".venv"
    wanted = sorted({*BUILDERS, *(name for each in projects() for name in each.setup)})
    stamp = place / "installed.txt"
    if not stamp.exists() or stamp.read_text() != "\n".join(wanted):
        run([sys.executable, "-m", "venv", str(place)], top)
        run([str(place / "bin" / "python"), "-m", "pip", "install", "-q", *wanted], top)
        stamp.write_text("\n".join(wanted))
    return place / "bin"


def download(project: Project, top: Path) -> Path:
    """The archive of the release, fetched by the ordinary client unless it is there already."""
    box = top / ".archives" / project.name
    if not box.exists() or not _archives(box):
        box.mkdir(parents=True, exist_ok=True)
        if project.kind == "pypi":
            pip = [str(environment(top) / "python"), "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps"]
            run([*pip, "--no-build-isolation", "-d", str(box), f"{project.name}=={project.version}"], top)
        elif project.kind == "npm":
            run(["npm", "pack", "--silent", f"{project.name}@{project.version}"], box)
        else:
            _debian(project.name, box, top / ".apt")
    found = _archives(box)
    if len(found) != 1:
        raise LookupError(f"{project.name}: {len(found)} archives in {box}")
    return found[0]


def _archives(box: Path) -> list[Path]:
    """Archives of the authors; what a distribution adds (its packaging) does not count."""
    names = ("*.tar.gz", "*.tgz", "*.tar.xz", "*.tar.bz2")
    return [file for pattern in names for file in box.glob(pattern) if ".debian.tar" not in file.name]


def _debian(name: str, box: Path, home: Path) -> None:
    """Fetch a source package by package lists of our own: nothing of the system changes."""
    options = [
        f"-oDir::Etc::sourcelist={os.devnull}",
        f"-oDir::Etc::sourceparts={home / 'parts'}",
        f"-oDir::State::lists={home / 'lists'}",
        f"-oDir::Cache={home / 'cache'}",
    ]
    if not home.exists():
        for folder in ("parts", "lists/partial", "cache"):
            (home / folder).mkdir(parents=True)
        sources = Path("/etc/apt/sources.list.d/debian.sources").read_text()
        (home / "parts" / "source.sources").write_text(sources.replace("Types: deb\n", "Types: deb-src\n"))
        run(["apt-get", *options, "-q", "update"], home)
    fetched = subprocess.run(
        ["apt-get", *options, "-q", "source", "--download-only", name], cwd=box, capture_output=True, text=True
    )
    # The authors' own archive is enough: a mirror may lack the packaging, which nothing here needs.
    if not _archives(box):
        raise LookupError(f"apt-get source {name} failed: {fetched.stderr[-600:]}")


def unpack(archive: Path, place: Path) -> None:
    """Unpack the one folder of the archive as `place`."""
    with tempfile.TemporaryDirectory(dir=place.parent) as box, tarfile.open(archive) as packed:
        packed.extractall(box, filter="data")
        shutil.move(next(Path(box).iterdir()), place)


def lay_out(project: Project, goal: Goal, top: Path) -> Path:
    """The base of one goal: the release, the planted bug, one commit."""
    place = top / project.name / goal.name
    if (place / ".git" / "laid-out").exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    unpack(download(project, top), place)
    for edit in goal.plant:
        edit.apply(place)
    run([*GIT, "init", "-q", "-b", "main"], place)
    ignored = ["__pycache__/", "*.pyc", ".pytest_cache/", ".benchmarks/", ".venv/", "node_modules/", *project.ignore]
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "exclude").write_text("\n".join(ignored) + "\n")
    run([*GIT, "add", "--all", "--force", "."], place)
    run([*GIT, "commit", "-q", "-m", f"{project.name} {project.version}"], place)
    (place / ".git" / "laid-out").write_text("")
    return place


def main() -> int:
    """Fetch what is asked for; a project that cannot be fetched is named, and the others are fetched all the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    top: Path = asked.folder.resolve()
    top.mkdir(parents=True, exist_ok=True)
    environment(top)
    failed = 0
    for project in projects(asked.names):
        for goal in project.goals:
            try:
                print(lay_out(project, goal, top))
            except LookupError as error:
                failed += 1
                print(f"{project.name}/{goal.name}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
