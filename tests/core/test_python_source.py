"""Python is parsed in one place, because parsing in several threads at once fails."""

import gc
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bough.core.textual import python_source
from bough.core.textual.python_source import parse_python

SOURCE = Path(python_source.__file__).parents[2]
TEXT = "def f(a):\n" + "    x = [a.b(c, d[1:2]) + 3 for a in b if c]\n" * 100


class Loop:
    """Garbage that lets another thread run in the middle of whatever makes it collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def eager() -> Iterator[None]:
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager")
def test_threads_that_parse_at_once_do_not_disturb_each_other() -> None:
    failed = list[SystemError]()

    def work() -> None:
        for _ in range(15):
            Loop()
            try:
                assert parse_python(TEXT) is not None
            except SystemError as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_nobody_else_parses() -> None:
    parses = re.compile(r"\bast\.parse\(")
    found = {path.name for path in SOURCE.rglob("*.py") if parses.search(path.read_text())}
    assert found == {"python_source.py"}


@pytest.mark.parametrize("text", ["def", "\0", "(" * 500 + ")" * 500])
def test_what_is_not_python_has_no_tree(text: str) -> None:
    assert parse_python(text) is None
