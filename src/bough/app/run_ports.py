"""Everything a run needs, put together from a session: loaded only when something runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from bough.adapters.fenced_ports import fence_model, fence_sandbox, fence_tools, fence_workspaces
from bough.adapters.models.admission import FirstContact, PacedModel
from bough.adapters.models.protocols import NONE
from bough.adapters.models.providers import list_secrets, make_model
from bough.adapters.models.recording import RecordingModel
from bough.adapters.sandboxes.approval import Permit, require_approval
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.stores.liveness import worker_id
from bough.adapters.tools.workbench import WorkbenchTools
from bough.adapters.workspaces.fingerprint import fingerprint_environment
from bough.adapters.workspaces.provisioning import ProvisionedWorkspaces
from bough.app.activity import ActivityFile
from bough.app.agent_pool import Agents
from bough.app.choices import Choices, RunObserver
from bough.app.cluster import find_clock
from bough.app.command_approval import AskAnywhere
from bough.app.model_knowledge import Knowledge, gather_knowledge
from bough.app.outside_agents import Outside, list_outside_agents
from bough.app.prompts import load_prompt
from bough.app.run_messages import find_person
from bough.app.servers import make_servers
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.messages import Spoken
from bough.core.settings.agent_settings import MODEL
from bough.ports import Fence, Inbox, Model, Ports, Sandbox, Tools, Verifier, Workspaces, nothing_runs

if TYPE_CHECKING:
    from bough.adapters.executors.dbos import DbosExecutor
    from bough.adapters.mcp.tools import McpTools
    from bough.adapters.telemetry import Spans
    from bough.adapters.verifiers.verifier import ProjectVerifier
    from bough.app.session import Session
    from bough.core.acceptance.verdict import Check
    from bough.core.journal.run_fold import Run
    from bough.core.tree.task import Task


@asynccontextmanager
async def open_ports(
    session: Session,
    models: dict[str, str],
    choices: Choices,
    watch: RunObserver,
    endpoints: Mapping[str, str] = MappingProxyType({}),
    folder: str | None = None,
    executor: DbosExecutor | None = None,
    outside: Outside | None = None,
    began: Mapping[str, Spoken] = NONE,
) -> AsyncIterator[Ports]:
    """`folder`: where the person stood at the start; `outside`: agents that are not bough's own; `began`: protocols."""
    fence, inbox = Fence(), Inbox()
    hidden = list_secrets(session.env, models.values())
    env = make_env(session.env, hidden, session.config.sandbox.env)
    sandbox = fence_sandbox(_open_sandbox(session, env, asks := _make_permit(session, inbox, watch)), fence)
    known = await _gather_knowledge(session, models, choices, endpoints, began)
    agents = _open_agents(session, outside, asks) if outside and list_outside_agents(outside) else None
    # What is opened first is closed last: tools and checks may still ask models, and all of them make spans.
    async with AsyncExitStack() as closing:
        if (spans := _open_spans(session.env)) is not None:
            closing.push_async_callback(asyncio.to_thread, spans.close)
        names = dict.fromkeys(models.values())
        made = {name: _make_model(session, choices, endpoints, known, agents, hidden, name) for name in names}
        for model in made.values():
            closing.push_async_callback(model.close)
        furnished = _furnish_workspaces(session, sandbox, fence)
        verifier = _VerifierOnDemand(partial(_make_verifier, session, sandbox, furnished, env, folder))
        tools: Tools = WorkbenchTools(sandbox)
        servers = _make_servers(session, tools, hidden) if outside is not None and session.config.mcp else None
        for last in (furnished, verifier, servers, executor):
            if last is not None:
                closing.push_async_callback(last.close)
        closing.callback((activity := ActivityFile(session.home, watch, session.store)).close)
        ports = Ports(
            store=session.store,
            models={t: _pace(session, choices, endpoints, made, fence, watch, n) for t, n in models.items()},  # type: ignore[misc]
            tools=fence_tools(servers or tools, fence),
            workspaces=furnished,
            sandbox=sandbox,
            verifier=cast(Verifier, verifier),
            clock=find_clock(session.store),
            worker=worker_id(),
            prompt=_choose_prompts(session),
            protocols=known.protocols,
            agent=agents.of if agents is not None else None,
            leave=servers.leave if servers is not None else nothing_runs,
            prepare=servers.prepare if servers is not None else None,
            stop=watch.stop,
            inbox=inbox,
            fence=fence,
            progress=activity.progress,
            streamed=watch.progress,
            doing=activity.doing,
            waiting=watch.waiting,
            recorded=_record_spans(activity, spans),
            approve=watch.approve,
            ask=watch.ask,
            person=find_person(),
            unreachable=known.unreachable,
            executor=executor,
        )
        if executor is not None:
            executor.ports = ports
        yield ports


def _open_sandbox(session: Session, env: Mapping[str, str], asks: Permit | None) -> Sandbox:
    sandboxed = session.config.sandbox
    commands = make_sandbox(
        sandboxed.mode,
        env,
        [Path(folder).expanduser() for folder in sandboxed.writable],
        readable=[Path(folder).expanduser() for folder in sandboxed.readable],
        hidden=[session.root],
        network=session.network,
    )
    commands.start()
    return require_approval(commands, session.config.approve.commands, asks)


def _make_permit(session: Session, inbox: Inbox, watch: RunObserver) -> Permit | None:
    """Asks the person about commands, of bough's own agents and of outside ones; None: nobody can answer."""
    wait = session.config.approve.wait
    return AskAnywhere(inbox, watch.permit, wait, find_person(), watch.recorded) if watch.permit or wait else None


async def _gather_knowledge(
    session: Session,
    models: Mapping[str, str],
    choices: Choices,
    endpoints: Mapping[str, str],
    began: Mapping[str, Spoken],
) -> Knowledge:
    given = choices.given()
    return await gather_knowledge(
        [name for name in models.values() if name not in given],
        base_url=choices.base_url or session.config.models.base_url,
        endpoints=endpoints,
        client=session.client,
        env=session.env,
        setting=choices.protocol or session.config.models.protocol,
        given=given,
        began=began,
    )


def _make_model(
    session: Session,
    choices: Choices,
    endpoints: Mapping[str, str],
    known: Knowledge,
    agents: Agents | None,
    hidden: list[str],
    name: str,
) -> Model:
    config = session.config
    if name.startswith(MODEL) and agents is not None:
        return agents.model(name, session.home / "desk", config.limits)
    model = choices.given().get(name) or FirstContact(
        make_model(
            name,
            base_url=endpoints.get(name) or choices.base_url or config.models.base_url,
            client=session.client,
            timeout=config.limits.model_timeout,
            longest=config.limits.model_longest,
            env=session.env,
            window=known.window(name, config.models.window),
            images=known.images(name, config.models.images),
            own_price=config.prices.get(name.partition("@")[0]),
        )
    )
    return RecordingModel(model, choices.record, secrets=hidden) if choices.record else model


def _pace(
    session: Session,
    choices: Choices,
    endpoints: Mapping[str, str],
    made: Mapping[str, Model],
    fence: Fence,
    watch: RunObserver,
    name: str,
) -> Model:
    """The model behind the gate of its endpoint, where all who ask there wait for their turn. The fence comes after
    that: the run may be another's by then."""
    model = fence_model(made[name], fence)
    if name in choices.given() or name.startswith(MODEL):
        return model
    address = endpoints.get(name) or choices.base_url or session.config.models.base_url or name.partition(":")[0]
    return PacedModel(model, session.client.gate(address), watch.stop)


def _furnish_workspaces(session: Session, sandbox: Sandbox, fence: Fence) -> ProvisionedWorkspaces:
    config = session.config
    if config.services and session.level.name == "landlock" and session.network.mode != "on":
        raise UsageError(
            "[services] in bough.toml need namespaces, which are unavailable here "
            f"({session.level.why_not_more}), or the machine's own loopback: pass --network on."
        )
    return ProvisionedWorkspaces(
        fence_workspaces(session.workspaces, fence),
        sandbox,
        config.check.setup or config.workspace.setup,
        config.services,
        config.limits.check_timeout,
    )


def _make_servers(session: Session, tools: Tools, hidden: list[str]) -> McpTools:
    """They start when an agent is first asked."""
    return make_servers(
        session.config.mcp,
        tools,
        env=session.env,
        hidden=hidden,
        mode=session.config.sandbox.mode,
        confines=session.level.confines,
        root=session.root,
    )


def _open_agents(session: Session, outside: Outside, asks: Permit | None) -> Agents:
    """The outside agents, checked before anything starts."""
    _, passed, network, _ = outside
    sandboxed = session.config.sandbox
    agents = Agents(
        session.config.agents,
        env=session.env,
        extra=sandboxed.env,
        passed=passed,
        network=network,
        mode=sandboxed.mode,
        confines=session.level.confines,
        readable=[Path(folder).expanduser() for folder in sandboxed.readable],
        writable=[Path(folder).expanduser() for folder in sandboxed.writable],
        hidden=[session.root],
        patterns=session.config.approve.commands,
        permit=asks,
    )
    agents.check(sorted(list_outside_agents(outside)))
    return agents


class _VerifierOnDemand:
    """Loads and makes the verifier when it is first used: tasks without a check need none."""

    def __init__(self, make: Callable[[], ProjectVerifier]) -> None:
        self._make = make
        self._made: ProjectVerifier | None = None
        self._preferred = ("", False)

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
            self._made.prefer(*self._preferred)
        return getattr(self._made, name)

    async def find(self, task: Task) -> Check | None:
        return await self.__getattr__("find")(task) if task.step.requires_testing else None

    def prefer(self, command: str, scouted: bool = False) -> None:
        self._preferred = (command, scouted)
        if self._made is not None:
            self._made.prefer(command, scouted)

    def begin(self, run: Run, task: Task) -> None:
        if task.step.requires_testing:
            self.__getattr__("begin")(run, task)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def _make_verifier(
    session: Session, sandbox: Sandbox, workspaces: Workspaces, env: Mapping[str, str], folder: str | None
) -> ProjectVerifier:
    """`env`: the variables that commands see; `folder`: the person's folder, when it differs from the current one."""
    from bough.adapters.verifiers.check_environment import CheckEnvironment
    from bough.adapters.verifiers.remedies import Remedies
    from bough.adapters.verifiers.verifier import ProjectVerifier

    config, around = session.config, session.surroundings
    check = config.check
    chosen = (
        check.before,
        sorted(check.env.items()),
        check.setup or config.workspace.setup,
        config.services,
        config.sandbox,
    )
    met = CheckEnvironment(
        root=session.root,
        remedies=Remedies(session.root, around.environment, session.workspaces.ignored),
        surroundings=fingerprint_environment(session.root, env, around, chosen),
        folder=session.folder if folder is None else folder,
        command=check.command or "",
        before=check.before or "",
        env=check.env,
    )
    return ProjectVerifier(session.slots.limit(sandbox), workspaces, session.home, met)


def _choose_prompts(session: Session) -> Callable[[str], str]:
    rules = session.config.limits.planning
    if rules.prompts == "plain":
        return load_prompt
    from bough.app.optimise import prompts_of

    return prompts_of(rules, session.home)


def _record_spans(activity: ActivityFile, spans: Spans | None) -> Callable[[e.Record], None]:
    if spans is None:
        return activity.recorded

    def recorded(record: e.Record) -> None:
        spans.recorded(record)
        activity.recorded(record)

    return recorded


def _open_spans(env: Mapping[str, str]) -> Spans | None:
    """Send runs to the person's trace collector, where one is configured and the extra `otel` is installed."""
    if not any(env.get(name) for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return None
    try:
        from bough.adapters.telemetry import Spans
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        return None
    return Spans(env)
