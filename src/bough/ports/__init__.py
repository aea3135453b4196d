"""The interfaces (ports) that the engine uses, as Protocols. Adapters implement them; `bough.testing` has fakes."""

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
from bough.core.verdict.check_run import CommandResult as CommandResult
from bough.core.verdict.texts import FileChange as FileChange
from bough.ports.agents import OutsideAgent
from bough.ports.steering import Fence, Inbox, Stop
from bough.ports.verifier import Verifier

if TYPE_CHECKING:  # Import these types only for annotations, so that reading a run does not load them.
    import asyncio

    from bough.core.journal.run_fold import Run
    from bough.core.planning.guidance import ApprovalAdvice
    from bough.core.rules import Rules
    from bough.core.tree.task import Task


class Claim(Struct, frozen=True):
    """The right to append to one stream (the events of one task). The epoch grows with every new holder, so that a
    stale claim is detected."""

    run: str
    task: str
    worker: str
    epoch: int


class Store(Protocol):
    """The journal. What `append` returned is durable: it survives `kill -9` and the machine being switched off."""

    def claim(self, run: str, task: str, worker: str, lease: float) -> AbstractAsyncContextManager[Claim]:
        """Hold a stream until the end of the block. Raises `ClaimHeld` while another live worker holds it: a process of
        this machine, even a suspended one, or one on another machine that renews its claim. The claim of a process that
        has ended here is taken over at once; that of another machine, when its lease passes without a renewal. No
        clock that people can set is used."""

    async def check(self, claim: Claim) -> None:
        """Raise `ClaimLost` if another worker has taken over the claim. Call this before every action."""

    async def renew(self, worker: str, lease: float) -> None:
        """Extend all claims of this worker; called regularly as its heartbeat."""

    async def append(self, claim: Claim, events: Sequence[AnyEvent], expected: int) -> list[Record]:
        """Append to the claim's stream if its version is `expected`, all events or none.

        Raises `VersionConflict` if another writer was first, `ClaimLost` if the claim was taken over. State evolves
        from the returned records, because a wrapper may have changed the events (redacted secrets). If cancelled, this
        raises only after the write has succeeded or failed; read the stream to find out which."""

    async def post(self, run: str, task: str, event: AnyEvent) -> Record:
        """Append an event without a claim, whatever the version, to a stream that anyone may write to (`CONTROL`)."""

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
        """Return the names of all runs, oldest first."""

    async def names(self) -> list[str]:
        """Return every name that events are stored under: runs, and others such as backlogs."""

    async def holder(self, run: str, task: str) -> str | None:
        """Return the live worker that holds the stream now, or None."""

    async def forget(self, claim: Claim) -> None:
        """Remove everything that is stored about the run that the claim holds."""

    async def compact(self) -> set[str]:
        """Remove the blobs that no event names, and return the git objects that events name. No run may be live."""

    async def put_blob(self, body: bytes) -> str:
        """Store bytes by content; the same bytes have the same name (SHA-256 in hex)."""

    async def get_blob(self, name: str) -> bytes:
        """Return the stored bytes. Raises `NotFound` if there are none under this name."""

    async def close(self) -> None: ...


class Model(Protocol):
    name: str
    """The model's name, `provider:model`."""

    @property
    def window(self) -> int:
        """Return the context window in tokens; 0: unknown. Read it after an answer, when the model is loaded."""

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        """Return the model's answer. `progress` gets the text as it streams in. Raises `TransientError` for an error
        that is worth a retry, and `RequestRefused` for one that is not."""

    async def close(self) -> None: ...


class Protocols(Protocol):
    """Knows whether each model acts by tool calls or in text, and keeps what a run learns about that for later runs."""

    def of(self, model: str) -> ModelProtocol:
        """Return the protocol of a model, by its name (`provider:model`)."""

    def learn(self, model: str, protocol: AnswerProtocol, why: str) -> None: ...


class ToolsOnly:
    """Every model calls tools, and nothing is remembered."""

    def of(self, model: str) -> ModelProtocol:
        return ModelProtocol()

    def learn(self, model: str, protocol: AnswerProtocol, why: str) -> None:
        """Do nothing: the protocol stays the same."""


class Mount(Struct, frozen=True):
    """A file or folder of the person that commands in the sandbox can see."""

    source: Path
    mode: Literal["read", "overlay"] = "read"
    """`read`: commands cannot change it; `overlay`: commands change a private copy, kept with the workspace's temporary
    files. If the sandbox cannot do that, `WorkFolder.own` replaces the link with a copy."""


class Sandbox(Protocol):
    """Runs the agent's commands so that they reach only those of the person's files that they need."""

    @property
    def says(self) -> str:
        """Describe what commands can reach, in sentences for the model."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        workspace: "WorkFolder",
        timeout: float,
        limit: int,
        progress: Callable[[str], None] = lambda line: None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command in the workspace, in its own process group. On return, none of its processes is left."""

    async def serve(
        self, argv: Sequence[str], *, workspace: "WorkFolder", limit: int, env: Mapping[str, str]
    ) -> "asyncio.Task[CommandResult]":
        """Start a service that runs until its task is cancelled. Other commands of the workspace reach it on localhost.
        Returns once it has started."""

    async def sweep(self, workspace: "WorkFolder") -> None:
        """End whatever an earlier bough process left running in this workspace."""


class WorkFolder(Protocol):
    """A folder in which commands, tools and agents work."""

    root: Path
    """The top folder of the files that commands, tools and agents may change."""
    folder: Path
    """Where the agent starts: `root`, or the person's folder below it."""
    scratch: Path
    """A private folder for temporary files, outside the checkout."""

    @property
    def mounts(self) -> Sequence[Mount]:
        """Return what commands need from outside the checkout: shared git objects, ignored folders such as `.venv`."""

    @property
    def env(self) -> Mapping[str, str]:
        """Return additional variables for its commands: PATH with the project's environment, `$BOUGH_TASK` …"""

    async def own(self, mount: Mount) -> bool:
        """Replace the link to a mount with a copy that commands may write to. Return False if there is no link."""


class Workspace(WorkFolder, Protocol):
    """A private checkout for one task, whose files can be stored as trees and restored."""

    async def furnish(self) -> None:
        """Add again what comes from the person's set-up and is not in the tree (links, packages), after a clean-up."""

    async def snapshot(self) -> str:
        """Store the current files durably and return their tree."""

    async def restore(self, tree: str) -> None:
        """Make the files equal to a tree: remove added files, and restore changed and lost ones."""

    async def clear(self, tree: str) -> None:
        """Remove everything that is not in the tree, including ignored and temporary files, but keep installed
        packages. The workspace must have been restored to this tree."""

    async def lends(self, tree: str) -> bool:
        """Return whether it has installed packages that another checkout can borrow (see `Workspaces.open`)."""

    async def list_others(self, tree: str) -> list[str]:
        """List the topmost paths that `clear` would remove."""

    async def checkpoint(self, tree: str, message: str) -> str:
        """Commit a tree to the task's branch in bough's own repository, and return the commit."""


class Contents(Protocol):
    """The files of a tree, each loaded on demand."""

    def paths(self) -> Sequence[str]:
        """List all paths."""

    def id(self, path: str) -> str:
        """Return the id of a file's content; empty if there is no such file."""

    def read(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the same texts as `Workspaces.texts`, but block until they are read."""


class MergeResult(Struct, frozen=True):
    """The result of merging two trees."""

    tree: str
    """The merged tree. Where the two sides conflict, the text has both between conflict markers."""
    conflicts: tuple[str, ...] = ()
    """The paths in conflict, which need a decision."""
    says: tuple[str, ...] = ()
    """Git's message about each path in `conflicts`."""
    both: tuple[str, ...] = ()
    """Paths of texts in which both sides added lines in the same place. The tree has both additions, ours first."""
    marked: str = ""
    """A tree in which the texts in `both` have conflict markers instead; empty if there are none."""


class Workspaces(Protocol):
    """bough's own git repository, which stores files as trees. Only `apply` ever writes to the person's files."""

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
        """Open the task's checkout. If it does not exist yet, it is made from `tree`; otherwise it stays as it is. For
        a merge, `sides` are the trees that git in the checkout knows by name (`git show theirs:path`). `start`: the
        tree of HEAD in the checkout, if it is not `tree`. `lender`: the top folder of a checkout whose installed
        packages this one also uses."""

    async def reserve(self, run: str, task: str, tree: str) -> None:
        """Prepare a checkout for the next task in advance, if that takes long and no prepared one is left."""

    async def discard(self, run: str, task: str) -> None:
        """Remove a task's checkout, but not its commits and trees."""

    async def sweep(self, run: str, mark: str) -> None:
        """Remove the checkouts of a run whose names contain the mark and whose process has ended. With an empty mark,
        remove all of them; the caller must know that they are unused."""

    async def changes(self, base: str, tree: str) -> list[FileChange]: ...

    async def paths(self, tree: str) -> list[str]:
        """List the path of every file in a tree."""

    async def texts(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        """Return the texts (or their beginnings) of those paths that exist in a tree; invalid UTF-8 is replaced."""

    async def contents(self, tree: str) -> Contents:
        """Return the files of a tree, for callers that need few of many."""

    async def graft(self, tree: str, base: str, paths: Sequence[str], texts: Mapping[str, str]) -> str:
        """Return a tree like `tree`, but with these paths as they are in `base` (or absent), and with these texts."""

    async def diff(self, base: str, tree: str, stat: bool = False) -> str:
        """Return the change as a unified diff or, with `stat`, as git's short statistics."""

    async def merge(self, base: str, ours: str, theirs: str) -> MergeResult:
        """Merge the changes of `ours` and `theirs` since `base` into a new tree; no checkout is touched. Conflicts are
        a result, not an error."""

    async def edges(self, base: str, tree: str) -> list[ActiveFile]:
        """List the changed files that take effect without anyone running them: hooks, CI, links that lead out …"""

    async def apply(self, base: str, tree: str) -> list[FileChange]:
        """Apply the changes from `base` to `tree` to the person's files. If any of these files differs from `base`,
        apply nothing and raise an error that names them. The person's index and refs stay as they are."""


class ToolResult(Struct, frozen=True):
    output: str
    """What the model sees."""
    ok: bool = True
    fault: bool = False
    """Whether the call itself was unusable: unknown tool, malformed or wrong arguments."""
    whole: bytes | None = None
    """The whole output, if the model sees only its beginning and end."""
    image: str = ""
    """The media type, when `whole` is an image."""
    events: tuple[AnyEvent, ...] = ()
    """Events of the call besides its output (`NoteKept`, `DoneClaimed`)."""
    proposal: str = ""
    """The agent's proposal to split the task into smaller steps, as JSON, for the engine to judge."""
    passed: int | None = None
    """How many tests passed, if the output is that of a test run. It shows progress, and proves nothing."""


class Tools(Protocol):
    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def run(
        self, call: Call, workspace: WorkFolder, rules: "Rules", progress: Callable[[str], None]
    ) -> ToolResult:
        """Run a call. Errors are returned as results that the model can act on, never raised."""


class Executor(Protocol):
    """Runs tasks on worker machines. It only finds a worker; the journal records the results."""

    def takes(self, path: str, first: TaskCreated) -> bool:
        """Return whether a worker should run this task."""

    async def run_task(self, run: "Run", path: str, first: TaskCreated, again: Tier | None) -> "Task":
        """Run the task until it is finished or halts, as `TaskRunner.run_task` does. If cancelled, stop the worker."""


class Approval(Struct, frozen=True):
    """A person's answer to a proposed plan."""

    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    """What should change, if the answer is `change`."""
    steps: tuple[Step, ...] = ()
    """The steps that the person wrote, if the answer is `own`."""
    requirements: tuple[str, ...] = ()
    """The goal's requirements, if the person changed them."""


async def nothing_runs(workspace: WorkFolder) -> None:
    """Do nothing: the default for ports without tools that leave processes running."""


class Ports(Struct, frozen=True):
    """Everything that the engine is given. `app` assembles it; tests assemble their own."""

    store: Store
    models: Mapping[str, Model]
    """The first model of each tier by the tier's name (`main`), and its fallbacks by number (`main+1`)."""
    tools: Tools
    workspaces: Workspaces
    sandbox: Sandbox
    verifier: Verifier
    clock: Callable[[], float]
    worker: str
    prompt: Callable[[str], str]
    """Returns the text of a prompt template by name."""
    approve: "Callable[[tuple[Step, ...], ApprovalAdvice], Awaitable[Approval | None]] | None" = None
    """Shows the person, if present, a plan and returns their answer; None: they want to stop."""
    ask: Callable[[str], Awaitable[str | None]] | None = None
    """Asks the person, if present, a question. An empty answer means that nobody answers; None: it may come later."""
    unreachable: str = ""
    """Why no model can be reached, if that is known before the run starts, which then halts at once; else empty."""
    person: str = ""
    """The person who started this process, by their name in the system."""
    stop: Stop = field(default_factory=Stop)
    inbox: Inbox = field(default_factory=Inbox)
    fence: Fence = field(default_factory=Fence)
    timer: Callable[[], float] = monotonic
    """Measures durations: unlike the clock it cannot be set."""
    progress: Callable[[str, str], None] = lambda task, text: None
    """Called with passing news about a task for observers, such as the last line that a command printed."""
    streamed: Callable[[str, str], None] = lambda task, text: None
    """Called with the text of a task's model as it streams in."""
    doing: Callable[[str, str], None] = lambda task, text: None
    """Called with a task's activity that has no event; an empty text ends it."""
    waiting: Callable[[str], None] = lambda text: None
    """Called with a sentence about what the whole run waits for; empty when the wait is over."""
    protocols: Protocols = field(default_factory=ToolsOnly)
    agent: Callable[[str], OutsideAgent] | None = None
    """Returns the outside agent of that name."""
    leave: Callable[[WorkFolder], Awaitable[None]] = nothing_runs
    """Ends processes that tools left running in a workspace. Called before a check, and when its task halts."""
    prepare: Callable[[WorkFolder], Awaitable[ToolServersListed | None]] | None = None
    """Asks MCP servers in the first workspace that needs them for their tools; returns None once they are known."""
    recorded: Callable[[Record], None] = lambda record: None
    """Called with every record once it is durable."""
    executor: Executor | None = None
    """Sends tasks without steps to workers; None: everything runs in this process."""


@contextmanager
def shown(ports: Ports, task: str, what: str) -> Iterator[None]:
    """Show observers what a task is doing during this block."""
    ports.doing(task, what)
    try:
        yield
    finally:
        ports.doing(task, "")


Batches = AsyncIterator[Sequence[AnyEvent]]
"""The events of a command, in batches. Each batch is appended as a whole or not at all."""
