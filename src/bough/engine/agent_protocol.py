"""How an agent's model tells bough what to do: by native tool calls, or by blocks in its text, which become the same
calls. A model that bough does not know gets one small trial question first: it has to write a file with quotes and line
breaks by a tool call (of 90 answers by Qwen2.5-Coder 1.5B, 25 were tool calls, and one of these was right)."""

import ast
import json

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance import examination
from bough.core.conversation import context
from bough.core.conversation.compaction import measure_messages
from bough.core.errors import RequestRefused, TooLong, Unavailable
from bough.core.journal.fold_changes import get_attempt
from bough.core.ladder.escalation import Tactic, choose_tactic
from bough.core.messages import Answer, AnswerProtocol, Call, ModelProtocol, Prompt, UserMessage, list_editors
from bough.core.planning.agent_choice import choose_agent
from bough.core.planning.plan import TEMPERATURES, Role, Tier
from bough.core.textual import paths, task_files
from bough.core.textual.python_source import parse_python
from bough.core.textual.reading import make_call, read_calls
from bough.core.tree.task import Attempt, Task
from bough.core.tree.task_state import State
from bough.engine.consult import switch_model, try_consult
from bough.engine.task_workspace import TaskRuntime, collect_brief_values
from bough.ports import shown

HELPER = "trial"
"""The template of the trial question, which asks for a function `slug` in `words.py`."""
FIT = "it wrote a file by a tool call when it was tried"
UNFIT = "this model does not call tools reliably: it could not write a tiny file by a tool call"


class ProtocolTrial(Struct, frozen=True):
    events: tuple[e.AnyEvent, ...] = ()
    protocol: AnswerProtocol | None = None
    """The protocol to start with; None: use the one known for the model."""


async def try_protocol(task: Task, runtime: TaskRuntime, role: Role, tier: Tier) -> ProtocolTrial:
    """Ask an unknown model the trial question, and remember the result."""
    known = tier in task.models.protocols or not find_protocol(task, runtime, tier).unknown
    if known or find_agent(task, runtime, role, tier):
        return ProtocolTrial()
    write = next(spec for spec in runtime.ports.tools.specs if spec.name == "write")
    with shown(runtime.ports, task.id, "testing whether the model calls tools"):
        asked = await try_consult(task, runtime, HELPER, tier, {}, write)
    if isinstance(asked.refused, TooLong):
        return ProtocolTrial()
    # The server may accept no tools. Any other cause of a refusal shows again at the agent's first call.
    if isinstance(asked.refused, RequestRefused):
        return ProtocolTrial(asked.events, "text")
    if asked.answer is None:
        return ProtocolTrial(asked.events)
    fit = any(map(_is_right, asked.answer.calls))
    name = runtime.find_model(task, tier).name
    runtime.ports.protocols.learn(name, "tools" if fit else "text", FIT if fit else UNFIT)
    return ProtocolTrial(asked.events)


def _is_right(call: Call) -> bool:
    try:
        given = json.loads(call.arguments)
        tree = parse_python(given["content"])
        named = given["path"].rpartition("/")[2] == "words.py"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    body = tree.body if tree is not None else []
    written = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "slug"]
    return call.name == "write" and named and bool(written) and "NotImplementedError" not in given["content"]


IN_TEXT = {
    "no_tool_call": "text_no_block",
    "empty_answer": "text_no_block",
    "cut_short": "text_cut_short",
    "refused": "text_refused",
    "take_stock": "text_nudge",
}
"""Prompt templates that replace those about tool calls, for a model that acts by blocks in its text."""
OUTSIDE = {"no_tool_call": "outside_go_on", "empty_answer": "outside_go_on", "cut_short": "outside_go_on"}
"""Prompt templates that replace those about bough's tools, for an outside agent with its own tools."""
MOST_CALLS = 100
"""How many calls of one answer run at most."""


async def build_attempt(
    task: Task, runtime: TaskRuntime, role: Role, tier: Tier, protocol: AnswerProtocol | None = None, tactic: str = ""
) -> e.AttemptStarted:
    """Return the event that starts a fresh agent, with the brief of its role, in the given protocol or the one of its
    model. `tactic`: the form of the brief for a model that acts in text."""
    ports = runtime.ports
    # If the check is still running on the original files, this agent is told its result later.
    runtime.untold = await ports.verifier.find(task) if runtime.run.checked is None else None
    values = await collect_brief_values(task, runtime)
    meets = role == "bug_hunter" and task.state is State.TEST_FAILED and bool(examination.list_failing_probes(task))
    if meets:  # The check passes, but probes fail.
        values |= {"failure": examination.render_failing_probes(task)}
    if agent := find_agent(task, runtime, role, tier):
        system = context.render(ports.prompt("outside"), values)
        brief = context.render(ports.prompt("probe_hunter" if meets else role), values)
        return e.AttemptStarted(role, tier, system, brief, "agent", agent=agent)
    known = find_protocol(task, runtime, tier, protocol)
    if known.protocol == "tools":
        system = context.render(ports.prompt("agent"), values)
        brief = context.render(ports.prompt("probe_hunter" if meets else role), values)
        if known.may_change and 0 < runtime.find_model(task, tier).window <= task_files.SMALL_WINDOW:
            # So that the agent need not read them by tool calls, which would fill a small window.
            files, _ = await _render_files(task, runtime, tier)
            brief += context.render_section("The files as they are now", files)
        return e.AttemptStarted(role, tier, system, brief, may_change=known.may_change, why=known.why)
    alone = await _is_one_short_file(task, runtime)
    # For one short file the examples of blocks are left out: a small model would copy them instead of working.
    blocks = "" if alone else f"\n{ports.prompt('text_blocks')}"
    system = context.render(ports.prompt("text_agent"), values | {"blocks": blocks})
    if not tactic and role != "test_writer" and not meets:
        tactic = await choose_next_tactic(task, runtime)
    brief = await _render_text_brief(task, runtime, role, tier, values, tactic if alone else "")
    return e.AttemptStarted(
        role, tier, system, brief, "text", may_change=known.may_change, why=known.why, tactic=tactic
    )


async def continue_with_next(task: Task, runtime: TaskRuntime, asked: str, error: Unavailable) -> list[e.AnyEvent]:
    """Continue an agent's conversation with the next fallback model, or with a fresh agent if its protocol differs.
    Return no events if there is no other model."""
    assert task.attempt is not None, "no conversation is open"
    attempt = task.attempt
    switched = switch_model(task, runtime, attempt.tier, asked, error, task.models.transport_failures + 1)
    if switched is None:
        return []
    if not switched.restarts:
        return [switched]
    protocol = runtime.ports.protocols.of(switched.model).protocol
    return [switched, await build_attempt(task, runtime, attempt.role, attempt.tier, protocol)]


def repeat_attempt(attempt: Attempt) -> e.AttemptStarted:
    """Return the event that starts an attempt with the same prompt, to get another answer from the model."""
    brief = attempt.messages[0]
    assert isinstance(brief, UserMessage), "a conversation begins with the brief"
    return e.AttemptStarted(
        attempt.role, attempt.tier, attempt.system, brief.text, "text", attempt.may_change, tactic=attempt.tactic
    )


def find_protocol(
    task: Task, runtime: TaskRuntime, tier: Tier, protocol: AnswerProtocol | None = None
) -> ModelProtocol:
    """Return the given protocol, else the one in the task's journal, else the one known for the model. So a task
    continues as it began when it is resumed or another worker takes it over."""
    known = runtime.ports.protocols.of(runtime.find_model(task, tier).name)
    used = protocol or task.models.protocols.get(tier)
    return replace(known, protocol=used) if used and known.may_change else known


async def choose_next_tactic(task: Task, runtime: TaskRuntime) -> Tactic:
    """Choose the next tactic (the form of the brief) for a model that acts in text."""
    alone = await _is_one_short_file(task, runtime)
    failed = task.acceptance.failing is not None
    return choose_tactic(task.rules.ladder.tactics, task.ladder.tactics, alone=alone, failed=failed)


def find_agent(task: Task, runtime: TaskRuntime, role: Role, tier: Tier) -> str:
    """Return the outside agent for this role; empty: bough's own agent."""
    return choose_agent(runtime.run.agents, runtime.run.models, task.step, role, tier)


async def _is_one_short_file(task: Task, runtime: TaskRuntime) -> bool:
    """Return whether the task is to write one short file, which is best written whole."""
    known = await _collect_known(task, runtime)
    path = task_files.find_target(known)
    text = (await runtime.ports.workspaces.texts(task.tree, [path])).get(path, "") if path else ""
    return bool(path) and not task_files.list_others(known, path) and text.count("\n") <= task_files.SHORT


async def render_message(task: Task, runtime: TaskRuntime, template: str) -> str:
    """Render bough's message to the agent between rounds."""
    values = await collect_brief_values(task, runtime)
    if task.outside:
        template = OUTSIDE.get(template, template)
    if task.in_text:
        template = IN_TEXT.get(template, template)
        values |= {"closing": task_files.render_closing(await _collect_known(task, runtime)), "diagnosis": ""}
    return context.render(runtime.ports.prompt(template), values)


async def build_text_prompt(task: Task, runtime: TaskRuntime, key: str) -> Prompt:
    """Render the conversation as text. If the model's window is small or unknown, use a conversation rebuilt from the
    current state (task, files, last exchange) if that is shorter."""
    attempt = get_attempt(task)
    messages = list(attempt.messages)
    if len(messages) > 1 and runtime.find_model(task, attempt.tier).window <= task_files.SMALL_WINDOW:
        values = await collect_brief_values(task, runtime)
        brief = await _render_text_brief(task, runtime, attempt.role, attempt.tier, values, attempt.tactic)
        again = task_files.rebuild_messages(brief, messages)
        messages = again if measure_messages(again) < measure_messages(messages) else messages
    told = task_files.render_as_text(messages)
    temperature = task.step.temperature
    further = bool(attempt.tactic and task.ladder.taken.get("attempts"))
    if temperature is None and further:  # At temperature 0 every attempt would get the same answer.
        temperature = TEMPERATURES[attempt.number % len(TEMPERATURES)]
    fresh = further and attempt.tactic != "repair" and len(messages) == 1 and task.acceptance.failing is not None
    answers = task.rules.ladder.answers if fresh else 1
    return Prompt(key, attempt.system, told, (), temperature=temperature, answers=answers)


async def read_answer(answer: Answer, task: Task, runtime: TaskRuntime) -> Answer:
    """Return the answer with the calls that its text contains. An answer that changes files also claims to be done,
    unless it announces more, because the failing check then shows a small model what is missing."""
    known = await _collect_known(task, runtime)
    found = read_calls(answer.text, known, answer.stop)
    calls = answer.calls or found.calls
    changes = any(call.name in known.editors for call in calls)
    claimed = any(call.name == "done" for call in calls)
    if not claimed and not found.more and (changes or (found.done is not None and not calls)):
        left = f" (Left unchanged: {', '.join(found.aside)}.)" if found.aside else ""
        calls = (*calls, make_call("done", summary=f"{found.done or 'The files are written.'}{left}"))
    return replace(answer, calls=tuple(calls), stop="calls" if calls else answer.stop)


def build_answer_event(answer: Answer, attempt: int, number: int, seconds: float) -> e.ModelAnswered:
    # Calls get ids made by bough, unique within the task, because some servers omit or reuse ids and every result has
    # to name its call. They have nine digits, as the strictest provider demands.
    kept = answer.calls[:MOST_CALLS]
    calls = tuple(replace(call, id=f"{attempt:02d}{number:04d}{n:03d}") for n, call in enumerate(kept))
    more = len(answer.calls) - len(kept)
    left_out = f"[{more:,} more calls of this answer were left out: at most {MOST_CALLS} run]"
    return e.ModelAnswered(
        text=f"{answer.text}\n{left_out}".strip() if more else answer.text,
        calls=calls,
        stop=answer.stop,
        usage=answer.usage,
        cost=answer.cost,
        seconds=seconds,
        model=answer.model,
        extra=answer.extra,
        others=tuple(dict.fromkeys(text for text in answer.others if text.strip() != answer.text.strip())),
    )


async def _render_text_brief(
    task: Task, runtime: TaskRuntime, role: Role, tier: Tier, values: dict[str, str], tactic: str
) -> str:
    """Render the role's brief with the relevant files, or the shorter brief of a tactic that shows other parts."""
    ports = runtime.ports
    view = task_files.VIEWS.get(tactic)
    files, known = await _render_files(task, runtime, tier, view or task_files.WHOLE)
    if view is not None:
        template, best = ports.prompt("text_again"), task.acceptance.best or task.acceptance.failing
        tests = await ports.workspaces.texts(task.tree, task_files.choose_files(known))
        failure = task_files.render_hints(best, tests, view) if best else ""
        again = {"files": files, "failure": failure, "closing": task_files.render_closing(known)}
        return context.render(template, values | again)
    chosen = task_files.choose_files(known)
    others = task_files.render_names(path for path in known.paths if path not in chosen)
    failing = task_files.render_failing(task.acceptance.failing) if task.acceptance.failing else ""
    check = await ports.verifier.find(task)
    told = values | {
        "files": context.render_section(
            "Files", "\n\n".join(part for part in (files, f"Others: {others}" if others else "") if part)
        ).strip(),
        "failure": failing or values["failure"],
        "check": context.render_section("The check", f"bough runs `{check.command}`; it must pass.") if check else "",
        "closing": task_files.render_closing(known),
    }
    return context.render(ports.prompt(f"text_{role}"), told)


async def _render_files(
    task: Task, runtime: TaskRuntime, tier: Tier, view: task_files.View = task_files.WHOLE
) -> tuple[str, paths.CandidateFiles]:
    known = await _collect_known(task, runtime)
    order = task_files.choose_files(known)
    texts = await runtime.ports.workspaces.texts(task.tree, order)
    room = task_files.compute_room(runtime.find_model(task, tier).window)
    return task_files.render_files(texts, order, room, view), known


async def _collect_known(task: Task, runtime: TaskRuntime) -> paths.CandidateFiles:
    workspaces = runtime.ports.workspaces
    changed = (
        [change.path for change in await workspaces.changes(task.base, task.tree) if change.kind != "D"]
        if task.tree != task.base
        else []
    )
    words = "\n".join((task.step.instructions, *task.step.criteria, *task.step.files))
    known = paths.collect_known(await workspaces.paths(task.tree), words, changed)
    return replace(known, editors=list_editors(runtime.ports.tools.specs))
