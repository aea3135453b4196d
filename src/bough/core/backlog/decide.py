"""Decide the next moves of a process that works on a backlog, from the backlog's events and the process's situation.

One function, `explain`, tells the status of a goal and why; the scheduler and the report of the night both use it."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct, field

from bough.core.backlog.state import Backlog, BacklogItem
from bough.core.planning.plan import find_reachable
from bough.core.tree.file_overlap import Touched, find_blocking_step, find_busy_files

Kind = Literal["proven", "not_proven", "waiting", "given_up", "running", "ready", "not_begun", "dropped"]
KINDS: tuple[Kind, ...] = get_args(Kind)

WORDS: dict[Kind, str] = {
    "not_proven": "finished but not proven",
    "waiting": "waiting for an answer",
    "running": "not finished yet",
    "ready": "not finished yet",
    "dropped": "not in the list",
}
DECIDED = frozenset({"completed", "not_proven", "failed", "budget"})
"""Ends of a run that another try would not change, unless the person changes the goal."""
FOR_A_PERSON = frozenset({"waiting", "needs_approval"})
FIRST_WAIT = 30.0
"""Seconds before the first retry of an unavailable model; doubled each time."""
LONGEST_WAIT = 900.0
TIMES = 8
"""The maximum number of retries (about an hour and a half in all) before the night gives up on the model."""
LEAST = 0.01
"""Dollars below which no goal begins if no goal has cost anything yet."""


class GoalStanding(Struct, frozen=True):
    kind: Kind
    why: str = ""
    until: float = 0.0
    """The time at which the goal can begin or continue, if it only waits for that."""


class RunStatus(Struct, frozen=True):
    """What happened to a goal's run since the backlog's last event, in this process or another."""

    status: str
    why: str = ""
    live: bool = False
    """Whether a process is working on the run."""
    answered: bool = False
    """Whether a person has answered the question that the run waited for."""


class NightSituation(Struct, frozen=True):
    """What a process that works on a backlog knows besides its events: the time, what runs, and what it may do."""

    now: float
    jobs: int = 1
    mine: frozenset[str] = frozenset()
    """Goals that this process works on."""
    elsewhere: frozenset[str] = frozenset()
    """Goals that another live process works on."""
    seen: Mapping[str, RunStatus] = field(default_factory=dict)
    barred: Mapping[str, str] = field(default_factory=dict)
    """Goals that the person has not allowed here, and why."""
    touched: Mapping[str, Touched] = field(default_factory=dict)
    """Files that running goals have changed so far."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """Dollars that each run of the night has cost since it began."""
    per_goal: float | None = None
    """The maximum number of dollars for one goal."""
    until: float = 0.0
    """The time at which the night ends; 0 if it ends when everything is done."""
    full: str = ""
    """Why nothing new may begin, if the disk is full; else empty."""
    stopping: bool = False
    """Whether the person has asked to stop."""


class Take(Struct, frozen=True):
    """Work on the goal: start its run, or resume it."""

    item: str
    cost: float | None = None


class CallOff(Struct, frozen=True):
    """Stop the goal's run, which this process drives."""

    item: str
    why: str


class Wait(Struct, frozen=True):
    """Wait until something happens, or until the time `until` if that is not 0."""

    until: float = 0.0


class Join(Struct, frozen=True):
    """Merge the proven branches, while nothing runs and some of them are not on the night branch yet."""


class End(Struct, frozen=True):
    """Nothing is left for this process."""

    why: str


Move = Take | CallOff | Wait | Join | End


def explain(backlog: Backlog, item: BacklogItem, here: NightSituation) -> GoalStanding:
    alone = _explain_alone(backlog, item, here)
    if alone.kind not in ("ready", "not_begun"):
        return alone
    lacking = _lacks(backlog, item, here)
    return GoalStanding("not_begun", lacking) if lacking else alone


def _explain_alone(backlog: Backlog, item: BacklogItem, here: NightSituation) -> GoalStanding:
    """Tell the status of a goal, not considering the goals that it needs."""
    seen, report = here.seen.get(item.name, RunStatus("")), item.report
    status = seen.status or (report.status if report is not None else "")
    why = seen.why or (report.why if report is not None else "")
    if item.dropped:
        return GoalStanding("dropped", "removed from the list")
    if item.name in here.mine or item.name in here.elsewhere:
        return GoalStanding("running")
    if seen.live:
        return GoalStanding("running", "in another process")
    if item.name in here.barred:
        return GoalStanding("waiting", here.barred[item.name])
    if status == "completed" and not (item.edited and item.removed is not None):
        return GoalStanding("proven", why)
    if item.edited and report is not None:
        return GoalStanding("ready", "changed since its last try")
    if status == "not_proven":
        return GoalStanding("not_proven", why)
    if status in FOR_A_PERSON and item.removed is not None:
        return GoalStanding("ready", "its run was removed")
    if status in FOR_A_PERSON and not seen.answered:
        return GoalStanding("waiting", why)
    if status in DECIDED and not _is_short_of_money(item, status):
        return GoalStanding("given_up", why)
    if report is None or seen.answered:
        return GoalStanding("ready", "interrupted" if item.taken is not None else "")
    # The goal is halted: only time or another night changes that.
    until = 0.0
    if report.status == "quota":
        until = report.until
    elif report.status == "unavailable" and _is_this_night(backlog, item) and backlog.gone <= TIMES:
        until = item.settled_at + min(FIRST_WAIT * 2 ** max(backlog.gone - 1, 0), LONGEST_WAIT)
    if until:
        return GoalStanding("ready" if until <= here.now else "not_begun", report.why, until)
    # The goal was stopped, or could not run in this environment: a new night tries again.
    return GoalStanding("not_begun" if _is_this_night(backlog, item) else "ready", report.why)


def _is_short_of_money(item: BacklogItem, status: str) -> bool:
    """Whether the goal halted because the night's money was spent, not its own budget."""
    return status == "budget" and item.report is not None and item.report.status == "stopped"


def _has_news(item: BacklogItem, standing: GoalStanding, here: NightSituation) -> bool:
    """Whether another process finished the goal's run, and the backlog has no result yet."""
    seen, known = here.seen.get(item.name, RunStatus("")), item.report.status if item.report is not None else ""
    news = seen.status in DECIDED - {known} and not _is_short_of_money(item, seen.status)
    return news and standing.kind not in ("ready", "running", "dropped")


def _is_this_night(backlog: Backlog, item: BacklogItem) -> bool:
    return backlog.open_night is not None and item.night == backlog.open_night.number


def _lacks(backlog: Backlog, item: BacklogItem, here: NightSituation) -> str:
    """Describe, as a phrase, the first need of a goal that is not met; empty if all are met. Goals may need each other,
    since two people who edit a list at once can create a cycle despite the checks."""

    def needs(name: str) -> tuple[str, ...]:
        return backlog.items[name].entry.needs if name in backlog.items else ()

    for need in item.entry.needs:
        other = backlog.items.get(need)
        if other is None or other.dropped:
            return f"it needs {need}, which is not in the list"
        standing = _explain_alone(backlog, other, here)
        if standing.kind != "proven" and item.name in find_reachable([need], needs):
            return f"it needs {need}, which needs it"
        if standing.kind != "proven":
            return f"it needs {need}, which is {WORDS.get(standing.kind, standing.kind.replace('_', ' '))}"
    return ""


def decide(backlog: Backlog, here: NightSituation) -> list[Move]:
    """Decide the process's moves, most urgent first. Never empty: with nothing to do it waits or ends."""
    off = [CallOff(name, "removed from the list") for name in sorted(here.mine) if backlog.items[name].dropped]
    late = bool(here.until) and here.now >= here.until
    if late or here.stopping:
        why = "the night is over" if late else "a person stopped it"
        stopped: list[Move] = [CallOff(name, why) for name in sorted(here.mine)]
        return stopped or [End(why)]
    standings = {item.name: explain(backlog, item, here) for item in backlog.items.values()}
    ready = [backlog.items[name] for name, one in standings.items() if one.kind == "ready"]
    ready += [item for item in backlog.items.values() if _has_news(item, standings[item.name], here)]
    ready = ready or _list_short_of_money(backlog, here)
    held = _hold_back(backlog, standings, here)
    if ready and not held and len(here.mine) < here.jobs:
        item = _choose(backlog, ready, here)
        return [*off, Take(item.name, _grant(backlog, len(ready), here))]
    if off:
        return list(off)
    waits = [one.until for one in standings.values() if one.until > here.now and one.kind == "not_begun"]
    until = min([*waits, *([here.until] if here.until else [])], default=0.0)
    if here.mine or waits or any(one.kind == "running" for one in standings.values()):
        return [Wait(until)]
    if held:
        return [End(held)]
    if here.until and any(one.kind == "waiting" for one in standings.values()):
        # A person may still answer during the night, and waiting costs nothing.
        return [Join() if wants_joining(backlog) else Wait(until)]
    return [End(_describe_end(standings.values()))]


def list_proven(backlog: Backlog) -> list[BacklogItem]:
    """List the night's goals whose work is done, proven and not empty."""
    night = backlog.night.number if backlog.night is not None else 0
    found = [item for item in backlog.items.values() if item.night == night and not item.dropped]
    return [item for item in found if item.report and item.report.status == "completed" and item.report.files]


def wants_joining(backlog: Backlog) -> bool:
    """Whether proven work is neither on the night branch nor left out of it."""
    night = backlog.open_night
    if night is None or not night.started.together:
        return False
    known = {*night.joined.landed, *night.joined.left_out} if night.joined is not None else set[str]()
    return any(item.name not in known for item in list_proven(backlog))


def _hold_back(backlog: Backlog, standings: Mapping[str, GoalStanding], here: NightSituation) -> str:
    if here.full:
        return here.full
    night = backlog.open_night
    if night is not None and night.started.cost is not None and _left(backlog, here) < _find_least(backlog, here):
        return f"the night's budget of ${night.started.cost:g} is spent"
    gone = [name for name, one in standings.items() if one.kind == "not_begun" and one.until > here.now]
    if backlog.gone > TIMES or any(_is_this_night(backlog, backlog.items[name]) for name in gone):
        return "the model is unavailable"  # Another goal would need the same model.
    return ""


def _left(backlog: Backlog, here: NightSituation) -> float:
    """Return the night's dollars that are neither spent nor reserved for a running goal."""
    night = backlog.open_night
    assert night is not None and night.started.cost is not None
    running = [backlog.items[name].taken for name in here.mine | here.elsewhere if name in backlog.items]
    granted = {taken.run: taken.cost or 0.0 for taken in running if taken is not None}
    costs = [max(here.spent.get(run, 0.0), granted.get(run, 0.0)) for run in here.spent.keys() | granted.keys()]
    return night.started.cost - sum(costs)


def _list_short_of_money(backlog: Backlog, here: NightSituation) -> list[BacklogItem]:
    """List the goals that used up their part of the night's money and may have more of it, since no other goal runs."""
    night = backlog.open_night
    if night is None or night.started.cost is None or here.mine or here.elsewhere:
        return []
    halted = [backlog.items[name] for name, seen in here.seen.items() if seen.status == "budget"]
    # Less than a tenth of what the goal has cost so far would not pay for another round.
    enough = [item for item in halted if _left(backlog, here) > here.spent.get(item.run, 0.0) / 10]
    return [item for item in enough if _is_short_of_money(item, "budget") and not item.dropped]


def _find_least(backlog: Backlog, here: NightSituation) -> float:
    """Return the dollars that a goal needs to begin: the cost of the night's cheapest finished one. With less it would
    end halfway."""
    done = [
        i for i in backlog.items.values() if i.report is not None and i.report.status in ("completed", "not_proven")
    ]
    return max(LEAST, min((cost for item in done if (cost := here.spent.get(item.run, 0.0))), default=0.0))


def _grant(backlog: Backlog, ready: int, here: NightSituation) -> float | None:
    """Return the dollars for one more goal: its share of the rest among the goals that can run at once."""
    night = backlog.open_night
    if night is None or night.started.cost is None:
        return here.per_goal
    # Divide the money among no more goals than it is enough for.
    left, least = _left(backlog, here), _find_least(backlog, here)
    share = left / max(1, min(here.jobs - len(here.mine), ready, int(left / least)))
    return min(share, here.per_goal) if here.per_goal is not None else share


def _choose(backlog: Backlog, ready: list[BacklogItem], here: NightSituation) -> BacklogItem:
    """Choose the first of the most urgent goals whose files no running goal changes; if all overlap, the first."""
    running = [backlog.items[name] for name in (*here.mine, *here.elsewhere) if name in backlog.items]
    busy = find_busy_files([item.entry.step(item.name) for item in running], here.touched)
    # Prefer goals that have begun: their work is worth more than a fresh start.
    order = sorted(ready, key=lambda item: (item.taken is None, -item.entry.priority))
    return next((item for item in order if find_blocking_step(item.entry.step(item.name), busy) is None), order[0])


def _describe_end(standings: Iterable[GoalStanding]) -> str:
    kinds = {one.kind for one in standings}
    if kinds <= {"proven", "dropped"}:
        return "every goal is done and proven" if "proven" in kinds else "there is nothing to do"
    return "what is left waits for an answer" if "waiting" in kinds else "nothing is left that can begin"
