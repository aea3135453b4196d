"""A task's state as a pure fold over its events. Each event costs the same however many came before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance import Verdict
from bough.core.budget import Limits, Spend, left
from bough.core.compaction import compacted, measured, useless_in_a_row
from bough.core.escalation import Decision, Means, Rung, Standing, Trouble
from bough.core.grants import free
from bough.core.ids import depth
from bough.core.inherited import Inherited, Subject
from bough.core.messages import Call, Message, Replied, Result, Said
from bough.core.plan import Role, Step, Tier
from bough.core.rules import Rules
from bough.core.states import SETTLED, State, move
from bough.core.stuck import Act, Signal, Turn, Watch, afresh, see
from bough.core.trail import Trail


class Attempt(Struct, frozen=True):
    """One agent's rounds from one starting context."""

    number: int
    role: Role
    tier: Tier
    system: str
    messages: Trail[Message]
    rounds: int = 0
    window: int = 0
    """Tokens that the model can be shown at once; 0: not known."""
    used: int = 0
    """Tokens of the conversation: what the provider counted in the last round, and an estimate of what came since."""
    compacted: bool = False
    """It was made smaller since the last round."""
    useless: int = 0
    """Compactions in a row that did not help."""


class Note(Struct, frozen=True):
    kind: str
    text: str


class Task(Struct, frozen=True):
    """Everything the policies need to know about a task."""

    id: str
    version: int = 0
    state: State = State.PENDING
    step: Step = Step("", "")
    rules: Rules = Rules()
    limits: Limits = Limits()
    granted: bool = False
    """The limits follow the plan."""
    means: Means = Means()
    inherited: Inherited = Inherited()
    grows: bool = False
    """Its grant may still be raised: it rests before its hand-over round."""
    base: str = ""
    tree: str = ""
    """Tree of the workspace after the last finished writing call: what a restore goes back to."""
    attempt: Attempt | None = None
    attempts: int = 0
    """How many there have been."""
    spend: Spend = Spend()
    asking: bool = False
    """A round was started and the model has not answered."""
    last_round: bool = False
    """The round under way is the hand-over."""
    handing_over: bool = False
    """The hand-over was announced: the next round is the last."""
    handed_over: bool = False
    """The hand-over round is over."""
    waiting: tuple[Call, ...] = ()
    """Calls of the last answer that have not been started."""
    started: tuple[Call, ...] = ()
    """Calls that were started and have not finished. Between effects: interrupted ones."""
    started_writes: bool = False
    """One of those may have changed the workspace."""
    text: str = ""
    """What the model said in the round under way."""
    acts: tuple[Act, ...] = ()
    """The calls of that round that have finished, as the stuck detector sees them."""
    watch: Watch = Watch()
    signal: Signal | None = None
    """Raised by the last round and not yet recorded."""
    nudged: frozenset[str] = frozenset()
    """Patterns that were named to the present agent."""
    faulty: str = ""
    """What was wrong with the last answer as a whole, until the agent has been told."""
    faults: int = 0
    """Unusable answers in a row."""
    transport_failures: int = 0
    retry_at: float = 0.0
    claim: str | None = None
    """The agent's summary, once it says it is done."""
    split: tuple[Step, ...] = ()
    """Smaller steps that the agent asked for."""
    verdict: Verdict | None = None
    best: Verdict | None = None
    """The failing verdict with the fewest failures so far: what a repair that made things worse is rolled back to."""
    judged: bool = False
    """The verdict is about the present claim."""
    repairs: int = 0
    asked_for_test: bool = False
    """No check was found, and somebody was asked to write a test."""
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None
    """Why the ladder was asked, until a rung has dealt with it."""
    rung: Decision | None = None
    """The rung that was decided on, until its effect is done."""
    taken: dict[Rung, int] = {}
    """How often each rung was taken."""
    soft_rounds: int = 0
    """Rounds since the last rung, or since the present agent began."""
    actions: int = 0
    """Tool calls that changed the workspace, and checks that changed what fails."""
    problems: tuple[str, ...] = ()
    """What was wrong with a helper's plan, while it may still mend it."""
    answered: str = ""
    """What a helper said last."""
    hinted: bool = False
    """The person was asked, and no plan has been made of the answer yet."""
    tier: Tier | None = None
    """The model that later agents of the task get, when it is not the step's."""
    steps: tuple[Step, ...] = ()
    """Its smaller steps, as they are now."""
    settled: dict[str, e.ChildSettled] = {}
    """Those that came to their end, by step."""
    running: dict[str, e.ChildStarted] = {}
    """Those under way, by step, each with the grant that is reserved for it."""
    begun: dict[str, int] = {}
    """How often each step was carried out."""
    tries: dict[str, int] = {}
    """How often each step was begun in this pass."""
    charged: dict[str, Spend] = {}
    """What it was charged for each of its children, by path segment: one that is taken up again goes on spending."""
    reopened: frozenset[str] = frozenset()
    """Steps that are taken up again where they were blocked, until they come to their end."""
    parallel: bool = False
    """Its steps run at once as soon as their needs are met."""
    estimate: e.Estimated | None = None
    proposed: tuple[Step, ...] = ()
    """A plan that the person has not answered to."""
    wish: str = ""
    """What the person wants to be different in the next proposal."""
    leaf: bool = False
    """It is carried out as one piece of work, although it might have been planned."""
    review: bool = False
    """A phase is over, and whether the steps after it still hold was not asked yet."""
    ended: dict[str, e.ChildSettled] = {}
    """How each step ended last, in whatever pass."""
    learned: tuple[str, ...] = ()
    """Dead ends of its steps: for planners and for other steps, not for its own agents."""
    passes: int = 1
    at_state: str = ""
    """The state that a machine has come to; empty: the first."""
    turns: int = 0
    """Transitions that it has taken."""
    key: str = ""
    subject: Subject | None = None
    commanding: e.CommandStarted | None = None
    """The command that is the step, while it runs. Between effects: an interrupted one."""
    ran: e.CommandFinished | None = None
    reviewed: e.Reviewed | None = None
    summarized: bool = False
    approaches: int = 0
    """Plans that it has had."""
    report: str = ""
    """What was tried and learned, once it is given up."""
    result: str = ""
    """What came of it, where no agent says so itself."""
    files: tuple[str, ...] = ()
    """Changed since the base, as of the last checkpoint."""
    commit: str = ""
    why: str = ""
    """Why it is in its state."""
    halt: e.TaskHalted | None = None
    at: float = 0.0
    """When its last event happened."""

    @property
    def created(self) -> bool:
        """It has begun; one that was taken back to before its beginning has not."""
        return bool(self.base)

    @property
    def resting(self) -> bool:
        """Nothing more to do here for now."""
        return self.state in SETTLED or self.halt is not None

    @property
    def gathering(self) -> bool:
        """It is carried by its smaller steps; no agent of its own is at work."""
        carried = self.state in (State.IN_PROGRESS, State.DECOMPOSED)
        return carried and bool(self.steps) and self.attempt is None and self.claim is None

    @property
    def proposal(self) -> str:
        """What the complexity gate proposed; a phase is planned whatever its size."""
        return self.estimate.proposal if self.estimate else ""

    @property
    def left(self) -> Limits:
        """What may still be spent here, without what is reserved for running steps."""
        return free(self.limits, self.spend, list(self.reserved.values()))

    @property
    def reserved(self) -> dict[str, Limits]:
        """What running steps may still spend beyond what it was charged for them, by step."""
        return {name: left(self.charged.get(run.task, Spend()), run.grant) for name, run in self.running.items()}

    def standing(self, trouble: Trouble) -> Standing:
        """Where it stands, as the ladder sees it."""
        children = [self.settled[step.name] for step in self.steps if step.name in self.settled]
        completed = sum(child.state in (State.COMPLETED, State.SKIPPED) for child in children)
        return Standing(
            trouble=trouble,
            depth=depth(self.id),
            rules=self.rules.ladder,
            planning=self.rules.planning,
            means=self.means,
            taken=self.taken,
            working=self.attempt is not None and self.state is State.IN_PROGRESS,
            nudged=self.nudged,
            actions=self.actions,
            rounds_left=self.left.rounds,
            parent=bool(self.steps),
            completed=completed,
            blocked=len(self.steps) - completed,
            changed=self.tree != self.base,
            errors=bool(children) and children[-1].errors,
            approaches=self.approaches,
            hinted=self.hinted,
        )


Apply = Callable[[Task, Any, float], Task]


def evolve(task: Task, record: e.Record) -> Task:
    """The task after one more event."""
    apply = _APPLY.get(type(record.event))
    if apply is not None:
        task = apply(task, record.event, record.at)
    return replace(task, version=record.version, at=record.at)


def fold(task_id: str, records: Iterable[e.Record]) -> Task:
    """The task after all its events. A rewound stretch counts only for what it cost."""
    history: list[e.Record] = []
    task = Task(task_id)
    for record in records:
        if isinstance(record.event, e.TaskRewound):
            history = [r for r in history if r.version <= record.event.version]
            task = _rewound(fold(task_id, history), task, record.event)
            task = replace(task, version=record.version, at=record.at)
        else:
            task = evolve(task, record)
        history.append(record)
    return task


def _rewound(then: Task, now: Task, event: e.TaskRewound) -> Task:
    """As it was, but for what it cost: its own spend, and that of all its children until now."""
    spend, charged = now.spend, dict(now.charged)
    for child, total in event.children.items():
        spend = spend.plus(total.minus(charged.get(child, Spend())))
        charged[child] = total
    then = _unasked(then) if then.asking or then.transport_failures else then
    return replace(then, spend=spend, charged=charged, limits=now.limits, tree=event.tree, halt=None)


def _unasked(task: Task) -> Task:
    """Before the round that was under way: it has been paid for, so asking again is another one."""
    attempt = _current(task)
    return replace(
        task,
        asking=False,
        transport_failures=0,
        retry_at=0.0,
        attempt=replace(attempt, rounds=attempt.rounds - 1),
        soft_rounds=max(0, task.soft_rounds - 1),
    )


def points(task_id: str, records: Sequence[e.Record]) -> list[Task]:
    """The task as it was at each point that it can be taken back to and that still counts: the end of a round of its
    agents, and where one of its steps had come to its end; first, as it was before any."""
    task, rounds = Task(task_id), 0
    found: list[tuple[int, Task]] = []
    for index, record in enumerate(records):
        if isinstance(record.event, e.TaskRewound):
            version = record.event.version
            task = fold(task_id, records[: index + 1])
            found = [(number, point) for number, point in found if point.version <= version]
            rounds = found[-1][0] if found else 0
            continue
        before, task = task, evolve(task, record)
        if before.attempt and task.attempt and before.attempt.number == task.attempt.number:
            rounds += task.attempt.rounds - before.attempt.rounds
        counted = found[-1][0] if found else -1
        step_ended = isinstance(record.event, e.ChildSettled)
        if step_ended or (task.gathering and not found) or (_between_rounds(task) and rounds > counted):
            found.append((rounds, task))
    return [point for _, point in found]


def _between_rounds(task: Task) -> bool:
    under_way = task.attempt is None or task.asking or task.transport_failures or task.waiting or task.started
    return not under_way and task.state is State.IN_PROGRESS


# ── one small function per event ────────────────────────────────────────────────────────────────────────────────


def _created(task: Task, event: e.TaskCreated, at: float) -> Task:
    return replace(
        task,
        step=event.step,
        steps=event.step.steps,
        parallel=event.step.parallel,
        approaches=int(bool(event.step.steps)),
        base=event.base,
        tree=event.base,
        limits=event.limits,
        rules=event.rules,
        means=event.means,
        inherited=event.inherited,
        grows=event.grows,
        key=event.key,
        subject=event.subject,
    )


def _state(task: Task, event: e.StateChanged, at: float) -> Task:
    judged = task.judged and event.to is not State.TESTING
    return replace(_dealt(task), halt=None, state=move(task.state, event.to), why=event.why, judged=judged)


def _dealt(task: Task) -> Task:
    """The rung that was under way is done, and the trouble with it."""
    return replace(task, trouble=None, rung=None, problems=(), soft_rounds=0)


def _opened(task: Task, event: e.WorkspaceOpened, at: float) -> Task:
    return replace(task, tree=event.tree)


def _attempt(task: Task, event: e.AttemptStarted, at: float) -> Task:
    number = task.attempts + 1
    messages: Trail[Message] = Trail((Said(event.brief),))
    used = measured((Said(event.system), *messages))
    rung = task.rung.rung if task.rung else None
    return replace(
        _dealt(task),
        attempt=Attempt(number, event.role, event.tier, event.system, messages, used=used),
        attempts=number,
        # A rung gives an agent that is stuck a fresh start: that is the same repair, not one more.
        repairs=task.repairs + (event.role == "bug_hunter" and rung is None),
        tier=event.tier if rung == "stronger_model" else task.tier,
        asked_for_test=task.asked_for_test or event.role == "test_writer",
        claim=None,
        split=(),
        waiting=(),
        watch=Watch(),
        signal=None,
        nudged=frozenset(),
        faulty="",
        faults=0,
        transport_failures=0,
    )


def _round(task: Task, event: e.RoundStarted, at: float) -> Task:
    attempt = _current(task)
    # A call that is made again, after a transport error or because the process died, belongs to the same round.
    again = task.asking or task.transport_failures > 0
    return replace(
        task,
        asking=True,
        last_round=event.last,
        attempt=attempt if again else replace(attempt, rounds=attempt.rounds + 1),
        soft_rounds=task.soft_rounds + (not again),
        spend=task.spend if again else task.spend.plus(Spend(rounds=1)),
    )


def _model_failed(task: Task, event: e.ModelFailed, at: float) -> Task:
    return replace(
        task,
        asking=False,
        transport_failures=task.transport_failures + 1,
        retry_at=at + event.wait,
        spend=task.spend.plus(Spend(seconds=event.seconds)),
    )


def _answered(task: Task, event: e.ModelAnswered, at: float) -> Task:
    faulty = _fault(event)
    task = _filled(task, event)
    task = replace(_say(task, Replied(event.text, event.calls, event.extra)), text=event.text, acts=())
    return replace(
        task if event.calls else _watched(task),
        asking=False,
        handed_over=task.last_round,
        transport_failures=0,
        retry_at=0.0,
        waiting=event.calls,
        faulty=faulty,
        faults=task.faults + 1 if faulty else task.faults,
        spend=task.spend.called(event.usage, event.cost, event.seconds),
    )


def _filled(task: Task, event: e.ModelAnswered) -> Task:
    """How full the model's window is: the provider has counted, unless it does not say."""
    attempt = _current(task)
    used = event.usage.input or attempt.used
    return replace(task, attempt=replace(attempt, window=event.window, used=used, compacted=False))


def _fault(event: e.ModelAnswered) -> str:
    """The prompt template that tells the agent what was wrong with its answer, or nothing."""
    if event.stop == "refusal":
        return "refused"
    if event.stop == "length" and not event.calls:
        return "cut_short"
    if not event.calls:
        return "no_tool_call" if event.text.strip() else "empty_answer"
    return ""


def _message(task: Task, event: e.MessageAdded, at: float) -> Task:
    # A nudge names a pattern; what was wrong with the last answer is still to be told.
    faulty = task.faulty if event.why in ("nudge", "take_stock") else ""
    handing_over = task.handing_over or event.why == "hand_over"
    task = _dealt(task) if task.rung is not None and task.rung.rung == "nudge" else task
    return replace(_say(task, Said(event.text)), faulty=faulty, handing_over=handing_over)


def _tool_started(task: Task, event: e.ToolStarted, at: float) -> Task:
    call = next(call for call in task.waiting if call.id == event.call)
    return replace(
        task,
        waiting=tuple(c for c in task.waiting if c is not call),
        started=(*task.started, call),
        started_writes=task.started_writes or event.writes,
    )


def _tool_finished(task: Task, event: e.ToolFinished, at: float) -> Task:
    call = next(call for call in task.started if call.id == event.call)
    started = tuple(other for other in task.started if other is not call)
    tree = event.tree or task.tree
    act = Act(call.name, call.arguments, event.output, event.ok, bool(event.tree), tree)
    # A process that dies again and again says nothing about the work.
    acts = task.acts if event.interrupted else (*task.acts, act)
    task = replace(_say(task, Result(event.call, event.output, event.ok)), acts=acts)
    settled = not started and not task.waiting
    return replace(
        _watched(task) if settled and acts else task,
        started=started,
        started_writes=task.started_writes and bool(started),
        tree=tree,
        actions=task.actions + (tree != task.tree),
        # One usable call in the round is enough: the agent is able to act.
        faults=task.faults + (settled and event.fault) if event.fault else 0,
        spend=task.spend.plus(Spend(seconds=event.seconds)),
    )


def _watched(task: Task) -> Task:
    """The round is over: does the work still move?"""
    watch, signal = see(task.watch, Turn(task.text, task.acts), task.rules.stuck)
    return replace(task, watch=watch, signal=signal, acts=())


def _signal(task: Task, event: e.SignalRaised, at: float) -> Task:
    return replace(task, signal=None, watch=afresh(task.watch))


def _escalated(task: Task, event: e.Escalated, at: float) -> Task:
    rung, pattern = event.decision.rung, event.trouble.pattern
    return replace(
        task,
        trouble=event.trouble,
        rung=event.decision,
        taken=task.taken | {rung: task.taken.get(rung, 0) + 1},
        nudged=task.nudged | {pattern} if rung == "nudge" and pattern else task.nudged,
        soft_rounds=0,
        faults=0 if event.trouble.cause == "faults" else task.faults,
    )


def _helper(task: Task, event: e.HelperAnswered, at: float) -> Task:
    return replace(
        task, answered=event.text, spend=task.spend.called(event.usage, event.cost, event.seconds).plus(Spend(rounds=1))
    )


def _helper_failed(task: Task, event: e.HelperFailed, at: float) -> Task:
    return replace(task, spend=task.spend.plus(Spend(seconds=event.seconds)))


def _compacted(task: Task, event: e.Compacted, at: float) -> Task:
    """What was read before is not to be seen any more: reading it again is no loop."""
    attempt = _current(task)
    # The provider may count more (it sees the tools too) or less than the estimate; what is left is the careful guess.
    saved = (event.before - event.after) * min(attempt.used, event.before) // max(event.before, 1)
    smaller = replace(
        attempt,
        messages=compacted(attempt.messages, event.at, event.summary),
        used=attempt.used - saved,
        compacted=True,
        useless=useless_in_a_row(attempt.useless, attempt.used, attempt.used - saved),
    )
    return replace(task, attempt=smaller, watch=afresh(task.watch))


def _split(task: Task, event: e.SplitProposed, at: float) -> Task:
    """Who asks for smaller steps does not say that it is done; what was said last counts."""
    return replace(task, split=event.steps, claim=None)


def _planned(task: Task, event: e.Planned, at: float) -> Task:
    """New smaller steps carry the task. What is completed stays as it is, whatever a plan says of it."""
    done = {name for name, child in task.settled.items() if child.state is State.COMPLETED}
    dropped = set(event.dropped) - done
    return replace(
        _dealt(task),
        steps=(*(step for step in task.steps if step.name not in dropped), *event.steps),
        settled={name: child for name, child in task.settled.items() if name not in dropped},
        parallel=True,
        proposed=(),
        approaches=task.approaches + 1,
        hinted=False,
        attempt=None,
        claim=None,
        split=(),
        waiting=(),
        signal=None,
        faulty="",
        repairs=0,
        best=None,
    )


def _estimated(task: Task, event: e.Estimated, at: float) -> Task:
    return replace(task, estimate=event, leaf=event.proposal == "leaf")


def _proposed(task: Task, event: e.PlanProposed, at: float) -> Task:
    return replace(task, proposed=event.steps, wish="", problems=())


def _plan_answered(task: Task, event: e.PlanAnswered, at: float) -> Task:
    """Another proposal is made from the wish and from the one before; a refusal makes one leaf of it."""
    return replace(task, wish=event.wish, leaf=event.says == "no")


def _plan_changed(task: Task, event: e.PlanChanged, at: float) -> Task:
    begun = tuple(step for step in task.steps if step.name in task.begun)
    return replace(task, steps=(*begun, *event.steps), review=False)


def _granted(task: Task, event: e.Granted, at: float) -> Task:
    return replace(task, limits=event.limits, granted=True)


def _refused(task: Task, event: e.PlanRefused, at: float) -> Task:
    """For good, the rung came to nothing: the trouble is as it was, and the next rung applies."""
    if not event.final:
        return replace(task, problems=event.problems)
    # Without a rung it was the first plan: the work is begun as one leaf, and the ladder may still split it.
    return replace(task, rung=None, problems=(), leaf=task.leaf or task.rung is None, hinted=False)


def _reported(task: Task, event: e.Reported, at: float) -> Task:
    return replace(task, report=event.text)


def _person(task: Task, event: e.PersonAnswered, at: float) -> Task:
    """An answer goes to whoever works on it next: a fresh agent, or for steps that cannot go on, the planner."""
    if not event.text:
        return replace(task, rung=None)
    told = replace(task, notes=(*task.notes, Note("decision", f"The person says: {event.text}"))[-task.rules.notes :])
    if task.trouble is not None and task.trouble.cause == "children":
        return replace(told, rung=None, hinted=True)
    return replace(_dealt(told), attempt=None, claim=None, waiting=(), signal=None, faulty="", faults=0, repairs=0)


def _note(task: Task, event: e.NoteKept, at: float) -> Task:
    note = Note(event.kind, event.text)
    others = tuple(kept for kept in task.notes if kept != note)  # Said again, it is news again, and once is enough.
    return replace(task, notes=(*others, note)[-task.rules.notes :])


def _done(task: Task, event: e.DoneClaimed, at: float) -> Task:
    return replace(task, claim=event.summary, split=())


def _restored(task: Task, event: e.WorkspaceRestored, at: float) -> Task:
    return replace(task, tree=event.tree)


def _check_finished(task: Task, event: e.CheckFinished, at: float) -> Task:
    seconds = event.verdict.seconds
    return replace(
        task,
        judged=True,
        verdict=event.verdict,
        best=event.verdict if _no_worse(event.verdict, task.best) else task.best,
        actions=task.actions + (task.verdict is not None and _failing(task.verdict) != _failing(event.verdict)),
        tree=event.verdict.tree or task.tree,
        spend=task.spend.plus(Spend(seconds=seconds, check_seconds=seconds)),
    )


def _failing(verdict: Verdict) -> tuple[int, frozenset[str]]:
    return verdict.failed, frozenset(failure.id for failure in verdict.failures)


def _no_worse(verdict: Verdict, best: Verdict | None) -> bool:
    return verdict.ruling == "failed" and (best is None or verdict.failed <= best.failed)


def _checkpoint(task: Task, event: e.CheckpointMade, at: float) -> Task:
    return replace(task, commit=event.commit, tree=event.tree, files=event.files)


def _child_started(task: Task, event: e.ChildStarted, at: float) -> Task:
    times = int(event.task.rpartition("@")[2]) if "@" in event.task else 1
    anew = times != task.begun.get(event.step)
    return replace(
        task,
        running=task.running | {event.step: event},
        begun=task.begun | {event.step: times},
        tries=task.tries | {event.step: task.tries.get(event.step, 0) + 1} if anew else task.tries,
    )


def _child_merged(task: Task, event: e.ChildMerged, at: float) -> Task:
    seconds = event.verdict.seconds if event.verdict else 0.0
    return replace(task, spend=task.spend.plus(Spend(seconds=seconds, check_seconds=seconds)))


def _child(task: Task, event: e.ChildSettled, at: float) -> Task:
    ends = tuple(f"{event.child}: {text}" for text in event.dead_ends)
    notes = _shared(event) if event.shared else ()
    child = task.running[event.child].task if event.child in task.running else event.child
    # A step that was left out or taken over has spent nothing; what an earlier pass of it spent is counted already.
    began = event.child in task.running or event.spend != Spend()
    before = task.charged.get(child, Spend()) if began else event.spend
    return replace(
        task,
        settled=task.settled | {event.child: event},
        ended=task.ended | {event.child: event},
        review=task.review or (event.state is State.COMPLETED and _phase_with_followers(task, event.child)),
        running={name: child for name, child in task.running.items() if name != event.child},
        reopened=task.reopened - {event.child},
        tree=event.tree,
        spend=task.spend.plus(event.spend.minus(before)),
        charged=task.charged | {child: event.spend} if began else task.charged,
        notes=tuple(dict.fromkeys((*task.notes, *notes)))[-task.rules.notes :] if notes else task.notes,
        learned=tuple(dict.fromkeys((*task.learned, *ends)))[-task.rules.notes :] if ends else task.learned,
    )


def _shared(event: e.ChildSettled) -> tuple[Note, ...]:
    """What a step wrote into the context that it shares with the task."""
    return (
        *(Note("decision", text) for text in event.decisions),
        *(Note("dead_end", text) for text in event.dead_ends),
    )


def _phase_with_followers(task: Task, name: str) -> bool:
    """A phase whose end may change what follows it. A plan that a person wrote is theirs to change."""
    phase = not task.step.steps and any(step.name == name and step.plan_first for step in task.steps)
    return phase and any(step.name not in task.begun for step in task.steps)


def _reopened(task: Task, event: e.ChildrenReopened, at: float) -> Task:
    settled = {name: child for name, child in task.settled.items() if name not in event.children}
    return replace(_dealt(task), settled=settled, reopened=frozenset(event.children))


def _pass_ended(task: Task, event: e.PassEnded, at: float) -> Task:
    return replace(task, passes=task.passes + 1, settled={}, tries={})


def _transition(task: Task, event: e.TransitionTaken, at: float) -> Task:
    settled = {name: child for name, child in task.settled.items() if name != event.to}
    return replace(task, at_state=event.to, turns=task.turns + 1, settled=settled, tries=task.tries | {event.to: 0})


def _command_started(task: Task, event: e.CommandStarted, at: float) -> Task:
    return replace(task, commanding=event, ran=None)


def _command_finished(task: Task, event: e.CommandFinished, at: float) -> Task:
    spend = task.spend.plus(Spend(seconds=event.seconds))
    result = event.output.strip()
    return replace(task, commanding=None, ran=event, result=result, tree=event.tree or task.tree, spend=spend)


def _reviewed(task: Task, event: e.Reviewed, at: float) -> Task:
    return replace(task, reviewed=event)


def _summarized(task: Task, event: e.Summarized, at: float) -> Task:
    return replace(task, result=event.text, summarized=True)


def _taken_up(task: Task, event: e.TakenUp, at: float) -> Task:
    state = move(task.state, State.IN_PROGRESS)
    return replace(_dealt(task), state=state, why=event.why, tier=event.tier, attempt=None, claim=None, repairs=0)


def _halted(task: Task, event: e.TaskHalted, at: float) -> Task:
    return replace(task, halt=event)


def _resumed(task: Task, event: e.TaskResumed, at: float) -> Task:
    return replace(
        task,
        halt=None,
        # A person has seen that the command was interrupted, and goes on: it may run again.
        ran=None if task.ran is not None and task.ran.interrupted else task.ran,
        limits=event.limits,
        means=event.means,
        grows=event.grows,
        transport_failures=0,
        retry_at=0.0,
        handing_over=False,
        handed_over=False,
    )


def _say(task: Task, message: Message) -> Task:
    attempt = _current(task)
    used = attempt.used + measured((message,))
    return replace(task, attempt=replace(attempt, messages=attempt.messages.then(message), used=used))


def _current(task: Task) -> Attempt:
    assert task.attempt is not None, "a round outside an attempt"
    return task.attempt


_APPLY: dict[type, Apply] = {
    e.TaskCreated: _created,
    e.StateChanged: _state,
    e.WorkspaceOpened: _opened,
    e.AttemptStarted: _attempt,
    e.RoundStarted: _round,
    e.ModelFailed: _model_failed,
    e.ModelAnswered: _answered,
    e.MessageAdded: _message,
    e.ToolStarted: _tool_started,
    e.ToolFinished: _tool_finished,
    e.NoteKept: _note,
    e.SignalRaised: _signal,
    e.Escalated: _escalated,
    e.HelperAnswered: _helper,
    e.HelperFailed: _helper_failed,
    e.Estimated: _estimated,
    e.PlanProposed: _proposed,
    e.PlanAnswered: _plan_answered,
    e.PlanChanged: _plan_changed,
    e.Granted: _granted,
    e.Compacted: _compacted,
    e.SplitProposed: _split,
    e.Planned: _planned,
    e.PlanRefused: _refused,
    e.Reported: _reported,
    e.PersonAnswered: _person,
    e.DoneClaimed: _done,
    e.WorkspaceRestored: _restored,
    e.CheckFinished: _check_finished,
    e.CheckpointMade: _checkpoint,
    e.ChildStarted: _child_started,
    e.ChildMerged: _child_merged,
    e.ChildSettled: _child,
    e.ChildrenReopened: _reopened,
    e.PassEnded: _pass_ended,
    e.TransitionTaken: _transition,
    e.CommandStarted: _command_started,
    e.CommandFinished: _command_finished,
    e.Reviewed: _reviewed,
    e.Summarized: _summarized,
    e.TakenUp: _taken_up,
    e.TaskHalted: _halted,
    e.TaskResumed: _resumed,
}
