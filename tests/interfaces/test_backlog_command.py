"""`bough backlog`, as a person types it."""

import asyncio
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import click
import pytest

from bough.app import open_journal
from bough.core import events as e
from bough.core.messages import Answer, Call
from bough.interfaces.cli.backlog_run import parse_until
from bough.services.backlog import load_backlog
from tests.harness import git, make_project
from tests.interfaces import shell
from tests.interfaces.shell import CommandOutput, bough, ended, environment, here, live, until
from tests.postgres import new_schema
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LIST = """\
- [ ] Write alpha into the file
  - name: alpha
  - check: grep -q alpha calc.py
- [ ] Write beta into the file
  - name: beta
  - check: grep -q beta calc.py
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "p")
    git(folder, "config", "user.name", "t")
    git(folder, "config", "user.email", "t@example.org")
    return folder


def say(folder: Path, capsys: pytest.CaptureFixture[str], *args: str) -> CommandOutput:
    return here(folder, capsys, "backlog", *args)


def test_a_list_is_written_read_changed_and_no_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "goals.md").write_text(LIST)
    assert say(project, capsys, "list").out.startswith("The backlog is empty")
    assert say(project, capsys, "add", "--file", "goals.md").status == 0
    assert say(project, capsys, "add", "Write gamma", "--needs", "1", "--priority", "3").status == 0
    assert say(project, capsys, "move", "beta", "--before", "alpha").status == 0
    assert say(project, capsys, "edit", "2", "--max-cost", "1.5", "--label", "ui").out == "Changed beta.\n"
    listed = json.loads(say(project, capsys, "list", "--json").out)
    assert [(one["number"], one["name"]) for one in listed] == [(2, "beta"), (1, "alpha"), (3, "write-gamma")]
    assert (listed[0]["cost"], listed[2]["needs"], listed[2]["standing"]) == (1.5, ["alpha"], "not_begun")
    assert [one["name"] for one in json.loads(say(project, capsys, "list", "--label", "ui", "--json").out)] == ["beta"]
    dropped = say(project, capsys, "drop", "alpha")
    assert dropped.out.startswith("Dropped alpha. write-gamma cannot begin any more: `bough backlog edit`")
    assert "There are no runs here yet" in here(project, capsys, "runs").out
    assert say(project, capsys, "list", "--list", "other").out.startswith("The backlog is empty")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("add",), "give one GOAL, or a list with --file F"),
        (("add", " "), "The goal is empty"),
        (("add", "Write it", "--name", "alpha"), "already a goal called `alpha`"),
        (("add", "Write alpha into the file"), "already in the backlog, as `alpha`"),
        (("add", "x", "--needs", "nobody"), "There is no goal `nobody`"),
        (("edit", "alpha", "--needs", "beta"), "Goals need each other"),
        (("edit", "alpha"), "pass an option for what to change, such as --goal or --check"),
        (("drop", "nobody"), "There is no goal `nobody`"),
        (("move", "alpha", "--before", "alpha"), "cannot come before itself"),
        (("run", "--until", "25:00"), "is not a time of day"),
        (("run", "--list", "Not a name"), "use `not-a-name`"),
        (("run", "--list", "empty"), "The backlog empty is empty"),
        (("run", "--max-cost", "1", "--model", "openai:nobody-knows-its-price"), "price of openai:nobody-knows"),
        (("import", "github", "--stdin"), "pass --yes"),
    ],
)
def test_bad_input_is_refused_in_words(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], says: str
) -> None:
    (project / "goals.md").write_text(LIST)
    say(project, capsys, "add", "--file", "goals.md")
    say(project, capsys, "edit", "beta", "--needs", "alpha")
    issue = json.dumps([{"number": 1, "title": "x"}])
    said = bough(project, "backlog", *args, stdin=issue, OPENAI_API_KEY="k") if args[0] == "import" else None
    said = said or say(project, capsys, *args)
    assert said.status == 2 and says in said.err, said


def test_issues_become_goals_and_nothing_else(project: Path) -> None:
    issues = [
        {"number": 7, "title": "Crash", "body": "- check: true\nneeds: x", "labels": [{"name": "bug"}]},
        {"number": 8, "title": "Huge", "body": "x" * 5_000_000, "labels": [{"name": "bug"}]},
        {"number": 9, "title": "Other", "body": "", "labels": []},
    ]
    said = bough(project, "backlog", "import", "github", "--stdin", "--yes", "--label", "bug", stdin=json.dumps(issues))
    assert said.status == 0 and "issue-8" in said.err and "characters, more than" in said.err
    (item,) = bough(project, "backlog", "list", "--json").json
    assert (item["name"], item["goal"]) == ("issue-7", "Crash\n\n- check: true\nneeds: x")
    assert not {"check", "needs", "priority", "rounds"} & set(item)
    missing = bough(project, "backlog", "import", "gitlab", PATH="/usr/bin:/bin")
    assert missing.status == 7 and "`glab` is not on your PATH" in missing.err


def answer(request: dict[str, Any]) -> Answer:
    """Writes the word that the goal names; slowly, so that it can be killed."""
    time.sleep(0.2)
    found = re.search(r"Write (\w+) into", json.dumps(request["messages"]))
    word = found[1] if found else "nothing"
    if any(message["role"] == "tool" for message in request["messages"]):
        return Answer(calls=(Call("d", "done", '{"summary": "done"}'),))
    return Answer(calls=(Call("b", "bash", json.dumps({"command": f"echo '# {word}' >> calc.py"})),))


@in_turn
def test_a_night_that_is_killed_goes_on_and_decides_every_goal_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "goals.md").write_text(LIST)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "a list")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert bough(project, "backlog", "add", "--file", "goals.md").status == 0
    with WireModel(answer) as wire:
        options = ("--model", "openai:m", "--base-url", wire.base_url, "--protocol", "tools", "--jobs", "2")
        for rounds in (1, 3):
            with live(project, "backlog", "run", *options) as process:
                until(lambda rounds=rounds: len(wire.requests) >= rounds)  # type: ignore[misc]
                process.kill()
        said = bough(project, "backlog", "run", *options, OPENAI_API_KEY="k")
        again = bough(project, "backlog", "run", *options, OPENAI_API_KEY="k")
    assert said.status == 0 == again.status, said
    assert "2 goals: 2 done and proven." in said.out and "conflicts with" not in said.out

    async def look() -> None:
        async with open_journal(project) as journal:
            backlog = await load_backlog(journal)
            records = await journal.store.read(backlog.stream)
            settled = [record.task for record in records if isinstance(record.event, e.GoalSettled)]
            assert sorted(settled) == ["alpha", "beta"]
            assert sorted(await journal.store.runs()) == sorted(item.run for item in backlog.items.values())

    asyncio.run(look())
    page = bough(project, "backlog", "report", "--md", "night.md", "--html", "night.html")
    assert page.status == 0 and "## Done and proven" in (project / "night.md").read_text()
    assert "<script" not in (project / "night.html").read_text()


GH = """#!/bin/sh
printf '%s|' "$@" >> LOG; echo >> LOG
[ "$GH_PROMPT_DISABLED" = 1 ] || exit 9
case "$1 $2" in
"pr create")
    echo "Creating draft pull request for $5 into main in o/r" >&2
    grep -q alpha "$9" && echo https://github.example/o/r/pull/7 && exit 0
    printf 'a pull request for branch "%s" already exists:\\nhttps://github.example/o/r/pull/8\\n' "$5" >&2; exit 1 ;;
"pr view") echo https://github.example/o/r/pull/8 ;;
esac
"""


@in_turn
def test_a_full_disk_begins_nothing_and_proven_work_becomes_a_draft(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "goals.md").write_text(LIST)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "a list")
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(project, "remote", "add", "origin", str(tmp_path / "origin.git"))
    program, log = tmp_path / "bin" / "gh", tmp_path / "gh.log"
    program.parent.mkdir()
    program.write_text(GH.replace("LOG", str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert bough(project, "backlog", "add", "--file", "goals.md").status == 0
    with WireModel(answer) as wire:
        options = ("--model", "openai:m", "--base-url", wire.base_url, "--protocol", "tools")
        full = bough(project, "backlog", "run", *options, "--max-disk", "0.000001")
        assert full.status == 6 and "the limit is 1e-06 GB" in full.out and not wire.requests
        assert bough(project, "backlog", "run", *options, "--max-disk", "5", "--pr", "draft").status == 0
    first, second = bough(project, "backlog", "report", "--json").json["goals"]
    assert first["address"].endswith("/pull/7") and second["address"].endswith("/pull/8"), "that one was there already"
    pushed = git(tmp_path / "origin.git", "for-each-ref", "--format=%(refname:short)").split()
    assert sorted(pushed) == sorted([first["branch"], second["branch"]])
    create, again, view = [line.split("|") for line in log.read_text().splitlines()]
    head = ["pr", "create", "--draft", "--head", first["branch"], "--title", "Write alpha into the file", "--body-file"]
    assert create[:8] == head and again[1] == "create" and view[:3] == ["pr", "view", second["branch"]]
    assert "alpha" in Path(create[8]).read_text()


TRACKER = """#!/bin/sh
[ "$GH_TOKEN$GITHUB_TOKEN$GH_HOST" = abc ] || { echo "To use GitHub CLI here, set the GH_TOKEN variable." >&2; exit 4; }
[ -z "$OPENAI_API_KEY" ] || exit 9
case "$1 $2" in
"issue list") echo '[{"number": 12, "title": "Write alpha into the file", "url": "https://g.example/o/r/issues/12"}]' ;;
"pr create") tail -n 1 "$9" > LOG; echo https://github.example/o/r/pull/13 ;;
esac
"""


@in_turn
def test_an_imported_issue_becomes_a_draft_that_closes_it_with_the_rights_of_gh_alone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(project, "remote", "add", "origin", str(tmp_path / "origin.git"))
    for path, text in (
        (tmp_path / "bin" / "gh", TRACKER.replace("LOG", str(tmp_path / "gh.log"))),
        (project / ".git" / "hooks" / "pre-push", f"#!/bin/sh\nenv > {tmp_path / 'pushed.env'}\n"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    rights = {"GH_TOKEN": "a", "GITHUB_TOKEN": "b", "GH_HOST": "c", "OPENAI_API_KEY": "k"}
    assert "GH_TOKEN" in bough(project, "backlog", "import", "github", "--yes").err
    said = bough(project, "backlog", "import", "github", "--yes", **rights)
    assert said.status == 0, said
    assert bough(project, "backlog", "edit", "issue-12", "--check", "grep -q alpha calc.py").status == 0
    with WireModel(answer) as wire:
        options = ("--model", "openai:m", "--base-url", wire.base_url, "--protocol", "tools", "--pr", "draft")
        assert bough(project, "backlog", "run", *options, **rights).status == 0
    assert (tmp_path / "gh.log").read_text() == "Closes #12\n"
    pushed = (tmp_path / "pushed.env").read_text().splitlines() if (tmp_path / "pushed.env").exists() else []
    assert not [line for line in pushed if line.startswith(("GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "OPENAI"))]


@pytest.mark.parametrize("shared", [False, True], ids=["sqlite", "postgresql"])
@in_turn
def test_two_processes_share_a_list_and_take_no_goal_twice(
    project: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    if shared:
        monkeypatch.setenv("BOUGH_STORE", new_schema())
    store = {"BOUGH_STORE": os.environ["BOUGH_STORE"]} if shared else {}
    monkeypatch.setattr(shell, "environment", lambda **more: environment(**{**more, **store, "OPENAI_API_KEY": "k"}))
    lines = [{"goal": f"Write word{n} into", "name": f"g{n}", "check": f"grep -q word{n} calc.py"} for n in range(4)]
    feed = "\n".join(map(json.dumps, lines))
    assert bough(project, "backlog", "add", "--file", "-", stdin=feed).status == 0
    with WireModel(answer) as wire:
        options = ("--model", "openai:m", "--base-url", wire.base_url, "--protocol", "tools", "--jobs", "1")
        with live(project, "backlog", "run", *options) as one, live(project, "backlog", "run", *options) as other:
            first, second = ended(one), ended(other)
    assert (first.status, second.status) == (0, 0), (first, second)

    async def look() -> None:
        async with open_journal(project) as journal:
            backlog = await load_backlog(journal)
            records = await journal.store.read(backlog.stream)
            taken = [record.event for record in records if isinstance(record.event, e.GoalTaken)]
            assert len(taken) == 4 and len({event.worker for event in taken}) == 2, "both worked, none twice"
            settled = [record.task for record in records if isinstance(record.event, e.GoalSettled)]
            assert sorted(settled) == ["g0", "g1", "g2", "g3"]

    asyncio.run(look())


def test_the_clock_is_read_as_the_next_such_moment() -> None:
    noon = time.mktime((2026, 3, 1, 12, 0, 0, 0, 0, -1))
    assert parse_until("12:30", noon) == noon + 1800
    assert parse_until("07:00", noon) == time.mktime((2026, 3, 2, 7, 0, 0, 0, 0, -1))
    with pytest.raises(click.UsageError):
        parse_until("7 pm", noon)
