"""A model looks how a project is tested where its own files leave that unclear; bough believes what it sees fail."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bough.app import Choices, RunObserver, open_session
from bough.core import events as e
from bough.core.errors import Unavailable
from bough.core.ids import GOAL
from bough.core.messages import Answer, Prompt, Result, Usage, UserMessage
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call
from bough.views.run_view import view_run
from bough.views.stats import compute_stats
from tests.engine.libraries import DONE, library
from tests.harness import git, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

__all__ = ["library"]

OTHERS = [name for name in AGENT_ONLY if name != "scout"]
pytestmark = pytest.mark.differs(*OTHERS, reason="the script answers the scout and an agent, nobody else")

LANG = """\
#!/bin/sh
# Runs what no rule knows: cases of a language of its own.
n=0
for case in cases/*.qq; do sh engine/run.qx "$case" || { echo "failed $case"; exit 1; }; n=$((n + 1)); done
echo "$n cases passed"
"""
FILES = {
    "engine/run.qx": 'test "$(cat "$1")" = good\n',
    "engine/other.qx": "true\n",
    "cases/a.qq": "good\n",
    "cases/b.qq": "good\n",
    "exercise": LANG,
}
WHY = "exercise says that it runs the cases"


@pytest.fixture
def unknown(tmp_path: Path) -> Path:
    """A project of a language and a layout that nobody has a record for."""
    root = tmp_path / "p"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q")
    return root


def propose(command: str, **more: str) -> Answer:
    return call("propose_check", command=command, **{"why": WHY, **more})


def look(root: Path, *script: Any, scout: bool = True) -> tuple[e.BaseChecked, list[e.AnyEvent], ScriptedModel]:
    """What `bough check --scout` does."""
    model, seen = ScriptedModel(script), list[e.AnyEvent]()

    async def check() -> e.BaseChecked:
        choices = Choices(model=model if scout else None)
        async with open_session(root, create=True, choices=choices) as opened:
            watch = RunObserver(recorded=lambda record: seen.append(record.event))
            return (await opened.check(build_goal_step("Check it."), choices, watch, scout=scout))[0]

    return asyncio.run(check()), seen, model


def results(prompt: Prompt) -> list[str]:
    return [message.text for message in prompt.messages if isinstance(message, Result | UserMessage)]


@in_turn
def test_a_layout_that_no_rule_knows_is_scouted(unknown: Path) -> None:
    script = [
        call("read", path="exercise"),
        call("bash", command="ls cases; sh exercise"),
        propose("echo 7 tests passed"),
        propose("docker run tests"),
        propose("sh exercise"),
        *DONE,
    ]
    model = ScriptedModel(script)
    outcome, journal = run_to_end(unknown, model, goal="Write NOTES.txt.", check=None)
    (scouted,) = journal.of(e.CheckScouted)
    assert scouted.commands == ("echo 7 tests passed", "docker run tests", "sh exercise") and scouted.rounds == 5
    assert scouted.refused == {
        "echo 7 tests passed": "it passes whatever the product does: it tests nothing of it",
        "docker run tests": "not tried: the command leaves this machine, starts a service, or has a placeholder, a "
        "here-document or a variable that is not set here",
    }
    told = "\n".join(results(model.prompts[4]))
    assert "Runs what no rule knows" in told and "2 cases passed" in told and "tests nothing of it" in told
    (base,) = journal.of(e.BaseChecked)
    assert base.command == "sh exercise" and base.scouted and base.believed and WHY in base.why
    assert outcome.completed and journal.of(e.CheckFinished)[-1].verdict.command == "sh exercise"
    # It is kept: the next run has it as a candidate, and asks nobody.
    second, journal = run_to_end(unknown, DONE, goal="Write NOTES.txt.", check=None)
    assert second.completed and not journal.of(e.CheckScouted)
    assert journal.of(e.BaseChecked)[0].scouted


def test_what_a_scout_costs_is_part_of_the_run(unknown: Path) -> None:
    paid = replace(propose("sh exercise"), usage=Usage(900, 100), cost=0.5)
    outcome, journal = run_to_end(
        unknown, [paid, *DONE], goal="Write NOTES.txt.", check=None, choices=Choices(cost=0.5)
    )
    assert outcome.status == "budget" and outcome.spend.cost == 0.5 and outcome.spend.tokens == 1_000
    stats = compute_stats(journal.records)
    assert stats.tiers["helpers"].cost == 0.5 and stats.tokens_by_role == {"scout": 1_000}
    # Where the goal has not begun, too.
    before = [record for record in journal.records if record.task != GOAL]
    assert view_run("r", before).spend.cost == 0.5


@in_turn
def test_a_check_asks_only_where_it_is_told_to(unknown: Path) -> None:
    found, seen, _ = look(unknown, scout=False)
    assert not found.command and not any(isinstance(event, e.CheckScouted) for event in seen)
    found, seen, model = look(unknown, propose("sh exercise"))
    assert found.command == "sh exercise" and found.believed and len(model.prompts) == 1
    assert [type(event).__name__ for event in seen] == ["CheckScouted", "BaseStarted", "BaseChecked"]
    kept = json.loads((unknown / ".bough" / "scout.json").read_text())
    assert kept["command"] == "sh exercise" and WHY in kept["why"]
    found, _, _ = look(unknown, scout=False)
    assert found.command == "sh exercise" and found.scouted and WHY in found.why, "it is kept, with where it is from"
    (unknown / "Makefile").write_text("test:\n\tsh exercise\n")
    found, _, model = look(unknown)
    assert found.command == "make test" and not found.scouted and not model.prompts, "a certain source comes first"


def test_a_set_up_runs_before_the_command(unknown: Path) -> None:
    (unknown / "exercise").write_text(LANG.replace("cases/", "made/"))
    found, _, model = look(unknown, propose("sh exercise"), propose("sh exercise", setup="cp -r cases made"))
    assert found.command == "cp -r cases made && sh exercise" and found.believed
    assert len(model.prompts) == 2


@in_turn
def test_it_ends_after_ten_rounds_and_is_not_asked_again_for_the_same_files(unknown: Path) -> None:
    found, seen, model = look(unknown, *[call("bash", command="ls")] * 12)
    assert not found.command and len(model.prompts) == 10
    assert "One round is left" in results(model.prompts[-1])[-1]
    (told,) = (event for event in seen if isinstance(event, e.CheckScouted))
    assert told.refused == {"": "no proposal counted within 10 rounds"}
    _, journal = run_to_end(unknown, DONE, goal="Write NOTES.txt.", check=None, choices=Choices(rounds=2))
    assert not journal.of(e.CheckScouted), "it found nothing for these files before"
    (unknown / "pyproject.toml").write_text("[project]\nname = 'p'\n")
    again = [propose("sh exercise"), *DONE]
    _, journal = run_to_end(unknown, again, goal="Write NOTES.txt.", check=None)
    assert journal.of(e.BaseChecked)[0].scouted, "other files decide now"


def test_a_model_without_tools_looks_around_in_its_text(unknown: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_MODELS_PROTOCOL", "text")
    found, _, model = look(
        unknown,
        Answer('{"bash": "sh exercise"}'),
        Answer("I think so."),
        Answer(json.dumps({"command": "sh exercise", "setup": "", "why": WHY})),
    )
    assert found.command == "sh exercise"
    assert "2 cases passed" in results(model.prompts[1])[-1] and "plain text" in results(model.prompts[2])[-1]


@in_turn
def test_what_does_not_even_start_is_scouted(library: Path) -> None:
    (library / "Makefile").write_text("test: lost.txt\n\t@echo never\n")
    (library / "tests" / "test_pair.py").unlink()
    (library / "cases").mkdir()
    (library / "cases" / "exercise").write_text(
        "python3 -c 'import pair; print(len(pair.pair(1, 2)), \"cases passed\")'\n"
    )
    outcome, journal = run_to_end(library, [propose("sh cases/exercise"), *DONE], goal="Write NOTES.txt.", check=None)
    assert [started.command for started in journal.of(e.BaseStarted)] == ["make test", "sh cases/exercise"]
    (base,) = journal.of(e.BaseChecked)
    assert base.scouted and outcome.completed


@in_turn
def test_where_nothing_proposed_works_there_is_no_check(tmp_path: Path) -> None:
    for name in ("a.qx", "b.qx", "c.qx"):
        (tmp_path / name).write_text("x\n")
    git(tmp_path, "init", "-q")
    script = [
        propose("true"),
        propose("qx --test"),
        propose("", why="there are no tests"),
        *DONE,
        call("list"),
        call("list"),
    ]
    _, journal = run_to_end(tmp_path, script, goal="Write NOTES.txt.", check=None, choices=Choices(rounds=4))
    (scouted,) = journal.of(e.CheckScouted)
    assert scouted.refused["true"] == "it passes whatever the product does: it tests nothing of it"
    assert scouted.refused["qx --test"].startswith("the command `qx` is not found")
    assert scouted.refused[""] == "there are no tests"
    assert journal.of(e.BaseChecked)[0].command == ""


def test_a_scout_needs_a_model(unknown: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOUGH_MODELS_MAIN", raising=False)

    async def check() -> None:
        async with open_session(unknown, create=True) as opened:
            await opened.check(build_goal_step("Check it."), Choices(), RunObserver(), scout=True)

    with pytest.raises(Unavailable, match="model"):
        asyncio.run(check())


@in_turn
def test_what_was_seen_of_a_script_is_seen_again_when_the_script_changes(unknown: Path) -> None:
    (unknown / "exercise").write_text(LANG.replace("echo", ": echo"))
    found, seen, _ = look(unknown, propose("sh exercise"), propose("", why="nothing else"))
    (told,) = (event for event in seen if isinstance(event, e.CheckScouted))
    assert not found.command and "it may test nothing" in told.refused["sh exercise"]
    (unknown / "exercise").write_text(LANG)
    assert look(unknown, propose("sh exercise"))[0].believed
