"""Environments that tools keep outside of the project are found by each tool's own rule, on a real disk."""

import base64
import hashlib
import os
from pathlib import Path

import pytest

from bough.adapters.workspaces.python_environment import find_editable_sources, find_environment


def named(path: Path) -> str:
    """The name that Poetry, Hatch and Pipenv make of a path, with its case as it is."""
    return base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(path)).digest()).decode()


@pytest.mark.parametrize("tool", ["Poetry", "Hatch", "Pipenv", "PDM", "conda"])
def test_environments_that_tools_keep_elsewhere(tmp_path: Path, tool: str) -> None:
    project, home = tmp_path / "My Project", tmp_path / "home"
    project.mkdir()
    (project / "pyproject.toml").write_text("[project]\nname = 'shop'\n[tool.poetry]\n" if tool == "Poetry" else "")
    pipfile = base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(project / "Pipfile")).digest()[:6]).decode()[:8]
    place = {
        "Poetry": f".cache/pypoetry/virtualenvs/shop-{named(project)[:8]}-py3.11",
        "Hatch": f".local/share/hatch/env/virtual/shop/{named(project)[:8]}/shop",
        "Pipenv": f".local/share/virtualenvs/My_Project-{pipfile}",
        "PDM": ".local/share/pdm/venvs/shop-abc-3.11",
        "conda": "miniforge3/envs/shop",
    }[tool]
    prefix = home / place
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to("/bin/sh")
    (prefix / "conda-meta").mkdir() if tool == "conda" else (prefix / "pyvenv.cfg").write_text("")
    marks = {"Hatch": "hatch.toml", "Pipenv": "Pipfile", "PDM": ".pdm-python", "conda": "environment.yml"}
    texts = {"PDM": str(prefix / "bin" / "python"), "conda": "name: shop\n"}
    if tool in marks:
        (project / marks[tool]).write_text(texts.get(tool, ""))
    found = find_environment(project, "", {"HOME": str(home)})
    assert found is not None and (found.by, found.prefix, found.inside) == (tool, prefix, "")
    site = prefix / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "_shop.pth").write_text(f"import something\n{project}/src\n/elsewhere\n")
    finder = (
        f"MAPPING: dict[str, str] = {{'cart': '{project}/lib/cart', 'odd': '{project}/lib/other'}}\nNAMESPACES = {{}}\n"
    )
    (site / "__editable___cart_1_0_finder.py").write_text(finder)
    assert find_editable_sources(found, project) == ("src", "lib")
