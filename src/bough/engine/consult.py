"""Questions to a model on a task's behalf: to plan, to prune, to summarise. No agent: one question, one answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.conversation import context
from bough.core.conversation.compaction import measure_messages
from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.structured_answer import Problems, describe_tool
from bough.core.errors import Exhausted, NotServed, Refused, TooLong, TransientError, Unavailable, WaitEnded
from bough.core.messages import Answer, Message, Prompt, Said, ToolSpec
from bough.core.model_chain import find_next
from bough.core.planning.plan import Tier
from bough.core.planning.prompt_values import build_repair_values
from bough.core.tree.task import Task
from bough.engine.task_workspace import TaskRuntime, build_halt, compute_backoff, estimate_broken_usage, fill_usage
from bough.ports import Ports

Tools = ToolSpec | tuple[ToolSpec, ...]
"""The tool that answers a question, and tools that only look around; none: the text is the answer."""


class Consulted(Struct, frozen=True):
    """The answer to a question, and the events that record it, also for a missing answer."""

    events: tuple[e.AnyEvent, ...]
    answer: Answer | None
    error: str = ""
    halt: tuple[e.TaskHalted, ...] = ()
    """The halt of a task that cannot continue without an answer; none if a person stops the run: then the model is not
    at fault."""


async def consult(
    task: Task,
    runtime: TaskRuntime,
    helper: str,
    tier: Tier,
    values: Mapping[str, str],
    tool: Tools = (),
    more: str = "",
) -> Consulted:
    """Render the helper's prompt with `more` after it, and ask. The caller handles `Refused` (a wrong key); transport
    errors are retried."""
    ports = runtime.ports
    question = context.render(ports.prompt(helper), values)
    # The key names the call for recordings: the spend so far makes it unique within the task.
    name = f"{task.id}#{helper}#{task.budget.spend.rounds}"
    key = runtime.find_key(task, tier, helper)
    prompt = helper_prompt(name, question, ports, key, tool, more)
    shown = measure_messages((Said(prompt.system), *prompt.messages))
    failed: list[e.AnyEvent] = []
    tries, problem = 0, ""
    show = partial(ports.streamed, task.id)
    while True:
        began = ports.timer()
        try:
            answer = await ports.models[key].ask(prompt, show)
        except WaitEnded as error:
            return Consulted(tuple(failed), None, str(error))
        except TransientError as error:
            tries, problem = tries + 1, str(error)
            usage = estimate_broken_usage(error, shown, prompt.tools)
            switched = switch_model(task, runtime, tier, key, error, tries)
            again = switched is not None or tries < task.rules.max_transport_failures
            wait = compute_backoff(task.rules, tries - 1, error) if again and not switched else 0.0
            failed.append(e.HelperFailed(helper, str(error), ports.timer() - began, usage, wait))
            if again and runtime.record is None:
                show(f"\n{error} Retrying in {wait:.0f} s.\n")
        except Refused as error:
            switched, again, wait = switch_model(task, runtime, tier, key, error, tries), True, 0.0
            if not switched and (prompt.schema is None or isinstance(error, TooLong)):
                raise
            failed.append(e.HelperFailed(helper, str(error), ports.timer() - began))
            prompt = replace(prompt, schema=None)  # It may not support schemas; text always works.
        else:
            answer = fill_usage(answer, shown, prompt.tools)
            seconds = ports.timer() - began
            told = e.HelperAnswered(helper, render_answer(answer), answer.usage, answer.cost, seconds, answer.model)
            return Consulted((*failed, told), answer)
        if switched:
            failed.append(switched)
            key, tries = switched.to, 0
            prompt = helper_prompt(name, question, ports, key, tool, more)
        if runtime.record is not None:  # An observer sees at once why nothing happens.
            await runtime.record(failed)
            failed = []
        if not again or await ports.stop.wait(wait):
            return Consulted(tuple(failed), None, problem)


async def try_consult(
    task: Task,
    runtime: TaskRuntime,
    helper: str,
    tier: Tier,
    values: Mapping[str, str],
    tool: Tools = (),
    more: str = "",
) -> Consulted:
    """Call `consult`, but return no answer where it raises because the model is unavailable."""
    try:
        asked = await consult(task, runtime, helper, tier, values, tool, more)
    except Unavailable as error:
        return Consulted((e.HelperFailed(helper, str(error)),), None, str(error), (build_halt(error, task),))
    if asked.answer is None and not runtime.ports.stop.requested:
        return replace(asked, halt=(e.TaskHalted("unavailable", asked.error),))
    return asked


TRIES = 3
"""Transport errors in a row before the next model is asked."""


def switch_model(
    task: Task, runtime: TaskRuntime, tier: Tier, asked: str, error: Unavailable, failures: int
) -> e.ModelSwitched | None:
    """Return the switch to the next model in the chain after `asked`; None: there is none, or the error (a wrong
    key, a bad request, a refusal, a person's stop) must not be hidden by another model. `failures`: transport errors
    in a row."""
    passing = isinstance(error, TransientError) and failures >= TRIES
    key = find_next(asked, runtime.ports.models) if passing or isinstance(error, Exhausted | NotServed) else ""
    if not key:
        return None
    runtime.serving = runtime.serving | {tier: key}
    model = runtime.ports.models[key]
    known, attempt = runtime.ports.protocols.of(model.name), task.attempt
    restarts = attempt is not None and attempt.tier == tier and attempt.protocol != known.protocol
    until = error.until if isinstance(error, Exhausted) else 0.0
    return e.ModelSwitched(tier, key, model.name, str(error), model.window, known.may_change, restarts, until)


def render_repair(ports: Ports, tool: ToolSpec, problems: Problems, answer: str) -> str:
    """Render the follow-up to an unusable answer: what is wrong with it."""
    return context.render(ports.prompt("plan_repair"), build_repair_values(tool.name, problems, answer))


def acts_in_text(ports: Ports, key: str) -> bool:
    return ports.protocols.of(ports.models[key].name).protocol == "text"


def helper_prompt(key: str, question: str, ports: Ports, key_of_model: str, tool: Tools, more: str = "") -> Prompt:
    """Render the question in the model's protocol."""
    tools = tool if isinstance(tool, tuple) else (tool,)
    in_text = bool(tools) and acts_in_text(ports, key_of_model)
    # The first tool answers; others only look around, which text cannot do.
    asked = (question, more, describe_tool(tools[0]) if in_text else "")
    messages: PersistentList[Message] = PersistentList((Said("\n".join(part for part in asked if part)),))
    prompt = Prompt(key, ports.prompt("helper").strip(), messages, tools)
    if in_text:  # The server, if it can, enforces the answer's shape.
        prompt = replace(prompt, tools=(), schema=tools[0])
    return prompt


def render_answer(answer: Answer) -> str:
    """Return an answer as text: the arguments of its call, or its own text."""
    return answer.calls[0].arguments if answer.calls else answer.text
