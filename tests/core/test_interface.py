"""What an examiner is shown of the work: its public face, and of what was there before only what is new."""

from bough.core.conversation.code_outline import extract_added_lines, fit_texts, outline_files, split_diff

OLD = '''\
"""Tools."""

def kept(a):
    """Stays."""
    return a

def changed(a):
    """Gives a."""
    return a

class Box:
    def old(self): ...
'''
NEW = OLD.replace("    return a\n\nclass", "    return a + 1\n\nclass").replace(
    "def old(self): ...", "def old(self): ...\n    def new(self, n: int): ..."
)
NEW += '\ndef added(key=None):\n    """Is new."""\n    secret = 1\n    return secret\n'


def test_of_a_changed_file_only_what_is_new_or_changed_is_shown() -> None:
    face = outline_files({"tools.py": NEW}, 10_000, {"tools.py": OLD})
    assert "def changed(a)" in face and "def added(key=None)" in face and "Is new." in face
    assert "def new(self, n: int)" in face and "class Box" in face
    assert "kept" not in face and "def old" not in face and "Tools." not in face and "secret" not in face


def test_a_new_file_is_shown_whole_and_what_does_not_fit_is_named() -> None:
    assert "def kept(a)" in outline_files({"tools.py": NEW}, 10_000, {})
    assert outline_files({"tools.py": NEW}, 20, {}) == "(left out for their length: tools.py)"


def test_other_languages_by_their_lines() -> None:
    old = "export function kept(a) {\n  return a;\n}\n" + "\n" * 20 + "export function changed(a) {\n  return a;\n}\n"
    new = (
        old.replace("changed(a) {\n  return a;", "changed(a) {\n  return a + 1;")
        + "// New.\nexport const added = (b) => b;\n"
    )
    face = outline_files({"tools.js": new}, 10_000, {"tools.js": old})
    assert "changed(a)" in face and "// New.\nexport const added" in face and "kept" not in face


def test_of_a_document_what_was_added() -> None:
    old = "\n".join(f"line {n}" for n in range(100))
    said = extract_added_lines(old.replace("line 50\n", "line 50\nnew words\n"), old)
    assert "+new words" in said and " line 50" in said and "line 10" not in said
    assert extract_added_lines("all\nof it", None) == "all\nof it"


def test_what_does_not_fit_is_left_out_of_the_longest_file_and_said() -> None:
    fitted = fit_texts({"long": "x" * 5_000, "short": "y" * 100, "mid": "z" * 400}, 1_500)
    assert list(fitted) == ["long", "short", "mid"]
    assert fitted["short"] == "y" * 100 and fitted["mid"] == "z" * 400
    assert "characters left out" in fitted["long"] and len(fitted["long"]) < 1_100


def test_a_diff_by_its_files() -> None:
    one = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    two = one.replace("x.py", "y.md")
    assert split_diff(one + two) == {"x.py": one, "y.md": two}
    assert split_diff("") == {}
