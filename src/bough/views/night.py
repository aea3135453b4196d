"""The page about a backlog: the outcome of every goal in its last night, for the terminal, a file and the dashboard. A
night is one pass of `bough backlog run`; its night branch has the proven work of all goals together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.evidence_table import Evidence
from bough.core.backlog.decide import KINDS, GoalStanding, Kind
from bough.core.backlog.entry import GoalReport
from bough.core.backlog.state import Backlog, BacklogItem
from bough.core.budget.limits import Spend, sum_spends
from bough.core.ids import GOAL
from bough.core.tree.task import Task
from bough.views import formatting as f
from bough.views.run_view import RunView

HEADINGS: dict[Kind, str] = {
    "proven": "Done and proven",
    "not_proven": "Finished, not proven",
    "waiting": "Waiting for you",
    "given_up": "Given up",
    "running": "Running",
    "ready": "Not begun",
    "not_begun": "Not begun",
    "dropped": "Dropped",
}


class GoalLine(Struct, frozen=True):
    name: str
    number: int
    title: str
    kind: Kind
    why: str = ""
    run: str = ""
    branch: str = ""
    address: str = ""
    check: str = ""
    """The check's result in numbers: `12 passed`."""
    rechecked: str = ""
    """Whether the goal's work is still proven on a main branch that has moved on, in words; empty: not checked
    again."""
    proven: int = 0
    requirements: int = 0
    added: int = 0
    removed: int = 0
    files: int = 0
    spend: Spend = Spend()
    seconds: float = 0.0
    question: str = ""
    tried: str = ""
    """The report on what was tried, for a goal that was given up."""
    conflicts: dict[str, tuple[str, ...]] = {}
    applied: bool = False
    together: str = ""
    """`on it` if the work is part of the night branch, else why it was left out; empty: there is no night branch."""
    notes: tuple[str, ...] = ()
    """Sentences about what was done, refuted and repaired, and about messages and test changes; for a goal that has not
    begun, about what is unclear in it."""


class NightPage(Struct, frozen=True):
    name: str
    goals: tuple[GoalLine, ...]
    started_at: float = 0.0
    ended_at: float = 0.0
    why: str = ""
    branch: str = ""
    trouble: str = ""
    """Why there is no night branch although one was wanted, or why it has another name."""
    spend: Spend = Spend()
    proposed: dict[str, str] = {}
    """The titles of goals that agents proposed during the backlog's runs, by name."""

    def of(self, *kinds: Kind) -> list[GoalLine]:
        return [goal for goal in self.goals if goal.kind in kinds]

    @property
    def groups(self) -> list[tuple[str, list[GoalLine]]]:
        """Group the goals by outcome, under headings."""
        headings = dict.fromkeys(HEADINGS[kind] for kind in KINDS if kind != "dropped")
        found = [(text, self.of(*(kind for kind in KINDS if HEADINGS[kind] == text))) for text in headings]
        return [(text, goals) for text, goals in found if goals]

    @property
    def exit_status(self) -> int:
        """Return 0 if everything is done; else the first that applies: 3 a goal was given up, 5 one is not proven, 8
        one waits for a person, 6 one is not finished, 5 the night branch is missing."""
        ways: dict[Kind, int] = {"given_up": 3, "not_proven": 5, "waiting": 8, "running": 6, "ready": 6, "not_begun": 6}
        return next(
            (status for kind, status in ways.items() if self.of(kind)), 5 if self.trouble and not self.branch else 0
        )


def _put_in_order(items: Iterable[BacklogItem]) -> list[BacklogItem]:
    """Order the goals as they begin: each after the goals that it needs, then by priority, then as they were added."""
    names = {item.name: item for item in items}
    places = {name: (-item.entry.priority, at, name) for at, (name, item) in enumerate(names.items())}
    sorter = TopologicalSorter({name: names.keys() & {*item.entry.needs} for name, item in names.items()})
    with suppress(CycleError):  # Goals that need each other, which only a damaged journal has, come last.
        sorter.prepare()
    ready: list[tuple[int, int, str]] = []
    ordered: list[BacklogItem] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, places[name])
        *_, name = heappop(ready)
        ordered.append(names.pop(name))
        sorter.done(name)
    return [*ordered, *names.values()]


def make_page(
    backlog: Backlog,
    standings: Mapping[str, GoalStanding],
    runs: Mapping[str, RunView],
    questions: Mapping[str, str],
    shown: Mapping[str, tuple[int, int]],
    spent: Mapping[str, Spend],
    notes: Mapping[str, tuple[str, ...]],
) -> NightPage:
    """Build the page. `shown`: how many requirements of each goal are proven, and how many it has. `spent`: what each
    run spent in the night."""
    night = backlog.night
    joined = night.joined if night is not None else None
    together = joined.left_out | dict.fromkeys(joined.landed, "on it") if joined is not None else {}
    goals = []
    for item in _put_in_order(backlog.items.values()):
        if item.dropped:
            continue
        name, report = item.name, item.report or GoalReport("")
        standing, run = standings[name], runs.get(name)
        goal = run.tasks.get(GOAL) if run is not None else None
        proven, requirements = shown.get(name, (0, 0))
        goals.append(
            GoalLine(
                name=name,
                number=item.number,
                title=item.entry.title,
                kind=standing.kind,
                why=standing.why,
                run=item.run if run is not None else "",
                branch=report.branch,
                address=report.address,
                check=f"{goal.verdict.passed} passed" if goal and goal.verdict and goal.verdict.passed else "",
                rechecked=run.rechecked if run is not None else "",
                proven=proven,
                requirements=requirements,
                added=report.added,
                removed=report.removed,
                files=len(report.files),
                spend=sum_spends(spent[one] for one in spent if night is not None and night.runs[one].item == name),
                seconds=run.elapsed() if run is not None and item.run in spent else 0.0,
                question=questions.get(name, ""),
                tried=goal.report if goal is not None and standing.kind == "given_up" else "",
                conflicts=_map_conflicts(backlog, name) if standing.kind == "proven" else {},
                applied=run is not None and bool(run.applied),
                together=together.get(name, ""),
                notes=notes.get(name, ())
                if item.run
                else tuple(f"{one.kind}: {one.says} {one.question}".strip() for one in item.findings or ()),
            )
        )
    page = NightPage(backlog.name, tuple(goals), spend=sum_spends(spent.values()))
    if night is not None:
        page = replace(page, started_at=night.at, ended_at=night.ended_at, why=night.why)
    if joined is not None:
        page = replace(page, branch=joined.branch, trouble=joined.why)
    return page


def _map_conflicts(backlog: Backlog, name: str) -> dict[str, tuple[str, ...]]:
    """List the goals that a goal conflicts with, each with the files. Only one of the two records it; both show it."""
    told = {one.name: one.report.conflicts if one.report else {} for one in backlog.items.values() if not one.dropped}
    found = {other: told[name].get(other) or theirs.get(name) for other, theirs in told.items()}
    return {other: files for other, files in found.items() if files}


def list_notes(task: Task, rows: Sequence[Evidence]) -> Iterator[str]:
    """List what a person wants to know about finished work before they look at it."""
    said = task.acceptance.summaries[-1].text if task.acceptance.summaries else ""
    if said.strip():
        yield f"done: {f.first_sentence(said)}"
    for case in dict.fromkeys(case.says for row in rows for case in row.probes if case.repaired):
        yield f"refuted by the examiner, then repaired: {f.one_line(case)}"
    for one in (row.requirement for row in rows):
        if one.dropped or one.superseded:
            how = f"dropped by {one.dropped}" if one.dropped else f"replaced by requirement {one.superseded}"
            yield f"{how}: {f.one_line(one.whole)}"
        elif one.source:
            yield f"asked later ({one.source}): {f.one_line(one.whole)}"
    if tests := dict.fromkeys(change.test for change in task.test_changes.allowed):
        yield f"tests changed with permission: {', '.join(tests)}"


def describe_night(night: NightPage) -> str:
    if not night.started_at:
        option = f" --list {night.name}" if night.name != "backlog" else ""
        return f"The list `{night.name}` has not been worked on yet: start it with `bough backlog run{option}`."
    begun, named = f.format_moment(night.started_at), f" of {night.name}" if night.name != "backlog" else ""
    if not night.ended_at:
        return f"The night{named} that began {begun} is not over"
    soon = night.ended_at - night.started_at < 86_400  # The time of day is then enough, without the date.
    ended = f.format_clock(night.ended_at)[:5] if soon else f.format_moment(night.ended_at)
    return f"The night{named} from {begun} to {ended}: {night.why}"


def describe_totals(night: NightPage) -> str:
    counts = [f"{len(goals)} {heading.lower()}" for heading, goals in night.groups]
    return (
        f"{f.pluralize(len(night.goals), 'goal')}: {', '.join(counts) or 'none'}. {', '.join(describe_spent(night))}."
    )


def describe_branch(night: NightPage) -> str:
    """Say how many goals the night branch has, or why there is none; empty: none was wanted."""
    if not night.branch:
        return f"There is no night branch: {night.trouble}" if night.trouble else ""
    landed = sum(goal.together == "on it" for goal in night.goals)
    left_out = [goal.name for goal in night.goals if goal.together not in ("", "on it")]
    missing = f"; left out: {', '.join(left_out)}" if left_out else ""
    other = f" ({night.trouble})" if night.trouble else ""
    return f"Together on the branch {night.branch}{other}: {f.pluralize(landed, 'goal')}{missing}."


def describe_proposals(night: NightPage) -> list[str]:
    option = f" --list {night.name}" if night.name != "backlog" else ""
    return [f"{f.one_line(title)}: bough backlog accept {name}{option}" for name, title in night.proposed.items()]


def describe_spent(night: NightPage) -> list[str]:
    cost = [] if _is_unpriced(night.spend) else [f.format_cost(night.spend)]
    seconds = sum(goal.seconds for goal in night.goals)
    return [*cost, f"{f.format_count(night.spend.tokens)} tokens", f"{f.format_duration(seconds)} of work"]


def _is_unpriced(spend: Spend) -> bool:
    return bool(spend.unpriced and not spend.cost)


def describe_goal(goal: GoalLine) -> str:
    parts = []
    # A goal without proven requirements may be proven by its check.
    if goal.requirements and (goal.proven or goal.kind != "proven"):
        parts.append(f"{goal.proven} of {f.pluralize(goal.requirements, 'requirement')} proven")
    if goal.files:
        parts.append(f"{f.pluralize(goal.files, 'file')} +{goal.added} −{goal.removed}")
    if goal.check and goal.kind in ("proven", "not_proven"):
        parts.append(goal.check)
    if goal.rechecked and goal.kind == "proven":
        parts.append(f"on main: {goal.rechecked}")
    parts += [part for part in (goal.branch, goal.address) if part]
    if goal.kind != "proven" and not goal.question:
        parts.append(goal.why)
    if goal.question:
        parts.append(f"asks: {goal.question}")
    if goal.seconds:
        cost = f"{f.format_count(goal.spend.tokens)} tokens" if _is_unpriced(goal.spend) else f.format_cost(goal.spend)
        parts.append(f"{cost}, {f.format_duration(goal.seconds)}")
    return f.one_line(" · ".join(part for part in parts if part))


def describe_details(goal: GoalLine) -> Iterator[str]:
    """Describe what a person needs to decide about a goal, with the commands to use."""
    yield from describe_findings(goal)
    if goal.kind == "waiting":
        yield f'answer: bough answer {goal.run} "…" (or `bough approve {goal.run}`)'
    if goal.kind in ("given_up", "not_proven") and goal.run:
        yield f"see: bough report {goal.run}, bough diff {goal.run}"


def describe_findings(goal: GoalLine) -> Iterator[str]:
    """Describe what was done for a goal, its conflicts with other goals, and what was tried."""
    yield from goal.notes
    if goal.together and goal.together != "on it":
        yield f"left out of the night branch: {goal.together}"
    elif not goal.together:
        for other, files in goal.conflicts.items():
            yield f"conflicts with {other} in {', '.join(files)}"
    for heading, lines in _read_report(goal.tried):
        if heading in ("What was tried", "What was learned"):
            yield f"{heading.lower()}: {'; '.join(lines)}"


def _read_report(text: str) -> Iterator[tuple[str, list[str]]]:
    """Split a run's report into its sections: each heading, with its list of points."""
    for section in text.split("\n## ")[1:]:
        heading, *lines = section.splitlines()
        yield heading.strip(), [line.removeprefix("- ").strip() for line in lines if line.strip()]
