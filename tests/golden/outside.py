"""Events of runs with outside agents and tool servers."""

from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.messages import Call, Usage
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules

STEP = Step("goal", "Fix it.", agent="claude")
OUTSIDE: list[tuple[str, e.AnyEvent]] = [
    (
        "",
        e.RunStarted(
            Plan(STEP),
            "a" * 40,
            "",
            {"main": "agent:claude", "fast": "agent:claude", "strong": "agent:claude"},
            Limits(rounds=40),
            Rules(),
            "0.2.0",
            agents={"main": "claude", "strong": "codex"},
            agent_env=("ANTHROPIC_API_KEY",),
            agent_network="loopback",
        ),
    ),
    ("goal", e.TaskCreated(STEP, "a" * 40, Limits(rounds=40), Rules())),
    ("goal", e.AttemptStarted("builder", "main", "You work alone.", "Fix it.", "agent", agent="claude")),
    ("goal", e.ToolServersListed({"time": ("time__get_current_time",)}, {"broken": "It ended with exit status 1."})),
    ("goal", e.RoundStarted()),
    (
        "goal",
        e.ModelAnswered(
            "Looking.",
            (Call("010001000", "read", '{"path": "a.py"}'),),
            "calls",
            Usage(1000, 0, estimated=True),
            model="agent:claude",
        ),
    ),
    ("goal", e.ToolStarted("010001000", False)),
    ("goal", e.ToolFinished("010001000", True, "x = 1")),
    (
        "",
        e.RunResumed(
            "w1",
            Limits(rounds=40),
            {"main": "agent:claude"},
            agents={"main": "gemini"},
            agent_env=("GEMINI_API_KEY",),
            agent_network="on",
        ),
    ),
]
