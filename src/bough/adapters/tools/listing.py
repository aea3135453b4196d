"""The tool `list`, which shows what is in a folder, as a small tree."""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from bough.adapters.tools import paths
from bough.adapters.tools.output_text import cut_middle, format_size
from bough.adapters.tools.tool import Bench, Refusal, Tool, run_in_thread
from bough.ports import ToolResult
from bough.trust import handles

_ENTRIES = 500
"""The most lines of the tree."""
_IN_ONE = 100
"""The most entries that are shown of each subfolder."""
_COUNTED = 20_000
"""The most entries that are read of one folder; the rest are only counted."""


class List(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The folder.")] = "."
    depth: Annotated[int, Meta(description="How many levels to show.", ge=1, le=10)] = 2


def list_folder(arguments: List, bench: Bench) -> ToolResult:
    place = paths.resolve_path(bench.workspace, arguments.path)
    what = place.beneath.kind
    if not what:
        raise Refusal(f"There is no folder `{place.shown}`.{paths.suggest_paths(place, bench.workspace)}")
    if what != "folder":
        raise Refusal(f"`{place.shown}` is a {what}, not a folder{': use `read`' if what == 'file' else ''}.")
    tree = [f"{place.shown}/"]
    with handles.open_folder(os.fsencode(place.root), os.fsencode("/".join(place.steps))) as folder:
        for line in _walk_tree(folder, arguments.depth, 1):
            if len(tree) > _ENTRIES:
                tree.append("… (more: list a folder below, or a smaller depth)")
                break
            tree.append(line)
    if len(tree) == 1:
        return ToolResult(f"({place.shown} is empty)")
    shown, _ = cut_middle("\n".join(tree), bench.rules.shown)
    return ToolResult(shown)


def _walk_tree(folder: int, depth: int, level: int) -> Iterator[str]:
    """Yield a line for each entry below an open folder, folders first. Links are shown, and never followed."""
    entries, left = _list_entries(folder)
    shown = entries if level == 1 else entries[:_IN_ONE]
    indent = "  " * level
    for entry in shown:
        if entry.is_symlink():
            yield f"{indent}{entry.name} -> {os.readlink(entry.name, dir_fd=folder)}"
        elif entry.is_dir(follow_symlinks=False):
            try:
                below = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except OSError as error:
                yield f"{indent}{entry.name}/  ({error.strerror})"
                continue
            with handles.OpenHandle(below):
                if level < depth:
                    yield f"{indent}{entry.name}/"
                    yield from _walk_tree(below, depth, level + 1)
                else:
                    inside, more = _list_entries(below)
                    yield f"{indent}{entry.name}/  ({len(inside) + more:,} inside)"
        else:
            size = "?"
            with suppress(OSError):  # the file was removed meanwhile
                size = format_size(entry.stat(follow_symlinks=False).st_size)
            yield f"{indent}{entry.name}  {size}"
    left += len(entries) - len(shown)
    if left:
        yield f"{indent}… {left:,} more"


def _list_entries(folder: int) -> tuple[list[os.DirEntry[str]], int]:
    """List a folder's entries without `.git`, folders first, and return how many more there are."""
    with os.scandir(folder) as found:
        named = (entry for entry in found if entry.name != ".git")
        entries = list(islice(named, _COUNTED))
        left = sum(1 for _ in named)
    return sorted(entries, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name)), left


LIST = Tool(
    name="list",
    description="Show what is in a folder, as a tree with sizes. `.git` is left out.",
    arguments=List,
    example='{"path": "src", "depth": 2}',
    act=run_in_thread(list_folder),
)
