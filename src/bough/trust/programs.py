"""The only way to start a program outside the sandbox.

A program is found on the person's PATH, in folders that no repository can write to: not in relative ones, and not in
the project at hand. It starts in a folder of bough's own, with variables from a list. bough itself starts without the
current folder or the project on its module path, so that a `click.py` of a repository stays text.
"""

# Strings, as in PATH; and quicker.
# ruff: noqa: PTH100, PTH111, PTH113

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import asyncio

ELSEWHERE = "/"
"""The folder in which programs start: it exists everywhere, and nobody prepared it."""
HOOK_OUTPUT = 4_000
"""The most bytes of a hook's output that are kept."""
_NAMES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TERM DISPLAY WAYLAND_DISPLAY XAUTHORITY BROWSER EMAIL
    DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS GNUPGHOME GPG_TTY GPG_AGENT_INFO KRB5CCNAME
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
    GIT_CEILING_DIRECTORIES GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM GIT_DISCOVERY_ACROSS_FILESYSTEM
    GIT_EXEC_PATH GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_SSL_CAINFO
    GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
    """.split()  # noqa: SIM905
)
"""The person's variables that programs see: none of bough's keys, and none that names another repository."""
_PREFIXES = ("LC_", "XDG_", "SSL_CERT_")
_TRACKERS = {
    "gh": re.compile(r"(GH|GITHUB)_(ENTERPRISE_)?TOKEN|GH_(HOST|REPO|CONFIG_DIR)"),
    "glab": re.compile(r"GITLAB_((ACCESS_)?TOKEN|HOST|URI|REPO)|GLAB_CONFIG_DIR|GL_HOST"),
}
"""Variables that identify the person at a tracker, or choose it: for that program only."""
_PYTHON = frozenset(
    """
    PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONIOENCODING PYTHONUNBUFFERED PYTHONHASHSEED PYTHONNOUSERSITE PYTHONUSERBASE
    PYTHONWARNINGS
    """.split()  # noqa: SIM905
)
"""The variables that Python itself reads and that load no code."""


_INTERPRETER = re.compile(r"python[\d.]*")


class NoProgram(FileNotFoundError):
    """A program that is not on PATH, or only where a repository could have put it."""


@lru_cache(maxsize=64)
def _find(name: str, path: str, project: str) -> str | None:
    for folder in path.split(os.pathsep):
        program = f"{folder}/{name}"
        if not folder.startswith("/") or not os.path.isfile(program) or not os.access(program, os.X_OK):
            continue
        # Both the folder and the target of a link in it: `~/bin/x` may be a link into the project.
        if not project or not any(is_within(os.path.realpath(place), project) for place in (folder, program)):
            return program
    return None


def is_within(place: str, folder: str) -> bool:
    """Whether a place is the folder, or lies in it. Both are real paths."""
    return f"{place}/".startswith(f"{folder.rstrip('/')}/")


def find_program(name: str, project: Path | None, env: Mapping[str, str] = os.environ) -> str | None:
    """Find the program of that name on the person's PATH, outside the project. A path that the person wrote is taken as
    it is: `~/bin/x`, `./x`."""
    if "/" in name:
        place = os.path.abspath(os.path.expanduser(name))
        return place if os.access(place, os.X_OK) else None
    return _find(name, env.get("PATH", os.defpath), os.path.realpath(project) if project else "")


def list_program_folders(project: Path | None, env: Mapping[str, str]) -> str:
    """Return the person's PATH without folders that a repository can write to."""
    root = os.path.realpath(project) if project else ""
    folders = [folder for folder in env.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    return os.pathsep.join(f for f in folders if not root or not is_within(os.path.realpath(f), root))


def resolve_command(argv: Sequence[str], project: Path | None, env: Mapping[str, str]) -> list[str]:
    """Resolve a command line of the person's for the sandbox before it enters a checkout, in which other programs may
    have its name. A path stays as written."""
    if "/" in argv[0]:
        return [os.path.expanduser(argv[0]), *argv[1:]]
    if (program := find_program(argv[0], project, env)) is None:
        raise NoProgram(2, "is not on your PATH (programs in the project do not count: write their path)", argv[0])
    # The current folder is the checkout: `python -m NAME` must not find a `NAME.py` there.
    safe = ["-P"] if _INTERPRETER.fullmatch(argv[0]) else []
    return [program, *safe, *argv[1:]]


def make_shell_argv(command: str) -> list[str]:
    """A command line for the sandbox, run by the person's bash, or by `sh` where there is none."""
    return [shutil.which("bash") or "sh", "-c", command]


def make_environment(**own: str) -> dict[str, str]:
    """The person's variables that programs see, and further ones."""
    kept = {name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_PREFIXES)}
    return kept | own


def make_tracker_environment(program: str, **own: str) -> dict[str, str]:
    """The same as `make_environment`, for the person's program of a tracker (`gh`, `glab`), with their rights there."""
    rights = _TRACKERS.get(program)
    return make_environment(**{key: os.environ[key] for key in os.environ if rights and rights.fullmatch(key)}, **own)


def _prepare(argv: Sequence[str], project: Path | None) -> list[str]:
    if (program := find_program(argv[0], project)) is None:
        raise NoProgram(2, "is not on PATH, outside the project", argv[0])
    return [program, *argv[1:]]


def run_program(
    argv: Sequence[str],
    *,
    project: Path | None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path = ELSEWHERE,
    feed: bytes = b"",
    timeout: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end. `project`: the folder that must not contain it."""
    env = make_environment() if env is None else env
    words = _prepare(argv, project)
    return subprocess.run(words, cwd=cwd, env=env, input=feed, capture_output=True, check=False, timeout=timeout)


def start_program(
    argv: Sequence[str], *, project: Path | None, env: Mapping[str, str], stdin: IO[bytes] | int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start it, with its output to read."""
    words, pipe = _prepare(argv, project), subprocess.PIPE
    return subprocess.Popen(words, cwd=ELSEWHERE, env=env, stdin=stdin, stdout=pipe, stderr=subprocess.DEVNULL)


# ── hooks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_hook(
    command: str | Sequence[str], *, project: Path, feed: bytes, own: Mapping[str, str], timeout: float
) -> tuple[int | None, str, str]:
    """Run a command that the person wrote in their own settings, with their own environment; only programs that a
    repository could have put in its way are out of reach. Returns the exit status, and the end of its output and of its
    errors. None: it was killed, with all that it started."""
    env = {**_make_own_environment(project), "PATH": list_program_folders(project, os.environ), **own}
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else _prepare(command, project)
    pipe = subprocess.PIPE
    hook = subprocess.Popen(
        argv, cwd=ELSEWHERE, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, bufsize=0
    )
    assert hook.stdin is not None and hook.stdout is not None and hook.stderr is not None
    ends = {"out": b"", "err": b""}

    def give(pipe: IO[bytes]) -> None:
        with suppress(OSError), pipe:  # It need not read it.
            pipe.write(feed)

    def drain(pipe: IO[bytes], name: str) -> None:
        with pipe:
            while part := pipe.read(1 << 16):
                ends[name] = (ends[name] + part)[-HOOK_OUTPUT:]

    jobs: list[tuple[Any, ...]] = [(give, hook.stdin), (drain, hook.stdout, "out"), (drain, hook.stderr, "err")]
    workers = [Thread(target=job[0], args=job[1:], daemon=True) for job in jobs]
    for worker in workers:
        worker.start()
    status: int | None = None
    try:
        status = hook.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(hook.pid, signal.SIGKILL)
        hook.wait()
    for worker in workers:  # Its background processes may hold its output open for long.
        worker.join(1.0)
    out, err = (ends[name].decode("utf-8", "replace") for name in ("out", "err"))
    return status, out, err


_BROWSERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "x-www-browser", "sensible-browser", "www-browser")


def open_page(page: Path, *, project: Path) -> bool:
    """Show a page of bough's own in the person's browser; False when there is none."""
    program = next((found for name in _BROWSERS if (found := find_program(name, project))), None)
    if program is not None:
        quiet, argv = subprocess.DEVNULL, [program, page.as_uri()]
        given: dict[str, Any] = {"stdin": quiet, "stdout": quiet, "stderr": quiet, "start_new_session": True}
        subprocess.Popen(argv, cwd=ELSEWHERE, env=make_environment(), **given)
    return program is not None


# ── bough itself ────────────────────────────────────────────────────────────────────────────────────────────────────


def _make_own_command(arguments: Sequence[str]) -> list[str]:
    # `-P`: neither the current folder nor the project is on the module path. Not `-I`, which would lose what the person
    # installed for themselves (`pip install --user`).
    return [sys.executable, "-P", "-m", "bough", *arguments]


def _make_own_environment(project: Path) -> dict[str, str]:
    """Return the person's variables, keys included, without those that would make Python load code of the project or of
    the current folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name in _PYTHON}
    root = os.path.realpath(project)
    places = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place.startswith("/")]
    if places := [place for place in places if not is_within(os.path.realpath(place), root)]:
        kept["PYTHONPATH"] = os.pathsep.join(places)
    return kept


def start_own(
    project: Path,
    *arguments: str,
    out: IO[bytes] | int,
    err: IO[bytes] | int = subprocess.PIPE,
    feed: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start `bough ARGUMENTS` for a project, in a session of its own: it gets no Ctrl-C from the terminal, and does not
    end with this process."""
    argv, env = _make_own_command(arguments), _make_own_environment(project)
    return subprocess.Popen(argv, cwd=ELSEWHERE, env=env, stdin=feed, stdout=out, stderr=err, start_new_session=True)


async def open_own(project: Path, *arguments: str, out: int, new_session: bool) -> asyncio.subprocess.Process:
    """The same as `start_own`, without blocking the event loop."""
    import asyncio

    argv, env, nothing = _make_own_command(arguments), _make_own_environment(project), subprocess.DEVNULL
    given: dict[str, Any] = {"stdin": nothing, "stdout": out, "stderr": subprocess.PIPE}
    return await asyncio.create_subprocess_exec(*argv, cwd=ELSEWHERE, env=env, start_new_session=new_session, **given)


def become_own(project: Path, arguments: Sequence[str]) -> NoReturn:
    """Replace this process with a new bough that has these arguments."""
    os.chdir(ELSEWHERE)
    os.execve(sys.executable, _make_own_command(arguments), _make_own_environment(project))
