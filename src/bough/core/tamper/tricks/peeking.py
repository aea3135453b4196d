"""Product code that takes its answer from the test, or from the inside of the interpreter, and not from its task."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from bough.core.tamper import files
from bough.core.tamper.python.sources import Source, imported_names
from bough.core.tamper.python.syntax import (
    Function,
    constant,
    dotted,
    elements,
    identifiers,
    last,
    main_guard,
    show,
    walk,
)
from bough.core.tamper.tricks.ground import Ground
from bough.core.tamper.tricks.signs import Sign, habit, shown
from bough.core.tamper.wording import listed

_READS = listed(
    """
    open read_text read_bytes readlines readline getline getlines getsource getsourcelines findsource run_path
    get_data checkcache literal_eval fdopen run check_output Popen popen getoutput system load loadtxt
    exec_module spec_from_file_location SourceFileLoader FileInput input get_source exists lexists isfile is_file stat
    """
)
"""Calls that get at the text or the code of a file, or ask whether it is there."""
_FRAMES = listed(
    """
    f_locals f_builtins f_trace f_trace_lines co_consts code_context tb_frame gi_frame cr_frame ag_frame
    _current_frames getargvalues
    """
)
_OBJECTS = listed("get_objects get_referrers get_referents")
_RAW = listed("from_address memmove memset pythonapi")
_TRACING = listed("settrace setprofile settrace_all_threads setprofile_all_threads _settraceallthreads monitoring")
_NAMING = frozenset({"__name__", "__file__", "__package__", "__spec__", "__loader__", "__qualname__"})
"""What a module says of itself: loggers and class factories ask their callers for it."""
_DECODING = listed("b64decode b32decode b85decode a85decode b16decode unhexlify fromhex decompress loads decode join")


_TEXTS = (ast.Constant, ast.BinOp, ast.JoinedStr)
"""What `written` reads."""


def peeking(source: Source, ground: Ground) -> Iterator[Sign]:
    yield from _frames(source)
    yield from _lines_of_callers(source)
    yield from _interpreter(source)
    yield from _unreadable(source)
    yield from _test_modules(source, ground)
    yield from _test_files(source, ground)


def _frames(source: Source) -> Iterator[Sign]:
    """Values, constants and source text of whoever calls; names of functions and files are what logs are made of."""
    for node in source.of(ast.Attribute, ast.Subscript, *_TEXTS):
        wanted = node.attr if isinstance(node, ast.Attribute) else written(node)
        if isinstance(node, ast.Subscript) and _asks_for_the_line(node):
            wanted = "code_context"
        if wanted in _FRAMES or (wanted == "f_globals" and not _asks_for_a_name(node, source)):
            yield habit("frames", node, f"product code looks into the frames of its callers ({wanted})")
        elif wanted in _OBJECTS:
            yield habit("objects", node, f"product code looks through the interpreter's objects ({wanted})")


_STACKS = (
    (listed("extract_stack walk_stack extract_tb StackSummary"), listed("line lines locals capture_locals format")),
    (
        listed("format_stack print_stack format_list"),
        listed("split rsplit search findall match partition splitlines eval"),
    ),
    (
        listed("_getframe currentframe stack getouterframes f_back extract_stack"),
        listed("getline getlines linecache getsource getsourcelines findsource code_context"),
    ),
)
"""Ways to get at whoever calls, and what makes of it more than a name for a log."""


def _lines_of_callers(source: Source) -> Iterator[Sign]:
    """The source text of whoever calls."""
    for function in source.all_functions:
        names = identifiers(function)
        for ways, uses in _STACKS:
            found = names & ways
            if found == {"stack"} and "inspect" not in names:
                continue  # somebody else's: numpy's, a data structure's
            if found and (names & uses or _opens_its_caller(function)):
                what = f"{function.name} reads the code of its callers"
                yield habit("frames", function, what)
                break


def _asks_for_the_line(node: ast.Subscript) -> bool:
    """`inspect.stack()[1][4]`, `inspect.getframeinfo(frame)[3]`: the caller's source text by its place."""
    within, place = node.value, constant(node.slice)
    if isinstance(within, ast.Call):
        return last(within.func) == "getframeinfo" and place == 3
    inner = within.value if isinstance(within, ast.Subscript) else None
    return isinstance(inner, ast.Call) and last(inner.func) in ("stack", "getouterframes", "trace") and place == 4


def _opens_its_caller(function: Function) -> bool:
    """`open(frame.f_code.co_filename)`."""
    opened = [n for n in walk(function) if isinstance(n, ast.Call) and last(n.func) in ("open", "Path", "getlines")]
    parts = [part for call in opened for argument in call.args for part in walk(argument)]
    return any(isinstance(part, ast.Attribute) and part.attr in ("co_filename", "filename") for part in parts)


def _asks_for_a_name(node: ast.AST, source: Source) -> bool:
    """`frame.f_globals["__name__"]`, `frame.f_globals.get("__name__")`."""
    for other in source.of(ast.Subscript, ast.Call):
        if isinstance(other, ast.Subscript) and other.value is node:
            return constant(other.slice) in _NAMING
        if isinstance(other, ast.Call) and isinstance(other.func, ast.Attribute) and other.func.value is node:
            return other.func.attr == "get" and bool(other.args) and constant(other.args[0]) in _NAMING
    return False


def _interpreter(source: Source) -> Iterator[Sign]:
    """The memory of the process, its tracing, its built-in names and the way it imports."""
    for node in source.of(ast.Attribute, ast.Call, ast.Assign, ast.Delete, ast.AugAssign):
        if isinstance(node, ast.Attribute) and node.attr in _RAW and "ctypes" in dotted(node) + _modules(source):
            yield habit("memory", node, "… reaches into the interpreter's memory")
        elif isinstance(node, ast.Attribute) and node.attr in _TRACING and dotted(node).startswith(("sys.", "thread")):
            yield habit("tracing", node, "… traces whoever runs, a test run too")
        elif isinstance(node, ast.Call) and last(node.func) == "curse":
            yield habit("memory", node, "… changes a built-in type")
        yield from interpreter_changed(node)


def interpreter_changed(node: ast.AST) -> Iterator[Sign]:
    """A statement or call that puts something else in the place of what Python itself provides."""
    for target in _stored(node):
        if _built_in(target):
            yield shown(node, "changes what Python itself provides", f"builtins {dotted(target)}")


def _modules(source: Source) -> str:
    return " ".join(imported.module for imported in source.imports.values())


def _stored(node: ast.AST) -> list[ast.expr]:
    """What a statement or call writes to."""
    if isinstance(node, ast.Assign | ast.Delete):
        return list(node.targets)
    if isinstance(node, ast.AugAssign):
        return [node.target]
    if not isinstance(node, ast.Call):
        return []
    called = last(node.func)
    if called in ("setattr", "delattr", "__setattr__") and len(node.args) > 1:
        text = constant(node.args[1])
        return [ast.Attribute(value=node.args[0], attr=text if isinstance(text, str) else "…", ctx=ast.Store())]
    if called in ("insert", "append", "extend", "update", "pop", "remove", "clear", "__setitem__", "setdefault"):
        return [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return []


def _built_in(target: ast.expr) -> bool:
    whole = dotted(target)
    if whole.startswith(("builtins.", "__builtins__")) or whole == "__builtins__":
        return whole not in ("builtins._", "builtins.reveal_type", "builtins.unicode")
    if whole in ("sys.meta_path", "sys.path_hooks", "sys.path_importer_cache", "sys.excepthook", "sys.unraisablehook"):
        return whole not in ("sys.excepthook", "sys.unraisablehook")
    if whole.startswith("sys.modules"):
        key = target.slice if isinstance(target, ast.Subscript) else None
        inner = target.value if isinstance(target, ast.Attribute) else None
        key = inner.slice if isinstance(inner, ast.Subscript) else key
        text = constant(key) if key is not None else ...
        return isinstance(text, str) and text.split(".")[0] in files.RUNNER_MODULES
    return whole in ("sys.exit", "os._exit", "sys.stdout.write", "operator.eq", "math.isclose")


def _unreadable(source: Source) -> Iterator[Sign]:
    """Code that is decoded and then run: nobody can say what it does."""
    for node in source.of(ast.Call):
        if dotted(node.func) in ("marshal.loads", "types.CodeType", "types.FunctionType"):
            yield habit("code", node, "… makes code that cannot be read")
        if last(node.func) not in ("exec", "eval", "compile", "__import__") or _of_patterns(node.func, source):
            continue
        inner = {last(n.func) for a in node.args for n in walk(a) if isinstance(n, ast.Call)}
        if inner & (_DECODING | {"chr"}):
            yield shown(node, "runs code that cannot be read")


def _of_patterns(function: ast.expr, source: Source) -> bool:
    """`re.compile`, with `re` being just that: it makes a pattern, no code."""
    parts = dotted(function).split(".")
    known = source.imports.get(parts[0])
    plain = isinstance(source.bound.get(parts[0]), ast.Import) and "re" not in source.rebound
    return parts[1:] == ["compile"] and known is not None and plain and known.module in ("re", "regex")


def _test_modules(source: Source, ground: Ground) -> Iterator[Sign]:
    """The test's own module, imported or found among those that are loaded; or a test called by its name."""
    guarded = {id(n) for node in source.tree.body if _program(node) for n in walk(node)}
    for node in source.of(ast.Import, ast.ImportFrom, ast.Constant, ast.Call):
        if id(node) in guarded:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            for _, origin in imported_names(node):
                names += [] if origin.level else [origin.module, f"{origin.module}.{origin.attribute}"]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ground.titled(node.value):
            what = f"product code names the test {node.value}"
            yield habit("title", node, what)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ground.module(node.value):
            names = [node.value] if _in_lookup(node, source) else []
        if isinstance(node, ast.Call) and _loads_the_runner(node):
            yield habit("runner", node, "… gets at the test runner")
        for name in names:
            if home := ground.module(name):
                yield habit("test module", node, f"product code uses the test file {home}")
                break


def _loads_the_runner(call: ast.Call) -> bool:
    wanted = written(call.args[0]) if call.args else ""
    known = files.RUNNER_MODULES - {"doctest", "hypothesis"}
    return last(call.func) in ("import_module", "__import__", "find_spec") and wanted.split(".")[0] in known


def _program(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and main_guard(node.test)


def _in_lookup(node: ast.Constant, source: Source) -> bool:
    """`sys.modules["test_calc"]`, `import_module("test_calc")`."""
    for other in source.of(ast.Subscript, ast.Call):
        if isinstance(other, ast.Subscript) and other.slice is node:
            return dotted(other.value).endswith("modules")
        if isinstance(other, ast.Call) and node in other.args:
            return last(other.func) in ("import_module", "__import__", "find_spec", "get", "run_module")
    return False


def _test_files(source: Source, ground: Ground) -> Iterator[Sign]:
    """Texts that name a test file of the base, in code that reads files."""
    called = {last(node.func) for node in source.of(ast.Call)}
    if not called & _READS:
        return
    documentation = {id(_docstring(node)) for node in (source.tree, *source.of(ast.ClassDef), *source.all_functions)}
    for node in source.of(ast.Call, *_TEXTS):
        text = "" if id(node) in documentation else written(node)
        if re.search(r"\bassert\b.*(?:==|\()", text) or _compared_call(text, source):
            yield habit("test file", node, "product code looks for assertions")
        elif named := names_a_test_file(text, ground):
            yield habit("test file", node, f"product code reads the test file {named}")
        elif isinstance(node, ast.Call) and _looks_for_tests(node, called, ground):
            yield habit("test file", node, "… looks for the files of tests")


def written(node: ast.AST) -> str:
    """A text, also one that is put together of several, turned round or otherwise hidden from whoever looks for it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = written(node.left), written(node.right)
        return (left or "*") + (right or "*") if left or right else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) or "*" for part in node.values)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        turned = constant(node.slice.step) == -1 or show(node.slice) == "::-1"
        return written(node.value)[::-1] if turned else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) < 3:
        within, given = written(node.func.value), [written(argument) for argument in node.args]
        if node.func.attr in ("lower", "upper", "title", "strip", "casefold") and not given:
            return str(getattr(within, node.func.attr)())
        if node.func.attr == "replace" and len(given) == 2:
            return within.replace(given[0], given[1])
        if node.func.attr == "join" and (items := elements(node.args[0]) if node.args else None):
            return within.join(map(written, items))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _compared_call(text: str, source: Source) -> bool:
    """`add\\(2, 3\\) == (.*)`: a call of a function of this file, as a test compares it; or of any with two values."""
    if re.search(r"\*[^=*]{0,3},\s*\*.*==", text):
        return True
    found = re.search(r"(\w+)\\?\(.*\)\W*==", text)
    return found is not None and found[1] in source.functions


def _docstring(node: ast.AST) -> ast.Constant | None:
    if isinstance(node, Function | ast.ClassDef | ast.Module) and node.body:
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            return first.value
    return None


def _looks_for_tests(call: ast.Call, called: set[str], ground: Ground) -> bool:
    """`glob("test*")`, `name.startswith("test_")` in a listing: whatever tests there are."""
    text = constant(call.args[-1]) if call.args else ...
    if not isinstance(text, str):
        return False
    if last(call.func) in ("glob", "rglob", "iglob", "fnmatch", "filter"):
        return re.search(r"(?:^|/)test\w*\*|\*_test\b|(?:^|/)\*\.py$", text) is not None
    listing = called & {"listdir", "scandir", "walk", "iterdir", "glob", "rglob"}
    named = "test" in text or (len(text) > 4 and any(path.endswith(text) for path in ground.tests))
    return bool(listing) and last(call.func) in ("startswith", "endswith") and named


def names_a_test_file(text: str, ground: Ground) -> str:
    """The test file of the base that a text is the path, the name or a pattern of; empty: none."""
    plain = text.strip().replace("\\", "/").removeprefix("./")
    if not 4 <= len(plain) <= 300 or "test" not in plain:
        return ""
    for path in ground.tests:
        name = files.name_of(path)
        if plain in (path, name, name.removesuffix(".py")) or plain.endswith(f"/{name}") or path.endswith(f"/{plain}"):
            return path
        if "*" in plain and (fnmatchcase(path, plain) or fnmatchcase(name, plain)):
            return path
    return ""
