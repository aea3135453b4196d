"""What a person has allowed the settings of a repository to ask for, by folder. Kept with the person's own state and
not in the repository, which could otherwise allow it for them. (Earlier versions kept `consents.json`: fewer settings
waited for an answer then, so those are asked about once more.)"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from bough.adapters.state_folder import find_state_folder, make_state_folder
from bough.core.errors import BoughError
from bough.trust.files import Place

MOST = 1 << 20
"""Bytes of the file that are read."""


class Answers(Struct, omit_defaults=True):
    """The wishes of one folder (`budget.rounds` and its value) and the answers to them."""

    allowed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Consents:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.path = find_state_folder(env) / "trusted.json"

    def of(self, folder: Path) -> Answers:
        return self._read().get(_folder_key(folder), Answers())

    def keep(self, folder: Path, wishes: Mapping[str, str], allowed: bool) -> None:
        known = self._read()
        answers = known.setdefault(_folder_key(folder), Answers())
        for name, value in wishes.items():
            (answers.refused if allowed else answers.allowed).pop(name, None)
            (answers.allowed if allowed else answers.refused)[name] = value
        try:
            make_state_folder(self._env)
            Place(self.path.parent, self.path.name).write(msgspec.json.format(msgspec.json.encode(known)), 0o600)
        except OSError as error:
            raise BoughError(f"Your permissions cannot be saved in {self.path}: {error.strerror}.") from error

    def _read(self) -> dict[str, Answers]:
        try:
            with self.path.open("rb") as file:
                mine = os.fstat(file.fileno()).st_uid == os.geteuid()
                return msgspec.json.decode(file.read(MOST), type=dict[str, Answers]) if mine else {}
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise BoughError(f"Your permissions cannot be read from {self.path}: {error}. Remove the file.") from error


def _folder_key(folder: Path) -> str:
    return os.path.realpath(folder)
