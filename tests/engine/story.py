"""A task with every kind of effect, told by a model that can be asked again at any point."""

from collections import Counter
from pathlib import Path

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.core.tree.task_state import State
from bough.testing import call
from bough.views.run_view import Outcome
from tests.answers import combine_answers
from tests.harness import Journal, by_progress, git

_BUILDER = by_progress(
    combine_answers(call("read", path="calc.py"), call("list")),
    call("write", path="notes.txt", content="begun\n"),
    call("bash", command="echo once >> log.txt && seq 1 20000"),
    combine_answers(
        call("edit", path="calc.py", old="a - b", new="a * b"), call("note", kind="dead_end", text="not minus")
    ),
    call("done", summary="multiplied"),
)
_HUNTER = by_progress(
    call("edit", path="calc.py", old="a * b", new="a + b"),
    call("done", summary="added"),
)


def model_answer(prompt: Prompt) -> Answer:
    first = prompt.messages[0]
    return _HUNTER(prompt) if "find the bug" in getattr(first, "text", "") else _BUILDER(prompt)


def assert_told_whole(folder: Path, outcome: Outcome, journal: Journal) -> None:
    """The end is the same however often the process died on the way, and nothing that finished was done again."""
    assert outcome.status == "completed", outcome.summary
    (goal,) = outcome.tree
    assert goal.state is State.COMPLETED
    assert set(goal.files) == {"calc.py", "log.txt", "notes.txt"}
    repo = folder / ".bough" / "repo.git"
    assert git(repo, "show", f"{goal.commit}:log.txt") == "once\n"
    assert git(repo, "show", f"{goal.commit}:calc.py").endswith("return a + b\n")
    finished = Counter(event.call for event in journal.of(e.ToolFinished))
    started = Counter(event.call for event in journal.of(e.ToolStarted))
    assert finished == started, "every call that was started has exactly one result"
    assert set(finished.values()) == {1}
    assert journal.states() == ["in_progress", "testing", "test_failed", "in_progress", "testing", "completed"]
    # An interrupted round has to be made again; the first six digits of a call name its attempt and round.
    again = {event.call[:6] for event in journal.of(e.ToolFinished) if event.interrupted}
    assert outcome.spend.rounds == 7 + len(again)
    assert not list((folder / ".bough" / "work").glob("*/*")), "no workspace is left behind"
