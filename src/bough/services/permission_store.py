"""Stores a person's permissions on this machine, one file per project, and decides by them which settings of a
repository apply. A repository's setting that needs their consent is called a wish.

Journals, databases and repositories could come from anywhere, so only this file grants permissions. A file that is
damaged, too large, another user's, writable by others or copied from another machine grants none: a warning says so,
and the person's next answer replaces it."""

import fcntl
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from bough.adapters.state_folder import find_state_folder, make_state_folder
from bough.app import config
from bough.app.journal import find_project_root
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
        self.keep_all({subject: wishes}, allowed=allowed)

    def keep_all(self, subjects: Mapping[str, Mapping[str, str]], *, allowed: bool) -> None:
        """Record the person's answers, all at once."""
        with self._changing() as known:
            for subject, wishes in subjects.items():
                answers = known.pop(subject, Answers())  # The subject is added again at the end, as the newest.
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


def list_open_wishes(folder: Path | str) -> tuple[Path, dict[str, str]]:
    """Return the top of the project that contains a folder, and its wishes that the person has not answered."""
    root, env = find_project_root(folder), dict(os.environ)
    found: dict[str, str] = {}
    config.list_layers(root, env, make_consent(root, env, ask=lambda _, wishes: found.update(wishes)))
    return root, found


def answer_wishes(folder: Path, wishes: Mapping[str, str], *, allowed: bool) -> None:
    """Store whether the person allows these settings of the repository that contains the folder."""
    Permissions(dict(os.environ), find_project_root(folder)).keep(SETTINGS, wishes, allowed=allowed)


Ask = Callable[[Path, Mapping[str, str]], bool | None]
"""Asks the person about wishes that they have not answered yet; returns None if nobody answers."""
Tell = Callable[[Mapping[str, str]], None]
"""Reports which wishes are ignored."""


def make_consent(
    root: Path,
    env: Mapping[str, str],
    *,
    trust: bool = False,
    ask: Ask | None = None,
    tell: Tell = lambda ignored: None,
) -> Callable[[Mapping[str, str]], Collection[str]]:
    """Return a function that says which wishes of a project are allowed. `trust`: allow all, now and later."""

    def allow(wishes: Mapping[str, str]) -> Collection[str]:
        permissions = Permissions(env, root)
        if trust:
            permissions.keep(SETTINGS, wishes, allowed=True)
            return wishes.keys()
        said = permissions.of(SETTINGS)
        open_ = {name: value for name, value in wishes.items() if said.rule(name, value) is None}
        if open_ and ask is not None and (answer := ask(root, open_)) is not None:
            permissions.keep(SETTINGS, open_, allowed=answer)
            said = permissions.of(SETTINGS)
        allowed = {name for name, value in wishes.items() if said.rule(name, value)}
        if ignored := {name: value for name, value in wishes.items() if name not in allowed}:
            tell(ignored)
        return allowed

    return allow


DEFAULT = "default"


class Setting(Struct, frozen=True):
    name: str
    value: str
    source: str
    """Where the value comes from: a file, a variable, or `default`."""


class EffectiveSettings(Struct, frozen=True):
    person_file: str
    """The path of the person's own settings file, which may not exist."""
    project_file: str
    settings: tuple[Setting, ...]
    ignored: dict[str, str]
    """Settings that the repository asks for and the person has not allowed."""


def find_effective_settings(folder: Path | str, everything: bool = False) -> EffectiveSettings:
    """Return the settings that a file or variable sets; with `everything`, also the defaults."""
    env = dict(os.environ)
    root = find_project_root(folder)
    ignored: dict[str, str] = {}
    found = config.list_layers(root, env, make_consent(root, env, tell=ignored.update))
    sources: dict[tuple[str, str], str] = {}
    for place, table in found:
        for section, values in table.items():
            for key in values:
                variable = f"${config.make_variable_name(section, key)}"
                sources[section, key] = variable if place == "environment" else place
    loaded = config.load_config(root, env, make_consent(root, env))
    every = [(section, key) for section, keys in config.SECTIONS.items() for key in keys]
    every += [(section, key) for section in sorted(config.NAMED) for key in getattr(loaded, section)]
    settings = tuple(
        Setting(f"{section}.{key}", _render_value(loaded, section, key), sources.get((section, key), DEFAULT))
        for section, key in (every if everything else sources)
    )
    return EffectiveSettings(found[0][0], found[1][0], settings, ignored)


def _render_value(loaded: config.Config, section: str, key: str) -> str:
    within: Any = getattr(loaded, section)
    plain = msgspec.to_builtins(within[key] if isinstance(within, dict) else getattr(within, key))
    return "" if plain is None else msgspec.json.encode(plain).decode()
