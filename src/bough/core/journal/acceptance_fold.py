"""Fold the events of acceptance: claims, checks, rulings on original tests, examinations and probes."""

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.journal.fold_changes import Apply, add_message, change, charge_check
from bough.core.messages import UserMessage
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Summary


def _apply_done_claimed(task: Task, event: e.DoneClaimed) -> Task:
    own = task.attempt
    known = task.acceptance.summaries
    if own is not None and event.summary.strip():
        others = (one for one in known if one.attempt != own.number)
        known = (*others, Summary(own.number, own.role, event.summary))
    return change(task, acceptance={"claim": event.summary, "summaries": known}, plan={"split": ()})


def _apply_check_finished(task: Task, event: e.CheckFinished) -> Task:
    seconds, verdict, before = event.verdict.seconds, event.verdict, task.acceptance.verdict
    best = task.acceptance.best
    no_worse = verdict.ruling == "failed" and (best is None or verdict.score >= best.score)
    moved = before is not None and _count_failing(before) != _count_failing(verdict)
    return change(
        charge_check(task, seconds),
        tree=verdict.tree or task.tree,
        progress={"actions": task.progress.actions + moved},
        acceptance={
            "judged": True,
            "verdict": verdict,
            "endless": task.acceptance.endless or (verdict.exit_status is None and seconds > 0),
            "longest": max(task.acceptance.longest, seconds if verdict.exit_status is not None else 0.0),
            "best": verdict if no_worse else best,
            "refuted": task.acceptance.refuted | ({verdict.tree} if verdict.ruling == "failed" else set()),
        },
    )


def _apply_work_taken(task: Task, event: e.WorkTaken) -> Task:
    """Take over the finished run's verdict; whether it still holds shows when the work is merged."""
    verdict = replace(event.verdict or Verdict("passed", f"the work of {event.run}"), tree=event.tree)
    return change(
        task,
        base=event.base,
        tree=event.tree,
        acceptance={"judged": True, "verdict": verdict, "claim": event.summary},
        examination={"probes": event.probes, "probed": event.tree},
        test_changes={"allowed": event.allowed},
    )


def _count_failing(verdict: Verdict) -> tuple[int, frozenset[str]]:
    return verdict.failed, frozenset(failure.id for failure in verdict.failures)


def _apply_disputed(task: Task, event: e.Disputed) -> Task:
    """Reopen decisions made without this new evidence."""
    disputes = task.test_changes.disputes | {event.test: event.evidence}
    undecided = {"disputes": disputes, "ruled_by_judge": None, "ruled_by_person": None, "denied": None}
    return change(task, test_changes=undecided, acceptance={"found": None})


def _apply_changes_ruled(task: Task, event: e.ChangesRuled) -> Task:
    known, said = task.test_changes, f"The judge says: {event.why}" if event.by == "judge" and event.why else ""
    if event.denied:
        said = f"The person does not allow it{f': {event.why}' if event.why else '.'}"
    return change(
        task,
        test_changes={
            "allowed": (*known.allowed, *event.allowed),
            "ruled_by_judge": event.tree if event.by == "judge" else known.ruled_by_judge,
            "ruled_by_person": event.tree if event.by == "person" else known.ruled_by_person,
            "denied": event.tree if event.denied else known.denied,
            "decided": said or known.decided,
        },
        acceptance={
            "found": None if event.denied else task.acceptance.found,  # The agent must still get this finding.
            "verdict": event.verdict or task.acceptance.verdict,
            "judged": task.acceptance.judged or event.verdict is not None,
        },
    )


def _apply_examined(task: Task, event: e.Examined) -> Task:
    known = task.examination
    probes = (*known.probes, *event.probes)
    named = tuple(replace(one, kind=event.kinds.get(one.number, one.kind)) for one in task.plan.requirements)
    return change(
        task,
        plan={"requirements": named},
        examination={"examined": event, "probes": probes, "probed": "", "times": known.times + 1},
    )


def _apply_examination_skipped(task: Task, event: e.ExaminationSkipped) -> Task:
    known = task.examination
    kept = known.examined if isinstance(known.examined, e.Examined) else event  # The first examination stands.
    return change(task, examination={"examined": kept, "times": known.times + 1})


def _apply_probes_finished(task: Task, event: e.ProbesFinished) -> Task:
    results = task.examination.results | {result.name: result for result in event.results}
    before = task.examination.before | {result.name: result.outcome for result in event.before}
    probed = {"probed": event.tree, "results": results, "before": before}
    return change(charge_check(task, event.seconds), examination=probed)


ACCEPTANCE_EVENTS: dict[type, Apply] = {
    e.DoneClaimed: _apply_done_claimed,
    e.CheckFinished: _apply_check_finished,
    e.WorkTaken: _apply_work_taken,
    e.FindingReturned: lambda task, event: change(
        add_message(task, UserMessage(event.text)),
        acceptance={"claim": None, "findings": task.acceptance.findings + 1, "found": task.tree},
    ),
    e.Disputed: _apply_disputed,
    e.ChangesRuled: _apply_changes_ruled,
    e.Examined: _apply_examined,
    e.ExaminationSkipped: _apply_examination_skipped,
    e.ProbesFinished: _apply_probes_finished,
    e.DifferenceSeen: lambda task, event: change(charge_check(task, event.seconds), examination={"seen": event}),
    e.ProbeContested: lambda task, event: change(
        task, examination={"contested": task.examination.contested | {event.probe: event.reason}}
    ),
    e.ProbeRuled: lambda task, event: change(
        task, examination={"rulings": task.examination.rulings | {event.probe: event.ruling}}
    ),
}
"""`ChangesAsked` and `ProbesStarted` change nothing: after a crash, the next process asks or probes again."""
