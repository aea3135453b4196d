"""The tool `edit`, which replaces an exact text in a file. The rest of the file keeps its bytes, line ends included."""

import re
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from bough.adapters.tools import paths
from bough.adapters.tools.files import is_binary, load_file
from bough.adapters.tools.output_text import cut_line, cut_middle, pluralize
from bough.adapters.tools.tool import Bench, Refusal, Tool, run_in_thread
from bough.ports import ToolResult

_AROUND = 2
"""How many lines are shown before and after a change."""
_SHOWN = 2_000
"""The most characters that are shown of a change, or of the passage that is most like a text that was not found."""
_NAMED = 20
"""The most matches whose line numbers are listed."""


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file.", min_length=1)]
    old: Annotated[
        str,
        Meta(description="The text to replace, exactly as in the file, without line numbers."),
    ]
    new: Annotated[str, Meta(description="The text to put in its place.")]
    all: Annotated[bool, Meta(description="Replace every occurrence of `old`.")] = False


def edit(arguments: Edit, bench: Bench) -> ToolResult:
    place = paths.resolve_path(bench.workspace, arguments.path, writing=True)
    if not arguments.old:
        raise Refusal("`old` is empty: give the text to replace, or use `write` for a new file.", fault=True)
    raw = load_file(place, bench)
    if is_binary(raw):
        raise Refusal(f"`{place.shown}` is a binary file, not text: it cannot be edited.")
    text = raw.decode("utf-8", "surrogateescape")  # bytes that are not UTF-8 are written back unchanged
    old, new = _adapt_line_ends(text, arguments)
    if old == new:
        raise Refusal("`old` and `new` are the same: nothing to change.")
    count = text.count(old)
    if count == 0:
        raise Refusal(_explain_not_found(place, text, arguments.old))
    if count > 1 and not arguments.all:
        places = [text.count("\n", 0, found.start()) + 1 for found in islice(re.finditer(re.escape(old), text), _NAMED)]
        lines = f"{', '.join(map(str, places))}{' …' if count > _NAMED else ''}"
        raise Refusal(
            f"`old` occurs {count} times in `{place.shown}`, at lines {lines}: give more of the text around the one "
            "you mean, or set `all` to true to replace every one."
        )
    paths.write_bytes(place, text.replace(old, new).encode("utf-8", "surrogateescape"))
    return ToolResult(_describe_change(place, text, old, new, count))


def _adapt_line_ends(text: str, arguments: Edit) -> tuple[str, str]:
    """Give `old` and `new` the file's line ends if they are all CRLF: `read` hides them, so the model writes LF."""
    crlf = text.count("\r\n")
    if not crlf or crlf != text.count("\n"):
        return arguments.old, arguments.new
    old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (arguments.old, arguments.new))
    return old, new


def _explain_not_found(place: paths.WorkspacePath, text: str, old: str) -> str:
    lines = text.splitlines()
    found = paths.find_passage(lines, old.strip("\r\n").splitlines())
    if found is None:
        return f"`old` does not occur in `{place.shown}`, nor anything like it: `read` it again and copy it exactly."
    start, end, white = found
    shown, _ = cut_middle("\n".join(cut_line(line, 500) for line in lines[start:end]), _SHOWN)
    how = "It differs only in white space from" if white else "The closest place is"
    lined = f"line {end}, which is" if end == start + 1 else f"lines {start + 1}-{end}, which are"
    return (
        f"`old` does not occur in `{place.shown}`. {how} {lined} exactly:\n{shown}\n"
        "(Copy the text to replace from there, without line numbers.)"
    )


def _describe_change(place: paths.WorkspacePath, text: str, old: str, new: str, count: int) -> str:
    """Show the first change: the lines above it, the old lines, the new lines, and the lines below it."""
    at = text.find(old)
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at + len(old))
    end = len(text) if end < 0 else end
    before, after = text[begin:at], text[at + len(old) : end]
    was, now = (f"{before}{part}{after}".split("\n") for part in (old, new))
    if end == len(text) and was[-1] == now[-1] == "":  # The last empty part is the end of the file, not an empty line.
        was, now = was[:-1], now[:-1]
    above = text[max(0, begin - 4_000) : begin].splitlines()
    below = text[end + 1 : end + 4_000].splitlines()
    # Models repeat unchanged lines in `old` and `new` to make `old` unique: show these as context, not as changed.
    line = text.count("\n", 0, at) + 1
    while was and now and was[0] == now[0]:
        line += 1
        above.append(was.pop(0))
        now.pop(0)
    while was and now and was[-1] == now[-1]:
        below.insert(0, was.pop())
        now.pop()
    often = "" if count == 1 else f" {count} times, first"
    marked = [("  ", above[-_AROUND:]), ("- ", was), ("+ ", now), ("  ", below[:_AROUND])]
    lines = [f"{mark}{cut_line(each.removesuffix(chr(13)), 300)}" for mark, part in marked for each in part]
    shown, _ = cut_middle("\n".join(lines), _SHOWN)
    removed, added = (pluralize(len(part), "line") for part in (was, now))
    return f"Edited {place.shown}{often} at line {line} ({removed} became {added}):\n{shown}"


EDIT = Tool(
    name="edit",
    description=(
        "Replace text in a file: `old`, which must be exactly as in the file and (unless `all`) occur exactly once, "
        "with `new`. Include enough surrounding lines to make it unique."
    ),
    arguments=Edit,
    example='{"path": "src/app.py", "old": "x = 1\\n", "new": "x = 2\\n"}',
    writes=True,
    act=run_in_thread(edit),
)
