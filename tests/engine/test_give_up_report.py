"""The report of a task that gave up names commands that can be typed for that very task."""

import pytest

from bough.core.planning.plan import Step
from bough.core.tree.task import Task
from bough.engine.rungs import render_report


@pytest.mark.parametrize(("task", "command"), [("goal", "`bough log`"), ("goal/parse", "`bough log goal/parse`")])
def test_the_log_is_that_of_the_task(task: str, command: str) -> None:
    assert f"{command} shows what happened" in render_report(Task(task, step=Step("parse", "Parse it.")), "stuck")
