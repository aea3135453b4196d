"""How an agent is spoken to, and how what it says is taken: by native tool calls, or by blocks in its text. Both end in
the same calls."""

from __future__ import annotations

import json

from msgspec.structs import replace

from bough.core import accepting, context
from bough.core import events as e
from bough.core.compaction import measured
from bough.core.messages import Answer, Call, Prompt
from bough.core.outside import agent_for
from bough.core.plan import Role, Tier
from bough.core.states import State
from bough.core.task import Attempt, Task
from bough.core.textual import conversation, paths, shown
from bough.core.textual.reading import read
from bough.engine.site import Site, values_of

IN_TEXT = {
    "no_tool_call": "text_no_block",
    "empty_answer": "text_no_block",
    "cut_short": "text_cut_short",
    "refused": "text_refused",
    "take_stock": "text_nudge",
}
"""What an agent that acts in text is told in place of a template about tools."""
OUTSIDE = {"no_tool_call": "outside_go_on", "empty_answer": "outside_go_on", "cut_short": "outside_go_on"}
"""What one that has tools of its own is told in place of a template about bough's."""
CHANGES = ("write", "edit")


async def attempt_of(task: Task, site: Site, role: Role, tier: Tier) -> e.AttemptStarted:
    """A fresh agent, told what its role is told, in the protocol of its model."""
    ports = site.ports
    values = await values_of(task, site)
    meets = role == "bug_hunter" and task.state is State.TEST_FAILED and bool(accepting.refuted(task))
    if meets:  # The check passes, and probes fail.
        values |= {"failure": accepting.shown(task)}
    if agent := agent_of(task, site, role, tier):
        system = context.render(ports.prompt("outside"), values)
        brief = context.render(ports.prompt("probe_hunter" if meets else role), values)
        return e.AttemptStarted(role, tier, system, brief, "agent", agent=agent)
    spoken = ports.protocols.of(ports.models[tier].name)
    if spoken.protocol == "tools":
        system = context.render(ports.prompt("agent"), values)
        brief = context.render(ports.prompt("probe_hunter" if meets else role), values)
        if spoken.may_change and 0 < ports.models[tier].window <= shown.SMALL_WINDOW:
            files, _ = await _files(task, site, tier)  # Asking for them would fill the window with questions.
            brief += context.section("Files, as they are now", files)
        return e.AttemptStarted(role, tier, system, brief, may_change=spoken.may_change)
    system = context.render(ports.prompt("text_agent"), values | {"blocks": await _blocks(task, site)})
    return e.AttemptStarted(role, tier, system, await _text_brief(task, site, role, tier, values), "text")


def agent_of(task: Task, site: Site, role: Role, tier: Tier) -> str:
    """The outside agent that does it; empty: bough's own."""
    return agent_for(site.run.agents, site.run.models, task.step, role, tier)


async def _blocks(task: Task, site: Site) -> str:
    """How else to answer than with whole files. Who has one short file to write is not told: a small model would rather
    copy an example than do the task."""
    known = await _known(task, site)
    path = shown.target(known)
    text = (await site.ports.workspaces.texts(task.tree, [path])).get(path, "") if path else ""
    alone = path and not shown.others(known, path) and text.count("\n") <= shown.SHORT
    return "" if alone else f"\n{site.ports.prompt('text_blocks')}"


async def said_of(task: Task, site: Site, template: str) -> str:
    """What bough says to the agent between rounds."""
    values = await values_of(task, site)
    if task.outside:
        template = OUTSIDE.get(template, template)
    if task.in_text:
        template = IN_TEXT.get(template, template)
        values |= {"closing": shown.closing(await _known(task, site)), "diagnosis": ""}
    return context.render(site.ports.prompt(template), values)


async def text_prompt(task: Task, site: Site, key: str) -> Prompt:
    """The conversation in words. Where the window is small, or not known, it is rebuilt from what there is now (the
    task, the files, the last exchange) when that is shorter than what was said."""
    attempt = _attempt(task)
    messages = list(attempt.messages)
    window = site.ports.models[attempt.tier].window
    if len(messages) > 1 and window <= shown.SMALL_WINDOW:
        brief = await _text_brief(task, site, attempt.role, attempt.tier, await values_of(task, site))
        again = conversation.rebuilt(brief, messages)
        messages = again if measured(again) < measured(messages) else messages
    told = conversation.in_words(messages)
    return Prompt(key, attempt.system, told, (), temperature=task.step.temperature)


async def read_answer(answer: Answer, task: Task, site: Site) -> Answer:
    """The answer with the calls that its text means. Changes are a claim too, unless it says that more is to come: the
    check is what tells a small model how far it got."""
    found = read(answer.text, await _known(task, site), answer.stop)
    calls = answer.calls or found.calls
    changes = any(call.name in CHANGES for call in calls)
    claimed = any(call.name == "done" for call in calls)
    if not claimed and not found.more and (changes or (found.done is not None and not calls)):
        calls = (*calls, _done(found.done or "The files are written.", found.aside))
    return replace(answer, calls=tuple(calls), stop="calls" if calls else answer.stop)


def _done(summary: str, aside: tuple[str, ...]) -> Call:
    left = f" (Left as they were: {', '.join(aside)}.)" if aside else ""
    return Call("", "done", json.dumps({"summary": f"{summary}{left}"}))


async def _text_brief(task: Task, site: Site, role: Role, tier: Tier, values: dict[str, str]) -> str:
    """What the role is told, with the files that matter in it."""
    ports = site.ports
    files, known = await _files(task, site, tier)
    others = shown.listed(path for path in known.paths if path not in shown.wanted(known))
    failing = shown.failing(task.verdict) if task.verdict and task.verdict.ruling != "passed" else ""
    check = await ports.verifier.find(task)
    told = values | {
        "files": context.section(
            "Files", "\n\n".join(part for part in (files, f"Others: {others}" if others else "") if part)
        ).strip(),
        "failure": failing or values["failure"],
        "check": context.section("The check", f"bough runs `{check.command}`; it has to pass.") if check else "",
        "closing": shown.closing(known),
    }
    if task.step.attempt:  # What the others came to would only make it like them.
        told |= {"above": "", "results": "", "notes": ""}
    return context.render(ports.prompt(f"text_{role}"), told)


async def _files(task: Task, site: Site, tier: Tier) -> tuple[str, paths.Known]:
    """The files that matter to the task, as far as they fit into the model's window."""
    known = await _known(task, site)
    order = shown.wanted(known)
    texts = await site.ports.workspaces.texts(task.tree, order)
    return shown.files(texts, order, shown.room(site.ports.models[tier].window)), known


async def _known(task: Task, site: Site) -> paths.Known:
    workspaces = site.ports.workspaces
    changed = (
        [change.path for change in await workspaces.changes(task.base, task.tree) if change.kind != "D"]
        if task.tree != task.base
        else []
    )
    words = "\n".join((task.step.instructions, *task.step.criteria, *task.step.files))
    return paths.known(await workspaces.paths(task.tree), words, changed)


def _attempt(task: Task) -> Attempt:
    assert task.attempt is not None, "the model is asked outside an attempt"
    return task.attempt
