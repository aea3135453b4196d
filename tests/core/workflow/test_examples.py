"""The examples check clean, are what they say, and fit the schema."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import bough
from bough.core.planning.plan import Step, validate_plan
from tests.core.workflow.examples import EXAMPLES, FOLDER, example, read

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "workflows.md"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_right(name: str) -> None:
    workflow = example(name)
    assert validate_plan(workflow.plan) == workflow.plan
    assert workflow.name == name.removesuffix(".toml")
    assert workflow.description
    assert all(spec.description for spec in workflow.inputs)
    filled_in = example(name, open_inputs=False)
    assert not re.search(r"\{(?!steps\.|a,)[a-z]+\}", json.dumps(str(filled_in.plan)))


def leaves(step: Step) -> list[Step]:
    return [leaf for child in step.steps for leaf in leaves(child)] if step.steps else [step]


def test_the_editor_has_29_leaves_in_8_phases() -> None:
    goal = example("vi-editor.toml").plan.goal
    assert len(goal.steps) == 8
    assert len(leaves(goal)) == 29
    assert all(2 < len(phase.steps) < 10 for phase in goal.steps)


def test_the_loop_ends_when_the_critic_is_content() -> None:
    (loop,) = example("feedback-loop.toml").plan.goal.steps
    assert loop.repeat == 4 and loop.until is not None and (loop.until.step, loop.until.outcome) == ("critic", "empty")
    builder, critic = loop.steps
    assert "{steps.review-loop/critic.result}" in builder.instructions
    assert (critic.role, critic.requires_testing) == ("critic", False)


def test_packages_are_upgraded_at_once_with_what_was_found_out() -> None:
    packages = example("upgrade-monorepo.toml", open_inputs=False).plan.goal.steps[1]
    assert packages.parallel and len(packages.steps) == 3
    for package in packages.steps:
        assert package.test_command == f"python -m pytest -q packages/{package.name}"
        assert package.steps[1].instructions.endswith("{steps.changes.result}")


def test_every_kind_of_thing_has_an_example() -> None:
    text = "".join(map(read, EXAMPLES))
    for word in (
        "parallel",
        "join",
        "repeat",
        "until",
        "do =",
        "condition",
        "states",
        "workflow =",
        "run =",
        "check =",
    ):
        assert word in text


# ── the schema ──────────────────────────────────────────────────────────────────────────────────────────────────────


def fits(value: Any, rule: dict[str, Any], rules: dict[str, Any]) -> bool:
    """The small part of JSON Schema that ours uses."""
    if "$ref" in rule:
        return fits(value, rules[rule["$ref"].rpartition("/")[2]], rules)
    if "anyOf" in rule:
        return any(fits(value, each, rules) for each in rule["anyOf"])
    if "enum" in rule:
        return value in rule["enum"]
    types = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
    name = rule["type"]
    if type(value) is not types[name] and not (name == "number" and type(value) is int):
        return False
    if isinstance(value, dict) and "properties" in rule:
        known = all(name in rule["properties"] and fits(value[name], rule["properties"][name], rules) for name in value)
        ways = sum(all(name in value for name in way["required"]) for way in rule.get("oneOf", ()))
        return known and all(name in value for name in rule.get("required", ())) and ways == bool(rule.get("oneOf"))
    if isinstance(value, dict):
        return all(fits(each, rule["additionalProperties"], rules) for each in value.values())
    if isinstance(value, list):
        return all(fits(each, rule["items"], rules) for each in value)
    return bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))


SCHEMA = json.loads((Path(bough.__file__).parent / "workflow.schema.json").read_text())


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_schema_takes_the_examples(name: str) -> None:
    assert fits(tomllib.loads(read(name)), SCHEMA, SCHEMA["$defs"])


@pytest.mark.parametrize(
    "text",
    [
        "nmae = 'x'",
        "steps = [{ action = 'x' }]",
        "steps = [{ name = 'a', rounds = 'x' }]",
        "join = 'some'",
        "repeat = 0",
        "action = { run = 'x', check = 'y' }",
        "states = [{ name = 'a', transitions = [{}] }]",
        "inputs = { x = 3 }",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(text: str) -> None:
    assert not fits(tomllib.loads(text), SCHEMA, SCHEMA["$defs"])


# ── the guide ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_workflows_of_the_guide_are_right(tmp_path: Path) -> None:
    from bough.core.workflow.loading import load

    whole = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(whole) > 3
    for text in whole:
        load(text, read=read)


def test_the_guide_names_every_key_and_every_example() -> None:
    from bough.core.workflow import keys

    guide = GUIDE.read_text()
    for key in {name for table in keys.OWNERS for name in keys.list_keys(table)}:
        assert re.search(rf"`{key}\b", guide), key
    for name in EXAMPLES:
        assert name.removesuffix(".toml") in guide, f"{FOLDER.name}/{name}"
