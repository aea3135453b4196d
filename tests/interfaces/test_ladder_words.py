"""What people read of a tree that gets stuck: the signal and the rung in plain words, with the evidence."""

from typing import get_args

from bough.core import events as e
from bough.core.ladder.escalation import Decision, Level, Rung, Trouble
from bough.core.planning.plan import Step
from bough.core.stuck.signals import Pattern, Signal, SoftLimit
from bough.core.tree.task_state import State
from bough.interfaces.cli.watch import _render_lines
from bough.interfaces.terminal.run_tree import render_table
from bough.views.event_lines import EventFormatter
from bough.views.run_view import RunView, view_run
from bough.views.stats import compute_stats
from bough.views.task_rows import describe_trouble, list_rows, task_to_dict
from bough.views.vocabulary import PATTERNS, RUNGS
from tests.golden.test_golden import records
from tests.interfaces.journals import started, task_events

LOOP = Trouble("signal", "`read` is called again and again.", "circular_tools", "prune", ("read a.py → x = 1",))
SIGNAL = Signal("circular_tools", 0.85, LOOP.says, "prune", (3, 4, 5), LOOP.evidence)
FINER = (Step("lex", "Write the lexer."), Step("parse", "Write the parser."))


def climbed(rung: Rung, trouble: Trouble = LOOP, why: str = "because") -> e.Escalated:
    level: Level = "goal"
    return e.Escalated(Decision(rung, level, f"{trouble.says} ({why})"), trouble)


STUCK: list[tuple[str, e.AnyEvent]] = [
    ("", started()),
    *(("goal", event) for event in task_events("goal", 1)[:4]),
    ("goal", e.SignalRaised(SIGNAL)),
    ("goal", climbed("decompose")),
    ("goal", e.Planned(FINER, "it is split")),
    ("goal", e.StateChanged(State.DECOMPOSED, "it is split")),
]
BLOCKED: list[tuple[str, e.AnyEvent]] = [
    *STUCK,
    *(("lex", event) for event in task_events("lex", 1)[:4]),
    ("lex", e.StateChanged(State.BLOCKED, "it reads on and on")),
    ("goal", e.Planned((Step("by-hand", "Write it by hand."),), "another approach", ("parse",))),
]


def seen(events: list[tuple[str, e.AnyEvent]]) -> RunView:
    return view_run("amber-heron", records(events))


def test_every_pattern_and_rung_has_plain_words() -> None:
    assert set(PATTERNS) == {*get_args(Pattern), *get_args(SoftLimit)}
    assert set(RUNGS) == set(get_args(Rung))


def test_steps_that_come_later_are_drawn_below_their_parent() -> None:
    run = seen([*BLOCKED, ("", e.RunHalted("stopped", "a person stopped it"))])
    assert [(row.prefix, row.name) for row in list_rows(run)] == [("", "goal"), ("├─ ", "lex"), ("└─ ", "by-hand")]
    drawn = ["".join(text for text, _ in line) for line in render_table(list_rows(run), 200)]
    assert "◌ goal" in drawn[1] and "decomposed" in drawn[1]
    assert "blocked" in drawn[2] and "(it reads on and on)" in drawn[2], "and why it is blocked"
    assert "pending" in drawn[3]


def test_a_task_says_how_it_is_stuck_until_it_moves_again() -> None:
    run = seen(STUCK)
    assert describe_trouble(run.tasks["goal"]) == "bough splits the task: goes in circles"
    run = seen([*STUCK, ("goal", e.ToolFinished("c", True, "written", tree="9" * 40))])
    assert describe_trouble(run.tasks["goal"]) == ""


def test_the_log_names_the_signal_with_its_evidence_and_then_the_rung() -> None:
    teller = EventFormatter()
    told = [teller.tell(record)[0] for record in records(STUCK)]
    assert told[5] == ("stuck (goes in circles): `read` is called again and again; most recently: read a.py → x = 1")
    assert told[6] == "bough splits the task: because"
    children = Trouble("children", "its steps cannot continue: lex is blocked")
    (record,) = records([("goal", climbed("replan", children))])
    assert EventFormatter().tell(record)[0] == (
        "bough plans another approach: its steps cannot continue: lex is blocked; because"
    )


def test_stats_count_in_plain_words() -> None:
    made = compute_stats(records(BLOCKED))
    assert made.deepest == 1
    lines = _render_lines(made, 1)
    assert "stuck work: goes in circles once" in lines
    assert "rungs taken: splits the task once" in lines


def test_programs_get_the_trouble_the_rung_and_the_report() -> None:
    run = seen([*BLOCKED, ("goal", climbed("give_up")), ("goal", e.Reported("all that was tried"))])
    goal = task_to_dict(list_rows(run)[0])
    assert goal["rung"] == "give_up"
    assert goal["trouble"]["pattern"] == "circular_tools"
    assert goal["report"] == "all that was tried"
    assert task_to_dict(list_rows(seen(STUCK[:5]))[0])["report"] is None


def test_a_rewound_task_has_no_report_any_more() -> None:
    given_up: list[tuple[str, e.AnyEvent]] = [*STUCK, ("goal", e.Reported("all that was tried"))]
    run = seen([*given_up, ("goal", e.TaskRewound(3, "b" * 40))])
    assert run.tasks["goal"].report == ""
    assert describe_trouble(run.tasks["goal"]) == ""
