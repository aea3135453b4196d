"""Any TAP stream whose plan is kept (bats, tape, node-tap …), and programs that are tests by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Found, Runner, Said, Side

_POINT = r"(not )?ok\b(?: (\d{1,9}))?(?: -)?.*?(?: # (SKIP|TODO|skip|todo)\b.*)?"


class Tap(Runner):
    name = "tap"
    test_side = Side(r".*\.bats|tests?\.(sh|bash)|(.*[-_]tests?|(run[-_]?)?tests?[-_.].*)\.(sh|bash)")
    suffixes = (".sh", ".bats")

    def closing(self, lines: Sequence[str]) -> Said | None:
        plans = [(at, int(plan[1])) for at, line in enumerate(lines) if (plan := re.fullmatch(r"1\.\.(\d{1,9})", line))]
        points = [each for line in lines if line.startswith(("ok", "not ok")) and (each := re.fullmatch(_POINT, line))]
        if len(plans) != 1 or plans[0][1] != len(points):
            return None
        skipped = sum(1 for point in points if point[3])
        failed = sum(1 for point in points if point[1] and not point[3])
        return Said(plans[0][0], len(points) - failed - skipped, failed, skipped)

    def file(self, path: str, look: Look, test: str) -> str:
        return f"{'bats' if path.endswith('.bats') else 'bash'} {quote(path)}"


class Mix(Runner):
    """Elixir's."""

    name = "mix"
    test_side = Side(r".*_test\.exs|test_helper\.exs")
    suffixes = (".exs",)
    manifests = ("mix.exs",)

    def project(self, look: Look) -> Found | None:
        return Found("mix test", "there is a mix.exs", "mix.exs") if "mix.exs" in look.files else None

    def file(self, path: str, look: Look, test: str) -> str:
        return f"mix test {quote(path)}"
