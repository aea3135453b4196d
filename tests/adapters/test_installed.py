"""Runners beside the tree: known by the records of a package manager, or not at all."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from bough.adapters.verifiers.forged_runners import find_forged_runners

NOTHING = frozenset[str]().__contains__


def write(root: Path, path: str, text: str = "x\n") -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def record(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    return f"_pytest/main.py,sha256={digest},{len(text)}\npytest-9.0.0.dist-info/RECORD,,\n"


def path_of(said: str) -> str:
    """What was put there, from the end of the sentence."""
    return said.rpartition("(")[2].removesuffix(")")


def test_a_workspace_without_packages(tmp_path: Path) -> None:
    assert find_forged_runners(tmp_path, NOTHING) == []


def test_a_runner_in_node_modules(tmp_path: Path) -> None:
    write(tmp_path, "node_modules/.bin/jest")
    assert [path_of(one) for one in find_forged_runners(tmp_path, NOTHING)] == ["node_modules/.bin/jest"]
    assert find_forged_runners(tmp_path, {"node_modules/.bin/jest"}.__contains__) == [], (
        "what is in the tree is compared there"
    )
    write(tmp_path, "node_modules/.package-lock.json", '{"packages": {"node_modules/jest": {"version": "29.7.0"}}}')
    assert find_forged_runners(tmp_path, NOTHING), "a list alone is no package"
    write(tmp_path, "node_modules/jest/package.json", '{"name": "jest", "version": "29.7.0"}')
    assert find_forged_runners(tmp_path, NOTHING) == []


def test_a_runner_in_an_environment(tmp_path: Path) -> None:
    packages = ".venv/lib/python3.12/site-packages"
    write(tmp_path, ".venv/bin/pytest")
    assert find_forged_runners(tmp_path, NOTHING)
    write(tmp_path, f"{packages}/_pytest/main.py", "real\n")
    write(tmp_path, f"{packages}/pytest-9.0.0.dist-info/RECORD", record("real\n"))
    assert find_forged_runners(tmp_path, NOTHING) == []
    write(tmp_path, f"{packages}/_pytest/main.py", "edited\n")
    assert [path_of(one) for one in find_forged_runners(tmp_path, NOTHING)] == [".venv/bin/pytest"]


def test_a_module_without_a_program(tmp_path: Path) -> None:
    write(tmp_path, ".venv/lib/python3.12/site-packages/_pytest/__init__.py")
    assert "pytest" in find_forged_runners(tmp_path, NOTHING)[0]


def test_a_package_that_tests_load(tmp_path: Path) -> None:
    text = 'const assert = require("assert/");\nimport { x } from "@scope/kit/deep";\nimport fs from "node:fs";\n'
    loads = {"test/calc.test.js": text}
    assert find_forged_runners(tmp_path, NOTHING, loads) == []
    write(tmp_path, "node_modules/assert/index.js")
    write(tmp_path, "node_modules/@scope/kit/deep.js")
    write(tmp_path, "node_modules/other/index.js")
    found = [path_of(one) for one in find_forged_runners(tmp_path, NOTHING, loads)]
    assert found == ["node_modules/@scope/kit", "node_modules/assert"]
    listed = '{"packages": {"node_modules/power-assert": {}, "node_modules/@scope/kit": {}}}'
    write(tmp_path, "node_modules/.package-lock.json", listed)
    assert [path_of(one) for one in find_forged_runners(tmp_path, NOTHING, loads)] == ["node_modules/assert"]
    write(tmp_path, "yarn.lock", "assert@^2.0.0:\n  version 2.1.0\n")
    assert find_forged_runners(tmp_path, NOTHING, loads) == []
