"""Every command that can be decided on can be carried out."""

from __future__ import annotations

from typing import get_args

from bough.core.commands import Command
from bough.engine import perform


def test_every_command_has_somebody_who_carries_it_out() -> None:
    assert set(perform._PERFORM) == set(get_args(Command))
