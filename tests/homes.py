"""The home of the person who runs the tests, which is none of the tests' business."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A person without caches and toolchains. Each of theirs would be seen by commands as a layer of some folders,
    made for every workspace and removed before every check: that takes longer than all else in a test of the engine.
    For packages whose tests need none of them; their `conftest.py` names this fixture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield
