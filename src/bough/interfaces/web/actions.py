"""What a person can do from the page. Each action does what the command of the same name does, with the same code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from bough.app import command_approval, open_session, run_messages
from bough.app.plan_proposals import find_proposal, rule_on_plan
from bough.app.settings_consent import answer_wishes, list_open_wishes
from bough.core.errors import UsageError
from bough.core.ids import GOAL
from bough.interfaces.terminal.formatting import pluralize
from bough.ports import Approval
from bough.trust.programs import open_own

Act = Callable[[Path, str, bytes], Awaitable[str]]
PATIENCE = 1.5
"""Seconds to wait for a run that cannot be resumed to say so."""


class _Stop(msgspec.Struct, forbid_unknown_fields=True):
    now: bool = False


class _Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Say(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    task: str = ""


class _Approve(msgspec.Struct, forbid_unknown_fields=True):
    allow: bool
    say: str = ""


class _Command(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    allow: bool
    say: str = ""


class _Plan(msgspec.Struct, forbid_unknown_fields=True):
    says: Literal["yes", "no", "change", "own"]
    task: str = GOAL
    text: str = ""
    """What should be different, or the person's own steps as TOML."""


class _Rewind(msgspec.Struct, forbid_unknown_fields=True):
    to: int
    task: str = GOAL
    say: str = ""


class _Trust(msgspec.Struct, forbid_unknown_fields=True):
    wishes: dict[str, str]
    """What the person was shown."""
    allow: bool


class _Apply(msgspec.Struct, forbid_unknown_fields=True):
    edges: bool = False
    partial: bool = False


async def stop(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Stop)
    async with open_session(root) as opened:
        holder = await opened.stop(name, asked.now)
    if holder is None:
        return f"{name} is not running: nothing to stop."
    return f"Asked {name} to stop {'now' if asked.now else 'after its current effect'}."


async def pause(root: Path, name: str, body: bytes) -> str:
    msgspec.json.decode(body, type=_Nothing)
    async with open_session(root) as opened:
        holder = await run_messages.pause_run(opened, name)
    if holder is None:
        return f"{name} is not running: nothing to pause."
    return f"{name} pauses after its current effect."


async def say(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Say)
    async with open_session(root) as opened:
        holder = await run_messages.say_to_run(opened, name, asked.text, asked.task)
    if holder is None:
        return f"Saved. {name} is not running: its agents read it when you resume it."
    whom = f"the agents at {asked.task}" if asked.task else f"the agents of {name}"
    return f"Sent: {whom} will see it before their next round."


async def answer(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Say)
    async with open_session(root) as opened:
        holder = await run_messages.answer_question(opened, name, asked.text)
    return f"Answered: {name} continues." if holder else f"Answered. {await resume(root, name, b'{}')}"


async def resume(root: Path, name: str, body: bytes) -> str:
    """In its own process, so that it continues when the dashboard ends."""
    msgspec.json.decode(body, type=_Nothing)
    words = ("resume", name, "--dir", str(root), "--json")
    process = await open_own(root, *words, out=asyncio.subprocess.DEVNULL, new_session=True)
    assert process.stderr is not None
    try:
        said = await asyncio.wait_for(process.stderr.read(), PATIENCE)
    except TimeoutError:
        return f"{name} is running again."
    await process.wait()
    text = said.decode("utf-8", "replace").strip().removeprefix("bough: ")
    if process.returncode and text:
        raise UsageError(text.splitlines()[-1])
    return f"{name} resumed and halted again."


async def approve(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Approve)
    async with open_session(root) as opened:
        tests = await opened.rule_on_changes(name, allow=asked.allow, say=asked.say)
    said = f"{'Allowed' if asked.allow else 'Not allowed'}: {', '.join(tests)}."
    return f"{said} {await resume(root, name, b'{}')}"


async def plan(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Plan)
    async with open_session(root) as opened:
        waiting = await find_proposal(opened, name, asked.task)
        own = asked.says == "own"
        approval = waiting.own(asked.text) if own else Approval(asked.says, asked.text)
        await rule_on_plan(opened, name, waiting.task, approval)
    return f"Answered: {name} continues with the plan of {waiting.task}."


async def command(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Command)
    async with open_session(root) as opened:
        await command_approval.rule_on_command(opened, name, asked.allow, asked.say, asked.id)
    return f"{name} runs the command." if asked.allow else f"{name} does not run the command; its agent is told."


async def rewind(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Rewind)
    async with open_session(root) as opened:
        await opened.rewind(name, asked.to, asked.task, asked.say)
    return f"Rewound {name} to point {asked.to} of {asked.task}. Resume it to continue from there."


async def apply(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Apply)
    async with open_session(root) as opened:
        view = await opened.view(name)
        if view.status != "completed" and not asked.partial:
            raise UsageError(f"{name} is not completed, so its work is not verified: review the changes first.")
        changes = await opened.apply(name, asked.edges)
    return f"Applied {name}: {pluralize(len(changes), 'file')} changed."


async def trust(root: Path, name: str, body: bytes) -> str:
    """About the whole project, from the page of any of its runs."""
    asked = msgspec.json.decode(body, type=_Trust)
    _, wishes = await asyncio.to_thread(list_open_wishes, root)
    if asked.wishes != wishes:
        raise UsageError("The settings of this repository have changed meanwhile: look at them again.")
    answer_wishes(root, wishes, allowed=asked.allow)
    return f"{'Allowed' if asked.allow else 'Not allowed'}: {', '.join(wishes)}. It holds for runs that start now."


async def undo(root: Path, name: str, body: bytes) -> str:
    msgspec.json.decode(body, type=_Nothing)
    async with open_session(root) as opened:
        changes = await opened.undo(name)
    return f"Undid {name} in your files: {pluralize(len(changes), 'file')}."


ACTIONS: dict[str, Act] = {
    "stop": stop,
    "pause": pause,
    "say": say,
    "answer": answer,
    "resume": resume,
    "approve": approve,
    "plan": plan,
    "command": command,
    "rewind": rewind,
    "apply": apply,
    "undo": undo,
    "trust": trust,
}


async def act(root: Path, run: str, name: str, body: bytes) -> dict[str, Any]:
    """Do what the page asks, and return what to tell the person."""
    if name not in ACTIONS:
        raise UsageError(f"Unknown action `{name}`.")
    try:
        return {"said": await ACTIONS[name](root, run, body)}
    except msgspec.MsgspecError as error:
        raise UsageError(f"The request for `{name}` is invalid: {error}.") from None
