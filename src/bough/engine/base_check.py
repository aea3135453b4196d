"""Find out before the first round what the goal's check reports on the files as they are. A check that lacks something
there (a command, an installed package, a service) halts the run before anything is spent: no agent can repair a
machine.

Where rules end, a model is asked once how a project is tested. What it proposes counts only when bough has seen it run
tests, and fail on a product that was broken on purpose.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.verdict import Check
from bough.core.budget.limits import Spend, seconds_left
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import parse_answer
from bough.core.errors import Refused, SetupFailed, TransientError
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.planning.tool_specs import SCOUT
from bough.core.tree.task import Task
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
    from bough.core.verdict.stated_commands import is_harmless, rank_told

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


async def check_base(run: Run, ports: Ports, *, fresh: bool = False) -> AsyncIterator[Sequence[e.AnyEvent]]:
    """The events to record. It changes nothing, so after a crash it simply runs again. `fresh`: run the check even
    where it passed on these files before."""
    goal = run.plan.goal
    task = Task(GOAL, step=goal, base=run.base, tree=run.base, rules=run.rules)
    check = await ports.verifier.find(task) if goal.requires_testing else None
    if check is None:
        async for events in _scout(run, task, ports, e.BaseChecked(), fresh):
            yield events
        return
    yield [e.BaseStarted(check.command, check.why, check.environment)]
    looking = asyncio.create_task(_run_base_check(ports, run, task, check, fresh))
    watching = ports.stop.watch(looking.cancel)
    try:
        async with asyncio.timeout(seconds_left(Spend(), run.limits)):
            found = await looking
    except TimeoutError:
        spent = f"the budget of {run.limits.minutes:,} minutes was spent before the base check finished"
        yield [e.RunHalted("budget", spent)]
        return
    except asyncio.CancelledError:
        if not ports.stop.requested:
            raise
        yield [e.RunHalted(*ports.stop.halt)]
        return
    finally:
        looking.cancel()
        watching.close()
    if _runs_nothing(found) and not goal.test_command:
        async for events in _scout(run, task, ports, found, fresh):
            yield events
        return
    if found.command != check.command:
        yield [e.BaseStarted(found.command, found.why, found.environment)]
    yield [found, e.RunHalted("environment", f"{found.lacking}. {found.way_out}")] if found.lacking else [found]


def _runs_nothing(found: e.BaseChecked) -> bool:
    """No candidate ran a test, and the first did not even start: what it uses is not there, and no package provides
    it. A check that fails in other ways may show the very bug."""
    from bough.core.verdict.original_tests import hash_refutation

    fails = found.exit_status not in (0, None) and not found.passed + found.failed
    return fails and not found.lacking and not hash_refutation(found.said)


async def _scout(
    run: Run, task: Task, ports: Ports, found: e.BaseChecked, fresh: bool
) -> AsyncIterator[Sequence[e.AnyEvent]]:
    """What is to be recorded of a question to a model, and the check that counts: the proposed one, or what was found
    without it. No model is asked for a `fresh` one."""
    if task.step.requires_testing and run.rules.scout and not fresh:
        told, proposed = await find_check(run, task, ports, partial(ports.progress, GOAL))
        found = proposed or found
        if told.commands or told.refused:
            yield [told]
    started = [e.BaseStarted(found.command, found.why, found.environment)] if found.command else []
    yield [*started, found]


async def _run_base_check(ports: Ports, run: Run, task: Task, check: Check, fresh: bool) -> e.BaseChecked:
    try:
        return await ports.verifier.at_base(run, task, check, partial(ports.progress, GOAL), fresh=fresh)
    except SetupFailed as error:
        said, _, more = str(error).partition(": ")
        return e.BaseChecked(check.command, check.why, check.environment, lacking=said, way_out=more)
