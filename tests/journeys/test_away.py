"""A person who is away: issues become goals, a night works on them, and a command of the person's own hears of it."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.interfaces.test_issue_sync import GH
from tests.interfaces.test_schedule import CRONTAB
from tests.journeys.conftest import Meet
from tests.journeys.model import Hold
from tests.journeys.person import CHECK, CLAMP, SHOUT, TOTAL, Person, goal


class Tracker:
    """The issues of a forge, as the stand-in for `gh` tells them."""

    def __init__(self, ann: Person) -> None:
        self._ann, self._file = ann, ann.home / "issues.json"
        self._issues: dict[int, dict[str, Any]] = {}
        tools = ann.home / "bin"
        tools.mkdir()
        (tools / "gh").write_text(GH.format(file=str(self._file)))
        (tools / "gh").chmod(0o755)
        ann.extra["PATH"] = f"{tools}:{ann.env['PATH']}"
        ann.write("bough.toml", f'[check]\ncommand = "{CHECK}"\n')
        ann.commit("How to check the shop.")

    def write(self, number: int, **fields: Any) -> None:
        new = {"number": number, "body": "", "state": "OPEN", "labels": [{"name": "bough"}]}
        new["url"] = f"https://github.com/o/r/issues/{number}"
        self._issues[number] = self._issues.get(number, new) | fields
        known = {"issues": list(self._issues.values()), "comments": {}, "writes": 0}
        self._file.write_text(json.dumps(known))

    def sync(self) -> Any:
        """What the person's sync did."""
        return self._ann.bough("backlog", "sync", "github", "--label", "bough", "--json", status=0).json


def test_an_issue_becomes_a_goal_of_a_night_that_tells_its_end(meet: Meet) -> None:
    ann = meet(goal())
    told, settings = ann.home / "told", ann.home / ".config/bough/config.toml"
    tracker = Tracker(ann)
    tracker.write(7, title=TOTAL)
    settings.write_text(f"notify = ['sh', '-c', 'cat >> {told}; echo >> {told}']\n{settings.read_text()}")

    def heard() -> set[str]:
        lines = told.read_text().splitlines() if told.exists() else []
        return {json.loads(line)["hook_event_name"] for line in lines if line}

    ann.bough("hooks", "test", "needs_you", status=0)
    assert heard() == {"needs_you"}
    assert tracker.sync()["added"] == ["issue-7"] and not any(tracker.sync().values())
    (listed,) = ann.bough("backlog", "list", "--json", status=0).json
    assert listed["goal"].startswith(TOTAL)
    assert "backlog run" in ann.bough("backlog", "schedule", "22:30", status=0).all
    ann.bough("backlog", "run", status=0)
    ann.wait(lambda: "backlog_finished" in heard(), "the night tells its end")
    assert "backlog_finished" in ann.bough("hooks", "list", status=0).out
    assert ann.bough("backlog", "list", "--json", status=0).json[0]["standing"] == "proven"


def test_a_sync_during_a_night_changes_what_has_not_begun(meet: Meet) -> None:
    hold = Hold()
    ann = meet(goal(author=hold), goal(SHOUT), goal(CLAMP))
    tracker = Tracker(ann)
    tracker.write(7, title=TOTAL)
    tracker.write(8, title=SHOUT)
    tracker.sync()
    night = ann.start("backlog", "run", "--jobs", "1")
    ann.wait(hold.reached.is_set, "the night begins the first goal")
    tracker.write(7, state="CLOSED")
    tracker.write(8, state="CLOSED")
    tracker.write(9, title=CLAMP)
    said = tracker.sync()
    assert (said["kept"], said["dropped"], said["added"]) == (["issue-7"], ["issue-8"], ["issue-9"])
    hold.free.set()
    ended = ann.end(night)
    assert ended.status == 0, ended.out
    goals = {one["name"]: one["standing"] for one in ann.bough("backlog", "list", "--json", status=0).json}
    assert goals == {"issue-7": "proven", "issue-9": "proven"}, "the night took the new one up, and not the closed one"
    assert len(ann.runs()) == 2 and SHOUT not in str(ann.model.requests("author"))


def test_two_timers_at_once_make_each_goal_once(meet: Meet) -> None:
    """The same night begun twice in one minute, as by cron and by systemd: what is installed, started as they do."""
    ann = meet(goal(), goal(SHOUT), goal(CLAMP))
    tracker, table = Tracker(ann), ann.home / "crontab"
    for number, title in enumerate((TOTAL, SHOUT, CLAMP), 7):
        tracker.write(number, title=title)
    for name, text in (("crontab", CRONTAB.format(table)), ("systemctl", "#!/bin/sh\nexit 1\n")):
        (ann.home / "bin" / name).write_text(text)
        (ann.home / "bin" / name).chmod(0o755)
    for at in ("22:30", "23:30"):
        ann.bough("backlog", "schedule", at, "--install", "--label", "bough", status=0)
    (line,) = table.read_text().splitlines()
    assert line.startswith("30 23 * * * "), "the second takes the place of the first"
    command = ["/bin/sh", "-c", line.partition("* * * ")[2].replace("\\%", "%")]
    log, around = Path(ann.home / "log"), {"HOME": str(ann.home), "OPENAI_API_KEY": ann.env["OPENAI_API_KEY"]}
    with log.open("wb") as out:
        nights = [subprocess.Popen(command, env=around, stdout=out, stderr=out, cwd="/") for _ in range(2)]
        ended = [night.wait() for night in nights]
    assert ended == [0, 0], log.read_text()
    goals = ann.bough("backlog", "list", "--json", status=0).json
    assert sorted(one["name"] for one in goals) == ["issue-7", "issue-8", "issue-9"]
    assert {one["standing"] for one in goals} == {"proven"}
    assert len(ann.runs()) == 3, "one run each"
    assert ann.bough("backlog", "report").status == 0
