"""Describes each event on one line, in plain words.

An `EventFormatter` follows a run's events, because a line may need earlier events: a finished call carries only its id,
and rounds must be counted. The words themselves are in `telling/`, one file for each family of events.
"""

from __future__ import annotations

from bough.core import events as e
from bough.core.tree.task_state import State
from bough.views.formatting import first_line
from bough.views.telling import task_events
from bough.views.telling.run_events import tell_person, tell_run
from bough.views.telling.task_events import TaskMemory, shorten_call, tell_round
from bough.views.vocabulary import Told

FAMILIES = (
    *(task_events.tell_task, task_events.tell_check, task_events.tell_step),
    *(task_events.tell_examination, task_events.tell_plan, tell_person, tell_run),
)
"""The functions that describe the other families of events, the most frequent family first."""
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
