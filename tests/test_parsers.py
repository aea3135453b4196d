"""Every file that another program reads, read by a real parser of its kind."""

import json
import re
import shutil
import subprocess
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement

from tests.interfaces.shell import bough

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/**/*.md"))]
PARSERS: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
BLOCKS = [
    pytest.param(found[1], textwrap.dedent(found[2]), id=f"{page.name}-{number}")
    for page in PAGES
    for number, found in enumerate(re.finditer(r"(?ms)^ *```(json|toml|yaml)\n(.*?)^ *```", page.read_text()))
]


def test_the_action_is_yaml_that_a_runner_can_load() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    for kind in ("inputs", "outputs"):
        for name, told in action[kind].items():
            assert isinstance(told["description"], str), name
    for step in action["runs"]["steps"]:
        assert "uses" in step or step["shell"] == "bash"


@pytest.mark.parametrize(("kind", "text"), BLOCKS)
def test_examples_of_the_guides(kind: str, text: str) -> None:
    assert PARSERS[kind](text)


def test_all_examples_are_looked_at() -> None:
    """As many as there are fences."""
    fences = sum(len(re.findall(r"(?m)^ *```(?:json|toml|yaml)$", page.read_text())) for page in PAGES)
    assert len(BLOCKS) == fences > 10


@pytest.mark.parametrize("name", ["bough", "workflow"])
def test_schemas_are_schemas(name: str) -> None:
    schema = json.loads((ROOT / "src" / "bough" / f"{name}.schema.json").read_text())
    jsonschema.validators.validator_for(schema).check_schema(schema)


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/workflows/*.toml")), ids=lambda path: path.stem)
def test_shipped_workflows_satisfy_their_schema(path: Path) -> None:
    schema = json.loads((ROOT / "src" / "bough" / "workflow.schema.json").read_text())
    jsonschema.validate(tomllib.loads(path.read_text()), schema)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell(tmp_path: Path, shell: str) -> None:
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    said = bough(tmp_path, "completion", shell)
    assert said.status == 0 and "bough" in said.out
    parsed = subprocess.run([program, "-n"], input=said.out, capture_output=True, text=True)
    assert (parsed.returncode, parsed.stderr) == (0, ""), said.out


@pytest.mark.parametrize("script", ["action", "check", "check-pages", "web"])
def test_scripts_are_bash(script: str) -> None:
    parsed = subprocess.run(["bash", "-n", ROOT / "scripts" / script], capture_output=True, text=True)
    assert (parsed.returncode, parsed.stderr) == (0, "")


def test_requirements_are_requirements() -> None:
    """Of every extra, in the words of pip; each is pinned where it is installed for the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {
        Requirement(line).name for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1].isalnum()
    }
    for extra, lines in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        for line in lines:
            assert Requirement(line).name in pinned or extra not in ("", "dev"), line
