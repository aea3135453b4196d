"""Performs the commands that the core decides on. Each function records the intent, acts, and records the result."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Any

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance.examination import explain_contest_refusal, list_failing_probes, live
from bough.core.acceptance.verdict import Check, Verdict
from bough.core.conversation import context
from bough.core.errors import RequestRefused, SnapshotRefused, TooLong, TransientError, WaitEnded
from bough.core.ids import GOAL
from bough.core.journal.fold_changes import get_attempt
from bough.core.messages import Answer, Call, Prompt, Result, ToolSpec
from bough.core.tree.task import Attempt, Task
from bough.core.tree.task_state import State
from bough.engine import (
    agent_protocol,
    change_approval,
    command_steps,
    make_plan,
    person_messages,
    rungs,
    task_workspace,
)
from bough.engine.make_plan import estimate_goal, read_requirements, weigh_split
from bough.engine.merge_queue import MergeProof, find_leftover_conflicts
from bough.engine.outside_agent import ask_agent
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Batches, ToolResult
from bough.ports.verifier import Work

HAND_OVER_TOOLS = ("done", "note")
QUICK = 1.0
"""A call that only reads is shown as running after this many seconds."""


def perform(command: c.Command, task: Task, runtime: TaskRuntime) -> Batches:
    """Run the command, and yield its events in batches, each of which is stored as a whole."""
    return _PERFORM[type(command)](command, task, runtime)


async def _open_workspace(command: c.OpenWorkspace, task: Task, runtime: TaskRuntime) -> Batches:
    if not task.plan.steps and not task.step.work:
        await runtime.open(task)  # A task with steps gets its checkout once they are finished.
    events: list[e.AnyEvent] = [e.WorkspaceOpened(task.tree), e.StateChanged(State.IN_PROGRESS, "work begins")]
    if task.step.plan_first and not task.plan.steps:  # Planners use the protocol that this trial chooses.
        events += (await agent_protocol.try_protocol(task, runtime, task.step.role, "main")).events
    # A goal that is planned first has its requirements read with the estimate of its size.
    if task.id == GOAL and (task.plan.steps or not task.step.plan_first):
        events.append(read_requirements(task))
    yield events


async def _start_attempt(command: c.StartAttempt, task: Task, runtime: TaskRuntime) -> Batches:
    tried = await agent_protocol.try_protocol(task, runtime, command.role, command.tier)
    begun = await agent_protocol.build_attempt(task, runtime, command.role, command.tier, tried.protocol)
    events: list[e.AnyEvent] = [*tried.events, begun]
    if task.state is State.TEST_FAILED:
        repair = f"a bug hunter takes over (repair {task.acceptance.repairs + 1})"
        why = repair if command.role == "bug_hunter" else "a test has to be written first"
        events.append(e.StateChanged(State.IN_PROGRESS, why))
    yield events


async def _say(command: c.Say, task: Task, runtime: TaskRuntime) -> Batches:
    yield [e.MessageAdded(command.template, await agent_protocol.render_message(task, runtime, command.template))]


async def _escalate(command: c.Escalate, task: Task, runtime: TaskRuntime) -> Batches:
    events: list[e.AnyEvent] = [e.SignalRaised(command.signal)] if command.signal else []
    events.append(e.Escalated(command.decision, command.trouble))
    if command.decision.rung == "nudge":
        template = "take_stock" if command.trouble.cause == "soft_limit" else "nudge"
        name = "text_nudge" if task.in_text else template
        evidence = "\n".join(f"- {line}" for line in command.trouble.evidence)
        values = {"diagnosis": command.trouble.says, "evidence": evidence}
        events.append(e.MessageAdded(template, context.render(runtime.ports.prompt(name), values)))
    yield events


def _ask(command: c.AskModel, task: Task, runtime: TaskRuntime) -> Batches:
    if task.takes_spare:
        return _take_spare(task, runtime)
    if (check := runtime.untold) and (before := runtime.ports.verifier.before(task, check)) is not None:
        runtime.untold = None
        if before:
            return _tell_base(check, before)
    return (ask_agent if task.outside else _ask_model)(command, task, runtime)


async def _tell_base(check: Check, before: str) -> Batches:
    """Tell the agent the check's result on the original files, which arrived while it worked."""
    yield [e.MessageAdded("base", f"`{check.command}` has run on the files as they were. {before}")]


async def _take_spare(task: Task, runtime: TaskRuntime) -> Batches:
    """Use the next of several answers that the model gave to the last question, without asking again."""
    attempt = get_attempt(task)
    model = runtime.find_model(task, attempt.tier)
    answer = await agent_protocol.read_answer(Answer(task.ladder.spare[0], model=model.name), task, runtime)
    yield [replace(agent_protocol.build_answer_event(answer, attempt.number, 1, 0.0), window=model.window, spare=True)]


async def _ask_model(command: c.AskModel, task: Task, runtime: TaskRuntime) -> Batches:
    ports, attempt = runtime.ports, get_attempt(task)
    if command.wait and await ports.stop.wait(command.wait):
        return
    if ports.prepare is not None:
        await ports.fence.cross()
        if (listed := await ports.prepare(await runtime.open(task))) is not None:
            yield [listed]
    yield [e.RoundStarted(command.last)]
    asked = runtime.find_key(task, attempt.tier)
    model = ports.models[asked]
    tools = _for_role(attempt.role, ports.tools.specs)
    if command.last:
        tools = tuple(tool for tool in tools if tool.name in HAND_OVER_TOOLS)
    number = attempt.rounds + (not task.round.asking)
    key = f"{task.id}#{attempt.number}#{number}"
    if attempt.protocol == "text":
        prompt = await agent_protocol.build_text_prompt(task, runtime, key)
    else:
        pictures = await _load_pictures(attempt, runtime) if attempt.pictured else {}
        temperature = task.step.temperature
        prompt = Prompt(key, attempt.system, attempt.messages, tools, temperature=temperature, pictures=pictures)
    began = ports.timer()
    try:
        answer = await model.ask(prompt, partial(ports.streamed, task.id))
    except WaitEnded:
        return  # The model is asked again when the run is resumed.
    except TransientError as error:
        wait = task_workspace.compute_backoff(task.rules, task.models.transport_failures, error)
        usage = task_workspace.estimate_broken_usage(error, attempt.used, tools)
        failed = e.ModelFailed(str(error), wait, ports.timer() - began, usage)
        yield [failed, *await agent_protocol.continue_with_next(task, runtime, asked, error)]
    except TooLong as error:
        yield [e.ModelFailed(str(error), 0.0, ports.timer() - began, too_long=True, window=error.window)]
    except RequestRefused as error:
        failed = e.ModelFailed(str(error), 0.0, ports.timer() - began)
        yield [
            failed,
            *(
                await agent_protocol.continue_with_next(task, runtime, asked, error)
                or [task_workspace.build_halt(error, task)]
            ),
        ]
    else:
        answer = task_workspace.fill_usage(answer, attempt.used, prompt.tools)
        if attempt.protocol == "text":
            answer = await agent_protocol.read_answer(answer, task, runtime)
        answered = agent_protocol.build_answer_event(answer, attempt.number, number, ports.timer() - began)
        yield [replace(answered, window=model.window)]


async def _load_pictures(attempt: Attempt, runtime: TaskRuntime) -> dict[str, bytes]:
    shown = [m.picture.blob for m in attempt.messages if isinstance(m, Result) and m.picture]
    known, store = runtime.pictures, runtime.ports.store
    runtime.pictures = {name: known[name] if name in known else await store.get_blob(name) for name in shown}
    return runtime.pictures


async def _run_tools(command: c.RunTools, task: Task, runtime: TaskRuntime) -> Batches:
    specs = {spec.name: spec for spec in _for_role(get_attempt(task).role, runtime.ports.tools.specs)}
    withheld = {spec.name for spec in runtime.ports.tools.specs} - specs.keys()
    # After a crash `acts` has the calls that ran before it.
    well = all(act.ok or not act.writes for act in task.round.acts)
    for calls in _group_calls(command.calls, specs):
        writing = _is_writing(calls[0], specs)
        begun: list[e.AnyEvent] = [e.ToolStarted(call.id, writing) for call in calls]
        act = partial(_run_tool, task=task, runtime=runtime, writes=writing, well=well)
        if writing:
            # Recorded before the call runs, so that after a crash a call without a result is known as interrupted.
            yield begun
            events = await act(calls[0], withheld=calls[0].name in withheld)
            well = well and all(event.ok for event in events if isinstance(event, e.ToolFinished))
        else:
            # A call that only reads can run again after a crash. Its start is recorded early only to show slow calls.
            running = asyncio.gather(*(act(call, withheld=call.name in withheld) for call in calls))
            try:
                await asyncio.wait((running,), timeout=QUICK)
                if not running.done():
                    yield begun
                    begun = []
                events = [*begun, *chain.from_iterable(await running)]
            finally:
                if not running.done():
                    running.cancel()
                    await asyncio.wait((running,))
        yield events


def _for_role(role: str, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    return tuple(spec for spec in specs if not spec.roles or role in spec.roles)


def _is_writing(call: Call, specs: dict[str, ToolSpec]) -> bool:
    return call.name in specs and specs[call.name].writes


def _group_calls(calls: Sequence[Call], specs: dict[str, ToolSpec]) -> Iterator[tuple[Call, ...]]:
    for writing, group in groupby(calls, key=lambda call: _is_writing(call, specs)):
        if writing:
            yield from ((call,) for call in group)
        else:
            yield tuple(group)


async def _run_tool(
    call: Call, task: Task, runtime: TaskRuntime, writes: bool, well: bool, withheld: bool = False
) -> list[e.AnyEvent]:
    """Run a tool call. `well`: all earlier changes and commands of the same answer succeeded. `withheld`: the tool is
    only for other roles."""
    ports = runtime.ports
    if withheld:
        return [e.ToolFinished(call.id, False, f"`{call.name}` is not available to you.", fault=True)]
    if task.round.last and call.name not in HAND_OVER_TOOLS:
        text = "This was the hand-over round: only `done` and `note` were available."
        return [e.ToolFinished(call.id, False, text, fault=True)]
    # If an answer makes a change and calls `done` at once, the agent has not seen that the change failed.
    if call.name == "done" and not well and not task.round.last:
        return [e.ToolFinished(call.id, False, ports.prompt("not_done").strip())]
    workspace = await runtime.open(task)
    began = ports.timer()
    result = await ports.tools.run(call, workspace, task.rules, partial(ports.progress, task.id))
    if result.proposal:
        result = weigh_split(task, result)
    if list_failing_probes(task):
        result = _handle_contest(task, result)
    tree = ""
    if writes:
        try:
            tree = await workspace.snapshot()
        except SnapshotRefused as error:
            await task_workspace.restore_workspace(workspace, task)
            result = ToolResult(context.render(ports.prompt("unkeepable"), {"why": str(error)}).strip(), ok=False)
    finished = e.ToolFinished(
        call.id,
        result.ok,
        result.output,
        await ports.store.put_blob(result.whole) if result.whole is not None else "",
        tree,
        seconds=ports.timer() - began,
        fault=result.fault,
        passed=result.passed,
        image=result.image,
    )
    return [finished, *result.events]


def _handle_contest(task: Task, result: ToolResult) -> ToolResult:
    """If the agent disputes a failing probe, record that, so that a judge rules on it when the agent is done."""
    disputed = next((event for event in result.events if isinstance(event, e.Disputed)), None)
    if disputed is None or not any(probe.name == disputed.test for probe in live(task)):
        return result
    if why_not := explain_contest_refusal(task, disputed.test):
        return ToolResult(why_not, ok=False)
    said = "Recorded: when you call `done`, a judge rules on it by the wording of the goal."
    return ToolResult(said, events=(e.ProbeContested(disputed.test, disputed.evidence),))


async def _recover(command: c.Recover, task: Task, runtime: TaskRuntime) -> Batches:
    text = runtime.ports.prompt("interrupted").strip()
    # Interrupted calls are reported and never repeated: it is unknown how far they got, and a command may not be safe
    # to run twice.
    events: list[e.AnyEvent] = [e.WorkspaceRestored(task.tree, "a tool call was interrupted")]
    events += [e.ToolFinished(call.id, False, text, interrupted=True) for call in command.calls]
    yield events


async def _roll_back(command: c.RollBack, task: Task, runtime: TaskRuntime) -> Batches:
    await (await runtime.open(task)).restore(command.tree)
    yield [e.WorkspaceRestored(command.tree, command.why)]


async def _run_check(command: c.RunCheck, task: Task, runtime: TaskRuntime) -> Batches:
    ports = runtime.ports
    workspace = await runtime.open(task)
    # Processes left by agents and tool servers would change files while the check runs.
    await ports.leave(workspace)
    check = await ports.verifier.find(task)
    yield [e.CheckStarted(check.command, check.why) if check else e.CheckStarted("")]
    if task.origin.merge is not None:
        leftover = await find_leftover_conflicts(task, ports)
        if leftover is None:
            leftover = await MergeProof(runtime.run, ports, task, task.origin.merge, workspace).verdict()
            await workspace.restore(task.tree)
        yield [e.CheckFinished(leftover)]
        return
    timed = replace(task, rules=replace(task.rules, check_timeout=task.check_timeout))
    verdict = await task_workspace.judge_tree(runtime.run, timed, check, workspace, ports)
    if check is not None and task.step.given and verdict.ruling == "failed":
        verdict = await _excuse(verdict, check, task, runtime)
    # Files that a check leaves behind (caches, reports) are not work, so the workspace goes back to the checked tree.
    await workspace.restore(task.tree)
    yield [e.CheckFinished(verdict)]


async def _excuse(verdict: Verdict, check: Check, task: Task, runtime: TaskRuntime) -> Verdict:
    """Return "not verified" for somebody else's change if the check also fails without it, or cannot run with it."""
    before, ports = runtime.run.checked, runtime.ports
    alike = all(one.kind == "pre-existing" for one in verdict.failures)
    uncounted = before is not None and not (before.passed + before.failed + verdict.passed + verdict.failed)
    if before is not None and before.exit_status != 0 and alike and (verdict.failures or uncounted):
        why = f"the check fails without the change, too, so it says nothing: {verdict.reason}"
        return replace(verdict, ruling="not_verified", reason=why)
    work = Work(runtime.run, replace(task, base=task.tree), check)
    now = await ports.verifier.at_base(work, partial(ports.progress, task.id))
    if not now.lacking:
        return verdict
    why = f"the check cannot run here with the change: {now.lacking}. {now.way_out}".rstrip(" .")
    return replace(verdict, ruling="not_verified", reason=why)


async def _change_state(command: c.ChangeState, task: Task, runtime: TaskRuntime) -> Batches:
    yield [e.StateChanged(command.to, command.why)]


async def _rest(command: c.Rest, task: Task, runtime: TaskRuntime) -> Batches:
    halt = e.TaskHalted(command.reason, command.message)
    # If a model is only out of quota, the run can continue as soon as that is renewed.
    if command.reason == "unavailable" and task.models.quota_until:
        halt = e.TaskHalted("quota", command.message, until=task.models.quota_until)
    yield [halt]


def _examine(command: Any, task: Task, runtime: TaskRuntime) -> Batches:
    """Examine finished work. The module for that is large, so it is loaded only when it is needed."""
    from bough.engine import examine_work

    how: dict[type, Perform] = {
        c.SeeDifference: examine_work.see_difference,
        c.Examine: examine_work.examine_work,
        c.RunProbes: examine_work.run_probes,
        c.Rule: examine_work.rule_on_probes,
    }
    return how[type(command)](command, task, runtime)


Perform = Callable[[Any, Task, TaskRuntime], Batches]

_PERFORM: dict[type, Perform] = {
    c.OpenWorkspace: _open_workspace,
    c.StartAttempt: _start_attempt,
    c.Say: _say,
    c.Escalate: _escalate,
    c.Estimate: estimate_goal,
    c.AskModel: _ask,
    c.RunTools: _run_tools,
    c.Recover: _recover,
    c.RollBack: _roll_back,
    c.RunCheck: _run_check,
    c.Conclude: lambda command, task, runtime: task_workspace.conclude(command.to, command.why, task, runtime),
    c.ChangeState: _change_state,
    c.Rest: _rest,
    **dict.fromkeys((c.SeeDifference, c.Examine, c.RunProbes, c.Rule), _examine),
    c.Climb: lambda command, task, runtime: rungs.EFFECTS[command.decision.rung](command.decision, task, runtime),
    c.Relay: person_messages.relay_message,
    c.ReadMessage: person_messages.read_message,
    c.Focus: rungs.focus_step,
    c.MakePlan: make_plan.make_plan,
    c.Agree: make_plan.agree_on_plan,
    c.RuleOnChanges: change_approval.rule_on_changes,
    c.ReturnFinding: change_approval.return_finding,
    c.Compact: rungs.compact_conversation,
    c.Split: make_plan.split_task,
    c.RunCommand: command_steps.run_command,
    c.TakeWork: command_steps.take_work,
    c.RecoverCommand: command_steps.recover_command,
    c.Summarise: command_steps.summarize_steps,
}
