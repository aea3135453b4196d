"""A judge is believed as far as the quote goes."""

import json
import re
from pathlib import Path

import pytest

import bough
from bough.core.acceptance.judge_ruling import Ruling, find_quote, read_ruling
from bough.core.acceptance.probes import PROBE, Examination, Form, Probe, read_probes
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import Disagreement
from bough.core.conversation.context import render_disagreements
from bough.core.conversation.structured_answer import Problems
from bough.core.messages import Answer, Call
from bough.core.verdict.case_programs import read_probe
from bough.core.verdict.check_run import CommandResult

GOAL = """Add `argmax(items, key)`.

It returns the **first** of equal maxima,
and raises ValueError on an empty list — always.
"""


@pytest.mark.parametrize(
    "quote",
    [
        "the first of equal maxima",
        "It returns the first of equal maxima, and raises ValueError",
        "“raises ValueError on an empty list - always”",
        "RETURNS THE  FIRST",
    ],
)
def test_words_are_found_whatever_is_around_them(quote: str) -> None:
    place = find_quote(quote, GOAL)
    assert place is not None
    assert GOAL.count("\n", 0, place.start()) in (2, 3)


@pytest.mark.parametrize("quote", ["", "the", "the last of equal maxima", "raises KeyError on an empty list", ".* .*"])
def test_other_words_are_not(quote: str) -> None:
    assert find_quote(quote, GOAL) is None


def test_a_text_of_one_word_can_be_quoted() -> None:
    assert find_quote("Sort", "Sort.") is not None


def test_an_examiner_may_quote_what_it_is_told_that_it_may() -> None:
    """Three words or eight letters, or a whole requirement that is shorter."""
    goal = "Add f.\n\nOf an odd n, f is 0. For 7 it is `undefined`."
    asked = (Requirement(1, "Add f."), Requirement(2, "Of an odd n, f is 0."), Requirement(3, "For 7 it is undefined."))
    form = Form("sh", "probe_{name}.sh", "")

    def read(quote: str) -> tuple[str, ...]:
        given = {"probes": [{"says": "It is so.", "quote": quote, "text": "true"}]}
        found = read_probes(Answer(calls=(Call("c", "probe", json.dumps(given)),)), "goal", form, asked, goal)
        assert isinstance(found, Examination)
        return found.left_out

    for enough in ("f is 0", "undefined", "Add f."):
        assert not read(enough), enough
    for few in ("is 0", "odd", "f is 1", ""):
        assert read(few), few
    told = PROBE.parameters["properties"]["probes"]["items"]["properties"]["quote"]["description"]
    for text in (
        told,
        *(
            (Path(bough.__file__).parent / "prompts" / f"{name}.md").read_text()
            for name in ("examiner", "reviewer", "critic")
        ),
    ):
        assert re.search(r"(?:three|3) words or (?:eight|8) letters at least, or the whole requirement", text)


def ruling(**given: object) -> Ruling | Problems:
    return read_ruling(Answer(calls=(Call("c", "rule", json.dumps(given)),)), GOAL)


def test_a_claim_is_upheld_only_with_the_words_of_the_request() -> None:
    upheld = ruling(reason="it says so", demanded=True, quote="the first of equal   maxima")
    assert upheld == Ruling(True, "the **first** of equal maxima", "it says so")
    assert isinstance(ruling(reason="surely", demanded=True, quote="must be stable for equal keys"), Problems)
    assert isinstance(ruling(reason="surely", demanded=True), Problems)
    assert ruling(reason="not said", demanded=False, quote="whatever") == Ruling(False, "", "not said")


def test_the_same_change_of_lines_is_shown_once() -> None:
    both = [Disagreement(f"test_a.py::test_{n}", source="- old\n+ new", said="1 != 2") for n in (1, 2)]
    shown = render_disagreements(both)
    assert shown.count("- old") == 1 and "the same lines as above" in shown
    assert render_disagreements([Disagreement("t", said="x"), Disagreement("u", said="y")]).count("above") == 0


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "t/test_probe_1.py",
            '  File "/w/t/test_probe_1.py", line 3\n    assert == 2\n           ^^\nSyntaxError: x',
        ),
        (
            "t/probe_1.test.mjs",
            "/w/t/probe_1.test.mjs:3\nassert == 2\n       ^^\n\nSyntaxError: Unexpected token '=='",
        ),
        ("probe_1.sh", "./probe_1.sh: line 3: syntax error near unexpected token `)'"),
        ("t/probe_1.test.js", "SyntaxError: /w/t/probe_1.test.js: Unexpected token (3:4)"),
        ("t/ProbeTest.php", "PHP Parse error: syntax error, unexpected '=' in /w/t/ProbeTest.php on line 3"),
    ],
)
def test_a_probe_that_does_not_parse_shows_nothing(path: str, said: str) -> None:
    probe, failed = Probe("goal/probe-1", path, "", "It is so.", language="shell"), CommandResult(1, b"", 0.1)
    assert read_probe(probe, failed, said).outcome == "broken"
    product = said.replace(path.rpartition("/")[2], "product.x")
    assert read_probe(probe, failed, product).outcome == "failed"
    asked = f'  File "/w/{path}", line 3, in test_it\n    self.fail()\nAssertionError: SyntaxError not raised'
    assert read_probe(probe, failed, asked).outcome == "failed"
