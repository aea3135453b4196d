"""What does a round cost in a large repository? The same run of edits and commands at 40 to 200,000 files.

    python bench/large.py                                  40, 4,000 and 40,000 files; 200,000 with --files
    python bench/large.py --files 40,40000,200000 --rounds 20 --json large.json
    python bench/large.py --files 40000 --profile folder   a profile of each run, for `python -m pstats`

Each size: a repository of so many Python files, ten to a folder, is committed; then bough itself is measured, as a
person starts it, twice: what the first run in a repository has to read, a later one need not. Then the plain way
(`git worktree add`, then `git add -A` and `git write-tree` after every round's change). The model is a script on
loopback that answers at once. How it measures is in bench/README.md.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

from server import Script, streamed, whole

CHECK = "sh check.sh"
LINES = 24
"""Of one file: about a kilobyte."""
IN_FOLDER, FOLDERS_IN_FOLDER = 10, 20
PROFILED = """
import cProfile, sys
from bough.interfaces.cli.entry import run_command_line
profile = cProfile.Profile()
status = profile.runcall(run_command_line, sys.argv[2:])
profile.dump_stats(sys.argv[1])
sys.exit(status)
"""
"""The console script, profiled. It ends its process without a dump, so its inner part is called."""


# ── the repository ──────────────────────────────────────────────────────────────────────────────────────────────────


def path_of(number: int) -> str:
    folder = number // IN_FOLDER
    return f"src/part{folder // FOLDERS_IN_FOLDER:04}/unit{folder % FOLDERS_IN_FOLDER:02}/m{number:06}.py"


def make_repository(place: Path, files: int) -> None:
    for number in range(files):
        path = place / path_of(number)
        if number % IN_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_text("".join(f"def f{number}_{n}(x):\n    return x + {n}\n" for n in range(LINES)))
    (place / "check.sh").write_text("test -f src/part0000/unit00/m000000.py\n")
    (place / ".gitignore").write_text("build/\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "All of it")


def git(place: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    command = ["git", "-c", "gc.auto=0", "-C", str(place), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **(env or {})}).stdout


# ── what happens in a round ─────────────────────────────────────────────────────────────────────────────────────────


def edit_of(number: int, files: int) -> tuple[str, str, str]:
    """Path, text there and what takes its place: all over the repository, a file once."""
    at = number * 7919 % files
    return path_of(at), f"def f{at}_0(x):\n    return x + 0\n", f"def f{at}_0(x):\n    return x - {number + 1}\n"


def command_of(number: int, files: int) -> str:
    """Changes one file, adds one and writes one that is ignored."""
    path = path_of((number * 104_729 + 3) % files)
    return (
        f"echo '# {number}' >> {path} && echo {number} > src/added{number}.txt && mkdir -p build && date > build/stamp"
    )


def message(number: int, rounds: int, files: int) -> tuple[str, dict[str, Any]]:
    """Tool and arguments of a round: an edit, a command, an edit …"""
    if number >= rounds:
        return "done", {"summary": "Everything is as it should be."}
    if number % 2 == 0:
        path, old, new = edit_of(number, files)
        return "edit", {"path": path, "old": old, "new": new}
    return "bash", {"command": command_of(number, files)}


# ── the model ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Model(ThreadingHTTPServer):
    """Answers from the script, and knows when it was asked."""

    daemon_threads = True

    def __init__(self, rounds: int, files: int) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.rounds, self.files = rounds, files
        self.asked: list[float] = []
        self.used: list[float] = []
        """Processor seconds of bough and of what it started, when the model was asked."""
        self.pid = 0


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *args: object) -> None:
        """Nothing is said of a request."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b'"edit"' in body.partition(b'"tools":')[2]:  # else an examiner is asked, after the work
            self.server.asked.append(time.perf_counter())
            self.server.used.append(processor_seconds(self.server.pid))
        done = body.count(b'"role":"assistant"')
        tool, arguments = message(done, self.server.rounds, self.server.files)
        script = Script("run", sys.maxsize, tool, json.dumps(arguments), "", "")
        answer = streamed if b'"stream":true' in body else whole
        self.wfile.write(answer(script, done, len(body)))


def processor_seconds(pid: int) -> float:
    """Of a process and of its children that have ended: what a busy machine does not change. 0 where there is no
    /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


@contextmanager
def model(rounds: int, files: int) -> Iterator[Model]:
    with Model(rounds, files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


# ── measuring ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Timings:
    """Seconds, but for the rounds (milliseconds)."""

    start: float
    """From the command to the first call of the model."""
    edit: float
    command: float
    round: float
    end: float
    """From the last answer to the end of the process, less the check."""
    check: float = 0.0
    start_processor: float = 0.0
    """Processor seconds until the first call …"""
    end_processor: float = 0.0
    """… and from the last one to the end, the check's own among them."""
    rounds: list[float] = field(default_factory=list)


def run_bough(place: Path, files: int, rounds: int, home: Path, profile: Path | None) -> Timings:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "none",
        "BOUGH_STUCK_LOOKS": "100000",
        "BOUGH_LADDER_TASK_ROUNDS": "100000",
        # A scripted goal proves nothing: what is measured is the round.
        "BOUGH_ACCEPTANCE_PROOF": "check",
        "BOUGH_ACCEPTANCE_EXAMINE": "never",
        "BOUGH_MODELS_PROTOCOL": "tools",
    }
    with model(rounds, files) as server:
        start = ["-c", PROFILED, str(profile)] if profile else ["-m", "bough"]
        command = [sys.executable, *start, "run", "--dir", str(place), "--flat", "--check", CHECK]
        command += ["--model", "openai:gpt-4o", "--base-url", f"http://127.0.0.1:{server.server_port}/v1"]
        command += ["--rounds", str(rounds + 20), "Change what has to be changed."]
        began = time.perf_counter()
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, env=env, cwd=place, stdout=said, stderr=said)
            server.pid = process.pid
            _, status, used = os.wait4(process.pid, 0)
            ended = time.perf_counter()
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            if process.returncode != 0 or len(server.asked) != rounds + 1:
                sys.exit(
                    f"{len(server.asked)} calls, exit status {process.returncode}:\n{said.read().decode()[-6000:]}"
                )
        asked, processor = server.asked, server.used
    gaps = [1000 * (after - before) for before, after in pairwise(asked)]
    check = check_seconds(place)
    return Timings(
        start=asked[0] - began,
        edit=statistics.median(gaps[2::2]),  # the first round of a kind loads what it needs
        command=statistics.median(gaps[3::2]),
        round=statistics.mean(gaps[2:]),
        end=ended - asked[-1] - check,
        check=check,
        start_processor=processor[0],
        end_processor=used.ru_utime + used.ru_stime - processor[-1],
        rounds=gaps,
    )


def check_seconds(place: Path) -> float:
    """How long the check of the last run took, from its journal."""
    told = subprocess.run(
        [sys.executable, "-m", "bough", "show", "--json", "--dir", str(place)],
        capture_output=True,
        text=True,
        check=True,
    )
    verdict = json.loads(told.stdout)["tasks"][0]["verdict"]
    return float(verdict["seconds"])


def run_plain(place: Path, files: int, rounds: int) -> Timings:
    """The plain way: a worktree of the person's repository, and git's own snapshot after each change."""
    tree = place.parent / "worktree"
    env = {"GIT_INDEX_FILE": str(place.parent / "plain.index")}
    began = time.perf_counter()
    git(place, "worktree", "add", "-q", "--detach", str(tree))
    shutil.copyfile(place / ".git" / "worktrees" / "worktree" / "index", env["GIT_INDEX_FILE"])
    opened = time.perf_counter()
    gaps = []
    for number in range(rounds):
        before = time.perf_counter()
        tool, arguments = message(number, rounds, files)
        if tool == "edit":
            path = tree / arguments["path"]
            path.write_text(path.read_text().replace(arguments["old"], arguments["new"]))
        else:
            subprocess.run(["bash", "-c", arguments["command"]], cwd=tree, check=True)
        git(tree, "add", "-A", env=env)
        git(tree, "write-tree", env=env)
        gaps.append(1000 * (time.perf_counter() - before))
    before = time.perf_counter()
    git(place, "worktree", "remove", "--force", str(tree))
    return Timings(
        start=opened - began,
        edit=statistics.median(gaps[2::2]),
        command=statistics.median(gaps[3::2]),
        round=statistics.mean(gaps[2:]),
        end=time.perf_counter() - before,
        rounds=gaps,
    )


def measure(files: int, rounds: int, runs: int, profile: Path | None) -> dict[str, Timings]:
    on_disk = Path("/var/tmp")
    folder = Path(tempfile.mkdtemp(prefix="large-", dir=on_disk if os.access(on_disk, os.W_OK) else None))
    try:
        place = folder / "project"
        (folder / "home").mkdir()
        place.mkdir()
        make_repository(place, files)
        found: dict[str, Timings] = {}
        for number in range(runs):
            name = "bough, first run" if number == 0 else "bough, later run"
            into = profile / f"{files}-{number}.prof" if profile else None
            if number:  # what the person did meanwhile
                (place / path_of(number)).write_text(f"changed = {number}\n")
            measured = run_bough(place, files, rounds, folder / "home", into)
            best = found.get(name)
            found[name] = measured if best is None or measured.round < best.round else best
            print(f"{files:,} files, {name}: {figures(measured)}", file=sys.stderr, flush=True)
        # Last: for five minutes ext4 passes over the inodes of what was removed, one by one, for each new file.
        return {"git worktree": run_plain(place, files, rounds), **found}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ── telling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def figures(one: Timings) -> str:
    return (
        f"first call after {one.start:.2f} s, {one.round:.1f} ms a round "
        f"(edit {one.edit:.1f}, command {one.command:.1f}), end {one.end:.2f} s beside the check of {one.check:.2f} s, "
        f"processor: {one.start_processor:.2f} s to the first call, {one.end_processor:.2f} s at the end"
    )


def table(found: dict[int, dict[str, Timings]]) -> str:
    smallest = min(found)
    lines = [
        "| files | way | first call, s | of processor | edit, ms | command, ms | ms a round | × smallest | × git "
        "| end, s | of processor |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for files, ways in found.items():
        for name, one in ways.items():
            values = [one.start, one.start_processor, one.edit, one.command, one.round]
            values += [one.round / found[smallest][name].round, one.round / ways["git worktree"].round]
            values += [one.end, one.end_processor]
            lines.append(
                f"| {files:,} | {name} | " + " | ".join(f"{value:.2f}" if value else "–" for value in values) + " |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", default="40,4000,40000", help="sizes (40,4000,40000)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3, help="of bough in each repository; the first is told apart")
    parser.add_argument("--json", type=Path, help="write every measurement there")
    parser.add_argument("--profile", type=Path, help="a folder for the profiles of the runs")
    args = parser.parse_args()
    found: dict[int, dict[str, Timings]] = {}
    for files in map(int, args.files.split(",")):
        found[files] = measure(files, args.rounds, args.runs, args.profile)
        if args.json:
            args.json.write_text(
                json.dumps({n: {k: asdict(v) for k, v in w.items()} for n, w in found.items()}, indent=1)
            )
    print(table(found))


if __name__ == "__main__":
    main()
