"""Examines finished work against the goal: a model writes probes (extra tests for what the goal asks), bough runs them,
and a judge (another model) rules on those that the agent disputes."""

import asyncio
import re
from functools import partial
from textwrap import indent

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance import examination, probes
from bough.core.acceptance.changed_tests import collect_request
from bough.core.acceptance.judge_ruling import find_quote
from bough.core.acceptance.probes import PROBE, SCRIPT, Form, Probe
from bough.core.acceptance.requirements import list_active, render_requirements
from bough.core.acceptance.verdict import Check
from bough.core.budget.limits import find_reached_limit
from bough.core.conversation import context
from bough.core.conversation.code_outline import compare_texts, fit_texts, is_document, split_diff
from bough.core.conversation.structured_answer import Problems
from bough.core.conversation.text_fitting import fence_text
from bough.core.ids import GOAL
from bough.core.tree.task import Task
from bough.core.verdict.language import is_test_path
from bough.core.verdict.test_files import is_product
from bough.engine.change_approval import ask_judge
from bough.engine.consult import render_answer, render_repair, try_consult
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Batches
from bough.ports.verifier import Work

EXAMINER, REVIEWER, CRITIC = "examiner", "reviewer", "critic"
REQUEST = 3_000
"""The most characters of a goal that an examiner is shown in full, besides its requirements."""
WHOLE = 40_000
"""The most characters of the whole change that an examiner, a reviewer or a critic is shown."""
SHARE = "Other steps cover the rest of the goal: probe only what this step had to do."
FASTER = 0.7
"""A check counts as faster if it takes less than this share of its earlier time. A smaller gain could be chance."""
QUOTED = 1_000
"""The most characters of the passage around a quotation from a file that a judge is shown."""
ASSERTED = (
    "Does the request demand what the test asserts? A test that is faulty itself, so that it would fail on any right "
    "work, shows nothing: rule `demanded = false` and say so. One ruling holds for all tests shown."
)
UNHEARD = "(its author was not asked: rule by the words of the request alone)"


async def see_difference(command: c.SeeDifference, task: Task, runtime: TaskRuntime) -> Batches:
    """Record how the work differs from the files before it."""
    ports = runtime.ports
    began = ports.clock()
    paths = tuple(change.path for change in await ports.workspaces.changes(task.base, task.tree))
    before, after = await ports.workspaces.texts(task.base, paths), await ports.workspaces.texts(task.tree, paths)
    seen = await asyncio.to_thread(compare_texts, before, after, paths)
    check, now, goal = await _find_check(task, runtime), task.acceptance.verdict, runtime.run.plan.goal
    if check is not None and now is not None:
        was = await ports.verifier.measure_base(Work(runtime.run, task, check))
        own = bool(task.step.test_command) and task.step.test_command == goal.test_command
        seen = replace(seen, check=own and was.red, faster=now.seconds < FASTER * was.seconds)
    yield [e.DifferenceSeen(task.tree, seen, ports.clock() - began)]


async def examine_work(command: c.Examine, task: Task, runtime: TaskRuntime) -> Batches:
    """Let a model examine the work and write probes: the examiner of one piece of work, the reviewer of a goal done in
    steps, or a critic that the plan asks for. A second examination is about requirements still without evidence."""
    check = await _find_check(task, runtime)
    if check is None or (why := await _explain_skip(task, runtime)):
        yield [e.ExaminationSkipped(why if check is not None else "there is no check to add probes to")]
        return
    form = await runtime.ports.verifier.form(task)
    again = bool(command.missing)
    helper = CRITIC if task.step.role == CRITIC else REVIEWER if task.plan.steps and not again else EXAMINER
    tier = task.step.model if helper == CRITIC else "main"
    values = await _build_values(command, task, runtime, helper, form)
    # Probes may quote any of this. The goal's whole text is included, because a quotation may span two requirements.
    added = re.sub(r"(?m)^-.*|^\+", "", values["change"])
    request = "\n\n".join((task.step.instructions, values["asked"], values["step"], added))
    known = sum(probe.name.startswith(f"{task.id}/probe-") for probe in task.examination.probes)
    read = partial(probes.read_probes, task=task.id, form=form, requirements=list_active(task.asked), asked=request)
    asked = await try_consult(task, runtime, helper, tier, values, (PROBE,))
    found = read(asked.answer, known=known) if asked.answer is not None else None
    if asked.answer is not None and isinstance(found, Problems):
        yield asked.events
        repair = render_repair(runtime.ports, PROBE, found, render_answer(asked.answer))
        asked = await try_consult(task, runtime, helper, tier, values, (PROBE,), repair)
        found = read(asked.answer, known=known) if asked.answer is not None else None
    if found is None:
        yield [*asked.events, *asked.halt]
    elif isinstance(found, Problems):
        yield [*asked.events, e.ExaminationSkipped(f"the {helper} gave no readable probes: {found.said[0]}")]
    else:
        yield [*asked.events, e.Examined(helper, found.probes, found.notes, found.left_out, found.kinds)]


async def _find_check(task: Task, runtime: TaskRuntime) -> Check | None:
    """Find the check that probes are added to. A critic needs none, and gets an empty one."""
    found = await runtime.ports.verifier.find(task)
    return found or (Check("", "there is none") if task.step.role == CRITIC else None)


# ── deciding whether to examine ─────────────────────────────────────────────────────────────────────────────────────


async def _explain_skip(task: Task, runtime: TaskRuntime) -> str:
    """Explain why this work is not examined; empty if it is."""
    if task.step.role == CRITIC:  # The plan asks for this examination.
        return ""
    if find_reached_limit(task.budget.spend, task.budget.limits) or task.left.rounds < 1:
        return "the budget is spent"
    share, spent, limits = task.rules.acceptance.share, task.budget.examining, task.budget.limits
    # One more question may not exceed the share of the budget that examinations may use.
    rounds = spent.rounds and spent.rounds + 1 > share * limits.rounds
    tokens = limits.tokens is not None and spent.tokens > share * limits.tokens
    if rounds or tokens or (limits.cost is not None and spent.cost > share * limits.cost):
        return f"examinations have used their share of the budget ({share:.0%})"
    changed = [change.path for change in await runtime.ports.workspaces.changes(task.base, task.tree)]
    if task.id != GOAL and all(is_test_path(path) or is_document(path) for path in changed):
        return "only tests and documents were changed"
    return ""


# ── what the examiner sees ───────────────────────────────────────────────────────────────────────────────────────────


async def _build_values(
    command: c.Examine, task: Task, runtime: TaskRuntime, helper: str, form: Form
) -> dict[str, str]:
    workspaces, goal = runtime.ports.workspaces, runtime.run.plan.goal
    step = "" if task.id == GOAL or helper == CRITIC else f"{task.step.instructions}\n\n{SHARE}"
    asked, bullets = _render_asked(task, command.missing) or goal.instructions, context.render_bullets
    above = {
        "Also in the goal, and not a demand": bullets(o.text for o in task.asked if o.kind == "background"),
        "Earlier demands: where later ones differ, those hold": bullets(o.whole for o in task.asked if o.superseded),
        "Dropped since, and not a demand": bullets(o.whole for o in task.asked if o.dropped),
        "The step that was to meet it": step,
        "What must be true at the end": bullets(task.step.criteria),
        "What holds for every step": bullets(task.plan.conventions or task.inherited.conventions),
        "What earlier steps provide": bullets(task.inherited.interfaces),
    }
    subject = task.origin.subject if helper == CRITIC else None
    diff = await workspaces.diff(subject.since if subject is not None else task.base, task.tree)
    return {
        "asked": asked,
        "step": "".join(context.render_section(heading, text) for heading, text in above.items()),
        "form": _render_form(form),
        "few": "3",
        "most": str(probes.count_allowed_probes(task.asked)),
        "change": _render_change(diff, tests=helper != EXAMINER) or "(nothing was changed)",
        "instructions": task.step.instructions,
        "verdict": (bullets(subject.verdicts) if subject is not None else "") or "No check was run.",
    }


def _render_asked(task: Task, missing: tuple[int, ...]) -> str:
    """Render the goal's requirements. In a second examination render only those without evidence (`missing`)."""
    asked = examination.list_asked(task)
    left = render_requirements([one for one in asked if one.number in missing or not missing])
    # A requirement that is part of a sentence says little without the rest, so the whole goal precedes the list.
    if task.id == GOAL and len(task.asked) > 1 and len(task.step.instructions) <= REQUEST:
        left = f"{indent(task.step.instructions.strip(), '> ')}\n\nIn it, by number:\n\n{left}"
    if not missing:
        return left
    tried = [probe for probe in task.examination.probes if {*probe.requirements} & {*missing}]
    examined = task.examination.examined
    unheard = examined.left_out if isinstance(examined, e.Examined) else ()
    lines = [f"{probe.says} ({_describe_probe(probe.name, task)})" for probe in tried]
    said = context.render_bullets([*lines, *unheard])
    return (
        f"{left}\n\nNothing shows these yet. The work was examined before{'' if said else ' without one for them'}, "
        "and this is the last time; a probe shows one of them only if it passes now and fails on the code as it was "
        "before the work. If one asks for nothing that a program could see change, say so in `kinds`."
        f"{context.render_section('Tried before', said)}"
    )


def _describe_probe(name: str, task: Task) -> str:
    ruling, result = task.examination.rulings.get(name), task.examination.results.get(name)
    if ruling is not None and not ruling.demanded:
        return f"dropped by a judge: {ruling.reason}"
    if result is None or result.outcome != "passed":
        return "it did not run as a test" if result is not None else "not run"
    return "it passes before the work, too" if task.examination.before.get(name) == "passed" else "it passes"


def _render_change(diff: str, tests: bool) -> str:
    """Render the diff with code first: if it is too long, documents are shortened before code, as are `tests`."""
    files = {path: text for path, text in split_diff(diff).items() if tests or not is_test_path(path)}
    code = {path: text for path, text in files.items() if is_product(path)}
    shown = fit_texts(code, WHOLE)
    room = WHOLE - sum(map(len, shown.values()))
    shown |= fit_texts({path: text for path, text in files.items() if path not in code}, max(room, WHOLE // 8))
    return "\n\n".join(map(fence_text, shown.values()))


def _render_form(form: Form) -> str:
    said = f"A probe is an ordinary program; it becomes the file `{form.path}`. {form.how}"
    if form.language != SCRIPT:
        said += " Where a command line is what users have, write a shell script instead (`#!/bin/sh` first; `sh -e`)."
    return f"{said}\n\nNo test runner is there; where only one can show it, the program starts the runner by itself."


# ── running and ruling ──────────────────────────────────────────────────────────────────────────────────────────────


async def run_probes(command: c.RunProbes, task: Task, runtime: TaskRuntime) -> Batches:
    """Run all probes that still count in a separate checkout. For the goal, also run new ones on the original files."""
    ports, chosen = runtime.ports, examination.live(task)
    yield [e.ProbesStarted(task.tree, tuple(probe.name for probe in chosen))]
    check, began = await _find_check(task, runtime), ports.clock()
    unknown = [probe for probe in chosen if task.id == GOAL and probe.name not in task.examination.before]
    results = before = tuple[probes.ProbeResult, ...]()
    if check is not None:
        probe = partial(ports.verifier.probe, say=partial(ports.progress, task.id))
        base = Work(runtime.run, replace(task, tree=runtime.run.base), check)
        here = probe(Work(runtime.run, task, check), chosen)
        results, before = await asyncio.gather(here, probe(base, unknown, once=True))
    before = tuple(replace(one, output="") for one in before)
    yield [e.ProbesFinished(task.tree, results, ports.clock() - began, before)]


async def rule_on_probes(command: c.Rule, task: Task, runtime: TaskRuntime) -> Batches:
    """Let a judge rule on the next disputed probe, together with those that hardly differ from it."""
    contested = examination.list_alike_contests(task)
    request = collect_request(runtime.run.plan, task.asked)
    paths = [change.path for change in await runtime.ports.workspaces.changes(task.base, task.tree)]
    texts = await runtime.ports.workspaces.texts(task.tree, paths)
    dispute = "\n\n".join(_render_contest(probe, task, request, texts) for probe in contested)
    asked, ruling = await ask_judge(task, runtime, request=request, dispute=dispute, question=ASSERTED)
    ruled = asked.halt if ruling is None else [e.ProbeRuled(probe.name, ruling) for probe in contested]
    yield [*asked.events, *ruled]


def _render_contest(probe: Probe, task: Task, request: str, texts: dict[str, str]) -> str:
    """Describe a disputed probe for the judge. `texts`: the changed files, which are searched for the words that the
    probe quotes if the request does not contain them."""
    known = task.examination
    output = known.results[probe.name].output if probe.name in known.results else ""
    ends = {"passed": "Without the work it passes.\n\n", "failed": "Without the work it fails, too.\n\n"}
    before = ends.get(known.before.get(probe.name, ""), "")
    dispute = (
        f"A test was written to show: {probe.says}\n\n{fence_text(probe.text)}\n\nIt fails on the finished work:\n\n"
        f"{fence_text(output)}\n\n{before}Its author relies on these words: “{probe.quote}”"
    )
    for path, text in texts.items() if not find_quote(probe.quote, request, probes.FEWEST) else ():
        if found := find_quote(probe.quote, text, probes.FEWEST):
            first, last = text.rfind("\n\n", 0, found.start()) + 1, text.find("\n\n", found.end())
            around = text[first : last if last >= 0 else None].strip()
            dispute += f"\n\nThese words are in `{path}`:\n\n{fence_text(context.shorten_text(around, QUOTED))}"
            break
    return f"{dispute}\n\nThe other side says: {known.contested.get(probe.name, UNHEARD)}"
