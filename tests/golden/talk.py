"""Events of talking to a run: what people say to it from elsewhere, its questions, and how it rests meanwhile."""

from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.tree.task_state import Inheritance

STEP = Step("goal", "Fix it.")
MODELS = {"main": "openai:some-model"}
TALK: list[tuple[str, e.AnyEvent]] = [
    (
        "",
        e.RunStarted(
            Plan(STEP),
            "a" * 40,
            "",
            MODELS,
            Limits(rounds=40, tokens=6_000_000),
            Rules(),
            "0.2.0",
            ask_later=True,
            continues="sand-hare",
            origin="b" * 40,
            inherited=Inheritance(above=("a follow-up",), results=("sand-hare: done",)),
        ),
    ),
    ("goal", e.TaskCreated(STEP, "a" * 40, Limits(rounds=40), Rules(), heard=1)),
    ("@control", e.PersonSaid("Keep the old flag working too.", "anna", "goal")),
    ("goal", e.MessageReceived(3, "Keep the old flag working too.", "anna")),
    ("@control", e.StopRequested(now=True, by="anna")),
    ("@control", e.PauseRequested("anna")),
    ("goal", e.TaskHalted("paused", "paused by anna")),
    ("", e.RunHalted("paused", "paused by anna")),
    ("goal", e.HelperFailed("gate", "The server is away.", 0.5, wait=2.0)),
    ("goal", e.TaskHalted("quota", "The quota is used up until 14:30", until=1_800_000_000.0)),
    ("", e.RunHalted("quota", "The quota is used up until 14:30", until=1_800_000_000.0)),
    ("goal", e.QuestionAsked("What would you do?")),
    ("goal", e.TaskHalted("waiting", "the check still fails after 3 repairs")),
    ("", e.RunHalted("waiting", "the check still fails after 3 repairs")),
    ("@control", e.PlanRuled("goal", "own", "", (Step("a", "Do a."),), ("It works.",), "anna")),
    ("goal", e.PlanAnswered("own", "", "anna")),
    ("goal", e.PersonAnswered("What would you do?", "Leave Windows out of it.", "anna", said=12)),
]

DROPPED: list[tuple[str, e.AnyEvent]] = [
    ("goal", e.RequirementsRead((Requirement(1, "Add."), Requirement(2, "Raise.", dropped="anna")), "model")),
    ("@control", e.RequirementsDropped((2,), "anna")),
    ("goal", e.RequirementsDropped((2,), "anna", 2)),
]
