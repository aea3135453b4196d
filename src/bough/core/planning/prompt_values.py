"""Build the values that fill each planning prompt: the task's place in the tree, what is known and what failed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from bough.core.acceptance.requirements import render_requirements
from bough.core.budget.grants import LEAF_ROUNDS
from bough.core.conversation import context
from bough.core.conversation.structured_answer import Problems
from bough.core.conversation.text_fitting import fence_text, keep_ends
from bough.core.planning.plan import Step
from bough.core.planning.tool_specs import MOST
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Note

OUTLINE = 12_000
"""The maximum number of characters of the list of files that a planner sees."""
LONG = 16_000
"""The maximum number of characters of a diff or a failure."""
WORK = 4_000
"""The maximum number of characters of the work of an abandoned step."""


class Size(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The size of a repository."""

    files: int
    lines: int
    languages: tuple[str, ...] = ()
    """The languages, the most used first."""
    about: bool = False
    """Whether the number of lines is estimated."""

    def __str__(self) -> str:
        if not self.files:
            return "Empty: there are no files yet."
        languages = f", in {', '.join(self.languages[:6])}" if self.languages else ""
        return f"{self.files:,} files, {'about ' if self.about else ''}{self.lines:,} lines{languages}."


class RepositoryFacts(Struct, frozen=True):
    """The facts about the repository that every planning prompt contains."""

    size: Size
    command: str = ""
    """The project's check."""
    files: str = ""
    """The most useful files, one per line."""
    built: str = ""
    project: str = ""
    """The repository's own instructions for agents."""


class FinishedStep(Struct, frozen=True):
    """A finished step as later steps see it."""

    name: str
    state: str
    summary: str = ""
    files: tuple[str, ...] = ()
    commit: str = ""
    """The commit that holds the step's changes, if they were not adopted."""
    work: str = ""
    """The changes that were not adopted."""

    def __str__(self) -> str:
        files = f" (changed: {', '.join(self.files[:20])})" if self.files else ""
        line = f"- `{self.name}` ({self.state}): {keep_ends(self.summary, 1_500) or 'no summary'}{files}"
        if not self.work:
            return line
        return (
            f"{line}\n\nIts changes are kept in commit `{self.commit}`:\n\n{fence_text(keep_ends(self.work, WORK))}\n"
        )


def outline_steps(steps: Sequence[Step]) -> str:
    """List steps with their needs and instructions, one per line."""
    needs = {step.name: f" (needs {', '.join(step.needs)})" if step.needs else "" for step in steps}
    return "\n".join(f"- `{step.name}`{needs[step.name]}: {keep_ends(step.instructions, 600)}" for step in steps)


def _build_common_values(step: Step, known: RepositoryFacts) -> dict[str, str]:
    check = f"`{known.command}`" if known.command else "None found in the project; steps include their own tests."
    return {
        "instructions": step.instructions,
        "criteria": context.render_section("What must be true at the end", context.render_bullets(step.criteria)),
        "check": context.render_section("The check that proves the goal", check),
        "repository": str(known.size),
        "files": context.render_section("Its files", known.files[:OUTLINE])
        + context.render_section("How the project is built", known.built),
        "project": context.render_section("The repository's own instructions for agents", known.project),
    }


def build_gate_values(task: Task, known: RepositoryFacts, rounds: int, *, grows: bool = False) -> dict[str, str]:
    """Build the values for `gate.md`. `grows`: whether a larger plan gets more rounds."""
    said = f"There are {rounds} rounds for the whole goal."
    if grows:
        said = f"One engineer has {rounds} rounds for the whole goal; a plan gets {LEAF_ROUNDS} more per further step."
    return _build_common_values(context.build_planner_goal(task), known) | {"rounds": said}


def build_planner_values(task: Task, known: RepositoryFacts, depth_left: int, means: str) -> dict[str, str]:
    """Build the values for `planner.md`. `depth_left`: as for `read_plan`; 1 for a flat plan."""
    plan, change, estimate = task.plan, "", ""
    if (size := plan.estimate) is not None:
        phases = f" Phases: {'; '.join(size.phases)}." if size.phases else ""
        domains = f" Domains: {'; '.join(size.domains)}." if size.domains else ""
        estimate = f"About {size.steps} steps. {size.reason}{phases}{domains}"
    if plan.wish:
        change = f"{outline_steps(plan.proposed)}\n\nThe person read this and wants it changed:\n\n{plan.wish}"
    return _build_common_values(context.build_planner_goal(task), known) | {
        "estimate": context.render_section("A first estimate", estimate),
        "wish": context.render_section("The plan so far", change),
        **_build_room_values(task, depth_left, means),
    }


def _build_room_values(task: Task, depth_left: int, means: str) -> dict[str, str]:
    """Build the values for requirements and means. A single requirement is left out, since it is the goal itself."""
    many = len(task.asked) > 1
    asked = render_requirements(task.asked) if many else ""
    return {
        "requirements": context.render_section("The requirements, by number", asked),
        "covering": COVERING if many else "",
        "means": context.render_section("What is available", means),
        "levels": describe_levels(depth_left),
    }


COVERING = (
    "- **Every requirement is covered**: `covers` lists the numbers of those that depend on this step. The step's "
    "engineer sees their full text, so do not copy it into the instructions; a plan that omits a number is rejected.\n"
)


def describe_levels(depth_left: int) -> str:
    if depth_left > 1:
        return (
            "A part that one engineer can do in one sitting is a plain step. A part that takes several steps is a "
            "phase: set `phase` to true, say what it must achieve and which interfaces it provides to the others, and "
            "omit its `steps`; they are planned when it starts, from what exists by then. A large goal has 5 "
            f"to {MOST} phases; a smaller one has 2 to {MOST} plain steps. Never more than {MOST}."
        )
    return f"Give 2 to {MOST} plain steps: there are no phases here, each step is done as it is."


def build_phase_values(task: Task, goal: Step, known: RepositoryFacts, depth_left: int, means: str) -> dict[str, str]:
    told = task.inherited
    done = (result.partition(": ") for result in told.results)
    past = [FinishedStep(name, "completed", text) for name, _, text in done]
    return _build_common_values(task.step, known) | {
        "place": context.render_breadcrumb(task.id),
        "goal": goal.instructions,
        "agreed": context.render_section(
            "The conventions of the whole plan", context.render_bullets((*told.conventions, *told.interfaces))
        ),
        "past": context.render_section("What was done before this phase", "\n".join(map(str, past))),
        "later": context.render_section(
            "What comes after this phase and is not part of it", context.render_bullets(told.later)
        ),
        "notes": context.render_section("Known so far", context.render_notes(context.list_learned_notes(task))),
        **_build_room_values(task, depth_left, means),
    }


def build_split_values(
    task: Step, place: str, why: str, *, diff: str = "", kept: tuple[Note, ...] = (), command: str = ""
) -> dict[str, str]:
    """Build the values for `decomposer.md`. `why`: the stuck detector's finding, or the failure; `diff`: the task's
    changes."""
    return _build_stuck_values(task, place, why, kept, command) | {
        "diff": context.render_section("What the task has changed so far", keep_ends(diff, LONG))
    }


def build_replan_values(
    task: Step, place: str, why: str, past: Sequence[FinishedStep], *, kept: tuple[Note, ...] = (), command: str = ""
) -> dict[str, str]:
    """Build the values for `replan.md`. `past`: the finished steps, completed and blocked, with the reasons."""
    done = "\n".join(str(child) for child in past if child.state == "completed")
    blocked = "\n".join(str(child) for child in past if child.state != "completed")
    return _build_stuck_values(task, place, why, kept, command) | {
        "done": context.render_section("What is done and stays", done),
        "blocked": context.render_section("What did not work", blocked),
    }


def _build_stuck_values(task: Step, place: str, why: str, kept: tuple[Note, ...], command: str) -> dict[str, str]:
    numbered = "\n".join(f"{number}. {criterion}" for number, criterion in enumerate(task.criteria, 1))
    return {
        "place": context.render_breadcrumb(place),
        "instructions": task.instructions,
        "criteria": context.render_section("The task's criteria, by number", numbered),  # `covers` takes these numbers.
        "check": context.render_section("The check that proves the task", f"`{command}`" if command else ""),
        "why": keep_ends(why, LONG),
        "notes": context.render_section("Dead ends and decisions", context.render_notes(kept)),
    }


def build_repair_values(tool: str, problems: Problems, answer: str) -> dict[str, str]:
    """Build the values for `plan_repair.md`, which sends a faulty answer back to the model (once)."""
    return {"tool": tool, "problems": str(problems), "answer": keep_ends(answer, LONG)}


MANIFESTS = frozenset(
    """pyproject.toml setup.py setup.cfg package.json Cargo.toml go.mod pom.xml build.gradle build.gradle.kts
    CMakeLists.txt Gemfile composer.json mix.exs Package.swift BUILD BUILD.bazel deno.json pubspec.yaml""".split()  # noqa: SIM905
)
"""Files that make the folder around them a package."""
NAMED, PACKAGES, FOLDERS = 0.45, 0.27, 0.23
"""How the characters of the list are divided among named files, packages and folders."""
_COMMON = frozenset(
    """the and for with that this from into should must can not are was all any but has have its one use add new fix
    make when then than code file files test tests src lib app main index init mod util utils change changed what
    there here which every each also only more other out""".split()  # noqa: SIM905
)
_RARE = 0.02
"""A word in more than this share of all paths (and in more than `_FEW`) does not show what a goal is about."""
_FEW = 40


def outlined(paths: Sequence[str], goal: str, limit: int) -> str:
    """List the files, one per line, or as much about them as fits into `limit` characters. `goal`: the goal's text."""
    ordered = sorted(paths, key=lambda path: (path.count("/"), path))
    if sum(len(path) + 1 for path in ordered) <= limit:
        return "\n".join(ordered)
    named = _named(ordered, goal)
    folders = {path.rpartition("/")[0] for path in ordered if path.rpartition("/")[2] in MANIFESTS} - {""}
    counts: Counter[str] = Counter()
    for parent, files in Counter(path.rpartition("/")[0] for path in ordered).items():
        nearest = next((folder for folder in (parent, *_above(parent)) if folder in folders), None)
        if nearest is not None:
            counts[nearest] += files
    packages = sorted(counts.items(), key=lambda item: (item[0].count("/"), item[0]))
    parts = [
        ("What the goal seems to be about", _listed(named, int(limit * NAMED))),
        ("Packages", _listed([f"{folder}/ ({files:,} files)" for folder, files in packages], int(limit * PACKAGES))),
        ("Folders, by number of files", _listed(_folders(ordered), int(limit * FOLDERS))),
    ]
    top = _listed([path for path in ordered if "/" not in path], limit)
    head = f"There are {len(paths):,}: too many to list. `search` and `list` find others."
    shown = "\n\n".join(f"{title}:\n{text}" for title, text in [("At the top", top), *parts] if text)
    return f"{head}\n\n{shown}"[:limit]


def _listed(lines: Sequence[str], room: int) -> str:
    kept: list[str] = []
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*kept, f"… {len(lines) - number:,} more"])
        kept.append(line)
    return "\n".join(kept)


def _words(text: str) -> set[str]:
    """Return the words of a text or a path; `snake_case` and `CamelCase` count whole and in parts."""
    found = set()
    for word in re.findall(r"\w+", text):
        found |= {word.lower(), *(part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", word))}
    return {word for word in found if len(word) > 2 and word not in _COMMON and not word.isdecimal()}


def _named(paths: Sequence[str], goal: str) -> list[str]:
    """List the files that the goal mentions by path, by name or by words that few paths have, the likeliest first."""
    lowered = [path.lower() for path in paths]
    most = max(_FEW, _RARE * len(paths))
    rare = {word for word in _words(goal) if 0 < sum(word in path for path in lowered) <= most}
    mentioned = set(re.findall(r"(?<![\w./-])[\w./-]*\w", goal))
    points: dict[str, float] = {}
    for path, low in zip(paths, lowered, strict=True):
        name, folder = path.rpartition("/")[2], f"{path}/"
        said = path in mentioned or name in mentioned or any(folder.startswith(f"{way}/") for way in mentioned)
        if worth := 10.0 * said + (len(rare & _words(path)) if any(word in low for word in rare) else 0):
            points[path] = worth
    return sorted(points, key=lambda path: (-points[path], path))


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _folders(paths: Iterable[str]) -> list[str]:
    counts: Counter[str] = Counter()
    for parent, files in Counter(path.rpartition("/")[0] for path in paths).items():
        for folder in [parent, *_above(parent)][-3:] if parent else []:
            counts[folder] += files
    return [
        f"{folder}/ ({counts[folder]:,})" for folder in sorted(counts, key=lambda folder: (-counts[folder], folder))
    ]
