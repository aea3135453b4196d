"""`search`: the same whether ripgrep is installed or not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.tools.grep import make_glob_regex
from bough.adapters.tools.workbench import WorkbenchTools
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.rules import Rules
from bough.ports import Tools
from tests.adapters.test_tools import use

SANDBOX = make_sandbox("auto", make_env(os.environ))


@pytest.fixture(params=["own", "ripgrep"])
def tools(request: pytest.FixtureRequest) -> Tools:
    if request.param == "ripgrep" and not shutil.which("rg"):
        pytest.skip("ripgrep is not installed")
    return WorkbenchTools(SANDBOX, "rg" if request.param == "ripgrep" else None)


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    """A repository, as `workspace`, in a folder that ignores everything, as bough's own does."""
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / ".ignore").write_text("*\n")
    checkout = make_plain_folder(tmp_path)
    root = checkout.root
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for path, text in {
        ".gitignore": "build/\n*.log\n",
        ".hidden/config": "needle hidden\n",
        "a.py": "one\nneedle = 1\nthree\nfour\nfive\nsix\nneedle again\n",
        "src/b c.ts": "// Needle\nneedle();\r\n",
        "src/deep/ü.py": "x = 'needle'\n",
        "build/out.py": "needle built\n",
        "noise.log": "needle logged\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    (root / "binary.py").write_bytes(b"needle\0")
    (root / "link.py").symlink_to("a.py")
    return checkout


def lines(output: str) -> list[str]:
    return output.split("\n")


def test_matches_by_path_and_line(checkout: PlainFolder, tools: Tools) -> None:
    result = use(checkout, "search", tools=tools, pattern="needle")
    assert result.ok
    assert lines(result.output) == [
        ".hidden/config:1:needle hidden",
        "a.py:2:needle = 1",
        "a.py:7:needle again",
        "src/b c.ts:2:needle();",
        "src/deep/ü.py:1:x = 'needle'",
        "(5 matches)",
    ]


def test_context_in_groups(checkout: PlainFolder, tools: Tools) -> None:
    assert lines(use(checkout, "search", tools=tools, pattern="needle", path="a.py", context=1).output) == [
        "a.py-1-one",
        "a.py:2:needle = 1",
        "a.py-3-three",
        "--",
        "a.py-6-six",
        "a.py:7:needle again",
        "(2 matches)",
    ]
    assert lines(use(checkout, "search", tools=tools, pattern="needle", context=1, limit=1, glob="*.py").output) == [
        "a.py-1-one",
        "a.py:2:needle = 1",
        "a.py-3-three",
        "(the first 1 of 3 matches: narrow `pattern`, `path` or `glob`)",
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"glob": "*.ts"}, ["src/b c.ts:2"]),
        ({"glob": "src/**"}, ["src/b c.ts:2", "src/deep/ü.py:1"]),
        ({"glob": "**/*.py"}, ["a.py:2", "a.py:7", "src/deep/ü.py:1"]),
        ({"glob": "*.{ts,js}"}, ["src/b c.ts:2"]),
        ({"glob": "[ab]*.py"}, ["a.py:2", "a.py:7"]),
        ({"glob": "!*.py", "path": "src"}, ["src/b c.ts:2"]),
        ({"path": "src"}, ["src/b c.ts:2", "src/deep/ü.py:1"]),
        ({"path": "src/deep/ü.py"}, ["src/deep/ü.py:1"]),
        ({"pattern": "[äöü]|needle'", "glob": "ü.*"}, ["src/deep/ü.py:1"]),
        ({"path": "a.py"}, ["a.py:2", "a.py:7"]),
        ({"path": "noise.log"}, ["noise.log:1"]),
        ({"path": "build"}, ["build/out.py:1"]),
        ({"pattern": "(?i)^// need"}, ["src/b c.ts:1"]),
        ({"pattern": r"\bneedle\(\);$"}, ["src/b c.ts:2"]),
        ({"pattern": "--needle|-e", "path": "."}, []),
        ({"pattern": "needle", "limit": 1, "path": "src"}, ["src/b c.ts:2"]),
    ],
)
def test_where_and_what(checkout: PlainFolder, tools: Tools, arguments: dict[str, str], found: list[str]) -> None:
    result = use(checkout, "search", tools=tools, **{"pattern": "needle", **arguments})
    shown = [":".join(line.split(":")[:2]) for line in lines(result.output) if not line.startswith(("(", "No "))]
    assert shown == found
    assert result.ok


def test_nothing_found_is_said(checkout: PlainFolder, tools: Tools) -> None:
    result = use(checkout, "search", tools=tools, pattern="haystack", path="src", glob="*.py")
    assert result.ok and result.output == "No line in src matches `haystack` in files like *.py."


def test_a_wrong_pattern_is_said(checkout: PlainFolder, tools: Tools) -> None:
    result = use(checkout, "search", tools=tools, pattern="(unclosed")
    assert (not result.ok and not result.fault and "unclosed" in result.output) or "unterminated" in result.output


def test_a_missing_place_is_said(checkout: PlainFolder, tools: Tools) -> None:
    assert "Did you mean `src`?" in use(checkout, "search", tools=tools, pattern="x", path="srcs").output
    assert use(checkout, "search", tools=tools, pattern="a\0b").fault


def test_long_lines_and_many_matches_are_bounded(checkout: PlainFolder, tools: Tools) -> None:
    (checkout.root / "min.js").write_text("needle" + "x" * 100_000 + "\n")
    result = use(checkout, "search", tools=tools, pattern="needle", path="min.js")
    assert len(result.output) < 700 and result.output.startswith("min.js:1:needlexxx")
    (checkout.root / "many.txt").write_text("needle\n" * 200_000)
    result = use(checkout, "search", tools=tools, pattern="needle", path="many.txt", limit=1000)
    assert len(result.output) <= Rules().shown and "the first 1,000 of " in result.output and result.whole


def test_from_a_folder_below(checkout: PlainFolder, tools: Tools) -> None:
    below = PlainFolder(checkout.root, checkout.root / "src", checkout.scratch)
    found = use(below, "search", tools=tools, pattern="needle").output
    assert lines(found) == ["b c.ts:2:needle();", "deep/ü.py:1:x = 'needle'", "(2 matches)"]
    assert "../a.py:2:needle = 1" in use(below, "search", tools=tools, pattern="needle", path="..").output
    assert "build" not in use(below, "search", tools=tools, pattern="needle", path="..").output


def test_a_folder_without_git(tmp_path: Path, tools: Tools) -> None:
    checkout = make_plain_folder(tmp_path)
    (checkout.root / "sub").mkdir()
    (checkout.root / "sub/a.txt").write_text("needle\n")
    assert lines(use(checkout, "search", tools=tools, pattern="needle").output) == ["sub/a.txt:1:needle", "(1 match)"]


def test_a_name_that_is_not_text(checkout: PlainFolder, tools: Tools) -> None:
    try:
        (checkout.root / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    except OSError:
        pytest.skip("this file system has only names that are text")
    assert "caf�.txt:1:needle" in use(checkout, "search", tools=tools, pattern="needle", glob="*.txt").output


def test_configuration_of_ripgrep_is_not_read(
    checkout: PlainFolder, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ripgreprc"
    config.write_text("--files\n--heading\n")
    tools = WorkbenchTools(make_sandbox("auto", {**make_env(os.environ), "RIPGREP_CONFIG_PATH": str(config)}), "rg")
    assert "a.py:2:needle = 1" in use(checkout, "search", tools=tools, pattern="needle").output


def test_a_pattern_that_takes_forever_is_ended(checkout: PlainFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bough.adapters.tools.search._TIMEOUT", 0.5)
    (checkout.root / "evil.txt").write_text("a" * 60 + "!\n")
    result = use(checkout, "search", tools=WorkbenchTools(SANDBOX, None), pattern="(a+)+$", path="evil.txt")
    assert not result.ok and "killed after 0.5 s: use a simpler pattern" in result.output


@pytest.mark.parametrize(
    "glob", ["[", "]", "{", "}", "a,b", "[!a]", "[]]", "**", "/x", "\\", "{a,{b,c}}", "[z-a]", "("]
)
def test_odd_file_patterns_do_not_break(checkout: PlainFolder, tools: Tools, glob: str) -> None:
    assert use(checkout, "search", tools=tools, pattern="needle", glob=glob).output
    assert isinstance(make_glob_regex(glob), str)


def test_the_own_search_needs_nothing_but_python() -> None:
    script = Path(sys.modules[make_glob_regex.__module__].__file__ or "")
    done = subprocess.run([sys.executable, "-I", "-S", str(script), "x", ".", "", "0", "9"], check=False)
    assert done.returncode in (0, 1)
