"""Builds the file system that a command in its own namespaces sees, from a list of mounts (see `view.py`).

Imports only the standard library and `kernel`, because the spawner's Python has no installed packages."""

# ruff: noqa: PTH102, PTH120, PTH211

import errno
import os
import stat
from contextlib import suppress

from bough.adapters.sandboxes import kernel
from bough.adapters.sandboxes.kernel import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_REC

MS_SLAVE = 0x80000
MNT_DETACH = 2
AT_RECURSIVE = 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

NEW = "/tmp"
"""The folder on which the new root is mounted: every system has it."""
NOTHING = "/.nothing"
"""An empty folder, the upper layer of `lent` folders. It must not be removed: without its layer a folder appears
empty."""
_FROM = ("read", "lent", "write", "over", "cache")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "core": "/proc/kcore", "ptmx": "pts/ptmx"}
_LINKS |= {name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))}
SHM_SIZE = "size=1g"


def build_mounts(mounts: list[list[str]]) -> None:
    """Build the file system that the command sees from a list of (kind, target, source, more), parents first. Kinds:

    `read` and `write`: the source, read-only or writable; `lent`: read-only, and without the Unix sockets in it;
    `over`: a copy-on-write view of the source, whose changes go to the folder `more` (`lent` if the system cannot do
    that); `cache`: likewise (nothing if it cannot); `empty`: an empty folder that covers what is there; `folder`: a new
    empty folder; `link`: a symbolic link to the source; `blank`: an empty file; `processes`: /proc; `devices`: /dev."""
    # Open the sources now, because the new root will cover what is in NEW.
    sources = {source: _open_source(source) for kind, _, source, _ in mounts if kind in _FROM}
    sources |= {more: _open_source(more) for kind, _, _, more in mounts if kind in ("over", "cache")}
    # Mounts made below must not appear outside. Later mounts outside (a disk, a network home) may appear here.
    kernel.mount("", "/", "", MS_SLAVE | MS_REC, "")
    kernel.mount("tmpfs", NEW, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
    os.mkdir(NEW + NOTHING)
    sealed = [NEW]
    for kind, target, source, more in mounts:
        with kernel.doing("namespaces", f"{kind} {target}: "):
            _mount(kind, target, source, more, sealed, sources)
    # Make the sealed folders read-only last, since mount points are created in them until then.
    for place in reversed(sealed):
        kernel.set_mount(place, 0, ATTR_RDONLY)
    for handle in sources.values():
        os.close(handle)
    os.chdir(NEW)
    # `pivot_root` puts the old root on top of the new one, at the same place, where it is unmounted: no folder is
    # needed for it and, unlike with chroot, not even a process with all rights can get back to it.
    kernel.syscall(PIVOT_ROOT[os.uname().machine], b".", b".")
    kernel.unmount(".", MNT_DETACH)
    os.chdir("/")


def _open_source(source: str) -> int:
    """Open a source; refuse if it is a link, so that exactly what bough checked is opened."""
    handle = os.open(source, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        raise OSError(errno.ELOOP, "is a link", source)
    return handle


def _mount(kind: str, target: str, source: str, more: str, sealed: list[str], sources: dict[str, int]) -> None:
    place = NEW + target
    if kind == "link":
        os.close(_open_target(os.path.dirname(target)))
        os.symlink(source, place)
    elif kind == "blank":
        # Cover the file rather than remove it, because it is the person's.
        kernel.mount("/dev/null", place, "", MS_BIND, "")
    elif kind == "folder":
        os.close(_open_target(target))
    elif kind == "empty":
        _mount_at(target, "tmpfs", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
        sealed.append(place)
    elif kind == "processes":
        _mount_at(target, "/proc", "", MS_BIND | MS_REC)
    elif kind == "devices":
        _make_devices(target)
    elif kind in ("over", "cache"):
        try:
            _overlay(target, sources[source], sources[more])
        except OSError:  # This kernel or this disk has no copy-on-write mounts.
            if kind == "over":
                _mount_read_only(target, sources[source])
    elif kind == "lent":
        _mount_read_only(target, sources[source])
    else:
        _bind(target, sources[source], writable=kind == "write")


def _mount_at(target: str, source: str, kind: str, flags: int, options: str = "", folder: bool = True) -> None:
    # Mount by handle, because a path could be replaced by a link between the check and the mount.
    handle = _open_target(target, folder)
    try:
        kernel.mount(source, _handle_path(handle), kind, flags, options)
    finally:
        os.close(handle)


def _handle_path(handle: int) -> str:
    return f"/proc/self/fd/{handle}"


def _bind(target: str, source: int, writable: bool) -> None:
    _mount_at(target, _handle_path(source), "", MS_BIND | MS_REC, folder=stat.S_ISDIR(os.fstat(source).st_mode))
    # Use the path, since the handle refers to what the mount now covers.
    kernel.set_mount(NEW + target, AT_RECURSIVE, ATTR_NOSUID | ATTR_NODEV | (0 if writable else ATTR_RDONLY))


def _mount_read_only(target: str, source: int) -> None:
    """Mount read-only, through an overlay if possible: there nobody listens on the Unix sockets in the source. Through
    a plain mount a command could connect to them, which is not a write, and reach processes outside."""
    if stat.S_ISDIR(os.fstat(source).st_mode):
        with suppress(OSError):  # This kernel or this disk has no overlay mounts.
            options = f"lowerdir={NEW}{NOTHING}:{_handle_path(source)},userxattr"
            return _mount_at(target, "overlay", "overlay", MS_NOSUID | MS_NODEV, options)
    return _bind(target, source, writable=False)


def _overlay(target: str, source: int, changes: int) -> None:
    # The kernel uses `work` for unfinished changes and clears it on mounting: keepers of a workspace must not share it.
    upper, work = f"{_handle_path(changes)}/files", f"{_handle_path(changes)}/work/{os.getpid()}"
    with suppress(FileExistsError):
        os.mkdir(work)
    options = f"lowerdir={_handle_path(source)},upperdir={upper},workdir={work},userxattr"
    _mount_at(target, "overlay", "overlay", MS_NOSUID | MS_NODEV, options)


def _open_target(target: str, folder: bool = True) -> int:
    """Open the mount point, and return its handle. Missing folders are created, and whatever else is in the way is
    removed, since a command may have put a link there that leads elsewhere."""
    names = [name for name in target.split("/") if name]
    place = os.open(NEW, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for index, name in enumerate(names):
        last = index == len(names) - 1
        below = _open_step(place, name, folder or not last)
        os.close(place)
        place = below
    return place


def _open_step(place: int, name: str, folder: bool) -> int:
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    # A command in this workspace could recreate an obstacle again and again: give up after a few attempts.
    for _ in range(5):
        try:
            handle = os.open(name, flags, dir_fd=place)
        except FileNotFoundError:
            # Another keeper of this workspace has just created the folder: open that one.
            with suppress(FileExistsError):
                _create(place, name, folder)
            continue
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
            return handle
        os.close(handle)
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=place) if stat.S_ISDIR(mode) else os.unlink(name, dir_fd=place)
    raise OSError(errno.EBUSY, "another process keeps replacing it", name)


def _create(place: int, name: str, folder: bool) -> None:
    if folder:
        os.mkdir(name, 0o755, dir_fd=place)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=place))


def _make_devices(target: str) -> None:
    place = NEW + target
    _mount_at(target, "tmpfs", "tmpfs", MS_NOSUID, "mode=0755,size=1m")
    for name in DEVICES:
        os.close(os.open(f"{place}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        kernel.mount(f"/dev/{name}", f"{place}/{name}", "", MS_BIND, "")
    for name, to in _LINKS.items():
        os.symlink(to, f"{place}/{name}")
    os.mkdir(f"{place}/pts")
    # Mount a new instance of devpts, so that commands cannot type into the person's terminals.
    kernel.mount("devpts", f"{place}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.mkdir(f"{place}/shm")
    kernel.mount("tmpfs", f"{place}/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{SHM_SIZE}")
    kernel.set_mount(place, 0, ATTR_RDONLY)
