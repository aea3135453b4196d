"""Runs bough as an agent in editors, over the Agent Client Protocol.

A session is the person's conversation with the runs of one folder: the first prompt is a goal, and each later one
answers the run's question, messages a halted run and resumes it, or follows up on a finished one. The journal is the
source of truth: a session stores only the names of its runs, so an editor can load it after any crash.
"""

import asyncio
import secrets
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

import acp
import msgspec
from acp import helpers as made
from acp import schema
from msgspec.structs import replace

from bough import __version__
from bough.app import Choices, RunObserver, Session, open_session
from bough.core import events as e
from bough.core.conversation.pruning import parse_arguments
from bough.core.errors import BoughError
from bough.core.messages import Call
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Step, build_goal_step
from bough.core.tree.task_state import SETTLED, State
from bough.ports import Approval
from bough.ports.steering import Stop
from bough.services import run_messages
from bough.services.permission_store import answer_wishes, list_open_wishes
from bough.trust.files import Place
from bough.views.event_lines import EventFormatter
from bough.views.run_view import Outcome
from bough.views.task_view import describe_call
from bough.views.vocabulary import OVER, ask_about_wishes, describe_status

KINDS: dict[str, schema.ToolKind] = {
    "read": "read",
    "list": "read",
    "search": "search",
    "write": "edit",
    "edit": "edit",
    "bash": "execute",
    "note": "think",
}
SHOWN = 4_000
"""The most characters of a tool's output that are sent to the editor."""


class EditorSession:
    """One session of an editor: shows the person what its run does, and asks them questions."""

    def __init__(self, id: str, folder: Path, client: acp.Client, choices: Choices) -> None:
        self.id = id
        self.folder = folder
        self.choices = choices
        self.stop = Stop()
        self._client = client
        self._updates: asyncio.Queue[Any] = asyncio.Queue()
        self._steps: dict[str, tuple[str, State]] = {}
        self._teller = EventFormatter()

    # ── what the editor shows ───────────────────────────────────────────────────────────────────────────────────

    def send(self, update: Any) -> None:
        self._updates.put_nowait(update)

    def write(self, text: str) -> None:
        self.send(made.update_agent_message_text(f"{text}\n"))

    async def flush(self) -> None:
        """Send the queued updates to the editor, in order."""
        while not self._updates.empty():
            await self._client.session_update(self.id, self._updates.get_nowait())

    def recorded(self, record: e.Record) -> None:
        news = self._teller.news(record)
        match record.event:
            case e.TaskCreated(step=step):
                self._plan(record.task, step.title or record.task, State.PENDING)
            case e.StateChanged(to=state) if record.task in self._steps:
                self._plan(record.task, self._steps[record.task][0], state)
            case e.ModelAnswered(text=text, calls=calls):
                if text.strip():
                    self.send(made.update_agent_thought_text(f"{text.strip()}\n"))
                for call in calls:
                    self.send(self._make_tool_start(record.task, call))
                return
            case e.ToolFinished() as event:
                content = [made.tool_content(made.text_block(event.output[:SHOWN]))] if event.output else None
                status: schema.ToolCallStatus = "completed" if event.ok else "failed"
                id = f"{record.task}/{event.call}"
                self.send(
                    made.update_tool_call(id, status=status, content=None if event.ok and event.tree else content)
                )
                return
        if news is not None:
            self.write(f"{record.task}: {news[0]}")

    def _plan(self, task: str, title: str, state: State) -> None:
        self._steps[task] = (title, state)
        entries = []
        for title, state in self._steps.values():
            status: schema.PlanEntryStatus = "pending" if state is State.PENDING else "in_progress"
            entries.append(made.plan_entry(title, status="completed" if state in SETTLED else status))
        self.send(made.update_plan(entries))

    def _make_tool_start(self, task: str, call: Call) -> schema.ToolCallStart:
        given = parse_arguments(call)
        path = str(self.folder / str(given["path"])) if "path" in given else ""
        content = None
        if call.name == "write":
            content = [made.tool_diff_content(path, str(given.get("content", "")))]
        elif call.name == "edit":
            content = [made.tool_diff_content(path, str(given.get("new", "")), str(given.get("old", "")))]
        return made.start_tool_call(
            f"{task}/{call.id}",
            describe_call(call),
            kind=KINDS.get(call.name, "other"),
            status="in_progress",
            content=content,
            locations=[schema.ToolCallLocation(path=path)] if path else None,
            raw_input=given,
        )

    # ── what the person is asked ────────────────────────────────────────────────────────────────────────────────

    async def permits(self, what: str, yes: str, no: str) -> bool:
        await self.flush()
        options = [
            schema.PermissionOption(option_id="yes", name=yes, kind="allow_once"),
            schema.PermissionOption(option_id="no", name=no, kind="reject_once"),
        ]
        asked = schema.ToolCallUpdate(tool_call_id=f"ask-{secrets.token_hex(4)}", title=what, kind="other")
        said = await self._client.request_permission(session_id=self.id, tool_call=asked, options=options)
        return getattr(said.outcome, "option_id", None) == "yes"

    async def _approve(self, steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
        for number, step in enumerate(steps, 1):
            self.write(f"{number}. {step.title or step.name}: {step.instructions}")
        if self.stop.requested:
            return None
        good = await self.permits("Run it in these steps?", "In these steps", "As one piece of work")
        return Approval("yes" if good else "no")

    async def _permit(self, line: str, task: str) -> str | None:
        return "yes" if await self.permits(f"Run this command of {task}?\n{line}", "Run it", "Do not run it") else "no"

    async def _ask_consent(self) -> None:
        root, wishes = await asyncio.to_thread(list_open_wishes, self.folder)
        if wishes and not self.choices.trust_config:
            allowed = await self.permits(ask_about_wishes(wishes), "Allow it", "Do not allow it")
            answer_wishes(root, wishes, allowed=allowed)

    def watch(self) -> RunObserver:
        """Return the observer of a run. If an agent asks a question, the run halts, and the next prompt answers it."""
        return RunObserver(self.stop, recorded=self.recorded, approve=self._approve, permit=self._permit).or_later(True)

    # ── what a prompt does ──────────────────────────────────────────────────────────────────────────────────────

    async def hear(self, text: str) -> Outcome:
        self.stop, self._steps = Stop(), {}
        await self._ask_consent()
        async with open_session(self.folder, create=True, choices=self.choices) as opened:
            kept = self.load(opened)

            def begun(record: e.Record) -> None:
                if isinstance(record.event, e.RunStarted):  # Keep the run's name in the session at once.
                    self.keep(opened, [*kept, record.run])
                self.recorded(record)

            last = await opened.view(kept[-1]) if kept else None
            if last is not None and last.status not in OVER:
                tell = run_messages.answer_question if last.status == "waiting" else run_messages.say_to_run
                await tell(opened, last.name, text)
                work = opened.resume(last.name, self.choices, self.watch())
            else:
                choices = replace(self.choices, continues=last.name) if last is not None else self.choices
                work = opened.start(build_goal_step(text), choices, replace(self.watch(), recorded=begun))
            outcome = await self._run_to_end(opened, work)
            await self._end(opened, outcome)
            return outcome

    async def _run_to_end(self, opened: Session, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        # Events arrive in synchronous calls, but sending is asynchronous: updates are queued, and sent here in order.
        under_way = asyncio.create_task(work)
        while not under_way.done():
            await asyncio.wait([under_way], timeout=0.1)
            await self.flush()
        outcome = await under_way
        if outcome.status == "needs_approval" and not self.stop.requested:
            self.write(outcome.summary)
            allow = await self.permits("Existing tests would change. Allow it?", "Allow it", "Keep the tests")
            await opened.rule_on_changes(outcome.run, allow=allow)
            return await self._run_to_end(opened, opened.resume(outcome.run, self.choices, self.watch()))
        return outcome

    async def _end(self, opened: Session, outcome: Outcome) -> None:
        self.write(f"{describe_status(outcome.status)}: {outcome.summary}")
        for each in await run_messages.list_waiting(opened, outcome.run, "question"):
            self.write(each.question)
        if outcome.completed:
            stat = await opened.diff(outcome.run, stat=True)
            self.write(stat)
            if stat and await self.permits(f"Apply {outcome.run} to your files?", "Apply it", "Not now"):
                try:
                    changes = await opened.apply(outcome.run)
                    self.write(f"Applied: {', '.join(change.path for change in changes)}")
                except BoughError as error:
                    self.write(f"Not applied: {error}")
        await self.flush()

    async def replay(self) -> None:
        """Send the events of the session's runs to the editor again."""
        async with open_session(self.folder) as opened:
            for name in self.load(opened):
                for record in sorted(await opened.store.read(name), key=lambda record: record.seq):
                    if isinstance(record.event, e.RunStarted):
                        self._steps = {}
                        self.send(made.update_user_message_text(record.event.plan.goal.instructions))
                    self.recorded(record)
                outcome = await opened.outcome(name)
                self.write(f"{describe_status(outcome.status)}: {outcome.summary}")
        await self.flush()

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _find_place(self, opened: Session) -> Place:
        return Place(opened.home, f"sessions/{self.id}.json")

    def load(self, opened: Session) -> list[str]:
        """Load the names of the session's runs from disk, where an earlier process may have stored them."""
        place = self._find_place(opened)
        return msgspec.json.decode(place.read(), type=dict[str, list[str]])["runs"] if place.is_regular() else []

    def keep(self, opened: Session, runs: list[str]) -> None:
        place = self._find_place(opened)
        place.make_parents()
        place.write(msgspec.json.encode({"runs": runs}))


class Agent:
    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._talks: dict[str, EditorSession] = {}
        self._client: acp.Client | None = None

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, *_: Any, **given: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=schema.AgentCapabilities(load_session=True),
            agent_info=schema.Implementation(name="bough", title="bough", version=__version__),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **given: Any) -> schema.AuthenticateResponse | None:
        return None

    async def new_session(self, cwd: str, *_: Any, **given: Any) -> schema.NewSessionResponse:
        id = f"s-{secrets.token_hex(8)}"
        self._find_session(id, cwd)
        return schema.NewSessionResponse(session_id=id)

    async def load_session(self, cwd: str, session_id: str, *_: Any, **given: Any) -> schema.LoadSessionResponse:
        # The id becomes part of a file's path.
        if not session_id.replace("-", "").isalnum():
            raise acp.RequestError.invalid_params({"message": f"{session_id!r} is not a bough session."})
        await self._find_session(session_id, cwd).replay()
        return schema.LoadSessionResponse()

    def _find_session(self, id: str, cwd: str) -> EditorSession:
        assert self._client is not None
        self._talks[id] = EditorSession(id, Path(cwd), self._client, self._choices)
        return self._talks[id]

    async def prompt(self, session_id: str, prompt: Iterable[Any], **given: Any) -> schema.PromptResponse:
        talk = self._talks.get(session_id)
        if talk is None:
            raise acp.RequestError.invalid_params({"message": f"Session {session_id} is not loaded: load it first."})
        try:
            outcome = await talk.hear(_extract_text(prompt))
        except BoughError as error:
            talk.write(str(error))
            await talk.flush()
            return schema.PromptResponse(stop_reason="end_turn")
        cancelled = talk.stop.requested and outcome.status == "stopped"
        return schema.PromptResponse(stop_reason="cancelled" if cancelled else "end_turn")

    async def cancel(self, session_id: str, **given: Any) -> None:
        if session_id in self._talks:
            self._talks[session_id].stop.request(now=True)


def _extract_text(prompt: Iterable[Any]) -> str:
    """Return the text of a prompt, with the names of files that it mentions, and their text if the editor sends it."""
    parts = []
    for block in prompt:
        if isinstance(block, schema.TextContentBlock):
            parts.append(block.text)
        elif isinstance(block, schema.ResourceContentBlock):
            parts.append(f"({block.name}: {block.uri})")
        elif isinstance(block, schema.EmbeddedResourceContentBlock) and hasattr(block.resource, "text"):
            parts.append(f"{block.resource.uri}:\n```\n{block.resource.text}\n```")
    return "\n".join(parts)
