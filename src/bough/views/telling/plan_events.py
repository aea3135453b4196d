"""The words for the events of a plan and of the steps that it becomes."""

from __future__ import annotations

from bough.core import events as e
from bough.core.planning.plan import Step
from bough.core.tree.task_state import State
from bough.views.formatting import first_line, format_duration, format_limits, last_line, one_line, pluralize
from bough.views.run_view import describe_wait
from bough.views.telling.memory import TaskMemory, Told, name_summarizer
from bough.views.verdict_text import choose_style, describe_verdict
from bough.views.vocabulary import STATE_STYLES, describe_state


def tell_plan(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    match event:
        case e.Estimated():
            size = "one piece of work" if event.atomic else f"about {pluralize(event.steps, 'step')}"
            return f"estimated: {size}{f' ({first_line(event.reason)})' if event.reason else ''}", ""
        case e.RequirementsRead():
            by = {"person": "as you listed them", "model": "as the model read them", "rule": "one per sentence"}
            return f"{pluralize(len(event.requirements), 'requirement')}, {by[event.by]}", ""
        case e.PlanProposed():
            return f"plan proposed: {_name_steps(event.steps)}", ""
        case e.PlanChanged():
            return (f"plan changed: {'; '.join(event.said)}", "yellow") if event.said else ("plan unchanged", "dim")
        case e.Granted():
            return f"budget raised to fit the plan: {format_limits(event.limits)}", ""
        case e.PlanRefused():
            again = "" if event.final else " (one more try)"
            return f"plan rejected{again}: {' '.join(event.problems)}", "yellow"
        case e.SplitProposed():
            return f"the agent asks for smaller steps: {_name_steps(event.steps)}", "yellow"
        case e.Planned():
            dropped = f"; dropped: {', '.join(event.dropped)}" if event.dropped else ""
            return f"{event.why}: {_name_steps(event.steps)}{dropped}", "yellow"
        case _:
            return None


def _name_steps(steps: tuple[Step, ...]) -> str:
    return ", ".join(step.name for step in steps)


def tell_step(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    """A task's steps: how they start, run as commands, end and are merged."""
    match event:
        case e.ChildStarted():
            return f"step {event.task} starts with {pluralize(event.grant.rounds, 'round')}", "dim"
        case e.ChildHeld():
            return f"its step {event.step} {describe_wait(event.other, event.files)}", ""
        case e.MergeStarted():
            return f"merging its step {event.child}", "dim"
        case e.ChildMerged() if event.conflicts:
            paths = ", ".join(event.conflicts)
            return f"its step {event.child} conflicts with work merged meanwhile: {paths}", "yellow"
        case e.ChildMerged():
            assert event.verdict is not None, "a merge without conflicts is checked"
            how = f" (kept both additions in {', '.join(event.both)})" if event.both else ""
            how += f" ({', '.join(event.remade)} regenerated)" if event.remade else ""
            return f"merged its step {event.child}{how}: {describe_verdict(event.verdict)}", choose_style(event.verdict)
        case e.ChildSettled():
            # For a completed step, what its check said once its work was merged with that of others.
            why = (event.state is State.COMPLETED and event.verdict) or event.why
            return f"its step {event.child} is {describe_state(event.state)}: {why}", STATE_STYLES.get(event.state, "")
        case e.ChildrenReopened():
            return f"reopened: {', '.join(event.children)} ({event.why})", "yellow"
        case e.PassEnded():
            return f"pass {event.number} finished: {event.why}", ""
        case e.TransitionTaken():
            return f"next: {event.to} ({event.why})", "cyan"
        case e.TakenUp():
            return f"retried with the {event.tier} model: {event.why}", "cyan"
        case e.WorkTaken():
            return f"takes over the work of {event.run}", "cyan"
        case e.Summarized():
            return f"summarized by {name_summarizer(event.by)}: {first_line(event.text)}", ""
        case e.CommandStarted():
            return f"runs {one_line(event.command)}", ""
        case e.CommandFinished() if event.interrupted:
            return "its command was interrupted", "yellow"
        case e.CommandFinished():
            how = f"killed {event.killed}" if event.killed else f"exit status {event.exit_status}"
            words = (first_line if event.ok else last_line)(event.output)
            took = format_duration(event.seconds)
            return f"its command ended: {how}, {took}{': ' if words else ''}{words}", "" if event.ok else "red"
        case _:
            return None
