"""Have a dispute decided by a fresh judge on the strong tier, who sees the request and the dispute and nothing else."""

from __future__ import annotations

from msgspec import Struct

from bough.core import context
from bough.core import events as e
from bough.core.judging import RULE, Ruling, read_ruling
from bough.core.planning import brief
from bough.core.structured import Problems
from bough.core.task import Task
from bough.engine.consult import consult, said
from bough.engine.site import Site

JUDGE = "judge"


class Judged(Struct, frozen=True):
    """What came of a dispute, and the events that record what it cost."""

    events: tuple[e.AnyEvent, ...]
    ruling: Ruling | None
    """None: the judge could not be asked."""
    error: str = ""


async def judge(task: Task, site: Site, *, request: str, dispute: str, question: str) -> Judged:
    """Ask once; an answer that cannot be taken may be mended once. A ruling that still has no quote upholds nothing.
    Raises `Unavailable` when the model refuses."""
    values = {"request": request, "dispute": dispute, "question": question}
    events: tuple[e.AnyEvent, ...] = ()
    more, found = "", Problems(("nothing was said",))
    for _ in range(2):
        asked = await consult(task, site, JUDGE, "strong", values, RULE, more)
        events = (*events, *asked.events)
        if asked.answer is None:
            return Judged(events, None, asked.error)
        ruling = read_ruling(asked.answer, request)
        if isinstance(ruling, Ruling):
            return Judged(events, ruling)
        found = ruling
        mend = brief.repair(RULE.name, found, said(asked.answer))
        more = context.render(site.ports.prompt("plan_repair"), mend)
    return Judged(events, Ruling(False, "", f"the judge gave no ruling that counts: {found.said[0]}"))
