"""The roles that the engine needs filled. Each is a short Protocol; adapters fill them, `bough.testing` has fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct, field

from bough.core.events import AnyEvent, Record, TaskCreated, ToolServersListed
from bough.core.merge.active_files import ActiveFile
from bough.core.messages import Answer, AnswerProtocol, Call, ModelProtocol, Prompt, ToolSpec
from bough.core.planning.plan import Step, Tier
from bough.core.verdict.check_run import Finished as Finished
from bough.core.verdict.texts import FileChange as FileChange
from bough.ports.agents import OutsideAgent
from bough.ports.steering import Fence, Inbox, Stop
from bough.ports.verifier import Verifier

if TYPE_CHECKING:  # For annotations only: reading a run needs none of them.
    import asyncio

    from bough.core.journal.run_fold import Run
    from bough.core.planning.guidance import ApprovalAdvice
    from bough.core.rules import Rules
    from bough.core.tree.task import Task


class Claim(Struct, frozen=True):
    """The right to append to one stream. The epoch grows with every new holder, so a stale one is detected."""

    run: str
    task: str
    worker: str
    epoch: int


class Store(Protocol):
    """The journal. What `append` returned is durable: it survives `kill -9` and the machine being switched off."""

    def claim(self, run: str, task: str, worker: str, lease: float) -> AbstractAsyncContextManager[Claim]:
        """Hold a stream; released at the end of the block. Raises `ClaimHeld` while another live worker has it: a live
        process of this machine, even a stopped one, or one elsewhere that renews its claim. A claim of an ended holder
        is taken over at once; one held elsewhere, when its lease passes without a heartbeat. No clock that can be set
        is involved."""

    async def check(self, claim: Claim) -> None:
        """Raise `ClaimLost` if the claim was taken over: check before every effect."""

    async def renew(self, worker: str, lease: float) -> None:
        """The heartbeat: extend all claims of this worker."""

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        """Append to the claim's stream if its version is `expected`, all events or none.

        Raises `VersionConflict` if another writer was first, `ClaimLost` if the claim was taken over. State evolves
        from the returned records, because a wrapper may have changed the events (redacted secrets). If cancelled, it
        raises once it is settled whether they are in the stream: reading tells.
        """

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        """Append without a claim, at any version: for streams that anyone may write to (`CONTROL`)."""

    async def read(
        self,
        run: str,
        task: str | None = None,
        since: int = 0,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """Read the events of a stream (or of all streams of a run) with a `seq` above `since`, in order of `seq`,
        optionally only those of the named kinds (class names of events), and no more than `limit`."""

    async def runs(self) -> list[str]:
        """Names of all runs, oldest first."""

    async def names(self) -> list[str]:
        """Every name that events have: those of runs, and bough's own."""

    async def holder(self, run: str, task: str) -> str | None:
        """The live worker that holds the stream now, or None."""

    async def forget(self, claim: Claim) -> None:
        """Remove everything stored of the run that the claim holds."""

    async def compact(self) -> set[str]:
        """Remove the blobs that no event names; returns the git objects that events name. No run may be live."""

    async def put_blob(self, body: bytes) -> str:
        """Store bytes by content; the same bytes have the same name (SHA-256 in hex)."""

    async def get_blob(self, name: str) -> bytes:
        """Return the bytes; raises `NotFound`."""

    async def close(self) -> None: ...


class Model(Protocol):
    """One language model."""

    name: str
    """`provider:model`."""

    @property
    def window(self) -> int:
        """Return the context window in tokens; 0: unknown. Read it after an answer, when the model is loaded."""

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        """Return the model's answer. `progress` gets the text as it streams in. Raises `TransientError` for a transport
        error worth a retry and `Refused` for one that is not; all else is an answer."""

    async def close(self) -> None: ...


class Protocols(Protocol):
    """Knows which protocol each model uses, and keeps what a run learns about a model for later ones."""

    def of(self, model: str) -> ModelProtocol:
        """The protocol of a model, by its name (`provider:model`)."""

    def learn(self, model: str, protocol: AnswerProtocol, why: str) -> None: ...


class ToolsOnly:
    """Every model calls tools, and nothing is remembered."""

    def of(self, model: str) -> ModelProtocol:
        return ModelProtocol()

    def learn(self, model: str, protocol: AnswerProtocol, why: str) -> None:
        """The protocol stays the same."""


class Mount(Struct, frozen=True):
    """A file or folder of the person's that commands see although they do not see the rest."""

    source: Path
    mode: Literal["read", "overlay"] = "read"
    """`read`: nothing there can be changed; `overlay`: commands change a copy of their own, kept with the workspace's
    temporary files. Where the sandbox cannot do that, `Workspace.own` replaces the link with a copy."""


class Sandbox(Protocol):
    """Runs the agent's commands, which reach nothing of the person's that they do not need."""

    @property
    def says(self) -> str:
        """Describe what commands can reach, in sentences for the model."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        workspace: WorkFolder,
        timeout: float,
        limit: int,
        progress: Callable[[str], None] = lambda line: None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run in the workspace, in a process group of its own; no process of it is left on return."""

    async def serve(
        self, argv: Sequence[str], *, workspace: WorkFolder, limit: int, env: Mapping[str, str]
    ) -> asyncio.Task[Finished]:
        """Start a command that runs alongside the workspace's others, which reach it on localhost, until it is
        cancelled. Returns once it has started."""

    async def sweep(self, workspace: WorkFolder) -> None:
        """End whatever an earlier bough process left running in this workspace."""


class WorkFolder(Protocol):
    """A folder in which commands, tools and agents work."""

    root: Path
    """The top of what they may change."""
    folder: Path
    """Where the agent starts: `root`, or the person's folder below it."""
    scratch: Path
    """A private folder for temporary files, outside the checkout."""

    @property
    def mounts(self) -> Sequence[Mount]:
        """Return the checkout's references outside itself: borrowed git objects, ignored folders such as `.venv`."""

    @property
    def env(self) -> Mapping[str, str]:
        """Return further variables of its commands: its environment's PATH, `$BOUGH_TASK`, `$PORT` …"""

    async def own(self, mount: Mount) -> bool:
        """Replace the link to it with a copy that commands may write to. False when there is no link."""


class Workspace(WorkFolder, Protocol):
    """A private checkout for one task, whose files can be stored as trees and restored."""

    async def furnish(self) -> None:
        """Add again what comes from the person's set-up besides the tree, after a clean-up."""

    async def snapshot(self) -> str:
        """Store the current files durably and return their tree."""

    async def restore(self, tree: str) -> None:
        """Make the files those of a tree: added ones are removed, lost ones restored."""

    async def clear(self, tree: str) -> None:
        """Remove everything that is not in the tree, ignored files included, and all temporary files, but keep
        installed packages. For a workspace restored to that tree."""

    async def lends(self, tree: str) -> bool:
        """Whether packages were installed in it that are not in the tree: see `Workspaces.open`."""

    async def list_others(self, tree: str) -> list[str]:
        """The topmost paths that `clear` would remove."""

    async def checkpoint(self, tree: str, message: str) -> str:
        """Commit that tree to the task's branch, in bough's own repository."""


class Contents(Protocol):
    """The files of a tree, each loaded on demand."""

    def paths(self) -> Sequence[str]:
        """List all paths."""

    def id(self, path: str) -> str:
        """Return the id of a file's content; empty: there is no such file."""

    def read(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the texts that `Workspaces.texts` returns, but block meanwhile."""


class Merged(Struct, frozen=True):
    """Two merged trees."""

    tree: str
    """Where the two sides disagree, a text has both between conflict markers."""
    conflicts: tuple[str, ...] = ()
    """The paths in conflict, which need a decision."""
    says: tuple[str, ...] = ()
    """Git's message about each of these."""
    both: tuple[str, ...] = ()
    """Texts to which both sides only added at the same place: they have both additions, ours first."""
    marked: str = ""
    """The tree in which the texts of `both` have conflict markers too; empty when there are none."""


class Workspaces(Protocol):
    """bough's own repository of trees, next to the person's files, which only `apply` ever writes."""

    async def take(self) -> str:
        """Store the person's files as they are now (their changes and untracked files too) and return the tree."""

    async def open(
        self,
        run: str,
        task: str,
        tree: str,
        folder: str,
        sides: Mapping[str, str] | None = None,
        *,
        start: str = "",
        lender: Path | None = None,
    ) -> Workspace:
        """Open the task's checkout; made from `tree` if it does not exist yet, else left as it is. For a merge, `sides`
        are the trees that git in the checkout knows by name (`git show theirs:path`). `start`: the tree of git's HEAD
        there, if it is another one. `lender`: the top of a checkout whose installed packages this one uses too, as
        copies or in a layer of its own."""

    async def reserve(self, run: str, task: str, tree: str) -> None:
        """Fill a checkout for the next task, if that takes long and none is left from before."""

    async def discard(self, run: str, task: str) -> None:
        """Remove the checkout (not its commits and trees)."""

    async def sweep(self, run: str, mark: str) -> None:
        """Remove the checkouts of a run whose names have the mark and whose process has ended; without a mark, all:
        only if they are known to be unused."""

    async def changes(self, base: str, tree: str) -> list[FileChange]: ...

    async def paths(self, tree: str) -> list[str]:
        """Every file of a tree."""

    async def texts(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        """The texts, or their beginnings, of those files of a tree that exist, decoded with replacements."""

    async def contents(self, tree: str) -> Contents:
        """The files of a tree, for callers that need few of many."""

    async def graft(self, tree: str, base: str, paths: Sequence[str], texts: Mapping[str, str]) -> str:
        """Return a tree like `tree`, except for these paths, which are as in `base` (or absent), and these texts."""

    async def diff(self, base: str, tree: str, stat: bool = False) -> str:
        """The change as a unified diff, or as git's short statistics."""

    async def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Merge the changes of `ours` and `theirs` since `base` into a durable tree of bough's own; no working files
        are touched. Conflicts are a result, not an error."""

    async def edges(self, base: str, tree: str) -> list[ActiveFile]:
        """List the changes that reach beyond their file: hooks, CI, links that lead out …"""

    async def apply(self, base: str, tree: str) -> list[FileChange]:
        """Apply the changes from `base` to `tree` to the person's files. Refuses as a whole, naming the files, if one
        of them is no longer as it was at `base`; their index and refs stay as they are."""


class ToolResult(Struct, frozen=True):
    output: str
    """What the model sees."""
    ok: bool = True
    fault: bool = False
    """The call itself was unusable: unknown tool, malformed or wrong arguments."""
    whole: bytes | None = None
    """All of the output, when the model sees only head and tail."""
    image: str = ""
    """The media type, when `whole` is an image."""
    events: tuple[AnyEvent, ...] = ()
    """Events of the call besides its output (`NoteKept`, `DoneClaimed`)."""
    proposal: str = ""
    """Smaller steps in place of the task, as valid JSON, for the engine to judge."""
    passed: int | None = None
    """Tests that passed, when the output of a test run is readable. It shows progress, and proves nothing."""


class Tools(Protocol):
    """What an agent can do."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def run(self, call: Call, workspace: WorkFolder, rules: Rules, progress: Callable[[str], None]) -> ToolResult:
        """Run a call. Any error is a result the model can act on, never an exception."""


class Executor(Protocol):
    """Runs tasks on workers elsewhere. The journal records the results; this only finds a worker."""

    def takes(self, path: str, first: TaskCreated) -> bool:
        """Whether the task is for the workers."""

    async def run_task(self, run: Run, path: str, first: TaskCreated, again: Tier | None) -> Task:
        """Run the task until it halts, as `TaskRunner.run_task` does. If cancelled, it first calls the worker off."""


class Approval(Struct, frozen=True):
    """A person's answer to a proposed plan."""

    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    """Wanted changes, if the answer is `change`."""
    steps: tuple[Step, ...] = ()
    """The steps as the person wrote them, where the answer is `own`."""
    requirements: tuple[str, ...] = ()
    """The goal's requirements, where the person changed them."""


async def nothing_runs(workspace: WorkFolder) -> None:
    """Return at once: nothing runs there."""


class Ports(Struct, frozen=True):
    """Everything that the engine is given. `app` assembles it; tests assemble their own."""

    store: Store
    models: Mapping[str, Model]
    """The first model of each tier by its name, and its fallbacks by their places (`main+1`)."""
    tools: Tools
    workspaces: Workspaces
    sandbox: Sandbox
    verifier: Verifier
    clock: Callable[[], float]
    worker: str
    prompt: Callable[[str], str]
    """The text of a prompt template by name."""
    approve: Callable[[tuple[Step, ...], ApprovalAdvice], Awaitable[Approval | None]] | None = None
    """Shows the person, if present, a plan and returns their answer; None: they want to stop."""
    ask: Callable[[str], Awaitable[str | None]] | None = None
    """Asks the person, if present, a question. An empty answer: no one answers; None: it may come later."""
    unreachable: str = ""
    """Why no model is available, if known before anything starts: then nothing does."""
    person: str = ""
    """The person who started this process, by their name in the system."""
    stop: Stop = field(default_factory=Stop)
    inbox: Inbox = field(default_factory=Inbox)
    fence: Fence = field(default_factory=Fence)
    timer: Callable[[], float] = monotonic
    """Measures durations: unlike the clock it cannot be set."""
    progress: Callable[[str, str], None] = lambda task, text: None
    """Transient news of a task for observers: a command's last line."""
    streamed: Callable[[str, str], None] = lambda task, text: None
    """Text of a task's model as it streams in."""
    doing: Callable[[str, str], None] = lambda task, text: None
    """Called with a task's activity that has no event; an empty text ends it."""
    waiting: Callable[[str], None] = lambda text: None
    """Called with what the whole run waits for, in a sentence for its operator; empty: nothing any longer."""
    protocols: Protocols = field(default_factory=ToolsOnly)
    agent: Callable[[str], OutsideAgent] | None = None
    """Returns the outside agent of that name."""
    leave: Callable[[WorkFolder], Awaitable[None]] = nothing_runs
    """Ends processes that tools left running in a workspace: before a check, and when its task halts."""
    prepare: Callable[[WorkFolder], Awaitable[ToolServersListed | None]] | None = None
    """Finds out, in the first workspace that needs it, which tools servers offer; None once that is known."""
    recorded: Callable[[Record], None] = lambda record: None
    """Called with every record once it is durable."""
    executor: Executor | None = None
    """Dispatches leaf tasks to workers; None: everything runs here."""


@contextmanager
def shown(ports: Ports, task: str, what: str) -> Iterator[None]:
    """Show observers a task's activity."""
    ports.doing(task, what)
    try:
        yield
    finally:
        ports.doing(task, "")


Batches = AsyncIterator[Sequence[AnyEvent]]
"""The events of a command, in batches that are appended all or none."""
