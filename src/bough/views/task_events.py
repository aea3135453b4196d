"""Describes a task's events: its plan and steps, attempts, rounds and tool calls, bough's reaction when it is stuck,
and its checks, examinations and disputes."""

from msgspec import Struct, field

from bough.core import events as e
from bough.core.messages import Call
from bough.core.planning.plan import Step
from bough.core.settings.sections import title_of
from bough.core.tree.task_state import State
from bough.views.formatting import (
    cut,
    first_line,
    format_count,
    format_duration,
    format_limits,
    format_money,
    headline,
    last_line,
    one_line,
    pluralize,
)
from bough.views.run_view import describe_wait
from bough.views.task_view import describe_call, make_title
from bough.views.vocabulary import (
    PATTERNS,
    ROLES,
    RUNGS,
    STATE_STYLES,
    STATUS_WORDS,
    Told,
    choose_style,
    describe_state,
    describe_verdict,
)

ASKED = {"gate": "the model that sizes the goal"}
"""Plain names of helper models."""


class TaskMemory(Struct):
    """Facts from a task's earlier events that are needed to describe later ones."""

    rounds: int = 0
    attempts: int = 0
    calls: dict[str, Call] = field(default_factory=dict)
    asking: bool = False

    def describe_call(self, id: str) -> str:
        return shorten_call(self.calls[id]) if id in self.calls else "a tool"


def shorten_call(call: Call) -> str:
    return cut(one_line(describe_call(call)), 60)


def _name_summarizer(by: str) -> str:
    return "the fast model" if by == "model" else "plain rules"


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
        case e.ModelSwitched():
            return f"{event.model} answers from here on: {event.why.rstrip('.')}", "yellow"
        case e.TaskRewound():
            memory.asking = False
            return f"rewound to its event {event.version}; later events no longer count", "yellow"
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
        case e.GoalProposed():
            return f"proposes a goal: {event.title}", ""
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
    calls = ", ".join(call.name for call in event.calls)
    words = " → ".join(part for part in (first_line(event.text), calls) if part) or "empty answer"
    return f"round {memory.rounds}: {describe_answer(event)}: {words}", ""


def describe_answer(event: e.ModelAnswered) -> str:
    """Return `the model answers (12.3k tokens in, 420 out, $0.02, 3.1 s)`, with `about` if the tokens are estimated."""
    if event.spare:
        return "another of its answers is tried"
    about = "about " if event.usage.estimated else ""
    tokens = f"{about}{format_count(event.usage.input)} tokens in, {format_count(event.usage.output)} out"
    price = "" if event.cost is None else f", {format_money(event.cost)}"
    more = f", and {pluralize(len(event.others), 'further answer')}" if event.others else ""
    return f"the model answers ({tokens}{price}, {format_duration(event.seconds)}{more})"


def tell_task(event: e.AnyEvent) -> Told | None:
    """Describe a task's beginning and states, and the handling of its conversation and of stuck work."""
    match event:
        case e.TaskCreated(step=step):
            return f"task created: {headline(make_title(step) or step.name)}", ""
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
            # The preceding signal already says why the work is stuck; trouble that had no signal is described here.
            because = decision.reason.removeprefix(trouble.says).strip().removeprefix("(").removesuffix(")")
            why = because if trouble.pattern in PATTERNS else f"{trouble.says.rstrip('. ')}; {because}"
            return f"bough {RUNGS[decision.rung]}: {why}", "yellow"
        case e.ContextPruned() | e.Compacted():
            what = "context pruned" if isinstance(event, e.ContextPruned) else "conversation compacted"
            sizes = f"about {format_count(event.before)} tokens became {format_count(event.after)}"
            return f"{what} by {_name_summarizer(event.by)}: {sizes}", ""
        case e.CompactionStarted():
            full = f"about {format_count(event.used)} of {format_count(event.window)} tokens"
            return f"the conversation fills the model's window ({full}): compacting", "dim"
        case e.Reported():
            return f"report: {first_line(event.text)}", ""
        case e.TaskHalted():
            return f"halted ({STATUS_WORDS[event.reason]}): {event.message}", "yellow"
        case e.TaskResumed():
            return "resumed", ""
        case _:
            return None


def tell_plan(event: e.AnyEvent) -> Told | None:
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


def tell_step(event: e.AnyEvent) -> Told | None:
    """Describe a task's steps: their start, commands, end and merge."""
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
            # For a completed step, show the result of the check that ran after the merge.
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
            return f"summarized by {_name_summarizer(event.by)}: {first_line(event.text)}", ""
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


def tell_check(event: e.AnyEvent) -> Told | None:
    match event:
        case e.CheckStarted():
            where = f" ({event.found})" if event.found else ""
            return f"running the check: {event.command}{where}" if event.command else "no check to run", ""
        case e.CheckFinished():
            return describe_verdict(event.verdict), choose_style(event.verdict)
        case e.CheckpointMade():
            return f"checkpoint {event.commit[:10]}: {pluralize(len(event.files), 'file')} changed", ""
        case e.Disputed():
            return f"the agent disputes {event.test}: {first_line(event.evidence)}", "yellow"
        case e.ChangesAsked():
            return f"asks you whether original tests may change: {', '.join(event.tests)}", "yellow"
        case e.ChangesRuled():
            return _tell_changes_ruled(event)
        case e.FindingReturned():
            return f"sent back to the same agent: {first_line(event.text)}", "yellow"
        case _:
            return None


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


def tell_examination(event: e.AnyEvent) -> Told | None:
    match event:
        case e.Examined():
            left = pluralize(len(event.left_out), "probe")
            aside = f"; {left} dropped: nothing in the goal asks for it" if event.left_out else ""
            return f"the {event.by} wrote {pluralize(len(event.probes), 'probe')}{aside}", ""
        case e.ExaminationSkipped():
            return f"not examined: {event.why}", "dim"
        case e.ProbesStarted():
            return f"running {pluralize(len(event.names), 'case')} of probes", "dim"
        case e.ProbesFinished():
            return _tell_probes_finished(event)
        case e.ProbeContested():
            return f"{event.probe} is contested: {event.reason}", "yellow"
        case e.ProbeRuled(ruling=ruling):
            if ruling.demanded:
                return f"the judge upholds {event.probe}: the goal says “{ruling.quote}”", "yellow"
            return f"the judge drops {event.probe}: {ruling.reason}", ""
        case e.DifferenceSeen(seen=seen):
            if seen.tests is not None:
                red = f"{pluralize(len(seen.tests), 'new test')} fail without the work"
                told = red if seen.tests else "none fail without it"
                return f"the agent's new tests, run without the work: {told}", ""
            if not seen.code:
                return "the change has no code: only documents, comments, tests or layout", ""
            return "your check fails without the work" if seen.check else "the change has code", "dim"
        case e.EvidenceJudged():
            if not event.missing:
                return f"shown for {pluralize(len(event.shown), 'requirement')}: the work made the difference", "green"
            numbers = ", ".join(map(str, event.missing))
            return f"nothing shows that the work made the difference for {numbers}", "yellow"
        case e.Reviewed(problems=problems, findings=findings):
            if problems:
                return f"no review, so no approval: {problems[0]}", "yellow"
            if not findings:
                return "the critic found nothing to change", "green"
            found = pluralize(len(findings), "thing")
            return f"the critic found {found}: {findings[0].file}: {findings[0].what}", "yellow"
        case _:
            return None


def _tell_probes_finished(event: e.ProbesFinished) -> Told:
    failed = [result.name for result in event.results if result.outcome == "failed"]
    passed = sum(result.outcome == "passed" for result in event.results)
    took = f" ({format_duration(event.seconds)})"
    if failed:
        return f"{pluralize(len(failed), 'case')} of {len(event.results)} failed{took}: {', '.join(failed)}", "red"
    red = sum(result.outcome != "passed" for result in event.before)
    before = f"; {red} of {len(event.before)} fail without the work" if event.before else ""
    return f"{passed} of {pluralize(len(event.results), 'case')} passed, none failed{before}{took}", "green"
