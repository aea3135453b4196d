"""Every command from outside, on a real run."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness import CALC, CHECK, FIXED, git, make_project
from tests.interfaces.shell import BOUGH, CommandOutput, act, botch, bough, environment, here, repair, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@dataclass(frozen=True)
class FinishedRun:
    """A project with a finished run."""

    folder: Path
    name: str
    said: CommandOutput


@pytest.fixture(scope="module")
def completed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FinishedRun]:
    folder = make_project(tmp_path_factory.mktemp("completed") / "ein Projekt")
    with WireModel(repair()) as wire:
        said = bough(folder, *run_args(wire.base_url, check=CHECK))
    yield FinishedRun(folder, said.out.split()[0], said)


@pytest.fixture
def own(completed: FinishedRun, tmp_path: Path) -> FinishedRun:
    """A copy of it, to change."""
    return FinishedRun(
        shutil.copytree(completed.folder, tmp_path / "copy", symlinks=True), completed.name, completed.said
    )


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FinishedRun]:
    folder = make_project(tmp_path_factory.mktemp("failed"), repository=False)
    with WireModel(botch()) as wire:
        said = bough(folder, *run_args(wire.base_url, check=CHECK), "--max-depth", "0", "--protocol", "tools")
    yield FinishedRun(folder, said.out.split()[0], said)


def test_run_says_what_it_will_do_what_it_does_and_how_it_ended(completed: FinishedRun) -> None:
    said, out = completed.said, completed.said.out
    assert (said.status, said.err) == (0, "")
    assert "\x1b" not in out
    for part in (
        f"{completed.name}  Make add add.",
        "check    " + CHECK,
        "model    openai:test",
        "budget   40 rounds, more if it is planned · 6,000,000 tokens · no limit on cost or time",
        "sandbox  ",
        "goal: round 2: edit calc.py",
        f"check passed: {CHECK} (exit status 0, ",
        f"✔ completed  {completed.name}",
        "calc.py | 2 +-",
        "4 rounds · 5.1k tokens",
        f"bough diff {completed.name}",
        f"bough apply {completed.name}",
    ):
        assert part in out, out
    assert out.index("budget") < out.index("round 1")
    assert (completed.folder / "calc.py").read_text() == CALC, "the person's file stays as it was"


@in_turn
def test_a_failed_run_says_what_was_tried(failed: FinishedRun) -> None:
    assert failed.said.status == 3
    assert "✘ failed" in failed.said.out
    assert "the check still fails after 3 repairs" in failed.said.out
    assert f"bough apply {failed.name} --partial" in failed.said.out


def test_runs(completed: FinishedRun) -> None:
    heading, row = bough(completed.folder, "runs").out.splitlines()
    assert heading.split() == ["run", "status", "rounds", "cost", "took", "started", "goal"]
    assert row.startswith(completed.name) and "completed" in row and "4/40" in row and row.endswith("Make add add.")
    (facts,) = bough(completed.folder, "runs", "--json").json
    assert (facts["run"], facts["status"], facts["exit_status"]) == (completed.name, "completed", 0)
    assert facts["spend"]["rounds"] == 4 and facts["limits"]["rounds"] == 40 and facts["holder"] is None


def test_runs_where_there_are_none(tmp_path: Path) -> None:
    said = bough(tmp_path, "runs")
    assert said.status == 0 and "no runs here yet" in said.out
    assert bough(tmp_path, "runs", "--json").json == []
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind"


def test_show(completed: FinishedRun) -> None:
    out = bough(completed.folder, "show").out
    assert out.startswith(f"{completed.name}  ✔ completed  Make add add.")
    assert "✔ goal  completed    4/40  passed" in out
    facts = bough(completed.folder, "show", completed.name[:4], "--json").json
    (task,) = facts["tasks"]
    assert (task["path"], task["state"], task["parent"]) == ("goal", "completed", None)
    assert task["verdict"]["command"] == CHECK and task["verdict"]["exit_status"] == 0
    assert task["files"] == ["calc.py"]


def test_show_from_a_folder_inside_and_from_elsewhere(completed: FinishedRun, tmp_path: Path) -> None:
    inside = completed.folder / "deeper"
    inside.mkdir(exist_ok=True)
    assert completed.name in bough(inside, "show").out
    assert completed.name in bough(tmp_path, "show", "--dir", str(completed.folder)).out


def test_status(completed: FinishedRun, failed: FinishedRun) -> None:
    out = bough(completed.folder, "status").out
    for part in ("state    ✔ completed", "attempt  1 (builder)", "rounds   4 of 40", "check    passed: " + CHECK):
        assert part in out, out
    assert "calc.py  changed" in out and "notes    plus it is" in out and "bough apply" in out
    facts = bough(completed.folder, "status", "--json").json
    assert facts["task"]["notes"] == [{"kind": "decision", "text": "plus it is"}]
    assert facts["task"]["files"] == ["calc.py"] and facts["task"]["verdict"]["tree"]
    out = bough(failed.folder, "status", failed.name, "goal").out
    assert "check    failed: " in out and "AssertionError: -1 != 5" in out and "4 (bug hunter, repair 3)" in out


def test_log(completed: FinishedRun) -> None:
    lines = bough(completed.folder, "log").out.splitlines()
    assert lines[0].endswith("run started: Make add add.")
    assert any("edit calc.py: done" in line for line in lines)
    assert "run ended: completed" in lines[-1]
    events = bough(completed.folder, "log", "--json").events
    assert [sorted(event) for event in events] == [["at", "event", "run", "seq", "task", "version"]] * len(events)
    assert len(events) == len(lines)
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert events[0]["event"]["event"] == "RunStarted" and events[-1]["event"]["event"] == "RunFinished"
    only = bough(completed.folder, "log", "goal", "--json").events
    assert {event["task"] for event in only} == {"goal"} and len(only) == len(events) - 4


def test_the_conversation(completed: FinishedRun) -> None:
    out = bough(completed.folder, "log", "--rounds").out
    for part in (
        "with this prompt:",
        "Make add add.",
        "I look at the code first.",
        '→ read {"path": "calc.py"}',
        "return a - b",
    ):
        assert part in out, out
    assert out.index("I look at the code") < out.index("return a - b")
    assert bough(completed.folder, "log", "--rounds", "--json").status == 2


def test_following_a_finished_run_ends(completed: FinishedRun) -> None:
    assert bough(completed.folder, "log", "--follow").out == bough(completed.folder, "log").out


def test_diff(completed: FinishedRun) -> None:
    out = bough(completed.folder, "diff").out
    assert "-    return a - b\n+    return a + b\n" in out
    assert "1 file changed" in bough(completed.folder, "diff", "latest", "--stat").out


def test_a_diff_is_a_patch(own: FinishedRun) -> None:
    (own.folder / "the.patch").write_text(bough(own.folder, "diff").out)
    git(own.folder, "apply", "the.patch")
    assert (own.folder / "calc.py").read_text() == FIXED


def test_apply(own: FinishedRun) -> None:
    said = bough(own.folder, "apply")
    assert said.status == 0 and "1 file" in said.out and "calc.py  changed" in said.out
    assert (own.folder / "calc.py").read_text() == FIXED
    assert bough(own.folder, "show", "--json").json["applied"] is True
    again = bough(own.folder, "apply")
    assert again.status == 2 and "already applied" in again.err and "bough undo" in again.err
    undone = bough(own.folder, "undo", "--json").json
    assert undone["files"] == [{"kind": "M", "path": "calc.py"}]
    assert (own.folder / "calc.py").read_text() == CALC
    assert bough(own.folder, "apply", "--json").json["files"] == [{"kind": "M", "path": "calc.py"}]


def test_apply_refuses_to_overwrite(own: FinishedRun) -> None:
    (own.folder / "calc.py").write_text("# mine\n")
    said = bough(own.folder, "apply")
    assert said.status == 2 and said.err.startswith("bough: ") and "calc.py" in said.err
    assert (own.folder / "calc.py").read_text() == "# mine\n"


def test_only_a_completed_run_is_applied_unless_one_insists(failed: FinishedRun, tmp_path: Path) -> None:
    folder = shutil.copytree(failed.folder, tmp_path / "copy", symlinks=True)
    said = bough(folder, "apply")
    assert said.status == 2 and "not completed" in said.err and "--partial" in said.err
    assert not (folder / "notes.txt").exists()
    said = bough(folder, "apply", "--partial")
    assert said.status == 0 and "not proven" in said.out
    assert (folder / "notes.txt").read_text() == "hello\n"


@in_turn
def test_rewind_lists_its_points_and_goes_back_to_one(own: FinishedRun) -> None:
    out = bough(own.folder, "rewind").out
    assert "round 0" in out and "before its first round" in out
    assert "round 2" in out and "edit calc.py" in out and f"bough rewind {own.name} --to POINT" in out
    points = bough(own.folder, "rewind", "--json").json["points"]
    assert [point["round"] for point in points] == [0, 1, 2, 3, 4]
    assert points[1]["tree"] != points[2]["tree"] == points[4]["tree"]

    assert bough(own.folder, "rewind", "--to", "9").status == 2
    again = bough(own.folder, "resume")
    assert again.status == 0, "it is over, and well: `until bough resume` ends"
    assert "is finished" in again.out
    said = bough(own.folder, "rewind", "--say", "Add it up.")
    assert said.status == 2 and "--to POINT" in said.err
    said = bough(own.folder, "rewind", own.name, "--task", "goal", "--to", "1", "--say", "Add it up.")
    assert "Add it up." in bough(own.folder, "log").out
    assert said.status == 0 and f"bough resume {own.name}" in said.out
    assert bough(own.folder, "diff").out == ""
    assert bough(own.folder, "runs", "--json").json[0]["status"] == "stopped"
    assert bough(own.folder, "trust", own.name, "--yes").status == 0  # The folder is a copy: nothing is allowed in it.
    with WireModel(repair()[1:]) as wire:
        again = bough(own.folder, "resume", "--base-url", wire.base_url, "--apply")
    assert again.status == 0 and f"{own.name}  resumed" in again.out and "Applied: 1 file" in again.out
    assert (own.folder / "calc.py").read_text() == FIXED


def test_stopping_what_is_not_running(completed: FinishedRun) -> None:
    said = bough(completed.folder, "stop")
    assert said.status == 0 and "is not running" in said.out and "completed" in said.out
    assert bough(completed.folder, "stop", "--json").json["asked"] is None


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("show", "nonsense"), "There is no run `nonsense`"),
        (("status", "nonsense"), "has no such task"),
        (("status", "latest", "nonsense"), "has no task `nonsense`"),
        (("rewind", "--to", "x"), "expected a whole number"),
        (("frobnicate",), "There is no command `frobnicate`"),
        (("rnu",), "did you mean `bough run`?"),
        (("show", "--nonsense"), "--nonsense"),
        (("show", "--dir", "/nonsense"), "/nonsense is not a folder"),
        (("backlog", "edit", "x"), "such as --goal or --check: see `bough backlog edit --help`."),
        (("apply", "--hooks"), "cannot be combined with --steps: see `bough apply --help`."),
        (("run",), "no goal given"),
        (("run", "goal", "--file", "x"), "GOAL and --file are mutually exclusive"),
        (("run", "--file", "missing.md"), "missing.md"),
        (("run", " "), "The goal is empty"),
        (("run", "goal", "--check", " "), "The check is empty"),
        (("run", "goal", "--rounds", "0"), "--rounds"),
        (("run", "goal", "--model", "nonsense:x"), "nonsense"),
    ],
)
def test_wrong_usage_is_one_sentence_and_status_2(
    completed: FinishedRun, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], part: str
) -> None:
    said = here(completed.folder, capsys, *args)
    assert (said.status, said.out) == (2, ""), said
    assert said.err.startswith("bough: ") and said.err.count("\n") == 1 and part in said.err


@pytest.mark.parametrize(
    ("args", "part"),
    [(("run", "goal"), "No model is configured"), (("run", "goal", "--model", "xai:m"), "XAI_API_KEY")],
)
def test_no_model_is_one_sentence_and_status_7(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], part: str
) -> None:
    said = here(tmp_path, capsys, *args)
    assert (said.status, said.out) == (7, ""), said
    assert said.err.count("\n") == 1 and part in said.err and "bough demo" in said.err


def test_nothing_to_look_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("show", "status", "log", "diff", "apply", "rewind", "resume", "stop"):
        said = here(tmp_path, capsys, command)
        assert said.status == 2 and "bough run GOAL" in said.err, said


@in_turn
def test_doctor(completed: FinishedRun, tmp_path: Path) -> None:
    key = "sk-this-must-not-be-shown-0123456789"
    with WireModel(models=["test"]) as wire:
        said = bough(
            completed.folder, "doctor", "--model", "openai:test", "--base-url", wire.base_url, OPENAI_API_KEY=key
        )
    assert said.status == 0 and "A run can start here." in said.out, said
    for part in ("python", "git version", "journal", "sandbox", "keys", "OPENAI_API_KEY", "ripgrep", "openai:test"):
        assert part in said.out
    assert key not in said.out
    (check,) = [line for line in said.out.splitlines() if " check " in line]
    assert check.startswith("✘ fails") and "1 of 1 test fails" in check, "failing tests are not `ok`, and no obstacle"
    missing = bough(tmp_path, "doctor", "--json")
    assert missing.status == 1 and missing.json["ready"] is False
    (model,) = [finding for finding in missing.json["findings"] if finding["what"] == "model"]
    assert not model["ok"] and "No model is configured" in model["says"]
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_not_an_error(completed: FinishedRun) -> None:
    command = f"{' '.join(BOUGH)} log --rounds; echo $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"{{ {command}; }} | true"],
        cwd=completed.folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stderr == "0\n"


def test_settings_that_are_wrong_are_named(completed: FinishedRun) -> None:
    said = bough(completed.folder, "diff", BOUGH_NONSENSE="1")
    assert said.status == 2 and "BOUGH_NONSENSE" in said.err and said.err.count("\n") == 1


@in_turn
def test_hostile_text_does_not_reach_a_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    folder = make_project(tmp_path / "hostile")
    script = [
        act("bash", f"text {evil}", command=f"printf '%b' '\\033[31mred\\033]0;x\\a'; touch 'f{chr(27)}[1m.txt'"),
        act("note", kind="decision", text=f"note {evil}"),
        act("done", summary=f"sum {evil}"),
    ]
    with WireModel(script) as wire:
        said = bough(
            folder, *run_args(wire.base_url, check="printf '\\033[2J'; false", goal=f"a goal {evil}"), "--rounds", "3"
        )
    assert said.err == ""
    outputs = [said.out]
    for command in ("runs", "show", "status", "log", "log --rounds", "log --json", "show --json", "rewind"):
        outputs.append(bough(folder, *command.split()).out)
    outputs.append(bough(folder, "apply", "--partial").out)
    for output in outputs:
        assert output
        for character in "\x1b\x9b\x07\u202e":
            assert character not in output, (character, output)
