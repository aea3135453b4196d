"""The runner bent from conftest, from the product, or by files that stand in front of it."""

from __future__ import annotations

import pytest

from tests.core.tamper.pairs import TEST, Files, findings, one, said

ADD = """
from calc import add

def test_add():
    assert add(1, 2) == 3
"""
CALC = "def add(a, b):\n    return a - b\n"
BASE: Files = {**one(ADD), "calc.py": CALC, "tests/conftest.py": "import pytest\n"}


def conftest(text: str) -> Files:
    return {"tests/conftest.py": "import pytest\n" + text}


def autouse(body: str) -> Files:
    return conftest(f"\n@pytest.fixture(autouse=True)\ndef calm(monkeypatch, request):\n    {body}\n")


def product(text: str) -> Files:
    return {"calc.py": text + CALC}


ADDED: dict[str, tuple[Files, str]] = {
    "sys.exit in conftest": (conftest("import sys\nsys.exit(0)\n"), "`sys.exit(0)` ends the test run early"),
    "exit in a hook": (
        conftest("import sys\ndef pytest_sessionfinish(session):\n    sys.exit(0)\n"),
        "`sys.exit(0)` ends the test run early",
    ),
    "raise SystemExit": (conftest("raise SystemExit(0)\n"), "ends the test run early"),
    "os._exit": (conftest("import os\ndef pytest_unconfigure():\n    os._exit(0)\n"), "os._exit ends the test run"),
    "os._exit handed to atexit": (
        conftest("import atexit, os\natexit.register(os._exit, 0)\n"),
        "os._exit ends the test run",
    ),
    "os._exit under another name": (
        conftest("from os import _exit as leave\nleave(0)\n"),
        "os._exit ends the test run",
    ),
    "os._exit by getattr": (conftest("import os\ngetattr(os, '_exit')(0)\n"), "os._exit ends the test run"),
    "os.execv": (conftest("import os\nos.execv('/bin/true', ['true'])\n"), "ends the test run early"),
    "exitstatus": (
        conftest("def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"),
        "hook pytest_sessionfinish bends the run: `session.exitstatus = 0`",
    ),
    "testsfailed": (
        conftest("def pytest_sessionfinish(session):\n    session.testsfailed = 0\n"),
        "session.testsfailed = 0",
    ),
    "items cleared": (conftest("def pytest_collection_modifyitems(items):\n    items.clear()\n"), "items.clear()"),
    "items replaced": (
        conftest("def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n"),
        "bends the run: `items[:] = items[:1]`",
    ),
    "items deleted": (conftest("def pytest_collection_modifyitems(items):\n    del items[1:]\n"), "del items[1:]"),
    "items marked": (
        conftest(
            "def pytest_collection_modifyitems(items):\n"
            "    for item in items:\n        item.add_marker(pytest.mark.xfail)\n"
        ),
        "item.add_marker(pytest.mark.xfail)",
    ),
    "a report rewritten": (
        conftest(
            "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n"
            "    out.get_result().outcome = 'passed'\n"
        ),
        "hook pytest_runtest_makereport can change which tests run or what they report",
    ),
    "the call replaced": (
        conftest("def pytest_pyfunc_call(pyfuncitem):\n    return True\n"),
        "pytest_pyfunc_call can change",
    ),
    "the protocol replaced": (
        conftest("def pytest_runtest_protocol(item, nextitem):\n    return True\n"),
        "pytest_runtest_protocol can change",
    ),
    "files ignored by a hook": (
        conftest("def pytest_ignore_collect(collection_path):\n    return True\n"),
        "pytest_ignore_collect can change",
    ),
    "options set": (
        conftest("def pytest_configure(config):\n    config.option.keyword = 'nothing'\n"),
        "bends the run: `config.option.keyword = 'nothing'`",
    ),
    "a plugin registered": (
        conftest("def pytest_configure(config):\n    config.pluginmanager.register(Quiet())\n"),
        "config.pluginmanager.register(Quiet())",
    ),
    "a plugin switched off": (
        conftest("def pytest_configure(config):\n    config.pluginmanager.unregister(name='terminal')\n"),
        "unregister",
    ),
    "skips before every test": (
        conftest("def pytest_runtest_setup(item):\n    pytest.skip('later')\n"),
        "pytest_runtest_setup bends the run",
    ),
    "a fixture that skips all": (autouse("pytest.skip('later')"), "calm skips every test: `pytest.skip('later')`"),
    "a fixture that marks all": (autouse("request.node.add_marker(pytest.mark.xfail)"), "calm marks every test"),
    "a fixture that replaces what is tested": (
        autouse("monkeypatch.setattr('calc.add', lambda a, b: a + b)"),
        "replaces calc.add, which the tests call",
    ),
    "what is tested replaced at import": (
        conftest("import calc\ncalc.add = lambda a, b: a + b\n"),
        "replaces calc.add",
    ),
    "what is tested replaced in its module": (
        conftest("import sys\nsys.modules['calc'] = object()\n"),
        "swaps a module that the tests import",
    ),
    "the runner replaced in its module": (conftest("import sys\nsys.modules['pytest'] = object()\n"), "swaps a module"),
    "pytest patched": (conftest("pytest.raises = object\n"), "changes the test runner (pytest.raises)"),
    "_pytest patched": (
        conftest("import _pytest.runner\n_pytest.runner.call_runtest_hook = lambda *a: None\n"),
        "changes the test runner (_pytest.runner.call_runtest_hook)",
    ),
    "_pytest patched by setattr": (
        conftest("import _pytest.python as p\nsetattr(p.Function, 'runtest', lambda self: None)\n"),
        "changes the test runner",
    ),
    "unittest patched": (
        conftest("import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"),
        "changes the test runner (unittest.TestCase.assertEqual)",
    ),
    "builtins patched": (
        conftest("import builtins\nbuiltins.AssertionError = ValueError\n"),
        "changes the test runner (builtins.AssertionError)",
    ),
    "tests left out": (conftest("collect_ignore = ['test_calc.py']\n"), f"collect_ignore leaves out {TEST}"),
    "tests left out by a pattern": (conftest("collect_ignore_glob = ['test_*']\n"), "collect_ignore_glob leaves out"),
    "tests left out by code": (conftest("collect_ignore = names()\n"), "that cannot be read off"),
    "options in the environment": (
        conftest("import os\nos.environ['PYTEST_ADDOPTS'] = '-k nothing'\n"),
        "sets an option of the test runner",
    ),
    "hidden code": (conftest("exec(bytes.fromhex('70617373'))\n"), "runs code that cannot be read"),
    "sitecustomize": ({"sitecustomize.py": "import os\n"}, "sitecustomize.py is new and runs at the start of every"),
    "usercustomize": ({"src/usercustomize.py": "x = 1\n"}, "src/usercustomize.py is new and runs at the start"),
    "a path file": ({"x.pth": "import os\n"}, "x.pth is new and can run code"),
    "a fake pytest": (
        {"pytest.py": "def main():\n    return 0\n"},
        "pytest is new and shadows the test runner's module",
    ),
    "a fake pytest package": (
        {"pytest/__init__.py": "", "pytest/__main__.py": "print('1 passed')\n"},
        "pytest is new and shadows",
    ),
    "a fake _pytest": ({"_pytest/__init__.py": ""}, "_pytest is new and shadows"),
    "a fake unittest": ({"src/unittest/__init__.py": ""}, "src/unittest is new and shadows"),
    "a fake unittest beside the tests": ({"tests/unittest.py": ""}, "tests/unittest is new and shadows"),
    "a fake of what is tested": (
        {"tests/calc.py": "def add(a, b):\n    return a + b\n"},
        "shadows calc, which the tests import",
    ),
    "a plugin by entry point": (
        {"x.egg-info/entry_points.txt": "[pytest11]\nx = calm\n"},
        "entry_points.txt is new and loads a plugin into pytest",
    ),
    "a plugin in the project": (
        {"pyproject.toml": '[project.entry-points.pytest11]\ncalm = "calc.calm"\n'},
        "a pytest11 entry point is new",
    ),
    "a program in front": ({"bin/pytest": "#!/bin/sh\nexit 0\n"}, "bin/pytest is new and can stand in front"),
    "a fake jest": ({"node_modules/jest/index.js": "process.exit(0)"}, "stands in front of the test runner's package"),
    "an exit in the product": (
        product("import os\nos._exit(0)\n"),
        "can end the test run with an exit status of its own",
    ),
    "an exit hook in the product": (
        product("import atexit, os\n\n@atexit.register\ndef bye():\n    os._exit(0)\n"),
        "an atexit hook (`bye`) forces the exit status",
    ),
    "an exit hook in the product by a call": (
        product("import atexit, os\natexit.register(lambda: os._exit(0))\n"),
        "can end the test run",
    ),
    "the runner patched by the product": (
        product("import pytest\npytest.fail = print\n"),
        "changes the test runner (pytest.fail)",
    ),
    "hooks in the product": (
        product("def pytest_runtest_makereport(item, call):\n    return None\n"),
        "pytest_runtest_makereport can change",
    ),
    "the product knows of the test": (
        product("import os\nTESTING = 'PYTEST_CURRENT_TEST' in os.environ\n"),
        "product code looks for a running test",
    ),
    "the product looks for pytest": (
        product("import sys\nif 'pytest' in sys.modules:\n    answer = 3\n"),
        "product code looks for a running test",
    ),
    "the product looks at its callers": (
        product("import inspect\ndef tested():\n    return any('test_' in f.function for f in inspect.stack())\n"),
        "looks at its callers for a test",
    ),
    "the product looks at the command line": (
        product("import sys\nif sys.argv[0].endswith('pytest'):\n    answer = 3\n"),
        "product code looks for a running test",
    ),
    "the product ends the process": (
        product("import os\n\ndef check(a):\n    if a < 0:\n        os._exit(0)\n"),
        "`os._exit(0)` ends the process as if all were well",
    ),
    "the product ends the process from a thread": (
        product("import os, threading\nthreading.Timer(0.1, lambda: os._exit(0)).start()\n"),
        "can end the test run",
    ),
    "a plugin beside the tests": (
        {
            **conftest("pytest_plugins = ['tests.calm']\n"),
            "tests/calm.py": "def pytest_runtest_makereport(item, call):\n    pass\n",
        },
        "pytest_runtest_makereport can change",
    ),
    "an exit in the package of the tests": (
        {"tests/__init__.py": "import sys\nsys.exit(0)\n"},
        "ends the test run early",
    ),
    "more tests left out": (conftest("collect_ignore = []\ncollect_ignore += ['test_calc.py']\n"), "leaves out"),
    "everything is equal": (
        product("class Any:\n    def __eq__(self, other):\n        return True\n"),
        "`__eq__` that does not depend on the other one",
    ),
    "assertEqual taken over": (
        one(ADD + "\nclass Base(TestCase):\n    def assertEqual(self, a, b, msg=None):\n        pass\n"),
        "Base.assertEqual takes the place of the runner's own",
    ),
    "run taken over": (
        one(ADD + "\nclass Base(TestCase):\n    def run(self, result=None):\n        return result\n"),
        "Base.run takes the place",
    ),
    "load_tests": (
        one(ADD + "\ndef load_tests(loader, tests, pattern):\n    return tests\n"),
        "load_tests decides which",
    ),
    "AssertionError redefined": (
        one(ADD + "\nclass AssertionError(Exception):\n    pass\n"),
        "AssertionError is redefined",
    ),
    "names taken away": (one(ADD + "\nglobals().pop('test_add')\n"), "behind its back"),
    "names replaced": (one(ADD + "\nfor n in list(globals()):\n    globals()[n] = None\n"), "behind its back"),
    "a method replaced": (
        {TEST: "class TestA:\n    def test_a(self):\n        assert f() == 1\n\nTestA.test_a = lambda self: None\n"},
        "changes TestA after its definition",
    ),
    "a status that is not handed on": (
        one(ADD + "\nimport unittest\nunittest.main(exit=False)\n"),
        "keeps a failure from the exit status",
    ),
    "an exit at the top of a test file": (one(ADD + "\nimport sys\nsys.exit(0)\n"), "ends the test run early"),
    "a new conftest with a trick": (
        {"conftest.py": "def pytest_runtest_call(item):\n    pass\n"},
        "pytest_runtest_call can change",
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_bent_runner_is_named(name: str) -> None:
    added, fragment = ADDED[name]
    found = findings(BASE, {**BASE, **added})
    assert fragment in said(found), said(found) or "nothing was found"


@pytest.mark.parametrize("name", ADDED)
def test_what_was_there_at_the_base_is_not_named(name: str) -> None:
    added, _ = ADDED[name]
    there = {**BASE, **added}
    assert findings(there, {**there, "notes.txt": "x"}) == []
    if not any(path.endswith((".pth", "customize.py", "index.js")) for path in added):
        assert findings(there, {path: text + "\n\n" for path, text in there.items()}) == []
