"""Exchanges files between machines through the store, which has every tree that the journal names.

Promises: a tree is in the store before its name is published, so that whoever takes a task over has its files; only
what is new since an earlier tree is sent; a tree on this machine is complete, even if bough was killed meanwhile.

A tree is stored as a git pack, in pieces, and names the tree that it builds on. If the person names a git remote, the
tree that a run starts from goes there, as the branch refs/bough/trees/TREE, and only changes go to the store.
"""

import itertools
import re
import threading
from collections.abc import Sequence

from msgspec import Struct, field

from bough.adapters.stores.postgresql_server import Server
from bough.adapters.stores.sql import PATIENCE
from bough.adapters.workspaces.git_program import run_remote_git
from bough.adapters.workspaces.repository import Repository
from bough.adapters.workspaces.trees import GitTrees
from bough.trust.files import Place

PIECE = 16 << 20
"""The most bytes of a pack in one row."""
SMALL = 1 << 20
"""Packs of more bytes are kept as packs; the objects of smaller ones are stored as single files."""

_CHAIN = """
WITH RECURSIVE chain (tree, base, depth) AS (
    SELECT tree, base, 0 FROM trees WHERE tree = %s AND part = 0
    UNION ALL
    SELECT trees.tree, trees.base, depth + 1 FROM trees JOIN chain ON trees.tree = chain.base WHERE part = 0
)
SELECT tree FROM chain ORDER BY depth
"""


class Exchange(Struct, eq=False):
    """Sends trees of a repository to the store and fetches them from there."""

    _server: Server
    _repository: Repository
    _remote: str = ""
    _sent: set[str] = set()
    _here: set[str] = set()
    _bringing: threading.Lock = field(default_factory=threading.Lock)

    def send(self, tree: str, base: str = "") -> None:
        """Put the tree in the store. `base`: a similar tree in the store, so that only the difference is sent. If it is
        empty, because a run starts here, the tree from which the last run started is used."""
        if tree in self._sent:
            return
        last = self._repository.path / "published"
        first = not base
        base = base or Place(last.parent, last.name).text().strip()
        known = self._known([tree, base])
        if tree not in known:
            if base not in known and self._remote:
                commit = self._repository.write_commit(tree, "", "What a run starts from.")
                run_remote_git(
                    self._repository.path, "push", "-q", "--", self._remote, f"{commit}:refs/bough/trees/{tree}"
                )
                # Insert the row after the push, so that whoever reads the row finds the branch.
                row = "INSERT INTO trees (tree, part, remote) VALUES (%s, 0, %s) ON CONFLICT DO NOTHING"
                self._server.run(lambda db: db.run(row, tree, self._remote), PATIENCE)
            else:
                self._pack(tree, base if base in known else "")
        if first:
            last.write_text(tree)
        self._sent.add(tree)
        self._here.add(tree)

    def _known(self, trees: Sequence[str]) -> set[str]:
        if unsure := [tree for tree in trees if tree and tree not in self._sent]:
            query = "SELECT tree FROM trees WHERE tree = ANY(%s) AND part = 0"
            rows = self._server.run(lambda db: db.all(query, unsure), PATIENCE)
            self._sent.update(tree for (tree,) in rows)
        return self._sent.intersection(trees)

    def _pack(self, tree: str, base: str) -> None:
        wanted = f"{tree}\n" + (f"^{base}\n" if base else "")
        body = self._repository.git.run("pack-objects", "--stdout", "--revs", "-q", feed=wanted.encode())
        pieces = [body[at : at + PIECE] for at in range(0, len(body), PIECE)]
        rows = [(tree, part, base or None, piece) for part, piece in enumerate(pieces)]
        # Two machines may send the same tree at once. Its name is the hash of its content, so either copy will do.
        keep = "INSERT INTO trees (tree, part, base, body) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
        self._server.run(lambda db: db.many(keep, rows), PATIENCE)

    def fetch_tree(self, tree: str) -> None:
        """Fetch the tree if the store has it. If not, do nothing: the caller notices that it is missing."""
        if tree in self._here or not re.fullmatch("[0-9a-f]{40}", tree):
            return
        # Fetch one at a time: a tree's own object can arrive before the objects that it names, and would look complete.
        with self._bringing:
            if self._is_here(tree):
                self._here.add(tree)
                return
            chain = [found for (found,) in self._server.run(lambda db: db.all(_CHAIN, tree), PATIENCE)]
            # Fetch the oldest first: a tree counts as present once its own object is, so everything that it builds on
            # must arrive before it.
            for found in reversed(list(itertools.takewhile(lambda found: not self._is_here(found), chain))):
                self._bring_one(found)
                self._here.add(found)

    def _is_here(self, tree: str) -> bool:
        return bytes.fromhex(tree) in self._repository.existing([bytes.fromhex(tree)])

    def _bring_one(self, tree: str) -> None:
        query = "SELECT remote, body FROM trees WHERE tree = %s ORDER BY part"
        rows = self._server.run(lambda db: db.all(query, tree), PATIENCE)
        if rows and rows[0][0] is not None:
            run_remote_git(
                self._repository.path, "fetch", "-q", "--no-tags", "--", rows[0][0], f"refs/bough/trees/{tree}"
            )
            return
        body = b"".join(bytes(piece) for _, piece in rows)
        if len(body) > SMALL:
            self._repository.git.run("index-pack", "--stdin", feed=body)  # git shows a pack only when it is complete.
        else:
            self._repository.write("unpack-objects", "-q", feed=body)


def share(workspaces: GitTrees, server: Server, remote: str = "") -> None:
    """Connect these workspaces to the other machines that work on the same runs. To be called before they are used."""
    exchange = Exchange(server, workspaces.repository, remote)
    workspaces.repository.fetch, workspaces.repository.publish = exchange.fetch_tree, exchange.send
