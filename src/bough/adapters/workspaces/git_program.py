"""Runs the `git` program. Promises: the caller's git environment has no influence, there is no prompt, pager, hook or
localised text, and every failure is reported in one sentence."""

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from bough.adapters.workspaces.objects import read_single
from bough.core.errors import WorkspaceError
from bough.trust.files import Place
from bough.trust.programs import find_program, run_program, start_program
from bough.trust.remotes import HARMLESS, make_git_environment

_CHUNK = 1 << 20
_LONGEST = 300.0
"""Seconds that one git program may take, because a pipe in place of a file would block it for ever."""


class Git:
    """Runs git on bough's own repository (`run`, `blobs`), or on the person's, which is only read (`ask`)."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self._project = repo.parent.parent if repo.name == "repo.git" else repo

    def run(
        self,
        *args: str,
        top: bytes | None = None,
        index: Path | None = None,
        feed: bytes = b"",
        fine: Sequence[int] = (0,),
        strict: bool = False,
        objects: bytes | None = None,
    ) -> bytes:
        """Run a git command on bough's repository and return its output. `top`: the work tree, if it needs one.
        `strict`: fail even if git only prints an error, because some versions merge as if an unreadable folder were
        empty. `objects`: the folder for new objects, if not the usual one."""
        done = self._start(args, top, index, objects, feed)
        if done.returncode not in fine or (strict and b"error: " in done.stderr):
            name = next(arg for arg in args if arg[:1] != "-" and "=" not in arg)
            raise WorkspaceError(f"git {name} failed in {self.repo}: {_extract_reason(done.stderr)}.")
        return done.stdout

    def _start(
        self,
        args: Sequence[str],
        top: bytes | None,
        index: Path | None,
        objects: bytes | None = None,
        feed: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        places = {"GIT_INDEX_FILE": index, "GIT_WORK_TREE": top, "GIT_OBJECT_DIRECTORY": objects}
        if objects is not None:
            places["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = self.repo / "objects"
        named = {name: os.fsdecode(place) for name, place in places.items() if place is not None}
        return run_git(self._project, args, os.fsdecode(top or self.repo), self._environment() | named, feed)

    def list_altered(self, top: bytes, index: Path) -> list[bytes] | None:
        """List the files below `top` whose stamps differ from those in an index, without reading contents. Return None
        if git could not check them all."""
        done = self._start(("diff-files", "--name-only", "-z", "--no-ext-diff"), top, index)
        complaints = [line for line in done.stderr.splitlines() if not line.startswith(b"ignoring ")]
        return done.stdout.split(b"\0")[:-1] if done.returncode == 0 and not complaints else None

    def blobs(self, ids: Sequence[bytes]) -> Iterator[Iterator[bytes]]:
        """Yield the contents of these blobs in order, each in pieces, so that a large one is never wholly in memory."""
        folder = os.fsencode(self.repo / "objects")
        for place, id in enumerate(ids):
            # A task's few new files are single: reading them here takes a fiftieth of the time that git takes to start.
            body = read_single(folder, id)
            if body is None:
                yield from self._read_blobs(ids[place:])
                return
            yield iter((body,))

    def _read_blobs(self, ids: Sequence[bytes]) -> Iterator[Iterator[bytes]]:
        # Pass the ids in a file, because with a pipe git and bough could block each other, both waiting to write.
        with tempfile.TemporaryFile() as wanted:
            wanted.write(b"".join(id.hex().encode() + b"\n" for id in ids))
            wanted.seek(0)
            argv = ["git", "cat-file", "--batch", "--buffer"]
            try:
                process = start_program(argv, project=self._project, env=self._environment(), stdin=wanted)
            except FileNotFoundError as error:
                raise _explain_missing(error, self.repo) from error
        assert process.stdout is not None
        watch = threading.Timer(_LONGEST, process.kill)
        watch.daemon = True
        watch.start()
        with process.stdout as stream:
            try:
                for id in ids:
                    head = stream.readline().split()
                    if len(head) != 3 or head[1] != b"blob":
                        raise WorkspaceError(f"{self.repo} is damaged: it does not have the file contents {id.hex()}.")
                    pieces = _read_pieces(stream, int(head[2]), self.repo)
                    yield pieces
                    for _ in pieces:  # Skip the part that the caller did not read.
                        pass
                    stream.read(1)
            finally:
                watch.cancel()
                # The caller may stop in the middle, and git would wait for ever to write the rest.
                process.kill()
                process.wait()

    def _environment(self) -> dict[str, str]:
        """Return an environment in which the person's settings do not affect bough's repository."""
        alone = {"GIT_DIR": str(self.repo), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        # git streams larger contents in pieces, and compares them only by id.
        large = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bigFileThreshold", "GIT_CONFIG_VALUE_0": "32m"}
        return make_git_environment() | alone | large

    def ask(self, *args: str, folder: Path, feed: bytes = b"") -> tuple[int, bytes, str]:
        """Run a command that only reads the repository around `folder`. Return status, output and error message."""
        # Name the work tree, because a setting of the repository could name any other folder.
        here = (f"--work-tree={folder}",) if Place(folder, ".git").kind else ()
        done = run_git(folder, (*HARMLESS, *here, *args), str(folder), make_git_environment(), feed)
        complaint = _extract_reason(done.stderr)
        if "dubious ownership" in complaint:
            raise WorkspaceError(
                f"git does not read the repository at {folder} because another user owns it: if you trust it, "
                f"run `git config --global --add safe.directory '{folder}'`, then run bough again."
            )
        return done.returncode, done.stdout, complaint


def run_remote_git(repo: Path, *args: str) -> bytes:
    """Run a git command on bough's repository that talks to another machine, with the person's keys and credentials.
    Return its output. To reach an address, no program but ssh is started."""
    done = run_git(repo.parent.parent, (*HARMLESS, *args), str(repo), make_git_environment() | {"GIT_DIR": str(repo)})
    if done.returncode != 0:
        raise WorkspaceError(f"git {args[0]} failed with {args[-2]}: {_extract_reason(done.stderr)}.")
    return done.stdout


def find_git_version(project: Path) -> tuple[int, ...]:
    """Return the version of the git program, such as (2, 39, 5)."""
    out = run_git(project, ("version",), "/", make_git_environment()).stdout.split()
    numbers = out[2].split(b".") if len(out) > 2 else []
    return tuple(int(part) for part in numbers if part.isdigit())


def _read_pieces(stream: IO[bytes], size: int, repo: Path) -> Iterator[bytes]:
    while size:
        piece = stream.read(min(size, _CHUNK))
        if not piece:
            raise WorkspaceError(f"git stopped in the middle of reading from {repo}: run bough again.")
        size -= len(piece)
        yield piece


def run_git(
    project: Path | None,
    args: Sequence[str],
    folder: str,
    env: dict[str, str],
    feed: bytes = b"",
    endless: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run git. `endless`: set no time limit, because git may start the person's own programs (hooks, filters)."""
    limit = None if endless else _LONGEST
    try:
        return run_program(("git", *args), project=project, env=env, cwd=folder, feed=feed, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(
            f"git took more than {_LONGEST:g} s in {folder}: look for pipes, endless files or a slow disk there."
        ) from error
    except FileNotFoundError as error:
        raise _explain_missing(error, Path(folder)) from error


def _explain_missing(error: FileNotFoundError, folder: Path) -> WorkspaceError:
    if find_program("git", None) is None:
        return WorkspaceError("git was not found on PATH: install git, then run bough again.")
    return WorkspaceError(f"The folder {folder} is gone: {error.strerror}.")


def _extract_reason(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines or ["it gave no reason"]
    return fatal[0].removeprefix("fatal:").removeprefix("error:").strip().rstrip(".")
