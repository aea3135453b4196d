"""The only way to start a program outside the sandbox.

Programs are looked for on the person's PATH, but not in relative folders or in the project, to which a repository could
have added them. They start in `/`, and see only the variables in a list. bough itself starts without the current folder
or the project on its module path, so that a repository's `click.py` is never imported."""

# ruff: noqa: PTH100, PTH111, PTH113

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
"""The folder in which programs start. It exists on every system, and no repository can write to it."""
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
"""The person's variables that programs see: no API keys, and none that makes git use another repository."""
_PREFIXES = ("LC_", "XDG_", "SSL_CERT_")
_TRACKERS = {
    "gh": re.compile(r"(GH|GITHUB)_(ENTERPRISE_)?TOKEN|GH_(HOST|REPO|CONFIG_DIR)"),
    "glab": re.compile(r"GITLAB_((ACCESS_)?TOKEN|HOST|URI|REPO)|GLAB_CONFIG_DIR|GL_HOST"),
}
"""Variables with the person's login at a tracker, or that choose it. Only the tracker's own program sees them."""
_PYTHON = frozenset(
    """
    PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONIOENCODING PYTHONUNBUFFERED PYTHONHASHSEED PYTHONNOUSERSITE PYTHONUSERBASE
    PYTHONWARNINGS
    """.split()  # noqa: SIM905
)
"""Variables for Python that cannot make it load code."""


_INTERPRETER = re.compile(r"python[\d.]*")


class NoProgram(FileNotFoundError):
    """Raised if a program is not on PATH, or only in a folder where a repository could have put it."""


@lru_cache(maxsize=64)
def _find(name: str, path: str, project: str) -> str | None:
    for folder in path.split(os.pathsep):
        program = f"{folder}/{name}"
        if not folder.startswith("/") or not os.path.isfile(program) or not os.access(program, os.X_OK):
            continue
        # Check both the folder and the program itself: `~/bin/x` may be a link into the project.
        if not project or not any(is_within(os.path.realpath(place), project) for place in (folder, program)):
            return program
    return None


def is_within(place: str, folder: str) -> bool:
    """Return whether a path is the folder, or is inside it. Both must be resolved paths."""
    return f"{place}/".startswith(f"{folder.rstrip('/')}/")


def find_program(name: str, project: Path | None, env: Mapping[str, str] = os.environ) -> str | None:
    """Find a program on the person's PATH, outside the project; None if there is none. A name with a slash is a path
    that the person wrote, and is used as it is: `~/bin/x`, `./x`."""
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
    """Return the person's command line with the full path of its program, for use in a checkout, where another program
    may have the same name. A path stays as it is written."""
    if "/" in argv[0]:
        return [os.path.expanduser(argv[0]), *argv[1:]]
    if (program := find_program(argv[0], project, env)) is None:
        raise NoProgram(2, "is not on your PATH (programs in the project do not count: write their path)", argv[0])
    # With `-P`, `python -m NAME` does not import a `NAME.py` from the checkout, which is the current folder.
    return [program, *(["-P"] if _INTERPRETER.fullmatch(argv[0]) else []), *argv[1:]]


def make_shell_argv(command: str) -> list[str]:
    """Return the arguments that run a command line in bash, or in `sh` if there is no bash."""
    return [shutil.which("bash") or "sh", "-c", command]


def make_environment(**own: str) -> dict[str, str]:
    """Return the person's variables that programs may see, and those given here."""
    return {name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_PREFIXES)} | own


def make_tracker_environment(program: str, **own: str) -> dict[str, str]:
    """Return the variables for the program of a tracker (`gh`, `glab`), including the person's login there."""
    rights = _TRACKERS.get(program)
    return make_environment(**{key: os.environ[key] for key in os.environ if rights and rights.fullmatch(key)}, **own)


def _prepare(argv: Sequence[str], project: Path | None) -> list[str]:
    if (program := find_program(argv[0], project)) is None:
        raise NoProgram(2, "is not on your PATH (programs in the project do not count)", argv[0])
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
    """Start a program in the background, with a pipe to read its output."""
    words, pipe = _prepare(argv, project), subprocess.PIPE
    return subprocess.Popen(words, cwd=ELSEWHERE, env=env, stdin=stdin, stdout=pipe, stderr=subprocess.DEVNULL)


def run_hook(
    command: str | Sequence[str], *, project: Path, feed: bytes, own: Mapping[str, str], timeout: float
) -> tuple[int | None, str, str]:
    """Run a command from the person's own settings in their environment, but with a PATH without folders that a
    repository can write to. `feed`: its input; `own`: extra variables. Returns the exit status (None if it was killed
    after `timeout` seconds, with its process group), and the end of its output and of its errors."""
    env = {**_make_own_environment(project), "PATH": list_program_folders(project, os.environ), **own}
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else _prepare(command, project)
    pipe = subprocess.PIPE
    hook = subprocess.Popen(
        argv, cwd=ELSEWHERE, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, bufsize=0
    )
    assert hook.stdin is not None and hook.stdout is not None and hook.stderr is not None
    ends = {"out": b"", "err": b""}

    def give(pipe: IO[bytes]) -> None:
        with suppress(OSError), pipe:  # The hook need not read its input.
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
    for worker in workers:  # Background processes of the hook may keep its output open for long.
        worker.join(1.0)
    out, err = (ends[name].decode("utf-8", "replace") for name in ("out", "err"))
    return status, out, err


_BROWSERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "x-www-browser", "sensible-browser", "www-browser")


def open_page(page: Path, *, project: Path) -> bool:
    """Show a page that bough made in the person's browser; return False if there is no browser."""
    program = next((found for name in _BROWSERS if (found := find_program(name, project))), None)
    if program is not None:
        quiet, argv = subprocess.DEVNULL, [program, page.as_uri()]
        given: dict[str, Any] = {"stdin": quiet, "stdout": quiet, "stderr": quiet, "start_new_session": True}
        subprocess.Popen(argv, cwd=ELSEWHERE, env=make_environment(), **given)
    return program is not None


def _make_own_command(arguments: Sequence[str]) -> list[str]:
    # `-P` keeps the current folder off the module path. `-I` would also hide what the person installed for themselves
    # (`pip install --user`).
    return [sys.executable, "-P", "-m", "bough", *arguments]


def _make_own_environment(project: Path) -> dict[str, str]:
    """Return the person's variables, keys included, without those that make Python load code of the project."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name in _PYTHON}
    root = os.path.realpath(project)
    places = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place.startswith("/")]
    if places := [place for place in places if not is_within(os.path.realpath(place), root)]:
        kept["PYTHONPATH"] = os.pathsep.join(places)
    return kept


def start_own(
    project: Path,
    *arguments: str,
    out: IO[bytes] | int = subprocess.PIPE,
    err: IO[bytes] | int = subprocess.PIPE,
    feed: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start `bough ARGUMENTS` for a project in a new session, so that it gets no Ctrl-C from the terminal and does not
    end with this process."""
    argv, env = _make_own_command(arguments), _make_own_environment(project)
    return subprocess.Popen(argv, cwd=ELSEWHERE, env=env, stdin=feed, stdout=out, stderr=err, start_new_session=True)


async def open_own(project: Path, *arguments: str, out: int, new_session: bool) -> "asyncio.subprocess.Process":
    """Start `bough ARGUMENTS` for a project, without blocking the event loop."""
    import asyncio

    argv, env, nothing = _make_own_command(arguments), _make_own_environment(project), subprocess.DEVNULL
    given: dict[str, Any] = {"stdin": nothing, "stdout": out, "stderr": subprocess.PIPE}
    return await asyncio.create_subprocess_exec(*argv, cwd=ELSEWHERE, env=env, start_new_session=new_session, **given)


def become_own(project: Path, arguments: Sequence[str]) -> NoReturn:
    """Replace this process with a new bough that has these arguments."""
    os.chdir(ELSEWHERE)
    os.execve(sys.executable, _make_own_command(arguments), _make_own_environment(project))
