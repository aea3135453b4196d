"""Every reader of what a repository, its tests or a list of goals says takes at most seconds of the processor, whatever
it is given: lines of 100 KB, and thousands of short ones."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from bough.adapters.stores.redacted import SHAPES as SECRETS
from bough.adapters.stores.redacted import find_in_files
from bough.adapters.tools.output_text import to_plain_text
from bough.adapters.workspaces.agent_repository import keep_harmless
from bough.adapters.workspaces.python_environment import _read_mapped_folders, find_environment
from bough.adapters.workspaces.surroundings import read_variables
from bough.app import config
from bough.app import workflow_files as workflows
from bough.core.acceptance.goal_reading import read_goal
from bough.core.acceptance.receipt import read_receipt
from bough.core.backlog.reading import read_issues, read_list
from bough.core.conversation.code_outline import split_diff
from bough.core.conversation.text_fitting import contain_markdown, fence_text, shorten_middle
from bough.core.errors import BoughError
from bough.core.merge.active_files import PLAIN, find_edge
from bough.core.merge.conflict_hunks import find_leftover_markers, list_hunks
from bough.core.planning.plan import build_goal_step
from bough.core.planning.prompt_values import outlined
from bough.core.stuck.marks import count_repetitions, find_trouble, mask_text, sketch_text
from bough.core.textual.cleaning import clean_markdown, clean_message, escape_text
from bough.core.textual.task_files import extract_errors
from bough.core.tree.file_overlap import list_touched_files
from bough.core.verdict.alteration import alter
from bough.core.verdict.canary import list_file_changes, list_test_changes
from bough.core.verdict.check_run import Progress, count_progress, count_told
from bough.core.verdict.discover import list_checks
from bough.core.verdict.literals import make_other_literal
from bough.core.verdict.missing import ProjectFacts, find_missing
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.references import behaves, expects, list_defined, loads, names_file
from bough.core.verdict.registry import LANGUAGES, RUNNERS, has_refused, read_results
from bough.core.verdict.stated_commands import list_setups
from bough.core.verdict.test_files import only_adds, restore_registration, restore_test_side
from bough.core.verdict.texts import FileChange
from bough.trust.files import Place
from tests.sampling import in_turn, sample

MOST = 4.0
"""Seconds of the processor for one reader and one text."""
LONG, MANY, LONGEST_PATH = 100_000, 10_000, 4_096
UNITS = (
    *("a", " ", "\t", "a ", "a=", "a: ", '"', "'", "`", "\\", "(", "[", "{", "<a>", "#", "- ", "/", "../", "${", "|"),
    *("1", "0.", "_", "*", "\x1b[", "\r", 'a="b c" ', "a::", "test_a(", "run: ", "import a ", '"""', "/*", "A", "->"),
)
"""What a line consists of, again and again: most patterns that take long do so for one of these."""
SHORT = ("", " ", "  a: b", "a \\", "@a", "def a(")
TEXTS = {f"{unit!r} for 100 KB": unit * (LONG // len(unit)) + "\0!" for unit in UNITS}
TEXTS |= {f"10,000 lines of {line!r}": f"{line}\n" * MANY + "\0!" for line in SHORT}
"""They end otherwise than a pattern may want, which has it look again from every place."""

Reader = Callable[[str], object]
GOAL = build_goal_step("Add a total to the report.")
FILES = """
    .github/workflows/ci.yml Jenkinsfile Makefile justfile tox.ini noxfile.py setup.py setup.cfg requirements.txt
    pytest.ini package.json pyproject.toml Cargo.toml go.mod pom.xml build.gradle mix.exs Rakefile CMakeLists.txt
    meson.options .gitmodules run-tests.sh tests/test_a.py README.md
""".split()  # noqa: SIM905


class TooLong(BaseException):
    """No reader catches it."""


@contextmanager
def limited() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, MOST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def discover(name: str, text: str) -> None:
    files = {name, "lib/package.json", "lib/pyproject.toml"}
    texts = {name: text, "lib/package.json": '{"name": "a"}', "lib/pyproject.toml": '[project]\nname = "a"\n'}
    list_checks(GOAL, "goal", files, texts.get)
    look = ProjectFiles(files, texts.get)
    list(list_setups(LANGUAGES[0], look))
    for language in LANGUAGES:
        language.list_scripts(look)
        language.find_missing(["No module named 'a'\n"], {name: text}, set())
    changes = [FileChange("M", name)]
    restore_test_side(changes, {name: text}, {name: text + "a\n"}, "make test", ["tests/test_a.py"])


def read_output(runner: str, text: str) -> None:
    report = read_results(text.encode(), text, 1, runner, "/root")
    if not runner:
        find_missing(1, "make test", text, report, ProjectFacts({"package.json": "{}"}, ["a.py", "test_a.py"]))
    so_far = Progress()
    for line in text.split("\n"):
        so_far = count_progress(so_far, line)


def read_source(suffix: str, text: str) -> None:
    language = next(each for each in LANGUAGES if suffix in each.suffixes)
    test, product = f"tests/test_a.{suffix}", f"a.{suffix}"
    language.strip_comments(text)
    language.find_inner_tests(text, True)
    alter({product: text}, "off")
    if language.name not in ("python", "javascript"):
        return  # What follows is one rule for every language.
    names = [f"{test}::test_a", "test_a"]
    list_test_changes({test: text}, names)
    list_file_changes({test: text}, [test])
    both = [FileChange("M", test), FileChange("M", product)]
    now = {test: text + "a\n", product: text + "a\n"}
    restore_test_side(both, {test: text, product: text}, now, f"./{test}", [product])


def in_file(folder: Path, name: str, read: Callable[[Path], object], text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    try:
        read(folder)
    finally:
        (folder / name).unlink()


def read_lines(text: str) -> None:
    for name in ("goals.md", "goals.toml", "goals.json", "goals.txt"):
        with suppress(BoughError):
            read_list(text, name)
    with suppress(BoughError):
        read_issues(text, "here")


def read_references(text: str) -> None:
    behaves(text), expects("a.py", text), list_defined(text), loads(text, "a/b.py"), names_file(text, "a/b.py")
    restore_registration(text, text + "a\n", ["a.c"]), only_adds(text, text + "a\n", ["a.c"])


def read_settings(folder: Path) -> None:
    config.load_config(folder, {"HOME": str(folder)}, lambda wishes: wishes)


HOME = {"HOME": "/nowhere", "PATH": "/usr/bin"}
READERS: dict[str, Callable[[Path], Reader]] = {
    **{f"discovery by {name}": lambda _, name=name: partial(discover, name) for name in FILES},  # type: ignore[misc]
    **{f"output of {run.name}": lambda _, run=run: partial(read_output, run.name) for run in RUNNERS},  # type: ignore[misc]
    "output of anything": lambda _: partial(read_output, ""),
    **{
        f"source in {one.name}": lambda _, one=one: partial(read_source, one.suffixes[0])  # type: ignore[misc]
        for one in LANGUAGES
        if one.suffixes
    },
    "references": lambda _: read_references,
    "lists of goals": lambda _: read_lines,
    "a goal": lambda _: lambda text: read_goal(build_goal_step(text or "a")),
    "diffs": lambda _: lambda text: (split_diff(text), list_touched_files(text)),
    "conflicts": lambda _: lambda text: (list_hunks(text.encode()), find_leftover_markers(text.encode())),
    "a receipt": lambda _: lambda text: read_receipt(text.encode(), "r"),
    "a path": lambda _: lambda text: find_edge(text.replace("\n", "/")[:LONGEST_PATH], "", PLAIN, ""),
    "an outline": lambda _: lambda text: outlined([line[:LONGEST_PATH] for line in text.split("\n")], text, 2_000),
    "a git configuration": lambda _: keep_harmless,
    "an editable install": lambda _: lambda text: _read_mapped_folders(f"MAPPING = {{{text}"),
    "output for a model": lambda _: lambda text: (to_plain_text(text), extract_errors(text), count_told(text)),
    "output for the detector": lambda _: (
        lambda text: (
            (
                mask_text(text),
                sketch_text(text),
                find_trouble(text),
                count_repetitions(text),
                has_refused(text, ["--x_y="], ""),
            )
        )
    ),
    "text for people": lambda _: (
        lambda text: (
            (clean_markdown(text), clean_message(text), escape_text(text), contain_markdown(text), fence_text(text))
        )
    ),
    "text that is cut": lambda _: lambda text: shorten_middle(text, 1_000),
    "secrets by their shape": lambda _: lambda text: SECRETS.findall(text),
    "bough.toml": lambda top: partial(in_file, top, "bough.toml", read_settings),
    "pyproject.toml": lambda top: partial(in_file, top, "pyproject.toml", read_settings),
    ".mcp.json": lambda top: partial(in_file, top, ".mcp.json", read_settings),
    "a workflow": lambda top: partial(in_file, top, "a.toml", lambda at: workflows.load_file(at / "a.toml", at, {})),
    "variables": lambda top: partial(in_file, top, ".env", lambda at: read_variables(Place(at, ".env"))),
    "secrets of files": lambda top: partial(in_file, top, ".env", lambda at: list(find_in_files(at))),
    **{
        f"an environment by {name}": lambda top, name=name: partial(  # type: ignore[misc]
            in_file, top, name, lambda at: find_environment(at, "", HOME)
        )
        for name in ("pyproject.toml", "environment.yml", ".pdm-python", "Pipfile")
    },
}


@pytest.mark.parametrize("reader", sample(READERS, 16))
def test_a_reader_ends_within_seconds(tmp_path: Path, reader: str) -> None:
    read = READERS[reader](tmp_path)
    slow = []
    for shape, text in TEXTS.items():
        try:
            with limited(), suppress(BoughError):
                read(text)
        except TooLong:
            slow.append(shape)
    assert not slow, f"more than {MOST} s of the processor for {slow}"


FOLDERS = {
    "side by side": [f"p{n}" for n in range(3_000)],
    "two deep": [f"p{n // 50}/q{n}" for n in range(3_000)],
    "each in the one before": ["/".join(["a"] * depth) for depth in range(1, 500)],
}


@in_turn
@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize("tested", [True, False])
def test_a_tree_of_thousands_of_projects_is_looked_at_within_seconds(kind: str, tested: bool) -> None:
    """Nothing ends what looks at it: no limit of a run can."""
    texts = {"package.json": '{"name": "x"}', "pyproject.toml": '[project]\nname = "x"\n', "a.py": "a = 1\n"}
    texts |= {"Makefile": "test:\n\ttrue\n", "test_a.py": "def test_a():\n    pass\n"} if tested else {}
    files = {f"{folder}/{name}": text for folder in FOLDERS[kind] for name, text in texts.items()}
    with limited():
        assert bool(list_checks(GOAL, "goal", files.keys(), files.get)) is tested


def test_a_number_of_thousands_of_digits_is_a_literal_like_any_other() -> None:
    for text in ("1" * 4_900, "0x" + "f" * 4_900):
        assert make_other_literal(text) not in ("", text)


@in_turn
def test_a_pattern_that_is_quadratic_is_found() -> None:
    import re

    with pytest.raises(TooLong), limited():
        re.search(r"\s+$", TEXTS["' ' for 100 KB"] + "!")
