"""git's own opinion of merged trees."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.git_projects import (
    git,
    git_settings,  # noqa: F401 - used by every test
)
from tests.adapters.merge_desk import LINK, PLAIN, Desk, File, Files

PATHS = st.sampled_from(["a", "b", "a/b", "a/c", "b/a", "b/a/a", "c"])
TEXTS = st.lists(st.sampled_from([b"1\n", b"2\n", b"3\n", b"4\n"]), max_size=6).map(b"".join)
LINKS = st.tuples(st.just(LINK), st.sampled_from([b"x", b"y"]))
FILES = st.tuples(st.just(PLAIN), TEXTS | st.just(b"\0binary")) | LINKS


def _possible(files: Mapping[str, File]) -> Files:
    """No name is a file and a folder."""
    return {path: file for path, file in files.items() if not any(other.startswith(f"{path}/") for other in files)}


TREES = st.dictionaries(PATHS, FILES, max_size=5).map(_possible)


def _commit(repo: Path, tree: str, *parents: str) -> str:
    return git(repo, "commit-tree", tree, "-m", "x", *(f"-p{parent}" for parent in parents)).decode().strip()


@pytest.fixture(scope="module")
def shared_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("shared"))


@given(base=TREES, ours=TREES, theirs=TREES, mixed=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_agrees(shared_desk: Desk, base: Files, ours: Files, theirs: Files, mixed: bool) -> None:
    """Clean in git's eyes: clean, and the same tree. A conflict in git's eyes: a conflict, or both additions."""
    if mixed:  # changes that are small, as changes are
        ours, theirs = (_possible(base | dict(list(side.items())[:2])) for side in (ours, theirs))
    desk = shared_desk
    trees = [desk.tree(side) for side in (base, ours, theirs)]
    merged = asyncio.run(desk.workspaces.merge(*trees))
    first = _commit(desk.repo, trees[0])
    sides = [_commit(desk.repo, tree, first) for tree in trees[1:]]
    argv = ["git", "-c", "merge.directoryRenames=true", "merge-tree", "--write-tree", *sides]
    done = subprocess.run(argv, cwd=desk.repo, capture_output=True, check=False)
    assert done.returncode in (0, 1)
    assert (done.returncode == 0) == (merged.conflicts + merged.both == ()), done.stdout
    if done.returncode == 0:
        assert done.stdout.decode().split()[0] == merged.tree
