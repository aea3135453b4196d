"""Test code that bends the test run itself: forced exits, patched runners, modules swapped at import, tests that are
taken away after they were defined, fixtures that skip everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bough.core.tamper import files
from bough.core.tamper.python.body import Found, Walk
from bough.core.tamper.python.facts import bound_in
from bough.core.tamper.python.scope import Scope
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import (
    Function,
    constant,
    constants,
    dotted,
    dump,
    elements,
    identifiers,
    keyword,
    last,
    never,
    show,
    walk,
)
from bough.core.tamper.tricks.ground import Ground
from bough.core.tamper.tricks.hooks import RESULT_FIELDS, is_hook
from bough.core.tamper.tricks.peeking import interpreter_changed
from bough.core.tamper.tricks.replaced import keys, loaded, replaced, replacing
from bough.core.tamper.tricks.signs import Sign, expressions_of, hooks, import_time, runner_patched, shown
from bough.core.tamper.wording import listed

_OVERRIDING = frozenset(
    listed(
        "run debug fail _callTestMethod _callSetUp defaultTestResult failureException countTestCases __getattribute__"
    )
    | {f"assert{one}" for one in ("Equal", "NotEqual", "True", "False", "Is", "IsNot", "IsNone", "IsNotNone", "In")}
    | {f"assert{one}" for one in ("NotIn", "IsInstance", "Raises", "RaisesRegex", "AlmostEqual", "Greater", "Less")}
    | {f"assert{one}" for one in ("GreaterEqual", "LessEqual", "Regex", "CountEqual", "DictEqual", "ListEqual")}
    | {f"assert{one}" for one in ("TupleEqual", "SetEqual", "SequenceEqual", "MultiLineEqual", "Warns", "Logs")}
)
_RUNNER_VARIABLES = frozenset({"PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"})
_SET_UPS = ("setUpModule", "setup_module", "setUpClass", "setup_class", "setup_session")


def test_signs(source: Source, ground: Ground) -> Iterator[Sign]:
    conftest = files.name_of(source.path) == "conftest.py"
    yield from hooks(source)
    yield from _hard_exits(source)
    early = list(import_time(source.tree.body))
    for function in source.all_functions:
        if conftest or is_hook(function) or function.name in _SET_UPS or _autouse(function):
            early += list(import_time(function.body))
    package = files.name_of(source.path) in ("__init__.py", "conftest.py")
    for node in import_time(source.tree.body) if package else []:
        if isinstance(node, ast.Raise) and last(node.exc) in ("SkipTest", "Skipped"):
            yield shown(node, "skips all tests of the folder")
    for node in early:
        yield from _exits(node)
        yield from _modules(node, source, ground)
        yield from _variables(node)
        yield from _executed(node)
        yield from replacing(node, source, ground)
        yield from _rewriting(node, source, ground)
    for node in import_time(source.tree.body):
        for part in (node, *expressions_of(node)):
            yield from interpreter_changed(part)
    yield from runner_patched(source)
    yield from _overriding(source)
    yield from _remade(source, ground)
    yield from _results_changed(source)
    yield from _bent(source, ground)
    yield from _switched(source)
    yield from _hidden_tests(source)
    yield from _ignored(source, ground)
    yield from _skipping_fixtures(source)


def _hard_exits(source: Source) -> Iterator[Sign]:
    """`os._exit` in any form, outside a forked child."""
    forked = {id(n) for f in source.all_functions if "fork" in identifiers(f) for n in walk(f)}
    names = {n for n, imported in source.imports.items() if imported.attribute == "_exit"}
    for node in source.of(ast.Attribute, ast.Constant, ast.Name):
        hit = (isinstance(node, ast.Attribute) and node.attr == "_exit") or (
            isinstance(node, ast.Constant) and node.value == "_exit"
        )
        if (hit or (isinstance(node, ast.Name) and node.id in names)) and id(node) not in forked:
            yield Sign("_exit", getattr(node, "lineno", 0), "os._exit ends the test run with an exit status of its own")


def _exits(node: ast.stmt) -> Iterator[Sign]:
    if isinstance(node, ast.Raise) and last(node.exc) in ("SystemExit", "KeyboardInterrupt", "Exit"):
        yield shown(node, "ends the test run early")
    for part in expressions_of(node):
        if not isinstance(part, ast.Call):
            continue
        whole = dotted(part.func)
        known = whole in ("exit", "quit", "sys.exit", "pytest.exit", "os.abort", "os.kill", "signal.raise_signal")
        if known or whole.startswith(("os.exec", "os.killpg")):
            yield shown(part, "ends the test run early")


def _modules(node: ast.stmt, source: Source, ground: Ground) -> Iterator[Sign]:
    """`sys.modules[…]` set for something that the tests import."""
    for key in _swapped(node, source):
        text = constant(key)
        top = text.split(".")[0] if isinstance(text, str) else ""
        if not top or top in files.RUNNER_MODULES or ground.imports(top):
            yield shown(node, "swaps a module that the tests import")


def _swapped(node: ast.stmt, source: Source) -> Iterator[ast.expr]:
    """The keys of `sys.modules` that a statement writes to."""
    for target in node.targets if isinstance(node, ast.Assign | ast.Delete) else []:
        if isinstance(target, ast.Subscript) and loaded(target.value, source):
            yield target.slice
    for call in (part for part in expressions_of(node) if isinstance(part, ast.Call) and part.args):
        within = call.func.value if isinstance(call.func, ast.Attribute) else None
        writing = last(call.func) in ("update", "setdefault", "__setitem__", "pop")
        if writing and within is not None and loaded(within, source):
            yield from keys(call.args[0])
        known = loaded(call.args[0], source) or constant(call.args[0]) == "sys.modules"
        if last(call) in ("setitem", "delitem", "dict") and known:
            yield from keys(call.args[1]) if len(call.args) > 1 else []
            yield from (ast.Constant(value=word.arg) for word in call.keywords)


_WRITING = listed(
    "write_text write_bytes copy copy2 copyfile move replace rename symlink_to run call check_call system Popen"
)


def _rewriting(node: ast.stmt, source: Source, ground: Ground) -> Iterator[Sign]:
    """Code of the project that is written anew before the tests run."""
    for call in (part for part in expressions_of(node) if isinstance(part, ast.Call)):
        opened = (
            last(call) == "open" and re.search(r"'[rwax]?[wax+]\w*'", " ".join(sorted(constants(call)))) is not None
        )
        within = source.tree if last(call) in ("write_text", "write_bytes") else call
        if not opened and last(call) not in _WRITING:
            continue
        for word in (word for text in constants(within) for word in re.findall(r"[\w./-]+", text)):
            path = files.plain_path(word)
            if path in ground.texts and files.language(path):
                yield shown(call, f"writes {path} anew before the tests")
                break


def _variables(node: ast.stmt) -> Iterator[Sign]:
    for part in expressions_of(node):
        if isinstance(part, ast.Constant) and part.value in _RUNNER_VARIABLES:
            yield shown(node, "sets an option of the test runner")


def _executed(node: ast.stmt) -> Iterator[Sign]:
    for part in expressions_of(node):
        if isinstance(part, ast.Call) and dotted(part.func) in ("exec", "eval", "builtins.exec", "builtins.eval"):
            yield shown(part, "runs code that cannot be read before the tests")


def _overriding(source: Source) -> Iterator[Sign]:
    """Names of the runner's own that a test class or file takes for itself."""
    for klass in source.of(ast.ClassDef):
        for node in klass.body:
            names = [node.name] if isinstance(node, Function) else [last(t) for t in getattr(node, "targets", [])]
            for name in names:
                if name in _OVERRIDING and (name.startswith("assert") or _test_case(klass, source)):
                    what = f"{klass.name}.{name} takes the place of the runner's own {name}"
                    yield Sign(f"{klass.name}.{name} {dump(node)}", node.lineno, what)
    for node in source.tree.body:
        name = node.name if isinstance(node, Function | ast.ClassDef) else last(getattr(node, "targets", [None])[0])
        if name == "load_tests":
            yield Sign(dump(node), node.lineno, "load_tests decides which tests are run")
        elif name in ("AssertionError", "SystemExit", "BaseException"):
            yield Sign(dump(node), node.lineno, f"{name} is redefined")


def _remade(source: Source, ground: Ground) -> Iterator[Sign]:
    """Tests that something else in their file puts another thing in the place of, or takes away."""
    stores = (*((n, n.targets) for n in source.of(ast.Assign)), *((n, n.targets) for n in source.of(ast.Delete)))
    for node, targets in stores:
        for target in targets:
            key = constant(target.slice) if isinstance(target, ast.Subscript) else getattr(target, "attr", None)
            if isinstance(key, str) and (key == "__code__" or ground.titled(key)):
                yield shown(node, "puts something else in the place of a test")
    for klass in source.of(ast.ClassDef):
        if not (_test_case(klass, source) or klass.name.startswith("Test")):
            continue
        shapers = [*klass.decorator_list, *(word.value for word in klass.keywords if word.arg == "metaclass")]
        made = [source.functions.get(last(one)) or source.classes.get(last(one)) for one in shapers]
        made += [node for node in klass.body if isinstance(node, Function) and node.name == "__init_subclass__"]
        for shaper in made:
            if shaper is not None and _reshapes(shaper, source):
                yield Sign(dump(shaper), shaper.lineno, f"{shaper.name} can change the tests of {klass.name}")


def _reshapes(shaper: Function | ast.ClassDef, source: Source) -> bool:
    """It makes a class otherwise than it is written, and not only with more tests."""
    if isinstance(shaper, ast.ClassDef):
        return any(isinstance(node, Function) and node.name in ("__new__", "__prepare__") for node in shaper.body)
    given = {a.arg for a in shaper.args.args}
    for call in (n for n in walk(shaper) if isinstance(n, ast.Call) and len(n.args) > 1):
        on_class = last(call.func) in ("setattr", "delattr", "__setattr__") and last(call.args[0]) in given
        if on_class and not _names_a_new_test(call.args[1], source):
            return True
    return False


def _results_changed(source: Source) -> Iterator[Sign]:
    """What unittest has written down about a test, changed by the test itself."""
    for call in source.of(ast.Call):
        within = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        written = [within] if last(call.func) in ("clear", "pop", "remove") else []
        written += call.args[:2] if "setattr" in identifiers(call) else []
        if any("_outcome" in identifiers(one) for one in written):
            yield shown(call, "changes the results of the test run")
    for node in source.of(ast.Assign):
        if any("_outcome" in identifiers(target) for target in node.targets):
            yield shown(node, "changes the results of the test run")


def _bent(source: Source, ground: Ground) -> Iterator[Sign]:
    """Fixtures and set-up functions that change the test which asks for them, or the file that it is in."""
    for function in source.all_functions:
        for node in import_time(function.body):
            for target in replaced(node, source):
                root, _, wanted = target.rpartition(".")
                if root.startswith(("request.node", "request.session")) and wanted in RESULT_FIELDS:
                    yield shown(node, "changes the test that is run")
                elif _test_module(root, ground) and ground.calls(wanted):
                    yield shown(node, f"replaces {wanted}, which the tests call")
        for node in (node for node in walk(function) if isinstance(node, ast.Global)):
            for name in node.names:
                if name in source.imports and name in bound_in(function) and ground.calls(name):
                    yield shown(node, f"lets {function.name} replace {name}, which the tests call")


def _test_module(root: str, ground: Ground) -> bool:
    """`request.module`, `test.__globals__`, `sys.modules["test_calc"]`: a file of tests, as it is loaded."""
    return root.rpartition(".")[2] == "module" or "__globals__" in root or bool(ground.module(root))


def _switched(source: Source) -> Iterator[Sign]:
    """Unittest's own switches: how values are compared, and what is skipped."""
    for node in source.of(ast.Call, ast.Assign):
        if isinstance(node, ast.Call) and last(node.func) == "addTypeEqualityFunc":
            yield shown(node, "changes how values are compared")
        if isinstance(node, ast.Call) and dotted(node.func) in ("unittest.main", "main"):
            status = keyword(node, "exit")
            if status is not None and never(status):
                yield shown(node, "keeps a failure from the exit status")
        if isinstance(node, ast.Assign) and not never(node.value):
            names = {last(target) for target in node.targets}
            if names & {"__unittest_skip__", "__unittest_expecting_failure__"}:
                yield shown(node, "skips tests")


def _test_case(klass: ast.ClassDef, source: Source, depth: int = 0) -> bool:
    for base in klass.bases:
        parent = source.classes.get(last(base))
        if last(base).endswith("TestCase"):
            return True
        if parent is not None and parent is not klass and depth < 5 and _test_case(parent, source, depth + 1):
            return True
    return False


def _hidden_tests(source: Source) -> Iterator[Sign]:
    """Tests that are changed or taken away after they were defined."""
    for node in import_time(source.tree.body):
        for target in getattr(node, "targets", []):
            root = dotted(target).split(".")[0]
            defined = (root in source.functions or root in source.classes) and "test" in root.lower()
            if isinstance(target, ast.Attribute) and defined:
                yield shown(node, f"changes {root} after its definition")
            behind = isinstance(target, ast.Subscript) and dotted(target.value) in ("globals", "locals", "vars")
            if isinstance(target, ast.Subscript) and behind and not _names_a_new_test(target.slice, source):
                yield shown(node, "changes the file's names behind its back")
        for part in expressions_of(node):
            if isinstance(part, ast.Call) and _unmakes(part, source):
                yield shown(part, "changes the file's tests behind its back")


def _unmakes(call: ast.Call, source: Source) -> bool:
    whole = dotted(call.func)
    if whole in ("globals.pop", "globals.clear", "globals.update", "vars.pop", "delattr"):
        return True
    on_class = whole == "setattr" and len(call.args) > 1 and last(call.args[0]) in source.classes
    return on_class and not _names_a_new_test(call.args[1], source)


def _names_a_new_test(key: ast.expr, source: Source) -> bool:
    """`f"test_{case}"`, or a constant that is no name in the file: tests that are made, not unmade."""
    if isinstance(key, ast.JoinedStr) and key.values:
        key = key.values[0]
    elif isinstance(key, ast.BinOp):
        key = key.left
    text = constant(key)
    return isinstance(text, str) and text.startswith("test") and text not in source.bound


def _ignored(source: Source, ground: Ground) -> Iterator[Sign]:
    """`collect_ignore` in a conftest, as far as it leaves out tests of the base."""
    if files.name_of(source.path) != "conftest.py":
        return
    folder = files.folder_of(source.path)
    for node in import_time(source.tree.body):
        names = [last(t) for t in getattr(node, "targets", [getattr(node, "target", None)])]
        calls = [dotted(p.func) for p in expressions_of(node) if isinstance(p, ast.Call)]
        touched = [n for n in names if n in ("collect_ignore", "collect_ignore_glob")]
        touched += [c.split(".")[0] for c in calls if c.split(".")[0] in ("collect_ignore", "collect_ignore_glob")]
        if not touched:
            continue
        value = getattr(node, "value", None)
        items = elements(value.args[0] if isinstance(value, ast.Call) and value.args else value)
        for item in items if items is not None else [value]:
            left_out = _left_out(constant(item) if isinstance(item, ast.expr) else ..., folder, ground)
            if left_out:
                yield Sign(f"ignore {left_out}", node.lineno, f"{touched[0]} leaves out {left_out}")


def _left_out(entry: object, folder: str, ground: Ground) -> str:
    if not isinstance(entry, str):
        return "tests that cannot be read off"
    whole = f"{folder}/{entry}" if folder else entry
    pattern = re.compile("".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in whole) + "(?:/.*)?")
    return next((path for path in ground.tests if pattern.fullmatch(path)), "")


def _autouse(function: Function) -> bool:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and last(decorator) in ("fixture", "yield_fixture"):
            flag = keyword(decorator, "autouse")
            if flag is not None and not never(flag):
                return True
    return False


def _skipping_fixtures(source: Source) -> Iterator[Sign]:
    """Fixtures that every test gets and that skip it or swallow its failure."""
    for function in source.all_functions:
        if not _autouse(function) and function.name not in (*_SET_UPS, "setUp", "setup_method"):
            continue
        found = Found()
        Walk(found).function(function, Scope(source))
        for skip in found.skips:
            what = f"{function.name} skips every test: `{skip.says}`"
            yield Sign(f"{function.name} {skip.kind} {skip.says}", skip.line, what)
        for call in (n for n in walk(function) if isinstance(n, ast.Call)):
            if last(call) == "add_marker" and _skip_mark(call):
                yield Sign(dump(call), call.lineno, f"{function.name} marks every test: `{show(call, 60)}`")


def _skip_mark(call: ast.Call) -> bool:
    return bool(identifiers(call) & {"skip", "skipif", "xfail"}) or bool(constants(call) & {"'skip'", "'xfail'"})
