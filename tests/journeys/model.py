"""The only thing that a journey scripts: the language model, at the wire, as a chat-completions endpoint.

It answers by the role in which it is asked, for the goal that the request is about, and by how far the conversation is:
it keeps no count of its own, so a process that is killed and started again gets the same answers.
"""

import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bough.core.messages import Answer, Call, Usage
from tests.wire import Reply, Status

Request = dict[str, Any]
Turn = Sequence[Call] | Reply
Script = Callable[[Request, int], Turn | None]
"""What an author does in a round of its conversation, counted from 0; None: what an honest one does."""


def call(name: str, **arguments: object) -> Call:
    return Call(f"c-{name}-{abs(hash(json.dumps(arguments, default=str))) % 10**6}", name, json.dumps(arguments))


def text_of(request: Request) -> str:
    """Everything that was said to the model."""
    return "\n".join(_content(message) for message in request["messages"])


def _content(message: Request) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def turn_of(request: Request) -> int:
    """How often the model has answered in this conversation."""
    return sum(message["role"] == "assistant" for message in request["messages"])


@dataclass
class Goal:
    """What an honest model makes of one goal: its author's files, and the case of an examiner that did not see them."""

    text: str
    """As the person says it: it is how requests are told apart."""
    files: dict[str, str]
    cases: dict[str, str]
    """For each requirement, by words of the goal that demand it: the body of a test method that fails without it."""
    author: Script | None = None
    known_as: str = ""
    """Other words by which requests about it are recognised, where its text is changed on the way."""
    summary: str = "It is done, and tested by hand."


@dataclass
class Model:
    goals: list[Goal]
    asked: list[tuple[str, Request]] = field(default_factory=list)
    """Every request with its role, in the order in which they came."""
    roles: dict[str, Callable[[Request], Reply | None]] = field(default_factory=dict)
    """Answers of a journey's own, by role; None: what an honest model answers."""
    usage: Usage = field(default_factory=lambda: Usage(input=1000, output=100))
    unknown: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        role = role_of(request)
        self.asked.append((role, request))
        own = self.roles.get(role)
        reply = own(request) if own else None
        if reply is None:
            reply = getattr(self, f"_{role}")(request)
        return reply

    def requests(self, role: str) -> list[Request]:
        return [request for each, request in self.asked if each == role]

    def goal_of(self, request: Request) -> Goal:
        if len(self.goals) == 1:
            return self.goals[0]
        text = " ".join(text_of(request).split())
        told = [goal for goal in self.goals if " ".join((goal.known_as or goal.text).split()) in text]
        if not told:
            raise AssertionError(f"a request about no goal of this journey: {text[:2000]}")
        return min(told, key=lambda goal: text.find(" ".join((goal.known_as or goal.text).split())))

    def say(self, *calls: Call, text: str = "") -> Answer:
        return Answer(text=text, calls=tuple(calls), usage=self.usage, stop="calls" if calls else "end")

    def form(self, request: Request, **fields: object) -> Answer:
        """An answer in the form that the question asks for: a call of its tool, or JSON."""
        tools = [each["function"]["name"] for each in request.get("tools", ())]
        if tools:
            return self.say(call(tools[0], **fields))
        return self.say(text=json.dumps(fields))

    # ── the roles ───────────────────────────────────────────────────────────────────────────────────────────

    def _protocol(self, request: Request) -> Reply:
        content = 'import re\n\n\ndef slug(text):\n    return "-".join(re.findall("[a-z0-9]+", text.lower()))\n'
        return self.say(call("write", path="words.py", content=content))

    def _gate(self, request: Request) -> Reply:
        return self.form(request, reason="One function changes.", steps=1, atomic=True)

    def _author(self, request: Request) -> Reply:
        goal, turn = self.goal_of(request), turn_of(request)
        done = goal.author(request, turn) if goal.author else None
        if done is None:
            done = handed_over(request) or honest(goal, request)
        return done if not isinstance(done, Sequence) else self.say(*done)

    def _text(self, request: Request) -> Reply:
        """The same work by whole files in fenced blocks."""
        files = self.goal_of(request).files.items()
        return self.say(text="\n\n".join(f"{path}\n```python\n{content}```" for path, content in files))

    def _examiner(self, request: Request) -> Reply:
        return self.form(request, **examination(self.goals, requirements(request)))

    def _judge(self, request: Request) -> Reply:
        return self.form(request, reason="Nothing in the request says so.", demanded=False, quote="")

    def _decomposer(self, request: Request) -> Reply:
        return self.form(request, approach="It is one function: there is nothing to split.", steps=[])

    def _reader(self, request: Request) -> Reply:
        """Most goals have no fault."""
        return self.form(request, findings=[])

    def _planner(self, request: Request) -> Reply:
        return self._unknown(request)

    def _hearer(self, request: Request) -> Reply:
        """A message demands what some goal has a case for; anything else asks for nothing that a test could see."""
        message = text_of(request).partition("## The message")[2].partition("\n## What to say")[0].strip()
        demands = [quote for goal in self.goals for quote in goal.cases if quote in message]
        kinds = [] if demands else [{"begins": " ".join(message.split()[:8]), "kind": "background"}]
        return self.form(request, requirements=demands, kinds=kinds)

    def _unknown(self, request: Request) -> Reply:
        self.unknown.append(request)
        return Status(400, body={"error": {"message": "this journey expects no such question"}})


class Hold:
    """An honest author who thinks, in one round of its first conversation, until the journey lets it go on."""

    all: ClassVar[list["Hold"]] = []

    def __init__(self, at: int = 0, then: Script | None = None) -> None:
        self.at, self.then = at, then
        self.reached, self.free = threading.Event(), threading.Event()
        self.all.append(self)

    def __call__(self, request: Request, turn: int) -> Turn | None:
        if turn == self.at:
            self.reached.set()
            self.free.wait(240)
        return self.then(request, turn) if self.then else None


def handed_over(request: Request) -> Sequence[Call]:
    """In the last round of a budget nothing but a note can be left."""
    last = _content(request["messages"][-1])
    return [call("note", kind="decision", text="Nothing is written yet.")] if "this is your last round" in last else ()


def honest(goal: Goal, request: Request) -> Sequence[Call]:
    """Writes the files, then claims to be done."""
    calls = [each for message in request["messages"] for each in message.get("tool_calls") or ()]
    if any(each["function"]["name"] in ("write", "edit") for each in calls):
        return [call("done", summary=goal.summary)]
    return [call("write", path=path, content=content) for path, content in goal.files.items()]


def requirements(request: Request) -> dict[int, str]:
    """The numbered list of what was asked, as an examiner gets it."""
    asked = text_of(request).partition("## What was asked")[2].partition("\n## ")[0]
    return {int(number): text for number, text in re.findall(r"^(\d+)\. (.*)$", asked, re.MULTILINE)}


def examination(goals: list[Goal], asked: dict[int, str]) -> dict[str, object]:
    """A probe with one live case for everything that is demanded."""
    probes = []
    for quote, body in (case for goal in goals for case in goal.cases.items()):
        number = next((number for number, text in asked.items() if quote in text), None)
        if number is not None:
            probes.append({"says": quote, "requirement": number, "quote": quote, "text": f"{body}\n"})
    return {"probes": probes}


ROLES = {
    "estimate": "gate",
    "probe": "examiner",
    "rule": "judge",
    "split": "decomposer",
    "hear": "hearer",
    "plan": "planner",
    "review": "reader",
}
"""By the form of the answer that they are asked for."""


def role_of(request: Request) -> str:
    tools = {each["function"]["name"] for each in request.get("tools", ())}
    if tools == {"write"}:
        return "protocol"
    if "done" in tools:
        return "author"
    if "You are a careful programmer" in text_of(request):
        return "text"
    form = request.get("response_format", {}).get("json_schema", {}).get("name", "")
    return ROLES.get(form, next((ROLES[tool] for tool in tools if tool in ROLES), "unknown"))
