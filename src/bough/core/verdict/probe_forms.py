"""Probes in the project's own test framework: how one is written there, and the results of running it.

Each probe has its own file and its own process, in a checkout that nobody works in. Only the exit status decides; a
file that cannot be run as a test at all shows nothing. Where no runner is known, a probe is a shell script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from shlex import quote

from bough.core.acceptance.probes import OUTPUT, Form, Probe, Probed
from bough.core.acceptance.verdict import Check
from bough.core.verdict.check_run import Finished, cut_middle
from bough.core.verdict.language import is_test_path
from bough.core.verdict.paths import find_stem, find_suffix, last_segment, parent_folder
from bough.core.verdict.registry import RUNNERS, find_runner
from bough.core.verdict.runner import Runner


class _Script(Runner):
    name = "sh"
    probe_path = "probe_{name}.sh"
    probe_how = (
        "A shell script of functions `test_…() {`, its cases. bough runs the script and then one of them, with `set -e`"
        "; what it shows holds when that ends with exit status 0."
    )
    probe_case = r"(?m)^(test_\w+)\s*\(\)"
    probe_by_name = True
    probe_broken = (126, 127)

    def probe(self, path: str, command: str, case: str = "") -> str:
        return f"sh -ec {quote(f'. ./{path}; {case}')}" if case else f"sh {quote(path)}"


_SCRIPT = _Script()


def find_form(check: Check, paths: Sequence[str]) -> Form:
    """How a probe for this check is written."""
    # The check's runner; of a command that shows none, one whose program it names.
    runner = find_runner(check.runner)
    if runner is None or not runner.probe_path:
        suffixes = {f".{find_suffix(path)}" for path in paths}
        fitting = (each for each in RUNNERS if each.probe_hint and not suffixes.isdisjoint(each.suffixes))
        runner = next((each for each in fitting if re.search(each.probe_hint, check.command)), _SCRIPT)
    tests = [path for path in paths if is_test_path(path)]
    # Where the project keeps most of its tests.
    own = (path for path in tests if _is_named(path) and path.endswith(runner.suffixes))
    most = Counter(map(parent_folder, own)).most_common(1)
    folder = most[0][0] if most else ""
    path = runner.probe_path.replace("{at}", f"{folder}/" if folder else "")
    path = path.replace("{suffix}", runner.find_probe_suffix(tests))
    case, by_name = runner.probe_case, runner.probe_by_name
    return Form(runner.name, path, runner.probe_how, folder=runner.probe_folder, case=case, by_name=by_name)


def _is_named(path: str) -> bool:
    """Named like a test itself, not only next to tests."""
    return re.search(r"test|spec", last_segment(path)) is not None and not last_segment(path).startswith("conftest")


def find_example(form: Form, paths: Sequence[str], changed: Sequence[str] = ()) -> str:
    """An existing test that can serve as a model, preferably one that is named after a changed file; empty: none."""
    suffix = find_suffix(form.path)
    tests = [path for path in paths if is_test_path(path) and find_suffix(path) == suffix and _is_named(path)]
    subjects = {find_stem(path) for path in changed if not is_test_path(path)}
    near = [path for path in tests if subjects & {*re.split(r"[._-]?(?:test|spec)s?[._-]?", find_stem(path))}]
    return next(iter([*near, *tests]), "")


def make_command(probe: Probe, check: Check, framework: str) -> str:
    """The command that runs one probe."""
    return (find_runner(framework) or _SCRIPT).probe(probe.path, check.command, probe.case)


def make_joint_command(chosen: Sequence[Probe], check: Check, framework: str) -> str:
    """The command that runs all of them in one process and names each; empty where the framework cannot."""
    return (find_runner(framework) or _SCRIPT).probe_together([probe.path for probe in chosen], check.command)


def find_passed(chosen: Sequence[Probe], framework: str, output: str) -> set[str]:
    """The probes whose tests all passed; the others say more when run alone."""
    runner = find_runner(framework) or _SCRIPT
    passed = runner.find_passed(output)
    return {probe.name for probe in chosen if (probe.case if runner.probe_by_name else probe.path) in passed}


def unmask(result: Probed, plainly: str) -> Probed:
    """One that passes with the runner and fails without it, as `plainly` says, has failed."""
    if not plainly:
        return result
    why = (
        "It passes when the test runner runs it. It fails when the same code runs as a plain program: with a terminal, "
        "without the runner's module, variables and names. The work tells whether it is tested."
    )
    return Probed(result.name, "failed", f"{why}\n\n{plainly}"[:OUTPUT])


def read_probe(probe: Probe, framework: str, finished: Finished, text: str) -> Probed:
    """`text`: what it printed, decoded."""
    runner = find_runner(framework) or _SCRIPT
    untested = runner.no_test and re.search(runner.no_test, text)
    status = finished.exit_status
    if status == 0:
        return Probed(probe.name, "broken" if untested else "passed", text[-OUTPUT:] if untested else "")
    said = cut_middle(text.rstrip("\n"), OUTPUT) or (
        f"killed {finished.killed}" if finished.killed else f"exit status {status}"
    )
    # The file itself is at fault, not what it tests: it does not compile, or uses names that a test cannot have.
    faulty = untested and not re.search(r"\bAssertionError\b|assert ", text)
    return Probed(
        probe.name, "broken" if status in runner.probe_broken or (status is not None and faulty) else "failed", said
    )
