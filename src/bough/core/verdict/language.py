"""What bough has to know about a language, and nothing else.

A new language is one file in `languages/` with a subclass of `Language`; its runners are subclasses of `Runner` in the
same file. What a record leaves out is as in the neutral record, `Language` itself: names and folders that mean tests
anywhere. A language that nobody wrote a record for is covered by that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct

from bough.core.verdict.paths import find_suffix, last_segment, parent_folder
from bough.core.verdict.texts import Read

if TYPE_CHECKING:  # Only named here: a path is classified without them.
    from bough.core.verdict.project_files import ProjectFiles
    from bough.core.verdict.runner import Runner

Spans = list[tuple[int, int, str]]
"""Spans of a text, and their replacements."""
ReadText = Callable[[str], str]
"""Gives the text of a file; empty: there is none."""
Wanted = Collection[str] | None
"""Names of tests; None: all of a file."""

_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
_COMMENTS = {"//": r"//[^\n]*|/\*.*?\*/", "#": r"(?<!\S)#(?!!)[^\n]*", "--": r"--\[\[.*?\]\]|--[^\n]*"}
_TEST_NAMES = (
    r"^tests?(?:[-_.]|$)|[-_.](?:tests?|e2e)(?:\.[^.]+)?$|(?<=[a-z0-9])(?:Tests?|TestCase)\.[^.]+$|^Tests?(?=[A-Z])"
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
    """json jsonl ndjson yaml yml toml csv tsv txt snap ambr golden expected out approved snapshot xml sql ini cfg
    feature dat""".split()  # noqa: SIM905
)
"""Suffixes of data."""


REPEAT, SECONDS = 40, 1
"""How often a plain program does what a test does, and for how long at most: code may be right a few times only."""
FAILS, PASSES, ENDS = "~~ ", "~= ", "~~ done"
"""What a plain program prints before the name of a test that fails or, where it can say so, passes, and at its end."""


PROJECT, BESIDE = "work", "beside"
"""Where a plain program runs: the folder of the project, and one beside it for files that must not lie in it, which are
below such a folder of the tree."""


class PlainProgram(Struct, frozen=True):
    """What tests do, as a plain program: no runner is there, and nothing has a test's name."""

    command: str
    """How it runs at the top of the project."""
    files: Mapping[str, str]
    """What has to be added or replaced for that."""


class Missing(Struct, frozen=True):
    """Something that a check lacks in order to report anything."""

    kind: Literal["command", "package", "version", "service", "loopback", "network", "permission", "submodule"]
    name: str
    """The command or package; a program and the version that is needed; for a service, its address; for the network,
    a host."""
    why: str = ""
    """The manifest that says it belongs here."""
    language: str = ""
    """The name of the language that the package is for."""
    declared: bool = True
    """False: nothing says that it belongs here, so the work may have to provide it."""

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
}
"""What is missing, by its kind; otherwise it is a package."""


class Language:
    """One language. The values here are the neutral ones."""

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """The suffixes of its files, without their dots."""
    test_names: ClassVar[str] = ""
    """Names of its test files, as a pattern to search for; empty: those that mean tests anywhere."""
    comment: ClassVar[str] = "#"
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
    """Programs that run tests or decide how they run: a new file of that name in a folder of programs shadows one."""
    packages: ClassVar[str] = ""
    """The folder of installed packages, for a language whose packages are installed below the project."""
    environment: ClassVar[str] = ""
    """The file that marks an environment, which is read although no tree has it."""
    installed_runners: ClassVar[tuple[str, ...]] = ()
    """Programs of test runners that its package managers install."""
    package_lists: ClassVar[tuple[str, ...]] = ()
    """Where package managers record what they installed, seen from the folder of installed packages."""
    no_module: ClassVar[str] = ""
    """How its programs say that a module is missing, as a pattern whose groups are the name."""
    no_package: ClassVar[str] = ""
    """How its tools say that something they should have installed is missing, as a pattern."""
    setups: ClassVar[tuple[tuple[str, str], ...]] = ()
    """What installs a project's packages, by a file that shows it, the surest first: `{file}` is that file."""
    launchers: ClassVar[str] = ""
    """What runs a command in a project's environment, as a pattern: bough provides that environment itself."""
    installs: ClassVar[str] = ""
    """A command line that installs a project's packages, as a pattern of its beginning."""
    tests_by_default: ClassVar[str] = ""
    """A program that runs the tests when no target is named, as a pattern of the command without its options."""
    builds: ClassVar[str] = ""
    """A command line that builds what tests need, as a pattern of its beginning."""
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
    compares: ClassVar[str] = (
        r"\w*(?:[Ee]quals?|EQUALS?|[Ss]ame|[Ii]dentical)\w*|\w*_(?:eq|EQ)\w*|assert\w*\.(?:is|eq)\w*"
        r"|(?<=\.)(?:toBe|isEqualTo|[Bb]e|is|eq)(?=\()|(?<=to )(?:eql?|be)"
    )
    """What asserts that two things are equal, or one and what it is called on, as a pattern."""
    context: ClassVar[str] = ""
    """What stands before the two things in such a call, as a pattern."""
    asserts: ClassVar[str] = (
        r"#?\w*(?:[Aa]ssert|ASSERT|[Ee]xpect|EXPECT|[Rr]equire|REQUIRE|[Cc]heck|CHECK|[Vv]erify|[Ee]nsure)\w*|ok"
    )
    """What asserts that a condition holds, as a pattern."""

    # ── the code ───────────────────────────────────────────────────────────────────────────────────────────────────

    def strip_comments(self, text: str) -> str:
        """What runs of a source file, in a form that comments and layout do not change."""
        if not self.name:
            return text
        kept = re.sub(rf"(?s)({_STRING})|{_COMMENTS[self.comment]}", lambda found: found[1] or " ", text)
        if self.comment == "//":
            return " ".join(kept.split())
        return "\n".join(line.rstrip() for line in kept.splitlines() if line.strip())

    # ── the test side ──────────────────────────────────────────────────────────────────────────────────────────────

    def is_test_name(self, path: str) -> bool:
        """Named like a test, wherever it lies."""
        if self.test_names:
            return re.search(self.test_names, last_segment(path)) is not None
        return _is_neutral_test_name(last_segment(path))

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        """Where tests are in a file that holds product code too. `reported`: the runner found tests in it."""
        return []

    def has_only_tests(self, text: str) -> bool:
        """A file in which the runner found tests defines nothing else."""
        return False

    def shadows_runner(self, path: str) -> bool:
        """A new file that is found before the runner, or before what the runner loads."""
        return False

    def list_loaded_packages(self, text: str) -> Collection[str]:
        """Installed packages that a test loads."""
        return ()

    # ── the canary ─────────────────────────────────────────────────────────────────────────────────────────────────

    def holds_test(self, test: str, path: str) -> bool:
        """Whether a test, as the runner names it, is in this file: it is named by its file or by its module."""
        return test.partition("::")[0] == path or test.startswith(path.rpartition(".")[0].replace("/", ".") + ".")

    def name_within_file(self, test: str, path: str) -> str:
        """What a test is called within its file."""
        return re.split(r"::| > ", re.sub(r"\[.*", "", test))[-1].strip()

    def falsify(self, text: str, wanted: set[str], script: bool) -> tuple[Spans, set[str]]:
        """Changes that make the expected values of these tests wrong, and the tests that have one. Only where the
        expectation is certain to be evaluated. `script`: the file is itself the check."""
        from bough.core.verdict.expectations import falsify_lines

        return falsify_lines(text, wanted, script, self)

    def asserts_nothing(self, text: str, names: set[str]) -> bool:
        """Nothing in these tests can fail except by accident."""
        return False

    def repair_slips(self, text: str, before: str, tests: str, failures: Collection[str]) -> tuple[str, list[str]]:
        """A file as a small model wrote it, without slips that need no thought to repair, and what was done about each.
        `before`: the file as it was; `tests`: the task's; `failures`: what failed ones said of earlier attempts."""
        return text, []

    def make_program(self, path: str, text: str, wanted: Wanted, command: str, read: Read) -> PlainProgram | None:
        """A plain program that does what these tests of a file do; None: there is none. `command`: the check's; `read`
        gives another file of the tree."""
        return None

    # ── what is missing ────────────────────────────────────────────────────────────────────────────────────────────

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        """The first package of its own that a failed check says it lacks, preferably one that is declared. `texts`:
        what it said; `manifests`: by path; `own`: names of the project's own files and folders."""
        undeclared = None
        for text in texts:
            if self.no_package and (found := re.search(self.no_package, text)):
                return Missing("package", next(filter(None, found.groups()), "a package"), "", self.name)
            for found in re.finditer(self.no_module, text) if self.no_module else ():
                name = next(filter(None, found.groups()), "")
                if not name or self.find_top(name) in own:
                    continue
                where = self.find_declaration(name, manifests)
                if where is not None:
                    return Missing("package", self.find_top(name), where, self.name)
                undeclared = undeclared or Missing("package", self.find_top(name), "", self.name, declared=False)
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

    def explain_install(self, missing: Missing, environment: str, prefix: str) -> str:
        """How to provide what is missing where the project does not say how, in one sentence. `environment`: the one
        that checks run in, as a phrase, empty where there is none; `prefix`: its folder."""
        return f"Install {missing.name} first, where there is network access."

    # ── projects ───────────────────────────────────────────────────────────────────────────────────────────────────

    def list_project_names(self, read: ReadText) -> Iterable[str]:
        """The names by which others refer to a project. `read` gives a file of its folder, empty: there is none."""
        return ()

    def requires(self, text: str, names: Collection[str]) -> bool:
        """Whether a manifest demands one of these projects: a name that stands alone as a requirement. The line with
        the project's own name does not count."""
        body = re.sub(r"(?m)^\s*(name|module)\b.*$", "", text)
        return any(
            re.search(rf"""(?im)(?:^|["'\s,\[]){_spell(name)}(?=$|[\s"'<>=!~;,@\[\]])""", body) is not None
            for name in names
        )

    def list_scripts(self, look: ProjectFiles) -> Mapping[str, object]:
        """Command lines that a manifest gives names to."""
        return {}


def find_table_name(text: str, table: str) -> str:
    """The `name` that a table of a TOML file says; empty: none. Without a parser, which takes longer to load than all
    records."""
    found = re.search(rf"(?ms)^\[{re.escape(table)}\](?:(?!^\[).)*?^name\s*=\s*[\"']([^\"'\n]+)", text)
    return found[1] if found else ""


def _spell(name: str) -> str:
    return re.escape(name) if "/" in name else re.sub(r"[-_.]+", "[-_.]+", re.sub(r"[^\w.-]", ".", name))


# ── tests anywhere ──────────────────────────────────────────────────────────────────────────────────────────────────


def _is_neutral_test_name(name: str) -> bool:
    suffix = find_suffix(name)
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
    return is_test_folder(parent_folder(path)) or _is_neutral_test_name(last_segment(path))
