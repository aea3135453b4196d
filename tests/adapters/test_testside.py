"""What belongs to the test side of a tree, and what is put back of files that hold both."""

import json
import time

import pytest

from bough.core.verdict.references import asserts
from bough.core.verdict.test_files import Restoration, restore_test_side
from bough.ports import FileChange

PYTEST = "python -m pytest -q"
Files = dict[str, str]


def put_back(before: Files, after: Files, command: str = PYTEST, reported: tuple[str, ...] = ()) -> Restoration:
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    kinds = ("A" if path not in before else "D" if path not in after else "M" for path in paths)
    return restore_test_side(
        [FileChange(kind, path) for kind, path in zip(kinds, paths, strict=True)], before, after, command, reported
    )


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("tests/test_a.py", PYTEST),
        ("pkg/tests/helper.py", PYTEST),
        ("tests/data/one.json", PYTEST),
        ("conftest.py", PYTEST),
        ("pytest.ini", PYTEST),
        ("a_test.go", "go test ./..."),
        ("src/a.test.ts", "npm test"),
        ("__snapshots__/a.snap", "npx jest"),
        ("jest.config.js", "npx jest"),
        ("Makefile", "make test"),
        ("run_checks.sh", "sh run_checks.sh"),
        (".cargo/config.toml", "cargo test"),
    ],
)
def test_what_is_put_back_whole(path: str, command: str) -> None:
    assert put_back({path: "old\n"}, {path: "new\n"}, command) == Restoration((path,), {})


def test_a_new_module_in_front_of_the_languages_own_is_put_back() -> None:
    old = {"calc.py": "", "statistics.py": "old\n"}
    new = {
        "unittest/__main__.py": "",
        "pytest.py": "",
        "random.py": "",
        "kit/random.py": "",
        "test.py": "",
        "more.py": "",
    }
    assert put_back(old, old | new | {"statistics.py": "new\n"}).paths == (
        "pytest.py",
        "random.py",
        "test.py",
        "unittest/__main__.py",
    )


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("calc.py", PYTEST),
        ("src/contest.py", PYTEST),
        ("packages/test-kit/add.js", "npm test"),
        ("lib/Test/Kit.pm", "prove -lr t"),
        ("Makefile", PYTEST),
        ("scripts/build.sh", "sh run_checks.sh"),
        ("README.md", PYTEST),
        ("node_modules/left-pad/index.js", "npm test"),
    ],
)
def test_what_is_product(path: str, command: str) -> None:
    assert not put_back({path: "old\n"}, {path: "new\n"}, command).changed


def test_new_data_takes_nothing_away() -> None:
    assert not put_back({}, {"tests/data/one.txt": "1\n"}).changed
    assert put_back({}, {"tests/conftest.py": "1\n"}).changed


def test_data_that_only_tests_read() -> None:
    test = {"test_a.py": "open('cases/sums.json')\n"}
    before, after = {"cases/sums.json": '{"expected": 1}\n'}, {"cases/sums.json": '{"expected": 2}\n'}
    assert put_back({**test, **before}, {**test, **after}).paths == ("cases/sums.json",)
    product = {"calc.py": "open('cases/sums.json')\n"}
    both = put_back({**test, **product, **before}, {**test, **product, **after})
    assert both.paths == ("cases/sums.json",), "what both read is asked about"
    assert not put_back({**product, **before}, {**product, **after}).changed


def test_a_package_that_only_tests_import_in_a_block() -> None:
    files = {
        "stat.go": "package stat\n\nfunc Median(n []float64) float64 { return n[0] }\n",
        "near/near.go": "package near\n\nfunc Equal(a, b float64) bool { return a-b < 1e-9 }\n",
        "stat_test.go": 'package stat\n\nimport (\n\t"testing"\n\n\t"example.com/stat/near"\n)\n',
    }
    changes = [FileChange("M", "near/near.go")]
    assert restore_test_side(changes, files, files, "go test ./...", ()).paths == ("near/near.go",)
    shared = {**files, "stat.go": 'package stat\n\nimport (\n\t"example.com/stat/near"\n)\n\nfunc Median() {}\n'}
    assert restore_test_side(changes, shared, shared, "go test ./...", ()).paths == ()


def test_what_a_file_of_nothing_but_loads_stands_for_is_product() -> None:
    files = {
        "lib/tty-cursor.rb": "# frozen\n\nrequire_relative 'tty/cursor'\n",
        "lib/tty/cursor.rb": "module Cursor\n  def check_show\n    1\n  end\nend\n",
        "spec/spec_helper.rb": "require 'tty-cursor'\n",
        "spec/show_spec.rb": "RSpec.describe Cursor do\n  it { expect(subject.check_show).to eq(1) }\nend\n",
    }
    changes = [FileChange("M", "lib/tty/cursor.rb")]
    assert restore_test_side(changes, files, files, "rspec", ()).paths == ()


def test_a_package_of_which_a_build_file_names_the_version_is_product() -> None:
    files = {
        "setup.py": 'path = "shop/__init__.py"\nversion = ast.literal_eval(open(path).readline())\n',
        "shop/__init__.py": 'from shop.totals import check_total\n\n__version__ = "1"\n',
        "shop/totals.py": "def check_total(number):\n    assert number > 0\n    return number\n",
        "tests/test_totals.py": "from shop.totals import check_total\n",
    }
    changes = [FileChange("M", "shop/totals.py")]
    assert restore_test_side(changes, files, files, PYTEST, ()).paths == ()


def test_a_module_in_a_language_without_a_record_is_product() -> None:
    files = {"fraction.ml": "let simplify (a, b) = (a, b)\n", "tests.ml": '#mod_use "fraction.ml";;\nopen Fraction\n'}
    changes = [FileChange("M", "fraction.ml")]
    assert restore_test_side(changes, files, files, "ocaml tests.ml", ()).paths == ()


def test_a_part_of_package_json() -> None:
    was = {"version": "1", "scripts": {"test": "jest"}, "dependencies": {"a": "1"}}
    now = {"version": "2", "scripts": {"test": "true"}, "dependencies": {"a": "2"}}
    made = put_back({"package.json": json.dumps(was)}, {"package.json": json.dumps(now)}, "npm test").texts
    assert json.loads(made["package.json"]) == {**now, "scripts": was["scripts"]}
    now = {**was, "version": "2"}
    assert not put_back({"package.json": json.dumps(was)}, {"package.json": json.dumps(now)}, "npm test").changed


def test_sections_of_pyproject() -> None:
    was = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    now = '[project]\nname = "a"\nversion = "2"\n\n[tool.pytest.ini_options]\naddopts = "-k nothing"\n'
    made = put_back({"pyproject.toml": was}, {"pyproject.toml": now}).texts["pyproject.toml"]
    assert made == '[project]\nname = "a"\nversion = "2"\n[tool.pytest.ini_options]\naddopts = "-q"\n'


def test_tests_inside_rust_code() -> None:
    tests = '#[cfg(test)]\nmod tests {\n    // }\n    const A: &str = "}";\n    #[test]\n    fn adds() {}\n}\n'
    was, now = f"fn add() {{ 1 }}\n\n{tests}", f"fn add() {{ 2 }}\n\n{tests.replace('fn adds() {}', '')}"
    made = put_back({"src/lib.rs": was}, {"src/lib.rs": now}, "cargo test").texts["src/lib.rs"]
    assert made == f"fn add() {{ 2 }}\n\n{tests.rstrip()}\n"


def test_tests_inside_python_code_are_known_from_the_runners_report() -> None:
    test = "\n\ndef test_add():\n    assert add() == 1\n"
    was, now = f"def add():\n    return 0\n{test}", f"def add():\n    return 1\n{test.replace('== 1', '')}"
    assert not put_back({"calc.py": was}, {"calc.py": now}).changed
    made = put_back({"calc.py": was}, {"calc.py": now}, reported=("calc.py",)).texts["calc.py"]
    assert made.split() == f"def add():\n    return 1\n{test}".split()


@pytest.mark.parametrize(
    "path",
    [
        "sum_test.zig",
        "test_sum.zig",
        "sum.spec.zig",
        "sum-test.nim",
        "SumTest.zig",
        "TestSum.zig",
        "tests/sum.zig",
        "spec/sum.cr",
        "testdata/sum.in",
        "fixtures/sum.in",
        "__snapshots__/sum.x",
        "sum.golden",
        "out/sum.expected",
        "smoke_test",
    ],
)
def test_a_language_without_a_record_has_tests_too(path: str) -> None:
    restored = restore_test_side([FileChange("M", path)], {path: "3"}, {path: "2"}, "zig build test", ())
    assert restored.paths == (path,)


@pytest.mark.parametrize("path", ["sum.zig", "latest.zig", "attestation.nim", "openapi-spec.yaml", "test_plan.md"])
def test_not_everything_with_these_letters_is_a_test(path: str) -> None:
    assert not restore_test_side([FileChange("M", path)], {path: "3"}, {path: "2"}, "zig build test", ()).changed


def test_many_files_cost_little() -> None:
    before = {f"src/part{n // 20}/m{n}.py": f"def f{n}(x):\n    return x + {n}\n" for n in range(10_000)}
    before |= {"tests/test_a.py": "from m1 import f1\n", "check.sh": "python -m pytest -q\n", "data/one.json": "1"}
    after = before | {path: f"{before[path]}# changed\n" for path in [*before][:20]} | {"data/one.json": "2"}
    put_back(before, after, "sh check.sh")  # what is loaded and kept is paid for
    began = time.process_time()
    assert put_back(before, after, "sh check.sh").paths == ()
    assert time.process_time() - began < 1.5, "it grows with the number of files times that of patterns"


SUFFIXES = "f90 for ml hs pas adb cob nim cr d jl R m pro lisp scm clj erl ex tcl awk v vhd zig odin hx rkt raku fth"
MODULE = "module cart\ncontains\n  integer total(price, n)\n    total = price - n\n  end\nend module\n"
PROGRAM = "program test_cart\n  use cart\n  if (total(2,3) /= 5) stop 1\nend program\n"
ASSEMBLY = "total:\n    addl %esi, %edi\n    ret\n"


@pytest.mark.parametrize("suffix", SUFFIXES.split())
@pytest.mark.parametrize(
    ("command", "recipe"),
    [
        ("comp cart.{0} test_cart.{0} -o t && ./t", {}),
        ("make test", {"Makefile": "test:\n\t$(COMP) cart.{0} test_cart.{0} -o t\n\t./t\n"}),
        ("sh run.sh", {"run.sh": "comp cart.{0} test_cart.{0} -o t\n./t\n"}),
        ("sh run.sh", {"run.sh": "comp cart.{0} -o cart\ntest $(./cart 2 3) = 5\n"}),
        ("make", {"Makefile": "all:\n\ttest $$(interpreter cart.{0} 2 3) = 5\n"}),
    ],
)
def test_what_the_check_builds_or_runs_by_its_name_is_product(suffix: str, command: str, recipe: Files) -> None:
    product, test = f"cart.{suffix}", f"test_cart.{suffix}"
    base = {product: MODULE, test: PROGRAM, **{path: text.format(suffix) for path, text in recipe.items()}}
    assert not put_back(base, {**base, product: MODULE.replace("-", "+")}, command.format(suffix)).changed
    assert put_back(base, {**base, test: PROGRAM.replace("5", "-1")}, command.format(suffix)).paths == (test,)


def test_what_the_check_compares_with_is_not_product() -> None:
    recipe = {"Makefile": "test:\n\tas total.s -o t\n\t./t 2 3 | diff - sums.ref\n\t./t < sums.in\n"}
    base = {**recipe, "total.s": ASSEMBLY, "sums.ref": "-1\n", "sums.in": "2 3\n"}
    after = {**recipe, "total.s": ASSEMBLY.replace("add", "sub"), "sums.ref": "5\n", "sums.in": "0 5\n"}
    assert put_back(base, after, "make test").paths == ("sums.in", "sums.ref")


CMAKE = "project(cart C)\nadd_library(cart cart.c)\nenable_testing()\nadd_executable(cart_test cart_test.c cart.c)\n"
CTEST = "add_test(NAME cart COMMAND cart_test)\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "made"),
    [
        ("CMakeLists.txt", CMAKE + CTEST, CMAKE + CTEST + "set_tests_properties(cart PROPERTIES WILL_FAIL TRUE)\n", ""),
        (
            "CMakeLists.txt",
            CMAKE + CTEST,
            CMAKE + CTEST + "set_tests_properties(cart PROPERTIES\n  WILL_FAIL TRUE\n)\n",
            "",
        ),
        ("CMakeLists.txt", CMAKE + CTEST, CMAKE.replace("cart.c)", "cart.c sum.c)") + CTEST, "as it is"),
        (
            "CMakeLists.txt",
            CMAKE + CTEST,
            CMAKE + CTEST + "add_library(sum sum.c)\nadd_test(NAME sum\n COMMAND sum_test\n)\n",
            CMAKE + CTEST + "add_library(sum sum.c)\n",
        ),
        ("CMakeLists.txt", CMAKE + CTEST, CMAKE.replace("project(cart C)", "project(cart CXX)") + CTEST, "as it is"),
        ("mix.exs", "[\n  app: :cart\n]\n", '[\n  app: :cart,\n  aliases: [test: "run -e 1"]\n]\n', ""),
        ("build.gradle", "test {\n  useJUnit()\n}\n", "test {\n  useJUnit()\n  enabled = false\n}\n", ""),
        ("meson.build", "test('cart', exe)\n", "test('cart', exe, should_fail: true)\n", ""),
        ("dune", "(library (name cart))\n(test (name t))\n", "(library (name cart))\n(rule (name t))\n", ""),
        ("composer.json", '{"scripts": {"test": "phpunit"}}', '{"scripts": {"test": "true"}}', ""),
    ],
)
def test_what_registers_tests_in_a_build_file(path: str, old: str, new: str, made: str) -> None:
    restored = put_back({path: old}, {path: new, "sum.c": "int sum;\n"}, "ctest")
    assert restored.texts.get(path, "as it is") == (made or old)
    assert path not in restored.paths


def test_a_makefile_may_build_what_the_work_adds() -> None:
    makefile = "OBJECTS = cart.c\ntest:\n\tcc $(OBJECTS) test_cart.c -o t && ./t\n"
    more = {"Makefile": makefile.replace("cart.c\ntest", "cart.c sum.c\ntest"), "sum.c": "int sum;\n"}
    assert not put_back({"Makefile": makefile}, more, "make test").changed
    less = {"Makefile": makefile.replace("&& ./t", "&& true")}
    assert put_back({"Makefile": makefile}, less, "make test").paths == ("Makefile",)


def test_product_that_is_named_like_a_test() -> None:
    base = {
        "pkg/app.py": "from pkg.testing import Client\n\ndef client():\n    return Client()\n",
        "pkg/testing.py": "class Client:\n    def get(self):\n        return 1\n",
        "tests/utils.py": "def same(a, b):\n    assert a == b\n",
        "pkg/utils.py": "def add(a, b):\n    return a + b\n",
        "pkg/sums.py": "from pkg.utils import add\n",
        "tests/test_app.py": "from pkg.app import client\nfrom utils import same\n",
        "test_more.py": "def test_more():\n    assert 1\n",
    }
    reported = ("tests/test_app.py", "test_more.py")
    after = {path: text + "# changed\n" for path, text in base.items()}
    restored = put_back(base, after, reported=reported).paths
    assert restored == ("test_more.py", "tests/test_app.py", "tests/utils.py")
    alone = {**base, "pkg/app.py": "def client():\n    return 1\n"}
    assert "pkg/testing.py" in put_back(alone, {**alone, "pkg/testing.py": ""}, reported=reported).paths


def test_a_program_that_is_named_like_a_test() -> None:
    base = {
        "libexec/bats-exec-suite": '#!/bin/sh\nexec bats-exec-test "$@"\n',
        "libexec/bats-exec-test": "#!/bin/sh\necho 1\n",
        "test/suite.bats": "@test a { run bats-exec-suite; }\n",
    }
    assert not put_back(base, {**base, "libexec/bats-exec-test": "#!/bin/sh\necho 2\n"}, "bats test").changed
    alone = {**base, "libexec/bats-exec-suite": "#!/bin/sh\n"}
    assert put_back(alone, {**alone, "libexec/bats-exec-test": "#!/bin/sh\necho 2\n"}, "bats test").changed


def test_a_file_that_the_goal_names_is_product_where_no_test_is_in_it() -> None:
    base = {
        "test_data/test_split.py": "def split(rows):\n    return rows[:1], rows[1:]\n",
        "tests/test_splitting.py": "from test_data.test_split import split\n",
    }
    after = {**base, "test_data/test_split.py": "def split(rows):\n    return rows, []\n"}
    change = [FileChange("M", "test_data/test_split.py")]
    reported = ("tests/test_splitting.py",)

    def restored(request: str, text: str = base["test_data/test_split.py"]) -> tuple[str, ...]:
        before = {**base, "test_data/test_split.py": text}
        return restore_test_side(change, before, after, PYTEST, reported, request).changed

    goal = "`split` from test_data/test_split.py must keep the order."
    assert restored(goal) == ()
    assert restored("`split` must keep the order.") == ("test_data/test_split.py",)
    assert restored(goal, "def check(rows):\n    assert rows\n") == ("test_data/test_split.py",)


def test_what_the_check_feeds_to_an_interpreter_is_product_where_it_is_code() -> None:
    schema = "CREATE VIEW monthly AS SELECT month(day), sum(amount) FROM sales GROUP BY month(day);\n"
    base = {"check.sh": "sqlite3 test.db < schema.sql\n[ $(sqlite3 test.db 'SELECT 1') = 1 ]\n", "schema.sql": schema}
    after = {**base, "schema.sql": schema.replace("sum", "total")}
    assert put_back(base, after, "sh check.sh").changed == ()


def test_the_only_code_that_the_tests_load_is_product() -> None:
    files = {
        "patcher.py": "def match_lines(old, new):\n    assert old\n    return old == new\n",
        "setup.py": "setup(py_modules=['patcher'])\n",
        "tests/run_tests.py": "import unittest\nimport patcher\n",
    }
    changes = [FileChange("M", "patcher.py")]
    assert restore_test_side(changes, files, files, "python tests/run_tests.py", ()).paths == ()
    beside = {**files, "lines.py": "def count(text):\n    return text.count('n')\n"}
    beside["tests/run_tests.py"] += "import lines\n"
    assert restore_test_side(changes, beside, beside, "python tests/run_tests.py", ()).paths == ("patcher.py",)


@pytest.mark.parametrize(
    ("path", "line", "asserting"),
    [
        ("lib/a.pm", "require Exporter;", False),
        ("lib/a.rb", "require 'set'", False),
        ("a.js", "require('./polyfill')", False),
        ("a.go", "\trequire.Equal(t, 1, got)", True),
        ("a.cpp", "REQUIRE(got == 1);", True),
    ],
)
def test_a_line_that_requires_a_module_asserts_nothing(path: str, line: str, asserting: bool) -> None:
    assert asserts(path, f"{line}\n") is asserting


def test_code_where_what_is_published_lies_is_product() -> None:
    files = {
        "lib/Verify.pm": "package Verify;\nsub check_sum { return 1 }\n1;\n",
        "lib/Other.pm": "package Other;\nsub other { return 1 }\n1;\n",
        "t/verify.t": "use Verify;\nuse Other;\n",
    }
    changes = [FileChange("M", "lib/Verify.pm")]
    assert restore_test_side(changes, files, files, "prove -l t", ()).paths == ()
    moved = {path.replace("lib/", "near/"): text for path, text in files.items()}
    changes = [FileChange("M", "near/Verify.pm")]
    assert restore_test_side(changes, moved, moved, "prove -Inear t", ()).paths == ("near/Verify.pm",)
