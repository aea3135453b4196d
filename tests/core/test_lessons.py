"""What runs proved: which lessons a run leaves, which ones a later run is told, and when one is retired."""

from __future__ import annotations

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import Failure, Verdict
from bough.core.ids import CONTROL, GOAL, LESSONS
from bough.core.journal.run_fold import Run, fold_lessons
from bough.core.lessons import (
    ROOM,
    KeptLesson,
    ProvenLesson,
    choose_lessons,
    collect_lessons,
    find_contradicted,
    make_decision,
)
from bough.core.planning.plan import Step
from bough.core.tree.task import Task

BASE = e.BaseChecked("pytest -q", environment="the environment in .venv", exit_status=0, passed=12)


def finished(end: e.End, verdict: Verdict, **more: object) -> tuple[Run, Task]:
    run = Run("amber-heron", checked=BASE, end=e.RunFinished(end, ""), **more)  # type: ignore[arg-type]
    task = Task(GOAL)
    return run, replace(task, acceptance=replace(task.acceptance, verdict=verdict))


def keep(*lessons: ProvenLesson) -> dict[int, KeptLesson]:
    return {number: KeptLesson(number, lesson, 0.0) for number, lesson in enumerate(lessons, 1)}


def test_a_run_leaves_facts_made_of_fields() -> None:
    failed = Verdict("failed", "x", "pytest -q", failures=(Failure("tests/test_a.py::test_b", "regression", "boom"),))
    run, task = finished("failed", failed)
    lacked = e.BaseChecked("pytest -q", lacking="the module foo", way_out="pip install foo")
    check, setup, dead_end = collect_lessons(run, task, [lacked, BASE])
    assert check.says == "`pytest -q` runs the tests here, in the environment in .venv"
    assert setup.says == "`pytest -q` lacked the module foo; pip install foo provided it"
    assert dead_end.says == "amber-heron was given up with tests/test_a.py::test_b still failing"
    guessed = replace(dead_end, hypothesis="the clock is wrong")
    assert guessed.says.endswith("(its agent supposed: the clock is wrong)"), "a model's sentence is shown as one"


def test_a_lesson_that_a_verdict_contradicts_is_retired() -> None:
    kept = keep(
        ProvenLesson("dead_end", "pytest -q", test="t::a"),
        ProvenLesson("check", "pytest -q"),
        ProvenLesson("check", "tox"),
    )
    run, task = finished("completed", Verdict("passed", "", "pytest -q", fixed=("t::a",)))
    assert find_contradicted(kept, run, task) == {1: "amber-heron: t::a passes"}
    broken = replace(run, checked=replace(BASE, lacking="pytest"))
    assert set(find_contradicted(kept, broken, task)) == {1, 2}
    records = [
        e.Record(1, LESSONS, CONTROL, 1, 0.0, e.LessonKept(kept[1].lesson)),
        e.Record(2, LESSONS, CONTROL, 2, 0.0, e.LessonRetired(1, "why")),
        e.Record(3, LESSONS, CONTROL, 3, 0.0, e.LessonRetired(9, "nobody")),
    ]
    assert fold_lessons(records)[1].retired == "why"


def test_a_run_is_told_what_its_files_or_its_check_touch_and_no_more_than_fits() -> None:
    about_cart = make_decision("amber-heron", "Round up?", "No.", ("cart.py",))
    other = make_decision("amber-heron", "Tabs?", "Never.", ("report.py",))
    check = ProvenLesson("check", "pytest -q")
    goal = Step(GOAL, "Fix cart.py.", test_command="pytest -q")
    assert choose_lessons(keep(about_cart, other, check), goal) == [check, about_cart]
    assert choose_lessons(keep(other, ProvenLesson("check", "tox")), goal) == []
    assert choose_lessons({1: KeptLesson(1, check, 0.0, "retired")}, goal) == []
    many = keep(*(make_decision("r", "q" * 400, str(n), ("cart.py",)) for n in range(100)))
    told = choose_lessons(many, goal)
    assert 0 < sum(len(one.says) for one in told) <= ROOM and told[0].answer == "99", "the newest first"
