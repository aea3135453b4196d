"""A model on the wire that plays every part: agents that get stuck in one way or another, and those who help them.

A `Cast` is a function of the request. It tells who is asked by what the request says and offers: a planner is offered
`split`, a pruner nothing, an agent the tools of the bench.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bough.core.messages import Answer, Call, Usage
from tests.harness import QUICK_CHECK

USAGE = Usage(input=1000, output=50)
NUDGED = "seems to be stuck"
AFRESH = "You are starting over"


def act(tool: str, says: str = "", /, **arguments: Any) -> Answer:
    return Answer(says, (Call("c", tool, json.dumps(arguments)),), "calls", USAGE)


def say(text: str) -> Answer:
    return Answer(text, usage=USAGE)


def split(*steps: dict[str, Any], approach: str = "smaller") -> Answer:
    return act("split", approach=approach, steps=list(steps))


@dataclass(frozen=True)
class Request:
    """A request, as the one who has to answer it sees it."""

    json: dict[str, Any]

    @property
    def model(self) -> str:
        return str(self.json["model"])

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.json.get("tools", [])]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.json["messages"])

    @property
    def texts(self) -> list[str]:
        return [str(message.get("content") or "") for message in self.messages]

    @property
    def brief(self) -> str:
        """What an agent, or a helper, was told first."""
        return next(str(message["content"]) for message in self.messages if message["role"] == "user")

    @property
    def rounds(self) -> int:
        """Answers given so far in this conversation."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def results(self) -> list[str]:
        """Of tool calls, without those that were interrupted."""
        texts = [str(message["content"]) for message in self.messages if message["role"] == "tool"]
        return [text for text in texts if not text.startswith("Interrupted")]

    @property
    def nudged(self) -> bool:
        return any(NUDGED in text for text in self.texts)

    @property
    def afresh(self) -> bool:
        return AFRESH in self.brief

    @property
    def place(self) -> str:
        """The path that the brief names; empty for the goal."""
        found = re.match(r"# .*?\(goal › (.*?)\)", self.brief)
        return found[1].replace(" › ", "/") if found else ""


Part = Callable[[Request], Answer]


def in_order(*answers: Answer) -> Part:
    """An agent that does one thing after the other, by what its conversation shows."""
    return lambda asked: answers[min(len(asked.results), len(answers) - 1)]


DONE = act("done", summary="done as asked")
FIX = in_order(act("edit", path="calc.py", old="a - b", new="a + b"), DONE)
"""Repairs the project of the harness."""

LOOK = {
    "name": "look",
    "instructions": "Write plan.txt that names the operator which is wrong.",
    "criteria": ["plan.txt names the operator"],
    "test_command": "grep -q minus plan.txt",
}
SWAP = {
    "name": "swap",
    "instructions": "Swap minus and plus in calc.py.",
    "criteria": ["`add(2, 3) == 5`"],
    "test_command": QUICK_CHECK,
}
STEPS = (LOOK, SWAP)


@dataclass
class Cast:
    """Who plays what. `agent` is asked for every agent that no entry of `steps` is for."""

    agent: Part
    steps: dict[str, Part] = field(default_factory=dict)
    """Agents by the path of their task."""
    hunter: Part | None = None
    """Bug hunters, wherever they are; None: `agent`, or the part at that path."""
    pruner: Part = lambda asked: say("#### Where it stands\nNothing is done yet; the operator in `add` is wrong.")
    decomposer: Part = lambda asked: split(*STEPS)
    replanner: Part = lambda asked: split()
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: dict[str, Any]) -> Answer:
        asked = Request(request)
        self.asked.append(asked)
        if "estimate" in asked.tools:
            return act("estimate", reason="one place changes", steps=1, atomic=True)
        if "split" in asked.tools and "done" not in asked.tools:
            return (self.decomposer if "Cut a task" in asked.brief else self.replanner)(asked)
        if not asked.tools:
            return self.pruner(asked)
        if self.hunter is not None and "find the bug" in asked.brief:
            return self.hunter(asked)
        return self.steps.get(asked.place, self.agent)(asked)

    def of(self, place: str) -> list[Request]:
        """What the agents at a path were asked."""
        return [asked for asked in self.asked if "done" in asked.tools and asked.place == place]


DEFAULT_STEPS: dict[str, Part] = {
    "look": in_order(act("write", path="plan.txt", content="minus\n"), DONE),
    "swap": FIX,
}


# ── ways to be stuck ────────────────────────────────────────────────────────────────────────────────────────────────


def circular_tools(asked: Request) -> Answer:
    return act("read", f"Thought number {asked.rounds}.", path="calc.py")


def repetitive_output(asked: Request) -> Answer:
    return say("I will now carefully change the operator in the function add of the file calc.py.")


THOUGHTS = (
    "The function add seems to subtract its arguments.",
    "Perhaps somebody meant to write a difference once.",
    "A test compares the sum of two and three with five.",
    "Nothing else in this project calls it, as far as one can see.",
    "Mathematics has known addition for a long time.",
    "Let us think about what correctness means here.",
)


def monologue(asked: Request) -> Answer:
    return say(THOUGHTS[asked.rounds % len(THOUGHTS)])


PRINTING = ("cat {}", "head -n 50 {}", "tail -n +1 {}", "sed -n 1,99p {}", "grep '' {}", "awk 1 {}", "tac {} | tac")


def no_progress(asked: Request) -> Answer:
    """Always another command, never another result."""
    return act("bash", command=PRINTING[asked.rounds % len(PRINTING)].format("calc.py"))


def repeated_error(asked: Request) -> Answer:
    """The same error, whatever is tried."""
    return act("bash", command=f"python3 tools/convert.py --level {asked.rounds} calc.py")


MINUS, PLUS = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a * b\n"
BACK_AND_FORTH = (
    act("edit", path="calc.py", old="a - b", new="a * b"),
    act("write", path="calc.py", content=MINUS),
    act("bash", command="sed -i 's/a - b/a * b/' calc.py"),
    act("edit", path="calc.py", old="a * b", new="a - b"),
    act("write", path="calc.py", content=PLUS),
    act("bash", command="sed -i 's/a [*] b/a - b/' calc.py && echo back"),
)


def oscillation(asked: Request) -> Answer:
    return BACK_AND_FORTH[asked.rounds % len(BACK_AND_FORTH)]


def paging(asked: Request) -> Answer:
    return act("read", path="long.txt", start=1 + 40 * asked.rounds, lines=40)


def slow(asked: Request) -> Answer:
    """Always something new, never done."""
    return act("write", path=f"notes/{asked.rounds}.txt", content=f"thought {asked.rounds}\n")


WAYS: dict[str, Part] = {
    "repetitive_output": repetitive_output,
    "circular_tools": circular_tools,
    "no_progress": no_progress,
    "repeated_error": repeated_error,
    "monologue": monologue,
    "oscillation": oscillation,
    "paging": paging,
    "max_rounds": slow,
}


def until(ready: Callable[[Request], bool], stuck: Part, then: Part) -> Part:
    """Stuck until something is different, then able."""
    return lambda asked: then(asked) if ready(asked) else stuck(asked)


def after_nudge(stuck: Part) -> Part:
    """Heeds a word: counts its own steps from there."""

    def part(asked: Request) -> Answer:
        told = next((at for at, text in enumerate(asked.texts) if NUDGED in text), None)
        if told is None:
            return stuck(asked)
        done = any(message["role"] == "tool" for message in asked.messages[told:])
        return DONE if done else act("write", path="calc.py", content="def add(a, b):\n    return a + b\n")

    return part


def names(seen: Sequence[Any]) -> list[str]:
    return [event.decision.rung for event in seen]
