"""Finding the check of a step among files that are only named, and the files of two kinds of tests."""

from bough.core.acceptance.verdict import Check
from bough.core.planning.plan import Step
from bough.core.verdict.discover import list_checks

STEP = Step("insert-line", "Insert a line.")


def find(files: dict[str, str], task: str = "buffer/insert-line", step: Step = STEP) -> Check | None:
    return next(iter(list_checks(step, task, list(files), files.get)), None)


def found(files: dict[str, str], task: str = "buffer/insert-line", step: Step = STEP) -> Check:
    check = find(files, task, step)
    assert check is not None
    return check


PYTEST_FILE = "def test_it():\n    assert True\n"
UNITTEST_FILE = "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        pass\n"
