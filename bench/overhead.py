"""What a round costs around the model: bough side by side with other agent frameworks on the same fake model.

    python bench/overhead.py --setup                 build the peers' environments (once; needs the network)
    python bench/overhead.py                         measure everything and print the table
    python bench/overhead.py --only bough,langgraph --rounds 50 --agents 0 --repeat 1

How it measures, and why that is fair, is in bench/README.md.
"""

import argparse
import http.client
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from installing import HERE, installed, interpreter, set_up
from table import Measurement, Row, processor_line, rows_as_table, server_line


@dataclass(frozen=True)
class Peer:
    name: str
    durable: str
    """Whether a run that was killed goes on from what is on disk."""
    own: bool = True
    """It has an environment of its own; otherwise it runs in that of this script."""
    least: tuple[int, int] = (3, 11)
    """The oldest Python that it runs on."""

    @property
    def driver(self) -> Path:
        return HERE / "peers" / f"{self.name.replace('-', '_')}_driver.py"

    @property
    def python(self) -> str:
        return str(interpreter(self.name)) if self.own else sys.executable


PEERS = (
    Peer("bough", "yes", own=False),
    Peer("langgraph", "yes"),
    Peer("openhands", "yes", least=(3, 12)),
    Peer("pydantic-ai", "no"),
    Peer("openai-agents", "no"),
    Peer("smolagents", "no"),
    Peer("mini-swe-agent", "no"),
    Peer("floor", "no", own=False),
)

OUTSIDE_OFF = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "MSWEA_SILENT_STARTUP": "1",
    "NO_PROXY": "127.0.0.1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OPENHANDS_SUPPRESS_BANNER": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Nobody reports home, fetches price lists or greets while it is measured."""


class PeerFailed(Exception):
    """A peer could not be measured; the text says why."""


@contextmanager
def fake_model() -> Iterator[int]:
    """The server as a process of its own; yields its port."""
    command = [sys.executable, str(HERE / "server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


def _stats(port: int) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/stats")
        stats: dict[str, Any] = json.loads(connection.getresponse().read())
        return stats
    finally:
        connection.close()


def measure(peer: Peer, port: int, rounds: int, agents: int, repetition: int, timeout: float) -> Measurement:
    """One fresh process in a fresh folder on a real disk."""
    place = Path(tempfile.mkdtemp(prefix="overhead-", dir=_disk_folder()))
    try:
        _stats(port)
        report = _drive(peer, port, rounds, agents, place, timeout)
        stats = _stats(port)
        seen = stats["scripts"].get("run", {"requests": 0})
        expected = max(agents, 1) * (rounds + 1)
        if seen["requests"] != expected:
            raise PeerFailed(f"made {seen['requests']} requests in place of {expected}")
        if agents:
            ms = report["run_seconds"] * 1000 / (agents * rounds)
        else:
            ms = (seen["last"] - seen["second"]) * 1000 / (rounds - 1)
        requests = sum(script["requests"] for script in stats["scripts"].values())
        return Measurement(
            peer=peer.name,
            rounds=rounds,
            agents=agents,
            repetition=repetition,
            streamed=seen["streamed"] > 0,
            ms_per_round=ms,
            server_ms=stats["cpu"] * 1000 / requests,
            disk=_disk_used(place / "work"),
            **report,
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _drive(peer: Peer, port: int, rounds: int, agents: int, place: Path, timeout: float) -> dict[str, Any]:
    for name in ("work", "home", "tmp"):
        (place / name).mkdir()
    command = [peer.python, str(peer.driver), "--server", f"http://127.0.0.1:{port}"]
    command += ["--folder", str(place / "work"), "--result", str(place / "result.json")]
    command += ["--rounds", str(rounds), "--agents", str(agents)]
    env = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "PYTHONPATH": str(HERE),
        **OUTSIDE_OFF,
    }
    with (place / "output").open("w+") as output:
        try:
            done = subprocess.run(
                command, env=env, cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            raise PeerFailed(f"not done after {timeout:.0f} s") from None
        if done.returncode:
            output.seek(0)
            last = output.read().strip().splitlines()[-1:] or ["no output"]
            raise PeerFailed(f"ended with status {done.returncode}: {last[0][:200]}")
    report: dict[str, Any] = json.loads((place / "result.json").read_text())
    return report


def _disk_folder() -> Path | None:
    """Where temporary files are on a disk: /tmp is in memory on many machines, where durability costs nothing."""
    place = Path("/var/tmp")
    return place if place.is_dir() and os.access(place, os.W_OK) else None


def _disk_used(folder: Path) -> int:
    """Bytes that the files really occupy."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if not path.is_dir())


def measure_all(peers: Sequence[Peer], args: argparse.Namespace) -> list[Row]:
    """Each repetition goes through all peers, so that a busy minute of the machine does not fall on one of them."""
    rows = [Row(peer.name, peer.durable) for peer in peers]
    work = [(n, 0) for n in args.rounds] + ([(args.agent_rounds, args.agents)] if args.agents else [])
    ready = []
    for peer, row in zip(peers, rows, strict=True):
        if peer.own and not installed(peer.name):
            row.failed.append("not installed; --setup does it")
        else:
            ready.append((peer, row))
    given_up = set()
    with fake_model() as port:
        for repetition, (peer, row), (rounds, agents) in product(range(args.repeat), ready, work):
            what = f"{agents} × {rounds} rounds" if agents else f"{rounds} rounds"
            if (peer, what) in given_up:
                continue
            try:
                run = measure(peer, port, rounds, agents, repetition, args.timeout)
            except PeerFailed as error:
                given_up.add((peer, what))
                row.failed.append(f"{what}: {error}")
                print(f"{peer.name}, {what}: {error}", file=sys.stderr, flush=True)
                continue
            row.runs.append(run)
            print(f"{peer.name}, {what}: {run.ms_per_round:.2f} ms a round", file=sys.stderr, flush=True)
            if args.json:
                args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return rows


def report(rows: Sequence[Row], args: argparse.Namespace) -> str:
    versions = [f"{row.name} {row.runs[0].version}" for row in rows if row.runs and row.name != "floor"]
    other = [
        f"{row.name} {row.runs[0].python}"
        for row in rows
        if row.runs and row.runs[0].python != platform.python_version()
    ]
    streaming = [row.name for row in rows if row.runs and row.runs[0].streamed]
    lines = [
        rows_as_table(rows, args.rounds, args.agents, args.agent_rounds),
        "",
        *(f"{row.name}: {note}." for row in rows if row.runs for note in row.failed),
        f"Times: the minimum of {args.repeat} repetitions, in brackets as multiples of bough's; "
        "memory (peak RSS) and disk: the maximum.",
        processor_line(rows, max(args.rounds), 0),
        *([processor_line(rows, args.agent_rounds, args.agents)] if args.agents else []),
        server_line(rows, args.rounds),
        f"Versions: {', '.join(versions)}. Python {platform.python_version()}" + _but(other) + ".",
        f"Answers are streamed to {', '.join(streaming) or 'nobody'}, as each asks by default.",
        f"Machine: {os.cpu_count()} processors, {platform.system()} {platform.machine()}.",
    ]
    return "\n".join(lines)


def _but(other: Sequence[str]) -> str:
    return f" (but {', '.join(other)})" if other else ""


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if min(numbers) < 2:
        raise argparse.ArgumentTypeError("at least 2 rounds: the first one is not counted")
    return numbers


def _chosen(text: str) -> list[Peer]:
    known = {peer.name: peer for peer in PEERS}
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such peer: {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in text.split(",")]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--setup", action="store_true", help="build the peers' environments and end")
    parser.add_argument("--only", type=_chosen, default=list(PEERS), metavar="NAME,…", help="only these")
    parser.add_argument("--rounds", type=_numbers, default=[50, 400], metavar="N,…", help="of one agent (50,400)")
    parser.add_argument("--agents", type=int, default=100, help="at once (100; 0: leave it out)")
    parser.add_argument("--agent-rounds", type=int, default=20, help="of each of them (20)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions (3)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for one measurement (900)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too, after each one")
    return parser.parse_args()


def main() -> int:
    args = _arguments()
    if args.setup:
        status = 0
        for peer in args.only:
            if peer.own:
                problem = set_up(peer.name, peer.least)
                status = 1 if problem else status
                print(f"{peer.name}: {problem or 'ready'}", flush=True)
        return status
    rows = measure_all(args.only, args)
    print(report(rows, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
