"""Stores a person's permissions on this machine: one file per project, in the person's own state folder.

Journals, databases and repositories could come from anywhere, so only this file grants permissions. A file that is
damaged, too large, another user's, writable by others or copied from another machine grants none: a warning says so,
and the person's next answer replaces it.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field

from bough.adapters.state_folder import find_state_folder, make_state_folder
from bough.core.errors import BoughError
from bough.trust.files import Place
from bough.trust.handles import OpenHandle

SETTINGS = "settings"
"""The subject of permissions for a repository's settings; other subjects are `run NAME` and `goal LIST/NAME`."""
MOST = 4 << 20
"""The most bytes of the file that are read."""
SUBJECTS = 2_000
"""The most subjects stored; the oldest are dropped first."""
LONG = 400
"""Longer values are stored as their beginning and their digest."""


class Answers(Struct, omit_defaults=True):
    """What the person allowed and refused to one subject (the repository's settings, a run or a goal): names of
    permissions, such as `network`, each with the value that was asked for."""

    allowed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def rule(self, name: str, value: str) -> bool | None:
        """Return whether this value is allowed; None if not answered. An answer holds only for one value."""
        kept = shorten_value(value)
        return True if self.allowed.get(name) == kept else False if self.refused.get(name) == kept else None


class ProjectAnswers(Struct):
    folder: str
    machine: str
    subjects: dict[str, Answers]


class Permissions:
    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        self._env, self._folder = env, os.path.realpath(folder)
        place = find_state_folder(env) / "permissions"
        # If machines share a home folder, each has its own file.
        self._machine = _find_machine(place)
        name = hashlib.sha256(os.fsencode(f"{self._machine}{self._folder}")).hexdigest()[:16]
        self.path = place / f"{name}.json"

    def of(self, subject: str) -> Answers:
        return self.all().get(subject, Answers())

    def all(self) -> dict[str, Answers]:
        try:
            return self._read()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            logging.getLogger("bough").warning(
                "bough: %s is not used, because %s: nothing is allowed by it. `bough trust` asks again.", self.path, why
            )
            return {}

    def keep(self, subject: str, wishes: Mapping[str, str], *, allowed: bool) -> None:
        """Record the person's answer."""
        self.keep_all({subject: wishes}, allowed=allowed)

    def keep_all(self, subjects: Mapping[str, Mapping[str, str]], *, allowed: bool) -> None:
        """Record the person's answers, all at once."""
        with self._changing() as known:
            for subject, wishes in subjects.items():
                answers = known.pop(subject, Answers())  # It is added again at the end, as the newest.
                for name, value in wishes.items():
                    (answers.refused if allowed else answers.allowed).pop(name, None)
                    (answers.allowed if allowed else answers.refused)[name] = shorten_value(value)
                known[subject] = answers

    def revoke(self, subject: str) -> None:
        """Forget the answers about a subject, so that the person is asked again."""
        with self._changing() as known:
            known.pop(subject, None)

    def carry_over(self, before: Path) -> int:
        """Take over the answers for the project's earlier folder; return the number of subjects."""
        answers = Permissions(self._env, before).all()
        with self._changing() as known:
            known.update(answers)
        return len(answers)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Answers]]:
        try:
            make_state_folder(self._env)
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            with OpenHandle(os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # Several runs of a backlog may begin at the same time.
                known = self.all()
                yield known
                runs = [name for name in known if name != SETTINGS]
                for name in runs[: max(0, len(runs) - SUBJECTS)]:
                    known.pop(name)
                body = msgspec.json.encode(ProjectAnswers(self._folder, self._machine, known))
                Place(self.path.parent, self.path.name).write(msgspec.json.format(body), 0o600)
        except OSError as error:
            raise BoughError(
                f"Your permissions cannot be saved in {self.path}: {error.strerror}. Make its folder writable for you."
            ) from error

    def _read(self) -> dict[str, Answers]:
        handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("it is not a regular file")
            if found.st_uid != os.geteuid():
                raise ValueError(f"it belongs to another user (number {found.st_uid})")
            if found.st_mode & 0o022:
                raise ValueError("others can write to it")
            if found.st_size > MOST:
                raise ValueError(f"it is larger than {MOST:,} bytes")
            known = msgspec.json.decode(file.read(MOST), type=ProjectAnswers)
        if (known.folder, known.machine) != (self._folder, self._machine):
            raise ValueError("it was written on another machine, by another user or for another folder")
        return known.subjects


def _find_machine(place: Path) -> str:
    """Identify this machine, person and state folder, so that a copied file grants nothing."""
    machine = b""
    with suppress(OSError):
        machine = Place("/etc", "machine-id", links=True).read(64).strip()
    parts = [machine, str(os.geteuid()).encode(), os.fsencode(os.path.realpath(place))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def shorten_value(value: str) -> str:
    digest = hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
    return value if len(value) <= LONG else f"{value[: LONG // 2]}… ({len(value):,} characters, {digest})"
