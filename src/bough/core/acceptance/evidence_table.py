"""The table of evidence for each requirement: the tasks that cover it, their checks and the probes' results."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import RequirementProof, Verdict
from bough.core.conversation.context import is_merge_task
from bough.core.ids import GOAL, child_path, parent_path
from bough.core.journal.task_fold import change_asked, drop_rewound
from bough.core.planning.plan import Step
from bough.core.tree.task_state import State
from bough.core.verdict.language import is_test_path

RequirementStatus = Literal[
    "proven", "refuted", "tested only by its author", "not shown", "nothing to run", "superseded", "dropped"
]


class ShownCase(Struct, frozen=True, omit_defaults=True):
    """An examiner's case (probe) and its result."""

    name: str
    says: str
    outcome: str
    """`passed`, `failed`, `broken`, `not run`, or `dropped`: a judge ruled that the goal does not ask for it."""
    path: str = ""
    before: str = ""
    """The case's outcome on the files from before the run, if it ran on them."""
    why: str = ""
    repaired: bool = False
    """Whether the case failed at first and passes after a repair."""


class Proof(Struct, frozen=True, omit_defaults=True):
    """A task that covers a requirement."""

    task: str
    state: State
    verdict: Verdict | None = None
    commit: str = ""
    files: tuple[str, ...] = ()
    examined: str = ""
    """The examiner of the work, or the reason why nobody examined it."""
    tests: tuple[str, ...] = ()
    """Names of the tests that the task added or changed."""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """One row of the table: a requirement and the evidence for it."""

    requirement: Requirement
    standing: RequirementStatus
    proofs: tuple[Proof, ...] = ()
    probes: tuple[ShownCase, ...] = ()
    shown: RequirementProof | None = None
    read: tuple[str, ...] = ()
    """Places for a reviewer to read: the parts of the change that meet the requirement, if known, or else files."""

    @property
    def cases(self) -> str:
        """Return `7 of 8 cases, 1 after a repair`; empty without probes."""
        passed = sum(case.outcome == "passed" for case in self.probes)
        repaired = sum(case.repaired for case in self.probes)
        cases = f"{passed} of {len(self.probes)} case{'s' if len(self.probes) > 1 else ''}" if self.probes else ""
        return f"{cases}, {repaired} after a repair" if repaired else cases


class _TaskFacts(Struct):
    step: Step = Step("")
    requirements: tuple[Requirement, ...] = ()
    proof: Proof = Proof("", State.PENDING)
    parent: bool = False
    attempts: bool = False
    """Whether the task's steps are alternative attempts, of which one has to succeed."""
    dropped: frozenset[str] = frozenset()
    """Names of steps that the task's later plans dropped."""
    notes: tuple[str, ...] = ()


class Table(Struct, frozen=True, omit_defaults=True):
    rows: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes of examiners and reviewers that no probe can show, and agents' proposals."""
    background: tuple[str, ...] = ()
    """Passages of the goal that ask for nothing."""
    accepted: str = ""
    """The person who accepted the work without proof; empty if nobody did."""
    needless: e.NeedlessFound | None = None
    """The needed and needless parts of the change; None if they were not looked for."""

    @property
    def refuted(self) -> tuple[Evidence, ...]:
        return tuple(row for row in self.rows if row.standing == "refuted")


def build_table(records: Iterable[e.Record]) -> Table:
    """Build the table from all records of a run, or only from those whose kind is in `KINDS`."""
    tasks: dict[str, _TaskFacts] = {}
    asked: tuple[Requirement, ...] = ()
    probes: dict[str, tuple[str, Probe]] = {}
    results: dict[str, list[str]] = {}
    before, ruled_out = dict[str, str](), dict[str, str]()
    judged: e.EvidenceJudged | None = None
    verified = by_check = False  # `by_check`: the run is completed by a later `bough verify`.
    table, proposed = Table(), list[str]()
    for record in drop_rewound(records):
        task = tasks.setdefault(record.task, _TaskFacts())
        match record.event:
            case e.RequirementsRead() as event:
                asked, table = event.requirements, replace(table, background=event.background)
            case e.NeedlessFound() as event:
                table = replace(table, needless=event)
            case e.Accepted() as event:
                table = replace(table, accepted=event.by or "you")
            case e.GoalProposed() as event:
                proposed.append(f"proposed: {event.title} (`bough backlog accept {e.name_proposal(record)}`)")
            case e.MessageRead() | e.RequirementRestored() | e.RequirementsDropped() as event:
                asked = change_asked(asked, event)
            case e.EvidenceJudged() as event:
                judged = event
            case e.Judged():
                verified = True
            case e.RunFinished() as event:
                by_check, verified = verified and event.end == "completed", False
            case e.TaskCreated() as event:
                task.step, task.requirements = event.step, event.inherited.requirements
                task.parent, task.attempts = bool(event.step.steps), event.step.join == "any"
            case e.Planned() as event:
                task.parent, task.attempts = True, event.join == "any"
                children = {name: tasks.get(child_path(record.task, name), _TaskFacts()) for name in event.dropped}
                task.dropped |= {name for name, child in children.items() if child.proof.state is not State.COMPLETED}
            case e.StateChanged() as event:
                task.proof = replace(task.proof, state=event.to)
            case e.CheckFinished() as event:
                task.proof = replace(task.proof, verdict=event.verdict)
            case e.CheckpointMade() as event:
                task.proof = replace(task.proof, commit=event.commit, files=event.files)
            case e.ExaminationSkipped() as event:
                task.proof = replace(task.proof, examined=f"not examined: {event.why}")
            case e.Examined() as event:
                task.proof, task.notes = replace(task.proof, examined=f"examined by the {event.by}"), event.notes
                probes |= {probe.name: (record.task, probe) for probe in event.probes}
                if record.task == GOAL:
                    asked = tuple(replace(one, kind=event.kinds.get(one.number, one.kind)) for one in asked)
            case e.ProbesFinished() as event:
                before |= {result.name: result.outcome for result in event.before}
                for result in event.results:
                    results.setdefault(result.name, []).append(result.outcome)
            case e.ProbeRuled() as event if not event.ruling.demanded:
                ruled_out[event.probe] = event.ruling.reason
    counted = {path: task for path, task in tasks.items() if task.step.name and _is_current(path, tasks)}
    ours = [probe for path, probe in probes.values() if path in counted]
    shown = [(one, _build_case(one, results.get(one.name, []), before, ruled_out)) for one in ours]
    notes = dict.fromkeys(note for task in counted.values() for note in task.notes)
    rows = tuple(_build_row(one, asked, counted, shown, judged, by_check, table.needless) for one in asked)
    return replace(table, rows=rows, notes=(*notes, *proposed))


KINDS = e.list_named(build_table, drop_rewound)


def _build_case(probe: Probe, ran: list[str], before: dict[str, str], ruled_out: dict[str, str]) -> ShownCase:
    name, why = probe.name, ruled_out.get(probe.name, "")
    outcome = "dropped" if name in ruled_out else ran[-1] if ran else "not run"
    repaired = "failed" in ran and outcome == "passed"
    return ShownCase(name, probe.says, outcome, probe.path, before.get(name, ""), why, repaired)


def _is_current(path: str, tasks: dict[str, _TaskFacts]) -> bool:
    """Whether a task counts: it is planned, the last of its name, no failed alternative, and no mere merge."""
    above = parent_path(path)
    if above is None:
        return True
    name, _, times = path.rpartition("/")[2].partition("@")
    again = child_path(above, f"{name}@{int(times or 1) + 1}")
    over = tasks.get(above, _TaskFacts())
    lost = over.attempts and tasks[path].proof.state is not State.COMPLETED
    gone = name in over.dropped or again in tasks or lost or is_merge_task(path, tasks[path].step)
    return not gone and _is_current(above, tasks)


def _build_row(
    one: Requirement,
    asked: tuple[Requirement, ...],
    tasks: dict[str, _TaskFacts],
    probes: list[tuple[Probe, ShownCase]],
    judged: e.EvidenceJudged | None,
    by_check: bool,
    needless: e.NeedlessFound | None,
) -> Evidence:
    proofs = tuple(
        replace(task.proof, task=path, tests=task.proof.verdict.added if task.proof.verdict is not None else ())
        for path, task in tasks.items()
        if not task.parent and one.number in {other.number for other in (asked if path == GOAL else task.requirements)}
    )
    cases = tuple(case for probe, case in probes if one.number in probe.requirements)
    outcomes, shown = [case.outcome for case in cases], None
    standing: RequirementStatus = "not shown"
    if not one.counts:
        standing = "dropped" if one.dropped else "superseded"
    elif one.kind == "background":
        standing = "nothing to run"
    elif "failed" in outcomes:
        standing = "refuted"
    elif judged is None:
        # Before the goal is judged as a whole, and in old journals, only its probes decide about a requirement.
        done = bool(proofs) and all(proof.state is State.COMPLETED for proof in proofs)
        # Once the goal is completed, probes of any task count.
        whole = GOAL in tasks and tasks[GOAL].proof.state is State.COMPLETED
        standing = "proven" if (done or whole) and "passed" in outcomes else "not shown"
    else:
        shown = next((each for each in judged.shown if each.number == one.number), None)
        if by_check and (shown is None or shown.how == "author"):
            shown = RequirementProof(one.number, "check")
        if shown is not None:
            ran: RequirementStatus = "tested only by its author" if shown.how == "author" else "proven"
            standing = ran if shown.ran else "nothing to run"
    # The places of the change that meet the requirement: if it is the only one, every part does.
    alone, names = sum(other.counts for other in asked) == 1, {case.name for case in cases}
    names |= {*shown.by} if shown is not None else set()
    parts = (*needless.needed, *needless.undecided) if needless is not None else ()
    read = [str(part) for part in parts if part.by and (alone or names & {*part.by})]
    files = (path for proof in proofs for path in proof.files if not is_test_path(path))
    return Evidence(one, standing, proofs, cases, shown, tuple(read or dict.fromkeys(files)))
