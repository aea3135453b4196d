"""Images that models can be shown. Only complete ones: a provider rejects a conversation with a broken one in it."""

from __future__ import annotations

from struct import error as TooShort
from struct import unpack_from

from msgspec import Struct

LARGEST = 3_700_000
"""Bytes: what the strictest provider takes, since encoding adds a third."""
WIDEST = 8_000
"""Pixels of a side, likewise."""
_NOT_FRAMES = frozenset({0xC4, 0xC8, 0xCC})
"""Markers in the range of JPEG frame starts that are not."""


class ImageInfo(Struct, frozen=True):
    kind: str
    """Its media type."""
    width: int
    height: int

    @property
    def says(self) -> str:
        return f"{self.kind.partition('/')[2].upper()}, {self.width} × {self.height} pixels"


def read_image_info(raw: bytes) -> ImageInfo | None:
    """What a file's bytes show; None for what is not an image, or not a complete one."""
    for kind, find in (
        ("png", _read_png_size),
        ("jpeg", _read_jpeg_size),
        ("gif", _read_gif_size),
        ("webp", _read_webp_size),
    ):
        try:
            found = find(raw)
        except TooShort:
            continue
        if found and min(found) > 0:
            return ImageInfo(f"image/{kind}", *found)
    return None


def _read_png_size(raw: bytes) -> tuple[int, int] | None:
    whole = raw.startswith(b"\x89PNG\r\n\x1a\n") and raw[12:16] == b"IHDR" and raw[-8:-4] == b"IEND"
    return unpack_from(">II", raw, 16) if whole else None


def _read_gif_size(raw: bytes) -> tuple[int, int] | None:
    whole = raw[:6] in (b"GIF87a", b"GIF89a") and raw.endswith(b";")
    return unpack_from("<HH", raw, 6) if whole else None


def _read_jpeg_size(raw: bytes) -> tuple[int, int] | None:
    if not raw.startswith(b"\xff\xd8\xff") or not raw.rstrip(b"\0").endswith(b"\xff\xd9"):
        return None
    at = 2
    while True:
        mark, marker, length = unpack_from(">BBH", raw, at)
        if mark != 0xFF:
            return None
        if 0xC0 <= marker <= 0xCF and marker not in _NOT_FRAMES:
            height, width = unpack_from(">HH", raw, at + 5)
            return width, height
        at += 2 + max(length, 2)


def _read_webp_size(raw: bytes) -> tuple[int, int] | None:
    if raw[:4] != b"RIFF" or raw[8:12] != b"WEBP" or len(raw) < unpack_from("<I", raw, 4)[0] + 8:
        return None
    match raw[12:16]:
        case b"VP8 ":
            width, height = unpack_from("<HH", raw, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = unpack_from("<I", raw, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = (int.from_bytes(raw[at : at + 3], "little") + 1 for at in (24, 27))
            return width, height
    return None
