"""The events of `v2-earned.sql`: a goal that has to show its difference, a message, a person who accepts."""

from bough.core import events as e
from bough.core.acceptance.probes import Probe, ProbeResult
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import Difference, RequirementProof
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, Step
from bough.core.rules import AcceptanceRules, Rules
from bough.core.tree.task_state import State

ONE = Requirement(1, "code spans", 20, 30, within="Support inlines:")
TWO = Requirement(2, "Describe it.", kind="document")
LATER = Requirement(3, "Tabs are errors.", source="anna, 14:02")
GOAL = Step("goal", "Support inlines: code spans. Describe it.", test_command="pytest -q")
RULES = Rules(acceptance=AcceptanceRules(proof="check"))
CASE = Probe("goal/probe-1/test-a", "test_probe_goal_1_test_a.py", "…", "It works.", "code spans", (1,))

EARNED: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "m"}, Limits(rounds=40), RULES, "0.3.0")),
    ("goal", e.TaskCreated(GOAL, "1" * 40, Limits(rounds=40), RULES)),
    ("goal", e.StateChanged(State.IN_PROGRESS, "work begins")),
    ("goal", e.RequirementsRead((ONE, TWO), "model", ("# Markdown",))),
    ("goal", e.Estimated(True, 1, reason="one place", programs=("cmark",))),
    ("@control", e.PersonSaid("Tabs are errors.", "anna")),
    ("goal", e.MessageRead(6, (LATER,), {1: 3}, "inlines")),
    ("goal", e.MessageReceived(6, "Tabs are errors.", "anna", (LATER,))),
    ("goal", e.RequirementRestored(1, "anna", 9)),
    ("goal", e.MergeStarted("inlines")),
    ("goal", e.Examined("examiner", (CASE,), kinds={2: "document"})),
    ("goal", e.ProbesFinished("2" * 40, (ProbeResult(CASE.name, "passed"),), 0.5, (ProbeResult(CASE.name, "failed"),))),
    ("goal", e.DifferenceSeen("2" * 40, Difference(True, True, True, True), 0.2)),
    ("goal", e.EvidenceJudged((RequirementProof(1, "probe", (CASE.name,)), RequirementProof(2, "document")), (3,))),
    ("", e.RunFinished("not_proven", "nothing shows 3")),
    ("", e.Accepted("anna", "good enough")),
]
