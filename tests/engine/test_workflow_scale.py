"""A thousand steps, nested three deep, a hundred of them at once: no step costs more than the one before."""

import asyncio
import time
from pathlib import Path

import pytest

import bough
from bough.app.workflow_files import plan_of
from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import count_leaves
from bough.core.workflow.loading import load
from bough.testing import ScriptedModel, call
from tests.engine.workflow_runs import repository
from tests.harness import journal_of
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def large(parts: int, groups: int, steps: int, at_once: int) -> str:
    """Parts of groups of steps, one after the other; and a group of steps at once."""
    lines = ["requires_testing = false", "[inputs]", 'word = { default = "w" }']
    for part in range(parts):
        lines += ["[[steps]]", f'name = "part-{part}"', "requires_testing = false"]
        for group in range(groups):
            lines += ["[[steps.steps]]", f'name = "group-{group}"', "requires_testing = false"]
            for step in range(steps):
                lines += ["[[steps.steps.steps]]", f'name = "step-{step}"', "requires_testing = false"]
                last = f" after {{steps.step-{step - 1}.result}}" if step else ""
                lines += [f'action = "Step {{word}} {part} {group} {step}{last}"']
    lines += ["[[steps]]", 'name = "fork"', "parallel = true", "requires_testing = false"]
    for step in range(at_once):
        lines += ["[[steps.steps]]", f'name = "at-once-{step}"', "requires_testing = false", f'action = "Side {step}"']
    return "\n".join(lines)


def test_a_thousand_steps_load_at_once() -> None:
    text = large(9, 10, 10, 100)
    times = []
    for _ in range(5):
        began = time.process_time()
        plan = load(text, inputs={}).plan
        times.append(time.process_time() - began)
    assert count_leaves(plan.goal) == 1_000
    assert min(times) < 0.5


@in_turn
def test_cost_per_step_does_not_grow(tmp_path: Path) -> None:
    """Steps in the second half take no longer than those in the first. (A tenth of the thousand: the same shape.)"""
    project = repository(tmp_path / "p", {"x": "x\n"})
    file = tmp_path / "large.toml"
    file.write_text(large(3, 5, 4, 40))

    def answer(prompt: Prompt) -> Answer:
        return call("done", summary=f"{prompt.key} is done")

    model = ScriptedModel(answer)
    plan = plan_of(file, project, {})
    outcome = asyncio.run(bough.run(plan, dir=project, model=model, jobs=8))
    assert outcome.completed
    journal = asyncio.run(journal_of(project))
    ends = [r.at for r in journal.records if isinstance(r.event, e.ChildSettled) and r.task.startswith("part-")]
    half = len(ends) // 2
    first, second = ends[half] - ends[0], ends[-1] - ends[half]
    assert second < 2.5 * first, f"{first:.2f} s, then {second:.2f} s"
    sizes = [len(prompt.messages[0].text) for prompt in model.prompts]
    assert max(sizes) < 1.5 * min(sizes) + 400, "no agent is told more because more was done before it"
    assert outcome.spend.rounds == count_leaves(plan.goal) == 100
