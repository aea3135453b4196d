"""A list of goals: how it is read, what its events add up to, and what comes next."""

import json

import pytest
from pytest import approx

from bough.core import events as e
from bough.core.backlog.decide import TIMES, CallOff, End, NightSituation, RunStatus, Take, Wait, decide, explain
from bough.core.backlog.entry import LONGEST, GoalEntry, GoalReport, check_entry, make_name
from bough.core.backlog.reading import read_issues, read_list
from bough.core.backlog.state import Backlog, check_needs, evolve_backlog, fold_backlog
from bough.core.budget.limits import Spend
from bough.core.errors import NotFound, UsageError
from bough.core.ids import CONTROL
from tests.sampling import in_turn


class Story:
    """Events in order, as a store would number them."""

    def __init__(self, *goals: GoalEntry | str) -> None:
        self.backlog = Backlog("backlog")
        self.versions: dict[str, int] = {}
        self.seq = 0
        self.now = 1000.0
        for goal in goals:
            entry = goal if isinstance(goal, GoalEntry) else GoalEntry(goal)
            self.add(make_name(entry), e.GoalListed(entry))

    def add(self, stream: str, event: e.AnyEvent) -> None:
        self.seq += 1
        self.versions[stream] = self.versions.get(stream, 0) + 1
        record = e.Record(self.seq, "@backlog/backlog", stream, self.versions[stream], self.now, event)
        self.backlog = evolve_backlog(self.backlog, record)

    def begin(self, cost: float | None = None) -> None:
        self.add(CONTROL, e.NightStarted("base", "commit", cost))

    def take(self, item: str, cost: float | None = None, before: float = 0.0) -> None:
        self.add(item, e.GoalTaken(f"run-of-{item}", "base", cost=cost, before=before))

    def settle(self, item: str, status: str, why: str = "", *, cost: float = 0.0, until: float = 0.0) -> None:
        self.add(item, e.GoalSettled(GoalReport(status, why, Spend(cost=cost), until)))

    def here(self, *mine: str, **more: object) -> NightSituation:
        return NightSituation(self.now, mine=frozenset(mine), **{"jobs": 2, **more})  # type: ignore[arg-type]

    def moves(self, *mine: str, **more: object) -> list[object]:
        return list(decide(self.backlog, self.here(*mine, **more)))

    def kind(self, item: str, **more: object) -> tuple[str, str]:
        found = explain(self.backlog, self.backlog.items[item], self.here(**more))
        return found.kind, found.why


def test_goals_begin_in_order_and_the_urgent_ones_first() -> None:
    story = Story("a", "b", GoalEntry("c", priority=5))
    story.begin()
    assert story.moves() == [Take("c")]
    assert story.moves("c") == [Take("a")]
    story.add(CONTROL, e.GoalMoved("b", "a"))
    assert list(story.backlog.items) == ["b", "a", "c"] and story.moves("c") == [Take("b")]
    assert story.moves("c", "b") == [Wait()], "no place is free"


def test_a_need_that_is_not_proven_is_waited_for_and_named() -> None:
    story = Story("a", GoalEntry("b", needs=("a",)))
    story.begin()
    assert story.kind("b") == ("not_begun", "it needs a, which is not finished yet")
    story.take("a")
    assert story.moves("a") == [Wait()]
    story.settle("a", "not_proven")
    assert story.kind("b") == ("not_begun", "it needs a, which is finished but not proven")
    assert story.moves() == [End("nothing is left that can begin")]
    # A person accepts the work in another process: the list has not heard of it, and looks.
    assert story.moves(seen={"a": RunStatus("completed")}) == [Take("a")]
    story.take("a")
    story.settle("a", "completed")
    assert story.moves() == [Take("b")]
    story.add(CONTROL, e.GoalDropped("a"))
    assert story.kind("b") == ("not_begun", "it needs a, which is not in the list")


def test_a_question_frees_the_place_and_an_answer_takes_it_up_again() -> None:
    story = Story("a", "b")
    story.begin()
    story.take("a")
    story.settle("a", "waiting", "which database?")
    assert story.kind("a") == ("waiting", "which database?")
    assert story.moves() == [Take("b")]
    story.take("b")
    story.settle("b", "completed")
    assert story.moves() == [End("what is left waits for an answer")]
    assert story.moves(until=story.now + 60) == [Wait(story.now + 60)], "the night is not over: an answer may come"
    assert story.moves(seen={"a": RunStatus("waiting", answered=True)}) == [Take("a")]
    # Answered and finished at another terminal: taken once more, to record what came of it.
    assert story.kind("a", seen={"a": RunStatus("completed")})[0] == "proven"
    assert story.moves(seen={"a": RunStatus("completed")}) == [Take("a")]
    assert story.moves(seen={"a": RunStatus("running", live=True)}) == [Wait()]


def test_what_was_interrupted_comes_first_and_is_taken_once() -> None:
    story = Story("a", "b")
    story.begin()
    story.take("b")
    assert story.moves(jobs=1) == [Take("b")], "its process is gone"
    assert story.moves(jobs=1, elsewhere=frozenset({"b"})) == [Take("a")], "its process is alive"


def test_the_budget_of_the_night_is_shared_and_never_exceeded() -> None:
    story = Story("a", "b", "c")
    story.begin(cost=10.0)
    assert story.moves() == [Take("a", 5.0)]
    story.take("a", 5.0)
    assert story.moves("a") == [Take("b", 5.0)]
    story.take("b", 5.0)
    assert story.moves("a", "b", jobs=3) == [Wait()], "all of it is reserved"
    story.settle("a", "completed", cost=1.0)
    spent = {"run-of-a": 1.0, "run-of-b": 2.0}
    assert story.moves("b", spent=spent) == [Take("c", 4.0)]
    assert story.moves(spent=spent) == [Take("b", 3.5)], "nobody runs it any more: nothing is reserved for it"
    story.settle("b", "failed", cost=5.0)
    story.take("c", 4.0)
    story.settle("c", "budget", cost=4.0)
    story.add("d", e.GoalListed(GoalEntry("d")))
    spent = {"run-of-a": 1.0, "run-of-b": 5.0, "run-of-c": 4.0}
    assert story.moves(spent=spent) == [End("the night's budget of $10 is spent")]


def test_the_end_of_the_budget_begins_no_goal_that_it_is_not_enough_for() -> None:
    story = Story("a", "b", "c", "d")
    story.begin(cost=1.0)
    story.take("a", 1.0)
    story.settle("a", "completed", cost=0.4)
    assert story.moves(spent={"run-of-a": 0.4}, jobs=3) == [Take("b", 0.6)], "enough for one like a, not for three"
    assert story.moves(spent={"run-of-a": 0.4, "run-of-b": 0.3}) == [End("the night's budget of $1 is spent")]


def test_a_goal_that_the_night_had_no_money_for_is_not_given_up() -> None:
    story = Story("a", "b")
    story.begin(cost=1.0)
    story.take("a", 0.5)
    story.settle("a", "stopped", "its part of the night's budget is spent", cost=0.5)
    seen, spent = {"a": RunStatus("budget", "the budget of 0.5 US dollars is spent")}, {"run-of-a": 0.5}
    assert story.moves(seen=seen, spent=spent) == [Take("b", 0.5)]
    story.take("b", 0.5)
    story.settle("b", "completed", cost=0.2)
    more = {**spent, "run-of-b": 0.2}
    [again] = story.moves(seen=seen, spent=more)
    assert isinstance(again, Take) and again.item == "a" and again.cost == approx(0.3), "nobody else wants the rest"
    assert story.moves(seen=seen, spent={**more, "run-of-a": 0.8}) == [End("the night's budget of $1 is spent")]
    assert story.kind("a", seen=seen)[0] == "not_begun"
    story.add(CONTROL, e.NightEnded(""))
    story.begin()
    assert story.moves(seen=seen) == [Take("a")], "another night is another budget"


def test_what_a_run_cost_before_this_night_is_not_counted_again() -> None:
    story = Story("a")
    story.begin(cost=3.0)
    story.take("a", 2.0, before=7.0)
    story.settle("a", "waiting", cost=8.0)
    night = story.backlog.night
    assert night is not None and night.runs["run-of-a"].known.minus(night.runs["run-of-a"].before).cost == 1.0


def test_the_night_ends_on_time_and_the_next_one_goes_on() -> None:
    story = Story("a", "b")
    story.begin()
    story.take("a")
    late = {"until": story.now}
    assert story.moves("a", **late) == [CallOff("a", "the night is over")]
    story.settle("a", "stopped", "the night is over")
    assert story.moves(**late) == [End("the night is over")]
    story.add(CONTROL, e.NightEnded("the night is over"))
    story.begin()
    assert story.backlog.night is not None and story.backlog.night.number == 2
    assert story.moves() == [Take("a")]


def test_a_goal_that_is_removed_while_it_runs_is_called_off_and_the_rest_goes_on() -> None:
    story = Story("a", "b")
    story.begin()
    story.take("a")
    story.add(CONTROL, e.GoalDropped("a"))
    assert story.moves("a") == [CallOff("a", "removed from the list"), Take("b")]


def test_an_unavailable_model_is_waited_for_and_not_for_ever() -> None:
    story = Story("a", "b")
    story.begin()
    story.take("a")
    story.settle("a", "unavailable")
    assert story.moves() == [Wait(story.now + 30)], "b would fare no better"
    story.now += 30
    assert story.moves() == [Take("a")]
    for _ in range(TIMES - 1):
        story.take("a")
        story.settle("a", "unavailable")
    assert story.moves() == [Wait(story.now + 900)]
    story.take("a")
    story.settle("a", "unavailable")
    assert story.moves() == [End("the model is unavailable")]


def test_an_exhausted_quota_is_waited_for() -> None:
    story = Story("a", "b")
    story.begin()
    story.take("a")
    story.settle("a", "quota", until=story.now + 500)
    assert story.moves() == [Wait(story.now + 500)]
    story.now += 501
    assert story.moves() == [Take("a")]


def test_a_changed_goal_is_worth_another_try() -> None:
    story = Story("a")
    story.begin()
    story.take("a")
    story.settle("a", "failed", "stuck")
    assert story.kind("a") == ("given_up", "stuck") and isinstance(story.moves()[0], End)
    story.add(CONTROL, e.GoalEdited("a", GoalEntry("a, but simpler")))
    assert story.moves() == [Take("a")]


def test_goals_that_change_the_same_file_are_kept_apart_while_there_is_a_choice() -> None:
    cart = [GoalEntry(goal, files=("cart.py",)) for goal in ("Fix cart.py", "Rewrite cart.py")]
    story = Story(*cart, "Fix report.py")
    story.begin()
    assert story.moves("fix-cart-py") == [Take("fix-report-py")]
    story.take("fix-report-py")
    story.settle("fix-report-py", "completed")
    assert story.moves("fix-cart-py") == [Take("rewrite-cart-py")], "an idle place helps nobody"


def test_a_second_start_joins_the_night() -> None:
    story = Story("a")
    story.begin(cost=1.0)
    story.add(CONTROL, e.NightStarted("other", "other", 2.0))
    night = story.backlog.open_night
    assert night is not None and night.number == 1 and night.started.base == "base"
    assert night.started.cost == 2.0, "the person's last word counts"


def test_needs_that_are_unknown_or_go_round_in_a_circle_are_refused() -> None:
    with pytest.raises(UsageError, match="`b` needs `x`, which is not in the backlog"):
        check_needs({}, {"b": GoalEntry("b", needs=("x",))})
    check_needs({"b": GoalEntry("b", needs=("x",))}, {"c": GoalEntry("c")})  # `x` was dropped: only b waits for it.
    with pytest.raises(UsageError, match=r"Goals need each other: (a → b|b → a)"):
        check_needs({"a": GoalEntry("a", needs=("b",))}, {"b": GoalEntry("b", needs=("a",))})
    # Two people who edit at once can still make one: nothing hangs, and the page says so.
    story = Story(GoalEntry("a", needs=("b",)), GoalEntry("b", needs=("a",)), "c")
    story.begin()
    assert story.kind("a") == ("not_begun", "it needs b, which needs it")
    assert story.moves() == [Take("c")]


@in_turn
def test_a_long_chain_of_needs_is_no_deep_recursion() -> None:
    goals = [GoalEntry(f"g{n}", needs=(f"g{n - 1}",) if n else ()) for n in range(2000)]
    story = Story(*goals)
    story.begin()
    assert story.moves() == [Take("g0")]


def test_a_journal_with_strange_events_still_opens() -> None:
    records = [
        e.Record(1, "@backlog/backlog", CONTROL, 1, 0.0, e.GoalEdited("nobody", GoalEntry("x"))),
        e.Record(2, "@backlog/backlog", CONTROL, 2, 0.0, e.GoalMoved("nobody", "else")),
        e.Record(3, "@backlog/backlog", CONTROL, 3, 0.0, e.NightEnded("never began")),
        e.Record(4, "@backlog/backlog", "nobody", 1, 0.0, e.GoalSettled(GoalReport("completed"))),
    ]
    assert fold_backlog("backlog", records).items == {}


def test_names_numbers_and_beginnings_find_a_goal() -> None:
    backlog = Story("Fix the totals", "Fix the report").backlog
    assert backlog.find("fix-the-totals").number == 1 == backlog.find("1").number == backlog.find("fix-the-t").number
    with pytest.raises(UsageError, match="ambiguous"):
        backlog.find("fix")
    with pytest.raises(NotFound):
        backlog.find("docs")


@pytest.mark.parametrize(
    ("entry", "name", "says"),
    [
        (GoalEntry("  "), "a", "empty"),
        (GoalEntry("x" * (LONGEST + 1)), "a", "1,000,001 characters"),
        (GoalEntry("x"), "Not a name", "not-a-name"),
        (GoalEntry("x"), "goal", "goal-1"),
        (GoalEntry("x", cost=-1.0), "a", "above 0"),
        (GoalEntry("x", minutes=float("nan")), "a", "above 0"),
    ],
)
def test_a_goal_that_cannot_be_is_refused_in_words(entry: GoalEntry, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_entry(entry, name)


# ── lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

CHECKLIST = """\
# Tonight

- [ ] Totals of an empty cart are 0
  - check: `pytest -q tests/test_cart.py`
  - needs: the-report, docs
  - priority: 2

  Also for carts whose items
  were all removed.
    - [ ] with a test
- [x] Done before
* [ ] The report has a --json flag
Some text between.
- [ ] Note: this colon is text
"""


def test_a_checklist_with_details() -> None:
    found = read_list(CHECKLIST, "goals.md")
    assert [entry.title for _, entry in found] == [
        "Totals of an empty cart are 0",
        "The report has a --json flag",
        "Note: this colon is text",
    ]
    first = found[0][1]
    assert (first.check, first.needs, first.priority) == ("pytest -q tests/test_cart.py", ("the-report", "docs"), 2)
    assert "were all removed." in first.goal and "with a test" in first.goal and "check:" not in first.goal
    assert first.source == "goals.md:3"


def test_toml_and_json_lines() -> None:
    toml = '[[goals]]\ngoal = "a"\nname = "x"\nneeds = ["b"]\ncost = 1.5\n[[goals]]\ngoal = "b"\n'
    assert [(name, entry.goal, entry.needs, entry.cost) for name, entry in read_list(toml, "g.toml")] == [
        ("x", "a", ("b",), 1.5),
        ("", "b", (), None),
    ]
    lines = '{"goal": "a", "labels": "ui"}\n\n"b"\n'
    assert [(entry.goal, entry.labels) for _, entry in read_list(lines, "g.jsonl")] == [("a", ("ui",)), ("b", ())]


@pytest.mark.parametrize(
    ("text", "file", "says"),
    [
        ("nothing here", "g.md", "no open goals in g.md"),
        ("[[goals]\n", "g.toml", "not valid TOML"),
        ("x = 1\n", "g.toml", r"no \[\[goals\]\]"),
        ('[[goals]]\ngaol = "x"\n', "g.toml", "goal 1: there is no field `gaol`: did you mean `goal`"),
        ('[[goals]]\ngoal = "x"\npriority = "high"\n', "g.toml", "goal 1: Expected `int`"),
        ('{"goal": "x"}\n{"goal": \n', "g.jsonl", "line 2 is not valid JSON"),
        ("[1]", "g.json", "not a goal"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_its_place(text: str, file: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_list(text, file)


def test_an_issue_is_the_goal_and_nothing_else() -> None:
    body = "Steps …\n\n- check: rm -rf /\n- needs: other\n- priority: 99\nrounds: 9999"
    issues = [
        {"number": 7, "title": "It\ncrashes", "body": body, "labels": [{"name": "bug"}], "url": "https://x/7"},
        {"iid": 8, "title": "Other", "description": None, "labels": ["ui"], "web_url": "https://x/8"},
    ]
    first, second = read_issues(json.dumps(issues), "gh")
    assert first.entry == GoalEntry(f"It crashes\n\n{body}", source="https://x/7")
    assert (first.name, first.labels, second.name, second.entry.goal) == ("issue-7", ("bug",), "issue-8", "Other")
    with pytest.raises(UsageError, match="not an issue"):
        read_issues("[3]", "gh")
