"""`bough backlog sync`: each issue is one goal, however often they are compared, whoever is killed in between."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.backlog.entry import GoalReport
from tests.harness import make_project
from tests.interfaces.shell import CommandOutput, bough, live, until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GH = """#!/usr/bin/env python3
# Answers what bough asks of `gh`, from a file; comments are kept there.
import json, pathlib, sys
file = pathlib.Path({file!r})
known = json.loads(file.read_text())
words = sys.argv[1:]
if words[:2] == ["issue", "list"]:
    print(json.dumps(known["issues"]))
elif words == ["api", "user"]:
    print(json.dumps({{"login": "me"}}))
elif words[0] == "api":
    number = words[1].split("?")[0].rsplit("/", 2)
    if "-f" not in words:
        print(json.dumps(known["comments"].get(number[1], [])))
    else:
        body = words[words.index("-f") + 1].removeprefix("body=")
        if "PATCH" in words:
            for each in known["comments"].values():
                for one in each:
                    if one["id"] == int(number[2]):
                        one["body"] = body
        else:
            made = {{"id": int(number[1]) * 100, "body": body, "user": {{"login": "me"}}}}
            known["comments"].setdefault(number[1], []).append(made)
        known["writes"] += 1
        file.write_text(json.dumps(known))
        print("{{}}")
else:
    sys.exit("unknown: " + " ".join(words))
"""


class Tracker:
    """A tracker's issues, as the stand-in for `gh` tells them."""

    def __init__(self, top: Path) -> None:
        self.project, self.file = make_project(top / "p"), top / "issues.json"
        tools = top / "tools"
        tools.mkdir()
        (tools / "gh").write_text(GH.format(file=str(self.file)))
        (tools / "gh").chmod(0o755)
        self.env = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        self.known: dict[str, Any] = {"issues": [], "comments": {}, "writes": 0}

    def write(self, number: int, **fields: Any) -> None:
        self.known = json.loads(self.file.read_text()) if self.file.exists() else self.known
        issue = next((each for each in self.known["issues"] if each["number"] == number), None)
        if issue is None:
            issue = {
                "number": number,
                "title": f"Fix {number}",
                "body": "It fails.",
                "state": "OPEN",
                "labels": [{"name": "bough"}],
            }
            issue["url"] = f"https://github.com/o/r/issues/{number}"
            self.known["issues"].append(issue)
        issue.update(fields)
        self.file.write_text(json.dumps(self.known))

    def sync(self, *options: str) -> Any:
        return self.say("sync", "github", "--label", "bough", "--json", *options).json

    def say(self, *words: str) -> CommandOutput:
        said = bough(self.project, "backlog", *words, **self.env)
        assert said.status == 0, said.err
        return said

    def goals(self) -> dict[str, str]:
        return {one["name"]: one["goal"] for one in self.say("list", "--json").json}


@pytest.fixture
def tracker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tracker:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Tracker(tmp_path)
    for number in (1, 2, 3):
        made.write(number)
    return made


@in_turn
def test_issues_are_added_once_dropped_when_closed_and_named_when_edited(tracker: Tracker) -> None:
    assert tracker.sync()["added"] == ["issue-1", "issue-2", "issue-3"]
    assert not any(tracker.sync().values()), "a second time nothing is to do"
    tracker.write(1, state="CLOSED")
    tracker.write(2, body="It fails on Fridays.")
    tracker.write(4, labels=[])
    said = tracker.sync()
    assert (said["dropped"], said["edited"], said["added"]) == (["issue-1"], ["issue-2"], [])
    assert tracker.goals()["issue-2"] == "Fix 2\n\nIt fails."
    assert tracker.sync("--edits")["taken"] == ["issue-2"]
    assert tracker.goals() == {"issue-2": "Fix 2\n\nIt fails on Fridays.", "issue-3": "Fix 3\n\nIt fails."}
    assert not any(tracker.sync("--edits").values())


@in_turn
def test_what_a_person_did_stands(tracker: Tracker) -> None:
    tracker.sync()
    tracker.say("drop", "issue-1")
    tracker.say("edit", "issue-2", "--goal", "In my own words.")
    assert not any(tracker.sync("--edits").values())
    assert tracker.goals()["issue-2"] == "In my own words."
    tracker.write(3, state="CLOSED")
    tracker.sync()
    tracker.write(3, state="OPEN")
    assert tracker.sync()["added"] == ["issue-3-2"], "reopened, it comes back"
    assert not any(tracker.sync().values())


@in_turn
def test_a_goal_that_has_begun_stays_and_its_comment_is_one(tracker: Tracker) -> None:
    tracker.sync()
    stream = "@backlog/backlog"
    journals.append(tracker.project, stream, "@control", [e.NightStarted("b" * 40)])
    journals.append(tracker.project, stream, "issue-1", [e.GoalTaken("jade-fox", "b" * 40)])
    tracker.write(1, state="CLOSED", body="Other words.")
    said = tracker.sync("--edits", "--comment")
    assert (said["kept"], said["taken"], said["commented"]) == (["issue-1"], [], ["issue-1"])
    again = tracker.sync("--comment")
    (comment,) = json.loads(tracker.file.read_text())["comments"]["1"]
    assert again["commented"] == [] and comment["body"].startswith("bough: ")
    settled = e.GoalSettled(GoalReport("failed", "a secret path /home/ada", branch=""))
    journals.append(tracker.project, stream, "issue-1", [settled])
    assert tracker.sync("--comment")["commented"] == ["issue-1"]
    (comment,) = json.loads(tracker.file.read_text())["comments"]["1"]
    assert "given up" in comment["body"] and "/home/ada" not in comment["body"]


@in_turn
def test_an_issue_of_two_megabytes_is_refused_and_the_others_are_added(tracker: Tracker) -> None:
    tracker.write(2, body="x" * 2_000_000)
    said = tracker.sync()
    assert said["added"] == ["issue-1", "issue-3"] and "2,000," in said["refused"]["issue-2"]
    tracker.write(1, body="y" * 2_000_000)
    assert "issue-1" in tracker.sync("--edits")["refused"]


def test_syncs_that_are_killed_or_run_at_once_lose_and_double_nothing(tracker: Tracker, monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", tracker.env["PATH"])
    for number in range(4, 60):
        tracker.write(number)
    words = ("backlog", "sync", "github", "--label", "bough", "--json")
    with live(tracker.project, *words) as one, live(tracker.project, *words) as other:
        until(lambda: (tracker.project / ".bough" / "journal.db").exists())
        one.kill()
        other.wait()
    tracker.sync()
    assert sorted(tracker.goals()) == sorted(f"issue-{number}" for number in range(1, 60))


def test_without_a_label_nobody_is_let_in_unasked(tracker: Tracker) -> None:
    refused = bough(tracker.project, "backlog", "sync", "github", **tracker.env)
    assert refused.status == 2 and "anybody can open an issue" in refused.err
    assert len(bough(tracker.project, "backlog", "sync", "github", "--yes", "--json", **tracker.env).json["added"]) == 3
