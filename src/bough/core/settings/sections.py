"""The sections of the settings. What else may be set is in the rules (`core/rules.py` and its like)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field


class Section(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys that belong together."""


class Preset(Section, frozen=True):
    """Models that belong together, under a name: `--model NAME`."""

    main: str
    fast: str | None = None
    strong: str | None = None
    base_url: str | None = None
    """Their endpoint."""

    def named(self, tier: Literal["main", "fast", "strong"]) -> str:
        """The model of a tier, with its endpoint."""
        name = getattr(self, tier) or self.main
        return f"{name}@{self.base_url}" if self.base_url else str(name)


class Models(Section, frozen=True):
    """`provider:model` by tier."""

    main: str | None = None
    fast: str | None = None
    """Used to prune, summarise and estimate; the main model when it is not set."""
    strong: str | None = None
    """Used for the last repair and when work is stuck; the main model when it is not set."""
    base_url: str | None = None
    """Any OpenAI-compatible endpoint. Not in a repository's file."""
    window: Annotated[int, Meta(ge=0)] = 0
    """The context window in tokens, where bough does not know it, or should use less."""
    protocol: Literal["auto", "tools", "text"] = "auto"
    """How models act: by native tool calls, by blocks in their text, or whichever the evidence favours."""
    images: Literal["auto", "on", "off"] = "auto"
    """Whether models are shown the images that they read: all of them, none, or those that are known to take images."""
    presets: dict[str, Preset] = field(default_factory=dict)
    """Models by a name of the person's, for `--model NAME`. Not in a repository's file."""


class SandboxSettings(Section, frozen=True):
    """How commands are confined. Not in a repository's file."""

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
    """What you want to see before it happens. Not in a repository's file."""

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
    """Where no rule finds a check, ask a model once how the project is tested, and try what it proposes."""
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
    """How a list of goals is worked through. Not in a repository's file."""

    jobs: Annotated[int, Meta(ge=1, le=100)] = 1
    """Goals that are worked on at once."""
    per_goal: Annotated[float, Meta(gt=0)] | None = None
    """Dollars that one goal may cost."""
    pr: Literal["draft", "none"] = "none"
    """Whether proven branches are pushed and get a draft pull request, by your own `gh`."""
    max_disk: Annotated[float, Meta(gt=0)] | None = None
    """Gigabytes that bough may keep for the project; beyond that nothing begins."""
    lessons: bool = False
    """Whether runs are told what earlier ones proved about the repository."""


class BuilderSettings(Section, frozen=True):
    """Names who does the work: an outside agent (claude, codex, gemini, goose, opencode, one of [agents], or a
    command), or `bough` for its own agent."""

    main: str | None = None
    """Everything not named here."""
    builder: str | None = None
    """The work itself."""
    bug_hunter: str | None = None
    """Repairs after a failed check."""
    test_writer: str | None = None
    """A missing test."""
    strong: str | None = None
    """The last repair, and stuck work."""

    def named(self) -> dict[str, str]:
        """Role or tier → agent."""
        chosen = ((key, getattr(self, key)) for key in self.__struct_fields__)
        return {key: name for key, name in chosen if name}
