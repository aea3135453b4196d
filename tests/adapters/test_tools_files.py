"""`read`, `write`, `edit` and `list`."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.rules import Rules
from tests.adapters.test_tools import use


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    return make_plain_folder(tmp_path)


# ── read ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_read_shows_numbered_lines(checkout: PlainFolder) -> None:
    (checkout.root / "a.txt").write_text("one\n\ntwo\n")
    assert (
        use(checkout, "read", path="a.txt").output == "     1\tone\n     2\t\n     3\ttwo\n(end of the file: 3 lines)"
    )


def test_read_continues_where_it_left_off(checkout: PlainFolder) -> None:
    (checkout.root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    seen: list[str] = []
    start = 1
    for _ in range(100):
        result = use(checkout, "read", path="a.txt", start=start)
        assert len(result.output) <= Rules().shown
        *lines, last = result.output.split("\n")
        seen += [line.split("\t")[1] for line in lines]
        if last.startswith("(end"):
            break
        start = int(last.rpartition("start=")[2].rstrip(")"))
    assert seen == [f"line {n}" for n in range(1, 5001)]


def test_read_a_part(checkout: PlainFolder) -> None:
    (checkout.root / "a.txt").write_text("1\n2\n3\n4\n5\n")
    result = use(checkout, "read", path="a.txt", start=2, lines=2)
    assert result.output == "     2\t2\n     3\t3\n(lines 2-3 of 5)"
    assert "has only 5 lines" in use(checkout, "read", path="a.txt", start=6).output


def test_read_tells_about_ends(checkout: PlainFolder) -> None:
    (checkout.root / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    (checkout.root / "open.txt").write_bytes(b"a\nb")
    (checkout.root / "empty.txt").write_bytes(b"")
    assert use(checkout, "read", path="crlf.txt").output == (
        "     1\ta\n     2\tb\n(end of the file: 2 lines; lines end in CRLF)"
    )
    assert "(end of the file: 2 lines; no newline at the end)" in use(checkout, "read", path="open.txt").output
    assert "is empty" in use(checkout, "read", path="empty.txt").output


def test_read_a_giant_line(checkout: PlainFolder) -> None:
    (checkout.root / "min.js").write_text("a" * 1_000_000 + "END")
    result = use(checkout, "read", path="min.js")
    assert 10_000 < len(result.output) <= Rules().shown
    assert "END\n(end of the file: 1 line" in result.output and "characters left out" in result.output
    (checkout.root / "mixed.js").write_text("x" * 100_000 + "\nshort\n")
    assert "     2\tshort" in use(checkout, "read", path="mixed.js").output


def test_read_refuses_what_is_not_text(checkout: PlainFolder) -> None:
    (checkout.root / "image.png").write_bytes(b"\x89PNG\0\0\1")
    result = use(checkout, "read", path="image.png")
    assert not result.ok and not result.fault and "binary file (7 B)" in result.output
    with (checkout.root / "big.log").open("wb") as file:
        file.truncate(100_000_000)
    assert "too large" in use(checkout, "read", path="big.log").output


def test_read_shows_text_that_is_not_quite_utf8(checkout: PlainFolder) -> None:
    (checkout.root / "latin.txt").write_bytes("höhe\n".encode("latin-1"))
    assert "h�he" in use(checkout, "read", path="latin.txt").output


def test_read_suggests_what_was_meant(checkout: PlainFolder) -> None:
    (checkout.root / "src/app").mkdir(parents=True)
    (checkout.root / "src/app/settings.py").write_text("x")
    assert "Did you mean `src/app/settings.py`?" in use(checkout, "read", path="src/app/setings.py").output
    assert "Did you mean `src/app/settings.py`?" in use(checkout, "read", path="settings.py").output
    assert "Look around with `list`" in use(checkout, "read", path="quite/else").output
    assert "is a folder: see what is in it with `list`" in use(checkout, "read", path="src").output
    below = PlainFolder(checkout.root, checkout.root / "src", checkout.scratch)
    assert "Did you mean `app/settings.py`?" in use(below, "read", path="settings.py").output
    assert "There is no file" in use(checkout, "read", path="src/app/settings.py/deeper").output


# ── write ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_write_makes_files_and_folders(checkout: PlainFolder) -> None:
    result = use(checkout, "write", path="a/b/ö é.txt", content="höhe\n")
    assert result.ok and "Created a/b/ö é.txt (1 line" in result.output
    assert (checkout.root / "a/b/ö é.txt").read_bytes() == "höhe\n".encode()
    assert sorted(p.name for p in (checkout.root / "a/b").iterdir()) == ["ö é.txt"]


def test_write_replaces_and_keeps_the_mode(checkout: PlainFolder) -> None:
    script = checkout.root / "run.sh"
    script.write_text("old\nold\n")
    script.chmod(0o754)
    result = use(checkout, "write", path="run.sh", content="new\r\n")
    assert result.ok and "before: 2 lines" in result.output
    assert script.read_bytes() == b"new\r\n"
    assert script.stat().st_mode & 0o777 == 0o754


def test_a_new_file_has_the_usual_mode(checkout: PlainFolder) -> None:
    use(checkout, "write", path="new.txt", content="")
    mask = os.umask(0)
    os.umask(mask)
    assert (checkout.root / "new.txt").stat().st_mode & 0o777 == 0o666 & ~mask


def test_write_refuses_folders_and_files_on_the_way(checkout: PlainFolder) -> None:
    (checkout.root / "folder").mkdir()
    (checkout.root / "file").write_text("x")
    for path in ("folder", "folder/", ".", "file/below.txt", "new/"):
        result = use(checkout, "write", path=path, content="x")
        assert not result.ok and not result.fault, path
    assert sorted(p.name for p in checkout.root.iterdir()) == ["file", "folder"]
    assert (checkout.root / "file").read_text() == "x"


def test_a_failed_write_leaves_the_old_file(checkout: PlainFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout.root / "a.txt").write_text("old")

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    result = use(checkout, "write", path="a.txt", content="new")
    assert not result.ok and "No space left" in result.output
    assert (checkout.root / "a.txt").read_text() == "old"
    assert [p.name for p in checkout.root.iterdir()] == ["a.txt"]


# ── edit ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_edit_replaces_what_occurs_once(checkout: PlainFolder) -> None:
    file = checkout.root / "a.py"
    file.write_text("a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n")
    file.chmod(0o700)
    result = use(checkout, "edit", path="a.py", old="c = 3\n", new="c = 30\nx = 0\n")
    assert result.ok and "at line 3" in result.output
    assert "- c = 3" in result.output and "+ c = 30" in result.output and "  b = 2" in result.output
    assert file.read_text() == "a = 1\nb = 2\nc = 30\nx = 0\nd = 4\ne = 5\n"
    assert file.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc", "b", "x\ny", b"a\r\nx\r\ny\r\nc"),
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "x\n", b"x\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x", b"x\r\n"),
        (b"a\r\nb\nc\n", "b\n", "x\n", b"a\r\nx\nc\n"),
        (b"no newline", "newline", "end", b"no end"),
        (b"\xef\xbb\xbfbom\n", "bom", "x", b"\xef\xbb\xbfx\n"),
        (b"h\xf6he\nlow\n", "low", "h\xf6", b"h\xf6he\nh\xc3\xb6\n"),
        ("höhe".encode(), "ö", "oe", b"hoehe"),
        (b"gone\n", "gone\n", "", b""),
    ],
)
def test_edit_keeps_everything_else_byte_for_byte(
    checkout: PlainFolder, before: bytes, old: str, new: str, after: bytes
) -> None:
    (checkout.root / "f").write_bytes(before)
    result = use(checkout, "edit", path="f", old=old, new=new)
    assert result.ok, result.output
    assert (checkout.root / "f").read_bytes() == after


def test_edit_shows_only_what_changed(checkout: PlainFolder) -> None:
    (checkout.root / "a.py").write_text("one\ntwo\nthree\nfour\nfive\n")
    said = use(checkout, "edit", path="a.py", old="two\nthree\n", new="two\n3\n").output
    assert said == "Edited a.py at line 3 (1 line became 1 line):\n  one\n  two\n- three\n+ 3\n  four\n  five"
    said = use(checkout, "edit", path="a.py", old="five\n", new="five\nsix\n").output
    assert said == "Edited a.py at line 6 (0 lines became 1 line):\n  four\n  five\n+ six"


def test_edit_shows_empty_lines_around_a_change(checkout: PlainFolder) -> None:
    (checkout.root / "a.py").write_text("a\nb\n\nc\n\nd\n")
    said = use(checkout, "edit", path="a.py", old="b\n", new="B\n").output
    assert said == "Edited a.py at line 2 (1 line became 1 line):\n  a\n- b\n+ B\n  \n  c"
    said = use(checkout, "edit", path="a.py", old="c\n\n", new="c\n").output
    assert said == "Edited a.py at line 5 (1 line became 0 lines):\n  \n  c\n- \n  d"
    (checkout.root / "dos.txt").write_bytes(b"a\r\nb\r\n\r\nc\r\n")
    said = use(checkout, "edit", path="dos.txt", old="b\n", new="B\n").output
    assert said == "Edited dos.txt at line 2 (1 line became 1 line):\n  a\n- b\n+ B\n  \n  c"


def test_edit_refuses_several_unless_all(checkout: PlainFolder) -> None:
    file = checkout.root / "a.txt"
    file.write_text("x\ny\nx\n" * 2)
    result = use(checkout, "edit", path="a.txt", old="x", new="z")
    assert not result.ok and "4 times" in result.output and "lines 1, 3, 4, 6" in result.output
    assert file.read_text() == "x\ny\nx\n" * 2
    assert "4 times" in use(checkout, "edit", path="a.txt", old="x", new="z", all=True).output
    assert file.read_text() == "z\ny\nz\n" * 2


def test_edit_shows_the_closest_place(checkout: PlainFolder) -> None:
    (checkout.root / "a.py").write_text("import os\n\n\ndef total(items):\n    return sum(items) + 1\n\n\nx = 1\n")
    result = use(checkout, "edit", path="a.py", old="def total(items):\n    return sum(items) - 1", new="x")
    assert not result.ok and not result.fault
    assert "lines 4-5, which are exactly:\ndef total(items):\n    return sum(items) + 1\n" in result.output
    result = use(checkout, "edit", path="a.py", old="def total(items):\n\treturn sum(items) + 1", new="x")
    assert "differs only in white space from lines 4-5" in result.output
    result = use(checkout, "edit", path="a.py", old="def totals(thing):", new="x")
    assert "line 4, which is exactly:\ndef total(items):" in result.output
    assert "nor anything like it" in use(checkout, "edit", path="a.py", old="zebra ÄÖÜ", new="x").output


def test_edit_refuses_what_makes_no_sense(checkout: PlainFolder) -> None:
    (checkout.root / "a.txt").write_text("x")
    (checkout.root / "b.bin").write_bytes(b"x\0")
    assert use(checkout, "edit", path="a.txt", old="", new="y").fault
    assert "nothing to change" in use(checkout, "edit", path="a.txt", old="x", new="x").output
    assert "binary" in use(checkout, "edit", path="b.bin", old="x", new="y").output
    assert "Did you mean `a.txt`" in use(checkout, "edit", path="a.tx", old="x", new="y").output
    assert "is a folder" in use(checkout, "edit", path=".", old="x", new="y").output


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"line number {n} of many\n" for n in range(300_000)),
        "same line again and again\n" * 300_000,
        "x" * 5_000_000,
        "\n" * 1_000_000,
    ],
    ids=["long", "same", "one line", "empty lines"],
)
def test_looking_for_the_closest_place_has_an_end(checkout: PlainFolder, text: str) -> None:
    (checkout.root / "big.txt").write_text(text)
    begun = time.process_time()
    old = "same line agaim and agaim\n" * 40 + "line numbre 7 of many\n" * 40
    assert not use(checkout, "edit", path="big.txt", old=old, new="y").ok
    assert time.process_time() - begun < 5


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=st.binary(max_size=40), after=st.binary(max_size=40), new=st.text(max_size=10))
def test_edit_of_any_bytes(checkout: PlainFolder, before: bytes, after: bytes, new: str) -> None:
    marked = before.replace(b"\0", b"") + b"<MARK>" + after.replace(b"\0", b"")
    (checkout.root / "any").write_bytes(marked)
    crlf = marked.count(b"\r\n") and marked.count(b"\r\n") == marked.count(b"\n")
    wanted = new.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else new
    result = use(checkout, "edit", path="any", old="<MARK>", new=new)
    if "\0" not in new:
        assert result.ok, result.output
        assert (checkout.root / "any").read_bytes() == marked.replace(b"<MARK>", wanted.encode())


# ── list ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_list_shows_a_tree(checkout: PlainFolder) -> None:
    (checkout.root / "src/deep/deeper").mkdir(parents=True)
    (checkout.root / "src/a.py").write_text("x" * 2500)
    (checkout.root / "src/deep/b.py").write_text("x")
    (checkout.root / ".git").mkdir()
    (checkout.root / ".env").write_text("")
    (checkout.root / "link").symlink_to("/etc")
    os.mkfifo(checkout.root / "pipe")
    assert use(checkout, "list").output.split("\n") == [
        "./",
        "  src/",
        "    deep/  (2 inside)",
        "    a.py  2.5 kB",
        "  .env  0 B",
        "  link -> /etc",
        "  pipe  0 B",
    ]
    assert "      b.py  1 B" in use(checkout, "list", path=".", depth=3).output
    assert use(checkout, "list", path="src/deep/deeper").output == "(src/deep/deeper is empty)"


def test_list_is_bounded(checkout: PlainFolder) -> None:
    for n in range(2000):
        (checkout.root / f"file{n:04}").write_text("")
    (checkout.root / "sub").mkdir()
    for n in range(300):
        (checkout.root / "sub" / f"x{n:03}").write_text("")
    output = use(checkout, "list").output
    assert output.count("\n") <= 502 and "(more:" in output
    assert "… 200 more" in output
    assert len(use(checkout, "list", rules=Rules(shown=2000)).output) <= 2000


def test_list_says_what_is_wrong(checkout: PlainFolder) -> None:
    (checkout.root / "source").mkdir()
    (checkout.root / "file").write_text("")
    assert "Did you mean `source`?" in use(checkout, "list", path="sorce").output
    assert "is a file, not a folder: use `read`" in use(checkout, "list", path="file").output
    assert use(checkout, "list", depth=99).fault


def test_names_that_are_not_text_do_not_break_the_journal(checkout: PlainFolder) -> None:
    try:
        (checkout.root / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    except OSError:
        pytest.skip("this file system has only names that are text")
    assert "caf" in use(checkout, "list").output
    assert not use(checkout, "read", path="cafe.txt").ok
