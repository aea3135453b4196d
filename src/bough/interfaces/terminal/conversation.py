"""The conversation of a task, for reading: what the agent was told, said, called and got."""

from __future__ import annotations

from bough.core import events as e
from bough.core.messages import Call
from bough.core.settings.agent_settings import title_of
from bough.core.textual.cleaning import escape_text
from bough.interfaces.terminal.output import TerminalOutput
from bough.views.event_lines import Teller
from bough.views.formatting import format_clock, format_count, format_duration, one_line
from bough.views.task_view import describe_call
from bough.views.vocabulary import ROLES, STATE_STYLES, describe_state, describe_verdict

MARGIN = "    "


class Conversation:
    """Prints each event that is part of a conversation, whole."""

    def __init__(self, page: TerminalOutput) -> None:
        self._page = page
        self._teller = Teller()
        self._calls: dict[tuple[str, str], Call] = {}

    def tell(self, record: e.Record) -> None:
        where = record.task
        told = self._teller.tell(record)
        match record.event:
            case e.AttemptStarted() as event:
                who = title_of(event.agent) or f"{event.tier} model"
                self._print_head(record, f"{ROLES[event.role]} started ({who}) with this prompt:")
                self._print_body(event.system)
                self._print_body(event.brief)
            case e.MessageAdded() as event:
                self._print_head(record, f"bough says ({event.why.replace('_', ' ')}):")
                self._print_body(event.text)
            case e.ModelAnswered() as event:
                self._calls |= {(where, call.id): call for call in event.calls}
                usage = f"{format_count(event.usage.input)} tokens in, {format_count(event.usage.output)} out"
                said = f"the model says ({usage}, {format_duration(event.seconds)})"
                how = "another of its answers" if event.spare else said
                self._print_head(record, f"round {self._teller.round(where)}: {how}:")
                self._print_body(event.text)
                for call in event.calls:
                    self._page.text(f"{MARGIN}→ {one_line(call.name)} {escape_text(call.arguments)}", "cyan")
                for each in event.repaired:
                    self._page.text(f"{MARGIN}bough {one_line(each)}", "cyan")
            case e.ToolFinished() as event:
                called = self._calls.get((where, event.call))
                words = one_line(describe_call(called)) if called else "a tool"
                how = "interrupted" if event.interrupted else "done" if event.ok else "failed"
                self._print_head(record, f"{words}: {how}, {format_duration(event.seconds)}")
                self._print_body(event.output, "" if event.ok else "yellow")
            case e.CheckFinished() as event:
                self._print_head(record, describe_verdict(event.verdict))
                self._print_body(event.verdict.output)
            case e.StateChanged() as event:
                self._print_head(record, f"{describe_state(event.to)}: {event.why}", STATE_STYLES.get(event.to, ""))
            case e.SignalRaised() | e.Escalated() | e.Planned() | e.PlanRefused() | e.ContextPruned():
                self._print_head(record, *told)
            case e.HelperAnswered() as event:
                self._print_head(record, f"the {event.helper.replace('_', ' ')} says:")
                self._print_body(event.text)
            case e.PersonAnswered() as event:
                self._print_head(record, *told)
            case e.Reported() as event:
                self._print_head(record, "report:")
                self._print_body(event.text)
            case e.ModelFailed() as event:
                self._print_head(record, f"the model did not answer: {event.message}", "yellow")
            case e.TaskRewound():
                self._print_head(record, "a person rewound the task; some of the above no longer counts")
            case _:
                return

    def _print_head(self, record: e.Record, words: str, style: str = "") -> None:
        self._page.line(
            (format_clock(record.at), "dim"), "  ", (one_line(record.task), "bold"), ": ", (one_line(words), style)
        )

    def _print_body(self, text: str, style: str = "") -> None:
        for line in escape_text(text).strip("\n").splitlines():
            self._page.text(MARGIN + line, style)
