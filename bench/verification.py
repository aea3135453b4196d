"""What a whole run costs beside its tests: a repository with a suite of some seconds, a scripted model, `bough run`.

    python bench/verification.py                          a suite of 10 s in a repository of 400 files
    python bench/verification.py --seconds 10 --files 3000 --repeat 3

The same suite is first run by hand, as a person would (`python -m pytest -q`). Then `bough run` is started as a process
of its own, cold, with a model on loopback that writes the fix and says that it is done; bough runs the suite twice, at
the base and at the fix, beside each other. Overhead is what the whole run took longer than the suite by hand. Nothing
is left out: starting Python, the workspaces, the journal, reading and comparing the trees, the gate, the verdict. The
processor's time is that of bough and of the programs that it waited for; the suites have parents of their own, and
are not in it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from overhead import fake_model
from server import MODEL, Script

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = """\
import time

import pytest

from calc import add


@pytest.mark.parametrize("number", range({count}))
def test_add(number):
    time.sleep({pause})
    assert add(number, 0) == number


def test_the_bug():
    assert add(2, 3) == 5
"""
TESTS_IN_SUITE = 100
PRODUCT = (
    '"""Part {n} of the product."""\n\n\ndef part_{n}(values):\n    return [value * {n} for value in values]\n' * 5
)


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float


def lay_out(folder: Path, seconds: float, files: int) -> None:
    """A git repository: a module with a bug, its tests, and so many files beside them."""
    (folder / "calc.py").write_text(WRONG)
    (folder / "test_calc.py").write_text(TESTS.format(count=TESTS_IN_SUITE, pause=seconds / TESTS_IN_SUITE))
    for number in range(files):
        place = folder / "product" / f"group{number // 50}" / f"part{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(PRODUCT.replace("{n}", str(number)))
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "base"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


def timed(command: list[str], folder: Path, env: dict[str, str], status: int) -> tuple[Cost, str]:
    """A process and all that it waited for. Raises when it ends in another way than expected."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != status:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu), done.stdout


def check_seconds(events: str) -> float:
    """What bough itself saw of the check that it judged by."""
    for line in events.splitlines():
        verdict = json.loads(line).get("event", {}).get("verdict")
        if verdict is not None:
            return float(verdict["seconds"])
    raise SystemExit("no verdict in the events")


def once(port: int, folder: Path, seconds: float, files: int) -> tuple[Cost, Cost, float]:
    folder.mkdir()
    lay_out(folder, seconds, files)
    env = {**os.environ, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    alone, _ = timed(pytest, folder, env, 1)
    fix = json.dumps({"path": "calc.py", "content": RIGHT})
    script = Script("run", 1, "write", fix, "done", '{"summary": "add adds"}')
    url = f"http://127.0.0.1:{port}/{script.encode()}/v1"
    check = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    bough = [str(Path(sys.executable).parent / "bough"), "run", "Make add add.", "--check", check, "--json"]
    whole, events = timed(
        [*bough, "--model", f"openai:{MODEL}", "--base-url", url, "--protocol", "tools"], folder, env, 0
    )
    return alone, whole, check_seconds(events)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="what the suite takes")
    parser.add_argument("--files", type=int, default=400, help="files of the repository beside the tests")
    parser.add_argument("--repeat", type=int, default=3)
    chosen = parser.parse_args()
    rows = []
    # Everything stays until the end: ext4 is slow to make a file for some seconds after others were removed.
    with tempfile.TemporaryDirectory(prefix="verification-") as place, fake_model() as port:
        for number in range(chosen.repeat):
            alone, whole, check = once(port, Path(place) / str(number), chosen.seconds, chosen.files)
            rows.append((whole.wall - alone.wall, whole.cpu, alone.wall))
            print(f"suite by hand {alone.wall:.2f} s ({alone.cpu:.2f} s of the processor), ", end="")
            print(f"bough run {whole.wall:.2f} s ({whole.cpu:.2f} s), its check {check:.2f} s; ", end="")
            print(f"overhead {rows[-1][0]:.2f} s, processor {rows[-1][1]:.2f} s")
    wall, cpu, suite = (median(row[index] for row in rows) for index in range(3))
    print(f"median overhead on a suite of {suite:.1f} s in {chosen.files} files: ", end="")
    print(f"{wall:.2f} s = {100 * wall / suite:.1f} %, processor {cpu:.2f} s = {100 * cpu / suite:.1f} %")


if __name__ == "__main__":
    main()
