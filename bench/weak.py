"""How far does a small model get, alone and with bough? Exercises, one endpoint, several arms, one verdict for all.

    python bench/weak.py --tasks FOLDER --url http://127.0.0.1:8080/v1 --model qwen2.5-coder-1.5b --out results.jsonl
    python bench/weak.py --table --out results.jsonl

FOLDER holds one folder an exercise: a stub, its tests (`*_test.py`) and a README.md, as Exercism's Python track has
them. Arms: `plain` is a loop of three rounds (whole file, run the tests, feed the failure back), `plain-on` the same
for as long as its tokens last, `plain-anew` starts over every three rounds, `plain-several` with every
question, after eight answers to it; `aider` is aider with whole files and its
automatic tests; `ladder` is bough as it comes, without a flag, each exercise with an empty state folder; `warm` is the
same with one state folder for all; `text` has --protocol text, `tools` has --protocol tools, `flat` has no ladder.
The ablation, all without a flag on the command line: `no-switch` never changes the protocol,
`no-again` repairs as a strong model would and makes no further attempts, `no-several` asks for one answer at a time,
`two` has two tactics (whole file, repair), `only-T` one (`only-whole`, `only-repair`, …),
`without-T` leaves one out. Every arm but `plain` may use the same tokens on an exercise. The verdict is this script's
own: the original tests, on the modules that came of it. It continues from what is in the file.

Two arms are compared by exercise, over the mean of the repeats: a sign-flip permutation test of these differences, two
sided, 100,000 draws. McNemar's test of single runs stands beside it.
"""

import argparse
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HUGE = 1_000_000
FLAT = f"[stuck]\npatterns = []\n\n[ladder]\nrungs = []\ntask_rounds = {HUGE}\nsubtask_rounds = {HUGE}\n"
TACTICS = ("tests_first", "short", "whole", "hinted", "repair")
RUNGS = ("attempts", "nudge", "prune", "decompose", "stronger_model", "verify", "replan", "ask")
BOUGH: dict[str, tuple[str, list[str]]] = {
    "flat": (FLAT, ["--protocol", "text"]),
    "two": ('[ladder]\ntactics = ["whole", "repair"]\n', []),
    "text": ("", ["--protocol", "text"]),
    "tools": ("", ["--protocol", "tools"]),
    "ladder": ("", []),
    "warm": ("", []),
    "no-switch": (f"[ladder]\nrungs = {json.dumps(RUNGS)}\n", []),
    "no-again": ("[ladder]\nattempts = 1\n", []),
    "no-several": ("[ladder]\nanswers = 1\n", []),
    **{f"only-{one}": (f"[ladder]\ntactics = {json.dumps([one])}\n", []) for one in TACTICS},
    **{
        f"without-{one}": (f"[ladder]\ntactics = {json.dumps([each for each in TACTICS if each != one])}\n", [])
        for one in TACTICS
    },
}
PLAIN = ("plain", "plain-on", "plain-anew", "plain-several")
ARMS = (*PLAIN, "aider", *BOUGH)
EXITS = {0: "completed", 1: "internal error", 2: "usage", 3: "gave up", 4: "budget", 5: "not verified", 7: "no model"}
SYSTEM = (
    "You are a careful Python programmer. Answer with the complete new content of the file in one ```python block and "
    "nothing else."
)
Row = dict[str, Any]


class Exercise:
    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self.test = next(folder.glob("*_test.py")).name
        self.stub = self.test.replace("_test.py", ".py")


# ── the arms ────────────────────────────────────────────────────────────────────────────────────────────────────


def plain(exercise: Exercise, arm: str, work: Path, args: argparse.Namespace) -> Row:
    """Whole file in a fenced block, run the tests, feed the failure back."""
    stub = work / exercise.stub
    readme, tests = (work / "README.md").read_text()[:6000], (work / exercise.test).read_text()[:9000]
    asked = (
        f"{readme}\n\nThe file {stub.name} now:\n```python\n{stub.read_text()}\n```\n\n"
        f"Its tests, {exercise.test}:\n```python\n{tests}\n```\nWrite {stub.name} so that all tests pass."
    )
    first = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]
    messages, rounds, tokens, largest = first, 0, 0, 0
    most = 3 if arm == "plain" else HUGE
    while rounds < most and tokens < args.tokens:
        if time.time() >= args.deadline:
            raise TimeoutError("cut off by --minutes")
        answers, used = ask(messages, args, 8 if arm == "plain-several" else 1)
        rounds, tokens, largest = rounds + 1, tokens + used[0] + used[1], max(largest, used[0])
        for said in answers:
            code = re.findall(r"```(?:python|py)?\n(.*?)```", said, re.DOTALL)
            if code:
                stub.write_text(max(code, key=len))
            passed, text = run_tests(work, exercise.test, "-x")
            if passed:
                break
        if passed:
            break
        if arm == "plain-several":
            continue
        again = f"The tests fail:\n```\n{text[-2500:]}\n```\nWrite the complete corrected {stub.name}."
        messages = [*first, {"role": "assistant", "content": said[-6000:]}, {"role": "user", "content": again}]
        if arm == "plain-anew" and rounds % 3 == 0:
            messages = first
    return {"rounds": rounds, "tokens": tokens, "largest": largest, "completed": None}


def ask(messages: list[dict[str, str]], args: argparse.Namespace, number: int) -> tuple[list[str], tuple[int, int]]:
    several = {"n": number} if number > 1 else {}
    body = json.dumps({"model": args.model, "messages": messages, "temperature": 0.7, **several}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
    }
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for attempt in range(4):
        try:
            request = urllib.request.Request(f"{args.url}/chat/completions", body, headers)
            with opener.open(request, timeout=600) as reply:
                found = json.load(reply)
            usage = found.get("usage") or {}
            used = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
            return [choice["message"]["content"] or "" for choice in found["choices"]], used
        except (OSError, ValueError):
            if attempt == 3:
                raise
            time.sleep(1 + attempt)
    raise AssertionError("asked four times")


def bough(exercise: Exercise, arm: str, work: Path, args: argparse.Namespace) -> Row:
    settings, options = BOUGH[arm]
    (work / "bough.toml").write_text(settings)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "stub"]):
        subprocess.run([*git, *command], cwd=work, check=True, capture_output=True)
    goal = (
        f"Implement the exercise described in README.md, in {exercise.stub}, so that its tests in {exercise.test} pass."
    )
    check = f"{sys.executable} -m pytest -q"
    argv = [sys.executable, "-m", "bough", "run", goal, "--check", check, "--yes", "--flat", "--json", "--trust-config"]
    argv += ["--model", f"openai:{args.model}", "--base-url", args.url, "--max-tokens", str(args.tokens)]
    argv += options
    # What is remembered about a model is the person's: each exercise starts as on a new machine, unless it is `warm`.
    state = (args.place / "warm") if arm == "warm" else work.with_name(f"{work.name}.state")
    env = os.environ | {"XDG_STATE_HOME": str(state)}
    status, out, err = program(argv, work, min(args.longest, args.deadline - time.time()), env)
    if status is None and time.time() >= args.deadline:
        raise TimeoutError("cut off by --minutes")
    row = told(out) | {"exit": status, "completed": status == 0}
    row["crashed"] = "Traceback" in err or status == 1 or (status is not None and status < 0)
    row["stderr"] = err[-600:]
    program([sys.executable, "-m", "bough", "apply", "--partial"], work, 60)
    return row


def aider(exercise: Exercise, arm: str, work: Path, args: argparse.Namespace) -> Row:
    """Whole files, its own test loop; the exercise as the plain loops get it."""
    goal = f"Implement the exercise described in README.md, in {exercise.stub}, so that the tests pass."
    test = f"{sys.executable} -m pytest -q -x -p no:cacheprovider {exercise.test}"
    argv = [*shlex.split(args.aider), "--model", f"openai/{args.model}", "--openai-api-base", args.url]
    argv += ["--openai-api-key", "none", "--edit-format", "whole", "--auto-test", "--test-cmd", test, "--yes-always"]
    argv += ["--no-git", "--no-stream", "--no-check-update", "--no-show-model-warnings", "--no-show-release-notes"]
    argv += ["--analytics-disable", "--map-tokens", "0", "--read", "README.md", "--read", exercise.test]
    env = os.environ | {"HOME": str(work.with_name(f"{work.name}.home")), "COLUMNS": "200", "NO_COLOR": "1"}
    Path(env["HOME"]).mkdir(exist_ok=True)
    left = min(args.longest, args.deadline - time.time())
    status, out, err = program([*argv, "--message", goal, exercise.stub], work, left, env)
    if status is None and time.time() >= args.deadline:
        raise TimeoutError("cut off by --minutes")
    used = re.findall(r"Tokens: ([\d.,]+)(k?) sent.*?([\d.,]+)(k?) received", out)
    counts = [float(n.replace(",", "")) * (1000 if k else 1) for row in used for n, k in (row[:2], row[2:])]
    row = {"rounds": len(used), "tokens": round(sum(counts)), "largest": 0, "completed": None, "stderr": err[-600:]}
    return row | {"crashed": "Traceback" in err or (status or 0) < 0, "tail": out[-300:]}


def told(events: str) -> Row:
    """What a run's events say."""
    kinds: Counter[str] = Counter()
    rungs: Counter[str] = Counter()
    protocols: Counter[str] = Counter()
    tokens = largest = silent = 0
    halted = ""
    for line in events.splitlines():
        try:
            event = json.loads(line)["event"]
        except (ValueError, KeyError, TypeError):
            continue
        kind = event.get("event", "?")
        kinds[kind] += 1
        if kind in ("ModelAnswered", "HelperAnswered"):
            usage = event.get("usage") or {}
            tokens += usage.get("input", 0) + usage.get("output", 0)
            largest = max(largest, usage.get("input", 0))
            silent += kind == "ModelAnswered" and not event.get("calls")
        elif kind == "Escalated":
            rungs[event["decision"]["rung"]] += 1
        elif kind == "AttemptStarted":
            protocols[event.get("protocol", "tools")] += 1
        elif kind == "RunHalted":
            halted = f"{event.get('reason')}: {event.get('message', '')}"[:200]
    rounds = kinds["RoundStarted"] + kinds["HelperAnswered"]
    return {
        "rounds": rounds,
        "answers": kinds["ModelAnswered"],
        "tokens": tokens,
        "largest": largest,
        "silent": silent,
        "helpers": kinds["HelperAnswered"],
        "rungs": dict(rungs),
        "protocols": dict(protocols),
        "halted": halted,
    }


# ── one unit of work ────────────────────────────────────────────────────────────────────────────────────────────


class Bench:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.lock = threading.Lock()
        self.out = Path(args.out)
        self.rows = read(self.out)
        self.place = args.place = Path(tempfile.mkdtemp(prefix="weak-"))

    def run(self, exercises: list[Exercise]) -> None:
        groups, once = [group.split(",") for group in self.args.arms.split(";")], self.args.once.split(",")
        units = [
            (n, e, arm)
            for arms in groups
            for n in range(self.args.repeats)
            for e in exercises
            for arm in arms
            if not n or arm not in once
        ]
        left = [unit for unit in units if (unit[1].name, unit[2], unit[0]) not in self.rows]
        print(f"{len(units)} runs wanted, {len(left)} left, {self.args.jobs} at once", flush=True)
        with ThreadPoolExecutor(self.args.jobs) as pool:
            list(pool.map(lambda unit: self._one(*unit), left))
        shutil.rmtree(self.place, ignore_errors=True)

    def _one(self, number: int, exercise: Exercise, arm: str) -> None:
        if time.time() > self.args.deadline:
            return
        work = self.place / f"{exercise.name}.{arm}.{number}"
        shutil.copytree(exercise.folder, work)
        began = time.time()
        try:
            args = argparse.Namespace(**vars(self.args))
            args.url = self.args.url.split(",")[hash((exercise.name, arm, number)) % len(self.args.url.split(","))]
            row = (plain if arm in PLAIN else aider if arm == "aider" else bough)(exercise, arm, work, args)
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            print(f"{exercise.name} {arm}: {error!r}", file=sys.stderr, flush=True)
            return
        row |= {"task": exercise.name, "arm": arm, "number": number, "seconds": round(time.time() - began, 1)}
        row["solved"] = verdict(exercise, work)
        with self.lock, self.out.open("a") as file:
            self.rows[row["task"], arm, number] = row
            file.write(json.dumps(row) + "\n")
        for place in (work, work.with_name(f"{work.name}.state"), work.with_name(f"{work.name}.home")):
            shutil.rmtree(place, ignore_errors=True)


def verdict(exercise: Exercise, work: Path) -> bool:
    """The original tests on the modules that came of it, and on nothing else of the result."""
    with tempfile.TemporaryDirectory() as place:
        clean = Path(place) / "clean"
        shutil.copytree(exercise.folder, clean)
        own = {path.name for path in exercise.folder.iterdir()} - {exercise.stub}
        for path in work.glob("*.py"):
            if path.name not in own and path.name != "conftest.py" and not path.name.startswith("test_"):
                shutil.copy(path, clean / path.name)
        return run_tests(clean, exercise.test, limit=300)[0]


def run_tests(folder: Path, test: str, *more: str, limit: float = 60) -> tuple[bool, str]:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, test]
    status, out, _ = program(argv, folder, limit)
    return status == 0, out if status is not None else f"The tests did not end within {limit:g} s."


def program(
    argv: list[str], cwd: Path, timeout: float, env: dict[str, str] | None = None
) -> tuple[int | None, str, str]:
    """Exit status (None: killed for its time), standard output and error."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, env=env
        )
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return status, texts[0], texts[1]


# ── the tables ──────────────────────────────────────────────────────────────────────────────────────────────────


def read(path: Path) -> dict[tuple[str, str, int], Row]:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["task"], row["arm"], row["number"]): row for row in rows}


def wilson(hits: int, total: int) -> tuple[float, float]:
    if not total:
        return 0.0, 1.0
    z, p = 1.96, hits / total
    middle, half = p + z * z / (2 * total), z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    return (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)


def mcnemar(gained: int, lost: int) -> float:
    n, k = gained + lost, min(gained, lost)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n) if n else 1.0


def flip(differences: list[float], draws: int = 100_000) -> float:
    """The sign-flip permutation test, two sided."""
    chance, kept = random.Random(11), [each for each in differences if each]
    seen = abs(sum(kept)) - 1e-9
    hits = sum(abs(sum(each if chance.random() < 0.5 else -each for each in kept)) >= seen for _ in range(draws))
    return (hits + 1) / (draws + 1) if kept else 1.0


def mean_solved(kept: dict[tuple[str, str, int], Row], arm: str) -> dict[str, float]:
    """By exercise, over the repeats that were run."""
    tasks = {key[0] for key in kept if key[1] == arm}
    return {
        task: statistics.mean(row["solved"] for key, row in kept.items() if key[:2] == (task, arm)) for task in tasks
    }


def table(kept: dict[tuple[str, str, int], Row]) -> None:
    print("| arm | runs | solved | 95 % | false completed | missed | crashes | rounds | k tokens | s | ends | rungs |")
    print("|" + " --- |" * 12)
    for arm in ARMS:
        rows = [row for row in kept.values() if row["arm"] == arm]
        if not rows:
            continue
        solved = sum(row["solved"] for row in rows)
        low, high = wilson(solved, len(rows))
        false = sum(bool(row["completed"]) and not row["solved"] for row in rows)
        missed = sum(row["completed"] is False and row["solved"] for row in rows)
        ends = Counter(str(EXITS.get(row.get("exit", -9), row.get("exit"))) for row in rows if "exit" in row)
        rungs: Counter[str] = Counter()
        for row in rows:
            rungs.update(row.get("rungs", {}))
        print(
            f"| {arm} | {len(rows)} | {solved} | {low:.0%}–{high:.0%} | {false} | {missed} "
            f"| {sum(bool(row.get('crashed')) for row in rows)} | {statistics.mean(row['rounds'] for row in rows):.1f} "
            f"| {statistics.mean(row['tokens'] for row in rows) / 1000:.1f} "
            f"| {statistics.mean(row['seconds'] for row in rows):.0f} | {_listed(ends)} | {_listed(rungs)} |"
        )
    kept = kept | {
        (task, "plain", n): row | {"arm": "plain", "solved": row["solved"] and row["rounds"] <= 3}
        for (task, arm, n), row in kept.items()
        if arm == "plain-on" and (task, "plain", n) not in kept
    }
    arms = [arm for arm in ARMS if any(key[1] == arm for key in kept)]
    for one, other in ((a, b) for n, a in enumerate(arms) for b in arms[n + 1 :]):
        pairs = [
            (row, kept[key[0], other, key[2]])
            for key, row in kept.items()
            if key[1] == one and (key[0], other, key[2]) in kept
        ]
        gained = [b["task"] for a, b in pairs if b["solved"] and not a["solved"]]
        lost = [a["task"] for a, b in pairs if a["solved"] and not b["solved"]]
        both = sum(a["solved"] and b["solved"] for a, b in pairs)
        p = mcnemar(len(gained), len(lost))
        first, second = mean_solved(kept, one), mean_solved(kept, other)
        both_ran = sorted(first.keys() & second.keys())
        sums = sum(first[task] for task in both_ran), sum(second[task] for task in both_ran)
        print(
            f"\n{one} → {other}: mean {sums[0]:.1f} → {sums[1]:.1f} of {len(both_ran)} "
            f"({(sums[1] / sums[0] - 1 if sums[0] else 0):+.0%}), sign-flip p = "
            f"{flip([second[task] - first[task] for task in both_ran]):.4f}; {len(pairs)} pairs of runs, both {both}, "
            f"gained {len(gained)}, lost {len(lost)}, McNemar p = {p:.3f}"
        )
        print(f"  gained: {', '.join(sorted(gained)) or '–'}\n  lost: {', '.join(sorted(lost)) or '–'}")
    for row in [row for row in kept.values() if row.get("crashed") or row.get("exit", 0) not in (0, 3, 4, 5)][:5]:
        print(
            f"\nodd: {row['task']} {row['arm']}: exit {row.get('exit')} {row.get('halted', '')} "
            f"{row.get('stderr', '')[-300:]}"
        )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, help="the exercises")
    parser.add_argument(
        "--url", default="http://127.0.0.1:8080/v1", help="one, or several with commas to share the load"
    )
    parser.add_argument("--model", default="qwen")
    parser.add_argument(
        "--arms",
        default="plain,plain-on,plain-anew,aider,text,ladder,warm",
        help="with commas; those after a semicolon begin when the others have",
    )
    parser.add_argument("--once", default="", help="arms that are not repeated, with commas")
    parser.add_argument("--aider", default="aider", help="the command of aider")
    parser.add_argument("--tokens", type=int, default=30_000, help="that an arm may use on one exercise")
    parser.add_argument("--jobs", type=int, default=4, help="runs at once")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default="", help="exercises, with commas")
    parser.add_argument("--minutes", type=float, default=600, help="what is not over by then is not counted")
    parser.add_argument("--longest", type=float, default=3600, help="seconds of one run")
    parser.add_argument("--out", default="weak.jsonl")
    parser.add_argument("--table", action="store_true", help="only print what is in the file")
    args = parser.parse_args()
    args.deadline = time.time() + args.minutes * 60
    if args.table:
        table(read(Path(args.out)))
        return
    if args.tasks is None:
        parser.error("--tasks is missing: the folder with the exercises")
    os.environ.setdefault("OPENAI_API_KEY", "none")
    found = [Exercise(folder) for folder in sorted(args.tasks.iterdir()) if list(folder.glob("*_test.py"))]
    wanted = [one for one in found if not args.only or one.name in args.only.split(",")]
    random.Random(7).shuffle(wanted)
    bench = Bench(args)
    bench.run(wanted)
    table(bench.rows)


if __name__ == "__main__":
    main()
