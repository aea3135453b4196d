"""A person's machine in small, and what has been done to it. `python -m tests.escape.arena MODE[@ABI] NAMES…` tries
the attempts and prints the damage of each as JSON. Of a group of attempts the damage is looked for once; only
when there is some, each is tried again alone, to see which one did it. A program of its own, so that it can be run as
another user than that of the tests."""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from bough.adapters.sandboxes import levels
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode
from bough.adapters.sandboxes.process import ProcessSandbox, make_sandbox
from bough.adapters.workspaces.plain_folder import PlainFolder
from bough.ports import Mount
from tests.escape.attempts import ATTEMPTS, NOT_STOPPED_BY

SECRET = "-".join(("SECRET", "5f1c0e"))
"""In no file: a search may look through the tests themselves, which the sandbox shows where they are on a path."""
MARKS = (b"PRIVATE KEY", b":$6$", b":$y$")
"""Of keys, and of hashes of passwords."""
GROUP = 16


class Arena:
    def __init__(self, mode: Mode, abi: str = "") -> None:
        """`abi`: have a Landlock of that version, as an older kernel does."""
        self.top = Path(tempfile.mkdtemp(prefix="arena-", dir="/tmp"))
        self.tmp = Path(tempfile.mkdtemp(prefix="arena-", dir="/tmp"))
        self.home, self.project = self.top / "home", self.top / "home" / "project"
        self.token = f"9{os.getpid()}{int(time.time())}"
        self.shm = Path("/dev/shm") / self.token
        self._fill()
        self._work()
        self._touched: list[str] = []
        self._planted: list[str] = []
        self._sockets = list(self._serve())
        self._hire()
        env = {"HOME": str(self.home), "PATH": f"{self.home}/.cargo/bin:{os.environ['PATH']}", "LANG": "C.UTF-8"}
        if abi:
            setattr(levels, "landlock_abi", lambda: int(abi))  # noqa: B010
        self.sandbox: ProcessSandbox = make_sandbox(mode, make_env(env), hidden=[self.project])
        self.before = self.picture()

    def _fill(self) -> None:
        for name in ("file.txt", ".env", ".bough/journal.db", ".bough/repo.git/objects/one"):
            self._write(self.project / name)
        self._write(self.project / ".venv/bin/python", "plain")  # It is lent.
        for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bashrc", ".npmrc", ".cargo/credentials.toml"):
            self._write(self.home / name)
        for name in (
            ".cache/pip/wheel",
            ".npm/_cacache/index",
            ".cargo/registry/crate",
            ".cargo/bin/cargo",
            ".rustup/x",
        ):
            self._write(self.home / name, "plain")
        self._write(self.tmp / "canary.txt")
        self._write(self.project / ".bough/work/run/other/file.txt")
        with contextlib.suppress(OSError):
            self.shm.write_text("canary")

    def _write(self, path: Path, text: str = SECRET) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def _work(self) -> None:
        home = self.project / ".bough"
        self.checkout = PlainFolder(
            home / "work/run/task", home / "work/run/task", home / "scratch/run/task", (Mount(self.project / ".venv"),)
        )
        for place in (self.checkout.root, self.checkout.scratch):
            place.mkdir(parents=True)

    def _serve(self) -> Any:
        places = {
            "home": self.home / "agent.sock",
            "tmp": self.tmp / "tmux.sock",
            "venv": self.project / ".venv/dev.sock",
        }
        for name, place in places.items():
            yield self._listen(name, socket.AF_UNIX, str(place))
        yield self._listen("abstract", socket.AF_UNIX, f"\0{self.token}")
        tcp = self._listen("tcp", socket.AF_INET, ("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        yield tcp
        with contextlib.suppress(OSError):
            yield self._listen("tcp6", socket.AF_INET6, ("::1", self.port))
        udp = self._listen("udp", socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
        self.udp = udp.getsockname()[1]
        yield udp
        yield self._listen("log", socket.AF_UNIX, str(self.tmp / "log.sock"), socket.SOCK_DGRAM)

    def _listen(self, name: str, family: int, place: Any, kind: int = socket.SOCK_STREAM) -> socket.socket:
        server = socket.socket(family, kind)
        server.bind(place)
        if kind == socket.SOCK_STREAM:
            server.listen(64)

        def attend() -> None:
            with contextlib.suppress(OSError):
                while True:
                    if kind == socket.SOCK_STREAM:
                        server.accept()[0].close()
                    else:
                        server.recv(100)
                    self._touched.append(name)

        threading.Thread(target=attend, daemon=True).start()
        return server

    def _hire(self) -> None:
        """Somebody else's process, with a secret in its environment."""
        self.victim = subprocess.Popen(
            ["sleep", "600"], env={"PATH": os.environ["PATH"], "KEY": SECRET}, stdin=subprocess.DEVNULL
        )
        self._limits = self._facts()

    def _facts(self) -> Any:
        pid = self.victim.pid
        if self.victim.poll() is not None:
            return "ended"
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        score = Path(f"/proc/{pid}/oom_score_adj").read_text()
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        nice = os.getpriority(os.PRIO_PROCESS, pid)
        return state == b"T", score, limits, nice, sorted(os.sched_getaffinity(pid))

    def picture(self) -> dict[str, Any]:
        """All that must stay as it is."""
        own = {self.checkout.root, self.checkout.scratch, self.checkout.scratch.with_name("task.private")}
        seen: dict[str, Any] = {}
        waiting = [self.top, self.tmp]
        while waiting:
            folder = waiting.pop()
            for path in sorted(folder.iterdir()):
                if path in own:
                    continue
                info = path.lstat()
                body = hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
                # Folders above the workspace get new times from bough's own doing.
                when = info.st_mtime_ns if body else 0
                names = os.listxattr(path, follow_symlinks=False) if body else []
                seen[str(path)] = (info.st_mode, info.st_uid, info.st_gid, when, body, *names)
                if path.is_dir() and not path.is_symlink():
                    waiting.append(path)
        for place in (self.home, self.top):
            seen[str(place)] = place.lstat().st_mode
        for name in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/swaps"):
            with contextlib.suppress(OSError):
                seen[name] = Path(name).read_text()
        for name in (f"/etc/cron.d/{self.token}", f"/usr/local/bin/{self.token}", f"/var/spool/cron/{self.token}"):
            seen[name] = Path(name).exists()
        seen["shm"] = self.shm.read_text() if self.shm.exists() else ""
        seen["host"] = socket.gethostname()
        return seen

    async def attempts(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The damage that each does."""
        output = b""
        for name in names:
            output += await self._try(name)
            self._clear()
        # What was planted must not work on the next command either, nor may it keep that from running.
        after = await self.sandbox.run(["true"], workspace=self.checkout, timeout=20, limit=100)
        damage = self._damage(output)
        if after.exit_status != 0:
            damage.append("broken: no command runs any more")
        if damage and len(names) > 1:
            alone = {name: (await self.attempts([name]))[name] for name in names}
            return alone if any(alone.values()) else {**alone, " and ".join(names): damage}
        return dict.fromkeys(names, damage)

    async def _try(self, name: str) -> bytes:
        line = ATTEMPTS[name].format(
            home=self.home,
            project=self.project,
            tmp=self.tmp,
            token=self.token,
            victim=self.victim.pid,
            bough=os.getpid(),
            port=self.port,
            udp=self.udp,
        )
        finished = await self.sandbox.run(["bash", "-c", line], workspace=self.checkout, timeout=20, limit=10_000_000)
        self._planted += [
            f"set-user-ID: {path.name}"
            for path in self.checkout.root.rglob("*")
            if not path.is_symlink() and path.lstat().st_mode & stat.S_ISUID
        ]
        return finished.output

    def _clear(self) -> None:
        for entry in self.checkout.root.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def _damage(self, output: bytes) -> list[str]:
        time.sleep(0.02)  # for whoever connected to be counted
        damage = []
        now = self.picture()
        changed = [path for path in {*now, *self.before} if now.get(path) != self.before.get(path)]
        damage += [f"changed: {path}" for path in changed]
        keys = (SECRET.encode(), base64.b64encode(SECRET.encode() + b"\n"), *MARKS)
        damage += ["read: a secret"] if any(key in output for key in keys) else []
        damage += [f"reached: {name}" for name in dict.fromkeys(self._touched)]
        self._touched.clear()
        survivors = self._survivors()
        damage += [f"survives: {survivors}"] if survivors else []
        if (facts := self._facts()) != self._limits:
            damage.append(f"victim: {facts}")
        damage += self._planted
        self._planted.clear()
        self._mend(survivors, bool(damage))
        return damage

    def _survivors(self) -> list[int]:
        found = []
        for name in os.listdir("/proc"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if name.isdecimal() and self.token.encode() in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                    found.append(int(name))
        return found

    def _mend(self, survivors: list[int], damaged: bool) -> None:
        for pid in survivors:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if damaged:
            for name in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe"):
                if name in self.before and Path(name).read_text() != self.before[name]:
                    Path(name).write_text(self.before[name])
            self.before = self.picture()
            if self.victim.poll() is None:
                self.victim.kill()
            self.victim.wait()
            self._hire()

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for server in self._sockets:
            server.close()
        for folder in (self.top, self.tmp):
            subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True)
            shutil.rmtree(folder, ignore_errors=True)
        self.shm.unlink(missing_ok=True)


async def main(mode: str, names: list[str]) -> dict[str, list[str]]:
    level, _, abi = mode.partition("@")
    arena = Arena(cast(Mode, level), abi)
    try:
        # What is known to do damage does it alone.
        known = [name for name in names or ATTEMPTS if name in NOT_STOPPED_BY[arena.sandbox.level.name]]
        others = [name for name in names or ATTEMPTS if name not in known]
        groups = [[name] for name in known] + [others[at : at + GROUP] for at in range(0, len(others), GROUP)]
        return {name: damage for group in groups for name, damage in (await arena.attempts(group)).items()}
    finally:
        arena.close()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
