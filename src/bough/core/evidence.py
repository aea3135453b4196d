"""What speaks for each requirement: who covered it, what their check said, and what probes showed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance import Verdict
from bough.core.ids import GOAL
from bough.core.plan import Step
from bough.core.probes import Probe
from bough.core.requirements import Requirement, covered
from bough.core.states import State
from bough.core.task import Task

Standing = Literal["proven", "refuted", "tested only by its author", "not shown"]
KINDS = (
    *("RunStarted", "RequirementsRead", "TaskCreated", "Planned", "PlanChanged", "StateChanged", "CheckFinished"),
    *("Examined", "ExaminationSkipped", "ProbesFinished", "ProbeRuled", "CheckpointMade", "TaskRewound"),
)
OWN_CHECK = "your own check failed before the work"
"""How the reason begins for which work was not examined, because a person's check has proven it."""


class Shown(Struct, frozen=True, omit_defaults=True):
    """A probe and what came of it."""

    name: str
    says: str
    outcome: str
    """`passed`, `failed`, `broken`, `dropped` (a judge: not asked), `not run`."""
    path: str = ""


class Proof(Struct, frozen=True, omit_defaults=True):
    """A task that covers a requirement."""

    task: str
    state: State
    verdict: Verdict | None = None
    commit: str = ""
    files: tuple[str, ...] = ()
    examined: str = ""
    """By whom, or why not."""
    tests: tuple[str, ...] = ()
    """That it brought along or changed, by name."""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """One line of the table."""

    requirement: Requirement
    standing: Standing
    proofs: tuple[Proof, ...] = ()
    probes: tuple[Shown, ...] = ()


class _Kept(Struct):
    step: Step = Step("")
    requirements: tuple[Requirement, ...] = ()
    state: State = State.PENDING
    verdict: Verdict | None = None
    commit: str = ""
    files: tuple[str, ...] = ()
    examined: str = ""
    parent: bool = False


class Table(Struct, frozen=True, omit_defaults=True):
    rows: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()
    """What examiners and reviewers noted and no probe can show."""

    @property
    def refuted(self) -> tuple[Evidence, ...]:
        return tuple(row for row in self.rows if row.standing == "refuted")

    @property
    def not_shown(self) -> tuple[Evidence, ...]:
        return tuple(row for row in self.rows if row.standing == "not shown")


def table(records: Iterable[e.Record]) -> Table:
    """From the records of a run, or those of `KINDS` among them."""
    tasks: dict[str, _Kept] = {}
    asked: tuple[Requirement, ...] = ()
    probes: dict[str, Probe] = {}
    results: dict[str, str] = {}
    dropped: set[str] = set()
    notes: list[str] = []
    for record in records:
        task = tasks.setdefault(record.task, _Kept())
        match record.event:
            case e.RequirementsRead() as event:
                asked = event.requirements
            case e.TaskCreated() as event:
                task.step, task.requirements = event.step, event.inherited.requirements
                task.parent = bool(event.step.steps)
            case e.Planned():
                task.parent = True
            case e.StateChanged() as event:
                task.state = event.to
            case e.CheckFinished() as event:
                task.verdict = event.verdict
            case e.CheckpointMade() as event:
                task.commit, task.files = event.commit, event.files
            case e.ExaminationSkipped() as event:
                task.examined = f"not examined: {event.why}"
            case e.Examined() as event:
                task.examined = f"by the {event.by}"
                probes |= {probe.name: probe for probe in event.probes}
                notes += event.notes
            case e.ProbesFinished() as event:
                results |= {result.name: result.outcome for result in event.results}
            case e.ProbeRuled() as event if not event.ruling.demanded:
                dropped.add(event.probe)
            case e.TaskRewound():
                task.state, task.verdict, task.commit = State.IN_PROGRESS, None, ""
            case _:
                pass
    rows = tuple(_row(one, tasks, probes, results, dropped) for one in asked)
    return Table(rows, tuple(dict.fromkeys(notes)))


def _row(
    one: Requirement, tasks: dict[str, _Kept], probes: dict[str, Probe], results: dict[str, str], dropped: set[str]
) -> Evidence:
    leaves = [path for path, task in tasks.items() if not task.parent and task.step.name and path]
    covering = [
        path for path in leaves if path == GOAL or any(one.number == r.number for r in tasks[path].requirements)
    ]
    proofs = tuple(
        Proof(path, task.state, task.verdict, task.commit, task.files, task.examined)
        for path in covering
        if (task := tasks[path])
    )
    outcomes = {name: "dropped" if name in dropped else results.get(name, "not run") for name in probes}
    about = [probe for probe in probes.values() if one.number in probe.requirements]
    shown = tuple(Shown(probe.name, probe.says, outcomes[probe.name], probe.path) for probe in about)
    return Evidence(one, _standing(proofs, [each.outcome for each in shown]), proofs, shown)


def _standing(proofs: tuple[Proof, ...], outcomes: list[str]) -> Standing:
    if "failed" in outcomes:
        return "refuted"
    done = [proof for proof in proofs if proof.state is State.COMPLETED]
    tested = [proof for proof in done if proof.verdict is not None and proof.verdict.command]
    if done and len(done) == len(proofs) and "passed" in outcomes:
        return "proven"
    if tested and all(OWN_CHECK in proof.examined for proof in tested):
        return "proven"
    return "tested only by its author" if tested and len(done) == len(proofs) else "not shown"


def standing_of(number: int, task: Task) -> str:
    """In short, while the run is under way: what a reviewer is told of a requirement."""
    steps = [step.name for step in task.steps if _covers(step, number, task)]
    passed = [probe for probe in task.probes if number in probe.requirements]
    shown = f"{len(passed)} probes pass" if passed else "no probe"
    return f"covered by {', '.join(steps) or 'no step'}; {shown}"


def _covers(step: Step, number: int, task: Task) -> bool:
    return any(one.number == number for one in covered(step, step.name, task.asked, task.steps))
