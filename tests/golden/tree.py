"""The events of `v1-tree.sql`: a goal that becomes a tree, gets stuck, climbs the ladder and is given up."""

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.ladder.escalation import Decision, EscalationOptions, LadderRules, Trouble
from bough.core.messages import Usage
from bough.core.planning.plan import Plan, PlanningRules, Step
from bough.core.rules import Rules
from bough.core.stuck.signals import Signal, StuckRules
from bough.core.tree.task_state import Inheritance, State

STEP = Step(
    "parse",
    "Write the parser.",
    title="parser",
    criteria=("`parse('a') == ['a']`",),
    test_file="tests/test_parse.py",
    needs=("lex",),
    files=("parse.py",),
    complexity=3,
    on_error="escalate",
    context="inherited",
)
LEX = Step("lex", "Write the lexer.", test_command="pytest tests/test_lex.py", on_error="escalate", plan_first=True)
GOAL = Step("goal", "A calculator.", test_command="pytest -q", plan_first=True)
RULES = Rules(
    stuck=StuckRules(patterns=("paging", "monologue"), looks=9),
    ladder=LadderRules(rungs=("nudge", "prune", "give_up"), task_rounds=12, asks=2),
    planning=PlanningRules(max_depth=2, min_split=6),
)
LIMITS = Limits(rounds=60)
LOOP = Trouble(
    "signal", "`read` is called again and again.", "circular_tools", "prune", ('read {"path": "a.py"} → x = 1',)
)
USAGE = Usage(input=400, output=60, cache_read=300)

TREE: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "m", "strong": "s"}, LIMITS, RULES, "0.1.0", 3, grows=True)),
    ("goal", e.TaskCreated(GOAL, "1" * 40, LIMITS, RULES, EscalationOptions(stronger=True, person=True), grows=True)),
    ("goal", e.StateChanged(State.IN_PROGRESS, "work begins")),
    ("goal", e.HelperAnswered("gate", '{"atomic": false}', USAGE, 0.002, 1.5, "m-2026")),
    ("goal", e.Estimated(False, 12, ("front", "back"), ("parsing",), "It is large.", "hierarchy")),
    ("goal", e.PlanRefused("planner", ("Two steps are called `lex`: give each a name of its own.",))),
    ("goal", e.PlanProposed((LEX, STEP))),
    ("goal", e.PlanAnswered("change", "fewer steps")),
    ("goal", e.Planned((LEX, STEP), "the plan")),
    ("goal", e.Granted(Limits(rounds=72))),
    ("goal", e.ChildStarted("lex", "lex", Limits(rounds=18))),
    (
        "lex",
        e.TaskCreated(
            LEX, "1" * 40, Limits(rounds=18), RULES, inherited=Inheritance(("goal: A calculator.",), (), ("no regex",))
        ),
    ),
    ("lex", e.StateChanged(State.IN_PROGRESS, "work begins")),
    ("lex", e.AttemptStarted("builder", "main", "You are an engineer.", "Write the lexer.")),
    ("lex", e.RoundStarted()),
    ("lex", e.ModelAnswered("I look.", usage=USAGE, window=32_000)),
    ("lex", e.CompactionStarted(25_000, 32_000)),
    ("lex", e.Compacted("## Key decisions\n(nothing)", 9, 25_000, 5_000, "model")),
    ("lex", e.SignalRaised(Signal("circular_tools", 0.85, LOOP.says, "prune", (3, 4, 5), LOOP.evidence))),
    ("lex", e.Escalated(Decision("prune", "task", "It goes in circles (a fresh look)"), LOOP)),
    ("lex", e.HelperFailed("pruner", "503 from the server", 0.5)),
    ("lex", e.ContextPruned(9_000, 1_200, "rule")),
    ("lex", e.SplitProposed((STEP,))),
    ("lex", e.PlanRefused("decomposer", ("There are 1 steps: give 2 to 4.",), final=True)),
    ("lex", e.CheckpointMade("c" * 40, "2" * 40, ("lex.py",))),
    ("lex", e.StateChanged(State.BLOCKED, LOOP.says)),
    (
        "goal",
        e.ChildSettled(
            "lex",
            State.BLOCKED,
            LOOP.says,
            "1" * 40,
            Spend(rounds=9, tokens_in=900, cost=0.5, seconds=2.5),
            result="half of it",
            files=("lex.py",),
            dead_ends=("a regular expression cannot do it",),
            errors=True,
        ),
    ),
    ("goal", e.Escalated(Decision("stronger_model", "goal", "r"), Trouble("children", "its steps cannot go on"))),
    ("goal", e.ChildrenReopened(("lex",), "a stronger model is configured")),
    ("goal", e.ChildStarted("lex", "lex", Limits(rounds=20))),
    ("lex", e.TaskResumed(Limits(rounds=20), EscalationOptions(stronger=True), grows=True)),
    ("lex", e.TakenUp("strong", "a stronger model takes it up again")),
    ("goal", e.ChildMerged("lex", "3" * 40, ("lex.py",), Verdict("failed", "1 test failed"))),
    ("goal", e.PlanChanged((STEP,), ("parse now reads tokens",))),
    ("goal", e.PassEnded(1, "not yet")),
    ("goal", e.TransitionTaken("write", "review", "write → review, on success")),
    ("build", e.CommandStarted("make build")),
    ("build", e.CommandFinished(False, "killed", None, "b" * 64, "3" * 40, 2.5, "after 120 s")),
    ("build", e.CommandFinished(False, "interrupted", interrupted=True)),
    (
        "review",
        e.Reviewed(
            (
                {
                    "file": "lex.py",
                    "line": 3,
                    "severity": "high",
                    "what": "an empty text is not read",
                    "why": "it raises",
                },
            ),
            ("one unclear",),
        ),
    ),
    ("goal", e.Summarized("two modules and a command", "model")),
    ("goal", e.Planned((STEP,), "another approach", dropped=("lex",))),
    ("goal", e.PersonAnswered("What would you do?", "leave the lexer out")),
    ("goal", e.Reported("Given up: its steps cannot go on.\n\n## What was tried\n- its context was pruned")),
    ("goal", e.StateChanged(State.FAILED, "its steps cannot go on")),
    ("", e.RunReopened("goal", 3, moment=17)),
    ("goal", e.TaskRewound(4, "1" * 40, {"lex": Spend(rounds=2)})),
    ("", e.RunFinished("failed", "its steps cannot go on")),
]
