"""Bringing two trees that grew from one base together, in bough's own repository: no checkout, no index, no commit.

Promises: what only one side changed is taken from that side; a text that both changed is merged line by line by git's
own `merge-file`; everything else that both changed differently is a conflict, at which the result has *our* version
(for a text: both versions between markers). The same three trees always give the same result. What was read and
written is in proportion to what changed: a folder that only one side changed is taken by its id, unread.

A name is a file (or link) and a folder at once as far as merging goes: each is merged with its own kind, and only when
both are still there in the end do they clash. Renames are not guessed: a file renamed on one side and edited on the
other is a conflict of its old name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from bough.adapters.workspaces.objects import Batch, Objects
from bough.adapters.workspaces.program import Git
from bough.adapters.workspaces.scan import EXECUTABLE, FOLDER, PLAIN, Entry, join
from bough.core.errors import WorkspaceError

OURS, THEIRS = "what was there", "this task"
"""What the two sides of a conflict are called in the markers, for whoever has to resolve it."""

_TEXT_LONGEST = 16 << 20
"""Bytes up to which a file is merged line by line."""
_TEXT_HEAD = 8000
"""A NUL within so many bytes makes a file binary: git's own rule."""

_REGULAR = (PLAIN, EXECUTABLE)

_Tree = dict[bytes, Entry]


class _Sides(NamedTuple):
    """One name, in the three trees; None where there is nothing of its kind."""

    base: Entry | None
    ours: Entry | None
    theirs: Entry | None

    def settled(self) -> bool:
        """Whether no more than one side changed it."""
        return self.ours == self.theirs or self.base in (self.ours, self.theirs)

    def winner(self) -> Entry | None:
        """What a settled one becomes."""
        return self.theirs if self.ours == self.base else self.ours

    def only(self, folders: bool) -> _Sides:
        """The folders among them, or what is no folder."""
        return _Sides(*(side if side is not None and (side.mode == FOLDER) == folders else None for side in self))


class _Folder(Struct, eq=False):
    """A folder that both sides changed."""

    path: bytes
    sides: _Sides
    parent: _Tree
    """What becomes of the folder that it is in."""
    result: _Tree = field(default_factory=dict)


def merge_trees(git: Git, objects: Objects, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, list[bytes]]:
    """The id of the merged tree, which is durable, and the paths at which the two sides disagree, sorted."""
    with Batch(objects) as batch:
        merging = _Merging(git, objects, batch)
        id = merging.run(_Sides(*(Entry(FOLDER, id) for id in (base, ours, theirs))))
        batch.flush()
    return id, sorted(merging.conflicts)


class _Merging:
    def __init__(self, git: Git, objects: Objects, batch: Batch) -> None:
        self._git = git
        self._objects = objects
        self._batch = batch
        self._texts: list[tuple[_Folder, bytes, _Sides]] = []
        """Files whose contents must be looked at, with the folder and the name."""
        self.conflicts: set[bytes] = set()

    def run(self, top: _Sides) -> bytes:
        if top.settled():
            winner = top.winner()
            assert winner is not None
            return winner.id
        folders = level = [_Folder(b"", top, {})]
        while level:
            level = self._descend(level)
            folders = [*folders, *level]
        self._merge_texts()
        for folder in reversed(folders[1:]):  # every one comes after the folder that it is in
            if folder.result:
                self._put_folder(folder, Entry(FOLDER, self._write(folder)))
        return self._write(folders[0])

    def _descend(self, level: Sequence[_Folder]) -> list[_Folder]:
        """Merge the names of these folders; returns the folders in them that both sides changed."""
        wanted = {side.id for folder in level for side in folder.sides if side is not None}
        trees = self._read(sorted(wanted))
        below: list[_Folder] = []
        for folder in level:
            base, ours, theirs = (trees[side.id] if side is not None else {} for side in folder.sides)
            folder.result = dict(ours)
            for name in _differing(ours, theirs):
                sides = _Sides(base.get(name), ours.get(name), theirs.get(name))
                if sides.settled():
                    _put(folder.result, name, sides.winner())
                else:
                    below += self._split(folder, name, sides)
        return below

    def _split(self, folder: _Folder, name: bytes, sides: _Sides) -> Iterator[_Folder]:
        """The file part is merged; the folder part, when there is one that both sides changed, is merged later."""
        files, folders = sides.only(folders=False), sides.only(folders=True)
        _put(folder.result, name, None)
        if files.settled():
            _put(folder.result, name, files.winner())
        else:
            self._merge_files(folder, name, files)
        child = _Folder(join(folder.path, name), folders, folder.result)
        if not folders.settled():
            yield child
        elif (winner := folders.winner()) is not None:
            self._put_folder(child, winner)

    def _put_folder(self, folder: _Folder, entry: Entry) -> None:
        """Where a file is left too, the two clash: the name stays what it is on our side."""
        name = folder.path.rpartition(b"/")[2]
        file = folder.parent.get(name)
        if file is not None:
            self.conflicts.add(folder.path)
        folder.parent[name] = entry if file is None else folder.sides.ours or file

    def _merge_files(self, folder: _Folder, name: bytes, sides: _Sides) -> None:
        base, ours, theirs = (side if side is not None and side.mode in _REGULAR else None for side in sides)
        if ours is None or theirs is None:  # a link, or deleted on one side
            _put(folder.result, name, sides.ours)
            self.conflicts.add(join(folder.path, name))
            return
        mode = _mode(base, ours, theirs)
        same = _Sides(base and Entry(mode, base.id), Entry(mode, ours.id), Entry(mode, theirs.id))
        if same.settled():
            _put(folder.result, name, same.winner())
        else:
            self._texts.append((folder, name, same))

    def _merge_texts(self) -> None:
        contents = self._git.blobs([side.id for _, _, sides in self._texts for side in sides if side is not None])
        for folder, name, sides in self._texts:
            assert sides.ours is not None
            texts = [b"" if side is None else _text(next(contents)) for side in sides]
            merged, clean = _merge_lines(self._git, [text for text in texts if text is not None])
            id = sides.ours.id if merged is None else self._batch.add(b"blob", merged)
            folder.result[name] = Entry(sides.ours.mode, id)
            if not clean:
                self.conflicts.add(join(folder.path, name))
        next(contents, None)  # there is no more: lets git end

    def _write(self, folder: _Folder) -> bytes:
        # git sorts a folder as if its name ended in a slash.
        entries = sorted((name + b"/" * (entry.mode == FOLDER), entry) for name, entry in folder.result.items())
        body = b"".join(b"%s %s\0%s" % (entry.mode, name.rstrip(b"/"), entry.id) for name, entry in entries)
        return self._batch.add(b"tree", body)

    def _read(self, ids: Sequence[bytes]) -> dict[bytes, _Tree]:
        """These trees. What is in them is durable, because somebody was told of the whole."""
        feed = b"".join(id.hex().encode() + b"\n" for id in ids)
        out = self._git.run("cat-file", "--batch", "--buffer", feed=feed)
        trees, at = {}, 0
        for id in ids:
            start = out.find(b"\n", at) + 1
            head = out[at:start].split()
            if len(head) != 3 or head[1] != b"tree":
                raise WorkspaceError(f"{self._git.repo} is damaged: it does not have the folder {id.hex()}.")
            end = start + int(head[2])
            trees[id] = _parsed(out[start:end])
            self._objects.durable.add(id)
            self._objects.durable.update(entry.id for entry in trees[id].values())
            at = end + 1
        return trees


def _parsed(body: bytes) -> _Tree:
    tree, at = {}, 0
    while at < len(body):
        end = body.index(b"\0", at)
        mode, _, name = body[at:end].partition(b" ")
        at = end + 21
        tree[name] = Entry(mode, body[end + 1 : at])
    return tree


def _put(tree: _Tree, name: bytes, entry: Entry | None) -> None:
    if entry is None:
        tree.pop(name, None)
    else:
        tree[name] = entry


def _mode(base: Entry | None, ours: Entry, theirs: Entry) -> bytes:
    """There are only two, so both sides cannot have changed it differently; of a new file either side knows it best
    that says it is a program."""
    if base is None:
        return max(ours.mode, theirs.mode)
    return theirs.mode if ours.mode == base.mode else ours.mode


def _text(pieces: Iterator[bytes]) -> bytes | None:
    """The whole; None when it is not a text, or too long a one."""
    body = b""
    for piece in pieces:
        body += piece
        if len(body) > _TEXT_LONGEST or b"\0" in body[:_TEXT_HEAD]:
            return None
    return body


def _merge_lines(git: Git, texts: Sequence[bytes]) -> tuple[bytes | None, bool]:
    """The merged text of base, ours and theirs, and whether it is free of conflicts; None when not all are texts."""
    import tempfile

    if len(texts) < 3:
        return None, False
    # Longer than anything that is already in the file, a marker is a marker and nothing else.
    size = max((len(run) + 1 for text in texts for run in re.findall(b"<{7,}", text)), default=7)
    with tempfile.TemporaryDirectory() as folder:
        base, ours, theirs = (Path(folder, name) for name in ("base", "ours", "theirs"))
        for path, text in zip((base, ours, theirs), texts, strict=True):
            path.write_bytes(text)
        labels = ("-L", OURS, "-L", "base", "-L", THEIRS)
        files = (str(ours), str(base), str(theirs))
        # Its exit status is the number of conflicts, up to 127.
        merged = git.run("merge-file", "-p", "-q", f"--marker-size={size}", *labels, *files, fine=range(128))
    return merged, b"<" * size not in merged


def _differing(ours: _Tree, theirs: _Tree) -> list[bytes]:
    return sorted({name for name, _ in ours.items() ^ theirs.items()})
