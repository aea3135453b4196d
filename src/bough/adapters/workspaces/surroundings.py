"""What a checkout gets from the person's own set-up besides the files of its tree: links, copies and variables."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.python_environment import Environment
from bough.trust.programs import run_program

TASK, PORT = "BOUGH_TASK", "PORT"


class Surroundings(Struct, frozen=True):
    environment: Environment | None = None
    """The Python environment that commands find first on their PATH."""
    link: tuple[str, ...] = ()
    """Ignored files and folders of the person's that a checkout links to."""
    copy: tuple[str, ...] = ()
    """Ignored files and folders of the person's that a checkout gets a copy of, fresh for every check."""
    sources: tuple[str, ...] = ()
    """Folders of the project that are installed in the environment as editable."""
    variables: Mapping[str, str] = field(default_factory=dict)
    path: str = os.defpath
    """The PATH that follows the environment's programs."""

    def at(self, root: Path, task: str, port: int) -> dict[str, str]:
        """The variables of commands in the checkout of a task."""
        found = {TASK: task, PORT: str(port)}
        # Where node's package managers put a project's own programs.
        place = root / "node_modules" / ".bin"
        path = os.pathsep.join([*([str(place)] if place.is_dir() else []), self.path])
        if self.environment is not None:
            found |= self.environment.variables(root, path)
        elif path != self.path:
            found["PATH"] = path
        if self.sources:
            found["PYTHONPATH"] = os.pathsep.join(str(root / source) for source in self.sources)
        return {**found, **self.variables}


def find_free_port() -> int:
    """One that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def copy_tree(source: Path, target: Path) -> None:
    """A copy with links as links, and with shared blocks where the disk supports it; moved into place whole."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    disk.remove(os.fsencode(part))
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        quick = run_program(["cp", "-a", "--reflink=auto", "--", str(source), str(part)], project=source.parent)
    except FileNotFoundError:
        quick = None
    if quick is None or quick.returncode != 0:  # no such program, or not GNU's
        disk.remove(os.fsencode(part))
        if source.is_dir():
            shutil.copytree(source, part, symlinks=True)
        else:
            shutil.copy2(source, part)
    disk.remove(os.fsencode(target))
    part.rename(target)


def rewrite_interpreters(folder: Path, source: Path) -> None:
    """Programs of a copied environment start that environment's own interpreter, not the original's."""
    old, new = os.fsencode(f"#!{source}/"), os.fsencode(f"#!{folder}/")
    if not (folder / "pyvenv.cfg").is_file():
        return
    for program in (folder / "bin").iterdir():
        if program.is_file() and not program.is_symlink():
            body = program.read_bytes()
            if body.startswith(old):
                program.write_bytes(new + body.removeprefix(old))
