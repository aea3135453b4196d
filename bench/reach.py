"""What it costs to be told of a run, and whether a list follows its issues through everything.

    python bench/reach.py hooks                    a slow and a failing hook: what a round costs with them and without
    python bench/reach.py sync --gh PATH           200 issues, twenty syncs with edits, closings and kills in between

`hooks`: runs in one process, all at once, that each end in an event that a person is told of; one arm has no hooks, the
other one that sleeps and one that fails. The arms take turns, and a pair is compared with itself. What counts is the
processor time of the process that works and of its children; what the process uses that calls the hooks is printed
beside it, for each event.

`sync`: the real `gh`, pointed at a stand-in for GitHub's API on a socket. Between two syncs issues are opened, edited,
closed and opened again, and a sync is killed at a random moment, then the same line is run again. At the end every
issue must be one goal, with the text that it has now, dropped if it is closed; and every comment must be there once.
"""

import argparse
import ctypes
import http.server
import json
import os
import random
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from installing import HERE
from overhead import fake_model
from tests.web import journals

from bough.core import events as e
from bough.core.backlog.entry import GoalReport

PR_SET_CHILD_SUBREAPER = 36
SLOW, FAILING = "sleep 0.05", "exit 1"
BEGUN = 5
"""Goals that have begun: their issues get a comment each."""
BOUGH = [sys.executable, "-m", "bough"]


# ── hooks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def list_children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def wait_for(pid: int) -> float:
    """Seconds of processor that a process and what it waited for have used."""
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "a process of the measure failed"
    return usage.ru_utime + usage.ru_stime


def drive(port: int, runs: int, rounds: int, hooks: bool) -> tuple[float, float, int]:
    """The seconds of processor for a round, those for an event that was told, and how many events were."""
    place = Path(tempfile.mkdtemp(prefix="reach-", dir="/var/tmp"))
    try:
        for name in ("work", "home/.config/bough", "home/.local/state"):
            (place / name).mkdir(parents=True)
        if hooks:
            settings = f'notify = "{SLOW}"\n[hooks]\nrun_finished = "{FAILING}"\n'
            (place / "home/.config/bough/config.toml").write_text(settings)
        command = [sys.executable, str(HERE / "peers/bough_driver.py"), "--server", f"http://127.0.0.1:{port}"]
        command += ["--folder", str(place / "work"), "--result", str(place / "result.json")]
        command += ["--rounds", str(rounds), "--agents", str(runs)]
        env = {"PATH": os.environ["PATH"], "HOME": str(place / "home"), "PYTHONPATH": str(HERE), "LANG": "C.UTF-8"}
        known = list_children()
        worker = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL)
        used = wait_for(worker.pid)
        worker.returncode, others = 0, 0.0
        while late := list_children() - known:  # The process that calls hooks outlives its parent, and is ours then.
            others += wait_for(min(late))
        logs = [line for file in place.rglob("log.jsonl") for line in file.read_text().splitlines()]
        told = Counter(json.loads(line)["id"] for line in logs)
        if hooks:
            assert len(told) >= runs and set(told.values()) == {2}, "each event is told once, to both hooks"
        return used / (runs * rounds), others / max(1, len(told)), len(told)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure_hooks(args: argparse.Namespace) -> int:
    rows, events = [], 0
    with fake_model() as port:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in range(args.repeat):
            pair = {}
            for hooks in (False, True) if number % 2 else (True, False):
                pair[hooks], apart, told = drive(port, args.runs, args.rounds, hooks)
                events += told
                if hooks:
                    beside = apart
            rows.append(pair)
            ratio = pair[True] / pair[False] - 1
            print(
                f"{number + 1}: {1000 * pair[False]:.3f} ms a round without hooks, {1000 * pair[True]:.3f} with: "
                f"{100 * ratio:+.1f} %; {1000 * beside:.0f} ms an event in the process that calls them",
                flush=True,
            )
    more = 100 * median(pair[True] / pair[False] - 1 for pair in rows)
    least = 100 * (min(pair[True] for pair in rows) / min(pair[False] for pair in rows) - 1)
    print(
        f"{events} events told; a round costs {more:+.1f} % more (median of pairs), {least:+.1f} % (least of each arm)"
    )
    return 0 if min(more, least) <= 3 else 1


# ── sync ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Forge(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers what `gh issue list` and `gh api` ask of GitHub's API about the issues of one repository."""

    daemon_threads = True

    def __init__(self, place: Path) -> None:
        self.issues: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, dict[str, Any]] = {}
        self.asked: Counter[str] = Counter()
        super().__init__(str(place), Handler)

    def open(self, number: int) -> None:
        label = {"id": "L1", "name": "bough", "description": "", "color": "ffffff"}
        issue = {"number": number, "title": f"Fix {number}", "body": f"It fails, {number}.", "state": "OPEN"}
        issue |= {"url": f"https://github.com/o/r/issues/{number}", "labels": {"nodes": [label], "totalCount": 1}}
        self.issues[number] = issue

    def answer_query(self, request: dict[str, Any]) -> dict[str, Any]:
        """A page of issues, newest first, whatever else is chosen by a query; or the fields that there are."""
        if asked := re.findall(r"(\w+)\s*:\s*__type", request["query"]):
            return {"data": {name: {"enumValues": [{"name": "ISSUE"}]} for name in asked}}
        values = request["variables"]
        listed = sorted(self.issues.values(), key=lambda issue: -issue["number"])
        begin = int(values.get("endCursor") or values.get("after") or 0)
        end = begin + int(values.get("limit") or values.get("first") or 100)
        page = {"hasNextPage": end < len(listed), "endCursor": str(end)}
        found = {"nodes": listed[begin:end], "pageInfo": page, "totalCount": len(listed), "issueCount": len(listed)}
        return {"data": {"search": found, "repository": {"hasIssuesEnabled": True, "issues": found}}}

    def answer_path(self, method: str, path: str, body: dict[str, Any]) -> Any:
        if path == "/user":
            return {"login": "me"}
        if found := re.fullmatch(r"/repos/o/r/issues/(\d+)/comments", path):
            issue = int(found[1])
            if method == "GET":
                return [each for each in self.comments.values() if each["issue"] == issue]
            number = len(self.comments) + 1
            self.comments[number] = {"id": number, "issue": issue, "user": {"login": "me"}, **body}
            return self.comments[number]
        if found := re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", path):
            self.comments[int(found[1])] |= body
            return self.comments[int(found[1])]
        raise AssertionError(f"the stand-in has no answer to {method} {path}")


class Handler(http.server.BaseHTTPRequestHandler):
    server: Forge
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path == "/graphql":
            named = re.search(r"query\s+(\w+)", body["query"])
            self.server.asked[named[1] if named else "a query"] += 1
            said = self.server.answer_query(body)
        else:
            self.server.asked[f"{self.command} {re.sub('[0-9]+', 'N', path)}"] += 1
            said = self.server.answer_path(self.command, path, body)
        document = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(document)))
        self.end_headers()
        self.wfile.write(document)

    do_POST = do_PATCH = do_GET

    def address_string(self) -> str:
        return "-"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


def prepare(top: Path, gh: Path) -> dict[str, str]:
    """A project whose origin is on GitHub, and an environment whose `gh` asks the stand-in."""
    for name in ("project", "tools", "gh", "home"):
        (top / name).mkdir()
    (top / "project/check.sh").write_text("exit 0\n")
    (top / "tools/gh").symlink_to(gh.resolve())
    (top / "gh/config.yml").write_text(f"version: 1\nhttp_unix_socket: {top / 'forge.sock'}\n")
    setup = ("init -q -b main", "config user.name bench", "config user.email b@localhost", "add -A", "commit -qm base")
    for line in (*setup, "remote add origin git@github.com:o/r.git"):
        subprocess.run(["git", *line.split()], cwd=top / "project", check=True)
    own = {"GH_CONFIG_DIR": str(top / "gh"), "GH_TOKEN": "anything", "HOME": str(top / "home")}
    return {"PATH": f"{top / 'tools'}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8", **own}


def begin(project: Path) -> None:
    """As if a night had worked on the first goals: comments are written about these."""
    for number in range(1, BEGUN + 1):
        report = e.GoalSettled(GoalReport("completed", "proven", branch=f"bough/jade-fox-{number}"))
        journals.append(project, "@backlog/backlog", f"issue-{number}", [e.GoalTaken(f"jade-fox-{number}", ""), report])


def change(forge: Forge, chance: random.Random) -> Counter[str]:
    """What people do to issues between two syncs."""
    done: Counter[str] = Counter()
    for issue in chance.sample(list(forge.issues.values())[BEGUN:], 15):
        what = chance.choice(("body", "title", "close"))
        if what == "close":
            issue["state"] = "OPEN" if issue["state"] == "CLOSED" else "CLOSED"
            done["closed" if issue["state"] == "CLOSED" else "opened again"] += 1
        else:
            issue[what] += f" And {chance.randrange(1000)}."
            done["edited"] += 1
    for number in range(len(forge.issues) + 1, len(forge.issues) + 1 + chance.randrange(4)):
        forge.open(number)
        done["opened"] += 1
    return done


def measure_sync(args: argparse.Namespace) -> int:
    chance, done = random.Random(args.seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="bough-sync-", dir="/tmp") as folder:
        top = Path(folder)
        env = prepare(top, args.gh)
        line = [*BOUGH, "backlog", "sync", "github", "--label", "bough", "--edits", "--comment"]
        line += ["--dir", str(top / "project")]
        with Forge(top / "forge.sock") as forge:
            threading.Thread(target=forge.serve_forever, daemon=True).start()
            for number in range(1, args.issues + 1):
                forge.open(number)
            took = 2.0
            for turn in range(args.syncs):
                for _ in range(args.kills):
                    process = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(chance.uniform(0.0, took))
                    done["killed" if process.poll() is None else "ended before its kill"] += 1
                    process.kill()
                    process.wait()
                began = time.monotonic()
                subprocess.run(line, env=env, stdout=subprocess.DEVNULL, check=True)
                took = max(0.5, time.monotonic() - began)
                again = subprocess.run([*line, "--json"], env=env, capture_output=True, text=True, check=True)
                assert not any(json.loads(again.stdout).values()), f"a second sync finds work: {again.stdout}"
                wrong = compare(top, env, forge)
                print(f"sync {turn + 1}: {took:.1f} s, {len(forge.issues)} issues, {len(wrong)} wrong", flush=True)
                if wrong:
                    print("\n".join(f"WRONG {each}" for each in wrong))
                    return 1
                done += change(forge, chance)
                if not turn:
                    begin(top / "project")
            forge.shutdown()
            print(f"{len(forge.issues)} issues, {args.syncs} syncs: {dict(done)}; gh asked {dict(forge.asked)}")
    return 0


def compare(top: Path, env: dict[str, str], forge: Forge) -> list[str]:
    """What differs between the list and the issues: each open one is one goal that waits, closed ones are none."""
    argv = [*BOUGH, "backlog", "list", "--json", "--dir", str(top / "project")]
    listed = json.loads(subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout)
    goals = Counter(item["goal"] for item in listed)
    texts = Counter(
        f"{issue['title']}\n\n{issue['body']}" for issue in forge.issues.values() if issue["state"] == "OPEN"
    )
    wrong = [f"{n} × {text!r} is lost" for text, n in (texts - goals).items()]
    wrong += [f"{n} × {text!r} is of no open issue" for text, n in (goals - texts).items()]
    said = Counter(each["issue"] for each in forge.comments.values())
    begun = sum(bool(item["run"]) for item in listed)
    return wrong + ([] if said == Counter(range(1, begun + 1)) else [f"comments: {said}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    hooks = kinds.add_parser("hooks")
    hooks.add_argument("--runs", type=int, default=200, help="of each arm, each with an event that is told")
    hooks.add_argument("--rounds", type=int, default=10, help="of each run")
    hooks.add_argument("--repeat", type=int, default=5)
    hooks.set_defaults(measure=measure_hooks)
    sync = kinds.add_parser("sync")
    sync.add_argument("--gh", type=Path, default=Path(shutil.which("gh") or "gh"), help="the program")
    sync.add_argument("--issues", type=int, default=200)
    sync.add_argument("--syncs", type=int, default=20)
    sync.add_argument("--kills", type=int, default=1, help="before each sync")
    sync.add_argument("--seed", type=int, default=1)
    sync.set_defaults(measure=measure_sync)
    args = parser.parse_args()
    measure: Callable[[argparse.Namespace], int] = args.measure
    return measure(args)


if __name__ == "__main__":
    sys.exit(main())
