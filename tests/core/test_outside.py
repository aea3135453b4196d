"""Who does the work, and what an outside agent is told that takes it up again."""

import pytest

from bough.core.messages import Call, Message, ModelMessage, Result, UserMessage
from bough.core.planning.agent_choice import all_outside, choose_agent, has_stronger, list_named_agents, render_opening
from bough.core.planning.plan import Role, Step, Tier
from bough.core.settings.sections import title_of

ONE = {"main": "m", "strong": "m"}
TWO = {"main": "m", "strong": "s"}


@pytest.mark.parametrize(
    ("agents", "models", "agent", "role", "tier", "expected"),
    [
        ({}, ONE, "", "builder", "main", ""),
        ({"main": "claude"}, ONE, "", "builder", "main", "claude"),
        ({"main": "claude", "bug_hunter": "codex"}, ONE, "", "bug_hunter", "main", "codex"),
        ({"main": "claude"}, ONE, "codex", "builder", "main", "codex"),
        ({"main": "claude"}, ONE, "bough", "builder", "main", ""),
        ({"main": "claude", "strong": "codex"}, ONE, "gemini", "builder", "strong", "codex"),
        ({"main": "claude"}, TWO, "", "builder", "strong", ""),  # bough's own agent with the stronger model takes over
        ({"main": "claude"}, ONE, "", "builder", "strong", "claude"),
    ],
)
def test_who_does_it(
    agents: dict[str, str], models: dict[str, str], agent: str, role: Role, tier: Tier, expected: str
) -> None:
    assert choose_agent(agents, models, Step("s", agent=agent), role, tier) == expected


def test_whether_a_stronger_agent_or_model_is_available() -> None:
    assert not has_stronger({"main": "claude"}, ONE)
    assert has_stronger({"main": "claude", "strong": "codex"}, ONE) and has_stronger({"main": "claude"}, TWO)


def test_who_is_named_in_a_plan() -> None:
    steps = (Step("a", "do it", agent="claude"), Step("b", run="make"), Step("c", "and that", agent="bough"))
    assert list_named_agents(Step("goal", steps=steps)) == {"claude"}
    assert not all_outside(Step("goal", steps=steps)) and all_outside(Step("goal", steps=steps[:2]))
    assert title_of("/usr/bin/python agent.py") == "python" and title_of("claude") == "claude"


def test_an_agent_that_resumes_is_told_what_was_done() -> None:
    brief = (UserMessage("The brief."),)
    assert render_opening("You work.", brief) == "You work.\n\nThe brief."
    done: tuple[Message, ...] = (
        ModelMessage("", (Call("1", "edit", '{"path": "a.py", "old": "", "new": "x"}'),)),
        Result("1", "written", True),
        UserMessage("bough watches."),
    )
    told = render_opening("You work.", (*brief, *done))
    assert "already" in told and "a.py" in told and told.endswith("bough watches.")
