"""What a check depends on in this project and on this machine besides the files of a tree: its environment, its
settings, and what to say when something is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from bough.adapters.verifiers.remedies import Remedies
from bough.core.acceptance.verdict import Check
from bough.core.events import BaseChecked
from bough.core.verdict.check_run import Baseline, CheckRun
from bough.core.verdict.missing import Base, find_missing, keep_aside, set_aside
from bough.core.verdict.paths import last_segment
from bough.core.verdict.registry import LANGUAGES
from bough.trust.files import Place

Read = Callable[[str], str | None]
_ENVIRONMENTS = frozenset(language.environment for language in LANGUAGES if language.environment)
SHOWN, SHOWN_LINES = 2_000, 20
"""Characters and lines of a failing check's output that are shown before a run."""


class CheckEnvironment(Struct, frozen=True):
    root: Path | None = None
    """The person's project."""
    remedies: Remedies | None = None
    surroundings: str = ""
    """What identifies this environment."""
    folder: str = ""
    """The person's folder when the run started, relative to the project."""
    command: str = ""
    """The project's own check, as the person has set it."""
    before: str = ""
    """A command that runs before every check."""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> str:
        found = self.remedies.environment if self.remedies is not None else None
        return found.where if found is not None else ""

    def reader(self, texts: Mapping[str, str]) -> Read:
        """Texts of a tree, and of what lies next to it on the disk: an environment is in no tree."""

        def read(path: str) -> str | None:
            found = self.remedies.environment if self.remedies is not None else None
            elsewhere = found is not None and not found.inside
            if path in texts or self.root is None or elsewhere or last_segment(path) not in _ENVIRONMENTS:
                return texts.get(path)
            return Place(self.root, path, links=True).text() or None

        return read

    def examined(self, ran: CheckRun, check: Check, base: Base) -> Baseline:
        """What is known about the base, with what the check lacks there."""
        known = ran.known()
        if known.exit_status == 0 or self.remedies is None:
            return known
        last = "\n".join(ran.text.rstrip().splitlines()[-SHOWN_LINES:])[-SHOWN:]
        known = replace(known, left_out=self.remedies.mentioned(ran.text), said=last)
        lacks = find_missing(known.exit_status, check.command, ran.text, ran.report, base)
        if lacks is None:
            return replace(known, aside=set_aside(ran.report, base))
        lacks = self.remedies.look_around(lacks)
        return replace(known, lacking=str(lacks), way_out=self.remedies.for_missing(lacks, base))

    def told(self, check: Check, known: Baseline, accepts: bool, goal: str) -> BaseChecked:
        """`accepts`: failing tests may keep failing; only a command that does not start at all is an obstacle."""
        report = known.report
        return BaseChecked(
            command=check.command,
            why=check.why,
            environment=check.environment,
            exit_status=known.exit_status,
            passed=report.passed,
            failed=report.failed,
            seconds=known.seconds,
            lacking=known.lacking if not accepts or known.exit_status in (126, 127) else "",
            way_out=known.way_out,
            aside=keep_aside(known.aside, goal),
            left_out=known.left_out,
            said=known.said,
        )
