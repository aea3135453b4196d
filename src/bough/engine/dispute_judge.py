"""Have a fresh judge on the strong tier decide a dispute. It sees only the request and the dispute."""

from __future__ import annotations

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.judge_ruling import RULE, Ruling, read_ruling
from bough.core.conversation import context
from bough.core.conversation.structured_answer import Problems
from bough.core.planning import prompt_values
from bough.core.tree.task import Task
from bough.engine.consult import consult, render_answer
from bough.engine.task_workspace import TaskRuntime

JUDGE = "judge"


class DisputeRuling(Struct, frozen=True):
    """The result of a dispute, and the events that record its cost."""

    events: tuple[e.AnyEvent, ...]
    ruling: Ruling | None
    """None: the judge is unavailable."""
    error: str = ""


async def ask_judge(task: Task, runtime: TaskRuntime, *, request: str, dispute: str, question: str) -> DisputeRuling:
    """Ask once; an unusable answer may be repaired once. A ruling that still has no quote upholds nothing. Raises
    `Unavailable` when the model refuses."""
    values = {"request": request, "dispute": dispute, "question": question}
    events: tuple[e.AnyEvent, ...] = ()
    more, found = "", Problems(("no answer",))
    for _ in range(2):
        asked = await consult(task, runtime, JUDGE, "strong", values, RULE, more)
        events = (*events, *asked.events)
        if asked.answer is None:
            return DisputeRuling(events, None, asked.error)
        ruling = read_ruling(asked.answer, request)
        if isinstance(ruling, Ruling):
            return DisputeRuling(events, ruling)
        found = ruling
        repair = prompt_values.build_repair_values(RULE.name, found, render_answer(asked.answer))
        more = context.render(runtime.ports.prompt("plan_repair"), repair)
    return DisputeRuling(events, Ruling(False, "", f"the judge gave no valid ruling: {found.said[0]}"))
