"""Lets a model review the goals of a backlog before work begins: each once, and again after an edit."""

import time
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from bough.app.choices import Choices, RunObserver
from bough.app.run_models import find_endpoints, find_substitute_model
from bough.app.session import Session
from bough.core import events as e
from bough.core.backlog.entry import GoalEntry, GoalFault
from bough.core.backlog.state import Backlog
from bough.core.budget.limits import Spend
from bough.core.conversation import schema
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import parse_answer
from bough.core.errors import TransientError, Unavailable
from bough.core.ids import CONTROL, GOAL
from bough.core.messages import Answer, ToolSpec
from bough.core.planning.plan import build_goal_step
from bough.core.tree.task import Task
from bough.services.backlog import load_backlog
from bough.services.permissions import list_barred
from bough.services.run_messages import find_person

AT_ONCE = 20
"""The maximum number of goals that the model reviews in one question."""
LONGEST = 4_000
"""The maximum number of characters of a goal that the model sees."""
REVIEW = ToolSpec(
    name="review",
    description="Say what is wrong with goals of the list, in one call.",
    parameters=schema.table(
        {
            "findings": schema.tables(
                "One for each fault, [] if there is none.",
                schema.table(
                    {
                        "goal": schema.text("The name of the goal."),
                        "kind": schema.text("vague, contradictory, doubled or too large."),
                        "says": schema.text("What is wrong, in one short sentence that quotes the goal."),
                        "question": schema.text("What to ask the person so that their answer settles it."),
                    },
                    *("goal", "kind", "says", "question"),
                ),
            )
        },
        "findings",
    ),
    writes=False,
)


class _Finding(Struct, frozen=True):
    goal: str
    kind: Literal["vague", "contradictory", "doubled", "too large"]
    says: str
    question: str = ""


class _Review(Struct, frozen=True):
    findings: tuple[_Finding, ...] = ()


def find_by_form(name: str, entries: Mapping[str, GoalEntry], check: bool) -> list[GoalFault]:
    """Find a goal's faults without a model. `entries`: all goals; `check`: whether bough found a check in the
    project."""
    entry, found = entries[name], list[GoalFault]()
    if missing := [need for need in entry.needs if need not in entries]:
        found.append(GoalFault("needs", f"it needs {', '.join(missing)}, which is not in the list: it cannot begin"))
    if not entry.check and not check:
        found.append(
            GoalFault("no check", f"nothing can prove it: `bough backlog edit {name} --check CMD` sets a check")
        )
    return found


def render_goals(goals: Mapping[str, GoalEntry], others: Mapping[str, GoalEntry]) -> dict[str, str]:
    """Render the question to the model: the goals to review in full, and the titles of the others."""
    shown = [f"### {name}\n\n{entry.goal.strip()[:LONGEST]}" for name, entry in goals.items()]
    rest = [f"- {name}: {entry.title[:200]}" for name, entry in others.items() if name not in goals]
    return {"goals": "\n\n".join(shown), "others": "\n".join(rest) or "None."}


def read_review(answer: Answer, names: Sequence[str]) -> dict[str, list[GoalFault]] | str:
    """Read the findings by goal; or say what is wrong with the answer."""
    read = parse_answer(answer, REVIEW, _Review)
    if isinstance(read, str):
        return read
    found: dict[str, list[GoalFault]] = {name: [] for name in names}
    for one in read.findings:
        if one.goal in found:
            found[one.goal].append(GoalFault(one.kind, one.says, one.question))
    return found


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
