"""Slips in the files that a model writes in text, repaired before they are written: tokens would only repeat them. What
is a slip is a language's own; the check judges the result like any other."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from bough.core.messages import Call
from bough.core.textual.paths import is_test
from bough.core.textual.reading import make_call


def repair_slips(
    calls: Collection[Call], before: Mapping[str, str], failures: Collection[str]
) -> tuple[tuple[Call, ...], tuple[str, ...]]:
    """The calls with whole files repaired, and what was done; nothing in a test is a slip. `before`: the task's files
    as they were, with its tests; `failures`: what failed tests said of earlier attempts."""
    from bough.core.verdict.registry import find_language  # Models that call tools have no use for it.

    tests = "\n".join(text for path, text in before.items() if is_test(path))
    made: list[Call] = []
    done: list[str] = []
    for call in calls:
        given = json.loads(call.arguments) if call.name == "write" else {"path": ""}
        path, said = given["path"], list[str]()
        if path and not is_test(path):
            text, said = find_language(path).repair_slips(given["content"], before.get(path, ""), tests, failures)
        made.append(make_call("write", path=path, content=text) if said else call)
        done += [f"{each} in {path}" for each in said]
    return tuple(made), tuple(done)
