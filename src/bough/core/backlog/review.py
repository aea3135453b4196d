"""The review of a backlog before work on it begins, while the person is still there: it finds faults in goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from bough.core.backlog.entry import GoalEntry, GoalFault
from bough.core.conversation import schema
from bough.core.conversation.structured_answer import parse_answer
from bough.core.messages import Answer, ToolSpec

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


class _Found(Struct, frozen=True):
    goal: str
    kind: Literal["vague", "contradictory", "doubled", "too large"]
    says: str
    question: str = ""


class _Review(Struct, frozen=True):
    findings: tuple[_Found, ...] = ()


def find_by_form(name: str, entries: Mapping[str, GoalEntry], check: bool) -> list[GoalFault]:
    """Find a goal's faults without a model. `entries`: all goals; `check`: whether bough found one in the project."""
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
