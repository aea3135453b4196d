"""Tasks in the slots of one worker fetch the same tree at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from msgspec import field

from bough.adapters.workspaces.exchange import Exchange

TREE = "a" * 40


class Store:
    """Has the tree."""

    def run(self, work: object, patience: float) -> list[tuple[str]]:
        return [(TREE,)]


class Halfway(Exchange, eq=False):
    """The tree's own object is there before what it names, as while git unpacks what it fetched."""

    there: bool = False
    whole: bool = False
    unpacking: threading.Event = field(default_factory=threading.Event)
    rest: threading.Event = field(default_factory=threading.Event)

    def _is_here(self, tree: str) -> bool:
        return self.there

    def _bring_one(self, tree: str) -> None:
        self.there = True
        self.unpacking.set()
        self.rest.wait(240)
        self.whole = True


def test_a_tree_is_used_only_once_all_of_it_is_here() -> None:
    exchange = Halfway(cast(Any, Store()), cast(Any, None))

    def use() -> bool:
        exchange.fetch_tree(TREE)
        return exchange.whole

    with ThreadPoolExecutor(2) as slots:
        first = slots.submit(use)
        assert exchange.unpacking.wait(240)
        second = slots.submit(use)
        second_alone = threading.Timer(0.3, exchange.rest.set)
        second_alone.start()
        assert first.result(60) and second.result(60), "it was used while half of it was missing"
