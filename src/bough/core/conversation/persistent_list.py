"""An immutable sequence that is cheap to extend."""

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class PersistentList(Generic[T]):
    """The first `len(items)` items of an append-only list, which longer sequences share.

    `items.then(x)` is a new sequence and costs the same at 400 items as at 10; the old one still sees only its own
    items. Because the shared list only ever grows, a caller that encoded the first n items may keep the bytes:
    `same_root` says whether two of them share their beginning.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: tuple[T, ...] = ()) -> None:
        self._items: list[T] = list(items)
        self._length = len(self._items)

    def then(self, *more: T) -> "PersistentList[T]":
        grown: PersistentList[T] = PersistentList.__new__(PersistentList)
        # If the shared list has already grown beyond this sequence, copy it, so that neither sees the other's items.
        grown._items = self._items if len(self._items) == self._length else self._items[: self._length]
        grown._items.extend(more)
        grown._length = self._length + len(more)
        return grown

    def since(self, start: int) -> list[T]:
        """Return the items from `start` on, without visiting those before."""
        return self._items[start : self._length]

    def same_root(self, other: "PersistentList[T]") -> bool:
        return self._items is other._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return iter(self._items[: self._length])

    def __getitem__(self, index: int) -> T:
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index if index >= 0 else self._length + index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PersistentList) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"PersistentList({list(self)!r})"
