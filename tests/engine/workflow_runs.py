"""Written plans run from outside, with a model scripted by task."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bough
from bough.app.workflow_files import plan_of
from bough.core import events as e
from bough.core.messages import Answer, Prompt, UserMessage
from bough.core.planning.plan import Plan
from bough.testing import ScriptedModel, call
from tests.harness import Journal, by_progress, git, journal_of

Says = Callable[[Prompt], Answer]
Script = Sequence[Answer] | Answer | Says
NOBODY = ScriptedModel([])
"""For plans in which no agent works."""


def done(summary: str = "done") -> Answer:
    return call("done", summary=summary)


def review(*probes: Mapping[str, Any]) -> Answer:
    """A critic's answer; without probes, an approval."""
    return call("probe", probes=list(probes))


def finding(says: str, quote: str, text: str) -> dict[str, Any]:
    return {"says": says, "quote": quote, "text": text}


def by_task(scripts: Mapping[str, Script], default: Answer | None = None) -> ScriptedModel:
    """Each task has a script of its own, by path; `path#helper` answers a question that is no agent's. A script is
    followed by what the conversation shows, so it may be killed and asked again at any point."""

    def answer(prompt: Prompt) -> Answer:
        path, who, _ = prompt.key.split("#")
        said = scripts.get(path if who.isdigit() else f"{path}#{who}", default if who.isdigit() else None)
        assert said is not None, f"nothing is scripted for {prompt.key}"
        if callable(said):
            return said(prompt)
        return said if isinstance(said, Answer) else by_progress(*said)(prompt)

    return ScriptedModel(answer)


def told(model: ScriptedModel, key: str) -> str:
    """What the first prompt said whose key begins so."""
    first = next(prompt.messages[0] for prompt in model.prompts if prompt.key.startswith(key))
    assert isinstance(first, UserMessage)
    return first.text


@dataclass
class WorkflowRun:
    outcome: bough.Outcome
    journal: Journal
    folder: Path

    @property
    def states(self) -> dict[str, str]:
        return {task.path: task.state.value for task in self.outcome.tree}

    def why(self, path: str) -> str:
        return next(task.why for task in self.outcome.tree if task.path == path)

    def settled(self, child: str) -> list[e.ChildSettled]:
        return [event for event in self.journal.of(e.ChildSettled) if event.child == child]

    def text(self, file: str) -> str:
        """A file as the run left it."""
        tree = self.outcome.tree[0].tree
        return git(self.folder / ".bough" / "repo.git", "show", f"{tree}:{file}")


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "the beginning")
    return folder


def plan(folder: Path, toml: str, **inputs: str) -> Plan:
    file = folder / "workflow.toml"
    file.write_text(toml)
    try:
        return plan_of(file, folder, inputs)
    finally:
        file.unlink()


def carried(folder: Path, what: Plan | str, model: ScriptedModel, **chosen: Any) -> WorkflowRun:
    """A whole run, as a program would make it."""
    written = plan(folder, what) if isinstance(what, str) else what
    outcome = asyncio.run(bough.run(written, dir=folder, model=model, **chosen))
    return WorkflowRun(outcome, asyncio.run(journal_of(folder, outcome.run)), folder)


def resumed(folder: Path, model: ScriptedModel, **chosen: Any) -> WorkflowRun:
    outcome = asyncio.run(bough.resume(dir=folder, model=model, **chosen))
    return WorkflowRun(outcome, asyncio.run(journal_of(folder, outcome.run)), folder)
