"""What a model writes is read as a person would read it."""

import gzip
import json
from pathlib import Path

import pytest

from bough.core.acceptance.verdict import Failure, Verdict
from bough.core.messages import Call, Message, ModelMessage, Result, UserMessage
from bough.core.textual import task_files
from bough.core.textual.paths import CandidateFiles, collect_known
from bough.core.textual.reading import read_calls

GOAL = "Implement the exercise described in README.md, in leap.py, so that its tests in leap_test.py pass."
LEAP = collect_known(["README.md", "bough.toml", "leap.py", "leap_test.py"], GOAL)
APP = collect_known(["src/app.py", "src/util.py", "tests/test_app.py", "Makefile"], "Add a flag to src/app.py.")
CODE = "def leap_year(year):\n    return year % 4 == 0\n"


def did(text: str, about: CandidateFiles = LEAP, stop: str = "end") -> list[tuple[str, ...]]:
    """Each call as its name and its arguments."""
    found = read_calls(text, about, stop)  # type: ignore[arg-type]
    return [(call.name, *json.loads(call.arguments).values()) for call in found.calls]


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CODE}```",
        f"Here is the code:\n\n```python\n{CODE}```\n\nThis works because of arithmetic.",
        f"leap.py\n```python\n{CODE}```",
        f"**`leap.py`**\n\n```py\n{CODE}```",
        f"### File: ./leap.py\n~~~python\n{CODE}~~~",
        f"```python leap.py\n{CODE}```",
        f"```python:leap.py\n{CODE}```",
        f'```python title="leap.py"\n{CODE}```',
        f"```leap.py\n{CODE}```",
        f"```\n{CODE}```",
        f"I rewrote `leap.py` as follows:\n```python\n{CODE}```",
        f"```python\n{CODE}",
        CODE,
        f"<think>maybe\n```python\nwrong()\n```\n</think>\n```python\n{CODE}```",
        f"For example:\n```python\nleap_year(4)\n```\nAll of it:\n```python\n{CODE}```",
        "```json\n" + json.dumps({"name": "write", "arguments": {"path": "leap.py", "content": CODE}}) + "\n```",
        json.dumps({"name": "write", "arguments": {"path": "leap.py", "content": CODE}}),
        '{"name": "write", "arguments": {"path": "leap.py", "content": "' + CODE.strip() + '"}}',
        f"1. First:\n   ```python\n   {CODE.replace(chr(10), chr(10) + '   ').rstrip()}\n   ```",
    ],
)
def test_a_whole_file(text: str) -> None:
    assert did(text) == [("write", "leap.py", CODE)]


def test_a_first_line_that_names_the_file_stays_a_comment() -> None:
    assert did(f"```python\n# leap.py\n{CODE}```") == [("write", "leap.py", f"# leap.py\n{CODE}")]
    assert did(f"```python\nleap.py\n{CODE}```") == [("write", "leap.py", CODE)]


def test_several_files_and_new_ones() -> None:
    text = "src/app.py\n```python\nimport sys\n```\n\nAnd a new one, src/flags.py:\n```python\nFLAG = 1\n```\nDONE"
    assert did(text, APP) == [("write", "src/app.py", "import sys\n"), ("write", "src/flags.py", "FLAG = 1\n")]
    assert did("app.py\n```python\nx = 1\n```", APP) == [("write", "src/app.py", "x = 1\n")]


EDIT = "<<<<<<< SEARCH\n    pass\n=======\n    return 1\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    "text",
    [
        f"src/util.py\n```python\n{EDIT}```",
        f"```python\nsrc/util.py\n{EDIT}```",
        f"```src/util.py\n{EDIT}```",
        "```diff\n--- a/src/util.py\n+++ b/src/util.py\n@@ -1,1 +1,1 @@\n-    pass\n+    return 1\n```",
    ],
)
def test_an_edit(text: str) -> None:
    assert did(text, APP) == [("edit", "src/util.py", "    pass\n", "    return 1\n")]


def test_several_edits_and_an_edit_of_nothing() -> None:
    both = f"src/util.py\n```\n{EDIT}{EDIT.replace('1', '2')}```"
    assert [call[3] for call in did(both, APP)] == ["    return 1\n", "    return 2\n"]
    whole = "src/new.py\n```\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n```"
    assert did(whole, APP) == [("write", "src/new.py", "x = 1\n")]


def test_a_command() -> None:
    assert did("Let me look.\n```bash\n$ ls -la\n```") == [("bash", "ls -la")]
    assert did("```sh\npytest -q\n```\nthen\n```sh\nls\n```") == [("bash", "pytest -q")]
    assert did(f"```python\n{CODE}```\n```bash\npython -m pytest\n```")[-1] == ("bash", "python -m pytest")


def test_what_is_not_whole_or_has_no_place_is_left_alone() -> None:
    assert did(f"```python\n{CODE}", stop="length") == []
    assert did("I will now write the code.") == []
    assert did("```text\nno code\n```") == []
    assert did("/etc/passwd\n```\nroot\n```", APP) == []
    assert did("../out.py\n```python\nx = 1\n```", collect_known([], "Do it.")) == []
    nobody = collect_known(["a.py", "b.py"], "Repair it.")
    assert did("```python\nx = 1\n```", nobody) == []


def test_the_last_of_two_versions_counts() -> None:
    assert did("leap.py\n```python\nx = 1\n```\nBetter:\n\nleap.py\n```python\nx = 2\n```") == [
        ("write", "leap.py", "x = 2\n")
    ]


def test_existing_tests_are_left_alone() -> None:
    text = f"leap.py\n```python\n{CODE}```\nleap_test.py\n```python\nassert True\n```"
    found = read_calls(text, LEAP)
    assert [json.loads(call.arguments)["path"] for call in found.calls] == ["leap.py"]
    assert found.aside == ("leap_test.py",)
    assert did("leap_test.py\n```python\nassert True\n```") == [("write", "leap_test.py", "assert True\n")]


def test_done_and_more() -> None:
    assert read_calls("DONE", LEAP).done is not None
    assert read_calls("All tests pass.\n\n**Done.**", LEAP).done is not None
    assert read_calls("I have not done it.", LEAP).done is None
    assert read_calls(f"```python\n{CODE}```\nMORE", LEAP).more


def test_what_is_shown_is_the_work_its_tests_and_what_is_named() -> None:
    assert task_files.choose_files(LEAP) == ["leap.py", "leap_test.py", "README.md"]
    assert task_files.choose_files(collect_known(["a.py", "tests/test_a.py", "b.py"], "Repair a.py.")) == [
        "a.py",
        "tests/test_a.py",
    ]
    texts = {"leap.py": "x = 1\n", "leap_test.py": "y\n" * 4_000, "README.md": "# Leap\n"}
    text = task_files.render_files(texts, task_files.choose_files(LEAP), 1_000)
    assert "x = 1" in text and "left out" in text and len(text) < 4_000
    assert (
        task_files.render_closing(LEAP)
        == "Write `leap.py` so that all tests pass: the whole file in one ```python block."
    )


def test_a_failure_is_shortened_to_its_assertion() -> None:
    trace = "self = <T>\n\n    def test_x(self):\n>       self.assertIs(f(4), True)\nE       AssertionError: no\n"
    failures = tuple(Failure(f"t.py::test_{n}", "pre-existing", trace) for n in range(9))
    text = task_files.render_failing(Verdict("failed", "9 tests fail", passed=1, failed=9, failures=failures))
    assert text.startswith("1 tests pass, 9 fail.") and text.count("AssertionError") == 3 and "and 6 more" in text
    assert "def test_x" not in text


def test_a_conversation_in_words_takes_turns() -> None:
    messages: list[Message] = [
        UserMessage("brief"),
        ModelMessage("```bash\nls\n```"),
        Result("1", "a.py", True),
        UserMessage("go on"),
    ]
    assert list(task_files.render_as_text(messages)) == [
        UserMessage("brief"),
        ModelMessage("```bash\nls\n```"),
        UserMessage("a.py\n\ngo on"),
    ]
    assert task_files.rebuild_messages("now", [*messages, ModelMessage("x"), Result("2", "y", True)]) == [
        UserMessage("now"),
        ModelMessage("x"),
        Result("2", "y", True),
    ]


def test_what_a_small_model_really_said_is_read_as_a_person_reads_it() -> None:
    """Real answers, labelled by hand: at least 98 % of those that hold code or a command, and none is made up."""
    lines = gzip.decompress((Path(__file__).parent / "answers/small_model.jsonl.gz").read_bytes()).splitlines()
    right = wrong = made_up = 0
    for line in map(json.loads, lines):
        name = line["exercise"]
        goal = GOAL.replace("leap", name)
        about = collect_known(["README.md", f"{name}.py", f"{name}_test.py"], goal)
        calls = [call for call in did(line["text"], about, line["stop"]) if call[0] in ("write", "edit", "bash")]
        means = [tuple(call) for call in line["means"]]
        right += bool(means) and calls == means
        wrong += bool(means) and calls != means
        made_up += bool(calls) and not means
    assert right + wrong >= 60 and right / (right + wrong + made_up) >= 0.98, (right, wrong, made_up)


def test_an_answer_that_came_to_nothing_is_not_shown_again() -> None:
    bad, nudge = ModelMessage("obj['leap.py']"), UserMessage("Your answer had no block.")
    assert [
        *task_files.render_as_text(task_files.rebuild_messages("The brief.", [UserMessage("old"), bad, nudge]))
    ] == [UserMessage("The brief.\n\nYour answer had no block.")]
    good = ModelMessage("Look.", (Call("1", "bash", "{}"),))
    told = task_files.render_as_text([UserMessage("The brief."), good, Result("1", "out", True), UserMessage("Go on.")])
    assert [type(message) for message in told] == [UserMessage, ModelMessage, UserMessage]


def test_a_check_that_never_ended_says_so() -> None:
    verdict = Verdict("failed", "it took longer than 300 s", "pytest -q", seconds=300.2, output="..")
    assert "stopped after 300 seconds" in task_files.render_failing(verdict)
