"""Decide what a task needs next, by a list of priorities read from top to bottom. The journal alone decides."""

from msgspec.structs import replace

from bough.core import commands as c
from bough.core.acceptance import changed_tests, examination
from bough.core.acceptance.requirements import speaks_of
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import LAST_SHARE, Spend, describe_spent, find_reached_limit
from bough.core.conversation.compaction import is_due
from bough.core.events import ChildSettled, ExaminationSkipped
from bough.core.ids import GOAL, depth
from bough.core.ladder.escalation import ASKING, EMPTY, PROTOCOL, SWITCHES, Cause, Trouble, escalate
from bough.core.planning.plan import Step, Tier
from bough.core.stuck.signals import Signal
from bough.core.textual.spelling import shorten_line
from bough.core.tree.next_moves import find_fatal_step, has_succeeded, list_unsuccessful
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow import control_flow
from bough.core.workflow.keys import classify_step

IN_VAIN = 4
"""How many further attempts in text without a usable answer a model of unknown abilities makes before it gets tools."""
EMPTY_ANSWERS = 3
"""Empty answers in a row after which a task no longer asks its model."""
COMPACTION = "compaction"
"""The pattern of work that is stuck because compacting does not make its conversation shorter."""


def decide(task: Task, now: float) -> c.Command:
    if task.state is State.PENDING:
        return c.OpenWorkspace()
    # Before everything else: handle an effect that was begun and not finished (a kill), or it would be done twice.
    if task.round.started:
        return c.Recover(task.round.started)
    if task.outcome.commanding is not None:
        return c.RecoverCommand()
    # A chosen rung is recorded before it is taken. After a kill it is taken, not chosen again.
    if task.ladder.rung is not None:
        limit = _find_spent_limit(task)
        if limit and task.ladder.rung.rung in ASKING:
            return c.Rest("budget", describe_spent(task.id, limit))
        return c.Climb(task.ladder.rung)
    if task.ladder.trouble is not None:
        return _escalate(task, task.ladder.trouble)
    if task.state is State.TESTING:
        return _judge(task)
    if task.state is State.TEST_FAILED:
        return _repair(task)
    if task.round.waiting:
        return c.RunTools(task.round.waiting)
    if task.gathering:
        return _gather(task)
    if task.step.given:
        return c.ChangeState(State.TESTING, "the change is there")
    if is_agentless(task.step):
        return decide_agentless(task)
    if task.attempt is None and task.step.plan_first and not task.plan.leaf:
        return _decide_plan(task)
    if task.attempt is None:
        return c.StartAttempt(task.step.role, _choose_tier(task))
    if _has_unheard_message(task) and (task.acceptance.claim is not None or task.plan.split):
        return c.Relay()
    if task.acceptance.claim is not None:
        return c.ChangeState(State.TESTING, "the agent says it is done")
    return c.Split(task.plan.split) if task.plan.split else _continue_work(task, now)


def _continue_work(task: Task, now: float) -> c.Command:
    """Decide whether the agent at work may continue, and whether there is a message for it first."""
    if fruitless := _find_fruitless_way(task):
        return _escalate(task, fruitless)
    if task.round.faults >= task.rules.max_faults:
        kind = task.round.faulty.replace("_", " ") or "wrong tool calls"
        says = f"the model gave {task.round.faults} unusable answers in a row ({kind})"
        return _escalate(task, Trouble("faults", says, recommended="prune"))
    if task.models.transport_failures >= task.rules.max_transport_failures:
        return c.Rest("unavailable", f"the model was unreachable {task.models.transport_failures} times in a row")
    # A round whose answer never came (a crash, a failed call) is asked again: it is paid for, and not finished.
    again = task.round.asking
    spend = task.budget.spend.minus(Spend(rounds=1)) if again else task.budget.spend
    if task.takes_spare:  # The last question's answer already paid for the spare one.
        spend = Spend(seconds=spend.seconds)
    # An agent that acts in text has no hand-over: every answer that changes something is checked immediately.
    limit = find_reached_limit(spend, task.budget.limits, 1.0 if task.in_text else LAST_SHARE)
    if limit and (task.budget.grows or task.round.handed_over or find_reached_limit(spend, task.budget.limits)):
        return c.Rest("budget", describe_spent(task.id, limit))
    if _has_unheard_message(task):
        return c.Relay()
    # The last round is only for the hand-over, so nothing new is tried in it.
    if not limit and not again and (signal := task.progress.signal or _check_soft_limit(task)):
        cause: Cause = "soft_limit" if signal.pattern in ("max_rounds", "subtask_max_rounds") else "signal"
        trouble = Trouble(cause, signal.diagnosis, signal.pattern, signal.recommended, signal.evidence)
        return c.Escalate(escalate(task.situation(trouble)), trouble, signal)
    if _is_too_long(task):
        if task.attempt is not None and task.attempt.exceeded and len(task.attempt.messages) == 1:
            return c.Rest("unavailable", task.attempt.exceeded)  # Nothing can be removed from the conversation.
        in_vain = _find_compaction_trouble(task)
        if in_vain is None:
            return c.Compact()
        if not limit:
            return _escalate(task, in_vain)
        if task.attempt is not None and task.attempt.exceeded:
            return c.Rest("unavailable", task.attempt.exceeded)
    if task.round.faulty:
        return c.Say(task.round.faulty)
    # One round is reserved for the hand-over: otherwise the agent's knowledge is lost to the next one.
    if limit and not task.round.handing_over and not task.outside:  # An agent with its own tools is simply cut off.
        return c.Say("hand_over")
    return c.AskModel(max(0.0, min(task.models.retry_at - now, task.models.retry_wait)), last=limit is not None)


def _find_spent_limit(task: Task) -> str | None:
    """Return the limit that is reached, if any. An answer that is already paid for costs only time."""
    spend = task.budget.spend
    return find_reached_limit(Spend(seconds=spend.seconds) if task.ladder.spare else spend, task.budget.limits)


def _has_unheard_message(task: Task) -> bool:
    """Whether a person's message has not reached the agent, and a round is left for it to act on."""
    return (
        bool(task.talk.unheard)
        and task.attempt is not None
        and not find_reached_limit(task.budget.spend, task.budget.limits, LAST_SHARE)
    )


def _find_fruitless_way(task: Task) -> Trouble | None:
    """Return the trouble if a model brings no results in its protocol. A model that acts in text gets another attempt,
    and tools if no answer was usable; a model that calls tools acts in text if most of its answers were unusable."""
    ladder, attempt = task.rules.ladder, task.attempt
    if attempt is None or task.round.asking:
        return None
    if task.round.empty >= EMPTY_ANSWERS and not task.outside:
        says = f"the model gave {task.round.empty} empty answers in a row"
        return Trouble("faults", says, EMPTY)
    # The ladder may switch the protocol: it is unknown which one suits the model, and not both were tried.
    switch = attempt.may_change and "other_protocol" in ladder.rungs
    switch = switch and task.ladder.taken.get("other_protocol", 0) < SWITCHES
    if not task.in_text:
        # Only unusable answers count here: reading is work, too, and rounds without a change are left to the stuck
        # detector. One is enough if the model got tools because acting in text failed.
        most = 1 if task.ladder.taken.get("other_protocol") else ladder.other_protocol_after
        unfit = switch and task.round.faults >= most and task.models.calling.get(attempt.tier, 0) < 0
        says = "the model answered without a usable tool call"
        return Trouble("faults", says, PROTOCOL, "prune") if unfit else None
    again = task.situation(Trouble("faults", "")).may_try_again
    if again:
        switch = switch and task.acceptance.failing is None and task.ladder.taken.get("attempts", 0) >= IN_VAIN
    if task.round.faults >= 1 + (attempt.rounds > 1):  # An agent that has used blocks before may forget one once.
        says = "the model answered without a usable block"
    elif attempt.rounds >= ladder.fruitless_rounds and not attempt.changed:
        says = f"the model changed no file in {attempt.rounds} rounds"
    else:
        return None
    return Trouble("faults", says, PROTOCOL if switch else "", "prune") if switch or again else None


def _is_too_long(task: Task) -> bool:
    """Whether the conversation is about to fill the model's window, or was refused for its length. A round in progress
    finishes as it began, and between two compactions the model answers once: only its next answer shows what the first
    compaction achieved."""
    attempt = task.attempt
    if attempt is not None and attempt.exceeded:
        return True
    if attempt is None or attempt.compacted or task.round.asking:
        return False
    return is_due(attempt.used, attempt.window, task.rules.compaction)


def _find_compaction_trouble(task: Task) -> Trouble | None:
    attempt, rules = task.attempt, task.rules.compaction
    if attempt is None or attempt.useless < rules.breaker:
        return None
    says = f"{rules.breaker} compactions in a row left the conversation too long for the model's window"
    full = f"about {attempt.used:,} of {attempt.window:,} tokens are in use"
    return Trouble("signal", says, COMPACTION, "prune", (full,))


def _escalate(task: Task, trouble: Trouble) -> c.Command:
    situation = task.situation(trouble)
    if trouble.pattern == COMPACTION:  # No message to the agent makes its conversation shorter.
        situation = replace(situation, nudged=situation.nudged | {COMPACTION})
    return c.Escalate(escalate(situation), trouble)


def _check_soft_limit(task: Task) -> Signal | None:
    """Return a signal at the soft limit of rounds. Its counter restarts after a rung; the hard budget never does."""
    subtask = depth(task.id) > 1
    limit = task.rules.ladder.subtask_rounds if subtask else task.rules.ladder.task_rounds
    if task.ladder.soft_rounds < limit:
        return None
    pattern = "subtask_max_rounds" if subtask else "max_rounds"
    return Signal(pattern, 1.0, f"it is not done after {limit} rounds", "decompose")  # type: ignore[arg-type]


def _choose_tier(task: Task) -> Tier:
    return task.models.tier or task.step.model


def _decide_plan(task: Task) -> c.Command:
    if limit := find_reached_limit(task.budget.spend, task.budget.limits):
        return c.Rest("budget", describe_spent(task.id, limit))
    if depth(task.id) == 0 and task.plan.estimate is None:
        return c.Estimate()
    return c.Agree() if task.plan.proposed and not task.plan.wish else c.MakePlan()


def _gather(task: Task) -> c.Command:
    """Conclude a task whose smaller steps have all ended. A failing child prevents completion."""
    if child := find_fatal_step(task):
        return c.Conclude(State.FAILED, f"its step {_describe_end(child)}")
    if has_succeeded(task):
        if task.step.summarize and not task.outcome.summarized:
            return c.Summarise()
        count, of = sum(one.state is State.COMPLETED for one in task.children.settled.values()), len(task.plan.steps)
        said = f"all {count} steps are completed" if count == of else f"{count} of {of} steps are completed"
        how = control_flow.describe_passes(task)
        return c.ChangeState(State.TESTING, f"{said}, {how}" if how else said)
    if limit := find_reached_limit(task.budget.spend, task.budget.limits):
        return c.Rest("budget", describe_spent(task.id, limit))
    said = "; ".join(map(_describe_end, list_unsuccessful(task)))
    return _escalate(task, Trouble("children", f"its steps cannot continue: {said}"))


def _describe_end(child: ChildSettled) -> str:
    how = "failed" if child.state is State.FAILED else f"is {child.state}"
    return f"{child.child} {how}: {child.why}"


def _judge(task: Task) -> c.Command:
    """While `testing`, run the check on the current tree, then follow its verdict."""
    verdict = task.acceptance.verdict
    # An agent that defends its work after a finding has changed nothing: the verdict on that tree is known.
    stands = verdict is not None and verdict.finding and task.acceptance.findings > 0 and verdict.tree == task.tree
    if verdict is None or not (task.acceptance.judged or stands):
        # A small model often gives the same answer again: if its files have failed before, no check is needed.
        again = task.in_text and task.tree in task.acceptance.refuted
        return c.ChangeState(State.TEST_FAILED, "the same files have failed before") if again else c.RunCheck()
    if verdict.ruling == "passed" and _has_unheard_message(task):
        return c.Relay()
    # A written plan may change nothing on purpose; agents who worked on a goal may not.
    unchanged = task.id == GOAL and task.tree == task.base and bool(verdict.command)
    if verdict.ruling == "passed" and unchanged and classify_step(task.step) == "agent":
        return c.Conclude(State.BLOCKED, "no file changed, so the passing check proves nothing")
    if verdict.ruling == "passed":
        return examination.decide_examination(task) or examination.conclude_work(task, verdict.reason)
    if verdict.ruling == "needs_approval":
        decided = changed_tests.decide_approval(task)
        # Before a person is asked about somebody else's change, examine it, so that they see what its cases show.
        asks = isinstance(decided, c.Rest) or decided == c.RuleOnChanges("person")
        return (examination.decide_examination(task) if asks and task.step.given else None) or decided
    if verdict.finding and changed_tests.may_answer(task):
        return c.ReturnFinding()
    # Conclude, because no agent is there (or left) to write a test, to answer a finding or to make the check end.
    unshown = verdict.ruling == "not_verified" or verdict.finding or verdict.exit_status is None
    if (task.step.given and unshown) or (verdict.ruling == "not_verified" and task.acceptance.asked_for_test):
        return c.Conclude(State.BLOCKED, verdict.reason)
    if older := _name_older_failures(task, verdict):
        return c.Conclude(State.BLOCKED, older)
    return c.ChangeState(State.TEST_FAILED, verdict.reason)


def _name_older_failures(task: Task, verdict: Verdict) -> str:
    """Explain why nobody repairs the remaining failures: they are older than the work, and the goal is not about them.
    Empty if they have to be repaired."""
    failures = verdict.failures
    known = len(failures) == verdict.failed and all(one.kind == "pre-existing" for one in failures)
    if task.id != GOAL or task.step.test_command or not (failures and known and verdict.passed):
        return ""
    if speaks_of(task.step.instructions, (f"{one.id}\n{one.text}" for one in failures)):
        return ""
    named = ", ".join(one.id for one in failures)
    return (
        f"nothing new fails; these failed before the work, too, and the goal does not mention them: {named}; "
        "`bough verify --accept-failing` takes the work as it is"
    )


def _repair(task: Task) -> c.Command:
    """Start a fresh agent after `test_failed`, up to the limit; a repair that made more tests fail is rolled back
    first."""
    verdict, best = task.acceptance.verdict, task.acceptance.best
    if is_agentless(task.step):
        return c.Conclude(State.FAILED, verdict.reason if verdict else task.why)
    if task.step.given:
        return c.Conclude(State.FAILED, task.why)
    if verdict and verdict.ruling == "passed":
        # The check passes and a probe fails: the work does not meet the goal.
        if task.acceptance.probe_repairs >= examination.REPAIRS:
            what = "; ".join(probe.says for probe in examination.list_failing_probes(task))
            says = f"probes still fail after {task.acceptance.probe_repairs} repairs: {what}"
            return _escalate(task, Trouble("repairs", says))
        return c.StartAttempt(
            "bug_hunter", "strong" if task.acceptance.probe_repairs == examination.REPAIRS - 1 else _choose_tier(task)
        )
    again = Trouble("repairs", f"the check still fails after attempt {task.progress.attempts}")
    if not _find_spent_limit(task) and task.situation(again).may_try_again:
        return _escalate(task, again)
    # Repairs are compared with the best so far, not with the last: two bad ones in a row must not become the new
    # measure.
    if verdict and best and verdict.score < best.score and best.tree != task.tree:
        return c.RollBack(best.tree, f"{verdict.failed} tests failed after the repair, {best.failed} before it")
    if verdict and verdict.ruling == "not_verified":
        return c.StartAttempt("test_writer", _choose_tier(task))
    if list_unsuccessful(task):  # Steps failed, and the check ran in case the work was done all the same.
        return c.Focus()
    ladder, repairs = task.rules.ladder, task.acceptance.repairs - task.acceptance.probe_repairs
    # If the ladder provides further attempts, these are the repairs, and no bug hunter is started.
    most = 0 if task.in_text and "attempts" in ladder.rungs and ladder.attempts > 1 else task.rules.max_repairs
    if repairs >= most:
        return _escalate(task, Trouble("repairs", f"the check still fails after {repairs} repairs"))
    # The last bug hunter uses the strongest model: a failure that survived two of them is hard.
    last = repairs == most - 1 and not task.in_text
    return c.StartAttempt("bug_hunter", "strong" if last else _choose_tier(task))


def is_agentless(step: Step) -> bool:
    return classify_step(step) in ("run", "check", "do") or (step.role == "critic" and not step.steps)


def decide_agentless(task: Task) -> c.Command:
    """Decide the next command of a step without an agent."""
    if task.step.work:
        return c.TakeWork()
    if classify_step(task.step) == "run":
        ran = task.outcome.ran
        if ran is None:
            return c.RunCommand()
        if ran.ok:
            return c.ChangeState(State.TESTING, "its command ended with exit status 0")
        if not ran.interrupted:
            return c.Conclude(State.FAILED, describe_command_end(task))
        if task.step.on_error in ("retry", "skip"):
            return c.Conclude(State.FAILED, "its command was interrupted")
        said = "was interrupted, and its effects outside the workspace are unknown: `bough resume` runs it again"
        return c.Rest("stopped", f"`{shorten_line(task.step.run, 160)}` {said}")
    if task.step.role == "critic":
        return _decide_critic(task)
    return c.ChangeState(State.TESTING, "the step is only a check")


def describe_command_end(task: Task) -> str:
    """Describe how a failed command ended, as a phrase."""
    ran = task.outcome.ran
    assert ran is not None, "no command has run"
    how = f"was killed {ran.killed}" if ran.killed else f"ended with exit status {ran.exit_status}"
    last = next((line.strip() for line in reversed(ran.output.splitlines()) if line.strip()), "")
    return f"its command {how}{f': {shorten_line(last, 160)}' if last else ''}"


def _decide_critic(task: Task) -> c.Command:
    """Decide the next command of a critic (an examination that the plan asks for); failing probes are its findings."""
    asks = task.examination.examined is None or bool(examination.list_open_contests(task))
    if asks and (limit := find_reached_limit(task.budget.spend, task.budget.limits)):
        return c.Rest("budget", describe_spent(task.id, limit))
    if task.examination.examined is None:
        return c.Examine()
    if isinstance(task.examination.examined, ExaminationSkipped):
        return c.Conclude(State.FAILED, f"the critic gave no review: {task.examination.examined.why}")
    if examination.live(task) and task.examination.probed != task.tree:
        return c.RunProbes()
    if examination.list_open_contests(task):
        return c.Rule()
    count, of = len(examination.list_failing_probes(task)), len(examination.live(task))
    return c.ChangeState(State.TESTING, f"{count} of the critic's {of} probes fail")
