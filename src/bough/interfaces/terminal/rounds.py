"""The conversation of a task, for reading: what the agent was told, said, called and got."""

from __future__ import annotations

from bough.core import events as e
from bough.core.agents import title_of
from bough.core.messages import Call
from bough.interfaces.terminal.lines import ROLES, STATE_STYLES, Teller, state_words
from bough.interfaces.terminal.paper import Paper
from bough.interfaces.terminal.verdicts import verdict_words
from bough.interfaces.terminal.words import clock, count, duration, one_line, plain
from bough.interfaces.views import in_short

MARGIN = "    "


class Conversation:
    """Prints each event that is part of a conversation, whole."""

    def __init__(self, page: Paper) -> None:
        self._page = page
        self._teller = Teller()
        self._calls: dict[tuple[str, str], Call] = {}

    def tell(self, record: e.Record) -> None:
        where = record.task
        told = self._teller.tell(record)
        match record.event:
            case e.AttemptStarted() as event:
                who = title_of(event.agent) or f"{event.tier} model"
                self._head(record, f"a {ROLES[event.role]} begins ({who}); it is told:")
                self._body(event.system)
                self._body(event.brief)
            case e.MessageAdded() as event:
                self._head(record, f"bough says ({event.why.replace('_', ' ')}):")
                self._body(event.text)
            case e.ModelAnswered() as event:
                self._calls |= {(where, call.id): call for call in event.calls}
                usage = f"{count(event.usage.input)} tokens in, {count(event.usage.output)} out"
                self._head(
                    record, f"round {self._teller.round(where)}: the model says ({usage}, {duration(event.seconds)}):"
                )
                self._body(event.text)
                for call in event.calls:
                    self._page.text(f"{MARGIN}→ {one_line(call.name)} {plain(call.arguments)}", "cyan")
            case e.ToolFinished() as event:
                called = self._calls.get((where, event.call))
                words = one_line(in_short(called)) if called else "a tool"
                how = "interrupted" if event.interrupted else "done" if event.ok else "failed"
                self._head(record, f"{words}: {how}, {duration(event.seconds)}")
                self._body(event.output, "" if event.ok else "yellow")
            case e.CheckFinished() as event:
                self._head(record, verdict_words(event.verdict))
                self._body(event.verdict.output)
            case e.StateChanged() as event:
                self._head(record, f"{state_words(event.to)}: {event.why}", STATE_STYLES.get(event.to, ""))
            case e.SignalRaised() | e.Escalated() | e.Planned() | e.PlanRefused() | e.ContextPruned():
                self._head(record, *told)
            case e.HelperAnswered() as event:
                self._head(record, f"the {event.helper.replace('_', ' ')} says:")
                self._body(event.text)
            case e.PersonAnswered() as event:
                self._head(record, *told)
            case e.Reported() as event:
                self._head(record, "report:")
                self._body(event.text)
            case e.ModelFailed() as event:
                self._head(record, f"the model did not answer: {event.message}", "yellow")
            case e.TaskRewound():
                self._head(record, "a person took the task back; what came before this no longer counts from there on")
            case _:
                return

    def _head(self, record: e.Record, words: str, style: str = "") -> None:
        self._page.line(
            (clock(record.at), "dim"), "  ", (one_line(record.task), "bold"), ": ", (one_line(words), style)
        )

    def _body(self, text: str, style: str = "") -> None:
        for line in plain(text).strip("\n").splitlines():
            self._page.text(MARGIN + line, style)
