"""Planning prompts learned from a person's own runs: what finished runs needed, whether other guidance would have
predicted it better, and a comparison of both on held-out runs."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.app.choices import Choices, RunObserver
from bough.app.prompts import FILE, LearnedPrompt, load_prompt
from bough.app.run_models import find_endpoints
from bough.app.run_ports import open_ports
from bough.app.session import Session
from bough.core import events as e
from bough.core.budget.grants import ATOMIC_ROUNDS, LEAF_ROUNDS
from bough.core.budget.limits import Spend
from bough.core.conversation import context
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import NewerRun, TransientError, UsageError
from bough.core.ids import parent_path
from bough.core.messages import Answer, Prompt, ToolSpec, UserMessage
from bough.core.planning import prompt_values
from bough.core.planning.guidance import LONGEST, guidance_of, with_guidance
from bough.core.planning.plan import Tier
from bough.core.planning.tool_specs import GATE, PLAN
from bough.core.tree.task_state import State
from bough.engine.consult import helper_prompt, render_answer
from bough.engine.make_plan import describe, describe_means
from bough.ports import Ports
from bough.trust.files import Place
from bough_optimise import search
from bough_optimise.scoring import Lesson, Score, score_gate, score_plan

T = TypeVar("T")

FEWEST = 4
"""Finished runs that are needed: some to learn from, some to compare on."""
TRIES = 3
"""Tries for a call whose answer breaks off."""


class Comparison(Struct, frozen=True):
    """The plain prompt and the best one found, on held-out runs."""

    helper: str
    model: str
    learned_from: int
    compared_on: tuple[str, ...]
    plain: tuple[float, ...] = ()
    optimised: tuple[float, ...] = ()
    guidance: str = ""
    why_not: str = ""
    """Why nothing was optimised."""

    @property
    def means(self) -> tuple[float, float]:
        number = max(len(self.compared_on), 1)
        return sum(self.plain) / number, sum(self.optimised) / number

    @property
    def better(self) -> bool:
        plain, optimised = self.means
        return bool(self.guidance) and optimised > plain + 1e-9


class Helper(Struct, frozen=True):
    name: str
    tier: Tier
    tool: ToolSpec
    score: Callable[[Answer, Lesson], Score]

    def values(self, lesson: Lesson) -> dict[str, str]:
        return lesson.gate if self.name == "gate" else lesson.planner


HELPERS = (Helper("gate", "fast", GATE, score_gate), Helper("planner", "main", PLAN, score_plan))


async def optimise_planner(
    session: Session, choices: Choices, calls: int, tell: Callable[[str], None]
) -> tuple[list[Comparison], Spend]:
    """Look for better guidance for the gate and the planner, with at most `calls` answers each, and keep what is
    better. What was spent has a round for each call."""
    search.check_installed()
    lessons = await lessons_of(session)
    if len(lessons) < FEWEST:
        raise UsageError(
            f"Optimising needs {FEWEST} completed runs to learn from, and there {'is' if len(lessons) == 1 else 'are'} "
            f"{len(lessons)} here: run it again after more runs."
        )
    models = choices.models(session.config.models)
    found, spend = [], Spend()
    async with open_ports(session, models, choices, RunObserver(), find_endpoints(session, models, choices)) as ports:
        for helper in HELPERS:
            known = [lesson for lesson in lessons if helper.name == "gate" or not lesson.atomic]
            if len(known) < FEWEST:
                why_not = f"only {len(known)} completed runs were large enough for a plan; {FEWEST} are needed"
                found.append(Comparison(helper.name, ports.models[helper.tier].name, 0, (), why_not=why_not))
                continue
            bench = PlannerBench(helper, ports, tell)
            found.append(await bench.compare(known, calls))
            spend = spend.plus(bench.spend)
    _keep(session.home / FILE, found)
    return found, spend


class PlannerBench:
    """Tries other guidance for one helper."""

    def __init__(self, helper: Helper, ports: Ports, tell: Callable[[str], None]) -> None:
        self._helper = helper
        self._ports = ports
        self.spend = Spend()
        self._tell = tell
        self._template = load_prompt(helper.name)
        self._plain = guidance_of(self._template)
        self._answers: dict[tuple[str, str], Answer] = {}

    async def compare(self, lessons: Sequence[Lesson], calls: int) -> Comparison:
        held, learned = lessons[::3], [lesson for number, lesson in enumerate(lessons) if number % 3]
        name = self._helper.name
        self._tell(f"{name}: the plain prompt on {len(held)} runs")
        plain = [await self._scored(self._plain, lesson) for lesson in held]
        self._tell(f"{name}: looking for better guidance on {len(learned)} other runs, {calls} answers at most")
        loop = asyncio.get_running_loop()

        def ask(guidance: str, lesson: Lesson) -> str:
            """The answer as the text that DSPy passes around."""
            return msgspec.json.encode(_from_thread(loop, self._asked(guidance, lesson))).decode()

        study = search.Study(
            self._template,
            learned,
            self._helper.values,
            ask=ask,
            score=lambda answer, lesson: self._helper.score(msgspec.json.decode(answer, type=Answer), lesson),
            propose=lambda guidance, seen: _from_thread(loop, self._propose(guidance, seen)),
            calls=calls,
        )
        guidance = await asyncio.to_thread(search.optimise, study)
        new = guidance if guidance != self._plain else ""
        if new:
            self._tell(f"{name}: the best guidance on the {len(held)} runs")
        optimised = [await self._scored(new, lesson) for lesson in held] if new else plain
        return Comparison(
            name,
            self._ports.models[self._helper.tier].name,
            len(learned),
            tuple(lesson.run for lesson in held),
            tuple(plain),
            tuple(optimised),
            new,
        )

    async def _scored(self, guidance: str, lesson: Lesson) -> float:
        return self._helper.score(await self._asked(guidance, lesson), lesson).value

    async def _asked(self, guidance: str, lesson: Lesson) -> Answer:
        """An answer to the prompt as a run would ask it; the same question is asked once."""
        if known := self._answers.get((guidance, lesson.run)):
            return known
        template = self._template if guidance == self._plain else with_guidance(self._template, guidance)
        question = context.render(template, self._helper.values(lesson))
        key = f"optimise#{self._helper.name}#{len(self._answers)}"
        asked = helper_prompt(key, question, self._ports, self._helper.tier, self._helper.tool)
        answer = self._answers[guidance, lesson.run] = await self._call(asked, self._helper.tier)
        return answer

    async def _propose(self, guidance: str, seen: Sequence[str]) -> str:
        """Other guidance, by the strongest model."""
        values = {
            "helper": self._helper.name,
            "guidance": guidance,
            "seen": "\n".join(f"{number}. {says}" for number, says in enumerate(seen, 1)),
            "longest": f"{LONGEST:,}",
        }
        question = context.render((Path(__file__).parent / "optimiser.md").read_text(encoding="utf-8"), values)
        asked = Prompt("optimise#proposal", load_prompt("helper").strip(), PersistentList((UserMessage(question),)), ())
        return render_answer(await self._call(asked, "strong")).strip() or guidance

    async def _call(self, asked: Prompt, tier: Tier) -> Answer:
        for tried in range(TRIES):
            try:
                answer = await self._ports.models[tier].ask(asked, lambda text: None)
                break
            except TransientError as error:
                if tried + 1 == TRIES:
                    raise
                await asyncio.sleep(min(error.retry_after or 2.0, 60.0))
        self.spend = self.spend.called(answer.usage, answer.cost, 0.0).plus(Spend(rounds=1))
        return replace(answer, extra="")


def _from_thread(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result()


# ── what there is to learn from ─────────────────────────────────────────────────────────────────────────────────────


async def lessons_of(session: Session) -> list[Lesson]:
    """Completed runs that started from a goal alone, in order of name."""
    found = []
    for name in sorted(await session.store.runs()):
        with suppress(NewerRun):
            if (lesson := await _lesson(session, name)) is not None:
                found.append(lesson)
    return found


async def _lesson(session: Session, name: str) -> Lesson | None:
    run = await session.run(name)
    view = await session.view(name)
    if view.status != "completed" or run.plan.goal.steps or view.tasks == {}:
        return None
    task = await session.task(name)
    checked = await session.store.read(name, kinds=(e.BaseChecked.__name__,))
    command = next((record.event.command for record in checked if isinstance(record.event, e.BaseChecked)), "")
    known = await describe(session.workspaces, run.base, command, task.step.instructions)
    rounds = run.limits.rounds if not run.grows else ATOMIC_ROUNDS
    work = await session.work(name)
    paths = [change.path for change in await session.workspaces.changes(run.base, work.tree)]
    room = run.rules.planning.max_depth
    parents = {parent_path(path) for path in view.tasks}  # The others did something themselves.
    return Lesson(
        run=name,
        goal=context.build_planner_goal(task),
        gate=prompt_values.build_gate_values(task, known, rounds, grows=run.grows),
        planner=prompt_values.build_planner_values(
            task, known, room, describe_means(run.jobs, LEAF_ROUNDS if run.grows else rounds)
        ),
        requirements=task.asked,
        room=room,
        rounds=view.spend.rounds,
        leaves=max(1, sum(path not in parents and seen.state is State.COMPLETED for path, seen in view.tasks.items())),
        files=tuple(paths),
    )


# ── what is kept ────────────────────────────────────────────────────────────────────────────────────────────────────


def _keep(file: Path, found: Sequence[Comparison]) -> None:
    """Keep what did better. Anything else is forgotten, including an earlier comparison's winner."""
    kept = {}
    for each in found:
        if each.better:
            plain, optimised = each.means
            kept[each.helper] = LearnedPrompt(each.guidance, plain, optimised, len(each.compared_on), each.model)
    Place(file.parent, file.name).write(msgspec.json.format(msgspec.json.encode(kept), indent=1))
