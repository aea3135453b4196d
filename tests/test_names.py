"""Documents and docstrings name only what exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
CODE = tuple(TOP / name for name in ("src", "tests", "bench", "scripts"))
PAGES = (TOP / "CONTRIBUTING.md", *(TOP / "docs/design").rglob("*.md"), *(TOP / "docs/contributing").rglob("*.md"))
EXAMPLES = {"_version.py", "bough.py", "click.py", "sitecustomize.py", "test_buffer.py", "words.py"}
"""Files of somebody's project that the texts speak about."""
OUTSIDE = {"node_modules", "num_ctx", "n_ctx", "max_model_len", "core_pattern", "CamelCase", "snake_case"}
OUTSIDE |= {
    "named_languages",
    "late_imports",
    *("tricks_honest", "tricks_later", "tricks_later_honest"),
    "test_add",
    "make_sentinel",
    "bash_complete",
    "zsh_source",
}
"""Names of other programs, rules of the tests, and examples."""
FILE = re.compile(r"(?:[\w.-]+/)*([\w-]+\.py)")
NAME = re.compile(r"((?:[A-Z][a-z]+){2,}|[a-z]+(?:_[a-z]+)+)(?:\.\w+)*(?:\(\))?")


def list_sources() -> list[Path]:
    return sorted(TOP.glob("src/bough/**/*.py"))


@cache
def list_docstrings(path: Path) -> list[ast.Constant]:
    """Docstrings, also those below an attribute."""
    return [
        node.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


@cache
def find_known() -> tuple[frozenset[str], frozenset[str]]:
    """The names of files, and the words in code: neither comments nor docstrings."""
    files = {path.name for top in CODE for path in top.rglob("*.py")}
    words: set[str] = set()
    for path in list_sources():
        lines = path.read_text().splitlines()
        for node in list_docstrings(path):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
        words.update(*(re.findall(r"\w+", line.partition("  # ")[0]) for line in lines))
    return frozenset(files), frozenset(words)


def find_stale(text: str) -> list[str]:
    """Names in backticks that nothing has."""
    files, words = find_known()
    found = []
    for quoted in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if file := FILE.fullmatch(quoted):
            found += [quoted] if file[1] not in files | EXAMPLES else []
        elif name := NAME.fullmatch(quoted):
            found += [quoted] if name[1] not in words | OUTSIDE else []
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_what_exists(page: Path) -> None:
    assert find_stale(page.read_text()) == []


def test_docstrings_name_what_exists() -> None:
    texts = {path: "\n".join(str(node.value) for node in list_docstrings(path)) for path in list_sources()}
    assert {str(path): stale for path, text in texts.items() if (stale := find_stale(text))} == {}


def test_a_stale_name_is_found() -> None:
    text = (
        "As `test_names.py` has it, `no_such_file.py` and `NoSuchClass.run` are in `find_quote` and `no_such_name()`."
    )
    assert find_stale(text) == ["no_such_file.py", "NoSuchClass.run", "no_such_name()"]


HALF = re.compile(
    r"(Of|Those|By|With|As|For|Until|In|On|At|From|Into|And|Or|But|Because|So|Than|Such|Only|Also|Else|Not|Without|Per|"
    r"Under|Over|After|Before|Since|During|Between|Besides?|Among|Against|About|Like|To|Up|Out|Off|Too|Which|Whom?|"
    r"Whose|That)\b|…|(?!bough\b)[a-z]"
)
"""Words with which a docstring begins that needs the code before it to be understood."""


def begins_as_half(text: str) -> bool:
    return HALF.match(text.strip()) is not None


def test_docstrings_are_whole_sentences() -> None:
    half = [
        f"{path.relative_to(TOP)}:{node.lineno}: {str(node.value).splitlines()[0]}"
        for path in list_sources()
        if "demos" not in path.parts
        for node in list_docstrings(path)
        if begins_as_half(str(node.value))
    ]
    assert half == []


@pytest.mark.parametrize("text", ["Of a run.", "Those that failed.", "… and why.", "in a row"])
def test_half_a_sentence_is_found(text: str) -> None:
    assert begins_as_half(text) and not begins_as_half("The runs that failed.")
