"""Lets a model review the goals of a backlog before work begins: each once, and again after an edit."""

from __future__ import annotations

import time

from bough.app.choices import Choices, RunObserver
from bough.app.run_models import find_endpoints, find_substitute_model
from bough.app.session import Session
from bough.core import events as e
from bough.core.backlog.entry import GoalFault
from bough.core.backlog.review import AT_ONCE, REVIEW, find_by_form, read_review, render_goals
from bough.core.backlog.state import Backlog
from bough.core.budget.limits import Spend
from bough.core.conversation.context import render
from bough.core.errors import TransientError, Unavailable
from bough.core.ids import CONTROL, GOAL
from bough.core.planning.plan import build_goal_step
from bough.core.tree.task import Task
from bough.services.backlog import load_backlog
from bough.services.permissions import list_barred
from bough.services.run_messages import find_person

FILES = 300
"""The most paths of the project that a reviewer sees."""


def list_unread(backlog: Backlog) -> list[str]:
    """List the goals that have not begun and were not reviewed since they were added or changed."""
    return [
        item.name
        for item in backlog.items.values()
        if not item.dropped and item.findings is None and (item.report is None or item.edited) and not item.running
    ]


async def review_goals(session: Session, backlog: Backlog, choices: Choices) -> tuple[Backlog, Spend]:
    """Review the goals that were not reviewed yet. Return the backlog with the findings, and the cost, which counts
    towards the limit of the current or next night (`bough backlog run`). Goals from another machine are not reviewed,
    because nobody here allowed the cost."""
    from bough.app.run_ports import open_ports
    from bough.engine.consult import helper_prompt

    barred, total = await list_barred(session, backlog), Spend()
    unread = [name for name in list_unread(backlog) if name not in barred]
    if not unread:
        return backlog, total
    entries = {item.name: item.entry for item in backlog.items.values() if not item.dropped and item.name not in barred}
    session.require_models(choices)
    agents, step = choices.agents(session.config.builders.named()), build_goal_step("Any goal.")
    models = choices.models(session.config.models, find_substitute_model(step, agents))
    endpoints, outside = find_endpoints(session, models, choices), choices.outside(agents, step, models)
    base = await session.workspaces.take()
    async with open_ports(session, models, choices, RunObserver(), endpoints, outside=outside) as ports:
        task = Task(GOAL, step=step, base=base, tree=base, rules=choices.rules(session.config.limits))
        check = await ports.verifier.find(task) is not None
        files = "\n".join(sorted(await ports.workspaces.paths(base))[:FILES]) or "None."
        for names in (unread[at : at + AT_ONCE] for at in range(0, len(unread), AT_ONCE)):
            shown = render_goals({name: entries[name] for name in names}, entries)
            question = render(ports.prompt("goals"), {"files": files} | shown)
            began = time.monotonic()
            try:
                prompt = helper_prompt("backlog#review", question, ports, "fast", REVIEW)
                answer = await ports.models["fast"].ask(prompt, lambda text: None)
            except TransientError as error:
                raise Unavailable(f"{error} The goals were not reviewed: try again later.") from None
            spend = Spend(rounds=1).called(answer.usage, answer.cost, time.monotonic() - began)
            found = read_review(answer, names)
            read: dict[str, list[GoalFault]] = found if isinstance(found, dict) else {name: [] for name in names}
            said = {name: (*find_by_form(name, entries, check), *read[name]) for name in names}
            total = total.plus(spend)
            await session.store.post(backlog.stream, CONTROL, e.GoalsReviewed(said, spend, find_person()))
    return await load_backlog(session, backlog.name), total


def add_answer(goal: str, question: str, answer: str) -> str:
    """Add the person's answer to a finding to the goal. The question is quoted, so that it is not read as a demand."""
    asked = " ".join(question.split()).strip("“”")
    return f"{goal.rstrip()}\n\n“{asked}” – {' '.join(answer.split())}"
