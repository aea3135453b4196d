"""One small suite for each test runner: one test that passes, one that fails, one that is left out, and what each
runner has besides. What it says is recorded in `recorded/`, by `BOUGH_RECORD=1 pytest tests/conformance`."""

from __future__ import annotations

from dataclasses import dataclass, field

ROOT = "/w"
"""Stands for the folder of a suite in what is recorded."""


@dataclass(frozen=True)
class Suite:
    runner: str
    command: str
    files: dict[str, str]
    outcomes: dict[str, str]
    """Every test by its id."""
    failing: str
    """One that fails and can be run alone."""
    programs: tuple[str, ...]
    """That have to be installed, so that it can be run for real."""
    message: str = ""
    """What is said of that one."""
    packages: tuple[str, ...] = ()
    """From npm's index."""
    real: bool = True
    """It can be had for nothing on Linux: what is recorded was recorded from it."""
    env: dict[str, str] = field(default_factory=dict)


SUITES = (
    Suite(
        "pytest",
        "python -m pytest",
        {
            "tests/test_sum.py": "import pytest\n\ndef test_adds(): assert 1 + 1 == 2\n"
            "def test_fails(): assert 1 + 1 == 3\n@pytest.mark.skip\ndef test_left_out(): pass\n"
        },
        {
            "tests/test_sum.py::test_adds": "passed",
            "tests/test_sum.py::test_fails": "failed",
            "tests/test_sum.py::test_left_out": "skipped",
        },
        "tests/test_sum.py::test_fails",
        ("python",),
        "assert (1 + 1) == 3",
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ),
    Suite(
        "unittest",
        "python -m unittest discover -s tests",
        {
            "tests/test_sum.py": "import unittest\n\nclass TestSum(unittest.TestCase):\n"
            "    def test_adds(self): self.assertEqual(1 + 1, 2)\n"
            "    def test_fails(self): self.assertEqual(1 + 1, 3)\n"
            "    @unittest.skip('no')\n    def test_left_out(self): pass\n"
        },
        {
            "test_sum.TestSum.test_adds": "passed",
            "test_sum.TestSum.test_fails": "failed",
            "test_sum.TestSum.test_left_out": "skipped",
        },
        "test_sum.TestSum.test_fails",
        ("python",),
        "AssertionError: 2 != 3",
    ),
    Suite(
        "node",
        "node --test",
        {
            "sum.test.mjs": "import test, { describe } from 'node:test'; import assert from 'node:assert';\n"
            "test('adds', () => assert.equal(1 + 1, 2));\n"
            "describe('group', () => { test('fails (here)', () => assert.equal(1 + 1, 3)); });\n"
            "test('left out', { skip: true }, () => {});\n"
        },
        {
            "sum.test.mjs::adds": "passed",
            "sum.test.mjs::group > fails (here)": "failed",
            "sum.test.mjs::left out": "skipped",
        },
        "sum.test.mjs::group > fails (here)",
        ("node",),
        "2 == 3",
    ),
    Suite(
        "jest",
        "npx --no-install jest",
        {
            "package.json": "{}",
            "sum.test.js": "test('adds', () => expect(1 + 1).toBe(2));\n"
            "describe('group', () => { test('fails (here)', () => expect(1 + 1).toBe(3)); });\n"
            "test.skip('left out', () => {});\n",
        },
        {
            "sum.test.js::adds": "passed",
            "sum.test.js::group > fails (here)": "failed",
            "sum.test.js::left out": "skipped",
        },
        "sum.test.js::group > fails (here)",
        ("node", "npm"),
        "Error: expect(received).toBe(expected) // Object.is equality",
        packages=("jest@29",),
    ),
    Suite(
        "vitest",
        "npx --no-install vitest run",
        {
            "package.json": "{}",
            "sum.test.js": "import { describe, expect, test } from 'vitest';\n"
            "test('adds', () => expect(1 + 1).toBe(2));\n"
            "describe('group', () => { test('fails (here)', () => expect(1 + 1).toBe(3)); });\n"
            "test.skip('left out', () => {});\n",
        },
        {
            "sum.test.js::adds": "passed",
            "sum.test.js::group > fails (here)": "failed",
            "sum.test.js::left out": "skipped",
        },
        "sum.test.js::group > fails (here)",
        ("node", "npm"),
        "expected 2 to be 3 // Object.is equality",
        packages=("vitest@2",),
    ),
    Suite(
        "mocha",
        "npx --no-install mocha --bail sum.test.js",
        {
            "package.json": "{}",
            "sum.test.js": "const assert = require('node:assert');\n"
            "it('adds', () => assert.equal(1 + 1, 2));\n"
            "describe('group', () => { it('fails (here)', () => assert.equal(1 + 1, 3)); });\n"
            "it.skip('left out', () => {});\n"
            "describe('broken', () => {\n  before(() => { throw new Error('no set-up'); });\n"
            "  it('never runs', () => {});\n});\n",
        },
        {
            "sum.test.js::adds": "passed",
            "sum.test.js::group > fails (here)": "failed",
            "sum.test.js::left out": "skipped",
            'sum.test.js::broken > "before all" hook for "never runs"': "failed",
        },
        "sum.test.js::group > fails (here)",
        ("node", "npm"),
        "2 == 3",
        packages=("mocha@11",),
    ),
    Suite(
        "go",
        "go test ./...",
        {
            "go.mod": "module example.com/calc\n\ngo 1.19\n",
            "sum/sum_test.go": 'package sum\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {}\n'
            'func TestFails(t *testing.T) { t.Errorf("got %d, want %d", 2, 3) }\n'
            'func TestLeftOut(t *testing.T) { t.Skip("no") }\n',
        },
        {
            "example.com/calc/sum::TestAdds": "passed",
            "example.com/calc/sum::TestFails": "failed",
            "example.com/calc/sum::TestLeftOut": "skipped",
        },
        "example.com/calc/sum::TestFails",
        ("go",),
        "sum_test.go:6: got 2, want 3",
    ),
    Suite(
        "cargo",
        "cargo test --offline",
        {
            "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "#[cfg(test)]\nmod tests {\n    #[test] fn adds() { assert_eq!(1 + 1, 2); }\n"
            '    #[test] fn fails() { assert_eq!(1 + 1, 3, "no sum"); }\n'
            "    #[test] #[ignore] fn left_out() {}\n}\n",
        },
        {
            "calc:src/lib.rs::tests::adds": "passed",
            "calc:src/lib.rs::tests::fails": "failed",
            "calc:src/lib.rs::tests::left_out": "skipped",
        },
        "calc:src/lib.rs::tests::fails",
        ("cargo", "rustc"),
        "assertion `left == right` failed: no sum left: 2 right: 3",
    ),
    Suite(
        "rspec",
        "rspec",
        {
            "spec/sum_spec.rb": 'RSpec.describe "Sum" do\n  it("adds") { expect(1 + 1).to eq(2) }\n'
            '  it("fails (here)") { expect(1 + 1).to eq(3) }\n  xit("left out") { }\nend\n'
        },
        {
            "spec/sum_spec.rb::Sum adds": "passed",
            "spec/sum_spec.rb::Sum fails (here)": "failed",
            "spec/sum_spec.rb::Sum left out": "skipped",
        },
        "spec/sum_spec.rb::Sum fails (here)",
        ("rspec",),
        "expected: 3\n     got: 2\n\n(compared using ==)",
    ),
    Suite(
        "phpunit",
        "phpunit tests",
        {
            "tests/SumTest.php": "<?php\nnamespace Acme;\nclass SumTest extends \\PHPUnit\\Framework\\TestCase {\n"
            "  public function testAdds() { $this->assertSame(2, 1 + 1); }\n"
            "  public function testFails() { $this->assertSame(3, 1 + 1); }\n"
            '  public function testLeftOut() { $this->markTestSkipped("no"); }\n}\n'
        },
        {
            "tests/SumTest.php::Acme.SumTest > testAdds": "passed",
            "tests/SumTest.php::Acme.SumTest > testFails": "failed",
            "tests/SumTest.php::Acme.SumTest > testLeftOut": "skipped",
        },
        "tests/SumTest.php::Acme.SumTest > testFails",
        ("phpunit",),
        "Failed asserting that 2 is identical to 3.",
    ),
    Suite(
        "dotnet",
        "dotnet test",
        {},
        {
            "Acme.Tests.SumTests.Adds": "passed",
            "Acme.Tests.SumTests.Fails": "failed",
            "Acme.Tests.SumTests.LeftOut": "skipped",
        },
        "Acme.Tests.SumTests.Fails",
        ("dotnet",),
        "Assert.Equal() Failure: Values differ\nExpected: 3\nActual:   2",
        real=False,
    ),
)
