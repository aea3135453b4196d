"""The ablation's own parts: its functions, its model, its statistics; and one whole run with tiny numbers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import in_turn

BENCH = Path(__file__).parent.parent / "bench"
sys.path.insert(0, str(BENCH))

from fallible.catalogue import ITEMS, Item  # noqa: E402
from fallible.goals import goal, source  # noqa: E402
from fallible.mind import SPELLS, reply  # noqa: E402
from fallible.numbers import compared, mcnemar, paired_interval, wilson  # noqa: E402
from fallible.rates import Rates  # noqa: E402
from fallible.shown import read_request  # noqa: E402

Turn = tuple[str, dict[str, Any], str]
CAREFUL = Rates(wrong=0.0, breaks=0.0, early=0.0, stuck=0.0, bad_plan=0.0, bad_extract=0.0)
GOAL = goal(1, 1)
BRIEF = f"# Your task\n\n{GOAL.instructions}\n\n## What must be true at the end\n\n- {GOAL.criteria[0]}\n"
TOOLS = ("read", "write", "edit", "bash", "done", "note")


def request(*turns: Turn, brief: str = BRIEF, said: str = "", told: str = "") -> Any:
    """A conversation: calls with their results, then what the model said last and what it was told after that."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": brief}]
    for number, (tool, arguments, result) in enumerate(turns):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": str(number), "type": "function", "function": function}
        messages.append({"role": "assistant", "content": said or "so", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": result})
    if told:
        messages.append({"role": "user", "content": told})
    tools = [{"type": "function", "function": {"name": name}} for name in TOOLS]
    return read_request({"model": "fallible", "messages": messages, "tools": tools})


def holds(item: Item, body: str) -> bool:
    names: dict[str, Any] = {}
    exec(source({item: body}), names)
    try:
        return all(eval(f"{item.name}({given})", names) == eval(wanted) for given, wanted in item.cases)
    except (TypeError, ValueError, IndexError):
        return False


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.key)
def test_right_bodies_pass_their_cases_and_wrong_ones_do_not(item: Item) -> None:
    assert holds(item, item.right)
    assert not any(holds(item, body) for body in item.wrong)


def test_the_answer_depends_on_what_is_shown_and_not_on_paths_or_durations() -> None:
    one = request(("bash", {"command": "x unittest"}, "FAIL: test_a\n/tmp/one/x.py (exit status 1, 0.3 s)"))
    other = request(("bash", {"command": "x unittest"}, "FAIL: test_a\n/tmp/two/x.py (exit status 1, 1.7 s)"))
    third = request(("bash", {"command": "x unittest"}, "FAIL: test_b\n/tmp/two/x.py (exit status 1, 1.7 s)"))
    assert one.digest == other.digest != third.digest
    assert reply(one, Rates(), "1") == reply(other, Rates(), "1")


def test_a_careful_model_tests_reads_writes_and_is_done() -> None:
    first = GOAL.items[0]
    run: Turn = ("bash", {"command": GOAL.check}, f"ERROR: test_{first.name} (x)")
    shown = source({first: first.stub}) + "\n(end of the file: 3 lines)"
    look: Turn = ("read", {"path": f"{first.module}.py"}, shown)
    assert reply(request(), CAREFUL, "1").tool == "bash"
    assert reply(request(run), CAREFUL, "1").tool == "read"
    written = reply(request(run, look), CAREFUL, "1")
    assert written.tool == "write"
    assert first.right.splitlines()[0] in json.loads(written.arguments)["content"]
    passed: Turn = ("bash", {"command": GOAL.check}, "OK")
    assert reply(request(run, passed), CAREFUL, "1").tool == "done"


def test_a_spell_lasts_until_it_is_named() -> None:
    turn: Turn = ("read", {"path": "x.py"}, "…")
    stuck = Rates(stays=1.0, heeds=1.0, stuck=0.0, early=0.0)
    assert reply(request(turn, said=SPELLS["repeat"]), stuck, "1").text == SPELLS["repeat"]
    told = "bough watches the work, and it seems to be stuck: `read` is called again."
    assert reply(request(turn, said=SPELLS["repeat"], told=told), stuck, "1").text not in SPELLS.values()


def test_more_context_makes_more_mistakes_where_the_rates_say_so() -> None:
    first = GOAL.items[0]
    run: Turn = ("bash", {"command": GOAL.check}, f"ERROR: test_{first.name} (x)")
    foggy = Rates(wrong=0.0, wrong_fog=1.0, early=0.0, stuck=0.0)

    def right(padding: int) -> int:
        shown = source({first: first.stub}) + "\n(end of the file: 3 lines)"
        turns: tuple[Turn, ...] = (run, ("read", {"path": f"{first.module}.py"}, shown), ("list", {}, "x" * padding))
        answers = [reply(request(*turns), foggy, str(seed)) for seed in range(20)]
        return sum(first.right.splitlines()[-1] in json.loads(a.arguments)["content"] for a in answers)

    assert (right(0), right(60_000)) == (20, 0)


def test_intervals_and_tests_have_their_known_values() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 10)[0] == 0.0
    assert [round(end, 3) for end in paired_interval(0, 0, 30)] == [-0.087, 0.087]
    assert mcnemar(0, 6) == pytest.approx(0.03125)
    assert mcnemar(3, 3) == 1.0


def test_a_mechanism_that_does_not_help_is_seen() -> None:
    half = [(number % 2 == 0, 20) for number in range(40)]
    assert compared(half, half).says == "no effect (within 10 points)"
    assert compared(half[:10], half[:10]).says == "not shown"
    assert compared(half, [(True, 20)] * 40).says == "more"
    assert compared([(True, 20)] * 40, half).says == "FEWER"
    assert compared(half[:6], [(True, 20)] * 6).says == "not shown"


@in_turn
def test_a_whole_run(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    command = [sys.executable, str(BENCH / "ablation.py"), "--goals", "1", "--seed", "3", "--rounds", "40"]
    command += ["--only", "flat,ladder", "--settings", "steady", "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(kept.read_text())
    assert {result["arm"] for result in results} == {"flat", "ladder"}
    assert all(0 < result["rounds"] <= 40 and result["rightly"] for result in results)
    # The model reads results and briefs by their words: where bough says them otherwise, it never completes anything.
    assert all(result["completed"] for result in results), results
    assert "| flat → ladder |" in done.stdout
