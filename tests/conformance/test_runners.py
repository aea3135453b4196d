"""Every test runner, held to the same promises: from what it once said, and for real where it is installed."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bough.core.acceptance.verdict import Report
from bough.core.verdict.check_run import Progress, count_progress
from bough.core.verdict.registry import RUNNERS, instrument, narrow, read_results, recognise
from bough.core.verdict.runner import Runner
from tests.sampling import long

from .runners import ROOT, SUITES, Suite

REPORT = "/scratch/the report"
names = pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.runner)


def recorded(suite: Suite) -> tuple[bytes | None, str]:
    """Its report, where it writes one, and its output."""
    record = f"BOUGH_RECORD=1 pytest 'tests/conformance/test_runners.py::test_for_real[{suite.runner}]'"
    assert suite.output or suite.report, f"recorded/{suite.runner}.toml has no output: run {record} first"
    return (suite.report.encode() if suite.report is not None else None), suite.output


def outcomes(said: Report) -> dict[str, str]:
    return {case.id: case.outcome for case in said.cases}


def counts(suite: Suite) -> tuple[int, int, int]:
    found = list(suite.outcomes.values())
    return found.count("passed"), found.count("failed"), found.count("skipped")


def overrides(runner: Runner, *methods: str) -> bool:
    return any(getattr(type(runner), name) is not getattr(Runner, name) for name in methods)


def is_told(runner: Runner) -> bool:
    """Something is added to its command or its environment, so that it reports."""
    return bool(runner.report_flag or runner.report_arguments) or overrides(runner, "instrument")


def test_every_runner_that_names_its_tests_has_a_suite() -> None:
    """Told to, by a report, or by itself."""
    reports = [runner.name for runner in RUNNERS if is_told(runner) or overrides(runner, "read", "cases")]
    assert sorted(reports) == sorted(suite.runner for suite in SUITES)
    assert len({runner.name for runner in RUNNERS}) == len(RUNNERS)


@names
def test_it_is_recognised_through_whatever_stands_before_it(suite: Suite) -> None:
    for line in ("{}", "cd sub && CI=1 {} 2>&1 | tee log", "env A=1 timeout 60 {}", "bash -c 'cd sub; {}'"):
        assert recognise(line.format(suite.command)) == suite.runner
    assert recognise(f"echo {suite.command}") == ""
    assert recognise(f"cat '{suite.command}'") == ""


@names
def test_what_is_added_leaves_the_command_as_it_was(suite: Suite) -> None:
    line = f"cd sub && {suite.command} | tee log"
    made, env = instrument(line, suite.runner, REPORT, {"A": "b"})
    assert env["A"] == "b"
    assert recognise(made) == suite.runner
    words = iter(made.split())
    assert all(word in words for word in line.split()), "its words are all there, in their order"
    told = made != line or env != {"A": "b"}
    assert told is is_told(next(each for each in RUNNERS if each.name == suite.runner))
    assert instrument("make test", suite.runner, REPORT, {})[0] == "make test", "what cannot be seen is not touched"


@names
def test_it_can_be_told_to_run_one_test(suite: Suite) -> None:
    line = f"cd sub && {suite.command} | tee log"
    made = narrow(line, suite.runner, [suite.failing])
    assert made is not None
    assert recognise(made) == suite.runner
    assert made.startswith("cd sub && ")
    assert made.endswith(" | tee log")
    assert narrow(line, suite.runner, []) is None
    assert narrow("make test", suite.runner, [suite.failing]) is None


@names
def test_what_it_said_is_read(suite: Suite) -> None:
    body, output = recorded(suite)
    said = read_results(body, output, 1, suite.runner, ROOT)
    assert outcomes(said) == suite.outcomes
    assert (said.passed, said.failed, said.skipped) == counts(suite)
    assert {case.id: case.message for case in said.cases}[suite.failing] == suite.message
    assert f"{ROOT}/" not in repr(said), "nothing tells where the checkout was"


@names
def test_its_closing_lines_alone_never_say_better(suite: Suite) -> None:
    body, output = recorded(suite)
    for asked in (suite.runner, ""):
        said = read_results(None, output, 1, asked, ROOT)
        if said.how == "exit status":
            assert body is not None, "one of the two witnesses speaks"
        else:
            passed, failed, _ = counts(suite)
            assert said.passed <= passed
            assert said.failed >= failed


@names
def test_its_progress_never_says_more_than_there_was(suite: Suite) -> None:
    so_far = Progress()
    for line in recorded(suite)[1].split("\n"):
        so_far = count_progress(so_far, line)
    assert so_far.done <= len(suite.outcomes) + 1, "a group of tests may count as one"
    assert so_far.failed <= sum(outcome == "failed" for outcome in suite.outcomes.values()) + 1


@names
def test_half_a_report_is_none(suite: Suite) -> None:
    body = recorded(suite)[0]
    for end in (0, len(body or b"") // 2):
        assert read_results((body or b"")[:end], "", 0, suite.runner).how == "exit status"
    assert read_results(body, "", None, suite.runner) == Report("exit status"), "nor is that of a run that was killed"


@pytest.mark.parametrize("runner", RUNNERS, ids=lambda runner: runner.name)
def test_its_facts_are_well_formed(runner: Runner) -> None:
    for pattern in (runner.settings, runner.closes):
        re.compile(pattern)
    assert all(suffix.startswith(".") for suffix in runner.suffixes)
    assert all(file and table for file, table in runner.sections)


# For real


def run(suite: Suite, command: str, folder: Path, scratch: Path) -> tuple[Report, bytes | None, str]:
    path = scratch / f"report-{len(list(scratch.iterdir()))}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NODE_", "COV"))}
    kept |= {"PATH": f"{Path(sys.executable).parent}:{kept['PATH']}", "NO_COLOR": "1", **suite.env}
    told, env = instrument(command, suite.runner, str(path), kept)
    ran = subprocess.run(
        ["sh", "-c", told], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
    )
    assert ran.returncode not in (0, 127), ran.stdout.decode()
    body, output = (path.read_bytes() if path.exists() else None), ran.stdout.decode(errors="replace")
    return read_results(body, output, ran.returncode, suite.runner, str(folder)), body, output


def placeless(text: str, folder: Path) -> str:
    """Without what is only so on the machine on which it was recorded."""
    text = text.replace(str(folder), ROOT).replace(str(folder.parent / "scratch"), "/scratch")
    text = text.replace(str(folder.parent.parent), "").replace(sys.prefix, "/python").replace(str(Path.home()), "~")
    return re.sub(r"(?m)^npm warn .*\n", "", re.sub(r' hostname="[^"]*"', "", text))


def held(suite: Suite, tmp_path: Path) -> None:
    """The same outcomes as are recorded; and alone, the one test and no other."""
    folder, scratch = (tmp_path / "work").resolve(), tmp_path / "scratch"
    for path, text in suite.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    scratch.mkdir()
    said, body, output = run(suite, suite.command, folder, scratch)
    assert outcomes(said) == suite.outcomes
    assert (said.passed, said.failed, said.skipped) == counts(suite)
    if os.environ.get("BOUGH_RECORD"):
        suite.record(placeless(output, folder), placeless(body.decode(), folder) if body is not None else None)
    alone = narrow(suite.command, suite.runner, [suite.failing])
    assert alone is not None
    ran = {
        id: outcome for id, outcome in outcomes(run(suite, alone, folder, scratch)[0]).items() if outcome != "skipped"
    }
    assert ran == {suite.failing: "failed"}


@pytest.mark.parametrize("suite", [s for s in SUITES if s.real and not s.packages], ids=lambda suite: suite.runner)
def test_for_real(suite: Suite, tmp_path: Path) -> None:
    for program in suite.programs:
        module = program.removeprefix("python -m ")
        if find_spec(module) is None if module != program else program != "python" and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    held(suite, tmp_path)


@long  # It installs from a registry; what these runners print is recorded.
def test_those_of_node_for_real(tmp_path: Path) -> None:
    """Only mocha, which installs in seconds; with ALL_CASES=1 jest and vitest too."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    chosen = [suite for suite in SUITES if suite.packages and (os.environ.get("ALL_CASES") or suite.runner == "mocha")]
    for suite in chosen:
        (tmp_path / suite.runner / "work").mkdir(parents=True)
    packages = [package for suite in chosen for package in suite.packages]
    (tmp_path / "package.json").write_text("{}")
    if why := not_installed(packages, tmp_path):
        pytest.skip(f"npm could not install {' '.join(packages)}: {why}")
    for suite in chosen:
        held(suite, tmp_path / suite.runner)


def not_installed(packages: list[str], folder: Path) -> str:
    """Why not; empty: they are there. An index that does not answer must not hold up the suite."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-progress", "--fetch-retries=0", *packages]
    limit = 300 if os.environ.get("ALL_CASES") else 30
    try:
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"not done after {limit} s"
    return "" if made.returncode == 0 else made.stderr.strip()[-200:] or f"exit status {made.returncode}"
