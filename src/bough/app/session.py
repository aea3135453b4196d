"""An open project: its journal and its runs."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

import bough
from bough import config as settings
from bough.adapters.models.absent import NOBODY
from bough.adapters.models.providers import find_model_address, has_price, list_secrets
from bough.adapters.models.wire import Client
from bough.adapters.sandboxes.levels import SandboxLevel, find_level
from bough.adapters.sandboxes.network import Network, describe_confinement, parse_network
from bough.adapters.state_folder import find_checkouts
from bough.adapters.stores.liveness import worker_id
from bough.adapters.stores.redacted import redact_secrets
from bough.adapters.stores.secrets import find_in_addresses, find_in_files
from bough.adapters.verifiers.check_slots import CheckSlots
from bough.adapters.workspaces import deliver
from bough.adapters.workspaces.apply import ApplyConflict
from bough.adapters.workspaces.env_file import read_variables
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.git_program import find_git_version
from bough.adapters.workspaces.home import find_root, prepare_home
from bough.adapters.workspaces.merge import NEEDS
from bough.adapters.workspaces.python_environment import find_editable_sources, find_environment
from bough.adapters.workspaces.surroundings import Surroundings
from bough.app.activity import name_activity_file
from bough.app.choices import JOBS, Choices, PlannedGoal, RunObserver, mark_plan_first
from bough.app.cluster import open_workspaces, start_dispatch
from bough.app.commit_messages import render_run_message, render_step_message
from bough.app.follow_up import load_followed
from bough.app.journal import Journal, require_folder
from bough.app.journal_location import find_address, open_store, remember_store
from bough.app.known_endpoints import require_known_endpoint
from bough.app.lessons import learn_from, tell_lessons
from bough.app.outside_agents import Outside, list_outside_agents
from bough.app.run_messages import answer_once, find_person, load_waiting
from bough.app.settings_consent import Ask, Tell, make_consent
from bough.core import events as e
from bough.core.acceptance.changed_tests import list_pending_changes
from bough.core.acceptance.probes import Probe
from bough.core.active_files import Edge
from bough.core.agent_choice import all_outside, list_named_agents
from bough.core.budget.ledger import Limits
from bough.core.conversation.context import list_passed_probes
from bough.core.errors import ClaimHeld, DiskFull, Unavailable, UsageError
from bough.core.ids import CONTROL, GOAL, RUN, RUN_NAMES, make_run_name
from bough.core.journal.rewind import plan_rewind
from bough.core.journal.run_fold import Run
from bough.core.journal.settled_steps import list_settled_steps
from bough.core.journal.task_fold import list_points
from bough.core.messages import Spoken
from bough.core.planning.plan import Plan, Step, has_parallel_steps, validate_plan
from bough.core.rules import Rules
from bough.core.settings.agent_settings import MODEL, OWN, title_of
from bough.core.tree.inherited import Inherited
from bough.core.tree.task import Task
from bough.core.workflow.keys import needs_models
from bough.ports import Claim, FileChange, Ports
from bough.trust.files import Place
from bough.trust.home import check_home
from bough.views.details import Point, point_of
from bough.views.run_view import Outcome

if TYPE_CHECKING:
    from bough.adapters.executors.dbos import DbosExecutor

T = TypeVar("T")
EDGES_SHOWN = 8


def _choose_jobs(asked: int | None, goal: Step, slots: int) -> int:
    """Agents that may work at once: as many as the workers have slots, where there are workers. git merges their work,
    which older versions cannot do."""
    jobs = asked or (max(JOBS, slots) if has_parallel_steps(goal) else 1)
    if jobs > 1 and (there := find_git_version()) < NEEDS:
        if asked is None:
            return 1
        named, needs = (".".join(map(str, numbers)) for numbers in (there, NEEDS))
        raise UsageError(f"--jobs {jobs} needs git {needs} or newer, this is {named}: update git, or use --jobs 1.")
    return jobs


class StartingPoint(Struct, frozen=True):
    """Where a run starts, if that was settled before: a goal of a backlog."""

    name: str
    base: str
    origin: str = ""
    listed: str = ""
    rules: Rules | None = None


class Session(Journal, frozen=True):
    """A project that is open for work: where it is, its settings, its journal and its trees."""

    home: Path
    folder: str
    """Where the person stands, relative to the root."""
    config: settings.Config
    theirs: Mapping[str, str]
    """What applies of the repository's own settings."""
    workspaces: GitWorkspaces
    surroundings: Surroundings
    """What checkouts get from the person's set-up."""
    env: Mapping[str, str]
    client: Client
    """The HTTP client of all its runs, so that they share connections."""
    slots: CheckSlots
    """How many checks of all its runs go on at once."""

    @property
    def level(self) -> SandboxLevel:
        """How commands are confined."""

        return find_level(self.config.sandbox.mode)

    @property
    def confinement(self) -> str:
        """The same in words, with what commands reach."""

        return describe_confinement(self.level, self.network)

    @property
    def network(self) -> Network:
        """What commands can reach."""

        return Network("on") if not self.level.confines else parse_network(self.config.sandbox.network, self.env)

    # ── running ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def as_begun(self, name: str, choices: Choices) -> Session:
        """The session for resuming that run: commands reach what the person opened for it, unless they choose otherwise
        now."""
        run = await self.run(name)
        network = choices.network or run.network
        sandboxed = replace(self.config.sandbox, network=network or self.config.sandbox.network)
        check = replace(self.config.check, setup=choices.setup or run.setup or self.config.check.setup)
        return replace(self, config=replace(self.config, sandbox=sandboxed, check=check))

    async def start(
        self, goal: Step | Plan, choices: Choices, watch: RunObserver, at: StartingPoint | None = None
    ) -> Outcome:
        """Start a run and drive it to its end or to a halt. A goal may be planned first; a plan runs as it is
        written. `at`: under which name and from which files, where that was settled before. `ClaimHeld` when another
        run has that name."""

        rules = at.rules if at is not None and at.rules is not None else choices.rules(self.config.limits)
        configured, earlier = self.config.models, None
        if choices.continues:
            earlier = await load_followed(self, choices.continues)
            configured = earlier.models
            if not isinstance(goal, Plan):
                goal = replace(goal, test_command=goal.test_command or earlier.check)
        plan = validate_plan(goal if isinstance(goal, Plan) else Plan(choices.attempts(mark_plan_first(goal, rules))))
        agents = choices.agents(self.config.builders.named())
        models = choices.models(configured, _find_substitute_model(plan.goal, agents))
        # The engine is loaded while the person's files are read: each takes a tenth of a second.
        endpoints = self._endpoints(models, choices, earlier.endpoints if earlier else {})
        watch = watch.or_later(choices.ask_later)
        outside = (agents, choices.agent_env, choices.agent_network or "", plan.goal)
        watch.doing(GOAL, "reading your files")
        executor = await start_dispatch(self, choices)
        async with (
            _run_beside(self.workspaces.take() if at is None else _give(at.base)) as taking,
            self._ports(models, choices, watch, endpoints, executor=executor, outside=outside) as ports,
        ):
            from bough.engine import run_loop

            for url in endpoints.values():  # The HTTP library too, where a model is called.
                self.client.link(url)
            limits = choices.ledger(self.config.budget, plan.goal)
            self._check_prices(models, endpoints, limits, choices, list_outside_agents(outside))
            grows = choices.rounds is None and self.config.budget.rounds == Limits().rounds
            first = e.RunStarted(
                format=e.FORMAT,
                plan=plan,
                base=(earlier.base if earlier else "") or await taking,
                folder=self.folder,
                models=models,
                limits=limits,
                rules=rules,
                version=bough.__version__,
                jobs=_choose_jobs(choices.jobs or choices.best_of, plan.goal, executor.slots if executor else 0),
                grows=grows,
                fresh=choices.fresh,
                endpoints=endpoints,
                ask_later=choices.ask_later,
                network=choices.network or "",
                setup=choices.setup or "",
                agents=agents,
                agent_env=choices.agent_env,
                agent_network=choices.agent_network or "",
                settings=dict(self.theirs),
                continues=earlier.run if earlier else "",
                origin=earlier.origin if earlier else at.origin if at else "",
                inherited=await self._find_known(plan.goal, earlier.inherited if earlier else Inherited(), choices),
                protocols={model.name: ports.protocols.of(model.name) for model in ports.models.values()},
                listed=at.listed if at else "",
            )
            start = partial(run_loop.start_run, first=first, ports=ports)
            if at is not None and not await start(at.name):
                raise ClaimHeld(f"Another run is called {at.name}.", "")
            name = at.name if at is not None else await self._start_under_free_name(start)
        return await self._conclude(name, choices)

    async def check(
        self, step: Step, choices: Choices, watch: RunObserver, *, cached: bool = False
    ) -> tuple[e.BaseChecked, float]:
        """Run the goal's check on the files as they are, and when that was. No run starts, and no model is called.
        `cached`: only look for the last result; without one the command is empty."""
        from bough.engine.base_check import check_base

        rules = choices.rules(self.config.limits)
        found = e.BaseChecked()
        async with self._ports({"main": NOBODY}, choices, watch) as ports:
            base = await self.workspaces.take()
            run = Run(f"check-{os.getpid()}", plan=Plan(step), base=base, folder=self.folder, rules=rules)
            if cached:
                task = Task(GOAL, step=step, base=base, tree=base, rules=rules)
                return await ports.verifier.look_up(task) or (found, 0.0)
            async for events in check_base(run, ports, fresh=True):
                for event in events:
                    watch.recorded(e.Record(0, run.name, "", 0, time.time(), event))
                    found = event if isinstance(event, e.BaseChecked) else found
        return found, time.time()

    async def verify(self, name: str, choices: Choices, watch: RunObserver) -> e.Judged:
        """Judge the work of a finished run again, by its own check or another."""

        if not await self.store.read(name, GOAL):
            raise UsageError(f"{name} has not started: nothing to verify.")
        async with (
            self._hold(name) as (claim, run),
            self._ports({"main": NOBODY}, choices, watch, {}, run.folder) as ports,
        ):
            task = await self.task(name)
            step = replace(task.step, test_command=choices.check or task.step.test_command)
            accepts = choices.accept_failing or task.rules.accept_failing
            task = replace(task, step=step, rules=replace(task.rules, accept_failing=accepts))
            if run.checked is not None:
                ports.verifier.prefer(run.checked.command, run.checked.scouted)
            check = await ports.verifier.find(task)
            workspace = await ports.workspaces.open(name, f"{GOAL}@verify", task.tree, run.folder)
            try:
                judged = await ports.verifier.judge(
                    run, task, check, workspace, lambda line: watch.progress(GOAL, line)
                )
            finally:
                await ports.workspaces.discard(name, f"{GOAL}@verify")
            event = e.Judged(judged.verdict)
            events: list[e.AnyEvent] = [event]
            if run.end is not None:
                passed = judged.verdict.ruling == "passed"
                shown = run.end.end == "completed" or task.rules.acceptance.proof == "check"
                shown = shown or (check is not None and await ports.verifier.failed_before(run, task, check))
                unshown = f"{judged.verdict.reason}, but it passes without the work, too"
                end: e.End = "completed" if passed and shown else "not_proven"
                events.append(e.RunFinished(end, unshown if passed and not shown else judged.verdict.reason))
            for record in await self.store.append(claim, events, run.version):
                watch.recorded(record)
        return event

    async def accept(self, name: str, why: str = "") -> str:
        """Take the work of a run that finished without proof as it is; returns who did."""
        async with self._hold(name) as (claim, run):
            if run.end is None or run.end.end != "not_proven":
                how = "not finished" if run.end is None else run.end.end
                raise UsageError(f"{name} is {how}: only work that is finished and not proven can be accepted.")
            person = find_person()
            said = f"accepted by {person or 'you'} without proof{f': {why}' if why else ''}"
            await self.store.append(claim, [e.Accepted(person, why), e.RunFinished("completed", said)], run.version)
        return said

    async def plan(self, step: Step, choices: Choices, watch: RunObserver) -> PlannedGoal:
        """Plan a goal. Nothing runs, and nothing is kept."""
        from bough.engine.propose_plan import propose_plan

        rules = choices.rules(self.config.limits)
        rules = replace(rules, planning=replace(rules.planning, flat=False))
        agents = choices.agents(self.config.builders.named())
        models = choices.models(self.config.models, _find_substitute_model(step, agents))
        outside = (agents, choices.agent_env, choices.agent_network or "", step)
        async with self._ports(models, choices, watch, outside=outside) as ports:
            run = Run("plan", plan=Plan(step), base=await self.workspaces.take(), folder=self.folder, rules=rules)
            task, refused = await propose_plan(run, mark_plan_first(step, rules), ports)
        if task.halt is not None:
            raise Unavailable(f"Planning failed: {task.halt.message}.")
        plan = task.plan
        several = tuple(one.whole for one in plan.requirements) if plan.steps and len(plan.requirements) > 1 else ()
        goal = replace(step, steps=plan.steps, parallel=bool(plan.steps), criteria=step.criteria or several)
        return PlannedGoal(Plan(goal), plan.estimate, refused, task.budget.spend, plan.requirements)

    async def resume(self, name: str, choices: Choices, watch: RunObserver) -> Outcome:
        """Resume a run that was stopped, halted or killed. For a finished one, return its outcome."""
        from bough.engine import run_loop

        run = await self.run(name)
        if run.end is not None:
            return await self.outcome(name)
        main, fast, strong = (run.models.get(tier) for tier in ("main", "fast", "strong"))
        before = settings.Models(main, fast, strong, presets=self.config.models.presets)
        models = choices.models(before)
        agents = choices.agents(run.agents)
        agent_env = choices.agent_env or run.agent_env
        reach = choices.agent_network or run.agent_network
        try:
            async with self._hold(name):
                await self._take_back(name)
        except DiskFull:
            await self._make_room(name)
            async with self._hold(name):
                await self._take_back(name)
        endpoints = self._endpoints(models, choices, run.endpoints)
        watch = watch.or_later(choices.ask_later or run.ask_later)
        outside = (agents, agent_env, reach, run.plan.goal)
        executor = await start_dispatch(self, choices)
        began = run.protocols
        async with self._ports(models, choices, watch, endpoints, run.folder, executor, outside, began) as ports:
            accepts = True if choices.accept_failing else None
            goal = await self.task(name) if await self.store.read(name, GOAL, kinds=("TaskCreated",)) else None
            limits = choices.limits(goal.budget.limits if goal is not None and goal.created else run.limits)
            if goal is not None and goal.budget.granted:  # A ledger that has followed its plan does not shrink.
                limits = replace(limits, rounds=max(limits.rounds, goal.budget.limits.rounds))
            if choices.cost is not None or models != run.models:  # Else it was asked when the run began.
                self._check_prices(models, endpoints, limits, choices, list_outside_agents(outside))
            said = choices.network or ""
            again = e.RunResumed(
                ports.worker,
                limits,
                models,
                endpoints,
                choices.check,
                accepts,
                said,
                choices.setup or "",
                agents=agents,
                agent_env=agent_env,
                agent_network=reach,
                by=find_person(),
            )
            await run_loop.resume_run(name, again, ports)
        return await self._conclude(name, choices)

    async def _find_known(self, goal: Step, inherited: Inherited, choices: Choices) -> Inherited:
        """What a run knows when it begins."""
        return await tell_lessons(self, goal, inherited) if self._keeps_lessons(choices) else inherited

    async def _conclude(self, name: str, choices: Choices) -> Outcome:
        """How a run ended; what it proved is kept, where the person wants that."""
        if self._keeps_lessons(choices):
            await learn_from(self, name)
        return await self.outcome(name)

    def _keeps_lessons(self, choices: Choices) -> bool:
        return self.config.backlog.lessons if choices.lessons is None else choices.lessons

    async def _make_room(self, name: str) -> None:
        """A command of the run may have filled the disk: remove its checkouts and temporary files. Nothing is lost:
        everything that counts is in trees, and what is needed is recreated."""
        if await self.store.holder(name, RUN) is None:
            await self.workspaces.sweep(name, "")

    def require_models(self, choices: Choices) -> None:
        """Refuse choices with which no run could start, before anything is begun."""
        agents = choices.agents(self.config.builders.named())
        goal = Step(GOAL, "a goal")
        models = choices.models(self.config.models, _find_substitute_model(goal, agents))
        limits = choices.ledger(self.config.budget, goal)
        outside = list_outside_agents((agents, choices.agent_env, choices.agent_network or "", goal))
        self._check_prices(models, self._endpoints(models, choices), limits, choices, outside)

    def _check_prices(
        self,
        models: dict[str, str],
        endpoints: Mapping[str, str],
        limits: Limits,
        choices: Choices,
        outside: Collection[str] = (),
    ) -> None:
        """Refuse a cost limit that cannot be enforced, before anything is spent."""
        if limits.cost is None or choices.allow_unpriced:
            return

        for agent in sorted(outside):
            raise UsageError(
                f"The cost of {title_of(agent)} is known only as far as it reports it, so a limit of ${limits.cost:g} "
                "may not hold: limit it with --rounds or --max-minutes, or pass --allow-unpriced to count what it "
                "reports."
            )
        given, prices = choices.given(), self.config.prices
        for name in dict.fromkeys(models.values()):
            short = name.partition("@")[0]
            if name.startswith(MODEL):
                continue
            if name not in given and short not in prices and not has_price(name, endpoints.get(name), self.env):
                raise UsageError(
                    f"The price of {short} is unknown, so a limit of ${limits.cost:g} cannot be enforced: add its "
                    f'price for a million tokens to bough.toml ([prices] "{short}" = {{input = 3, output = 15}}), '
                    "use --max-tokens instead, or pass --allow-unpriced."
                )

    def _endpoints(
        self, models: dict[str, str], choices: Choices, before: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, str]:
        """Where each model is called. A resumed run uses the same endpoints, unless the person chooses otherwise."""

        given, chosen = choices.given(), choices.base_url
        found = {}
        for name in dict.fromkeys(models.values()):
            base_url = chosen or before.get(name) or self.config.models.base_url
            if (
                name not in given
                and not name.startswith(MODEL)
                and (at := find_model_address(name, base_url, self.env))
            ):
                require_known_endpoint(name, at, choices, self.config.models, self.env)
                found[name] = at
        return found

    def _ports(
        self,
        models: dict[str, str],
        choices: Choices,
        watch: RunObserver,
        endpoints: Mapping[str, str] = MappingProxyType({}),
        folder: str | None = None,
        executor: DbosExecutor | None = None,
        outside: Outside | None = None,
        began: Mapping[str, Spoken] = MappingProxyType({}),
    ) -> AbstractAsyncContextManager[Ports]:
        from bough.app.run_ports import open_ports

        return open_ports(self, models, choices, watch, endpoints, folder, executor, outside, began)

    async def find_free_name(self) -> str:
        """A name that no run has now; another process may take it at any time."""
        taken = set(await self.store.runs())
        while True:
            name = make_run_name(secrets.randbelow(RUN_NAMES * (1 + len(taken) // (RUN_NAMES // 2))))
            if name not in taken:
                return name

    async def _start_under_free_name(self, start: Callable[[str], Awaitable[Run | None]]) -> str:
        """Start a run under an unused name and drive it; return the name."""
        while not await start(name := await self.find_free_name()):
            pass
        return name

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def diff(self, name: str, stat: bool = False) -> str:
        """Everything that the run has changed so far, finished or not."""
        if not await self.store.read(name, GOAL):
            return ""
        task = await self.work(name)
        return await self.workspaces.diff(task.base, task.tree, stat)

    # ── a person's hand ─────────────────────────────────────────────────────────────────────────────────────────

    async def edges(self, name: str) -> list[Edge]:
        """Which of a run's changes take effect before anyone runs them."""
        task = await self.work(name)
        return await self.workspaces.edges(task.base, task.tree)

    async def apply(
        self,
        name: str,
        edges: bool = False,
        commit: bool = False,
        *,
        steps: bool = False,
        with_probes: bool = False,
        hooks: bool = False,
    ) -> list[FileChange]:
        """Apply a run's changes to the person's tree. Their own changes meanwhile are merged; where that fails, nothing
        is written. `edges`: the person has seen what takes effect on its own. `steps`: one commit per step.
        `with_probes`: add the probes that the work has passed as tests. `hooks`: the repository's hooks, filters and
        signing apply to the commit."""

        task = await self.work(name)
        if not edges and (found := await self.edges(name)):
            listed = "; ".join(f"{edge.path} {edge.why}" for edge in found[:EDGES_SHOWN])
            more = f"; and {len(found) - EDGES_SHOWN} more" if len(found) > EDGES_SHOWN else ""
            raise UsageError(
                f"Nothing is applied yet, because some changes take effect on their own: {listed}{more}. Review them "
                f"with `bough diff {name}`, then apply them with `bough apply {name} --edges`."
            )
        async with self._hold(name) as (claim, run):
            if run.applied == task.tree:
                raise UsageError(f"{name} is already applied: `bough undo {name}` reverts it.")
            tree = await self._build_tree(name, task, with_probes)
            if commit and steps:
                await self._require_base(name, task)
            before = await self.workspaces.take()
            changes = await self._bring(task.base, tree, before)
            made = await self._commit(name, task, changes, steps, hooks) if commit and changes else ""
            files = tuple(change.path for change in changes)
            applied = e.Applied(tree, files, before, await self.workspaces.take(), made, find_person())
            await self.store.append(claim, [applied], run.version)
        return changes

    async def _commit(self, name: str, task: Task, changes: list[FileChange], steps: bool, hooks: bool) -> str:
        """Commit what was just applied to the person's files."""

        if steps:
            return await asyncio.to_thread(deliver.commit_each, self.root, await self._build_commits(name, task, steps))
        paths = [change.path for change in changes]
        message = render_run_message(await self.run(name), task)
        return await asyncio.to_thread(deliver.commit, self.root, paths, message, hooks)

    async def _bring(self, base: str, tree: str, now: str) -> list[FileChange]:

        try:
            return await self.workspaces.apply(base, tree)
        except ApplyConflict:
            merged = await self.workspaces.merge(base, now, tree)
            if merged.conflicts:
                raise
            return await self.workspaces.apply(now, merged.tree)

    async def undo(self, name: str) -> list[FileChange]:
        """Revert what was applied to the person's files."""

        async with self._hold(name) as (claim, run):
            applied = run.application
            if applied is None or not applied.before:
                raise UsageError(f"{name} is not applied: nothing to undo.")
            try:
                changes = await self._bring(applied.after, applied.before, await self.workspaces.take())
            except ApplyConflict as error:
                raise UsageError(
                    f"Nothing was undone, because you changed the same lines since {name} was applied: "
                    f"{', '.join(error.paths)}. Set these changes aside (git stash, or copies elsewhere) and run "
                    f"`bough undo {name}` again, or take the run's changes out by hand: `bough diff {name}` shows them."
                ) from error
            undone = e.Undone(tuple(change.path for change in changes), find_person())
            await self.store.append(claim, [undone], run.version)
        return changes

    async def remove(self, name: str) -> None:
        """Remove a run with its work, which is in the person's files only if it was applied. Files first: after a crash
        it can be removed again."""
        async with self._hold(name) as (claim, _):
            await self.workspaces.forget(name)
            for file in (f"pr-{name}.md", name_activity_file(name)):
                (self.home / file).unlink(missing_ok=True)
            await self.store.forget(claim)

    def size(self) -> int:
        """Bytes that bough keeps for this project."""
        found = 0
        for folder, _, files in os.walk(self.home):
            for name in files:
                with suppress(OSError):  # gone meanwhile
                    found += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118
        return found

    async def tidy(self) -> bool:
        """Remove contents that no run needs any longer; False when a run is live, which may be writing some."""
        for name in await self.store.runs():
            if await self.store.holder(name, RUN) is not None:
                return False
        await self.workspaces.compact(await self.store.compact())
        return True

    async def branch(
        self, name: str, branch: str, *, steps: bool = False, with_probes: bool = False, at: str = "HEAD"
    ) -> str:
        """A branch of the person's repository with the run's changes, in one commit or (`steps`) one for each step;
        their files stay as they are. `with_probes`: with the probes that the work has passed. `at`: the commit that it
        starts from. The last commit."""

        task = await self.work(name)
        task = replace(task, tree=await self._build_tree(name, task, with_probes))
        if not await self.workspaces.changes(task.base, task.tree):
            raise UsageError(f"{name} changed nothing: nothing to put on a branch.")
        await self._require_base(name, task, at)
        commits = await self._build_commits(name, task, steps)
        return await asyncio.to_thread(deliver.create_branch, self.root, branch, commits, at)

    async def _require_base(self, name: str, task: Task, at: str = "HEAD") -> None:
        """The files that the run changed must be in the last commit as the run found them: only then do its commits
        hold just its changes."""

        paths = [change.path for change in await self.workspaces.changes(task.base, task.tree)]
        base = await self.workspaces.files(task.base, paths)
        head = await asyncio.to_thread(deliver.read_texts_at, self.root, paths, at)
        differ = [path for path in paths if head[path] != (base[path][1] if path in base else None)]
        if differ:
            raise UsageError(
                f"The last commit does not have {differ[0]} as the run found it: commit your changes first, or use "
                f"`bough apply {name}`."
            )

    async def _build_commits(
        self, name: str, task: Task, steps: bool
    ) -> list[tuple[dict[str, tuple[str, bytes] | None], str]]:
        """The changes of a run as commits, each with the files that it changes and its message."""

        titles = {step.name: step.title or step.instructions.strip() for step in task.plan.steps}
        covers = {step.name: [one for one in task.asked if one.number in step.covers] for step in task.plan.steps}
        points = [
            (one.tree, render_step_message(name, one, titles.get(one.child, ""), covers.get(one.child, [])))
            for one in list_settled_steps(await self.store.read(name, GOAL))
        ]
        made, before = [], task.base
        for tree, message in [*(points if steps else []), (task.tree, render_run_message(await self.run(name), task))]:
            paths = [change.path for change in await self.workspaces.changes(before, tree)]
            files = await self.workspaces.files(tree, paths) if paths else {}
            if paths:
                made.append(({path: files.get(path) for path in paths}, message))
            before = tree
        return made

    async def rule_on_changes(self, name: str, *, allow: bool, say: str = "", task: str = "") -> list[str]:
        """Decide about the original tests that a run wants to change, all of them or those of one task, and return
        their names. A live run takes it and continues; one that has halted continues with `bough resume`."""
        from bough.engine.change_approval import rule_by_person

        live = await self.store.holder(name, RUN) is not None
        found = (await load_waiting(self, name)).open(live)
        asked = [each for each in found if each.kind == "tests" and task in ("", each.task)]
        if not asked:
            raise UsageError(f"No test of {name} is waiting for your approval: see `bough status {name}`.")
        if live:
            for each in asked:
                answer = e.ChangesAnswered(each.task, allow, say.strip(), find_person())
                await answer_once(self, name, each, answer)
            return [one.test for each in asked for one in each.tests]
        tests: list[str] = []
        async with self._hold(name):
            for each in asked:
                async with self._hold_task(name, each.task) as (held, now):
                    if left := list_pending_changes(now):
                        tests += [one.test for one in left]
                        ruled = rule_by_person(now, allow=allow, said=say.strip(), person=find_person())
                        await self.store.append(held, [ruled], now.version)
        if not tests:
            raise UsageError(f"{name} is already answered: the first answer counts.")
        return tests

    async def _build_tree(self, name: str, task: Task, with_probes: bool) -> str:
        """The tree of a task, if wanted with its probes among the tests."""
        if not with_probes:
            return task.tree
        from bough.adapters.verifiers.prober import write_files
        from bough.core.verdict.registry import find_language

        kept = f"{GOAL}@probes"
        workspace = await self.workspaces.open(name, kept, task.tree, "")
        try:
            passed = list_passed_probes(task)
            # A file of several cases of which one was dropped would fail.
            others = {probe.path for probe in task.examination.probes if probe not in passed}
            texts = {
                probe.path: f"{_render_heading(probe, find_language(probe.path).comment)}{probe.text}"
                for probe in passed
                if probe.path not in others
            }
            await asyncio.to_thread(write_files, workspace.root, texts)
            return await workspace.snapshot()
        finally:
            await self.workspaces.discard(name, kept)

    async def rewind(self, name: str, to: int, task: str = GOAL, say: str = "") -> Point:
        """Rewind the run to a point of one of its tasks (0: before its first round or step): every task is as it was at
        that moment. Later events stay in the journal and no longer count, except for their cost. What the person has to
        `say` goes to a fresh agent, which takes over that task."""

        async with self._hold(name) as (claim, run):
            await self._take_back(name)
            records = await self.store.read(name, task)
            found = list_points(task, records)
            if not found:
                raise UsageError(f"{task} of {name} has not started: nothing to rewind.")
            if not 0 <= to < len(found):
                raise UsageError(
                    f"{name} can be rewound to points 0 to {len(found) - 1} of {task}, not {to}: "
                    "`bough rewind` lists them."
                )
            moment = next(record.seq for record in records if record.version == found[to].version)
            reopened = e.RunReopened(task, to, moment, find_person())
            await self.store.append(claim, [reopened], run.version)
            await self._take_back(name)
            if say.strip():
                async with self._hold_task(name, task) as (held, now):
                    await self.store.append(held, [e.PersonAnswered("", say.strip(), find_person())], now.version)

        return point_of(await self.task(name, task))

    async def _take_back(self, name: str) -> None:
        """Apply the run's last event if it is a rewind, or the rest of one that a crash cut off. The run must be
        held."""

        last = (await self.store.read(name, RUN))[-1]
        if not isinstance(last.event, e.RunReopened) or not last.event.moment:
            return
        for path, event in plan_rewind(await self.store.read(name), last):
            async with self._hold_task(name, path) as (held, now):
                # Its files are in trees; a checkout is recreated when it is needed.
                await self.workspaces.discard(name, path)
                await self.store.append(held, [event], now.version)

    async def stop(self, name: str, now: bool = False) -> str | None:
        """Ask a live run to stop; returns the process that runs it, or None."""

        holder = await self.store.holder(name, RUN)
        if holder is not None:
            await self.store.post(name, CONTROL, e.StopRequested(now, find_person()))
        return holder

    @asynccontextmanager
    async def _hold(self, name: str) -> AsyncIterator[tuple[Claim, Run]]:
        """Keep other processes from running it meanwhile."""

        run = await self.run(name)
        async with self.store.claim(name, RUN, worker_id(), run.rules.lease) as claim:
            yield claim, await self.run(name)

    @asynccontextmanager
    async def _hold_task(self, name: str, task: str) -> AsyncIterator[tuple[Claim, Task]]:

        now = await self.task(name, task)
        async with self.store.claim(name, task, worker_id(), now.rules.lease) as claim:
            yield claim, await self.task(name, task)


async def _give(text: str) -> str:
    return text


@asynccontextmanager
async def _run_beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Start the work. It does not outlive the block."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def open_session(
    folder: Path | str = ".",
    *,
    create: bool = False,
    choices: Choices | None = None,
    ask: Ask = lambda folder, wishes: None,
    tell: Tell = lambda ignored: None,
) -> AsyncIterator[Session]:
    """Open the project around a folder. Without `create` it must have been used before; then nothing is written. Of the
    `choices`, the sandbox and whether the project's settings are trusted apply to the whole session; else `ask` asks
    the person about settings that go beyond the defaults, and `tell` reports which are ignored."""

    here = require_folder(folder)
    env = dict(os.environ)
    root = find_root(here)
    chosen = choices or Choices()
    consent = make_consent(root, env, trust=chosen.trust_config, ask=ask, tell=tell)
    loaded, theirs = settings.load_settings(root, env, consent, outside=chosen.sandbox == "none")
    loaded = replace(loaded, sandbox=chosen.confine_sandbox(loaded.sandbox))
    if chosen.setup:
        loaded = replace(loaded, check=replace(loaded.check, setup=chosen.setup))
    check_home(root / ".bough")
    # A shared store may never have been used in this folder.
    home = prepare_home(root) if create or find_address(root) else root / ".bough"
    known = [*list_secrets(env), *find_in_addresses(env), *find_in_files(root, loaded.workspace.env_file)]
    journal = open_store(root, home, create=create)
    remember_store(root)
    store = redact_secrets(journal, known)
    client = Client(loaded.limits.backoff_first, loaded.limits.backoff_longest)
    mode = loaded.sandbox.mode
    around = build_surroundings(root, find_relative_folder(root, here), loaded, env)
    try:
        yield Session(
            root=root,
            home=home,
            folder=find_relative_folder(root, here),
            config=loaded,
            theirs=theirs,
            store=store,
            workspaces=open_workspaces(
                journal,
                *(root, home, mode != "none", around, lambda: find_level(mode).name == "namespaces"),
                outside=find_checkouts(root, env),
                remote=chosen.remote,
            ),
            surroundings=around,
            env=env,
            client=client,
            slots=CheckSlots(chosen.checks or loaded.check.at_once),
        )
    finally:
        await client.close()
        await store.close()


def find_relative_folder(root: Path, here: Path) -> str:
    return "" if here == root else here.relative_to(root).as_posix()


def build_surroundings(root: Path, folder: str, config: settings.Config, env: Mapping[str, str]) -> Surroundings:
    """What checkouts of the project get from the person's set-up, as seen from that folder of it."""

    chosen = config.workspace
    variables: dict[str, str] = {}
    if chosen.env_file:
        variables = read_variables(Place(root, chosen.env_file, links=True))
    environment = find_environment(root, folder, env)
    if environment is not None and config.sandbox.mode == "none":  # Then checkouts have no link to it.
        environment = replace(environment, inside="")
    return Surroundings(
        environment=environment,
        sources=find_editable_sources(environment, root) if environment is not None else (),
        link=chosen.link,
        copy=chosen.copy,
        variables={**variables, **chosen.env},
        path=env.get("PATH", os.defpath),
    )


def _render_heading(probe: Probe, mark: str) -> str:
    """What a probe shows, as a comment above it."""
    return f"{mark} {' '.join(probe.says.split())}\n" if probe.says else ""


def _find_substitute_model(goal: Step, agents: Mapping[str, str]) -> str | None:
    """The model to use when none is configured: none where none is needed, or the agent that does the work."""

    if not needs_models(goal):
        return NOBODY
    everyone = agents.get("main", OWN)
    if everyone == OWN and all_outside(goal):
        everyone = min(list_named_agents(goal))
    return f"{MODEL}{everyone}" if everyone != OWN else None
