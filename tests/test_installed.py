"""The line that adds an extra fits how this copy was installed."""

import shlex
import sys
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from bough import installed


class Distribution:
    """What an installer leaves beside a distribution."""

    def __init__(self, origin: object) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else msgspec.json.encode(self.origin).decode()


def hint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: object, *marks: str, pip: bool = True, there: bool = True
) -> str:
    def find(name: str) -> Distribution:
        if not there:
            raise metadata.PackageNotFoundError(name)
        return Distribution(origin)

    for mark in marks:
        (tmp_path / mark).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(metadata, "distribution", find)
    monkeypatch.setattr(installed, "find_spec", lambda name: object() if pip else None)
    return installed.command_for("web")


FOLDER = {"url": "file:///src/my bough", "dir_info": {}}
PYTHON = shlex.quote(sys.executable)


def test_each_way_has_its_own_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def said(origin: object, *marks: str, pip: bool = True, there: bool = True) -> str:
        place = tmp_path / f"{len([*tmp_path.iterdir()])}"
        place.mkdir()
        return hint(monkeypatch, place, origin, *marks, pip=pip, there=there)

    assert said(FOLDER) == f"{PYTHON} -m pip install '/src/my bough[web]'"
    assert said(FOLDER | {"dir_info": {"editable": True}}) == f"{PYTHON} -m pip install -e '/src/my bough[web]'"
    assert said(None) == f"{PYTHON} -m pip install 'bough-agent[web]'"
    assert said(None, pip=False) == f"uv pip install --python {PYTHON} 'bough-agent[web]'"
    assert said(FOLDER, "pipx_metadata.json") == "pipx install --force '/src/my bough[web]'"
    assert said(FOLDER, "uv-receipt.toml") == "uv tool install --force '/src/my bough[web]'"
    git = {"url": "https://example.org/bough.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}
    assert said(git).endswith("'bough-agent[web] @ git+https://example.org/bough.git'")
    assert said(None, there=False).endswith(shlex.quote(f"{Path(installed.__file__).parents[2]}[web]"))


def test_the_name_is_the_projects() -> None:
    assert metadata.distribution(installed.DISTRIBUTION).entry_points.select(name="bough")
