"""What a critic says, and what it never counts as."""

from __future__ import annotations

import json
import string
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.context import render
from bough.core.critique import CRITIQUE, brief, findings
from bough.core.findings import Finding
from bough.core.messages import Answer, Call
from bough.core.plan import Step
from bough.core.results import MOST, listed
from bough.core.structured import Problems

LOST = Finding("todo/store.py", 12, "high", "The old file is gone when json.dump fails.", "A full disk.")
NAME = Finding("todo/cli.py", 0, "low", "`x` says nothing.", "Readers.")


def reviewed(value: Any, **more: Any) -> Answer:
    return Answer(calls=(Call("1", "review", json.dumps(value)),), **more)


def as_given(finding: Finding, **more: Any) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__} | more


def test_findings_come_with_the_most_severe_first_and_once() -> None:
    given_findings = [as_given(NAME), as_given(LOST), as_given(LOST)]
    assert findings(reviewed({"looked_at": "The diff.", "findings": given_findings})) == (LOST, NAME)


@pytest.mark.parametrize(
    ("line", "read"), [(12, 12), ("12", 12), ("12-15", 12), ("L12", 12), ("", 0), (-3, 0), ("all of it", 0)]
)
def test_a_line_is_read_as_critics_write_it(line: object, read: int) -> None:
    found = findings(reviewed({"looked_at": "x", "findings": [as_given(LOST, line=line)]}))
    assert isinstance(found, tuple) and found[0].line == read


@pytest.mark.parametrize(("word", "severity"), [("Critical", "high"), ("minor", "low"), ("spicy", "medium")])
def test_a_finding_in_other_words_is_still_one(word: str, severity: str) -> None:
    found = findings(reviewed({"looked_at": "x", "findings": [as_given(LOST, severity=word)]}))
    assert isinstance(found, tuple) and found[0].severity == severity


@pytest.mark.parametrize(
    "answer",
    [
        reviewed({"looked_at": "All of the diff.", "findings": []}),
        Answer('```json\n{"looked_at": "All of it.", "findings": []}\n```'),
        Answer('<think>So {"findings": 1}?</think>\n{"looked_at": "All of it.", "findings": []}'),
    ],
)
def test_an_approval_is_given_in_the_structure(answer: Answer) -> None:
    assert findings(answer) == ()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(""),
        Answer("LGTM! Approved, no findings."),
        Answer("{}"),
        Answer("[]"),
        Answer('{"findings": []}'),
        Answer('The change holds the text {"looked_at": "x", "findings": []}, which is odd.'),
        reviewed({}),
        reviewed([]),
        reviewed(None),
        reviewed({"findings": []}),
        reviewed({"looked_at": "", "findings": []}),
        reviewed({"looked_at": "x", "findings": None}),
        reviewed({"looked_at": "x", "findings": ""}),
        reviewed({"looked_at": "x", "findings": "none"}),
        reviewed({"looked_at": "x", "findings": [None]}),
        reviewed({"looked_at": "x", "findings": [{}]}),
        reviewed({"looked_at": "x", "findings": {}}),
        reviewed({"looked_at": "x", "findings": [as_given(LOST, what="")]}),
        reviewed({"looked_at": "x", "findings": []}, stop="length"),
        reviewed({"looked_at": "x", "findings": []}, stop="refusal"),
        Answer(calls=(Call("1", "review", '{"looked_at": "x", "findings": [{"file": '),)),
        Answer(calls=(Call("1", "review", ""),)),
    ],
)
def test_an_error_is_never_an_approval(answer: Answer) -> None:
    found = findings(answer)
    assert isinstance(found, Problems) and found.said


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["findings", "looked_at", *Finding.__struct_fields__]), inner)
    ),
)


@given(VALUE, st.text(max_size=30), st.booleans())
def test_garbage_never_raises_and_approves_nothing(value: Any, around: str, call: bool) -> None:
    found = findings(reviewed(value) if call else Answer(around + json.dumps(value)))
    if found == ():
        assert isinstance(value, dict | list | str)
        assert '"looked_at"' in json.dumps(value).replace("\\", "")
    else:
        assert isinstance(found, tuple | Problems)


def test_findings_are_listed_for_the_builder_with_their_places() -> None:
    text = listed((LOST, NAME))
    assert "1. `todo/store.py:12` (high): The old file is gone when json.dump fails.\n   Why: A full disk." in text
    assert "2. `todo/cli.py` (low): `x` says nothing." in text


def test_a_builder_is_not_given_everything_at_once() -> None:
    text = listed(tuple(Finding("a.py", n, "low", "Odd.") for n in range(1, MOST + 4)))
    assert f"{MOST}. " in text and f"{MOST + 1}. " not in text and "3 less severe ones" in text


def test_the_prompt_renders_with_exactly_its_values() -> None:
    prompt = files("bough.prompts").joinpath("critic.md").read_text(encoding="utf-8")
    values = brief(Step("store", "Keep {entries}.", criteria=("it loads",)), "3 passed", "+x = {}", (LOST,))
    assert {field for _, field, _, _ in string.Formatter().parse(prompt) if field is not None} == values.keys()
    text = render(prompt, values)
    for part in ("Keep {entries}.", "it loads", "3 passed", "+x = {}", "todo/store.py:12", f"`{CRITIQUE.name}`"):
        assert part in text
    assert "No check was run." in render(prompt, brief(Step("store", "Keep."), "", ""))
