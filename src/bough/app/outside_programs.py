"""Makes the outside agents and MCP servers of a run, each in its own sandbox with the access that its settings name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bough.adapters.agents.registry import KNOWN, AgentSetup, choose_agent
from bough.adapters.models.providers import list_secrets
from bough.adapters.sandboxes.approval import Permit
from bough.adapters.sandboxes.env import is_named, make_env
from bough.adapters.sandboxes.network import Network, parse_network
from bough.adapters.sandboxes.process import ProcessSandbox, make_sandbox
from bough.app.choices import OutsideAgents
from bough.app.project import Project
from bough.core.errors import UsageError
from bough.core.rules import Rules
from bough.core.settings.sections import MODEL, ToolServer, title_of
from bough.installed import needing
from bough.ports import Sandbox, Tools
from bough.trust.programs import NoProgram, find_program, list_program_folders, resolve_command

if TYPE_CHECKING:
    from bough.adapters.agents.acp import AcpAgent, AgentModel
    from bough.adapters.mcp.tools import McpTools


class Agents:
    """Makes the outside agents of a run. Each sees and reaches only what the person has named for it."""

    def __init__(self, project: Project, outside: OutsideAgents, permit: Permit | None) -> None:
        self._project, self._outside, self._permit = project, outside, permit
        self._made: dict[str, AcpAgent] = {}
        self._reach: dict[str, str] = {}
        """The network access of each agent's sandbox."""
        self._check()

    def _choose(self, name: str) -> AgentSetup:
        # A plan may come from a repository, so it may name only known agents, and never give a command line.
        by_name = self._outside.names & {*self._project.config.agents, *KNOWN}
        if name not in by_name | {*self._outside.chosen.values()}:
            raise UsageError(
                f"The agent {name} is not one that you chose for this run: name it with --agent, or in your own "
                "settings ([agents])."
            )
        return choose_agent(name, self._project.config.agents, self._outside.network, self._outside.env)

    def of(self, name: str) -> "AcpAgent":
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _check(self) -> None:
        """Raise an error for the first agent that lacks a program or a variable, before anything starts."""
        for name in sorted(self._outside.names):
            how = self._choose(name)
            try:
                program = resolve_command(how.argv, self._project.root, self._project.env)[0]
            except NoProgram as error:
                raise UsageError(
                    f"The agent {name} needs `{how.argv[0]}`, which {error.strerror}. {how.advice}"
                ) from None
            if find_program(program, self._project.root) is None:
                raise UsageError(f"The agent {name} needs `{program}`, which cannot be run. {how.advice}")
            if missing := [key for key in how.env if not key.endswith("*") and key not in self._project.env]:
                raise UsageError(f"The agent {name} expects {missing[0]}, which is not set in your environment.")
            self.of(name)

    def describe(self) -> list[str]:
        """Describe what each agent made so far can reach and see."""
        seen = {name: ", ".join(self._choose(name).env) for name in self._made}
        return [f"{title_of(name)}: {self._reach[name]}{f', sees {seen[name]}' if seen[name] else ''}" for name in seen]

    def model(self, name: str, folder: Path, rules: Rules) -> "AgentModel":
        """Make an outside agent (`agent:NAME`) answer as a model."""
        from bough.adapters.agents.acp import AgentModel

        return AgentModel(self.of(name.removeprefix(MODEL)), folder, rules)

    def _make(self, name: str) -> "AcpAgent":
        with needing("An outside agent", "acp", "acp", "pydantic"):
            from bough.adapters.agents.acp import AcpAgent
        project, how = self._project, self._choose(name)
        env, confines = self._build_environment(how), project.level.confines
        try:
            network = parse_network(how.network, project.env) if confines else Network("on")
            sandbox = make_project_sandbox(project, env, network)
        except UsageError as error:
            raise UsageError(f"The agent {name}: {str(error).replace('--network', '--agent-network')}") from None
        self._reach[name] = sandbox.network.says
        return AcpAgent(
            name,
            resolve_command(how.argv, self._project.root, self._project.env),
            sandbox,
            # A checkout's own PATH and PYTHONPATH would make the agent load the checkout's programs and modules.
            env={"PATH": env["PATH"], "PYTHONPATH": ""},
            home=[Path(path).expanduser() for path in how.home] if confines else [],
            patterns=project.config.approve.commands,
            permit=self._permit,
            mode=how.mode if confines else "",
            advice=how.advice,
        )

    def _build_environment(self, how: AgentSetup) -> dict[str, str]:
        """Build an agent's variables: those of all commands, and those that the person named for it, even secrets. The
        folder of its program comes first on PATH, so that the sandbox shows this folder, too."""
        env = {
            **make_env(self._project.env, list_secrets(self._project.env), self._project.config.sandbox.env),
            **{name: value for name, value in self._project.env.items() if is_named(name, how.env)},
        }
        env["PATH"] = list_program_folders(self._project.root, self._project.env)
        if "/" in how.argv[0] and (place := find_program(how.argv[0], self._project.root)):
            env["PATH"] = f"{Path(place).parent}:{env['PATH']}"
        return env


def make_project_sandbox(project: Project, env: Mapping[str, str], network: Network) -> ProcessSandbox:
    """Make the sandbox that the settings describe. The project's own folder is hidden in it."""
    chosen = project.config.sandbox
    writable, readable = ([Path(each).expanduser() for each in some] for some in (chosen.writable, chosen.readable))
    return make_sandbox(chosen.mode, env, writable, readable=readable, hidden=[project.root], network=network)


def make_servers(project: Project, tools: Tools, hidden: Sequence[str]) -> "McpTools":
    """Add the tools of the configured MCP servers to bough's. A server starts when it is first needed; one that fails
    to start is left out, and the journal says why. `hidden`: secrets that a server sees only if its settings say so."""
    with needing("An MCP server", "mcp", "mcp", "mcp_types", "pydantic", "anyio"):
        from bough.adapters.mcp.tools import McpTools, make_served
    env, root = project.env, project.root
    plain = {**make_env(env, hidden), "PATH": list_program_folders(root, env)}

    def sandbox(settings: ToolServer, line: list[str]) -> Sandbox:
        own = dict(plain)
        # The sandbox shows the folders on PATH and the libraries next to them, so the program's folder goes there.
        if line and line[0].startswith("/"):
            own["PATH"] = f"{Path(line[0]).parent}:{own['PATH']}"
        network = parse_network(settings.network, env) if project.level.confines else Network("on")
        return make_sandbox(project.config.sandbox.mode, own, hidden=[root], network=network)

    served = {}
    for name, settings in project.config.mcp.items():
        if bool(settings.command) == bool(settings.url):
            raise UsageError(f"The MCP server {name} needs either a command or a url: see `bough config`.")
        served[name] = make_served(name, settings, env, sandbox, root)
    return McpTools(tools, served)
