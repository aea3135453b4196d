"""The fenced blocks of an answer, with the text around each that may say which file it is."""

from __future__ import annotations

import re

from msgspec import Struct

_FENCE = re.compile(r"^[ \t>*-]{0,6}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_NESTING = frozenset({"markdown", "md", "mdx"})
"""Languages whose text contains fences."""


class Block(Struct, frozen=True):
    info: str
    """What follows the opening fence."""
    text: str
    before: str
    """The last lines before it, if they are about it."""
    closed: bool = True

    @property
    def language(self) -> str:
        """The language tag; empty if there is none, or if it is a path."""
        found = re.match(r"\{?\.?([A-Za-z][\w+#-]*)", self.info)
        rest = self.info[found.end() :] if found else ""
        return found[1].lower() if found and not rest.startswith((".", "/", "\\")) else ""


def find_blocks(text: str) -> list[Block]:
    """All blocks in order. A last one that is never closed extends to the end."""
    lines = text.replace("\r\n", "\n").split("\n")
    fences = [n for n, line in enumerate(lines) if _FENCE.match(line)]
    only = _FENCE.match(lines[fences[0]]) if len(fences) == 1 else None
    if only is not None and not only[2].strip() and not "".join(lines[fences[0] + 1 :]).strip():
        # Only the end of a block: the answer began inside it.
        return [Block("", "\n".join(lines[: fences[0]]), "")] if fences[0] else []
    found: list[Block] = []
    at, after = 0, 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        end = _find_end(lines, at, opening)
        body = lines[at + 1 : end]
        indent = len(lines[at]) - len(lines[at].lstrip())
        body = [line[min(indent, len(line) - len(line.lstrip())) :] for line in body] if indent else body
        before = "\n".join(lines[after:at])
        # The last two lines of text before a block.
        words = [line.strip() for line in before.split("\n") if line.strip()]
        found.append(Block(opening[2].strip(), "\n".join(body), "\n".join(words[-2:]), closed=end < len(lines)))
        at = after = end + 1
    return found


def _find_end(lines: list[str], at: int, opening: re.Match[str]) -> int:
    """The line of the closing fence, or the end of the text."""
    mark, nests = opening[1], opening[2].strip().split(" ")[0].lower() in _NESTING
    inside = 0
    for n in range(at + 1, len(lines)):
        fence = _FENCE.match(lines[n])
        if fence is None or fence[1][0] != mark[0] or len(fence[1]) < len(mark):
            continue
        if fence[2].strip():
            if not nests:
                if re.fullmatch(r"[A-Za-z][\w+#.-]*([ :].*)?", fence[2].strip()):
                    return n - 1 if n - 1 > at else n  # The closing fence was forgotten.
                continue
            inside += 1
        elif inside:
            inside -= 1
        else:
            return n
    return len(lines)
