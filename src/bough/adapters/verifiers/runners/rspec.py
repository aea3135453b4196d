"""RSpec: writes its own JSON to a file beside its usual output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

import msgspec

from bough.adapters.verifiers.cases import MOST_CASES, make_case, one_each
from bough.adapters.verifiers.junit import MOST_TEXT
from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Found, Runner, Said, Side, decoded, leaf, tail, worst
from bough.core.acceptance import Case, CaseOutcome
from bough.core.commandline import Part, program

_CLOSING = (
    r"(\d{1,9}) examples?, (\d{1,9}) failures?(?:, (\d{1,9}) pending)?"
    r"(?:, (\d{1,9}) errors? occurred outside of examples)?"
)
_OUTCOMES: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


class RSpec(Runner):
    name = "rspec"
    test_side = Side(r".*_spec\.rb|(spec|rails)_helper\.rb", r"\.rspec")
    suffixes = (".rb",)
    manifests = ("Gemfile",)

    def recognise(self, part: Part, at: int) -> int | None:
        return at if program(part, at) == "rspec" else None

    def instrument(self, command: str, report: Path, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        shown = "" if re.search(r"\s(-f|--format)\b", command) else "--format progress "
        return self.append(command, f"{shown}--format json --out {quote(str(report))}") or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, " ".join(f"--example {quote(leaf(one))}" for one in ids))

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        if (read := decoded(report, _Report)) is None:
            return None
        cases = []
        for each in read.examples[:MOST_CASES]:
            message, trace = each.exception.message.strip(), "\n".join(each.exception.backtrace or ())[:MOST_TEXT]
            name = f"{each.file_path.removeprefix('./')}::{each.full_description}"
            outcome = _OUTCOMES.get(each.status, "skipped")
            cases.append(make_case(name, outcome, message, trace, each.run_time or 0.0, root))
        for number in range(read.summary.errors_outside_of_examples_count):
            cases.append(make_case(f"outside of examples {number + 1}", "error", "\n".join(read.messages)))
        return one_each(cases)

    def closing(self, lines: Sequence[str]) -> Said | None:
        found = []
        for at, line in tail(lines):
            if match := re.fullmatch(_CLOSING, line.strip()):
                failed, pending = int(match[2]) + int(match[4] or 0), int(match[3] or 0)
                found.append(Said(at, max(int(match[1]) - failed - pending, 0), failed, pending))
        return worst(found)

    def project(self, look: Look) -> Found | None:
        if any(re.fullmatch(r"spec/.*_spec\.rb", path) for path in look):
            return Found(f"{bundled(look)}rspec", "there is a spec/", "spec/")
        return None

    def file(self, path: str, look: Look, test: str) -> str | None:
        return f"{bundled(look)}rspec {quote(path)}" if path.endswith("_spec.rb") else None


def bundled(look: Look) -> str:
    return "bundle exec " if "Gemfile" in look.files else ""


class _Exception(msgspec.Struct, frozen=True):
    message: str = ""
    backtrace: list[str] | None = None


class _Example(msgspec.Struct):
    full_description: str = ""
    status: str = ""
    file_path: str = ""
    run_time: float | None = None
    exception: _Exception = _Exception()


class _Summary(msgspec.Struct, frozen=True):
    errors_outside_of_examples_count: int = 0


class _Report(msgspec.Struct):
    examples: list[_Example]
    summary: _Summary = _Summary()
    messages: list[str] = []
