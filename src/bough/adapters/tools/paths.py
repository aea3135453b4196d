"""Keeps the file tools inside the workspace, even if a path contains links or a folder is replaced by a link meanwhile.

A path is resolved once, must then lie below the workspace's real root, and is opened from there without following any
link, so that what is opened is what was checked. Only files and folders are ever opened: a pipe or a device could block
the call, or do worse. For a wrong path, and for a text that was not found, it suggests what the model may have meant.
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, islice
from pathlib import Path

from msgspec import Struct

from bough.adapters.tools.output_text import format_size
from bough.adapters.tools.tool import Refusal
from bough.core.conversation.context import GOAL_FILE
from bough.core.textual.spelling import find_similar
from bough.ports import WorkFolder
from bough.trust.files import Place


class WorkspacePath(Struct, frozen=True):
    """A path inside the workspace, with all links resolved."""

    root: str
    steps: tuple[str, ...]
    """The names of the folders from the root to it, and its own name."""
    shown: str
    """The path as the model knows it: relative to its starting folder."""

    @property
    def beneath(self) -> Place:
        return Place(self.root, "/".join(self.steps))


def resolve_path(workspace: WorkFolder, path: str, *, writing: bool = False) -> WorkspacePath:
    """Resolve a path that a model gave. Raises `Refusal` if the model may not use it."""
    if "\0" in path:
        raise Refusal(f"`{path!r}` is not a path: it contains a NUL character.", fault=True)
    if path.startswith("~"):
        raise Refusal(f"`{path}`: `~` is not expanded here; paths are relative to your starting folder.")
    if (kept := _find_beside(workspace, path)) and not writing:
        return kept
    root, folder = _resolve_folder(workspace.root), _resolve_folder(workspace.folder)
    try:
        real = os.path.realpath(workspace.folder / path)
    except (OSError, ValueError) as error:
        raise Refusal(f"`{path[:200]}` is not a path: {error}.", fault=True) from None
    # Compare with the separator, because the root `/a/b` must not admit `/a/bc`.
    if real != root and not real.startswith(f"{root}{os.sep}"):
        if os.path.normpath(workspace.folder / path).startswith(f"{workspace.root}{os.sep}"):
            where = "leads out of the workspace through a link: it can be read with `bash`, but not changed."
        else:
            where = f"is outside the workspace: use a path inside, relative to {workspace.folder}."
        raise Refusal(f"`{path}` {where}")
    steps = Path(real).parts[len(Path(root).parts) :]
    # Compare in lower case, because some file systems do not tell `.GIT` from `.git`.
    if writing and any(step.lower() == ".git" for step in steps):
        raise Refusal(
            f"`{path}` belongs to git: it cannot be written. Change the files themselves; bough commits them."
        )
    return WorkspacePath(root, steps, os.path.relpath(real, folder))


def _find_beside(workspace: WorkFolder, path: str) -> WorkspacePath | None:
    """Find the goal's file, which bough puts next to the checkout for the agent, if that is what `path` names."""
    if not path.endswith(f"/{GOAL_FILE}"):
        return None
    scratch = _resolve_folder(workspace.scratch)
    if path in (f"$TMPDIR/{GOAL_FILE}", f"${{TMPDIR}}/{GOAL_FILE}", f"{scratch}/{GOAL_FILE}"):
        return WorkspacePath(scratch, (GOAL_FILE,), f"$TMPDIR/{GOAL_FILE}")
    return None


@lru_cache(maxsize=256)
def _resolve_folder(folder: Path) -> str:
    """Resolve a workspace's own folder, and remember the result: if the folder is later replaced by a link, paths below
    it count as outside the workspace."""
    return os.path.realpath(folder)


def read_bytes(place: WorkspacePath, limit: int) -> bytes:
    """Read a whole file. Raises `Refusal` if it has more than `limit` bytes, and `OSError` if it is not there."""
    body = place.beneath.read(limit + 1)
    if len(body) > limit:
        raise Refusal(
            f"`{place.shown}` is too large for this (more than {format_size(limit)}): use `search`, or `bash` with "
            "sed, head or tail, to see parts of it."
        )
    return body


def write_bytes(place: WorkspacePath, content: bytes) -> None:
    """Replace a file's content atomically, and keep its mode. Missing folders are created."""
    place.beneath.make_parents()
    if (what := place.beneath.kind) not in ("", "file", "folder"):
        raise Refusal(f"`{place.shown}` is a {what}, not a file.")
    place.beneath.write(content, 0o666, keep_mode=True)


_SEEN = 5_000
"""The most files and folders whose names are compared with a missing one."""
_COMPARED = 2_000
"""The most lines that are compared for similarity, when no line equals a sought one."""
_LETTERS = 400
"""The most characters of a passage or line that are compared: the cost grows with the square of the length."""
_CANDIDATES = 10
_ALIKE = 0.5


def suggest_paths(place: WorkspacePath, workspace: WorkFolder) -> str:
    """Return ` Did you mean …?` with up to three files or folders that have the same name elsewhere, or a similar name
    in the same folder; empty if there are none."""
    wanted = place.steps[-1] if place.steps else ""
    paths = list(islice(_walk(place.root), _SEEN))
    same = [path for path in paths if path.rpartition("/")[2].lower() == wanted.lower()]
    near = "/".join(place.steps[:-1])
    siblings = {path.rpartition("/")[2]: path for path in paths if path.rpartition("/")[0] == near}
    found = dict.fromkeys([*same[:3], *(siblings[name] for name in find_similar(wanted, siblings, 3, 0.7))])
    start = os.path.realpath(workspace.folder)
    like = [os.path.relpath(f"{place.root}/{name}", start) for name in list(found)[:3]]
    return f" Did you mean {' or '.join(f'`{name}`' for name in like)}?" if like else ""


def _walk(root: str) -> Iterator[str]:
    folders = [""]
    for folder in folders:  # the list grows during the walk
        for name, kind in Place(root, folder).list():
            if name != ".git":
                path = f"{folder}/{name}".lstrip("/")
                folders += [path] if kind == "folder" else []
                yield path


def find_passage(lines: list[str], sought: list[str]) -> tuple[int, int, bool] | None:
    """Find the lines most like the sought ones. Return the index of the first line, the index after the last, and
    whether they differ only in white space; None if nothing is similar."""
    width = len(sought)
    if not width or not lines:
        return None
    squeezed = [" ".join(line.split()) for line in lines]
    wanted = [" ".join(line.split()) for line in sought]
    passages: dict[str, int] = {}
    for start in _find_promising(squeezed, wanted):
        if squeezed[start : start + width] == wanted:
            return start, start + width, True
        passages.setdefault("\n".join(squeezed[start : start + width])[:_LETTERS], start)
    likest = find_similar("\n".join(wanted)[:_LETTERS], passages, 1, _ALIKE)
    if not likest:
        return None
    start = passages[likest[0]]
    return start, min(start + width, len(lines)), False


def _find_promising(lines: list[str], wanted: list[str]) -> list[int]:
    """Return where the passages begin that have the most lines in common with the wanted ones. If none has any, return
    where passages begin that have a line like the longest wanted one."""
    wished = {line for line in wanted if line}
    width = min(len(wanted), len(lines))
    before = [0, *accumulate(line in wished for line in lines)]
    counts = [before[start + width] - before[start] for start in range(len(lines) - width + 1)]
    best = sorted(range(len(counts)), key=lambda start: (-counts[start], start))[:_CANDIDATES]
    if counts[best[0]]:
        return best
    offset = max(range(len(wanted)), key=lambda i: len(wanted[i]))
    starting = [line[:_LETTERS] for line in lines[:_COMPARED]]
    found = set(find_similar(wanted[offset][:_LETTERS], starting, 3, _ALIKE))
    return [max(i - offset, 0) for i, line in enumerate(starting) if line in found][:_CANDIDATES]
