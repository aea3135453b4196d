"""The evidence for each requirement, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from bough.core.acceptance.evidence_table import Evidence, Proof, Table
from bough.interfaces.terminal.formatting import cut, one_line, pad, pluralize
from bough.interfaces.terminal.output import Line, TerminalOutput

STYLES = {"proven": "green", "refuted": "red", "tested only by its author": "yellow", "not shown": "yellow"}
WIDE = max(map(len, STYLES))
NAMES = 3
"""How many tests are named."""


def render_evidence(table: Table, width: int, *, whole: bool = False) -> list[Line]:
    """One line per requirement; `whole`: with all evidence for and against it."""
    lines: list[Line] = []
    numbers = len(str(len(table.rows)))
    told: set[Proof] = set()
    for row in table.rows:
        text = one_line(row.requirement.text)
        lead = f"  {row.requirement.number:>{numbers}}  "
        room = max(width - len(lead) - WIDE - 2, 20)
        lines.append(
            [(lead, "dim"), (pad(row.standing, WIDE), STYLES[row.standing]), ("  ", ""), (cut(text, room), "")]
        )
        if whole:
            lines += [[(" " * len(lead), ""), (one_line(said), style)] for said, style in _list_evidence(row, told)]
    if whole and table.notes:
        lines.append([("", "")])
        lines += [[("  note: ", "dim"), (one_line(note), "")] for note in table.notes]
    return lines


def _list_evidence(row: Evidence, told: set[Proof]) -> Iterator[tuple[str, str]]:
    """`told`: proofs already shown in full for an earlier requirement; these are only named."""
    for proof in row.proofs:
        yield (f"{proof.task}, as above" if proof in told else _describe_proof(proof)), "dim"
        told.add(proof)
    for probe in row.probes:
        style = "red" if probe.outcome == "failed" else "dim"
        yield f"probe {probe.name} {probe.outcome}: {probe.says}", style
    if not row.proofs and not row.probes:
        yield "not covered by any task", "yellow"


def _describe_proof(proof: Proof) -> str:
    verdict = f": {proof.verdict.reason}" if proof.verdict is not None and proof.verdict.command else ""
    commit = f", commit {proof.commit[:10]}" if proof.commit else ""
    mended = proof.verdict.mended if proof.verdict is not None else ()
    yours = f"; your tests that failed before: {_list_tests(mended)}" if mended else ""
    own = f"; its own tests: {_list_tests(proof.tests)}" if proof.tests else ""
    examined = f"; {proof.examined}" if proof.examined else ""
    return f"{proof.task} {proof.state.value.replace('_', ' ')}{verdict}{commit}{yours}{own}{examined}"


def _list_tests(tests: tuple[str, ...]) -> str:
    more = f" and {len(tests) - NAMES} more" if len(tests) > NAMES else ""
    return f"{', '.join(tests[:NAMES])}{more}"


def print_evidence(page: TerminalOutput, table: Table, *, whole: bool = False) -> None:
    for line in render_evidence(table, page.width, whole=whole):
        page.line(*line)


def render_closing(table: Table) -> list[Line]:
    """What is refuted and what is not shown, for the end of a page; empty when everything is shown."""
    lines: list[Line] = []
    for standing, words in (("refuted", "Refuted"), ("not shown", "Not shown"), (_AUTHOR, "Tested only by its author")):
        numbers = [str(row.requirement.number) for row in table.rows if row.standing == standing]
        if numbers and len(table.rows) > 1:
            of = pluralize(len(numbers), "requirement")
            lines.append([(f"{words}: {of} ({', '.join(numbers)}).", STYLES[standing])])
        elif numbers and standing != _AUTHOR:
            lines.append([(f"{words}: what the goal asks for.", STYLES[standing])])
    return lines


_AUTHOR = "tested only by its author"
