"""What a check needs besides the files of a tree: its environment, its settings, and advice on what is missing."""

import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from bough.adapters.workspaces.python_environment import Environment, find_beside
from bough.core.acceptance.verdict import Check
from bough.core.events import BaseChecked
from bough.core.tree.task import Task
from bough.core.verdict.alteration import Belief
from bough.core.verdict.check_run import NOT_STARTED, Baseline, CheckRun, cut_middle
from bough.core.verdict.discover import GIVEN, SET
from bough.core.verdict.language import Missing
from bough.core.verdict.missing import (
    ProjectFacts,
    find_idle,
    find_missing,
    find_test_library,
    keep_aside,
    list_packages,
    set_aside,
)
from bough.core.verdict.paths import is_made_folder, last_segment
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import LANGUAGES, NEUTRAL
from bough.core.verdict.stated_commands import list_commands, list_setups
from bough.core.verdict.texts import Read
from bough.trust.files import Place
from bough.trust.programs import make_environment, run_program

_ENVIRONMENTS = frozenset(language.environment for language in LANGUAGES if language.environment)
MOST_READ, SHOWN_TEXT, SHOWN_LINES = 200_000, 2_000, 20
"""Characters of a failing check's output that are read; characters and lines of it that are shown before a run."""


class CheckEnvironment(Struct, frozen=True):
    root: Path | None = None
    """The person's project; None: do not look for missing things."""
    found: Environment | None = None
    """The project's own environment, where its packages are installed."""
    ignored: Callable[[], Sequence[str]] = tuple
    """The project's ignored files, which are in no checkout."""
    surroundings: str = ""
    """An identifier of this environment."""
    folder: str = ""
    """The person's folder when the run started, relative to the project."""
    command: str = ""
    """The project's own check, as the person has set it."""
    before: str = ""
    """A command that runs before every check."""
    env: Mapping[str, str] = field(default_factory=dict)
    require: Callable[[Sequence[Check]], None] = lambda checks: None
    """Raises `PermissionNeeded` for candidates that the person neither named nor allowed."""

    @property
    def environment(self) -> str:
        return self.found.where if self.found is not None else ""

    def reader(self, texts: Mapping[str, str]) -> Read:
        """Return a reader of a tree's texts that takes files of an environment, which is in no tree, from the disk."""

        def read(path: str) -> str | None:
            elsewhere = self.found is not None and not self.found.inside
            if path in texts or self.root is None or elsewhere or last_segment(path) not in _ENVIRONMENTS:
                return texts.get(path)
            return Place(self.root, path, links=True).text() or None

        return read

    def examined(self, ran: CheckRun, check: Check, base: ProjectFacts) -> Baseline:
        """Return the check's result at the base, with what the check lacks there."""
        known, text = ran.known, cut_middle(ran.text, MOST_READ)
        if self.root is None or (known.exit_status == 0 and not known.runs_nothing):
            return known
        if known.runs_nothing:
            missing = Missing("package", find_test_library(text))
            told = replace(known, lacking=str(missing), way_out=self.for_missing(missing, base), absent=False)
            return told if missing.name else known
        last = "\n".join(text.rstrip().splitlines()[-SHOWN_LINES:])[-SHOWN_TEXT:]
        absent = find_idle(known.exit_status, check.command, text, ran.report) is not None
        known = replace(known, left_out=self._find_mentioned(text), said=last, absent=absent)
        lacks = self._find_hidden(text) or self._find_ignored(known, text)
        given, killed = check.why in (GIVEN, SET), ran.finished.killed
        lacks = lacks or find_missing(known.exit_status, check.command, text, ran.report, base, killed, given)
        if lacks is None:
            return replace(known, aside=set_aside(ran.report, base))
        own = next((each.name for each in LANGUAGES if check.runner in {one.name for one in each.runners}), "")
        lacks = _look_around(replace(lacks, language=lacks.language or own))
        absent = lacks.kind in ("target", "tests", "program")
        return replace(known, lacking=str(lacks), way_out=self.for_missing(lacks, base), absent=absent)

    def _find_ignored(self, known: Baseline, text: str) -> Missing | None:
        """Find an ignored file without which nothing ran: it is in the person's project, but in no checkout."""
        unfound = re.findall(r"(?m)^.*(?:No such file|cannot open|[Nn]ot found|[Cc]annot find).*$", text)
        ignored = self._find_mentioned("\n".join(unfound)) if unfound and not known.ran_tests else ()
        return Missing("ignored", ignored[0].rstrip("/")) if ignored else None

    def _find_hidden(self, text: str) -> Missing | None:
        """Find a module installed from outside the project (`pip install -e ../lib`), which commands cannot read."""
        names = re.findall(r"No module named ['\"]?(\w+)", text)
        if self.found is None or self.root is None or not names:
            return None
        place, name = find_beside(self.found, self.root, names)
        return Missing("permission", f"{place}, from which {name} is installed") if name else None

    def told(self, task: Task, check: Check, known: Baseline, belief: Belief | None = None) -> BaseChecked:
        """Return what to report. If failing tests are accepted, a missing thing counts only if nothing could start."""
        report, accepts = known.report, task.rules.accept_failing
        aside = keep_aside(known.aside, task.step.instructions)
        return BaseChecked(
            command=check.command,
            why=check.why,
            environment=check.environment,
            exit_status=known.exit_status,
            passed=report.passed,
            failed=report.failed,
            told=known.told,
            seconds=known.seconds,
            lacking=known.lacking if not accepts or known.exit_status in NOT_STARTED else "",
            way_out=known.way_out,
            aside=aside,
            failing=tuple(case.id for case in report.failing if case.id not in aside)[:MOST_LEFT_OUT],
            left_out=known.left_out,
            said=known.said,
            absent=known.absent and bool(known.lacking),
            belief=belief.said if belief is not None else "",
            believed=belief is not None and belief.proves,
        )

    def for_missing(self, missing: Missing, base: ProjectFacts) -> str:
        """Explain in one or two sentences how to provide the missing thing."""
        # A program in a folder of the project comes from its set-up (`vendor/bin/phpunit`), not from the system.
        kind, program = missing.kind, missing.name if missing.kind == "command" else missing.module
        system = kind in ("command", "start") and program and "/" not in program and not missing.why
        how = _offer_program(program) if system else ""
        if how := how or (self._get_packages(missing.name, base) if kind == "start" else ""):
            return how
        kind = "package" if kind == "command" and missing.language else kind
        name = "HOST" if missing.name == "another host" else missing.name.partition(", from which")[0]
        how = _PROVIDED[kind].format(name) if kind in _PROVIDED else ""
        # A module may be in the package that is named after the one above it (`PPI::Tokenizer`).
        wider = re.sub(r"-[^-]+(?=-\w+$)", "", missing.debian) if "::" in name else missing.debian
        packages = (missing.debian, wider, name.lower())
        if not (how := how or (_offer_install([(name, packages, missing.get)]) if missing.debian else "")):
            prefix = str(self.found.inside or self.found.prefix) if self.found is not None else ""
            language = next((each for each in LANGUAGES if each.name == missing.language), NEUTRAL)
            how = language.explain_install(missing, self.environment, prefix)
        if not missing.declared:
            how += " Should the work write it, name it in the goal."
        elif kind in ("network", "package") or (kind == "start" and missing.language):
            # The project's set-up does not install what the project does not declare.
            offered = self._offer_setup(missing, base)
            how = how if offered.startswith("Install") and "`apt-get" in how else offered or how
        return how

    def _offer_setup(self, missing: Missing, base: ProjectFacts) -> str:
        """Offer the project's own set-up command, and how to have bough run it."""
        look = self._look(base)
        fitting = (
            (fit, where)
            for language in LANGUAGES
            if missing.language in ("", language.name)
            for setup, where in list_setups(language, look)
            # A set-up command that itself needs the missing program does not help.
            if (fit := language.fit_setup(setup, missing, self.environment)) and fit.split()[0] != missing.name
        )
        if not (found := next(fitting, None)):
            return ""
        setup, program = found[0], found[0].split()[0]
        first = "" if shutil.which(program) else f"{_offer_program(program) or f'Install {program}.'} "
        return (
            f"{first}The project's own set-up is `{setup}` ({found[1]}): run it, or let bough run it in the copies it "
            f'works in, with `--setup "{setup}" --network registries` (`[check] setup` in bough.toml).'
        )

    def _look(self, base: ProjectFacts) -> ProjectFiles:
        return ProjectFiles(base.paths, lambda path: Place(self.root or Path(), path, links=True).text() or None)

    def _get_packages(self, said: str, base: ProjectFacts) -> str:
        """Explain how to get what the lines with which a check stopped name: by the packages that apt lists here, or
        those that the project's CI installs; empty: unknown."""
        rows = [(name, (debian,), get) for name, debian, get in list_packages(said, base.paths)]
        if found := _offer_install(rows):
            return found
        for one in list_commands(self._look(base)):
            if hit := re.search(r"\bapt(?:-get)? (?:-\S+ )*install(?: +[\w.+:-]+)+$", one.command):
                return f"The project's CI installs its packages with `{hit[0]}` as root ({one.why})."
        return ""

    def _find_mentioned(self, text: str) -> tuple[str, ...]:
        """Find ignored files that a failing check's output names, but none that tools regenerate or checkouts get."""
        names = (name for name in self.ignored() if not is_made_folder(name) and "env" not in name.split("/"))
        ends = ((name, last_segment(name.rstrip("/"))) for name in names)
        found = (n for n, end in ends if len(end) > 2 and re.search(rf"(?<![\w.-]){re.escape(end)}(?![\w-])", text))
        return tuple(found)[:MOST_LEFT_OUT]


MOST_LEFT_OUT = 8
"""The most ignored files and folders that a piece of advice names."""
_MOST_ASKED = 40
"""The most packages that apt is asked about at once."""
ANSWER = 0.3
"""Seconds in which a service on this machine must answer."""
OR_ANOTHER = "or pass another check"
"""The words of advice that knows no way to get the missing thing."""


_CHECK = "`--check CMD` (or `[check] command` in bough.toml)"
_PROVIDED = {
    "network": "Let commands reach it: `--network allow:{}`, or `--network registries` for the package registries "
    "(`[sandbox] network` in your settings); or install what it downloads beforehand and pass a check that uses it: "
    "`--check CMD`.",
    "service": 'Start it, or have bough start one for each checkout: `[services.NAME] run = "…"` in bough.toml; '
    "`--accept-failing` continues without it.",
    "loopback": "Let commands reach the services of this machine: pass `--network loopback`.",
    "submodule": "Fetch it with `git submodule update --init --recursive`.",
    "permission": 'Let commands read it: `[sandbox] readable = ["{}"]` in your settings '
    "(~/.config/bough/config.toml), or pass a check that does without it: `--check CMD`.",
    "target": f"Pass the command that runs the tests: {_CHECK}.",
    "tests": f"Pass the command that runs the tests: {_CHECK}.",
    "start": f"Provide what it asks for (`{{}}`), {OR_ANOTHER} with {_CHECK}; should the work repair this, say so in "
    "the goal.",
    "ignored": 'Let every checkout have it: `[workspace] copy = ["{}"]` in bough.toml, or put it under git.',
    "output": "Make it print less, or pass a check that runs a part: `--check CMD`.",
    "program": "Make it executable (`chmod +x`), or pass how it is run: `--check CMD`.",
    "time": "Raise the limit (`[check] timeout` in bough.toml, in seconds), or pass a check that runs a part: `--check "
    "CMD`; if the work should make it finish, say so in the goal.",
    "command": f"Install {{}}, {OR_ANOTHER} with {_CHECK}; `[workspace] env` can set PATH.",
}
"""Ways to provide a missing thing, by its kind; a package is installed as its language says."""


def _offer_install(rows: Sequence[tuple[str, Sequence[str], str]]) -> str:
    """Explain how to get the first of some things for which there is a way here; empty: for none. A row has a name, the
    Debian packages that may contain it, and a command that installs it."""
    for name, _, _ in rows:
        how = next((each.provided[name] for each in LANGUAGES if name in each.provided), "")
        by = how.split(" ", 1)[0]
        if how and shutil.which(by):
            return f"Install {name}: `{how}`{' as root' if by == 'apt-get' else ''}."
        if how and by != "apt-get" and (before := _offer_program(by)):
            return f"{before} Then {name}: `{how}`."
    found = _find_debian(*(one for _, packages, _ in rows for one in packages))
    for name, packages, get in rows:
        if found and any(_is_package(found, one) for one in packages):
            return f"Install {name}: `apt-get install {found}` as root{f', or `{get}`' if get else ''}."
    return next((f"Install {rows[0][0]}: `{get}`." for _, _, get in rows if get), "")


def _offer_program(name: str) -> str:
    """Explain how to get a program or a library; its package may have one of several names."""
    low, bare = name.lower(), re.sub(r"[-_]config$", "", name.lower())
    packages = (low, f"lib{bare.removeprefix('lib')}-dev", f"{bare}-dev", bare.partition("_")[0])
    return _offer_install([(name, packages, "")])


def _find_debian(*names: str) -> str:
    """Find the first of these packages in the lists of packages that apt has here; empty: none."""
    asked = [name for name in names if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name)][:_MOST_ASKED]
    if not asked or not (shutil.which("apt-get") and shutil.which("apt-cache")):
        return ""
    every = _ask_apt("pkgnames").split() if any(name.endswith("-dev") for name in asked) else []
    near = sorted(name for name in every if name.endswith("-dev"))
    asked = [one for name in asked for one in (name, *(one for one in near if _is_package(one, name)))]
    said = _ask_apt("policy", *dict.fromkeys(asked))
    known = re.findall(r"(?m)^(\S+):\n +Installed: .*\n +Candidate: (?!\(none\))", said)
    return next((name for name in asked if name in known), "")


def is_published(missing: Missing) -> bool:
    """Whether the system's packages include a module, so that it is hardly one that the work should write."""
    return bool(_find_debian(missing.debian or f"python3-{missing.name}".lower().replace("_", "-")))


def _is_package(package: str, wanted: str) -> bool:
    """Whether a package is the wanted one, perhaps with its version in its name (`guile-3.0-dev`) or another spelling:
    pkg-config's `gtk+-2.0` is in libgtk2.0-dev, its `gtk+-3.0` in libgtk-3-dev."""
    bare = [re.sub(r"^lib|-dev$", "", name).replace("++", "pp") for name in (package, wanted)]
    stem, asked = (re.sub(r"[^a-z]", "", name) for name in bare)
    version, least = (re.sub(r"\D", "", name).rstrip("0") for name in bare)
    return package == wanted or (wanted.endswith("-dev") and stem == asked and version.startswith(least))


def _ask_apt(*words: str) -> str:
    try:
        done = run_program(["apt-cache", *words], project=None, env=make_environment(LC_ALL="C"), timeout=30)
        return done.stdout.decode()
    except (OSError, UnicodeError, subprocess.TimeoutExpired):
        return ""  # Without apt the advice names no package.


def _look_around(missing: Missing) -> Missing:
    """Return what is missing. A service that answers bough itself is there: only the sandbox keeps commands from it."""
    port = missing.name.partition(":")[2] if missing.kind == "service" else ""
    if port and 0 < int(port) < 65_536:
        with suppress(OSError):
            socket.create_connection(("localhost", int(port)), ANSWER).close()
            return replace(missing, kind="loopback")
    return missing
