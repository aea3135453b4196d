"""Serves bough to other agents, over the Model Context Protocol.

Tools that run, plan or show work start a bough command in a new process. Only the person's settings choose
models, keys, sandbox, network and limits. A run outlives the server: its process has its own session, and the run is
found again by its name."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from bough import __version__
from bough.core import events as e
from bough.core.errors import BoughError
from bough.operations import OPERATIONS
from bough.operations.table import take_arguments
from bough.services.permission_store import answer_wishes, list_open_wishes
from bough.trust.programs import open_own, start_own
from bough.views.event_lines import EventFormatter
from bough.views.vocabulary import ask_about_wishes

POLL = 0.2
"""Seconds between polls of a run's output; each poll reports only the latest news."""
STARTING = 120.0
"""Seconds within which a run must start, so that its name is known."""
LONGEST = 600.0
"""Seconds that a command which starts no run may take."""
SHOWN = 100_000
"""The most characters of a diff in one answer."""

DRAWN = [made.name for made in OPERATIONS.values() if made.of != "list" and not made.person and not made.runs]
"""The operations that become tools without further code."""

ABOUT = """bough works on goals in one repository: language models work on private copies with real tools, and a goal
is completed only when a check that bough ran itself has passed. `run` starts a run and waits for it; `status` reports
its state and what it needs; the person's files do not change until `apply`."""

Run = Annotated[str, Field(description="The name of a run, the beginning of one, or `latest`.")]


class _Consent(BaseModel):
    allow: bool = Field(description="Allow these settings of the repository, here and from now on.")


async def _find_wishes(context: "Context[Commands, Any]") -> dict[str, str]:
    """Return what the repository's settings ask for; nothing if the client cannot ask the person who uses it."""
    able = context.client_capabilities
    if able is None or able.elicitation is None:
        return {}
    return (await asyncio.to_thread(list_open_wishes, context.request_context.lifespan_context.folder))[1]


async def _ask_consent(wishes: Annotated[dict[str, str], Resolve(_find_wishes)]) -> Elicit[_Consent] | _Consent:
    return Elicit(ask_about_wishes(wishes), _Consent) if wishes else _Consent(allow=False)


class Commands:
    """Runs bough's commands in one project, and has the tools for agents: they start, inspect and answer runs. An agent
    may add goals to a backlog, but only a person can start work on it."""

    def __init__(self, folder: Path, choices: Sequence[str] = ()) -> None:
        """`choices`: the person's options for every command that calls models."""
        self.folder = folder
        self.choices = tuple(choices)

    def argv(self, command: str, *arguments: str) -> list[str]:
        # Texts from an agent are passed after `--`, so they are never taken for options.
        return [*command.split(), "--dir", str(self.folder), *arguments]

    async def output(self, command: str, *arguments: str) -> str:
        words = self.argv(command, *arguments)
        process = await open_own(self.folder, *words, out=asyncio.subprocess.PIPE, new_session=False)
        try:
            out, err = await asyncio.wait_for(process.communicate(), LONGEST)
        except TimeoutError:
            raise ToolError(f"`bough {command}` took longer than {LONGEST:g} s.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode and not out:
            raise ToolError(_extract_complaint(err))
        return out.decode(errors="replace")

    async def json(self, command: str, *arguments: str) -> dict[str, Any]:
        return msgspec.json.decode(await self.output(command, "--json", *arguments), type=dict[str, Any])

    async def run_and_wait(self, context: Context, seconds: float, command: str, *arguments: str) -> dict[str, Any]:
        """Start a command that runs a goal, report its progress, and wait until it ends or `seconds` pass."""
        argv = self.argv(command, "--json", *self.choices, *arguments)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # A process started by asyncio would end with the server, so asyncio does not start it. The output goes to
            # files instead of pipes, so that the run can write even if nobody reads.
            process = await asyncio.to_thread(partial(start_own, self.folder, *argv, out=out, err=err))
            told, clock = _ProgressReporter(out, context), asyncio.get_running_loop().time
            began = clock()
            while process.poll() is None and clock() - began < (seconds if told.run else max(seconds, STARTING)):
                await asyncio.sleep(POLL)
                await told.tell()
            await told.tell()
            if not told.run:
                process.kill()
                process.wait()
                raise ToolError(_extract_complaint(os.pread(err.fileno(), 1 << 16, 0)))
        return await self.json("status", "--", told.run)

    async def run(
        self,
        context: Context,
        wishes: Annotated[dict[str, str], Resolve(_find_wishes)],
        consent: Annotated[ElicitationResult[_Consent], Resolve(_ask_consent)],
        goal: Annotated[str, Field(description="What must be true at the end. Every sentence counts.")],
        check: Annotated[
            str, Field(description="The command that proves the goal; empty: the project's own tests.")
        ] = "",
        continues: Annotated[str, Field(description="A finished run that this goal follows up on.")] = "",
        jobs: Annotated[int, Field(ge=1, le=64, description="How many agents may work at once.")] = 1,
        wait_seconds: Annotated[
            float, Field(ge=0, description="Seconds to wait for the run; then poll `status`.")
        ] = 1e9,
    ) -> dict[str, Any]:
        """Work on a goal in a private copy of the repository and report its status. The run continues when this server
        or the connection ends."""
        if wishes and consent.action != "cancel":
            answer_wishes(self.folder, wishes, allowed=consent.action == "accept" and consent.data.allow)
        options = ["--yes", "--ask-later", "--jobs", str(jobs)]
        options += ["--check", check] if check else []
        options += ["--continue", continues] if continues else []
        return await self.run_and_wait(context, wait_seconds, "run", *options, "--", goal)

    async def examine(
        self,
        context: Context,
        goal: Annotated[str, Field(description="What the change should achieve, as whoever asked for it said.")],
        what: Annotated[str, Field(description="A branch, range A..B or commit; empty: uncommitted changes.")] = "",
        check: Annotated[str, Field(description="The command that has to pass; empty: the project's own tests.")] = "",
        wait_seconds: Annotated[
            float, Field(ge=0, description="Seconds to wait for the run; then poll `status`.")
        ] = 1e9,
    ) -> dict[str, Any]:
        """Judge a change, before you say that it is done: tests and fresh cases run without and with it. Status
        `completed` is proven, `failed` refuted (the failing cases are in the answer), `not_proven` not shown,
        `needs_approval` for a person to decide. Changes no file."""
        options = ["--goal", goal, *(["--check", check] if check else [])]
        found = await self.run_and_wait(context, wait_seconds, "examine", *options, "--", *([what] if what else []))
        report = msgspec.json.decode(await self.output("report", "--json", "--", found["run"]), type=dict[str, Any])
        return {**found, "evidence": report["requirements"]}

    async def answer(self, context: Context, text: str, run: Run = "latest") -> dict[str, Any]:
        """Answer a waiting run's question and resume it."""
        return await self.run_and_wait(context, 1e9, "answer", "--", run, text)

    async def resume(self, context: Context, run: Run = "latest") -> dict[str, Any]:
        """Resume a run that was stopped, paused or interrupted."""
        return await self.run_and_wait(context, 1e9, "resume", "--", run)

    async def plan(self, goal: str) -> dict[str, Any]:
        """Plan a goal and return its steps. Calls a model; runs nothing."""
        return await self.json("plan", *self.choices, "--", goal)

    async def status(self, run: Run = "latest") -> dict[str, Any]:
        """Get a run's status: its state and the reason, the verdict, the requirements with their evidence, its question
        if it is waiting for an answer, and what to do next."""
        return await self.json("status", "--", run)

    async def show(self, run: Run = "latest") -> dict[str, Any]:
        """Show a run as a tree of tasks: states, rounds, checks, cost."""
        return await self.json("show", "--", run)

    async def diff(self, run: Run = "latest", offset: Annotated[int, Field(ge=0)] = 0) -> str:
        """Show what a run changed, as a patch. A long one comes in parts: `offset` is where to continue."""
        text = await self.output("diff", "--", run)
        rest = len(text) - offset - SHOWN
        more = f"\n[{rest} more characters: call again with offset={offset + SHOWN}]" if rest > 0 else ""
        return text[offset : offset + SHOWN] + more

    async def backlog_add(
        self,
        goal: Annotated[str, Field(description="What must be true at the end. Every sentence counts.")],
        check: Annotated[
            str, Field(description="The command that proves the goal; empty: the project's own tests.")
        ] = "",
        needs: Annotated[list[str], Field(description="Names of goals that must be proven first.")] = [],  # noqa: B006
        priority: Annotated[int, Field(description="Goals with a higher number begin first.")] = 0,
    ) -> dict[str, Any]:
        """Put a goal on this project's backlog, which a person works through with `bough backlog run`."""
        options = ["--priority", str(priority), *(["--check", check] if check else [])]
        options += [word for need in needs for word in ("--needs", need)]
        said = await self.output("backlog add", "--json", *options, "--", goal)
        return msgspec.json.decode(said, type=list[dict[str, Any]])[0]

    async def backlog_report(self) -> dict[str, Any]:
        """Report how each goal of the backlog stands: proven, not proven, waiting for a person, given up, not begun."""
        return await self.json("backlog report")

    def draw_tool(self, name: str) -> Callable[..., Awaitable[dict[str, Any]]]:
        """Make a tool that performs an operation, and returns its facts and its message."""
        made = OPERATIONS[name]

        async def tool(*place: str, **arguments: Any) -> dict[str, Any]:
            try:
                done = await made.call(self.folder, place[0] if place else arguments.pop(made.of, None), arguments)
            except BoughError as error:
                raise ToolError(str(error)) from None
            return {"said": done.said, **msgspec.to_builtins(done.facts)}

        own = {key: (Annotated[kind, Field(description=about)], it) for key, kind, it, about in made.arguments}
        tool.__name__, tool.__doc__ = name, made.about.partition("\n")[0]
        place = [one.replace(annotation=Run if made.of == "run" else str) for one in made.place]
        kinds = {**{one.name: one.annotation for one in place}, **{key: kind for key, (kind, _) in own.items()}}
        tool.__annotations__ = {**kinds, "return": dict[str, Any]}
        return take_arguments(tool, place, own)

    async def apply(self, run: Run = "latest") -> dict[str, Any]:
        """Apply a completed run's changes to the person's files. Changes that take effect on their own (hooks, CI, new
        programs) are refused: the person applies those with `bough apply --edges`."""
        return await self.draw_tool("apply")(run)

    async def runs(self) -> str:
        """The runs of this project."""
        return await self.output("runs", "--json")

    async def tree(self, run: str) -> str:
        """A run as a tree of tasks."""
        return await self.output("show", "--json", "--", run)

    async def report(self, run: str) -> str:
        """The evidence for each requirement of a run."""
        return await self.output("report", "--json", "--", run)


class _ProgressReporter(msgspec.Struct, eq=False):
    """Reads a run's events from its output, and reports its news as progress of the request."""

    _out: IO[bytes]
    _context: Context
    run: str = ""
    _read: int = 0
    _rest: bytes = b""
    _count: int = 0
    _teller: EventFormatter = msgspec.field(default_factory=EventFormatter)

    async def tell(self) -> None:
        latest = ""
        while piece := os.pread(self._out.fileno(), 1 << 20, self._read):
            self._read += len(piece)
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                told = msgspec.json.decode(line)
                event = e.decode_event(told["run"], told["event"]["event"], msgspec.json.encode(told["event"]))
                record = e.Record(**{**told, "event": event})
                self.run = record.run
                self._count += 1
                if news := self._teller.news(record):
                    latest = f"{record.task}: {news[0]}" if record.task else news[0]
        if latest:
            await self._context.report_progress(self._count, message=latest)


def _extract_complaint(err: bytes) -> str:
    return err.decode(errors="replace").strip().removeprefix("bough: ") or "bough exited without a message."


class BoughServer(MCPServer):
    """The library's server, but a wrong call is answered with bough's own error message alone."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            if name in DRAWN:
                OPERATIONS[name].read({key: value for key, value in arguments.items() if key != OPERATIONS[name].of})
            return await super().call_tool(name, arguments, context)
        except BoughError as error:
            raise ToolError(str(error)) from None
        except ToolError as error:
            raise ToolError(str(error).removeprefix(f"Error executing tool {name}: ")) from None


def make_server(commands: Commands) -> MCPServer:
    @asynccontextmanager
    async def lifespan(server: object) -> AsyncIterator[Commands]:
        yield commands

    server = BoughServer(
        *("bough", "bough"), instructions=ABOUT, version=__version__, log_level="WARNING", lifespan=lifespan
    )
    for act in (commands.run, commands.examine, commands.answer, commands.resume, commands.backlog_add):
        server.add_tool(act)
    for name in DRAWN:
        server.add_tool(commands.draw_tool(name))
    for read in (commands.plan, commands.status, commands.show, commands.diff, commands.backlog_report):
        server.add_tool(read, annotations=ToolAnnotations(read_only_hint=True))
    server.add_tool(commands.apply, annotations=ToolAnnotations(destructive_hint=True))
    for address, resource in (("", commands.runs), ("/{run}", commands.tree), ("/{run}/report", commands.report)):
        server.resource(f"bough://runs{address}", mime_type="application/json")(resource)
    return server
