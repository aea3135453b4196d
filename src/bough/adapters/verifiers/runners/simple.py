"""Runners of which bough reads only the closing lines, or which it only knows how to start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from shlex import quote

from bough.adapters.verifiers.project_files import ProjectFiles
from bough.adapters.verifiers.runners.base import ClosingLine, ProjectCommand, Runner, find_last_lines
from bough.adapters.verifiers.runners.javascript import JavaScript, find_manager, find_test_tool
from bough.adapters.verifiers.runners.rspec import make_bundle_prefix
from bough.core.shell_syntax import Part


class Bun(JavaScript):
    name = "bun"
    settings = r"bunfig\.toml"

    def recognise(self, part: Part, at: int) -> int | None:
        return None

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        count = r" +(\d{1,9}) (pass|fail|skip|todo)"
        found = {
            m[2]: (at, int(m[1]))
            for at, line in find_last_lines(lines)[::-1]
            if (m := re.fullmatch(count, line.rstrip()))
        }
        if not {"pass", "fail"} <= found.keys():
            return None
        skipped = sum(found[kind][1] for kind in ("skip", "todo") if kind in found)
        return ClosingLine(found["fail"][0], found["pass"][1], found["fail"][1], skipped)

    def chosen(self, look: ProjectFiles) -> bool:
        return not find_test_tool(look) and find_manager(look) == "bun"

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"bun test{path}"


class Deno(JavaScript):
    name = "deno"
    closes = (
        r"(?:ok|FAILED) \| (?P<passed>\d{1,9}) passed(?: \(.*\))? \| (?P<failed>\d{1,9}) failed(?: \(.*\))?"
        r"(?: \| .*)? \(.*\)"
    )

    def recognise(self, part: Part, at: int) -> int | None:
        return None

    def chosen(self, look: ProjectFiles) -> bool:
        return not find_test_tool(look) and bool({"deno.json", "deno.jsonc"} & look.files)

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"deno test -A{path}"


class Maven(Runner):
    name = "maven"
    # The total of each module; the lines of single classes end with the time they took.
    closes = (
        r"\[(?:INFO|WARNING|ERROR)\] Tests run: (?P<total>\d{1,9}), Failures: (?P<failed>\d{1,9}), "
        r"Errors: (?P<failed2>\d{1,9}), Skipped: (?P<skipped>\d{1,9})"
    )
    in_parts = True

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        if "pom.xml" not in look.files:
            return None
        return ProjectCommand(f"{'./mvnw' if 'mvnw' in look.files else 'mvn'} -B test", "there is a pom.xml", "pom.xml")


class Gradle(Runner):
    name = "gradle"

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        return ProjectCommand("./gradlew test", "there is a gradlew", "gradlew") if "gradlew" in look.files else None


class Minitest(Runner):
    """And test-unit: files that run themselves."""

    name = "minitest"
    suffixes = (".rb",)
    manifests = ("Gemfile",)
    closes = (
        r"(?P<total>\d{1,9}) (?:runs|tests), \d+ assertions, (?P<failed>\d{1,9}) failures, (?P<failed2>\d{1,9}) errors"
        r"(?:, (?P<skipped>\d{1,9}) (?:skips|pendings))?.*"
    )

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"{make_bundle_prefix(look)}ruby -Ilib -Itest {quote(path)}"


class Mix(Runner):
    name = "mix"
    suffixes = (".exs",)
    manifests = ("mix.exs",)

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        return ProjectCommand("mix test", "there is a mix.exs", "mix.exs") if "mix.exs" in look.files else None

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"mix test {quote(path)}"


class CTest(Runner):
    name = "ctest"
    settings = r"CTest(Custom|Config)\.cmake"
    closes = (
        r"\d{1,3}% tests passed, (?P<failed>\d{1,9}) tests? failed out of (?P<total>\d{1,9})|No tests were found!!!"
    )
    near_end = 400  # The list of failed tests follows.


class Prove(Runner):
    name = "prove"
    settings = r"\.proverc"
    suffixes = (".t",)

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        end = find_last_lines(lines, 400)
        for (at, result), (_, line) in pairwise(end):
            match = re.fullmatch(r"Files=\d+, Tests=(\d{1,9}), +[\d.]+ wallclock secs .*", line.strip())
            if match and re.fullmatch(r"Result: (PASS|FAIL|NOTESTS)", result.strip()):
                bad = r"\S.* \(Wstat: .* Tests: \d+ Failed: (\d{1,9})\)"
                failed = sum(int(m[1]) for _, other in end if (m := re.fullmatch(bad, other.strip())))
                failed = max(failed, int("FAIL" in result))
                return ClosingLine(at, max(int(match[1]) - failed, 0), failed)
        return None

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"prove -l {quote(path)}"


class Tap(Runner):
    """Any TAP stream that keeps its plan (bats, tape, node-tap …), and scripts that are tests themselves."""

    name = "tap"
    suffixes = (".sh", ".bats")

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        point = r"(not )?ok\b(?: (\d{1,9}))?(?: -)?.*?(?: # (SKIP|TODO|skip|todo)\b.*)?"
        plans = [(at, int(plan[1])) for at, line in enumerate(lines) if (plan := re.fullmatch(r"1\.\.(\d{1,9})", line))]
        points = [each for line in lines if line.startswith(("ok", "not ok")) and (each := re.fullmatch(point, line))]
        if len(plans) != 1 or plans[0][1] != len(points):
            return None
        skipped = sum(1 for each in points if each[3])
        failed = sum(1 for each in points if each[1] and not each[3])
        return ClosingLine(plans[0][0], len(points) - failed - skipped, failed, skipped)

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"{'bats' if path.endswith('.bats') else 'bash'} {quote(path)}"
