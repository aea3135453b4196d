"""What a person can do from the page. Each action does what the command of the same name does, with the same code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from bough.app import Session, open_journal, open_session, run_messages
from bough.app import backlog as backlogs
from bough.app.settings_consent import answer_wishes, list_open_wishes
from bough.core.backlog.entry import GoalEntry
from bough.core.backlog.state import Backlog
from bough.core.errors import NotFound, UsageError
from bough.core.ids import GOAL, RUN
from bough.ports import Approval
from bough.trust.programs import open_own
from bough.views.formatting import pluralize

PATIENCE = 1.5
"""Seconds to wait for a run that cannot be resumed to say so."""
Count = Annotated[int, msgspec.Meta(ge=0)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Does = Callable[..., Awaitable[str]]
Table = dict[str, tuple[Does, type[msgspec.Struct]]]
OF_RUN: Table = {}
"""What can be done to a run."""
OF_PROJECT: Table = {}


def _action(table: Table) -> Callable[[Does], Does]:
    """Enter an action under its name. Its named parameters are the keys of a request for it."""

    def enter(does: Does) -> Does:
        types = get_type_hints(does, include_extras=True)
        named = [one for one in signature(does).parameters.values() if one.kind is one.KEYWORD_ONLY]
        keys = [
            (one.name, types[one.name], msgspec.NODEFAULT if one.default is one.empty else one.default) for one in named
        ]
        request = msgspec.defstruct(does.__name__, keys, kw_only=True, forbid_unknown_fields=True)
        table[does.__name__] = does, request
        return does

    return enter


async def act(root: Path, run: str, name: str, body: bytes) -> dict[str, Any]:
    """Do what the page asks, and return what to tell the person: for `start` the name of the run. Without a run it is
    about the project."""
    table = OF_RUN if run else OF_PROJECT
    if name not in table:
        raise UsageError(f"Unknown action `{name}`.")
    does, request = table[name]
    try:
        asked = msgspec.structs.asdict(msgspec.json.decode(body, type=request))
        if not run:
            return {"run" if name == "start" else "said": await does(root, **asked)}
        async with open_session(root) as opened:
            return {"said": await does(opened, run, **asked)}
    except msgspec.MsgspecError as error:
        raise UsageError(f"The request for `{name}` is invalid: {error}.") from None


# ── a run ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@_action(OF_RUN)
async def stop(opened: Session, run: str, *, now: bool = False) -> str:
    if await opened.stop(run, now) is None:
        return f"{run} is not running: nothing to stop."
    return f"Asked {run} to stop {'now' if now else 'after its current effect'}."


@_action(OF_RUN)
async def pause(opened: Session, run: str) -> str:
    if await run_messages.pause_run(opened, run) is None:
        return f"{run} is not running: nothing to pause."
    return f"{run} pauses after its current effect."


@_action(OF_RUN)
async def say(opened: Session, run: str, *, text: str, task: str = "") -> str:
    if await run_messages.say_to_run(opened, run, text, task) is None:
        return f"Saved. {run} is not running: its agents read it when you resume it."
    whom = f"the agents at {task}" if task else f"the agents of {run}"
    return f"Sent: {whom} will see it before their next round."


@_action(OF_RUN)
async def answer(opened: Session, run: str, *, text: str, task: str = "") -> str:
    holder = await run_messages.answer_question(opened, run, text, task=task)
    return f"Answered: {run} continues." if holder else f"Answered. {await resume(opened, run)}"


@_action(OF_RUN)
async def resume(
    opened: Session, run: str, *, model: str = "", rounds: Count = 0, cost: Amount = 0.0, say: str = ""
) -> str:
    """Resume the run in a process of its own, so that it continues when the dashboard ends. What is given is different
    from here on; the rest is as before."""
    if say.strip():
        await run_messages.say_to_run(opened, run, say)
    chosen = {"--model": model, "--rounds": rounds, "--max-cost": cost}
    own = await start_bough(opened.root, "resume", run, *_list_options(chosen))
    return f"{run} resumed and halted again." if await own.has_ended() else f"{run} is running again."


@_action(OF_RUN)
async def approve(opened: Session, run: str, *, allow: bool, say: str = "", task: str = "") -> str:
    live = await opened.store.holder(run, RUN) is not None
    tests = await opened.rule_on_changes(run, allow=allow, say=say, task=task)
    left = await run_messages.list_waiting(opened, run)
    said = f"{'Allowed' if allow else 'Not allowed'}: {', '.join(tests)}."
    if live:
        return f"{said} {run} continues."
    return f"{said} {len(left)} more to answer." if left else f"{said} {await resume(opened, run)}"


@_action(OF_RUN)
async def plan(
    opened: Session, run: str, *, says: Literal["yes", "no", "change", "own"], task: str = GOAL, text: str = ""
) -> str:
    """`text`: what should be different, or the person's own steps as TOML."""
    waiting, proposed = await run_messages.find_proposal(opened, run, task)
    approval = run_messages.read_own_plan(proposed, text) if says == "own" else Approval(says, text)
    await run_messages.rule_on_plan(opened, run, waiting, approval)
    return f"Answered: {run} continues with the plan of {waiting.task}."


@_action(OF_RUN)
async def command(opened: Session, run: str, *, id: str, allow: bool, say: str = "") -> str:
    await run_messages.rule_on_command(opened, run, allow, say, id)
    return f"{run} runs the command." if allow else f"{run} does not run the command; its agent is told."


@_action(OF_RUN)
async def rewind(opened: Session, run: str, *, to: int, task: str = GOAL, say: str = "") -> str:
    await opened.rewind(run, to, task, say)
    return f"Rewound {run} to point {to} of {task}. Resume it to continue from there."


@_action(OF_RUN)
async def apply(opened: Session, run: str, *, edges: bool = False, partial: bool = False) -> str:
    if (await opened.view(run)).status != "completed" and not partial:
        raise UsageError(f"{run} is not completed, so its work is not verified: review the changes first.")
    return f"Applied {run}: {pluralize(len(await opened.apply(run, edges)), 'file')} changed."


@_action(OF_RUN)
async def undo(opened: Session, run: str) -> str:
    return f"Undid {run} in your files: {pluralize(len(await opened.undo(run)), 'file')}."


# ── the project ─────────────────────────────────────────────────────────────────────────────────────────────────────


@_action(OF_PROJECT)
async def start(
    root: Path,
    *,
    goal: str,
    check: str = "",
    model: str = "",
    rounds: Count = 0,
    cost: Amount = 0.0,
    continues: str = "",
    ask: bool = False,
) -> str:
    """Start a run in its own process and return its name. `continues`: the finished run that it follows up on; `ask`:
    ask about the plan before anything of it runs."""
    if not (goal := goal.strip()):
        raise UsageError("The goal is empty: say what should be true in the end.")
    if len(goal) > run_messages.LONGEST:
        raise UsageError(f"That goal has more than {run_messages.LONGEST:,} characters: put it in a file and name it.")
    known = await _list_runs(root)
    chosen = {"--model": model, "--rounds": rounds, "--max-cost": cost, "--check": check, "--continue": continues}
    flags = ("--ask-later", "--ask-elsewhere" if ask else "--yes")
    own = await start_bough(root, "run", *_list_options(chosen), *flags, "--", goal)
    # It has a name once it is in the journal. A large project is read first; a wrong option ends it before that.
    while not (new := [name for name in await _list_runs(root) if name not in known]):
        if await own.has_ended(0.2):
            raise UsageError("The run ended before it began: try the same with `bough run`.")
    return new[-1]


async def find_check(root: Path) -> dict[str, Any]:
    """What `bough check` says."""
    said, complaint = await (await start_bough(root, "check", out=asyncio.subprocess.PIPE)).said
    try:
        return msgspec.json.decode(said, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise UsageError(complaint.decode("utf-8", "replace").strip().removeprefix("bough: ")) from None


async def _list_runs(root: Path) -> list[str]:
    try:
        async with open_journal(root) as opened:
            return await opened.store.runs()
    except NotFound:  # No journal yet: a run that has just started makes its folder first.
        return []


def _list_options(chosen: dict[str, Any]) -> list[str]:
    """The options that have a value; True stands for a flag."""
    given = {option: value.strip() if isinstance(value, str) else value for option, value in chosen.items()}
    return [option if value is True else f"{option}={value}" for option, value in given.items() if value]


class _Own(msgspec.Struct):
    """A process of bough itself, and what it complains about."""

    process: asyncio.subprocess.Process
    said: asyncio.Task[tuple[bytes, bytes]]

    async def has_ended(self, patience: float = PATIENCE) -> bool:
        """Whether it has ended within a while. Raises what it complained about."""
        done, _ = await asyncio.wait({self.said}, timeout=patience)
        if not done:
            return False
        text = (self.said.result()[1] or b"").decode("utf-8", "replace").strip().removeprefix("bough: ")
        if self.process.returncode and text:
            raise UsageError(text.splitlines()[-1])
        return True


_OPEN: set[asyncio.Task[tuple[bytes, bytes]]] = set()
"""Keeps the readers: the loop itself holds a task only weakly."""


async def start_bough(root: Path, command: str, *words: str, out: int = asyncio.subprocess.DEVNULL) -> _Own:
    """Start bough itself, in a session of its own."""
    words = (*command.split(), "--dir", str(root), "--json", *words)
    process = await open_own(root, *words, out=out, new_session=True)
    said = asyncio.create_task(process.communicate())
    _OPEN.add(said)
    said.add_done_callback(_OPEN.discard)
    return _Own(process, said)


@_action(OF_PROJECT)
async def trust(root: Path, *, wishes: dict[str, str], allow: bool) -> str:
    """Answer what the repository's settings ask for. `wishes`: what the person was shown."""
    _, asked = await asyncio.to_thread(list_open_wishes, root)
    if wishes != asked:
        raise UsageError("The settings of this repository have changed meanwhile: look at them again.")
    answer_wishes(root, wishes, allowed=allow)
    return f"{'Allowed' if allow else 'Not allowed'}: {', '.join(wishes)}. It holds for runs that start now."


# ── a list of goals ─────────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def _open_list(root: Path, name: str, create: bool = False) -> AsyncIterator[tuple[Session, Backlog]]:
    async with open_session(root, create=create) as opened:
        yield opened, await backlogs.load_backlog(opened, name)


@_action(OF_PROJECT)
async def add_goal(root: Path, *, fields: GoalEntry, list: str = backlogs.DEFAULT) -> str:
    async with _open_list(root, list, create=True) as (opened, backlog):
        (added,) = await backlogs.add_goals(opened, backlog, [("", fields)])
    return f"Added {added.name} to the {list}."


@_action(OF_PROJECT)
async def edit_goal(root: Path, *, list: str, goal: str, fields: dict[str, Any]) -> str:
    """`fields`: those of the goal that the person has changed; what somebody else changes meanwhile stays."""
    async with _open_list(root, list) as (opened, backlog):
        found = backlog.find(goal)
        entry = msgspec.convert({**msgspec.to_builtins(found.entry), **fields}, GoalEntry)
        await backlogs.edit_goal(opened, backlog, found, entry)
        running = found.name in await backlogs.find_held(opened, backlog)
    return f"Changed {found.name}.{' Its run has begun with what it said before.' if running else ''}"


@_action(OF_PROJECT)
async def move_goal(root: Path, *, list: str, goal: str, before: str = "") -> str:
    """`before`: the goal that it should come before; empty: it comes last."""
    async with _open_list(root, list) as (opened, backlog):
        before = backlog.find(before).name if before else ""
        await backlogs.move_goal(opened, backlog, backlog.find(goal), before)
    return f"Moved {goal} {f'before {before}' if before else 'to the end'}."


@_action(OF_PROJECT)
async def drop_goal(root: Path, *, list: str, goal: str) -> str:
    async with _open_list(root, list) as (opened, backlog):
        needing = await backlogs.drop_goal(opened, backlog, backlog.find(goal))
    left = f" {', '.join(needing)} cannot begin any more." if needing else ""
    return f"Dropped {goal}.{left}"


@_action(OF_PROJECT)
async def start_night(
    root: Path,
    *,
    list: str = backlogs.DEFAULT,
    jobs: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0,
    until: str = "",
    cost: Amount = 0.0,
    per_goal: Amount = 0.0,
    together: str = "",
    model: str = "",
    give_up: bool = False,
    disk: Amount = 0.0,
    partial: bool = False,
    draft: bool = False,
) -> str:
    """Work through a list in a process of its own, or join the night that another process has begun. `until`: a time of
    day; `together`: the branch on which all proven work is brought together; `give_up`: give up a goal that is stuck
    instead of waiting for the person; `disk`: the gigabytes that bough may keep, 0 for no limit; `partial`: make
    branches also of work that is finished and not proven; `draft`: open draft pull requests for what is proven."""
    chosen = {
        "--list": list,
        "--jobs": jobs,
        "--until": until,
        "--max-cost": cost,
        "--per-goal": per_goal,
        "--apply-together": together,
        "--model": model,
        "--max-disk": disk,
        "--pr": "draft" if draft else "",
        "--give-up": give_up,
        "--partial": partial,
    }
    before = await _find_last_change(root, list)
    own = await start_bough(root, "backlog run", *_list_options(chosen))
    # A goal that it takes is in the journal. A wrong option, or a model that is not there, ends it before that.
    while await _find_last_change(root, list) == before:
        if await own.has_ended(0.2):
            return "No goal can begin now: each says why."
    return "The night has begun: it continues when this page is closed."


async def _find_last_change(root: Path, name: str) -> int:
    async with open_journal(root) as opened:
        return (await backlogs.load_backlog(opened, name)).seq


@_action(OF_PROJECT)
async def stop_night(root: Path, *, list: str) -> str:
    async with _open_list(root, list) as (opened, backlog):
        await backlogs.stop_night(opened, backlog)
    return "The night stops after the current effects. Continue it whenever you like."
