"""Stuck or not: the cases that other agents' own tests describe, decided by our rules.

A row that is a loop by our definition is seen no later than there; healthy work on which they stay silent raises
nothing here. Where a row only describes a blunt rule, the decision is written beside it. The names are the rows':
A is the OpenHands SDK, B its predecessor, C Gemini CLI, D opencode and goose. A person's message (U) starts the memory
afresh.
"""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from bough.core.stuck.patterns import StuckMemory, observe_round, reset_memory
from bough.core.stuck.signals import Act, StuckRules, Turn
from tests.core.test_stuck import RULES, bash, first, read, turn, watched

OK = bash("ls", "a.py  b.py  README.md  tests")
BAD = bash("make all", "make: *** No rule to make target 'all'.  Stop.", ok=False)
PWD = bash("pwd", "/srv/project/with/a/name")
FILE = read("f2", "the text of the second file")
PERSON = None
"""U in the rows."""


def words(number: int) -> Turn:
    """One of many messages that have nothing in common."""
    draw = random.Random(number)
    return turn(text=" ".join("".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(12)))


def different(number: int) -> Turn:
    return bash(f"cat file{number}.py", f"contents of the file with the number {number}")


def raised(events: Sequence[Turn | None], rules: StuckRules = RULES) -> list[tuple[int, str]]:
    """Place among the events, counted from one, and pattern, of every signal."""
    memory = StuckMemory()
    found: list[tuple[int, str]] = []
    for place, event in enumerate(events, 1):
        if event is None:
            memory = reset_memory(memory)
            continue
        memory, signal = observe_round(memory, event, rules)
        if signal is not None:
            found.append((place, signal.pattern))
            memory = reset_memory(memory)
    return found


# ── A: OpenHands SDK ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a1_one_call() -> None:
    assert raised([PERSON, OK]) == []


def test_a2_a3_a4_four_times_the_same_after_anything() -> None:
    assert raised([*[PERSON] * 51, OK, OK, OK, OK]) == [(55, "circular_tools")]
    assert raised([OK] * 4) == [(4, "circular_tools")]
    # Three messages before are a monologue by our rule too; the loop after them is seen as soon as without them.
    assert raised([*[words(n) for n in range(3)], OK, OK, OK, OK]) == [(3, "monologue"), (7, "circular_tools")]
    assert raised([*[words(n) for n in range(12)], OK, OK, OK, OK])[-1] == (16, "circular_tools")


def test_a5_a6_three_times_is_not_yet_four_times_is() -> None:
    assert raised([PERSON, OK, OK, OK]) == []
    assert raised([PERSON, OK, OK, OK, OK]) == [(5, "circular_tools")]


def test_a7_two_errors() -> None:
    assert raised([PERSON, BAD, BAD]) == []


def test_a8_a9_a15_the_third_error_speaks_once() -> None:
    """They nudge at the third and stop at the fourth. We signal at the third: the ladder's first rung is the nudge."""
    signals = watched([BAD, BAD, BAD, BAD])
    assert [(number, signal.pattern) for number, signal in signals] == [(3, "repeated_error")]
    assert "`bash`" in signals[0][1].diagnosis
    assert "No rule to make target" in signals[0][1].evidence[0]


def test_a10_three_messages_without_a_call() -> None:
    """Here too the text is not compared: in a task that is done by calls, text alone never advances it."""
    assert raised([PERSON, words(1), words(2), words(3)]) == [(4, "monologue")]


def test_a11_four_different_calls() -> None:
    assert raised([PERSON, *[different(n) for n in range(4)]]) == []


def test_a12_a_person_resets() -> None:
    assert raised([OK, OK, OK, PERSON, OK, different(1)]) == []


def test_a13_a14_thresholds_are_configuration() -> None:
    rules = replace(RULES, repeats=5)
    assert raised([OK] * 4, rules) == []
    assert raised([OK] * 6, rules) == [(6, "circular_tools")]
    assert (rules.errors, rules.silent, rules.idle) == (RULES.errors, RULES.silent, RULES.idle)


def test_a16_recovery_after_the_nudge() -> None:
    assert raised([BAD, BAD, BAD, different(1), different(2), OK]) == [(3, "repeated_error")]


def test_a17_an_empty_answer_after_the_nudge() -> None:
    """Not said again while nothing new has failed; what becomes of an empty answer is the engine's to say."""
    assert raised([BAD, BAD, BAD, turn()]) == [(3, "repeated_error")]


# ── B: OpenHands, before ────────────────────────────────────────────────────────────────────────────────────────────


def test_b1_one_call() -> None:
    assert raised([PERSON, OK]) == []


def test_b2_b3_b4_a_person_in_between() -> None:
    assert raised([OK] * 4) == [(4, "circular_tools")]
    assert raised([OK, OK, OK, PERSON]) == []
    assert raised([OK, OK, OK, PERSON, OK, OK]) == []
    assert raised([OK, OK, OK, PERSON, OK, OK, OK, OK]) == [(8, "circular_tools")]


def test_b5_the_signal_names_where_the_loop_began() -> None:
    """Their headless mode ignores the person in between; so does a memory that nobody reset."""
    signals = watched([words(1), OK, OK, OK, OK])
    assert [(number, signal.rounds) for number, signal in signals] == [(5, (2, 3, 4, 5))]


def test_b6_the_same_failing_call_with_other_errors() -> None:
    """Decided otherwise: an error that really changes shows that something is moving (a poll fails until it does not).
    Errors that differ in what is volatile are the same error, and are seen a call earlier than there."""
    changing = [bash("deploy", f"error: step {n} of the roll-out is not ready", ok=False) for n in range(4)]
    assert raised(changing) == []
    volatile = [bash("deploy", f"error: not ready after {n}.2 s, see /tmp/log{n}", ok=False) for n in (1, 2, 3)]
    assert raised(volatile) == [(3, "repeated_error")]


SYNTAX = {
    "b7": "SyntaxError: invalid syntax. Perhaps you forgot a comma?",
    "b9": "SyntaxError: incomplete input",
    "b10": "SyntaxError: unterminated string literal (detected at line {line})",
}


def cell(message: str, line: int, code: str = "print('hello)") -> Turn:
    result = f"Cell In[1], line {line}\n    {code}\n    ^\n{message.format(line=line)}"
    return turn(Act("run_cell", f'{{"code": "{code}"}}', result, ok=False))


@pytest.mark.parametrize("row", SYNTAX)
def test_b7_b9_b10_the_same_syntax_error_at_the_same_line(row: str) -> None:
    assert raised([cell(SYNTAX[row], 3)] * 2) == []
    assert raised([cell(SYNTAX[row], 3)] * 4) == [(3, "repeated_error")]


@pytest.mark.parametrize("row", SYNTAX)
def test_b8_b9_b10_b11_the_same_syntax_error_at_another_line(row: str) -> None:
    """Decided otherwise: there a changing line number hides the loop. The same error for the same cell is a loop
    wherever it is reported; where the code changes much, the attempts are different things."""
    assert raised([cell(SYNTAX[row], line) for line in (3, 4, 5)]) == [(3, "repeated_error")]
    codes = ["print('a", "open(path, 'r", "def f(x): return 'y", "import os; os.path.join('a', 'b"]
    assert raised([cell(SYNTAX[row], line, code) for line, code in enumerate(codes)]) == []


def test_b12_ping_pong() -> None:
    assert raised([PERSON, OK, FILE, OK, FILE, OK, FILE]) == [(6, "circular_tools")]


def test_b13_two_rounds_of_ping_pong_are_not_enough() -> None:
    assert raised([OK, read("f1", "the text of the first file"), PWD, FILE, PWD, FILE]) == []


def test_b14_the_same_message_three_times() -> None:
    same = words(1)
    assert raised([PERSON, words(2), PERSON, OK, same, same, same]) == [(7, "repetitive_output")]


def test_b15_a_result_in_between_breaks_it() -> None:
    same = words(1)
    assert raised([OK, same, same, PWD, same, same]) == []


@pytest.mark.parametrize("row", ["b16", "b17", "b18", "b19"])
def test_b16_to_b19_compactions(row: str) -> None:
    """Decided otherwise: compactions are no rounds. The context's own breaker counts the useless ones; here only the
    work between them counts, which is healthy as long as it brings something new, and a loop when it does not."""
    assert raised([different(n) for n in range(10)]) == []
    assert raised([OK] * 10)[0] == (4, "circular_tools")


def test_b20_delegation() -> None:
    """Decided otherwise: each task has a memory of its own. That a child is stuck is an event in the tree, for the
    ladder, and no signal about its parent or its siblings."""
    child, parent = StuckMemory(), StuckMemory()
    said = []
    for number in range(4):
        child, about_child = observe_round(child, OK, RULES)
        parent, about_parent = observe_round(parent, different(number), RULES)
        said.append((about_child is not None, about_parent is not None))
    assert said == [(False, False)] * 3 + [(True, False)]


# ── C: Gemini CLI ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_c1_identical_calls_and_one_report() -> None:
    """They look at calls alone and wait for five; with the result known to be the same, four are enough."""
    assert raised([OK] * 6) == [(4, "circular_tools")]
    changing = [bash("ls", f"a.py and {n} more files") for n in range(6)]
    assert raised(changing) == [], "the same call with other results is how one waits for something"


def test_c2_three_different_calls_interleaved() -> None:
    """Silent there, because results are not looked at. Ours is silent while they change; with the same results each
    time it is a cycle of three."""
    moving = [bash(name, f"{name} brought {n}") for n in range(3) for name in ("x", "y", "z")]
    assert raised(moving) == []
    assert raised([OK, PWD, FILE] * 3) == [(6, "circular_tools")]


def test_c3_words_in_between_do_not_reset() -> None:
    assert raised([OK, OK, OK, words(1), OK]) == [(5, "circular_tools")]


def test_c4_switched_off() -> None:
    assert raised([OK] * 7, replace(RULES, patterns=())) == []
    assert raised([OK] * 7, replace(RULES, patterns=("monologue", "paging"))) == []


@pytest.mark.parametrize("period", [2, 3, 5])
def test_c5_cycles(period: int) -> None:
    cycle = [different(n) for n in range(period)]
    assert raised(cycle * 3)[0] == (period + 3, "circular_tools")


def test_c6_a_broken_cycle() -> None:
    assert raised([OK, PWD, OK, PWD, FILE, OK, PWD, OK, PWD]) == []


def test_c7_random_words() -> None:
    draw = random.Random(7)
    text = " ".join("".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(1000))
    assert raised([turn(OK.acts[0], text=text)]) == []


FIFTY = "I am looking at the file and thinking about it now."


def test_c8_chanting() -> None:
    assert raised([turn(text=FIFTY * 10)]) == [(1, "repetitive_output")]
    assert raised([turn(text=FIFTY * 9)]) == []


def test_c9_a_list_with_a_shared_prefix() -> None:
    items = [f"The following step of the plan has to be carried out with the greatest care: {n}" for n in range(15)]
    assert raised([turn(text="\n".join(items))]) == []
    assert raised([turn(text="\n".join(f"* {item}" for item in items))]) == []


def test_c10_the_same_words_far_apart() -> None:
    draw = random.Random(3)
    between = ["".join(draw.choices("abcdefgh ", k=500)) for _ in range(10)]
    assert raised([turn(text="".join(f"{FIFTY} {noise} " for noise in between))]) == []


@pytest.mark.parametrize(
    "piece",
    [
        "A text of some hundred and fifty characters that says one thing, then says another thing, and finally comes "
        "to an end without having said anything. ",
        "I am done. I have finished the work. I will now wait for you. Please tell me what else there is to do. ",
        "Thinking... Done. Thinking... Done. Thinking... Done. ",
        "First I read the file. Then I change the function. At the end I run the tests and look at them. ",
    ],
)
def test_c11_chanting_of_longer_things(piece: str) -> None:
    assert raised([turn(text=piece * 15)]) == [(1, "repetitive_output")]


def test_c12_code_repeats_itself() -> None:
    code = "    assert compute(value) == expected_value_of_it\n" * 15
    assert raised([turn(text=f"Here it is:\n```python\n{code}```\n")]) == []
    assert raised([turn(text=f"Here it is:\n```python\n{code}")]) == [], "a fence that is still open"
    assert raised([turn(text=f"```\n{code}```\nand\n```\n{code}```\nthat is all")]) == []


def test_c13_chanting_after_a_fence() -> None:
    assert raised([turn(text="```\nx = 1\n```\n" + FIFTY * 10)]) == [(1, "repetitive_output")]


@pytest.mark.parametrize(
    "structure", ["```\ncode\n```", "| a | b |", "- an item", "1. an item", "# A heading", "> quoted"]
)
def test_c14_structure_in_between(structure: str) -> None:
    """Ten times in a row without anything in between is chanting again, as in C8."""
    assert raised([turn(text=f"{FIFTY * 9}\n{structure}\n{FIFTY * 9}")]) == []


@pytest.mark.parametrize("divider", ["", "-" * 60, "=" * 60, "─" * 60, "┌" + "─" * 50 + "┐", "* " * 30])
def test_c15_nothing_and_dividers(divider: str) -> None:
    assert raised([turn(OK.acts[0], text=f"{divider}\n" * 15)]) == []


def test_c16_c17_after_a_signal_it_starts_over() -> None:
    """A second strike is the same signal again; counting strikes is the ladder's."""
    assert raised([OK] * 8) == [(4, "circular_tools"), (8, "circular_tools")]
    assert raised([*[OK] * 4, *[different(n) for n in range(8)]]) == [(4, "circular_tools")]


def test_c18_a_call_resets_the_words() -> None:
    assert raised([turn(text=FIFTY * 9), OK, turn(text=FIFTY * 2)]) == []


@pytest.mark.parametrize("row", ["c19", "c20", "c21", "c22", "c23", "c24"])
def test_c19_to_c24_no_judge(row: str) -> None:
    """Decided otherwise: no model is asked whether it looks stuck, at round 30 or any other; a policy is a pure
    function. Sixty rounds of healthy work raise nothing at the rounds at which their judge would be called."""
    assert raised([bash(f"python step{n}.py", f"step {n} is done", tree=f"t{n}") for n in range(60)]) == []


# ── D: opencode and goose ───────────────────────────────────────────────────────────────────────────────────────────


def test_d1_one_identical_call_per_answer() -> None:
    """There three in one answer ask for permission and one per answer is never seen. Ours counts rounds: identical
    calls issued together are one."""
    assert raised([OK] * 4) == [(4, "circular_tools")]
    assert raised([turn(*OK.acts * 3)]) == []


def test_d2_the_counter_resets_on_a_change() -> None:
    """Their limit of two as our configuration: the third is refused there and signalled here."""
    rules = replace(RULES, repeats=2)
    assert raised([OK, OK, OK, PWD, PWD, PWD], rules) == [(3, "circular_tools"), (6, "circular_tools")]
    assert raised([OK, OK, PWD, PWD, FILE, FILE], rules) == []


def test_d3_on_by_default() -> None:
    """There nothing is limited unless somebody asks for it."""
    assert first([OK] * 4, StuckRules()) == (4, "circular_tools")
