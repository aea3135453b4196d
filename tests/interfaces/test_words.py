"""What bough says is harmless, fits, and is easy to read."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.budget.limits import Limits, Spend
from bough.core.textual import cleaning
from bough.views import formatting

ANY_TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("\x1b\x9b\x07\r\n\t\x00\x7f\u202e\u2066\ud800[]0;31mJ")), max_size=60
)


@given(ANY_TEXT)
def test_no_text_can_command_a_terminal(text: str) -> None:
    for character in cleaning.escape_text(text):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs"), repr(character)
        assert character not in "\u202e\u2066\u2028"
    for single in (
        formatting.flatten(text),
        formatting.one_line(text),
        formatting.first_line(text),
        formatting.last_line(text),
    ):
        assert "\n" not in single and "\t" not in single
        assert single == cleaning.escape_text(single)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;ZXZpbA==\x1b\\after", "after"),
        ("\x9b2Jafter", "after"),
        ("10%\r20%\r100%", "10%\n20%\n100%"),
        ("a\x00b", "a\\x00b"),
        ("rm\u202egpj.exe", "rm\\u202egpj.exe"),
        ("half \ud83d", "half \\ud83d"),
        ("tab\tstays", "tab\tstays"),
        ("naïve 漢字 🌳", "naïve 漢字 🌳"),
    ],
)
def test_escapes_go_and_control_characters_are_spelt_out(text: str, plain: str) -> None:
    assert cleaning.escape_text(text) == plain


@given(ANY_TEXT, st.integers(0, 40))
def test_a_cut_text_fits(text: str, room: int) -> None:
    cut = formatting.cut(formatting.one_line(text), room)
    assert formatting.count_cells(cut) <= room
    if formatting.count_cells(formatting.one_line(text)) <= room:
        assert cut == formatting.one_line(text)


@given(ANY_TEXT)
def test_json_for_a_terminal_is_the_same_json(text: str) -> None:
    encoded = json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "replace")
    shown = formatting.escape_json(encoded)
    assert json.loads(shown) == json.loads(encoded)
    assert "\x9b" not in shown and "\u202e" not in shown and "\x7f" not in shown


def test_wide_characters_take_two_columns() -> None:
    assert formatting.count_cells("漢字") == 4
    assert formatting.count_cells("e\u0301") == 1
    assert formatting.cut("漢字漢字", 5) == "漢字…"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1m 00s"),
        (185, "3m 05s"),
        (3725, "1h 02m"),
        (1e6, "11d 13h"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert formatting.format_duration(seconds) == said


def test_numbers_and_money() -> None:
    assert [formatting.format_count(n) for n in (0, 999, 1000, 12_345, 999_949, 999_950)] == [
        "0",
        "999",
        "1.0k",
        "12.3k",
        "999.9k",
        "1.0M",
    ]
    assert [formatting.format_money(n) for n in (0, 0.0042, 0.5, 1234.5)] == ["$0.00", "$0.0042", "$0.50", "$1,234.50"]
    assert formatting.pluralize(1, "round") == "1 round"
    assert formatting.pluralize(2000, "round") == "2,000 rounds"


def test_cost_says_when_prices_are_not_known() -> None:
    assert formatting.format_cost(Spend(cost=0.25)) == "$0.25"
    assert formatting.format_cost(Spend(cost=0.25, unpriced=2)) == "$0.25+"
    assert formatting.format_usage(Spend(tokens_in=2_000, unpriced=2)) == "2.0k tokens"


def test_the_ledger_names_every_limit() -> None:
    assert formatting.format_limits(Limits()) == "40 rounds · no limit on tokens, cost or time"
    assert formatting.format_limits(Limits(5, 1000, 0.5, 2.5)) == "5 rounds · 1,000 tokens · $0.50 · 2.5 minutes"
    assert formatting.format_limits(Limits(5, 1000, 0.5)).endswith("no limit on time")


def test_titles_are_one_line_however_long_a_goal_is() -> None:
    goal = f"# Build {'a very long thing ' * 40}\nand more"
    for title in (formatting.headline(goal), formatting.first_sentence(goal)):
        assert len(title) <= formatting.TITLE and title.endswith("…") and "\n" not in title
    assert formatting.headline("Fix it.\nNow.") == "Fix it."
