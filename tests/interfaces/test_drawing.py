"""Trees, tables and lines: right, harmless and never wider than the terminal."""

import ast
import io
import re
from pathlib import Path
from typing import get_args

import pytest

from bough import views
from bough.core import events as e
from bough.core.acceptance.verdict import Failure, Verdict
from bough.core.ids import CONTROL, GOAL, RUN, parent_path
from bough.core.journal.task_fold import list_points
from bough.core.messages import Call
from bough.core.planning.plan import Plan, Role, Step
from bough.core.tree.task_state import State
from bough.interfaces import terminal
from bough.interfaces.terminal.output import STYLES, TerminalOutput, format_line, print_advice
from bough.interfaces.terminal.plain_display import Conversation
from bough.interfaces.terminal.plan_tree import render_plan as plan_tree
from bough.interfaces.terminal.run_tree import ICONS, render_heading, render_runs, render_table
from bough.views.details import point_of
from bough.views.event_lines import NEWS, EventFormatter
from bough.views.formatting import count_cells
from bough.views.next_steps import list_next_steps
from bough.views.run_view import RunView, view_run
from bough.views.task_rows import list_rows
from bough.views.vocabulary import ROLES, STATUS_WORDS, describe_verdict, list_shortcomings
from tests.golden.test_golden import GOLDEN, records
from tests.interfaces.journals import started, task_events

HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\r\nc\u202ed\x00 漢字 " + "long " * 30


def record(event: e.AnyEvent, task: str = GOAL, version: int = 1) -> e.Record:
    return e.Record(version, "amber-heron", task, version, 1000.0 + version, event)


def a_run(*tasks: str, goal: str = "Make it work") -> RunView:
    records = [record(started(goal), RUN)]
    for task in tasks:
        records += [record(event, task, n) for n, event in enumerate(task_events(task, 2), 1)]
    return view_run("amber-heron", records)


def page(colour: bool = False) -> TerminalOutput:
    return TerminalOutput(io.StringIO(), False, colour)


def painted(lines: list[list[tuple[str, str]]], width: int) -> list[str]:
    return [page().painted(entry, width) for entry in lines]


TREE = (GOAL, "buffer", "buffer/insert-line", "buffer/delete-line", "screen", "lost/child")


def test_the_tree_is_drawn_with_its_branches() -> None:
    drawn = [row.prefix + row.name for row in list_rows(a_run(*TREE))]
    assert drawn == ["goal", "├─ buffer", "│  ├─ insert-line", "│  └─ delete-line", "├─ screen", "└─ child"]
    assert parent_path("buffer/insert-line") == "buffer" and parent_path("buffer") == GOAL and parent_path(GOAL) is None


def test_costs_add_up() -> None:
    drawn = {row.task.path: row for row in list_rows(a_run(*TREE))}
    one = drawn["screen"].subtree.cost
    assert drawn["buffer"].spend.cost == one and drawn["buffer"].subtree.cost == pytest.approx(3 * one)
    assert drawn[GOAL].subtree.rounds == 2 * len(TREE)


def test_part_of_a_tree() -> None:
    assert [row.task.path for row in list_rows(a_run(*TREE), "buffer")] == [
        "buffer",
        "buffer/insert-line",
        "buffer/delete-line",
    ]
    assert list_rows(a_run(*TREE), "nonsense") == []


@pytest.mark.parametrize("width", [200, 80, 60, 40, 20, 8, 1])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    run = a_run(*TREE, "x" * 60, goal=HOSTILE)
    table = render_table(list_rows(run), width)
    for text in painted([*render_heading(run, "running"), *table, *render_runs([(run, "running")], width)], width):
        assert count_cells(text) <= width


def test_columns_go_one_by_one_and_the_names_stay() -> None:
    rows = list_rows(a_run(*TREE))
    wide, narrow = painted(render_table(rows, 100), 100), painted(render_table(rows, 34), 34)
    assert wide[0].split() == ["task", "state", "rounds", "check", "tokens", "cost", "total"]
    assert narrow[0].split() == ["task", "state"]
    assert "insert-line" in narrow[3]


def test_untrusted_words_stay_words() -> None:
    run = a_run(GOAL, HOSTILE, goal=HOSTILE)
    run.models = {"main": HOSTILE}
    table = render_table(list_rows(run), 150)
    shown = painted([*render_heading(run, HOSTILE), *table, *render_runs([(run, "failed")], 150)], 150)
    for event in (
        e.StateChanged(State.FAILED, HOSTILE),
        e.ModelAnswered(HOSTILE, (Call("c", HOSTILE, f'{{"path": "{HOSTILE!a}"}}'),)),
        e.ToolStarted("c", True),
        e.ToolFinished("c", False, HOSTILE),
        e.ModelFailed(HOSTILE, 1.0),
        e.NoteKept("decision", HOSTILE),
    ):
        teller = EventFormatter()
        shown.append(page().painted(format_line(record(event, HOSTILE), teller.tell(record(event, HOSTILE))), 300))
        paper = page(colour=False)
        Conversation(paper).tell(record(event, HOSTILE))
        assert isinstance(paper.stream, io.StringIO)
        shown += paper.stream.getvalue().splitlines()
    for text in shown:
        assert text.isprintable(), repr(text)


def test_colour_is_put_on_after_cutting() -> None:
    assert page(colour=True).painted([("abcdef", "green")], 4) == "\x1b[32mabc…\x1b[0m"
    assert page(colour=False).painted([("abcdef", "green"), ("more", "")], 4) == "abc…"


def test_a_stream_without_unicode_gets_plain_signs() -> None:
    paper = TerminalOutput(io.StringIO(), False, False, unicode=False)
    assert paper.painted([("└─ ✔ goal › a…", "")], 80) == "`- + goal > a."


def test_every_event_can_be_told() -> None:
    kinds = {kind for kind in e.KINDS.values() if kind.__module__ != "bough.core.events.backlog"}
    assert kinds > NEWS
    for events in GOLDEN.values():  # They hold every kind of event.
        teller = EventFormatter()
        for kept in records(events):
            if type(kept.event) in kinds:
                words, style = teller.tell(kept)
                assert words and style in ("", *STYLES)
    assert set(ICONS) == set(State)
    assert set(ROLES) == set(get_args(Role))
    assert {*get_args(e.Halt), *get_args(e.End), "running", "interrupted", "accepted"} == set(STATUS_WORDS)


def test_a_teller_knows_calls_and_counts_rounds() -> None:
    events: list[e.AnyEvent] = [
        e.RoundStarted(),
        e.ModelFailed("down", 4.0),
        e.RoundStarted(),
        e.ModelAnswered("Let me see", (Call("c", "bash", '{"command": "ls"}'),)),
        e.ToolStarted("c", True),
        e.ToolFinished("c", True, "a.py\n", seconds=0.5),
        e.RoundStarted(last=True),
    ]
    teller = EventFormatter()
    told = [teller.tell(record(event, version=number))[0] for number, event in enumerate(events, 1)]
    assert told[1] == "the model did not answer: down; retrying in 4.0 s"
    assert told[2] == "round 1: asking the model again"
    assert told[3].endswith("Let me see → bash")
    assert told[4] == "bash ls …"
    assert told[5] == "bash ls: done, 0.5 s: a.py"
    assert told[6] == "round 2: asking the model (last round: hand over)"


def test_news_is_what_matters() -> None:
    teller = EventFormatter()
    news = [teller.news(record(event, version=n)) for n, event in enumerate(task_events(GOAL, 1), 1)]
    assert [told[0] for told in news if told] == [
        "in progress: work begins",
        "round 1: edit src/parser.py",
        "testing: the agent says it is done",
        "running the check: pytest -q",
        "check passed: pytest -q (exit status 0, 1.2 s)",
        "completed: the check passed",
    ]
    assert teller.news(record(e.StopRequested(), CONTROL)) is None


def test_points_say_what_happened() -> None:
    records = [record(event, version=n) for n, event in enumerate(task_events(GOAL, 2), 1)]
    assert [point_of(point).words for point in list_points(GOAL, records)] == [
        "before its first round",
        "edit src/parser.py",
        "edit src/parser.py",
    ]


@pytest.mark.parametrize("status", [*STATUS_WORDS])
def test_there_is_always_something_to_do_next(status: str) -> None:
    run = a_run(GOAL)
    steps = list_next_steps(run, status, changed=True)
    assert steps and all(command.startswith("bough ") for command, _ in steps)
    assert not any("diff" in command for command, _ in list_next_steps(run, status, changed=False))


def test_verdicts_show_their_evidence() -> None:
    passed = Verdict("passed", "ok", command="pytest", exit_status=0, seconds=1.2, how="junit", passed=3)
    assert describe_verdict(passed) == "check passed: pytest (exit status 0, tests: 3 passed, 1.2 s)"
    assert list_shortcomings(passed, 3) == []
    killed = Verdict("failed", "no", command="make test", seconds=300.0, output="one\n\ntwo\nthree\n")
    assert describe_verdict(killed) == "check failed: make test (killed, 5m 00s)"
    assert list_shortcomings(killed, 2) == ["two", "three"]
    failures = (
        Failure("test_0", "new", "FAILED test_0\n-1 != 5\nin calc.py"),
        *(Failure(f"test_{n}", "regression") for n in range(1, 5)),
    )
    failed = Verdict("failed", "no", command="pytest", exit_status=1, how="junit", failed=5, failures=failures)
    assert list_shortcomings(failed, 3) == ["test_0 (new): -1 != 5", "test_1 (regression)", "… and 3 more"]
    assert describe_verdict(Verdict("not_verified", "no check found")) == "not verified: no check found"


def test_every_style_is_one_that_paper_knows() -> None:
    """A span with an unknown style breaks only at a terminal with colours, where no test looks."""
    used = {
        (path.name, node.lineno): node.elts[1].value
        for path in (
            *Path(terminal.__file__ or "").parent.glob("*.py"),
            *(Path(views.__file__ or "").with_name(f"{name}.py") for name in ("event_lines", "task_events")),
        )
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[1], ast.Constant)
    }
    styles = {place: style for place, style in used.items() if re.fullmatch("[a-z]+", str(style))}
    assert "dim" in styles.values()
    assert {place: style for place, style in styles.items() if style not in STYLES} == {}


def test_a_plan_is_painted_in_colour() -> None:
    plan = Plan(Step("goal", "All.", steps=(Step("a", "Do a.", covers=(1, 2)),)))
    page = TerminalOutput(io.StringIO(), terminal=True, colour=True)
    assert "covers 1, 2" in "\n".join(page.painted(row, 80) for row in plan_tree(plan, width=80))


def test_a_command_to_copy_is_never_cut() -> None:
    page = TerminalOutput(io.StringIO(), terminal=True, colour=False)
    command = f"bough resume amber-heron --check '{'x' * 80}'"
    print_advice(page, [(command, "continue"), ("bough log", "what happened")])
    written = page.stream.getvalue()  # type: ignore[attr-defined]
    assert [line.split("  ")[1] for line in written.splitlines()] == [command, "bough log"]
