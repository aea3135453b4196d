"""Who may run beside whom."""

from bough.core.planning.plan import Step
from bough.core.tree.file_overlap import (
    find_blocking_step,
    find_busy_files,
    find_expected_files,
    list_touched_files,
)


def test_what_is_declared_counts() -> None:
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
    waiting = Step("y", files=("list.txt+",))
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
