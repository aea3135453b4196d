"""Asks a model single questions for a task, for example to plan or to summarise: one question, one answer, no agent."""

from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.conversation import context
from bough.core.conversation.compaction import measure_messages
from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.structured_answer import Problems, describe_tool
from bough.core.errors import NotServed, QuotaExhausted, RequestRefused, TooLong, TransientError, Unavailable, WaitEnded
from bough.core.messages import Answer, Message, Prompt, ToolSpec, UserMessage
from bough.core.planning.agent_choice import find_next
from bough.core.planning.plan import Tier
from bough.core.planning.prompt_values import build_repair_values
from bough.core.tree.task import Task
from bough.engine.task_workspace import TaskRuntime, build_halt, compute_backoff, estimate_broken_usage, fill_usage
from bough.ports import Ports

Tools = ToolSpec | tuple[ToolSpec, ...]
"""The tool by which the model answers, followed by tools that only look around. Empty: its text is the answer."""


class Consultation(Struct, frozen=True):
    """The answer to a question, or None, with the events that record what happened."""

    events: tuple[e.AnyEvent, ...]
    answer: Answer | None
    error: str = ""
    halt: tuple[e.TaskHalted, ...] = ()
    """The event that halts a task which cannot continue without an answer. Empty if there is an answer, or if it is
    missing because a person stops the run."""
    refused: Unavailable | None = None
    """The error that trying again cannot remove, such as a wrong key."""


async def try_consult(
    task: Task,
    runtime: TaskRuntime,
    helper: str,
    tier: Tier,
    values: Mapping[str, str],
    tool: Tools = (),
    more: str = "",
) -> Consultation:
    """Ask a model the question in the prompt template `helper`, with `more` after it. Transport errors are retried."""
    ports = runtime.ports
    question = context.render(ports.prompt(helper), values)
    # Recordings find the call by this key. The rounds spent so far make it unique within the task.
    name = f"{task.id}#{helper}#{task.budget.spend.rounds}"
    key = runtime.find_key(task, tier, helper)
    prompt = helper_prompt(name, question, ports, key, tool, more)
    shown = measure_messages((UserMessage(prompt.system), *prompt.messages))
    failed: list[e.AnyEvent] = []
    tries = 0
    show = partial(ports.streamed, task.id)
    while True:
        began, wait = ports.timer(), 0.0
        try:
            answer = await ports.models[key].ask(prompt, show)
        except WaitEnded as error:
            problem, again, switched = str(error), False, None
        except TransientError as error:
            tries, problem = tries + 1, str(error)
            usage = estimate_broken_usage(error, shown, prompt.tools)
            switched = switch_model(task, runtime, tier, key, error, tries)
            again = switched is not None or tries < task.rules.max_transport_failures
            wait = compute_backoff(task.rules, tries - 1, error) if again and not switched else 0.0
            failed.append(e.HelperFailed(helper, problem, ports.timer() - began, usage, wait))
            if again and runtime.record is None:
                show(f"\n{error} Retrying in {wait:.0f} s.\n")
        except Unavailable as error:
            problem, again, switched = str(error), True, switch_model(task, runtime, tier, key, error, tries)
            failed.append(e.HelperFailed(helper, problem, ports.timer() - began))
            plain = isinstance(error, RequestRefused) and not isinstance(error, TooLong) and prompt.schema is not None
            if not switched and not plain:
                return Consultation(tuple(failed), None, problem, (build_halt(error, task),), error)
            prompt = replace(prompt, schema=None)  # The server may not support schemas, but it accepts plain text.
        else:
            answer = fill_usage(answer, shown, prompt.tools)
            seconds = ports.timer() - began
            told = e.HelperAnswered(helper, render_answer(answer), answer.usage, answer.cost, seconds, answer.model)
            return Consultation((*failed, told), answer)
        if switched:
            failed.append(switched)
            key, tries = switched.to, 0
            prompt = helper_prompt(name, question, ports, key, tool, more)
        if failed and runtime.record is not None:  # Record failures now, so that observers see what the wait is for.
            await runtime.record(failed)
            failed = []
        if not again or await ports.stop.wait(wait):
            halt = () if ports.stop.requested else (e.TaskHalted("unavailable", problem),)
            return Consultation(tuple(failed), None, problem, halt)


TRIES = 3
"""Transport errors in a row before the next model is asked."""


def switch_model(
    task: Task, runtime: TaskRuntime, tier: Tier, asked: str, error: Unavailable, failures: int
) -> e.ModelSwitched | None:
    """Switch to the next fallback after the model `asked`, and return the event. Return None if there is no other
    model, or if the error (a wrong key, a bad request) is one that another model must not hide. `failures`: how many
    transport errors have occurred in a row."""
    passing = isinstance(error, TransientError) and failures >= TRIES
    key = find_next(asked, runtime.ports.models) if passing or isinstance(error, QuotaExhausted | NotServed) else ""
    if not key:
        return None
    runtime.serving = runtime.serving | {tier: key}
    model = runtime.ports.models[key]
    known, attempt = runtime.ports.protocols.of(model.name), task.attempt
    restarts = attempt is not None and attempt.tier == tier and attempt.protocol != known.protocol
    until = error.until if isinstance(error, QuotaExhausted) else 0.0
    return e.ModelSwitched(tier, key, model.name, str(error), model.window, known.may_change, restarts, until)


def render_repair(ports: Ports, tool: ToolSpec, problems: Problems, answer: str) -> str:
    """Render the follow-up question to an unusable answer, which says what is wrong with it."""
    return context.render(ports.prompt("plan_repair"), build_repair_values(tool.name, problems, answer))


def acts_in_text(ports: Ports, key: str) -> bool:
    return ports.protocols.of(ports.models[key].name).protocol == "text"


def helper_prompt(key: str, question: str, ports: Ports, key_of_model: str, tool: Tools, more: str = "") -> Prompt:
    """Build the prompt for a question, with tools or, for a model that acts in text, with their description."""
    tools = tool if isinstance(tool, tuple) else (tool,)
    in_text = bool(tools) and acts_in_text(ports, key_of_model)
    # A model without tool calls (it acts in text) gets only the first tool, which gives the answer: it cannot call
    # the tools that read the project.
    asked = (question, more, describe_tool(tools[0]) if in_text else "")
    messages: PersistentList[Message] = PersistentList((UserMessage("\n".join(part for part in asked if part)),))
    prompt = Prompt(key, ports.prompt("helper").strip(), messages, tools)
    if in_text:  # A server that supports schemas enforces the form of the answer.
        prompt = replace(prompt, tools=(), schema=tools[0])
    return prompt


def render_answer(answer: Answer) -> str:
    """Return an answer as text: the arguments of its first call, or else its own text."""
    return answer.calls[0].arguments if answer.calls else answer.text
