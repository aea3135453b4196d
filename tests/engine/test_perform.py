"""Every command that can be decided on has a handler."""

from __future__ import annotations

from typing import get_args

from bough.core.commands import Command
from bough.engine import perform


def test_every_command_has_a_handler() -> None:
    assert set(perform._PERFORM) == set(get_args(Command))
