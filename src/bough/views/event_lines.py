"""Describes each event on one line, in plain words: here those of the run itself and of what people did or said, in
`task_events.py` those of tasks. An `EventFormatter` follows a run's events, because a line may need earlier events: a
finished call carries only its id, and rounds must be counted."""

from bough.core import events as e
from bough.core.tree.task_state import State
from bough.views import task_events
from bough.views.formatting import first_line, format_duration, format_money, headline, pluralize
from bough.views.task_events import TaskMemory, shorten_call, tell_round
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


def tell_run(event: e.AnyEvent) -> Told | None:
    match event:
        case e.RunStarted():
            return f"run started: {headline(event.plan.goal.instructions)}", ""
        case e.RunResumed():
            return f"run resumed with {event.models.get('main', '?')}", ""
        case e.RunHalted():
            return f"run halted ({STATUS_WORDS[event.reason]}): {event.message}", "yellow"
        case e.RunFinished():
            if event.summary.startswith("accepted by "):
                return f"run ended: {event.summary}", "yellow"
            return f"run ended: {STATUS_WORDS[event.end]}: {event.summary}", STATUS_STYLES.get(event.end, "yellow")
        case e.RunReopened():
            return f"{event.by or 'a person'} rewound {event.task} to the end of round {event.round}", "yellow"
        case e.BaseStarted():
            return f"checking the base: {event.command}", ""
        case e.BaseChecked():
            return f"before the work: {describe_base(event)}", "red" if event.lacking else ""
        case e.CheckScouted():
            return f"scout: {describe_scouting(event)}", ""
        case e.Judged():
            return f"verified again: {describe_verdict(event.verdict)}", choose_style(event.verdict)
        case e.Applied():
            return f"applied to the project{_name(event.by)}: {pluralize(len(event.files), 'file')}", "green"
        case e.Undone():
            return f"undone in your files{_name(event.by)}: {pluralize(len(event.files), 'file')}", "yellow"
        case e.HookFailed():
            return f"your hook for {event.hook} {event.why}", "yellow"
        case e.Rechecked():
            return f"checked again: {describe_recheck(event)}", "green" if event.standing == "proven" else "red"
        case e.PartTried():
            return f"took a part out: {(*event.asked, *event.others, 'nothing')[0]} notices", "dim"
        case e.NeedlessFound():
            counts = f"{len(event.needless)} of them nothing needs, {len(event.undecided)} undecided"
            return f"took parts of the change out in {event.checks} checks: {counts}", ""
        case e.Accepted():
            return f"accepted without proof{_name(event.by)}{f': {event.why}' if event.why else ''}", "yellow"
        case _:
            return None


def tell_person(event: e.AnyEvent) -> Told | None:
    """Describe people's requests, messages and answers, and bough's questions to them."""
    match event:
        case e.StopRequested():
            when = "now" if event.now else "after the current effect"
            return f"{event.by or 'a person'} asked the run to stop {when}", "yellow"
        case e.PauseRequested():
            return f"{event.by or 'a person'} asked the run to pause", "yellow"
        case e.PersonSaid():
            to = f" to {event.task}" if event.task else ""
            return f"{event.by or 'a person'} says{to}: {event.text}", "yellow"
        case e.MessageReceived():
            return f"message from {event.by or 'a person'}: {event.text}", "yellow"
        case e.MessageRead():
            return _tell_message_read(event)
        case e.RequirementRestored():
            return f"requirement {event.number} counts again{_name(event.by)}", "yellow"
        case e.RequirementsDropped():
            numbers = ", ".join(map(str, event.numbers))
            return f"requirement{'s' if len(event.numbers) > 1 else ''} {numbers} dropped{_name(event.by)}", "yellow"
        case e.QuestionAsked():
            return f"asks you: {first_line(event.question)}", "yellow"
        case e.PersonAnswered():
            who = event.by or "the person"
            return f"{who} answers: {event.text}" if event.text else "nobody answered the question", ""
        case e.PlanRuled():
            return f"{event.task}: {_describe_answer(event, event.by or 'a person')}", ""
        case e.PlanAnswered():
            return _describe_answer(event, event.by or "the person"), ""
        case e.CommandHeld():
            whose = f" of {event.task}" if event.task else ""
            return f"a command{whose} is waiting for your approval: {first_line(event.line)}", "yellow"
        case e.CommandRuled():
            if event.allow:
                return f"{event.by or 'a person'} allowed the command", ""
            return f"{event.by} denied the command" if event.by else "nobody approved the command in time", "yellow"
        case e.ChangesAnswered():
            said = f": {first_line(event.say)}" if event.say else ""
            ruling = "allows" if event.allow else "denies"
            return f"{event.by or 'a person'} {ruling} {event.task} its test changes{said}", ""
        case _:
            return None


def _name(person: str) -> str:
    return f" by {person}" if person else ""


def _tell_message_read(event: e.MessageRead) -> Told:
    if not event.requirements:
        return "the message demands nothing: it is passed on", "dim"
    added = "; ".join(first_line(str(one)) for one in event.requirements)
    instead = ", ".join(map(str, sorted(event.replaces)))
    replaced = f", replacing {instead}" if instead else ""
    owner = f" (for {event.owner})" if event.owner else ""
    return f"your message adds {pluralize(len(event.requirements), 'requirement')}{replaced}{owner}: {added}", "yellow"


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


FAMILIES = (
    *(task_events.tell_task, task_events.tell_check, task_events.tell_step),
    *(task_events.tell_examination, task_events.tell_plan, tell_person, tell_run),
)
"""The functions that describe the other families of events, the most frequent family first."""


class EventFormatter:
    def __init__(self) -> None:
        self._tasks: dict[str, TaskMemory] = {}

    def tell(self, record: e.Record) -> Told:
        """Describe this event. Pass events in order: later ones may need earlier ones."""
        if (told := tell_round(record.event, self._tasks.setdefault(record.task, TaskMemory()))) is not None:
            return told
        for tell in FAMILIES:
            if (told := tell(record.event)) is not None:
                return told
        raise LookupError(f"There are no words for {type(record.event).__name__}.")

    def round(self, task: str) -> int:
        """Return the number of the task's current round."""
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
