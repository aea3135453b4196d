"""One goal of a backlog, as a person wrote it."""

from msgspec import Struct
from msgspec.structs import replace

from bough.core.budget.limits import Spend
from bough.core.errors import UsageError
from bough.core.ids import GOAL, slug
from bough.core.planning.plan import Step, build_goal_step

LONGEST = 1_000_000
"""The maximum number of characters of a goal. A longer text belongs in a file of the repository."""


class GoalFault(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault that would keep a goal from succeeding, reported before `bough backlog run` begins."""

    kind: str
    """`vague`, `contradictory`, `doubled`, `too large`, `needs` or `no check`."""
    says: str
    question: str = ""
    """Question to the person; empty: a command settles it."""


class GoalEntry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    goal: str
    check: str = ""
    """The command that proves the goal; empty: the check that bough finds."""
    needs: tuple[str, ...] = ()
    """Names of goals that must be proven first. This goal starts from their work."""
    priority: int = 0
    """Goals with a higher number begin first."""
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Files that the goal is expected to change, if the person names them: goals that share one do not run at the same
    time if there is another goal to run."""
    rounds: int | None = None
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None
    """The limit of minutes for this goal; None: as the night or the settings say."""
    source: str = ""
    """The goal's origin: the address of an issue, a file and a line."""

    @property
    def title(self) -> str:
        return next(iter(self.goal.strip().splitlines()), "").strip().lstrip("# ")

    def step(self, name: str) -> Step:
        """Return the goal as a step, to compare its files with those of other goals."""
        return replace(build_goal_step(self.goal, check=self.check or None), name=name, files=self.files)


class GoalReport(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The outcome of a goal when its run ended or halted."""

    status: str
    """How the run ended or halted: `completed`, `not_proven`, `failed`, `waiting`, `budget` …; `dropped`; `error`: it
    never ran."""
    why: str = ""
    spend: Spend = Spend()
    until: float = 0.0
    """When the goal can continue, if known."""
    branch: str = ""
    commit: str = ""
    address: str = ""
    """The address of the goal's pull request."""
    files: tuple[str, ...] = ()
    """Changed files."""
    added: int = 0
    removed: int = 0
    """Removed lines."""
    conflicts: dict[str, tuple[str, ...]] = {}
    """Finished goals that the goal cannot be merged with, and the files."""


def make_name(entry: GoalEntry) -> str:
    """Make a short name from the first words of the goal."""
    name = slug(entry.title, 34)
    return f"{name}-1" if name == GOAL else name


def check_entry(entry: GoalEntry, name: str) -> GoalEntry:
    """Return the entry, or raise an error that says what is wrong with it."""
    if not entry.goal.strip():
        raise UsageError("The goal is empty: say what should be true when the work is done.")
    if len(entry.goal) > LONGEST:
        raise UsageError(
            f"The goal `{name}` has {len(entry.goal):,} characters, more than {LONGEST:,}: put the text into a file of "
            "the repository and name it in the goal."
        )
    if name != slug(name) or name == GOAL:
        raise UsageError(f"`{name}` is not a valid name: use `{slug(name) if name != GOAL else 'goal-1'}`.")
    for limit in ("rounds", "tokens", "cost", "minutes"):
        value = getattr(entry, limit)
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"`{limit}` of `{name}` is {value}: give a number above 0.")
    return entry
