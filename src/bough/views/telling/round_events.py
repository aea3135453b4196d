"""The words for the events of a task's own work: attempts, rounds, tool calls, and what is done when it is stuck."""

from __future__ import annotations

from bough.core import events as e
from bough.core.planning.plan import describe_command
from bough.core.settings.agent_settings import title_of
from bough.views.formatting import (
    first_line,
    format_count,
    format_duration,
    format_money,
    headline,
    last_line,
    one_line,
    pluralize,
)
from bough.views.telling.memory import TaskMemory, Told, name_summarizer
from bough.views.vocabulary import PATTERNS, ROLES, RUNGS, STATE_STYLES, STATUS_WORDS, describe_state

ASKED = {"gate": "the model that sizes the goal"}
"""Helpers whose own name says little."""


def tell_round(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    match event:
        case e.AttemptStarted():
            return _tell_attempt_started(event, memory)
        case e.RoundStarted():
            again = memory.asking
            memory.rounds += not again
            memory.asking = True
            last = " (last round: hand over)" if event.last else ""
            return f"round {memory.rounds}: asking the model{' again' if again else ''}{last}", "dim"
        case e.ModelAnswered():
            return _tell_model_answered(event, memory)
        case e.ModelFailed():
            memory.asking = True
            return f"the model did not answer: {event.message.rstrip('.')}{_describe_wait(event.wait)}", "yellow"
        case e.MessageAdded():
            return f"bough tells the agent ({event.why.replace('_', ' ')}): {first_line(event.text)}", ""
        case e.ToolStarted():
            return f"{memory.describe_call(event.call)} …", "dim"
        case e.ToolFinished():
            how = "interrupted" if event.interrupted else "done" if event.ok else "failed"
            words = "" if event.interrupted else (first_line if event.ok else last_line)(event.output)
            took = f"{format_duration(event.seconds)}{': ' if words else ''}{words}"
            style = "yellow" if event.interrupted or not event.ok else ""
            return f"{memory.describe_call(event.call)}: {how}, {took}", style
        case e.NoteKept():
            return f"notes a {event.kind.replace('_', ' ')}: {event.text}", ""
        case e.DoneClaimed():
            return f"the agent says it is done: {first_line(event.summary)}", ""
        case e.HelperAnswered():
            spent = f"{format_count(event.usage.input + event.usage.output)} tokens, {format_duration(event.seconds)}"
            return f"{_name_helper(event.helper)} answered ({spent}): {first_line(event.text)}", "dim"
        case e.HelperFailed():
            wait = _describe_wait(event.wait)
            return f"{_name_helper(event.helper)} did not answer: {event.message.rstrip('.')}{wait}", "yellow"
        case e.ToolServersListed():
            offered = [f"{name} offers {pluralize(len(tools), 'tool')}" for name, tools in event.tools.items()]
            lost = [f"{name} is unavailable: {why.rstrip('.')}" for name, why in event.failed.items()]
            return f"MCP servers: {'; '.join([*offered, *lost])}", "yellow" if lost else "dim"
        case _:
            return None


def _describe_wait(seconds: float) -> str:
    return f"; retrying in {format_duration(seconds)}" if seconds else ""


def _name_helper(helper: str) -> str:
    return ASKED.get(helper, f"the {helper.replace('_', ' ')}")


def _tell_attempt_started(event: e.AttemptStarted, memory: TaskMemory) -> Told:
    memory.attempts += 1
    memory.asking = False
    model = "" if event.tier == "main" else f" with the {event.tier} model"
    model = f" ({title_of(event.agent)})" if event.agent else model
    how = f", in text ({event.why})" if event.protocol == "text" and event.why else ""
    return f"attempt {memory.attempts}: {ROLES[event.role]} started{model}{how}", ""


def _tell_model_answered(event: e.ModelAnswered, memory: TaskMemory) -> Told:
    memory.asking = False
    memory.calls = {call.id: call for call in event.calls}
    price = "" if event.cost is None else f", {format_money(event.cost)}"
    about = "about " if event.usage.estimated else ""
    tokens = f"{about}{format_count(event.usage.input)} tokens in, {format_count(event.usage.output)} out"
    calls = ", ".join(call.name for call in event.calls)
    words = " → ".join(part for part in (first_line(event.text), calls) if part) or "empty answer"
    usage = f"{tokens}{price}, {format_duration(event.seconds)}"
    return f"round {memory.rounds}: the model answers ({usage}): {words}", ""


def tell_task(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    """A task's beginning and states, and what is done about its conversation and about stuck work."""
    match event:
        case e.TaskCreated(step=step):
            about = (
                headline(step.title or step.instructions) or describe_command(step) or step.test_command or step.name
            )
            return f"task created: {one_line(about)}", ""
        case e.StateChanged():
            return f"{describe_state(event.to)}: {event.why}", STATE_STYLES.get(event.to, "")
        case e.WorkspaceOpened():
            return f"workspace opened at tree {event.tree[:10]}", "dim"
        case e.WorkspaceRestored():
            return f"workspace restored to tree {event.tree[:10]}: {event.why}", "yellow"
        case e.SignalRaised(signal=signal):
            seen = f"; most recently: {signal.evidence[-1]}" if signal.evidence else ""
            head = "stuck" if signal.rounds else "taking stock"
            return f"{head} ({PATTERNS[signal.pattern]}): {signal.diagnosis.rstrip('. ')}{seen}", "yellow"
        case e.Escalated(trouble=trouble, decision=decision):
            # The preceding signal already says what was found; trouble without a signal is described here.
            because = decision.reason.removeprefix(trouble.says).strip().removeprefix("(").removesuffix(")")
            why = because if trouble.pattern in PATTERNS else f"{trouble.says.rstrip('. ')}; {because}"
            return f"bough {RUNGS[decision.rung]}: {why}", "yellow"
        case e.ContextPruned() | e.Compacted():
            what = "context pruned" if isinstance(event, e.ContextPruned) else "conversation compacted"
            sizes = f"about {format_count(event.before)} tokens became {format_count(event.after)}"
            return f"{what} by {name_summarizer(event.by)}: {sizes}", ""
        case e.CompactionStarted():
            full = f"about {format_count(event.used)} of {format_count(event.window)} tokens"
            return f"the conversation fills the model's window ({full}): compacting", "dim"
        case e.Reported():
            return f"report: {first_line(event.text)}", ""
        case e.TaskHalted():
            return f"halted ({STATUS_WORDS[event.reason]}): {event.message}", "yellow"
        case e.TaskResumed():
            return "resumed", ""
        case e.TaskRewound():
            memory.asking = False
            return f"rewound to its version {event.version}; later events no longer count", "yellow"
        case _:
            return None
