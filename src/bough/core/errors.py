"""What can go wrong, as one tree: every error has a sentence for the person, with the way out, and an exit status.

A problem that the *model* should hear about is never an exception that crosses the engine: it is a `ToolFinished`
with `ok=False`, because telling the model is part of the run and belongs in the journal.
"""

import errno
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bough.core.messages import Usage

Sign = Literal["", "throttled", "down"]
"""A transport error's sign about the server: it wants fewer requests, or it does not work at all."""


class BoughError(Exception):
    """Every error that bough raises on purpose. Its text is one clear sentence that also says what to do."""

    exit_status = 1


class UsageError(BoughError):
    exit_status = 2


class NotFound(UsageError):
    """There is no such run, task or checkpoint."""


class PermissionNeeded(BoughError):
    """A journal asks for something that the person has not allowed on this machine."""

    exit_status = 8


class Unavailable(BoughError):
    exit_status = 7


class TransientError(Unavailable):
    """A transport error: timeout, 429, 5xx, a cut stream. Retried, recorded, and never "stuck"."""

    def __init__(self, message: str, retry_after: float | None = None, sign: Sign = "") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.nobody = False
        """Whether nothing listens at the address, or the host does not exist."""
        self.sign = sign
        self.usage: Usage | None = None
        """Usage of the part of the answer that arrived before it broke off; it is paid for."""


class RequestRefused(Unavailable):
    """The service refused: retrying cannot help."""


class NotServed(RequestRefused):
    """The model is gone, nothing listens at its address, or the account has no credit."""


class TooLong(RequestRefused):
    """The conversation does not fit into the model's window of `window` tokens; 0: unknown."""

    def __init__(self, message: str, window: int = 0) -> None:
        super().__init__(message)
        self.window = window


class QuotaExhausted(RequestRefused):
    """The quota is exhausted until `until`, in seconds since 1970."""

    def __init__(self, message: str, until: float) -> None:
        super().__init__(message)
        self.until = until


class WaitEnded(BoughError):
    """A person stopped the run while it waited to ask a model."""


class WorkspaceError(BoughError):
    """A private workspace could not be set up or read."""


class SnapshotRefused(WorkspaceError):
    """The content of a workspace cannot be stored. Once the cause is removed, work can continue."""


class SetupFailed(WorkspaceError):
    exit_status = 2


class AccessRefused(WorkspaceError):
    exit_status = 2


def explain_refusal(error: OSError, where: str, doing: str) -> AccessRefused | None:
    """Say what bough could not do (`doing`, at the path `where`) because of rights or limits of this user, and the way
    out. Return None for other errors."""
    match error.errno:
        case errno.EACCES | errno.EPERM:
            said = f"you have no permission for {where or 'a file it needs'}: change that"
        case errno.EROFS:
            said = f"{where or 'the disk'} is read-only: make it writable"
        case errno.EMFILE | errno.ENFILE:
            said = "too many files are open: raise the limit (`ulimit -n 4096`)"
            return AccessRefused(f"bough could not {doing}: {said}, then run the same command again.")
        case _:
            return None
    return AccessRefused(f"bough could not {doing}: {said}, or run bough in a copy of the project.")


class StoreError(BoughError):
    """The journal could not be read or written."""


class DiskFull(StoreError):
    """No space is left to write the journal."""


class ReadOnly(StoreError):
    exit_status = 2


class JournalLocked(StoreError):
    """Another program keeps the journal locked, for now."""


class NewerRun(StoreError):
    """A newer bough wrote the run. Other runs of the journal can be read."""


class VersionConflict(StoreError):
    """Another writer appended first."""


class ClaimHeld(StoreError):
    exit_status = 2

    def __init__(self, message: str, holder: str) -> None:
        super().__init__(message)
        self.holder = holder


class ClaimLost(StoreError):
    """The claim was taken over while this process was away."""


class IllegalTransition(BoughError):
    pass
