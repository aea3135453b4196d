"""Any project: is the check that bough finds the project's own, and is a missing environment told from a bug?

    python bench/any_project.py --to FOLDER              all of any_project.toml: minutes, a network, apt-get source
    python bench/any_project.py --to FOLDER --half open  those that were used while bough was made, or `kept`
    python bench/any_project.py --to FOLDER fzy jo       some of them; what lies in FOLDER already is used again

Each project is fetched as its authors ship it and put under git. `venv pytest` as set-up is an ignored environment that
is not activated. Then `bough check --json` runs in it, and the command that it names runs by hand, for the time. Right
is a command that fits the label, with tests seen where the label says `runs`, and exit status 2 (halted before any
model) where it says `environment`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

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
        "debian": ["apt-get", "source", "--download-only", name],
        "pypi": [sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", name],
        "npm": ["npm", "pack", name],
    }[kind]
    subprocess.run(command, cwd=part, capture_output=True, check=True)
    found = [path for path in part.iterdir() if re.search(r"(\.orig\.tar\.\w+|\.tar\.gz|\.tgz)$", path.name)]
    archive = next((path for path in found if ".orig." in path.name), found[0])
    subprocess.run(["tar", "xf", archive, "-C", part / "files", "--strip-components=1"], check=True)
    (part / "files").rename(to)
    shutil.rmtree(part)


def prepare(project: dict[str, str], to: Path) -> None:
    if (to / ".git").exists():
        return
    if project.get("setup", "").startswith("venv"):
        subprocess.run([shutil.which("python3", path="/usr/local/bin:/usr/bin") or "python3", "-m", "venv", ".venv"],
                       cwd=to, check=True)  # fmt: skip
        packages = project["setup"].split()[1:]
        subprocess.run([".venv/bin/python", "-m", "pip", "install", "-q", *packages], cwd=to, capture_output=True)
        with (to / ".gitignore").open("a") as rules:
            rules.write("\n.venv/\n")
    for line in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qmx"],
    ):
        subprocess.run(["git", *line], cwd=to, check=True, capture_output=True)


def measure(argv: list[str], folder: Path, env: dict[str, str]) -> tuple[int, str, float]:
    began = time.monotonic()
    try:
        done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return -1, "", time.monotonic() - began
    return done.returncode, done.stdout, time.monotonic() - began


def judge(project: dict[str, str], status: int, found: dict[str, object]) -> str:
    """Empty: right; else what is wrong."""
    command = str(found.get("command", ""))
    if not re.search(project["check"], command):
        return f"another command: {command or 'none found'}"
    if project["result"] == "environment":
        return "" if status in (2, 5) else f"not seen as an environment failure (exit status {status})"
    if project["result"] == "fails":
        return "" if status == 1 else f"it fails by hand, and here ends with exit status {status}"
    ran = int(str(found.get("passed", 0))) + int(str(found.get("failed", 0)))
    if status == 2:
        return f"said to lack something: {found.get('lacking')}"
    return "" if ran or status == 0 else "no test seen"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="*")
    asked.add_argument("--to", type=Path, required=True)
    asked.add_argument("--half", choices=("open", "kept"))
    chosen = asked.parse_args()
    chosen.to.mkdir(parents=True, exist_ok=True)
    projects = tomllib.loads(LABELS.read_text())["project"]
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
        status, said, took = measure([bough, "check", "--json"], to, clean)
        found = json.loads(said) if said.strip().startswith("{") else {}
        wrong = judge(project, status, found)
        right += not wrong
        own = float(found.get("seconds", 0.0))
        slow += took > own * 1.2 + 1
        counts = (
            f"{found.get('passed', 0)} passed, {found.get('failed', 0)} failed, {len(found.get('aside', {}))} aside"
        )
        print(f"{project['name']:18} {'right' if not wrong else 'WRONG'}  {found.get('command', '')}  ({counts}; "
              f"{own:.1f} s of {took:.1f} s)  {wrong or found.get('lacking', '')}", flush=True)  # fmt: skip
    print(f"{right} of {len(wanted)} right; {slow} took more than 1.2 times the command and a second")
    return 0 if right == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
