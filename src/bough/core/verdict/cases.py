"""Single tests, as runners name them: safe to keep, free of the workspace's path, and each under one id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from msgspec.structs import replace

from bough.core.acceptance.verdict import Case, CaseOutcome, How, Report

MOST_CASES = 100_000
_LONGEST_ID = 400
_LONGEST_MESSAGE = 1_000
_LONGEST_TRACE = 6_000
_ANSI = r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])"
_UNPRINTABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]"
_RANK: dict[CaseOutcome, int] = {"skipped": 0, "passed": 1, "failed": 2, "error": 3}


def strip_ansi(text: str) -> str:
    """Text without colours and other control sequences."""
    return re.sub(_UNPRINTABLE, "", re.sub(_ANSI, "", text))


def strip_root(text: str, root: str) -> str:
    """Text in which paths below the workspace are relative to it, so that it is the same in every checkout."""
    if len(root) < 2:
        return text
    return re.sub(rf"(file://)?{re.escape(root.rstrip('/'))}/", "", text)


def cut_middle(text: str, size: int) -> str:
    """Shorten a text to `size` characters: its beginning and, more of it, its end, where runners say what went
    wrong."""
    if len(text) <= size:
        return text
    mark = "\n… (cut) …\n"
    room = max(size - len(mark), 2)
    head = room * 2 // 5
    return f"{text[:head]}{mark}{text[len(text) - (room - head) :]}"[: max(size, 2)]


def make_case(
    name: str, outcome: CaseOutcome, message: str = "", trace: str = "", seconds: float = 0.0, root: str = ""
) -> Case:
    """A case that is safe to keep, whatever the runner wrote."""
    clean = " ".join(strip_root(strip_ansi(name), root).split()) or "?"
    if len(clean) > _LONGEST_ID:
        clean = f"{clean[: _LONGEST_ID - 17]}~{sha256(clean.encode()).hexdigest()[:16]}"
    bad = outcome in ("failed", "error")
    return Case(
        clean,
        outcome,
        cut_middle(strip_root(strip_ansi(message), root).strip(), _LONGEST_MESSAGE) if bad else "",
        cut_middle(strip_root(strip_ansi(trace), root).strip("\n"), _LONGEST_TRACE) if bad else "",
        seconds if 0 <= seconds < 1e7 else 0.0,
    )


def deduplicate(cases: Iterable[Case], unique: str = "") -> tuple[Case, ...]:
    """Every id once.

    Of an id that matches `unique`, a repeated one is the same test (its teardown, a retry): the worse outcome counts.
    Elsewhere two tests may well share a name: the later ones are numbered.
    """
    by_id: dict[str, Case] = {}
    times: dict[str, int] = {}
    for case in cases:
        if len(by_id) >= MOST_CASES:
            break
        seen = by_id.get(case.id)
        if seen is None:
            by_id[case.id] = case
        elif unique and re.match(unique, case.id):
            by_id[case.id] = max(seen, case, key=lambda each: _RANK[each.outcome])
        else:
            times[case.id] = times.get(case.id, 1) + 1
            numbered = f"{case.id}#{times[case.id]}"
            by_id[numbered] = replace(case, id=numbered)
    return tuple(by_id.values())


def count_cases(how: How, cases: tuple[Case, ...]) -> Report:
    outcomes = [case.outcome for case in cases]
    failed = outcomes.count("failed") + outcomes.count("error")
    return Report(how, cases, outcomes.count("passed"), failed, outcomes.count("skipped"))


def merge_worse(one: Report, other: Report) -> Report:
    """Two witnesses of one run: the worse one of each count, and the tests of the first (or of the other when the first
    knows none)."""
    return Report(
        one.how,
        one.cases or other.cases,
        min(one.passed, other.passed),
        max(one.failed, other.failed),
        max(one.skipped, other.skipped),
    )


def count_told(output: str) -> int:
    """How many tests an output of no known runner speaks of: numbers before words that mean tests, or points of TAP."""
    named = r"tests?|specs?|examples?|assertions?|cases?|successes|checks?|pass(?:ed|ing)|ok"
    numbers = re.findall(rf"(?im)\b(\d{{1,6}})\s+(?:\w+\s+)?(?:{named})\b", output)
    return max(map(int, numbers), default=len(re.findall(r"(?m)^(?:not )?ok \d+", output)))
