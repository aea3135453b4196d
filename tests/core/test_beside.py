"""Who may run beside whom."""

from __future__ import annotations

import pytest

from bough.core.planning.plan import Step
from bough.core.tree.file_overlap import (
    find_blocking_step,
    find_busy_files,
    find_expected_files,
    find_named_files,
    list_touched_files,
)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Implement parse() in src/parser.py as described in docs/format.md.", {"src/parser.py": False}),
        ("Add a function to `utils.py`, and list it in docs/index.md.", {"utils.py": True, "docs/index.md": True}),
        ("Append a line to CHANGELOG.md.", {"CHANGELOG.md": True}),
        ("Fix the bug in lib/a.js. See lib/b.js for how it is done there.", {"lib/a.js": False}),
        ("Add a test to tests/test_a.py; rename helper in tests/test_a.py", {"tests/test_a.py": False}),
        ("Read spec.md. Then write json.dumps output, e.g. for 3.12 and self.name.", {}),
        ("Move ./old.py to new.py", {"old.py": False, "new.py": False}),
        ("Make a.", {}),
    ],
)
def test_files_that_instructions_say_are_changed(text: str, files: dict[str, bool]) -> None:
    assert find_named_files(text) == files


def test_what_is_declared_counts_before_what_is_said() -> None:
    assert find_expected_files(Step("a", "Fix b.py.", files=("a.py", "CHANGES.md+"))) == {
        "a.py": False,
        "CHANGES.md": True,
    }


def test_one_waits_for_another_when_both_change_a_file() -> None:
    first, second = Step("x", files=("a.py", "l.md+")), Step("y", files=("b.py", "a.py"))
    assert find_blocking_step(second, find_busy_files([first], {})) == ("x", ("a.py",))
    assert find_blocking_step(Step("z", files=("l.md+",)), find_busy_files([first], {})) is None, "both only add to it"
    assert find_blocking_step(Step("z", files=("l.md",)), find_busy_files([first], {})) is not None
    assert find_blocking_step(Step("z", files=("c.py",)), find_busy_files([first], {})) is None


def test_what_was_really_changed_counts_too() -> None:
    running = [Step("x", "Do it.")]
    waiting = Step("y", "Append a line to list.txt.")
    assert find_blocking_step(waiting, find_busy_files(running, {})) is None
    assert find_blocking_step(waiting, find_busy_files(running, {"x": {"list.txt": True}})) is None
    assert find_blocking_step(waiting, find_busy_files(running, {"x": {"list.txt": False}})) is not None


def test_what_a_diff_only_adds_to() -> None:
    diff = (
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n a\n+b\n"
        "diff --git a/y.py b/y.py\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git a/z.py b/z.py\nnew file mode 100644\n--- /dev/null\n+++ b/z.py\n@@ -0,0 +1 @@\n+--- z\n"
        "diff --git a/w.py b/w.py\ndeleted file mode 100644\n--- a/w.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-w\n"
    )
    assert list_touched_files(diff) == {"x.py": True, "y.py": False, "z.py": True, "w.py": False}
