"""Nothing that a repository, an archive or a model prepares runs unconfined, leads outside or decides for the person:
as root and as a normal user."""

import json
import subprocess

import pytest

from tests import sampling
from tests.escape.hostile import ATTACKS
from tests.escape.test_escape import as_user, namespaces, python_of, surroundings, users
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def turns() -> dict[int, list[str]]:
    """Who tries what. Of two users each tries every other attack, and with the next commit the ones between."""
    if sampling.ALL or len(users()) == 1:
        return {user: list(ATTACKS) for user in users()}
    return {user: list(ATTACKS)[(sampling.find_seed() + at) % 2 :: 2] for at, user in enumerate(users())}


@namespaces
@pytest.mark.parametrize("user", users())
def test_no_attack_achieves_anything(user: int) -> None:
    assert {name for names in turns().values() for name in names} == set(ATTACKS)
    argv = as_user([python_of(user), "-m", "tests.escape.hostile", *turns()[user]], user)
    done = subprocess.run(argv, cwd="/", env=surroundings(), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {name: [] for name in turns()[user]}, {name: damage for name, damage in found.items() if damage}
