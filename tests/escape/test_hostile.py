"""Nothing that a repository, an archive or a model prepares runs unconfined, leads outside or decides for the person:
as root and as a normal user."""

import json
import subprocess
from functools import cache

import pytest

from tests.escape.hostile import ATTACKS
from tests.escape.test_escape import as_user, namespaces, python_of, surroundings, users
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


@cache
def outcomes(user: int) -> dict[str, list[str]]:
    """Of all attacks by that user, tried once."""
    argv = as_user([python_of(user), "-m", "tests.escape.hostile"], user)
    done = subprocess.run(argv, cwd="/", env=surroundings(), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@namespaces
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("user", users())
def test_an_attack_achieves_nothing(user: int, name: str) -> None:
    assert outcomes(user)[name] == []
