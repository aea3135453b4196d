"""The model: an answer for a request, made of nothing but what the request shows, the rates and a seed.

It is not told what bough is configured to do, and keeps nothing between requests: two requests that show the same get
the same answer. What it "knows" is the catalogue of functions. What it does is what a careful engineer would do next,
unless one of its failures strikes.
"""

import json
from dataclasses import dataclass
from random import Random

from fallible import plans
from fallible.catalogue import Item
from fallible.goals import check, path_of, source
from fallible.rates import Rates, stronger
from fallible.shown import Request

SPELLS = {
    "repeat": "Let me try that again.",
    "reread": "I look at the file once more to be sure.",
    "refused": "This edit should do it.",
    "paging": "The handbook may have a rule for this.",
    "talking": "I will now think about how to go on with this.",
}
"""How the model sounds while it is stuck, by the way in which it is. Its own words are its memory of being stuck."""
KINDS = ("repeat", "reread", "reread", "refused", "paging", "talking")
NUDGED = ("it seems to be stuck", "Your answer called no tool")
PAGE = 40


@dataclass(frozen=True)
class Reply:
    text: str
    tool: str = ""
    arguments: str = ""


def reply(shown: Request, rates: Rates, seed: str) -> Reply:
    """The answer to a request."""
    rates = stronger(rates) if shown.model.endswith("strong") else rates
    random = Random(f"{seed} {shown.digest}")
    if "split" in shown.tools and "write" not in shown.tools:
        return Reply("", "split", plans.split(shown, rates, random))
    if not shown.tools:
        return Reply(plans.extract(shown, rates, random))
    return Engineer(shown, rates, seed, random).act()


@dataclass
class Engineer:
    """One round of an engineer with tools."""

    shown: Request
    rates: Rates
    seed: str
    random: Random

    def act(self) -> Reply:
        if "write" not in self.shown.tools:
            return self._hand_over()
        kind = self._spell()
        if kind:
            return self._stuck(kind)
        if self._strikes(self.rates.early + self.rates.early_fog * self.fog) and self.shown.made:
            return _call("done", "All of it is in place now.", summary="Everything that was asked for is done.")
        return self._next()

    # ── how clear its head is ───────────────────────────────────────────────────────────────────────────────────

    @property
    def fog(self) -> float:
        return _between(self.shown.size, self.rates.clear, self.rates.full)

    @property
    def load(self) -> float:
        return _between(len(self.shown.items), self.rates.few, self.rates.many)

    def _strikes(self, probability: float) -> bool:
        return self.random.random() < probability

    # ── what a careful engineer does ────────────────────────────────────────────────────────────────────────────

    def _next(self) -> Reply:
        seen, items = self.shown.seen, self.shown.items
        if seen.failing is None:
            return self._test("First I run the tests to see where it stands.")
        open_ = [item for item in items if item in seen.failing and item not in seen.dirty]
        if open_:
            item = open_[0]
            if not seen.knows(item):
                return _call("read", f"I look at {item.module}.", path=path_of(item.module))
            return self._write(item)
        if seen.dirty:
            return self._test("Now the tests.")
        return _call("done", "The tests pass.", summary=f"Wrote {', '.join(item.key for item in items)}; tests pass.")

    def _test(self, text: str) -> Reply:
        modules = dict.fromkeys(item.module for item in self.shown.items)
        return _call("bash", text, command=check(*modules))

    def _write(self, item: Item) -> Reply:
        bodies = {known: body for known, body in self.shown.seen.bodies.items() if known.module == item.module}
        spoils = self.rates.breaks + self.rates.breaks_fog * self.fog
        for other in bodies:
            if other is not item and bodies[other] != other.stub and self._strikes(spoils):
                bodies[other] = self.random.choice(other.wrong)
        wrong = [body for body in item.wrong if body != bodies.get(item)]
        bodies[item] = self.random.choice(wrong) if self._strikes(self._misses(item)) else item.right
        return _call("write", f"Now {item.name}.", path=path_of(item.module), content=source(bodies))

    def _misses(self, item: Item) -> float:
        blind = Random(f"{self.seed} blind {item.key}").random() < self.rates.blind
        if blind:
            return self.rates.blind_focused if len(self.shown.items) <= 2 else self.rates.blind_wrong
        return self.rates.wrong + self.rates.wrong_fog * self.fog + self.rates.wrong_load * self.load

    def _hand_over(self) -> Reply:
        seen = self.shown.seen
        if seen.failing == set() and not seen.dirty:
            return _call("done", "It is finished.", summary="All tests pass.")
        return _call("note", "I did not get further.", kind="decision", text="Some tests may still fail.")

    # ── being stuck ─────────────────────────────────────────────────────────────────────────────────────────────

    def _spell(self) -> str:
        """How it is stuck in this round; empty when it is not."""
        last = self.shown.words[-1] if self.shown.words else ""
        under_way = next((kind for kind, words in SPELLS.items() if words == last), "")
        if under_way:
            named = any(words in self.shown.told for words in NUDGED)
            if (named and self._strikes(self.rates.heeds)) or not self._strikes(self.rates.stays):
                return ""
            return under_way
        begins = self._strikes(self.rates.stuck + self.rates.stuck_fog * self.fog)
        return self.random.choice(KINDS) if begins and self.shown.made else ""

    def _stuck(self, kind: str) -> Reply:
        made, text = self.shown.made, SPELLS[kind]
        if kind == "talking":
            return Reply(text)
        if kind == "repeat":
            return Reply(text, made[-1].tool, made[-1].raw)
        if kind == "paging":
            pages = sum(call.arguments.get("path") == "HANDBOOK.txt" for call in made)
            return _call("read", text, path="HANDBOOK.txt", start=1 + PAGE * (pages % 15), lines=PAGE)
        path = path_of(self.shown.items[0].module) if self.shown.items else "HANDBOOK.txt"
        if kind == "reread":
            return _call("read", text, path=path)
        old = f"    return {self.random.choice(('result', 'value', 'found', 'answer'))}"
        return _call("edit", text, path=path, old=old, new="    return None")


def _between(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _call(tool: str, text: str, /, **arguments: object) -> Reply:
    return Reply(text, tool, json.dumps(arguments))
