"""Assembles everything that a run needs from an open project. This module is loaded only when something runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from bough.adapters.fenced_ports import fence_port
from bough.adapters.models.admission import PacedModel
from bough.adapters.models.capabilities import NONE
from bough.adapters.models.providers import list_secrets, make_model
from bough.adapters.models.recording import RecordingModel
from bough.adapters.sandboxes.approval import Permit, require_approval
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.network import describe_confinement
from bough.adapters.sandboxes.process import ProcessSandbox
from bough.adapters.stores.liveness import worker_id
from bough.adapters.tools.workbench import WorkbenchTools
from bough.adapters.workspaces.provisioning import ProvisionedWorkspaces
from bough.adapters.workspaces.surroundings import fingerprint_environment
from bough.app.choices import Choices, OutsideAgents, RunObserver
from bough.app.cluster import find_clock
from bough.app.outside_programs import Agents, make_project_sandbox, make_servers
from bough.app.project import Project
from bough.app.prompts import choose_prompts
from bough.app.run_models import Knowledge, gather_knowledge
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.messages import ModelProtocol
from bough.core.settings.sections import MODEL
from bough.ports import Model, Ports, Sandbox, Tools, Workspaces
from bough.ports.steering import Fence, Inbox, Stop
from bough.ports.verifier import Verifier
from bough.services.activity import ActivityFile
from bough.services.permissions import require_check
from bough.services.run_messages import AskAnywhere, find_person

if TYPE_CHECKING:
    from bough.adapters.executors.dbos import DbosExecutor
    from bough.adapters.telemetry import Spans
    from bough.adapters.verifiers.verifier import ProjectVerifier
    from bough.core.acceptance.verdict import Check
    from bough.core.journal.run_fold import Run
    from bough.core.tree.task import Task


@asynccontextmanager
async def open_ports(
    project: Project,
    models: dict[str, str],
    choices: Choices,
    watch: RunObserver,
    endpoints: Mapping[str, str] = MappingProxyType({}),
    folder: str | None = None,
    executor: "DbosExecutor | None" = None,
    outside: OutsideAgents | None = None,
    began: Mapping[str, ModelProtocol] = NONE,
) -> AsyncIterator[Ports]:
    """Open the ports of a run. `folder`: the person's current folder when it began; `outside`: its outside agents;
    `began`: the model protocols that it began with."""
    fence, inbox, wait = Fence(), Inbox(), project.config.approve.wait
    env = make_env(project.env, hidden := list_secrets(project.env, models.values()), project.config.sandbox.env)
    asks = AskAnywhere(inbox, watch.permit, wait, find_person(), watch.recorded) if watch.permit or wait else None
    commands, sandbox = _open_sandbox(project, env, asks, fence)
    agents = Agents(project, outside, asks) if outside and outside.names else None
    watch.opened(_describe_opened(project, commands, agents))
    made, known = await _make_models(project, models, choices, endpoints, began, agents, hidden, fence, watch.stop)
    # What is opened first is closed last: tools and checks may still call models, and all of them record spans.
    async with AsyncExitStack() as closing:
        spans = _open_spans(project.env, closing)
        for model in made.values():
            closing.push_async_callback(model.close)
        furnished = _furnish_workspaces(project, sandbox, fence)
        verifier = _VerifierOnDemand(partial(_make_verifier, project, sandbox, furnished, env, folder))
        tools: Tools = WorkbenchTools(sandbox)
        servers = make_servers(project, tools, hidden) if outside is not None and project.config.mcp else None
        for last in (furnished, verifier, servers, executor):
            if last is not None:
                closing.push_async_callback(last.close)
        closing.callback((activity := ActivityFile(project.home, watch, project.store)).close)
        ports = Ports(
            store=project.store,
            models={tier: made[name] for tier, name in models.items()},
            tools=fence_port(servers or tools, fence),
            workspaces=furnished,
            sandbox=sandbox,
            verifier=cast(Verifier, verifier),
            clock=find_clock(project.store),
            worker=worker_id(),
            prompt=choose_prompts(project.config.limits.planning, project.home),
            protocols=known.protocols,
            agent=agents.of if agents is not None else None,
            inbox=inbox,
            fence=fence,
            progress=activity.progress,
            streamed=watch.progress,
            doing=activity.doing,
            recorded=_record_spans(activity, spans),
            person=find_person(),
            unreachable=known.explain_unreachable(models),
            executor=executor,
            **{name: getattr(watch, name) for name in ("stop", "waiting", "approve", "ask")},
            **({"leave": servers.leave, "prepare": servers.prepare} if servers is not None else {}),  # type: ignore[arg-type]
        )
        if executor is not None:
            executor.ports = ports
        yield ports


def _open_sandbox(
    project: Project, env: Mapping[str, str], asks: Permit | None, fence: Fence
) -> tuple[ProcessSandbox, Sandbox]:
    """Open the sandbox of commands. Return it twice: as it is, and behind the person's approval and the fence, which
    refuses calls once another process has taken over the run."""
    commands = make_project_sandbox(project, env, project.network)
    commands.start()
    return commands, fence_port(require_approval(commands, project.config.approve.commands, asks), fence)


def _describe_opened(project: Project, commands: ProcessSandbox, agents: Agents | None) -> str:
    setup = project.config.check.setup or project.config.workspace.setup
    opened = [describe_confinement(commands.level, commands.network), f"set-up: {setup}" if setup else ""]
    return "; ".join(filter(None, [*opened, *(agents.describe() if agents else ())]))


async def _make_models(
    project: Project,
    models: Mapping[str, str],
    choices: Choices,
    endpoints: Mapping[str, str],
    began: Mapping[str, ModelProtocol],
    agents: Agents | None,
    hidden: list[str],
    fence: Fence,
    stop: Stop,
) -> tuple[dict[str, Model], Knowledge]:
    """Make the models of a run, by name, and what is known about them. Calls wait in the queue (gate) of the model's
    endpoint, except for agents and the calling program's own models. The fence is checked after this wait, because
    another process may have taken over the run meanwhile."""
    config, given = project.config, choices.given()
    base_url = choices.base_url or config.models.base_url
    known = await gather_knowledge(
        [name for name in models.values() if name not in given],
        base_url=base_url,
        endpoints=endpoints,
        client=project.client,
        env=project.env,
        setting=choices.protocol or config.models.protocol,
        given=given,
        began=began,
    )
    made: dict[str, Model] = {}
    for name in dict.fromkeys(models.values()):
        if name.startswith(MODEL) and agents is not None:
            made[name] = fence_port(agents.model(name, project.home / "desk", config.limits), fence)
            continue
        model = given.get(name) or make_model(
            name,
            base_url=endpoints.get(name) or base_url,
            client=project.client,
            timeout=config.limits.model_timeout,
            longest=config.limits.model_longest,
            env=project.env,
            window=known.window(name, config.models.window),
            images=known.images(name, config.models.images),
            own_price=config.prices.get(name.partition("@")[0]),
        )
        model = RecordingModel(model, choices.record, secrets=hidden) if choices.record else model
        made[name] = fence_port(model, fence)
        if name not in given and not name.startswith(MODEL):
            gate = project.client.gate(endpoints.get(name) or base_url or name.partition(":")[0])
            made[name] = PacedModel(made[name], gate, stop)
    return made, known


def _furnish_workspaces(project: Project, sandbox: Sandbox, fence: Fence) -> ProvisionedWorkspaces:
    config = project.config
    if config.services and project.level.name == "landlock" and project.network.mode != "on":
        raise UsageError(
            "[services] in bough.toml need namespaces, which are unavailable here "
            f"({project.level.why_not_more}), or the machine's own loopback: pass --network on."
        )
    return ProvisionedWorkspaces(
        fence_port(project.workspaces, fence),
        sandbox,
        config.check.setup or config.workspace.setup,
        config.services,
        config.limits.check_timeout,
    )


class _VerifierOnDemand:
    """Loads and makes the verifier when it is first used, because tasks without a check need none."""

    def __init__(self, make: "Callable[[], ProjectVerifier]") -> None:
        self._make = make
        self._made: ProjectVerifier | None = None

    def __getattr__(self, name: str) -> Any:
        self._made = self._made or self._make()
        return getattr(self._made, name)

    async def find(self, task: "Task") -> "Check | None":
        return await self.__getattr__("find")(task) if task.step.requires_testing else None

    def prefer(self, checked: e.BaseChecked) -> None:
        if checked.command:
            self.__getattr__("prefer")(checked)

    def begin(self, run: "Run", task: "Task") -> None:
        if task.step.requires_testing:
            self.__getattr__("begin")(run, task)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def _make_verifier(
    project: Project, sandbox: Sandbox, workspaces: Workspaces, env: Mapping[str, str], folder: str | None
) -> "ProjectVerifier":
    """Make the verifier. `env`: the variables of commands; `folder`: the person's folder when the run began, if that
    is not the current one."""
    from bough.adapters.verifiers.check_environment import CheckEnvironment
    from bough.adapters.verifiers.verifier import ProjectVerifier

    config, around = project.config, project.surroundings
    check = config.check
    chosen = (
        check.before,
        sorted(check.env.items()),
        check.setup or config.workspace.setup,
        config.services,
        config.sandbox,
    )
    met = CheckEnvironment(
        root=project.root,
        found=around.environment,
        ignored=project.workspaces.ignored,
        surroundings=fingerprint_environment(project.root, env, around, chosen),
        folder=project.folder if folder is None else folder,
        command=check.command or "",
        before=check.before or "",
        env=check.env,
        require=lambda checks: None if project.level.confines else require_check(project, checks),
    )
    return ProjectVerifier(project.slots.limit(sandbox), workspaces, project.home, met)


def _record_spans(activity: ActivityFile, spans: "Spans | None") -> Callable[[e.Record], None]:
    if spans is None:
        return activity.recorded

    def recorded(record: e.Record) -> None:
        spans.recorded(record)
        activity.recorded(record)

    return recorded


def _open_spans(env: Mapping[str, str], closing: AsyncExitStack) -> "Spans | None":
    """Connect to the person's trace collector; None if none is configured or the extra `otel` is not installed."""
    if not any(env.get(name) for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return None
    try:
        from bough.adapters.telemetry import Spans
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        return None
    closing.push_async_callback(asyncio.to_thread, (spans := Spans(env)).close)
    return spans
