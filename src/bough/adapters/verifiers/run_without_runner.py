"""Run Python probes as a plain program would run their code: no test runner is loaded, no file or function has a test's
name, no variable of a runner is set, and a terminal is attached.

The project's own interpreter runs this text (`python -c`), so it uses only the standard library and old syntax. Each
probe has its own process. What cannot be run this way (fixtures, parameters, marks) is `unclear`.
"""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

SECONDS = 20
MAIN = "main.py"


class Unclear(Exception):
    """It cannot be determined this way."""


class Raises:
    """`pytest.raises`"""

    def __init__(self, expected: Any, match: Any = None) -> None:
        self.expected, self.match, self.value = expected, match, None

    def __enter__(self) -> Raises:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        if kind is None:
            raise AssertionError(f"DID NOT RAISE {self.expected!r}")
        self.value, self.type = value, kind
        if not issubclass(kind, self.expected):
            return False
        if self.match is not None and not re.search(self.match, str(value)):
            raise AssertionError(f"{str(value)!r} does not match {self.match!r}")
        return True


class Close:
    """`pytest.approx` of one number."""

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None) -> None:
        if not isinstance(expected, (int, float)):
            raise Unclear("approx of more than a number")
        self.expected = expected
        self.within = max(1e-12 if abs is None else abs, (1e-6 if rel is None else rel) * (expected**2) ** 0.5)

    def __eq__(self, other: Any) -> bool:
        return bool(self.expected == other or (other - self.expected) ** 2 <= self.within**2)

    __hash__ = None  # type: ignore[assignment]


class Stub:
    """Replaces `pytest`."""

    approx = Close

    def raises(self, expected: Any, *call: Any, **options: Any) -> Raises:
        if not call:
            return Raises(expected, **options)
        with Raises(expected) as raised:
            call[0](*call[1:], **options)
        return raised

    def __getattr__(self, name: str) -> Any:
        raise Unclear("pytest." + name)


class Plain(ast.NodeTransformer):
    """Without the runner and without its names."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.tests: list[str] = []

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        self.given.update({name.asname or name.name: Stub() for name in node.names if name.name == "pytest"})
        node.names = [name for name in node.names if name.name != "pytest"]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.module != "pytest":
            return node
        self.given.update({name.asname or name.name: getattr(Stub(), name.name) for name in node.names})
        return ast.copy_location(ast.Pass(), node)

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self.generic_visit(node)
        for each in node.body:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name.startswith("test"):
                if isinstance(each, ast.AsyncFunctionDef) or each.args.args or each.decorator_list:
                    raise Unclear(each.name)
                each.name = f"part_{len(self.tests)}"
                self.tests.append(each.name)
        return node


def run(path: str) -> None:
    plain, text = Plain(), Path(path).read_text("utf-8")
    if "__file__" in text:
        raise Unclear("it wants to know where it is")
    tree = plain.visit(ast.parse(text))
    root = Path.cwd()
    sys.path[:0] = [str(root), str(root / "src"), str((root / path).parent)]
    sys.argv = [MAIN]
    names = dict(plain.given, __name__="__main__", __file__=str(root / MAIN))
    exec(compile(tree, str(root / MAIN), "exec"), names)
    for name in plain.tests:
        names[name]()
    cases = [each for each in names.values() if isinstance(each, type) and hasattr(each, "assertEqual")]
    methods = [(case, name) for case in cases for name in dir(case) if name.startswith("test")]
    for case, name in methods:
        case(name).debug()
    if not plain.tests and not methods:
        raise Unclear("no test")


def report_outcome(path: str) -> list[str]:
    """`passed`, `failed` or `unclear`, with the message."""
    try:
        run(path)
    except (ImportError, SyntaxError, Unclear) as error:
        return ["unclear", repr(error)]
    except BaseException as error:  # noqa: BLE001 - whatever the work raises
        frames = traceback.extract_tb(error.__traceback__)
        own = frames and Path(frames[-1].filename).name == MAIN
        asserted = isinstance(error, AssertionError)
        skipped = type(error).__name__ == "SkipTest"
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        said = "".join(traceback.format_exception(type(error), error, trace))[-2000:]
        return ["failed" if asserted or not (own or skipped) else "unclear", said]
    return ["passed", ""]


def run_apart(path: str) -> Any:
    """In a process of its own with a terminal that nobody uses."""
    reads, writes = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.close(reads)
        signal.alarm(SECONDS)
        said = json.dumps(report_outcome(path))
        os.write(writes, said.encode()[:60000])
        os._exit(0)
    os.close(writes)
    os.write(terminal, b"\x04" * 16)
    told, open_ = b"", [reads, terminal]
    while reads in open_:
        for each in select.select(open_, [], [])[0]:
            try:
                data = os.read(each, 65536)
            except OSError:
                data = b""
            told += data if each == reads else b""
            if not data:
                open_.remove(each)
    os.close(terminal)
    os.close(reads)
    os.waitpid(child, 0)
    return json.loads(told) if told else ["unclear", "it was killed"]


if __name__ == "__main__":
    token, paths = sys.argv[1], sys.argv[2:]
    sys.argv = [MAIN]
    sys.stdout.write(token + json.dumps({path: run_apart(path) for path in paths}) + "\n")
