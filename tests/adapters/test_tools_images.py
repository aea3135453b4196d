"""Images: which files are some, and what `read` makes of them."""

from base64 import b64decode

import pytest

from bough.adapters.tools.files import read_image_info

IMAGES = {
    "png": "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAFUlEQVR4nGM8ISfHwMDAwMDAxAADABMuAQhqwGVhAAAAAElFTkSuQmCC",
    "gif": "R0lGODdhAwACAIEAAMgeHgAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7",
    "webp": "UklGRjAAAABXRUJQVlA4ICQAAABwAQCdASoDAAIADMDOJaACdAFAAAD+2iYRho1+LuxHGSQAAAA=",
    "lossless webp": "UklGRh4AAABXRUJQVlA4TBEAAAAvAkAAAAdQjyLXo/+BiOh/AAA=",
    "extended webp": (
        "UklGRlwAAABXRUJQVlA4WAoAAAAYAAAAAgAAAQAAQUxQSAcAAAAAWlpaWlpaAFZQOCAYAAAAMAEAnQEqAwACAAzAziWkAANwAP7sHYAARVhJRg4A"
        "AABNTQAqAAAACAAAAAAAAA=="
    ),
}
"""Three pixels wide, two high."""
JPEG = (
    b"\xff\xd8"
    b"\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
    b"\xff\xc4\x00\x04ab"  # a table, whose marker is among those of frames
    b"\xff%b\x00\x0b\x08\x00\x02\x00\x03\x01\x01\x11\x00"
    b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00data\xff\xd9"
)


def raws() -> dict[str, bytes]:
    found = {name: b64decode(text) for name, text in IMAGES.items()}
    return found | {"jpeg": JPEG % b"\xc0", "progressive jpeg": JPEG % b"\xc2"}


@pytest.mark.parametrize("name", raws())
def test_what_is_an_image(name: str) -> None:
    raw = raws()[name]
    found = read_image_info(raw)
    assert found is not None and (found.width, found.height) == (3, 2)
    assert found.kind == f"image/{name.split()[-1]}"
    # A part of one is none: a provider would refuse it. Nor does any cut raise.
    for end in range(len(raw) - 1):
        assert read_image_info(raw[:end]) is None, end


@pytest.mark.parametrize("raw", [b"", b"text", b"\0" * 40, b"\x89PNG", b"RIFF\0\0\0\0WEBPVP8 ", b"GIF89a\0\0\0\0;"])
def test_what_is_none(raw: bytes) -> None:
    assert read_image_info(raw) is None
