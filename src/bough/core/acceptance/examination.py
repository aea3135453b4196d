"""Decide which examination a task with a passing check still needs, and whether its work is proven: red, then green.

A goal is completed only if, for every requirement, something shows that the work makes the difference. A check that
passes before the work would also pass after a mere comment, so a test must fail without the work and pass with it: one
of an examiner (a *live* case) or of the person (a test that failed before), never one of the work's author, whose wrong
repair would go from red to green together with a wrong test.
"""

from bough.core import commands as c
from bough.core.acceptance.probes import Probe, render_failing_probe, select_failing
from bough.core.acceptance.requirements import Requirement, list_active
from bough.core.acceptance.verdict import Difference, RequirementProof
from bough.core.budget.limits import describe_spent, find_reached_limit
from bough.core.conversation import context
from bough.core.events import ExaminationSkipped, Examined
from bough.core.ids import GOAL
from bough.core.textual.spelling import shorten_line
from bough.core.tree import task_result
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.keys import is_for_agents

live = task_result.list_live_probes
LOOKS = 2
"""The maximum number of examinations of one piece of work: a second one if a requirement has no evidence."""
ALIKE = 0.9
"""How similar (from 0 to 1) two cases must be for one ruling to cover both."""
REPAIRS = 2
"""The maximum number of repairing agents (bug hunters) that try to make the work pass the probes."""
NOTHING_TO_RUN = "nothing to show by running; the check still passes"
OWN_TEST = "shown by your test alone, not examined"
NOT_EXAMINED = 'not examined: `examine = "never"`'
NAMED = 3
"""The maximum number of requirements, tests or probes that a sentence names."""


def decide_examination(task: Task) -> c.Command | None:
    """Decide what to do before the task is completed; None if nothing is left."""
    work = is_agents_work(task)
    if not work and task.origin.merge is None:
        return None
    if list_open_contests(task):
        limit = find_reached_limit(task.budget.spend, task.budget.limits)
        return c.Rest("budget", describe_spent(task.id, limit)) if limit else c.Rule()
    seen = task.examination.seen
    if work and task.id == GOAL and (seen is None or seen.tree != task.tree):
        return c.SeeDifference()
    if work and _is_wanted(task) and task.examination.examined is None and (task.id == GOAL or not task.plan.steps):
        # bough did not plan a change made by somebody else: read its purpose before examining it.
        unread = task.step.given and task.plan.estimate is None and not task.rules.planning.flat
        return c.Estimate() if unread else c.Examine()
    if live(task) and task.examination.probed != task.tree:
        return c.RunProbes()
    if refuting := list_failing_probes(task):
        return c.ChangeState(State.TEST_FAILED, f"a probe fails: {refuting[0].says}")
    # Examine a second time if nothing is refuted, but evidence or an examiner's case is missing.
    again = work and _is_wanted(task) and isinstance(task.examination.examined, Examined)
    missing = list_unshown(task) if again and task.examination.times < LOOKS else ()
    if missing and not find_reached_limit(task.budget.spend, task.budget.limits):
        return c.Examine(tuple(one.number for one in missing))
    return None


def list_unshown(task: Task) -> tuple[Requirement, ...]:
    """List a goal's requirements that lack evidence or an examiner's case, or a step's that have no case left."""
    if task.id == GOAL:
        missing, wanted = list_missing(task), _is_wanted(task)
        bare = {one for one in list_asked(task) if wanted and one.kind == "behaviour" and not _find_red(one, task)}
        proof = task.rules.acceptance.proof == "difference"
        return tuple(one for one in list_asked(task) if proof and (one in missing or one in bare))
    left = {number for probe in live(task) for number in probe.requirements}
    had = {number for probe in task.examination.probes for number in probe.requirements}
    return tuple(one for one in list_asked(task) if one.number in had - left)


def conclude_work(task: Task, reason: str) -> c.Conclude:
    """Conclude a task whose check passes and whose work nothing refutes: completed, or blocked for lack of evidence."""
    if task.id != GOAL or not is_agents_work(task) or task.rules.acceptance.proof != "difference":
        return c.Conclude(State.COMPLETED, reason)
    if missing := list_missing(task):
        examined = task.examination.examined
        skipped = f" (not examined: {examined.why})" if isinstance(examined, ExaminationSkipped) else ""
        named = "; ".join(f"{one.number} ({shorten_line(one.whole, 60)})" for one in missing[:NAMED])
        named += f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        why = "the check passes, but nothing shows that the work made the difference for requirement"
        return c.Conclude(State.BLOCKED, f"{why}{'s' if len(missing) > 1 else ''} {named}{skipped}")
    shown = list_shown(task)
    if not shown:
        return c.Conclude(State.BLOCKED, "nothing in the goal asks for something that could be shown")
    if not any(one.ran for one in shown):
        return c.Conclude(State.COMPLETED, NOTHING_TO_RUN)
    if any(one.how in ("check", "tests") for one in shown):
        reason = f"{reason}; {OWN_TEST if _is_wanted(task) else NOT_EXAMINED}"
    return c.Conclude(State.COMPLETED, reason)


def is_agents_work(task: Task) -> bool:
    """Whether the task's work is by agents (itself or its steps), has a check, and is not just a merge of steps."""
    step = task.step
    worked = any(map(is_for_agents, (step, *task.plan.steps)))
    checked = task.acceptance.verdict is not None and bool(task.acceptance.verdict.command)
    done = worked and checked and task.tree != task.base
    return done and step.role != "critic" and not context.is_merge_task(task.id, step)


def _is_wanted(task: Task) -> bool:
    return task.rules.acceptance.examine != "never"


def list_failing_probes(task: Task) -> tuple[Probe, ...]:
    """List the probes that count and fail."""
    return select_failing(live(task), task.examination.results)


def list_open_contests(task: Task) -> tuple[Probe, ...]:
    """List the failing probes that a judge has to rule on: those that an agent contests or, for somebody else's change,
    all of them, since no agent is there to contest a wrong probe."""
    asked = {*task.examination.contested} if not task.step.given else {one.name for one in list_failing_probes(task)}
    return tuple(one for one in list_failing_probes(task) if one.name in asked - {*task.examination.rulings})


def list_alike_contests(task: Task) -> tuple[Probe, ...]:
    """List the first probe that a judge has to rule on, and the others with the same quote and nearly the same text."""
    from difflib import SequenceMatcher  # difflib is slow to load, and rarely needed.

    first, *others = list_open_contests(task)
    same = [one for one in others if one.quote == first.quote]
    return first, *(one for one in same if SequenceMatcher(None, one.text, first.text, False).ratio() >= ALIKE)


def explain_contest_refusal(task: Task, name: str) -> str:
    """Explain why a probe cannot be contested; empty if it can."""
    names, ruling = [probe.name for probe in list_failing_probes(task)], task.examination.rulings.get(name)
    if name not in names:
        known = ", ".join(f"`{each}`" for each in names)
        return f"There is no failing probe `{name[:100]}`; failing are {known}." if names else "No probe fails."
    ruled = "The judge has already ruled that it is asked for"
    return f"{ruled}: “{ruling.quote}”. Make it pass." if ruling is not None else ""


def render_failing_probes(task: Task) -> str:
    known, said = task.examination, "\nIt was contested; the judge ruled that it is asked for"
    ruled = {name: f"{said}: “{ruling.quote}”." for name, ruling in known.rulings.items()}
    failing = ((one, known.results[one.name], ruled.get(one.name, "")) for one in list_failing_probes(task))
    return "\n\n".join(render_failing_probe(*one) for one in failing)


# ── red, then green ───────────────────────────────────────────────────────────────────────────────────────────────────


def list_asked(task: Task) -> tuple[Requirement, ...]:
    """List the requirements that need evidence."""
    return tuple(one for one in list_active(task.asked) if one.kind != "background")


def list_shown(task: Task) -> tuple[RequirementProof, ...]:
    """Return the evidence of each requirement that has any."""
    asked, known = list_asked(task), task.examination.seen
    seen = known.seen if known is not None and known.tree == task.tree else Difference()
    found = {one.number: shown for one in asked if (shown := _show_by_running(one, task, seen)) is not None}
    others = bool(found)
    for one in asked:
        if one.number not in found and one.kind != "behaviour" and _is_form_seen(one, task, seen, others):
            found[one.number] = RequirementProof(one.number, one.kind)  # type: ignore[arg-type]
    return tuple(found[number] for number in sorted(found))


def list_missing(task: Task) -> tuple[Requirement, ...]:
    """List the requirements without evidence."""
    shown = {one.number for one in list_shown(task)}
    return tuple(one for one in list_asked(task) if one.number not in shown)


def _show_by_running(one: Requirement, task: Task, seen: Difference) -> RequirementProof | None:
    verdict = task.acceptance.verdict
    if red := _find_red(one, task):
        return RequirementProof(one.number, "probe", red[:NAMED])
    # A check that was never seen to fail (the verdict has a doubt) proves nothing by itself.
    if verdict is None or verdict.doubt or one.kind != "behaviour":
        return None
    # If there are several requirements, a test may be about any of them, so each needs a case of its own.
    if _is_wanted(task) and sum(other.kind == "behaviour" for other in list_asked(task)) > 1:
        return None
    if seen.check and not verdict.changed:
        return RequirementProof(one.number, "check")
    return RequirementProof(one.number, "tests", verdict.fixed[:NAMED]) if verdict.fixed else None


def _find_red(one: Requirement, task: Task) -> tuple[str, ...]:
    """List the probes of a requirement that fail without the work and pass with it."""
    known, names = task.examination, [probe.name for probe in live(task) if one.number in probe.requirements]
    passing = [name for name in names if name in known.results and known.results[name].outcome == "passed"]
    return tuple(name for name in passing if known.before.get(name, "passed") != "passed")


def _is_form_seen(one: Requirement, task: Task, seen: Difference, others: bool) -> bool:
    """Whether bough itself saw that the work is the kind of change that a requirement asks for, if no test can show
    that. `others`: whether other requirements, with evidence that ran, explain why code changed."""
    if one.kind == "document":
        return seen.documents and (others or not seen.code)
    if one.kind == "coverage":
        verdict = task.acceptance.verdict
        return verdict is not None and bool(verdict.changed) and (others or not seen.code)
    if one.kind in ("restructure", "speed", "upgrade"):
        return {"restructure": seen.interface, "speed": seen.faster, "upgrade": seen.version}[one.kind]
    kinds = {other.kind for other in list_asked(task)}
    return others or (kinds == {"unchanged", "document", "coverage"} & kinds and not seen.code)
