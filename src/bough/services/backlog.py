"""A backlog (a list of goals) in the journal: the person's changes to it, and the status of each goal.

Each goal has a stream of events, and whoever holds its claim may work on the goal. Everything that people change goes
into a control stream that any process may write to, so that the backlog can change while it is worked through."""

import re
from collections.abc import Mapping, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from bough.app.journal import Journal
from bough.core import events as e
from bough.core.backlog.decide import FOR_A_PERSON, NightSituation, RunStatus, explain
from bough.core.backlog.entry import GoalEntry, check_entry, make_name
from bough.core.backlog.state import Backlog, BacklogItem, check_needs, fold_backlog, make_stream
from bough.core.budget.limits import Spend
from bough.core.errors import UsageError
from bough.core.ids import BACKLOG, CONTROL, RUN, slug
from bough.core.journal.run_fold import Run
from bough.services.permissions import allow_goals, list_barred
from bough.services.run_messages import find_person, load_waiting
from bough.views.night import NightPage, list_notes, make_page

DEFAULT = "backlog"
LEASE = 15.0


class AddedGoal(Struct, frozen=True):
    name: str
    entry: GoalEntry
    refused: str = ""


async def load_backlog(journal: Journal, name: str = DEFAULT) -> Backlog:
    if name != slug(name):
        raise UsageError(f"`{name}` is not a valid name of a backlog: use `{slug(name)}`.")
    return fold_backlog(name, await journal.store.read(make_stream(name)))


class ProposedGoal(Struct, frozen=True):
    """A goal that an agent proposed, and nobody has accepted yet."""

    name: str
    entry: GoalEntry
    why: str


async def list_proposals(journal: Journal, backlog: Backlog, runs: Sequence[str] | None = None) -> list[ProposedGoal]:
    """List the goals that agents of these runs proposed, oldest first; None: of all runs."""
    known, found = {item.entry.source for item in backlog.items.values()}, []
    for run in await journal.store.runs() if runs is None else runs:
        for record in await journal.store.read(run, kinds=("GoalProposed",)):
            if isinstance(record.event, e.GoalProposed):
                told, name = record.event, e.name_proposal(record)
                entry = GoalEntry(told.title, files=told.files, source=f"proposed: {name}")
                found += [ProposedGoal(name, entry, told.why)] if entry.source not in known else []
    return found


async def list_backlogs(journal: Journal) -> list[str]:
    """Return the names of the project's backlogs, oldest first."""
    return [name.removeprefix(BACKLOG) for name in await journal.store.names() if name.startswith(BACKLOG)]


async def add_goals(
    journal: Journal,
    backlog: Backlog,
    entries: Sequence[tuple[str, GoalEntry]],
    *,
    keep_going: bool = False,
    again: bool = False,
) -> list[AddedGoal]:
    """Add goals, each under its given name or, if that is empty, a name made from its first words. A fault in one goal
    raises an error and adds none, unless `keep_going`. `again`: a goal that is in the backlog already is no fault."""
    live = {item.name: item.entry for item in backlog.items.values() if not item.dropped}
    goals = {entry.goal.strip(): name for name, entry in live.items()}
    wanted: dict[str, GoalEntry] = {}
    answers: list[AddedGoal] = []
    for given, entry in entries:
        name = given or make_name(entry)
        try:
            check_entry(entry, name)
            if (known := goals.get(entry.goal.strip())) is not None:
                if again and known in backlog.items and given in ("", known):
                    answers.append(AddedGoal(known, entry, f"That goal is already in the backlog, as `{known}`."))
                    continue
                raise UsageError(f"That goal is already in the backlog, as `{known}`: add another one.")
            if name in backlog.items or name in wanted:
                if given:
                    raise UsageError(f"There is already a goal called `{name}`: give this one another name.")
                free = (f"{name}-{number}" for number in count(2))
                name = next(each for each in free if each not in backlog.items and each not in wanted)
        except UsageError as error:
            if not keep_going:
                raise
            answers.append(AddedGoal(name, entry, str(error)))
            continue
        wanted[name], goals[entry.goal.strip()] = entry, name
        answers.append(AddedGoal(name, entry))
    wanted = {name: resolve_needs(backlog, entry, wanted) for name, entry in wanted.items()}
    check_needs(live, wanted)
    allow_goals(journal, backlog.name, wanted)
    if wanted:
        await journal.store.post(backlog.stream, CONTROL, e.GoalsListed(wanted, find_person()))
        now = (await load_backlog(journal, backlog.name)).items
        if lost := [name for name, entry in wanted.items() if now[name].entry != entry]:
            raise UsageError(f"Another process has just added a goal called `{lost[0]}`: give this one another name.")
    return answers


def resolve_needs(backlog: Backlog, entry: GoalEntry, added: Mapping[str, GoalEntry] | None = None) -> GoalEntry:
    """Return the entry with its dependencies (`needs`) as full names; a person may give numbers and prefixes."""
    names = [need if need in (added or {}) else backlog.find(need).name for need in entry.needs]
    return replace(entry, needs=tuple(dict.fromkeys(names)))


async def edit_goal(journal: Journal, backlog: Backlog, item: BacklogItem, entry: GoalEntry) -> GoalEntry:
    entry = resolve_needs(backlog, check_entry(entry, item.name))
    check_needs({each.name: each.entry for each in backlog.items.values() if not each.dropped}, {item.name: entry})
    allow_goals(journal, backlog.name, {item.name: entry})
    await journal.store.post(backlog.stream, CONTROL, e.GoalEdited(item.name, entry, find_person()))
    return entry


async def look_at_runs(journal: Journal, backlog: Backlog, mine: frozenset[str] = frozenset()) -> dict[str, RunStatus]:
    """Find the current status of the runs of goals that are not proven yet, since a person may have answered, resumed,
    verified or accepted one in any process. `mine`: goals that this process works on, which are left out."""
    found: dict[str, RunStatus] = {}
    for item in backlog.items.values():
        settled = item.report is not None and item.report.status == "completed"
        if not item.run or item.name in mine or settled or item.dropped:
            continue
        run = await journal.run(item.run)
        if not is_of(run, make_listing(backlog, item.name)):
            continue
        ended = (run.end.end, run.end.summary) if run.end else (run.halt.reason, run.halt.message) if run.halt else None
        if await journal.store.holder(item.run, RUN) is not None:
            found[item.name] = RunStatus("running", live=True)
        # A run without an end was interrupted, and will be resumed.
        elif item.report is not None and ended is not None:
            status, why = ended
            answered = status in FOR_A_PERSON and not (await load_waiting(journal, item.run)).open(live=False)
            found[item.name] = RunStatus(status, why, answered=answered)
    return found


async def find_held(journal: Journal, backlog: Backlog) -> frozenset[str]:
    """Find the goals that a live process works on."""
    running = [item.name for item in backlog.items.values() if item.running]
    return frozenset([name for name in running if await journal.store.holder(backlog.stream, name) is not None])


def make_listing(backlog: Backlog, item: str) -> str:
    """Return the phrase by which a run names its goal: backlog/goal."""
    return f"{backlog.name}/{item}"


async def find_issue(journal: Journal, run: Run) -> str:
    """Return the number of the issue that a run's goal was imported from; empty if there is none."""
    listed, _, name = run.listed.rpartition("/")
    item = (await load_backlog(journal, listed)).items.get(name) if listed else None
    found = re.search(r"/issues/(\d+)/?$", item.entry.source) if item is not None else None
    return found[1] if found else ""


def is_of(run: Run, listing: str) -> bool:
    """Return whether this run works on the goal `listing` (backlog/goal). The run's name alone does not tell: another
    process may have given the name that was chosen for the goal to a different run."""
    return run.version > 0 and run.listed == listing


async def measure_night(
    journal: Journal, backlog: Backlog, known: dict[str, tuple[int, Spend]] | None = None
) -> dict[str, Spend]:
    """Return what each run has spent during the last night. The limits, the page, the report and the journal all use
    this sum. `known`: a cache of what halted runs had spent at the last call."""
    found, known = {}, {} if known is None else known
    for name, begun in (backlog.night.runs if backlog.night is not None else {}).items():
        run = await journal.run(name)
        version, spend = known.get(name, (0, begun.known))
        if is_of(run, make_listing(backlog, begun.item)) and run.version != version:
            spend = (await journal.view(name)).spend
            if run.ended_at:
                known[name] = run.version, spend
        found[name] = spend.minus(begun.before)
    return found


async def load_page(journal: Journal, backlog: Backlog, now: float) -> NightPage:
    """Load a backlog with everything that a report about it needs."""
    items = [item for item in backlog.items.values() if not item.dropped]
    seen, barred = await look_at_runs(journal, backlog), await list_barred(journal, backlog)
    here = NightSituation(now, seen=seen, elsewhere=await find_held(journal, backlog), barred=barred)
    goals = {item.name: explain(backlog, item, here) for item in items}
    views = {item.name: view for item in items if item.run and (view := await journal.view(item.run)).started_at}
    questions, shown, notes = {}, {}, {}
    for name, one in goals.items():
        run = backlog.items[name].run
        if one.kind == "waiting":
            asked = (await load_waiting(journal, run)).open(live=False)
            questions[name] = "; ".join(each.question for each in asked if each.question) or one.why
        if one.kind in ("proven", "not_proven"):
            rows = (await journal.evidence(run)).rows
            shown[name] = (sum(row.standing == "proven" for row in rows), sum(row.requirement.counts for row in rows))
            notes[name] = tuple(list_notes(await journal.task(run), rows)) if name in views else ()
    page = make_page(backlog, goals, views, questions, shown, await measure_night(journal, backlog), notes)
    proposals = await list_proposals(journal, backlog, [item.run for item in items if item.name in views])
    return replace(page, proposed={one.name: one.entry.title for one in proposals})
