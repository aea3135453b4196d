"""Estimates a goal's size (the gate), plans its steps, and asks the person to agree.

The same code plans a goal and a phase, which is a large step that is planned when it starts. Steps come from a planner,
which may repair a bad answer once, or from the agent's own `split` call, which is checked in the same way. Work
continues whatever a planner answers: a goal whose plan is rejected twice runs as one task."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance.goal_reading import read_goal
from bough.core.acceptance.requirements import By, number_from_one
from bough.core.budget import grants
from bough.core.budget.limits import compute_remaining
from bough.core.conversation.structured_answer import Problems
from bough.core.ids import depth
from bough.core.messages import Answer, Call, ToolSpec
from bough.core.planning import guidance, prompt_values
from bough.core.planning.decomposition import read_conventions, read_plan, read_split
from bough.core.planning.plan import Plan, Step, count_leaves, validate_plan
from bough.core.planning.prompt_values import RepositoryFacts, Size, outlined
from bough.core.planning.tool_specs import GATE, PLAN, SPLIT
from bough.core.textual.paths import NAMES
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.consult import acts_in_text, render_answer, render_repair, try_consult
from bough.engine.person_messages import ask_about_plan
from bough.engine.task_workspace import INSTRUCTIONS, INSTRUCTIONS_LIMIT, TaskRuntime, find_check_command
from bough.ports import Batches, ToolResult, Workspaces

BUILD_FILES = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile")
"""Files that show what the project is built with."""
BUILD_LIMIT = 2_000
COUNTED = 100
"""How many files have their lines counted at most; for more files, the total is estimated from a sample."""


async def estimate_goal(command: c.Estimate, task: Task, runtime: TaskRuntime) -> Batches:
    """Ask a model how large the goal is. An unreadable answer means that it is done as one piece of work."""
    rounds = compute_remaining(task.budget.spend, task.budget.limits).rounds
    known = await describe_repository(task, runtime)
    values = prompt_values.build_gate_values(task, known, rounds, grows=runtime.run.grows)
    asked = await try_consult(task, runtime, "gate", "fast", values, GATE)
    if asked.answer is None:
        yield [*asked.events, *asked.halt]
        return
    found = guidance.read_estimate(asked.answer)
    in_text = acts_in_text(runtime.ports, runtime.find_key(task, "fast"))
    if isinstance(found, Problems) and not asked.answer.calls and in_text:
        yield asked.events  # A model that answers in text gets a second chance.
        asked = await try_consult(task, runtime, "gate", "fast", values, GATE, more=str(found))
        found = guidance.read_estimate(asked.answer) if asked.answer is not None else found
    if isinstance(found, Problems):
        found = guidance.SizeEstimate(atomic=True, steps=1, reason=f"no estimate was given: {found.said[0]}")
    proposed = guidance.choose_proposal(found, task.rules.planning.max_depth)
    read = guidance.read_gate_reading(asked.answer) if asked.answer is not None else guidance.GateReading()
    estimated = e.Estimated(found.atomic, found.steps, found.phases, found.domains, found.reason, proposed)
    yield [*asked.events, read_requirements(task, read), estimated]


def read_requirements(task: Task, read: guidance.GateReading = guidance.GateReading()) -> e.RequirementsRead:  # noqa: B008 - it is frozen
    """Split the goal into requirements: by the form of its text, or into finer ones by the model's answer (`read`)."""
    # The requirements of the earlier run that this run continues.
    earlier = number_from_one(task.inherited.requirements)
    refuted = any(one.kind != "unchanged" for one in earlier)
    plain = read_goal(task.step, beside=refuted)
    finer = read_goal(task.step, read.requirements, read.kinds, beside=refuted)
    later = number_from_one(finer.requirements, len(earlier))
    by: By = "person" if task.step.criteria else "rule" if plain == finer else "model"
    return e.RequirementsRead((*earlier, *later), by, finer.background)


async def describe_repository(task: Task, runtime: TaskRuntime) -> RepositoryFacts:
    goal = "\n".join([task.step.instructions, *task.step.criteria])
    return await describe(runtime.ports.workspaces, task.tree, await find_check_command(task, runtime), goal)


async def describe(workspaces: Workspaces, tree: str, command: str, goal: str) -> RepositoryFacts:
    """Describe the repository for a planner. If it has many files, those that the goal names are listed first."""
    paths = await workspaces.paths(tree)
    own = await workspaces.texts(tree, [*INSTRUCTIONS, *BUILD_FILES])
    built = (f"\n\n{name}:\n\n{own[name][:BUILD_LIMIT].strip()}" for name in BUILD_FILES if name in own)
    return RepositoryFacts(
        size=await _measure(workspaces, tree, paths),
        command=command,
        files=await asyncio.to_thread(outlined, paths, goal, prompt_values.OUTLINE),
        built="".join(built).strip(),
        project=next((own[name] for name in INSTRUCTIONS if name in own), "")[:INSTRUCTIONS_LIMIT].strip(),
    )


async def _measure(workspaces: Workspaces, tree: str, paths: Sequence[str]) -> Size:
    sample = paths[:: -(-len(paths) // COUNTED)] if paths else []
    texts = await workspaces.texts(tree, sample)
    lines = sum(text.count("\n") for text in texts.values() if "\0" not in text[:1_000])
    kinds = Counter(PurePosixPath(path).suffix.lstrip(".") for path in paths)
    languages = tuple(NAMES[kind] for kind, _ in kinds.most_common() if kind in NAMES)
    about = len(sample) < len(paths)
    lines = int(round(lines * len(paths) / len(sample), -2)) if about else lines
    return Size(len(paths), lines, tuple(dict.fromkeys(languages)), about)


def describe_means(jobs: int, rounds: int) -> str:
    """Describe the means for a plan: how many engineers work at once, processor cores, and rounds per step."""
    cores = os.cpu_count() or 1
    at_once = "one engineer works at a time" if jobs == 1 else f"up to {jobs} engineers work at the same time"
    return f"- {at_once}, on {cores} core{'s' if cores > 1 else ''}; a step has about {rounds} rounds."


Read = Callable[[Answer], tuple[Step, ...] | Problems]
Taken = Callable[[tuple[Step, ...]], Sequence[e.AnyEvent]]
"""A function that returns the events which record accepted steps."""


async def ask_for_steps(
    task: Task, runtime: TaskRuntime, helper: str, values: dict[str, str], tool: ToolSpec, read: Read, taken: Taken
) -> Batches:
    problems, answered = task.plan.problems, task.plan.answered
    while True:
        repair = render_repair(runtime.ports, tool, Problems(problems), answered) if problems else ""
        asked = await try_consult(task, runtime, helper, "main", values, tool, repair)
        if asked.answer is None:
            yield [*asked.events, *asked.halt]
            return
        steps = read(asked.answer)
        if not isinstance(steps, Problems):
            yield [*asked.events, *taken(steps)]
            return
        yield [*asked.events, e.PlanRefused(helper, steps.said, final=bool(problems))]
        if problems:
            return
        problems, answered = steps.said, render_answer(asked.answer)


SPLIT_BY_AGENT = "the agent asked for smaller steps"


def weigh_split(task: Task, result: ToolResult) -> ToolResult:
    """Check an agent's proposal to split its task. Return the events with its steps, or what is wrong with it."""
    if why_not := _explain_refusal(task):
        return ToolResult(f"The task cannot be split: {why_not}. Continue with it as it is.", ok=False)
    steps = read_split(task.step, Answer(calls=(Call("", SPLIT.name, result.proposal),)), frozenset())
    if isinstance(steps, Problems):
        return ToolResult(f"The steps were not accepted:\n{steps}\nFix that, or keep the task whole.", ok=False)
    names = ", ".join(f"`{step.name}`" for step in steps)
    return ToolResult(f"Accepted: the task continues as {names}.", events=(e.SplitProposed(steps),))


def _explain_refusal(task: Task) -> str:
    rules, left = task.rules.planning, task.left.rounds
    if task.plan.steps:
        return "it already has smaller steps, and only what its own check still finds is left to do"
    if depth(task.id) >= rules.max_depth:
        return f"the tree may not grow deeper than {rules.max_depth} levels"
    if left < rules.min_split:
        return f"{left} rounds are left, and smaller steps need at least {rules.min_split}"
    return ""


async def split_task(command: c.Split, task: Task, runtime: TaskRuntime) -> Batches:
    yield [e.Planned(command.steps, SPLIT_BY_AGENT), e.StateChanged(State.DECOMPOSED, SPLIT_BY_AGENT)]


async def make_plan(command: c.MakePlan, task: Task, runtime: TaskRuntime) -> Batches:
    """Ask the planner for steps. After two bad plans the task runs as one piece."""
    room = task.rules.planning.max_depth - depth(task.id)
    if task.proposal == "flat":
        room = min(room, 1)
    helper, values = await _build_question(task, runtime, room)
    ask = runtime.ports.approve is not None and _find_advice(task) != "take"

    agreed: tuple[str, ...] = ()
    asked = bool(task.plan.problems)

    def read(answer: Answer) -> tuple[Step, ...] | Problems:
        """Read the plan. The first time, steps that name no files are a fault; the second time they are accepted."""
        nonlocal agreed, asked
        agreed, again, asked = read_conventions(answer), asked, True
        return read_plan(task.step, answer, room, runtime.run.jobs > 1 and not again, task.asked)

    def proposed(steps: tuple[Step, ...]) -> list[e.AnyEvent]:
        return [e.PlanProposed(steps, agreed), *([] if ask else _accept_plan(task, steps, runtime, "the plan", agreed))]

    async for batch in ask_for_steps(task, runtime, helper, values, PLAN, read, proposed):
        yield batch


def _accept_plan(
    task: Task, steps: tuple[Step, ...], runtime: TaskRuntime, why: str, agreed: tuple[str, ...] = ()
) -> list[e.AnyEvent]:
    """Return the events that make the plan apply. The budget grows with its tasks, unless a person has set it."""
    events: list[e.AnyEvent] = [e.Planned(steps, why, conventions=agreed)]
    if depth(task.id) == 0 and runtime.run.grows:
        known = task.plan.estimate.steps if task.plan.estimate else 0
        rounds = grants.compute_root_rounds(max(known, sum(map(count_leaves, steps))))
        if rounds > task.budget.limits.rounds:
            events.append(e.Granted(grants.set_rounds(task.budget.limits, rounds)))
    return events


def _find_advice(task: Task) -> guidance.ApprovalAdvice:
    return guidance.choose_advice(task.plan.estimate) if task.plan.estimate is not None else "take"


async def agree_on_plan(command: c.Agree, task: Task, runtime: TaskRuntime) -> Batches:
    """Show the proposed plan, and record the person's answer: yes, no (one piece), another plan, or their own steps."""
    answer, by = await ask_about_plan(task, _find_advice(task), runtime.ports)
    if answer is None:
        return
    events: list[e.AnyEvent] = [e.PlanAnswered(answer.says, answer.wish, by)]
    if answer.says == "yes":
        events += _accept_plan(task, task.plan.proposed, runtime, "the plan", task.plan.conventions)
    elif answer.says == "own":
        validate_plan(Plan(replace(task.step, steps=answer.steps)))
        if answer.requirements:
            goal = replace(task.step, criteria=answer.requirements)
            events.append(e.RequirementsRead(read_goal(goal).requirements, "person"))
        events += _accept_plan(task, answer.steps, runtime, "the person's plan")
    yield events


async def _build_question(task: Task, runtime: TaskRuntime, room: int) -> tuple[str, dict[str, str]]:
    known, run = await describe_repository(task, runtime), runtime.run
    means = describe_means(run.jobs, grants.LEAF_ROUNDS if run.grows else max(1, task.left.rounds))
    if depth(task.id):
        return "phase_planner", prompt_values.build_phase_values(task, run.plan.goal, known, room, means)
    return "planner", prompt_values.build_planner_values(task, known, room, means)
