"""The layers of the architecture, and the public names, as executable checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bough
import bough.testing

SOURCE = Path(bough.__file__).parent
MAY_IMPORT = {
    "core": {"core"},
    "ports": {"core"},
    "engine": {"core", "ports", "engine"},
    "adapters": {"core", "ports", "adapters"},
    "testing": {"core", "ports", "testing"},
    "config": {"core"},
    "workflows": {"core"},
    "interfaces/views": {"core"},
    "interfaces": {"core", "ports", "app", "interfaces", "config", "workflows", "demo", "adapters/stores/workers"},
    "app": {"core", "ports", "engine", "adapters", "config", "interfaces/views", "app"},
    "api": {"core", "ports", "app", "workflows", "interfaces/views"},
    "demo": {"core", "ports", "adapters/models"},
}
IMPURE = {"asyncio", "os", "io", "time", "datetime", "random", "logging", "pathlib", "subprocess", "socket", "sqlite3"}


def modules() -> Iterator[Path]:
    own = (path for path in SOURCE.rglob("*.py") if "repository" not in path.parts)
    yield from (path for path in own if path.name not in ("__init__.py", "__main__.py"))


def layer(name: str) -> str:
    """The most specific layer that a module (`engine/drive`) belongs to."""
    fitting = [known for known in MAY_IMPORT if name == known or name.startswith(f"{known}/")]
    assert fitting, f"{name} belongs to no layer: put it into one, or give it a row in MAY_IMPORT"
    return max(fitting, key=len)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide the layer"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            inner = [n for n in names if (SOURCE / (n.replace(".", "/").removeprefix("bough/") + ".py")).exists()]
            yield from ((node.lineno, name) for name in inner or [node.module])


@pytest.mark.parametrize("path", list(modules()), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    mine = layer(path.relative_to(SOURCE).with_suffix("").as_posix())
    for line, name in imports(path):
        if not name.startswith("bough."):
            continue
        other = name.removeprefix("bough.").replace(".", "/")
        allowed = any(other == ok or other.startswith(f"{ok}/") for ok in MAY_IMPORT[mine])
        assert allowed, f"{path.name}:{line}: {mine} must not import {name}"


@pytest.mark.parametrize("path", list((SOURCE / "core").glob("*.py")), ids=lambda path: path.stem)
def test_the_core_is_pure(path: Path) -> None:
    for line, name in imports(path):
        assert name.split(".")[0] not in IMPURE, f"{path.name}:{line}: the core has no {name}"
    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{path.name}: the core is not async"


def test_public_names() -> None:
    public = "BoughError Outcome Plan Step __version__ load_workflow resume run run_sync"
    assert bough.__all__ == public.split()
    assert bough.testing.__all__ == ["Fuse", "MemoryStore", "ScriptedModel", "call", "say"]
    for module in (bough, bough.testing):
        for name in module.__all__:
            assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = bough.nonsense
