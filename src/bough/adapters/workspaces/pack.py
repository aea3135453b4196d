"""git's pack format, as far as bough writes it: whole objects, no deltas (version 2 of packs and of their indexes)."""

from __future__ import annotations

import hashlib
import struct
import zlib

_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3}


def build_pack(objects: dict[bytes, tuple[bytes, bytes]]) -> tuple[bytes, list[bytes], bytes]:
    """Name, pieces of the pack and its index for objects by id, each with kind and body."""
    pieces = [struct.pack(">4sII", b"PACK", 2, len(objects))]
    offset = len(pieces[0])
    places: dict[bytes, tuple[int, int]] = {}
    for id, (kind, body) in objects.items():
        piece = _encode_head(_KINDS[kind], len(body)) + zlib.compress(body, 1)
        places[id] = (zlib.crc32(piece), offset)
        pieces.append(piece)
        offset += len(piece)
    sum = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        sum.update(piece)
    pieces.append(sum.digest())
    return b"pack-" + sum.hexdigest().encode(), pieces, _build_index(places, sum.digest())


def _encode_head(kind: int, size: int) -> bytes:
    head = bytearray()
    byte, size = (kind << 4) | (size & 15), size >> 4
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    head.append(byte)
    return bytes(head)


def _build_index(places: dict[bytes, tuple[int, int]], pack_sum: bytes) -> bytes:
    ids = sorted(places)
    up_to = [0] * 256
    for id in ids:
        up_to[id[0]] += 1
    for first in range(1, 256):
        up_to[first] += up_to[first - 1]
    body = b"".join(
        [
            b"\xfftOc" + struct.pack(">I", 2),
            struct.pack(">256I", *up_to),
            *ids,
            *(struct.pack(">I", places[id][0]) for id in ids),
            *(struct.pack(">I", places[id][1]) for id in ids),
            pack_sum,
        ]
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
