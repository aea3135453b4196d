"""Tests run what ships. One that turns a shipped default off says so by a mark, with its reason:

    @pytest.mark.differs("planning", "examine", reason="the model is a script of one leaf")

The journals that a test leaves show what its runs did: a run that differs without the mark fails its test.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bough.core.backlog.state import TOGETHER

VARIABLES = {
    "planning": ("BOUGH_PLANNING_FLAT", "true"),
    "proof": ("BOUGH_ACCEPTANCE_PROOF", "check"),
    "examine": ("BOUGH_ACCEPTANCE_EXAMINE", "never"),
    "scout": ("BOUGH_CHECK_SCOUT", "false"),
    "protocol": ("BOUGH_MODELS_PROTOCOL", "tools"),
}
"""The defaults that a test may turn off, and how."""

AGENT_ONLY = ("planning", "proof", "examine", "scout", "protocol")
"""All of them: for a model whose script answers what its agent is asked, and nothing else."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "differs(*defaults, reason): turns these shipped defaults off")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker("differs")
        if mark is not None and (not mark.kwargs.get("reason") or not set(mark.args) <= set(VARIABLES)):
            raise pytest.UsageError(f"{item.nodeid}: `differs` takes names of {sorted(VARIABLES)} and a reason")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Around everything of a test, so that what its module makes once is made the same way."""
    mark = item.get_closest_marker("differs")
    with pytest.MonkeyPatch.context() as patch:
        for default in mark.args if mark else ():
            patch.setenv(*VARIABLES[default])
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    mark = item.get_closest_marker("differs")
    differs = set() if folder is None else find_differences(folder) - set(mark.args if mark else ())
    result = yield
    if differs:
        pytest.fail(f"a run of this test turns off what ships ({', '.join(sorted(differs))}): mark it with `differs`")
    return result


def find_differences(folder: Path) -> set[str]:
    """The shipped defaults that a run in this folder, or in one at most two folders below, has turned off."""
    found: set[str] = set()
    for depth in ("", "*/", "*/*/"):
        for journal in folder.glob(f"{depth}.bough/journal.db"):
            if journal.is_file():  # Not a pipe, which a test has put there and nobody writes to.
                found.update(*(_compare(json.loads(body)) for body in _read_starts(journal)))
    return found


def _read_starts(journal: Path) -> list[bytes]:
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT body FROM events WHERE kind = 'RunStarted'").fetchall()
    except sqlite3.Error:  # the test has damaged it
        return []
    return [body for (body,) in rows]


def _compare(started: dict[str, Any]) -> set[str]:
    if started.get("listed", "").endswith(f"/{TOGETHER}"):  # As shipped: each goal of a night was proven by itself.
        return set()
    rules = started.get("rules", {})
    acceptance = rules.get("acceptance", {})
    whys = [protocol.get("why", "") for protocol in started.get("protocols", {}).values()]
    differs = {
        "planning": rules.get("planning", {}).get("flat", False),
        "proof": "proof" in acceptance,
        "examine": "examine" in acceptance,
        "scout": "scout" in rules,
        "protocol": any("set" in why.split() for why in whys),
    }
    return {default for default, differ in differs.items() if differ}
