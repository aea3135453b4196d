"""Runs rounds with an outside agent, which calls its own model and runs its own tools inside the sandbox. Its actions
become the same events as those of bough's own agent. One round is a message of the agent with the tool calls that it
starts together, and their results; when the agent ends its turn, that counts as its claim that the task is done."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.conversation import context
from bough.core.errors import RequestRefused, SnapshotRefused, TransientError
from bough.core.journal.fold_changes import get_attempt
from bough.core.messages import Answer, Call, UserMessage
from bough.core.planning.agent_choice import render_opening
from bough.core.settings.sections import MODEL, title_of
from bough.core.textual.reading import make_call
from bough.core.tree.task import Task
from bough.engine.agent_protocol import build_answer_event
from bough.engine.task_workspace import TaskRuntime, build_halt, compute_backoff, restore_workspace
from bough.ports import Batches
from bough.ports.agents import Talk, TurnEnd, TurnProgress

SILENT = "(It ended its turn without a message.)"
CUT_OFF = "(The budget is spent: its turn was cut short, and the work so far is checked.)"
CLAIMED = "Its turn has ended: now the check decides."
LONGEST = 8_000
"""The most characters of the agent's last message that become the summary of its work."""


async def ask_agent(command: c.AskModel, task: Task, runtime: TaskRuntime) -> Batches:
    ports = runtime.ports
    if command.wait and await ports.stop.wait(command.wait):
        return
    yield [e.RoundStarted(command.last)]
    began = ports.timer()
    try:
        talk = None if command.last else await _open_talk(task, runtime)
        heard = await talk.heard(task.rules.model_timeout) if talk is not None else TurnEnd(CUT_OFF)
    except (TransientError, RequestRefused) as error:
        await runtime.hang_up()
        wait, halt = 0.0, [build_halt(error)]
        if isinstance(error, TransientError):
            wait, halt = compute_backoff(task.rules, task.models.transport_failures, error), []
        yield [e.ModelFailed(str(error), wait, ports.timer() - began), *halt]
        return
    attempt = get_attempt(task)
    claims = isinstance(heard, TurnEnd) and heard.stop == "end"
    done = (make_call("done", summary=_take_summary(heard)),) if isinstance(heard, TurnEnd) and claims else ()
    calls = heard.calls if isinstance(heard, TurnProgress) else done
    stop = "calls" if calls else heard.stop if isinstance(heard, TurnEnd) else "end"
    answer = Answer(heard.text, calls, stop, heard.usage, heard.cost, f"{MODEL}{attempt.agent}")
    said = build_answer_event(answer, attempt.number, attempt.rounds + (not task.round.asking), ports.timer() - began)
    if isinstance(heard, TurnEnd):
        yield await _end_turn(heard, said, task, runtime)
        return
    own = {mine.id: theirs for mine, theirs in zip(said.calls, heard.calls, strict=False)}
    writing = {mine for mine, theirs in own.items() if theirs.id in heard.writes}
    # An agent that asks for no permission has begun its calls before it reports them. They are recorded as started all
    # the same, so that after a crash the files are restored.
    yield [said, *(e.ToolStarted(call.id, call.id in writing) for call in said.calls)]
    yield await _collect_results(list(own.items()), writing, task, runtime)


async def _open_talk(task: Task, runtime: TaskRuntime) -> Talk:
    """Start the conversation, or resume it after a crash, and send every pending message."""
    ports, attempt = runtime.ports, get_attempt(task)
    # From here on the agent acts on its own, so check now that no other worker has taken over the task.
    await ports.fence.cross()
    if runtime.talk is not None and runtime.talking == attempt.number:
        unsaid = [message.text for message in attempt.messages.since(runtime.told) if isinstance(message, UserMessage)]
        if unsaid:
            await runtime.talk.say("\n\n".join(unsaid))
            runtime.told = len(attempt.messages)
        return runtime.talk
    await runtime.hang_up()
    if ports.agent is None:
        who = title_of(attempt.agent)
        raise RequestRefused(f"{who} is needed here, but no outside agents are configured: pass it with --agent.")
    workspace = await runtime.open(task)
    runtime.talk = await ports.agent(attempt.agent).start(workspace, task.rules, partial(ports.progress, task.id))
    runtime.talking, runtime.told = attempt.number, len(attempt.messages)
    await runtime.talk.say(render_opening(attempt.system, list(attempt.messages)))
    return runtime.talk


def _take_summary(heard: TurnEnd) -> str:
    return heard.text.strip()[-LONGEST:] or SILENT


async def _end_turn(heard: TurnEnd, said: e.ModelAnswered, task: Task, runtime: TaskRuntime) -> Sequence[e.AnyEvent]:
    """Record the end of the agent's turn, after ending its processes, which could change files during the check."""
    if not said.calls:
        return [said]  # The answer was cut short, or the agent refused: it gets a message to continue.
    await runtime.hang_up()
    workspace = await runtime.open(task)
    (claim,) = said.calls
    begun: list[e.AnyEvent] = [said, e.ToolStarted(claim.id, True)]
    try:
        tree = await workspace.snapshot()
    except SnapshotRefused as error:
        return [*begun, *await _put_back_unkeepable([claim], error, task, runtime)]
    return [*begun, e.ToolFinished(claim.id, True, CLAIMED, tree=tree), e.DoneClaimed(_take_summary(heard))]


async def _collect_results(
    calls: list[tuple[str, Call]], writing: set[str], task: Task, runtime: TaskRuntime
) -> Sequence[e.AnyEvent]:
    """Wait for the calls' results, and record the files at that point. If the agent is already at its next call, the
    changes of that call are recorded one call too early, but never lost."""
    ports, talk, began = runtime.ports, runtime.talk, runtime.ports.timer()
    assert talk is not None, "no conversation is open"
    workspace = await runtime.open(task)
    mine = [Call(id, call.name, call.arguments) for id, call in calls]
    try:
        results = await talk.results([call for _, call in calls], task.rules.bash_longest + task.rules.model_timeout)
    except TransientError as error:
        await runtime.hang_up()
        await workspace.restore(task.tree)
        why = f"{title_of(get_attempt(task).agent)} ended in the middle of a call"
        output = f"{error} The files are as they were before the call."
        lost = [e.ToolFinished(call.id, False, output, interrupted=True) for call in mine]
        return [e.WorkspaceRestored(task.tree, why), *lost]
    tree = ""
    if writing:
        try:
            tree = await workspace.snapshot()
        except SnapshotRefused as error:
            return await _put_back_unkeepable(mine, error, task, runtime)
    seconds = ports.timer() - began
    finished = []
    for call, result in zip(mine, results, strict=True):
        blob = await ports.store.put_blob(result.whole) if result.whole is not None else ""
        event = e.ToolFinished(call.id, result.ok, result.output, blob, passed=result.passed)
        finished.append(replace(event, tree=tree) if call.id in writing else event)
    finished[0] = replace(finished[0], seconds=seconds)
    return finished


async def _put_back_unkeepable(
    calls: Sequence[Call], error: SnapshotRefused, task: Task, runtime: TaskRuntime
) -> list[e.ToolFinished | e.MessageAdded]:
    """Revert changes that cannot be stored, and tell the agent in a message, as it sees only its own tool results."""
    await runtime.hang_up()
    await restore_workspace(await runtime.open(task), task)
    text = context.render(runtime.ports.prompt("unkeepable"), {"why": str(error)}).strip()
    return [*(e.ToolFinished(call.id, False, text) for call in calls), e.MessageAdded("unkeepable", text)]
