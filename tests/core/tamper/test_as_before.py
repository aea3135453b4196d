"""What is put back so that the base's tests judge the code of now, and what stays as the work has it."""

from __future__ import annotations

import json

import pytest

from bough.core.tamper import put_back

CODE = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
RUST_TESTS = (
    "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n}"
)


@pytest.mark.parametrize(
    "path",
    [
        *("calc.test.js", "test/calc.js", "test/package.json", "src/__mocks__/calc.js", "calc_test.go", "tests/api.rs"),
        *(
            "jest.config.js",
            "vite.config.ts",
            ".mocharc.json",
            ".npmrc",
            ".cargo/config.toml",
            "tox.ini",
            "conftest.py",
        ),
    ],
)
def test_tests_and_their_settings_are_put_back(path: str) -> None:
    assert put_back({path: "old\n"}, {path: "new\n"}, "npm test") == {path: "old\n"}
    assert put_back({}, {path: "new\n"}, "npm test") == {path: None}
    assert put_back({path: "old\n"}, {}, "npm test") == {path: "old\n"}


@pytest.mark.parametrize(
    "path",
    ["calc.js", "packages/test-kit/src/add.js", "scripts/add.sh", "bin/calc", "go.mod", "node_modules/jest/test/a.js"],
)
def test_what_is_tested_stays(path: str) -> None:
    assert put_back({path: "old\n"}, {path: "new\n"}, f"bash {path}") == {}


def test_makefiles_and_scripts_when_the_check_goes_through_them() -> None:
    rule, script = {"Makefile": "test:\n\tnode --test\n"}, {"all.sh": "#!/bin/sh\nnode --test\n"}
    assert put_back(rule, {"Makefile": "test:\n"}, "make test") == rule
    assert put_back(rule, {"Makefile": "test:\n"}, "npm test") == {}
    assert put_back(script, {"all.sh": "#!/bin/sh\n"}, "./all.sh") == script
    assert put_back(script, {"all.sh": "#!/bin/sh\n"}, "npm test") == {}


def test_of_a_package_how_its_tests_are_run() -> None:
    was = json.dumps({"version": "1.0.0", "scripts": {"test": "jest"}})
    now = json.dumps({"version": "2.0.0", "scripts": {"test": "true"}, "jest": {"automock": True}, "type": "module"})
    made = put_back({"package.json": was}, {"package.json": now}, "npm test")["package.json"]
    assert made is not None
    assert json.loads(made) == {"version": "2.0.0", "type": "module", "scripts": {"test": "jest"}}
    newer = was.replace("1.0.0", "2.0.0")
    assert put_back({"package.json": was}, {"package.json": newer}, "npm test") == {}


def test_in_rust_the_tests_beside_the_code() -> None:
    was, now = f"{CODE}\n{RUST_TESTS}\n", f"{CODE.replace('a - b', 'a + b')}\n{RUST_TESTS.replace('5', '-1')}\n"
    assert put_back({"src/lib.rs": was}, {"src/lib.rs": now}, "cargo test") == {
        "src/lib.rs": was.replace("a - b", "a + b")
    }
    assert put_back({"src/lib.rs": was}, {"src/lib.rs": was.replace("a - b", "a + b")}, "cargo test") == {}
    cargo = '[package]\nname = "calc"\nversion = "0.2.0"\n'
    back = put_back(
        {"Cargo.toml": cargo}, {"Cargo.toml": f'{cargo}\n[[test]]\nname = "a"\npath = "b.rs"\n'}, "cargo test"
    )
    assert (back["Cargo.toml"] or "").strip() == cargo.strip()
