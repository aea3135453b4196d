"""The outside agents of a run: each with a sandbox of its own, made when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bough.adapters.agents.registry import Chosen, choose_agent
from bough.adapters.models.providers import list_secrets
from bough.adapters.sandboxes.approval import Permit
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode
from bough.adapters.sandboxes.network import Network, parse_network
from bough.adapters.sandboxes.process import make_sandbox
from bough.core.errors import UsageError
from bough.core.rules import Rules
from bough.core.settings.agent_settings import MODEL, AgentSettings
from bough.installed import lacking
from bough.trust.programs import NoProgram, find_program, list_program_folders, resolve_command

if TYPE_CHECKING:
    from bough.adapters.agents.acp import AcpAgent
    from bough.adapters.agents.model import AgentModel


class Agents:
    """By name. Each sees and reaches only what the person has named for it."""

    def __init__(
        self,
        configured: Mapping[str, AgentSettings],
        *,
        env: Mapping[str, str],
        extra: Sequence[str],
        passed: Sequence[str],
        network: str,
        mode: Mode,
        confines: bool,
        readable: Sequence[Path],
        writable: Sequence[Path],
        hidden: Sequence[Path],
        patterns: Sequence[str],
        permit: Permit | None,
    ) -> None:
        """`extra`: variables that all commands see; `passed` and `network`: the person's choices for this run."""
        self._configured, self._env, self._extra = configured, env, tuple(extra)
        self._passed, self._network = tuple(passed), network
        self._mode, self._confines = mode, confines
        self._readable, self._writable, self._hidden = readable, writable, hidden
        self._project = hidden[0] if hidden else None
        self._patterns, self._permit = patterns, permit
        self._made: dict[str, AcpAgent] = {}

    def of(self, name: str) -> AcpAgent:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def check(self, names: Sequence[str]) -> None:
        """Report what is missing before anything starts."""
        for name in names:
            how = choose_agent(name, self._configured, self._network, self._passed)
            try:
                program = resolve_command(how.argv, self._project, self._env)[0]
            except NoProgram as error:
                raise UsageError(
                    f"The agent {name} needs `{how.argv[0]}`, which {error.strerror}. {how.advice}"
                ) from None
            if find_program(program, self._project) is None:
                raise UsageError(f"The agent {name} needs `{program}`, which cannot be run. {how.advice}")
            if missing := [key for key in how.env if not key.endswith("*") and key not in self._env]:
                raise UsageError(f"The agent {name} expects {missing[0]}, which is not set in your environment.")
            self.of(name)

    def model(self, name: str, folder: Path, rules: Rules) -> AgentModel:
        """The agent behind a model's name, as a model."""
        from bough.adapters.agents.model import AgentModel

        return AgentModel(self.of(name.removeprefix(MODEL)), folder, rules)

    def _make(self, name: str) -> AcpAgent:
        try:
            from bough.adapters.agents.acp import AcpAgent
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("acp", "pydantic"):
                raise
            raise lacking("An outside agent", "acp") from None
        how = choose_agent(name, self._configured, self._network, self._passed)
        env = self._build_environment(how)
        try:
            sandbox = make_sandbox(
                self._mode,
                env,
                self._writable,
                readable=self._readable,
                hidden=self._hidden,
                network=parse_network(how.network, self._env) if self._confines else Network("on"),
            )
        except UsageError as error:
            raise UsageError(f"The agent {name}: {str(error).replace('--network', '--agent-network')}") from None
        return AcpAgent(
            name,
            resolve_command(how.argv, self._project, self._env),
            sandbox,
            # Of the checkout's variables, those that would have it load the checkout's programs and modules.
            env={"PATH": env["PATH"], "PYTHONPATH": ""},
            home=[Path(path).expanduser() for path in how.home] if self._confines else [],
            patterns=self._patterns,
            permit=self._permit,
            mode=how.mode if self._confines else "",
            advice=how.advice,
        )

    def _build_environment(self, how: Chosen) -> dict[str, str]:
        """The variables of all commands, and those that the person has named for it, secret or not. The folder of its
        program comes first on PATH, so that the sandbox shows it with what was installed alongside."""
        named = {name: value for name, value in self._env.items() if _is_named(name, how.env)}
        env = {**make_env(self._env, list_secrets(self._env), self._extra), **named}
        env["PATH"] = list_program_folders(self._project, self._env)
        if "/" in how.argv[0] and (place := find_program(how.argv[0], self._project)):
            env["PATH"] = f"{Path(place).parent}:{env['PATH']}"
        return env


def _is_named(name: str, names: Sequence[str]) -> bool:
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in names if one != "*")
