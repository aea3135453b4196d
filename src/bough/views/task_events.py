"""Describes a task's events: its plan and steps, attempts, rounds and tool calls, bough's reaction when it is stuck,
and its checks, examinations and disputes."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from bough.core import events as e
from bough.core.messages import Call
from bough.core.planning.plan import Step
from bough.core.settings.sections import title_of
from bough.core.tree.task_state import State
from bough.views import formatting as f
from bough.views import vocabulary as v
from bough.views.formatting import first_line, format_duration, given, last_line, one_line, pluralize
from bough.views.run_view import describe_wait
from bough.views.task_view import describe_call, make_title
from bough.views.vocabulary import STATE_STYLES, Told, choose_style, describe_state, describe_verdict

ASKED = {"gate": "the model that sizes the goal"}
"""Plain names of helper models."""
Tell = Callable[[Any], Told | str]
"""Describes an event of one type; a text alone has no style."""


class TaskMemory(Struct):
    """Facts from a task's earlier events that are needed to describe later ones."""

    rounds: int = 0
    attempts: int = 0
    calls: dict[str, Call] = field(default_factory=dict)
    asking: bool = False

    def describe_call(self, id: str) -> str:
        return shorten_call(self.calls[id]) if id in self.calls else "a tool"


def shorten_call(call: Call) -> str:
    return f.cut(one_line(describe_call(call)), 60)


def tell_round(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    """Describe an event whose line needs the memory of earlier ones, or changes it."""
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
        case e.TaskRewound():
            memory.asking = False
            return f"rewound to its event {event.version}; later events no longer count", "yellow"
        case e.ToolStarted():
            return f"{memory.describe_call(event.call)} …", "dim"
        case e.ToolFinished():
            how = "interrupted" if event.interrupted else "done" if event.ok else "failed"
            words = "" if event.interrupted else (first_line if event.ok else last_line)(event.output)
            took = f"{format_duration(event.seconds)}{': ' if words else ''}{words}"
            style = "yellow" if event.interrupted or not event.ok else ""
            return f"{memory.describe_call(event.call)}: {how}, {took}", style
        case _:
            return None


def _describe_wait(seconds: float) -> str:
    return f"; retrying in {format_duration(seconds)}" if seconds else ""


def _tell_attempt_started(event: e.AttemptStarted, memory: TaskMemory) -> Told:
    memory.attempts += 1
    memory.asking = False
    model = "" if event.tier == "main" else f" with the {event.tier} model"
    model = f" ({title_of(event.agent)})" if event.agent else model
    how = f", in text ({event.why})" if event.protocol == "text" and event.why else ""
    return f"attempt {memory.attempts}: {v.ROLES[event.role]} started{model}{how}", ""


def _tell_model_answered(event: e.ModelAnswered, memory: TaskMemory) -> Told:
    memory.asking = False
    memory.calls = {call.id: call for call in event.calls}
    calls = ", ".join(call.name for call in event.calls)
    words = " → ".join(part for part in (first_line(event.text), calls) if part) or "empty answer"
    return f"round {memory.rounds}: {describe_answer(event)}: {words}", ""


def describe_answer(event: e.ModelAnswered) -> str:
    """Return `the model answers (12.3k tokens in, 420 out, $0.02, 3.1 s)`, with `about` if the tokens are estimated."""
    if event.spare:
        return "another of its answers is tried"
    about = "about " if event.usage.estimated else ""
    tokens = f"{about}{f.format_count(event.usage.input)} tokens in, {f.format_count(event.usage.output)} out"
    price = "" if event.cost is None else f", {f.format_money(event.cost)}"
    more = f", and {pluralize(len(event.others), 'further answer')}" if event.others else ""
    return f"the model answers ({tokens}{price}, {format_duration(event.seconds)}{more})"


def _name_helper(helper: str) -> str:
    return ASKED.get(helper, f"the {helper.replace('_', ' ')}")


def _tell_tool_servers(event: e.ToolServersListed) -> Told:
    offered = [f"{name} offers {pluralize(len(tools), 'tool')}" for name, tools in event.tools.items()]
    lost = [f"{name} is unavailable: {why.rstrip('.')}" for name, why in event.failed.items()]
    return f"MCP servers: {'; '.join([*offered, *lost])}", "yellow" if lost else "dim"


def _tell_signal(event: e.SignalRaised) -> Told:
    signal = event.signal
    seen = f"; most recently: {signal.evidence[-1]}" if signal.evidence else ""
    head = "stuck" if signal.rounds else "taking stock"
    return f"{head} ({v.PATTERNS[signal.pattern]}): {signal.diagnosis.rstrip('. ')}{seen}", "yellow"


def _tell_escalated(event: e.Escalated) -> Told:
    # The preceding signal already says why the work is stuck; trouble that had no signal is described here.
    trouble, decision = event.trouble, event.decision
    because = decision.reason.removeprefix(trouble.says).strip().removeprefix("(").removesuffix(")")
    why = because if trouble.pattern in v.PATTERNS else f"{trouble.says.rstrip('. ')}; {because}"
    return f"bough {v.RUNGS[decision.rung]}: {why}", "yellow"


def _name_summarizer(by: str) -> str:
    return "the fast model" if by == "model" else "plain rules"


def _compare_sizes(event: e.ContextPruned | e.Compacted) -> str:
    return f"about {f.format_count(event.before)} tokens became {f.format_count(event.after)}"


def _name_steps(steps: tuple[Step, ...]) -> str:
    return ", ".join(step.name for step in steps)


def _tell_child_merged(event: e.ChildMerged) -> Told:
    if event.conflicts:
        return f"its step {event.child} conflicts with work merged meanwhile: {', '.join(event.conflicts)}", "yellow"
    assert event.verdict is not None, "a merge without conflicts is checked"
    how = f" (kept both additions in {', '.join(event.both)})" if event.both else ""
    how += f" ({', '.join(event.remade)} regenerated)" if event.remade else ""
    return f"merged its step {event.child}{how}: {describe_verdict(event.verdict)}", choose_style(event.verdict)


def _tell_child_settled(event: e.ChildSettled) -> Told:
    # For a completed step, show the result of the check that ran after the merge.
    why = (event.state is State.COMPLETED and event.verdict) or event.why
    return f"its step {event.child} is {describe_state(event.state)}: {why}", STATE_STYLES.get(event.state, "")


def _tell_command_finished(event: e.CommandFinished) -> Told:
    if event.interrupted:
        return "its command was interrupted", "yellow"
    how = f"killed {event.killed}" if event.killed else f"exit status {event.exit_status}"
    words = (first_line if event.ok else last_line)(event.output)
    took = format_duration(event.seconds)
    return f"its command ended: {how}, {took}{': ' if words else ''}{words}", "" if event.ok else "red"


def _tell_changes_ruled(event: e.ChangesRuled) -> Told:
    who = {"judge": "the judge", "person": "you", "earlier": "an earlier decision"}[event.by]
    allow = "allow" if event.by == "person" else "allows"
    if event.allowed:
        tests = ", ".join(one.test for one in event.allowed)
        return f"{who} {allow} changes to tests: {tests} ({event.allowed[0].why})", "yellow"
    if event.by == "earlier":
        return f"{who} {allow} these test changes", ""
    said = f": {first_line(event.why)}" if event.why else ""
    return f"{who} {'do' if event.by == 'person' else 'does'} not allow the test changes{said}", "yellow"


def _tell_probes_finished(event: e.ProbesFinished) -> Told:
    failed = [result.name for result in event.results if result.outcome == "failed"]
    passed = sum(result.outcome == "passed" for result in event.results)
    took = f" ({format_duration(event.seconds)})"
    if failed:
        return f"{pluralize(len(failed), 'case')} of {len(event.results)} failed{took}: {', '.join(failed)}", "red"
    red = sum(result.outcome != "passed" for result in event.before)
    before = f"; {red} of {len(event.before)} fail without the work" if event.before else ""
    return f"{passed} of {pluralize(len(event.results), 'case')} passed, none failed{before}{took}", "green"


def _tell_difference_seen(event: e.DifferenceSeen) -> Told:
    seen = event.seen
    if not seen.code:
        return "the change has no code: only documents, comments, tests or layout", ""
    return "your check fails without the work" if seen.check else "the change has code", "dim"


def _tell_reviewed(event: e.Reviewed) -> Told:
    if event.problems:
        return f"no review, so no approval: {event.problems[0]}", "yellow"
    if not event.findings:
        return "the critic found nothing to change", "green"
    found, first = pluralize(len(event.findings), "thing"), event.findings[0]
    return f"the critic found {found}: {first['file']}: {first['what']}", "yellow"


READ_BY = {"person": "as you listed them", "model": "as the model read them", "rule": "one per sentence"}
TASK_LINES: dict[type, Tell] = {
    # a task's beginning and states, and the handling of its conversation and of stuck work
    e.ModelSwitched: lambda it: (f"{it.model} answers from here on: {it.why.rstrip('.')}", "yellow"),
    e.MessageAdded: lambda it: f"bough tells the agent ({it.why.replace('_', ' ')}): {first_line(it.text)}",
    e.GoalProposed: lambda it: f"proposes a goal: {it.title}",
    e.NoteKept: lambda it: f"notes a {it.kind.replace('_', ' ')}: {it.text}",
    e.DoneClaimed: lambda it: f"the agent says it is done: {first_line(it.summary)}",
    e.HelperAnswered: lambda it: (
        f"{_name_helper(it.helper)} answered ({f.format_count(it.usage.input + it.usage.output)} tokens, "
        f"{format_duration(it.seconds)}): {first_line(it.text)}",
        "dim",
    ),
    e.HelperFailed: lambda it: (
        f"{_name_helper(it.helper)} did not answer: {it.message.rstrip('.')}{_describe_wait(it.wait)}",
        "yellow",
    ),
    e.ToolServersListed: _tell_tool_servers,
    e.TaskCreated: lambda it: f"task created: {f.headline(make_title(it.step) or it.step.name)}",
    e.StateChanged: lambda it: (f"{describe_state(it.to)}: {it.why}", STATE_STYLES.get(it.to, "")),
    e.WorkspaceOpened: lambda it: (f"workspace opened at tree {it.tree[:10]}", "dim"),
    e.WorkspaceRestored: lambda it: (f"workspace restored to tree {it.tree[:10]}: {it.why}", "yellow"),
    e.SignalRaised: _tell_signal,
    e.Escalated: _tell_escalated,
    e.ContextPruned: lambda it: f"context pruned by {_name_summarizer(it.by)}: {_compare_sizes(it)}",
    e.Compacted: lambda it: f"conversation compacted by {_name_summarizer(it.by)}: {_compare_sizes(it)}",
    e.CompactionStarted: lambda it: (
        f"the conversation fills the model's window (about {f.format_count(it.used)} of {f.format_count(it.window)} "
        "tokens): compacting",
        "dim",
    ),
    e.Reported: lambda it: f"report: {first_line(it.text)}",
    e.TaskHalted: lambda it: (f"halted ({v.STATUS_WORDS[it.reason]}): {it.message}", "yellow"),
    e.TaskResumed: lambda it: "resumed",
    # the task's plan
    e.Estimated: lambda it: (
        ("estimated: one piece of work" if it.atomic else f"estimated: about {pluralize(it.steps, 'step')}")
        + given(" ({})", first_line(it.reason))
    ),
    e.RequirementsRead: lambda it: f"{pluralize(len(it.requirements), 'requirement')}, {READ_BY[it.by]}",
    e.PlanProposed: lambda it: f"plan proposed: {_name_steps(it.steps)}",
    e.PlanChanged: lambda it: (
        (f"plan changed: {'; '.join(it.said)}", "yellow") if it.said else ("plan unchanged", "dim")
    ),
    e.Granted: lambda it: f"budget raised to fit the plan: {f.format_limits(it.limits)}",
    e.PlanRefused: lambda it: (
        f"plan rejected{'' if it.final else ' (one more try)'}: {' '.join(it.problems)}",
        "yellow",
    ),
    e.SplitProposed: lambda it: (f"the agent asks for smaller steps: {_name_steps(it.steps)}", "yellow"),
    e.Planned: lambda it: (
        f"{it.why}: {_name_steps(it.steps)}{given('; dropped: {}', ', '.join(it.dropped))}",
        "yellow",
    ),
    # the task's steps
    e.ChildStarted: lambda it: (f"step {it.task} starts with {pluralize(it.grant.rounds, 'round')}", "dim"),
    e.ChildHeld: lambda it: f"its step {it.step} {describe_wait(it.other, it.files)}",
    e.MergeStarted: lambda it: (f"merging its step {it.child}", "dim"),
    e.ChildMerged: _tell_child_merged,
    e.ChildSettled: _tell_child_settled,
    e.ChildrenReopened: lambda it: (f"reopened: {', '.join(it.children)} ({it.why})", "yellow"),
    e.PassEnded: lambda it: f"pass {it.number} finished: {it.why}",
    e.TransitionTaken: lambda it: (f"next: {it.to} ({it.why})", "cyan"),
    e.TakenUp: lambda it: (f"retried with the {it.tier} model: {it.why}", "cyan"),
    e.WorkTaken: lambda it: (f"takes over the work of {it.run}", "cyan"),
    e.Summarized: lambda it: f"summarized by {_name_summarizer(it.by)}: {first_line(it.text)}",
    e.CommandStarted: lambda it: f"runs {one_line(it.command)}",
    e.CommandFinished: _tell_command_finished,
    # the task's checks, examinations and disputes
    e.CheckStarted: lambda it: (
        given("running the check: {}", it.command, "no check to run") + given(" ({})", it.command and it.found)
    ),
    e.CheckFinished: lambda it: (describe_verdict(it.verdict), choose_style(it.verdict)),
    e.CheckpointMade: lambda it: f"checkpoint {it.commit[:10]}: {pluralize(len(it.files), 'file')} changed",
    e.Disputed: lambda it: (f"the agent disputes {it.test}: {first_line(it.evidence)}", "yellow"),
    e.ChangesAsked: lambda it: (f"asks you whether original tests may change: {', '.join(it.tests)}", "yellow"),
    e.ChangesRuled: _tell_changes_ruled,
    e.FindingReturned: lambda it: (f"sent back to the same agent: {first_line(it.text)}", "yellow"),
    e.Examined: lambda it: (
        f"the {it.by} wrote {pluralize(len(it.probes), 'probe')}"
        + (f"; {pluralize(len(it.left_out), 'probe')} dropped: nothing in the goal asks for it" if it.left_out else "")
    ),
    e.ExaminationSkipped: lambda it: (f"not examined: {it.why}", "dim"),
    e.ProbesStarted: lambda it: (f"running {pluralize(len(it.names), 'case')} of probes", "dim"),
    e.ProbesFinished: _tell_probes_finished,
    e.ProbeContested: lambda it: (f"{it.probe} is contested: {it.reason}", "yellow"),
    e.ProbeRuled: lambda it: (
        (f"the judge upholds {it.probe}: the goal says “{it.ruling.quote}”", "yellow")
        if it.ruling.demanded
        else f"the judge drops {it.probe}: {it.ruling.reason}"
    ),
    e.DifferenceSeen: _tell_difference_seen,
    e.EvidenceJudged: lambda it: (
        (f"nothing shows that the work made the difference for {', '.join(map(str, it.missing))}", "yellow")
        if it.missing
        else (f"shown for {pluralize(len(it.shown), 'requirement')}: the work made the difference", "green")
    ),
    e.Reviewed: _tell_reviewed,
}
