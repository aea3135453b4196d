"""A task's state as a pure fold over its events. Each event costs the same however many came before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.ledger import Spend
from bough.core.conversation.compaction import compact_messages, count_useless, measure_messages
from bough.core.conversation.persistent_list import PersistentList
from bough.core.journal.steps_fold import GROWTH, Apply, clear_trouble
from bough.core.messages import Call, Message, Picture, Replied, Result, Said, Usage
from bough.core.stuck.detector import Act, Turn, Watch, observe_round, reset_watch
from bough.core.stuck.masks import hash_text
from bough.core.tree.task import Attempt, Note, Task, quote_person
from bough.core.tree.task_state import State, check_transition

PERSON = "person"
"""The prompt template that tells an agent what a person says."""
LESS = 0.9
"""Of a conversation that was refused for its length, the share that is taken for the window when nobody says it."""
EXAMINERS = frozenset({"examiner", "reviewer", "judge"})
"""Helpers that hold the work against what was asked."""
STILL_FAILS = "It was shown to whoever did the work, with what it printed, and the work was not changed to pass it."
"""What is held against a critic's probe that fails again."""
COMMANDS = 8
"""Test commands whose results are remembered."""


def evolve_task(task: Task, record: e.Record) -> Task:
    """The task after one more event."""
    apply = _APPLY.get(type(record.event))
    if apply is not None:
        task = apply(task, record.event, record.at)
    return replace(task, version=record.version, at=record.at)


def fold_task(task_id: str, records: Iterable[e.Record]) -> Task:
    """The task after all its events. A rewound stretch counts only for what it cost."""
    history: list[e.Record] = []
    task = Task(task_id)
    for record in records:
        if isinstance(record.event, e.TaskRewound):
            history = [r for r in history if r.version <= record.event.version]
            task = _rewind_task(fold_task(task_id, history), task, record.event)
            task = replace(task, version=record.version, at=record.at)
        else:
            task = evolve_task(task, record)
        history.append(record)
    return task


def _rewind_task(then: Task, now: Task, event: e.TaskRewound) -> Task:
    """As it was, but for what it cost: its own spend, and that of all its children until now."""
    spend, charged = now.spend, dict(now.charged)
    for child, total in event.children.items():
        spend = spend.plus(total.minus(charged.get(child, Spend())))
        charged[child] = total
    then = _undo_asking(then) if then.asking else then
    return replace(then, spend=spend, charged=charged, limits=now.limits, tree=event.tree, halt=None, heard=now.heard)


def _undo_asking(task: Task) -> Task:
    """Before the round that was under way: it has been paid for, so asking again is another one."""
    attempt = _get_attempt(task)
    return replace(
        task,
        asking=False,
        transport_failures=0,
        retry_at=0.0,
        attempt=replace(attempt, rounds=attempt.rounds - 1),
        soft_rounds=max(0, task.soft_rounds - 1),
    )


def list_points(task_id: str, records: Sequence[e.Record]) -> list[Task]:
    """The task as it was at each point that it can be taken back to and that still counts: the end of a round of its
    agents, and where one of its steps had come to its end; first, as it was before any."""
    task, rounds = Task(task_id), 0
    found: list[tuple[int, Task]] = []
    for index, record in enumerate(records):
        if isinstance(record.event, e.TaskRewound):
            version = record.event.version
            task = fold_task(task_id, records[: index + 1])
            found = [(number, point) for number, point in found if point.version <= version]
            rounds = found[-1][0] if found else 0
            continue
        before, task = task, evolve_task(task, record)
        if before.attempt and task.attempt and before.attempt.number == task.attempt.number:
            rounds += task.attempt.rounds - before.attempt.rounds
        counted = found[-1][0] if found else -1
        step_ended = isinstance(record.event, e.ChildSettled)
        if step_ended or (task.gathering and not found) or (_is_between_rounds(task) and rounds > counted):
            found.append((rounds, task))
    return [point for _, point in found]


def _is_between_rounds(task: Task) -> bool:
    under_way = task.attempt is None or task.asking or task.waiting or task.started
    return not under_way and task.state is State.IN_PROGRESS


# ── one small function per event ────────────────────────────────────────────────────────────────────────────────


def _apply_task_created(task: Task, event: e.TaskCreated, at: float) -> Task:
    return replace(
        task,
        step=event.step,
        steps=event.step.steps,
        parallel=event.step.parallel,
        approaches=int(bool(event.step.steps)),
        base=event.base,
        tree=event.merge.tree if event.merge else event.base,
        limits=event.limits,
        rules=event.rules,
        means=event.means,
        inherited=event.inherited,
        grows=event.grows,
        key=event.key,
        subject=event.subject,
        merge=event.merge,
        heard=event.heard,
        probes=event.merge.probes if event.merge else event.subject.probes if event.subject else (),
        contested={probe.name: STILL_FAILS for probe in event.subject.probes} if event.subject else {},
    )


def _apply_state_changed(task: Task, event: e.StateChanged, at: float) -> Task:
    judged = task.judged and event.to is not State.TESTING
    return replace(
        clear_trouble(task), halt=None, state=check_transition(task.state, event.to), why=event.why, judged=judged
    )


def _apply_workspace_opened(task: Task, event: e.WorkspaceOpened, at: float) -> Task:
    return replace(task, tree=event.tree)


def _apply_attempt_started(task: Task, event: e.AttemptStarted, at: float) -> Task:
    number = task.attempts + 1
    messages: PersistentList[Message] = PersistentList((Said(event.brief),))
    used = measure_messages((Said(event.system), *messages))
    rung = task.rung.rung if task.rung else None
    return replace(
        clear_trouble(task),
        attempt=Attempt(
            number,
            event.role,
            event.tier,
            event.system,
            messages,
            used=used,
            protocol=event.protocol,
            may_change=event.may_change,
            agent=event.agent,
        ),
        attempts=number,
        # A rung gives an agent that is stuck a fresh start: that is the same repair, not one more.
        repairs=task.repairs + (event.role == "bug_hunter" and rung is None),
        probe_repairs=task.probe_repairs + (event.role == "bug_hunter" and rung is None and _is_passing(task)),
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
        asking=False,
        transport_failures=0,
    )


def _is_passing(task: Task) -> bool:
    """The check passes: what is to be repaired, probes have shown."""
    return task.verdict is not None and task.verdict.ruling == "passed"


def _apply_round_started(task: Task, event: e.RoundStarted, at: float) -> Task:
    attempt = _get_attempt(task)
    # A call that is made again, because it failed or because the process died, belongs to the same round.
    again = task.asking
    return replace(
        task,
        asking=True,
        last_round=event.last,
        attempt=attempt if again else replace(attempt, rounds=attempt.rounds + 1),
        soft_rounds=task.soft_rounds + (not again),
        spend=task.spend if again else task.spend.plus(Spend(rounds=1)),
    )


def _apply_model_failed(task: Task, event: e.ModelFailed, at: float) -> Task:
    spend = _charge_failure(task.spend, event)
    if event.too_long:
        return replace(_shrink_window(task, event), spend=spend)
    return replace(
        task,
        transport_failures=task.transport_failures + 1,
        retry_at=at + event.wait,
        retry_wait=event.wait,
        spend=spend,
    )


def _charge_failure(spend: Spend, event: e.ModelFailed | e.HelperFailed) -> Spend:
    """After a call that failed: what had come of the answer is paid for."""
    if event.usage == Usage():
        return spend.plus(Spend(seconds=event.seconds))
    return spend.called(event.usage, None, event.seconds)


def _shrink_window(task: Task, event: e.ModelFailed) -> Task:
    """Where the refusal does not say how much fits, it is less than there is."""
    attempt = _get_attempt(task)
    window = event.window or int(attempt.used * LESS)
    return replace(
        task,
        attempt=replace(attempt, window=window, used=max(attempt.used, window), exceeded=event.message),
        windows=task.windows | {attempt.tier: window},
    )


def _apply_model_answered(task: Task, event: e.ModelAnswered, at: float) -> Task:
    faulty = _find_fault(event)
    task = _measure_window(task, event)
    task = replace(_add_message(task, Replied(event.text, event.calls, event.extra)), text=event.text, acts=())
    return replace(
        task if event.calls else _watch_round(task),
        asking=False,
        handed_over=task.last_round,
        transport_failures=0,
        retry_at=0.0,
        waiting=event.calls,
        faulty=faulty,
        faults=task.faults + 1 if faulty else task.faults,
        spend=task.spend.called(event.usage, event.cost, event.seconds),
    )


def _measure_window(task: Task, event: e.ModelAnswered) -> Task:
    """How full the model's window is: the provider has counted, unless it does not say."""
    attempt = _get_attempt(task)
    used = event.usage.input or attempt.used
    known = [window for window in (event.window, task.windows.get(attempt.tier, 0)) if window]
    window = min(known, default=0)
    return replace(task, attempt=replace(attempt, window=window, used=used, compacted=False, exceeded=""))


def _find_fault(event: e.ModelAnswered) -> str:
    """The prompt template that tells the agent what was wrong with its answer, or nothing."""
    if event.stop == "refusal":
        return "refused"
    if event.stop == "length" and not event.calls:
        return "cut_short"
    if not event.calls:
        return "no_tool_call" if event.text.strip() else "empty_answer"
    return ""


def _apply_message_added(task: Task, event: e.MessageAdded, at: float) -> Task:
    # A nudge names a pattern; what was wrong with the last answer is still to be told.
    faulty = task.faulty if event.why in ("nudge", "take_stock") else ""
    handing_over = task.handing_over or event.why == "hand_over"
    task = clear_trouble(task) if task.rung is not None and task.rung.rung == "nudge" else task
    if event.why == PERSON:  # What it claims was claimed without knowing this.
        task = replace(task, unheard=(), claim=None, split=())
        faulty = task.faulty
    return replace(_add_message(task, Said(event.text)), faulty=faulty, handing_over=handing_over)


def _apply_message_received(task: Task, event: e.MessageReceived, at: float) -> Task:
    """Later agents find it among the notes; the present one is told."""
    words = quote_person(event.text)
    unheard = (*task.unheard, event.text) if task.attempt is not None else task.unheard
    notes = (*task.notes, Note("decision", words))[-task.rules.notes :]
    return replace(task, notes=notes, heard=event.said, unheard=unheard)


def _apply_question_asked(task: Task, event: e.QuestionAsked, at: float) -> Task:
    return replace(task, question=event.question)


def _apply_tool_started(task: Task, event: e.ToolStarted, at: float) -> Task:
    call = next(call for call in task.waiting if call.id == event.call)
    return replace(
        task,
        waiting=tuple(c for c in task.waiting if c is not call),
        started=(*task.started, call),
        started_writes=task.started_writes or event.writes,
    )


def _apply_tool_finished(task: Task, event: e.ToolFinished, at: float) -> Task:
    call = next(call for call in task.started if call.id == event.call)
    started = tuple(other for other in task.started if other is not call)
    tree = event.tree or task.tree
    act = Act(call.name, call.arguments, event.output, event.ok, bool(event.tree), tree)
    # A process that dies again and again says nothing about the work.
    acts = task.acts if event.interrupted else (*task.acts, act)
    picture = Picture(event.image, event.blob) if event.image else None
    task = replace(_add_message(task, Result(event.call, event.output, event.ok, picture)), acts=acts)
    settled = not started and not task.waiting
    task = _note_progress(task, call, event.passed) if event.passed is not None else task
    task = task if event.fault else _mark_able(task)
    return replace(
        _watch_round(task) if settled and acts else task,
        started=started,
        started_writes=task.started_writes and bool(started),
        tree=tree,
        actions=task.actions + (tree != task.tree),
        # One usable call in the round is enough: the agent is able to act.
        faults=task.faults + (settled and event.fault) if event.fault else 0,
        spend=task.spend.plus(Spend(seconds=event.seconds)),
    )


def _mark_able(task: Task) -> Task:
    """Its model has made a usable call: answers without one say something about the conversation, not the protocol."""
    if task.attempt is None or not task.attempt.may_change:
        return task
    return replace(task, attempt=replace(task.attempt, may_change=False))


def _note_progress(task: Task, call: Call, passed: int) -> Task:
    """More tests pass in one of the agent's own test commands than ever before: then it is not time to cut the work
    into pieces, however long it takes. The number of tests bounds how often that can be so."""
    command = hash_text(call.arguments)
    before = task.passing.get(command)
    most = passed if before is None else max(passed, before)
    others = [(other, count) for other, count in task.passing.items() if other != command]
    gets_on = before is not None and passed > before
    return replace(
        task,
        passing=dict([*others, (command, most)][-COMMANDS:]),
        soft_rounds=0 if gets_on else task.soft_rounds,
    )


def _watch_round(task: Task) -> Task:
    """The round is over: does the work still move?"""
    watch, signal = observe_round(task.watch, Turn(task.text, task.acts), task.rules.stuck)
    return replace(task, watch=watch, signal=signal, acts=())


def _apply_signal_raised(task: Task, event: e.SignalRaised, at: float) -> Task:
    return replace(task, signal=None, watch=reset_watch(task.watch))


def _apply_escalated(task: Task, event: e.Escalated, at: float) -> Task:
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


def _apply_helper_answered(task: Task, event: e.HelperAnswered, at: float) -> Task:
    cost = Spend().called(event.usage, event.cost, event.seconds).plus(Spend(rounds=1))
    examining = task.examining.plus(cost) if event.helper in EXAMINERS else task.examining
    return replace(task, answered=event.text, spend=task.spend.plus(cost), examining=examining)


def _apply_helper_failed(task: Task, event: e.HelperFailed, at: float) -> Task:
    return replace(task, spend=_charge_failure(task.spend, event))


def _apply_compacted(task: Task, event: e.Compacted, at: float) -> Task:
    """What was read before is no longer visible: reading it again is no loop."""
    attempt = _get_attempt(task)
    # The provider may count more (it sees the tools too) or less than the estimate; what is left is the careful guess.
    saved = (event.before - event.after) * min(attempt.used, event.before) // max(event.before, 1)
    smaller = replace(
        attempt,
        messages=compact_messages(attempt.messages, event.at, event.summary),
        used=attempt.used - saved,
        compacted=True,
        exceeded="",
        useless=count_useless(attempt.useless, attempt.used, attempt.used - saved),
    )
    return replace(task, attempt=smaller, watch=reset_watch(task.watch))


def _apply_reported(task: Task, event: e.Reported, at: float) -> Task:
    return replace(task, report=event.text)


def _apply_person_answered(task: Task, event: e.PersonAnswered, at: float) -> Task:
    """An answer goes to whoever works on it next: a fresh agent, or for steps that cannot continue, the planner."""
    task = replace(task, question="", heard=max(task.heard, event.said))
    if not event.text:
        return replace(task, rung=None)
    told = replace(task, notes=(*task.notes, Note("decision", quote_person(event.text)))[-task.rules.notes :])
    if task.trouble is not None and task.trouble.cause == "children":
        return replace(told, rung=None, hinted=True)
    return replace(
        clear_trouble(told), attempt=None, claim=None, waiting=(), signal=None, faulty="", faults=0, repairs=0
    )


def _apply_note_kept(task: Task, event: e.NoteKept, at: float) -> Task:
    note = Note(event.kind, event.text)
    others = tuple(kept for kept in task.notes if kept != note)  # Said again, it is news again, and once is enough.
    return replace(task, notes=(*others, note)[-task.rules.notes :])


def _apply_done_claimed(task: Task, event: e.DoneClaimed, at: float) -> Task:
    return replace(task, claim=event.summary, split=())


def _apply_workspace_restored(task: Task, event: e.WorkspaceRestored, at: float) -> Task:
    return replace(task, tree=event.tree)


def _apply_check_finished(task: Task, event: e.CheckFinished, at: float) -> Task:
    seconds = event.verdict.seconds
    return replace(
        task,
        judged=True,
        verdict=event.verdict,
        best=event.verdict if _is_no_worse(event.verdict, task.best) else task.best,
        actions=task.actions
        + (task.verdict is not None and _count_failing(task.verdict) != _count_failing(event.verdict)),
        tree=event.verdict.tree or task.tree,
        spend=task.spend.plus(Spend(seconds=seconds, check_seconds=seconds)),
    )


def _apply_disputed(task: Task, event: e.Disputed, at: float) -> Task:
    """New evidence: what was decided without it is asked again."""
    disputes = task.disputes | {event.test: event.evidence}
    return replace(task, disputes=disputes, ruled_by_judge=None, ruled_by_person=None, denied=None, found=None)


def _apply_changes_ruled(task: Task, event: e.ChangesRuled, at: float) -> Task:
    return replace(
        task,
        allowed=(*task.allowed, *event.allowed),
        ruled_by_judge=event.tree if event.by == "judge" else task.ruled_by_judge,
        ruled_by_person=event.tree if event.by == "person" else task.ruled_by_person,
        denied=event.tree if event.denied else task.denied,
        found=None if event.denied else task.found,  # The agent is to hear it.
        decided=_describe_ruling(event) or task.decided,
        verdict=event.verdict or task.verdict,
        judged=task.judged or event.verdict is not None,
    )


def _describe_ruling(event: e.ChangesRuled) -> str:
    if event.denied:
        return f"The person does not allow it{f': {event.why}' if event.why else '.'}"
    return f"The judge says: {event.why}" if event.by == "judge" and event.why else ""


def _apply_finding_returned(task: Task, event: e.FindingReturned, at: float) -> Task:
    return replace(_add_message(task, Said(event.text)), claim=None, findings=task.findings + 1, found=task.tree)


def _count_failing(verdict: Verdict) -> tuple[int, frozenset[str]]:
    return verdict.failed, frozenset(failure.id for failure in verdict.failures)


def _is_no_worse(verdict: Verdict, best: Verdict | None) -> bool:
    return verdict.ruling == "failed" and (best is None or verdict.failed <= best.failed)


def _apply_checkpoint_made(task: Task, event: e.CheckpointMade, at: float) -> Task:
    return replace(task, commit=event.commit, tree=event.tree, files=event.files)


def _apply_task_halted(task: Task, event: e.TaskHalted, at: float) -> Task:
    return replace(task, halt=event, spend=task.spend.plus(Spend(seconds=event.seconds)))


def _apply_task_resumed(task: Task, event: e.TaskResumed, at: float) -> Task:
    if event.check:  # What was said of it by another check no longer counts.
        task = replace(task, step=replace(task.step, test_command=event.check), judged=False)
    if event.accept_failing is not None:
        task = replace(task, rules=replace(task.rules, accept_failing=event.accept_failing), judged=False)
    attempt = task.attempt
    return replace(
        task,
        halt=None,
        # It may be another model now, with a larger window.
        attempt=replace(attempt, exceeded="") if attempt is not None else None,
        windows={},
        # A person has seen that the command was interrupted, and resumes: it may run again.
        ran=None if task.ran is not None and task.ran.interrupted else task.ran,
        limits=event.limits,
        means=event.means,
        grows=event.grows,
        transport_failures=0,
        retry_at=0.0,
        handing_over=False,
        handed_over=False,
    )


def _add_message(task: Task, message: Message) -> Task:
    attempt = _get_attempt(task)
    used = attempt.used + measure_messages((message,))
    pictured = attempt.pictured or (isinstance(message, Result) and message.picture is not None)
    grown = replace(attempt, messages=attempt.messages.then(message), used=used, pictured=pictured)
    return replace(task, attempt=grown)


def _get_attempt(task: Task) -> Attempt:
    assert task.attempt is not None, "a round outside an attempt"
    return task.attempt


_APPLY: dict[type, Apply] = {
    **GROWTH,
    e.TaskCreated: _apply_task_created,
    e.StateChanged: _apply_state_changed,
    e.WorkspaceOpened: _apply_workspace_opened,
    e.AttemptStarted: _apply_attempt_started,
    e.RoundStarted: _apply_round_started,
    e.ModelFailed: _apply_model_failed,
    e.ModelAnswered: _apply_model_answered,
    e.MessageAdded: _apply_message_added,
    e.MessageReceived: _apply_message_received,
    e.QuestionAsked: _apply_question_asked,
    e.ToolStarted: _apply_tool_started,
    e.ToolFinished: _apply_tool_finished,
    e.NoteKept: _apply_note_kept,
    e.SignalRaised: _apply_signal_raised,
    e.Escalated: _apply_escalated,
    e.HelperAnswered: _apply_helper_answered,
    e.HelperFailed: _apply_helper_failed,
    e.Compacted: _apply_compacted,
    e.Reported: _apply_reported,
    e.PersonAnswered: _apply_person_answered,
    e.DoneClaimed: _apply_done_claimed,
    e.WorkspaceRestored: _apply_workspace_restored,
    e.CheckFinished: _apply_check_finished,
    e.Disputed: _apply_disputed,
    e.ChangesRuled: _apply_changes_ruled,
    e.FindingReturned: _apply_finding_returned,
    e.CheckpointMade: _apply_checkpoint_made,
    e.TaskHalted: _apply_task_halted,
    e.TaskResumed: _apply_task_resumed,
}
