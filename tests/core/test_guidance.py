"""The learned part of a planning prompt."""

import pytest

from bough import app
from bough.core.conversation import context
from bough.core.planning.guidance import LONGEST, guidance_of, places, with_guidance


@pytest.mark.parametrize("name", ["gate", "planner"])
def test_only_the_guidance_of_a_prompt_is_replaced(name: str) -> None:
    plain = app.load_prompt(name)
    guidance = guidance_of(plain)
    assert guidance and "Call `" not in guidance and "{covering}" not in guidance and "{{" not in guidance
    other = with_guidance(plain, "Weigh {this} and {{that}}.")
    assert sorted(places(other)) == sorted(places(plain))
    values = {place: f"<{place}>" for place in places(plain)}
    shown = context.render(other, values)
    assert "Weigh {this} and {{that}}." in shown and guidance[:60] not in shown
    assert all(value in shown for value in values.values())
    assert shown.rstrip().endswith(plain.rstrip().rpartition("\n")[2])
    assert len(with_guidance(plain, "x" * 100_000)) < len(plain) + LONGEST
