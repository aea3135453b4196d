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

Nothing is scripted but the model, which is a server on loopback. The expected checks are written down here, beside how
each project is set up.
"""

from __future__ import annotations

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

from overhead import fake_model
from server import MODEL, Script

VENV = "python3 -m venv .venv && .venv/bin/python -m pip install -q"
COLOURS = '[check]\nenv = { CI = "1" }\n'
"""Its tests want colours, which it leaves out where no terminal is, unless this is CI."""
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


PROJECTS = (
    Project(
        "itsdangerous",
        "Python, venv",
        "python:itsdangerous==2.2.0",
        f"{VENV} -e . pytest freezegun",
        ".venv/bin/python -m pytest -q",
        ".venv/bin/python -m pytest",
        ("src/itsdangerous/encoding.py", "def base64_encode", "# The inverse of base64_decode.\ndef base64_encode"),
        ("src/itsdangerous/encoding.py", 'rstrip(b"=")', 'rstrip(b"")'),
        "pytest",
    ),
    Project(
        "flask",
        "Python, uv",
        "python:flask==3.1.3",
        "uv sync -q",
        ".venv/bin/python -m pytest -q",
        ".venv/bin/python -m pytest",
        ("src/flask/helpers.py", "def get_debug_flag", "# Read from the environment.\ndef get_debug_flag"),
        ("src/flask/helpers.py", "val.lower() not in", "val.lower() in"),
        "pytest",
        ("uv",),
    ),
    Project(
        "cleo",
        "Python, Poetry",
        "python:cleo==2.1.0",
        "poetry install -q || { poetry run pip install -q -e . && poetry run pip install -q pytest pytest-mock; }",
        "poetry run python -m pytest",
        "python3 -m pytest",
        ("src/cleo/helpers.py", "def argument(", "# A helper.\ndef argument("),
        ("src/cleo/helpers.py", "required=not optional", "required=optional"),
        "pytest",
        ("poetry",),
    ),
    Project(
        "itsdangerous, PDM",
        "Python, PDM, environment elsewhere",
        "python:itsdangerous==2.2.0",
        "pdm config --local venv.in_project false && pdm use -q -f python3 && "
        'uv pip install -q -p "$(cat .pdm-python)" -e . pytest freezegun',
        "pdm run python -m pytest -q",
        "python3 -m pytest",
        ("src/itsdangerous/encoding.py", "def base64_encode", "# The inverse of base64_decode.\ndef base64_encode"),
        ("src/itsdangerous/encoding.py", 'rstrip(b"=")', 'rstrip(b"")'),
        "pytest",
        ("pdm", "uv"),
        ignored=".pdm-python\n__pycache__/\n",
    ),
    Project(
        "itsdangerous, Pipenv",
        "Python, Pipenv",
        "python:itsdangerous==2.2.0",
        "pipenv install -q --dev pytest freezegun && pipenv run pip install -q -e .",
        "pipenv run python -m pytest -q",
        "python3 -m pytest",
        ("src/itsdangerous/encoding.py", "def base64_encode", "# The inverse of base64_decode.\ndef base64_encode"),
        ("src/itsdangerous/encoding.py", 'rstrip(b"=")', 'rstrip(b"")'),
        "pytest",
        ("pipenv",),
    ),
    Project(
        "termcolor",
        "Python, Hatch",
        "python:termcolor==2.5.0",
        "SETUPTOOLS_SCM_PRETEND_VERSION=2.5.0 hatch test",
        "SETUPTOOLS_SCM_PRETEND_VERSION=2.5.0 hatch test",
        "python3 -m pytest",
        ("src/termcolor/termcolor.py", "def cprint(", "# Colored, to a file.\ndef cprint("),
        (
            "src/termcolor/termcolor.py",
            "def _can_do_colour(",
            "def _can_do_colour(*_, **__):\n    return False\n\n\ndef _can(",
        ),
        "pytest",
        ("hatch",),
    ),
    Project(
        "pluggy",
        "Python, tox",
        "python:pluggy==1.7.0",
        "tox -q -e py311 --notest",
        "tox -q -e py311",
        "tox --skip-pkg-install -e py311",
        ("src/pluggy/_result.py", "class HookCallError", "# An error of the caller.\nclass HookCallError"),
        ("src/pluggy/_execution.py", "results.append(res)", "results.insert(0, res)"),
        "pytest",
        ("tox",),
    ),
    Project(
        "pyproject-hooks",
        "Python, nox",
        "python:pyproject_hooks==1.3.3",
        "nox --install-only -s test-3.11",
        "nox -s test-3.11",
        "nox -R -s test-3.11",
        ("src/pyproject_hooks/_impl.py", "class BackendUnavailable", "# No backend.\nclass BackendUnavailable"),
        (
            "src/pyproject_hooks/_impl.py",
            '            "get_requires_for_build_wheel",',
            '            "get_requires_for_wheel",',
        ),
        "pytest",
        ("nox",),
    ),
    Project(
        "python-slugify",
        "Python, setup.py and a requirements file",
        "python:python-slugify==9.1.3",
        f"{VENV} -e . -r dev.requirements.txt",
        ".venv/bin/python -m pytest -q",
        ".venv/bin/python -m pytest",
        ("slugify/slugify.py", "def _transliterate(", "# To ASCII.\ndef _transliterate("),
        ("slugify/_legacy.py", "text = text.lower()", "text = text.upper()"),
        "pytest",
    ),
    Project(
        "walrus",
        "Python with a database service",
        "python:walrus==0.9.8",
        f"{VENV} -e .",
        "redis-server --port 7391 --save '' --daemonize yes >/dev/null; WALRUS_REDIS_PORT=7391 .venv/bin/python -m "
        "unittest walrus.tests 2>&1; status=$?; redis-cli -p 7391 shutdown; exit $status",
        ".venv/bin/python -m unittest walrus.tests",
        ("walrus/utils.py", "def decode_dict(", "# Keys and values.\ndef decode_dict("),
        ("walrus/utils.py", "def decode(s):", "def decode(s):\n    return s\n\n\ndef undecode(s):"),
        "unittest",
        ("redis-server",),
        config='[check]\ncommand = ".venv/bin/python -m unittest walrus.tests"\n\n[services.redis]\n'
        'run = "redis-server --port $PORT --dir $DATA --save \'\'"\nenv = { WALRUS_REDIS_PORT = "$PORT" }\n',
    ),
    Project(
        "flaskr",
        "Flask app with its database, in a folder of another project",
        "python:flask==3.1.3",
        "uv sync -q && uv pip install -q -e examples/tutorial",
        "../../.venv/bin/python -m pytest -q",
        "cd examples/tutorial && ../../.venv/bin/python -m pytest",
        ("examples/tutorial/flaskr/blog.py", "def get_post(", "# With its author.\ndef get_post("),
        ("examples/tutorial/flaskr/blog.py", "abort(403)", "abort(404)"),
        "pytest",
        ("uv",),
        "examples/tutorial",
    ),
    Project(
        "express",
        "node, npm, mocha; red as it is shipped",
        "debian:node-express",
        "npm install --silent --no-audit --no-fund",
        "npm test -- --no-bail",
        "npm test",
        ("lib/utils.js", "exports.etag = ", "// Weak by default elsewhere.\nexports.etag = "),
        (
            "lib/utils.js",
            "exports.etag = createETagGenerator({ weak: false })",
            "exports.etag = createETagGenerator({ weak: true })",
        ),
        "mocha",
        ("npm",),
        config="[check]\naccept_failing = true\n",
    ),
    Project(
        "commander",
        "node, npm, jest",
        "debian:node-commander",
        "npm install --silent --no-audit --no-fund",
        "npx --no-install jest",
        "npm test",
        ("lib/suggestSimilar.js", "const maxDistance = 3;", "const maxDistance = 3; // edits"),
        ("lib/suggestSimilar.js", "const maxDistance = 3;", "const maxDistance = 0;"),
        "jest",
        ("npm",),
    ),
    Project(
        "minimist",
        "node, npm, tape",
        "npm:minimist@1.2.8",
        "npm install --silent --no-audit --no-fund",
        "npm test",
        "npm test",
        ("index.js", "function isNumber(", "// Hexadecimal too.\nfunction isNumber("),
        ("index.js", "function isNumber(x) {", "function isNumber(x) { return false;"),
        "tape",
        ("npm",),
    ),
    Project(
        "picocolors",
        "node, pnpm",
        "debian:node-picocolors",
        "pnpm install --silent",
        "CI=1 pnpm test",
        "pnpm test",
        ("picocolors.js", "let formatter", "// One colour.\nlet formatter"),
        (
            "picocolors.js",
            "let start = string.substring(0, index) + replace",
            "let start = string.substring(1, index) + replace",
        ),
        "",
        ("pnpm",),
        config=COLOURS,
    ),
    Project(
        "http-parser",
        "C library, make",
        "debian:http-parser",
        "",
        "make test",
        "make test",
        ("http_parser.c", "#include <assert.h>", "#include <assert.h> /* in debug builds */"),
        ("http_parser.c", "#define IS_NUM(c)           ((c) >= '0'", "#define IS_NUM(c)           ((c) >= '1'"),
        "",
        ("make", "cc"),
        ignored="*.o\n*.a\ntest_g\ntest_fast\n",
    ),
    Project(
        "fnv",
        "Rust, cargo",
        "debian:rust-fnv",
        "",
        "cargo test --offline",
        "cargo test",
        ("lib.rs", "impl FnvHasher {", "// Keyed.\nimpl FnvHasher {"),
        ("lib.rs", "0xcbf29ce484222325", "0xcbf29ce484222326"),
        "cargo",
        ("cargo",),
        ignored="target/\nCargo.lock\n",
    ),
    Project(
        "uuid",
        "Go",
        "debian:golang-github-google-uuid",
        "",
        "go test -v ./...",
        "go test ./...",
        ("version4.go", "func New() UUID {", "// Random.\nfunc New() UUID {"),
        ("version4.go", "uuid[6] = (uuid[6] & 0x0f) | 0x40", "uuid[6] = (uuid[6] & 0x0f) | 0x50"),
        "go",
        ("go",),
    ),
    Project(
        "monorepo: web",
        "monorepo, from its node folder",
        "parts",
        "",
        "CI=1 pnpm test",
        "cd picocolors && pnpm test",
        ("picocolors/picocolors.js", "let formatter", "// One colour.\nlet formatter"),
        (
            "picocolors/picocolors.js",
            "let start = string.substring(0, index) + replace",
            "let start = string.substring(1, index) + replace",
        ),
        "",
        ("pnpm", "go"),
        "picocolors",
        ("itsdangerous", "picocolors", "uuid"),
        config=COLOURS,
    ),
    Project(
        "monorepo: api",
        "monorepo, from its Python folder",
        "parts",
        "",
        ".venv/bin/python -m pytest -q",
        "cd itsdangerous && .venv/bin/python -m pytest",
        ("itsdangerous/src/itsdangerous/encoding.py", "def base64_encode", "# Inverse.\ndef base64_encode"),
        ("itsdangerous/src/itsdangerous/encoding.py", 'rstrip(b"=")', 'rstrip(b"")'),
        "pytest",
        ("pnpm", "go"),
        "itsdangerous",
        ("itsdangerous", "picocolors", "uuid"),
    ),
)


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
class Said:
    status: int | None
    passed: int = 0
    failed: int = 0

    def __str__(self) -> str:
        counts = f", {self.passed} passed" + (f", {self.failed} failed" if self.failed else "") if self.passed else ""
        return f"exit {self.status}{counts}"


def by_hand(project: Project, place: Path) -> Said:
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
    return Said(done.returncode, *numbers)


@dataclass(frozen=True)
class Ran:
    status: int
    check: str = ""
    base: Said | None = None
    lacking: str = ""
    reason: str = ""


def run(project: Project, place: Path, change: tuple[str, str, str], port: int) -> Ran:
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
        return Ran(done.returncode, verdicts[-1].get("command", "") if verdicts else "", reason=reason)
    said = Said(base.get("exit_status"), base.get("passed", 0), base.get("failed", 0))
    return Ran(done.returncode, base.get("command", ""), said, base.get("lacking", ""), reason)


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
