"""A finished task's result: the text that conditions read and later steps see."""

from bough.core.acceptance.probes import Probe, render_failing_probe, select_failing
from bough.core.conversation.text_fitting import keep_ends
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.keys import classify_step

ROOM = 16_000
"""The maximum number of characters of a result."""


def render_task_result(task: Task) -> str:
    """Render the result: an agent's summary, a command's output, a critic's failing probes, or the steps' results."""
    verdict, results = task.acceptance.verdict, task.examination.results
    if task.step.role == "critic":
        text = "\n\n".join(render_failing_probe(probe, results[probe.name]) for probe in list_critic_probes(task))
    elif task.plan.steps:
        text = task.outcome.result if task.outcome.summarized else join_step_results(task)
    elif classify_step(task.step) == "check" and verdict is not None:
        text = "\n".join(part for part in (verdict.reason, verdict.output) if part)
    else:
        text = render_summaries(task) or task.outcome.result
    return keep_ends(text, ROOM)


def get_summary(task: Task) -> str:
    """Return the summary of the agent that did the work, not of agents that repaired or disputed something later."""
    built = [one.text for one in task.acceptance.summaries if one.role != "bug_hunter"]
    return (built[-1] if built else task.acceptance.claim or "").strip()


def render_summaries(task: Task) -> str:
    """Render the agents' summaries side by side: the worker's, then those of repairs and disputes."""
    own = get_summary(task)
    later = [one.text.strip() for one in task.acceptance.summaries if one.role == "bug_hunter"]
    return "\n\n".join(part for part in (own, *(f"Repair: {text}" for text in later if text != own)) if part)


def join_step_results(task: Task) -> str:
    """Join the steps' results in written order; steps without a result are left out."""
    over = [task.children.ended[step.name] for step in task.plan.steps if step.name in task.children.ended]
    said = [child for child in over if child.state is State.COMPLETED and child.result.strip()]
    return "\n\n".join(f"{child.child}: {child.result.strip()}" for child in said)


def list_asked_probes(task: Task) -> tuple[Probe, ...]:
    """List the probes of the task and its steps, except those that are only about replaced or dropped requirements."""
    replaced = {one.number for one in task.asked if not one.counts}
    return tuple(one for one in task.examination.probes if not one.requirements or {*one.requirements} - replaced)


def list_live_probes(task: Task) -> tuple[Probe, ...]:
    """List the probes that count, including those of failed steps, since their requirements are still open. Probes that
    a judge dropped or that cannot run do not count."""
    stuck = [child for child in task.children.settled.values() if child.state in (State.BLOCKED, State.FAILED)]
    theirs = (probe for child in stuck for probe in child.refuting) if task.step.join == "all" else ()
    gone = _list_dropped(task) | {
        name for name, result in task.examination.results.items() if result.outcome == "broken"
    }
    probes = {probe.name: probe for probe in (*list_asked_probes(task), *theirs)}
    return tuple(probe for name, probe in probes.items() if name not in gone)


def list_critic_probes(task: Task) -> tuple[Probe, ...]:
    """List a critic's failing probes that no judge has dropped."""
    found, dropped = task.examination, _list_dropped(task)
    return tuple(probe for probe in select_failing(found.probes, found.results) if probe.name not in dropped)


def _list_dropped(task: Task) -> set[str]:
    return {name for name, ruling in task.examination.rulings.items() if not ruling.demanded}


def has_errors(task: Task) -> bool:
    """Whether the task left a failing check or command or, for a critic, whether one of its probes fails."""
    ran, verdict = task.outcome.ran, task.acceptance.verdict
    failed = (ran is not None and not ran.ok) or (task.step.role == "critic" and bool(list_critic_probes(task)))
    return failed or (verdict is not None and verdict.ruling not in ("passed", "not_verified"))


def describe_verdict(task: Task) -> str:
    """Return the result of the task's check in words; empty if it has no check."""
    verdict = task.acceptance.verdict
    return verdict.reason if verdict is not None and verdict.command else ""
