"""Real runners: what they report when bough runs them, and how their tests are run again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bough.core.acceptance.verdict import Report
from bough.core.verdict.check_run import Progress, count_progress
from bough.core.verdict.registry import (
    has_refused,
    instrument,
    read_results,
    recognise,
)
from bough.core.verdict.registry import narrow as rerun
from tests.sampling import in_turn


@dataclass(frozen=True)
class RunnerResult:
    report: Report
    output: str
    status: int
    wrote: bool

    def outcomes(self) -> dict[str, str]:
        return {case.id: case.outcome for case in self.report.cases}

    def failing(self) -> list[str]:
        return [case.id for case in self.report.cases if case.outcome in ("failed", "error")]


def environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NODE_", "COV"))}
    path = f"{Path(sys.executable).parent}:{own.get('PATH', '')}"
    return {**own, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1"}


def run(command: str, folder: Path, scratch: Path, runner: str | None = None) -> RunnerResult:
    kind = recognise(command) if runner is None else runner
    scratch.mkdir(exist_ok=True)
    report = scratch / "the report.xml"
    report.unlink(missing_ok=True)
    told, env = instrument(command, kind, str(report), environment())
    ran = subprocess.run(
        ["sh", "-c", told], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
    )
    output = ran.stdout.decode(errors="replace")
    body = report.read_bytes() if report.exists() else None
    said = read_results(body, output, ran.returncode, kind, str(folder))
    return RunnerResult(said, output, ran.returncode, body is not None)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


PYTEST_SUITE = {
    "tests/test_a.py": """
import pytest

def test_ok(): pass

@pytest.mark.parametrize("x", ["a b", "c::d", "[e]", "f/g.py"])
def test_each(x): assert x != "c::d"

def test_bad(): assert {"a": 1} == {"a": 2}, "they differ"

@pytest.mark.skip(reason="no")
def test_skipped(): pass

@pytest.mark.xfail
def test_expected(): assert 0

@pytest.mark.xfail(strict=True)
def test_unexpected(): pass

class TestX:
    def test_y(self): pass
    class TestInner:
        def test_z(self): raise ValueError("deep")

@pytest.fixture
def broken(): raise RuntimeError("setup")

def test_setup(broken): pass

@pytest.fixture
def leaves():
    yield
    raise RuntimeError("teardown")

def test_teardown(leaves): pass
""",
    "tests/base.py": "class Shared:\n    def test_inherited(self): pass\n",
    "tests/test_b.py": "from base import Shared\nclass TestChild(Shared): pass\n",
    "tests/test_broken.py": "import nothing_of_that_name\n",
    "pytest.ini": "[pytest]\naddopts = -x --lf\n",
    "Makefile": "test:\n\t@python -m pytest -q tests | tail -2\nfirst:\n\t@python -m pytest -x tests\n",
}
PYTEST_OUTCOMES = {
    "tests/test_broken.py": "error",
    "tests/test_a.py::test_ok": "passed",
    "tests/test_a.py::test_each[a b]": "passed",
    "tests/test_a.py::test_each[c::d]": "failed",
    "tests/test_a.py::test_each[[e]]": "passed",
    "tests/test_a.py::test_each[f/g.py]": "passed",
    "tests/test_a.py::test_bad": "failed",
    "tests/test_a.py::test_skipped": "skipped",
    "tests/test_a.py::test_expected": "skipped",
    "tests/test_a.py::test_unexpected": "failed",
    "tests/test_a.py::TestX::test_y": "passed",
    "tests/test_a.py::TestX::TestInner::test_z": "failed",
    "tests/test_a.py::test_setup": "error",
    "tests/test_a.py::test_teardown": "error",
    "tests/test_b.py::TestChild::test_inherited": "passed",
}


@in_turn
def test_pytest_reports_everything_although_it_was_told_to_stop_early(tmp_path: Path) -> None:
    folder = write(tmp_path / "work", PYTEST_SUITE)
    ran = run("python -m pytest", folder, tmp_path / "scratch")
    assert ran.outcomes() == PYTEST_OUTCOMES
    assert (ran.report.how, ran.report.failed, ran.report.skipped, ran.status) == ("junit", 7, 2, 1)
    assert not (folder / ".pytest_cache").exists(), "nothing is left in the workspace"
    messages = {case.id: case.message for case in ran.report.cases}
    assert messages["tests/test_broken.py"] == "ModuleNotFoundError: No module named 'nothing_of_that_name'"
    assert messages["tests/test_a.py::test_setup"] == 'failed on setup with "RuntimeError: setup"'
    assert str(folder) not in repr(ran.report)
    again = rerun("python -m pytest", "pytest", ran.failing())
    assert again is not None
    assert run(again, folder, tmp_path / "scratch").outcomes() == {
        name: outcome for name, outcome in PYTEST_OUTCOMES.items() if outcome in ("failed", "error")
    }


@in_turn
def test_pytest_below_make_reports_too_and_a_pipe_hides_nothing(tmp_path: Path) -> None:
    needs("make")
    folder = write(tmp_path / "work", PYTEST_SUITE)
    ran = run("make test", folder, tmp_path / "scratch")
    assert (ran.status, ran.wrote) == (0, True), "the pipe swallows pytest's exit status"
    assert ran.outcomes() == PYTEST_OUTCOMES
    assert ran.report.failed == 7


@in_turn
def test_ids_do_not_depend_on_the_place_of_the_checkout(tmp_path: Path) -> None:
    suites = {
        "tests/test_a.py": "def test_x(): assert 0\n",
        "a.test.mjs": "import t from 'node:test'; t('x', () => {})",
    }
    programs = ["python -m pytest", *(["node --test"] if shutil.which("node") else [])]
    for command in programs:
        seen = {
            tuple(run(command, write(tmp_path / name, suites), tmp_path / "scratch").outcomes())
            for name in ("one", "other place")
        }
        assert len(seen) == 1, command


STRICT = {
    "test_a.py": "def test_x(): pass\n",
    "pytest.ini": "[pytest]\naddopts = --strict-config --strict-markers\nfilterwarnings = error\n",
    "Makefile": "test:\n\t@python -m pytest -q -p no:cacheprovider\n",
}


@in_turn
def test_pytest_with_strict_settings(tmp_path: Path) -> None:
    needs("make")
    folder = write(tmp_path / "work", STRICT)
    for command in ("python -m pytest", "python -m pytest -p no:cacheprovider", "pytest --ff"):
        ran = run(command, folder, tmp_path / "scratch")
        assert (ran.status, ran.outcomes()) == (0, {"test_a.py::test_x": "passed"}), command
    hidden = run("make test", folder, tmp_path / "scratch")
    assert has_refused(hidden.output, ["-o cache_dir=x"], ""), "so it is run again as it was written"


def test_no_tests_of_pytests_is_none_passed(tmp_path: Path) -> None:
    ran = run("python -m pytest", write(tmp_path / "work", {"a.py": ""}), tmp_path / "scratch")
    assert (ran.status, ran.report.passed, ran.report.failed, ran.report.cases) == (5, 0, 0, ())


UNITTEST_SUITE = {
    "tests/__init__.py": "",
    "tests/test_a.py": """
import sys, unittest
class TestU(unittest.TestCase):
    def test_ok(self): pass
    def test_doc(self):
        \"\"\"The first line of it.\"\"\"
    def test_print(self):
        print("out"); print("err", file=sys.stderr)
    def test_bad(self): self.assertEqual({"a": 1}, {"a": 2})
    def test_err(self): raise ValueError("x")
    @unittest.skip("why not")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_sub(self):
        for i in range(3):
            with self.subTest("m", i=i): self.assertEqual(i, 1)
class TestSetup(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("setup")
    def test_never(self): pass
""",
    "tests/test_broken.py": "import nothing_of_that_name\n",
}


def test_unittest_names_its_tests(tmp_path: Path) -> None:
    folder = write(tmp_path / "work", UNITTEST_SUITE)
    ran = run("python -m unittest discover", folder, tmp_path / "scratch")
    assert ran.outcomes() == {
        "tests.test_a.TestSetup": "error",
        "tests.test_a.TestU.test_bad": "failed",
        "tests.test_a.TestU.test_doc": "passed",
        "tests.test_a.TestU.test_err": "error",
        "tests.test_a.TestU.test_expected": "skipped",
        "tests.test_a.TestU.test_ok": "passed",
        "tests.test_a.TestU.test_print": "passed",
        "tests.test_a.TestU.test_skip": "skipped",
        "tests.test_a.TestU.test_sub": "failed",
        "tests.test_a.TestU.test_unexpected": "failed",
        "tests.test_broken": "error",
    }
    assert (ran.report.how, ran.report.passed) == ("closing line", 3)
    assert ran.report.failed == 7, "as the closing line counts them: two sub-tests of one test, and so on"
    messages = {case.id: case.message for case in ran.report.cases}
    assert messages["tests.test_a.TestU.test_bad"] == "AssertionError: {'a': 1} != {'a': 2}"
    assert messages["tests.test_broken"] == "ModuleNotFoundError: No module named 'nothing_of_that_name'"
    again = rerun("python -m unittest discover", "unittest", ["tests.test_a.TestU.test_bad"])
    assert again is not None
    outcomes = run(again, folder, tmp_path / "scratch").outcomes()
    assert outcomes["tests.test_a.TestU.test_bad"] == "failed"
    assert "tests.test_a.TestU.test_ok" not in outcomes


def test_unittest_without_tests_says_ok_and_counts_none(tmp_path: Path) -> None:
    ran = run("python -m unittest", write(tmp_path / "work", {"a.py": ""}), tmp_path / "scratch")
    assert (ran.report.how, ran.report.passed, ran.report.failed) == ("closing line", 0, 0)


NODE_SUITE = {
    "src/a.test.mjs": """
import test, { describe, it } from 'node:test';
import assert from 'node:assert';
test('adds', () => assert.equal(1 + 1, 2));
test('fails', () => assert.equal(1 + 1, 3));
test('left out', { skip: true }, () => {});
test('later', { todo: true }, () => assert.equal(1, 2));
describe('group', () => {
  it('inner', () => {});
  it('inner fails', () => { throw new Error('boom <x> & "y"\\nsecond \\u0001 line'); });
  describe('deep', () => { it('adds', () => {}); });
});
test('parent', async (t) => { await t.test('child', () => {}); });
""",
    "src/b.test.mjs": "import test from 'node:test'; test('adds', () => {});",
    "src/broken.test.mjs": "import './nothing.mjs';",
    "src/empty.test.mjs": "// nothing here",
    "src/script.test.cjs": "require('node:assert').equal(1, 1);",
    "package.json": '{"scripts": {"test": "node --test src"}}',
}
NODE_OUTCOMES = {
    "src/a.test.mjs::adds": "passed",
    "src/a.test.mjs::fails": "failed",
    "src/a.test.mjs::left out": "skipped",
    "src/a.test.mjs::later": "skipped",
    "src/a.test.mjs::group > inner": "passed",
    "src/a.test.mjs::group > inner fails": "failed",
    "src/a.test.mjs::group > deep > adds": "passed",
    "src/a.test.mjs::parent > child": "passed",
    "src/a.test.mjs::parent": "passed",
    "src/b.test.mjs::adds": "passed",
    "src/broken.test.mjs": "error",
    "src/empty.test.mjs": "skipped",
    "src/script.test.cjs": "passed",
}


@in_turn
def test_node_reports_each_test_with_its_file(tmp_path: Path) -> None:
    needs("node")
    folder = write(tmp_path / "work", NODE_SUITE)
    ran = run("node --test", folder, tmp_path / "scratch")
    assert ran.outcomes() == NODE_OUTCOMES
    assert (ran.report.how, ran.report.passed, ran.report.failed, ran.status) == ("junit", 7, 3, 1)
    cases = {case.id: case for case in ran.report.cases}
    assert cases["src/a.test.mjs::group > inner fails"].message == 'boom <x> & "y"\nsecond ? line'
    assert "src/a.test.mjs:" in cases["src/a.test.mjs::fails"].trace
    assert "Cannot find module" in cases["src/broken.test.mjs"].message
    assert "✖ failing tests:" in ran.output, "people still see the usual output"
    again = rerun("node --test", "node", ran.failing())
    assert again is not None
    ran_again = run(again, folder, tmp_path / "scratch").outcomes()
    assert ran_again["src/a.test.mjs::group > inner fails"] == "failed"
    assert ran_again["src/a.test.mjs::adds"] == "skipped"


@in_turn
def test_node_below_npm_reports_too(tmp_path: Path) -> None:
    needs("node", "npm")
    ran = run("npm test", write(tmp_path / "work", NODE_SUITE), tmp_path / "scratch", runner="node")
    assert ran.outcomes() == NODE_OUTCOMES


def test_a_file_without_tests_is_not_a_node_test(tmp_path: Path) -> None:
    """node itself reports a file without tests as one test that passed."""
    needs("node")
    folder = write(tmp_path / "work", {"a.test.mjs": "console.log('1 passed');"})
    told = run("node --test", folder, tmp_path / "scratch")
    assert (told.status, told.report.how, told.report.passed) == (0, "junit", 0)
    untold = run("node --test", folder, tmp_path / "scratch", runner="")
    assert (untold.report.how, untold.report.passed) == ("closing line", 0)


def test_node_that_is_given_reporters_already_is_left_alone(tmp_path: Path) -> None:
    needs("node")
    folder = write(tmp_path / "work", {"a.test.mjs": "import t from 'node:test'; t('x', () => {});"})
    ran = run("node --test --test-reporter=tap", folder, tmp_path / "scratch")
    assert (ran.wrote, ran.report.how, ran.report.passed) == (False, "closing line", 1)
    hidden = write(tmp_path / "hidden", {"package.json": '{"scripts": {"test": "node --test --test-reporter=tap"}}'})
    ran = run("npm test", hidden, tmp_path / "scratch", runner="node")
    assert has_refused(ran.output, ["--test-reporter=x"], "node"), "so it is run again as it was written"


CRATE = {
    "Cargo.toml": '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """
/// Adds.
///
/// ```
/// assert_eq!(tiny::add(1, 2), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 { a + b }

#[cfg(test)]
mod tests {
    use super::*;
    #[test] fn adds() { assert_eq!(add(1, 2), 3); }
    #[test] fn bad() { println!("said"); assert_eq!(add(1, 2), 4, "no sum"); }
    #[test] #[ignore = "slow"] fn slow() {}
    #[test] #[should_panic] fn panics() { panic!("x") }
}
""",
    "tests/whole.rs": "#[test] fn outer() { assert_eq!(tiny::add(1, 1), 2) }\n",
}


@in_turn
def test_cargo_continues_and_names_its_tests(tmp_path: Path) -> None:
    needs("cargo", "rustc")
    folder = write(tmp_path / "work", CRATE)
    ran = run("cargo test --offline", folder, tmp_path / "scratch")
    assert ran.outcomes() == {
        "tiny:src/lib.rs::tests::adds": "passed",
        "tiny:src/lib.rs::tests::bad": "failed",
        "tiny:src/lib.rs::tests::panics": "passed",
        "tiny:src/lib.rs::tests::slow": "skipped",
        "whole:tests/whole.rs::outer": "passed",
        "tiny:doc::src/lib.rs - add": "passed",
    }
    assert (ran.report.how, ran.report.passed, ran.report.failed, ran.report.skipped) == ("closing line", 4, 1, 1)
    bad = next(case for case in ran.report.cases if case.outcome == "failed")
    assert bad.message == "assertion `left == right` failed: no sum left: 3 right: 4"
    again = rerun("cargo test --offline", "cargo", [bad.id])
    assert again is not None
    assert run(again, folder, tmp_path / "scratch").outcomes() == {bad.id: "failed"}
    (folder / "src/lib.rs").write_text("fn broken( {}\n")
    broken = run("cargo test --offline", folder, tmp_path / "scratch")
    assert (broken.report.how, broken.status) == ("exit status", 101), "it did not even compile"


@in_turn
def test_jest_and_vitest_get_their_arguments_through_npm(tmp_path: Path) -> None:
    """With stand-ins that print what they were given: the packages themselves are not installed here."""
    needs("node", "npm")
    show = "#!/usr/bin/env node\nconsole.log(JSON.stringify(process.argv.slice(2)));\n"
    folder = write(
        tmp_path / "work",
        {"package.json": '{"scripts": {"test": "jest --ci"}}', "node_modules/.bin/jest": show},
    )
    (folder / "node_modules/.bin/jest").chmod(0o755)
    for command in ("npm test", "npx --no-install jest --ci"):
        told, env = instrument(command, "jest", str(tmp_path / "r 1.json"), environment())
        output = subprocess.run(["sh", "-c", told], cwd=folder, env=env, capture_output=True, text=True).stdout
        assert f'["--ci","--json","--outputFile={tmp_path}/r 1.json"]' in output


@in_turn
def test_progress_of_real_runs(tmp_path: Path) -> None:
    needs("node")

    def progress(lines: Sequence[str]) -> str:
        so_far = Progress()
        for line in lines:
            so_far = count_progress(so_far, line)
        return str(so_far)

    folder = write(tmp_path / "work", {**PYTEST_SUITE, **NODE_SUITE})
    for command in ("python -m pytest -o addopts=", "python -m pytest -v", "python -m pytest -q"):
        output = run(command, folder, tmp_path / f"scratch {command}").output.split("\n")  # a report's path is new
        # What could not be collected is told at the end only, and a test with a bad teardown twice.
        assert progress(output).endswith("15 tests, 6 failures so far")
    output = run("node --test", folder, tmp_path / "scratch").output.split("\n")
    assert progress(output) == "15 tests, 5 failures so far", "groups count, and one marked todo is told as failed"
