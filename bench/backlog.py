"""A night of 40 small goals on a real library, killed again and again: is every goal decided exactly once?

    python bench/backlog.py steady                       one night without kills: idle share, overhead, the night branch
    python bench/backlog.py kills --kills 50             `kill -9` at random moments, then the same command again
    python bench/backlog.py kills --processes 3          three processes share the list; each is killed
    python bench/backlog.py kills --processes 3 --store postgresql://…   the same with the journal in a database
    python bench/backlog.py kills --small                a project whose check takes no time: the kills hit bough itself
    python bench/backlog.py kills --small --limits --changes   limits at each start; edits, drops, removals between them
    python bench/backlog.py kills --folder F --minutes 5   stop after so long; the same line continues

The library is itsdangerous as its authors ship it, with its own tests; only the model is scripted, at the wire, and
takes DELAY seconds to answer. Of the goals, 36 change a module each and add a test, two pairs change the same line in
different ways; the check is the one that bough finds, and an examiner's probe proves each. Printed are the numbers, one
a line, and at the end whether all hold:

- *decided*: goals with exactly one final report, and with exactly one run that ever started;
- *spent*: what the list says a goal cost against what its run's events add up to;
- *idle*: share of the places' time that was empty while a goal was ready to begin (steady only);
- *overhead*: from taking a goal to its report, beyond its own run (steady only);
- *under way at a kill*: calls that the model answered and no journal has, by goal (with --limits or --changes); every
  other answer is in a journal once, and the nights' sums are exact to the token and the same at every face;
- *together*: the library's own suite on the night branch, by hand; and every goal that was left out, merged by hand: it
  conflicts, or the suite fails.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

from night_money import PRICES, Ledger
from wire import Document, Wire, calling

from bough.app import open_journal
from bough.core import events as e
from bough.core.backlog.decide import DECIDED
from bough.services.backlog import load_backlog, load_page

GOALS = 40
MODES = ("COLOUR", "SHAPE")
PAIRS = len(MODES)
DELAY = 0.3
SMALL = "--small" in sys.argv
PACKAGE = "itsdangerous==2.2.0"


def prepare_small(folder: Path) -> Path:
    """The same goals where a check takes no time: what is left is bough, and the kills hit it more often."""
    project = folder / "project"
    if (project / ".git").exists():
        return project
    (project / "src/itsdangerous").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / "check.sh").write_text("for test in tests/*; do sh $test || exit 1; done\n")
    (project / "tests/base").write_text("test -e check.sh\n")
    _write_sources(project)
    (project / "bough.toml").write_text('[check]\ncommand = "sh check.sh"\n')
    return _commit(project)


def _write_sources(project: Path) -> None:
    # Apart: two changes of neighbouring lines would be one conflict.
    (project / "src/itsdangerous/mode.py").write_text('COLOUR = "none"\n\n\n\n\n\n\nSHAPE = "none"\n')
    for number in range(GOALS):
        (project / f"src/itsdangerous/extra_{number}.py").write_text("def value():\n    return None\n")


def _commit(project: Path) -> Path:
    lines = ("init -q -b main", "config user.name bench", "config user.email b@localhost", "add -A", "commit -qm base")
    for line in lines:
        subprocess.run(["git", *line.split()], cwd=project, check=True)
    return project


def prepare(folder: Path) -> Path:
    """The library in a git repository with an environment that is not activated, as a developer has it."""
    project = folder / "project"
    if (project / ".git").exists():
        return project
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
        PACKAGE,
    ]
    subprocess.run(pip, check=True)
    with tarfile.open(next(folder.glob("itsdangerous-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    next(path for path in folder.glob("itsdangerous-*") if path.is_dir()).rename(project)
    _write_sources(project)
    (project / ".gitignore").write_text(".venv/\n__pycache__/\n.pytest_cache/\n*.egg-info/\n.tox/\n")
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=project, check=True)
    install = [".venv/bin/python", "-m", "pip", "install", "-q", "pytest", "freezegun", "-e", "."]
    subprocess.run(install, cwd=project, check=True)
    return _commit(project)


def write_goals(project: Path, count: int) -> None:
    """Most have nothing to do with each other, and two pairs cannot both be."""
    lines = [
        f"Make value() in src/itsdangerous/extra_{number}.py return {number}." for number in range(count - 2 * PAIRS)
    ]
    lines += [f"Make {name} in src/itsdangerous/mode.py {side}." for name in MODES for side in ("left", "right")]
    bough(project, "backlog", "add", "--file", "-", feed="\n".join(map(json.dumps, lines)))


def answer(request: Document) -> Document:
    """Does the goal in one command, then says so; as an examiner, asks whether it is done."""
    time.sleep(DELAY)
    found = re.search(r"extra_(\d+)\.py return|Make (\w+) in \S+ (left|right)", json.dumps(request["messages"]))
    tools = {tool["function"]["name"] for tool in request.get("tools") or ()}
    if found is None or not tools:
        return {"role": "assistant", "content": "{}"}
    number, what, side = found.groups()
    module, name, want = (f"extra_{number}", "value", number) if number else ("mode", what, repr(side))
    asks = f"from itsdangerous.{module} import {name}\n\n\ndef test_{module}_{name}_is_as_asked():\n"
    asks += f"    assert {name}{'()' if number else ''} == {want}\n"
    if "probe" in tools:
        said = f"value() in src/itsdangerous/{module}.py return {number}"
        quote = said if number else f"Make {what} in src/itsdangerous/mode.py {side}"
        return calling("probe", probes=[{"text": asks, "says": "It is as asked.", "quote": quote, "requirement": 1}])
    tools_said = [str(message["content"]) for message in request["messages"] if message["role"] == "tool"]
    if any(not said.startswith("Interrupted") for said in tools_said):  # By a kill: then it is done again.
        return calling("done", summary="It is done.")
    if number:
        test = asks.replace("\n", "\\n")
        write = f"printf 'def value():\\n    return {number}\\n' > src/itsdangerous/{module}.py"
        shell = f"printf 'grep -q \"return {number}$\" src/itsdangerous/{module}.py\\n' > tests/{module}"
        python = f"printf '{test}' > tests/test_{module}.py"
        return calling("bash", command=f"{write}; {shell if SMALL else python}")
    return calling("bash", command=f"sed -i 's/^{what} = .*/{what} = \"{side}\"/' src/itsdangerous/mode.py")


def name_goal(request: Document) -> str:
    found = re.search(r"extra_\d+|Make \w+ in \S+ (?:left|right)", json.dumps(request["messages"]))
    return found[0] if found else "another question"


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BOUGH_")}
    small = {"BOUGH_ACCEPTANCE_PROOF": "check", "BOUGH_ACCEPTANCE_EXAMINE": "never"} if SMALL else {}
    store = {"BOUGH_STORE": os.environ["BOUGH_STORE"]} if "BOUGH_STORE" in os.environ else {}
    return kept | store | {"OPENAI_API_KEY": "x", "BOUGH_PLANNING_FLAT": "true"} | small


def bough(project: Path, *arguments: str, feed: str = "") -> str:
    argv = [sys.executable, "-m", "bough", *arguments, "--dir", str(project)]
    done = subprocess.run(argv, input=feed, capture_output=True, text=True, env=environment(), check=False)
    assert "internal error" not in done.stderr, done.stderr
    return done.stdout


def start(
    project: Path, url: str, jobs: int, limits: Sequence[str] = (), branch: str = "night"
) -> subprocess.Popen[bytes]:
    options = ["--jobs", str(jobs), "--model", "openai:m", "--base-url", url, "--protocol", "tools", *limits]
    argv = [
        sys.executable,
        "-m",
        "bough",
        "backlog",
        "run",
        "--dir",
        str(project),
        *options,
        "--apply-together",
        branch,
    ]
    log = (project.parent / "night.log").open("ab")
    return subprocess.Popen(argv, stdout=log, stderr=log, env=environment(), start_new_session=True)


# ── nights ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def steady(project: Path, url: str, jobs: int) -> None:
    night = start(project, url, jobs)
    try:
        night.wait()
    finally:
        night.kill()


def pick_limits(chance: random.Random) -> tuple[str, ...]:
    """One of all kinds of limits, or none. Each is so tight that it is met now and then."""
    hour = time.strftime("%H:%M", time.localtime(time.time() + 120))
    limits = ("--max-cost", "0.02"), ("--per-goal", "0.005"), ("--rounds", "2"), ("--max-tokens", "5000")
    return chance.choice((*limits, ("--max-minutes", "0.1"), ("--until", hour), ()))


def change_list(project: Path, chance: random.Random, ledger: Ledger) -> str:
    """What a person does to the list between two starts; returns its kind."""
    listed = json.loads(bough(project, "backlog", "list", "--json"))
    item = chance.choice(listed)
    kind = chance.choice(("edited", "edited", "dropped", "removed", "pruned", "nothing"))
    if kind == "edited":  # Other words for the same: what was done for the old ones does not count.
        bough(project, "backlog", "edit", item["name"], "--goal", f"{item['goal'].rstrip()} Do it well.")
    elif kind == "dropped":
        bough(project, "backlog", "drop", item["name"])
        bough(project, "backlog", "add", item["goal"])
    elif kind in ("removed", "pruned"):
        runs = [each["run"] for each in json.loads(bough(project, "runs", "--json")) if each["run"] != "backlog"]
        chosen = chance.sample(runs, min(2, len(runs)))
        asyncio.run(_remove(project, chosen if kind == "removed" else runs, ledger))
        if kind == "removed" and chosen:
            bough(project, "rm", "--yes", *chosen)
        else:
            bough(project, "prune", "--max-size", "2M")
    return kind


async def _remove(project: Path, runs: list[str], ledger: Ledger) -> None:
    async with open_journal(project) as journal:
        for run in runs:
            await ledger.remove(journal, run)


def kill_again_and_again(project: Path, url: str, args: argparse.Namespace, ledger: Ledger) -> bool:
    """True when the night is over. The number of kills so far is kept beside the project."""
    counter, done = project.parent / "kills", Counter[str]()
    kills = int(counter.read_text()) if counter.exists() else 0
    chance, began = random.Random(args.seed + kills), time.monotonic()

    def begin() -> subprocess.Popen[bytes]:
        limits = pick_limits(chance) if args.limits and kills < args.kills else ()
        done[" ".join(limits[:1])] += 1
        # A night that a limit ended leaves its branch to the person: the next one makes another.
        return start(project, url, args.jobs, limits, f"night-{kills}" if args.limits or args.changes else "night")

    running = [begin() for _ in range(args.processes)]
    try:
        while any(process.poll() is None for process in running) or (args.changes and kills < args.kills):
            if time.monotonic() - began > args.minutes * 60:
                return False
            time.sleep(chance.uniform(0.2, args.apart))
            if kills < args.kills:
                at = chance.randrange(len(running))
                if running[at].poll() is None:
                    running[at].kill()
                    ledger.kill()
                    kills += 1
                    counter.write_text(str(kills))
                running[at].wait()
                if args.changes:
                    done[change_list(project, chance, ledger)] += 1
                running[at] = begin()
        print(f"starts and changes: {dict(done)}")
        return bool(kills >= args.kills)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                ledger.kill()
                process.wait()


def finish(project: Path, url: str, args: argparse.Namespace) -> bool:
    """Goals whose own limit was met are given up until a person changes them: then all must come to their end."""
    for number in range(3):
        for item in json.loads(bough(project, "backlog", "list", "--json")):
            if item["standing"] == "given_up":
                bough(project, "backlog", "edit", item["name"], "--goal", f"{item['goal'].rstrip()} Again.")
        night = start(project, url, args.jobs, branch=f"night-end-{number}")
        try:
            night.wait(900)
        except subprocess.TimeoutExpired:
            night.kill()
            break
    listed = Counter(item["standing"] for item in json.loads(bough(project, "backlog", "list", "--json")))
    print(f"goals in the end: {dict(listed)}")
    return set(listed) == {"proven"}


# ── what came of it ─────────────────────────────────────────────────────────────────────────────────────────────────


async def examine_money(project: Path, ledger: Ledger) -> bool:
    async with open_journal(project) as journal:
        return await ledger.examine(journal, project)


async def examine(project: Path, jobs: int, timed: bool) -> bool:
    async with open_journal(project) as journal:
        backlog = await load_backlog(journal)
        records = await journal.store.read(backlog.stream)
        finals = Counter(
            r.task for r in records if isinstance(r.event, e.GoalSettled) and r.event.report.status in DECIDED
        )
        named = {(r.task, r.event.run) for r in records if isinstance(r.event, e.GoalTaken)}
        known = set(await journal.store.runs())
        began = Counter(task for task, run in named if run in known)
        page = await load_page(journal, backlog, time.time())
        exact = []
        for goal in page.goals:
            report = backlog.items[goal.name].report
            exact.append(report is not None and report.spend == (await journal.view(goal.run)).spend)
        once = sum(finals[goal.name] == 1 and began[goal.name] == 1 for goal in page.goals)
        proven = sum(goal.kind == "proven" for goal in page.goals)
        extra = len(known) - sum(began.values()) - 1
        print(f"goals {len(page.goals)}, proven {proven}, decided exactly once {once}, runs of nobody {extra}")
        print(f"spent as its run says: {sum(exact)} of {len(exact)}")
        joined = backlog.night.joined if backlog.night is not None else None
        print(
            f"together: {len(joined.landed) if joined else 0} landed, {len(joined.left_out) if joined else 0} left out"
        )
        fine = once == proven == len(page.goals) == sum(exact) and extra == 0
        if timed:
            fine = await _measure(journal, backlog, records, jobs) and fine
    return _check_together(project, joined) and fine


async def _measure(journal: Any, backlog: Any, records: list[e.Record], jobs: int) -> bool:
    taken = {r.task: r.at for r in records if isinstance(r.event, e.GoalTaken)}
    settled = {r.task: r.at for r in records if isinstance(r.event, e.GoalSettled)}
    moments = sorted([*taken.values(), *settled.values()])
    empty = whole = 0.0
    for before, after in pairwise(moments):
        ready = sum(at > before for at in taken.values())
        running = sum(taken[name] <= before < settled[name] for name in taken)
        if ready:
            empty += max(0, min(jobs - running, ready)) * (after - before)
            whole += jobs * (after - before)
    beyond = []
    for item in backlog.items.values():
        view = await journal.view(item.run)
        beyond.append(1000 * (settled[item.name] - taken[item.name] - view.elapsed()))
    print(f"idle {100 * empty / whole:.1f} % of the places' time while a goal was ready")
    said = f"median {median(beyond):.0f} ms, mean {mean(beyond):.0f} ms, most {max(beyond):.0f} ms"
    print(f"overhead beside its own run: {said}")
    return empty / whole <= 0.05 and median(beyond) <= 200


def _check_together(project: Path, joined: e.NightJoined | None) -> bool:
    if joined is None or not joined.branch:
        print("there is no night branch")
        return False
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), joined.branch], cwd=project, check=True)
        green = _run_suite(project, tree)
        print(f"the whole suite on the night branch, by hand: {'green' if green else 'RED'}")
        for name, why in joined.left_out.items():
            branch = json.loads(bough(project, "backlog", "list", "--json"))
            run = next(item["run"] for item in branch if item["name"] == name)
            merge = ["git", "-c", "user.name=b", "-c", "user.email=b@l", "merge", "-q", "--no-edit", f"bough/{run}"]
            merged = subprocess.run(merge, cwd=tree, capture_output=True, check=False)
            really = merged.returncode != 0 or not _run_suite(project, tree)
            subprocess.run(["git", "reset", "-q", "--hard", joined.branch], cwd=tree, check=True)
            print(f"left out: {name}: {'really conflicts' if really else 'MERGES'} ({why.splitlines()[0][:100]})")
            fine = fine and really
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=project, check=True)
    return fine and green


def _run_suite(project: Path, tree: Path) -> bool:
    env = {**os.environ, "PYTHONPATH": str(tree / "src")}
    if SMALL:
        return subprocess.run(["sh", "check.sh"], cwd=tree, capture_output=True, check=False).returncode == 0
    argv = [str(project / ".venv/bin/python"), "-m", "pytest", "-q", "tests"]
    return subprocess.run(argv, cwd=tree, capture_output=True, env=env, check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("steady", "kills"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--small", action="store_true", help="a project whose check takes no time")
    parser.add_argument("--goals", type=int, default=GOALS)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--apart", type=float, default=8.0, help="seconds between two kills, at most")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limits", action="store_true", help="a limit of any kind at each start")
    parser.add_argument("--changes", action="store_true", help="edits, drops and removals between two starts")
    parser.add_argument("--store", help="where the journal is: the address of a PostgreSQL database")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.store:
        os.environ["BOUGH_STORE"] = args.store
    folder = args.folder or Path(tempfile.mkdtemp(prefix="bough-night-"))
    folder.mkdir(parents=True, exist_ok=True)
    project = prepare_small(folder) if args.small else prepare(folder)
    (folder / "config/bough").mkdir(parents=True, exist_ok=True)
    (folder / "config/bough/config.toml").write_text(PRICES)
    os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
    if not json.loads(bough(project, "backlog", "list", "--json")):
        write_goals(project, args.goals)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ledger, free = Ledger(folder / "ledger.jsonl"), args.limits or args.changes
    with Wire(ledger.count(answer, name_goal)) as wire:
        if args.what == "steady":
            steady(project, wire.base_url, args.jobs)
        elif not kill_again_and_again(project, wire.base_url, args, ledger):
            kills = (folder / "kills").read_text() if (folder / "kills").exists() else "0"
            print(f"not over yet, {kills} kills so far: run the same line again with --folder {folder}")
            return
        over = not free or finish(project, wire.base_url, args)
    if args.what == "kills":
        print(f"kills {(folder / 'kills').read_text()}, processes {args.processes}")
    fine = asyncio.run(examine_money(project, ledger)) and over
    if not free:  # Else goals have several runs, and nights branches of their own.
        fine = asyncio.run(examine(project, args.jobs, timed=args.what == "steady")) and fine
    print("all hold" if fine else "NOT ALL HOLD", f"({folder})")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
