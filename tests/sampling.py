"""Which rows of a long table run with a commit, and which only with `scripts/check --all`.

    @pytest.mark.parametrize("at", sample(range(0, 142, 2), 4))

Every fourth row runs, and the first of them changes with the commit, so that every row has its turn and none is learned
by heart. `in_turn` does the same with tests that are no rows of a table and take long: one of six runs with a commit.
The seed is printed; TESTS_SEED sets it, to repeat what another run did.
"""

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import pytest

Row = TypeVar("Row")
TURNS = 6
SEED = "TESTS_SEED"
_SPREAD = 1706
"""Of 3,000 numbers the one with which the turns take most nearly the same time: else one takes twice as long."""
ALL = bool(os.environ.get("TESTS_ALL"))
long = pytest.mark.skipif(not ALL, reason="scripts/check --all runs it")
"""For a test that takes longer than what it shows is worth with every commit."""


@cache
def find_seed() -> int:
    """The same in every process of a test run: those that it starts inherit it."""
    if SEED not in os.environ:
        command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        os.environ[SEED] = str(int(said or "0", 16))  # An unpacked archive has no commits.
    return int(os.environ[SEED])


def sample(rows: Iterable[Row], every: int) -> list[Row]:
    found = list(rows)
    return found if ALL else found[find_seed() % every :: every]


def in_turn(test: Any) -> Any:
    """Run a test that takes seconds with one commit of six."""
    mine = crc32(f"{_SPREAD}.{test.__module__}.{test.__name__}".encode()) % TURNS
    return pytest.mark.skipif(not ALL and find_seed() % TURNS != mine, reason="another commit runs it")(test)
