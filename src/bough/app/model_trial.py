"""Try a model on three tiny tasks, as runs of their own in a temporary folder: is it usable, and with which
protocol?"""

from __future__ import annotations

import tempfile
from pathlib import Path

from msgspec import Struct

from bough.app.choices import Choices, RunObserver
from bough.app.session import open_session
from bough.core import events as e
from bough.core.planning.plan import build_goal_step

ROUNDS = 6
MINUTES = 5.0


class Tiny(Struct, frozen=True):
    """A one-file task that its test decides."""

    name: str
    goal: str
    before: str
    test: str


TASKS = (
    Tiny(
        "repair a line",
        "Make add in calc.py add, so that the test in test_calc.py passes.",
        "def add(a, b):\n    return a - b\n",
        "self.assertEqual(calc.add(2, 3), 5)",
    ),
    Tiny(
        "write a function",
        "Write the function initials in calc.py, so that the test in test_calc.py passes.",
        'def initials(name):\n    """The first letter of each word, in capitals."""\n    raise NotImplementedError\n',
        "self.assertEqual(calc.initials('ada king lovelace'), 'AKL')",
    ),
    Tiny(
        "change what a function does",
        "Make shorten in calc.py end a text that it cuts with '...', so that the test in test_calc.py passes.",
        "def shorten(text, limit):\n    return text[:limit]\n",
        "self.assertEqual((calc.shorten('abcdefgh', 6), calc.shorten('abc', 6)), ('abc...', 'abc'))",
    ),
)
TEST = "import unittest\n\nimport calc\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n        {test}\n"


class Trial(Struct, frozen=True):
    """The result."""

    solved: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    protocol: str = ""
    """The protocol in use at the end."""
    why: str = ""
    rounds: int = 0
    tokens: int = 0


async def try_model(choices: Choices) -> Trial:
    """What comes of it is remembered, as with any run."""
    solved: list[str] = []
    protocol, why, rounds, tokens = "tools", "", 0, 0
    with tempfile.TemporaryDirectory(prefix="bough-doctor-") as place:
        folder = Path(place)
        (folder / "calc.py").write_text("")
        for tiny in TASKS:
            (folder / "calc.py").write_text(tiny.before)
            (folder / "test_calc.py").write_text(TEST.format(test=tiny.test))
            async with open_session(folder, create=True) as opened:
                goal = build_goal_step(tiny.goal, check="python3 -m unittest -q test_calc")
                outcome = await opened.start(goal, choices, RunObserver())
                records = await opened.store.read(outcome.run, kinds=("AttemptStarted",))
            begun = [record.event for record in records if isinstance(record.event, e.AttemptStarted)]
            protocol, why = (begun[-1].protocol, begun[-1].why) if begun else (protocol, why)
            rounds, tokens = rounds + outcome.spend.rounds, tokens + outcome.spend.tokens
            if outcome.completed:
                solved.append(tiny.name)
    failed = tuple(tiny.name for tiny in TASKS if tiny.name not in solved)
    return Trial(tuple(solved), failed, protocol, why, rounds, tokens)
