"""A person's choices for a run, and the callbacks by which they watch it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bough.adapters.sandboxes.levels import Mode
from bough.app import config as settings
from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.budget.grants import TOKENS_PER_ROUND, compute_root_rounds, set_rounds
from bough.core.budget.limits import Limits, Spend
from bough.core.errors import Unavailable, UsageError
from bough.core.planning.agent_choice import TIERS, Fallbacks, add_fallbacks, list_named_agents
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Plan, Step, count_most_leaves
from bough.core.rules import CheckRules, Rules
from bough.core.settings.sections import OWN, list_answering
from bough.ports import Approval, Model
from bough.ports.steering import Stop

NO_MODEL = (
    "No model is configured: name one with --model (anthropic:MODEL, openai:MODEL, ollama:MODEL …), or in bough.toml "
    "under [models] as main; its key comes from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY …). "
    "`bough demo` runs without one."
)


JOBS = 4
"""How many agents work at once on a plan with parallel steps, when no number is given."""


class Choices(Struct, frozen=True):
    """A person's choices for this run. None: the settings decide."""

    model: str | Model | None = None
    """`provider:model`, or a model object of the calling program."""
    fast_model: str | Model | None = None
    strong_model: str | Model | None = None
    fallback_model: tuple[str | Model, ...] = ()
    """The models that answer, in this order, while the chosen one is unavailable; empty: the settings decide."""
    agent: str | None = None
    """An outside agent that does the work: a known name, or a command."""
    strong_agent: str | None = None
    agent_env: tuple[str, ...] = ()
    """Names of environment variables that outside agents see."""
    agent_network: str | None = None
    """What outside agents can reach, in the words of `network`."""
    base_url: str | None = None
    protocol: Literal["auto", "tools", "text"] | None = None
    record: Path | None = None
    rounds: int | None = None
    tokens: int | None = None
    """The most tokens that the run may spend; 0: no limit."""
    cost: float | None = None
    minutes: float | None = None
    allow_unpriced: bool = False
    """Accept a cost limit although the price of some calls is unknown: those do not count."""
    max_depth: int | None = None
    flat: bool | None = None
    jobs: int | None = None
    checks: int | None = None
    """How many checks may run at once; None: as configured, or one per processor."""
    sandbox: Mode | None = None
    """How commands are confined: `auto`, `namespaces`, `landlock` or `none`."""
    trust_config: bool = False
    """Allow, now and later, what the project's settings ask for beyond the defaults."""
    network: str | None = None
    """What commands can reach: `off`, `loopback`, `registries`, `allow:HOST,…` or `on`."""
    setup: str | None = None
    """A command that installs what the project needs, in each checkout, before its check."""
    allow_test_changes: tuple[str, ...] = ()
    """Patterns of existing tests, or their files, whose expectations may change."""
    check: str = ""
    """The command that proves the goal of a resumed run from now on."""
    accept_failing: bool = False
    """Accept that tests which failed before the work still fail after it."""
    wait_for_quota: bool = False
    """When the model's quota is exhausted, the running process waits and resumes on its own."""
    continues: str = ""
    """The finished run that a new one follows up on."""
    ask_later: bool = False
    """When the run has a question and no one is there, it waits for the answer instead of giving up."""
    workers: bool | None = None
    """Whether tasks without steps run on worker machines (True) or here (False); None: on workers if there are any."""
    remote: str = ""
    """A git remote that all workers can reach, for the files that a run starts from; empty: the store holds them."""
    fresh: bool = False
    """Run every step of a written plan, even one that an earlier run completed from the same start."""

    def rules(self, configured: Rules) -> Rules:
        chosen = {"max_depth": self.max_depth, "flat": self.flat}
        said = {name: value for name, value in chosen.items() if value is not None}
        allowed = CheckRules(self.allow_test_changes) if self.allow_test_changes else configured.checks
        accepts = self.accept_failing or configured.accept_failing
        planning = replace(configured.planning, **said)
        return replace(configured, planning=planning, checks=allowed, accept_failing=accepts)

    def configure(self, configured: settings.Config) -> settings.Config:
        """Return the settings with this person's choices for commands: sandbox, network and set-up command."""
        said = {"mode": self.sandbox, "network": self.network}
        sandbox = replace(configured.sandbox, **{name: value for name, value in said.items() if value is not None})
        check = replace(configured.check, setup=self.setup or configured.check.setup)
        return replace(configured, sandbox=sandbox, check=check)

    def limits(self, configured: Limits) -> Limits:
        limits = set_rounds(configured, self.rounds) if self.rounds is not None else configured
        chosen = {"tokens": self.tokens, "cost": self.cost, "minutes": self.minutes}
        limits = replace(limits, **{name: value for name, value in chosen.items() if value is not None})
        return replace(limits, tokens=None) if limits.tokens == 0 else limits

    def limits_for(self, configured: Limits, goal: Step) -> Limits:
        """Return the limits for a run of this goal. Unless a person has set them, rounds grow with the number of its
        tasks, and tokens with the rounds."""
        if configured.tokens is None:
            configured = replace(configured, tokens=configured.rounds * TOKENS_PER_ROUND)
        limits = self.limits(configured)
        unset = self.rounds is None and configured.rounds == Limits().rounds
        return set_rounds(limits, compute_root_rounds(count_most_leaves(goal), None if unset else limits.rounds))

    def agents(self, configured: Mapping[str, str]) -> dict[str, str]:
        """Return the outside agents by role or tier. An agent named for this run replaces all configured ones except
        the strong one."""
        if self.agent is None and self.strong_agent is None:
            return dict(configured)
        kept = dict(configured) if self.agent is None else {}
        chosen = {"main": self.agent, "strong": self.strong_agent or configured.get("strong")}
        return kept | {key: name for key, name in chosen.items() if name}

    def outside(self, agents: dict[str, str], goal: Step, models: Mapping[str, str]) -> "OutsideAgents":
        """Return what outside agents of a new run see and reach."""
        return OutsideAgents(agents, self.agent_env, self.agent_network or "", goal, models)

    def models(self, configured: settings.Models, otherwise: str | None = None) -> dict[str, str]:
        """Return the models' names by tier. `otherwise`: the model to use if none is chosen or configured."""
        main = _get_name(self.model) or configured.main or otherwise
        if main is None:
            raise Unavailable(NO_MODEL)
        presets = configured.presets
        if main in presets:
            # The models of a preset belong together, so the configured fast and strong models do not apply.
            configured = replace(configured, fast=presets[main].named("fast"), strong=presets[main].named("strong"))
            main = presets[main].named("main")
        elif presets and main == self.model and ":" not in main:
            known = ", ".join(sorted(presets))
            raise UsageError(
                f"`{main}` is neither provider:model nor one of your presets ({known}): see `bough config`."
            )
        fast, strong = _get_name(self.fast_model) or configured.fast, _get_name(self.strong_model) or configured.strong
        names = {
            "fast": presets[fast].named("fast") if fast in presets else fast or main,
            "main": main,
            "strong": presets[strong].named("strong") if strong in presets else strong or main,
        }
        own = {"examiner": configured.examiner, "judge": configured.judge}
        named = {role: presets[name].named("main") if name in presets else name for role, name in own.items() if name}
        return add_fallbacks(names, self._find_chains(configured, names)) | named

    def _find_chains(self, configured: settings.Models, names: Mapping[str, str]) -> Fallbacks:
        """Return the fallbacks by tier. A tier's own model is left out of its chain, with one exception: if a single
        list for all tiers repeats the main model, it is kept, so that `add_fallbacks` reports the mistake."""
        chosen = tuple(_get_name(model) or "" for model in self.fallback_model) or configured.fallback
        by_tier = chosen if isinstance(chosen, dict) else dict.fromkeys(TIERS, chosen)
        keeps = "main" if self.fallback_model or self.model is None else ""
        return {
            tier: [name for name in chain if name != names[tier] or (tier == keeps and not isinstance(chosen, dict))]
            for tier, chain in by_tier.items()
        }

    def given(self) -> dict[str, Model]:
        """Return the model objects that the calling program passed in, by name."""
        chosen = (self.model, self.fast_model, self.strong_model, *self.fallback_model)
        return {m.name: m for m in chosen if m is not None and not isinstance(m, str)}


class OutsideAgents(Struct, frozen=True):
    """The outside agents of a run: programs other than bough's own agent."""

    chosen: dict[str, str]
    """The agents' names, by role or tier."""
    env: tuple[str, ...]
    """Names of the environment variables that the agents see."""
    network: str
    """What the agents can reach; empty: the settings decide."""
    goal: Step
    """The plan, whose steps may name more agents."""
    models: Mapping[str, str]
    """The run's models by role. An outside agent may serve as one, for example as the examiner."""

    @property
    def names(self) -> set[str]:
        return {*self.chosen.values(), *list_named_agents(self.goal), *list_answering(self.models.values())} - {OWN}


def mark_plan_first(step: Step, rules: Rules) -> Step:
    """Mark a goal to be planned first, unless it already has steps or finished work, or must not be split."""
    planning = rules.planning
    return replace(step, plan_first=not (step.steps or step.given or planning.flat or planning.max_depth < 1))


def _get_name(model: str | Model | None) -> str | None:
    return model if model is None or isinstance(model, str) else model.name


class RunObserver(Struct, frozen=True):
    """Callbacks by which a caller watches a run, answers its questions and stops it."""

    stop: Stop = field(default_factory=Stop)
    progress: Callable[[str, str], None] = lambda task, text: None
    recorded: Callable[[e.Record], None] = lambda record: None
    doing: Callable[[str, str], None] = lambda task, what: None
    """Called with a task's activity that has no event, such as waiting for a check; empty: the activity ended."""
    waiting: Callable[[str], None] = lambda text: None
    """Called with what the whole run waits for; empty: the wait is over."""
    opened: Callable[[str], None] = lambda text: None
    """Called with a description of what the run's commands and agents can reach, read from their sandboxes."""
    approve: Callable[[tuple[Step, ...], ApprovalAdvice], Awaitable[Approval | None]] | None = None
    ask: Callable[[str], Awaitable[str | None]] | None = None
    """Asks the person a question, and returns the answer; None: they answer later."""
    permit: Callable[[str, str], Awaitable[str | None]] | None = None
    """Asks the person to approve a command line of a task. Every answer but yes is a no."""

    def or_later(self, later: bool) -> "RunObserver":
        """Return this observer. With `later` and nobody to ask, its questions wait for a later answer."""

        async def postpone(question: str) -> None:
            return None

        return replace(self, ask=postpone) if later and self.ask is None else self


class PlannedGoal(Struct, frozen=True):
    """A proposed plan for a goal, with its estimate and what planning cost."""

    plan: Plan
    estimate: e.Estimated | None
    refused: tuple[str, ...]
    """The faults for which earlier proposals were rejected."""
    spend: Spend
    requirements: tuple[Requirement, ...] = ()
