"""Every button of every kind of question, on every page that shows it, alone and against a second browser."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bough.app import open_journal
from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits
from bough.core.ids import GOAL
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.tree.task_state import State
from bough.services.run_messages import load_waiting
from tests.harness import make_project
from tests.web import journals
from tests.web.browsing import Page, at, browser, expect, find_axe_violations, page_of
from tests.web.journals import TREE, Told
from tests.web.serving import Server, serve
from tests.web.story import DISAGREES, STEPS

__all__ = ["browser"]

RUN = "coral-lynx"
LATE = "Not like that."
DEEDS = {  # What is pressed, what the journal then says; a task of its own for each.
    "command": {"yes": "run it", "no": "do not run it: Not now."},
    "tests": {"yes": "allowed", "no": "not allowed: Not now."},
    "plan": {
        "plan-run": "run it",
        "plan-own": "their own plan",
        "plan-none": "as one piece of work",
        "plan-other": "another plan: Not now.",
    },
    "question": {"suggested": "7 %", "answer": "Not now."},
}
FIRST = {"command": "no", "tests": "no", "plan": "plan-none", "question": "suggested"}
"""What the other browser presses, before this one."""
FIELDS = {
    "command": "Message to the agent if you deny it",
    "tests": "Message to the agent if you deny it",
    "plan": "Or say what should be different",
    "question": "Your answer",
}


def _ask(kind: str, task: str, until: float) -> Iterator[Told]:
    step = Step(task, f"Do {task}.", title=f"Work on {task}")
    yield GOAL, e.ChildStarted(task, task, Limits(rounds=20))
    yield task, e.TaskCreated(step, TREE, Limits(rounds=20), Rules())
    yield task, e.StateChanged(State.IN_PROGRESS, "work begins")
    if kind == "command":
        yield "@control", e.CommandHeld(task.replace("-", "")[:8].ljust(8, "0"), f"git push {task}", task, until)
    elif kind == "plan":
        yield task, e.PlanProposed(STEPS)
    elif kind == "question":
        yield task, e.QuestionAsked("Which rate holds?\n\n- 5 %\n- 7 %")
    else:
        reason = "the check passes, but 1 original test fails on the new code"
        verdict = Verdict("needs_approval", reason, "pytest -q", passed=31, how="junit", disagreements=(DISAGREES,))
        yield task, e.CheckFinished(verdict)
        yield task, e.ChangesAsked((DISAGREES.test,))


def _list_asked() -> list[tuple[str, str, str]]:
    """Kind, what is pressed, and the task that asks."""
    alone = [(kind, deed, f"{kind[0]}{n}-{deed}") for kind in DEEDS for n, deed in enumerate(DEEDS[kind])]
    return alone + [(kind, "", f"{kind[0]}9-late") for kind in DEEDS]


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Server]:
    """One run, whose tasks ask everything that can be asked."""
    root, now = make_project(tmp_path / "shop"), time.time()
    asked = _list_asked()
    goal = Step(GOAL, "Publish the price list every night.", test_command="pytest -q")
    told: list[Told] = [
        ("", e.RunStarted(Plan(goal), TREE, "", {"main": "openai:test"}, Limits(rounds=90), Rules(), "0.1.0", 3)),
        (GOAL, e.TaskCreated(goal, TREE, Limits(rounds=90), Rules())),
        (GOAL, e.StateChanged(State.IN_PROGRESS, "work begins")),
        (GOAL, e.Planned(tuple(Step(task, f"Do {task}.") for *_, task in asked), "the plan")),
        *(one for kind, _, task in asked for one in _ask(kind, task, now + 3600)),
    ]
    journals.write(root, RUN, told, pace=0.1, begin=now - 60)
    with journals.carried_out(root, RUN), serve(root) as served:
        yield served


def _open(page: Page, served: Server, screen: str) -> None:
    if screen != "home":
        page.goto(at(served, screen, served.project, RUN, *(["c0-yes"] if screen == "task" else [])))
    expect(page.locator(".question").first).to_be_visible()


def _find(page: Page, screen: str, task: str) -> Any:
    """What that task asks; at home it is chosen first."""
    found = page.locator(".question").filter(has=page.get_by_role("link", name=task, exact=True))
    if screen == "home":
        for line in page.locator(".ask").all():
            line.click()
            if found.count():
                break
    expect(found).to_be_visible()
    return found


def _press(question: Any, kind: str, deed: str) -> None:
    if deed in ("no", "plan-other", "answer"):
        question.get_by_label(FIELDS[kind]).fill("Not now.")
    if deed == "plan-own":
        question.get_by_text("Edit it as TOML").click()
        plan = question.get_by_label("The plan")
        plan.fill(f"{plan.input_value()}\n# Mine.\n")
    question.locator(f'[data-action="{deed}"]').last.click()


def _read_answers(root: Path) -> dict[str, str]:
    """What the journal says, by task."""

    async def load() -> dict[str, str]:
        async with open_journal(root) as journal:
            return {each.task: each.says for each in (await load_waiting(journal, RUN)).answered}

    with ThreadPoolExecutor(1) as pool:  # The browser's loop runs in this thread.
        return pool.submit(asyncio.run, load()).result()


@pytest.mark.parametrize("screen", ["home", "run", "task"])
def test_each_answer_is_in_the_journal_and_of_two_the_first_counts(browser: Any, asking: Server, screen: str) -> None:
    with page_of(browser, asking) as page, page_of(browser, asking, width=390, height=844) as second:
        _open(page, asking, screen)
        _open(second, asking, screen)
        assert not (found := find_axe_violations(page)), found
        for kind, field in FIELDS.items():
            task = f"{kind[0]}9-late"
            mine = _find(second, screen, task)
            mine.get_by_label(field).fill(LATE)
            _press(_find(page, screen, task), kind, FIRST[kind])
            expect(mine).to_contain_text("answered elsewhere meanwhile")
            for deed in ("plan-run", "plan-none", "plan-other", "plan-own") if kind == "plan" else DEEDS[kind]:
                if deed == "plan-own":
                    mine.get_by_text("Edit it as TOML").click()
                    mine.get_by_label("The plan").fill("other")
                mine.locator(f'[data-action="{deed}"]').last.click()
                expect(mine.get_by_role("alert")).to_contain_text("already answered")
                expect(mine.get_by_label(field)).to_have_value(LATE)
                expect(mine.locator(f'[data-action="{deed}"]').last).to_be_enabled()
            mine.get_by_role("button", name="Put it away").click()
            expect(mine).to_have_count(0)
        for kind, deed, task in _list_asked():
            if deed:
                question = _find(page, screen, task)
                _press(question, kind, deed)
                expect(question).to_have_count(0)
        expect(page.locator(".question")).to_have_count(0)
    answered = _read_answers(asking.root)
    wanted = {task: DEEDS[kind][deed] for kind, deed, task in _list_asked() if deed}
    wanted |= {f"{kind[0]}9-late": DEEDS[kind][deed].partition(":")[0] for kind, deed in FIRST.items()}
    assert {task: says.partition(":")[0] if "late" in task else says for task, says in answered.items()} == wanted
