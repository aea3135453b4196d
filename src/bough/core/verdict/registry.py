"""The languages and test runners that bough knows (every subclass of `Language` in `languages/`), and how to read the
results of a test run: from its report if there is one, else from its closing lines, else from its exit status alone.

`Check.runner` holds the name of a runner. It is empty for a command that shows no runner (`make test`, `./run`). Behind
such a command, a runner that takes options from the environment still reports; the closing lines of any runner count.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from bough.core.acceptance.verdict import Case, Report
from bough.core.shell_syntax import find_inner_line, find_programs, split_commands
from bough.core.verdict import languages
from bough.core.verdict.check_run import count_cases, deduplicate, merge_worse, strip_ansi
from bough.core.verdict.language import Language
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.runner import ClosingLine, Runner

NEUTRAL = Language()
"""Stands for any language that has no record (subclass) of its own."""


for _module in iter_modules(languages.__path__):
    import_module(f"{languages.__name__}.{_module.name}")
LANGUAGES = tuple(
    sorted((kind() for kind in Language.__subclasses__()), key=lambda language: (language.rank, language.name))
)
RUNNERS: tuple[Runner, ...] = tuple(runner for language in LANGUAGES for runner in language.runners)
"""All runners in the order in which bough tries them on a project; the first that matches is the project's own."""
MANIFESTS = {name: language for language in LANGUAGES for name in language.manifests}
"""Languages by the manifests that make a folder a project."""
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_NAME = {runner.name: runner for runner in RUNNERS}


def find_language(path: str) -> Language:
    return _BY_SUFFIX.get(find_suffix(path), NEUTRAL)


def find_runner(name: str) -> Runner | None:
    return _BY_NAME.get(name)


_UNKNOWN = next(runner for runner in RUNNERS if runner.by_environment)
"""The runner whose options are set, through the environment, for commands that show no runner."""
_VERBOSE = {name: value for runner in RUNNERS for name, value in runner.verbose.items()}
_LONGEST_COMMAND = 60_000
"""The longest command line that bough makes; some systems allow at most 128 kB for one argument."""
_LONGEST_LINE = 4_000
_LONGEST_OUTPUT = 32 * 1024 * 1024
_MOST_LINES = 1_000_000
_MOST_UNKNOWN = 40_000
"""Lines at the end of an output that are read: for a known runner, and where all patterns are tried."""


@lru_cache(maxsize=8_192)
def recognise(command: str) -> str:
    """Find the runner that a command line visibly runs, the last one if it runs several, as its closing lines end the
    output. `project_check.find_runner_behind` finds the one behind `make test` or `npm test`."""
    for part in reversed(split_commands(command)):
        if found := next(
            (r.name for at in find_programs(part) for r in RUNNERS if r.recognise(part, at) is not None), ""
        ):
            return found
    return next((recognise(line) for part in reversed(split_commands(command)) if (line := find_inner_line(part))), "")


def instrument(command: str, runner: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the command and its environment, changed so that the runner writes a report to `report` (a new file in a
    folder that the command may write to) if it can. Values that the person set in `env` are kept."""
    known = find_runner(runner)
    return known.instrument(command, report, env) if known else _UNKNOWN.instrument(command, report, _VERBOSE | {**env})


def has_refused(output: str, added: Iterable[str], runner: str) -> bool:
    """Whether a runner ran nothing and mentions an option that `instrument` added: it does not know that option."""
    options = {option for text in added for option in re.findall(r"--[a-z][\w-]+|\w+_\w+(?==)", text)}
    if not any(option in output for option in options):
        return False
    said = read_closing_lines(output, runner)
    return said is None or not said.passed + said.failed


def narrow(command: str, runner: str, ids: Sequence[str]) -> str | None:
    """Return the command that runs these tests; None if there is none. It may also run other tests of the same names.
    Left out are ids that the runner cannot select by name, such as a file that failed to load."""
    known = find_runner(runner)
    named = [re.sub(r"#\d+$", "", one) for one in ids if known and re.search(known.nameable, one)]
    made = known.narrow(command, named) if known and named else None
    return made if made is not None and len(made) <= _LONGEST_COMMAND else None


def _list_fitting(runner: str) -> Sequence[Runner]:
    known = find_runner(runner)
    return (known,) if known else RUNNERS


def is_placeholder(case: Case, runner: str) -> bool:
    """Whether the runner reported this case in place of a file or test that it could not find."""
    said = f"{case.id}: {case.message}"
    return any(re.match(each.placeholder, said) for each in _list_fitting(runner) if each.placeholder)


# ── what a run reported ─────────────────────────────────────────────────────────────────────────────────────────────
#
# Everything read here was written by programs that run the agent's code. So no reader raises an error, whatever the
# bytes; no single word in the output decides anything; and where two reports of one run disagree, the worse count wins.
# A good closing line does not excuse a bad exit status, nor the reverse: the verdict needs both.


def read_closing(lines: Sequence[str], runner: str) -> tuple[str, ClosingLine] | None:
    """Read a runner's closing lines, or else the last ones of any runner, with the runner's name."""
    found = [(each.name, said) for each in _list_fitting(runner) if (said := each.closing(lines))]
    return max(found, key=lambda each: each[1].line, default=None)


def read_results(body: bytes | None, output: str, exit_status: int | None, runner: str, root: str = "") -> Report:
    """Read the results of a test run from its report file (`body`), its output and its exit status. The path `root` is
    removed from ids and traces. The report of a command that was killed (`exit_status` None) is ignored."""
    said = _read_counts(output, runner, root)
    known = find_runner(runner) or _UNKNOWN
    cases = known.read(body, root) if body and exit_status is not None else None
    if cases is None:
        return said[0] if said else Report("exit status")
    told = count_cases("junit", cases)
    return merge_worse(told, said[1]) if said else told


def read_closing_lines(output: str, runner: str, root: str = "") -> Report | None:
    """Read the counts in the closing lines of a runner (of any runner if `runner` is empty); None if there are none."""
    said = _read_counts(output, runner, root)
    return said[0] if said else None


def _read_counts(output: str, runner: str, root: str) -> tuple[Report, Report] | None:
    """Read the closing lines: return the report to use without a report file, and the one to compare with a file."""
    if not output.strip():
        return None
    most = _MOST_LINES if find_runner(runner) else _MOST_UNKNOWN
    last = strip_ansi(output[-_LONGEST_OUTPUT:]).rsplit("\n", most)[-most:]
    lines = [line[:_LONGEST_LINE].rstrip("\r") for line in last]
    found = read_closing(lines, runner)
    if found is None:
        return None
    name, said = found
    known = find_runner(name)
    cases = deduplicate(known.cases(lines, root), known.unique_ids) if known else ()
    named = count_cases("closing line", cases)
    ran = said.passed + said.failed + said.skipped > 0
    passed = max(said.passed, named.passed) if ran else 0
    failed, skipped = max(said.failed, named.failed), max(said.skipped, named.skipped)
    alone = Report("closing line", cases, max(passed - said.doubtful, 0), failed, skipped)
    return alone, Report("closing line", cases, passed, failed, skipped)
