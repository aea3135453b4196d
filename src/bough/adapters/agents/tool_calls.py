"""Translates an outside agent's actions, as the Agent Client Protocol reports them, into calls of bough's own tools:
people, the stuck detector and prompts then see one kind of call, whichever agent made it."""

import json
from typing import Any

from msgspec import Struct, field

from bough.adapters.tools.output_text import cut_middle
from bough.core.messages import Call
from bough.core.rules import Rules
from bough.core.textual.cleaning import repair_surrogates
from bough.ports import ToolResult

LOOKING = frozenset({"read", "search", "think", "fetch", "switch_mode"})
"""Kinds of calls that change nothing, by the agent's own account."""
NAMES = {"read": "read", "edit": "edit", "delete": "edit", "move": "edit", "search": "search", "execute": "bash"}
"""The name of bough's own tool for each kind of call; other kinds keep their name."""
LONGEST = 20_000
"""The most characters of a call's arguments that are kept."""
PRINTED = 2_000_000
"""The most characters of a command's output that are kept."""
_OVER = ("completed", "failed")


class ReportedCall(Struct):
    """A tool call of the agent, as far as the agent has reported it."""

    id: str
    since: float
    """When the call was first reported."""
    order: int = 0
    """The number of the call's first report."""
    ended: int = 0
    """The number of the report that finished it; 0: it is not finished."""
    title: str = ""
    kind: str = ""
    status: str = ""
    given: Any = None
    """The call's input, as the agent reports it."""
    texts: list[str] = field(default_factory=list)
    files: list[tuple[str, str | None, str]] = field(default_factory=list)
    """The path, old text and new text of each file that the call edits."""
    places: list[str] = field(default_factory=list)
    printed: str = ""
    """The output of the call's command, if the agent reports it piece by piece."""
    returned: Any = None
    asks: int = 0
    """The number of permissions that the call waits for."""
    told: bool = False
    """Whether the call was passed on to the engine."""

    @property
    def over(self) -> bool:
        return self.status in _OVER

    @property
    def writes(self) -> bool:
        return self.kind not in LOOKING

    def report(self, update: Any, number: int) -> None:
        """Add a report of the call; fields that the report does not mention stay as they are."""
        self.order = self.order or number
        self.title = update.title or self.title
        self.kind = update.kind or self.kind
        self.status = update.status or self.status
        self.given = update.raw_input if update.raw_input not in (None, {}, "") else self.given
        self.returned = update.raw_output if update.raw_output is not None else self.returned
        meta = update.field_meta if isinstance(update.field_meta, dict) else {}
        for key in ("terminal_output", "terminal_output_delta"):
            if isinstance(piece := meta.get(key), dict) and len(self.printed) < PRINTED:
                self.printed += str(piece.get("data", ""))
        if update.locations:
            self.places = [str(place.path) for place in update.locations]
        if update.content:
            said = [part.content for part in update.content if part.type == "content"]
            self.texts = [content.text for content in said if content.type == "text"]
            files = [(str(part.path), part.old_text, part.new_text) for part in update.content if part.type == "diff"]
            self.files = files or self.files
        self.ended = self.ended or (number if self.over else 0)

    def ready(self, now: float, patience: float) -> bool:
        """Whether enough is known to report the call. Some agents announce a call before its input."""
        settled = bool(self.asks or self.given or self.status in ("in_progress", *_OVER))
        return not self.told and (settled or now - self.since >= patience)


def find_simultaneous(deeds: list[ReportedCall]) -> list[ReportedCall]:
    """Return the first call, and those after it that started before any of these calls finished: the agent made them
    in one answer."""
    group: list[ReportedCall] = []
    for deed in sorted(deeds, key=lambda one: one.order):
        if any(other.ended and other.ended < deed.order for other in group):
            break
        group.append(deed)
    return group


def make_call(deed: ReportedCall, root: str) -> Call:
    given = deed.given if isinstance(deed.given, dict) else {"input": deed.given} if deed.given else {}
    runs = deed.kind in ("", "other") and _find_command(given)  # Some agents do not name the kind of call.
    name = "bash" if runs else NAMES.get(deed.kind) or deed.kind or "other"
    keys = ("file_path", "filePath", "path", "absolute_path")
    named = next((str(given[key]) for key in keys if given.get(key)), "")
    path = _relative_path(deed.files[0][0] if deed.files else next(iter(deed.places), named), root)
    if name == "bash":
        arguments: dict[str, Any] = {"command": _find_command(given) or deed.title}
    elif name == "edit":
        old, new = deed.files[0][1:] if deed.files else (given.get("old_string"), given.get("new_string", ""))
        arguments = {"path": path or deed.title, "old": old or "", "new": new or ""}
        if deed.files and old is None:
            name, arguments = "write", {"path": path, "content": new}
    elif name == "read":
        known = {key: given[key] for key in ("offset", "limit") if given.get(key) is not None}
        arguments = {"path": path or deed.title, **known}
    else:
        arguments = {"title": deed.title, **given}
    text = json.dumps(arguments, ensure_ascii=False, default=str).replace(root, ".")
    if len(text) > LONGEST:
        text = json.dumps({"path": path, "title": deed.title, "cut": f"{text[:LONGEST]} …"}, ensure_ascii=False)
    return Call(deed.id, name, repair_surrogates(text))


def _find_command(given: dict[str, Any]) -> str:
    line = given.get("command") or given.get("cmd") or given.get("script") or ""
    if isinstance(line, list):
        words = [str(word) for word in line]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return str(line)


def _relative_path(path: str, root: str) -> str:
    return path.removeprefix(root).lstrip("/") if path.startswith(f"{root}/") else path


def make_result(deed: ReportedCall, rules: Rules, root: str) -> ToolResult:
    """Make the result for the journal: the agent itself has already seen it."""
    if not deed.over:
        return ToolResult("(It continues in the background.)")
    text = "\n".join(part for part in (*deed.texts, deed.printed) if part) or _format_returned(deed.returned)
    if not text and deed.files:
        text = "\n".join(f"{_relative_path(path, root)} is written." for path, _, _ in deed.files)
    text = repair_surrogates(text.replace(root, ".")).strip() or "(no output)"
    shown, cut = cut_middle(text, rules.shown)
    return ToolResult(shown, ok=deed.status == "completed", whole=text.encode() if cut else None)


def _format_returned(value: Any) -> str:
    if isinstance(value, dict):
        for key in ("formatted_output", "aggregated_output", "output", "stdout", "result", "error"):
            if isinstance(value.get(key), str) and value[key]:
                return str(value[key])
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
