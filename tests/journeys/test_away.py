"""A person who is away: issues become goals, a night works on them, and a command of the person's own hears of it."""

from __future__ import annotations

import json

from tests.interfaces.test_issue_sync import GH
from tests.journeys.conftest import Meet
from tests.journeys.person import CHECK, TOTAL, goal


def test_an_issue_becomes_a_goal_of_a_night_that_tells_its_end(meet: Meet) -> None:
    ann = meet(goal())
    known, told, settings = ann.home / "issues.json", ann.home / "told", ann.home / ".config/bough/config.toml"
    issue = {"number": 7, "title": TOTAL, "body": "", "state": "OPEN", "labels": [{"name": "bough"}]}
    issue["url"] = "https://github.com/o/r/issues/7"
    known.write_text(json.dumps({"issues": [issue], "comments": {}, "writes": 0}))
    (ann.home / "bin").mkdir()
    (ann.home / "bin" / "gh").write_text(GH.format(file=str(known)))
    (ann.home / "bin" / "gh").chmod(0o755)
    ann.extra["PATH"] = f"{ann.home / 'bin'}:{ann.env['PATH']}"
    settings.write_text(f"notify = ['sh', '-c', 'cat >> {told}; echo >> {told}']\n{settings.read_text()}")

    def heard() -> set[str]:
        lines = told.read_text().splitlines() if told.exists() else []
        return {json.loads(line)["hook_event_name"] for line in lines if line}

    ann.bough("hooks", "test", "needs_you", status=0)
    assert heard() == {"needs_you"}
    ann.bough("backlog", "sync", "github", "--label", "bough", status=0)
    ann.bough("backlog", "sync", "github", "--label", "bough", status=0)
    (listed,) = ann.bough("backlog", "list", "--json", status=0).json
    assert listed["goal"].startswith(TOTAL)
    ann.bough("backlog", "edit", listed["name"], "--check", CHECK, status=0)
    assert "backlog run" in ann.bough("backlog", "schedule", "22:30", status=0).all
    ann.bough("backlog", "run", status=0)
    ann.wait(lambda: "backlog_finished" in heard(), "the night tells its end")
    assert "backlog_finished" in ann.bough("hooks", "list", status=0).out
    assert ann.bough("backlog", "list", "--json", status=0).json[0]["standing"] == "proven"
