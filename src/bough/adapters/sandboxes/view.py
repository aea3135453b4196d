"""The file system view of a command with namespaces of its own: a list of mounts (see `mounts.py`).

The system's own folders are there, read-only. The person's home, the project, other people's homes, `/tmp`, `/run` and
removable disks are not: in place of home and `/tmp` a command has folders of its workspace. Back in come, read-only,
the toolchains in the home that hold no secrets, the folders of PATH, the interpreter that runs bough, and the
workspace's references (`WorkFolder.mounts`); download caches come as copy-on-write views, so that none can be poisoned.
"""

# Unlike Path's methods, os.path's return False for what may not be accessed.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from os.path import exists, isdir, isfile, islink, realpath
from pathlib import Path

from bough.ports import Mount, WorkFolder
from bough.trust.files import Place
from bough.trust.programs import is_within

Line = list[str]
"""Kind, target, source and a further argument of the kind."""

_SYSTEM = ("usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu", "sys", "opt", "snap")
"""Entries of `/` that commands see. Others (`/srv`, `/data`) are the person's."""
_TOOL_VARIABLES = """
    GOROOT GOPATH CARGO_HOME RUSTUP_HOME JAVA_HOME DOTNET_ROOT GEM_HOME PNPM_HOME NVM_DIR PYENV_ROOT
""".split()  # noqa: SIM905
"""Variables that name toolchains outside of homes, on images and machines with several users."""
_EMPTY = ("/run", "/home", "/root", "/mnt", "/media", "/var", "/boot", "/lost+found")
_NEEDED = """
    /run/current-system /run/opengl-driver /var/lib/dpkg /var/lib/apt /var/lib/rpm /var/lib/gems /var/lib/ghc
    /var/lib/texmf /var/cache/fontconfig /var/cache/ldconfig /var/cache/man
""".split()  # noqa: SIM905
"""Paths that commands see in otherwise empty folders."""
_BLANK = """
    /etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/sudoers /etc/krb5.keytab
""".split()  # noqa: SIM905
_CLOSED = """
    /etc/ssh /etc/ssl/private /etc/sudoers.d /etc/NetworkManager /etc/wireguard
""".split()  # noqa: SIM905
"""Paths that only root can read, and a run as root must not."""

TOOLS = """
    .cargo/bin .rustup .pyenv .rbenv .nvm .volta .asdf .sdkman .fnm .bun/bin .deno/bin .ghcup .dotnet .juliaup .elan
    .local/bin .local/lib .local/share/uv .local/share/pipx .local/share/mise .local/share/virtualenvs
    .local/share/pnpm .local/share/fnm .jdks .linuxbrew go/bin miniconda3 anaconda3 miniforge3 .virtualenvs n
    .cache/ms-playwright .cache/pypoetry/virtualenvs .cache/node/corepack .local/share/gem
""".split()  # noqa: SIM905
"""Folders of the home where people keep toolchains, which hold nothing secret."""
CACHES = """
    .cache/pip .cache/uv .cache/go-build .cache/yarn .cache/pnpm .cache/pypoetry/cache .cache/pypoetry/artifacts
    .npm/_cacache .cargo/registry .cargo/git go/pkg .m2/repository .gradle/caches .ivy2/cache
""".split()  # noqa: SIM905
"""Folders of the home where tools keep downloads."""


def find_private_folder(workspace: WorkFolder) -> Path:
    """Return the sandbox's folder for a workspace, which no command can replace: the home, `/tmp`, changes to
    caches."""
    return workspace.scratch.with_name(f"{workspace.scratch.name}.private")


class FileSystemView:
    def __init__(
        self,
        env: Mapping[str, str],
        hidden: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> None:
        """`hidden`: folders that must not be seen, such as the project. `readable` and `writable`: what the person
        opens."""
        known = _find_home()
        self._hidden = [realpath(place) for place in hidden]
        self._home = realpath(env.get("HOME") or known)
        # Both: HOME may point elsewhere, and the real home has to be hidden all the same.
        homes = {self._home, realpath(known)}
        empty = {*_EMPTY, *homes, *map(realpath, hidden)} - {"/"}
        self._empty = sorted(place for place in empty if isdir(place) and not islink(place))
        shared = [place for name in _TOOL_VARIABLES if not is_within(place := env.get(name, ""), self._home)]
        named = [place for place in shared if place.startswith("/") and isdir(place)]
        tools = [place for name in TOOLS if isdir(place := f"{self._home}/{name}")]
        opened = [*tools, *_list_path_folders(env), *_list_interpreters(env), *named]
        kept = [f"{place}/" for place in (*self._empty, "/tmp", "/var/tmp")]
        shown = [
            place
            for place in dict.fromkeys(map(realpath, opened))  # neither a hidden folder nor one that contains it
            if not any(each.startswith(f"{place.rstrip('/')}/") for each in kept)
        ]
        self._lines = [
            *_list_system(),
            *(_make_line("folder" if place in _EMPTY else "empty", place) for place in self._empty),
            *(_make_line("read", place) for place in _NEEDED if exists(place)),
            *(_make_line("lent", place) for place in shown if self._is_away(place)),
            *(_make_line("lent", realpath(place)) for place in readable if exists(place)),
            *(_make_line("write", realpath(place)) for place in writable if exists(place)),
        ]
        self.writable = [line[1] for line in self._lines if line[0] == "write"]
        self._caches = [place for name in CACHES if (place := f"{self._home}/{name}") and isdir(place)]

    def of(self, workspace: WorkFolder, network: bool) -> tuple[list[Line], list[str]]:
        """The mounts for a command there, parents first, and the paths that it can write to."""
        workspace.scratch.mkdir(parents=True, exist_ok=True)
        own = find_private_folder(workspace)
        root, scratch = realpath(workspace.root), realpath(workspace.scratch)
        places = {self._home: own / "home", "/tmp": own / "tmp", "/var/tmp": own / "var-tmp"}
        lines = list(self._lines)
        for target, source in places.items():
            source.mkdir(parents=True, exist_ok=True)
            lines.append(["write", target, realpath(source), ""])
        for number, place in enumerate(self._caches):
            found = _list_mount(Mount(Path(place), "overlay"), own / "caches" / str(number))
            lines += [["cache", *rest] for _, *rest in found]
        for number, mount in enumerate(workspace.mounts):
            if self._may_be_lent(realpath(mount.source)):
                lines += _list_mount(mount, own / f"mount-{number}")
                lines += [_make_line("lent", base) for base in _find_base(mount.source) if self._is_away(base)]
        lines += [_make_line("write", root), _make_line("write", scratch)]
        if network:
            # Where host names are resolved, when that is not in /etc itself.
            resolver = realpath("/etc/resolv.conf")
            if resolver != "/etc/resolv.conf" and isfile(resolver):
                lines.append(_make_line("read", resolver))
        # Where two have the same place, the later one counts.
        last = {line[1]: line for line in lines}
        ordered = sorted(last.values(), key=lambda line: line[1].split("/"))
        return list(_drop_repeated(ordered)), [root, scratch, *places, *self.writable, "/dev"]

    def _is_away(self, place: str) -> bool:
        """Whether a path would otherwise be invisible."""
        top = place.split("/")[1]
        return top not in _SYSTEM or any(place.startswith(f"{folder}/") for folder in self._empty)

    def _may_be_lent(self, place: str) -> bool:
        """Whether a folder may be lent: a project's own, or one that neither is nor holds the home or a hidden folder,
        except where tools install packages."""
        if any(is_within(place, folder) for folder in self._hidden):
            return True
        inner = place.removeprefix(f"{self._home}/")
        tools = any(is_within(inner, name) for name in (*TOOLS, ".local/share/pdm", ".conda"))
        return not is_within(self._home, place) and (inner == place or not inner.startswith(".") or tools)


def _find_home() -> str:
    """Return the person's home as the system reports it, whatever a variable says. A container's user may be
    unknown."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/nonexistent"


def identify_mounts(mounts: list[Line]) -> list[tuple[int, int]]:
    """Identify the files and folders that the mounts refer to: one that was removed and recreated is another."""
    found = []
    for source in (line[2] for line in mounts if line[2]):
        with suppress(OSError):
            known = Path(source).lstat()
            found.append((known.st_dev, known.st_ino))
    return found


def _drop_repeated(lines: list[Line]) -> Iterator[Line]:
    """Drop folders that are already visible, read-only and in place through a parent."""
    above: list[Line] = []
    for line in lines:
        while above and not line[1].startswith(f"{above[-1][1].rstrip('/')}/"):
            above.pop()
        plain = line[0] in ("read", "lent") and line[1] == line[2]
        if not (plain and above and above[-1][0] in ("read", "lent") and above[-1][1] == above[-1][2]):
            above.append(line)
            yield line


def _make_line(kind: str, place: str) -> Line:
    return [kind, place, place, ""]


def _list_system() -> Iterator[Line]:
    mounted = [line.split()[4] for line in Place("/proc/self", "mountinfo").text().splitlines()]
    for entry in sorted(os.scandir("/"), key=lambda entry: entry.name):
        if entry.is_symlink():
            yield ["link", entry.path, os.readlink(entry.path), ""]  # noqa: PTH115
        elif entry.is_dir() and entry.name in _SYSTEM:
            # Mounts further down would be invisible through a layer.
            whole = entry.name not in ("opt", "snap") or any(place.startswith(f"{entry.path}/") for place in mounted)
            yield _make_line("read" if whole else "lent", entry.path)
    yield _make_line("read", "/sys")
    yield from (["processes", "/proc", "", ""], ["devices", "/dev", "", ""])
    # Writable for root and about the machine, not the command.
    yield from (_make_line("blank", place) for place in _BLANK if isfile(place))
    yield from (_make_line("empty", place) for place in _CLOSED if isdir(place) and not islink(place))


def _list_path_folders(env: Mapping[str, str]) -> Iterator[str]:
    """List the folders of PATH; the `bin` of something installed as a whole brings the rest of it along."""
    for folder in env.get("PATH", "").split(os.pathsep):
        if folder.startswith("/") and isdir(folder):
            yield folder
            place = Path(realpath(folder))
            whole = place.parent
            # `~/.local` and `~/.cargo` have secrets next to their programs.
            if place.name == "bin" and whole.name not in (".local", ".cargo") and isdir(whole / "lib"):
                yield str(whole)
                yield from _find_base(whole)


def _list_interpreters(env: Mapping[str, str]) -> Iterator[str]:
    """bough's own Python, and that of an active virtual environment."""
    yield from (sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]))
    if own := env.get("VIRTUAL_ENV"):
        yield own
        yield from _find_base(Path(own))


def _find_base(environment: Path) -> Iterator[str]:
    """Find the Python that a virtual environment was made from: a folder with a Python in it, whatever a link in a
    repository's environment leads to."""
    python = environment / "bin" / "python"
    if isfile(environment / "pyvenv.cfg") and exists(python):
        base = Path(realpath(python)).parents[1]
        if _has_python(base) and not is_within(realpath(_find_home()), str(base)):
            yield str(base)


@lru_cache(maxsize=64)
def _has_python(base: Path) -> bool:
    return base.name not in (".local", ".cargo") and any(isfile(place) for place in base.glob("lib*/python3*/os.py"))


def _list_mount(mount: Mount, changes: Path) -> Iterator[Line]:
    source = realpath(mount.source)
    if not exists(source):
        return
    if mount.mode == "overlay" and isdir(source):
        for name in ("files", "work"):
            (changes / name).mkdir(parents=True, exist_ok=True)
        yield ["over", source, source, realpath(changes)]
    else:
        yield _make_line("lent", source)
