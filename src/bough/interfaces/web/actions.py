"""What a person can do from the page. Each action does what the command of the same name does, with the same code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from bough.app import backlog as backlogs
from bough.app import open_journal, open_session, run_messages
from bough.app.run_messages import find_proposal, rule_on_plan
from bough.app.settings_consent import answer_wishes, list_open_wishes
from bough.core.backlog.entry import GoalEntry
from bough.core.errors import UsageError
from bough.core.ids import GOAL, RUN
from bough.ports import Approval
from bough.trust.files import Place
from bough.trust.programs import open_own
from bough.views.formatting import pluralize

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
    task: str = ""


class _Resume(msgspec.Struct, forbid_unknown_fields=True):
    """What may be different from here on; nothing given: as before."""

    model: str = ""
    rounds: Annotated[int, msgspec.Meta(ge=0)] = 0
    cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    say: str = ""


class _Start(msgspec.Struct, forbid_unknown_fields=True):
    goal: str
    check: str = ""
    model: str = ""
    rounds: Annotated[int, msgspec.Meta(ge=0)] = 0
    cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    continues: str = ""
    """The finished run that it follows up on."""
    ask: bool = False
    """Ask about the plan before anything of it runs."""


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


class _AddGoal(msgspec.Struct, forbid_unknown_fields=True):
    fields: GoalEntry
    list: str = backlogs.DEFAULT


class _DropGoal(msgspec.Struct, forbid_unknown_fields=True):
    list: str
    goal: str


class _MoveGoal(_DropGoal, forbid_unknown_fields=True):
    before: str = ""
    """The goal that it should come before; empty: it comes last."""


class _EditGoal(_DropGoal, forbid_unknown_fields=True):
    fields: dict[str, Any]
    """The fields of the goal that the person has changed: what somebody else changes meanwhile stays."""


class _StartNight(msgspec.Struct, forbid_unknown_fields=True):
    list: str = backlogs.DEFAULT
    jobs: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    until: str = ""
    """A time of day."""
    cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    per_goal: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    together: str = ""
    """The branch on which all proven work is brought together."""
    model: str = ""
    give_up: bool = False
    """Give up a goal that is stuck instead of waiting for the person."""
    disk: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """The gigabytes that bough may keep; 0: no limit."""
    partial: bool = False
    """Make branches also of work that is finished and not proven."""
    draft: bool = False
    """Open draft pull requests for what is proven."""


class _StopNight(msgspec.Struct, forbid_unknown_fields=True):
    list: str


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
        holder = await run_messages.answer_question(opened, name, asked.text, task=asked.task)
    return f"Answered: {name} continues." if holder else f"Answered. {await resume(root, name, b'{}')}"


async def resume(root: Path, name: str, body: bytes) -> str:
    """Resume the run in a process of its own, so that it continues when the dashboard ends."""
    asked = msgspec.json.decode(body, type=_Resume)
    if asked.say.strip():
        await say(root, name, msgspec.json.encode({"text": asked.say}))
    own = await _open_own(root, "resume", name, *_choose(asked.model, asked.rounds, asked.cost))
    if not await own.has_ended():
        return f"{name} is running again."
    return f"{name} resumed and halted again."


async def start(root: Path, body: bytes) -> str:
    """Start a run in its own process and return its name."""
    asked = msgspec.json.decode(body, type=_Start)
    if not (goal := asked.goal.strip()):
        raise UsageError("The goal is empty: say what should be true in the end.")
    if len(goal) > run_messages.LONGEST:
        raise UsageError(f"That goal has more than {run_messages.LONGEST:,} characters: put it in a file and name it.")
    known = await _list_runs(root)
    words = [
        *_choose(asked.model, asked.rounds, asked.cost),
        "--ask-later",
        "--ask-elsewhere" if asked.ask else "--yes",
    ]
    for option, value in (("--check", asked.check.strip()), ("--continue", asked.continues)):
        words += [f"{option}={value}"] if value else []
    own = await _open_own(root, "run", *words, "--", goal)
    # It has a name once it is in the journal. A large project is read first; a wrong option ends it before that.
    while not (new := [name for name in await _list_runs(root) if name not in known]):
        if await own.has_ended(0.2):
            raise UsageError("The run ended before it began: try the same with `bough run`.")
    return new[-1]


async def find_check(root: Path) -> dict[str, Any]:
    """What `bough check` says."""
    said, complaint = await (await _open_own(root, "check", out=asyncio.subprocess.PIPE)).said
    try:
        return msgspec.json.decode(said, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise UsageError(complaint.decode("utf-8", "replace").strip().removeprefix("bough: ")) from None


async def _list_runs(root: Path) -> list[str]:
    if not Place(root, ".bough").is_folder():
        return []
    async with open_journal(root) as opened:
        return await opened.store.runs()


def _choose(model: str, rounds: int, cost: float) -> list[str]:
    chosen = (("--model", model.strip()), ("--rounds", rounds), ("--max-cost", cost))
    return [f"{option}={value}" for option, value in chosen if value]


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


async def _open_own(root: Path, command: str, *words: str, out: int = asyncio.subprocess.DEVNULL) -> _Own:
    """Start bough itself, in a session of its own."""
    words = (*command.split(), "--dir", str(root), "--json", *words)
    process = await open_own(root, *words, out=out, new_session=True)
    said = asyncio.create_task(process.communicate())
    _OPEN.add(said)
    said.add_done_callback(_OPEN.discard)
    return _Own(process, said)


async def approve(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Approve)
    async with open_session(root) as opened:
        live = await opened.store.holder(name, RUN) is not None
        tests = await opened.rule_on_changes(name, allow=asked.allow, say=asked.say, task=asked.task)
        left = await run_messages.list_waiting(opened, name)
    said = f"{'Allowed' if asked.allow else 'Not allowed'}: {', '.join(tests)}."
    if live:
        return f"{said} {name} continues."
    return f"{said} {len(left)} more to answer." if left else f"{said} {await resume(root, name, b'{}')}"


async def plan(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Plan)
    async with open_session(root) as opened:
        waiting = await find_proposal(opened, name, asked.task)
        own = asked.says == "own"
        approval = run_messages.read_own_plan(waiting.plan, asked.text) if own else Approval(asked.says, asked.text)
        await rule_on_plan(opened, name, waiting, approval)
    return f"Answered: {name} continues with the plan of {waiting.task}."


async def command(root: Path, name: str, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_Command)
    async with open_session(root) as opened:
        await run_messages.rule_on_command(opened, name, asked.allow, asked.say, asked.id)
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


async def add_goal(root: Path, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_AddGoal)
    async with open_session(root, create=True) as opened:
        backlog = await backlogs.load_backlog(opened, asked.list)
        (added,) = await backlogs.add_goals(opened, backlog, [("", asked.fields)])
    return f"Added {added.name} to the {asked.list}."


async def edit_goal(root: Path, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_EditGoal)
    async with open_session(root) as opened:
        backlog = await backlogs.load_backlog(opened, asked.list)
        found = backlog.find(asked.goal)
        entry = msgspec.convert({**msgspec.to_builtins(found.entry), **asked.fields}, GoalEntry)
        await backlogs.edit_goal(opened, backlog, found, entry)
        running = found.name in await backlogs.find_held(opened, backlog)
    return f"Changed {found.name}.{' Its run has begun with what it said before.' if running else ''}"


async def move_goal(root: Path, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_MoveGoal)
    async with open_session(root) as opened:
        backlog = await backlogs.load_backlog(opened, asked.list)
        before = backlog.find(asked.before).name if asked.before else ""
        await backlogs.move_goal(opened, backlog, backlog.find(asked.goal), before)
    return f"Moved {asked.goal} {f'before {before}' if before else 'to the end'}."


async def drop_goal(root: Path, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_DropGoal)
    async with open_session(root) as opened:
        backlog = await backlogs.load_backlog(opened, asked.list)
        needing = await backlogs.drop_goal(opened, backlog, backlog.find(asked.goal))
    left = f" {', '.join(needing)} cannot begin any more." if needing else ""
    return f"Dropped {asked.goal}.{left}"


async def start_night(root: Path, body: bytes) -> str:
    """Work through a list in a process of its own, or join the night that another process has begun."""
    asked = msgspec.json.decode(body, type=_StartNight)
    chosen = {
        "--list": asked.list,
        "--jobs": asked.jobs,
        "--until": asked.until.strip(),
        "--max-cost": asked.cost,
        "--per-goal": asked.per_goal,
        "--apply-together": asked.together.strip(),
        "--model": asked.model.strip(),
        "--max-disk": asked.disk,
        "--pr": "draft" if asked.draft else "",
    }
    flags = {"--give-up": asked.give_up, "--partial": asked.partial}
    words = [f"{option}={value}" for option, value in chosen.items() if value]
    words += [flag for flag, wanted in flags.items() if wanted]
    before = await _find_last_change(root, asked.list)
    own = await _open_own(root, "backlog run", *words)
    # A goal that it takes is in the journal. A wrong option, or a model that is not there, ends it before that.
    while await _find_last_change(root, asked.list) == before:
        if await own.has_ended(0.2):
            return "No goal can begin now: each says why."
    return "The night has begun: it continues when this page is closed."


async def _find_last_change(root: Path, name: str) -> int:
    async with open_journal(root) as opened:
        return (await backlogs.load_backlog(opened, name)).seq


async def stop_night(root: Path, body: bytes) -> str:
    asked = msgspec.json.decode(body, type=_StopNight)
    async with open_session(root) as opened:
        await backlogs.stop_night(opened, await backlogs.load_backlog(opened, asked.list))
    return "The night stops after the current effects. Continue it whenever you like."


async def trust(root: Path, body: bytes) -> str:
    """Answer what the repository's settings ask for."""
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
}


PROJECT_ACTIONS: dict[str, Callable[[Path, bytes], Awaitable[str]]] = {
    "start": start,
    "trust": trust,
    "add_goal": add_goal,
    "edit_goal": edit_goal,
    "move_goal": move_goal,
    "drop_goal": drop_goal,
    "start_night": start_night,
    "stop_night": stop_night,
}


async def act(root: Path, run: str, name: str, body: bytes) -> dict[str, Any]:
    """Do what the page asks, and return what to tell the person: for `start` the name of the run. Without a run it is
    about the project."""
    if name not in (ACTIONS if run else PROJECT_ACTIONS):
        raise UsageError(f"Unknown action `{name}`.")
    try:
        said = await ACTIONS[name](root, run, body) if run else await PROJECT_ACTIONS[name](root, body)
        return {"run" if name == "start" else "said": said}
    except msgspec.MsgspecError as error:
        raise UsageError(f"The request for `{name}` is invalid: {error}.") from None
