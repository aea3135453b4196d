"""Hooks: what a person hears of, at least once each, and what a hook can and cannot do."""

import asyncio
import json
import os
import signal
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bough.app import open_journal
from bough.app.config import load_config, load_hooks
from bough.core import events as e
from bough.core.backlog.entry import GoalEntry, GoalReport
from bough.core.errors import UsageError
from bough.core.ids import CONTROL, GOAL, RUN
from bough.interfaces.cli.entry import COMMANDS
from bough.services.hooks import LOG, NoticeDelivery, Outbox, call_hook, find_quiet_end
from bough.services.notices import OUTCOMES, make_example
from tests.harness import make_project
from tests.interfaces.journals import started, task_events
from tests.interfaces.shell import bough, live, repair, run_args, until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

KEEP = r"""printf '%s\\n' \"$(cat)\" >> {0}"""
"""A hook, as TOML writes it, that keeps what it is told, a line each, in one write: two may run at once."""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person whose settings and state are this test's."""
    for name in ("config", "state"):
        (tmp_path / name / "bough").mkdir(parents=True)
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    return tmp_path


def settle(own: Path, text: str) -> Path:
    """Write the person's settings; returns where `KEEP` keeps what is told."""
    told = own / "told"
    (own / "config" / "bough" / "config.toml").write_text(text.replace("KEEP", KEEP.format(told)))
    return told


def read(told: Path) -> list[dict[str, Any]]:
    """What was told so far. The last line may not be whole yet; one that is empty is of a process that was killed
    after it had started the hook and before it said anything, and the next one tells it again."""
    whole = told.read_text().rpartition("\n")[0] if told.exists() else ""
    return [json.loads(line) for line in whole.splitlines() if line]


def read_command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # It has just ended.
        return b""


def wait_for(told: Path, number: int) -> None:
    until(lambda: len(read(told)) >= number)


def deliver(root: Path) -> float:
    """Deliver once, as if whoever worked had ended."""

    async def drain() -> float:
        async with open_journal(root) as journal:
            return await NoticeDelivery(journal, lambda run, waiting: "").drain()

    return asyncio.run(drain())


def follow(root: Path, *streams: str) -> None:
    for stream in streams:
        Outbox(root).follow(stream, 0)


def finished(root: Path, run: str) -> None:
    journals.write(root, run, [(RUN, started("Fix the totals")), (RUN, e.RunFinished("completed", "the check passed"))])


# ── a whole run ─────────────────────────────────────────────────────────────────────────────────────────────────────


@in_turn
def test_a_run_tells_of_its_end_and_does_not_wait_for_a_slow_hook(own: Path) -> None:
    project = make_project(own / "p")
    gate = own / "gate"
    os.mkfifo(gate)
    told = settle(own, f'notify = "KEEP"\n[hooks]\nrun_finished = "cat {gate}"\n')
    with WireModel(repair()) as wire:
        done = bough(project, *run_args(wire.base_url), OPENAI_API_KEY="k")
    assert done.status == 0 and not told.exists(), "the run has ended, and its first hook still waits"
    gate.write_text("go on\n")
    (notice,) = until(lambda: read(told))
    assert notice["hook_event_name"] == "run_finished" and notice["status"] == "completed"
    assert notice["cwd"] == str(project) and notice["next"] == f"bough diff {notice['session_id']}"
    listed = until(lambda: json.loads(bough(project, "hooks", "list", "--json").out)["calls"][1:])
    assert listed[0]["id"] == notice["id"] and listed[0]["status"] == 0


def test_a_killed_run_and_a_killed_deliverer_lose_nothing_and_keep_the_id(own: Path) -> None:
    """Both die while the hook runs: the next process in the project tells it again, under the same id."""
    project, gate = own / "p", own / "gate"
    os.mkfifo(gate)
    told = settle(own, f'notify = ["sh", "-c", "{KEEP.format(own / "told")}; cat {gate}"]\n')
    finished(project, "jade-fox")
    follow(project, "jade-fox")
    held = os.open(gate, os.O_RDWR)
    try:
        for _ in range(3):
            before = len(read(told))
            with live(project, "hooks", "deliver") as process:
                wait_for(told, before + 1)
                process.send_signal(signal.SIGKILL)
    finally:  # The hooks outlive their killed starters: the end of the pipe, or its absence, ends them.
        gate.unlink()
        os.close(held)
    until(lambda: not any(str(gate).encode() in line for line in map(read_command_line, Path("/proc").glob("[0-9]*"))))
    assert len({one["id"] for one in read(told)}) == 1 and len(read(told)) == 3
    settle(own, 'notify = "KEEP"\n')
    deliver(project)
    deliver(project)
    assert len(read(told)) == 4 and len({one["id"] for one in read(told)}) == 1
    assert Outbox(project).load() == {}, "a finished run is not looked at again"


@in_turn
def test_a_thousand_events_each_at_least_once_across_kills(own: Path) -> None:
    project, runs = own / "p", 40
    told = settle(own, 'notify = "KEEP"\n[hooks]\nbudget = "exit 1"\n')
    for number in range(runs):
        name = f"jade-fox-{number}"
        halted = [(RUN, e.RunHalted("budget", "spent"))] * 4
        journals.write(project, name, [(RUN, started()), *halted, (RUN, e.RunFinished("failed", "given up"))])
        follow(project, name)
    for kills in range(4):
        with live(project, "hooks", "deliver") as process:
            wait_for(told, 20 * (kills + 1))
            process.kill()
    deliver(project)
    ids = [one["id"] for one in read(told)]
    assert len(set(ids)) == 5 * runs, "each once at least"
    assert len(ids) <= 5 * runs + 4, "and again only what a kill cut off"


# ── what is told ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_question_comes_with_what_it_takes_to_answer(own: Path) -> None:
    project, told = own / "p", settle(own, '[hooks]\nneeds_you = "KEEP"\n')
    asked = e.QuestionAsked("Should an empty list be an error?\nAnswer with a hint.")
    journals.write(project, "jade-fox", [(RUN, started()), (GOAL, asked), (RUN, e.RunHalted("waiting", "asked"))])
    follow(project, "jade-fox")
    deliver(project)
    (notice,) = read(told)
    assert notice["question"] == asked.question and notice["next"] == 'bough answer jade-fox "…"'
    assert "Should an empty list be an error?" in notice["message"] and "\n" not in notice["message"]


def test_what_was_answered_meanwhile_and_what_a_person_did_is_not_told(own: Path) -> None:
    project, told = own / "p", settle(own, 'notify = "KEEP"\n')
    answered = [(GOAL, e.QuestionAsked("Which?")), (CONTROL, e.PersonSaid("This one.", "ada"))]
    journals.write(project, "jade-fox", [(RUN, started()), *answered, (RUN, e.RunHalted("stopped", "by you"))])
    follow(project, "jade-fox")
    deliver(project)
    assert read(told) == []


NIGHT = "@backlog/backlog"


def night(root: Path, over: bool) -> None:
    """A night with one goal that is settled and a question of another."""
    entries = {name: GoalEntry(f"Do {name}") for name in ("alpha", "beta")}
    journals.write(root, NIGHT, [(CONTROL, e.GoalsListed(entries)), (CONTROL, e.NightStarted("b" * 40))])
    journals.append(root, NIGHT, "alpha", [e.GoalTaken("jade-fox", "b" * 40)])
    journals.append(root, NIGHT, "beta", [e.GoalTaken("jade-owl", "b" * 40)])
    for run, goal in (("jade-fox", "alpha"), ("jade-owl", "beta")):
        listed = e.RunStarted(
            **{**{f: getattr(started(), f) for f in started().__struct_fields__}, "listed": f"backlog/{goal}"}
        )
        journals.append(root, run, RUN, [listed])
    journals.append(root, "jade-fox", GOAL, task_events(GOAL, 1))
    journals.append(root, "jade-fox", RUN, [e.RunFinished("completed", "the check passed")])
    journals.append(root, NIGHT, "alpha", [e.GoalSettled(GoalReport("completed", "proven", branch="bough/jade-fox"))])
    journals.append(root, "jade-owl", GOAL, [e.QuestionAsked("Which one?")])
    if over:
        journals.append(root, NIGHT, CONTROL, [e.NightEnded("nothing is left to begin")])
    follow(root, NIGHT, "jade-fox", "jade-owl")


def test_a_goal_of_a_night_is_told_once_with_its_branch(own: Path) -> None:
    project, told = own / "p", settle(own, 'notify = "KEEP"\n')
    night(project, over=True)
    deliver(project)
    kinds = [(one["hook_event_name"], one["session_id"], one["branch"]) for one in read(told)]
    assert kinds == [
        ("run_finished", "jade-fox", "bough/jade-fox"),
        ("needs_you", "jade-owl", ""),
        ("backlog_finished", "backlog", ""),
    ]


def test_a_digest_tells_a_night_once_when_it_is_over(own: Path) -> None:
    project, told = own / "p", settle(own, 'notify = "KEEP"\n[hooks]\ndigest = true\n')
    night(project, over=False)

    async def drain() -> None:
        async with open_journal(project) as journal:
            await NoticeDelivery(journal, lambda run, waiting: "").drain(over=False)

    asyncio.run(drain())
    assert read(told) == [], "the night goes on"
    journals.append(project, NIGHT, CONTROL, [e.NightEnded("nothing is left to begin")])
    asyncio.run(drain())
    (notice,) = read(told)
    assert notice["hook_event_name"] == "digest" and "1 waits for you" in notice["message"]
    assert [one["hook_event_name"] for one in notice["events"]] == ["run_finished", "needs_you", "backlog_finished"]


def test_quiet_hours_hold_everything_back_until_they_end(own: Path) -> None:
    now = time.time()
    clock = [time.strftime("%H:%M", time.localtime(now + shift)) for shift in (-3600, 3600)]
    project, told = own / "p", settle(own, f'notify = "KEEP"\n[hooks]\nquiet = "{clock[0]}-{clock[1]}"\n')
    finished(project, "jade-fox")
    follow(project, "jade-fox")
    assert now + 3400 < deliver(project) <= now + 3660 and read(told) == []
    settle(own, f'notify = "KEEP"\n[hooks]\nquiet = "{clock[1]}-{clock[0]}"\n')
    assert deliver(project) == 0 and len(read(told)) == 1
    assert find_quiet_end("22:00-22:00", now) == 0 == find_quiet_end("", now)


# ── bad hooks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def call(own: Path, command: str | tuple[str, ...], timeout: float = 30.0) -> Any:
    return call_hook(Outbox(own), own, command, make_example("run_finished", str(own)), timeout)


def test_a_hook_that_hangs_is_killed_with_what_it_started(own: Path) -> None:
    left = own / "left"
    made = call(own, f"sleep 600 & echo $! > {left}; sleep 600", timeout=0.5)
    assert made.status is None and "was killed" in made.failure
    until(lambda: not Path(f"/proc/{left.read_text().strip()}").exists())


@in_turn
def test_a_hook_that_prints_a_gigabyte_costs_no_memory(own: Path) -> None:
    made = call(own, "head -c 1000000000 /dev/zero; echo end", timeout=300.0)
    assert made.status == 0 and made.out.endswith("end\n") and len(made.out) <= 4_000
    assert (Outbox(own).folder / "log.jsonl").stat().st_size < 50_000
    for _ in range(60):
        Outbox(own).log(made)
    assert (Outbox(own).folder / "log.jsonl").stat().st_size <= LOG + 50_000


@pytest.mark.parametrize("command", [("no-such-program",), "no-such-program", ("/etc/passwd",), ("a\0b",)], ids=str)
def test_a_hook_that_cannot_start_is_told(own: Path, command: str | tuple[str, ...]) -> None:
    made = call(own, command)
    assert made.status in (126, 127) and made.failure


def test_a_failing_hook_is_one_line_in_the_log_and_stops_nothing(own: Path) -> None:
    project = own / "p"
    told = settle(own, 'notify = "KEEP"\n[hooks]\nrun_finished = "echo broken >&2; exit 3"\n')
    for run in ("jade-fox", "jade-owl"):
        finished(project, run)
    follow(project, "jade-fox", "jade-owl")
    deliver(project)
    assert len(read(told)) == 2
    lines = [bough(project, "log", run).out for run in ("jade-fox", "jade-owl")]
    assert "your hook for run_finished ended with status 3 (broken)" in lines[0] + lines[1]
    assert (lines[0] + lines[1]).count("your hook") == 1, "once, until it works again"


def test_text_from_others_reaches_a_hook_as_data(own: Path) -> None:
    hurt = f"$(touch {own}/hurt) `touch {own}/hurt`; touch {own}/hurt\nTo: all@example.org"
    project, said = own / "p", own / "said"
    settle(own, f"""notify = ["sh", "-c", 'printf "%s" "$BOUGH_MESSAGE" > {said}']\n""")
    journals.write(project, "jade-fox", [(RUN, started()), (RUN, e.RunFinished("completed", hurt))])
    follow(project, "jade-fox")
    deliver(project)
    assert "touch" in said.read_text() and "\n" not in said.read_text() and not (own / "hurt").exists()


def test_a_program_of_the_project_is_no_hook(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(own / "p")
    for name in ("my-script", "sitecustomize.py"):
        (project / name).write_text(f"#!/bin/sh\ntouch {own}/hurt\n")
        (project / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(project))
    monkeypatch.chdir(project)
    notice = make_example("run_finished", str(project))
    for command in ("my-script", ("my-script",), ("./my-script",), (sys.executable, "-c", "")):
        call_hook(Outbox(project), project, command if command != ("./my-script",) else "./my-script", notice, 20)
    assert not (own / "hurt").exists()


@pytest.mark.parametrize(
    "text", ['notify = "x"', '[hooks]\nrun_finished = "x"', "[hooks]\ntimeout = 1", '[tool.bough]\nnotify = "x"']
)
def test_a_repository_that_names_a_hook_is_refused(own: Path, text: str) -> None:
    project = make_project(own / "p")
    (project / ("pyproject.toml" if "tool" in text else "bough.toml")).write_text(text)
    with pytest.raises(UsageError, match="cannot be set in a repository"):
        load_config(project, {})
    refused = bough(project, "run", "Make add add.")
    assert refused.status == 2 and "hooks." in refused.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[hooks]\nquiet = "25:00-07:00"', "wrong type"),
        ("[hooks]\ntimeout = 0", "wrong type"),
        ("hooks = 3\nnotify = 1", "is a section"),
        ('[hooks]\nrun_finish = "x"', "Did you mean `run_finished`"),
        ("notify = 3", "wrong type"),
    ],
)
def test_wrong_settings_get_a_sentence(own: Path, text: str, says: str) -> None:
    settle(own, text)
    with pytest.raises(UsageError, match=says):
        load_hooks(os.environ)


def test_a_torn_state_file_is_named(own: Path) -> None:
    project = own / "p"
    settle(own, 'notify = "KEEP"\n')
    finished(project, "jade-fox")
    follow(project, "jade-fox")
    (Outbox(project).folder / "told.json").write_text('{"jade')
    said = bough(project, "hooks", "deliver")
    assert "told.json cannot be read" in said.err and "remove it" in said.err


# ── trying, and refusing ────────────────────────────────────────────────────────────────────────────────────────────


def test_an_example_is_sent_and_what_came_of_it_is_said(own: Path) -> None:
    project = make_project(own / "p")
    told = settle(
        own, 'notify = "KEEP"\n[hooks]\nneeds_you = "echo heard; exit 4"\nbefore_push = "echo no >&2; exit 2"\n'
    )
    said = bough(project, "hooks", "test", "needs_you")
    assert said.status == 2 and "ended with status 4" in said.out and "heard" in said.out
    assert read(told)[0]["question"] and read(told)[0]["answers"] == ["yes", "no"]
    assert "refuses: no" in bough(project, "hooks", "test", "before_push").out
    none = bough(project, "hooks", "test", "before_apply")
    assert none.status == 2 and "You have no hook for before_apply" in none.err
    assert bough(project, "hooks", "test", "no-such").status == 2 and "hooks" in COMMANDS
    ended = ("run_finished", "given_up", "budget")
    assert tuple(OUTCOMES[make_example(event, "/p").status] for event in ended) == ended


@in_turn
def test_before_apply_can_refuse_and_a_broken_one_cannot(own: Path) -> None:
    project = make_project(own / "p")
    with WireModel(repair()) as wire:
        assert bough(project, *run_args(wire.base_url), OPENAI_API_KEY="k").status == 0
    before = (project / "calc.py").read_text()
    settle(own, '[hooks]\nbefore_apply = "echo first; echo not on a Friday >&2; exit 2"\n')
    refused = bough(project, "apply")
    assert refused.status == 2 and "Your hook before_apply refuses: not on a Friday." in refused.err
    assert (project / "calc.py").read_text() == before
    settle(own, '[hooks]\nbefore_apply = "no-such-program"\n')
    done = bough(project, "apply")
    assert done.status == 0 and "your hook before_apply ended with status 127" in done.err
    assert (project / "calc.py").read_text() != before


def test_a_hook_may_call_bough(own: Path) -> None:
    """The variables that tell it something are no settings."""
    project = make_project(own / "p")
    settle(own, f'notify = "cd {project} && {sys.executable} -m bough hooks list"\n')
    assert bough(project, "hooks", "test", "run_finished").status == 0


def test_recipes_of_the_guide_work(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With stand-ins for `notify-send`, `sendmail`, `jq` and `curl` that keep what they get."""
    page = (Path(__file__).parents[2] / "docs/guides/hooks.md").read_text().partition("## Recipes")[2]
    recipes = [tomllib.loads(part.partition("```")[0])["notify"] for part in page.split("```toml")[1:]]
    tools = own / "tools"
    tools.mkdir()
    for name in ("notify-send", "sendmail", "curl", "jq"):
        (tools / name).write_text(f'#!/bin/sh\n{{ echo "{name}"; printf "<%s>" "$@"; cat; }} | tee -a {own}/got\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert len(recipes) == 3
    for recipe in recipes:
        assert call(own / "p", tuple(recipe)).failure == ""
    got = (own / "got").read_text()
    said = make_example("run_finished", str(own / "p")).message
    assert f"<--><bough><{said}>" in got and f"Subject: bough\n\n{said}\n" in got and '| join(" · ")}>{"hook_' in got
