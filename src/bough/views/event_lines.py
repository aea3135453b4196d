"""Describes each event on one line, in plain words: here those of the run itself and of what people did or said, in
`task_events.py` those of tasks. An `EventFormatter` follows a run's events, because a line may need earlier events: a
finished call carries only its id, and rounds must be counted."""

from typing import Any

from bough.core import events as e
from bough.core.tree.task_state import State
from bough.views.formatting import first_line, format_duration, format_money, given, headline, pluralize
from bough.views.task_events import TASK_LINES, TaskMemory, Tell, shorten_call, tell_round
from bough.views.vocabulary import STATUS_STYLES, STATUS_WORDS, Told, choose_style, describe_recheck, describe_verdict

NEWS = frozenset[type](
    {
        *(e.CheckFinished, e.NoteKept, e.ModelFailed, e.WorkspaceRestored, e.SignalRaised, e.Escalated, e.Planned),
        *(e.PlanRefused, e.ChildSettled, e.PassEnded, e.CheckStarted, e.ProbesStarted, e.MergeStarted, e.MessageRead),
        *(e.EvidenceJudged, e.Examined, e.ExaminationSkipped, e.ProbesFinished, e.ProbeContested, e.ProbeRuled),
        *(e.Estimated, e.PlanAnswered, e.PlanChanged, e.Granted, e.Disputed, e.ChangesAsked, e.ChangesRuled),
        *(e.FindingReturned, e.TransitionTaken, e.CommandStarted, e.CommandFinished, e.Reviewed, e.ChildMerged),
        *(e.ChildHeld, e.ContextPruned, e.Compacted, e.HelperFailed, e.PersonAnswered, e.MessageReceived),
        *(e.ChildrenReopened, e.ModelSwitched),
    }
)
"""The types of events that a live viewer shows because they are turning points."""


def _by(it: Any) -> str:
    return it.by or "a person"


def _name(person: str) -> str:
    return given(" by {}", person)


def _tell_finished(event: e.RunFinished) -> Told:
    if event.summary.startswith("accepted by "):
        return f"run ended: {event.summary}", "yellow"
    return f"run ended: {STATUS_WORDS[event.end]}: {event.summary}", STATUS_STYLES.get(event.end, "yellow")


def _tell_message_read(event: e.MessageRead) -> Told:
    if not event.requirements:
        return "the message demands nothing: it is passed on", "dim"
    added = "; ".join(first_line(str(one)) for one in event.requirements)
    replaced = given(", replacing {}", ", ".join(map(str, sorted(event.replaces))))
    owner = given(" (for {})", event.owner)
    return f"your message adds {pluralize(len(event.requirements), 'requirement')}{replaced}{owner}: {added}", "yellow"


def _tell_ruled(event: e.CommandRuled) -> Told:
    if event.allow:
        return f"{_by(event)} allowed the command", ""
    return given("{} denied the command", event.by, "nobody approved the command in time"), "yellow"


def _describe_answer(event: e.PlanRuled | e.PlanAnswered, person: str) -> str:
    words = {
        "yes": "accepted the plan",
        "no": "chose to run it as one piece of work",
        "change": f"asked for another plan: {event.wish}",
        "own": "changed the plan",
    }
    return f"{person} {words[event.says]}"


def describe_scouting(event: e.CheckScouted) -> str:
    """Describe the checks that a model proposed, those that were refused and why, and the cost."""
    refused = "; ".join(f"`{command}`: {why}" if command else why for command, why in event.refused.items())
    asked = f"{event.model or 'a model'}, {pluralize(event.rounds, 'request')}" if event.rounds else "a model"
    price = f", {format_money(event.cost)}" if event.cost else ""
    left = f"; not used: {refused}" if refused else ""
    return f"{asked}{price}, proposed {', '.join(f'`{one}`' for one in event.commands) or 'no command'}{left}"


def describe_base(event: e.BaseChecked) -> str:
    """Describe the check before any work: `passes (133 tests, 2.4 s)`, `20 of 133 tests fail`, `cannot start`."""
    ran, took = event.passed + event.failed, format_duration(event.seconds)
    if not event.command:
        return "no check found"
    if event.lacking:
        how = "" if event.exit_status in (None, 0) else f" (exit status {event.exit_status})"
        return f"cannot start{how}: {event.lacking}"
    if event.exit_status is None:
        return f"timed out: killed after {took}; raise `[check] timeout`"
    if event.exit_status == 0 and event.failed:
        return f"{event.failed} of {pluralize(ran, 'test')} fail, with exit status 0 ({took})"
    if event.exit_status == 0:
        told = f"its output speaks of {pluralize(event.told, 'test')}, " if event.told else ""
        return f"passes ({pluralize(event.passed, 'test') + ', ' if event.passed else told}{took})"
    failed = event.failed - len(event.aside)
    if event.aside and not failed:
        return f"passes ({pluralize(event.passed, 'test')}, {took}), except what cannot run here"
    if failed:
        return f"{failed} of {pluralize(ran - len(event.aside), 'test')} {'fails' if failed == 1 else 'fail'} ({took})"
    beside = f"{pluralize(event.passed, 'test')} passed, but the command " if event.passed else ""
    return f"{beside}fails with exit status {event.exit_status} ({took})"


RUN_LINES: dict[type, Tell] = {
    e.RunStarted: lambda it: f"run started: {headline(it.plan.goal.instructions)}",
    e.RunResumed: lambda it: f"run resumed with {it.models.get('main', '?')}",
    e.RunHalted: lambda it: (f"run halted ({STATUS_WORDS[it.reason]}): {it.message}", "yellow"),
    e.RunFinished: _tell_finished,
    e.RunReopened: lambda it: (f"{_by(it)} rewound {it.task} to the end of round {it.round}", "yellow"),
    e.BaseStarted: lambda it: f"checking the base: {it.command}",
    e.BaseChecked: lambda it: (f"before the work: {describe_base(it)}", "red" if it.lacking else ""),
    e.CheckScouted: lambda it: f"scout: {describe_scouting(it)}",
    e.Judged: lambda it: (f"verified again: {describe_verdict(it.verdict)}", choose_style(it.verdict)),
    e.Applied: lambda it: (f"applied to the project{_name(it.by)}: {pluralize(len(it.files), 'file')}", "green"),
    e.Undone: lambda it: (f"undone in your files{_name(it.by)}: {pluralize(len(it.files), 'file')}", "yellow"),
    e.HookFailed: lambda it: (f"your hook for {it.hook} {it.why}", "yellow"),
    e.Rechecked: lambda it: (f"checked again: {describe_recheck(it)}", "green" if it.standing == "proven" else "red"),
    e.PartTried: lambda it: (f"without a part of the change {(*it.asked, *it.others, 'nothing')[0]} fails", "dim"),
    e.NeedlessFound: lambda it: (
        f"parts of the change that nothing needs: {len(it.needless)}; undecided: {len(it.undecided)} "
        f"({pluralize(it.checks, 'check')})"
    ),
    e.Accepted: lambda it: (f"accepted without proof{_name(it.by)}{given(': {}', it.why)}", "yellow"),
    # what people ask for, say and answer, and what bough asks them
    e.StopRequested: lambda it: (
        f"{_by(it)} asked the run to stop {'now' if it.now else 'after the current effect'}",
        "yellow",
    ),
    e.PauseRequested: lambda it: (f"{_by(it)} asked the run to pause", "yellow"),
    e.PersonSaid: lambda it: (f"{_by(it)} says{given(' to {}', it.task)}: {it.text}", "yellow"),
    e.MessageReceived: lambda it: (f"message from {_by(it)}: {it.text}", "yellow"),
    e.MessageRead: _tell_message_read,
    e.RequirementRestored: lambda it: (f"requirement {it.number} counts again{_name(it.by)}", "yellow"),
    e.RequirementsDropped: lambda it: (
        f"requirement{'s' if len(it.numbers) > 1 else ''} {', '.join(map(str, it.numbers))} dropped{_name(it.by)}",
        "yellow",
    ),
    e.QuestionAsked: lambda it: (f"asks you: {first_line(it.question)}", "yellow"),
    e.PersonAnswered: lambda it: (
        f"{it.by or 'the person'} answers: {it.text}" if it.text else "nobody answered the question"
    ),
    e.PlanRuled: lambda it: f"{it.task}: {_describe_answer(it, _by(it))}",
    e.PlanAnswered: lambda it: _describe_answer(it, it.by or "the person"),
    e.CommandHeld: lambda it: (
        f"a command{given(' of {}', it.task)} is waiting for your approval: {first_line(it.line)}",
        "yellow",
    ),
    e.CommandRuled: _tell_ruled,
    e.ChangesAnswered: lambda it: (
        f"{_by(it)} {'allows' if it.allow else 'denies'} {it.task} its test changes{given(': {}', first_line(it.say))}"
    ),
}
LINES = RUN_LINES | TASK_LINES
"""How each event is described, unless its line needs the memory of earlier ones (`tell_round`)."""


class EventFormatter:
    def __init__(self) -> None:
        self._tasks: dict[str, TaskMemory] = {}

    def tell(self, record: e.Record) -> Told:
        """Describe this event. Pass events in order: later ones may need earlier ones."""
        if tell := LINES.get(type(record.event)):
            told = tell(record.event)
            return (told, "") if isinstance(told, str) else told
        found = tell_round(record.event, self._tasks.setdefault(record.task, TaskMemory()))
        if found is None:
            raise LookupError(f"No description is defined for the event {type(record.event).__name__}.")
        return found

    def round(self, task: str) -> int:
        return self._tasks[task].rounds if task in self._tasks else 0

    def news(self, record: e.Record) -> Told | None:
        """Describe the event for a live viewer if it ends a round or is a turning point; else return None."""
        told = self.tell(record)
        match record.event:
            case e.ModelAnswered(text=text, calls=calls):
                called = ", ".join(map(shorten_call, calls))
                words = called or (f"says: {first_line(text)}" if text.strip() else "empty answer")
                return f"round {self.round(record.task)}: {words}", ""
            case e.StateChanged(to=state):  # The verdict already says that a test failed.
                return told if state is not State.TEST_FAILED else None
            case e.RequirementsRead(requirements=found):
                return told if len(found) > 1 else None
            case e.ToolFinished(ok=ok):
                return None if ok else told
            case event:
                return told if type(event) in NEWS else None
