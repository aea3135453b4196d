"""Brings parts of the person's own set-up into a checkout, besides the files of its tree: links, copies, variables, and
ignored files that a project's tests need: modules compiled in place (`pip install -e .`), and generated sources that
the project's own code imports (a version file, a parser, a schema).

If a checkout has other sources than those that the modules were compiled from, the modules are left out, because a
check would test outdated code."""

import hashlib
import os
import re
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.python_environment import Environment
from bough.adapters.workspaces.shared_folders import find_candidates
from bough.core.errors import UsageError
from bough.core.verdict.language import DATA
from bough.core.verdict.paths import find_stem, find_suffix, is_made_folder, last_segment, parent_folder
from bough.trust.files import Place
from bough.trust.programs import run_program

TASK, PORT = "BOUGH_TASK", "PORT"
_LARGEST_SOURCE = 64 << 20
"""The most bytes of a source that is compared."""

COMPILED = (".so", ".pyd")
SOURCES = frozenset(".c .cc .cpp .cxx .h .hh .hpp .hxx .pyx .pxd .pxi .rs .f .f90 .m .mm .cu".split())  # noqa: SIM905
_NO_SOURCES = DATA | {""}
_MOST_FOLDERS = 300
_MOST_FILES = 50
_LARGEST = 1 << 20
_GENERATED = r"(?im)\b(?:auto-?)?generated\b|do(?: not|n't) (?:edit|modify|change)|^(?:__version__|version)\s*="
"""Matches the first lines of a generated file. Other ignored files are not brought along: they may hold secrets."""
_HEAD = 2_000


class Surroundings(Struct, frozen=True):
    environment: Environment | None = None
    """The Python environment that commands find first on their PATH."""
    link: tuple[str, ...] = ()
    """Ignored files and folders of the person's to which the checkout gets links."""
    copy: tuple[str, ...] = ()
    """Ignored files and folders of the person's that are copied, and copied again for every check."""
    sources: tuple[str, ...] = ()
    """Folders of the project that are installed in the environment as editable."""
    variables: Mapping[str, str] = field(default_factory=dict)
    path: str = os.defpath
    """The PATH to which the environment's programs are prepended."""

    def at(self, root: Path, task: str, port: int) -> dict[str, str]:
        """Return the environment variables of commands in a task's checkout at `root`."""
        found = {TASK: task, PORT: str(port)}
        # Node's package managers install the programs of a project's packages in this folder.
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
    """Find a port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def copy_tree(source: Path, target: Path) -> None:
    """Copy a file or folder, with links as links, and sharing blocks if the disk supports that. The copy is moved into
    place in one step."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    disk.remove(os.fsencode(part))
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        quick = run_program(["cp", "-a", "--reflink=auto", "--", str(source), str(part)], project=source.parent)
    except FileNotFoundError:
        quick = None
    if quick is None or quick.returncode != 0:  # The machine has no `cp`, or one that is not GNU's.
        disk.remove(os.fsencode(part))
        if source.is_dir():
            shutil.copytree(source, part, symlinks=True)
        else:
            shutil.copy2(source, part)
    disk.remove(os.fsencode(target))
    part.rename(target)


def rewrite_interpreters(folder: Path, source: Path) -> None:
    """Make the programs of a copied Python environment start its own interpreter, not the original's."""
    old, new = os.fsencode(f"#!{source}/"), os.fsencode(f"#!{folder}/")
    if not (folder / "pyvenv.cfg").is_file():
        return
    for program in (folder / "bin").iterdir():
        if program.is_file() and not program.is_symlink():
            body = program.read_bytes()
            if body.startswith(old):
                program.write_bytes(new + body.removeprefix(old))


def fingerprint_environment(
    root: Path, env: Mapping[str, str], surroundings: Surroundings, settings: Iterable[object]
) -> str:
    """Return a hash of everything besides the tree that may change a check's result. `env`: the environment variables
    of commands."""
    parts = [f"{name}={value}" for name, value in sorted({**env, **surroundings.variables}.items())]
    found = surroundings.environment
    places = [found.prefix] if found is not None else []
    places += [root / os.fsdecode(path) for path in find_candidates(os.fsencode(root))]
    places += [root / name for name in (*surroundings.link, *surroundings.copy)]
    for place in dict.fromkeys(places):
        # Package managers touch the files and folders listed here when they add or remove a package.
        inner = [*place.glob("lib/python*/site-packages"), place / "pyvenv.cfg", place / ".package-lock.json"]
        for touched in (place, *inner):
            with suppress(OSError):
                parts.append(f"{touched} {touched.stat().st_mtime_ns}")
    path = os.pathsep.join([*([str(found.prefix / "bin")] if found is not None else []), env.get("PATH", os.defpath)])
    parts += [os.path.realpath(shutil.which(name, path=path) or "") for name in ("python3", "node", "go", "cargo")]
    parts += [repr(setting) for setting in settings]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$")


def read_variables(path: Place) -> dict[str, str]:
    """Read variables from a file of lines NAME=VALUE. Quotes around a value are removed; nothing is expanded or run."""
    try:
        text = path.read().decode("utf-8")
    except OSError:
        raise UsageError(
            f"[workspace] env_file: {path} cannot be read: it must be a regular file of the project, and no link out "
            "of it."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"[workspace] env_file: {path} is not a text file in UTF-8.") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise UsageError(f"[workspace] env_file: line {number} of {path} is not NAME=VALUE.")
        value = match[2]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            inner = value[1:-1]
            found[match[1]] = inner.replace("\\n", "\n").replace('\\"', '"') if value[0] == '"' else inner
        else:
            found[match[1]] = re.sub(r"\s+#.*$", "", value)
    return found


def list_sources(paths: Iterable[bytes]) -> list[str]:
    """List those of a project's files from which modules may be compiled."""
    named = (path.decode(errors="surrogateescape") for path in paths)
    return [path for path in named if f".{path.rpartition('.')[2].lower()}" in SOURCES]


def copy_modules(person: Path, checkout: Path, modules: Iterable[str], built_from: Iterable[str]) -> None:
    """Copy these compiled modules, if the sources in the checkout are the same as the person's."""
    for path in built_from:
        try:
            if Place(person, path).read(_LARGEST_SOURCE) != Place(checkout, path).read(_LARGEST_SOURCE):
                return
        except OSError:
            return
    for name in modules:
        with suppress(OSError):  # The module is not a regular file, or the checkout has no folder for it.
            Place(person, name).copy_to(Place(checkout, name))


def list_generated(person: Path, tracked: Iterable[str]) -> list[str]:
    """List untracked generated or compiled files of the person's, each next to a source of the same language that names
    it. The caller must use only those that git ignores."""
    by_folder: dict[str, set[str]] = {}
    for path in tracked:
        if find_suffix(path) not in _NO_SOURCES and not is_made_folder(parent_folder(path)):
            by_folder.setdefault(parent_folder(path), set()).add(last_segment(path))
    nearest = sorted(by_folder.items(), key=lambda pair: pair[0].count("/"))[:_MOST_FOLDERS]
    return [path for folder, names in nearest for path in _list_in(Place(person, folder), folder, names)][:_MOST_FILES]


def _list_in(place: Place, folder: str, names: set[str]) -> Iterator[str]:
    others = [name for name, kind in place.list() if kind == "file" and name not in names]
    if not others:
        return
    from bough.core.verdict.registry import NEUTRAL, find_language

    texts: dict[str, str] = {}
    for name in others:
        language = find_language(name)
        # A compiled file holds no settings, so its first lines need not show that it is generated.
        compiled = f".{find_suffix(name)}" in SOURCES
        if language is NEUTRAL or not (compiled or re.search(_GENERATED, (place / name).text(_LARGEST)[:_HEAD])):
            continue
        beside = [each for each in sorted(names) if find_language(each) is language]
        for each in beside:
            if each not in texts:
                texts[each] = (place / each).text(_LARGEST)
            if re.search(rf"(?<!\w){re.escape(find_stem(name))}(?!\w)", texts[each]):
                yield f"{folder}/{name}" if folder else name
                break
