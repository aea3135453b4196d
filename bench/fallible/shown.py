"""What a request shows: the conversation as the model reads it. All that the model knows is in here."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fallible.catalogue import BY_KEY, BY_NAME, Item
from fallible.goals import path_of

LINE = re.compile(r"^- `(\w+\.\w+)\(", re.MULTILINE)
CRITERIA = re.compile(r"^#+ (What must be true at the end|(?:Its|The task's) criteria, by number)", re.MULTILINE)
BROKEN = re.compile(r"^(?:FAIL|ERROR): test_(\w+)", re.MULTILINE)
DEFINED = re.compile(r"^def (\w+)\(.*?\n(.*?)(?=^def |\Z)", re.MULTILINE | re.DOTALL)
NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
VOLATILE = re.compile(r"/\S+|\b\d+\.\d+ ?s\b|\b[0-9a-f]{7,}\b")
"""Paths of workspaces, durations and hashes: they differ from run to run and mean nothing to the model."""
ROUNDS = re.compile(r"You have (\d+) rounds")
FAILED = re.compile(r"\[\w[\w-]*\] \S*?test_(\w+)")
PAST = re.compile(r"^- `([\w-]+)` \((\w+)\)", re.MULTILINE)
AGAIN = "You have answered this question once"


@dataclass(frozen=True)
class OwnCall:
    """A call of the model's own, and what came of it."""

    tool: str
    arguments: dict[str, Any]
    raw: str
    text: str
    """What it said with the call."""
    result: str


@dataclass
class Request:
    """One request."""

    model: str
    tools: frozenset[str]
    brief: str
    """The first message after the system prompt."""
    made: list[OwnCall]
    words: list[str]
    """The model's own words, one for each answer."""
    told: str
    """What was said to it after its last answer, beside results."""
    digest: str
    size: int
    """Tokens of the conversation in whole hundreds, at four characters each, without the system prompt."""

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The functions that the task asks for."""
        return items_in(CRITERIA.split(self.brief)[0])

    @cached_property
    def seen(self) -> "Sight":
        return Sight.of(self.made)


@dataclass
class Sight:
    """What the model has seen of the files and the tests so far."""

    bodies: dict[Item, str] = field(default_factory=dict)
    failing: set[Item] | None = None
    """As the last test run showed it; None: none was seen."""
    dirty: set[Item] = field(default_factory=set)
    """Written since."""

    @classmethod
    def of(cls, made: list[OwnCall]) -> "Sight":
        seen = cls()
        for call in made:
            seen.take(call)
        return seen

    def take(self, call: OwnCall) -> None:
        if call.tool == "read" and "(end of the file" in call.result:
            self.bodies |= bodies_in(NUMBERED.sub("", call.result))
        elif call.tool == "write" and call.result.startswith(("Created", "Rewrote")):
            now = bodies_in(str(call.arguments.get("content", "")))
            self.dirty |= {item for item, body in now.items() if self.bodies.get(item) != body}
            self.bodies |= now
        elif call.tool == "bash" and "unittest" in call.raw:
            self.failing = {BY_NAME[name] for name in BROKEN.findall(call.result) if name in BY_NAME}
            self.dirty = set()

    def knows(self, item: Item) -> bool:
        return any(path_of(known.module) == path_of(item.module) for known in self.bodies)


def items_in(text: str) -> tuple[Item, ...]:
    return tuple(dict.fromkeys(BY_KEY[key] for key in LINE.findall(text) if key in BY_KEY))


def bodies_in(text: str) -> dict[Item, str]:
    """The functions of a module's text, each with its body as the catalogue writes it."""
    found = {}
    for name, below in DEFINED.findall(text.split("\n(end of the file")[0]):
        lines = [line[4:] for line in below.rstrip().splitlines() if line.strip()]
        if name in BY_NAME:
            found[BY_NAME[name]] = "\n".join(lines[1:])
    return found


def read_request(body: dict[str, Any]) -> Request:
    tools = frozenset(tool["function"]["name"] for tool in body.get("tools", ()))
    messages = [message for message in body["messages"] if message["role"] != "system"]
    results = {m["tool_call_id"]: _text(m) for m in messages if m["role"] == "tool"}
    made: list[OwnCall] = []
    words: list[str] = []
    told: list[str] = []
    for message in messages[1:]:
        if message["role"] == "assistant":
            told = []
            words.append(_text(message))
            made += [_made(call, _text(message), results) for call in message.get("tool_calls", ())]
        elif message["role"] == "user":
            told.append(_text(message))
    everything = [_text(m) + "".join(c["function"]["arguments"] for c in m.get("tool_calls", ())) for m in messages]
    size = sum(len(VOLATILE.sub("~", text)) for text in everything) // 400 * 100
    digest = hashlib.sha256("\n".join(_gist(m) for m in messages).encode()).hexdigest()
    return Request(body["model"], tools, _text(messages[0]), made, words, "\n".join(told), digest, size)


def _gist(message: dict[str, Any]) -> str:
    """What a message says, without what differs from run to run: paths, durations, and where a text was cut for length
    because of them. Two requests with the same gist get the same answer."""
    text = _text(message)
    if message["role"] == "assistant":
        calls = [(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls", ())]
        return f"{text} {calls}"
    if message["role"] == "tool":
        return VOLATILE.sub("~", text.partition("\n")[0])[:40] + " ".join(BROKEN.findall(text))
    facts = (ROUNDS.findall(text), PAST.findall(text), sorted(set(FAILED.findall(text))), text.count(AGAIN))
    return f"{text[:60]} {len(items_in(text))} {facts}"


def _made(call: dict[str, Any], text: str, results: dict[str, str]) -> OwnCall:
    function = call["function"]
    return OwnCall(
        function["name"], json.loads(function["arguments"]), function["arguments"], text, results.get(call["id"], "")
    )


def _text(message: dict[str, Any]) -> str:
    return message.get("content") or ""
