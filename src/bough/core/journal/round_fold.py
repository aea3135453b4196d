"""Fold the events of an agent's rounds: the conversation, the model's answers and the tools' results."""

from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Spend
from bough.core.conversation.compaction import compact_messages, count_useless, is_due, measure_messages
from bough.core.conversation.persistent_list import PersistentList
from bough.core.journal.fold_changes import Apply, add_message, change, charge, clear_trouble, count_tactic, get_attempt
from bough.core.messages import Call, Message, ModelMessage, Picture, Result, Usage, UserMessage
from bough.core.stuck.marks import hash_text
from bough.core.stuck.patterns import StuckMemory, observe_round, reset_memory
from bough.core.stuck.signals import Act, Turn
from bough.core.tree.task import Attempt, Task

PERSON = "person"
"""The prompt template for a person's message to an agent."""
LESS = 0.9
"""The assumed window, as a share of the conversation that was refused for its length, if the provider names none."""
COMMANDS = 8
"""The number of test commands whose results are remembered."""


def _apply_attempt_started(task: Task, event: e.AttemptStarted) -> Task:
    number = task.progress.attempts + 1
    messages: PersistentList[Message] = PersistentList((UserMessage(event.brief),))
    rung = task.ladder.rung.rung if task.ladder.rung else None
    # If escalation restarts a stuck agent, this counts as the same repair, not as a new one.
    repairs = event.role == "bug_hunter" and rung is None
    acceptance, spare = task.acceptance, bool(task.ladder.spare) and rung == "attempts"
    # If the check passes, this is a repair of what probes show.
    shown = repairs and acceptance.verdict is not None and acceptance.failing is None
    return change(
        clear_trouble(task),
        attempt=Attempt(
            number,
            event.role,
            event.tier,
            event.system,
            messages,
            used=measure_messages((UserMessage(event.system), *messages)),
            protocol=event.protocol,
            may_change=event.may_change,
            agent=event.agent,
            tactic=event.tactic,
        ),
        models={
            "tier": event.tier if rung == "stronger_model" else task.models.tier,
            "transport_failures": 0,
            "protocols": task.models.protocols | ({event.tier: event.protocol} if event.may_change else {}),
        },
        # An attempt with a spare answer counts no new tactic; any other attempt discards the spare answers.
        ladder={} if spare else {"tactics": count_tactic(task.ladder.tactics, event.tactic), "spare": ()},
        round={"asking": False, "waiting": (), "faulty": "", "faults": 0},
        progress={"attempts": number, "memory": StuckMemory(), "signal": None, "nudged": frozenset()},
        plan={"split": ()},
        acceptance={
            "claim": None,
            "repairs": acceptance.repairs + repairs,
            "probe_repairs": acceptance.probe_repairs + shown,
            "asked_for_test": acceptance.asked_for_test or event.role == "test_writer",
        },
    )


def _apply_round_started(task: Task, event: e.RoundStarted) -> Task:
    again = task.round.asking
    task = replace(task, round=replace(task.round, asking=True, last=event.last))
    if again:  # A call repeated after a failure or a crash belongs to the same round.
        return task
    attempt = get_attempt(task)
    return replace(
        charge(task, Spend(rounds=1)),
        attempt=replace(attempt, rounds=attempt.rounds + 1),
        ladder=replace(task.ladder, soft_rounds=task.ladder.soft_rounds + 1),
    )


def _apply_model_failed(task: Task, event: e.ModelFailed) -> Task:
    task = charge_failure(task, event)
    if event.too_long:
        # If the refusal does not name the limit, assume less than the current size.
        attempt = get_attempt(task)
        window = event.window or int(attempt.used * LESS)
        full = {"window": window, "used": max(attempt.used, window), "exceeded": event.message}
        return change(task, attempt=full, models={"windows": task.models.windows | {attempt.tier: window}})
    failures = task.models.transport_failures + 1
    again = {"transport_failures": failures, "retry_at": task.at + event.wait, "retry_wait": event.wait}
    return change(task, models=again)


def _apply_model_switched(task: Task, event: e.ModelSwitched) -> Task:
    """Switch the model: forget what is known about the previous one, and use the window of the new one."""
    known = task.models
    names = ("calling", "protocols", "serving", "windows")
    kept = {name: {tier: at for tier, at in getattr(known, name).items() if tier != event.tier} for name in names}
    if event.to != event.tier:
        kept["serving"][event.tier] = event.to
    until = min(filter(None, (known.quota_until, event.until)), default=0.0)
    task = replace(task, models=replace(known, **kept, quota_until=until, transport_failures=0, retry_at=0.0))
    attempt = task.attempt
    if attempt is None or attempt.tier != event.tier:
        return task
    if event.restarts and task.round.asking:
        budget = replace(task.budget, spend=task.budget.spend.minus(Spend(rounds=1)))
        return replace(task, budget=budget, round=replace(task.round, asking=False))
    full = is_due(attempt.used, event.window, task.rules.compaction)
    said = f"the conversation is too long for {event.model}" if full else ""
    attempt = replace(attempt, window=event.window, may_change=event.may_change, exceeded=said)
    return replace(task, attempt=attempt)


def charge_failure(task: Task, event: e.ModelFailed | e.HelperFailed) -> Task:
    """Charge the task for a failed call: the part of the answer that arrived is paid for."""
    if event.usage == Usage():
        return charge(task, Spend(seconds=event.seconds))
    return replace(task, budget=replace(task.budget, spend=task.budget.spend.called(event.usage, None, event.seconds)))


def _apply_model_answered(task: Task, event: e.ModelAnswered) -> Task:
    faulty = _find_fault(event)
    task = add_message(_measure_window(task, event), ModelMessage(event.text, event.calls, event.extra))
    task = replace(
        task,
        round=replace(
            task.round,
            asking=False,
            handed_over=task.round.last,
            text=event.text,
            waiting=event.calls,
            acts=(),
            faulty=faulty,
            faults=task.round.faults + 1 if faulty else task.round.faults,
            empty=task.round.empty + 1 if faulty == "empty_answer" else 0,
        ),
        models=replace(task.models, transport_failures=0, retry_at=0.0),
    )
    if event.spare:  # A spare answer came with an earlier question, so using it is no new round.
        attempt, spare = get_attempt(task), task.ladder.spare[1:]
        task = replace(task, attempt=replace(attempt, rounds=1), ladder=replace(task.ladder, spare=spare))
    else:
        spend = task.budget.spend.called(event.usage, event.cost, event.seconds)
        task = replace(task, budget=replace(task.budget, spend=spend), ladder=replace(task.ladder, spare=event.others))
    return task if event.calls else _watch_round(_count_calling(task, usable=False))


def _measure_window(task: Task, event: e.ModelAnswered) -> Task:
    attempt = get_attempt(task)
    used = event.usage.input or attempt.used
    known = [window for window in (event.window, task.models.windows.get(attempt.tier, 0)) if window]
    window = min(known, default=0 if attempt.protocol == "agent" else task.rules.compaction.unknown_window)
    return replace(task, attempt=replace(attempt, window=window, used=used, compacted=False, exceeded=""))


def _find_fault(event: e.ModelAnswered) -> str:
    """Return the prompt template about the fault in the agent's answer, if any."""
    if event.stop == "refusal":
        return "refused"
    if event.stop == "length" and not event.calls:
        return "cut_short"
    return "" if event.calls else "no_tool_call" if event.text.strip() else "empty_answer"


def _apply_message_added(task: Task, event: e.MessageAdded) -> Task:
    # Messages of these kinds are not about the fault in the agent's last answer, so that is still to be reported.
    faulty = task.round.faulty if event.why in ("nudge", "take_stock", "base", PERSON) else ""
    handing_over = task.round.handing_over or event.why == "hand_over"
    task = clear_trouble(task) if task.ladder.rung is not None and task.ladder.rung.rung == "nudge" else task
    if event.why == PERSON:  # The agent claimed to be done without knowing this message.
        task = change(task, talk={"unheard": ()}, acceptance={"claim": None}, plan={"split": ()})
    task = add_message(task, UserMessage(event.text))
    return replace(task, round=replace(task.round, faulty=faulty, handing_over=handing_over))


def _apply_tool_started(task: Task, event: e.ToolStarted) -> Task:
    now = task.round
    call = next(call for call in now.waiting if call.id == event.call)
    return replace(
        task,
        round=replace(
            now,
            waiting=tuple(c for c in now.waiting if c is not call),
            started=(*now.started, call),
            started_writes=now.started_writes or event.writes,
        ),
    )


def _apply_tool_finished(task: Task, event: e.ToolFinished) -> Task:
    now = task.round
    call = next(call for call in now.started if call.id == event.call)
    started = tuple(other for other in now.started if other is not call)
    settled = not started and not now.waiting
    tree = event.tree or task.tree
    act = Act(call.name, call.arguments, event.output, event.ok, bool(event.tree), tree)
    # A call that was interrupted because the process died says nothing about the work.
    acts = now.acts if event.interrupted else (*now.acts, act)
    picture = Picture(event.image, event.blob) if event.image else None
    task = add_message(task, Result(event.call, event.output, event.ok, picture))
    task = _note_progress(task, call, event.passed) if event.passed is not None else task
    if tree != task.tree and task.attempt is not None:
        # This attempt has changed files, which shows that its model can act (`fruitless_rounds`); mere calls do not.
        task = replace(task, attempt=replace(task.attempt, changed=True))
    task = replace(
        charge(task, Spend(seconds=event.seconds)),
        tree=tree,
        round=replace(
            now,
            started=started,
            started_writes=now.started_writes and bool(started),
            acts=acts,
            # One usable call in the round is enough to show that the agent can act.
            faults=now.faults + (settled and event.fault) if event.fault else 0,
        ),
        progress=replace(task.progress, actions=task.progress.actions + (tree != task.tree)),
    )
    task = _count_calling(task, usable=not task.round.faults) if settled and not event.interrupted else task
    return _watch_round(task) if settled and acts else task


def _count_calling(task: Task, *, usable: bool) -> Task:
    attempt = get_attempt(task)
    if attempt.protocol != "tools":
        return task
    count = task.models.calling.get(attempt.tier, 0) + (1 if usable else -1)
    return replace(task, models=replace(task.models, calling=task.models.calling | {attempt.tier: count}))


def _note_progress(task: Task, call: Call, passed: int) -> Task:
    """Note that more tests pass in one of the agent's own test commands than ever before: then the work is not split,
    however long it takes. The number of tests bounds how often that can happen."""
    command = hash_text(call.arguments)
    before = task.progress.passing.get(command)
    most = passed if before is None else max(passed, before)
    others = [(other, count) for other, count in task.progress.passing.items() if other != command]
    gets_on = before is not None and passed > before
    return replace(
        task,
        progress=replace(task.progress, passing=dict([*others, (command, most)][-COMMANDS:])),
        ladder=replace(task.ladder, soft_rounds=0) if gets_on else task.ladder,
    )


def _watch_round(task: Task) -> Task:
    memory, signal = observe_round(task.progress.memory, Turn(task.round.text, task.round.acts), task.rules.stuck)
    return change(task, progress={"memory": memory, "signal": signal}, round={"acts": ()})


def _apply_compacted(task: Task, event: e.Compacted) -> Task:
    """Compact the conversation. Earlier reads are no longer visible: reading again is not a loop."""
    attempt = get_attempt(task)
    # The provider may count more than the estimate (it sees the tools too) or less; take the careful value.
    saved = (event.before - event.after) * min(attempt.used, event.before) // max(event.before, 1)
    smaller = {
        "messages": compact_messages(attempt.messages, event.at, event.summary),
        "used": attempt.used - saved,
        "compacted": True,
        "exceeded": "",
        "useless": count_useless(attempt.useless, attempt.used, attempt.used - saved),
    }
    return change(task, attempt=smaller, progress={"memory": reset_memory(task.progress.memory)})


ROUND_EVENTS: dict[type, Apply] = {
    e.AttemptStarted: _apply_attempt_started,
    e.RoundStarted: _apply_round_started,
    e.ModelFailed: _apply_model_failed,
    e.ModelSwitched: _apply_model_switched,
    e.ModelAnswered: _apply_model_answered,
    e.MessageAdded: _apply_message_added,
    e.ToolStarted: _apply_tool_started,
    e.ToolFinished: _apply_tool_finished,
    e.Compacted: _apply_compacted,
}
