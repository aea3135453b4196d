"""Commands that need a person's approval: asked here and elsewhere at once; the first answer counts."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bough.adapters.sandboxes.approval import YES, Permit
from bough.app.run_messages import answer_once, find_person, list_waiting
from bough.core import events as e
from bough.core.errors import UsageError

if TYPE_CHECKING:
    from bough.app.journal import Journal
    from bough.steering import Inbox


class AskAnywhere:
    """Shows a command line to the person. Without a terminal it waits `wait` seconds for an answer from elsewhere: the
    dashboard, or `bough approve --command`."""

    def __init__(
        self,
        inbox: Inbox,
        terminal: Permit | None,
        wait: float,
        person: str,
        recorded: Callable[[e.Record], None] = lambda record: None,
    ) -> None:
        self._inbox, self._terminal, self._wait, self._person = inbox, terminal, wait, person
        self._recorded = recorded

    async def __call__(self, line: str, task: str = "") -> str | None:
        """Their answer; None: none came."""
        post, look = self._inbox.post, self._inbox.look
        if post is None or look is None:
            return await self._terminal(line, task) if self._terminal else None
        id = secrets.token_hex(4)
        until = 0.0 if self._terminal else time.time() + self._wait

        def find() -> e.CommandRuled | None:
            said = (record.event for record in self._inbox.after(0))
            return next((each for each in said if isinstance(each, e.CommandRuled) and each.id == id), None)

        self._recorded(await post(e.CommandHeld(id, line, task, until)))
        here = self._terminal(line, task) if self._terminal else asyncio.sleep(self._wait)
        ruled = await self._inbox.first(find, here)
        if not isinstance(ruled, e.CommandRuled):
            said = (ruled or "").strip()
            allow = said.lower() in YES
            mine = e.CommandRuled(id, allow, "" if allow else said, "" if ruled is None else self._person)
            # The journal decides which answer was first: one may have come from elsewhere a moment ago.
            await post(mine)
            await look()
            ruled = find() or mine
        if ruled.allow:
            return "yes"
        return None if not ruled.by else ruled.say or "no"


async def rule_on_command(journal: Journal, name: str, allow: bool, say: str = "", id: str = "", task: str = "") -> str:
    """Allow or refuse the command that a live run is waiting to run; returns its line. Without an id: the first one, of
    that task if it is given."""
    held = [each for each in await list_waiting(journal, name) if each.kind == "command"]
    waiting = [each for each in held if id in ("", each.id) and task in ("", each.task)]
    if not waiting:
        raise UsageError(f"No command of {name} is waiting for your answer: see `bough status {name}`.")
    await answer_once(journal, name, waiting[0], e.CommandRuled(waiting[0].id, allow, say, find_person()))
    return waiting[0].question
