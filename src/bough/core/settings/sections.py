"""The sections of the settings files, among them the tables for outside agents, services and tool servers (MCP). The
thresholds are not here: they are the rules of a run, in `core/rules.py` and the modules that it imports."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from bough.core.planning.plan import Role, Tier


class Section(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys that belong together."""


class Preset(Section, frozen=True):
    """Models that belong together, under a name: `--model NAME`."""

    main: str
    fast: str | None = None
    strong: str | None = None
    base_url: str | None = None
    """The endpoint of the preset's models."""

    def named(self, tier: Literal["main", "fast", "strong"]) -> str:
        """Return the model of a tier, with its endpoint."""
        name = getattr(self, tier) or self.main
        return f"{name}@{self.base_url}" if self.base_url else str(name)


class Models(Section, frozen=True):
    """The models by tier, as `provider:model`."""

    main: str | None = None
    fast: str | None = None
    """Used to prune, summarise and estimate; the main model when it is not set."""
    strong: str | None = None
    """Used for the last repair and when work is stuck; the main model when it is not set."""
    fallback: tuple[str, ...] | dict[Tier, tuple[str, ...]] = ()
    """The models that answer, in this order, while one is unavailable: for all tiers, or by tier."""
    examiner: str | None = None
    """Used to write probes against finished work; the main model when it is not set."""
    judge: str | None = None
    """Used to rule on disputed tests and probes; the strong model when it is not set."""
    base_url: str | None = None
    """Any OpenAI-compatible endpoint. Rejected in a repository's file."""
    window: Annotated[int, Meta(ge=0)] = 0
    """The context window in tokens, where bough does not know it, or should use less."""
    protocol: Literal["auto", "tools", "text"] = "auto"
    """How models act: by native tool calls, by blocks in their text, or whichever the evidence favours."""
    images: Literal["auto", "on", "off"] = "auto"
    """The models that see the images they read: all (`on`), none (`off`), or those known to take images (`auto`)."""
    presets: dict[str, Preset] = field(default_factory=dict)
    """Models by a name of the person's, for `--model NAME`. Rejected in a repository's file."""


class SandboxSettings(Section, frozen=True):
    """How commands are confined. Rejected in a repository's file."""

    mode: Literal["auto", "namespaces", "landlock", "none"] = "auto"
    network: str = "off"
    """What commands can reach: off, loopback, registries, allow:HOST,… or on."""
    readable: tuple[str, ...] = ()
    """Files and folders of your home and project that commands may read."""
    writable: tuple[str, ...] = ()
    """Folders outside the workspace that commands may write to."""
    env: tuple[str, ...] = ()
    """Further environment variables that commands may see."""


class ApproveSettings(Section, frozen=True):
    """What you want to see before it happens. Rejected in a repository's file."""

    commands: tuple[str, ...] = ()
    """Command lines that run only when you say yes: `git push`, `npm publish`, `*deploy*`."""
    wait: Annotated[float, Meta(ge=0)] = 60.0
    """Seconds that such a command waits for your answer from elsewhere when there is no terminal."""


class CheckSettings(Section, frozen=True):
    """How the project as a whole is checked."""

    command: str | None = None
    """The project's own check, in place of the one that bough finds."""
    setup: str | None = None
    """A command that installs what the project needs: runs when a checkout is made, and again before every check."""
    before: str | None = None
    """A command that runs before every check, in the same checkout."""
    timeout: Annotated[float, Meta(gt=0)] | None = None
    """Seconds that a check may take; `limits.check_timeout` when it is not set."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables of the check."""
    scout: bool = True
    """Where the project's own files leave its check unclear, let a model look for it, and try what it proposes."""
    accept_failing: bool = False
    """Tests that fail before the work may still fail after it; no others may."""
    at_once: Annotated[int, Meta(ge=1)] | None = None
    """Checks that may run at once; one per processor when it is not set."""


class WorkspaceSettings(Section, frozen=True):
    """What a checkout gets besides the files that git tracks."""

    link: tuple[str, ...] = ()
    """Ignored files and folders that a checkout links to, read-only."""
    copy: tuple[str, ...] = ()
    """Ignored files and folders that a checkout gets a copy of, fresh for every check."""
    setup: str | None = None
    """The earlier name of `[check] setup`."""
    env_file: str | None = None
    """An ignored file of NAME=VALUE lines (`.env`) whose variables commands get."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables of all commands."""


class BacklogSettings(Section, frozen=True):
    """How a list of goals is worked through. Rejected in a repository's file."""

    jobs: Annotated[int, Meta(ge=1, le=100)] = 1
    """Goals that are worked on at once."""
    per_goal: Annotated[float, Meta(gt=0)] | None = None
    """Dollars that one goal may cost."""
    pr: Literal["draft", "none"] = "none"
    """Whether proven branches are pushed and get a draft pull request, by your own `gh`."""
    max_disk: Annotated[float, Meta(gt=0)] | None = None
    """Gigabytes that bough may keep for the project; beyond that nothing begins."""


class WorkerSettings(Section, frozen=True):
    """What runs of a shared journal may use of this machine when it serves as a worker, beyond what its own settings
    give any run. Each is a list of patterns (`*` matches anything). Rejected in a repository's file."""

    agents: tuple[str, ...] = ()
    """Outside agents, by the names of [agents] or those that bough knows: never a command line."""
    env: tuple[str, ...] = ()
    """Variables of this machine that agents of these runs see."""
    network: tuple[str, ...] = ()
    """What commands and agents of these runs reach, as a run asks for it: `registries`, `allow:HOST,…`."""
    setup: tuple[str, ...] = ()
    """Commands that set up the checkouts of these runs."""
    endpoints: tuple[str, ...] = ()
    """Addresses at which models may be called for a run that this machine works on, with this machine's keys."""
    users: tuple[str, ...] = ("*",)
    """Names of the people whose runs this machine serves, as the people's machines give them."""


class BuilderSettings(Section, frozen=True):
    """Names who does the work: an outside agent (claude, codex, gemini, goose, opencode, one of [agents], or a
    command), or `bough` for its own agent."""

    main: str | None = None
    """The agent for all work that is not named here."""
    builder: str | None = None
    """The agent that does the work itself."""
    bug_hunter: str | None = None
    """The agent that repairs after a failed check."""
    test_writer: str | None = None
    """The agent that writes a missing test."""
    strong: str | None = None
    """The agent that makes the last repair, and takes over stuck work."""

    def named(self) -> dict[str, str]:
        """Return the agents by role or tier."""
        chosen = ((key, getattr(self, key)) for key in self.__struct_fields__)
        return {key: name for key, name in chosen if name}


Command = str | tuple[str, ...]
"""A line for the shell, or a program and its arguments."""


class HookSettings(Section, frozen=True):
    """What bough starts when something happens, outside the sandbox, with your environment. Rejected in a repository's
    file."""

    notify: Command = ""
    """Starts for every event below except before_*. May also be written outside the section."""
    run_finished: Command = ""
    """A run ended with work, proven or not."""
    given_up: Command = ""
    """A run or a goal was given up."""
    budget: Command = ""
    """A run has spent its budget."""
    needs_you: Command = ""
    """A run waits for you: a question, a plan, a command, tests that would change."""
    backlog_finished: Command = ""
    """A night is over."""
    before_apply: Command = ""
    """Starts before a run's changes are applied to your files; exit status 2 refuses."""
    before_push: Command = ""
    """Starts before a branch is pushed; exit status 2 refuses."""
    timeout: Annotated[float, Meta(gt=0, le=600)] = 30.0
    """Seconds after which a hook is killed."""
    quiet: Annotated[str, Meta(pattern=r"^(([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)?$")] = ""
    """Hours in which no hook is called, such as 22:00-07:00: the notices wait until they end."""
    digest: bool = False
    """Report what happens in a night once, when the night is over."""
    link_hours: Annotated[float, Meta(gt=0, le=168)] = 24.0
    """Hours for which the link to a question is good."""


ENDING = ".services"
"""Suffix of the folder next to a checkout's temporary files where its services keep theirs, which outlive checks."""


class Service(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A program that runs alongside the commands of a checkout: a database, a queue."""

    run: str
    """The service's command, in the foreground. `$PORT` is a free port of its own, `$DATA` an empty folder of its
    own."""
    ready: str | None = None
    """A command that succeeds once the service can be used; without it, the service is ready when it listens on
    `$PORT`."""
    before: str | None = None
    """A command that prepares the service, once."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables that the checkout's commands get: `$PORT` in a value is the service's."""
    timeout: Annotated[float, Meta(gt=0)] = 30.0
    """Seconds within which the service must be ready."""


OWN = "bough"
"""The name of bough's own agent where an outside one could be named."""
MODEL = "agent:"
"""The prefix of an outside agent used as a model: then it answers bough's own questions too."""


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An outside agent. Rejected in a repository's file."""

    command: str | None = None
    """The command that starts the agent, speaking the Agent Client Protocol on its standard input and output."""
    network: str | None = None
    """What the agent, and every command it runs, can reach: off, loopback, registries, allow:HOST,… or on."""
    env: tuple[str, ...] = ()
    """Variables of yours, including its key, that the agent and every command that it runs can see."""
    mode: str | None = None
    """The agent's mode to use where bough confines it."""
    home: tuple[str, ...] = ()
    """Files and folders of your home (`~/.claude`) of which the agent and every command that it runs see a copy."""


def list_answering(models: Iterable[str | None]) -> set[str]:
    """List the outside agents among the models."""
    return {name.removeprefix(MODEL) for name in models if name and name.startswith(MODEL)}


def title_of(agent: str) -> str:
    """Return an outside agent's name for people; for a command line, that is the name of its program."""
    program = agent.split(" ", 1)[0]
    return agent if program == agent else program.rpartition("/")[2]


_PLACE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


class OAuth(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Client credentials for a server reached over HTTP."""

    client_id: str
    secret_env: str
    """The variable that holds the secret."""
    issuer: str
    """The authorization server that issued the credentials: they are sent to no other."""
    scope: str | None = None


class ToolServer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A server: a command that bough starts in the sandbox, or an address."""

    command: str | None = None
    """The program, or (without `args`) a whole command line."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    """The server's variables. `${NAME}` is a variable of yours, here and in `command`, `args`, `url` and `headers`."""
    network: str = "off"
    """What a command can reach: off, loopback, registries, allow:HOST,… or on."""
    url: str | None = None
    """Address of a server that speaks streamable HTTP. bough itself calls it, from outside the sandbox."""
    headers: dict[str, str] = field(default_factory=dict)
    oauth: OAuth | None = None
    tools: tuple[str, ...] = ()
    """The server's tools that agents get, as patterns (`get_*`); empty: all."""
    roles: tuple[Role, ...] = ()
    """The agents that get them: builder, bug_hunter, test_writer; empty: all."""
    timeout: Annotated[float, Meta(gt=0)] = 60.0
    """Seconds that a call may take."""


def build_argv(server: ToolServer, env: Mapping[str, str]) -> list[str]:
    line = [server.command or "", *server.args] if server.args else shlex.split(server.command or "")
    return [fill_variables(word, env) for word in line]


def fill_variables(text: str, env: Mapping[str, str]) -> str:
    """Return the text with `${NAME}` and `${NAME:-default}` substituted."""
    return _PLACE.sub(lambda found: env.get(found[1]) or found[2] or "", text)


def describe_server(server: Mapping[str, Any]) -> str:
    """Describe a server in one line for the person who is asked to allow it: what is started or called, and how."""
    rest = {key: value for key, value in server.items() if key not in ("command", "args", "url", "type") and value}
    words = [str(server.get("command", "")), *map(str, server.get("args", ()))]
    what = str(server["url"]) if server.get("url") else " ".join(word for word in words if word)
    return f"{what} {json.dumps(rest, sort_keys=True)}" if rest else what


def read_servers(text: str) -> dict[str, dict[str, Any]]:
    """Read the servers of a `.mcp.json` as settings, without those that bough cannot use."""
    try:
        servers = json.loads(text).get("mcpServers")
    # The file is not bough's: the tools that it belongs to will complain.
    except (ValueError, AttributeError, RecursionError):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict) or server.get("type") == "sse":
            continue
        kept = {key: server[key] for key in ("command", "args", "env", "url", "headers") if server.get(key)}
        try:
            usable = msgspec.convert(kept, ToolServer)
        except msgspec.ValidationError:
            continue
        if usable.command or usable.url:
            found[str(name)] = kept
    return found
