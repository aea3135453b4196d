"""An outside agent that speaks the Agent Client Protocol on its standard input and output.

It runs in bough's sandbox, in the task's workspace, with an environment and a network of its own. bough offers it
neither files nor terminals: the agent does everything itself, inside the sandbox. Because that confines it, bough
grants every permission that it asks for, except for command lines that need the person's approval.
"""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema
from msgspec import Struct

import bough
from bough.adapters.agents.tool_calls import ReportedCall, find_simultaneous, make_call, make_result
from bough.adapters.sandboxes.approval import YES, Permit, escape_invisible, find_matching_pattern
from bough.adapters.sandboxes.pipes import Pipes
from bough.adapters.sandboxes.view import find_private_folder
from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.core.errors import RequestRefused, TransientError
from bough.core.messages import Answer, Call, ModelMessage, Prompt, Stop, Usage
from bough.core.rules import Rules
from bough.core.settings.sections import MODEL, title_of
from bough.ports import Sandbox, ToolResult, WorkFolder
from bough.ports.agents import Talk, TurnEnd, TurnProgress

_LINE = 64 << 20
"""The most bytes of one message."""
_BEGIN = 120.0
"""The most seconds in which an agent may start, and open a session: some agents scan the whole repository first."""
_TOGETHER = 0.05
"""Seconds within which calls that the agent starts at once are reported together."""
_INPUT = 1.0
"""Seconds after which a call is reported although its input is unknown."""
_CANCEL = 10.0
"""Seconds that the agent may take to end a cancelled turn."""
_MOST = 1_000
"""The most calls of the agent that bough has not read yet."""
_TEXT = 400_000
"""The most characters of the agent's text that are kept for one round."""
_HOME = 64 << 20
"""The most bytes of the person's files that are copied into the agent's home."""
_STOPS: dict[str, Stop] = {"end_turn": "end", "refusal": "refusal"}
_AUTH = -32000
"""The protocol's error code for an agent that requires a login."""


class WantsLogin(RequestRefused):
    """The agent requires a login: it has no key, or was not configured to use the key."""


class AcpAgent(Struct, eq=False):
    name: str
    argv: Sequence[str]
    sandbox: Sandbox
    env: Mapping[str, str]
    home: Sequence[Path]
    """Files and folders of the person's home that the agent gets a copy of."""
    patterns: Sequence[str]
    """Command lines that need the person's approval."""
    permit: Permit | None
    mode: str
    """The mode in which the agent works, if the agent offers it."""
    advice: str
    title: str = ""

    def __post_init__(self) -> None:
        self.title = title_of(self.name)

    async def start(self, workspace: WorkFolder, rules: Rules, progress: Callable[[str], None]) -> Talk:
        await asyncio.to_thread(_copy_home, self.home, workspace)
        pipes = await Pipes.open(self.sandbox, self.argv, workspace=workspace, env=self.env, longest=_LINE)
        talk = AcpTalk(self, pipes, workspace, rules, progress)
        try:
            await talk.begin()
        except BaseException:
            await talk.close()
            raise
        return talk

    async def allowed(self, deed: ReportedCall, root: str, task: str = "") -> bool:
        """Whether the agent may run the command; asks the person if the command needs approval."""
        if not self.patterns or deed.kind != "execute":
            return True
        line = str(json.loads(make_call(deed, root).arguments).get("command", ""))
        if find_matching_pattern(self.patterns, ["sh", "-c", line]) is None:
            return True
        said = await self.permit(escape_invisible(line), task) if self.permit is not None else None
        return said is not None and said.strip().lower() in YES


class AcpTalk:
    """One process and one session of an agent. bough's side of the protocol accepts reports as they come, answers
    requests for permission, and offers nothing else; `heard` returns the reports in order."""

    def __init__(
        self, agent: AcpAgent, pipes: Pipes, workspace: WorkFolder, rules: Rules, progress: Callable[[str], None]
    ) -> None:
        self._agent, self._pipes, self._rules, self._progress = agent, pipes, rules, progress
        self._folder, self._root = str(workspace.folder), os.path.realpath(workspace.root)
        self._task = workspace.env.get("BOUGH_TASK", "")
        self._connection = acp.connect_to_agent(cast(acp.Client, self), _Lines(pipes))
        self._session = ""
        self._turn: asyncio.Task[Any] | None = None
        self._news = asyncio.Event()
        self._text: list[tuple[int, str]] = []
        self._length = 0
        self._deeds: dict[str, ReportedCall] = {}
        self._permissions: dict[str, list[asyncio.Future[None]]] = {}
        self._reports = 0
        self._flooded = ""
        self._input = 0
        self._cost: float | None = None
        self._charged = (0, 0, 0.0)

    async def begin(self) -> None:
        # bough offers nothing, so the agent reads, writes and runs in its own process, inside the sandbox.
        nothing = schema.FileSystemCapabilities(read_text_file=False, write_text_file=False)
        offered = await self._ask(
            self._connection.initialize(
                protocol_version=acp.PROTOCOL_VERSION,
                client_capabilities=schema.ClientCapabilities(fs=nothing, terminal=False),
                client_info=schema.Implementation(name="bough", version=bough.__version__),
            )
        )
        begun = await self._new_session(offered.auth_methods or [])
        self._session = begun.session_id
        modes = {mode.id for mode in begun.modes.available_modes} if begun.modes is not None else set()
        if self._agent.mode in modes:
            await self._ask(self._connection.set_session_mode(session_id=self._session, mode_id=self._agent.mode))

    async def _new_session(self, methods: Sequence[Any]) -> Any:
        """Open a session. If the agent requires a login, it must use its configured key: nobody can log in during a
        run."""
        keys = [method.id for method in methods if "key" in method.id.lower()]
        for method in [None, *keys]:
            try:
                if method is not None:
                    await self._ask(self._connection.authenticate(method_id=method))
                return await self._ask(self._connection.new_session(cwd=self._folder, mcp_servers=[]))
            except WantsLogin:
                if method == [None, *keys][-1]:
                    raise
        raise AssertionError("unreachable: the loop returns a session, or raises at its last method")

    async def say(self, text: str) -> None:
        await self._end_turn()
        self._text, self._length, self._deeds = [], 0, {}
        prompt = self._connection.prompt(session_id=self._session, prompt=[acp.text_block(text)])
        self._turn = asyncio.create_task(prompt)
        self._turn.add_done_callback(lambda _: self._news.set())

    async def _end_turn(self) -> None:
        if self._turn is None or self._turn.done():
            return
        await self._connection.cancel(session_id=self._session)
        self._let_go()
        await asyncio.wait((self._turn,), timeout=_CANCEL)
        if not self._turn.done():
            raise TransientError(f"{self._agent.title} did not end its turn when asked to.")

    async def heard(self, patience: float) -> TurnProgress | TurnEnd:
        async with self._in_time():
            while not (ready := self._ready()):
                if self._turn is not None and self._turn.done():
                    return await self._turn_ended()
                await self._wait(patience)
            # If the agent starts several calls at once, it still reports them one by one: wait a moment to collect all
            # calls of the round.
            await asyncio.sleep(_TOGETHER)
        deeds = self._ready() or ready
        for deed in deeds:
            deed.told = True
        calls = tuple(make_call(deed, self._root) for deed in deeds)
        writes = frozenset(deed.id for deed in deeds if deed.writes)
        usage, cost = self._used(None)
        return TurnProgress(self._words(min(deed.order for deed in deeds)), calls, writes, usage, cost)

    async def results(self, calls: Sequence[Call], patience: float) -> list[ToolResult]:
        wanted = [self._deeds[call.id] for call in calls]
        for deed in wanted:
            self._let_go(deed.id)
        async with self._in_time():
            while not all(deed.over for deed in wanted) and not self._ready():
                if self._turn is not None and self._turn.done():
                    if isinstance(error := self._turn.exception(), ConnectionError):
                        raise await self._gone(error)
                    for deed in wanted:
                        deed.status = deed.status if deed.over else "failed"
                    break
                await self._wait(patience)
        for deed in wanted:
            if deed.over:
                del self._deeds[deed.id]
        return [make_result(deed, self._rules, self._root) for deed in wanted]

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Limit the time of this block: an agent may send reports for ever without finishing anything."""
        longest = self._rules.model_longest
        try:
            async with asyncio.timeout(longest):
                yield
        except TimeoutError:
            raise TransientError(f"{self._agent.title} did not finish within {longest:g} s.") from None

    async def close(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
        await self._pipes.close()
        await self._connection.close()

    def on_connect(self, conn: Any) -> None:
        """Do nothing: `connect_to_agent` has already returned the connection."""

    async def session_update(self, session_id: str, update: Any, **given: Any) -> None:
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._reports += 1
                if self._length < _TEXT:
                    self._text.append((self._reports, text))
                    self._length += len(text)
                self._progress(text)
            case schema.AgentThoughtChunk(content=schema.TextContentBlock(text=text)):
                self._progress(text)
            case schema.ToolCallStart() | schema.ToolCallProgress():
                self.deed(update)
            case schema.UsageUpdate(used=used, cost=cost):
                self._input += used
                self._cost = cost.amount if cost is not None and cost.currency == "USD" else self._cost
        self._news.set()

    def deed(self, update: Any) -> ReportedCall:
        if update.tool_call_id not in self._deeds and len(self._deeds) >= _MOST:
            self._flooded = f"{self._agent.title} reported {_MOST:,} calls at once."
        found = self._deeds.setdefault(update.tool_call_id, ReportedCall(update.tool_call_id, time.monotonic()))
        self._reports += 1
        found.report(update, self._reports)
        return found

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **given: Any
    ) -> schema.RequestPermissionResponse:
        kinds = ("allow_once", "allow_always") if await self._permit(tool_call) else ("reject_once",)
        for option in (option for kind in kinds for option in options if option.kind == kind):
            chosen = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
            return schema.RequestPermissionResponse(outcome=chosen)
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))

    async def _permit(self, update: Any) -> bool:
        """Decide about a call that asks for permission, once the call is in the journal."""
        deed = self.deed(update)
        if not deed.told:
            deed.asks += 1
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._permissions.setdefault(deed.id, []).append(waiting)
            self._news.set()
            await waiting
        return await self._agent.allowed(deed, self._root, self._task)

    def _let_go(self, id: str | None = None) -> None:
        """Let the code that waits for the permissions of one call continue now; None: that of all calls."""
        for name in [id] if id is not None else list(self._permissions):
            for waiting in self._permissions.pop(name, ()):
                if not waiting.done():
                    waiting.set_result(None)

    def _ready(self) -> list[ReportedCall]:
        now = time.monotonic()
        return find_simultaneous([deed for deed in self._deeds.values() if deed.ready(now, _INPUT)])

    async def _turn_ended(self) -> TurnEnd:
        assert self._turn is not None, "no turn has begun"
        turn, self._turn = self._turn, None
        try:
            ended = turn.result()
        except (acp.RequestError, ConnectionError) as error:
            raise await self._gone(error) from error
        if ended.stop_reason == "cancelled":
            raise TransientError(f"{self._agent.title} cancelled its own turn.")
        usage, cost = self._used(ended.usage)
        return TurnEnd(self._words(), _STOPS.get(ended.stop_reason, "length"), usage, cost)

    def _words(self, before: int | None = None) -> str:
        """Remove and return the agent's text that came before report number `before` (None: all of its text)."""
        words = "".join(text for at, text in self._text if before is None or at < before)
        self._text = [] if before is None else [(at, text) for at, text in self._text if at >= before]
        self._length = sum(len(text) for _, text in self._text)
        return words.strip()

    def _used(self, total: Any) -> tuple[Usage, float | None]:
        """Return the usage since the last call. `total`: the usage of the whole turn, which the agent reports only at
        its end. Until then only its context size is known, after each call to its own model."""
        before_in, before_out, before_cost = self._charged
        now_in, now_out = max(self._input, before_in), before_out
        if total is not None:
            cached = (total.cached_read_tokens or 0) + (total.cached_write_tokens or 0)
            now_in, now_out = max(now_in, total.input_tokens + cached), max(before_out, total.output_tokens)
        now_cost = max(before_cost, self._cost or 0.0)
        self._charged = (now_in, now_out, now_cost)
        usage = Usage(now_in - before_in, now_out - before_out, estimated=total is None and now_in > before_in)
        return usage, None if self._cost is None else now_cost - before_cost

    async def _wait(self, patience: float) -> None:
        """Wait until the agent sends something; if a call still lacks its input, for `_INPUT` seconds at most."""
        if self._flooded:
            raise TransientError(self._flooded)
        unready = any(not deed.told for deed in self._deeds.values())
        self._news.clear()
        try:
            async with asyncio.timeout(_INPUT if unready else patience):
                await self._news.wait()
        except TimeoutError:
            if not unready:
                raise TransientError(f"{self._agent.title} has sent nothing for {patience:g} s.") from None

    async def _ask(self, request: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(_BEGIN):
                return await request
        except TimeoutError:
            why = await self._pipes.why(0.0)
            raise TransientError(f"{self._agent.title} did not start within {_BEGIN:g} s. {why}".strip()) from None
        except (acp.RequestError, ConnectionError) as error:
            raise (await self._gone(error)) from error

    async def _gone(self, error: Exception) -> TransientError | RequestRefused:
        if isinstance(error, acp.RequestError):
            if error.code == _AUTH:
                return WantsLogin(f"{self._agent.title} requires a login: {error}. {self._agent.advice}".strip())
            detail = f" ({json.dumps(error.data)[:500]})" if error.data else ""
            return TransientError(f"{self._agent.title} failed: {error or 'the connection is closed'}{detail}.")
        why = await self._pipes.why()
        if not self._session:  # An agent that does not start now will not start next time either.
            return RequestRefused(f"{self._agent.title} cannot be started. {why} {self._agent.advice}".strip())
        return TransientError(f"{self._agent.title} is gone. {why}".strip())


class _Lines:
    """Exchanges JSON objects, one per line. Any other line is skipped: programs print all kinds of things."""

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes

    async def send(self, message: dict[str, Any]) -> None:
        await self._pipes.write_line(json.dumps(message).encode())

    async def receive(self) -> dict[str, Any] | None:
        while line := await self._pipes.read_line():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                return message
        return None

    async def close(self) -> None:
        """Do nothing: `AcpTalk` ends the process."""


def _copy_home(paths: Sequence[Path], workspace: WorkFolder) -> None:
    """Copy the permitted parts of the person's home into the agent's own home. The agent's changes stay there."""
    home, left = find_private_folder(workspace) / "home", _HOME
    for path in paths:
        try:
            target = home / path.relative_to(Path.home())
        except ValueError:
            continue
        if not path.exists() or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        left -= sum(file.lstat().st_size for file in (path.rglob("*") if path.is_dir() else (path,)))
        if left < 0:
            raise RequestRefused(f"{path} is too large to copy for an agent: name the files in it that it needs.")
        if path.is_dir():
            shutil.copytree(path, target, symlinks=True, ignore_dangling_symlinks=True)
        else:
            shutil.copy2(path, target)


ALONE = "Answer in your last message, only from what you are told here, without using any tool."


class AgentModel:
    window = 0

    def __init__(self, agent: AcpAgent, folder: Path, rules: Rules) -> None:
        self.name = f"{MODEL}{agent.name}"
        self._agent, self._folder, self._rules = agent, folder, rules

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        said = [prompt.system, *(_words(message) for message in prompt.messages), ALONE]
        talk = await self._agent.start(make_plain_folder(self._folder, "empty"), self._rules, progress)
        text: list[str] = []
        usage, cost = Answer().usage, None
        try:
            await talk.say("\n\n".join(part for part in said if part))
            while True:
                heard = await talk.heard(self._rules.model_timeout)
                text.append(heard.text)
                cost = heard.cost if cost is None else cost + (heard.cost or 0.0)
                usage = heard.usage if heard.usage.input else usage
                if isinstance(heard, TurnEnd):
                    return Answer("\n".join(part for part in text if part), (), heard.stop, usage, cost, self.name)
                await talk.results(heard.calls, self._rules.model_timeout)
        finally:
            await talk.close()

    async def close(self) -> None:
        """Do nothing: no resource is held between questions."""


def _words(message: object) -> str:
    text = getattr(message, "text", "")
    return f"You answered:\n{text}" if isinstance(message, ModelMessage) else str(text)
