"""Loads workflow texts, and lists what is wrong with them."""

from collections.abc import Mapping

import pytest

from bough.core.errors import UsageError
from bough.core.planning.plan import Step
from bough.core.workflow.loading import Workflow, load
from bough.core.workflow.problems import WorkflowError


def wrong(text: str, files: Mapping[str, str] | None = None, **inputs: str) -> list[str]:
    """`LINE: sentence` for everything that is wrong."""
    with pytest.raises(WorkflowError) as caught:
        loaded(text, files, **inputs)
    for problem in caught.value.problems:
        assert problem.text.endswith((".", "?")) and "\n" not in problem.text
        assert str(problem) in str(caught.value)
    return [
        f"{problem.file}:{problem.line}: {problem.text}".removeprefix("w.toml:") for problem in caught.value.problems
    ]


def loaded(text: str, files: Mapping[str, str] | None = None, **inputs: str) -> Workflow:
    def read(file: str) -> str:
        if file not in (files or {}):
            raise UsageError("there is no such file")
        return (files or {})[file]

    return load(text, "w.toml", inputs=inputs or None, read=read)


def only(text: str, files: Mapping[str, str] | None = None, **inputs: str) -> str:
    problems = wrong(text, files, **inputs)
    assert len(problems) == 1, problems
    return problems[0]


def steps(text: str, **inputs: str) -> tuple[Step, ...]:
    return loaded(text, None, **inputs).plan.goal.steps


A, B, C = (f'[[steps]]\nname = "{name}"\naction = "do {name}"\n' for name in "abc")
