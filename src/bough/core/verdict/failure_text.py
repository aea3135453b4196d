"""A failure in brief: which test, what it reported, and where, with the code lines around.

A bug hunter gets this and not the raw output: frames of runners and libraries are left out, and the failing line is
shown in context. Bounded, so that a thousand failures cost no more than ten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from bough.core.acceptance.verdict import Case
from bough.core.verdict.cases import cut_middle
from bough.core.verdict.registry import LANGUAGES

SIZE = 1_500
_AROUND = 3
_WIDEST = 160
_FOREIGN = "|".join(language.frames for language in LANGUAGES if language.frames)
_NOISE = "|".join(language.noise for language in LANGUAGES if language.noise)
_PLACE = r"(?:file://)?([^\s\"'()<>:,]+\.[A-Za-z]{1,5})(?:\", line |:)(\d{1,6})\b"
_EXCERPT = "  the code at "


def describe_failure(case: Case, read: Callable[[str], str | None], size: int = SIZE) -> str:
    """The failure as shown to the bug hunter, at most `size` characters. `read` gives a file of the workspace."""
    short = trim_case(case, read, size)
    return "\n".join(filter(None, [f"{short.outcome.upper()} {short.id}", short.message, short.trace]))[:size]


def trim_case(case: Case, read: Callable[[str], str | None], size: int = SIZE) -> Case:
    """The case with its message and trace cut down to what helps, the code around the failing line added."""
    first, _, rest = case.message.partition("\n")
    # pytest's message holds the whole comparison, which its trace shows again.
    message = cut_middle(first if rest.strip().split("\n")[-1] in case.trace else case.message, size // 3)
    frames = _keep_own_frames(case.trace.split("\n"))
    trace = "\n".join(_drop_repeat(frames, message)).strip("\n")
    # pytest shows the code itself, with a `>` before the line; a trimmed case already has it.
    shown = _EXCERPT in trace or re.search(r"^>  ", trace, re.MULTILINE)
    code = "" if shown else _make_excerpt(case, read)
    room = max(size - len(case.id) - len(message) - len(code) - 20, 200)
    return replace(case, message=message, trace="\n".join(filter(None, [cut_middle(trace, room), code])))


def _keep_own_frames(lines: Sequence[str]) -> list[str]:
    """The lines without those of frames in runners and libraries (for Python, with their code lines)."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if re.match(r' +File "|\S+:\d+: in ', line):
            inside = bool(re.search(_FOREIGN, line))
        elif not line.startswith("    "):
            inside = False
        foreign = re.search(_FOREIGN, line) and re.match(r"\s+(at |File )|/\S+:\d+: ", line)
        if not inside and not foreign and not re.match(_NOISE, line):
            kept.append(line[:_WIDEST])
    return kept


def _drop_repeat(lines: list[str], message: str) -> list[str]:
    """Many traces begin or end with the message, which is already shown."""
    for at in (-1, 0):
        if lines and message and lines[at].strip() == message:
            del lines[at]
    return lines


def _make_excerpt(case: Case, read: Callable[[str], str | None]) -> str:
    """The lines around the innermost place in the workspace's own files."""
    places = [
        (match[1], int(match[2])) for match in re.finditer(_PLACE, case.trace) if not re.search(_FOREIGN, match[0])
    ]
    # Python's traces end with the innermost frame; others begin with it.
    inwards = ", line " in case.trace or re.search(r"\.py:\d+: ", case.trace)
    for path, line in reversed(places) if inwards else places:
        for candidate in _list_candidates(path, case.id):
            text = read(candidate)
            if text is not None:
                return _format_around(candidate, text.splitlines(), line)
    return ""


def _list_candidates(path: str, name: str) -> list[str]:
    """Where a path of a trace may lie in the workspace. go gives only the file name; the test's id begins with its
    folder."""
    if path.startswith("/") or ".." in path.split("/"):
        return []
    folders = name.split("::")[0].split("/") if "/" not in path else []
    return ["/".join([*folders[at:], path]) for at in range(len(folders))] + [path.removeprefix("./")]


def _format_around(path: str, lines: Sequence[str], line: int) -> str:
    if not 0 < line <= len(lines):
        return ""
    first, last = max(line - _AROUND, 1), min(line + _AROUND, len(lines))
    shown = [
        f"  {'>' if at == line else ' '} {at:>4} | {lines[at - 1][:_WIDEST]}".rstrip() for at in range(first, last + 1)
    ]
    return "\n".join([f"{_EXCERPT}{path}:{line}:", *shown])
