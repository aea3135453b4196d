"""The keys of a workflow file: each key once, with what it takes, where it is allowed and what it is for.

The loader, the JSON schema and the messages are built from these tables, so that they cannot diverge.
"""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from msgspec import Struct

from bough.core.planning.plan import ContextMode, Join, OnError, Role, Step, Tier

Form = Literal["text", "texts", "flag", "whole", "wholes", "number", "choice", "action", "table", "tables"]
Kind = Literal["agent", "run", "check", "do", "compound"]
KINDS: dict[Kind, str] = {
    "agent": "a step for an agent",
    "run": "a `run` step",
    "check": "a `check` step",
    "do": "a `do` step",
    "compound": "a step with smaller steps",
}


class Key(Struct, frozen=True):
    """What a key takes."""

    form: Form
    about: str
    fits: tuple[Kind, ...] = ("agent", "run", "check", "do", "compound")
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000


WORKED: tuple[Kind, ...] = ("agent", "run", "check", "compound")
ASKED: tuple[Kind, ...] = ("agent", "compound")
PROVEN: tuple[Kind, ...] = ("agent", "run", "compound")
COMPOUND: tuple[Kind, ...] = ("compound",)

STEP_KEYS: dict[str, Key] = {
    "name": Key("text", "Its name among its siblings: lower-case letters, digits and dashes."),
    "title": Key("text", "A line for people."),
    "description": Key("text", "What its smaller steps are for as a whole; in any other step, a line for people."),
    "action": Key("action", "What to do: text for an agent, or a table with `run`, `check` or `workflow`.", (*WORKED,)),
    "steps": Key("tables", "Smaller steps that make it up.", COMPOUND),
    "states": Key("tables", "Smaller steps that follow each other by their transitions.", COMPOUND),
    "start": Key("text", "The state to begin with; by default the first.", COMPOUND),
    "max_transitions": Key("whole", "How often it may go from state to state.", COMPOUND, least=1, most=50),
    "do": Key("choice", "Leave the nearest repeated step, or begin its next pass.", ("do",), ("break", "continue")),
    "needs": Key("texts", "Siblings that must be completed first."),
    "parallel": Key("flag", "Its steps run in parallel, as soon as their needs are met.", COMPOUND),
    "join": Key("choice", "What parallel steps must achieve.", COMPOUND, get_args(Join)),
    "condition": Key("text", "It is skipped if this does not hold."),
    "repeat": Key("whole", "The most passes.", COMPOUND, least=1, most=1000),
    "until": Key("text", "No further pass once this holds.", COMPOUND),
    "on_error": Key("choice", "What happens if it fails.", WORKED, get_args(OnError)),
    "max_retries": Key("whole", 'How often it is retried with `on_error = "retry"`.', WORKED, least=1, most=100),
    "retry": Key("table", "How long to wait before a retry.", WORKED),
    "context_mode": Key("choice", "What it sees of its parent's context.", ASKED, get_args(ContextMode)),
    "summarize": Key("flag", "The parent gets a summary of its children.", ASKED),
    "role": Key("choice", "Who does it.", ("agent",), get_args(Role)),
    "model": Key("choice", "The tier of the model.", ASKED, get_args(Tier)),
    "agent": Key("text", "The outside agent that does it: claude, codex, gemini, goose, opencode or a command.", ASKED),
    "rounds": Key("whole", "The rounds it may use.", ASKED, least=1),
    "complexity": Key("whole", "Its weight when its parent's rounds are shared out.", ASKED, least=1, most=5),
    "criteria": Key("texts", "What must be true when it is done; at the top, what the goal asks, by number.", ASKED),
    "covers": Key("wholes", "Numbers of the goal's criteria that depend on it.", ASKED, least=1, most=100),
    "interfaces": Key("texts", "Names and signatures that it provides to the steps that need it.", ASKED),
    "runs_on": Key("texts", "Tags of the workers that may run it.", ("agent", "run", "check")),
    "plan_first": Key("flag", "Its smaller steps are planned when it starts.", ("agent",)),
    "files": Key("texts", "Files it is expected to change.", PROVEN),
    "test_command": Key("text", "The check.", PROVEN),
    "test_file": Key("text", "The file whose tests are the check.", PROVEN),
    "requires_testing": Key("flag", "False where no check can prove it.", PROVEN),
    "may_edit_tests": Key("flag", "It may change existing tests.", PROVEN),
}
TRANSITIONS = Key("tables", "Where to go from this state: the first one that holds.")
STATE_KEYS = {
    **{name: key for name, key in STEP_KEYS.items() if name not in ("needs", "condition", "do")},
    "transitions": TRANSITIONS,
}
INPUTS = Key("table", "The inputs of the workflow, by name.")
HEADER_KEYS = {
    **{name: key for name, key in STEP_KEYS.items() if name not in ("needs", "condition", "do")},
    "name": Key("text", "Its name; by default the name of the file."),
    "inputs": INPUTS,
}
ACTION_KEYS: dict[str, Key] = {
    "run": Key("text", "A command that is the whole step; it is done when it exits with status 0."),
    "check": Key("text", "A command whose verdict is the whole step."),
    "workflow": Key("text", "A workflow file, relative to this one, whose steps are included here."),
    "inputs": Key("table", "The inputs of that workflow."),
}
RETRY_KEYS: dict[str, Key] = {
    "wait": Key("number", "Seconds before the first retry.", most=86_400),
    "growth": Key("number", "What the wait is multiplied by each time.", least=1, most=100),
}
TRANSITION_KEYS: dict[str, Key] = {
    "on": Key("text", "A condition on the finished state; without it, always."),
    "to": Key("text", "The next state, or `end`."),
}
TYPES = ("string", "int", "float", "bool", "path")
INPUT_KEYS: dict[str, Key] = {
    "type": Key("choice", "What its values are.", choices=TYPES),
    "default": Key("text", "Its value if none is given; without a default it must be given."),
    "description": Key("text", "What it is, for people."),
}
ALIASES = {
    "prompt": "action",
    "instructions": "action",
    "instruction": "action",
    "task": "action",
    "goal": "description",
    "command": "action = { run = … }",
    "cmd": "action = { run = … }",
    "run": "action = { run = … }",
    "check": "action = { check = … }",
    "workflow": "action = { workflow = … }",
    "uses": "action = { workflow = … }",
    "test": "test_command",
    "depends_on": "needs",
    "dependencies": "needs",
    "after": "needs",
    "if": "condition",
    "when": "condition",
    "context": "context_mode",
    "retries": "max_retries",
    "loop": "repeat",
    "times": "repeat",
    "tier": "model",
    "parameters": "inputs",
    "params": "inputs",
    "step": "steps",
    "state": "states",
    "tasks": "steps",
    "target": "to",
    "next": "to",
    "if_": "on",
    "id": "name",
}
"""Common names for keys that have another name here."""


def explain_misfit(key: Key, value: Any) -> str:
    """Why a value does not fit a key, as the end of a sentence; empty if it fits."""
    if key.form == "choice" and isinstance(value, str):
        return "" if value in key.choices else "choice"
    fits = {
        "text": isinstance(value, str),
        "choice": False,
        "texts": isinstance(value, list) and all(isinstance(each, str) for each in value),
        "wholes": isinstance(value, list) and all(_is_within(key, each, int) for each in value),
        "flag": isinstance(value, bool),
        "whole": _is_within(key, value, int),
        "number": _is_within(key, value, int, float),
        "table": isinstance(value, dict),
        "tables": isinstance(value, list) and all(isinstance(each, dict) for each in value),
        "action": isinstance(value, str | dict),
    }[key.form]
    return "" if fits else f"takes {_describe_expected(key)}, not {_describe_value(value)}"


def _is_within(key: Key, value: Any, *types: type) -> bool:
    return (
        isinstance(value, types) and not isinstance(value, bool) and bool(key.least <= cast(float, value) <= key.most)
    )


def _describe_expected(key: Key) -> str:
    reach = f"from {key.least:g} to {int(key.most)}"
    return {
        "text": "text in quotes",
        "choice": "one of " + ", ".join(f'"{choice}"' for choice in key.choices),
        "texts": "a list of texts",
        "wholes": f"a list of whole numbers {reach}",
        "flag": "true or false",
        "whole": f"a whole number {reach}",
        "number": f"a number {reach}",
        "table": "a table",
        "tables": "a list of tables",
        "action": "text for an agent, or a table with `run`, `check` or `workflow`",
    }[key.form]


def _describe_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number like this one" if abs(value) > 1e9 else f"{value}"
        case str():
            return "text"
        case list():
            return "this list" if value else "an empty list"
        case dict():
            return "a table"
    return "a date or a time"


def classify_step(step: Step) -> Kind:
    """Who or what runs a step. bough itself runs a leaf that only has a check."""
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
    """Whether an agent works on it, or on one of its steps."""
    return classify_step(step) == "agent" or any(map(is_for_agents, step.steps))


def needs_models(step: Step) -> bool:
    """Whether running it needs a model: for agents, and for summaries."""
    return classify_step(step) == "agent" or step.summarize or any(map(needs_models, step.steps))


def is_tested_by_default(step_kind: Kind, role: str, named: bool) -> bool:
    """The default of `requires_testing`. A command has its exit status and a critic changes nothing, so neither needs
    another check, unless one is `named`."""
    return named or (step_kind != "run" and role != "critic")
