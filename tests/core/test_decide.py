"""The priorities of `decide`, one situation a test."""

from msgspec.structs import replace

from bough.core import commands as c
from bough.core.acceptance.verdict import Disagreement, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.conversation.persistent_list import PersistentList
from bough.core.decide import decide
from bough.core.events import ChildSettled, TaskHalted
from bough.core.ladder.escalation import Decision, LadderRules, Trouble
from bough.core.messages import Call, Message, UserMessage
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree.next_moves import Begin, is_over, list_moves
from bough.core.tree.task import Attempt, Task
from bough.core.tree.task_state import State
from tests.core.tasks import change

MESSAGES: PersistentList[Message] = PersistentList((UserMessage("brief"),))
WORKING = Task("goal", state=State.IN_PROGRESS, attempt=Attempt(1, "builder", "main", "system", MESSAGES))
CALL = Call("1", "bash", '{"command": "ls"}')


def test_a_new_task_gets_its_workspace_then_a_builder() -> None:
    assert decide(Task("goal"), 0) == c.OpenWorkspace()
    assert decide(change(WORKING, attempt=None), 0) == c.StartAttempt("builder", "main")


def test_interrupted_calls_come_before_everything_else() -> None:
    task = change(WORKING, started=(CALL,), waiting=(CALL,), claim="done", faults=99)
    assert decide(task, 0) == c.Recover((CALL,))


def test_waiting_calls_run_before_a_claim_counts() -> None:
    assert decide(change(WORKING, waiting=(CALL,), claim="done"), 0) == c.RunTools((CALL,))


def test_a_claim_leads_to_testing_and_never_further() -> None:
    assert decide(change(WORKING, claim="it works"), 0) == c.ChangeState(State.TESTING, "the agent says it is done")


def test_testing_runs_the_check_until_it_has_judged_this_claim() -> None:
    old = Verdict("failed", "exit 1", tree="t")
    assert decide(change(WORKING, state=State.TESTING, verdict=old, judged=False, tree="t"), 0) == c.RunCheck()


def test_the_verdict_decides() -> None:
    def after(verdict: Verdict) -> c.Command:
        return decide(change(WORKING, state=State.TESTING, verdict=verdict, judged=True), 0)

    assert after(Verdict("passed", "ok")) == c.Conclude(State.COMPLETED, "ok")
    found = (Disagreement("test_a", now="2"),)
    assert after(Verdict("needs_approval", "no", disagreements=found)) == c.RuleOnChanges("judge")
    assert after(Verdict("failed", "exit 1")) == c.ChangeState(State.TEST_FAILED, "exit 1")


def test_without_a_check_a_test_is_written_once_then_it_is_not_verified() -> None:
    none = Verdict("not_verified", "no check")
    testing = change(WORKING, state=State.TESTING, verdict=none, judged=True)
    assert decide(testing, 0) == c.ChangeState(State.TEST_FAILED, "no check")
    assert decide(change(testing, state=State.TEST_FAILED), 0) == c.StartAttempt("test_writer", "main")
    assert decide(change(testing, asked_for_test=True), 0) == c.Conclude(State.BLOCKED, "no check")


def test_a_repair_that_makes_more_tests_fail_is_rolled_back_before_the_next() -> None:
    best, worse = Verdict("failed", "", failed=1, tree="a"), Verdict("failed", "", failed=3, tree="b")
    failed = change(WORKING, state=State.TEST_FAILED, verdict=worse, best=best, tree="b", repairs=1)
    assert decide(failed, 0) == c.RollBack("a", "3 tests failed after the repair, 1 before it")
    assert decide(change(failed, tree="a"), 0) == c.StartAttempt("bug_hunter", "main")


def test_a_parent_gathers_its_steps_and_is_never_completed_over_a_failing_one() -> None:
    parent = change(WORKING, attempt=None, steps=(Step("a", "a"), Step("b", "b")))
    assert parent.gathering
    fine = ChildSettled("a", State.COMPLETED, "ok", "tree", Spend())
    bad = ChildSettled("b", State.FAILED, "the check still fails", "tree", Spend())
    assert list_moves(parent) == [Begin(Step("a", "a"), "a")]
    assert list_moves(change(parent, settled={"a": fine})) == [Begin(Step("b", "b"), "b")]
    both = change(parent, settled={"a": fine, "b": bad})
    assert is_over(both)
    assert decide(both, 0) == c.Conclude(State.FAILED, "its step b failed: the check still fails")
    well = change(parent, settled={"a": fine, "b": replace(bad, state=State.COMPLETED)})
    assert decide(well, 0) == c.ChangeState(State.TESTING, "all 2 steps are completed")


def test_three_bug_hunters_the_last_of_them_strong_then_the_end() -> None:
    failed = change(WORKING, state=State.TEST_FAILED)
    got = [decide(change(failed, repairs=n), 0) for n in range(4)]
    assert got[:3] == [
        c.StartAttempt("bug_hunter", "main"),
        c.StartAttempt("bug_hunter", "main"),
        c.StartAttempt("bug_hunter", "strong"),
    ]
    assert isinstance(got[3], c.Escalate)
    assert got[3].trouble == Trouble("repairs", "the check still fails after 3 repairs")


def test_unusable_answers_are_bounded_and_told() -> None:
    assert decide(change(WORKING, faulty="no_tool_call", faults=1), 0) == c.Say("no_tool_call")
    says = "the model gave 5 unusable answers in a row (no tool call)"
    lost = change(WORKING, faulty="no_tool_call", faults=5)
    afresh, given_up = decide(lost, 0), decide(change(lost, taken={"prune": 1}), 0)
    assert isinstance(afresh, c.Escalate)
    assert isinstance(given_up, c.Escalate)
    assert afresh.trouble == Trouble("faults", says, recommended="prune")
    assert [afresh.decision.rung, given_up.decision.rung] == ["prune", "give_up"]


def test_transport_errors_wait_then_halt_and_are_never_failure() -> None:
    waiting = change(WORKING, transport_failures=1, retry_at=10.0, retry_wait=4.0)
    assert decide(waiting, 7.0) == c.AskModel(3.0, last=False)
    assert decide(waiting, -3600.0) == c.AskModel(4.0, last=False), "a clock that was set back delays nothing"
    halted = decide(change(WORKING, transport_failures=WORKING.rules.max_transport_failures), 0)
    assert isinstance(halted, c.Rest)
    assert halted.reason == "unavailable"


def test_the_last_round_is_announced_then_hand_over_then_the_budget_is_spent() -> None:
    near = change(WORKING, limits=Limits(rounds=3), spend=Spend(rounds=2))
    assert decide(near, 0) == c.Say("hand_over")
    assert decide(change(near, handing_over=True), 0) == c.AskModel(0.0, last=True)
    spent = decide(change(near, handing_over=True, spend=Spend(rounds=3)), 0)
    assert spent == c.Rest("budget", "the budget of 3 rounds is spent")


def test_money_time_and_tokens_get_one_hand_over_round_too() -> None:
    for limits in (Limits(tokens=100), Limits(cost=1.0), Limits(minutes=1.0)):
        task = change(WORKING, limits=limits, spend=Spend(tokens_in=96, cost=0.96, seconds=58.0))
        assert decide(task, 0) == c.Say("hand_over")
        assert decide(change(task, handing_over=True), 0) == c.AskModel(0.0, last=True)
        assert isinstance(decide(change(task, handing_over=True, handed_over=True), 0), c.Rest)


def test_otherwise_the_model_is_asked() -> None:
    assert decide(WORKING, 0) == c.AskModel(0.0, last=False)


def test_a_halted_or_settled_task_rests() -> None:
    assert change(WORKING, halt=TaskHalted("stopped", "")).resting
    assert change(WORKING, state=State.FAILED).resting
    assert not WORKING.resting


def test_a_soft_limit_escalates_and_starts_again_after_a_rung() -> None:
    goal = decide(change(WORKING, soft_rounds=16), 0)
    assert isinstance(goal, c.Escalate)
    assert goal.signal is not None
    assert (goal.signal.pattern, goal.decision.rung) == ("max_rounds", "decompose")
    subtask = decide(change(WORKING, id="a/b", soft_rounds=8), 0)
    assert isinstance(subtask, c.Escalate)
    assert subtask.signal is not None
    assert subtask.signal.pattern == "subtask_max_rounds"
    assert decide(change(WORKING, soft_rounds=15), 0) == c.AskModel(0.0, last=False)


def test_a_chosen_rung_is_taken_before_anything_else_is_decided() -> None:
    decision = Decision("prune", "goal", "why")
    trouble = Trouble("signal", "it loops", "circular_tools", "prune")
    assert decide(change(WORKING, rung=decision, trouble=trouble, soft_rounds=99), 0) == c.Climb(decision)


def test_trouble_that_a_rung_left_behind_is_escalated_again() -> None:
    trouble = Trouble("signal", "it loops", "circular_tools", "prune")
    command = decide(
        change(WORKING, trouble=trouble, taken={"prune": 1, "decompose": 1}, nudged=frozenset({"circular_tools"})), 0
    )
    assert isinstance(command, c.Escalate)
    assert command.decision.rung == "give_up"


def test_a_round_without_an_answer_is_asked_again_before_anything_else_is_decided() -> None:
    """The process died, or the wire did: the round is paid for, it is not over, and it proves nothing."""
    rules = Rules(ladder=LadderRules(task_rounds=2))
    under_way = change(WORKING, rules=rules, soft_rounds=2, spend=Spend(rounds=2), asking=True)
    assert decide(under_way, 0) == c.AskModel(0.0, last=False), "a soft limit is reached when the round is over"
    assert isinstance(decide(change(under_way, asking=False), 0), c.Escalate)
    failed = change(under_way, transport_failures=1)
    assert decide(failed, 0) == c.AskModel(0.0, last=False)
    last = change(WORKING, limits=Limits(rounds=3), spend=Spend(rounds=3), handing_over=True, asking=True)
    assert decide(last, 0) == c.AskModel(0.0, last=True), "the hand-over is not lost"
    assert decide(change(last, spend=Spend(rounds=2), handing_over=False), 0) == c.AskModel(0.0, last=False)


def test_a_check_that_passes_with_nothing_changed_proves_nothing() -> None:
    passed = Verdict("passed", "ok", command="true")
    task = change(WORKING, state=State.TESTING, judged=True, verdict=passed, base="t", tree="t")
    assert isinstance(command := decide(task, 0), c.Conclude)
    assert command.to is State.BLOCKED and command.why.startswith("no file changed")
    looking = Step("goal", "x", steps=(Step("look", "x"),))
    for other in (change(task, tree="u"), change(task, id="part"), change(task, step=looking)):
        assert decide(other, 0) != command


def test_what_a_person_says_is_heard_before_the_next_round_and_before_anything_is_completed() -> None:
    told = change(WORKING, unheard=("Use tabs.",))
    passed = Verdict("passed", "ok", command="true")
    assert decide(told, 0) == c.Relay()
    assert decide(change(told, claim="done"), 0) == c.Relay()
    assert decide(change(told, state=State.TESTING, verdict=passed, judged=True, tree="t"), 0) == c.Relay()
    assert decide(change(told, waiting=(CALL,)), 0) == c.RunTools((CALL,)), "not between a call and its result"
    assert decide(change(told, asking=True), 0) == c.Relay(), "a question without an answer is asked again with it"
    spent = change(told, claim="done", limits=Limits(rounds=5), spend=Spend(rounds=5))
    assert decide(spent, 0) == c.ChangeState(State.TESTING, "the agent says it is done"), "nothing is left to act on it"
