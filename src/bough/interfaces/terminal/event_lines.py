"""One event as one line in plain words.

A `Teller` follows a run's events, because a line may need earlier ones: a finished call carries only its id, and rounds
are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from bough.core import events as e
from bough.core.messages import Call
from bough.core.planning.plan import describe_command
from bough.core.settings.agent_settings import title_of
from bough.core.tree.task_state import State
from bough.interfaces.terminal.formatting import (
    first_line,
    format_clock,
    format_count,
    format_duration,
    format_limits,
    format_money,
    headline,
    last_line,
    one_line,
    pluralize,
)
from bough.interfaces.terminal.output import Span
from bough.interfaces.terminal.verdict_text import choose_style, describe_verdict
from bough.views.run_view import describe_wait
from bough.views.task_view import describe_call

ROLES = {"builder": "builder", "bug_hunter": "bug hunter", "test_writer": "test writer", "critic": "critic"}
RUNGS = {
    "other_protocol": "switches to the other protocol",
    "attempts": "makes another attempt",
    "nudge": "nudges the agent",
    "prune": "prunes the context",
    "decompose": "splits the task",
    "zoom_out": "sets the task aside",
    "stronger_model": "switches to a stronger model",
    "verify": "checks whether it is done",
    "replan": "plans another approach",
    "ask": "asks you",
    "give_up": "gives up",
}
"""What bough does on each rung of the ladder, in order."""
PATTERNS = {
    "repetitive_output": "repeats itself",
    "circular_tools": "goes in circles",
    "no_progress": "no progress",
    "repeated_error": "hits the same error over and over",
    "monologue": "talks without acting",
    "oscillation": "goes back and forth",
    "paging": "keeps reading",
    "max_rounds": "takes too long",
    "subtask_max_rounds": "takes too long",
}
"""Every way in which work gets stuck, in plain words."""
STATE_STYLES = {
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "red",
    State.TEST_FAILED: "yellow",
    State.BLOCKED: "yellow",
    State.IN_PROGRESS: "cyan",
    State.TESTING: "cyan",
}
STATUS_STYLES = {"completed": "green", "failed": "red", "running": "cyan"}
STATUS_WORDS = {
    "running": "running",
    "interrupted": "interrupted",
    "completed": "completed",
    "not_proven": "finished, not proven",
    "not_verified": "finished, not proven",  # In old journals.
    "failed": "failed",
    "budget": "budget spent",
    "stopped": "stopped",
    "unavailable": "model unavailable",
    "needs_approval": "waiting for your approval",
    "environment": "the check cannot run here",
    "paused": "paused",
    "waiting": "waiting for your answer",
    "quota": "quota exhausted",
}
"""A run's status, for people. `interrupted`: unfinished, and no process is running it."""

Told = tuple[str, str]
"""What happened, and the style to print it in."""


class _Follow(Struct):
    """What a teller remembers about one task."""

    rounds: int = 0
    attempts: int = 0
    calls: dict[str, Call] = field(default_factory=dict)
    asking: bool = False


class Teller:
    def __init__(self) -> None:
        self._tasks: dict[str, _Follow] = {}

    def tell(self, record: e.Record) -> Told:
        """The words for this event. Pass events in order: later ones may need earlier ones."""
        follow = self._tasks.setdefault(record.task, _Follow())
        return TELL[type(record.event)](record.event, follow)

    def round(self, task: str) -> int:
        """The number of the task's current round."""
        return self._tasks[task].rounds if task in self._tasks else 0

    def news(self, record: e.Record) -> Told | None:
        """The same for a live viewer: whole rounds and turning points; None for the rest."""
        told = self.tell(record)
        match record.event:
            case e.ModelAnswered() as event:
                calls = ", ".join(_shorten_call(call) for call in event.calls)
                words = calls or (f"says: {first_line(event.text)}" if event.text.strip() else "empty answer")
                return f"round {self.round(record.task)}: {words}", ""
            case e.StateChanged(to=State.TEST_FAILED):
                return None  # the verdict already says so
            case e.StateChanged() | e.CheckFinished() | e.NoteKept() | e.ModelFailed() | e.WorkspaceRestored():
                return told
            case e.SignalRaised() | e.Escalated() | e.Planned() | e.PlanRefused() | e.ChildSettled() | e.PassEnded():
                return told
            case e.RequirementsRead(requirements=found) if len(found) > 1:
                return told
            case e.CheckStarted() | e.ProbesStarted() | e.MergeStarted() | e.MessageRead() | e.EvidenceJudged():
                return told
            case e.Examined() | e.ExaminationSkipped() | e.ProbesFinished() | e.ProbeContested() | e.ProbeRuled():
                return told
            case e.Estimated() | e.PlanAnswered() | e.PlanChanged() | e.Granted():
                return told
            case e.Disputed() | e.ChangesAsked() | e.ChangesRuled() | e.FindingReturned():
                return told
            case e.TransitionTaken() | e.CommandStarted() | e.CommandFinished() | e.Reviewed():
                return told
            case (
                e.ChildMerged()
                | e.ChildHeld()
                | e.ContextPruned()
                | e.Compacted()
                | e.HelperFailed()
                | e.PersonAnswered()
                | e.MessageReceived()
                | e.ChildrenReopened()
            ):
                return told
            case e.ToolFinished() as event if not event.ok:
                return told
            case _:
                return None


def format_line(record: e.Record, told: Told) -> list[Span]:
    """The whole line: when, where, what."""
    words, style = told
    where = [] if not record.task or record.task.startswith("@") else [(one_line(record.task), "bold"), (": ", "")]
    return [(format_clock(record.at), "dim"), ("  ", ""), *where, (one_line(words), style)]


# ── one small function per event ────────────────────────────────────────────────────────────────────────────────────


def _name_person(person: str) -> str:
    return f" by {person}" if person else ""


def _tell_undone(event: e.Undone, follow: _Follow) -> Told:
    return f"removed from your files again{_name_person(event.by)}: {pluralize(len(event.files), 'file')}", "yellow"


def _tell_judged(event: e.Judged, follow: _Follow) -> Told:
    return f"verified again: {describe_verdict(event.verdict)}", choose_style(event.verdict)


def _tell_base_started(event: e.BaseStarted, follow: _Follow) -> Told:
    return f"checking the base: {event.command}", ""


def _tell_base_checked(event: e.BaseChecked, follow: _Follow) -> Told:
    return f"before the work: {describe_base(event)}", "red" if event.lacking else ""


def _tell_check_scouted(event: e.CheckScouted, follow: _Follow) -> Told:
    why = "; ".join(f"{command}: {why}" if command else why for command, why in event.refused.items())
    left = f" (not used: {why})" if why else ""
    return f"no check found: a model proposed {', '.join(event.commands) or 'none'}{left}", ""


def describe_base(event: e.BaseChecked) -> str:
    """What the check says before any work: `passes (133 tests, 2.4 s)`, `20 of 133 tests fail`, `cannot start`."""
    ran, took = event.passed + event.failed, format_duration(event.seconds)
    if not event.command:
        return "no check found"
    if event.lacking:
        how = "" if event.exit_status in (None, 0) else f" (exit status {event.exit_status})"
        return f"cannot start{how}: {event.lacking}"
    if event.exit_status is None:
        return f"timed out: killed after {took}; raise `[check] timeout`"
    if event.exit_status == 0:
        return f"passes ({pluralize(event.passed, 'test')}, {took})" if event.passed else f"passes ({took})"
    failed = event.failed - len(event.aside)
    if event.aside and not failed:
        return f"passes ({pluralize(event.passed, 'test')}, {took}), except what cannot run here"
    if failed:
        return f"{failed} of {pluralize(ran - len(event.aside), 'test')} {'fails' if failed == 1 else 'fail'} ({took})"
    return f"fails with exit status {event.exit_status} ({took})"


def _tell_run_started(event: e.RunStarted, follow: _Follow) -> Told:
    return f"run started: {headline(event.plan.goal.instructions)}", ""


def _tell_run_resumed(event: e.RunResumed, follow: _Follow) -> Told:
    return f"run resumed with {event.models.get('main', '?')}", ""


def _tell_run_halted(event: e.RunHalted, follow: _Follow) -> Told:
    return f"run halted ({STATUS_WORDS[event.reason]}): {event.message}", "yellow"


def _tell_run_finished(event: e.RunFinished, follow: _Follow) -> Told:
    return f"run ended: {STATUS_WORDS[event.end]}: {event.summary}", STATUS_STYLES.get(event.end, "yellow")


def _tell_run_reopened(event: e.RunReopened, follow: _Follow) -> Told:
    return f"{event.by or 'a person'} rewound {event.task} to the end of round {event.round}", "yellow"


def _tell_applied(event: e.Applied, follow: _Follow) -> Told:
    return f"applied to the project{_name_person(event.by)}: {pluralize(len(event.files), 'file')}", "green"


def _tell_stop_requested(event: e.StopRequested, follow: _Follow) -> Told:
    return (
        f"{event.by or 'a person'} asked the run to stop {'now' if event.now else 'after the current effect'}",
        "yellow",
    )


def _tell_pause_requested(event: e.PauseRequested, follow: _Follow) -> Told:
    return f"{event.by or 'a person'} asked the run to pause", "yellow"


def _tell_plan_ruled(event: e.PlanRuled, follow: _Follow) -> Told:
    return f"{event.task}: {_describe_answer(event.says, event.wish, event.by or 'a person')}", ""


def _tell_command_held(event: e.CommandHeld, follow: _Follow) -> Told:
    whose = f" of {event.task}" if event.task else ""
    return f"a command{whose} is waiting for your approval: {first_line(event.line)}", "yellow"


def _tell_command_ruled(event: e.CommandRuled, follow: _Follow) -> Told:
    if event.allow:
        return f"{event.by or 'a person'} allowed the command", ""
    return f"{event.by} denied the command" if event.by else "nobody approved the command in time", "yellow"


def _tell_changes_answered(event: e.ChangesAnswered, follow: _Follow) -> Told:
    said = f": {first_line(event.say)}" if event.say else ""
    return f"{event.by or 'a person'} {'allows' if event.allow else 'denies'} {event.task} its test changes{said}", ""


def _tell_person_said(event: e.PersonSaid, follow: _Follow) -> Told:
    to = f" to {event.task}" if event.task else ""
    return f"{event.by or 'a person'} says{to}: {event.text}", "yellow"


def _tell_message_received(event: e.MessageReceived, follow: _Follow) -> Told:
    return f"message from {event.by or 'a person'}: {event.text}", "yellow"


def _tell_question_asked(event: e.QuestionAsked, follow: _Follow) -> Told:
    return f"asks you: {first_line(event.question)}", "yellow"


def _tell_task_created(event: e.TaskCreated, follow: _Follow) -> Told:
    step = event.step
    about = headline(step.title or step.instructions) or describe_command(step) or step.test_command or step.name
    return f"task created: {one_line(about)}", ""


def _tell_escalated(event: e.Escalated, follow: _Follow) -> Told:
    """The preceding signal already says what was found; trouble without a signal is described here."""
    trouble, decision = event.trouble, event.decision
    because = decision.reason.removeprefix(trouble.says).strip().removeprefix("(").removesuffix(")")
    why = because if trouble.pattern in PATTERNS else f"{_strip_period(trouble.says)}; {because}"
    return f"bough {RUNGS[decision.rung]}: {why}", "yellow"


def _strip_period(text: str) -> str:
    return text.rstrip(". ")


ASKED = {"gate": "the model that sizes the goal"}
"""Helpers whose own name says little."""


def _name_helper(helper: str) -> str:
    return ASKED.get(helper, f"the {helper.replace('_', ' ')}")


def _tell_helper_answered(event: e.HelperAnswered, follow: _Follow) -> Told:
    spent = f"{format_count(event.usage.input + event.usage.output)} tokens, {format_duration(event.seconds)}"
    return f"{_name_helper(event.helper)} answered ({spent}): {first_line(event.text)}", "dim"


def _tell_helper_failed(event: e.HelperFailed, follow: _Follow) -> Told:
    after = f"; retrying in {format_duration(event.wait)}" if event.wait else ""
    return f"{_name_helper(event.helper)} did not answer: {event.message.rstrip('.')}{after}", "yellow"


def _tell_context_pruned(event: e.ContextPruned, follow: _Follow) -> Told:
    who = "the fast model" if event.by == "model" else "plain rules"
    return f"context pruned by {who}: about {format_count(event.before)} tokens became {format_count(event.after)}", ""


def _tell_compaction_started(event: e.CompactionStarted, follow: _Follow) -> Told:
    full = f"about {format_count(event.used)} of {format_count(event.window)} tokens"
    return f"the conversation fills the model's window ({full}): compacting", "dim"


def _tell_compacted(event: e.Compacted, follow: _Follow) -> Told:
    who = "the fast model" if event.by == "model" else "plain rules"
    return (
        (
            f"conversation compacted by {who}: about {format_count(event.before)} tokens became "
            f"{format_count(event.after)}"
        ),
        "",
    )


def _tell_split_proposed(event: e.SplitProposed, follow: _Follow) -> Told:
    return f"the agent asks for smaller steps: {', '.join(step.name for step in event.steps)}", "yellow"


def _tell_planned(event: e.Planned, follow: _Follow) -> Told:
    dropped = f"; dropped: {', '.join(event.dropped)}" if event.dropped else ""
    return f"{event.why}: {', '.join(step.name for step in event.steps)}{dropped}", "yellow"


def _tell_estimated(event: e.Estimated, follow: _Follow) -> Told:
    size = "one piece of work" if event.atomic else f"about {pluralize(event.steps, 'step')}"
    return f"estimated: {size}{f' ({first_line(event.reason)})' if event.reason else ''}", ""


def _tell_requirements_read(event: e.RequirementsRead, follow: _Follow) -> Told:
    by = {"person": "as you listed them", "model": "as the model read them", "rule": "one per sentence"}[event.by]
    return f"{pluralize(len(event.requirements), 'requirement')}, {by}", ""


def _tell_examined(event: e.Examined, follow: _Follow) -> Told:
    aside = (
        f"; {pluralize(len(event.left_out), 'probe')} dropped: nothing in the goal asks for it"
        if event.left_out
        else ""
    )
    groups = len({probe.group for probe in event.probes})
    cases = f" with {pluralize(len(event.probes), 'case')}" if len(event.probes) > groups else ""
    return f"the {event.by} wrote {pluralize(groups, 'probe')}{cases}{aside}", ""


def _tell_difference_seen(event: e.DifferenceSeen, follow: _Follow) -> Told:
    seen = event.seen
    if seen.tests is not None:
        red = (
            f"{pluralize(len(seen.tests), 'new test')} fail without the work" if seen.tests else "none fail without it"
        )
        return f"the agent's new tests, run without the work: {red}", ""
    if not seen.code:
        return "the change has no code: only documents, comments, tests or layout", ""
    return "your check fails without the work" if seen.check else "the change has code", "dim"


def _tell_evidence_judged(event: e.EvidenceJudged, follow: _Follow) -> Told:
    if not event.missing:
        return f"shown for {pluralize(len(event.shown), 'requirement')}: the work made the difference", "green"
    numbers = ", ".join(map(str, event.missing))
    return f"nothing shows that the work made the difference for {numbers}", "yellow"


def _tell_message_read(event: e.MessageRead, follow: _Follow) -> Told:
    if not event.requirements:
        return "the message demands nothing: it is passed on", "dim"
    added = "; ".join(first_line(str(one)) for one in event.requirements)
    instead = ", ".join(map(str, sorted(event.replaces)))
    replaced = f", replacing {instead}" if instead else ""
    owner = f" (for {event.owner})" if event.owner else ""
    return f"your message adds {pluralize(len(event.requirements), 'requirement')}{replaced}{owner}: {added}", "yellow"


def _tell_requirement_restored(event: e.RequirementRestored, follow: _Follow) -> Told:
    return f"requirement {event.number} counts again{_name_person(event.by)}", "yellow"


def _tell_accepted(event: e.Accepted, follow: _Follow) -> Told:
    return f"accepted without proof{_name_person(event.by)}{f': {event.why}' if event.why else ''}", "yellow"


def _tell_merge_started(event: e.MergeStarted, follow: _Follow) -> Told:
    return f"merging its step {event.child}", "dim"


def _tell_examination_skipped(event: e.ExaminationSkipped, follow: _Follow) -> Told:
    return f"not examined: {event.why}", "dim"


def _tell_probes_started(event: e.ProbesStarted, follow: _Follow) -> Told:
    return f"running {pluralize(len(event.names), 'case')} of probes", "dim"


def _tell_probes_finished(event: e.ProbesFinished, follow: _Follow) -> Told:
    failed = [result.name for result in event.results if result.outcome == "failed"]
    passed = sum(result.outcome == "passed" for result in event.results)
    took = f" ({format_duration(event.seconds)})"
    if failed:
        return f"{pluralize(len(failed), 'case')} of {len(event.results)} failed{took}: {', '.join(failed)}", "red"
    red = sum(result.outcome != "passed" for result in event.before)
    before = f"; {red} of {len(event.before)} fail without the work" if event.before else ""
    return f"{passed} of {pluralize(len(event.results), 'case')} passed, none failed{before}{took}", "green"


def _tell_probe_contested(event: e.ProbeContested, follow: _Follow) -> Told:
    return f"{event.probe} is contested: {event.reason}", "yellow"


def _tell_probe_ruled(event: e.ProbeRuled, follow: _Follow) -> Told:
    ruling = event.ruling
    if ruling.demanded:
        return f"the judge upholds {event.probe}: the goal says “{ruling.quote}”", "yellow"
    return f"the judge drops {event.probe}: {ruling.reason}", ""


def _tell_plan_proposed(event: e.PlanProposed, follow: _Follow) -> Told:
    return f"plan proposed: {', '.join(step.name for step in event.steps)}", ""


def _tell_plan_answered(event: e.PlanAnswered, follow: _Follow) -> Told:
    return _describe_answer(event.says, event.wish, event.by or "the person"), ""


def _describe_answer(says: str, wish: str, person: str) -> str:
    words = {
        "yes": "accepted the plan",
        "no": "chose to run it as one piece of work",
        "change": f"asked for another plan: {wish}",
        "own": "changed the plan",
    }
    return f"{person} {words[says]}"


def _tell_plan_changed(event: e.PlanChanged, follow: _Follow) -> Told:
    return (f"plan changed: {'; '.join(event.said)}", "yellow") if event.said else ("plan unchanged", "dim")


def _tell_granted(event: e.Granted, follow: _Follow) -> Told:
    return f"budget raised to fit the plan: {format_limits(event.limits)}", ""


def _tell_plan_refused(event: e.PlanRefused, follow: _Follow) -> Told:
    again = "" if event.final else " (one more try)"
    return f"plan rejected{again}: {' '.join(event.problems)}", "yellow"


def _tell_reported(event: e.Reported, follow: _Follow) -> Told:
    return f"report: {first_line(event.text)}", ""


def _tell_person_answered(event: e.PersonAnswered, follow: _Follow) -> Told:
    who = event.by or "the person"
    return f"{who} answers: {event.text}" if event.text else "nobody answered the question", ""


def _tell_child_started(event: e.ChildStarted, follow: _Follow) -> Told:
    return f"step {event.task} starts with {pluralize(event.grant.rounds, 'round')}", "dim"


def _tell_children_reopened(event: e.ChildrenReopened, follow: _Follow) -> Told:
    return f"reopened: {', '.join(event.children)} ({event.why})", "yellow"


def _tell_pass_ended(event: e.PassEnded, follow: _Follow) -> Told:
    return f"pass {event.number} finished: {event.why}", ""


def _tell_transition_taken(event: e.TransitionTaken, follow: _Follow) -> Told:
    return f"next: {event.to} ({event.why})", "cyan"


def _tell_command_started(event: e.CommandStarted, follow: _Follow) -> Told:
    return f"runs {one_line(event.command)}", ""


def _tell_command_finished(event: e.CommandFinished, follow: _Follow) -> Told:
    if event.interrupted:
        return "its command was interrupted", "yellow"
    how = f"killed {event.killed}" if event.killed else f"exit status {event.exit_status}"
    words = (first_line if event.ok else last_line)(event.output)
    return (
        f"its command ended: {how}, {format_duration(event.seconds)}{': ' if words else ''}{words}",
        "" if event.ok else "red",
    )


def _tell_work_taken(event: e.WorkTaken, follow: _Follow) -> Told:
    return f"takes over the work of {event.run}", "cyan"


def _tell_reviewed(event: e.Reviewed, follow: _Follow) -> Told:
    if event.problems:
        return f"no review, so no approval: {event.problems[0]}", "yellow"
    if not event.findings:
        return "the critic found nothing to change", "green"
    worst = event.findings[0]
    return f"the critic found {pluralize(len(event.findings), 'thing')}: {worst.file}: {worst.what}", "yellow"


def _tell_summarized(event: e.Summarized, follow: _Follow) -> Told:
    who = "the fast model" if event.by == "model" else "plain rules"
    return f"summarized by {who}: {first_line(event.text)}", ""


def _tell_taken_up(event: e.TakenUp, follow: _Follow) -> Told:
    return f"retried with the {event.tier} model: {event.why}", "cyan"


def _servers_listed(event: e.ToolServersListed, follow: _Follow) -> Told:
    offered = [f"{name} offers {pluralize(len(tools), 'tool')}" for name, tools in event.tools.items()]
    lost = [f"{name} is unavailable: {why.rstrip('.')}" for name, why in event.failed.items()]
    return f"MCP servers: {'; '.join([*offered, *lost])}", "yellow" if lost else "dim"


def _tell_state_changed(event: e.StateChanged, follow: _Follow) -> Told:
    return f"{describe_state(event.to)}: {event.why}", STATE_STYLES.get(event.to, "")


def _tell_workspace_opened(event: e.WorkspaceOpened, follow: _Follow) -> Told:
    return f"workspace opened at tree {event.tree[:10]}", "dim"


def _tell_attempt_started(event: e.AttemptStarted, follow: _Follow) -> Told:
    follow.attempts += 1
    follow.asking = False
    model = "" if event.tier == "main" else f" with the {event.tier} model"
    model = f" ({title_of(event.agent)})" if event.agent else model
    how = f", in text ({event.why})" if event.protocol == "text" and event.why else ""
    return f"attempt {follow.attempts}: {ROLES[event.role]} started{model}{how}", ""


def _tell_round_started(event: e.RoundStarted, follow: _Follow) -> Told:
    again = follow.asking
    follow.rounds += not again
    follow.asking = True
    last = " (last round: hand over)" if event.last else ""
    return f"round {follow.rounds}: asking the model{' again' if again else ''}{last}", "dim"


def _tell_model_failed(event: e.ModelFailed, follow: _Follow) -> Told:
    follow.asking = True
    after = f"; retrying in {format_duration(event.wait)}" if event.wait else ""
    return f"the model did not answer: {event.message.rstrip('.')}{after}", "yellow"


def _tell_model_answered(event: e.ModelAnswered, follow: _Follow) -> Told:
    follow.asking = False
    follow.calls = {call.id: call for call in event.calls}
    price = "" if event.cost is None else f", {format_money(event.cost)}"
    about = "about " if event.usage.estimated else ""
    tokens = f"{about}{format_count(event.usage.input)} tokens in, {format_count(event.usage.output)} out"
    usage = f"{tokens}{price}, {format_duration(event.seconds)}"
    said = first_line(event.text)
    calls = ", ".join(call.name for call in event.calls)
    words = " → ".join(part for part in (said, calls) if part) or "empty answer"
    return f"round {follow.rounds}: the model answers ({usage}): {words}", ""


def _tell_message_added(event: e.MessageAdded, follow: _Follow) -> Told:
    return f"bough tells the agent ({event.why.replace('_', ' ')}): {first_line(event.text)}", ""


def _tell_tool_started(event: e.ToolStarted, follow: _Follow) -> Told:
    return f"{_describe_call_by_id(event.call, follow)} …", "dim"


def _tell_tool_finished(event: e.ToolFinished, follow: _Follow) -> Told:
    if event.interrupted:
        how, words, style = "interrupted", "", "yellow"
    elif not event.ok:
        how, words, style = "failed", last_line(event.output), "yellow"
    else:
        how, words, style = "done", first_line(event.output), ""
    return (
        (
            f"{_describe_call_by_id(event.call, follow)}: {how}, "
            f"{format_duration(event.seconds)}{': ' if words else ''}{words}"
        ),
        style,
    )


def _describe_call_by_id(call: str, follow: _Follow) -> str:
    return _shorten_call(follow.calls[call]) if call in follow.calls else "a tool"


def _shorten_call(call: Call, room: int = 60) -> str:
    words = one_line(describe_call(call))
    return words if len(words) <= room else words[: room - 1].rstrip() + "…"


def _tell_signal_raised(event: e.SignalRaised, follow: _Follow) -> Told:
    signal = event.signal
    seen = f"; most recently: {signal.evidence[-1]}" if signal.evidence else ""
    head = "stuck" if signal.rounds else "taking stock"
    return f"{head} ({PATTERNS[signal.pattern]}): {_strip_period(signal.diagnosis)}{seen}", "yellow"


def _tell_note_kept(event: e.NoteKept, follow: _Follow) -> Told:
    return f"notes a {event.kind.replace('_', ' ')}: {event.text}", ""


def _tell_done_claimed(event: e.DoneClaimed, follow: _Follow) -> Told:
    return f"the agent says it is done: {first_line(event.summary)}", ""


def _tell_workspace_restored(event: e.WorkspaceRestored, follow: _Follow) -> Told:
    return f"workspace restored to tree {event.tree[:10]}: {event.why}", "yellow"


def _tell_check_started(event: e.CheckStarted, follow: _Follow) -> Told:
    where = f" ({event.found})" if event.found else ""
    return f"running the check: {event.command}{where}" if event.command else "no check to run", ""


def _tell_check_finished(event: e.CheckFinished, follow: _Follow) -> Told:
    return describe_verdict(event.verdict), choose_style(event.verdict)


def _tell_disputed(event: e.Disputed, follow: _Follow) -> Told:
    return f"the agent disputes {event.test}: {first_line(event.evidence)}", "yellow"


def _tell_changes_asked(event: e.ChangesAsked, follow: _Follow) -> Told:
    return f"asks you whether original tests may change: {', '.join(event.tests)}", "yellow"


def _tell_changes_ruled(event: e.ChangesRuled, follow: _Follow) -> Told:
    who = {"judge": "the judge", "person": "you", "earlier": "an earlier decision"}[event.by]
    allow = "allow" if event.by == "person" else "allows"
    if event.allowed:
        tests = ", ".join(one.test for one in event.allowed)
        return f"{who} {allow} changes to tests: {tests} ({event.allowed[0].why})", "yellow"
    if event.by == "earlier":
        return f"{who} {allow} these test changes", ""
    said = f": {first_line(event.why)}" if event.why else ""
    return f"{who} {'do' if event.by == 'person' else 'does'} not allow the test changes{said}", "yellow"


def _tell_finding_returned(event: e.FindingReturned, follow: _Follow) -> Told:
    return f"sent back to the same agent: {first_line(event.text)}", "yellow"


def _tell_checkpoint_made(event: e.CheckpointMade, follow: _Follow) -> Told:
    return f"checkpoint {event.commit[:10]}: {pluralize(len(event.files), 'file')} changed", ""


def _tell_child_merged(event: e.ChildMerged, follow: _Follow) -> Told:
    if event.conflicts:
        return (
            f"its step {event.child} conflicts with work merged meanwhile: {', '.join(event.conflicts)}",
            "yellow",
        )
    assert event.verdict is not None, "a merge without conflicts is checked"
    how = f" (kept both additions in {', '.join(event.both)})" if event.both else ""
    how += f" ({', '.join(event.remade)} regenerated)" if event.remade else ""
    return f"merged its step {event.child}{how}: {describe_verdict(event.verdict)}", choose_style(event.verdict)


def _tell_child_held(event: e.ChildHeld, follow: _Follow) -> Told:
    return f"its step {event.step} {describe_wait(event.other, event.files)}", ""


def _tell_child_settled(event: e.ChildSettled, follow: _Follow) -> Told:
    # For a completed step, what its check said once its work was merged with that of others.
    why = (event.state is State.COMPLETED and event.verdict) or event.why
    return f"its step {event.child} is {describe_state(event.state)}: {why}", STATE_STYLES.get(event.state, "")


def _tell_task_halted(event: e.TaskHalted, follow: _Follow) -> Told:
    return f"halted ({STATUS_WORDS[event.reason]}): {event.message}", "yellow"


def _tell_task_resumed(event: e.TaskResumed, follow: _Follow) -> Told:
    return "resumed", ""


def _tell_task_rewound(event: e.TaskRewound, follow: _Follow) -> Told:
    follow.asking = False
    return f"rewound to its version {event.version}; later events no longer count", "yellow"


def describe_state(state: State) -> str:
    return state.value.replace("_", " ")


TELL: dict[type, Callable[[Any, _Follow], Told]] = {
    e.RunStarted: _tell_run_started,
    e.RunResumed: _tell_run_resumed,
    e.BaseStarted: _tell_base_started,
    e.BaseChecked: _tell_base_checked,
    e.CheckScouted: _tell_check_scouted,
    e.Judged: _tell_judged,
    e.RunHalted: _tell_run_halted,
    e.RunFinished: _tell_run_finished,
    e.RunReopened: _tell_run_reopened,
    e.Applied: _tell_applied,
    e.Undone: _tell_undone,
    e.StopRequested: _tell_stop_requested,
    e.PauseRequested: _tell_pause_requested,
    e.PersonSaid: _tell_person_said,
    e.PlanRuled: _tell_plan_ruled,
    e.CommandHeld: _tell_command_held,
    e.CommandRuled: _tell_command_ruled,
    e.ChangesAnswered: _tell_changes_answered,
    e.MessageReceived: _tell_message_received,
    e.QuestionAsked: _tell_question_asked,
    e.TaskCreated: _tell_task_created,
    e.StateChanged: _tell_state_changed,
    e.WorkspaceOpened: _tell_workspace_opened,
    e.ToolServersListed: _servers_listed,
    e.AttemptStarted: _tell_attempt_started,
    e.RoundStarted: _tell_round_started,
    e.ModelFailed: _tell_model_failed,
    e.ModelAnswered: _tell_model_answered,
    e.MessageAdded: _tell_message_added,
    e.ToolStarted: _tell_tool_started,
    e.ToolFinished: _tell_tool_finished,
    e.NoteKept: _tell_note_kept,
    e.SignalRaised: _tell_signal_raised,
    e.Escalated: _tell_escalated,
    e.HelperAnswered: _tell_helper_answered,
    e.HelperFailed: _tell_helper_failed,
    e.ContextPruned: _tell_context_pruned,
    e.Estimated: _tell_estimated,
    e.RequirementsRead: _tell_requirements_read,
    e.Examined: _tell_examined,
    e.ExaminationSkipped: _tell_examination_skipped,
    e.ProbesStarted: _tell_probes_started,
    e.ProbesFinished: _tell_probes_finished,
    e.DifferenceSeen: _tell_difference_seen,
    e.EvidenceJudged: _tell_evidence_judged,
    e.MessageRead: _tell_message_read,
    e.RequirementRestored: _tell_requirement_restored,
    e.Accepted: _tell_accepted,
    e.MergeStarted: _tell_merge_started,
    e.ProbeContested: _tell_probe_contested,
    e.ProbeRuled: _tell_probe_ruled,
    e.PlanProposed: _tell_plan_proposed,
    e.PlanAnswered: _tell_plan_answered,
    e.PlanChanged: _tell_plan_changed,
    e.Granted: _tell_granted,
    e.CompactionStarted: _tell_compaction_started,
    e.Compacted: _tell_compacted,
    e.SplitProposed: _tell_split_proposed,
    e.Planned: _tell_planned,
    e.PlanRefused: _tell_plan_refused,
    e.Reported: _tell_reported,
    e.PersonAnswered: _tell_person_answered,
    e.ChildStarted: _tell_child_started,
    e.ChildrenReopened: _tell_children_reopened,
    e.PassEnded: _tell_pass_ended,
    e.TransitionTaken: _tell_transition_taken,
    e.CommandStarted: _tell_command_started,
    e.CommandFinished: _tell_command_finished,
    e.Reviewed: _tell_reviewed,
    e.WorkTaken: _tell_work_taken,
    e.Summarized: _tell_summarized,
    e.TakenUp: _tell_taken_up,
    e.DoneClaimed: _tell_done_claimed,
    e.WorkspaceRestored: _tell_workspace_restored,
    e.CheckStarted: _tell_check_started,
    e.CheckFinished: _tell_check_finished,
    e.Disputed: _tell_disputed,
    e.ChangesAsked: _tell_changes_asked,
    e.ChangesRuled: _tell_changes_ruled,
    e.FindingReturned: _tell_finding_returned,
    e.CheckpointMade: _tell_checkpoint_made,
    e.ChildMerged: _tell_child_merged,
    e.ChildHeld: _tell_child_held,
    e.ChildSettled: _tell_child_settled,
    e.TaskHalted: _tell_task_halted,
    e.TaskResumed: _tell_task_resumed,
    e.TaskRewound: _tell_task_rewound,
}
