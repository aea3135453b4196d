"""How many tests turn a shipped default off (`tests/shipped.py`): the number may only fall."""

import ast
from pathlib import Path

MOST = 770
"""Test functions with the mark `differs`, their own or their module's. Lower it with what is burned down, to 150."""


def count_marked(source: str) -> int:
    tree = ast.parse(source)
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [test for test in tests if test.name.startswith("test_")]
    if any(isinstance(node, ast.Assign) and _is_pytestmark(node) and _names_mark(node.value) for node in tree.body):
        return len(tests)
    return sum(any(_names_mark(decorator) for decorator in test.decorator_list) for test in tests)


def _is_pytestmark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _names_mark(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "differs" for each in ast.walk(node))


def test_no_more_tests_turn_a_default_off() -> None:
    marked = {path: count_marked(path.read_text("utf-8")) for path in Path(__file__).parent.rglob("test_*.py")}
    assert 0 < sum(marked.values()) <= MOST


def test_what_is_counted() -> None:
    test = "def test_{}():\n    pass\n"
    mark = 'pytest.mark.differs("proof", reason="why")'
    assert count_marked(test.format("a") + test.format("b")) == 0
    assert count_marked(f"@{mark}\n{test.format('a')}{test.format('b')}") == 1
    assert count_marked(f"pytestmark = [pytest.mark.slow, {mark}]\n{test.format('a')}{test.format('b')}") == 2
