"""The values of each planning prompt: what the model is told of where it is, what is known and what failed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bough.core.context import breadcrumb, bullets, criteria, notes, section
from bough.core.grants import LEAF_ROUNDS
from bough.core.ids import GOAL
from bough.core.measure import fenced
from bough.core.plan import Step
from bough.core.planning.estimate import Estimate
from bough.core.planning.specs import MOST
from bough.core.requirements import Requirement, listed
from bough.core.structured import Problems
from bough.core.task import Note

OUTLINE = 12_000
"""Characters of what a planner is shown of the files."""
LONG = 16_000
"""Characters of a diff or a failure."""
WORK = 4_000
"""Characters of what a step had changed that was given up."""


class Size(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How big a repository is."""

    files: int
    lines: int
    languages: tuple[str, ...] = ()
    """The most used first."""
    about: bool = False
    """The lines were estimated."""

    def __str__(self) -> str:
        if not self.files:
            return "Empty: there are no files yet."
        languages = f", in {', '.join(self.languages[:6])}" if self.languages else ""
        return f"{self.files:,} files, {'about ' if self.about else ''}{self.lines:,} lines{languages}."


class Past(Struct, frozen=True):
    """A step that is over, as later ones are told of it."""

    name: str
    state: str
    summary: str = ""
    files: tuple[str, ...] = ()
    commit: str = ""
    """Holds what it changed, when that was not taken over …"""
    work: str = ""
    """… which is this."""

    def __str__(self) -> str:
        files = f" (changed: {', '.join(self.files[:20])})" if self.files else ""
        line = f"- `{self.name}` ({self.state}): {cut(self.summary, 1_500) or 'nothing was said of it'}{files}"
        if not self.work:
            return line
        return f"{line}\n\nWhat it had changed is kept in commit `{self.commit}`:\n\n{fenced(cut(self.work, WORK))}\n"


def cut(text: str, limit: int) -> str:
    """Head and tail of a text that is too long."""
    half = limit // 2
    return (
        text
        if len(text) <= limit
        else f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    )


def numbered(step: Step) -> str:
    """Its criteria with the numbers that `covers` takes."""
    return "\n".join(f"{number}. {criterion}" for number, criterion in enumerate(step.criteria, 1))


def outlined(steps: Sequence[Step]) -> str:
    """Steps that are to come, one a line."""
    return "\n".join(f"- `{step.name}`{_needing(step)}: {cut(step.instructions, 600)}" for step in steps)


def _needing(step: Step) -> str:
    return f" (needs {', '.join(step.needs)})" if step.needs else ""


def _known(step: Step, command: str, size: Size, files: str, built: str, project: str) -> dict[str, str]:
    """What every planning prompt can say of a task and of the repository."""
    check = f"`{command}`" if command else "None was found in the project; steps bring their own tests."
    return {
        "instructions": step.instructions,
        "criteria": section("What must be true at the end", criteria(step)),
        "check": section("The check that proves it", check),
        "repository": str(size),
        "files": section("Its files", files[:OUTLINE]) + section("How it is built", built),
        "project": section("The repository's own instructions for agents", project),
    }


def gate(
    goal: Step,
    size: Size,
    rounds: int,
    *,
    grows: bool = False,
    command: str = "",
    files: str = "",
    built: str = "",
    project: str = "",
) -> dict[str, str]:
    """For `gate.md`. `grows`: the rounds follow the plan. `files`: the repository's files, one a line, as many as are
    worth showing."""
    said = f"There are {rounds} rounds for all of it."
    if grows:
        said = f"One engineer has {rounds} rounds for all of it; a plan has {LEAF_ROUNDS} more for each further step."
    return _known(goal, command, size, files, built, project) | {"rounds": said}


def planner(
    goal: Step,
    size: Size,
    depth_left: int,
    *,
    estimate: Estimate | None = None,
    command: str = "",
    files: str = "",
    built: str = "",
    project: str = "",
    wish: str = "",
    proposed: Sequence[Step] = (),
    requirements: Sequence[Requirement] = (),
    means: str = "",
) -> dict[str, str]:
    """For `planner.md`. `wish`: what a person wants to be different from the plan that was `proposed`.
    `depth_left` as for `planned`: 1 for a flat plan."""
    change = f"{outlined(proposed)}\n\nThe person read this and wants it changed:\n\n{wish}" if wish else ""
    return _known(goal, command, size, files, built, project) | {
        "estimate": section("A first estimate", _estimated(estimate) if estimate else ""),
        "wish": section("The plan so far", change),
        "levels": levels(depth_left),
        **_asked(requirements, means),
    }


def _asked(requirements: Sequence[Requirement], means: str) -> dict[str, str]:
    """What the steps have to cover, and the means to do them. A single requirement is the goal itself."""
    many = len(requirements) > 1
    return {
        "requirements": section("The requirements in it, by number", listed(requirements)) if many else "",
        "covering": COVERING if many else "",
        "means": section("What it is carried out with", means),
    }


COVERING = (
    "- **Every requirement is covered**: `covers` names the numbers of those that it takes this step to meet. The "
    "step's engineer sees their whole text, so do not copy it into the instructions; a plan that leaves a number out "
    "is sent back.\n"
)


def _estimated(estimate: Estimate) -> str:
    phases = f" Phases: {'; '.join(estimate.phases)}." if estimate.phases else ""
    domains = f" Domains: {'; '.join(estimate.domains)}." if estimate.domains else ""
    return f"About {estimate.steps} steps. {estimate.reason}{phases}{domains}"


def levels(depth_left: int) -> str:
    if depth_left > 1:
        return (
            "A part that one engineer can do in one sitting is a plain step. A part that takes several steps is a "
            "phase: set `phase` to true, say what it must achieve and which interfaces it leaves to the others, and "
            "leave its `steps` out; they are planned when it starts, from what is there by then. A large goal has 5 "
            f"to {MOST} phases; a smaller one has 2 to {MOST} plain steps. Never more than {MOST}."
        )
    return f"Give 2 to {MOST} plain steps: there are no phases here, each step is done as it is."


def phase_planner(
    phase: Step,
    place: str,
    goal: Step,
    size: Size,
    depth_left: int,
    *,
    past: Sequence[Past] = (),
    later: Sequence[str] = (),
    kept: tuple[Note, ...] = (),
    command: str = "",
    files: str = "",
    built: str = "",
    project: str = "",
    requirements: Sequence[Requirement] = (),
    means: str = "",
    agreed: Sequence[str] = (),
) -> dict[str, str]:
    """For `phase_planner.md`. `place`: the phase's path; `past`: its siblings that are over; `later`: those to come."""
    return _known(phase, command, size, files, built, project) | {
        "place": breadcrumb(place),
        "goal": goal.instructions,
        "agreed": section("What was agreed for the whole plan", bullets(agreed)),
        **_asked(requirements, means),
        "past": section("What was done before it", "\n".join(map(str, past))),
        "later": section("What comes after it, and is not its work", bullets(later)),
        "notes": section("Known by now", notes(kept)),
        "levels": levels(depth_left),
    }


def change(goal: Step, past: Sequence[Past], later: Sequence[Step], kept: tuple[Note, ...] = ()) -> dict[str, str]:
    """For `plan_change.md`. The last of `past` is the phase that has just ended; `later`: the steps not yet begun."""
    return {
        "instructions": goal.instructions,
        "criteria": section("What must be true at the end", criteria(goal)),
        "past": "\n".join(map(str, past)),
        "last": past[-1].name if past else "the last step",
        "later": outlined(later),
        "notes": section("Known by now", notes(kept)),
        "room": str(max(0, MOST - len(past) - len(later))),
    }


def decomposer(
    task: Step, place: str, why: str, *, diff: str = "", kept: tuple[Note, ...] = (), command: str = ""
) -> dict[str, str]:
    """For `decomposer.md`. `why`: what the stuck detector saw, or the failure; `diff`: what the task has changed."""
    return _stuck(task, place, why, kept, command) | {"diff": section("What it has changed so far", cut(diff, LONG))}


def replan(
    task: Step, place: str, why: str, past: Sequence[Past], *, kept: tuple[Note, ...] = (), command: str = ""
) -> dict[str, str]:
    """For `replan.md`. `past`: the children that are over, completed and blocked, with why."""
    done = "\n".join(str(child) for child in past if child.state == "completed")
    blocked = "\n".join(str(child) for child in past if child.state != "completed")
    return _stuck(task, place, why, kept, command) | {
        "done": section("What is done and stays", done),
        "blocked": section("What did not work", blocked),
    }


def replan_goal(
    goal: Step, why: str, past: Sequence[Past], *, kept: tuple[Note, ...] = (), command: str = ""
) -> dict[str, str]:
    """For `replan_goal.md`."""
    values = replan(goal, GOAL, why, past, kept=kept, command=command)
    return {name: value for name, value in values.items() if name != "place"}


def _stuck(task: Step, place: str, why: str, kept: tuple[Note, ...], command: str) -> dict[str, str]:
    return {
        "place": breadcrumb(place),
        "instructions": task.instructions,
        "criteria": section("Its criteria, by number", numbered(task)),
        "check": section("The check that proves it", f"`{command}`" if command else ""),
        "why": cut(why, LONG),
        "notes": section("Dead ends and decisions", notes(kept)),
    }


def repair(tool: str, problems: Problems, answer: str) -> dict[str, str]:
    """For `plan_repair.md`, which follows the question: the one time that an answer goes back."""
    return {"tool": tool, "problems": str(problems), "answer": cut(answer, LONG)}
