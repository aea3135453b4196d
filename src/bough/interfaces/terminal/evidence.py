"""Renders the evidence for each requirement, for people."""

from collections import Counter
from collections.abc import Iterator

from bough.core.acceptance.evidence_table import Evidence, Proof, RequirementStatus, Table
from bough.interfaces.terminal.output import Line
from bough.views.formatting import cut, name_some, one_line, pad, pluralize
from bough.views.vocabulary import describe_needless, describe_state

STYLES: dict[RequirementStatus, str] = {
    "proven": "green",
    "refuted": "red",
    "tested only by its author": "yellow",
    "not shown": "yellow",
    "nothing to run": "dim",
    "superseded": "dim",
    "dropped": "dim",
}
SHOWN = {
    "check": "your check fails without the work and passes with it",
    "tests": "tests that were there fail without the work and pass with it: {}",
    "probe": "red without the work, green with it: {}",
    "author": "only its author's tests fail without the work and pass with it: {}",
    "speed": "the check takes clearly less time than before the work",
    "upgrade": "nothing to run: a version changed, and the check still passes",
    "document": "nothing to run: documents or comments changed",
    "coverage": "its author's tests changed, and the check passes",
    "restructure": "nothing to run: names or places of the code changed, and the check still passes",
    "unchanged": "the check still passes",
}
"""The sentence for each kind of evidence; `{}` stands for the names of its tests."""
AUTHOR: RequirementStatus = "tested only by its author"
CLOSING: tuple[RequirementStatus, ...] = ("refuted", "not shown", AUTHOR)
"""The statuses that leave something to do; the end of a page lists their requirements."""


def render_evidence(table: Table, width: int, *, whole: bool = False) -> list[Line]:
    """Render one line per requirement, and its test cases that failed or were dropped. `whole`: render the whole texts,
    with all evidence."""
    lines: list[Line] = []
    numbers = len(str(len(table.rows)))
    wide = max((len(row.standing) for row in table.rows), default=0)
    told: set[Proof] = set()
    for row in table.rows:
        lead = f"  {row.requirement.number:>{numbers}}  "
        room = max(width - len(lead) - wide - 2 - len(row.cases) - 3, 20)
        text = one_line(row.requirement.whole)
        cases: Line = [(f" ({row.cases})", "dim")] if row.cases and row.requirement.counts else []
        shown = text if whole else cut(text, room)
        standing = (pad(row.standing, wide), STYLES[row.standing])
        lines.append([(lead, "dim"), standing, ("  ", ""), (shown, ""), *cases])
        said = _list_evidence(row, told) if whole else _list_remarks(row)
        lines += [[(" " * len(lead), ""), (one_line(text), style)] for text, style in said]
    rest = [("not a demand", text) for text in table.background] + [("note", note) for note in table.notes]
    if whole and rest:
        lines += [[], *([(f"  {what}: ", "dim"), (one_line(text), "")] for what, text in rest)]
    return lines


def _list_remarks(row: Evidence) -> Iterator[tuple[str, str]]:
    """List, with styles, what a person must know about a requirement besides its status."""
    one = row.requirement
    if not one.counts:
        how = f"dropped by {one.dropped}" if one.dropped else f"replaced by {one.superseded}"
        yield f"{how}; `bough say RUN --restore {one.number}` undoes it", "dim"
    for case in row.probes:
        if case.outcome == "failed":
            yield f"{case.name} fails: {case.says}", "red"
        elif case.outcome == "dropped":
            yield f"{case.name} was dropped: {case.why or 'the goal does not ask for it'}", "dim"


def _list_evidence(row: Evidence, told: set[Proof]) -> Iterator[tuple[str, str]]:
    """List the evidence, with styles. `told`: proofs already shown for an earlier requirement, which are only named."""
    if row.requirement.source:
        yield f"asked by {row.requirement.source}", "dim"
    if row.shown is not None:
        yield SHOWN[row.shown.how].format(name_some(row.shown.by)), "green" if row.standing == "proven" else "dim"
    if row.read:
        yield f"read: {', '.join(row.read)}", ""
    for proof in row.proofs:
        yield (f"{proof.task}, as above" if proof in told else _describe_proof(proof)), "dim"
        told.add(proof)
    for case in row.probes:
        style = "red" if case.outcome == "failed" else "dim"
        before = ", fails without the work" if case.before and case.before != "passed" else ""
        repaired = " after a repair" if case.repaired else ""
        why = f" ({case.why})" if case.why else ""
        yield f"{case.name} {case.outcome}{repaired}{before}: {case.says}{why}", style
    if not row.proofs and not row.probes and row.requirement.counts:
        yield "not covered by any task", "yellow"


def _describe_proof(proof: Proof) -> str:
    verdict = f": {proof.verdict.reason}" if proof.verdict is not None and proof.verdict.command else ""
    commit = f", commit {proof.commit[:10]}" if proof.commit else ""
    fixed = proof.verdict.fixed if proof.verdict is not None else ()
    yours = f"; your tests that failed before: {name_some(fixed)}" if fixed else ""
    own = f"; its own tests: {name_some(proof.tests)}" if proof.tests else ""
    examined = f"; {proof.examined}" if proof.examined else ""
    return f"{proof.task} {describe_state(proof.state)}{verdict}{commit}{yours}{own}{examined}"


def render_closing(table: Table, width: int = 100) -> list[Line]:
    """Render, for the end of a page, the requirements that are refuted or not proven, with what is missing, the
    reviewers' notes and the needless parts of the change; empty if there are none."""
    lines: list[Line] = []
    for standing in CLOSING:
        rows = [row for row in table.rows if row.standing == standing]
        if not rows or (standing == AUTHOR and len(table.rows) == 1):
            continue
        numbers = ", ".join(str(row.requirement.number) for row in rows)
        words = f"{standing.capitalize()}: {pluralize(len(rows), 'requirement')} ({numbers})."
        lines.append([(words, STYLES[standing])])
        for row in rows[:3] if standing != AUTHOR else ():
            lines.append([("  ", ""), (cut(one_line(str(row.requirement)), max(width - 2, 20)), "")])
            lines.append([("     ", ""), (cut(one_line(_describe_gap(row)), max(width - 5, 20)), "dim")])
    lines += [[("Note: ", "dim"), (one_line(note), "")] for note in table.notes]
    for text, style in describe_needless(table.needless):
        lines.append([(one_line(text), style)])
    return lines


def _describe_gap(row: Evidence) -> str:
    """Describe what refutes a requirement, or what evidence is missing."""
    if failing := [case for case in row.probes if case.outcome == "failed"]:
        return f"{failing[0].name} fails: {failing[0].says}"
    if not row.proofs:
        return "missing: a step that covers it"
    counts = Counter("passed without it, too" if case.before == "passed" else case.outcome for case in row.probes)
    said = [f"{pluralize(number, 'case')} {outcome}" for outcome, number in counts.items()]
    said = said or [proof.examined for proof in row.proofs if proof.examined.startswith("not examined")][:1]
    return "; ".join(["missing: a test that fails without the work and passes with it", *said])
