"""Load the text of a workflow file as a plan, and find every problem before anything runs."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core.ids import GOAL, slug
from bough.core.planning import plan as p
from bough.core.textual.spelling import shorten_line
from bough.core.workflow import placeholders as places
from bough.core.workflow.control_flow import END, parse_condition
from bough.core.workflow.inputs import InputSpec, render_value, resolve_inputs
from bough.core.workflow.keys import is_tested_by_default
from bough.core.workflow.nodes import Node, Read, Reader
from bough.core.workflow.problems import Problems, Source, raise_for, suggest_nearest


class Workflow(Struct, frozen=True):
    name: str
    description: str
    inputs: tuple[InputSpec, ...]
    plan: p.Plan


def load(
    text: str,
    file: str = "workflow.toml",
    *,
    inputs: Mapping[str, str] | None = None,
    read: Read | None = None,
    max_depth: int = p.MAX_DEPTH,
) -> Workflow:
    """Load the workflow in a text, or raise a `WorkflowError` with all problems.

    `file`: its path in the project, for messages and as the place that included files are relative to; `read` reads
    these. `inputs`: values of the inputs by name, or None to show a workflow without values and without running it."""
    problems: Problems = {}
    source = Source(file, text, problems)
    raise_for(problems, file)
    node = Reader(problems, read, max_depth).whole(source)
    if inputs is None:
        node.values = {name: (places.Input(name),) for name in node.specs}
    else:
        node.values = {name: (value,) for name, value in resolve_inputs(source, node.specs, inputs).items()}
    goal = _build_step(node)
    raise_for(problems, file)
    name = node.name or slug(file.rpartition("/")[2].removesuffix(".toml"))
    return Workflow(name, goal.instructions if goal.steps else goal.title, tuple(node.specs.values()), p.Plan(goal))


def _build_step(node: Node) -> p.Step:
    """Build a step from a node. Nodes with problems are built too, so that all problems are found, but never run."""
    fields = _read_fields(node)
    _check_together(node, fields)
    if "requires_testing" not in fields:
        named = "test_command" in fields or "test_file" in fields
        fields["requires_testing"] = is_tested_by_default(node.kind, fields.get("role", ""), named)
    if node.kind == "compound":
        node.check_steps()
        for each in node.nodes:
            each.values = node.body.values
        if "states" in node.body.table:
            fields["machine"] = _build_machine(node)
        fields["steps"] = tuple(map(_build_step, node.nodes))
    return p.Step(GOAL if node.above is None else node.name, **fields)


def _check_together(node: Node, fields: Mapping[str, Any]) -> None:
    if "join" in fields and not fields.get("parallel"):
        node.wrong("join", "`join` needs `parallel = true`: add it.")
    if "until" in fields and fields.get("repeat", 1) < 2:
        node.wrong("until", "`until` needs `repeat = N`, the most passes: add it.")
    for key in ("max_retries", "retry"):
        if key in fields and fields.get("on_error") != "retry":
            node.wrong(key, f'`{key}` needs `on_error = "retry"`: add it.')
    if "states" in node.body.table:
        for key in ("parallel", "repeat", "until"):
            if key in fields:
                node.wrong(key, f"`{key}` is for `steps`; transitions decide the order of states.")


_FIELDS = {*p.Step.__struct_fields__} - {"name", "steps", "env"}
_TEXTS = ("title", "test_file", "interfaces", "files")
"""Keys whose texts may contain inputs and which are fields of a step under the same name."""


def _read_fields(node: Node) -> dict[str, Any]:
    table = node.table
    fields = {key: _read_value(node, key, value) for key, value in table.items() if key in _FIELDS}
    if "criteria" in table:
        fields["criteria"] = tuple(_read_loaded(node, "criteria", each) for each in table["criteria"])
    if "description" in table:
        into = "instructions" if node.kind == "compound" else "title"
        if into in fields:
            node.wrong("description", "`description` and `title` are the same in this kind of step: use one.")
        fields[into] = places.render_plain(_split(node, "description", table["description"]))
    if "test_command" in table:
        if not table["test_command"].strip():
            node.wrong("test_command", "The check is empty: give the command, or omit `test_command`.")
        fields["test_command"] = _read_check(node, "test_command", table["test_command"])
    if "context_mode" in table:
        fields["context"] = table["context_mode"]
    if "retry" in table:
        fields["retry"] = p.Retry(**table["retry"])
    if "condition" in table:
        fields["condition"] = _read_sibling_condition(node)
    if "until" in table:
        fields["until"] = _read_until(node)
    if "do" in table and node.above is not None:
        if node.above.get("parallel"):
            node.wrong("do", "A parallel step cannot leave or restart the pass.")
        elif table["do"] == "continue" and not node.above.again:
            node.wrong("do", "No enclosing step repeats: give one `repeat`, or use `break`.")
    action = table.get("action", {})
    if isinstance(action, str):
        fields["instructions"] = _read_loaded(node, "action", action)
    elif "check" in action:
        fields["test_command"] = _read_check(node, "action", action["check"])
    elif "run" in action:
        env = {name: _read_loaded(node, "env", text) for name, text in table.get("env", {}).items()}
        command = _split_command(node, "action", action["run"], results=True)
        fields["run"] = places.load_command(command, node.values, env)
        fields |= {"env": env} if env else {}
    if node.included is not None:
        node.included.values = _read_inputs(node, node.included)
        fields = _read_fields(node.included) | fields
    return fields


def _read_value(node: Node, key: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read_value(node, key, each) for each in value)
    return places.render_plain(_split(node, key, value)) if key in _TEXTS else value


def _read_loaded(node: Node, key: str, text: str) -> str:
    return places.render_loaded(_split(node, key, text, results=True))


def _read_check(node: Node, key: str, text: str) -> str:
    return places.load_check(_split_command(node, key, text, results=False), node.values)


def _split_command(node: Node, key: str, text: str, *, results: bool) -> places.Parts:
    pieces = _split(node, key, text, results=results, into=False)
    for place, reason in places.find_refusals(pieces):
        name = f"{{{place.name}}}" if isinstance(place, places.Input) else "{steps."
        node.wrong(key, f"`{shorten_line(name)}` cannot be used there in a command: {reason}.", name)
    return pieces


def _split(node: Node, key: str, text: str, *, results: bool = False, into: bool = True) -> places.Parts:
    """Split a text into parts, and report unknown names. With `into`, inputs are replaced by their values."""
    try:
        pieces = places.split_places(text)
    except places.NotAPlace as error:
        node.wrong(key, str(error), error.piece)
        return ("",)
    whole: list[Any] = []
    for piece in pieces:
        found = (piece,) if isinstance(piece, str) else _look_up(node, key, piece, results)
        whole += found if into or isinstance(piece, places.ResultPlace) else [piece]
    return tuple(places.merge_texts(whole))


def _look_up(node: Node, key: str, piece: places.Input | places.ResultPlace, results: bool) -> places.Parts:
    values = node.values
    if isinstance(piece, places.Input):
        needle = f"{{{piece.name}}}"
        if piece.name not in values:
            known = suggest_nearest(piece.name, values) if values else "declare it under [inputs]."
            node.wrong(key, f"There is no input `{piece.name}`: {known} Write `{{{{` for a literal brace.", needle)
        value = values.get(piece.name, ("",))
        if not results and any(isinstance(part, places.ResultPlace) for part in value):
            node.wrong(key, f"`{needle}` holds a step's result, which `{key}` cannot use.", needle)
        return value
    needle = f"{{steps.{piece.step}.result}}"
    if not results:
        node.wrong(key, f"`{needle}` cannot be used here: only instructions, criteria and `run` take results.", needle)
        return ("",)
    path, wrong = node.find_result(piece.step)
    if wrong:
        node.wrong(key, wrong, needle)
    return (places.ResultPlace(path),)


def _read_inputs(node: Node, included: Node) -> dict[str, places.Parts]:
    file, specs = included.source.file, included.specs
    said: dict[str, Any] = node.table["action"].get("inputs", {})
    at = ("action", "inputs")
    for name in said:
        if name not in specs:
            node.report((*at, name), f"{file} has no input `{shorten_line(name)}`: {suggest_nearest(name, specs)}")
    values: dict[str, places.Parts] = {}
    for name, spec in specs.items():
        if name in said:
            values[name] = _pass_input(replace(node, at=(*node.at, *at), said=said, included=None), spec, said[name])
        elif spec.default is not None:
            values[name] = (spec.default,)
        else:
            node.report(at, f"{file} needs the input `{name}`: give it under `inputs`.")
            values[name] = ("",)
    return values


def _pass_input(node: Node, spec: InputSpec, value: Any) -> places.Parts:
    pieces = _split(node, spec.name, value, results=True) if isinstance(value, str) else (value,)
    if len(pieces) == 1 and not isinstance(pieces[0], places.Input | places.ResultPlace):
        text, wrong = render_value(spec.type, pieces[0])
        if wrong:
            node.wrong(spec.name, f"The input `{spec.name}` {wrong}.")
        return (text,)
    if spec.type != "string" and any(isinstance(piece, places.ResultPlace) for piece in pieces):
        node.wrong(spec.name, f"The input `{spec.name}` has the type {spec.type}, but a step's result is text.")
    return pieces


def _read_condition(node: Node, key: str) -> p.Condition | None:
    condition = parse_condition(node.table[key])
    if isinstance(condition, str):
        node.wrong(key, condition)
        return None
    return replace(condition, text=places.render_plain(_split(node, key, condition.text)))


def _read_sibling_condition(node: Node) -> p.Condition | None:
    """Read a condition on a sibling, and report if that step cannot have ended by then."""
    condition, level, asked = _read_condition(node, "condition"), node.above, node.number - 1
    if condition is None or level is None:
        return None
    parallel, name = level.get("parallel"), condition.step
    if not name:
        if parallel:
            node.wrong("condition", "Parallel steps have no previous step: name one, as in `STEP.success`.")
        elif asked < 0:
            node.wrong("condition", "There is no step before this one: name one, as in `STEP.success`.")
    elif name not in level.numbers:
        known = [each.name for each in level.nodes if each is not node and each.name]
        node.wrong("condition", f"No sibling step is called `{name}`: {suggest_nearest(name, known)}")
        return condition
    else:
        asked = level.numbers[name]
        if not level.waits(node.number, asked) and not level.again:
            way = f'add needs = ["{name}"]' if parallel else "write it before this one"
            node.wrong("condition", f"`{name}` has not ended when this starts: {way}.")
    other = level.nodes[max(asked, 0)]
    strict = asked >= 0 and other.table.get("on_error", "fail") in ("fail", "retry") and not parallel
    if condition.outcome == "failure" and not condition.negated and strict and other.kind != "do":
        said = f'When `{other.name}` fails, its parent step fails too: give it on_error = "skip" to continue here.'
        node.wrong("condition", said)
    return condition


def _read_until(node: Node) -> p.Condition | None:
    condition = _read_condition(node, "until")
    names = [each.name for each in node.nodes if each.name]
    if condition is not None and condition.step and condition.step not in names:
        node.wrong("until", f"None of its steps is called `{condition.step}`: {suggest_nearest(condition.step, names)}")
    if condition is not None and not condition.step and node.table.get("parallel"):
        node.wrong("until", "Parallel steps have no last step: name one, as in `STEP.success`.")
    return condition


def _build_machine(node: Node) -> p.Machine:
    names = [each.name for each in node.nodes if each.name]
    start = node.get("start", names[0] if names else "")
    if names and start not in names:
        node.wrong("start", f"There is no state `{shorten_line(start)}`: {suggest_nearest(start, names)}")
    states = []
    for each in node.nodes:
        if each.name == END:
            each.wrong("name", f"`{END}` is reserved for the end of a machine: give the state another name.")
        said = enumerate(each.table.get("transitions", ()))
        found = (_build_transition(each, number, one, [*names, END]) for number, one in said)
        states.append(p.Exits(each.name, tuple(one for one in found if one is not None)))
    ways = {state.name: [transition.to for transition in state.transitions] for state in states}
    seen = p.find_reachable([start], lambda name: ways.get(name, []))
    for each in node.nodes:
        if each.name and each.name not in seen and start in ways:
            each.wrong("name", f"No transition leads to the state `{each.name}`.")
    return p.Machine(start, tuple(states), node.get("max_transitions", p.MAX_TRANSITIONS))


def _build_transition(node: Node, number: int, said: dict[str, Any], names: list[str]) -> p.Transition | None:
    at = replace(node, at=(*node.at, "transitions", number), said=said, table=said, included=None)
    if "to" not in said:
        at.report((), "The transition has no target: add `to`.")
        return None
    if said["to"] not in names:
        at.wrong("to", f"There is no state `{shorten_line(said['to'])}`: {suggest_nearest(said['to'], names)}")
    condition = _read_condition(at, "on") if "on" in said else None
    if condition is not None and condition.step:
        at.wrong("on", "A transition asks about its own state: omit the name.")
    return p.Transition(said["to"], condition)
