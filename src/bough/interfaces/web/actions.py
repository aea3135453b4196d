"""Performs what a person does on the page: the operations of bough, and actions that start a separate process."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from bough.app import open_journal, open_session
from bough.core.errors import NotFound, UsageError
from bough.core.textual.spelling import UNREADABLE
from bough.operations import OPERATIONS
from bough.operations.table import make_request
from bough.services import backlog as backlogs
from bough.services import run_messages
from bough.services.permission_store import answer_wishes, list_open_wishes
from bough.services.question_links import answer_by_link
from bough.trust.programs import open_own

PATIENCE = 1.5
"""Seconds to wait for a new process to fail, before it counts as running."""
Count = Annotated[int, msgspec.Meta(ge=0)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Does = Callable[..., Awaitable[str]]
Table = dict[str, tuple[Does, type[msgspec.Struct]]]
OF_RUN: Table = {}
"""The actions on a run that are not operations."""
OF_PROJECT: Table = {}


def _action(table: Table) -> Callable[[Does], Does]:
    """Register an action under its name. The keys of its request are the action's keyword parameters."""

    def enter(does: Does) -> Does:
        table[does.__name__] = does, make_request(does)
        return does

    return enter


async def act(root: Path, run: str, name: str, body: bytes) -> dict[str, Any]:
    """Perform the page's request, and return the message for the person, or the name of a run that was started. If
    `run` is empty, the request is about the project."""
    drawn, table = OPERATIONS.get(name), OF_RUN if run else OF_PROJECT
    if drawn is not None and (drawn.of == "run") == bool(run):
        given = _decode(name, body, dict[str, Any])
        if drawn.runs:
            arguments = drawn.read(given)
            words = _list_options({f"--{key}": value for key, value in arguments.items() if key != "what"})
            return {"run": await _start_run(root, name, *words, "--", *filter(None, [arguments.get("what")]))}
        made = await drawn.call(root, run or str(given.pop("list", "")), given)
        resumed = [await resume(root, made.facts["run"])] if drawn.resumes and made.next else []
        commands = [f"`{line}`" for line in made.facts.get("commands", ()) if not made.facts["address"]]
        return {**made.facts, "said": " ".join((made.said, *commands, *resumed))}
    if name not in table:
        raise UsageError(f"Unknown action `{name}`.")
    does, request = table[name]
    asked = msgspec.structs.asdict(_decode(name, body, request))
    return {"run" if name == "start" else "said": await does(root, *([run] if run else []), **asked)}


def _decode(name: str, body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as error:
        raise UsageError(f"The request for `{name}` is invalid: {error}.") from None


async def answer_linked(root: Path, token: str, text: str) -> str:
    """Answer the question whose link contains this token."""
    async with open_session(root) as opened:
        run = await answer_by_link(opened, token, text)
        if await opened.holder(run) is not None:
            return f"Answered: {run} continues."
        if await run_messages.list_waiting(opened, run):
            return f"Answered. {run} has more to ask."
    return f"Answered. {await resume(root, run)}"


@_action(OF_RUN)
async def resume(root: Path, run: str, *, model: str = "", rounds: Count = 0, cost: Amount = 0.0, say: str = "") -> str:
    """Resume the run in a separate process, so that it continues when the dashboard ends. Given values apply from now
    on; the others stay as they were."""
    if say.strip():
        await OPERATIONS["say"].call(root, run, {"text": say})
    chosen = {"--model": model, "--rounds": rounds, "--max-cost": cost}
    own = await start_bough(root, "resume", run, *_list_options(chosen))
    return f"{run} resumed and halted again." if await own.has_ended() else f"{run} is running again."


@_action(OF_PROJECT)
async def start(
    root: Path,
    *,
    goal: str,
    check: str = "",
    model: str = "",
    rounds: Count = 0,
    cost: Amount = 0.0,
    jobs: Count = 0,
    continues: str = "",
    ask: bool = False,
) -> str:
    """Start a run in its own process and return its name. `continues`: the finished run that it follows up on. `ask`:
    ask the person about the plan before any step of it runs."""
    if not (goal := goal.strip()):
        raise UsageError("The goal is empty: say what should be true in the end.")
    if len(goal) > run_messages.LONGEST:
        raise UsageError(f"That goal has more than {run_messages.LONGEST:,} characters: put it in a file and name it.")
    chosen = {"--model": model, "--rounds": rounds, "--max-cost": cost, "--jobs": jobs}
    chosen |= {"--check": check, "--continue": continues}
    flags = ("--ask-later", "--ask-elsewhere" if ask else "--yes")
    return await _start_run(root, "run", *_list_options(chosen), *flags, "--", goal)


async def _start_run(root: Path, command: str, *words: str) -> str:
    known = await _list_runs(root)
    own = await start_bough(root, command, *words)
    # Wait until the new run is in the journal, which takes a while in a large project. With a wrong option the
    # process ends before that.
    while not (new := [name for name in await _list_runs(root) if name not in known]):
        if await own.has_ended(0.2):
            raise UsageError(f"The run ended before it began: try the same with `bough {command}`.")
    return new[-1]


async def find_check(root: Path) -> dict[str, Any]:
    """Run `bough check`, and return its result."""
    said, complaint = await (await start_bough(root, "check", out=asyncio.subprocess.PIPE)).said
    try:
        return msgspec.json.decode(said, type=dict[str, Any])
    except UNREADABLE:
        raise UsageError(complaint.decode("utf-8", "replace").strip().removeprefix("bough: ")) from None


async def _list_runs(root: Path) -> list[str]:
    try:
        async with open_journal(root) as opened:
            return await opened.store.runs()
    except NotFound:  # There is no journal yet: the first run makes its folder before the journal.
        return []


def _list_options(chosen: dict[str, Any]) -> list[str]:
    """List the options that have a value, as words for a command line; True makes a flag."""
    given = {option: value.strip() if isinstance(value, str) else value for option, value in chosen.items()}
    return [option if value is True else f"{option}={value}" for option, value in given.items() if value]


class _Own(msgspec.Struct):
    """A process of bough itself, and the task that collects its output."""

    process: asyncio.subprocess.Process
    said: asyncio.Task[tuple[bytes, bytes]]

    async def has_ended(self, patience: float = PATIENCE) -> bool:
        """Wait at most `patience` seconds, and return whether the process has ended. Raises the error it reported."""
        done, _ = await asyncio.wait({self.said}, timeout=patience)
        if not done:
            return False
        text = (self.said.result()[1] or b"").decode("utf-8", "replace").strip().removeprefix("bough: ")
        if self.process.returncode and text:
            raise UsageError(text.splitlines()[-1])
        return True


_OPEN: set[asyncio.Task[tuple[bytes, bytes]]] = set()
"""The tasks that read processes' output: without this reference they could be garbage-collected."""


async def start_bough(root: Path, command: str, *words: str, out: int = asyncio.subprocess.DEVNULL) -> _Own:
    """Start a bough command as a process in a new session, so that it outlives the dashboard."""
    words = (*command.split(), "--dir", str(root), "--json", *words)
    process = await open_own(root, *words, out=out, new_session=True)
    said = asyncio.create_task(process.communicate())
    _OPEN.add(said)
    said.add_done_callback(_OPEN.discard)
    return _Own(process, said)


@_action(OF_PROJECT)
async def trust(root: Path, *, wishes: dict[str, str], allow: bool) -> str:
    """Allow or refuse what the repository's settings ask for. `wishes`: the requests that the person was shown."""
    _, asked = await asyncio.to_thread(list_open_wishes, root)
    if wishes != asked:
        raise UsageError("The settings of this repository have changed meanwhile: look at them again.")
    answer_wishes(root, wishes, allowed=allow)
    return f"{'Allowed' if allow else 'Not allowed'}: {', '.join(wishes)}. It holds for runs that start now."


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
    """Work through a backlog in a separate process, or join the work that another process has begun. `until`: a time of
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
    if unclear := await _read_goals(root, list, model):
        return f"Unclear goals: {', '.join(unclear)}. Edit them, or start again to run them as they are."
    before = await _find_last_change(root, list)
    own = await start_bough(root, "backlog run", *_list_options(chosen))
    # Wait until the journal shows that a goal was taken. With a wrong option or no model the process ends before.
    while await _find_last_change(root, list) == before:
        if await own.has_ended(0.2):
            return "No goal can begin now: each goal says why."
    return "The night has begun: it continues when this page is closed."


async def _read_goals(root: Path, name: str, model: str) -> Sequence[str]:
    """Review the goals that were not reviewed yet, as `bough backlog run` does at a terminal; return those with
    findings. If the review fails, `bough backlog run` reports why."""
    from bough.services.backlog_review import list_unread

    async with open_journal(root) as opened:
        unread = list_unread(await backlogs.load_backlog(opened, name))
        if unread:
            own = await start_bough(root, "backlog check", *_list_options({"--list": name, "--model": model}))
            await asyncio.wait({own.said})
        items = (await backlogs.load_backlog(opened, name)).items
    return [goal for goal in unread if items[goal].findings]


async def _find_last_change(root: Path, name: str) -> int:
    async with open_journal(root) as opened:
        return (await backlogs.load_backlog(opened, name)).seq
