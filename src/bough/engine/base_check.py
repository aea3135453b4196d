"""Runs the goal's check on the base, the files as they are before the run. A check that misses something there (a
command, a package, a service) halts the run early, because no agent can repair the machine. If the project's own files
do not show how it is tested, a scout proposes a check: a model that reads files and runs commands in its own checkout,
for ten rounds at most. Each check that it proposes is tried at once, and counts only if bough sees it fail when the
product is broken on purpose; otherwise the scout is told why not."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import Check
from bough.core.budget.limits import Spend, find_reached_limit, seconds_left
from bough.core.conversation.context import render
from bough.core.conversation.structured_answer import parse_answer
from bough.core.errors import PermissionNeeded, RequestRefused, SetupFailed, TransientError
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.messages import Answer, Call, Message, ModelMessage, Prompt, Result, Usage, UserMessage
from bough.core.planning.tool_specs import SCOUT, SCOUT_IN_TEXT
from bough.core.tree.task import Task
from bough.engine.consult import acts_in_text, helper_prompt
from bough.engine.task_workspace import compute_backoff
from bough.ports import Ports, Workspace
from bough.ports.verifier import Work

FEWEST_FILES = 3
"""A project with fewer files has nothing to test yet."""
ROUNDS, MOST_TRIED, MOST_CALLS = 10, 3, 4
"""How many questions are asked, proposals tried, and calls of one answer run, at most."""
MOST_FILES, MOST_TEXT = 300, 8_000
"""The most paths of files, and characters of a result, that the scout is shown."""
LOOKS = ("read", "bash")

T = TypeVar("T")


async def check_base(
    run: Run, ports: Ports, *, fresh: bool = False, asks: bool = False, seen: Callable[[], None] = lambda: None
) -> AsyncIterator[Sequence[e.AnyEvent]]:
    """Run the check on the base, and yield the events to record. After a crash it simply runs again. `fresh`: run it
    even if its result on these files is known; then `asks` says whether to ask a scout, even if one was asked before.
    `seen`: called when the first test runs."""
    goal = run.plan.goal
    task = Task(GOAL, step=goal, base=run.base, tree=run.base, rules=run.rules)
    check = await ports.verifier.find(task) if goal.requires_testing else None
    found = e.BaseChecked()
    if check is not None:
        yield [e.BaseStarted(check.command, check.why, check.environment)]
        looked = await _finish(
            _run_base_check(ports, run, task, check, fresh, seen), run, ports, "the base check finished"
        )
        if isinstance(looked, e.RunHalted):
            yield [looked]
            return
        found = looked
    weak = asks and found.exit_status == 0 and bool(found.belief) and not found.believed
    unclear = goal.requires_testing and not goal.test_command and (found.absent or not found.command or weak)
    told: list[e.AnyEvent] = []
    if unclear and (asks if fresh else run.rules.scout and not await ports.verifier.was_asked(run, task)):
        asked = await _finish(
            scout(run, task, ports, partial(ports.progress, GOAL)), run, ports, "a model said how it is tested"
        )
        if isinstance(asked, e.RunHalted):
            yield [asked]
            return
        found = asked[1] or found
        told = [asked[0]] if asked[0].commands or asked[0].refused else []
    if found.command and (check is None or found.command != check.command):
        told.append(e.BaseStarted(found.command, found.why, found.environment))
    yield [*told, found, *([e.RunHalted("environment", f"{found.lacking}. {found.way_out}")] if found.lacking else [])]


async def _finish(work: Coroutine[Any, Any, T], run: Run, ports: Ports, what: str) -> T | e.RunHalted:
    """Return the result of `work`, or the halt of the run if its time is spent or a person stops it before that. `what`
    says in the halt's message what had not happened yet."""
    doing = asyncio.create_task(work)
    watching = ports.stop.watch(doing.cancel)
    try:
        async with asyncio.timeout(seconds_left(Spend(), run.limits)):
            return await doing
    except TimeoutError:
        return e.RunHalted("budget", f"the budget of {run.limits.minutes:,} minutes was spent before {what}")
    except asyncio.CancelledError:
        if not ports.stop.requested:
            raise
        return e.RunHalted(*ports.stop.halt)
    finally:
        doing.cancel()
        watching.close()


async def _run_base_check(
    ports: Ports, run: Run, task: Task, check: Check, fresh: bool, seen: Callable[[], None]
) -> e.BaseChecked:
    try:
        return await ports.verifier.at_base(Work(run, task, check, seen), partial(ports.progress, GOAL), fresh=fresh)
    except (SetupFailed, PermissionNeeded) as error:
        said, _, more = str(error).partition(": ")
        return e.BaseChecked(check.command, check.why, check.environment, lacking=said, way_out=more)


# ── the scout, a model that proposes a check ──────────────────────────────────────────────────────────────────────────


class _Proposal(Struct, frozen=True):
    command: str = ""
    setup: str = ""
    why: str = ""
    bash: str = ""
    """A command by which a model that acts in text looks around first."""


async def scout(
    run: Run, task: Task, ports: Ports, say: Callable[[str], None]
) -> tuple[e.CheckScouted, e.BaseChecked | None]:
    """Let a model propose checks. Return an event that names the proposals, and why each rejected one does not count;
    and the accepted one's result on the original files, or None."""
    paths = await ports.workspaces.paths(task.base)
    if len(paths) < FEWEST_FILES:
        return e.CheckScouted(), None
    say("asking a model how this project is tested")
    name = f"{GOAL}@scout"
    try:
        workspace = await ports.workspaces.open(run.name, name, task.base, run.folder)
    except SetupFailed as error:
        return e.CheckScouted(refused={"": str(error)}), None
    try:
        asking = _Scouting(run, task, ports, workspace, say)
        found = await asking.find(sorted(paths))
    finally:
        await ports.workspaces.discard(run.name, name)
    if asking.over:  # If the model was unavailable, it is asked again next time.
        await ports.verifier.keep_proposal(run, task, Check(found.command, found.why) if found else None)
    return asking.told, found


class _Scouting:
    def __init__(self, run: Run, task: Task, ports: Ports, workspace: Workspace, say: Callable[[str], None]) -> None:
        self._run, self._task, self._ports, self._workspace, self._say = run, task, ports, workspace, say
        self._in_text = acts_in_text(ports, "main")
        self._spend = Spend()
        self._found: e.BaseChecked | None = None
        self.over = False
        self.told = e.CheckScouted()

    async def find(self, paths: Sequence[str]) -> e.BaseChecked | None:
        """Ask the model until one of its proposals counts, it finds none, or its rounds are spent."""
        ports = self._ports
        question = render(ports.prompt("scout"), {"files": "\n".join(paths[:MOST_FILES]), "rounds": str(ROUNDS)})
        looks = tuple(spec for spec in ports.tools.specs if spec.name in LOOKS)
        spec = SCOUT_IN_TEXT if self._in_text else SCOUT
        prompt = helper_prompt(f"{self._task.id}#scout", question, ports, "main", (spec, *looks))
        for number in range(1, ROUNDS + 1):
            answer = await self._ask(replace(prompt, key=f"{self._task.id}#scout#{number}"))
            results = await self._perform(answer) if answer is not None else []
            if answer is None or self.over:
                return self._found
            if number == ROUNDS - 1:
                results.append(
                    UserMessage(f"One round is left: call `{SCOUT.name}`; no command means that none is found.")
                )
            replied = ModelMessage(answer.text, answer.calls, answer.extra)
            prompt = replace(prompt, messages=prompt.messages.then(replied, *results))
        self.over = True
        self._refuse("", f"no proposal counted within {ROUNDS} rounds")
        return None

    async def _perform(self, answer: Answer) -> list[Message]:
        """Run the calls of an answer, and return their results for the model."""
        calls = self._read_calls(answer)
        if isinstance(calls, str):
            return [UserMessage(calls)]
        results: list[Message] = []
        for at, call in enumerate(calls):
            if at >= MOST_CALLS:
                said, ok = f"Only {MOST_CALLS} calls of an answer run.", False
            elif call.name == SCOUT.name:
                proposal = parse_answer(Answer(calls=(call,)), SCOUT, _Proposal)
                said, ok = proposal if isinstance(proposal, str) else await self._try(proposal), False
                if self.over:
                    break
            else:
                said, ok = await self._look(call)
            results.append(Result(call.id, said, ok) if answer.calls else UserMessage(said))
        return results

    async def _ask(self, prompt: Prompt) -> Answer | None:
        """Return the model's answer, with retries; None if the model is unavailable or the budget is spent."""
        ports, rules = self._ports, self._task.rules
        if spent := find_reached_limit(self._spend, self._run.limits):
            self._refuse("", f"the budget of {spent} is spent")
            return None
        for failures in range(rules.max_transport_failures):
            try:
                began = ports.timer()
                answer = await ports.models["main"].ask(prompt, lambda text: None)
            except RequestRefused as error:
                self._refuse("", str(error))
                return None
            except TransientError as error:
                self._refuse("", str(error))
                if await ports.stop.wait(compute_backoff(rules, failures, error)):
                    return None
            else:
                took = ports.timer() - began
                used = self._spend = self._spend.called(answer.usage, answer.cost, took).plus(Spend(rounds=1))
                cost = None if used.unpriced else used.cost
                usage = Usage(used.tokens_in, used.tokens_out, used.tokens_cached)
                refused = {command: why for command, why in self.told.refused.items() if command}
                asked = (usage, cost, answer.model, used.rounds, used.seconds)
                self.told = e.CheckScouted(self.told.commands, refused, *asked)
                return answer
        return None

    def _read_calls(self, answer: Answer) -> Sequence[Call] | str:
        """Return the calls of an answer, made by tools or in its text, or a text about what is wrong with it."""
        if answer.calls:
            return answer.calls
        found = parse_answer(answer, SCOUT_IN_TEXT, _Proposal)
        if isinstance(found, str):
            return found
        if found.bash and not found.command:
            return (Call("", "bash", json.dumps({"command": found.bash})),)
        return (Call("", SCOUT.name, json.dumps({"command": found.command, "setup": found.setup, "why": found.why})),)

    async def _look(self, call: Call) -> tuple[str, bool]:
        if call.name not in LOOKS:
            return f"There are `read`, `bash` and `{SCOUT.name}`.", False
        done = await self._ports.tools.run(call, self._workspace, self._task.rules, self._say)
        return done.output, done.ok

    async def _try(self, proposal: _Proposal) -> str:
        """Try a proposal, and return why it does not count; empty if it does. Sets `over` if it counts, or if no more
        proposals are tried."""
        from bough.core.verdict.stated_commands import is_harmless

        command = " && ".join(filter(None, (proposal.setup.strip(), proposal.command.strip())))
        if not proposal.command.strip():
            self.over = True
            return self._refuse("", proposal.why or "it found none")
        self._say(f"trying {command}")
        day = time.strftime("%Y-%m-%d", time.gmtime(self._ports.clock()))
        check = Check(command, f"{self.told.model or 'a model'} proposed it on {day}: {proposal.why.strip()}")
        self.told = replace(self.told, commands=(*self.told.commands, command))
        works: e.BaseChecked | str = (
            "not tried: the command leaves this machine, starts a service, or has a placeholder, a here-document or a "
            "variable that is not set here"
        )
        if is_harmless(command):
            works = await self._ports.verifier.try_check(self._run, self._task, check, self._say)
        if isinstance(works, e.BaseChecked):
            self.over, wanted = True, await self._is_wanted(command, works)
            self._found = works if wanted else None
            return "" if wanted else self._refuse(command, "you said no")
        self.over = len(self.told.commands) >= MOST_TRIED
        return self._refuse(command, works)

    def _refuse(self, command: str, why: str) -> str:
        self.told = replace(self.told, refused={**self.told.refused, command: why})
        return why

    async def _is_wanted(self, command: str, works: e.BaseChecked) -> bool:
        """Ask the person whether to use the command. With `--yes` or without a terminal, return True."""
        if self._ports.ask is None:
            return True
        ran = works.passed + works.failed
        tests = f"runs {ran} tests here and " if ran else ""
        said = await self._ports.ask(
            f"No check was found. `{command}` {tests}fails when the product is broken. Use it as the check? (yes/no)"
        )
        return bool(said) and str(said).strip().lower() in ("y", "yes")
