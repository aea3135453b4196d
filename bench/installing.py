"""A virtual environment for each peer, with the versions that its requirements file names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE / ".peers"
REQUIREMENTS = HERE / "peers" / "requirements"


def interpreter(name: str) -> Path:
    """The Python of a peer's environment; it need not be there."""
    return ENVIRONMENTS / name / "bin" / "python"


def installed(name: str) -> bool:
    """Whether the environment was built to its end."""
    return interpreter(name).exists() and (ENVIRONMENTS / name / "complete").exists()


def set_up(name: str, least: tuple[int, int]) -> str:
    """Build the environment unless it is there as required. Returns what went wrong, or nothing."""
    wanted = (REQUIREMENTS / f"{name}.txt").read_text()
    folder = ENVIRONMENTS / name
    complete = folder / "complete"
    if installed(name) and complete.read_text() == wanted:
        return ""
    python = _python(least)
    if python is None:
        return f"needs Python {least[0]}.{least[1]} or newer, and none was found on PATH or among pyenv's versions"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    requirements = str(REQUIREMENTS / f"{name}.txt")
    pip = [str(interpreter(name)), "-m", "pip", "install", "--disable-pip-version-check", "-q", "-r", requirements]
    for command in ([python, "-m", "venv", str(folder)], pip):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            last = done.stdout.strip().splitlines()[-1:] or ["no output"]
            return f"`{' '.join(command[1:4])} …` ended with status {done.returncode}: {last[0]}"
    complete.write_text(wanted)
    return ""


def _python(least: tuple[int, int]) -> str | None:
    """The Python that runs this, or the oldest other one that is new enough."""
    if sys.version_info[:2] >= least:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(least[1], least[1] + 6)]
    found = [path for name in names if (path := shutil.which(name))]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for name in names for path in sorted(versions.glob(f"*/bin/{name}"))]
    return next((path for path in found if _works(path, least)), None)


def _works(python: str, least: tuple[int, int]) -> bool:
    """A name on PATH may be a shim for a version that is not there, or lack what environments are made with."""
    test = f"import ensurepip, sys, venv; sys.exit(sys.version_info[:2] < {least})"
    return subprocess.run([python, "-c", test], capture_output=True).returncode == 0
