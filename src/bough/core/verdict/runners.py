"""Test runners by name.

The name of a runner is what `Check.runner` holds. Empty means a command that shows none (`make test`, `./run`): then
the first that reports by its environment is still told to, since that reaches it there, and the closing lines of any
runner count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bough.core.acceptance.verdict import Case
from bough.core.shell_syntax import find_inner_line, find_programs, split_commands
from bough.core.verdict.cases import deduplicate, strip_ansi
from bough.core.verdict.registry import RUNNERS, find_runner
from bough.core.verdict.runner import ClosingLine, Progress, Runner

_UNKNOWN = next(runner for runner in RUNNERS if runner.by_environment)
"""Told to report where the command shows no runner: its environment reaches it there."""
PLAIN = "plain"
"""The runner of a check that is a plain program: none, and it is not told to report."""
_LONGEST_COMMAND = 60_000
"""No command line that bough makes is longer than this; some systems stop at 128 kB for one argument."""
_LONGEST_LINE = 4_000


def recognise(command: str) -> str:
    """The runner that a command line visibly runs; empty: none.

    Of several the last one, whose closing lines end the output. What is behind `make test` or `npm test` is not visible
    here; `project_check.find_runner_behind`, which reads manifests, finds it.
    """
    for part in reversed(split_commands(command)):
        if found := next(
            (r.name for at in find_programs(part) for r in RUNNERS if r.recognise(part, at) is not None), ""
        ):
            return found
    return next((recognise(line) for part in reversed(split_commands(command)) if (line := find_inner_line(part))), "")


def instrument(command: str, runner: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The command and its environment, so that the runner reports to `report` where it can.

    `env` is what the command would get; what the person set in it stays. The command must be able to write to the
    folder of `report`, and `report` must not exist yet.
    """
    known = None if runner == PLAIN else find_runner(runner) or _UNKNOWN
    return known.instrument(command, report, env) if known is not None else (command, dict(env))


def has_refused(output: str, exit_status: int | None) -> bool:
    """Whether a runner failed on what `instrument` added (it is too old for it) and ran nothing: then run the command
    again as it was written."""
    if exit_status in (0, None):
        return False
    return any(re.search(runner.refusal, output) for runner in RUNNERS if runner.refusal)


def narrow(command: str, runner: str, ids: Sequence[str]) -> str | None:
    """The command that runs only these tests (or a few more of the same name); None when that cannot be said.

    A test that cannot be named to the runner is left out: one missing from the new report was not rerun. The runner is
    not told to report yet: pass the result to `instrument`.
    """
    known = find_runner(runner)
    named = [re.sub(r"#\d+$", "", one) for one in ids if known and known.can_name(one)]
    made = known.narrow(command, named) if known and named else None
    return made if made is not None and len(made) <= _LONGEST_COMMAND else None


def read(report: bytes, runner: str, root: str = "") -> tuple[Case, ...] | None:
    """The tests in the report that `instrument` asked for; None when it cannot be read."""
    return (find_runner(runner) or _UNKNOWN).read(report, root)


def _list_fitting(runner: str) -> Sequence[Runner]:
    known = find_runner(runner)
    return (known,) if known else RUNNERS


def read_closing(lines: Sequence[str], runner: str) -> tuple[str, ClosingLine] | None:
    """What the closing lines of a runner say, and whose they are; of an unknown runner, the last ones of any."""
    found = [(each.name, said) for each in _list_fitting(runner) if (said := each.closing(lines))]
    return max(found, key=lambda each: each[1].line, default=None)


def read_cases(lines: Sequence[str], runner: str, root: str = "") -> tuple[Case, ...]:
    """The tests that the output names, each id once; none when this runner does not name them."""
    known = find_runner(runner)
    return deduplicate(known.cases(lines, root), known.unique_ids) if known else ()


def is_placeholder(case: Case, runner: str) -> bool:
    """Whether a runner reported it in place of something that it could not find: that is no test."""
    said = f"{case.id}: {case.message}"
    return any(re.match(each.placeholder, said) for each in _list_fitting(runner) if each.placeholder)


def make_readable(output: str, runner: str) -> str:
    """What people and models see of an output."""
    known = find_runner(runner)
    return known.readable(output) if known else output


def count_progress(so_far: Progress, line: str, runner: str) -> Progress:
    """The progress after one more line; unchanged when the line does not affect it."""
    line = strip_ansi(line[:_LONGEST_LINE]).rstrip()
    for each in _list_fitting(runner):
        if (after := each.count(so_far, line)) != so_far:
            return after
    return so_far
