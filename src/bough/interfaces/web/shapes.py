"""The types of the server's answers. `web/src/types.ts` is generated from them, so that page and server agree."""

from typing import Any, NotRequired, TypedDict

from bough.core.acceptance.evidence_table import Table
from bough.core.acceptance.verdict import Disagreement, Verdict
from bough.core.backlog.entry import GoalEntry
from bough.core.budget.limits import Limits, Spend
from bough.core.settings.sections import BacklogSettings
from bough.services.activity import TaskActivity
from bough.views.charts import Span, Spent, TestCount
from bough.views.details import Point
from bough.views.stats import Stats
from bough.views.waiting import GivenAnswer, Kind


class Doing(TypedDict):
    task: str
    title: str
    doing: str
    line: str
    at: float
    others: int


class NextStep(TypedDict):
    command: str
    why: str


class PlanStep(TypedDict):
    name: str
    title: str
    says: str
    needs: list[str]
    files: list[str]
    check: str
    steps: "list[PlanStep]"


class WaitingShape(TypedDict):
    kind: Kind
    id: str
    task: str
    title: str
    question: str
    at: float
    until: float
    tests: list[Disagreement]
    plan: NotRequired[str]
    steps: NotRequired[list[PlanStep]]


class RunShape(TypedDict):
    project: str
    run: str
    status: str
    words: str
    summary: str
    exit_status: int | None
    until: float
    holder: str | None
    goal: str
    title: str
    models: dict[str, str]
    started_at: float
    last_at: float
    now: float
    seconds: float
    limits: Limits
    spend: Spend
    applied: bool
    seq: int
    doing: Doing | None
    activity: dict[str, TaskActivity]
    tasks: int
    leaves: int
    done: int
    given_up: int
    progress: float
    report: str
    changed: bool
    waiting: list[WaitingShape]
    answered: list[GivenAnswer]
    missing: str
    next: list[NextStep]


class LineCheck(TypedDict):
    ruling: str
    passed: int
    failed: int


class Line(TypedDict):
    path: str
    name: str
    parent: str | None
    depth: int
    leaf: bool
    title: str
    about: str
    state: str
    words: str
    why: str
    doing: str
    acted: str
    acted_at: float
    stuck: str
    halted: str
    role: str
    worker: str
    attempt: int
    rounds: tuple[int, int, int]
    cost: tuple[float, float]
    tokens: tuple[int, int]
    unpriced: int
    check: LineCheck | None
    files: int
    needs: list[str]
    started_at: float
    last_at: float


class TreePart(TypedDict):
    seq: int
    tasks: list[Line]
    next: int | None
    order: NotRequired[list[str]]


class Change(TypedDict):
    seq: int
    run: RunShape
    tasks: list[Line]
    order: NotRequired[list[str]]


class Goal(TypedDict):
    name: str
    title: str
    kind: str
    run: str
    words: list[str]
    conflicts: dict[str, tuple[str, ...]]
    applied: bool
    address: str


class GoalGroup(TypedDict):
    heading: str
    goals: list[Goal]


class NightShape(TypedDict):
    list: str
    title: str
    began: bool
    open: bool
    working: bool
    spent: list[str]
    branch: str
    left_out: int
    trouble: str
    groups: list[GoalGroup]
    proposed: dict[str, str]


class ProjectShape(TypedDict):
    project: str
    root: str
    branch: str
    total: int
    runs: list[RunShape]
    wishes: dict[str, str]
    nights: list[NightShape]
    error: NotRequired[str]


class Home(TypedDict):
    projects: list[ProjectShape]
    beside: int | None


class ChoicesShape(TypedDict):
    model: str
    models: list[str]
    check: str
    limits: Limits
    backlog: BacklogSettings


class TaskPage(TypedDict):
    seq: int
    line: Line
    verdict: Verdict | None
    report: str
    children: list[Line]
    rounds: int


class Happening(TypedDict):
    seq: int
    task: str
    version: int
    at: float
    kind: str
    words: str
    style: str
    event: dict[str, Any]
    cut: NotRequired[dict[str, int]]


Rounds = TypedDict("Rounds", {"from": int, "total": int, "events": list[Happening], "seq": int})


class EventPart(TypedDict):
    events: list[Happening]
    next: int | None


class Match(TypedDict):
    """A place in a task's conversation where a searched text was found."""

    seq: int
    at: float
    round: int
    words: str
    excerpt: str


class Rung(TypedDict):
    seq: int
    at: float
    task: str
    stuck: str
    says: str
    evidence: list[str]
    rung: str
    tried: str
    level: str
    reason: str
    helped: bool | None
    came: str
    after: NotRequired[float]
    answer: NotRequired[str]


class FileShape(TypedDict):
    name: str
    added: int
    removed: int
    binary: bool
    kind: str


DiffPart = TypedDict("DiffPart", {"from": int, "total": int, "rows": list[Any]})


class LaneShape(TypedDict):
    path: str
    name: str
    depth: int
    spans: list[Span]


Charts = TypedDict(
    "Charts",
    {
        "seq": int,
        "from": float,
        "to": float,
        "work": list[str],
        "lanes": list[LaneShape],
        "total": int,
        "branches": list[str],
        "burn": list[tuple[float, list[Spent]]],
        "limits": Limits,
        "tests": list[TestCount],
    },
)


class Statistics(TypedDict):
    runs: int
    stats: Stats
    warnings: list[str]
    words: dict[str, str]


OF_RUN: dict[str, Any] = {
    "": RunShape,
    "/tree": TreePart,
    "/charts": Charts,
    "/task": TaskPage,
    "/rounds": Rounds,
    "/events": EventPart,
    "/event/{seq:int}": Happening,
    "/find": list[Match],
    "/evidence": Table,
    "/ladder": list[Rung],
    "/files": list[FileShape],
    "/diff": DiffPart,
    "/points": list[Point],
    "/stats": Statistics,
    "/live": Change,
}
"""The type of the answer at each address of a run, by the address's end; for `/live`, the type of each message."""
OTHERS: dict[str, Any] = {"/api/runs": Home, "/choices": ChoicesShape, "/stats": Statistics, "/backlogs/": GoalEntry}
