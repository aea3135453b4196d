"""At home in real projects: is the check that bough finds the right one, and does it say what the project's own says?

    python bench/projects.py                      all of them: some minutes, a network, and the tools named below
    python bench/projects.py itsdangerous fnv     some of them
    python bench/projects.py --keep FOLDER        leave the projects there, and use those that are there already

Each project is taken as its authors ship it: the source from the Python index, npm's tarball, or Debian's source
package. It is set up as a developer of it would (an ignored environment that is not activated, `npm install`, nothing
at all), and put under git. Then, for each:

- *own*: its own test command, run by hand in its folder: exit status, tests passed and failed, by its own last lines.
- *check*: the command that `bough doctor` and `bough run` name, and whether it is the one expected.
- *base*: what bough's first run of it said, in a checkout of its own: the same status and counts as by hand, or not.
- *good*: a scripted model makes a harmless change and says that it is done: proven, exit status 0.
- *bad*: it makes a change that breaks the product: not proven, exit status 3.

Nothing is scripted but the model, which is a server on loopback. The expected checks are written down in
`projects.toml`, beside how each project is set up.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
from overhead import fake_model
from server import MODEL, Script

PYTEST = (
    r"(?P<n>\d+) (?P<kind>passed|failed|errors?)\b(?=.* in [\d.]+s)",
    {"passed": 0, "failed": 1, "error": 1, "errors": 1},
)
COUNTS: dict[str, tuple[str, dict[str, int]]] = {
    "pytest": PYTEST,
    "unittest": (r"^(?P<kind>Ran) (?P<n>\d+) tests?", {"Ran": 0}),
    "mocha": (r"^ +(?P<n>\d+) (?P<kind>passing|failing)", {"passing": 0, "failing": 1}),
    "jest": (r"(?P<n>\d+) (?P<kind>passed|failed)(?=[^\n]* total\nSnapshots)", {"passed": 0, "failed": 1}),
    "cargo": (r"(?P<n>\d+) (?P<kind>passed|failed);", {"passed": 0, "failed": 1}),
    "go": (r"^ *--- (?P<kind>PASS|FAIL)", {"PASS": 0, "FAIL": 1}),
    "tape": (r"^# (?P<kind>pass|fail) +(?P<n>\d+)", {"pass": 0, "fail": 1}),
}
"""How a project's own last lines say what passed and failed: not read as bough reads them, since that is asked."""


@dataclass(frozen=True)
class Project:
    name: str
    what: str
    """What kind of project it stands for."""
    source: str
    """`python:NAME`, `npm:NAME`, `debian:NAME`, or `parts` of a monorepo."""
    setup: str
    own: str
    """Its own test command, as a developer types it with the environment activated."""
    check: str
    """The command that bough has to find."""
    good: tuple[str, str, str]
    """A file, a text in it, and a harmless one to stand for it."""
    bad: tuple[str, str, str]
    """The same, with one that breaks the product."""
    reads: str = ""
    """Which of `COUNTS` reads its last lines; empty: only the exit status is compared."""
    needs: tuple[str, ...] = ()
    folder: str = ""
    """Where the person stands."""
    parts: tuple[str, ...] = ()
    """Of a monorepo: the projects in it, each in a folder of its name."""
    ignored: str = ".venv/\nnode_modules/\ntarget/\n__pycache__/\n*.egg-info/\n.tox/\n.nox/\n*.o\n"
    config: str = ""
    """bough.toml."""


TABLE = Path(__file__).with_suffix(".toml").read_text()
PROJECTS = msgspec.toml.decode(TABLE, type=dict[str, tuple[Project, ...]])["project"]


# Getting them


def fetch(source: str, place: Path, cache: Path) -> None:
    """The source of a project, unpacked at `place`."""
    kind, _, name = source.partition(":")
    box = cache / re.sub(r"[^\w.-]", "_", source)
    if not box.exists():
        box.mkdir(parents=True)
        if kind == "python":
            plain = name.partition("==")[0]
            pip = ["python3", "-m", "pip", "download", "-q", "--no-deps", "--no-binary", plain, "-d", str(box), name]
            _do(pip, cache)
        elif kind == "npm":
            _do(["npm", "pack", "--silent", name], box)
        else:
            _debian(name, box, cache)
    archives = [path for path in sorted(box.iterdir()) if re.search(r"\.(tar\.\w+|tgz)$", path.name)]
    chosen = [path for path in archives if ".orig.tar." in path.name] or archives
    if not chosen:
        shutil.rmtree(box)
        raise LookupError(f"nothing was downloaded for {source}")
    with tarfile.open(chosen[0]) as archive, tempfile.TemporaryDirectory(dir=cache) as unpacked:
        archive.extractall(unpacked, filter="data")
        shutil.move(next(Path(unpacked).iterdir()), place)


def _debian(name: str, box: Path, cache: Path) -> None:
    """Source packages of the release that is installed here, by lists of their own: nothing of the system changes."""
    home = cache / "apt"
    options = [
        f"-oDir::Etc::sourcelist={os.devnull}",
        f"-oDir::Etc::sourceparts={home / 'parts'}",
        f"-oDir::State::lists={home / 'lists'}",
        f"-oDir::Cache={home / 'cache'}",
    ]
    if not home.exists():
        for folder in ("parts", "lists/partial", "cache"):
            (home / folder).mkdir(parents=True)
        stanza = Path("/etc/apt/sources.list.d/debian.sources").read_text().split("Signed-By", 1)
        signed = stanza[1].splitlines()[0]
        text = f"{stanza[0].replace('Types: deb', 'Types: deb-src', 1)}Signed-By{signed}\n"
        (home / "parts" / "source.sources").write_text(text)
        _do(["apt-get", *options, "-q", "update"], cache)
    # Packaging that is missing from a mirror is not asked for: the authors' own archive is.
    _do(["apt-get", *options, "-q", "source", "--download-only", name], box, check=False)


def _do(words: list[str], folder: Path, check: bool = True) -> None:
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        raise LookupError(f"{words[0]} failed: {done.stdout[-500:]}")


def prepare(project: Project, top: Path, cache: Path) -> Path:
    """The project in a git repository, set up; its folder."""
    place = top / re.sub(r"\W+", "-", project.name)
    if place.exists():
        return place
    try:
        for part in [each for each in PROJECTS if each.name in project.parts] or [project]:
            inner = place / part.name if project.parts else place
            inner.parent.mkdir(parents=True, exist_ok=True)
            fetch(part.source, inner, cache)
            with (inner / ".gitignore").open("a") as ignored:
                ignored.write("\n" + part.ignored)
            if part.setup:
                _do(["bash", "-c", part.setup], inner)
        if project.config:
            (place / "bough.toml").write_text(project.config)
        git = ["git", "-c", "user.name=b", "-c", "user.email=b@b", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "As it is shipped"]):
            _do([*git, *words], place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return place


# Asking


@dataclass(frozen=True)
class CheckLine:
    status: int | None
    passed: int = 0
    failed: int = 0

    def __str__(self) -> str:
        counts = f", {self.passed} passed" + (f", {self.failed} failed" if self.failed else "") if self.passed else ""
        return f"exit {self.status}{counts}"


def by_hand(project: Project, place: Path) -> CheckLine:
    done = subprocess.run(
        ["bash", "-c", project.own],
        cwd=place / project.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    numbers = [0, 0]
    if project.reads:
        pattern, kinds = COUNTS[project.reads]
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        text = text if project.reads in ("cargo", "tape", "mocha", "go") else text[-3000:]
        for match in re.finditer(pattern, text, re.MULTILINE):
            numbers[kinds[match["kind"]]] += int(match.groupdict().get("n") or 1)
    return CheckLine(done.returncode, *numbers)


@dataclass(frozen=True)
class ProjectRun:
    status: int
    check: str = ""
    base: CheckLine | None = None
    lacking: str = ""
    reason: str = ""


def run(project: Project, place: Path, change: tuple[str, str, str], port: int) -> ProjectRun:
    """`bough run` with a model that makes one change and says that it is done."""
    path, old, new = change
    text = (place / path).read_text()
    if old not in text:
        raise LookupError(f"{path} does not hold {old!r}")
    inside = os.path.relpath(place / path, place / project.folder)
    edit = json.dumps({"path": inside, "content": text.replace(old, new, 1)})
    script = Script(project.name, 1, "write", edit, "done", '{"summary": "changed"}')
    url = f"http://127.0.0.1:{port}/{script.encode()}/v1"
    bough = str(Path(sys.executable).parent / "bough")
    words = [bough, "run", "Change it.", "--flat", "--json", "--model", f"openai:{MODEL}", "--base-url", url]
    done = subprocess.run(words, cwd=place / project.folder, env=environment(), capture_output=True, text=True)
    events = [json.loads(line)["event"] for line in done.stdout.splitlines() if line.startswith("{")]
    verdicts = [event["verdict"] for event in events if event.get("verdict")]
    base = next((event for event in events if event.get("event") == "BaseChecked"), None)
    reason = verdicts[-1]["reason"] if verdicts else done.stderr.strip()[-200:]
    if base is None:
        return ProjectRun(done.returncode, verdicts[-1].get("command", "") if verdicts else "", reason=reason)
    said = CheckLine(base.get("exit_status"), base.get("passed", 0), base.get("failed", 0))
    return ProjectRun(done.returncode, base.get("command", ""), said, base.get("lacking", ""), reason)


def doctor(project: Project, place: Path) -> str:
    """What `bough doctor` says of the check."""
    bough = str(Path(sys.executable).parent / "bough")
    words = [bough, "doctor", "--json"]
    done = subprocess.run(words, cwd=place / project.folder, env=environment(), capture_output=True, text=True)
    findings = json.loads(done.stdout)["findings"] if done.stdout.startswith("{") else []
    return next((found["says"] for found in findings if found["what"] == "check"), done.stderr.strip())


def environment() -> dict[str, str]:
    """A person's, who has activated nothing."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTEST", "PYTHON"))
    }
    own = str(Path(sys.executable).parent)
    kept["PATH"] = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != own)
    return {**kept, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1", "BOUGH_LIMITS_MAX_REPAIRS": "0"}


def row(project: Project, top: Path, cache: Path, port: int) -> tuple[list[str], bool]:
    lacking = [program for program in project.needs if shutil.which(program, path=environment()["PATH"]) is None]
    if lacking:
        return [project.name, project.what, f"not here: {', '.join(lacking)}", "", "", "", ""], False
    try:
        place = prepare(project, top, cache)
        own = by_hand(project, place)
        named = doctor(project, place)
        good = run(project, place, project.good, port)
        bad = run(project, place, project.bad, port)
    except LookupError as error:
        return [project.name, project.what, f"not prepared: {str(error)[-160:]!r}", "", "", "", ""], False
    right = good.check == project.check and named.startswith(f"{project.check}, because ")
    same = good.base is not None and good.base.status == own.status
    if project.reads and good.base is not None and own.passed:
        same = same and (good.base.passed, good.base.failed) == (own.passed, own.failed)
    base = "?" if good.base is None else str(good.base) if not same else "the same"
    fine = right and same and good.status == 0 and bad.status == 3
    cells = [
        project.name,
        project.what,
        str(own),
        f"`{good.check}`" + ("" if right else f" (not `{project.check}`; doctor: {named[:80]})"),
        base + (f" (lacks {good.lacking})" if good.lacking else ""),
        "proven" if good.status == 0 else f"exit {good.status}: {good.reason[:160]}",
        "not proven" if bad.status == 3 else f"exit {bad.status}: {bad.reason[:160]}",
    ]
    return cells, fine


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these projects")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the projects are, and stay")
    chosen = parser.parse_args()
    wanted = [project for project in PROJECTS if not chosen.names or project.name in chosen.names]
    with tempfile.TemporaryDirectory(prefix="projects-", dir="/var/tmp") as temporary, fake_model() as port:
        top = (chosen.keep or Path(temporary)).resolve()
        cache = top / ".cache"
        cache.mkdir(parents=True, exist_ok=True)
        print("| project | stands for | its own tests | bough's check | at the base | good change | bad change |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        fine = 0
        for project in wanted:
            cells, good = row(project, top, cache, port)
            fine += good
            print(f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in cells)} |", flush=True)
    print(f"\n{fine} of {len(wanted)} as they should be")
    sys.exit(fine < len(wanted))


if __name__ == "__main__":
    main()
