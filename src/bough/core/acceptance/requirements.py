"""What a goal asks, read once into numbered requirements. Each is a stretch of the goal's own text, in full: what a
person wrote is never paraphrased, and nothing of it gets lost on the way to the agent that does it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.quotes import find_quote
from bough.core.planning.plan import Step

MOST = 60
"""Requirements of a goal at most; if it has more, neighbours are grouped."""
By = Literal["person", "model", "rule"]
"""Who split it: the person listed them, a model said where each begins, or the text's own form did."""


class Requirement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that the goal asks for."""

    number: int
    text: str
    start: int = 0
    """Where it is in the goal's text, in characters …"""
    end: int = 0
    """… up to here; 0: it is not in the text (a criterion)."""
    step: str = ""
    """In a written plan: the path of the step that has to meet it; empty: the step that says it covers it."""

    def __str__(self) -> str:
        return f"{self.number}. {' '.join(self.text.split())}"


# ── from a text ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?\S")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_FENCE = re.compile(r"\s*(```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]`]*\s+(?=[\"'(\[`]*[A-Z0-9`])")
_NOT_AN_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|no|fig)|\b[A-Z])\.$", re.IGNORECASE)


class _Block(Struct, frozen=True):
    kind: Literal["prose", "item", "heading"]
    start: int
    end: int


def list_given(goal: Step) -> tuple[Requirement, ...]:
    """What the person has listed themselves (criteria, a Markdown list), or a goal of one sentence; empty: a model has
    to read it."""
    if goal.steps or goal.criteria:
        return _list_plan_requirements(goal)
    blocks = list(_split_blocks(goal.instructions))
    if sum(block.kind == "item" for block in blocks) > 1:
        return _number_blocks(goal.instructions, [block for block in blocks if _is_request(goal.instructions, block)])
    sentences = list(_split_sentences(goal.instructions))
    return _number_blocks(goal.instructions, sentences) if len(sentences) == 1 else ()


def split_by_form(goal: Step) -> tuple[Requirement, ...]:
    """The same without a model, for any text: each item of a list, otherwise each sentence."""
    return list_given(goal) or _number_blocks(goal.instructions, list(_split_sentences(goal.instructions)))


def split_by_starts(text: str, starts: Sequence[str]) -> tuple[Requirement, ...]:
    """From the first words of each, as a model gives them. A requirement extends to where the next one begins, so that
    nothing in between gets lost. Words that are not in the text are left out."""
    sentences = list(_split_sentences(text))
    found: set[int] = set()
    for words in starts:
        place = find_quote(words, text)
        if place is not None:
            found.add(max((s.start for s in sentences if s.start <= place.start), default=place.start))
    begins = [*sorted(found), len(text)]
    return _number_blocks(text, [_Block("prose", start, end) for start, end in pairwise(begins)])


def _list_plan_requirements(goal: Step) -> tuple[Requirement, ...]:
    """For a written plan: the goal's criteria; if it has none, those of its steps; otherwise what the goal says."""
    texts = [("", criterion) for criterion in goal.criteria] or list(_walk_criteria(goal.steps, ()))
    if not texts:
        return _number_blocks(goal.instructions, list(_split_sentences(goal.instructions)))
    found = []
    for number, (path, text) in enumerate(texts, 1):
        place = find_quote(text, goal.instructions)
        at = (place.start, place.end) if place else (0, 0)
        found.append(Requirement(number, text, *at, step=path))
    return tuple(found)


def _walk_criteria(steps: Sequence[Step], above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for step in steps:
        path = (*above, step.name)
        yield from (("/".join(path), criterion) for criterion in step.criteria)
        yield from _walk_criteria(step.steps, path)


def _number_blocks(text: str, blocks: Sequence[_Block]) -> tuple[Requirement, ...]:
    size = -(-len(blocks) // MOST) or 1
    groups = [blocks[at : at + size] for at in range(0, len(blocks), size)]
    found: list[Requirement] = []
    for group in groups:
        start, end = group[0].start, group[-1].end
        stretch = re.sub(r"(\s*\n {0,3}#{1,6}\s[^\n]*)+\s*$", "", text[start:end]).rstrip()  # the next one's heading
        if stretch.strip():
            found.append(Requirement(len(found) + 1, _strip_mark(stretch), start, start + len(stretch)))
    return tuple(found)


def _strip_mark(text: str) -> str:
    """Without the list marker."""
    return re.sub(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?", "", text).strip()


def _is_request(text: str, block: _Block) -> bool:
    """A heading, or text that only introduces a list, asks for nothing on its own."""
    return block.kind == "item" or (block.kind == "prose" and not text[block.start : block.end].rstrip().endswith(":"))


def _split_sentences(text: str) -> Iterator[_Block]:
    """The sentences of its prose and the items of its lists. Code belongs to what precedes it."""
    last: _Block | None = None
    for block in _split_blocks(text):
        if block.kind == "heading":
            continue
        pieces = [block] if block.kind == "item" else list(_cut_block(text, block))
        for piece in pieces:
            if last is not None and _FENCE.match(text[piece.start : piece.end]):
                last = replace(last, end=piece.end)
                continue
            if last is not None:
                yield last
            last = piece
    if last is not None:
        yield last


def _cut_block(text: str, block: _Block) -> Iterator[_Block]:
    start = block.start
    if "```" in text[block.start : block.end] or "~~~" in text[block.start : block.end]:
        yield block
        return
    for gap in _SENTENCE.finditer(text, block.start, block.end):
        if not _NOT_AN_END.search(text, start, gap.start()):
            yield _Block("prose", start, gap.start())
            start = gap.end()
    yield _Block("prose", start, block.end)


def _split_blocks(text: str) -> Iterator[_Block]:
    """Paragraphs, list items with all that is indented below them, and headings."""
    kind: Literal["prose", "item", ""] = ""
    start = at = end = depth = 0
    fenced = blank = False
    for line in text.splitlines(keepends=True):
        fence, empty = bool(_FENCE.match(line)), not line.strip()
        indent = len(line) - len(line.lstrip(" \t"))
        below = kind == "item" and indent > depth + 1
        item = bool(_ITEM.match(line)) and not below
        goes_on = fenced or below or (kind and not blank and not item and not _HEADING.match(line))
        if not empty and not goes_on:
            if kind:
                yield _Block(kind, start, end)
            start, depth, kind = at, indent, "item" if item else "prose"
            if _HEADING.match(line):
                yield _Block("heading", at, at + len(line.rstrip()))
                kind = ""
        fenced = fenced != fence
        at += len(line)
        blank = empty
        end = at - len(line) + len(line.rstrip()) if not empty else end
    if kind:
        yield _Block(kind, start, end)


# ── who covers what ─────────────────────────────────────────────────────────────────────────────────────────────────


def list_covered(
    step: Step, path: str, around: Sequence[Requirement], siblings: Sequence[Step]
) -> tuple[Requirement, ...]:
    """Which of its parent's requirements a step has to meet. If no step of the plan says what it covers, every step has
    all of them."""
    if any(one.step for one in around):
        return tuple(one for one in around if not one.step or f"{one.step}/".startswith(f"{path}/"))
    if not any(other.covers for other in siblings):
        return tuple(around)
    return tuple(one for one in around if one.number in step.covers)


def find_coverage_problems(steps: Sequence[Step], around: Sequence[Requirement]) -> list[str]:
    """What is wrong with the coverage of a plan, in sentences for the planner. With one requirement nothing can be
    wrong: every step is for it."""
    if len(around) < 2:
        return []
    numbers = {one.number for one in around}
    found = [
        f"Step `{step.name}` covers requirement {number}, which does not exist: the numbers are "
        f"{', '.join(map(str, sorted(numbers)))}."
        for step in steps
        for number in step.covers
        if number not in numbers
    ]
    said = {number for step in steps for number in step.covers}
    found += [
        f"No step covers requirement {one.number} (`{' '.join(one.text.split())[:120]}`): list it in the `covers` "
        "of each step that it depends on."
        for one in around
        if one.number not in said
    ]
    return found


def render_requirements(requirements: Sequence[Requirement]) -> str:
    """As planners, engineers and examiners read them: in full."""
    return "\n".join(f"{one.number}. {one.text}" for one in requirements)
