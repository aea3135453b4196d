"""Makes the notices for a person who is away: which events they are about, and in which words.

A notice has everything to act on: the question, the possible answers, the command to type and, while a dashboard runs,
a link. It is made from the journal, so that after a crash the same notice, with the same id, is made again."""

import hashlib
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bough.app.journal import Journal
from bough.core import events as e
from bough.core.ids import BACKLOG, GOAL
from bough.core.journal.run_fold import Run
from bough.services.backlog import load_backlog, load_page
from bough.services.run_messages import load_waiting
from bough.views.formatting import cut, first_sentence, one_line
from bough.views.next_steps import list_next_steps
from bough.views.night import describe_totals
from bough.views.run_view import RunView
from bough.views.vocabulary import STATUS_WORDS
from bough.views.waiting import Waiting

SHORT = 500
"""The most characters of a notice's message."""
LONG = 8_000
"""The most characters of a question."""
ASKING = ("QuestionAsked", "PlanProposed", "CommandHeld", "ChangesAsked", "TaskHalted")
ENDING = ("RunFinished", "RunHalted", "GoalSettled", "NightEnded")
TOLD = frozenset(getattr(e, name) for name in (*ASKING, *ENDING))
"""Events about which a notice is made."""
STARTED = (e.RunStarted, e.RunResumed, e.NightStarted)
"""Events with which hooks begin to follow a run or a backlog."""
OUTCOMES = {"completed": "run_finished", "not_proven": "run_finished", "failed": "given_up", "error": "given_up"}
OUTCOMES |= {"budget": "budget", "environment": "needs_you"}
DIGEST = "digest"

ASKS = {"question": "It asks:", "plan": "It asks about its plan:", "command": "It wants to run", "tests": "Tests:"}

Link = Callable[[str, Waiting], str]
"""Returns the address of the page on which a run's question can be answered; empty if no dashboard runs."""


class Notice(Struct, frozen=True, kw_only=True):
    """The input of a hook, as JSON. The first four names are those that hooks of other tools use."""

    hook_event_name: str
    session_id: str
    cwd: str
    message: str
    status: str = ""
    branch: str = ""
    url: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()
    cost: float = 0.0
    next: str = ""
    id: str = ""
    """Identifies the event: it stays the same if the event is delivered again."""
    events: "tuple[Notice, ...]" = ()
    """The notices that a digest sums up."""


Tellings = list[tuple[e.Record, Notice]]


async def list_notices(journal: Journal, stream: str, since: int, link: Link) -> list[tuple[int, Notice]]:
    """List the notices about a run or backlog after the event `since`, each with the number of its event."""
    records = await journal.store.read(stream, since=since, kinds=(*ASKING, *ENDING))
    if not records:
        return []
    of_list = stream.startswith(BACKLOG)
    told = await (_tell_list(journal, stream, records) if of_list else _tell_run(journal, stream, records, link))
    found = []
    for record, notice in told:
        key = f"{record.run} {record.seq} {record.at!r}".encode()
        message = cut(one_line(notice.message), SHORT)
        found.append((record.seq, replace(notice, message=message, id=hashlib.sha256(key).hexdigest()[:16])))
    return found


def sum_up(notices: Sequence[Notice], name: str, root: str) -> Notice:
    """Make one notice that sums up several: those of a night, or of the quiet hours."""
    asks = sum(notice.hook_event_name == "needs_you" for notice in notices)
    last = next((each for each in reversed(notices) if each.hook_event_name == "backlog_finished"), None)
    said = last.message if last else f"{len(notices)} things happened in {name}"
    waits = f" {asks} {'waits' if asks == 1 else 'wait'} for you." if asks else ""
    return Notice(
        hook_event_name=DIGEST,
        session_id=last.session_id if last else "",
        cwd=root,
        message=f"{said.rstrip('.')}.{waits}",
        branch=last.branch if last else "",
        next=last.next if last else "bough runs",
        id=hashlib.sha256(" ".join(notice.id for notice in notices).encode()).hexdigest()[:16],
        events=tuple(notices[-100:]),
    )


async def _tell_run(journal: Journal, name: str, records: Sequence[e.Record], link: Link) -> Tellings:
    run, view = await journal.run(name), await journal.view(name)
    live = await journal.holder(name) is not None
    asked = {each.seq: each for each in (await load_waiting(journal, name)).open(live)}
    found: Tellings = []
    for record in records:
        event, waiting = record.event, asked.get(record.seq)
        if waiting is not None:  # No notice is made about questions that are already answered.
            question, answers, command = describe_waiting(name, waiting)
            said = f"{ASKS[waiting.kind]} {first_sentence(question)}"
            notice = _describe_run(journal, view, "needs_you", "waiting", said)
            notice = replace(notice, question=question[:LONG], answers=answers, next=command, url=link(name, waiting))
            found.append((record, notice))
        elif isinstance(event, e.RunFinished | e.RunHalted):
            status = event.end if isinstance(event, e.RunFinished) else event.reason
            why = event.summary if isinstance(event, e.RunFinished) else event.message
            kind = "needs_you" if status == "unavailable" else OUTCOMES.get(status, "")
            if kind and not await _is_listed(journal, run, record):
                found.append((record, _describe_run(journal, view, kind, status, why)))
    return found


def _describe_run(journal: Journal, view: RunView, kind: str, status: str, why: str) -> Notice:
    steps = list_next_steps(view, status, changed=True)
    return Notice(
        hook_event_name=kind,
        session_id=view.name,
        cwd=str(journal.root),
        message=f"{view.name}: {STATUS_WORDS.get(status, status)}. {why.rstrip('.')} ({first_sentence(view.goal)})",
        status=status,
        cost=view.spend.cost,
        next=steps[0][0] if steps else "",
    )


def describe_waiting(name: str, waiting: Waiting) -> tuple[str, tuple[str, ...], str]:
    """Return the whole question, the possible answers, and the command that answers."""
    task = "" if waiting.task in ("", GOAL) else f" --task {waiting.task}"
    match waiting.kind:
        case "question":
            return waiting.question, (), f'bough answer {name}{task} "…"'
        case "plan":
            steps = waiting.plan.goal.steps if waiting.plan is not None else ()
            listed = "".join(f"\n- {step.name}: {first_sentence(step.instructions)}" for step in steps)
            return f"{waiting.question}{listed}", ("yes", "no"), f"bough approve {name}{task}"
        case _:
            tests = "".join(f"\n- {one.test}" for one in waiting.tests)
            return f"{waiting.question}{tests}", ("yes", "no"), f"bough approve {name}{task}"


async def _is_listed(journal: Journal, run: Run, record: e.Record) -> bool:
    """Return whether the notice about the run's goal comes from its backlog instead, because that one names the branch,
    too."""
    listed, _, goal = run.listed.rpartition("/")
    if not listed:
        return False
    item = (await load_backlog(journal, listed)).items.get(goal)
    return item is None or (item.run == run.name and (item.running or item.settled_at >= record.at))


async def _tell_list(journal: Journal, stream: str, records: Sequence[e.Record]) -> Tellings:
    name = stream.removeprefix(BACKLOG)
    backlog, cwd = await load_backlog(journal, name), str(journal.root)
    report_it = f"bough backlog report{f' --list {name}' if name != 'backlog' else ''}"
    found: Tellings = []
    for record in records:
        event = record.event
        if isinstance(event, e.GoalSettled) and (kind := OUTCOMES.get(event.report.status)):
            report, item = event.report, backlog.items.get(record.task)
            said = f"{record.task}: {STATUS_WORDS.get(report.status, report.status)}. {report.why.rstrip('.')}"
            run = item.run if item is not None else ""
            notice = Notice(
                hook_event_name=kind,
                session_id=run,
                cwd=cwd,
                message=f"{said}{f' (on {report.branch})' if report.branch else ''}",
                status=report.status,
                branch=report.branch,
                url=report.address,
                cost=report.spend.cost,
                next=f"bough status {run}" if run else report_it,
            )
            found.append((record, notice))
        elif isinstance(event, e.NightEnded):
            page = await load_page(journal, backlog, record.at)
            notice = Notice(
                hook_event_name="backlog_finished",
                session_id=name,
                cwd=cwd,
                message=f"The night of {name} is over. {describe_totals(page)}",
                status=event.why,
                branch=page.branch,
                cost=event.spend.cost,
                next=report_it,
            )
            found.append((record, notice))
    return found


EXAMPLES: dict[str, dict[str, object]] = {
    "run_finished": {"status": "completed", "next": "bough diff amber-heron"},
    "given_up": {"status": "failed", "next": "bough log amber-heron"},
    "budget": {"status": "budget", "next": "bough resume amber-heron --max-cost 0.24"},
    "needs_you": {
        "status": "waiting",
        "question": "make install",
        "answers": ("yes", "no"),
        "next": "bough approve amber-heron",
    },
    "backlog_finished": {"session_id": "backlog", "status": "the night is over", "next": "bough backlog report"},
    "before_apply": {"cost": 0.0},
    "before_push": {"cost": 0.0, "branch": "bough/amber-heron"},
}
"""The fields by which an example of each event differs from the others."""


def make_example(event: str, root: str) -> Notice:
    """Make an example notice, with which a person can try a hook."""
    said = f"An example from `bough hooks test {event}`: nothing has happened."
    notice = Notice(hook_event_name=event, session_id="amber-heron", cwd=root, message=said, cost=0.12, id="example")
    return replace(notice, **EXAMPLES[event])
