"""Every command that can be decided on has a handler."""

from typing import get_args

import pytest

from bough.core.commands import Command
from bough.engine import perform
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def test_every_command_has_a_handler() -> None:
    assert set(perform._PERFORM) == set(get_args(Command))
