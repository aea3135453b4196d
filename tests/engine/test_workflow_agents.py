"""What the agents of a written plan know of each other, and builders and critics that take turns."""

from pathlib import Path

import pytest

from bough.core import events as e
from bough.testing import call, say
from tests.engine.workflow_runs import Script, by_task, carried, done, finding, repository, review, told
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "p", {"a.py": "x = 1\n"})


CONTEXTS = """
description = "Find the treasure."
requires_testing = false
[[steps]]
name = "hall"
description = "Search the hall."
context_mode = "{mode}"
test_command = "test -e found"
[[steps.steps]]
name = "writer"
action = "Look under the carpet."
context_mode = "{mode}"
requires_testing = false
[[steps.steps]]
name = "reader"
action = "Look behind the door."
context_mode = "{mode}"
requires_testing = false
"""
CARPET, STAIRS = "THE CARPET IS RED", "STAIRS LEAD NOWHERE"


def contexts(project: Path, mode: str) -> tuple[str, str]:
    """What the second step is told, and what an agent of the parent itself is told."""
    model = by_task(
        {
            "hall/writer": [
                call("note", kind="decision", text=CARPET),
                call("note", kind="dead_end", text=STAIRS),
                done("a key lay there"),
            ],
            "hall/reader": done("nothing"),
            "hall": [call("write", path="found", content="x"), done("found")],
        }
    )
    run = carried(project, CONTEXTS.format(mode=mode), model)
    assert run.outcome.completed
    return told(model, "hall/reader#"), told(model, "hall#")


def test_an_isolated_step_knows_its_instructions_only(project: Path) -> None:
    reader, parent = contexts(project, "isolated")
    assert "Look behind the door." in reader
    for text in ("treasure", "Search the hall", "a key lay there", CARPET, STAIRS):
        assert text not in reader, text
    assert CARPET not in parent and STAIRS not in parent


def test_an_inheriting_step_sees_its_parents_context_and_keeps_its_own(project: Path) -> None:
    reader, parent = contexts(project, "inherited")
    assert "treasure" in reader and "Search the hall" in reader and "a key lay there" in reader
    assert CARPET not in reader, "what a sibling decided is its own"
    assert CARPET not in parent and STAIRS not in parent


def test_a_sharing_step_writes_where_its_parent_reads(project: Path) -> None:
    reader, parent = contexts(project, "shared")
    for text in ("treasure", "Search the hall", "a key lay there", CARPET, STAIRS):
        assert text in reader, text
    assert CARPET in parent and STAIRS in parent


def test_summaries(project: Path) -> None:
    toml = """
requires_testing = false
[[steps]]
name = "look"
requires_testing = false
parallel = true
summarize = true
[[steps.steps]]
name = "left"
action = "Look left."
requires_testing = false
[[steps.steps]]
name = "right"
action = "Look right."
requires_testing = false
summarize = true
[[steps]]
name = "act"
action = "Act on: {steps.look.result}; on the right: {steps.look/right.result}"
requires_testing = false
"""
    scripts = {"look/left": done("a wolf"), "look/right": done("a lamb"), "act": done("ran")}
    model = by_task({**scripts, "look#summary": say("left a WOLF, right a lamb")})
    run = carried(project, toml, model)
    assert run.outcome.completed
    assert "Act on: left a WOLF, right a lamb; on the right: a lamb" in told(model, "act#")
    assert "left: a wolf" in told(model, "look#summary")
    again = by_task({**scripts, "look#summary": say("")})
    carried(project, toml, again, fresh=True)
    assert "Act on: left: a wolf\n\nright: a lamb; on the right: a lamb" in told(again, "act#"), "by rule, when need be"


LOOP = """
requires_testing = false
[[steps]]
name = "loop"
repeat = 4
until = "critic.empty"
requires_testing = false
[[steps.steps]]
name = "builder"
action = "Write b.txt. The critic said: {steps.critic.result}"
context_mode = "shared"
test_command = "test -s b.txt"
[[steps.steps]]
name = "critic"
role = "critic"
action = "Is it good?"
"""


IS_GOOD = "from pathlib import Path\n\nassert 'good' in Path('b.txt').read_text(), 'is it good?'\n"


def builds(*versions: str) -> dict[str, Script]:
    return {
        f"loop/builder{f'@{n}' if n > 1 else ''}": [call("write", path="b.txt", content=text), done(f"wrote {text}")]
        for n, text in enumerate(versions, 1)
    }


@in_turn
def test_builder_and_critic_until_nothing_is_left(project: Path) -> None:
    scripts: dict[str, Script] = {
        **builds("bad", "good"),
        "loop/critic#critic": review(finding("It is a good one.", "Is it good?", IS_GOOD)),
        "loop/critic@2#critic": review(),
    }
    model = by_task(scripts)
    run = carried(project, LOOP, model)
    assert run.outcome.completed
    assert run.text("b.txt") == "good"
    second = told(model, "loop/builder@2#")
    assert "The critic said: ### Probe `loop/critic/probe-1`\n\nIt shows: It is a good one." in second
    assert "wrote bad" in second, "it shares the context: it knows what it did"
    seen = told(model, "loop/critic@2#")
    assert "+good" in seen and "builder: the check passed" in seen and "is it good?" not in seen
    (first, again) = run.journal.of(e.ProbesFinished)
    assert [(each.name, each.outcome) for each in first.results] == [("loop/critic/probe-1", "failed")]
    assert [(each.name, each.outcome) for each in again.results] == [("loop/critic/probe-1", "passed")], "asked again"


@in_turn
def test_a_judge_rules_on_a_probe_of_the_critics_that_fails_again(project: Path) -> None:
    model = by_task(
        {
            **builds("bad", "bad"),
            "loop/critic#critic": review(finding("It is a good one.", "Is it good?", IS_GOOD)),
            "loop/critic@2#critic": review(),
            "loop/critic@2#judge": call("rule", reason="nobody asks for the word", demanded=False),
        }
    )
    run = carried(project, LOOP, model)
    assert run.outcome.completed and len(run.journal.of(e.ProbeRuled)) == 1
    assert "did not change the work to pass it" in told(model, "loop/critic@2#judge")


def test_a_critic_that_errs_has_not_approved(project: Path) -> None:
    model = by_task({**builds("bad"), "loop/critic#critic": say("Looks good to me!")})
    run = carried(project, LOOP, model)
    assert run.outcome.status == "failed"
    assert run.states["loop/critic"] == "failed" and "no review" in run.why("loop/critic")
