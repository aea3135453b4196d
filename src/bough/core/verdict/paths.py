"""Parts of a path in a tree. Trees are large, and `pathlib` is slow."""

from __future__ import annotations

from collections.abc import Iterator


def last_segment(path: str) -> str:
    return path.rpartition("/")[2]


def parent_folder(path: str) -> str:
    """The folder of a path; empty at the top."""
    return path.rpartition("/")[0]


def list_parents(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first; the last is the top, which is empty."""
    while path:
        path = parent_folder(path)
        yield path


def find_suffix(path: str) -> str:
    """In lower case and without its dot; empty: there is none."""
    name = last_segment(path)
    return name.rpartition(".")[2].lower() if "." in name else ""


def find_stem(path: str) -> str:
    name = last_segment(path)
    return name.rpartition(".")[0] or name
