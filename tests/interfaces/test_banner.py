"""The first lines of a run."""

from bough.core import events as e
from bough.core.acceptance.goal_reading import read_goal
from bough.core.planning.plan import build_goal_step
from bough.interfaces.terminal.banner import SHOWN_ASKED, render_banner


def show(goal: str) -> list[str]:
    read = e.RequirementsRead(read_goal(build_goal_step(goal)).requirements, "rule")
    lines = render_banner(e.Record(0, "run", "goal", 1, 0.0, read), "")
    return ["".join(text for text, _ in line).strip() for line in lines]


def test_what_will_be_shown_is_numbered() -> None:
    assert show("Sort the keys. Print the rest.") == ["asks for 1. Sort the keys.", "2. Print the rest."]
    assert show("Sort the keys.") == []
    many = show("\n".join(f"- part {n}" for n in range(SHOWN_ASKED + 3)))
    assert len(many) == SHOWN_ASKED + 1 and many[-1] == "… and 3 more"
