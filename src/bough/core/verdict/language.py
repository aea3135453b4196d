"""What bough has to know about a language, and nothing else.

A new language is one file in `languages/` with a subclass of `Language`; its runners are subclasses of `Runner` in the
same file. What a record leaves out is as in the neutral record, `Language` itself: names and folders that mean tests
anywhere. A language that nobody wrote a record for is covered by that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core.verdict.paths import find_suffix, last_segment, parent_folder

if TYPE_CHECKING:  # Only named here: a path is classified without them.
    from bough.core.verdict.project_files import ProjectFiles
    from bough.core.verdict.runner import Runner

_LONGEST_LINE = 5_000
_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
_COMMENTS = {"//": r"//[^\n]*|/\*.*?\*/", "#": r"(?<!\S)#(?!!)[^\n]*", "--": r"--\[\[.*?\]\]|--[^\n]*"}
_TEST_NAMES = (
    r"^(?:run[-_]?)?tests?(?:[-_.]|$)|[-_.](?:tests?|e2e|cy)(?:\.[^.]+)?$|(?<=[a-z0-9])(?:Tests?|TestCase)\.[^.]+$"
    r"|^Tests?(?=[A-Z])|^conftest\.py$|^test\w*\.py$|\.(?:t|bats)$"
)
_SPEC_NAMES = r"|[-_.]specs?(?:\.[^.]+)?$|(?<=[a-z0-9])Spec\.[^.]+$"
_GOLDEN = r"\.(?:snap|ambr|golden|approved|expected)(?:\.|$)|[-_.](?:golden|snapshot)\."
_TEST_FOLDERS = frozenset(
    """test tests spec specs e2e __tests__ __mocks__ __snapshots__ testdata fixtures golden goldens snapshots
    """.split()  # noqa: SIM905
)
_TEST_WORDS = frozenset({"test", "tests", "spec", "specs", "e2e"})
_DOCUMENTS = frozenset({"md", "rst", "adoc", "html"})
DATA = _DOCUMENTS | frozenset(
    """json jsonl ndjson yaml yml toml csv tsv txt snap ambr golden expected out approved snapshot xml ini cfg
    feature dat""".split()  # noqa: SIM905
)
"""Suffixes of data."""


AT_LOAD = (
    r"^(?!(?:(?:export|default|async|local|public|abstract|final)\s+)*(?:function|class|def|sub|package|module)\b)"
    r"[A-Za-z_$@%].*"
)
"""Lines that run when a file of an interpreted language is loaded: those that are not indented and define nothing."""


class Missing(Struct, frozen=True):
    """Something that a check lacks in order to report anything."""

    kind: Literal[
        "command", "package", "version", "service", "loopback", "network", "permission", "submodule",
        "target", "tests", "time", "output", "program", "script", "terminal",
    ]  # fmt: skip
    name: str
    """The command or package; a program and the version that is needed; for a service, its address; for the network,
    a host."""
    why: str = ""
    """The manifest that says it belongs here."""
    language: str = ""
    """The name of the language that the package is for."""
    declared: bool = True
    """False: nothing says that it belongs here, so the work may have to provide it."""
    module: str = ""
    """The module, as its program asked for it."""
    get: str = ""
    """The command that installs it, where one is known."""

    def __str__(self) -> str:
        named = f" ({self.why} names it)" if self.why else ""
        return _LACKING.get(self.kind, "{} is not installed").format(self.name) + named


_LACKING = {
    "command": "the command `{}` is not found",
    "version": "it needs {} or newer, and the one here is older",
    "network": "it needs network access ({}), which commands do not have",
    "service": "nothing answers at {}: a service the tests need is not running",
    "loopback": "{} answers on this machine, but commands cannot reach it",
    "submodule": "the git submodule {} is empty",
    "permission": "commands may not use {}",
    "target": "it starts nothing: {}",
    "tests": "no test was collected: {}",
    "time": "it did not end, and was cut off {}",
    "output": "it printed more than is kept, and was ended",
    "terminal": "it needs a terminal, which commands do not have",
    "program": "{} cannot be executed",
    "script": "{} is not there",
}
"""What is missing, by its kind; otherwise it is a package."""


class Language:
    """One language. The values here are the neutral ones."""

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """The suffixes of its files, without their dots."""
    comment: ClassVar[str] = "#"
    quotes: ClassVar[bool] = True
    """Texts may stand between single quotes; else these hold one character."""
    rank: ClassVar[int] = 50
    """Its place in the order in which a project's own check is looked for, the lowest first."""
    runners: ClassVar[tuple[Runner, ...]] = ()
    """Its runners, in the order in which they are looked for in a project."""
    manifests: ClassVar[tuple[str, ...]] = ()
    """Files that make a folder a project of its own."""
    dependency_files: ClassVar[str] = ""
    """Files that say what has to be installed, as a pattern of their paths."""
    task_files: ClassVar[str] = ""
    """Files with command lines that developers of a project run, as a pattern of their paths."""
    settings: ClassVar[str] = ""
    """Files that only configure test runs, as a pattern of their names, in addition to those of the runners."""
    sections: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Tables of files with other content that only configure test runs, as pairs of a file and a pattern."""
    programs: ClassVar[frozenset[str]] = frozenset()
    """Programs that run tests or decide how they run."""
    environment: ClassVar[str] = ""
    """The file that marks an environment, which is read although no tree has it."""
    no_module: ClassVar[str] = ""
    """How its programs say that a module is missing, as a pattern whose groups are the name."""
    no_package: ClassVar[str] = ""
    """How its tools say that something they should have installed is missing, as a pattern."""
    setups: ClassVar[tuple[tuple[str, str], ...]] = ()
    """What installs a project's packages, by a file that shows it, the surest first: `{file}` is that file."""
    gets: ClassVar[str] = ""
    """The command that installs one package, which is `{}` in it."""
    provided: ClassVar[Mapping[str, str]] = {}
    """The commands that install programs, by the program."""
    installs: ClassVar[str] = ""
    """A command line that installs a project's packages, as a pattern of its beginning."""
    too_old: ClassVar[str] = ""
    """How its tools say that one of them is older than a project allows, as a pattern whose groups are the tool and
    the version that is needed."""
    frames: ClassVar[str] = ""
    """Places in a trace that are not the project's own, as a pattern: its runners and libraries."""
    noise: ClassVar[str] = ""
    """Other lines of a trace that say nothing, as a pattern of their beginnings."""
    moved: ClassVar[str] = ""
    """How the message of a test begins that no longer runs because what it uses has another name or place now."""
    scripts: ClassVar[bool] = False
    """Its files are run by their path: one that the check runs is test side."""
    parameters: ClassVar[bool] = False
    """Parameters of a test follow its name in brackets."""
    asserts: ClassVar[str] = (
        r"#?\w*(?:[Aa]ssert|ASSERT|[Ee]xpect|EXPECT|[Rr]equire|REQUIRE|[Cc]heck|CHECK|[Vv]erify|[Ee]nsure)\w*|ok"
    )
    """What asserts that a condition holds, as a pattern."""

    body: ClassVar[str] = ""
    """How a function begins, up to where its first statement may stand, as a pattern whose group is the name."""
    switch: ClassVar[str] = ""
    """A first statement that ends a function where `{on}` is 1 and does nothing where it is 0; empty: none is known."""
    interpreters: ClassVar[tuple[str, ...]] = ()
    """Programs that run its files by their path, without their versions."""
    build_files: ClassVar[str] = ""
    """Code in it that builds a product and is none, as a pattern of the file's name."""
    loads: ClassVar[str] = ""
    """Lines that run when a file is loaded, as a pattern: functions that they call have to work."""

    case_path: ClassVar[str] = ""
    """Where an examiner's program in it goes; `{name}` is its name. Empty: programs are shell scripts there."""
    case_command: ClassVar[str] = ""
    """How such a program starts: `{file}`, `{folder}` and `{name}` are its own, `{interpreter}` the check's."""
    case_how: ClassVar[str] = ""
    """What such a program looks like, in a sentence for an examiner."""
    case_fixtures: ClassVar[str] = ""
    """What only a runner can call, as a pattern."""

    # ── the code ───────────────────────────────────────────────────────────────────────────────────────────────────

    def find_bodies(self, text: str) -> Iterable[tuple[str, int]]:
        """The functions of a file, and where the first statement of each stands. Of one that nobody wrote by hand,
        none."""
        written = self.body and max(map(len, text.split("\n"))) <= _LONGEST_LINE
        for found in re.finditer(self.body, text, re.MULTILINE) if written else ():
            yield next(filter(None, found.groups()), ""), found.end()

    def list_called_at_load(self, texts: Iterable[str]) -> set[str]:
        """The names of functions without which files of the language cannot be loaded."""
        lines = (line for text in texts for line in re.findall(self.loads, text, re.MULTILINE)) if self.loads else ()
        return {name for line in lines for name in re.findall(r"(?<![\w$?!])([\w$?!]+)\(", line)}

    def strip_comments(self, text: str) -> str:
        """What runs of a source file, in a form that comments and layout do not change."""
        if not self.name:
            return text
        kept = re.sub(rf"(?s)({_STRING})|{_COMMENTS[self.comment]}", lambda found: found[1] or " ", text)
        if self.comment == "//":
            return " ".join(kept.split())
        return "\n".join(line.rstrip() for line in kept.splitlines() if line.strip())

    # ── the test side ──────────────────────────────────────────────────────────────────────────────────────────────

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        """Where tests are in a file that holds product code too. `reported`: the runner found tests in it."""
        return []

    def holds_test(self, test: str, path: str) -> bool:
        """Whether a test, as the runner names it, is in this file: it is named by its file or by its module."""
        return test.partition("::")[0] == path or test.startswith(path.rpartition(".")[0].replace("/", ".") + ".")

    def complete_case(self, text: str) -> str:
        """An examiner's program with what it needs to do anything."""
        return text

    # ── what is missing ────────────────────────────────────────────────────────────────────────────────────────────

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        """The first package of its own that a failed check says it lacks, preferably one that is declared. `texts`:
        what it said; `manifests`: by path; `own`: names of the project's own files and folders."""
        undeclared = None
        for text in texts:
            if self.no_package and (found := re.search(self.no_package, text)):
                name = next(filter(None, found.groups()), "a package")
                return Missing("package", name, "", self.name, get=self.gets.format(name))
            for found in re.finditer(self.no_module, text) if self.no_module else ():
                name = next(filter(None, found.groups()), "")
                if not name or self.find_top(name) in own:
                    continue
                where = self.find_declaration(name, manifests)
                known = Missing("package", self.find_top(name), where or "", self.name, where is not None, name)
                known = replace(known, get=self.gets.format(known.name))
                if known.declared:
                    return known
                undeclared = undeclared or known
        return undeclared

    def find_top(self, module: str) -> str:
        """The name of a module as its package and the project's folders have it."""
        return re.split(r"[/.]|::", module)[0]

    def find_declaration(self, module: str, manifests: Mapping[str, str]) -> str | None:
        """The manifest that names the package of a module; empty: everybody knows that it is one; None: nothing
        does."""
        wanted = rf"(?im)(?:^|[\"'\s,/:(]){re.escape(self.find_top(module))}(?=$|[\s\"'<>=!~;,@)/])"
        named = (path for path in manifests if re.search(self.dependency_files or r"(?!)", path))
        return next((path for path in named if re.search(wanted, manifests[path])), None)

    def fit_setup(self, setup: str, missing: Missing, environment: str) -> str:
        """The project's set-up as it can be typed here; empty: it does not provide what is missing, since it installs
        single packages by their names, and those are others."""
        given = setup[found.end() :] if self.installs and (found := re.match(self.installs, setup)) else ""
        named = re.findall(r"\s([A-Za-z@][\w@/+:-]*)(?:[=<>~^@][\w.^~=<>-]*)?(?=\s|$)", given)
        return setup if not named or missing.name in named else ""

    def explain_install(self, missing: Missing, environment: str, prefix: str) -> str:
        """How to provide what is missing where the project does not say how, in one sentence. `environment`: the one
        that checks run in, as a phrase, empty where there is none; `prefix`: its folder."""
        how = f": `{missing.get}`" if missing.get else " first, where there is network access"
        return f"Install {missing.module or missing.name}{how}."

    # ── projects ───────────────────────────────────────────────────────────────────────────────────────────────────

    def list_scripts(self, look: ProjectFiles) -> Mapping[str, object]:
        """Command lines that a manifest gives names to."""
        return {}


# ── tests anywhere ──────────────────────────────────────────────────────────────────────────────────────────────────


def is_test_name(path: str) -> bool:
    """Named like a test, wherever it lies."""
    name, suffix = last_segment(path), find_suffix(path)
    if suffix in _DOCUMENTS:
        return False
    return re.search(_TEST_NAMES + ("" if suffix in DATA else _SPEC_NAMES) + f"|{_GOLDEN}", name) is not None


@lru_cache(maxsize=1_000)
def is_test_folder(folder: str) -> bool:
    """One of these folders means tests in any language."""
    parts = folder.lower().split("/")
    return any(part in _TEST_FOLDERS or re.split(r"[-_.]", part)[-1] in _TEST_WORDS for part in parts)


def is_test_path(path: str) -> bool:
    """Whether a file belongs to the tests, by names and folders that mean tests anywhere."""
    return is_test_folder(parent_folder(path)) or is_test_name(path)
