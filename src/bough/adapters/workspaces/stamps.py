"""A stamp tells whether a file or folder has changed: its times, size, inode, mode and owner. In few bytes, because
there may be hundreds of thousands. A program can set the mtime of a file, but not its ctime."""

from __future__ import annotations

import os
import struct

STAMP = struct.Struct("<qqqQIII")
SECOND = 1_000_000_000


def make_stamp(info: os.stat_result) -> bytes:
    # With ctime and inode, because any program can set mtime back (tar, `touch -r`), and no command can set ctime.
    return STAMP.pack(
        info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, info.st_mode, info.st_uid, info.st_gid
    )


def look_at(path: bytes, top: int) -> bytes:
    """The stamp of what is at a path below the folder with this handle (otherwise most of a long path would be walked
    again for each of very many files); empty when there is nothing. Does not follow a link."""
    try:
        return make_stamp(os.stat(path or b".", dir_fd=top, follow_symlinks=False))
    except OSError:
        return b""


def get_kind(stamp: bytes) -> tuple[int, int]:
    """Size and mode."""
    _, _, size, _, mode, _, _ = STAMP.unpack(stamp)
    return size, mode


def is_sure(stamp: bytes, now: int, tick: int = 1) -> bool:
    """Whether something with this stamp, unwritten between then and now, was last written before now. `tick`: the
    resolution in nanoseconds at which stamps are compared later."""
    written, changed, *_ = STAMP.unpack(stamp)
    return bool(max(written, changed) // tick < now // tick)
