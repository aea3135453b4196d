"""Lists of goals as people write them: a Markdown checklist, TOML, JSON lines, and the issues of a tracker.

A list is the person's own word: it may name checks, needs and limits. An issue is somebody else's text: it is the goal
and nothing else."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bough.core.backlog.entry import GoalEntry
from bough.core.errors import UsageError
from bough.core.ids import slug
from bough.core.textual.spelling import suggest_word
from bough.core.textual.toml_source import parse_toml

Named = tuple[str, GoalEntry]
"""A goal with its name, which may be empty."""
FIELDS = tuple(name for name in GoalEntry.__struct_fields__ if name not in ("goal", "source"))
_MANY = ("needs", "labels", "files")
_ITEM = re.compile(r"(?P<indent>[ \t]*)[-*+][ \t]+\[(?P<done>[ xX])\][ \t]+(?P<text>.*)")
_FIELD = re.compile(r"(?:[-*+][ \t]+)?\*{0,2}(?P<key>[A-Za-z_-]+)\*{0,2}[ \t]*:\*{0,2}[ \t]*(?P<value>.+)")


def read_list(text: str, file: str) -> list[Named]:
    """Read the goals in a file, in the format that its name's ending says, or else its first character."""
    kind = file.rpartition(".")[2].lower()
    if kind == "toml":
        try:
            table = parse_toml(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file} is not valid TOML: {error}.") from None
        goals = table.get("goals")
        if not isinstance(goals, list):
            raise UsageError(f"{file} has no [[goals]]: write one such table for each goal.")
        found = [_convert(goal, f"{file}, goal {number}") for number, goal in enumerate(goals, 1)]
    elif kind in ("json", "jsonl", "ndjson") or (kind not in ("md", "markdown") and text.lstrip()[:1] in '{["'):
        found = [_convert(goal, f"{file}, goal {number}") for number, goal in enumerate(read_documents(text, file), 1)]
    else:
        found = list(_read_checklist(text, file))
    if not found:
        raise UsageError(
            f"There are no open goals in {file}: write them as `- [ ] GOAL`, as [[goals]] in TOML, or as JSON lines."
        )
    return found


def _read_checklist(text: str, file: str) -> Iterator[Named]:
    """Read every open item at the outermost level, with its indented details."""
    lines = text.expandtabs(4).splitlines()
    starts = [(number, match) for number, line in enumerate(lines) if (match := _ITEM.fullmatch(line))]
    least = min((len(match["indent"]) for _, match in starts), default=0)
    for number, match in starts:
        if len(match["indent"]) > least or match["done"] != " ":
            continue
        details = []
        for line in lines[number + 1 :]:
            if line.strip() and len(line) - len(line.lstrip()) <= least:
                break
            details.append(line)
        yield _make_entry(match["text"], details, f"{file}:{number + 1}")


def _make_entry(title: str, details: list[str], source: str) -> Named:
    """Make a goal with its details. A detail like `check: make test` is a field, not text."""
    said: dict[str, Any] = {}
    kept = []
    for line in details:
        match = _FIELD.fullmatch(line.strip())
        key = match["key"].lower() if match else ""
        if match and key in (*FIELDS, "name"):
            value = match["value"].strip().strip("`")
            said[key] = [part.strip() for part in value.split(",")] if key in _MANY else value
        else:
            kept.append(line)
    indent = min((len(line) - len(line.lstrip()) for line in kept if line.strip()), default=0)
    body = "\n".join(line[indent:].rstrip() for line in kept).strip()
    return _convert({**said, "goal": f"{title.strip()}\n\n{body}" if body else title.strip()}, source)


def read_documents(text: str, file: str) -> list[Any]:
    """Read a JSON list, or one document per line."""
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except (ValueError, RecursionError):
        pass
    documents = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):
                raise UsageError(f"{file}, line {number} is not valid JSON.") from None
    return documents


def _convert(said: Any, place: str) -> Named:
    """Make a goal from its fields; an error names the place and the nearest right field."""
    if isinstance(said, str):
        said = {"goal": said}
    if not isinstance(said, Mapping):
        raise UsageError(f"{place} is not a goal: give a text, or a table with `goal`.")
    known = ("goal", "name", *FIELDS)
    for key in said:
        if key not in known:
            close = suggest_word(str(key), known)
            raise UsageError(f"{place}: there is no field `{key}`{f': did you mean `{close}`?' if close else '.'}")
    fields = {key: value for key, value in said.items() if key != "name"}
    fields |= {key: [fields[key]] for key in _MANY if isinstance(fields.get(key), str)}
    try:
        entry = msgspec.convert({"source": place, **fields}, GoalEntry, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}: {error}.") from None
    return str(said.get("name") or ""), entry


class Issue(msgspec.Struct, frozen=True):
    number: str
    title: str
    entry: GoalEntry
    labels: tuple[str, ...] = ()
    closed: bool = False

    @property
    def name(self) -> str:
        return slug(f"issue-{self.number}")


def read_issues(text: str, place: str) -> list[Issue]:
    """Read issues from the JSON of `gh issue list`, of `glab issue list`, or of the HTTP interface of either forge."""
    found = []
    for document in read_documents(text, place):
        if not isinstance(document, Mapping) or not isinstance(document.get("title"), str):
            raise UsageError(f"{place} has something that is not an issue: each needs a `title`.")
        title = " ".join(document["title"].split())
        body = next((str(document[key]) for key in ("body", "description") if document.get(key)), "")
        number = str(document.get("number") or document.get("iid") or document.get("id") or "").strip()
        address = next((str(document[key]) for key in ("html_url", "web_url", "url") if document.get(key)), "")
        labels = tuple(
            str(label.get("name", "")) if isinstance(label, Mapping) else str(label)
            for label in document.get("labels") or ()
        )
        goal = f"{title}\n\n{body.strip()}" if body.strip() else title
        closed = str(document.get("state") or "").lower() == "closed"
        found.append(Issue(number or slug(title), title, GoalEntry(goal, source=address[:500]), labels, closed))
    return found
