"""Where a change's part is made to end the program, to see whether anything runs it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bough.core.acceptance.change_parts import edit_file

FUNCTION = "def f(x):\n    if x:\n        return 1\n    return 2\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "above"),
    [
        (
            "a.py",
            FUNCTION,
            FUNCTION.replace("    return 2", "    elif x is None:\n        return 3\n    return 2"),
            "return 3",
        ),
        (
            "a.py",
            "def f():\n    return g(\n        1,\n    )\n",
            "def f():\n    return g(\n        1,\n        2,\n    )\n",
            "return g(",
        ),
        ("a.py", FUNCTION, "def f(x):\n    return 2\n", "if x:"),
        (
            "a.py",
            "class A:\n    x = 1\n",
            "class A:\n    x = 1\n\n    def spare(self):\n        return 4\n",
            "return 4",
        ),
        ("a.py", f"{FUNCTION}\n\nf(1)\n", "def f(x):\n    return 5\n\n\nf(1)\n", "return 5"),
        ("a.js", "function f() {\n  return 2;\n}\n", "function f() {\n  go();\n  return 2;\n}\n", "go();"),
        ("a.py", "A = [\n    1,\n]\n", "A = [\n    1,\n    2,\n]\n", ""),
        ("a.py", "A = 1\n", "A = 1\n\n\ndef spare():\n    return 1\n", ""),
        ("a.conf", "a = 1\n", "a = 1\n  b = 2\n", ""),
    ],
    ids=("branch", "argument", "removal", "method", "body", "javascript", "loaded", "spare", "unknown"),
)
def test_the_program_ends_where_a_part_runs(path: str, before: str, after: str, above: str) -> None:
    file = edit_file(path, before.encode(), after.encode())
    assert file is not None
    lines = file.stop(file.edits).splitlines()
    stopped = [below.strip() for line, below in pairwise(lines) if "broken on purpose" in line]
    assert stopped == ([above] if above else [])
