"""Every threshold of bough, in one typed place. A run keeps the rules it was started with in its journal."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta, Struct

from bough.core.ladder.escalation import LadderRules
from bough.core.planning.plan import PlanningRules
from bough.core.stuck.signals import StuckRules


class CompactionRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    at: Annotated[float, Meta(gt=0, le=1)] = 0.75
    """The share of the model's window that may fill up before the conversation is compacted."""
    target: Annotated[float, Meta(gt=0, lt=1)] = 0.20
    """The share of its size to which the conversation is compacted."""
    unknown_window: Annotated[int, Meta(ge=1000)] = 64_000
    """The assumed window if neither the person, the price list nor the server says how large it is."""
    breaker: Annotated[int, Meta(ge=1)] = 3
    """Compactions in a row that do not help before the attempt is stopped."""
    summarizer: Literal["llm", "truncate"] = "llm"
    """What writes the summary: the fast model, or none (plain rules truncate the conversation)."""


class CheckRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    allow_test_changes: tuple[str, ...] | bool = False
    """Existing tests that may expect something else after the work, without asking: patterns of their names or files,
    or all."""

    def allows(self, *names: str) -> bool:
        """Whether a test with one of these names may expect something else after the work."""
        if isinstance(self.allow_test_changes, bool):
            return self.allow_test_changes
        return any(fnmatchcase(name, pattern) for pattern in self.allow_test_changes for name in names)


# Decoding skips the further field that old journals have.
class AcceptanceRules(Struct, frozen=True, omit_defaults=True):
    examine: Literal["always", "never", "auto"] = "always"
    """Whether finished work is examined against the goal, by a model that did not see it being made. `auto`, of earlier
    versions, is `always`."""
    proof: Literal["difference", "check"] = "difference"
    """The proof that a goal needs: evidence that the work made the difference, for each requirement; or only a passing
    check."""
    share: Annotated[float, Meta(ge=0, le=1)] = 0.25
    """Share of a task's rounds (and tokens and money, if limited) that examination may use."""


class Rules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    max_repairs: int = 3
    """How many bug hunters may try after a failed check."""
    max_faults: int = 5
    """Unusable answers in a row (no tool call, malformed arguments, a refusal) before the task is given up."""
    max_transport_failures: int = 10
    """Transport errors in a row before the run halts as "model unavailable": some four minutes. It can be resumed."""
    backoff_first: float = 1.0
    """Seconds before the first retry after a transport error; doubled each time."""
    backoff_longest: float = 60.0
    model_timeout: float = 600.0
    """Seconds without a byte from a model whose answer has begun before the call counts as a transport error."""
    model_longest: float = 3600.0
    """Seconds that one call may take in total. A slow model may need them all before its first byte."""
    bash_timeout: float = 120.0
    bash_longest: float = 600.0
    """The maximum number of seconds that a model may ask for with the timeout argument of `bash`."""
    check_timeout: float = 300.0
    strict: bool = False
    """A flaky test fails the verdict."""
    scout: bool = True
    """Where the project's own files leave its check unclear, a model looks for it. Set as `[check] scout`."""
    accept_failing: bool = False
    """Tests that fail before the work may still fail after it; no others may. Set as `[check] accept_failing`."""
    shown: int = 16_000
    """Characters of an output that the model sees: head and tail. The whole is in the blob store."""
    kept: int = 20_000_000
    """Bytes of output after which a command is killed."""
    notes: int = 40
    """Notes a task may keep; the oldest go first."""
    stuck: StuckRules = StuckRules()
    """When work counts as stuck."""
    ladder: LadderRules = LadderRules()
    """The reactions to stuck work, and their limits."""
    planning: PlanningRules = PlanningRules()
    """How a goal becomes a tree."""
    acceptance: AcceptanceRules = AcceptanceRules()
    """How finished work is examined against what was asked."""
    compaction: CompactionRules = CompactionRules()
    """Limits that keep a conversation within the model's window."""
    checks: CheckRules = CheckRules()
    """Findings of a check that do not stop the work."""
    lease: float = 15.0
    """Seconds without a heartbeat before the claim of a worker on another machine is taken over."""
