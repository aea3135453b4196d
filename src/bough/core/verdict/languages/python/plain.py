"""Tests in Python as a plain program: the same statements without a runner, its module, its names and its callers."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from bough.core.textual.python_source import parse_expression, parse_python
from bough.core.verdict.language import ENDS, FAILS, PASSES, REPEAT, SECONDS

_KIT = """\
import sys

_root = sys.path[0]
sys.path[1:1] = [_root + "/src", _root + "/" + _FOLDER]


class _Unclear(Exception):
    pass


class _Raises:
    def __init__(self, kind, match=None):
        self.kind, self.match, self.value = kind, match, None
        self.exception = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        assert kind is not None, "nothing raised"
        self.value = self.exception = value
        self.type = kind
        if not issubclass(kind, self.kind):
            return False
        if self.match is not None:
            import re

            assert re.search(self.match, str(value)), repr(str(value))
        return True


class _Near:
    def __init__(self, value, rel=None, abs=None):
        if not isinstance(value, (int, float)):
            raise _Unclear
        self.value = value
        self.within = max(1e-12 if abs is None else abs, (1e-6 if rel is None else rel) * (value * value) ** 0.5)

    def __eq__(self, other):
        return bool(self.value == other or (other - self.value) ** 2 <= self.within**2)


class _Mark:
    def parametrize(self, names, rows, **options):
        named = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)

        def give(call):
            made = [dict(zip(named, row if len(named) > 1 else [row])) for row in rows]
            call._rows = [{**row, **other} for row in made for other in getattr(call, "_rows", [{}])]
            return call

        return give

    def __getattr__(self, name):
        def mark(call=None, *values, **options):
            if callable(call):
                call._unclear = name in ("skip", "xfail", "asyncio", "anyio", "django_db")
                return call
            return lambda call: mark(call) if name not in ("skipif", "usefixtures") else _Mark().skip(call)

        return mark


class _Patch:
    def __init__(self):
        self._undone = []

    def setattr(self, holder, name, value, raising=True):
        self._undone.append((setattr, holder, name, getattr(holder, name, None)))
        setattr(holder, name, value)

    def setenv(self, name, value):
        import os

        self._undone.append((lambda *given: os.environ.update({name: given[2]} if given[2] else {}), 0, name, ""))
        os.environ[name] = str(value)

    def undo(self):
        for call, *given in reversed(self._undone):
            call(*given)

    def __getattr__(self, name):
        raise _Unclear(name)


class _Written:
    def readouterr(self):
        self.out, self.err = sys.stdout.getvalue(), sys.stderr.getvalue()
        for stream in (sys.stdout, sys.stderr):
            stream.seek(0)
            stream.truncate()
        return self


def _patch():
    patch = _Patch()
    try:
        yield patch
    finally:
        patch.undo()


def _folder():
    import pathlib
    import tempfile

    return pathlib.Path(tempfile.mkdtemp())


def _capture():
    import io

    was = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        yield _Written()
    finally:
        sys.stdout, sys.stderr = was


class _kit:
    approx = _Near
    mark = _Mark()
    fixtures = {"tmp_path": _folder, "monkeypatch": _patch, "capsys": _capture}
    always = []

    @staticmethod
    def raises(kind, *call, **options):
        if not call:
            return _Raises(kind, options.get("match"))
        with _Raises(kind) as raised:
            call[0](*call[1:], **options)
        return raised

    @staticmethod
    def fixture(call=None, **options):
        if not callable(call):
            return lambda one: _kit.fixture(one, **options)
        if "params" not in options:
            _kit.fixtures[options.get("name") or call.__name__] = call
            _kit.always += [call.__name__] if options.get("autouse") else []
        return call


def _give(name, made):
    if name not in made:
        if name not in _kit.fixtures:
            raise _Unclear(name)
        held = _with(_kit.fixtures[name], made)
        made[name, "held"] = held
        made[name] = next(held) if type(held).__name__ == "generator" else held
    return made[name]


def _with(call, made, **given):
    code = getattr(call, "__func__", call).__code__
    wanted = code.co_varnames[: code.co_argcount - len(getattr(call, "__func__", call).__defaults__ or ())]
    return call(**{name: _give(name, made) for name in wanted if name not in given and name != "self"}, **given)


def _run(call):
    if getattr(call, "_unclear", False):
        raise _Unclear
    for row in getattr(call, "_rows", [{}]):
        made = {}
        for name in _kit.always:
            _give(name, made)
        try:
            _with(call, made, **row)
        finally:
            for held in list(made.values()):
                if type(held).__name__ == "generator":
                    held.close()


def _run_one(kind, name):
    case = kind()
    kind.setUpClass()
    case.setUp()
    case.setup_method()
    try:
        _run(getattr(case, name))
    finally:
        case.tearDown()


def _refuse(self, name):
    raise _Unclear(name)


def _say(*values):
    return " ".join(map(repr, values))


class _Case:
    def fail(self, message=None):
        raise AssertionError(message)

    def assertAlmostEqual(self, a, b, places=7, message=None, delta=None):
        assert a == b or abs(a - b) < (delta or 10.0**-places), _say(a, b)

    def assertRaises(self, kind, *call, **options):
        return _kit.raises(kind, *call, **options)

    def setUp(self):
        pass

    tearDown = setup_method = setUp
    setUpClass = classmethod(setUp)
    __getattr__ = _refuse


def _claim(held):
    count = held.__code__.co_argcount

    def claim(self, *values, **message):
        assert held(*values[:count]), _say(*values[:count])

    return claim


_equal = _claim(lambda a, b: a == b)
for _name in ("", "s", *map("{}Equal".format, ("List", "Dict", "Tuple", "Set", "Sequence", "MultiLine"))):
    setattr(_Case, "assert" + (_name if len(_name) > 1 else "Equal" + _name), _equal)
_Case.assertNotEqual = _claim(lambda a, b: a != b)
_Case.assertIs = _claim(lambda a, b: a is b)
_Case.assertIn = _claim(lambda a, b: a in b)
_Case.assertNotIn = _claim(lambda a, b: a not in b)
_Case.assertTrue = _claim(lambda a: a)
_Case.assertFalse = _claim(lambda a: not a)
_Case.assertIsNone = _claim(lambda a: a is None)
_Case.assertIsNotNone = _claim(lambda a: a is not None)
_Case.assertGreater = _claim(lambda a, b: a > b)
_Case.assertLess = _claim(lambda a, b: a < b)
_Case.assertIsInstance = _claim(lambda a, b: isinstance(a, b))
"""
_RUN = f"""\
import time

_clock = time.monotonic


def _later():
    for name in ("time", "monotonic", "perf_counter"):
        was = getattr(time, name)
        setattr(time, name, lambda was=was: was() + 90000)


def _attempt(call):
    try:
        call()
    except AssertionError as error:
        return " ".join(str(error).split())[:300] or "AssertionError"
    except (ImportError, NameError, SyntaxError, OSError, _Unclear):
        return ""
    except Exception as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        return "" if trace.tb_frame.f_globals is globals() else repr(error)[:300]
    return None


_said = {{name: _attempt(call) for name, call in _calls}}
_later()
for _name, _call in _calls:
    _end = _clock() + {SECONDS}
    for _ in range({REPEAT}):
        if _said[_name] is not None or _clock() > _end:
            break
        _more = _attempt(_call)
        # A test may leave something behind: yes or no says too little about the second time.
        if _more is not None:
            _said[_name] = "" if _more.split()[:1] in (["True"], ["False"], ["AssertionError"]) else _more
    if _said[_name] is None:
        print("\\n{PASSES}" + _name)
    elif _said[_name]:
        print("\\n{FAILS}" + _name + ": " + _said[_name])
print("\\n{ENDS}")
"""


def make_plain(text: str, folder: str, wanted: Collection[str] | None, shared: Sequence[str] = ()) -> str:
    """The text of a program that runs these tests; empty: that cannot be done. `shared`: texts that may have the
    fixtures of the tests, the nearest last."""
    if re.search(r"__file__|\b(?:setup|teardown|setUp|tearDown)_?(?:module|function|Module)\b", text):
        return ""
    given = "|".join(re.findall(r"\w+", " ".join(re.findall(r"(?m)^\s*def test\w*\(([^)]*)\)", text))))
    needed = [one for one in shared if given and re.search(rf"(?m)^def (?:{given})\(", one)]
    plain = _Plain(wanted)
    trees = [tree for one in (*needed, text) if (tree := parse_python(one)) is not None]
    if len(trees) <= len(needed):
        return ""
    try:
        made = [ast.unparse(ast.fix_missing_locations(plain.visit(tree))) for tree in trees]
    except (ValueError, RecursionError):
        return ""
    kit = "\n".join([f"_FOLDER = {folder!r}", _KIT, *made, f"_calls = [{', '.join(plain.calls)}]", _RUN])
    return kit if plain.calls else ""


class _Plain(ast.NodeTransformer):
    """Rewrites tests so that they need neither the runner nor its names."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self.calls: list[str] = []
        """The tests of the program: pairs of a test's name and a function."""
        self._wanted = wanted
        self._names: dict[str, str] = {}

    def _wants(self, name: str) -> bool:
        return self._wanted is None or name in self._wanted

    # Names of the runners

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        self._names |= {name.asname or name.name: "_kit" for name in node.names if name.name == "pytest"}
        node.names = [name for name in node.names if name.name not in ("pytest", "unittest")]
        return node if node.names else ast.Pass()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.module == "pytest":
            taken = [
                ast.Assign([ast.Name(name.asname or name.name, ast.Store())], parse_expression(f"_kit.{name.name}"))
                for name in node.names
            ]
            return ast.If(ast.Constant(True), [ast.Pass(), *taken], [])
        if node.module == "unittest" and any(name.name == "TestCase" for name in node.names):
            node.names = [name for name in node.names if name.name != "TestCase"]
            self._names["TestCase"] = "_Case"
        return node if node.names else ast.Pass()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node) in ("unittest.TestCase", "unittest.IsolatedAsyncioTestCase"):
            return ast.Name("_Case", ast.Load())
        self.generic_visit(node)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        if "__main__" in ast.unparse(node.test):
            return ast.Pass()
        self.generic_visit(node)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """Write the compared values into the assertion's message."""
        self.generic_visit(node)
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
            if "yield" not in left + right and "await" not in left + right:
                test.left = parse_expression(f"(_a := ({left}))")
                test.comparators = [parse_expression(f"(_b := ({right}))")]
                node.msg = parse_expression("_say(_a, _b)")
        else:  # Which one it is: all of them say no.
            node.msg = ast.Constant(f"False {ast.unparse(test)}")
        return node

    # Tests

    def visit_Module(self, node: ast.Module) -> ast.Module:
        body: list[ast.stmt] = []
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
                if self._wants(each.name) and isinstance(each, ast.FunctionDef):  # One that this program can call.
                    self.calls.append(f"({each.name!r}, lambda: _run(part_{len(self.calls)}))")
                    each.name = f"part_{len(self.calls) - 1}"
                    body.append(self.visit(each))
            elif isinstance(each, ast.ClassDef) and any(_list_tests(each)):
                body.append(self._take_class(each))
            else:
                body.append(self.visit(each))
        node.body = body
        return node

    def _take_class(self, node: ast.ClassDef) -> ast.stmt:
        known, node.name = node.name, f"Part_{len(self.calls)}"
        node.bases = [base for base in node.bases if ast.unparse(base) != "object"] or [parse_expression("_Case")]
        for method in _list_tests(node):
            part = f"part_{method.name[4:].lstrip('_')}"
            if self._wants(f"{known}.{method.name}"):
                self.calls.append(f"({f'{known}.{method.name}'!r}, lambda: _run_one({node.name}, {part!r}))")
            method.name = part
        made: ast.stmt = self.visit(node)
        return made


def _list_tests(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test"))
