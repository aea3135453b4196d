"""Any project: is the check that bough finds the project's own, and is a missing environment told from a bug?

    python bench/any_project.py --to FOLDER              all of any_project.toml: minutes, a network, apt-get source
    python bench/any_project.py --to FOLDER --half open  those that were used while bough was made, or `kept`
    python bench/any_project.py --to FOLDER fzy jo       some of them; what lies in FOLDER already is used again
    python bench/any_project.py --to FOLDER --plant      whole runs: a planted bug is fixed, nothing else is hunted
    python bench/any_project.py --to FOLDER --labels bench/any_project_2026_11_18.toml      the projects of another file

Each project is fetched as its authors ship it and put under git. `venv pytest` as set-up is an ignored environment that
is not activated. Then `bough check --json` runs in it, and the command that it names runs by hand, for the time. Right
is a command that fits the label, with tests seen where the label says `runs` (or, where it says that the command
`shows` its exit status alone, with that status 0), and exit status 2 (halted before any model) where it says
`environment`. Where it says `none`, the project has no tests, and right is that none are claimed to have run.

With `--plant`, one operator of the product is changed so that the check fails, and `bough run` is given a scripted
model at the wire that changes it back: it has to end as completed, with tests that failed before. Where the check
cannot run here, the run has to end with exit status 2, and no request may arrive.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from itertools import zip_longest
from pathlib import Path

from wire import Document, Wire, calling

LABELS = Path(__file__).with_suffix(".toml")
LONGEST = 400


def fetch(source: str, to: Path) -> None:
    if to.exists():
        return
    kind, _, name = source.partition(":")
    part = to.with_name(f"{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "files").mkdir(parents=True)
    command = {
        "debian": ["apt-get", "source", "--tar-only", "--download-only", name],
        "pypi": [sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", name],
        "npm": ["npm", "pack", name],
        "github": ["git", "clone", "-q", "--depth", "1", f"https://github.com/{name}", "files"],
    }[kind]
    subprocess.run(command, cwd=part, capture_output=True, check=True)
    if kind != "github":
        found = [path for path in part.iterdir() if re.search(r"(\.orig\.tar\.\w+|\.tar\.gz|\.tgz)$", path.name)]
        archive = next((path for path in found if ".orig." in path.name), found[0])
        subprocess.run(["tar", "xf", archive, "-C", part / "files", "--strip-components=1"], check=True)
    (part / "files").rename(to)
    shutil.rmtree(part)


def prepare(project: dict[str, str], to: Path) -> None:
    """Put it under git, with what its label says is installed there, ignored."""
    if not (to / ".git").exists():
        for line in (
            ["init", "-q"],
            ["add", "-Af"],
            ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qmx"],
        ):
            subprocess.run(["git", *line], cwd=to, check=True, capture_output=True)
    kind, *packages = project.get("setup", "").split() or [""]
    if kind == "venv" and not (to / ".venv").exists():
        python = shutil.which("python3", path="/usr/local/bin:/usr/bin") or "python3"
        subprocess.run([python, "-m", "venv", ".venv"], cwd=to, check=True)
        if packages:
            install = [".venv/bin/python", "-m", "pip", "install", "-q", *packages]
            subprocess.run(install, cwd=to, capture_output=True, check=True)
    if kind == "npm" and not (to / "node_modules").exists():
        subprocess.run(
            ["npm", "install", "--no-package-lock", "--legacy-peer-deps"], cwd=to, capture_output=True, check=True
        )
    with (to / ".git/info/exclude").open("a") as rules:
        rules.write("\n.venv/\nnode_modules/\n*.egg-info/\n")


def measure(argv: list[str], folder: Path, env: dict[str, str]) -> tuple[int, str, float]:
    began = time.monotonic()
    try:
        done = subprocess.run(
            argv, cwd=folder, env=env, capture_output=True, text=True, timeout=LONGEST, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return -1, "", time.monotonic() - began
    return done.returncode, done.stdout, time.monotonic() - began


def time_bare(command: str, to: Path, env: dict[str, str]) -> float:
    """Seconds that the command itself takes in a copy of the folder, as a person would run it there."""
    copy = to.with_name(f"{to.name}.copy")
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", to, copy], check=True)
    shutil.rmtree(copy / ".bough", ignore_errors=True)
    _, _, took = measure(["bash", "-c", command], copy, env)
    shutil.rmtree(copy, ignore_errors=True)
    return took


def judge(project: dict[str, str], status: int, found: dict[str, object]) -> str:
    """Empty: right; else what is wrong."""
    command = str(found.get("command", ""))
    if not re.search(project["check"], command):
        return f"another command: {command or 'none found'}"
    if project["result"] == "environment":
        if status not in (2, 5):
            return f"not seen as an environment failure (exit status {status})"
        told = re.search(project.get("says", ""), str(found.get("way_out", "")))
        return "" if told else f"the way out does not say {project['says']}: {found.get('way_out')}"
    if project["result"] == "fails":
        return "" if status == 1 else f"it fails by hand, and here ends with exit status {status}"
    ran = sum(int(str(found.get(kind, 0))) for kind in ("passed", "failed", "told"))
    if project["result"] == "none":
        return f"{ran} tests seen where there are none" if ran else ""
    if status == 2:
        return f"said to lack something: {found.get('lacking')}"
    silent = project.get("shows") == "status" and status == 0
    return "" if ran or silent else "no test seen"


CODE = ("py", "c", "cc", "cpp", "h", "hpp", "go", "rs", "js", "rb", "php", "lua", "pl", "pm", "sh", "y")
SWAPS = (
    (" == ", " != "),
    (" < ", " >= "),
    (" + ", " - "),
    (" and ", " or "),
    (" && ", " || "),
    (" eq ", " ne "),
    (" -eq ", " -ne "),
)
MOST_PLANTED = 12


def list_bugs(to: Path) -> list[tuple[str, str, str]]:
    """A file, a line that occurs once in it, and that line with an operator swapped; large files first, in turn."""
    listed = subprocess.run(["git", "ls-files"], cwd=to, capture_output=True, text=True, check=True).stdout.split("\n")
    tests = r"(?i)(^|/)(t|specs?|examples?|docs?|bench\w*|dev|fuzz\w*|third_party|tools?)/|test|setup\.py"
    code = [path for path in listed if path.rpartition(".")[2] in CODE and not re.search(tests, path)]
    scripts = [
        path for path in listed if "." not in path.rpartition("/")[2] and re.match(r"(bin|libexec|[^/]+$)", path)
    ]
    scripts = [path for path in scripts if (to / path).is_file() and (to / path).read_bytes()[:2] == b"#!"]
    found: list[list[tuple[str, str, str]]] = []
    for path in sorted([*code, *scripts], key=lambda path: -(to / path).stat().st_size)[:4]:
        text = (to / path).read_text(errors="replace")
        lines = [
            line
            for line in text.split("\n")
            if text.count(f"{line}\n") == 1 and not line.lstrip().startswith(("#", "//", "*"))
        ]
        swapped = [(line, line.replace(a, b, 1)) for line in lines for a, b in SWAPS if a in line]
        swapped = [pair for pair in swapped if f"{pair[1]}\n" not in text]  # The model says which line it means.
        found.append([(path, *pair) for pair in swapped[:: max(1, len(swapped) // 6)]])
    return [bug for turn in zip_longest(*found) for bug in turn if bug][:MOST_PLANTED]


def plant(to: Path, bough: str, env: dict[str, str]) -> tuple[str, str, str] | None:
    """Plant a bug that the check catches, and commit it; None where none of those tried is caught."""
    for path, right, wrong in list_bugs(to):
        text = (to / path).read_text()
        (to / path).write_text(text.replace(f"{right}\n", f"{wrong}\n"))
        status, said, _ = measure([bough, "check", "--json"], to, env)
        if status == 1 and json.loads(said).get("exit_status") is not None:
            subprocess.run(
                ["git", "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qam", "x"], cwd=to, check=True
            )
            return path, right, wrong
        (to / path).write_text(text)
    return None


def try_run(project: dict[str, str], to: Path, bough: str, env: dict[str, str]) -> str:
    """Empty: the run ended as it should; else how it ended."""
    copy = to.with_name(f"{to.name}.planted")
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", to, copy], check=True)
    shutil.rmtree(copy / ".bough", ignore_errors=True)
    runs, bug = project["result"] == "runs", None
    if runs and (bug := plant(copy, bough, env)) is None:
        return "no bug that was tried is caught"
    requests: list[Document] = []

    def answer(request: Document) -> Document:
        requests.append(request)
        tools = {tool["function"]["name"] for tool in request.get("tools") or ()}
        if "edit" not in tools or bug is None:
            return {"role": "assistant", "content": "{}"}
        if any(message["role"] == "tool" for message in request["messages"]):
            return calling("done", summary="The operator is right again.")
        return calling("edit", path=bug[0], old=f"{bug[2]}\n", new=f"{bug[1]}\n")

    with Wire(answer) as wire:
        asks = [bough, "run", "Fix the bug that the failing tests show.", "--yes", "--model", "openai:m"]
        given = {**env, "OPENAI_API_KEY": "x"}
        status, said, _ = measure([*asks, "--base-url", wire.base_url, "--protocol", "tools"], copy, given)
    last = " ".join(said.strip().split("\n")[-6:])[-300:]
    if not runs:
        return (
            "" if status in (2, 5) and not requests else f"exit status {status} after {len(requests)} requests: {last}"
        )
    _, said, _ = measure([bough, "report", "--json"], copy, env)
    told = json.loads(said)["requirements"] if said.startswith("{") else []
    proven = told and all(one["standing"] == "proven" for one in told)
    return "" if status == 0 and proven else f"exit status {status} after {len(requests)} requests: {last}"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="*")
    asked.add_argument("--to", type=Path, required=True)
    asked.add_argument("--half", help="only the projects of this half")
    asked.add_argument("--labels", type=Path, default=LABELS, help="the file of labels")
    asked.add_argument("--no-time", action="store_true", help="do not run the command by hand as well")
    asked.add_argument("--plant", action="store_true", help="whole runs with a scripted model")
    chosen = asked.parse_args()
    chosen.to.mkdir(parents=True, exist_ok=True)
    projects = tomllib.loads(chosen.labels.read_text())["project"]
    wanted = [p for p in projects if not chosen.names or p["name"] in chosen.names]
    wanted = [p for p in wanted if chosen.half in (None, p["half"])]
    bough = shutil.which("bough") or "bough"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("VIRTUAL_ENV", "BOUGH_", "PYTHON"))}
    clean["PATH"] = ":".join(p for p in clean["PATH"].split(":") if ".venv" not in p)
    right = slow = 0
    for project in wanted:
        to = chosen.to / project["source"].partition(":")[2]
        try:
            fetch(project["source"], to)
            prepare(project, to)
        except (OSError, subprocess.CalledProcessError, IndexError) as error:
            print(f"{project['name']:18} not fetched: {error}", flush=True)
            continue
        if chosen.plant:
            wrong = try_run(project, to, bough, clean) if project["result"] not in ("fails", "none") else ""
            right += not wrong
            print(
                f"{project['name']:18} {project['result']:12} {'right' if not wrong else 'WRONG'}  {wrong}", flush=True
            )
            continue
        status, said, took = measure([bough, "check", "--json"], to, clean)
        found = json.loads(said) if said.strip().startswith("{") else {}
        wrong = judge(project, status, found)
        right += not wrong
        timed = found.get("command") and not found.get("lacking") and not chosen.no_time
        bare = time_bare(found["command"], to, clean) if timed else 0.0
        slow += bare > 0 and took > bare * 1.2 + 1
        counts = (
            f"{found.get('passed', 0)} passed, {found.get('failed', 0)} failed, {len(found.get('aside', {}))} aside, "
            f"{found.get('told', 0)} told"
        )
        print(f"{project['name']:18} {'right' if not wrong else 'WRONG'}  {found.get('command', '')}  ({counts}; "
              f"{took:.1f} s; alone {bare:.1f} s)  {wrong or found.get('lacking', '')}", flush=True)  # fmt: skip
    print(f"{right} of {len(wanted)} right; {slow} took more than 1.2 times the command and a second")
    return 0 if right == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
