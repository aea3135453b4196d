"""The stuck detector: every pattern is seen, healthy work raises nothing, a late round costs what an early one does."""

import importlib.util
import json
import lzma
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bough.core.stuck.marks import (
    count_repetitions,
    find_trouble,
    is_transient,
    mask_numbers,
    mask_text,
    measure_likeness,
    sketch_text,
)
from bough.core.stuck.patterns import StuckMemory, observe_round, reset_memory
from bough.core.stuck.signals import PATTERNS, Act, Signal, StuckRules, Turn
from tests.sampling import in_turn

RULES = StuckRules()


def turn(*acts: Act, text: str = "") -> Turn:
    return Turn(text, acts)


def read(path: str, result: str = "the whole text of this file") -> Turn:
    return turn(Act("read", json.dumps({"path": path}), result))


def bash(command: str, result: str, ok: bool = True, tree: str = "") -> Turn:
    return turn(Act("bash", json.dumps({"command": command}), result, ok, writes=True, tree=tree))


def edit(path: str, old: str, new: str, result: str = "", ok: bool = True, tree: str = "") -> Turn:
    arguments = json.dumps({"path": path, "old": old, "new": new})
    return turn(Act("edit", arguments, result or f"`{path}` was changed.", ok, writes=True, tree=tree))


def watched(turns: Iterable[Turn], rules: StuckRules = RULES) -> list[tuple[int, Signal]]:
    """The signals of a run and the rounds they came in. After each one the memory is reset, as in the engine."""
    memory, signals = StuckMemory(), []
    for number, one in enumerate(turns, 1):
        memory, signal = observe_round(memory, one, rules)
        assert memory.round == number
        if signal is not None:
            signals.append((number, signal))
            memory = reset_memory(memory)
    return signals


def first(turns: Iterable[Turn], rules: StuckRules = RULES) -> tuple[int, str]:
    """The round and the pattern of the first signal; (0, …) would be none."""
    signals = watched(turns, rules)
    assert signals, "no signal was raised"
    return signals[0][0], signals[0][1].pattern


# ── each pattern ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_call_with_the_same_result_is_circular() -> None:
    signals = watched([read("a.py")] * 4)
    assert len(signals) == 1
    number, signal = signals[0]
    assert number == 4, "three wasted rounds, not more"
    assert (signal.pattern, signal.confidence, signal.recommended) == ("circular_tools", 0.85, "prune")
    assert signal.rounds == (1, 2, 3, 4)
    assert "`read`" in signal.diagnosis
    assert signal.evidence == ('read {"path": "a.py"} → the whole text of this file',)


@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_of_calls_is_circular(period: int) -> None:
    cycle = [read(f"{name}.py", f"the contents of {name}") for name in "abcde"[:period]]
    assert first(cycle * 3) == (period + 3, "circular_tools")


def test_a_longer_round_robin_of_known_things_is_no_progress() -> None:
    files = [read(f"{name}.py", f"the contents of {name}") for name in "abcdefg"]
    assert first(files * 2) == (12, "no_progress")


def test_reworded_reasoning_does_not_hide_a_loop() -> None:
    act = Act("bash", '{"command": "ls"}', "a.py  b.py  tests")
    thoughts = ["Let me see.", "I should look at the files first.", "What is here?", "Once more, carefully."]
    assert first([turn(act, text=text) for text in thoughts]) == (4, "circular_tools")


def test_calls_issued_together_are_one_round() -> None:
    both = turn(Act("read", '{"path": "a"}', "first file"), Act("read", '{"path": "b"}', "second file"))
    assert first([both] * 6) == (4, "circular_tools")
    news = [
        turn(Act("read", '{"path": "a"}', "first file"), Act("read", f'{{"path": "{n}"}}', f"file {n}"))
        for n in "bcdefgh"
    ]
    assert watched(news) == [], "one of the calls brought something new each time"


def test_nearly_the_same_call_with_the_very_same_result_is_no_progress() -> None:
    def search(limit: int) -> Turn:
        arguments = {"pattern": "def parse", "path": "src/app/reader.py", "limit": limit}
        shown = "src/app/reader.py:10: def parse(text: str) -> Tree:"
        return turn(Act("search", json.dumps(arguments), shown, tree="T"))

    assert first([search(10 + n) for n in range(8)]) == (6, "no_progress")


@pytest.mark.parametrize("say", ["the same arguments", "different arguments"])
def test_the_same_error_again_and_again(say: str) -> None:
    def attempt(number: int) -> Turn:
        new = "x = 1" if say == "the same arguments" else f"x = compute_value({number})"
        return edit("app.py", "y = load(path)", new, "The text in `old` was not found in `app.py`.", ok=False)

    signals = watched([attempt(n) for n in range(6)])
    number, signal = signals[0]
    assert number == (3 if say == "the same arguments" else 4)
    assert (signal.pattern, signal.recommended) == ("repeated_error", "other_approach")
    assert say in signal.diagnosis


def test_the_same_error_in_other_words_around_it() -> None:
    """Line numbers, times and code that was tried differ; the error does not."""
    turns = [
        bash(
            f"python build.py --level {n}",
            f'  File "/tmp/run{n}/build.py", line {n + 7}\nModuleNotFoundError: no module named lxml\ntook {n}.3 s',
            ok=False,
        )
        for n in range(5)
    ]
    assert first(turns) == (4, "repeated_error")


def test_the_same_error_whatever_was_tried_in_between() -> None:
    turns = []
    for n in range(6):
        turns.append(edit("app.py", f"a{n}", f"b{n}", tree=f"tree{n}"))
        turns.append(bash("pytest -q", "E   KeyError: 'total'\n1 failed", ok=False, tree=f"tree{n}"))
    number, pattern = first(turns)
    assert (number, pattern) == (8, "repeated_error"), "the fourth time, each after another change"


def test_words_without_a_call_are_a_monologue() -> None:
    texts = ["I will now fix the parser.", "First let me think about tokens.", "The design needs care."]
    signals = watched([turn(text=text) for text in texts])
    assert [(n, s.pattern, s.recommended) for n, s in signals] == [(3, "monologue", "nudge")]
    assert signals[0][1].evidence == ("The design needs care.",)


def test_the_same_words_without_a_call_are_repetitive() -> None:
    signals = watched([turn(text="The task is complete; all tests pass and nothing is left to do.")] * 3)
    assert [(n, s.pattern, s.recommended) for n, s in signals] == [(3, "repetitive_output", "prune")]


def test_a_call_ends_a_monologue() -> None:
    talk, work = turn(text="Let me think about it."), read("a.py")
    assert watched([talk, talk, work, talk, talk]) == []


def test_an_answer_that_chants_is_repetitive() -> None:
    assert first([turn(text="I will check the file again to be sure that it is right. " * 12)]) == (
        1,
        "repetitive_output",
    )


def test_a_workspace_that_goes_back_and_forth() -> None:
    turns = [edit("a.py", f"o{n}", f"n{n}", tree="AB"[n % 2]) for n in range(8)]
    signals = watched(turns)
    assert (signals[0][0], signals[0][1].pattern) == (5, "oscillation")
    assert signals[0][1].rounds == (3, 4, 5)


def test_one_undo_and_one_more_try_is_not_oscillation() -> None:
    assert watched([edit("a.py", f"o{n}", f"n{n}", tree=tree) for n, tree in enumerate("ABACDCE")]) == []


def test_nothing_changed_and_nothing_new_was_read() -> None:
    """Different calls with results that are known already, and a workspace that is known to stand still."""
    turns = [bash("ls", "a.py b.py c.py docs", tree="T")]
    turns += [bash(f"ls -{flag}", "a.py b.py c.py docs", tree="T") for flag in "aAbBcC"]
    number, signal = watched(turns)[0]
    assert (number, signal.pattern, signal.recommended) == (6, "no_progress", "decompose")
    assert signal.rounds == (2, 3, 4, 5, 6)


def test_read_after_read_without_use_is_paging() -> None:
    pages = [turn(Act("read", json.dumps({"path": "log.txt", "offset": n * 100}), f"page {n}")) for n in range(20)]
    number, signal = watched(pages)[0]
    assert (number, signal.pattern, signal.confidence, signal.recommended) == (RULES.looks, "paging", 0.7, "nudge")


def test_a_signal_can_be_raised_again() -> None:
    assert [(n, s.rounds) for n, s in watched([read("a.py")] * 8)] == [(4, (1, 2, 3, 4)), (8, (5, 6, 7, 8))]


# ── healthy work ────────────────────────────────────────────────────────────────────────────────────────────────────


def healthy() -> dict[str, list[Turn]]:
    edits = [edit("app.py", f"line {n}", f"better line {n}", tree=f"t{n}") for n in range(30)]
    results = [f"{30 - n} failed, {n} passed in 0.{n}s" for n in range(30)]
    tests = [bash("pytest -q", result, ok=False, tree=f"t{n}") for n, result in enumerate(results)]
    pages = [turn(Act("read", json.dumps({"path": "big.py", "offset": n * 200}), f"lines from {n}")) for n in range(9)]
    scores = [bash("python evaluate.py", f"score: 0.{n}71", tree=f"t{n}") for n in range(30)]
    return {
        "edit and run again with different results": [one for pair in zip(edits, tests, strict=True) for one in pair],
        "edit and look at the score": [one for pair in zip(edits, scores, strict=True) for one in pair],
        "paging through a long file to use it": [*pages, edits[0], *pages[:3], edits[1], *pages[6:], edits[2]],
        "a build that is getting on": [
            bash("tail -1 build.log", f"[{n}%] Building CXX object") for n in range(0, 100, 5)
        ],
        "a download that is getting on": [bash("tail -1 get.log", f"{n}.5 MB of 90.0 MB") for n in range(30)],
        "a job's log": [bash("tail -2 train.log", f"epoch {n} loss 0.4{n}") for n in range(20)],
        "a service that is not to be had": [
            turn(Act("fetch", '{"url": "https://a.example"}', "HTTP 429: Too Many Requests", ok=False))
            for _ in range(12)
        ],
        "looking for something that is not there": [
            bash(f"grep -rn handle_{name} src", "(no output, exit status 1)", ok=False)
            for name in ("parse", "write", "flush", "close")
        ],
        "missing modules, one after the other": [
            bash(f"pip install {name} && python app.py", f"ModuleNotFoundError: No module named '{then}'", ok=False)
            for name, then in zip("abcdefg", "bcdefgh", strict=True)
        ],
        "tuning by small edits": [
            edit("conf.py", f"rate = 0.{n}", f"rate = 0.{n + 1}", "`conf.py` was changed in 1 place.")
            for n in range(20)
        ],
        "checking, twice": [bash("git status --short", " M app.py"), bash("git status --short", " M app.py")],
    }


@pytest.mark.parametrize("name", healthy())
def test_healthy_work_raises_nothing(name: str) -> None:
    assert watched(healthy()[name]) == []


def test_a_failing_test_about_rate_limits_is_not_a_failure_in_transit() -> None:
    report = "FAILED tests/test_client.py::test_retry - RateLimitError: 429 Too Many Requests\n" + "context line\n" * 60
    assert not is_transient(report)
    assert first([bash("pytest -q", report, ok=False)] * 4) == (3, "repeated_error")


# ── what is masked ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("done in 1.23s", "done in 45.6s"),
        ("took 3 seconds", "took 11 seconds"),
        ("at 2024-05-01T10:11:12Z ok", "at 2025-06-02T01:02:03Z ok"),
        ("[10:11:12.123] ready", "[23:59:59.001] ready"),
        ("<Thing at 0x7f3a2b1c>", "<Thing at 0x7e00ffd0>"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-1111-2222-3333-444444444444"),
        ("commit 1a2b3c4d", "commit 9f8e7d6c5b4a"),
        ("wrote /tmp/pytest-of-x/pytest-3/out.txt", "wrote /tmp/pytest-of-x/pytest-4/out.txt"),
        ("pid 4711 exited", "pid 42 exited"),
        ("\x1b[31mred\x1b[0m  text", "red text"),
    ],
)
def test_volatile_text_is_masked(one: str, other: str) -> None:
    assert mask_text(one) == mask_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 failed", "2 failed"),
        ("epoch 3", "epoch 4"),
        ("[40%] built", "[60%] built"),
        ("12.5% done", "13.5% done"),
        ("3.1 MB", "4.1 MB"),
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("facade", "decade"),
    ],
)
def test_what_tells_results_apart_is_not_masked(one: str, other: str) -> None:
    assert mask_text(one) != mask_text(other)


def test_an_error_is_known_again_by_the_lines_that_say_so() -> None:
    one = find_trouble("collecting\napp.py:12: error: bad type\nnote: see line 4\n1 error in 2.1s")
    other = find_trouble("collecting more\napp.py:99: error: bad type\n1 error in 0.4s")
    assert one == other
    assert find_trouble("app.py:12: error: bad name") != one
    assert find_trouble("it broke\n") == ("it broke",), "no line says so: the last ones speak"
    assert mask_numbers("undefined name 'a' at 3") == mask_numbers("undefined name 'b' at 4")


def test_likeness_is_measured_on_words_in_their_order() -> None:
    text = "def parse(text):\n    return [line.split() for line in text.splitlines() if line]"
    assert measure_likeness(sketch_text(text), sketch_text(text)) == 1
    assert measure_likeness(sketch_text(text), sketch_text(text.replace("split()", "strip()"))) > 0.7
    assert measure_likeness(sketch_text(text), sketch_text("SELECT name FROM people WHERE age > 3")) < 0.2
    assert measure_likeness(sketch_text(""), sketch_text(text)) == 0


def test_code_lists_and_rules_do_not_chant() -> None:
    piece = "this is a sentence of about fifty characters, yes. "
    assert count_repetitions(piece * 12) == 12
    assert count_repetitions("```\n" + piece * 12 + "\n```") == 0
    assert count_repetitions("─" * 900) == 0
    assert (
        count_repetitions(
            "".join(f"- a rather long prefix that every item of this list shares, then {n}\n" for n in range(20))
        )
        < 3
    )


# ── configuration, bounds, encoding ─────────────────────────────────────────────────────────────────────────────────


def test_patterns_can_be_switched_off() -> None:
    for pattern in PATTERNS:
        only = replace(RULES, patterns=(pattern,))
        assert {s.pattern for _, s in watched([read("a.py")] * 40, only)} <= {pattern}
    assert watched([read("a.py")] * 40, replace(RULES, patterns=())) == []


def test_thresholds_are_configuration() -> None:
    assert first([read("a.py")] * 9, replace(RULES, repeats=5)) == (6, "circular_tools")
    assert first([turn(text=f"thought {n} {'x' * n}") for n in range(9)], replace(RULES, silent=5)) == (5, "monologue")
    assert first([bash("x", "error: it is broken beyond repair", ok=False)] * 9, replace(RULES, errors=2))[0] == 2


def test_rules_and_signals_survive_json() -> None:
    rules = replace(RULES, patterns=("paging",), window=4)
    assert msgspec.json.decode(msgspec.json.encode(rules), type=StuckRules) == rules
    _, signal = watched([read("a.py")] * 4)[0]
    assert msgspec.json.decode(msgspec.json.encode(signal), type=Signal) == signal
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"windows": 3}', type=StuckRules)


texts = st.text(alphabet=st.sampled_from("ab1.\n \\\"'é\ud800/0x:"), max_size=40)
acts = st.builds(
    Act,
    tool=st.sampled_from(["read", "bash", "edit"]),
    arguments=texts,
    result=texts,
    ok=st.booleans(),
    writes=st.booleans(),
    tree=st.sampled_from(["", "A", "B"]),
)
rounds = st.lists(st.builds(Turn, text=texts, acts=st.lists(acts, max_size=3).map(tuple)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(rounds)
def test_it_is_pure_and_its_memory_can_be_written_down(run: list[Turn]) -> None:
    memory = StuckMemory()
    for one in run:
        after, signal = observe_round(memory, one, RULES)
        restored = (
            msgspec.json.decode(msgspec.json.encode(memory), type=StuckMemory)
            if "\ud800" not in repr(memory)
            else memory
        )
        assert restored == memory
        assert observe_round(restored, one, RULES) == (after, signal)
        if signal is not None:
            assert signal.rounds == tuple(sorted(set(signal.rounds)))
            assert 1 <= signal.rounds[0] <= signal.rounds[-1] <= after.round
        memory = after


def busy(number: int) -> Turn:
    result = "\n".join(f"src/module_{number}_{line}.py:{line}: finding number {line} of {number}" for line in range(60))
    return turn(*(Act("search", json.dumps({"pattern": f"p{number}{n}"}), result, writes=n == 1) for n in range(3)))


@in_turn
def test_a_round_costs_the_same_at_400_as_at_10() -> None:
    memory, sizes, seconds = StuckMemory(), [], []
    for number in range(1, 401):
        one = busy(number)
        started = time.thread_time()
        memory, signal = observe_round(memory, one, RULES)
        seconds.append(time.thread_time() - started)
        sizes.append(len(msgspec.msgpack.encode(memory)))
        assert signal is None
    assert max(sizes[300:]) <= max(sizes[30:60]) * 1.1, "the memory is bounded"
    assert max(sizes) < 60_000
    early, late = sorted(seconds[20:60])[20], sorted(seconds[360:])[20]
    assert late < early * 3 + 0.002


@pytest.mark.parametrize(
    "nasty", ["a" * 200_000, "1" * 200_000, "'" * 200_000, "```" * 60_000, "f0" * 100_000, "\n" * 200_000]
)
def test_no_text_is_too_nasty(nasty: str) -> None:
    memory = StuckMemory()
    started = time.thread_time()
    for number in range(3):
        memory, _ = observe_round(memory, turn(Act("bash", nasty + str(number), nasty, ok=False), text=nasty), RULES)
    assert time.thread_time() - started < 3


# ── the benchmark runs this very detector ───────────────────────────────────────────────────────────────────────────

BENCH = Path(__file__).parents[2] / "bench" / "stuck.py"


@pytest.mark.skipif(not BENCH.exists(), reason="an installed source tree has no benchmarks")
def test_the_benchmark_reads_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("bench_stuck", BENCH)
    assert spec and spec.loader
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)

    def step(number: int, tool: str, result: str) -> dict[str, object]:
        texts = {"thought": "hm", "tool": tool, "args": {"command": "ls"}, "args_sha": "1", "observation": result}
        return {"turn": number, "obs_sha": "2", "error": False, **texts}

    loop = [step(n, "bash", "nothing but the same files") for n in range(9)]
    talk = [step(n, "bash" if n % 3 else "message", "nothing but the same files") for n in range(9)]
    mute = [step(n, "none", "please call a tool") for n in range(4)]
    corpus, out = tmp_path / "corpus.jsonl.xz", tmp_path / "fires.jsonl"
    with lzma.open(corpus, "wt") as file:
        for name, steps in (("loop", loop), ("talk", talk), ("mute", mute)):
            file.write(json.dumps({"id": name, "steps": steps}) + "\n")
    monkeypatch.setattr(sys, "argv", ["stuck.py", str(corpus), "--out", str(out)])
    bench.main()
    fires = [json.loads(line) for line in out.read_text().splitlines()]
    assert fires == [{"id": "loop", "fires": [3, 7]}, {"id": "mute", "fires": [2]}]
