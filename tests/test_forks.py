"""Tests in forks are the same tests: each runs once, and whatever becomes of it is said."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = """
import os, pathlib, warnings
import pytest

@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made")

@pytest.mark.parametrize("number", range(30))
def test_many(number, made, tmp_path, capfd):
    print("said", number)
    assert capfd.readouterr().out == f"said {number}\\n"
    with open(LOG, "a") as log:
        log.write(f"{number}\\n")

def test_fails():
    os.system("echo from a program")
    raise ValueError("on purpose")

def test_warns():
    warnings.warn("mind the gap")

@pytest.mark.skip(reason="not here")
def test_skips():
    pass
"""


def run(tmp_path: Path, source: str, *args: str) -> str:
    (tmp_path / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "tests.forks", "-p", "no:cacheprovider", "-c", "/dev/null"]
    folders = ["--rootdir", str(tmp_path), "--basetemp", str(tmp_path / "base"), str(tmp_path / "test_it.py")]
    done = subprocess.run([*command, *folders, *args], cwd=ROOT, text=True, capture_output=True, check=False)
    return re.sub(r" in [0-9.]+s", "", done.stdout + done.stderr)


def test_forks_run_each_test_once_and_say_what_became_of_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = run(tmp_path, f"LOG = {str(log)!r}\n{TESTS}", "--forks", "3")
    assert sorted(map(int, log.read_text().split())) == list(range(30))
    assert "1 failed, 31 passed, 1 skipped, 1 warning" in said
    assert "ValueError: on purpose" in said
    assert "from a program" in said
    assert "mind the gap" in said


def test_a_fork_that_dies_fails_its_test_and_no_other(tmp_path: Path) -> None:
    source = "import os, pytest\ndef test_dies(): os.kill(os.getpid(), 9)\ndef test_exits(): os._exit(0)\n"
    source += "@pytest.mark.parametrize('number', range(8))\ndef test_many(number): pass\n"
    said = run(tmp_path, source, "--forks", "2")
    assert "2 failed, 8 passed" in said
    assert "test_dies" in said
    assert "ended with status -9" in said
    assert "test_exits" in said


def test_the_first_failure_ends_all_forks_where_that_was_asked(tmp_path: Path) -> None:
    source = (
        "import time\ndef test_fails(): assert 0\ndef test_waits(): time.sleep(60)\ndef test_too(): time.sleep(60)\n"
    )
    said = run(tmp_path, source, "--forks", "2", "-x")
    assert "stopping after 1 failures" in said


def test_what_cannot_be_collected_is_said_as_without_forks(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_(", "--forks", "2") == run(tmp_path, "def test_(")
