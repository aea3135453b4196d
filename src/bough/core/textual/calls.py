"""Tool calls that a model wrote as JSON into its text, as many small models do whatever the prompt says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from bough.core.messages import Call

_DECODER = json.JSONDecoder(strict=False)
_NAMED = re.compile(r'\{\s*"(?:name|function|tool)"\s*:')
_BROKEN_WRITE = re.compile(
    r'"name"\s*:\s*"write".*?"path"\s*:\s*"([^"\n]+)"\s*,\s*"content"\s*:\s*"(.*?)"?\s*\}*\s*(?:```|</tool_call>)?\s*$',
    re.DOTALL,
)
"""A call whose JSON is broken, usually by quotes or line ends in the code: its meaning is clear."""
_FENCED = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
_WRAPPED = re.compile(r"\s*<code>\n?(.*?)\n?</code>\s*", re.DOTALL)
FIELDS = {
    "write": ("path", "content"),
    "edit": ("path", "old", "new"),
    "bash": ("command",),
    "read": ("path",),
    "done": ("summary",),
}
"""The tools of the text protocol, and the required fields of each."""


def find_written_calls(text: str) -> list[Call]:
    """The calls in a text, in order. Only complete ones, and only of known tools."""
    found = [call for value in _find_objects(text) if (call := _read_call(value)) is not None]
    if found:
        return found
    broken = _BROKEN_WRITE.search(text)
    if broken is None or broken[2].count("\n") + broken[2].count("\\n") < 1:
        return []
    content = broken[2]
    if content.startswith('""'):  # Three quotes, as in Python.
        content = content.strip('"').strip("\n")
    if content.count("\\n") > content.count("\n"):
        content = content.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\")
    return [make_call("write", path=broken[1], content=_strip_tags(content))]


def make_call(name: str, **arguments: str) -> Call:
    return Call("", name, json.dumps(arguments, ensure_ascii=False))


def _find_objects(text: str) -> Iterator[Any]:
    at = 0
    while (found := _NAMED.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.end()
        else:
            yield value


def _read_call(value: Any) -> Call | None:
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((value[key] for key in ("name", "tool", "function") if isinstance(value.get(key), str)), "")
    given: dict[str, Any] = next(
        (value[key] for key in ("arguments", "parameters", "args", "input") if isinstance(value.get(key), dict)), {}
    )
    wanted = FIELDS.get(name)
    if wanted is None or not all(isinstance(given.get(field), str) for field in wanted):
        return None
    texts = {field: given[field] for field in wanted}
    if "content" in texts:
        texts["content"] = _strip_tags(texts["content"])
    return make_call(name, **texts) if texts[wanted[0]].strip() else None


def _strip_tags(content: str) -> str:
    """Code without the tags that some models put around it, ending in a line end."""
    wrapped = _WRAPPED.fullmatch(content) or _FENCED.fullmatch(content)
    content = wrapped[1] if wrapped else content
    return content if content.endswith("\n") or not content else f"{content}\n"
