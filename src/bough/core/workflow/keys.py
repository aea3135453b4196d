"""The keys of a workflow file: each key with its type, its table and its purpose.

The loader, the JSON schema and the messages use these definitions, so that they cannot diverge. These are dictionaries
and not structs, because `read_table` reads a table key by key, so that one wrong key does not hide another."""

from functools import cache
from typing import Annotated, Any, Literal, Required, TypedDict, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, ValidationError

from bough.core.planning.plan import MAX_TRANSITIONS, ContextMode, Join, OnError, Role, Step, Tier
from bough.core.textual.spelling import describe_misfit, shorten_line
from bough.core.workflow.problems import KeyPath, Source, suggest_nearest

Kind = Literal["agent", "run", "check", "do", "compound"]
KINDS: dict[Kind, str] = {
    "agent": "a step for an agent",
    "run": "a `run` step",
    "check": "a `check` step",
    "do": "a `do` step",
    "compound": "a step with smaller steps",
}
WORKED: tuple[Kind, ...] = ("agent", "run", "check", "compound")
ASKED: tuple[Kind, ...] = ("agent", "compound")
PROVEN: tuple[Kind, ...] = ("agent", "run", "compound")
COMPOUND: tuple[Kind, ...] = ("compound",)
_SLUG = {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 40}


def _key(about: str, fits: tuple[Kind, ...] = (), **more: Any) -> Meta:
    """Return a key's purpose together with the kinds of steps in which it has an effect (all, without `fits`)."""
    return Meta(description=about, extra={"fits": fits or tuple(KINDS)}, **more)


class ActionKeys(TypedDict, total=False):
    """The action of a step that runs a command, a check or another workflow."""

    run: Annotated[str, _key("A command that is the whole step; it is done when it exits with status 0.")]
    check: Annotated[str, _key("A command whose verdict is the whole step.")]
    workflow: Annotated[str, _key("A workflow file, relative to this one, whose steps are included here.")]
    inputs: Annotated[dict[str, str | int | float | bool], _key("The inputs of that workflow.")]


class RetryKeys(TypedDict, total=False):
    """How long a failed step waits before it is retried."""

    wait: Annotated[float, _key("Seconds before the first retry.", ge=0, le=86_400)]
    growth: Annotated[float, _key("The factor by which each further wait grows.", ge=1, le=100)]


class TransitionKeys(TypedDict, total=False):
    """A transition: the state that follows, and on which condition."""

    on: Annotated[str, _key("A condition on the finished state; without it, the transition always applies.")]
    to: Required[Annotated[str, _key("The next state, or `end`.")]]


class InputKeys(TypedDict, total=False):
    """The definition of one of a workflow's inputs."""

    type: Annotated[Literal["string", "int", "float", "bool", "path"], _key("The type of the input's values.")]
    default: Annotated[str | int | float | bool, _key("The default value; an input without one must be given.")]
    description: Annotated[str, _key("What the input is, for people.")]


class _WorkKeys(TypedDict, total=False):
    """The keys that steps, states and whole workflows share."""

    title: Annotated[str, _key("A line for people.")]
    description: Annotated[
        str, _key("What the smaller steps do together; in a step without them, the same as `title`.")
    ]
    action: Annotated[
        str | ActionKeys, _key("What to do: text for an agent, or a table with `run`, `check` or `workflow`.", WORKED)
    ]
    steps: Annotated[list["StepKeys"], _key("Smaller steps that make up this one.", COMPOUND, min_length=1)]
    states: Annotated[
        list["StateKeys"], _key("Smaller steps that follow each other by their transitions.", COMPOUND, min_length=1)
    ]
    start: Annotated[str, _key("The state to begin with; by default the first.", COMPOUND)]
    max_transitions: Annotated[
        int, _key("The most transitions from state to state.", COMPOUND, ge=1, le=MAX_TRANSITIONS)
    ]
    parallel: Annotated[bool, _key("The smaller steps run in parallel, as soon as their needs are met.", COMPOUND)]
    join: Annotated[Join, _key("What parallel steps must achieve.", COMPOUND)]
    repeat: Annotated[int, _key("The most passes.", COMPOUND, ge=1, le=1000)]
    until: Annotated[str, _key("A condition: once it holds, no further pass begins.", COMPOUND)]
    on_error: Annotated[OnError, _key("What happens if the step fails.", WORKED)]
    max_retries: Annotated[int, _key('How often the step is retried with `on_error = "retry"`.', WORKED, ge=1, le=100)]
    retry: Annotated[RetryKeys, _key("How long to wait before a retry.", WORKED)]
    context_mode: Annotated[ContextMode, _key("What the step sees of its parent's context.", ASKED)]
    summarize: Annotated[bool, _key("The parent gets a summary of its children.", ASKED)]
    role: Annotated[Role, _key("Who does it.", ("agent",))]
    model: Annotated[Tier, _key("The tier of the model.", ASKED)]
    agent: Annotated[
        str, _key("The outside agent that does the step: claude, codex, gemini, goose, opencode or a command.", ASKED)
    ]
    rounds: Annotated[int, _key("The rounds that the step may use.", ASKED, ge=1, le=1_000_000)]
    complexity: Annotated[int, _key("The step's weight when its parent's rounds are shared out.", ASKED, ge=1, le=5)]
    criteria: Annotated[
        list[str],
        _key(
            "What must be true when the step is done; at the top of the file, the goal's requirements, by number.",
            ASKED,
        ),
    ]
    covers: Annotated[
        list[Annotated[int, Meta(ge=1, le=100)]], _key("Numbers of the goal's criteria that depend on the step.", ASKED)
    ]
    interfaces: Annotated[
        list[str], _key("Names and signatures that the step provides to the steps that need it.", ASKED)
    ]
    runs_on: Annotated[list[str], _key("Tags of the workers that may run the step.", ("agent", "run", "check"))]
    plan_first: Annotated[bool, _key("The smaller steps are planned when the step starts.", ("agent",))]
    env: Annotated[
        dict[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str],
        _key("Environment variables of the step's command.", ("run",)),
    ]
    files: Annotated[list[str], _key("Files that the step is expected to change.", PROVEN)]
    test_command: Annotated[str, _key("The check.", PROVEN)]
    test_file: Annotated[str, _key("The file whose tests are the check.", PROVEN)]
    requires_testing: Annotated[bool, _key("False if no check can prove the step.", PROVEN)]
    may_edit_tests: Annotated[bool, _key("The step may change existing tests.", PROVEN)]


class _ChildKeys(_WorkKeys, total=False):
    """The keys that steps and states share."""

    name: Required[
        Annotated[
            str,
            _key("The step's name among its siblings: lower-case letters, digits and dashes.", extra_json_schema=_SLUG),
        ]
    ]


class StepKeys(_ChildKeys, total=False):
    """One of the steps that make up a workflow or a larger step."""

    do: Annotated[Literal["break", "continue"], _key("Leave the nearest repeated step, or begin its next pass.")]
    needs: Annotated[list[str], _key("Siblings that must be completed first.")]
    condition: Annotated[str, _key("A condition: the step is skipped if it does not hold.")]


class StateKeys(_ChildKeys, total=False):
    """One of the states of a step that is a state machine."""

    transitions: Annotated[
        list[TransitionKeys],
        _key("The transitions from this state: the first whose condition holds is taken.", min_length=1),
    ]


class WorkflowKeys(_WorkKeys, total=False):
    """The file as a whole, which is the goal."""

    name: Annotated[str, _key("The workflow's name; by default the name of the file.")]
    inputs: Annotated[dict[str, InputKeys], _key("The inputs of the workflow, by name.")]


OWNERS: dict[Any, str] = {
    WorkflowKeys: "A workflow",
    StepKeys: "A step",
    StateKeys: "A state",
    ActionKeys: "An action",
    RetryKeys: "`retry`",
    TransitionKeys: "A transition",
    InputKeys: "An input",
}
"""How messages name each table."""


@cache
def list_keys(shape: Any) -> dict[str, Any]:
    """Return the type of each key of a table, with its `Meta`."""
    hints = get_type_hints(shape, include_extras=True).items()
    return {name: get_args(hint)[0] if get_origin(hint) is Required else hint for name, hint in hints}


def get_fitting_kinds(name: str) -> tuple[Kind, ...]:
    """Return the kinds of steps in which a key does something."""
    known = {**list_keys(WorkflowKeys), **list_keys(StateKeys), **list_keys(StepKeys)}
    fits: tuple[Kind, ...] = known[name].__metadata__[0].extra["fits"]
    return fits


ALIASES = {
    alias: key
    for key, aliases in {
        "action": "prompt instructions instruction task",
        "action = { run = … }": "command cmd run",
        "action = { check = … }": "check",
        "action = { workflow = … }": "workflow uses",
        "condition": "if when",
        "context_mode": "context",
        "description": "goal",
        "inputs": "parameters params",
        "max_retries": "retries",
        "model": "tier",
        "name": "id",
        "needs": "depends_on dependencies after",
        "repeat": "loop times",
        "states": "state",
        "steps": "step tasks",
        "test_command": "test",
        "to": "target next",
    }.items()
    for alias in aliases.split()
}
"""Names that people commonly use for keys which have another name here."""


def classify_step(step: Step) -> Kind:
    """Return the kind of a step. A step that only has a check needs no agent."""
    if step.steps:
        return "compound"
    if step.do:
        return "do"
    if step.run or step.work:
        return "run"
    if step.test_command is not None and not step.instructions and not step.plan_first:
        return "check"
    return "agent"


def is_for_agents(step: Step) -> bool:
    """Whether an agent works on the step, or on one of its smaller steps."""
    return classify_step(step) == "agent" or any(map(is_for_agents, step.steps))


def needs_models(step: Step) -> bool:
    """Whether running the step needs a model, for an agent or for a summary."""
    return classify_step(step) == "agent" or step.summarize or any(map(needs_models, step.steps))


def is_tested_by_default(step_kind: Kind, role: str, named: bool) -> bool:
    """Return the default of `requires_testing`. A command has an exit status and a critic changes nothing, so neither
    needs a check, unless the step names one (`named`)."""
    return named or (step_kind != "run" and role != "critic")


Table = dict[str, Any]
_TABLES: dict[str, Any] = {
    "action": str | Table,
    "steps": list[Table],
    "states": list[Table],
    "transitions": list[Table],
    "retry": Table,
    "inputs": Table,
}
"""Keys whose values are tables that are read later; at first only the form of the value is checked."""


def read_table(source: Source, at: KeyPath, said: Table, shape: Any) -> Table:
    """Return the valid keys of a table, and report the others."""
    keys = list_keys(shape)
    kept: Table = {}
    for name, value in said.items():
        if name not in keys:
            source.wrong((*at, name), _explain_unknown(name, shape))
            continue
        try:
            kept[name] = msgspec.convert(value, _TABLES.get(name, keys[name]))
        except ValidationError as error:
            source.wrong((*at, name), _explain_misfit(name, keys[name], value, error))
    if "retry" in kept:
        kept["retry"] = read_table(source, (*at, "retry"), kept["retry"], RetryKeys)
    if "transitions" in kept:
        kept["transitions"] = [
            read_table(source, (*at, "transitions", number), each, TransitionKeys)
            for number, each in enumerate(kept["transitions"])
        ]
    return kept


def _explain_unknown(name: str, shape: Any) -> str:
    owner, keys = OWNERS[shape], list_keys(shape)
    meant = ALIASES.get(name.lower(), "")
    if meant and meant.partition(" ")[0] in keys:
        return f"{owner} has no key `{shorten_line(name)}`: did you mean `{meant}`?"
    if name in list_keys(StepKeys) and "steps" in keys:
        return f"{owner} has no `{name}`: only steps do."
    return f"{owner} has no key `{shorten_line(name)}`: {suggest_nearest(name, keys)}"


def _explain_misfit(name: str, type_: Any, value: Any, error: ValidationError) -> str:
    if (name, value) == ("role", "planner"):
        return "No step has the role `planner`: write `plan_first = true` for one that is planned when it starts."
    choices = msgspec.json.schema(type_).get("enum")
    if choices and isinstance(value, str):
        return f"`{name}` cannot be `{shorten_line(value)}`: {suggest_nearest(value, choices)}"
    return f"`{name}` is invalid: {describe_misfit(error).partition(' - at ')[0]}."
