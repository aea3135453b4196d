"""The tools `read` and `write`, which show a file and replace a whole file."""

from contextlib import suppress
from struct import error as TooShort
from struct import unpack_from
from typing import Annotated

from msgspec import Meta, Struct

from bough.adapters.tools import paths
from bough.adapters.tools.output_text import cut_line, format_size, pluralize
from bough.adapters.tools.tool import Bench, Refusal, Tool, run_in_thread
from bough.ports import ToolResult

BIGGEST = 32_000_000
"""The size in bytes of the largest file that `read` and `edit` accept."""
_LOOKED_AT = 8_192
"""How many bytes at the beginning of a file are searched for a NUL byte, which marks it as binary."""


class Read(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file.", min_length=1)]
    start: Annotated[int, Meta(description="The first line to show; lines count from 1.", ge=1)] = 1
    lines: Annotated[
        int, Meta(description="How many lines to show; 0: as many as fit into 16,000 characters.", ge=0)
    ] = 0


class Write(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file.", min_length=1)]
    content: Annotated[str, Meta(description="The whole content of the file.")]


def read(arguments: Read, bench: Bench) -> ToolResult:
    place = paths.resolve_path(bench.workspace, arguments.path)
    raw = load_file(place, bench)
    if not raw:
        return ToolResult(f"({place.shown} is empty)")
    if picture := read_image_info(raw):
        # A model that cannot see images gets only this text.
        pixels = f"{picture.kind.partition('/')[2].upper()}, {picture.width} × {picture.height} pixels"
        says = f"`{place.shown}` is an image ({pixels}, {format_size(len(raw))})"
        if len(raw) > LARGEST or max(picture.width, picture.height) > WIDEST:
            raise Refusal(f"{says}, too large to show: make a smaller copy with `bash`, and read that.")
        return ToolResult(f"({says})", whole=raw, image=picture.kind)
    if is_binary(raw):
        raise Refusal(
            f"`{place.shown}` is a binary file ({format_size(len(raw))}), not text: look at it with `bash` (file, xxd, "
            "strings)."
        )
    lines = raw.decode("utf-8", "replace").split("\n")
    unfinished = lines[-1] != ""
    if not unfinished:
        lines.pop()
    if arguments.start > len(lines):
        raise Refusal(f"`{place.shown}` has only {pluralize(len(lines), 'line')}: `start` must not be greater.")
    # Show as many of the requested lines as fit, numbered, and a last line that says where in the file they are.
    first = arguments.start - 1
    wished = lines[first : first + arguments.lines] if arguments.lines else lines[first:]
    room = max(bench.rules.shown - 200, 200)
    # One huge line must not crowd out the other lines, but a line that is shown alone may use all the room.
    longest = max(room // min(len(wished), 8) - 10, 60)
    page: list[str] = []
    for number, line in enumerate(wished, arguments.start):
        numbered = f"{number:>6}\t{cut_line(line.removesuffix(chr(13)), longest)}"
        room -= len(numbered) + 1
        if room < 0 and page:
            break
        page.append(numbered)
    return ToolResult("\n".join([*page, _describe_position(arguments, lines, first + len(page), unfinished)]))


def _describe_position(arguments: Read, lines: list[str], last: int, unfinished: bool) -> str:
    crlf = "; lines end in CRLF" if lines[0].endswith("\r") else ""
    if last < len(lines):
        asked = arguments.lines and last - arguments.start + 1 >= arguments.lines
        more = "" if asked else f"; that is as much as fits, continue with start={last + 1}"
        return f"(lines {arguments.start}-{last} of {len(lines):,}{crlf}{more})"
    end = "; no newline at the end" if unfinished else ""
    return f"(end of the file: {pluralize(len(lines), 'line')}{crlf}{end})"


def load_file(place: paths.WorkspacePath, bench: Bench) -> bytes:
    """Load a file's bytes. If it is missing or not a file, raise a `Refusal` that says so."""
    if not (what := place.beneath.kind):
        hint = paths.suggest_paths(place, bench.workspace) or " Look around with `list`."
        raise Refusal(f"There is no file `{place.shown}`.{hint}")
    if what == "folder":
        raise Refusal(f"`{place.shown}` is a folder: see what is in it with `list`.")
    if what != "file":
        raise Refusal(f"`{place.shown}` is a {what}, not a file.")
    return paths.read_bytes(place, BIGGEST)


def is_binary(raw: bytes) -> bool:
    return b"\0" in raw[:_LOOKED_AT]


def write(arguments: Write, bench: Bench) -> ToolResult:
    place = paths.resolve_path(bench.workspace, arguments.path, writing=True)
    content = arguments.content.encode()
    if not place.steps or arguments.path.endswith("/"):
        raise Refusal(f"`{arguments.path}` is a folder: give the path of a file.")
    before: bytes | None = None
    with suppress(OSError, Refusal):  # If the cause prevents writing, too, `write_bytes` reports it.
        before = paths.read_bytes(place, BIGGEST)
    try:
        paths.write_bytes(place, content)
    except NotADirectoryError:
        raise Refusal(
            f"`{place.shown}` cannot be written: something on the way to it is a file, not a folder."
        ) from None
    except IsADirectoryError:
        raise Refusal(f"`{place.shown}` is a folder: give the path of a file.") from None
    now = f"{pluralize(_count_lines(content), 'line')}, {format_size(len(content))}"
    if before is None:
        return ToolResult(f"Created {place.shown} ({now}).")
    same = " The content is unchanged." if before == content else ""
    return ToolResult(f"Rewrote {place.shown} ({now}; before: {pluralize(_count_lines(before), 'line')}).{same}")


def _count_lines(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


READ = Tool(
    name="read",
    description="Show a text file with line numbers. Long files come in pages: continue with `start`.",
    arguments=Read,
    example='{"path": "src/app.py", "start": 1, "lines": 200}',
    act=run_in_thread(read),
)
WRITE = Tool(
    name="write",
    description=(
        "Create a file, or replace an existing one. Missing folders are created. To change a part of a file, `edit` "
        "is shorter and safer."
    ),
    arguments=Write,
    example='{"path": "src/new.py", "content": "print(1)\\n"}',
    writes=True,
    act=run_in_thread(write),
)


LARGEST = 3_700_000
"""The largest image in bytes that the strictest provider accepts: its limit is for base64, which adds a third."""
WIDEST = 8_000
"""The longest side in pixels that the strictest provider accepts."""
_NOT_FRAMES = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG markers that lie among the frame markers (C0 to CF) but do not start a frame."""


class ImageInfo(Struct, frozen=True):
    """What a model must know of an image. Made for complete images only: providers reject conversations with broken
    ones."""

    kind: str
    """The media type, such as `image/png`."""
    width: int
    height: int


def read_image_info(raw: bytes) -> ImageInfo | None:
    """Read an image's type and size from a file's bytes. Return None if it is not an image, or an incomplete one."""
    size: tuple[int, int] | None
    try:
        if raw.startswith(b"\x89PNG\r\n\x1a\n") and raw[12:16] == b"IHDR" and raw[-8:-4] == b"IEND":
            kind, size = "png", unpack_from(">II", raw, 16)
        elif raw[:6] in (b"GIF87a", b"GIF89a") and raw.endswith(b";"):
            kind, size = "gif", unpack_from("<HH", raw, 6)
        elif raw.startswith(b"\xff\xd8\xff") and raw.rstrip(b"\0").endswith(b"\xff\xd9"):
            kind, size = "jpeg", _read_jpeg_size(raw)
        else:
            kind, size = "webp", _read_webp_size(raw)
    except TooShort:
        return None
    return ImageInfo(f"image/{kind}", *size) if size and min(size) > 0 else None


def _read_jpeg_size(raw: bytes) -> tuple[int, int] | None:
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
