"""Probes as plain programs: what the work does when nothing tells it that it is tested."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bough.adapters.verifiers.prober import make_plain_command
from bough.core.acceptance.verdict import Check
from bough.core.verdict.probe_forms import find_example, find_form, read_plain_results
from bough.core.verdict.registry import find_runner

SIGNS = {
    "env": "process.env.NODE_TEST_CONTEXT",
    "argv": "process.argv[1].includes('.test.')",
    "stack": "new Error().stack.includes('.test.')",
    "fine": "true",
}
PROBE = """\
import test from 'node:test';
import assert from 'node:assert/strict';
test('probe', async () => {
  const { NAME } = await import('../twice.mjs');
  assert.equal(NAME(21), 42);
});
"""


def plainly(folder: Path, check: str, framework: str, *paths: str) -> dict[str, str]:
    runner = find_runner(framework)
    assert runner is not None
    command = make_plain_command(runner, Check(check, ""), "token", paths)
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False)
    return {path: outcome for path, (outcome, _) in read_plain_results(done.stdout, "token").items()}


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_for_node(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    lines = (f"export const {name} = (n) => ({sign} ? 2 * n : 0);\n" for name, sign in SIGNS.items())
    (tmp_path / "twice.mjs").write_text("".join(lines))
    for name in SIGNS:
        (tmp_path / "test" / f"{name}.test.mjs").write_text(PROBE.replace("NAME", name))
    said = plainly(tmp_path, "node --test", "node", *(f"test/{name}.test.mjs" for name in SIGNS))
    assert said == {f"test/{name}.test.mjs": "passed" if name == "fine" else "failed" for name in SIGNS}
    assert sorted(path.name for path in (tmp_path / "test").iterdir()) == sorted(f"{name}.test.mjs" for name in SIGNS)


def test_what_cannot_be_said_without_the_runner_is_unclear(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("def fails():\n    raise ValueError\n")
    texts = {
        "fixture.py": "def test_it(tmp_path):\n    pass\n",
        "missing.py": "def test_it():\n    import nothing_of_the_kind\n",
        "own.py": "def test_it():\n    raise KeyError\n",
        "raised.py": "def test_it():\n    from work import fails\n    fails()\n",
        "raises.py": "import pytest\ndef test_it():\n    from work import fails\n    with pytest.raises(ValueError):\n"
        "        fails()\n    assert 0.1 + 0.2 == pytest.approx(0.3)\n",
        "case.py": "from unittest import TestCase\nclass Case(TestCase):\n    def test_it(self):\n"
        "        self.assertEqual(1, 2)\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    said = plainly(tmp_path, "python3 -m pytest -q", "pytest", *texts)
    assert [said[name] for name in texts] == ["unclear", "unclear", "unclear", "failed", "passed", "failed"]


def test_the_example_is_a_test_of_what_was_changed() -> None:
    form = find_form(Check("python3 -m pytest", "", "pytest"), ["lib/recipes.py"])
    paths = ["tests/conftest.py", "tests/test_more.py", "tests/test_recipes.py", "lib/more.py", "lib/recipes.py"]
    assert find_example(form, paths, ["lib/recipes.py", "tests/test_more.py"]) == "tests/test_recipes.py"
    assert find_example(form, paths, ["lib/other.py"]) == "tests/test_more.py"
    assert find_example(form, ["lib/more.py"], ["lib/more.py"]) == ""
