"""Finds the Python environment of a project on disk: in the project, or where a tool such as Poetry puts it.

No program is run, since each tool has a rule for where its environments are. The environment need not be activated."""

import ast
import base64
import glob
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from bough.trust.files import Place

IN_PROJECT = (".venv", "venv", "env", ".env")
"""The usual names of an environment inside a project. Whether the folder is one is decided by its content."""
_DEEPEST = 2
"""How deep subfolders are searched if there is no environment in the folder or above it."""
_PASSED = frozenset({"node_modules", "site-packages", "target", "vendor", "build", "dist"})


class Environment(Struct, frozen=True):
    prefix: Path
    """The environment's folder on disk."""
    inside: str
    """The environment's folder relative to the project; empty if it is outside."""
    by: str = ""
    """The tool or variable that points to it (`Poetry`, `$VIRTUAL_ENV`); empty if it is simply in the project."""

    @property
    def where(self) -> str:
        """Describe the environment for people, such as `Poetry's environment in ~/.cache/…`."""
        home = os.path.expanduser("~")  # noqa: PTH111 - never fails
        place = self.inside or re.sub(rf"^{re.escape(home)}/", "~/", str(self.prefix))
        if self.by.startswith("$"):
            return f"the environment in {place} ({self.by})"
        return f"{self.by}'s environment in {place}" if self.by else f"the environment in {place}"

    def variables(self, root: Path, path: str) -> dict[str, str]:
        """Return the variables that activating the environment in a checkout at `root` would set. `path`: the PATH to
        which its programs are prepended."""
        prefix = root / self.inside if self.inside else self.prefix
        conda = (self.prefix / "conda-meta").is_dir()
        first = str(prefix / "bin")
        return {"PATH": os.pathsep.join([first, path]), "CONDA_PREFIX" if conda else "VIRTUAL_ENV": str(prefix)}


def find_environment(root: Path, folder: str, env: Mapping[str, str]) -> Environment | None:
    """Find the environment for a folder of the project at `root`. Return None if there is none."""
    here = root / folder
    active = _find_active(env)
    if active is not None and active.is_relative_to(root):
        return Environment(active, active.relative_to(root).as_posix(), "$VIRTUAL_ENV")
    for place in (place for place in (here, *here.parents) if place.is_relative_to(root)):
        inside = Place(root, "" if place == root else place.relative_to(root).as_posix(), links=True)
        if (found := _find_in_folder(inside)) is not None:
            return Environment(found.shown, found.name)
        if (kept := _find_kept_elsewhere(inside, env)) is not None:
            return kept
    if active is not None and active != Path(sys.prefix).resolve():
        return Environment(active, "", "$VIRTUAL_ENV")
    below = list(_list_below(Place(root, folder)))
    return Environment(below[0].shown, below[0].name) if len(below) == 1 else None


def _hash_path(path: str) -> str:
    """Hash a project's path in the way that Poetry, Hatch and Pipenv do to name the project's environment."""
    return base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(path)).digest()).decode()[:8]


def has_interpreter(prefix: Path) -> bool:
    """Whether a folder is a usable environment; False if it may not be accessed, where `Path` would raise."""
    known = os.path.isfile(prefix / "pyvenv.cfg") or os.path.isdir(prefix / "conda-meta")  # noqa: PTH112, PTH113
    return known and os.access(prefix / "bin" / "python", os.X_OK)


def _find_in_folder(folder: Place) -> Place | None:
    """Find an environment in a folder of the project. Links are not followed: a checkout would get their target."""
    for name in IN_PROJECT:
        place = folder / name
        known = place.is_folder() and ((place / "pyvenv.cfg").is_regular() or (place / "conda-meta").is_folder())
        if known and os.access(place.shown / "bin" / "python", os.X_OK):
            return place
    return None


def _list_below(folder: Place) -> Iterator[Place]:
    folders = [(folder, 0)]
    for place, depth in folders:  # the list grows during the walk
        for name, kind in place.list() if depth < _DEEPEST else ():
            child = place / name
            if name.startswith(".") or name in _PASSED or kind != "folder":
                continue
            if (found := _find_in_folder(child)) is not None:
                yield found
            else:
                folders.append((child, depth + 1))


def _find_active(env: Mapping[str, str]) -> Path | None:
    """Find the environment that the person activated; conda's base environment does not count."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        value = env.get(name, "")
        base = name == "CONDA_PREFIX" and env.get("CONDA_DEFAULT_ENV") == "base"
        if value and not base and has_interpreter(Path(value)):
            return Path(value).absolute()
    return None


_MAPPING = re.compile(r"^MAPPING[^=\n]*= (\{.*\})$", re.MULTILINE)


def find_editable_sources(environment: Environment, root: Path) -> tuple[str, ...]:
    """List the project's folders that are installed in the environment as editable, relative to `root`. A checkout has
    these folders, too, and its own must take precedence over the person's."""
    places = _list_editable_folders(environment)
    return tuple(dict.fromkeys(place.relative_to(root).as_posix() for place in places if place.is_relative_to(root)))


def find_beside(environment: Environment, root: Path, modules: Iterable[str]) -> tuple[Path, str]:
    """Find a folder outside the project from which one of these modules is installed in the environment as editable.
    Return the folder and the module's name; empty if there is none."""
    for place in _list_editable_folders(environment):
        for name in modules if not place.is_relative_to(root) else ():
            if os.path.isdir(place / name) or os.path.isfile(place / f"{name}.py"):  # noqa: PTH112, PTH113
                return place, name
    return Path(), ""


def _list_editable_folders(environment: Environment) -> list[Path]:
    places: list[Path] = []
    libraries = Place(environment.prefix, "lib", links=True)
    for site in [libraries / name / "site-packages" for name, _ in libraries.list() if name.startswith("python")]:
        names = [name for name, _ in site.list()]
        for text in [(site / name).text() for name in names if name.endswith(".pth")]:
            places += [Path(line.strip()) for line in text.splitlines() if line.startswith("/")]
        for name in names:
            if name.startswith("__editable__") and name.endswith("finder.py"):
                places += _read_mapped_folders((site / name).text())
    return places


def _read_mapped_folders(finder: str) -> list[Path]:
    """List the folders of the packages that an editable install by setuptools names one by one in its finder module."""
    found = _MAPPING.search(finder)
    try:
        mapping = ast.literal_eval(found[1]) if found else {}
    # The last two errors mean that the code is nested too deeply.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    pairs = mapping.items() if isinstance(mapping, dict) else ()
    places = [(name, Path(place)) for name, place in pairs if isinstance(place, str)]
    return [place.parent for name, place in places if place.stem == name.split(".")[-1]]


def _find_kept_elsewhere(project: Place, env: Mapping[str, str]) -> Environment | None:
    home = Path(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - never fails
    named = env.get("UV_PROJECT_ENVIRONMENT", "")
    # Accept only PDM's own folder, because the file is part of the repository and could name any folder.
    prefix = Path((project / ".pdm-python").text().strip()).parent.parent
    for by, found in (
        ("uv", project.shown / named if named and (project / "uv.lock").is_regular() else None),
        ("PDM", prefix if prefix.parent == home / ".local" / "share" / "pdm" / "venvs" else None),
        ("Poetry", _find_poetry(project, env, home)),
        ("Hatch", _find_hatch(project, env, home)),
        ("Pipenv", _find_pipenv(project, env, home)),
        ("conda", _find_conda(project, env, home)),
    ):
        if found is not None and has_interpreter(found):
            return Environment(found, "", by)
    return None


def _find_poetry(project: Place, env: Mapping[str, str], home: Path) -> Path | None:
    text = (project / "pyproject.toml").text()
    if "[tool.poetry" not in text and not (project / "poetry.lock").is_regular():
        return None
    name = re.search(r"""^name\s*=\s*["']([^"']+)["']""", text, re.MULTILINE)
    cut = re.sub(r'[ $`!*@"\\\r\n\t]', "_", name[1].lower())[:42] if name else "non-package-mode"
    if "/" in cut:  # The name comes from the repository, and must not lead to another folder.
        return None
    caches = [Path(env.get("POETRY_CACHE_DIR") or home / ".cache" / "pypoetry") / "virtualenvs"]
    if env.get("POETRY_VIRTUALENVS_PATH"):
        caches.insert(0, Path(env["POETRY_VIRTUALENVS_PATH"]))
    digest = _hash_path(os.path.realpath(project.shown))
    return next(
        (found for cache in caches for found in sorted(cache.glob(f"{glob.escape(cut)}-{digest}-py*"), reverse=True)),
        None,
    )


def _find_hatch(project: Place, env: Mapping[str, str], home: Path) -> Path | None:
    if "[tool.hatch" not in (project / "pyproject.toml").text() and not (project / "hatch.toml").is_regular():
        return None
    kept = Path(env.get("HATCH_DATA_DIR") or home / ".local" / "share" / "hatch") / "env" / "virtual"
    digest = _hash_path(os.path.realpath(project.shown))
    # Prefer `hatch-test*`, in which the project's tests run, to the environment that people work in.
    places = [
        place for name in (digest, digest.lower()) for each in kept.glob("*") for place in (each / name).glob("*")
    ]
    made = [place for place in places if not place.name.endswith("-build") and has_interpreter(place)]
    return min(made, key=lambda place: (not place.name.startswith("hatch-test"), place.name), default=None)


def _find_pipenv(project: Place, env: Mapping[str, str], home: Path) -> Path | None:
    if not (project / "Pipfile").is_regular():
        return None
    kept = Path(env.get("WORKON_HOME") or home / ".local" / "share" / "virtualenvs")
    digest = _hash_path(f"{os.path.realpath(project.shown)}/Pipfile")
    return next(iter(sorted(kept.glob(f"*-{digest}"))), None)


def _find_conda(project: Place, env: Mapping[str, str], home: Path) -> Path | None:
    text = (project / "environment.yml").text() or (project / "environment.yaml").text()
    name = re.search(r"^name:\s*(\w[\w.-]*)", text, re.MULTILINE)
    if name is None:
        return None
    tops = [Path(env["CONDA_EXE"]).parent.parent] if env.get("CONDA_EXE") else []
    tops += [home / each for each in ("miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda")]
    return next((top / "envs" / name[1] for top in tops if has_interpreter(top / "envs" / name[1])), None)
