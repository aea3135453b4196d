"""Where rules end: a model is asked once how a project is tested. What it proposes counts only when bough has seen it
run tests, and fail on a product that was broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from bough.core import events as e
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import parse_answer
from bough.core.errors import Refused, TransientError
from bough.core.journal.run_fold import Run
from bough.core.planning.tool_specs import SCOUT
from bough.core.tree.task import Task
from bough.core.verdict.project_commands import is_harmless, rank_told
from bough.engine.consult import helper_prompt
from bough.ports import Ports

FEWEST_FILES = 3
"""A project with fewer has nothing to test yet."""
MOST_FILES, MOST_TOLD, MOST_TEXT, MOST_COMMANDS = 300, 8, 2_500, 3


class _Proposed(Struct, frozen=True):
    commands: tuple[str, ...] = ()


async def find_check(
    run: Run, task: Task, ports: Ports, say: Callable[[str], None]
) -> tuple[e.CheckScouted, e.BaseChecked | None]:
    """What was proposed and why it does not count, and what the one that counts reports."""
    paths = await ports.workspaces.paths(task.base)
    if len(paths) < FEWEST_FILES:
        return e.CheckScouted(), None
    say("asking a model how this project is tested")
    told = await ports.workspaces.texts(task.base, sorted(filter(rank_told, paths), key=rank_told)[:MOST_TOLD])
    texts = "\n\n".join(f"### {path}\n\n{text[:MOST_TEXT]}" for path, text in told.items()) or "(nothing)"
    question = render(ports.prompt("scout"), {"files": "\n".join(sorted(paths)[:MOST_FILES]), "texts": texts})
    prompt = helper_prompt(f"{task.id}#scout", question, ports, "fast", SCOUT)
    try:
        answer = await ports.models["fast"].ask(prompt, lambda text: None)
    except (TransientError, Refused) as error:
        return e.CheckScouted(refused={"": str(error)}), None
    found = parse_answer(answer, SCOUT, _Proposed)
    commands = () if isinstance(found, str) else found.commands[:MOST_COMMANDS]
    refused: dict[str, str] = {} if commands else {"": "no command was proposed"}
    chosen: e.BaseChecked | None = None
    for command in commands:
        say(f"trying {command}")
        works = await ports.verifier.try_check(run, task, command, say) if is_harmless(command) else "it is not tried"
        if isinstance(works, str):
            refused[command] = works
        elif await _is_wanted(command, works, ports):
            chosen = works
            break
        else:
            refused[command] = "you said no"
    return e.CheckScouted(commands, refused, answer.usage, answer.cost, answer.model), chosen


async def _is_wanted(command: str, works: e.BaseChecked, ports: Ports) -> bool:
    """Asked where somebody is there; `--yes` and runs without a terminal take what bough has proven to work."""
    if ports.ask is None:
        return True
    said = await ports.ask(
        f"No check was found. `{command}` runs {works.passed + works.failed} tests here and fails when the product is "
        "broken. Use it as the check? (yes/no)"
    )
    return bool(said) and str(said).strip().lower() in ("y", "yes")
