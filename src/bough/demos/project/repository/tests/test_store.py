from datetime import date

import pytest

store = pytest.importorskip("tally.store")
from tally.entry import Entry  # noqa: E402

BREAD = Entry(date(2026, 3, 2), "food", 320, "bread")
RENT = Entry(date(2026, 3, 1), "rent", 80000)


def test_what_is_saved_is_loaded_in_order_of_days(tmp_path):
    store.save(tmp_path / "book.txt", [BREAD, RENT])
    assert store.load(tmp_path / "book.txt") == [RENT, BREAD]


def test_the_file_can_be_read_by_people(tmp_path):
    store.save(tmp_path / "book.txt", [BREAD, RENT])
    assert (tmp_path / "book.txt").read_text() == "2026-03-01\trent\t800.00\t\n2026-03-02\tfood\t3.20\tbread\n"


def test_a_file_that_is_not_there_holds_nothing(tmp_path):
    assert store.load(tmp_path / "none.txt") == []


def test_comments_and_empty_lines_are_passed_over(tmp_path):
    (tmp_path / "book.txt").write_text("# March\n\n2026-03-02\tfood\t3.20\tbread\n")
    assert store.load(tmp_path / "book.txt") == [BREAD]


def test_the_note_may_be_left_out(tmp_path):
    (tmp_path / "book.txt").write_text("2026-03-01\trent\t800\n")
    assert store.load(tmp_path / "book.txt") == [RENT]


@pytest.mark.parametrize("note", ["a\tb", "two\nlines", r"C:\new\table", "# no comment", "ünïcode", " spaces "])
def test_notes_may_hold_anything(tmp_path, note):
    entry = Entry(date(2026, 3, 2), "odd", 100, note)
    store.save(tmp_path / "book.txt", [entry])
    assert store.load(tmp_path / "book.txt") == [entry]


@pytest.mark.parametrize("line", ["2026-13-01\tfood\t1", "2026-03-01\tfood\tmuch", "2026-03-01"])
def test_a_bad_line_is_named_with_its_place(tmp_path, line):
    path = tmp_path / "book.txt"
    path.write_text(f"# March\n{line}\n")
    with pytest.raises(store.StoreError, match=r"book\.txt:2: "):
        store.load(path)
