"""Conversations as the bytes that go over the wire, each message encoded once.

Providers keep nothing between calls, so the whole conversation is sent in every round. Encoding it again each time
would cost more with every round; here only what is new is encoded, whatever the length of the rest.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import Message, ToolSpec

Encode = Callable[[Message, str], tuple[bytes, str]]
"""A message and the state that the bytes before it ended in ("" at the start) → its bytes and the state after it."""

MOST = 256
"""Conversations that are kept."""
ROOM = 64_000_000
"""Bytes of them that are kept; the latest conversation is kept whatever its size."""


class _EncodedConversation:
    """One conversation: the bytes of its messages, and where each message ends in them."""

    __slots__ = ("body", "ends", "state", "trail")

    def __init__(self, trail: PersistentList[Message]) -> None:
        self.trail = trail
        self.body = bytearray()
        self.ends = array("Q")
        self.state = ""


class Prefixes:
    """The encoded conversations that are in use.

    Safe to share among any number of agents of one event loop: nothing here waits. A trail that branched off has a root
    of its own and is encoded again; a shorter trail of a known root costs only the copy.
    """

    def __init__(self, encode: Encode, most: int = MOST, room: int = ROOM) -> None:
        self._encode = encode
        self._most = most
        self._room = room
        self._kept: list[_EncodedConversation] = []
        self._size = 0
        self.encoded = 0
        """Messages encoded so far: grows with what is new, never with the length of a conversation."""

    def bytes_of(self, trail: PersistentList[Message]) -> bytes | bytearray:
        """The bytes of all messages of the trail. A bytearray is ours and will grow: copy it before anything waits."""
        kept = self._find(trail)
        count = len(kept.ends)
        if len(trail) < count:
            end = kept.ends[len(trail) - 1] if len(trail) else 0
            return bytes(memoryview(kept.body)[:end])
        for message in trail.since(count):
            piece, kept.state = self._encode(message, kept.state)
            kept.body += piece
            kept.ends.append(len(kept.body))
            self._size += len(piece)
            self.encoded += 1
        self._make_room()
        return kept.body

    def end_of(self, trail: PersistentList[Message], count: int) -> int:
        """Where the first `count` messages of a trail end in the bytes just returned for it."""
        return self._find(trail).ends[count - 1] if count else 0

    def clear(self) -> None:
        self._kept.clear()
        self._size = 0

    def _find(self, trail: PersistentList[Message]) -> _EncodedConversation:
        """What is kept of the trail, moved to the end: the order of the list is the order of use."""
        for place in range(len(self._kept) - 1, -1, -1):
            if self._kept[place].trail.same_root(trail):
                kept = self._kept.pop(place)
                break
        else:
            kept = _EncodedConversation(trail)
        self._kept.append(kept)
        return kept

    def _make_room(self) -> None:
        while len(self._kept) > 1 and (len(self._kept) > self._most or self._size > self._room):
            self._size -= len(self._kept.pop(0).body)


class Heads:
    """The encoded beginnings of requests, which stay the same from round to round."""

    def __init__(self, system: Callable[[str], bytes], tools: Callable[[tuple[ToolSpec, ...]], bytes]) -> None:
        self._encode_system = system
        self._encode_tools = tools
        self._systems: dict[str, bytes] = {}
        self._tools: dict[int, tuple[tuple[ToolSpec, ...], bytes]] = {}

    def system(self, text: str) -> bytes:
        known = self._systems.get(text)
        if known is None:
            if len(self._systems) >= MOST:
                self._systems.clear()
            known = self._systems[text] = self._encode_system(text)
        return known

    def tools(self, specs: tuple[ToolSpec, ...]) -> bytes:
        """Kept by their number: one set serves all rounds, and a smaller one the last."""
        known = self._tools.get(len(specs))
        if known is None or known[0] != specs:
            known = self._tools[len(specs)] = (specs, self._encode_tools(specs))
        return known[1]
