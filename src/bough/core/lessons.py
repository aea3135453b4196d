"""What runs proved about a repository, for later runs.

A lesson is made of fields that bough fills from events: a command, an environment, a failing test, a person's answer.
What a model wrote about it is kept beside it as a hypothesis, and shown as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from bough.core.planning.plan import Step
from bough.core.tree.file_overlap import find_expected_files

if TYPE_CHECKING:
    from bough.core import events as e
    from bough.core.journal.run_fold import Run
    from bough.core.tree.task import Task

ROOM = 4_000
"""Characters that a run is told, about 1,000 tokens."""
LONGEST = 400
"""Characters of one text in a lesson."""


class ProvenLesson(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    kind: Literal["check", "setup", "dead_end", "decision"]
    command: str = ""
    """The check that it is about."""
    environment: str = ""
    lacked: str = ""
    """What the check lacked before."""
    provided: str = ""
    """What provided it."""
    test: str = ""
    """The test that still failed when a goal was given up."""
    question: str = ""
    answer: str = ""
    """What a person said."""
    files: tuple[str, ...] = ()
    """What the run changed."""
    run: str = ""
    hypothesis: str = ""
    """What a model made of it. It proves nothing."""

    @property
    def says(self) -> str:
        """The fact, in bough's own words."""
        match self.kind:
            case "check":
                return f"`{self.command}` runs the tests here, in {self.environment or 'the plain environment'}"
            case "setup":
                return f"`{self.command}` lacked {self.lacked}; {self.provided} provided it"
            case "dead_end":
                guess = f" (its agent supposed: {self.hypothesis})" if self.hypothesis else ""
                return f"{self.run} was given up with {self.test} still failing{guess}"
            case "decision":
                return f"a person answered “{self.answer}” to “{self.question}”"


class KeptLesson(Struct, frozen=True):
    number: int
    lesson: ProvenLesson
    at: float
    retired: str = ""
    """Why it no longer counts; empty: it does."""


def collect_lessons(run: Run, task: Task, bases: Iterable[e.BaseChecked]) -> list[ProvenLesson]:
    """What a finished run proved. `bases`: what its check said before any work, each time."""
    found: list[ProvenLesson] = []
    lacked = next((base for base in bases if base.lacking), None)
    base, verdict, files = run.checked, task.acceptance.verdict, task.outcome.files
    if base is not None and base.command and not base.lacking and base.passed:
        common = {"command": base.command[:LONGEST], "environment": base.environment, "run": run.name}
        found.append(ProvenLesson("check", **common))  # type: ignore[arg-type]
        if lacked is not None and lacked.way_out:
            found.append(ProvenLesson("setup", lacked=lacked.lacking, provided=lacked.way_out, **common))  # type: ignore[arg-type]
    if run.end is not None and run.end.end == "failed" and verdict is not None and verdict.failures:
        guess = next((note.text for note in reversed(task.talk.notes) if note.kind == "dead_end"), "")
        test = verdict.failures[0].id[:LONGEST]
        found.append(
            ProvenLesson("dead_end", verdict.command, test=test, files=files, run=run.name, hypothesis=guess[:LONGEST])
        )
    return found


def make_decision(run: str, question: str, answer: str, files: tuple[str, ...]) -> ProvenLesson:
    return ProvenLesson("decision", question=question[:LONGEST], answer=answer[:LONGEST], files=files, run=run)


def find_contradicted(kept: Mapping[int, KeptLesson], run: Run, task: Task) -> dict[int, str]:
    """Lessons that this run's verdicts contradict, and how."""
    base, verdict = run.checked, task.acceptance.verdict
    fixed = set(verdict.fixed) if verdict is not None and verdict.ruling == "passed" else set[str]()
    found: dict[int, str] = {}
    for one in kept.values():
        lesson = one.lesson
        if one.retired:
            continue
        if lesson.kind in ("check", "setup") and base is not None and base.lacking and base.command == lesson.command:
            found[one.number] = f"{run.name}: it lacks {base.lacking}"
        elif lesson.kind == "dead_end" and lesson.test in fixed:
            found[one.number] = f"{run.name}: {lesson.test} passes"
    return found


def choose_lessons(kept: Mapping[int, KeptLesson], goal: Step) -> list[ProvenLesson]:
    """The lessons whose files or check the goal touches, newest first, as far as they fit."""
    named, room, chosen = set(find_expected_files(goal)), ROOM, list[ProvenLesson]()
    for one in reversed(list(kept.values())):
        lesson = one.lesson
        same = bool(lesson.command) and lesson.command == goal.test_command
        usual = lesson.kind in ("check", "setup") and goal.test_command is None
        if one.retired or not (same or usual or named & set(lesson.files)) or len(lesson.says) > room:
            continue
        room -= len(lesson.says)
        chosen.append(lesson)
    return chosen
