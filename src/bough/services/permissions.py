"""Checks what runs and goals in a journal may do here: only a person on this machine can allow it.

A run or a backlog may come from elsewhere: with an archive, a copied folder, a shared store. What its events ask for
(`OPENING`: network, agents, money) is compared with what the person's settings give a new run, with their current
options, and with their earlier permissions (`Permissions`). Everything else is asked about, or refused with the command
that allows it. Runs and goals that begin here are allowed at once."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.agents.registry import KNOWN
from bough.adapters.models.absent import NOBODY
from bough.app.choices import JOBS, Choices, OutsideAgents
from bough.app.config import add_scripts
from bough.app.journal import Journal
from bough.app.journal_location import find_address
from bough.core import events as e
from bough.core.acceptance.verdict import Check
from bough.core.backlog.entry import GoalEntry
from bough.core.backlog.state import Backlog
from bough.core.budget.limits import Limits
from bough.core.errors import BoughError, PermissionNeeded, Unavailable
from bough.core.journal.run_fold import Run, evolve_run
from bough.core.planning.agent_choice import list_named_agents
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.settings.sections import OWN
from bough.services.permission_store import (
    SETTINGS,
    Answers,
    Permissions,
    answer_wishes,
    list_open_wishes,
    shorten_value,
)

if TYPE_CHECKING:
    from bough.app.project import Project

_RUN = ("models", "endpoints", "limits", "network", "setup", "agents", "agent_env", "agent_network")
OPENING: Mapping[str, tuple[str, ...]] = {
    "RunStarted": (*_RUN, "plan", "rules", "jobs"),
    "RunResumed": (*_RUN, "check", "accept_failing"),
    "TaskCreated": ("step", "limits", "rules", "means"),
    "TaskResumed": ("limits", "means", "check", "accept_failing"),
    "ChildStarted": ("grant",),
    "Granted": ("limits",),
    "AttemptStarted": ("agent", "may_change"),
    "ModelSwitched": ("may_change",),
    "Planned": ("steps",),
    "PlanChanged": ("steps",),
    "PlanRuled": ("says", "steps"),
    "PlanAnswered": ("says",),
    "ChangesRuled": ("allowed",),
    "ChangesAnswered": ("allow",),
    "ChildSettled": ("allowed",),
    "WorkTaken": ("allowed",),
    "CommandRuled": ("allow",),
    "GoalListed": ("entry",),
    "GoalsListed": ("entries",),
    "GoalEdited": ("entry",),
    "GoalTaken": ("cost",),
    "NightStarted": ("cost",),
}
"""Fields of events that need permission, because they give access, weaken a verdict or spend money."""
_OPTIONS = {"main": "model", "fast": "fast_model", "strong": "strong_model"}
_CHECK = "check.command"
BEGAN = "began"
"""The name of the permission for a run as it began: it allows the run's plan, rules and rounds."""


def find_subject(run: Run) -> str:
    return f"run {run.name}"


def describe_opened(run: Run) -> dict[str, str]:
    """Return what a run asks for, as the options that would allow it, each with its value. If an option can be given
    several times, its value is part of the name."""
    agents = OutsideAgents(run.agents, (), "", run.plan.goal, run.models).names
    several = {"agent": sorted(agents), "agent_env": run.agent_env, "base_url": sorted({*run.endpoints.values()})}
    several["fallback_model"] = sorted({name for key, name in run.models.items() if key not in _OPTIONS})
    found = {f"{name} {value}": value for name, values in several.items() for value in values}
    found |= {_OPTIONS[tier]: name for tier, name in run.models.items() if tier in _OPTIONS and name != NOBODY}
    found |= {"network": run.network, "setup": run.setup, "agent_network": run.agent_network}
    return {name: value for name, value in found.items() if value} | {BEGAN: repr(run.started_at)}


def is_begun_here(journal: Journal, run: Run) -> bool:
    """Return whether the person began this run here, or has allowed it since."""
    return bool(Permissions(os.environ, journal.root).of(find_subject(run)).rule(BEGAN, repr(run.started_at)))


async def list_wants(project: "Project", run: Run, choices: Choices) -> dict[str, str]:
    """List what a run asks for and the person's settings, current options and permissions do not grant here."""
    answers = Permissions(project.env, project.root).of(find_subject(run))
    wants = {
        name: value
        for name, value in describe_opened(replace(run, agents=choices.agents(run.agents))).items()
        if not _is_given(choices, name, value) and not answers.rule(name, value)
    }
    usual = _describe_usual(project, run) if wants else {}
    hidden = await _list_hidden(project, run, choices, usual) if BEGAN in wants else {}
    return {name: value for name, value in wants.items() if name != BEGAN and usual.get(name) != value} | hidden


def _is_given(choices: Choices, name: str, value: str) -> bool:
    """Return whether the person gives this option now; for an agent, whether they name this one."""
    option = name.partition(" ")[0]
    return value in (choices.agent, choices.strong_agent) if option == "agent" else bool(getattr(choices, option, None))


def _describe_usual(project: "Project", run: Run) -> dict[str, str]:
    from bough.app.run_models import find_substitute_model, find_usual_endpoints

    config, agents = project.config, project.config.builders.named()
    try:
        models = Choices().models(config.models, find_substitute_model(run.plan.goal, agents))
    except Unavailable:
        models = {}
    # A model name with an address (`name@address`) comes from the journal, so its address is not the person's setting.
    plain = {name for name in run.models.values() if "@" not in name}
    endpoints = find_usual_endpoints(project, {*models.values(), *plain})
    setup = config.check.setup or config.workspace.setup or ""
    here = Run("", models=models, endpoints=endpoints, agents=agents, network=config.sandbox.network, setup=setup)
    return describe_opened(here)


async def _list_hidden(project: "Project", run: Run, choices: Choices, usual: Mapping[str, str]) -> dict[str, str]:
    """List what the tasks of a run from elsewhere ask for: rounds, and agents, rules and jobs other than the person's
    own."""
    rounds, agents, rules = run.limits.rounds, set[str](), [run.rules]
    for record in await project.store.read(run.name, kinds=tuple(OPENING)):
        for value in _list_values(record.event):
            rounds = max(rounds, value.rounds) if isinstance(value, Limits) else rounds
            agents |= list_named_agents(value) if isinstance(value, Step) else set()
            rules += [value] if isinstance(value, Rules) else []
        agents |= {record.event.agent} if isinstance(record.event, e.AttemptStarted) else set()
    known = {"", OWN, choices.agent, choices.strong_agent, *run.agents.values(), *list_named_agents(run.plan.goal)}
    wants = {f"agent {name}": name for name in sorted(agents - known) if f"agent {name}" not in usual}
    if choices.rounds is None or choices.rounds < rounds:
        wants["rounds"] = str(rounds)
    if run.jobs > JOBS and run.jobs > (choices.jobs or 0):
        wants["jobs"] = str(run.jobs)
    mine = _flatten(choices.rules(project.config.limits))
    different = {name: value for each in rules for name, value in _flatten(each).items() if mine.get(name) != value}
    if different:
        wants["rules"] = ", ".join(f"{name} = {value}" for name, value in sorted(different.items()))
    return wants


def _list_values(event: e.AnyEvent) -> Iterable[Any]:
    for name in OPENING[type(event).__name__]:
        value = getattr(event, name)
        value = value.goal if isinstance(value, Plan) else value
        yield from value if isinstance(value, tuple) else (value,)


def _flatten(rules: Rules) -> dict[str, str]:
    """Return the rules as text by name, without those for planning, which need no permission."""
    flat: dict[str, str] = {}

    def add(prefix: str, table: Mapping[str, Any]) -> None:
        for name, value in table.items():
            if isinstance(value, Mapping):
                add(f"{prefix}{name}.", value)
            else:
                flat[f"{prefix}{name}"] = msgspec.json.encode(value).decode()

    add("", {name: value for name, value in msgspec.to_builtins(rules).items() if name != "planning"})
    return flat


async def require_permission(project: "Project", run: Run, choices: Choices) -> None:
    """Raise `PermissionNeeded` if a run asks for more than the person has allowed here."""
    if wants := await list_wants(project, run, choices):
        raise PermissionNeeded(
            f"{run.name} asks for what you have not allowed on this machine: {describe_wants(wants)}. Allow it with "
            f"`bough trust {run.name} --yes`, or give the options again: `{suggest_resume(run.name, wants)}`."
        )


def require_check(project: "Project", checks: Sequence[Check]) -> None:
    """Raise `PermissionNeeded` for checks that only the repository names, unless the person allows them. Called if no
    sandbox confines commands."""
    named = "; ".join(each.command for each in checks)
    if named and _CHECK not in project.consent({_CHECK: add_scripts(project.root, named)}):
        raise PermissionNeeded(
            "without a sandbox it has all your rights, and only the repository names it. Name it yourself "
            f"(`--check {shlex.quote(checks[0].command)}`), or allow what this repository asks for (`bough run "
            "--trust-config`)."
        )


class PermissionRequest(Struct, frozen=True, eq=False):
    """What somebody asks for, and the function that stores the person's answer."""

    wants: Mapping[str, str]
    answer: Callable[[bool], None]


async def list_asked(folder: Path) -> dict[str, PermissionRequest]:
    """List all unanswered requests in a project: of the repository's settings, unfinished runs and goals."""
    from bough.app.session import open_session
    from bough.services.backlog import list_backlogs, load_backlog

    root, wishes = list_open_wishes(folder)
    found = (
        {SETTINGS: PermissionRequest(wishes, lambda yes: answer_wishes(root, wishes, allowed=yes))} if wishes else {}
    )
    answers = Permissions(os.environ, root).all()

    def add(kind: str, name: str, wants: Mapping[str, str], answer: Callable[[bool], None]) -> None:
        said = answers.get(f"{kind} {name}", Answers())
        if any(said.rule(*want) is None for want in wants.items()):
            found[name] = PermissionRequest(wants, answer)

    if not (find_address(root) or os.path.lexists(root / ".bough")):
        return found
    async with open_session(folder) as project:
        for name in await project.store.runs():
            run = await project.run(name)
            if run.version and run.end is None and (wants := await list_wants(project, run, Choices())):
                add("run", name, wants, partial(allow_run, project, run, wants))
        for listed in await list_backlogs(project):
            backlog = await load_backlog(project, listed)
            for name in await list_barred(project, backlog):
                entry, goal = backlog.items[name].entry, f"{listed}/{name}"
                add("goal", goal, _describe_goal(entry), partial(allow_goals, project, listed, {name: entry}))
    return found


def describe_wants(wants: Mapping[str, str]) -> str:
    """Describe the requests as a phrase: `network on, agent_env KEY`."""
    return ", ".join(f"{name.partition(' ')[0]} {shorten_value(value)}" for name, value in wants.items())


def suggest_resume(name: str, wants: Mapping[str, str]) -> str:
    """Return the command that resumes a run with these options."""
    options = [(f"--{want.partition(' ')[0].replace('_', '-')}", value) for want, value in wants.items()]
    options = [(option, value) for option, value in options if option not in ("--rules", "--jobs")]
    return shlex.join(["bough", "resume", name, *(word for pair in options for word in pair)])


def list_refused(project: "Project", run: Run) -> dict[str, str]:
    """List what a run in a shared journal asks for and the owner of this worker does not allow. Endpoints that this
    machine uses anyway are allowed."""
    worker, known = project.config.worker, {*project.config.agents, *KNOWN}
    patterns = {"agent": worker.agents, "agent_env": worker.env, "setup": worker.setup, "base_url": worker.endpoints}
    patterns |= dict.fromkeys(("network", "agent_network"), worker.network)
    usual, refused = _describe_usual(project, run), {}
    for name, value in describe_opened(run).items():
        option = name.partition(" ")[0]
        address = value.partition("@")[2] if option in _OPTIONS.values() else value
        allowed = patterns.get(option, worker.endpoints if address else ("*",))
        by_name = option != "agent" or value in known
        if usual.get(name) != value and option != BEGAN and not (by_name and _matches(address, allowed)):
            refused[name] = value
    return refused if _matches(run.by, worker.users) else {**refused, "user": run.by or "unknown"}


def _matches(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def allow_run(project: "Project", run: Run, wants: Mapping[str, str], allowed: bool) -> None:
    """Store the person's answer about a run. A yes holds for the run as it is now."""
    told = {**wants, **describe_opened(run)} if allowed else {**wants, BEGAN: repr(run.started_at)}
    Permissions(project.env, project.root).keep(find_subject(run), told, allowed=allowed)


def remember_run(project: "Project", run: Run, recorded: Callable[[e.Record], None]) -> Callable[[e.Record], None]:
    """Return a function that calls `recorded`, and stores the permission for a run that starts or resumes here, so that
    the person is not asked when they resume it."""

    def seen(record: e.Record) -> None:
        nonlocal run
        if isinstance(record.event, e.RunStarted | e.RunResumed):
            run = evolve_run(replace(run, name=record.run), record)
            with suppress(BoughError):  # If the permission cannot be stored, the person has to give the options again.
                allow_run(project, run, {}, True)
        recorded(record)

    return seen


def allow_goals(journal: Journal, name: str, entries: Mapping[str, GoalEntry], allowed: bool = True) -> None:
    """Store whether the person allows these goals of a backlog. Goals that they add or edit themselves are allowed;
    others are allowed or refused with `bough trust`."""
    told = {f"goal {name}/{goal}": _describe_goal(entry) for goal, entry in entries.items()}
    Permissions(os.environ, journal.root).keep_all(told, allowed=allowed)


def _describe_goal(entry: GoalEntry) -> dict[str, str]:
    return {"goal": msgspec.json.encode(replace(entry, needs=(), priority=0, labels=(), files=(), source="")).decode()}


async def list_barred(journal: Journal, backlog: Backlog) -> dict[str, str]:
    """List the goals that the person did not add or allow on this machine, each with the command that allows it."""
    answers = Permissions(os.environ, journal.root).all()
    barred = {}
    for item in backlog.items.values():
        if item.dropped or (item.report is not None and item.report.status == "completed"):
            continue
        said = answers.get(f"goal {backlog.name}/{item.name}")
        known = said is not None and all(said.rule(*wish) for wish in _describe_goal(item.entry).items())
        run = await journal.run(item.run) if known and item.run else Run("")
        if not known or (run.version and run.end is None and not is_begun_here(journal, run)):
            what = f"its run {run.name} was" if known else "it was"
            command = f"bough trust {backlog.name}/{item.name} --yes"
            barred[item.name] = f"{what} not begun by you on this machine: `{command}` allows it"
    return barred
