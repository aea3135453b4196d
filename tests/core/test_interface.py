"""What an examiner is shown of a change: its diff by files, the longest shortened."""

from bough.core.conversation.code_outline import fit_texts, split_diff


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
