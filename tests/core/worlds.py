"""Random worlds for the core: whatever a model, its tools, a check and a crash could bring, as events."""

from collections.abc import Iterator, Sequence
from typing import Literal

from hypothesis import strategies as st

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance import changed_tests, examination, judge_ruling
from bough.core.acceptance.probes import Outcome, Probe, ProbeResult
from bough.core.acceptance.verdict import AllowedChange, Difference, Disagreement, Ruling, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.conversation.compaction import find_cut
from bough.core.decide import decide
from bough.core.journal.task_fold import evolve_task
from bough.core.ladder.escalation import Decision, EscalationOptions, LadderRules
from bough.core.messages import Call, Usage
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree.next_moves import Begin, is_over, list_moves, list_unsuccessful
from bough.core.tree.task import Task
from bough.core.tree.task_state import State

Draw = st.DrawFn


def answers(draw: Draw, place: str) -> e.ModelAnswered:
    calls = tuple(
        Call(f"{place}.{i}", draw(st.sampled_from(["read", "write", "bash", "split", "done", "nonsense"])), "{}")
        for i in range(draw(st.integers(0, 3)))
    )
    return e.ModelAnswered(
        text=draw(st.sampled_from(["", "let me look", "I am done"])),
        calls=calls,
        stop=draw(st.sampled_from(["end", "calls", "length", "refusal"])),
        usage=Usage(draw(st.integers(0, 500)), draw(st.integers(0, 50))),
        cost=draw(st.sampled_from([None, 0.01])),
        seconds=1.0,
        window=draw(st.sampled_from([0, 0, 400])),
    )


def tool_events(draw: Draw, call: Call, tree: str, task: Task) -> list[e.AnyEvent]:
    writes = call.name in ("write", "bash")
    fault = call.name == "nonsense"
    finished: list[e.AnyEvent] = [
        e.ToolFinished(call.id, not fault and draw(st.booleans()), "output", tree=tree if writes else "", fault=fault)
    ]
    if call.name == "done":
        finished.append(e.DoneClaimed("all done"))
    if call.name == "split" and not task.plan.steps and draw(st.booleans()):
        names = (f"own-{call.id.replace('.', '-')}-{number}" for number in range(2))
        finished.append(e.SplitProposed(tuple(Step(name, f"do {name}", on_error="escalate") for name in names)))
    return finished


def _verdict(draw: Draw, ruling: Ruling, tree: str) -> Verdict:
    found = tuple(Disagreement(f"test_{n}", now=draw(st.sampled_from("ab"))) for n in range(draw(st.integers(1, 2))))
    return Verdict(
        ruling,
        "because",
        "make test",
        exit_status=draw(st.sampled_from([0, 1])),
        seconds=1.0,
        failed=draw(st.integers(0, 3)),
        tree=tree,
        disagreements=found if ruling == "needs_approval" else (),
    )


def climb(draw: Draw, decision: Decision, task: Task, step: int) -> Iterator[Sequence[e.AnyEvent]]:
    """What a rung may bring."""
    asked = e.HelperAnswered("helper", "words", Usage(100, 10), 0.01, 1.0)
    split: list[e.AnyEvent] = [] if task.state is State.DECOMPOSED else [e.StateChanged(State.DECOMPOSED, "split")]
    working: list[e.AnyEvent] = [e.StateChanged(State.IN_PROGRESS, "again")] if task.state is State.TEST_FAILED else []
    match decision.rung:
        case "prune":
            yield [asked]
            yield [e.ContextPruned(100, 10, "model"), e.AttemptStarted("builder", "main", "system", "pruned")]
        case "stronger_model" if task.plan.steps:
            yield [e.ChildrenReopened(tuple(child.child for child in list_unsuccessful(task)), "stronger")]
        case "stronger_model":
            yield [e.AttemptStarted("builder", "strong", "system", "pruned"), *working]
        case "decompose" | "replan":
            if not task.plan.problems and draw(st.booleans()):
                yield [asked, e.PlanRefused("decomposer", ("too vague",))]
            if draw(st.booleans()):
                yield [asked, e.PlanRefused("decomposer", ("still too vague",), final=True)]
                return
            bad = tuple(child.child for child in list_unsuccessful(task))
            names = [f"part-{step}-{number}" for number in range(draw(st.integers(2, 4)))]
            steps = tuple(Step(name, f"do {name}", on_error="escalate") for name in names)
            yield [asked, e.Planned(steps, "split", bad), *split]
        case "zoom_out":
            yield [e.CheckpointMade("c", task.tree, ()), e.StateChanged(State.BLOCKED, decision.reason)]
        case "verify":
            yield [e.StateChanged(State.TESTING, decision.reason)]
        case "ask":
            text = draw(st.sampled_from(["", "try the other file"]))
            yield [e.PersonAnswered("how?", text)]
        case "give_up":
            yield [
                e.Reported("all that was tried"),
                e.CheckpointMade("c", task.tree, ()),
                e.StateChanged(State.FAILED, decision.reason),
            ]
        case "nudge":
            raise AssertionError("a nudge is said at once")


def compact(draw: Draw, task: Task) -> Iterator[Sequence[e.AnyEvent]]:
    """What making a conversation smaller may bring; sometimes it hardly gets smaller."""
    assert task.attempt is not None
    messages, asked = task.attempt.messages, e.HelperAnswered("compactor", "words", Usage(100, 10), 0.01, 1.0)
    yield [e.CompactionStarted(task.attempt.used, task.attempt.window)]
    if task.left.rounds > 2 and draw(st.booleans()):
        yield [asked]
    if draw(st.integers(0, 5)) == 0:
        yield [e.HelperFailed("compactor", "503", 1.0)]
    by_model: list[e.AnyEvent] = [asked] if task.left.rounds > 2 and draw(st.booleans()) else []
    at, after = find_cut(messages, 5), draw(st.sampled_from([100, 900]))
    yield [*by_model, e.Compacted("a summary", at, 1000, after, "model" if by_model else "rule")]


def children(draw: Draw, task: Task) -> Iterator[Sequence[e.AnyEvent]]:
    """What carrying out the next smaller step may bring, or going on with one that a crash cut off."""
    under_way = [
        Begin(step, task.children.running[step.name].task)
        for step in task.plan.steps
        if step.name in task.children.running
    ]
    match (under_way or list_moves(task))[0]:
        case Begin(step, segment):
            yield [e.ChildStarted(step.name, segment, Limits(rounds=min(2, task.left.rounds)))]
            state = draw(st.sampled_from([State.COMPLETED, State.BLOCKED, State.FAILED]))
            tree = draw(st.sampled_from([task.tree, "tree-child"])) if state is State.COMPLETED else task.tree
            before = task.children.charged.get(step.name, Spend())
            spend = before.plus(Spend(rounds=draw(st.integers(0, min(2, task.left.rounds)))))
            yield [e.ChildSettled(step.name, state, "because", tree, spend, dead_ends=("that way",))]


def ruled(draw: Draw, by: e.ChangesBy, task: Task) -> e.ChangesRuled:
    """Some of what is pending is allowed, or all of it, or none."""
    left = changed_tests.list_pending_changes(task)
    if by == "person" and draw(st.booleans()):
        return e.ChangesRuled(by, task.tree, denied=tuple(one.test for one in left))
    some = tuple(one for one in left if draw(st.booleans()))
    who: Literal["judge", "person"] = "person" if by == "person" else "judge"
    changes = tuple(AllowedChange(one.test, one.change, who, "because") for one in some)
    return e.ChangesRuled(by, task.tree, changes, verdict=changed_tests.approve_verdict(task, changes))


def examined(draw: Draw) -> e.AnyEvent:
    """An examination with up to two probes, or none at all."""
    if draw(st.booleans()):
        return e.ExaminationSkipped("the change is small")
    names = [f"probe_{number}" for number in range(draw(st.integers(0, 2)))]
    return e.Examined("examiner", tuple(Probe(name, f"tests/{name}.py", "assert True", "it holds") for name in names))


def probed(draw: Draw, task: Task) -> list[e.AnyEvent]:
    """How the probes end; a failing one may be contested by the agent that should make it pass."""
    possible: list[Outcome] = ["passed", "failed", "broken"]
    outcomes = st.sampled_from(possible)
    results = tuple(ProbeResult(probe.name, draw(outcomes)) for probe in examination.live(task))
    failed = [result.name for result in results if result.outcome == "failed"]
    contested = [e.ProbeContested(name, "nobody asked for it") for name in failed if draw(st.booleans())]
    return [e.ProbesFinished(task.tree, results), *contested]


def bring(draw: Draw, command: c.Command, task: Task, step: int) -> Iterator[Sequence[e.AnyEvent]]:
    """Batches of events that carrying out the command may bring; the journal may end after any of them."""
    tree = f"tree-{draw(st.integers(0, 3))}"
    match command:
        case c.OpenWorkspace():
            yield [e.WorkspaceOpened(task.tree), e.StateChanged(State.IN_PROGRESS, "work begins")]
        case c.StartAttempt(role, tier):
            events: list[e.AnyEvent] = [e.AttemptStarted(role, tier, "system", "brief")]
            if task.state is State.TEST_FAILED:
                events.append(e.StateChanged(State.IN_PROGRESS, "repair"))
            yield events
        case c.Say(template):
            yield [e.MessageAdded(template, "a word from bough")]
        case c.Escalate(decision, trouble, signal):
            raised: list[e.AnyEvent] = [e.SignalRaised(signal)] if signal else []
            told: list[e.AnyEvent] = [e.MessageAdded("nudge", "look")] if decision.rung == "nudge" else []
            yield [*raised, e.Escalated(decision, trouble), *told]
        case c.Climb(decision):
            yield from climb(draw, decision, task, step)
        case c.Focus():
            focused = Step(f"focus-{step}", "what is left", on_error="escalate")
            yield [e.Planned((focused,), "what is left"), e.StateChanged(State.DECOMPOSED, "what is left")]
        case c.AskModel(_, last):
            yield [e.RoundStarted(last)]
            if draw(st.integers(0, 5)) == 0:
                yield [e.ModelFailed("503", 1.0, 1.0)]
            else:
                yield [answers(draw, str(step))]
        case c.Compact():
            yield from compact(draw, task)
        case c.Split(steps):
            yield [e.Planned(steps, "split"), e.StateChanged(State.DECOMPOSED, "split")]
        case c.RunTools(calls):
            for call in calls:
                yield [e.ToolStarted(call.id, call.name in ("write", "bash"))]
                yield tool_events(draw, call, tree, task)
        case c.Recover(calls):
            restored: list[e.AnyEvent] = [e.WorkspaceRestored(task.tree, "interrupted")]
            yield restored + [e.ToolFinished(call.id, False, "interrupted", interrupted=True) for call in calls]
        case c.RollBack(back, why):
            yield [e.WorkspaceRestored(back, why)]
        case c.Conclude(to, why):
            yield [e.CheckpointMade("commit", task.tree, ()), e.StateChanged(to, why)]
        case c.ChangeState(to, why):
            yield [e.StateChanged(to, why)]
        case c.Rest(reason, message):
            yield [e.TaskHalted(reason, message)]
        case _:
            yield from judge(draw, command, task)


def judge(draw: Draw, command: c.Command, task: Task) -> Iterator[Sequence[e.AnyEvent]]:
    """What checking and examining the work may bring."""
    match command:
        case c.RunCheck():
            yield [e.CheckStarted("make test")]
            rulings: list[Ruling] = ["passed", "failed", "failed", "needs_approval", "not_verified"]
            ruling: Ruling = draw(st.sampled_from(rulings))
            yield [e.CheckFinished(_verdict(draw, ruling, task.tree))]
        case c.RuleOnChanges(by):
            yield [ruled(draw, by, task)]
        case c.ReturnFinding():
            no, again = e.StateChanged(State.TEST_FAILED, "no"), e.StateChanged(State.IN_PROGRESS, "again")
            yield [no, e.FindingReturned("look again"), again]
        case c.SeeDifference():
            seen = Difference(check=draw(st.booleans()), code=draw(st.booleans()))
            yield [e.DifferenceSeen(task.tree, seen)]
        case c.Examine():
            yield [examined(draw)]
        case c.RunProbes():
            yield [e.ProbesStarted(task.tree, tuple(probe.name for probe in examination.live(task)))]
            yield probed(draw, task)
        case c.Rule():
            demanded = draw(st.booleans())
            ruling_on = examination.list_open_contests(task)[0].name
            yield [e.ProbeRuled(ruling_on, judge_ruling.Ruling(demanded, "do it" if demanded else "", "because"))]


@st.composite
def journals(draw: Draw, crashes: int = 4, longest: int = 800) -> list[e.Record]:
    """A task's whole journal, as the engine would have written it; a crash loses the rest of what was under way."""
    ladder = LadderRules(task_rounds=draw(st.integers(2, 16)), prunes=draw(st.integers(0, 2)))
    rules = Rules(max_repairs=draw(st.integers(0, 3)), max_faults=draw(st.integers(1, 4)), ladder=ladder)
    means = EscalationOptions(stronger=draw(st.booleans()), person=draw(st.booleans()))
    limits = Limits(
        rounds=draw(st.integers(1, 12) | st.integers(20, 60)),
        tokens=draw(st.sampled_from([None, 1500])),
        cost=draw(st.sampled_from([None, 0.05])),
        minutes=draw(st.sampled_from([None, 0.1])),
    )
    records: list[e.Record] = []
    task = Task("goal")

    def add(event: e.AnyEvent) -> None:
        nonlocal task
        number = len(records) + 1
        record = e.Record(number, "run", "goal", number, float(number), event)
        records.append(record)
        task = evolve_task(task, record)

    add(e.TaskCreated(Step("goal", "do it", test_command="make test"), "base", limits, rules, means))
    for step in range(longest):
        if task.resting:
            return records
        tending = task.gathering and not is_over(task)
        brought = children(draw, task) if tending else bring(draw, decide(task, float(len(records))), task, step)
        for batch in brought:
            for event in batch:
                add(event)
            if crashes and draw(st.integers(0, 9)) == 0:
                crashes -= 1
                break  # The process died here; the next decision is taken from the journal alone.
    raise AssertionError(f"a task did not come to rest within {longest} decisions")
