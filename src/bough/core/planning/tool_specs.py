"""The one tool that each planning call offers, as the model sees it: flat, few fields, each with a description."""

from __future__ import annotations

from functools import partial
from typing import Any

from bough.core.messages import ToolSpec

MOST = 10
"""Steps at one level."""


def _field(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more, "description": description}


_text, _flag, _number = partial(_field, "string"), partial(_field, "boolean"), partial(_field, "integer")
_texts = partial(_field, "array", items={"type": "string"})
_numbers = partial(_field, "array", items={"type": "integer"})


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(description: str, item: dict[str, Any]) -> dict[str, Any]:
    return _field("array", description, items=item)


_STEP = {
    "name": _text("A short id in lower case with dashes, unique in this answer: `parse-header`."),
    "title": _text("A short title for people. Optional."),
    "instructions": _text(
        "What to do, for an engineer who sees this step but not the others: which files and functions, which "
        "behaviour, what to leave alone. Two to six sentences."
    ),
    "criteria": _texts(
        "One to five facts that hold when the step is done, each provable by a test or a command. "
        "Good: `slugify('A b') returns 'a-b'`; `report --json prints one JSON object`. "
        "Bad: `works well`, `code is clean`."
    ),
    "files": _texts(
        "Files it creates or changes, including tests, relative to the project. `CHANGELOG.md+`: it only adds to that "
        "file."
    ),
    "needs": _texts("Names of the steps in this answer that must be done before it. [] if it can start at once."),
    "test_command": _text(
        "The command that proves this step on its own: `pytest tests/test_slug.py`. The step may write that test "
        "itself. Omit it if the project's own test command is the proof."
    ),
    "test_file": _text("The test file that proves it, if no command is given."),
    "requires_testing": _flag("false only if the step changes nothing but documentation. Otherwise true."),
    "covers": _numbers("Numbers of the goal's requirements that depend on this step. [] if none."),
    "interfaces": _texts(
        "What this step provides to the steps that need it, exactly: files, names, arguments, types, errors. "
        "`textkit/count.py: count_words(text: str) -> dict[str, int]`. This step and those steps see them."
    ),
    "complexity": _number("1: a few lines. 2: one function. 3: one file and its tests. 4: several files. 5: hard."),
}
_PHASE = {
    "phase": _flag(
        "true if it is too big for one engineer in one sitting: its own steps are then planned when it starts, from "
        "what earlier phases left. false for a step that can be done as it is."
    ),
    "steps": _list(
        "Only for a phase whose steps are already certain; otherwise omit it.",
        _object(_STEP, "name", "instructions", "criteria"),
    ),
}

KINDS = _list(
    "Only passages that do not ask for behaviour that a test could see. Usually []. A feature, a fix and an error are "
    "behaviour.",
    _object(
        {
            "begins": _text("Its first five to ten words, exactly as written; all of it if it has fewer."),
            "kind": _text(
                "background: asks for nothing. document: only documentation or comments. coverage: only "
                "tests. restructure: the code's form, moved or renamed, with the same behaviour. speed: the same, "
                "faster. upgrade: another version of a dependency. unchanged: something must stay as it is.",
                enum=["background", "document", "coverage", "restructure", "speed", "upgrade", "unchanged"],
            ),
        },
        "begins",
        "kind",
    ),
)

HEAR = ToolSpec(
    name="hear",
    description="Say what the message asks for, in one call.",
    parameters=_object(
        {
            "requirements": _texts(
                "The first five to ten words of each demand, exactly as written. [] if there is none."
            ),
            "kinds": KINDS,
            "replaces": _numbers("Numbers of requirements that it contradicts. Usually []."),
            "step": _text("The name of the step that should do it; empty: a new one."),
        },
        "requirements",
    ),
    writes=False,
)

SCOUT = ToolSpec(
    name="propose_checks",
    description="Propose the commands that run this project's tests, the likeliest first.",
    parameters=_object(
        {"commands": _texts("One to three shell commands, run from the top of the project.")}, "commands"
    ),
    writes=False,
)

GATE = ToolSpec(
    name="estimate",
    description="List what the goal asks for, and say how big the work is.",
    parameters=_object(
        {
            "requirements": _texts(
                "For each thing the goal asks for, its first five to ten words, exactly as written in the goal, in "
                "order. One requirement is what can be met or missed on its own: a function with its behaviour, an "
                "error, an item of an enumeration, a document. At most 60."
            ),
            "kinds": KINDS,
            "programs": _texts(
                "Programs that the result must behave like or be compared with, by the name of their command. "
                "Usually []."
            ),
            "reason": _text("One or two sentences: what has to change, and why that makes it big or small."),
            "steps": _number(
                "1 if it is atomic. Otherwise the number of steps, where a step is what one engineer does in one "
                "sitting and its own tests can prove."
            ),
            "atomic": _flag(
                "true if one engineer can do the whole goal in one sitting, within its rounds, without a plan."
            ),
            "phases": _texts(
                "Parts that each take several steps and build on each other, in order, a few words each. [] if there "
                "are none. `implement` and `test` are not phases."
            ),
            "domains": _texts(
                "Fields of work that need different knowledge (`database schema`, `web front end`, `build pipeline`), "
                "as far as the goal touches them. Usually one."
            ),
        },
        "reason",
        "steps",
        "atomic",
    ),
    writes=False,
)

PLAN = ToolSpec(
    name="plan",
    description="Give the whole plan, in one call.",
    parameters=_object(
        {
            "approach": _text("Two or three sentences, written first: how to reach the goal and what is risky."),
            "conventions": _texts(
                "What has to be the same in every step: names, error types, formats, where tests go, how things are "
                "documented. Every engineer sees these. [] if there are none."
            ),
            "steps": _list(
                f"2 to {MOST} steps, in the order in which they make sense.",
                _object(_STEP | _PHASE, "name", "instructions", "criteria"),
            ),
        },
        "steps",
    ),
    writes=False,
)

_PART = {key: value for key, value in _STEP.items() if key != "interfaces"} | {
    "covers": _numbers("Numbers of the task's criteria that hold once this step is done. [] if none."),
    "needs": _texts("Names of the steps in this answer that must be done before it. Omitted: the one before it."),
}

SPLIT = ToolSpec(
    name="split",
    description="Give the smaller steps that together do the task, in one call.",
    parameters=_object(
        {
            "approach": _text("One or two sentences, written first: where the task was too big, or what differs now."),
            "steps": _list("The smaller steps, in order.", _object(_PART, "name", "instructions", "criteria")),
        },
        "steps",
    ),
    writes=False,
)

_CHANGED = {
    "change": _text(
        "add: a new step. drop: it is no longer needed. reword: do it differently; give what differs.",
        enum=["add", "drop", "reword"],
    ),
    "reason": _text("Which result makes this necessary, in one sentence."),
    "after": _text("For add: the name of the step that it follows. Omitted: it comes last."),
    **{key: value for key, value in _STEP.items() if key not in ("covers", "interfaces")},
    "name": _text("The step's name: a known one for drop and reword, a new one for add."),
    "phase": _PHASE["phase"],
}

CHANGE = ToolSpec(
    name="change",
    description="Change the remaining steps, in one call. An empty list changes nothing.",
    parameters=_object(
        {
            "changes": _list(
                "Only what the results make necessary. Usually [].", _object(_CHANGED, "change", "name", "reason")
            )
        },
        "changes",
    ),
    writes=False,
)

ALIASES = {
    "id": "name",
    "description": "instructions",
    "task": "instructions",
    "details": "instructions",
    "acceptance_criteria": "criteria",
    "acceptance": "criteria",
    "depends_on": "needs",
    "dependencies": "needs",
    "expected_files": "files",
    "tasks": "steps",
    "subtasks": "steps",
    "sub_steps": "steps",
    "substeps": "steps",
    "phases": "steps",
    "action": "change",
    "why": "reason",
}
"""Other field names that models use despite the schema."""
