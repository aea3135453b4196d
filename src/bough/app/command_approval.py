"""Commands that need a person's approval: asked here and elsewhere at once; the first answer counts."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from bough.adapters.sandboxes.approval import YES, Permit
from bough.app.run_messages import find_person
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.ids import CONTROL, RUN
from bough.engine.first_answer import wait_for_first

if TYPE_CHECKING:
    from bough.app.journal import Journal
    from bough.ports import Inbox


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

    async def __call__(self, line: str) -> str | None:
        """Their answer; None: none came."""
        post = self._inbox.post
        if post is None:
            return await self._terminal(line) if self._terminal else None
        id = secrets.token_hex(4)
        self._recorded(await post(e.CommandHeld(id, line)))
        ruled = await self._elsewhere_or_here(id, line)
        if isinstance(ruled, e.CommandRuled):
            return "yes" if ruled.allow else ruled.say or "no"
        allow = (ruled or "").strip().lower() in YES
        by = "" if ruled is None else self._person
        await post(e.CommandRuled(id, allow, "" if allow else (ruled or "").strip(), by))
        return ruled

    async def _elsewhere_or_here(self, id: str, line: str) -> e.CommandRuled | str | None:
        def find() -> e.CommandRuled | None:
            said = (record.event for record in self._inbox.after(0))
            return next((each for each in said if isinstance(each, e.CommandRuled) and each.id == id), None)

        here = self._terminal(line) if self._terminal else asyncio.sleep(self._wait)
        return await wait_for_first(self._inbox, find, here)


async def rule_on_command(journal: Journal, name: str, allow: bool, say: str = "", id: str = "") -> str:
    """Allow or refuse the command that a live run is waiting to run; returns its line. Without an id: the only one."""
    held = (await journal.view(name)).held
    if (id not in held and (id or not held)) or await journal.store.holder(name, RUN) is None:
        raise UsageError(f"No command of {name} is waiting for your answer: see `bough status {name}`.")
    id = id or next(iter(held))
    await journal.store.post(name, CONTROL, e.CommandRuled(id, allow, say, find_person()))
    return held[id]
