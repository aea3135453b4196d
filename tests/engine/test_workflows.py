"""What written plans promise, seen from outside: conditions, passes, states, commands, failures."""

import asyncio
import itertools
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.testing import ScriptedModel, call
from bough.views.details import Point
from tests.engine.workflow_runs import NOBODY, by_task, carried, done, plan, repository, resumed
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "p", {"a.py": "x = 1\n"})


STEPS = """
requires_testing = false
[[steps]]
name = "one"
action = {{ run = "echo first" }}
[[steps]]
name = "two"
{two}
[[steps]]
name = "three"
action = {{ run = "printf %s {{steps.one.result}} > out.txt" }}
"""


def test_a_step_is_left_out_for_a_reason(project: Path) -> None:
    run = carried(project, STEPS.format(two='action = { run = "false" }\ncondition = "contains:second"'), NOBODY)
    assert run.outcome.completed
    assert run.states == {"goal": "completed", "one": "completed", "two": "skipped", "three": "completed"}
    assert run.why("two") == "its condition does not hold: contains:second"
    assert run.text("out.txt") == "first"
    assert run.settled("two")[0].why == run.why("two")


@pytest.mark.parametrize("parallel", ["", "parallel = true\n"])
def test_a_failing_step_fails_its_parent(project: Path, parallel: str) -> None:
    toml = f"""
requires_testing = false
[[steps]]
name = "outer"
requires_testing = false
{parallel}
[[steps.steps]]
name = "good"
action = {{ run = "echo good > good.txt" }}
[[steps.steps]]
name = "bad"
action = {{ run = "echo why not; exit 3" }}
[[steps]]
name = "later"
action = {{ run = "touch later" }}
"""
    run = carried(project, toml, NOBODY)
    assert (run.outcome.status, run.outcome.exit_status) == ("failed", 3)
    states = run.states
    assert (states["outer"], states["outer/bad"], states["later"]) == ("failed", "failed", "pending")
    assert "its step bad failed: its command ended with exit status 3: why not" in run.why("outer")
    assert run.text("a.py") == "x = 1\n"


def test_a_retry_of_the_compound_does_not_swallow_a_failing_child(project: Path) -> None:
    toml = """
requires_testing = false
[[steps]]
name = "outer"
requires_testing = false
on_error = "retry"
max_retries = 2
[[steps.steps]]
name = "first"
action = { run = "true" }
[[steps.steps]]
name = "bad"
action = { run = "false" }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.status == "failed"
    outer = [path for path in run.states if path.startswith("outer") and "/" not in path]
    assert outer == ["outer", "outer@2", "outer@3"]
    assert {run.states[path] for path in outer} == {"failed"}
    assert run.states["outer@3/bad"] == "failed"


def test_a_retry_waits_longer_each_time(project: Path) -> None:
    toml = """
requires_testing = false
[[steps]]
name = "flaky"
action = { run = "false" }
on_error = "retry"
max_retries = 3
retry = { wait = 0.05, growth = 2 }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.status == "failed"
    started = [r.at for r in run.journal.records if isinstance(r.event, e.CommandStarted)]
    waits = [later - before for before, later in itertools.pairwise(started)]
    assert len(started) == 4
    assert waits[0] >= 0.05 and waits[1] >= 0.1 and waits[2] >= 0.2


def test_what_may_fail_is_gone_on_without(project: Path) -> None:
    toml = """
requires_testing = false
parallel = true
[[steps]]
name = "shaky"
action = { run = "exit 1" }
on_error = "skip"
[[steps]]
name = "mourns"
needs = ["shaky"]
condition = "shaky.failure"
action = { run = "echo mourned" }
[[steps]]
name = "cheers"
needs = ["shaky"]
condition = "shaky.success"
action = { run = "echo cheered" }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.completed
    assert run.states == {"goal": "completed", "shaky": "failed", "mourns": "completed", "cheers": "skipped"}


def test_passes_until_a_condition(project: Path) -> None:
    toml = """
requires_testing = false
[[steps]]
name = "loop"
requires_testing = false
repeat = 5
until = "count.contains:3"
[[steps.steps]]
name = "count"
action = { run = "echo x >> n.txt; wc -l < n.txt" }
[[steps]]
name = "after"
action = { run = "echo {steps.loop/count.result}" }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.completed
    assert [event.number for event in run.journal.of(e.PassEnded)] == [1, 2]
    assert [path for path in run.states if path.startswith("loop/")] == ["loop/count", "loop/count@2", "loop/count@3"]
    assert run.settled("after")[0].result == "3"
    assert any("after 3 of 5 passes, count.contains:3 holds" in event.why for event in run.journal.of(e.StateChanged))
    loop = next(task for task in run.outcome.tree if task.path == "loop")
    assert (loop.passes, loop.repeat) == (3, 5)


@in_turn
def test_break_and_continue(project: Path) -> None:
    toml = """
requires_testing = false
[[steps]]
name = "loop"
requires_testing = false
repeat = 6
[[steps.steps]]
name = "count"
action = { run = "echo x >> n.txt; wc -l < n.txt" }
[[steps.steps]]
name = "inner"
requires_testing = false
[[steps.steps.steps]]
name = "odd"
action = { run = "echo {steps.count.result}" }
[[steps.steps.steps]]
name = "enough"
condition = "odd.contains:4"
do = "break"
[[steps.steps.steps]]
name = "next"
condition = "not odd.contains:3"
do = "continue"
[[steps.steps.steps]]
name = "only-three"
action = { run = "echo three >> three.txt" }
[[steps.steps]]
name = "last"
action = { run = "echo end >> ends.txt" }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.completed
    assert run.text("n.txt") == "x\n" * 4
    assert run.text("three.txt") == "three\n", "the others were left by `continue`"
    assert run.text("ends.txt") == "end\n", "the compound around was left too"
    assert [event.why for event in run.settled("last") if event.state == "skipped"] == [
        "`inner` begins the next pass",
        "`inner` begins the next pass",
        "`inner` leaves the loop",
    ]


MACHINE = """
requires_testing = false
start = "draft"
max_transitions = {limit}
[[states]]
name = "draft"
action = {{ run = "echo x >> n.txt; wc -l < n.txt" }}
transitions = [
    {{ on = "contains:3", to = "publish" }},
    {{ on = "empty", to = "never" }},
    {{ to = "review" }},
]
[[states]]
name = "review"
action = {{ run = "exit 1" }}
transitions = [{{ on = "failure", to = "draft" }}]
[[states]]
name = "publish"
action = {{ run = "echo published" }}
transitions = [{{ to = "end" }}]
[[states]]
name = "never"
action = {{ run = "false" }}
transitions = [{{ to = "never-too" }}]
[[states]]
name = "never-too"
action = {{ run = "false" }}
transitions = [{{ to = "never" }}]
"""


def machine(limit: int) -> str:
    return MACHINE.format(limit=limit)


def test_states_go_by_their_transitions(project: Path) -> None:
    run = carried(project, machine(12), NOBODY)
    assert run.outcome.completed
    taken = [f"{event.state}-{event.to}" for event in run.journal.of(e.TransitionTaken)]
    assert taken == ["draft-review", "review-draft", "draft-review", "review-draft", "draft-publish"]
    assert run.states["never"] == "skipped" and "ended at `publish`" in run.why("never")


def test_a_machine_that_goes_round_fails(project: Path) -> None:
    run = carried(project, machine(3), NOBODY)
    assert run.outcome.status == "failed"
    assert "the limit of 3 transitions is reached" in run.outcome.summary


def test_a_failure_that_no_transition_takes_up_fails(project: Path) -> None:
    run = carried(project, machine(12).replace('on = "failure"', 'on = "success"'), NOBODY)
    assert run.outcome.status == "failed" and "no transition handles it" in run.outcome.summary


def test_any_one_is_enough(project: Path) -> None:
    toml = """
requires_testing = false
parallel = true
join = "any"
[[steps]]
name = "quick"
action = { run = "echo quick > who.txt" }
[[steps]]
name = "slow"
action = { run = "sleep 30; echo slow > who.txt" }
[[steps]]
name = "later"
needs = ["slow"]
action = { run = "true" }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.completed
    assert run.states == {"goal": "completed", "quick": "completed", "slow": "cancelled", "later": "skipped"}
    assert run.text("who.txt") == "quick\n"


SHOW = """python3 -c 'import sys; open(sys.argv[1], "w").write(repr(sys.argv[2:]))'"""
NASTY = "a b'c\"d\n$(touch pwned) `id` ; rm -rf x | & > < * \\ ü {x} --"


def test_an_input_reaches_a_command_as_one_argument(project: Path) -> None:
    toml = f"""
requires_testing = false
[inputs]
text = {{}}
[[steps]]
name = "direct"
action = {{ run = \'\'\'{SHOW} direct {{text}}\'\'\' }}
[[steps]]
name = "shell"
action = {{ run = \'\'\'{SHOW} shell {{text}} x{{text}} && true\'\'\' }}
[[steps]]
name = "say"
action = {{ run = "printf %s {{text}}" }}
[[steps]]
name = "result"
action = {{ run = \'\'\'{SHOW} result {{steps.say.result}}\'\'\' }}
"""
    run = carried(project, plan(project, toml, text=NASTY), NOBODY)
    assert run.outcome.completed, run.outcome.summary
    assert run.text("direct") == repr([NASTY])
    assert run.text("shell") == repr([NASTY, f"x{NASTY}"])
    assert run.text("result") == repr([NASTY])
    assert "pwned" not in run.outcome.tree[0].files


@in_turn
def test_a_check_is_a_step(project: Path) -> None:
    test = "def test_x():\n    from a import x\n    assert x == {n}\n"
    (project / "test_a.py").write_text(test.format(n=1))
    toml = """
requires_testing = false
[[steps]]
name = "proof"
action = { check = "python3 -m pytest -q -p no:cacheprovider test_a.py" }
[[steps]]
name = "after"
action = { run = "echo {steps.proof.result}" }
"""
    run = carried(project, toml, NOBODY)
    assert run.outcome.completed
    proof = next(task for task in run.outcome.tree if task.path == "proof")
    assert proof.verdict is not None and proof.verdict.passed == 1
    (project / "test_a.py").write_text(test.format(n=2))
    run = carried(project, toml, NOBODY)
    assert run.outcome.status == "failed" and run.states["proof"] == "failed"
    assert not run.journal.of(e.AttemptStarted), "nobody repairs a step that is only a check"


# ── taken over from earlier runs ────────────────────────────────────────────────────────────────────────────────────

CHAIN = """
requires_testing = false
[inputs]
word = {}
[[steps]]
name = "first"
action = "Write one."
test_command = "test -e one"
[[steps]]
name = "second"
action = "Write {word}."
test_command = "test -e two"
[[steps]]
name = "third"
action = "Look at: {steps.second.result}"
requires_testing = false
"""


def chain() -> ScriptedModel:
    return by_task(
        {
            "first": [call("write", path="one", content="1"), done("one is there")],
            "second": [call("write", path="two", content="2"), done("two is there")],
            "third": done("seen"),
        }
    )


@in_turn
def test_what_has_not_changed_is_not_done_again(project: Path) -> None:
    first = carried(project, plan(project, CHAIN, word="two"), chain())
    assert first.outcome.completed and first.outcome.spend.rounds == 5
    same = carried(project, plan(project, CHAIN, word="two"), NOBODY)
    assert same.outcome.completed and same.outcome.spend.rounds == 0
    assert same.text("one") == "1" and same.text("two") == "2"
    assert [task.source for task in same.outcome.tree[1:]] == [
        f"{first.outcome.run}/{name}" for name in ("first", "second", "third")
    ]
    assert f"unchanged since {first.outcome.run}" in same.why("second")
    other = carried(project, plan(project, CHAIN, word="deux"), chain())
    assert [task.path for task in other.outcome.tree if task.source] == ["first", "third"], "only an input has changed"
    (project / "a.py").write_text("x = 2\n")
    moved = carried(project, plan(project, CHAIN, word="two"), chain())
    assert not any(task.source for task in moved.outcome.tree), "the files have changed"
    fresh = carried(project, plan(project, CHAIN, word="two"), chain(), fresh=True)
    assert not any(task.source for task in fresh.outcome.tree)


# ── budgets, stops, rewinding ───────────────────────────────────────────────────────────────────────────────────────


@in_turn
def test_the_budget_holds_and_can_be_raised(project: Path) -> None:
    run = carried(project, plan(project, CHAIN, word="two"), chain(), rounds=3)
    assert (run.outcome.status, run.outcome.exit_status) == ("budget", 4)
    assert run.outcome.spend.rounds <= 3
    again = resumed(project, chain(), rounds=20)
    assert again.outcome.completed
    assert again.states == dict.fromkeys(("goal", "first", "second", "third"), "completed")


@in_turn
@pytest.mark.parametrize(("task", "to"), [("goal", 1), ("second", 1), ("second", 0)])
def test_a_run_can_be_rewound(project: Path, task: str, to: int) -> None:
    carried(project, plan(project, CHAIN, word="two"), chain())
    rewound = asyncio.run(taken_back(project, task, to))
    assert rewound.tree != ""
    model = by_task(
        {
            "second": [call("write", path="two", content="zwei"), done("two again")],
            "third": done("seen again"),
        }
    )
    again = resumed(project, model)
    assert again.outcome.completed, again.outcome.summary
    assert {prompt.key.partition("#")[0] for prompt in model.prompts} == {"second", "third"}
    assert again.text("one") == "1"
    assert again.text("two") == ("2" if (task, to) == ("second", 1) else "zwei")
    assert again.states == dict.fromkeys(("goal", "first", "second", "third"), "completed")
    assert again.outcome.spend.rounds > 5, "what it cost still counts"


async def taken_back(folder: Path, task: str, to: int) -> Point:
    async with app.open_session(folder) as session:
        return await session.rewind(await session.find(None), to, task)
