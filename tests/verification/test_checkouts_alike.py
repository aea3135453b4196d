"""Every checkout in which a check runs looks the same from inside: what is tested cannot tell the work from the
original tests, wrong expectations, a second look at a flaky test, or the base."""

import json
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.sandboxes.levels import find_level
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.verification.cases import CALC, TESTS, Act, Case, explained, play, python_on_path

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["python_on_path"]

PROBE = '''\
import json, os, pathlib, re, subprocess, sys, time

NARROWED = re.compile("test_|maxfail")  # only a command that is narrowed to a few tests names them


def shape(text):
    """Names and numbers that are drawn by chance, as what they are."""
    text = re.sub(r"(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{16}|[0-9a-f]{8})(?![0-9a-f])", "HEX", str(text))
    return re.sub(r"\\d+", "N", text)


def command(*words):
    return shape(subprocess.run(words, capture_output=True, text=True).stdout)


def look():
    here = pathlib.Path.cwd()
    files = [path for path in here.rglob("*") if ".git" not in path.parts and path.is_file()]
    times = [value for path in files for value in (path.stat().st_mtime, path.stat().st_ctime)]
    lines = pathlib.Path("/proc").glob("[0-9]*/cmdline")
    args = [path.read_text(errors="replace").split("\\0") for path in lines]
    return {
        "path": shape(here),
        "depth": len(here.parts),
        "beside": sorted(shape(name) for name in os.listdir(here.parent)) if os.access(here.parent, os.R_OK) else [],
        "entries": sorted(shape(path.relative_to(here)) for path in here.iterdir()),
        "env": {name: shape(value) for name, value in sorted(os.environ.items()) if name != "PYTEST_CURRENT_TEST"},
        "age": max(times) - min(times) < 60 and abs(max(times) - time.time()) < 60,
        "git": sorted(shape(path.relative_to(here)) for path in (here / ".git").rglob("*")),
        "head": command("git", "log", "--format=%s") + command("git", "branch"),
        "config": command("git", "config", "--list"),
        "product": command("git", "status", "--porcelain", "calc.py"),
        "home": sorted(os.listdir(pathlib.Path.home())),
        "tmp": sorted(shape(name) for name in os.listdir(os.environ.get("TMPDIR", "/tmp"))),
        "mounts": sorted(shape(line) for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()),
        "processes": sorted(shape([word for word in line if not NARROWED.search(word)]) for line in args),
    }


place = pathlib.Path("PLACE")
(place / f"{time.monotonic_ns()}.json").write_text(json.dumps(look()))
'''
FLAKY = """\
import pathlib

import calc


def test_flaky():
    assert calc.sub(1, 1) == 0
    seen = pathlib.Path({place!r}) / "seen"
    first = "add(1, 1)" in pathlib.Path("test_calc.py").read_text() and not seen.exists()
    seen.touch() if first else None
    assert not first
"""
MARKS = """\
touch .git/marker ~/marker /tmp/marker state.log; mkdir -p node_modules/own && touch node_modules/own/index.js
git config user.name somebody; git commit -qam mine; touch -d 2001-01-01 calc.py
"""
MORE = Act(edit="test_calc.py", old="assert add(2, 3) == 5", new="assert add(2, 3) == 5\n    assert add(1, 1) == 2")


@pytest.mark.skipif(find_level("auto").name != "namespaces", reason="only namespaces hide all of the system")
@in_turn
def test_the_product_sees_the_same_in_every_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside, flaky = tmp_path / "opened" / "seen", tmp_path / "opened" / "flaky"
    outside.mkdir(parents=True)
    flaky.mkdir()
    monkeypatch.setenv("BOUGH_SANDBOX_WRITABLE", str(tmp_path / "opened"))
    probe = PROBE.replace("PLACE", str(outside))
    files = {
        "calc.py": probe + CALC,
        "test_calc.py": TESTS,
        "test_flaky.py": FLAKY.format(place=str(flaky)),
        ".gitignore": "*.log\nnode_modules/\n",
    }
    fix = Act(edit="calc.py", old="def add(a, b):\n    return a - b", new="def add(a, b):\n    return a + b")
    case = Case(name="", does=[fix, MORE, Act(bash=MARKS)], files=files, repository=True, limits="strict = false")
    outcome, _ = play(case, tmp_path)
    assert outcome.completed, explained(outcome)
    seen = [json.loads(path.read_text()) for path in sorted(outside.iterdir())]
    # The base, the check, the original tests, the flaky test alone, and all of it again.
    assert len(seen) >= 5
    work = [each for each in seen if each["product"]]
    assert len(work) == len(seen) - 1, "the base has no work in it"
    for name in seen[0]:
        assert _list_values(work, name) == [work[0][name]], name
    # The base runs other code, and nothing was installed there.
    lent = ("product", "entries", "mounts", "beside", "env", "processes")
    for name in [name for name in seen[0] if name not in lent]:
        assert _list_values(seen, name) == [seen[0][name]], name


def _list_values(seen: list[dict[str, Any]], name: str) -> list[Any]:
    found: list[Any] = []
    for each in seen:
        if each[name] not in found:
            found.append(each[name])
    return found
