"""Starts, resumes, plans and judges runs in an open project."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

import bough
from bough.adapters.models.absent import NOBODY
from bough.adapters.models.providers import list_secrets
from bough.adapters.models.wire import Client
from bough.adapters.sandboxes.levels import find_level
from bough.adapters.state_folder import find_checkouts
from bough.adapters.stores.liveness import worker_id
from bough.adapters.stores.redacted import find_in_addresses, find_in_files, redact_secrets
from bough.adapters.verifiers.check_slots import CheckSlots
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.git_program import find_git_version
from bough.adapters.workspaces.home import find_root, prepare_home
from bough.adapters.workspaces.merge import NEEDS
from bough.adapters.workspaces.python_environment import find_editable_sources, find_environment
from bough.adapters.workspaces.surroundings import Surroundings, read_variables
from bough.app import config as settings
from bough.app.choices import JOBS, Choices, OutsideAgents, PlannedGoal, RunObserver, mark_plan_first
from bough.app.cluster import share_workspaces, start_dispatch
from bough.app.journal import require_folder
from bough.app.journal_location import find_address, open_store, remember_store
from bough.app.run_models import check_prices, find_endpoints, find_substitute_model, recall_models
from bough.core import events as e
from bough.core.acceptance.changed_tests import list_pending_changes
from bough.core.budget.limits import Limits
from bough.core.errors import ClaimHeld, DiskFull, Unavailable, UsageError
from bough.core.ids import GOAL, INSPECTION, RUN
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Plan, Step, has_parallel_steps, validate_plan
from bough.core.tree.task import Task
from bough.ports.steering import run_beside
from bough.ports.verifier import Work
from bough.services.delivery import Delivery
from bough.services.earlier_runs import StartingPoint, follow_run
from bough.services.hooks import Herald
from bough.services.permission_store import Ask, Tell, make_consent
from bough.services.permissions import remember_run, require_permission
from bough.services.run_messages import answer_once, find_person, list_waiting, load_waiting, refuse_second
from bough.trust.files import Place
from bough.trust.home import check_home
from bough.views.run_view import Outcome

ANYWHERE = StartingPoint()


class Session(Delivery, frozen=True):
    """A project that is open for work: runs start, resume and are judged in it."""

    async def start(
        self, goal: Step | Plan, choices: Choices, watch: RunObserver, at: StartingPoint = ANYWHERE
    ) -> Outcome:
        """Start a run and drive it to its end or to a halt. A goal may be planned first; a plan runs as it is written.
        `at`: what is settled already, such as its name. Raises `ClaimHeld` if another run has that name."""
        if choices.continues:
            at = await follow_run(self, choices.continues, at)
            goal = goal if isinstance(goal, Plan) else replace(goal, test_command=goal.test_command or at.check)
        rules = at.rules or choices.rules(self.config.limits)
        plan = validate_plan(goal if isinstance(goal, Plan) else Plan(mark_plan_first(goal, rules)))
        models, outside, endpoints = self._choose(choices, plan.goal, at)
        recorded = remember_run(self, Run(""), self.herald.observe(watch.recorded))
        watch = replace(watch.or_later(choices.ask_later), recorded=recorded)
        watch.doing(GOAL, "reading your files")
        executor = await start_dispatch(self.store, choices)
        async with run_beside(self._find_base(at.base)) as taking:
            # Load modules while the person's files are read: each takes a tenth of a second.
            from bough.app.run_ports import open_ports
            from bough.engine import run_loop

            async with open_ports(self, models, choices, watch, endpoints, executor=executor, outside=outside) as ports:
                for url in endpoints.values():  # Connect now; the HTTP library loads only if there is an endpoint.
                    self.client.link(url)
                limits = choices.limits_for(self.config.budget, plan.goal)
                check_prices(self, models, endpoints, limits, choices, outside.names)
                first = e.RunStarted(
                    format=e.FORMAT,
                    plan=plan,
                    base=await taking,
                    folder=self.folder,
                    models=models,
                    limits=limits,
                    rules=rules,
                    version=bough.__version__,
                    jobs=_choose_jobs(self.root, choices, plan.goal, executor.slots if executor else 0),
                    grows=choices.rounds is None and self.config.budget.rounds == Limits().rounds,
                    settings=dict(self.theirs),
                    endpoints=endpoints,
                    agents=outside.chosen,
                    inherited=at.inherited,
                    protocols={model.name: ports.protocols.of(model.name) for model in ports.models.values()},
                    listed=at.listed,
                    examines=at.examines,
                    by=find_person(),
                    fresh=choices.fresh,
                    ask_later=choices.ask_later,
                    network=choices.network or "",
                    setup=choices.setup or "",
                    agent_env=choices.agent_env,
                    agent_network=choices.agent_network or "",
                    continues=at.follows,
                    origin=at.origin,
                )
                while not await run_loop.start_run(name := at.name or await self.find_free_name(), first, ports):
                    if at.name:
                        raise ClaimHeld(f"Another run is already called {name}: choose another name.", "")
        return await self.outcome(name)

    async def _find_base(self, given: str) -> str:
        return given or await self.workspaces.take()

    async def resume(self, name: str, choices: Choices, watch: RunObserver) -> Outcome:
        """Resume a run that was stopped, halted or killed, and return how it ended. A finished run is not resumed."""
        from bough.app.run_ports import open_ports
        from bough.engine import run_loop

        run = await self.run(name)
        if run.end is not None:
            return await self.outcome(name)
        await require_permission(self, run, choices)
        watch = replace(watch, recorded=remember_run(self, run, self.herald.observe(watch.recorded)))
        models = choices.models(replace(recall_models(run.models), presets=self.config.models.presets))
        agents = choices.agents(run.agents)
        agent_env = choices.agent_env or run.agent_env
        reach = choices.agent_network or run.agent_network
        await self._finish_rewind_somehow(name)
        endpoints = find_endpoints(self, models, choices, run.endpoints)
        watch = watch.or_later(choices.ask_later or run.ask_later)
        outside = OutsideAgents(agents, agent_env, reach, run.plan.goal, models)
        executor = await start_dispatch(self.store, choices)
        began, opened = run.protocols, self.as_begun(run, choices)
        async with open_ports(opened, models, choices, watch, endpoints, run.folder, executor, outside, began) as ports:
            goal = await self.task(name) if await self.store.read(name, GOAL, kinds=("TaskCreated",)) else None
            limits = choices.limits(goal.budget.limits if goal is not None and goal.created else run.limits)
            if goal is not None and goal.budget.granted:  # A budget that grew with the plan does not shrink.
                limits = replace(limits, rounds=max(limits.rounds, goal.budget.limits.rounds))
            # Prices of the same models were checked when the run began.
            if choices.cost is not None or models != run.models:
                check_prices(self, models, endpoints, limits, choices, outside.names)
            again = e.RunResumed(
                ports.worker,
                limits,
                models,
                endpoints,
                check=choices.check,
                accept_failing=True if choices.accept_failing else None,
                network=choices.network or "",
                setup=choices.setup or "",
                agents=agents,
                agent_env=agent_env,
                agent_network=reach,
                by=find_person(),
            )
            await run_loop.resume_run(name, again, ports)
        return await self.outcome(name)

    async def _finish_rewind_somehow(self, name: str) -> None:
        """Finish a rewind even if a command of the run has filled the disk: then remove the run's checkouts and
        temporary files first. Its work is stored as trees, and checkouts are recreated when needed."""
        try:
            async with self.hold(name):
                await self.finish_rewind(name)
        except DiskFull:
            if await self.store.holder(name, RUN) is None:
                await self.workspaces.sweep(name, "")
            async with self.hold(name):
                await self.finish_rewind(name)

    def require_models(self, choices: Choices) -> None:
        """Raise an error if no run could start with these choices: no model, or a cost limit without known prices."""
        models, outside, endpoints = self._choose(choices, goal := Step(GOAL, "a goal"), ANYWHERE)
        check_prices(self, models, endpoints, choices.limits_for(self.config.budget, goal), choices, outside.names)

    def _choose(
        self, choices: Choices, goal: Step, at: StartingPoint
    ) -> tuple[dict[str, str], OutsideAgents, dict[str, str]]:
        """Choose the models of a new run by tier, its outside agents, and each model's endpoint."""
        agents = choices.agents(self.config.builders.named())
        models = choices.models(at.models or self.config.models, find_substitute_model(goal, agents))
        return models, choices.outside(agents, goal, models), find_endpoints(self, models, choices, at.endpoints)

    async def check(
        self, step: Step, choices: Choices, watch: RunObserver, *, cached: bool = False, scout: bool = False
    ) -> tuple[e.BaseChecked, float]:
        """Run the goal's check on the files as they are, and return the result and its time. No run starts. With
        `scout` a model may propose a check if none is found; otherwise no model is called. `cached`: only look up the
        last result; if there is none, the returned command is empty."""
        # While modules load, git reads the files, and a program tests which sandbox works here.
        beside = asyncio.gather(self.workspaces.take(), asyncio.to_thread(lambda: self.level))
        await asyncio.sleep(0)
        from bough.app.run_ports import open_ports
        from bough.engine.base_check import check_base

        base, _ = await beside
        rules = choices.rules(self.config.limits)
        found = e.BaseChecked()
        models = choices.models(self.config.models) if scout else {"main": NOBODY}
        endpoints, outside = find_endpoints(self, models, choices), choices.outside({}, step, models)
        async with open_ports(self, models, choices, watch, endpoints, outside=outside if scout else None) as ports:
            if cached:
                task = Task(GOAL, step=step, base=base, tree=base, rules=rules)
                return await ports.verifier.look_up(task) or (found, 0.0)
            async with self.inspect(step, base, choices, self.folder) as run:
                async for events in check_base(run, ports, fresh=True, asks=scout):
                    for event in events:
                        watch.recorded(e.Record(0, run.name, "", 0, time.time(), event))
                        found = event if isinstance(event, e.BaseChecked) else found
        return found, time.time()

    @asynccontextmanager
    async def inspect(self, step: Step, base: str, choices: Choices, folder: str) -> AsyncIterator[Run]:
        """Make a run that has no journal, for checks outside any run, and remove its folders afterwards."""
        name, rules = f"{INSPECTION}{os.urandom(6).hex()}", choices.rules(self.config.limits)
        run = Run(name, plan=Plan(step), base=base, folder=folder, rules=rules)
        # The claim keeps `clear_inspections` of other processes from removing these folders.
        async with self.store.claim(run.name, RUN, worker_id(), rules.lease):
            try:
                yield run
            finally:
                await self.workspaces.forget(run.name)

    async def verify(self, name: str, choices: Choices, watch: RunObserver) -> e.Judged:
        """Judge the work of a run again, by its own check or another, and record the verdict."""
        from bough.app.run_ports import open_ports

        if not await self.store.read(name, GOAL):
            raise UsageError(f"{name} has not started: nothing to verify.")
        async with (
            self.hold(name) as (claim, run),
            open_ports(self, {"main": NOBODY}, choices, watch, folder=run.folder) as ports,
        ):
            if not self.level.confines and not choices.check:  # The check comes from a journal of unknown origin.
                await require_permission(self, run, choices)
            task = await self.task(name)
            step = replace(task.step, test_command=choices.check or task.step.test_command)
            accepts = choices.accept_failing or task.rules.accept_failing
            task = replace(task, step=step, rules=replace(task.rules, accept_failing=accepts))
            if run.checked is not None:
                ports.verifier.prefer(run.checked)
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
                shown = shown or (check is not None and (await ports.verifier.measure_base(Work(run, task, check))).red)
                unshown = f"{judged.verdict.reason}, but it passes without the work, too"
                end: e.End = "completed" if passed and shown else "not_proven"
                events.append(e.RunFinished(end, unshown if passed and not shown else judged.verdict.reason))
            for record in await self.store.append(claim, events, run.version):
                watch.recorded(record)
        return event

    async def accept(self, name: str, why: str = "") -> str:
        """Record that the person accepts the work of a run that finished without proof; return the words recorded."""
        async with self.hold(name) as (claim, run):
            if run.end is None or run.end.end != "not_proven":
                how = "not finished" if run.end is None else run.end.end
                raise UsageError(f"{name} is {how}: only finished work without proof can be accepted.")
            person = find_person()
            said = f"accepted by {person or 'you'} without proof{f': {why}' if why else ''}"
            await self.store.append(claim, [e.Accepted(person, why), e.RunFinished("completed", said)], run.version)
        return said

    async def plan(self, step: Step, choices: Choices, watch: RunObserver) -> PlannedGoal:
        """Plan a goal without running or storing anything."""
        from bough.app.run_ports import open_ports
        from bough.engine.run_loop import propose_plan

        rules = choices.rules(self.config.limits)
        rules = replace(rules, planning=replace(rules.planning, flat=False))
        models, outside, endpoints = self._choose(choices, step, ANYWHERE)
        async with open_ports(self, models, choices, watch, endpoints, outside=outside) as ports:
            run = Run("plan", plan=Plan(step), base=await self.workspaces.take(), folder=self.folder, rules=rules)
            task, refused = await propose_plan(run, mark_plan_first(step, rules), ports)
        if task.halt is not None:
            raise Unavailable(f"Planning failed: {task.halt.message}.")
        plan = task.plan
        several = tuple(one.whole for one in plan.requirements) if plan.steps and len(plan.requirements) > 1 else ()
        goal = replace(step, steps=plan.steps, parallel=bool(plan.steps), criteria=step.criteria or several)
        return PlannedGoal(Plan(goal), plan.estimate, refused, task.budget.spend, plan.requirements)

    async def rule_on_changes(self, name: str, *, allow: bool, say: str = "", task: str = "") -> list[str]:
        """Allow or refuse the changes to existing tests that a run asks for, all of them or those of one task, and
        return the tests' names. A live run then continues on its own; a halted one with `bough resume`."""
        from bough.engine.change_approval import rule_by_person

        live = await self.holder(name) is not None
        asked = await list_waiting(self, name, "tests", task)
        none = f"No test of {name} is waiting for your approval: see `bough status {name}`."
        if not asked:
            refuse_second(name, await load_waiting(self, name), "tests", task, none)
        if live:
            for each in asked:
                await answer_once(self, name, each, e.ChangesAnswered(each.task, allow, say.strip(), find_person()))
            return [one.test for each in asked for one in each.tests]
        tests: list[str] = []
        async with self.hold(name):
            for each in asked:
                async with self.hold_task(name, each.task) as (held, now):
                    if left := list_pending_changes(now):
                        tests += [one.test for one in left]
                        ruled = rule_by_person(now, allow=allow, said=say.strip(), person=find_person())
                        await self.store.append(held, [ruled], now.version)
        if not tests:
            refuse_second(name, await load_waiting(self, name), "tests", task, none)
        return tests


def _choose_jobs(root: Path, choices: Choices, goal: Step, slots: int) -> int:
    """Choose how many agents work at once: as many as the workers have slots, if there are workers. More than one needs
    a git that can merge their work."""
    jobs = choices.jobs or (max(JOBS, slots) if has_parallel_steps(goal) else 1)
    if jobs > 1 and (there := find_git_version(root)) < NEEDS:
        if choices.jobs is None:
            return 1
        named, needs = (".".join(map(str, numbers)) for numbers in (there, NEEDS))
        raise UsageError(f"--jobs {jobs} needs git {needs} or newer, this is {named}: update git, or use --jobs 1.")
    return jobs


@asynccontextmanager
async def open_session(
    folder: Path | str = ".",
    *,
    create: bool = False,
    choices: Choices | None = None,
    ask: Ask | None = None,
    tell: Tell = lambda ignored: None,
) -> AsyncIterator[Session]:
    """Open the project that contains a folder. Without `create` the project must have been used before. The sandbox
    and the trust in the project's settings among `choices` apply to the whole session. `ask` asks the person about
    settings of the repository that need consent, and `tell` reports those that are ignored."""
    here = require_folder(folder)
    env = dict(os.environ)
    root = find_root(here)
    chosen = choices or Choices()
    consent = make_consent(root, env, trust=chosen.trust_config, ask=ask, tell=tell)
    loaded, theirs = settings.load_settings(root, env, consent, outside=chosen.sandbox == "none")
    loaded = chosen.configure(loaded)
    check_home(root / ".bough")
    # With a shared store the project can have runs although this folder has no .bough yet: create it.
    home = prepare_home(root) if create or find_address(root) else root / ".bough"
    known = [*list_secrets(env), *find_in_addresses(env), *find_in_files(root, loaded.workspace.env_file)]
    journal = open_store(root, home, create=create)
    remember_store(root)
    store = redact_secrets(journal, known)
    client = Client(loaded.limits.backoff_first, loaded.limits.backoff_longest)
    mode = loaded.sandbox.mode
    place = "" if here == root else here.relative_to(root).as_posix()
    around = build_surroundings(root, place, loaded, env)
    herald = Herald(root, loaded.hooks)
    workspaces = GitWorkspaces(
        root, home, mode != "none", around, lambda: find_level(mode).name == "namespaces", find_checkouts(root, env)
    )
    try:
        session = Session(
            root=root,
            home=home,
            folder=place,
            config=loaded,
            theirs=theirs,
            store=store,
            workspaces=share_workspaces(workspaces, journal, chosen.remote),
            surroundings=around,
            env=env,
            client=client,
            slots=CheckSlots(chosen.checks or loaded.check.at_once),
            herald=herald,
            consent=consent,
        )
        if create:
            await session.clear_inspections()
        yield session
    finally:
        herald.close()
        workspaces.close()
        await client.close()
        await store.close()


def build_surroundings(root: Path, folder: str, config: settings.Config, env: Mapping[str, str]) -> Surroundings:
    """Collect what checkouts get from the person's set-up: the Python environment that applies in this folder of the
    project, variables, and linked or copied files."""
    chosen = config.workspace
    variables: dict[str, str] = {}
    if chosen.env_file:
        variables = read_variables(Place(root, chosen.env_file, links=True))
    environment = find_environment(root, folder, env)
    if environment is not None and config.sandbox.mode == "none":  # Without a sandbox, checkouts have no link to it.
        environment = replace(environment, inside="")
    return Surroundings(
        environment=environment,
        sources=find_editable_sources(environment, root) if environment is not None else (),
        link=chosen.link,
        copy=chosen.copy,
        variables={**variables, **chosen.env},
        path=env.get("PATH", os.defpath),
    )
