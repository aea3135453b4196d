"""Decides which files a command in its own namespaces sees, as a list of mounts (see `mounts.py`).

It sees the system's own folders, read-only. It does not see the person's home, the project, other people's homes,
`/tmp`, `/run` and removable disks: in place of home and `/tmp` it has private folders of its workspace. Exceptions,
read-only: the toolchains in the home, which hold no secrets, the folders of PATH, the Python that runs bough, and the
folders that the workspace borrows (`WorkFolder.mounts`). Download caches are copy-on-write, so that none is poisoned.
"""

# The functions of os.path are used because, unlike Path's methods, they return False for what may not be accessed.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114

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
"""A mount: kind, target, source, and a further argument that depends on the kind (see `build_mounts`)."""

_SYSTEM = ("usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu", "sys", "opt", "snap")
"""The entries of `/` that commands see. Others (such as `/srv` or `/data`) may hold the person's files."""
_TOOL_VARIABLES = """
    GOROOT GOPATH CARGO_HOME RUSTUP_HOME JAVA_HOME DOTNET_ROOT GEM_HOME PNPM_HOME NVM_DIR PYENV_ROOT
""".split()  # noqa: SIM905
"""Variables that name toolchains, which container images and shared machines have outside the home."""
_EMPTY = ("/run", "/home", "/root", "/mnt", "/media", "/var", "/boot", "/lost+found")
_NEEDED = """
    /run/current-system /run/opengl-driver /var/lib/dpkg /var/lib/apt /var/lib/rpm /var/lib/gems /var/lib/ghc
    /var/lib/texmf /var/cache/fontconfig /var/cache/ldconfig /var/cache/man
""".split()  # noqa: SIM905
"""Paths that commands see although the folders around them appear empty."""
_BLANK = """
    /etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/sudoers /etc/krb5.keytab
""".split()  # noqa: SIM905
_CLOSED = """
    /etc/ssh /etc/ssl/private /etc/sudoers.d /etc/NetworkManager /etc/wireguard
""".split()  # noqa: SIM905
"""Folders that only root can read. They are hidden, so that commands of a run as root cannot read them either."""

TOOLS = """
    .cargo/bin .rustup .pyenv .rbenv .nvm .volta .asdf .sdkman .fnm .bun/bin .deno/bin .ghcup .dotnet .juliaup .elan
    .local/bin .local/lib .local/pipx .local/share/uv .local/share/pipx .local/share/mise .local/share/virtualenvs
    .local/share/pnpm .local/share/fnm .jdks .linuxbrew go/bin miniconda3 anaconda3 miniforge3 .virtualenvs n
    .cache/ms-playwright .cache/pypoetry/virtualenvs .cache/node/corepack .local/share/gem
""".split()  # noqa: SIM905
"""Folders in the home that hold toolchains, and nothing secret."""
CACHES = """
    .cache/pip .cache/uv .cache/go-build .cache/yarn .cache/pnpm .cache/pypoetry/cache .cache/pypoetry/artifacts
    .npm/_cacache .cargo/registry .cargo/git go/pkg .m2/repository .gradle/caches .ivy2/cache
""".split()  # noqa: SIM905
"""Folders in the home where tools keep downloads."""


def find_private_folder(workspace: WorkFolder) -> Path:
    """Return the folder, which no command can replace, for a workspace's private home, its `/tmp` and its changes to
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
        """Prepare what all workspaces have in common. `hidden`: folders that must not be seen, such as the project.
        `readable` and `writable`: files and folders that the person opens to commands."""
        known = _find_home()
        self._hidden = [realpath(place) for place in hidden]
        self._home = realpath(env.get("HOME") or known)
        # Hide both, because HOME may differ from the real home.
        homes = {self._home, realpath(known)}
        empty = {*_EMPTY, *homes, *map(realpath, hidden)} - {"/"}
        self._empty = sorted(place for place in empty if isdir(place) and not islink(place))
        shared = [place for name in _TOOL_VARIABLES if not is_within(place := env.get(name, ""), self._home)]
        named = [place for place in shared if place.startswith("/") and isdir(place)]
        tools = [place for name in TOOLS if isdir(place := f"{self._home}/{name}")]
        # The folders of bough's own Python, and of the Python of an active virtual environment.
        own = [sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])]
        own += [active, *_find_base(Path(active))] if (active := env.get("VIRTUAL_ENV")) else []
        opened = [*tools, *_list_path_folders(env), *own, *named]
        kept = [f"{place}/" for place in (*self._empty, "/tmp", "/var/tmp")]
        shown = [
            place
            for place in dict.fromkeys(map(realpath, opened))  # Leave out folders that contain a hidden folder.
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
        """Return the mounts for a command in this workspace, parents first, and the paths that it can write to."""
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
            # Show the file that configures name resolution, if it is a link to a place outside /etc.
            resolver = realpath("/etc/resolv.conf")
            if resolver != "/etc/resolv.conf" and isfile(resolver):
                lines.append(_make_line("read", resolver))
        # Of two mounts with the same target, the later one counts.
        ordered = sorted({line[1]: line for line in lines}.values(), key=lambda line: line[1].split("/"))
        return list(_drop_repeated(ordered)), [root, scratch, *places, *self.writable, "/dev"]

    def _is_away(self, place: str) -> bool:
        """Whether a command would not see a path unless it is mounted."""
        return place.split("/")[1] not in _SYSTEM or any(place.startswith(f"{folder}/") for folder in self._empty)

    def _may_be_lent(self, place: str) -> bool:
        """Whether a command may see a folder that the workspace borrows: a folder of the project, or one that does not
        contain the home and is not in a hidden folder of the home (`~/.…`), unless tools install packages there."""
        if any(is_within(place, folder) for folder in self._hidden):
            return True
        inner = place.removeprefix(f"{self._home}/")
        tools = any(is_within(inner, name) for name in (*TOOLS, ".local/share/pdm", ".conda"))
        return not is_within(self._home, place) and (inner == place or not inner.startswith(".") or tools)


def _find_home() -> str:
    """Return the person's home from the user database, whatever HOME says, or a path that does not exist if the user is
    unknown there, as in a container."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/nonexistent"


def identify_mounts(mounts: list[Line]) -> list[tuple[int, int]]:
    """Return device and inode of each file or folder that is mounted: they differ if it was removed and recreated."""
    found = []
    for source in (line[2] for line in mounts if line[2]):
        with suppress(OSError):
            known = Path(source).lstat()
            found.append((known.st_dev, known.st_ino))
    return found


def _drop_repeated(lines: list[Line]) -> Iterator[Line]:
    """Drop read-only mounts that are already visible at the same path through the mount of a parent."""
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
            # A `lent` folder is mounted as an overlay, through which further mounts inside it would be invisible.
            whole = entry.name not in ("opt", "snap") or any(place.startswith(f"{entry.path}/") for place in mounted)
            yield _make_line("read" if whole else "lent", entry.path)
    yield _make_line("read", "/sys")
    yield from (["processes", "/proc", "", ""], ["devices", "/dev", "", ""])
    # Hide files and folders that commands of a run as root could otherwise read.
    yield from (_make_line("blank", place) for place in _BLANK if isfile(place))
    yield from (_make_line("empty", place) for place in _CLOSED if isdir(place) and not islink(place))


def _list_path_folders(env: Mapping[str, str]) -> Iterator[str]:
    """List the folders of PATH; for a `bin` next to a `lib`, also the folder around both, which the programs need."""
    for folder in env.get("PATH", "").split(os.pathsep):
        if folder.startswith("/") and isdir(folder):
            yield folder
            place = Path(realpath(folder))
            whole = place.parent
            # `~/.local` and `~/.cargo` may hold secrets besides their programs.
            if place.name == "bin" and whole.name not in (".local", ".cargo") and isdir(whole / "lib"):
                yield str(whole)
                yield from _find_base(whole)


def _find_base(environment: Path) -> Iterator[str]:
    """Find the folder of the Python that a virtual environment was made from. Only a folder that holds a Python
    counts, because the links in a repository's environment may lead anywhere."""
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
