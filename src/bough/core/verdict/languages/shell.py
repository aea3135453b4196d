"""Shell scripts, which may be tests themselves, and any output in the Test Anything Protocol (TAP)."""

import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import ClassVar

from bough.core.verdict.language import Language
from bough.core.verdict.paths import last_segment, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ClosingLine, ProjectCommand, Runner

_INTERPRETERS = dict(
    pair.split("=")
    for pair in "sh=bash bash=bash lua=lua tcl=tclsh rb=ruby pl=perl php=php py=python3".split()  # noqa: SIM905
)
"""Programs that run test scripts without a runner, by the script's suffix."""
_SCRIPT = (
    r"(?:(?P<folder>\w+)/)?(?:(?:run[-_]?)?(?:all[-_]?)?tests?|(?<=tests/)(?:run|all)|(?<=test/)(?:run|all))"
    rf"\.(?P<suffix>{'|'.join(_INTERPRETERS)})"
)


class Tap(Runner):
    """Any TAP output with as many tests as it announces (bats, tape, node-tap …), and scripts that are tests."""

    name = "tap"
    suffixes = (".sh", ".bats")
    starts = (
        (r"tests?/[^/]+\.bats", "", "bats -r $(ls -d test tests 2>/dev/null)"),
        (r"[^/]+\.bats", "", "bats ."),
        (r"\.shellspec", "", "shellspec"),
        (r"(?:\w+/)?run[-_]?tests?|tests?/run", r"\A#!.*sh", "bash {file}"),
    )
    named = r"(?P<outcome>ok|not ok)(?: \d+)?(?: -)? ?(?P<test>.*?)(?P<skipped> # (?i:skip|todo)\b.*)?"
    outcomes: ClassVar = {"ok": "passed"}

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        point = r"(not )?ok\b(?: (\d{1,9}))?(?: -)?.*?(?: # (SKIP|TODO|skip|todo)\b.*)?"
        plans = [(at, int(plan[1])) for at, line in enumerate(lines) if (plan := re.fullmatch(r"1\.\.(\d{1,9})", line))]
        points = [each for line in lines if line.startswith(("ok", "not ok")) and (each := re.fullmatch(point, line))]
        # If scripts run one after the other, each announces its own number of tests.
        if not plans or sum(plan for _, plan in plans) != len(points):
            return None
        skipped = sum(1 for each in points if each[3])
        failed = sum(1 for each in points if each[1] and not each[3])
        return ClosingLine(plans[-1][0], len(points) - failed - skipped, failed, skipped)

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        yield from super().projects(look)
        found = next(filter(None, (re.fullmatch(_SCRIPT, path) for path in look.near)), None)
        if found is not None:
            program, why = _INTERPRETERS[found["suffix"]], f"there is a {found[0]}"
            inside = found["folder"] and "../" in look.text(found[0])  # The script must run in its own folder.
            below = f"cd {found['folder']} && {program} {last_segment(found[0])}"
            yield ProjectCommand(below if inside else f"{program} {found[0]}", why)
        each = next((path for path in look.near if re.fullmatch(r"tests?/test[-_][^/]+\.sh", path)), "")
        if each:
            every = f'for each in {parent_folder(each)}/test[-_]*.sh; do bash "$each" || exit; done'
            yield ProjectCommand(every, f"there is a {each}")

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"{'bats' if path.endswith('.bats') else 'bash'} {quote(path)}"


class Shell(Language):
    name = "shell"
    suffixes = ("sh", "bash", "bats")
    rank = 99
    scripts = True
    asserts = rf"\[\[?|test|{Language.asserts}"
    runners = (Tap(),)
    programs = frozenset({*"bats sh bash env test cmp diff grep expr".split()})  # noqa: SIM905
    body = r"\A(?:#!.*\n)?|^[ \t]*(?:function[ \t]+)?([\w:.-]+)[ \t]*\(\)\s*\{"
    switch = " if [ 1 = {on} ]; then return 97 2>/dev/null || exit 97; fi\n"
    interpreters = ("sh", "bash", "dash", "source")
