"""All that bough has to know about a programming language.

A new language is one file in `languages/` with a subclass of `Language`; its runners are subclasses of `Runner` in the
same file. Fields that a record (such a subclass) leaves out keep the neutral values of `Language`: names and folders
that mean tests in any language. Languages without a record use these neutral values only.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core.verdict.paths import find_suffix, last_segment, parent_folder

if TYPE_CHECKING:  # For annotations only: code that only classifies paths must not load these modules.
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
_DOCUMENTS = frozenset({"md", "rst", "adoc", "org", "html"})
DATA = _DOCUMENTS | frozenset(
    """json jsonl ndjson yaml yml toml csv tsv txt snap ambr golden expected out approved snapshot xml ini cfg
    feature dat""".split()  # noqa: SIM905
)
"""Suffixes of data files."""


class Missing(Struct, frozen=True):
    """A command, package, service or host that a check needs and does not find."""

    kind: Literal[
        "command", "package", "service", "loopback", "network", "permission", "submodule",
        "target", "tests", "time", "output", "program", "script", "start", "ignored",
    ]  # fmt: skip
    name: str
    """The missing thing: a command, a package, the lines with which it stops, a service's address, or a host."""
    why: str = ""
    """The manifest that declares the missing thing."""
    language: str = ""
    """The name of the language that the package is for."""
    declared: bool = True
    """False if no manifest declares the missing thing, so that the work may have to provide it."""
    module: str = ""
    """The name by which the program imports the module."""
    get: str = ""
    """The command that installs the missing thing; empty if unknown."""
    debian: str = ""
    """The name of the Debian package that would contain it; no such package need exist."""

    def __str__(self) -> str:
        named = f" ({self.why} names it)" if self.why else ""
        return _LACKING.get(self.kind, "{} is not installed").format(self.name) + named


_LACKING = {
    "command": "the command `{}` is not found",
    "network": "it needs network access ({}), which commands do not have",
    "service": "nothing answers at {}: a service the tests need is not running",
    "loopback": "{} answers on this machine, but commands cannot reach it",
    "submodule": "the git submodule {} is empty",
    "permission": "commands may not use {}",
    "target": "it starts nothing: {}",
    "tests": "no test was collected: {}",
    "time": "it did not end, and was cut off {}",
    "output": "it printed more than is kept, and was ended",
    "start": "it stops before its first test: {}",
    "ignored": "{} is ignored by git, so no checkout has it",
    "program": "{} cannot be executed",
    "script": "{} is not there",
}
"""A clause for each kind of missing thing; other kinds are reported as not installed."""


class Language:
    """A programming language; the values here are neutral ones, which subclasses replace."""

    name: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the language's files, without dots."""
    comment: ClassVar[str] = "#"
    quotes: ClassVar[bool] = True
    """Whether single quotes may enclose strings; if not, they enclose one character."""
    rank: ClassVar[int] = 50
    """Position when bough looks for a project's check: languages with lower numbers come first."""
    runners: "ClassVar[tuple[Runner, ...]]" = ()
    """The language's test runners, in the order in which bough tries them."""
    manifests: ClassVar[tuple[str, ...]] = ()
    """Names of files that make the folder around them a project of its own."""
    dependency_files: ClassVar[str] = ""
    """Pattern for paths of files that declare dependencies."""
    task_files: ClassVar[str] = ""
    """Pattern for paths of files with commands that developers run."""
    own_modules: ClassVar[frozenset[str]] = frozenset()
    """Modules of the language or its runner; a new file of such a name at the top is loaded instead of them."""
    settings: ClassVar[str] = ""
    """Pattern for names of files that only configure test runs, in addition to the runners' own files."""
    sections: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Tables that only configure test runs in files with other content, as pairs of a file and a pattern."""
    programs: ClassVar[frozenset[str]] = frozenset()
    """Programs that run tests or decide how they run."""
    environment: ClassVar[str] = ""
    """The file that marks a virtual environment; bough reads it although git ignores it."""
    no_module: ClassVar[str] = ""
    """Pattern for messages about a missing module; each of its groups may hold the name."""
    no_package: ClassVar[str] = ""
    """Pattern for messages about a missing package that a tool should have installed."""
    setups: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of a file and the command that installs what its project needs (`{file}`), the surest first."""
    builds: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """A pattern for a path, one for its text, and the command that builds the product of such a project."""
    gets: ClassVar[str] = ""
    """Command that installs one package; `{}` is the package's name."""
    debian: ClassVar[str] = ""
    """Debian's name for the language's package `{}`."""
    provided: ClassVar[Mapping[str, str]] = {}
    """Map from a program to the command that installs it."""
    installs: ClassVar[str] = ""
    """Pattern for the beginning of command lines that install a project's packages."""
    frames: ClassVar[str] = ""
    """Pattern for locations in a trace that are outside the project, in runners and libraries."""
    moved: ClassVar[str] = ""
    """Pattern for the beginning of the message of a test that fails because something it uses was renamed or moved."""
    scripts: ClassVar[bool] = False
    """Whether the language's files are run by their path; a file that the check runs then belongs to the tests."""
    parameters: ClassVar[bool] = False
    """Whether a test's parameters follow its name in brackets."""
    asserts: ClassVar[str] = (
        r"#?\w*(?:[Aa]ssert|ASSERT|[Ee]xpect|EXPECT|[Rr]equire|REQUIRE|[Cc]heck|CHECK|[Vv]erify|[Ee]nsure)\w*|ok"
    )
    """Pattern for calls and statements that assert a condition."""

    body: ClassVar[str] = ""
    """Pattern from a function's head up to its first statement; its group is the name."""
    switch: ClassVar[str] = ""
    """Statement put first in a function to break it: with `{on}` 1 it returns at once, with 0 it does nothing."""
    interpreters: ClassVar[tuple[str, ...]] = ()
    """Programs that run the language's files by their path; the names have no version."""
    build_files: ClassVar[str] = ""
    """Pattern for names of files in this language that build the product and are not part of it."""
    case_path: ClassVar[str] = ""
    """Path of an examiner's program, with `{name}` for its name; if empty, the examiner writes shell scripts."""
    case_command: ClassVar[str] = ""
    """Command that starts an examiner's program; `{interpreter}` is the one that the check uses."""
    case_how: ClassVar[str] = ""
    """How to write an examiner's program, in a sentence for the examiner."""
    case_end: ClassVar[str] = ""
    """Statement, appended to an examiner's program, that prints `{mark}`: a product that ends it early cannot."""

    def find_bodies(self, text: str) -> Iterable[tuple[str, int]]:
        """Find the name of each function, and the offset of its first statement; not in files with very long lines."""
        written = self.body and max(map(len, text.split("\n"))) <= _LONGEST_LINE
        for found in re.finditer(self.body, text, re.MULTILINE) if written else ():
            yield next(filter(None, found.groups()), ""), found.end()

    def strip_comments(self, text: str) -> str:
        """Return the code of a file in a form that comments and layout do not change."""
        if not self.name:
            return text
        comment = _COMMENTS.get(self.comment, rf"{re.escape(self.comment)}[^\n]*")
        kept = re.sub(rf"(?s)({_STRING})|{comment}", lambda found: found[1] or " ", text)
        if self.comment == "//":
            return " ".join(kept.split())
        return "\n".join(line.rstrip() for line in kept.splitlines() if line.strip())

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        """Find the tests in a file that also holds product code. `reported`: whether the runner found tests in it."""
        return []

    def holds_test(self, test: str, path: str) -> bool:
        """Whether the test is in this file, by the file or module that its id names."""
        return test.partition("::")[0] == path or test.startswith(path.rpartition(".")[0].replace("/", ".") + ".")

    def complete_case(self, text: str) -> str:
        """Add to an examiner's program what it needs to run (a call of its functions, say)."""
        return text

    def mark_end(self, text: str, mark: str) -> str:
        """Make an examiner's program print the mark once it has reached its end."""
        return f"{text}\n{self.case_end.replace('{mark}', mark)}\n" if self.case_end else text

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        """Find the first package that a failed check lacks, by its output `texts`. `own`: the project's own names,
        those of folders with a slash at the end."""
        undeclared = None
        for text in texts:
            if self.no_package and (found := re.search(self.no_package, text)):
                name = next(filter(None, found.groups()), "a package")
                return self._complete(Missing("package", name, "", self.name))
            for found in re.finditer(self.no_module, text) if self.no_module else ():
                name = next(filter(None, found.groups()), "")
                top = self.find_top(name)
                if not name or {top, f"{top}/", top.rpartition("::")[2]} & own:
                    continue
                where = self.find_declaration(name, manifests)
                known = Missing("package", top, where or "", self.name, where is not None, name)
                if known.declared:
                    return self._complete(known)
                undeclared = undeclared or self._complete(known)
        return undeclared

    def _complete(self, missing: Missing) -> Missing:
        own = f"|{self.name}-?" if len(self.name) > 2 else ""
        bare = re.sub(rf"^(?:lib{own})(?=\w\w)|\.h\w*$", "", missing.name.replace("::", "-").replace("_", "-"))
        debian = self.debian.format(bare)
        return replace(missing, get=self.gets.format(missing.name), debian=debian.lower())

    def find_top(self, module: str) -> str:
        """Return the part of a module's name that names its package or folder."""
        return re.split(r"[/.]|::", module)[0]

    def find_declaration(self, module: str, manifests: Mapping[str, str]) -> str | None:
        """Find the manifest that names the package of a module; empty if none does, but it is well known."""
        wanted = rf"(?im)(?:^|[\"'\s,/:(]){re.escape(self.find_top(module))}(?=$|[\s\"'<>=!~;,@)/])"
        named = (path for path in manifests if re.search(self.dependency_files or r"(?!)", path))
        return next((path for path in named if re.search(wanted, manifests[path])), None)

    def fit_setup(self, setup: str, missing: Missing, environment: str) -> str:
        """Return the set-up command as typed here; empty if it installs named packages, and not the missing one."""
        given = setup[found.end() :] if self.installs and (found := re.match(self.installs, setup)) else ""
        named = re.findall(r"\s([A-Za-z@][\w@/+:-]*)(?:[=<>~^@][\w.^~=<>-]*)?(?=\s|$)", given)
        return setup if not named or missing.name in named else ""

    def explain_install(self, missing: Missing, environment: str, prefix: str) -> str:
        """Explain how to install what is missing. `environment`: that of checks, as a phrase; `prefix`: its folder."""
        how = f": `{missing.get}`" if missing.get else " first, where there is network access"
        return f"Install {missing.module or missing.name}{how}."

    def list_scripts(self, look: "ProjectFiles") -> Mapping[str, object]:
        """List the command lines that a manifest defines under a name."""
        return {}


# ── tests anywhere ──────────────────────────────────────────────────────────────────────────────────────────────────


def is_test_name(path: str) -> bool:
    """Whether the name of the file itself (without its folders) is that of a test."""
    name, suffix = last_segment(path), find_suffix(path)
    if suffix in _DOCUMENTS:
        return False
    return re.search(_TEST_NAMES + ("" if suffix in DATA else _SPEC_NAMES) + f"|{_GOLDEN}", name) is not None


@lru_cache(maxsize=1_000)
def is_test_folder(folder: str) -> bool:
    """Whether one of the folders in this path means tests in any language."""
    # Below lib/ a folder `Test` is a namespace of the product, as in `lib/Test/More.pm`.
    parts = re.sub(r"(?<=^lib)(/.*)?/Test\b", "", folder).lower().split("/")
    return any(part in _TEST_FOLDERS or re.split(r"[-_.]", part)[-1] in _TEST_WORDS for part in parts)


def is_test_path(path: str) -> bool:
    return is_test_folder(parent_folder(path)) or is_test_name(path)
