"""Starts `bough backlog run` every day at a set time, with a timer of systemd or cron.

Each backlog has one timer; installing it again replaces it. The timer starts a script in the person's state folder, so
that nothing has to be quoted in two ways."""

import os
import shlex
import sys
import time
from pathlib import Path

from msgspec import Struct

from bough.core.errors import Unavailable, UsageError
from bough.services.hooks import Outbox
from bough.trust.files import Place
from bough.trust.programs import NoProgram, find_program, make_environment, run_program

UNITS = "systemd/user"


class Schedule(Struct, frozen=True):
    """The time of day at which work on a backlog begins, and the commands for it."""

    root: Path
    list: str
    at: str
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"bough-{Outbox(self.root).folder.name}-{self.list}"

    @property
    def script(self) -> Path:
        return Outbox(self.root).folder / f"night-{self.list}"

    def render_script(self) -> str:
        own, where = [sys.executable, "-P", "-m", "bough", "backlog"], ["--dir", str(self.root), "--list", self.list]
        labels = [word for label in self.labels for word in ("--label", label)]
        lines = [shlex.join([*own, "sync", "github", *where, *labels])] if labels else []
        lines.append(f"exec {shlex.join([*own, 'run', *where])}")
        given = [name for name in ("PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME") if os.environ.get(name)]
        # Programs that a timer starts do not have these variables.
        kept = [f"export {name}={shlex.quote(os.environ[name])}" for name in given]
        return "\n".join((f"#!/bin/sh\n# {self.name} at {self.at}", *kept, "cd /", *lines, ""))

    def render_units(self) -> dict[str, str]:
        start = str(self.script).replace("%", "%%").replace('"', '\\"')
        about = f"[Unit]\nDescription=bough works through {self.list}\n"
        return {
            f"{self.name}.service": f'{about}[Service]\nType=oneshot\nExecStart=/bin/sh "{start}"\n',
            f"{self.name}.timer": f"{about}[Timer]\nOnCalendar=*-*-* {self.at}:00\nPersistent=true\n"
            "[Install]\nWantedBy=timers.target\n",
        }

    def render_line(self) -> str:
        hour, minute = self.at.split(":")
        start = shlex.quote(str(self.script)).replace("%", "\\%")
        return f"{int(minute)} {int(hour)} * * * /bin/sh {start} # {self.name}"


def make_schedule(root: Path, name: str, at: str, labels: tuple[str, ...] = ()) -> Schedule:
    try:
        return Schedule(root, name, time.strftime("%H:%M", time.strptime(at, "%H:%M")), labels)
    except ValueError:
        raise UsageError(f'`{at}` is not a time of day: write `bough backlog schedule "22:30"`.') from None


def _call(root: Path, *argv: str, feed: bytes = b"") -> str | None:
    """Return a system program's output; None if it fails or is not installed."""
    try:
        done = run_program(argv, project=root, env=make_environment(), feed=feed, timeout=30)
    except NoProgram:
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")


def _read_crontab(chosen: Schedule) -> list[str]:
    """Return the person's other crontab lines. Raises `Unavailable` if they cannot be read, so that none is lost."""
    done = run_program(("crontab", "-l"), project=chosen.root, env=make_environment(LC_ALL="C"), timeout=30)
    if done.returncode and b"no crontab for" not in done.stderr:
        raise Unavailable(f"`crontab -l` failed: {done.stderr.decode('utf-8', 'replace').strip() or 'no reason'}.")
    lines = done.stdout.decode("utf-8", "surrogateescape").splitlines() if not done.returncode else []
    return [line for line in lines if not line.endswith(f" # {chosen.name}")]


def _write_crontab(root: Path, lines: list[str]) -> None:
    body = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    if _call(root, "crontab", "-", feed=body) is None:
        raise Unavailable("cron did not accept the line: add it yourself with `crontab -e`.")


def install(chosen: Schedule) -> str:
    """Install the timer in place of an earlier one; return `systemd` or `cron`."""
    systemd = _call(chosen.root, "systemctl", "--user", "show-environment") is not None
    if not systemd and find_program("crontab", chosen.root) is None:
        raise Unavailable("Neither systemd (for users) nor cron was found: start `bough backlog run` in another way.")
    remove(chosen)
    with Outbox(chosen.root).lock("schedule"):
        Place(chosen.script.parent, chosen.script.name).write(chosen.render_script().encode(), 0o700)
    if systemd:
        (_find_units() / UNITS).mkdir(parents=True, exist_ok=True)
        for name, text in chosen.render_units().items():
            Place(_find_units(), f"{UNITS}/{name}").write(text.encode())
        _call(chosen.root, "systemctl", "--user", "daemon-reload")
        if _call(chosen.root, "systemctl", "--user", "enable", "--now", f"{chosen.name}.timer") is None:
            raise Unavailable(f"systemd did not accept {chosen.name}.timer: see `systemctl --user status`.")
        return "systemd"
    _write_crontab(chosen.root, [*_read_crontab(chosen), chosen.render_line()])
    return "cron"


def remove(chosen: Schedule) -> bool:
    """Remove the timer; return False if there is none."""
    there = find(chosen)
    if there == "systemd":
        _call(chosen.root, "systemctl", "--user", "disable", "--now", f"{chosen.name}.timer")
        for name in chosen.render_units():
            (_find_units() / UNITS / name).unlink(missing_ok=True)
        _call(chosen.root, "systemctl", "--user", "daemon-reload")
    elif there:
        _write_crontab(chosen.root, _read_crontab(chosen))
    chosen.script.unlink(missing_ok=True)
    return bool(there)


def find(chosen: Schedule) -> str:
    """Return the system (`systemd`, `cron`) that has a timer for the backlog; empty if none has."""
    if Place(_find_units(), f"{UNITS}/{chosen.name}.timer").is_regular():
        return "systemd"
    listed = (
        _call(chosen.root, "crontab", "-l") if Place(chosen.script.parent, chosen.script.name).is_regular() else None
    )
    return "cron" if f" # {chosen.name}\n" in f"{listed or ''}\n" else ""


def find_moment(root: Path, name: str) -> str:
    """Return a sentence about when the backlog is scheduled; empty if it is not."""
    chosen = Schedule(root, name, "00:00")
    try:
        first = Place(chosen.script.parent, chosen.script.name).text().splitlines()[1]
    except (OSError, IndexError):
        return ""
    there = find(chosen)
    return f"The night begins every day at {first.rpartition(' at ')[2]}, by {there}." if there else ""


def _find_units() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(base) if base.startswith("/") else Path(os.environ.get("HOME", "/nonexistent")) / ".config"
