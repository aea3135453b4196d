"""The tamper gate: were tests, their configuration or the check weakened since the base? Pure, and never raises.

`watched` says which files it wants to see, `read_by_tests` which of those that changed besides, and `inspect` compares
them. What counts is what a test run can still find out:
an assertion that was made at the base has to be made now, by a test that the check collects, runs and believes.

A map, in the order in which a reader may want to go:

- `gate`: the comparison, part by part. Each part is loaded only when a file of its kind changed.
- `files`: what a path is: a test, test data, configuration, a script, something in front of the runner.
- `python`: Python tests by syntax tree, assertion by assertion. The heart of it.
- `tricks`: Python code that bends a run from the side: hooks, exits, patched runners, code that knows of its tests.
- `text`: tests of other languages, and Python that does not parse, as text.
- `config`: settings, Makefiles, package files, scripts and CI: how tests are found and run.
- `as_before`: what to put back so that the base's tests judge the code of now.
- `recorded`: snapshots and other data that tests read. `wording`: words in tables and in findings.

Each package says in its own docstring what its modules do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper.files import data, watched

__all__ = ["inspect", "put_back", "read_by_tests", "watched"]


def inspect(before: Mapping[str, str], after: Mapping[str, str], command: str) -> list[Tampering]:
    """What was weakened, place by place, in the order of paths and lines. Empty: nothing.

    `before` and `after` are the texts of all watched files at the base and now, by path; `command` is the check's."""
    if before == after:
        return []
    from bough.core.tamper.gate import compare  # which a run that changes nothing need not load

    return compare(before, after, command)


def put_back(before: Mapping[str, str], after: Mapping[str, str], command: str) -> dict[str, str | None]:
    """What a workspace needs to run the tests just as the base did, on the code of now; None: a file is to go."""
    if before == after:
        return {}
    from bough.core.tamper.as_before import put_back

    return put_back(before, after, command)


def read_by_tests(paths: Iterable[str], before: Mapping[str, str]) -> list[str]:
    """Of paths that changed and are not watched, the data that tests of the base read: `inspect` is to see them too."""
    found = [path for path in paths if data(path)]
    if not found:
        return []
    from bough.core.tamper import recorded

    return recorded.read_by_tests(found, before)
