"""The model as a helper: it extracts, cuts a task into steps, and finds another way. Each can go wrong."""

import json
import re
from random import Random
from typing import Any

from fallible.catalogue import Item
from fallible.goals import check, path_of
from fallible.rates import Rates
from fallible.shown import CRITERIA, Request, items_in

CRITERION = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
DONE = re.compile(r"^- `([\w-]+)` \(completed\)", re.MULTILINE)
BAD = ("again", "forgotten", "unprovable", "coarse")
"""Ways in which a plan is bad: the task said again, a part left out, a check that cannot pass, hardly cut."""

Step = dict[str, Any]


def extract(shown: Request, rates: Rates, random: Random) -> str:
    """A pruner's or a summariser's text."""
    if random.random() < rates.bad_extract:
        return "The engineer works on the task and has made progress. It should be finished soon."
    return (
        "#### Where it stands\nSome functions are written; the tests say which ones still fail.\n\n#### Next\nRun them."
    )


def split(shown: Request, rates: Rates, random: Random) -> str:
    """The arguments of `split`: 2 to 4 steps for a stuck task, or 2 to 3 by another way."""
    asked = shown.brief
    task, _, rest = asked.partition("## The task") if "## The task" in asked else asked.partition("## The goal")
    items = items_in(CRITERIA.split(rest)[0])
    criteria = [(int(number), text) for number, text in CRITERION.findall(CRITERIA.split(rest)[-1])]
    another = "What did not work" in asked or "Another way" in task or "What can still be reached" in task
    bad = random.choice(BAD) if random.random() < rates.bad_plan else ""
    groups = _another(items, DONE.findall(asked), random) if another else _groups(_unwritten(items, asked))
    steps = [_step(group, criteria, another) for group in groups]
    if bad == "again" or len(steps) < 2:
        steps = [_restated(rest, criteria), _restated(rest, criteria) | {"name": "the-rest"}]
    elif bad == "forgotten":
        steps[-1] = _step(groups[-1][: len(groups[-1]) // 2] or groups[0][:1], criteria, another) | {
            "name": "last-part"
        }
    elif bad == "unprovable":
        steps[0]["test_command"] = check("everything")
    elif bad == "coarse":
        last = groups[-1][-1:]
        most = tuple(item for item in items if item not in last)
        steps = [_step(most, criteria, another), _step(last, criteria, another) | {"name": "last-one"}]
    covered = {number for step in steps for number in step["covers"]}
    steps[-1]["covers"] = sorted({*steps[-1]["covers"], *(number for number, _ in criteria if number not in covered)})
    return json.dumps({"approach": "Smaller steps, each proven alone.", "steps": steps})


def _unwritten(items: tuple[Item, ...], asked: str) -> tuple[Item, ...]:
    """What is not written is not done; of a module that is only partly written, all of it. Whether what is written is
    right, the model cannot tell from a diff."""
    left = {item.module for item in items if f"-    {item.stub}" not in asked}
    return tuple(item for item in items if item.module in left) or items


def _groups(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """By module when there are several, else by function; at most four."""
    modules = list(dict.fromkeys(item.module for item in items))
    if len(modules) > 1:
        return [tuple(item for item in items if item.module == module) for module in modules][:4]
    count = min(4, len(items))
    return [items[at::count] for at in range(count)]


def _another(items: tuple[Item, ...], done: list[str], random: Random) -> list[tuple[Item, ...]]:
    """What is left, cut otherwise than before: two or three groups across modules."""
    names = {part for name in done for part in name.split("-")}
    left = [item for item in items if item.module not in names and item.name not in names] or list(items)
    if len(left) == 1:
        others = [item for item in items if item.module == left[0].module and item is not left[0]]
        return [tuple(left), tuple(others or items[:1])]
    count = min(3, len(left))
    random.shuffle(left)
    return [tuple(left[at::count]) for at in range(count)]


def _step(group: tuple[Item, ...], criteria: list[tuple[int, str]], another: bool) -> Step:
    modules = list(dict.fromkeys(item.module for item in group))
    if another:
        head = (
            f"Begin {' and '.join(item.name for item in group)} anew from the cases of the tests, the plainest first."
        )
        lines = "\n".join(f"- `{item.key}({item.arguments})`" for item in group)
    else:
        head = f"Write the functions of {' and '.join(modules)}, one after the other."
        lines = "\n".join(item.line for item in group)
    whole = not another and len(group) > 1
    names = modules if whole else [item.key for item in group]
    return {
        "name": "-".join(modules if whole else [item.name for item in group])[:40],
        "instructions": f"{head}\n\n{lines}",
        "criteria": [f"`{check(*names)}` passes"],
        "files": [path_of(module) for module in modules],
        "needs": [],
        "test_command": check(*names),
        "complexity": max(1, min(5, len(group))),
        "covers": [number for number, text in criteria if any(f"test_{module}" in text for module in modules)],
    }


def _restated(rest: str, criteria: list[tuple[int, str]]) -> Step:
    told = CRITERIA.split(rest)[0].strip()
    return {
        "name": "do-it",
        "instructions": told[:7_000],
        "criteria": [text for _, text in criteria] or ["all tests pass"],
        "covers": [number for number, _ in criteria],
    }
