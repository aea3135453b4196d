"""The tools of planning calls as the model sees them. Each call offers one: flat, with few, described fields."""

from msgspec.structs import replace

from bough.core.conversation import schema
from bough.core.messages import ToolSpec

MOST = 10
"""The maximum number of steps at one level."""


_STEP = {
    "name": schema.text("A short id in lower case with dashes, unique in this answer: `parse-header`."),
    "title": schema.text("A short title for people. Optional."),
    "instructions": schema.text(
        "What to do, for an engineer who sees this step but not the others: which files and functions, which "
        "behaviour, what to leave alone. Two to six sentences."
    ),
    "criteria": schema.texts(
        "One to five facts that hold when the step is done, each provable by a test or a command. "
        "Good: `slugify('A b') returns 'a-b'`; `report --json prints one JSON object`. "
        "Bad: `works well`, `code is clean`."
    ),
    "files": schema.texts(
        "Files that the step creates or changes, including tests, relative to the project. `CHANGELOG.md+`: it only "
        "adds to that file."
    ),
    "needs": schema.texts("Names of the steps in this answer that must be done before it. [] if it can start at once."),
    "test_command": schema.text(
        "The command that proves this step on its own: `pytest tests/test_slug.py`. The step may write that test "
        "itself. Omit it if the project's own test command is the proof."
    ),
    "test_file": schema.text("The test file that proves the step, if no command is given."),
    "requires_testing": schema.flag("false only if the step changes nothing but documentation. Otherwise true."),
    "covers": schema.numbers("Numbers of the goal's requirements that depend on this step. [] if none."),
    "interfaces": schema.texts(
        "What this step provides to the steps that need it, exactly: files, names, arguments, types, errors. "
        "`textkit/count.py: count_words(text: str) -> dict[str, int]`. This step and those steps see them."
    ),
    "complexity": schema.number(
        "1: a few lines. 2: one function. 3: one file and its tests. 4: several files. 5: hard."
    ),
}
_PHASE = {
    "phase": schema.flag(
        "true if the step is too big for one engineer in one sitting: its own steps are then planned when it starts, "
        "from what earlier phases left. false for a step that can be done as it is."
    ),
    "steps": schema.tables(
        "Only for a phase whose steps are already certain; otherwise omit it.",
        schema.table(_STEP, "name", "instructions", "criteria"),
    ),
}

KINDS = schema.tables(
    "Passages that do not ask for behaviour that a test could see. A feature, a fix and an error are behaviour.",
    schema.table(
        {
            "begins": schema.text("The passage's first five to ten words, exactly as written; all of a shorter one."),
            "kind": {
                "type": "string",
                "enum": ["background", "document", "coverage", "restructure", "speed", "upgrade", "unchanged"],
                "description": "background: asks for nothing. document: only documentation or comments. coverage: only "
                "tests. restructure: the code's form, moved or renamed, with the same behaviour. speed: the same, "
                "faster. upgrade: another version of a dependency. unchanged: something must stay as it is.",
            },
        },
        "begins",
        "kind",
    ),
)

HEAR = ToolSpec(
    name="hear",
    description="Say what the message asks for, in one call.",
    parameters=schema.table(
        {
            "requirements": schema.texts(
                "The first five to ten words of each demand, or all of a shorter one, exactly as written. [] if there "
                "is none."
            ),
            "kinds": KINDS,
            "replaces": schema.numbers("Numbers of requirements that the message contradicts. Usually []."),
            "step": schema.text("The name of the step that should do what it asks; empty: a new one."),
        },
        "requirements",
    ),
    writes=False,
)

_PROPOSAL = {
    "command": schema.text("The shell command that runs the tests, from the top of the project; empty: there is none."),
    "setup": schema.text("What has to run before that command in a fresh checkout; usually empty."),
    "why": schema.text("One sentence: what shows that the project is tested like this."),
}
SCOUT = ToolSpec(
    name="propose_check",
    description="Propose the command that runs this project's tests.",
    parameters=schema.table(_PROPOSAL, "command", "why"),
    writes=False,
)
SCOUT_IN_TEXT = replace(
    SCOUT,
    parameters=schema.table(
        {"bash": schema.text("A shell command to look around with first; empty when you propose."), **_PROPOSAL}
    ),
)
"""The tool `propose_check` for a model without tools, whose answer may also ask to run a command first."""

GATE = ToolSpec(
    name="estimate",
    description="List what the goal asks for, and say how big the work is.",
    parameters=schema.table(
        {
            "requirements": schema.texts(
                "For each thing the goal asks for, its first five to ten words, or all of a shorter one (an item of an "
                "enumeration can be one word), exactly as written in the goal, in order. One requirement is what a "
                "maintainer ticks off: a function with its behaviour, an error, a thing to build that an enumeration "
                "names, a document. At most 60."
            ),
            "kinds": KINDS,
            "reason": schema.text("One or two sentences: what has to change, and why that makes it big or small."),
            "steps": schema.number(
                "1 if the goal is atomic. Otherwise the number of steps, where a step is what one engineer does in one "
                "sitting and its own tests can prove."
            ),
            "atomic": schema.flag(
                "true if one engineer can do the whole goal in one sitting, within its rounds, without a plan."
            ),
            "phases": schema.texts(
                "Parts that each take several steps and build on each other, in order, a few words each. [] if there "
                "are none. `implement` and `test` are not phases."
            ),
            "domains": schema.texts(
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
    parameters=schema.table(
        {
            "approach": schema.text("Two or three sentences, written first: how to reach the goal and what is risky."),
            "conventions": schema.texts(
                "What has to be the same in every step: names, error types, formats, where tests go, how things are "
                "documented. Every engineer sees these. [] if there are none."
            ),
            "steps": schema.tables(
                f"2 to {MOST} steps, in the order in which they make sense.",
                schema.table(_STEP | _PHASE, "name", "instructions", "criteria"),
            ),
        },
        "steps",
    ),
    writes=False,
)

_PART = {key: value for key, value in _STEP.items() if key != "interfaces"} | {
    "covers": schema.numbers("Numbers of the task's criteria that hold once this step is done. [] if none."),
    "needs": schema.texts("Names of the steps in this answer that must be done before it. Omitted: the one before it."),
}

SPLIT = ToolSpec(
    name="split",
    description="Give the smaller steps that together do the task, in one call.",
    parameters=schema.table(
        {
            "approach": schema.text(
                "One or two sentences, written first: why the task was too big, or how this plan differs from the last."
            ),
            "steps": schema.tables(
                "The smaller steps, in order.", schema.table(_PART, "name", "instructions", "criteria")
            ),
        },
        "steps",
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
}
"""Other field names that models use despite the schema."""
