"""Prints a task's conversation for people to read: the agent's messages, answers, tool calls and results."""

from __future__ import annotations

from bough.core import events as e
from bough.core.textual.cleaning import escape_text
from bough.interfaces.terminal.output import TerminalOutput, format_line
from bough.views.event_lines import EventFormatter
from bough.views.formatting import first_line, last_line, one_line
from bough.views.telling.task_events import describe_answer

MARGIN = "    "


class Conversation:
    """Prints each event that is part of a conversation, with its whole text."""

    def __init__(self, page: TerminalOutput) -> None:
        self._page = page
        self._teller = EventFormatter()

    def tell(self, record: e.Record) -> None:
        words, style = self._teller.tell(record)
        match record.event:
            case e.AttemptStarted(system=system, brief=brief):
                self._print(record, f"{words}, with this prompt:", style, system, brief)
            case e.ModelAnswered() as event:
                head = f"round {self._teller.round(record.task)}: {describe_answer(event)}:"
                self._print(record, head, style, event.text)
                for call in event.calls:
                    self._page.text(f"{MARGIN}→ {one_line(call.name)} {escape_text(call.arguments)}", "cyan")
            case (
                e.ToolFinished(output=text) | e.MessageAdded(text=text) | e.HelperAnswered(text=text) | e.Reported(text)
            ):
                # The whole text follows, so the line above it need not quote it.
                head = words.removesuffix(first_line(text)).removesuffix(last_line(text)).rstrip()
                self._print(record, head, style, text)
            case e.CheckFinished(verdict=verdict):
                self._print(record, words, style, verdict.output)
            case e.StateChanged() | e.SignalRaised() | e.Escalated() | e.Planned() | e.PlanRefused():
                self._print(record, words, style)
            case e.ContextPruned() | e.PersonAnswered() | e.ModelFailed() | e.TaskRewound():
                self._print(record, words, style)

    def _print(self, record: e.Record, head: str, style: str, *bodies: str) -> None:
        self._page.line(*format_line(record, (head, style)))
        for text in bodies:
            for line in escape_text(text).strip("\n").splitlines():
                self._page.text(MARGIN + line)
