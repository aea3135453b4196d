"""Where the function of a change's part is made to end the program, to see whether anything runs it."""

import pytest

from bough.services.needless import edit_file

FUNCTION = "def f(x):\n    if x:\n        return 1\n    return 2\n"
CLASS = "class A:\n    x = 1\n\n    def one(self):\n        return 1\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "at"),
    [
        ("a.py", FUNCTION, FUNCTION.replace("return 1", "return 3"), 1),
        ("a.py", FUNCTION, "def f(x):\n    return 2\n", 1),
        ("a.py", CLASS, f"{CLASS}\n    def spare(self):\n        return 4\n", None),
        ("a.py", CLASS, CLASS.replace("return 1", "y = 2\n        return y"), 4),
        ("a.js", "function f() {\n  return 2;\n}\n", "function f() {\n  go();\n  return 2;\n}\n", 0),
        ("a.py", "A = [\n    1,\n]\n", "A = [\n    1,\n    2,\n]\n", None),
        ("a.py", FUNCTION, f"{FUNCTION}\n\ndef spare():\n    return 1\n", None),
        ("a.conf", "a = 1\n", "a = 1\n  b = 2\n", None),
    ],
    ids=("branch", "removal", "new method", "method", "javascript", "loaded", "new function", "unknown"),
)
def test_the_program_ends_where_the_function_of_a_part_begins(
    path: str, before: str, after: str, at: int | None
) -> None:
    file = edit_file(path, before.encode(), after.encode())
    assert file is not None
    lines = file.stop(file.edits).splitlines()
    assert [number for number, line in enumerate(lines) if "broken on purpose" in line] == ([] if at is None else [at])
