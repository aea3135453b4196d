"""Writes file contents, trees and commits into bough's own git repository, without the git program.

Promises: when `Batch.flush` returns, its objects survive a power cut; a half-written object is never seen; any number
of threads and processes may write at once. The format is git's (`git fsck` accepts it), so the git program can read,
compare and show the objects. Writing in process is several times cheaper than `git add` with `git write-tree`, and
contents are exactly the bytes on disk: no filter or conversion that a `.gitattributes` names can change them.

A few new objects are appended to a log of this process. One flush of the log makes them durable; their files are then
written without flushing each file and folder: one flush in place of six. A log belongs to the process that holds its
lock. The next process packs the objects in the log of a dead one, up to an incomplete end, and removes the log. Many
new objects are written as a pack at once."""

# ruff: noqa: PTH101, PTH102, PTH104, PTH110, PTH120, PTH123

import fcntl
import hashlib
import os
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from bough.adapters.workspaces import disk
from bough.core.errors import WorkspaceError
from bough.trust import handles

LOOSE_MOST = 20
"""More new objects than this are written as one pack."""
_LOGGED = 256 << 10
"""The size in bytes of the largest object that is logged; a larger one is flushed separately, not written twice."""
_LOG_LONGEST = 8 << 20
_PENDING_MOST = 32 << 20
_STREAMED = 4 << 20
_SAMPLE = 256 << 10
_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3}
"""The numbers that stand for the object kinds in a pack."""
_LOG_HEAD = struct.Struct(">20sII")


class Objects:
    """The object folder of a repository. `existing` returns those of the given ids that the repository already has."""

    def __init__(self, repo: Path, existing: Callable[[Sequence[bytes]], set[bytes]]) -> None:
        self.folder = os.fsencode(repo / "objects")
        self.existing = existing
        self.durable: set[bytes] = set()
        """Objects that are known to be on the disk: written by this process, or named by a journal."""
        self._logs = os.fsencode(repo / "log")
        self.log = _Log(self._logs)

    def empty(self) -> bool:
        """Whether the repository never had an object."""
        return len(disk.list_entries(self.folder)) == 1 and not disk.list_entries(self.folder + b"/pack")

    def part(self) -> bytes:
        """Return a new name for an unfinished file, with the prefix by which `recover` finds it."""
        return b"%s/pack/tmp_bough_%d_%s" % (self.folder, os.getpid(), os.urandom(6).hex().encode())

    def recover(self, older_than: float) -> None:
        """Make objects durable that dead processes had only in their logs, and remove half-written files."""
        for log in _find_left_logs(self._logs):
            self.pack_log(log)
            disk.remove(log)
        for folder in (self.folder + b"/pack", self._logs):
            for entry in disk.list_entries(folder):
                half = entry.name.startswith(b"tmp_bough_") or entry.name.endswith(b".part")
                if half and entry.stat(follow_symlinks=False).st_mtime < older_than:
                    disk.remove(entry.path)

    def pack_log(self, path: bytes) -> None:
        """Make the objects of a log durable as a pack."""
        objects: dict[bytes, tuple[bytes, bytes]] = {}
        for id, squeezed in _read_log(path):
            with suppress(zlib.error):  # The log may be forged, and hold anything.
                kind, body = unpack(squeezed)
                if name_object(kind, body)[0] == id:
                    objects[id] = kind, body
        if not objects:
            return
        with Batch(self) as batch:
            batch.write_pack(objects)
            batch.put_in_place()
        # Their single files were never flushed: a power cut may damage one, and git would prefer it to the pack.
        for id in objects:
            disk.remove(find_single(self.folder, id))


class Batch:
    """Objects that become durable together. Their ids are known at once, but must not be published before `flush`.

    Use it in a `with` block, whose end removes what was not flushed from the disk."""

    def __init__(self, objects: Objects, ask: bool = False) -> None:
        """Start a batch. `ask`: ask git first which objects exist, even if there are few: it is likely that most do."""
        self._objects = objects
        self._ask = ask
        self._pending: dict[bytes, tuple[bytes, bytes]] = {}
        self._bytes = 0
        self._written: dict[bytes, bytes] = {}
        """The final path of each file that is written under a temporary name."""
        self._flushed: set[bytes] = set()
        """Folders to flush, because no log covers what was written to them."""
        self._added: set[bytes] = set()

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *exc: object) -> None:
        for part in self._written:
            disk.remove(part)

    def __contains__(self, id: bytes) -> bool:
        return id in self._objects.durable or id in self._added

    def add(self, kind: bytes, body: bytes) -> bytes:
        id, _ = name_object(kind, body)
        if id not in self:
            self._added.add(id)
            self._pending[id] = (kind, body)
            self._bytes += len(body)
            if self._bytes > _PENDING_MOST:
                self._write_pending()
        return id

    def add_file(self, path: bytes, within: int | None = None) -> bytes | None:
        """Add a regular file's content, and return its id; None if there is no such file."""
        for _ in range(5):
            fd = disk.open_regular(path, within)
            if fd is None:
                return None
            with handles.OpenHandle(fd):
                size = os.fstat(fd).st_size
                if size <= _STREAMED:
                    return self.add(b"blob", b"".join(disk.read_pieces(fd)))
                id = self._stream(fd, size)
            if id is not None:
                return id
        raise WorkspaceError(f"{os.fsdecode(path)} keeps changing while bough reads it: stop what writes to it first.")

    def _stream(self, fd: int, size: int) -> bytes | None:
        """Store a large file without loading it into memory, and return its id; None if its size changed meanwhile."""
        head = b"blob %d\0" % size
        sha = hashlib.sha1(head, usedforsecurity=False)
        # Images, archives and model weights do not compress, and trying would take longer than everything else.
        sample = os.pread(fd, _SAMPLE, 0)
        squeeze = zlib.compressobj(1 if len(zlib.compress(sample, 1)) < 0.9 * len(sample) else 0)

        def squeezed() -> Iterable[bytes]:
            nonlocal size
            yield squeeze.compress(head)
            for piece in disk.read_pieces(fd):
                size -= len(piece)
                sha.update(piece)
                yield squeeze.compress(piece)
            yield squeeze.flush()

        part = self._write_part(squeezed(), b"", durable=True)
        id = sha.digest()
        if size != 0 or id in self:
            del self._written[part]
            disk.remove(part)
            return id if size == 0 else None
        self._added.add(id)
        self._written[part] = find_single(self._objects.folder, id)
        self._flushed.add(os.path.dirname(self._written[part]))
        return id

    def flush(self) -> None:
        """Make everything that was added durable, so that its ids can be published."""
        self._write_pending()
        self.put_in_place()
        self._objects.durable |= self._added
        self._added = set()

    def put_in_place(self) -> None:
        for part, path in self._written.items():
            os.chmod(part, 0o444)
            try:
                os.rename(part, path)
            except FileNotFoundError:  # The folder of the object does not exist yet.
                folder = os.path.dirname(path)
                with suppress(FileExistsError):
                    os.mkdir(folder)
                if folder in self._flushed:
                    self._flushed.add(self._objects.folder)
                os.rename(part, path)
        for folder in self._flushed:
            disk.flush_folder(folder)
        self._written, self._flushed = {}, set()

    def _write_pending(self) -> None:
        pending, self._pending, self._bytes = self._pending, {}, 0
        if len(pending) > LOOSE_MOST or (pending and self._ask):
            for id in self._objects.existing(list(pending)):
                del pending[id]
                # Another process may have written the pack, but not flushed it yet.
                self._flushed.add(self._objects.folder + b"/pack")
        if len(pending) > LOOSE_MOST:
            self.write_pack(pending)
            return
        loose = {}
        for id, (kind, body) in pending.items():
            path = find_single(self._objects.folder, id)
            if not os.path.exists(path):
                loose[id] = zlib.compress(name_object(kind, body)[1], 1)
            elif len(body) > _LOGGED:  # A smaller object that exists is durable through a log.
                self._flushed.add(os.path.dirname(path))
        if logged := {id: squeezed for id, squeezed in loose.items() if len(squeezed) <= _LOGGED}:
            self._objects.log.append(logged, self._objects.pack_log)
        for id, squeezed in loose.items():
            self._write_part([squeezed], find_single(self._objects.folder, id), durable=id not in logged)

    def write_pack(self, pending: dict[bytes, tuple[bytes, bytes]]) -> None:
        """Write a pack, and then its index, which makes the pack visible."""
        name, body, index = build_pack(pending)
        for ending, pieces in ((b".pack", body), (b".idx", [index])):
            self._write_part(pieces, b"%s/pack/%s%s" % (self._objects.folder, name, ending), durable=True)

    def _write_part(self, body: Iterable[bytes], path: bytes, durable: bool) -> bytes:
        """Write a file under a temporary name, and return that name. `path`: its final path; empty: not yet known."""
        part = self._objects.part()
        self._written[part] = path
        with open(part, "xb") as out:
            out.writelines(body)
            if durable:
                out.flush()
                disk.flush(out.fileno())
        if durable and path:
            self._flushed.add(os.path.dirname(path))
        return part


def name_object(kind: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Return the id of an object, and the uncompressed content of its single file."""
    whole = b"%s %d\0" % (kind, len(body)) + body
    return hashlib.sha1(whole, usedforsecurity=False).digest(), whole


def unpack(squeezed: bytes) -> tuple[bytes, bytes]:
    """Return the kind and body of an object from the content of its single file."""
    head, _, body = zlib.decompress(squeezed).partition(b"\0")
    return head.split()[0], body


def find_single(folder: bytes, id: bytes) -> bytes:
    """Return the path of an object's single file."""
    name = id.hex().encode()
    return b"%s/%s/%s" % (folder, name[:2], name[2:])


def read_single(folder: bytes, id: bytes) -> bytes | None:
    """Return the contents of a blob from its single file. Return None if it has none that is whole and small: git
    then reads the blob, or says what is wrong with it."""
    fd = disk.open_regular(find_single(folder, id))
    if fd is None:
        return None
    with handles.OpenHandle(fd), suppress(zlib.error):
        squeezed, plain = os.read(fd, _LOGGED), zlib.decompressobj()
        head, _, body = plain.decompress(squeezed, _LOGGED).partition(b"\0")
        if plain.eof and head == b"blob %d" % len(body):
            return body
    return None


def build_pack(objects: dict[bytes, tuple[bytes, bytes]]) -> tuple[bytes, list[bytes], bytes]:
    """Build a git pack of these objects (kind and body by id), without deltas. Returns its name, its pieces and its
    index, in version 2 of both formats."""
    pieces = [struct.pack(">4sII", b"PACK", 2, len(objects))]
    offset = len(pieces[0])
    places: dict[bytes, tuple[int, int]] = {}
    for id, (kind, body) in objects.items():
        size = len(body)
        head = bytearray()
        byte, size = (_KINDS[kind] << 4) | (size & 15), size >> 4
        while size:
            head.append(byte | 0x80)
            byte, size = size & 0x7F, size >> 7
        head.append(byte)
        piece = bytes(head) + zlib.compress(body, 1)
        places[id] = (zlib.crc32(piece), offset)
        pieces.append(piece)
        offset += len(piece)
    sum = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        sum.update(piece)
    pieces.append(sum.digest())
    ids = sorted(places)
    firsts = Counter(id[0] for id in ids)
    up_to = accumulate(firsts[first] for first in range(256))
    checks, offsets = zip(*(places[id] for id in ids), strict=True)
    numbers = f">{len(ids)}I"
    index = b"\xfftOc" + struct.pack(">I256I", 2, *up_to) + b"".join(ids)
    index += struct.pack(numbers, *checks) + struct.pack(numbers, *offsets) + sum.digest()
    index += hashlib.sha1(index, usedforsecurity=False).digest()
    return b"pack-" + sum.hexdigest().encode(), pieces, index


class _Log:
    """This process's log in a folder, started with the first object. Any number of threads may append."""

    def __init__(self, folder: bytes) -> None:
        self._folder = folder
        self._path = b""
        self._fd = -1
        self._opened: list[int] = []
        self._written = 0
        self._synced = 0
        self._began = 0
        self._syncing = threading.Lock()
        self._writing = threading.Lock()
        """Protects the state of the log. Where both locks are needed, `_syncing` is taken first."""

    def close(self) -> None:
        """Leave the log to `recover`. The next object starts a new log."""
        with self._syncing, self._writing:
            while self._opened:
                os.close(self._opened.pop())
            self._fd = -1
            self._began = self._synced = self._written

    def __del__(self) -> None:
        self.close()

    def append(self, objects: dict[bytes, bytes], secure: Callable[[bytes], None]) -> None:
        """Make these objects, by id and compressed as in single files, durable. `secure`: makes the objects of an
        overlong log durable in another way."""
        # The checksum covers the id, too, because an interrupted write can leave a whole body with a damaged id.
        heads = (
            (_LOG_HEAD.pack(id, len(body), zlib.crc32(body, zlib.crc32(id))), body) for id, body in objects.items()
        )
        record = b"".join(head + body for head, body in heads)
        with self._writing:
            if self._fd < 0:
                self._begin()
            fd = self._fd
            try:
                disk.write(fd, record)
            except OSError:
                self._fd = -1  # Nothing may be appended after an incomplete record, so this log is given up.
                with suppress(OSError):
                    os.ftruncate(fd, self._written - self._began)
                raise
            self._written += len(record)
            end = self._written
        with self._syncing:  # Flushing after this wait is mostly unnecessary: an earlier flush has covered the record.
            if self._synced < end:
                self._sync(fd)
            if self._written - self._began > _LOG_LONGEST:
                self._replace(secure)

    def _sync(self, fd: int) -> None:
        with self._writing:
            upto, current = self._written, self._fd == fd
        try:
            # Do not repeat a failed flush: Linux marks the pages as clean after it, so a second one would succeed
            # without writing the data.
            disk.flush(fd)
        except OSError:
            with self._writing:
                self._fd = -1  # Give up this log: its content may never reach the disk.
            raise
        if current:
            self._synced = upto

    def _begin(self) -> None:
        """Create and lock the log before anybody can take it for the log of a dead process."""
        name = b"%s/%d-%s" % (self._folder, os.getpid(), os.urandom(6).hex().encode())
        self._path = name + b".log"
        fd = os.open(name + b".part", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._opened.append(fd)
        # Give the log its name only once it is locked, because `_find_left_logs` takes any log that it can lock for
        # abandoned.
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.rename(name + b".part", self._path)
        # Make the log's name durable before the first object: without it the log would be lost.
        disk.flush_folder(self._folder)
        self._fd = fd
        self._began = self._written

    def _replace(self, secure: Callable[[bytes], None]) -> None:
        with self._writing:
            if self._fd < 0:
                return
            # Remove the full log afterwards: a kill in between then leaves its objects in two places, never in none.
            secure(self._path)
            disk.remove(self._path)
            self._opened.remove(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._began = self._synced = self._written


def _find_left_logs(folder: bytes) -> Iterator[bytes]:
    """Yield the logs of dead processes. Each stays locked until the next one is asked for."""
    for entry in disk.list_entries(folder):
        if not entry.name.endswith(b".log"):
            continue
        fd = disk.open_regular(entry.path)
        if fd is None:
            continue
        # A log that cannot be locked belongs to a live process.
        with handles.OpenHandle(fd), suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:  # A file without a name: another process has removed the log.
                yield entry.path


def _read_log(path: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the id and compressed content of each object in a log, up to the first incomplete one."""
    with open(path, "rb") as log:
        while len(head := log.read(_LOG_HEAD.size)) == _LOG_HEAD.size:
            id, size, sum = _LOG_HEAD.unpack(head)
            body = log.read(size)
            if len(body) != size or zlib.crc32(body, zlib.crc32(id)) != sum:
                return
            yield id, body
