"""A goal or a message, read once into numbered requirements: by a model's list, compared with the text's own form."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.judge_ruling import find_quote
from bough.core.acceptance.requirements import Kind, Requirement
from bough.core.planning.plan import Step

MOST = 60
"""The maximum number of requirements of a goal; if it has more, neighbours are grouped."""


class GoalReading(Struct, frozen=True):
    """A goal as read: every character belongs to a requirement, or to a passage that asks for nothing."""

    requirements: tuple[Requirement, ...] = ()
    background: tuple[str, ...] = ()
    """Passages that ask for nothing: headings, and what a model called background."""


class NamedKind(Struct, frozen=True):
    """A passage that does not ask for new behaviour, as a model names it."""

    begins: str
    """Its first words."""
    kind: str
    """`background`, or a `Kind`."""


_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?\S")
_HEADING = re.compile(r" {0,3}(?:#{1,6}\s|(\*\*|__)[^*_\n]+\1\s*$)")
_FENCE = re.compile(r"\s*(```|~~~)")
_LEAD = re.compile(r"[^:.!?\n]{1,60}:(?=\s)")
"""The subject of a list item, which its other sentences share."""
_GAP = re.compile(r"(?<=[.!?])[\"')\]`]*\s+")
_OPENING = re.compile(r"[\"'(\[`]*[\w`$@.-]*\w")
"""Beginning of a sentence, also with an identifier, which has no capital."""
_NOT_AN_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|a\.k\.a|etc|vs|cf|resp|approx|ca|no|nr|fig|eq|sec|incl|excl|esp|max|min|dept|mr|mrs|dr|st)|\.\.)\.$"
    r"|(?-i:(?:^|[A-Z][\w.]*\s)[A-Z]\.$)",
    re.IGNORECASE,
)
"""Abbreviations, and initials after a name."""
_DUTY = re.compile(r"\b(?:should|must|shall)\b", re.IGNORECASE)
"""Words of a demand that no model can call background."""
_WISH = re.compile(r"\b(?:(?<!you )wants?|would (?:like|prefer|expect)|please)\b", re.IGNORECASE)
"""Words of a wish, which may be mere politeness."""
_ENDS = re.compile(r"[.!?][\"')\]`*_]*\s*$")
"""End of a sentence, which a heading, a row of a table or a line of a log does not have."""
_ASIDE = re.compile(
    r"\W*(?:hi|hello|hey|dear|thanks|thank you|cheers|(?:kind |best )?regards|great|nice)\b[^.!?:`]{0,60}\W*"
    r"|\W*why\b[^.!`]*(?:`[^`]*`[^.!`]*)*\?\W*"
    r"|\W{0,20}(?:\S{1,60}\s+){0,4}(?:tests?|checks?|suite|build|CI)\b[^.!?:`]{0,60}"
    r"\b(?:fails?|failing|(?:is|are) (?:red|broken|failing))\b[^.!?:`]{0,40}[.!]?\s*"
    r"|\W*(?:please )?(?:make|get|let) (?:[a-z]+ ){0,4}(?:cases?|tests?|checks?|probes?|suite) pass(?: again)?\W*",
    re.IGNORECASE,
)
"""A greeting, thanks, a question why, or a sentence that only says that tests fail or should pass: beside a demand, no
demand."""
_GOES_ON = re.compile(r"(?<!\band)(?<!\bor)(?<!\bbut)(?<!\bthen)(?<=[\w`])$")
"""Part of a sentence that the next part completes."""
_CONDITION = re.compile(r"(?:with|without|when|while|if|for|in|on|after|before|given)\b[^.!?]*:", re.IGNORECASE)
_EMPTY = re.compile(r"\W*(?:\w+\s+){0,2}(?:it|this|that|them|these|those)\W*", re.IGNORECASE)
"""`Fix it.`: a sentence that asks for what the sentence before names."""
_QUOTED = re.compile(
    r'(?<![\w"])"(?=\S)[^"]{0,400}(?<=\S)"(?![\w"])'
    r"|“[^”]{0,400}”|`[^`\n]{1,400}`|(?<![\w'])'(?=\S)[^'\n]{1,400}(?<=\S)'(?![\w'])"
)
"""Quoted text: one thing, even with commas, line breaks or ends of sentences."""
_FENCED = re.compile(r"(```|~~~).*?(\1|\Z)", re.DOTALL)


class _Block(Struct, frozen=True):
    kind: Literal["prose", "item", "heading", "code"]
    start: int
    end: int
    within: str = ""


def read_goal(
    goal: Step, starts: Sequence[str] = (), kinds: Sequence[NamedKind] = (), *, beside: bool = False
) -> GoalReading:
    """Split a goal into requirements and passages that ask for nothing, by its form (criteria, list items, sentences)
    and by a model's list: the first words of each requirement, and the passages of another kind than behaviour.
    `beside`: it stands beside the demands of an earlier goal, so that it may ask for nothing itself."""
    text = goal.instructions
    if goal.steps or goal.criteria:
        return GoalReading(_name_kinds(_list_plan_requirements(goal), text, kinds))
    form = _split_by_form(text)
    idle = [*_find_places(text, [one.begins for one in kinds if one.kind == "background"])]
    asked = [one.begins for one in kinds if one.kind != "background"]
    places = sorted({*_find_places(text, starts), *_find_places(text, asked)})
    places = sorted({*places, *_list_siblings(form, places, idle)})
    blocks = _refine(text, form, places)
    asking = [block for block in blocks if block.kind != "code"]
    kept = [block for block in asking if _is_asked(text, block, places, idle)]
    kept = kept or ([] if beside else asking or blocks)
    demands = [block for block in kept if not _ASIDE.fullmatch(text, block.start, block.end)]
    kept = demands or ([] if beside else kept)
    others = [text[block.start : block.end] for block in blocks if block not in kept]
    headings = [text[each.start : each.end] for each in _split_blocks(text) if each.kind == "heading"]
    return GoalReading(_name_kinds(_number_blocks(text, kept), text, kinds), (*headings, *others))


def _list_siblings(form: Sequence[_Block], places: Sequence[int], idle: Sequence[int]) -> Iterator[int]:
    """List the beginnings of list items that a model forgot: it named another item of the same list as a requirement,
    and did not call these background."""
    for kind, group in groupby(form, lambda block: block.kind):
        items = list(group)
        forgotten = [block for block in items if not _is_listed(block, places)]
        if kind == "item" and len(forgotten) < len(items):
            yield from (block.start for block in forgotten if not _is_listed(block, idle))


def _is_listed(block: _Block, places: Sequence[int]) -> bool:
    return any(block.start - 3 <= at < block.end for at in places)


def _is_asked(text: str, block: _Block, places: Sequence[int], idle: Sequence[int]) -> bool:
    """Whether a passage asks for something: a model lists it, or it is worded as a demand, even if a model calls it
    background. A passage that the model does not mention asks for something if it is a whole sentence; without a
    model's list, every passage does."""
    passage = text[block.start : block.end]
    if _is_listed(block, places):
        return True
    if _is_listed(block, idle):
        return is_stated(passage, wish=not places)
    return not places or is_stated(passage) or (block.kind == "prose" and _ENDS.search(passage) is not None)


def is_stated(text: str, wish: bool = True) -> bool:
    """Whether a passage is worded as a demand, or as a wish, outside of its code and its quotations."""
    own = _QUOTED.sub("…", _FENCED.sub("…", text))
    return _DUTY.search(own) is not None or (wish and _WISH.search(own) is not None)


def _find_places(text: str, starts: Sequence[str]) -> Iterator[int]:
    """Find the requirements' places by the first words that a model names, in order; a list item may be one word."""
    last = 0
    for words in starts:
        found = find_quote(words, text[last:], 1) if len(words) > 2 else None
        place = last + found.start() if found else (other.start() if (other := find_quote(words, text)) else -1)
        # A quotation is found by its words, so an opening mark (`, ", *) lies before its place.
        begins = len(text[: max(place, 0)].rstrip("`\"'*_"))
        if place >= 0 and not text[:begins][-1:].isalnum():
            last = max(last, place)
            yield begins


def _name_kinds(found: tuple[Requirement, ...], text: str, kinds: Sequence[NamedKind]) -> tuple[Requirement, ...]:
    """Set the kinds that a model named, each for the requirement in which the named passage begins."""
    for named in kinds:
        place = find_quote(named.begins, text)
        if named.kind == "background" or named.kind not in get_args(Kind):
            continue
        found = tuple(
            replace(one, kind=named.kind)
            if (place is not None and one.start <= place.start() < one.end) or find_quote(named.begins, one.text)
            else one
            for one in found
        )
    return found


def _split_by_form(text: str) -> list[_Block]:
    """Split a text into list items and sentences. A condition above a list (`With --dry-run:`) belongs to its items."""
    blocks: list[_Block] = []
    opener = ""
    for block in _split_sentences(text):
        before = text[blocks[-1].start : blocks[-1].end].strip() if blocks else ""
        if block.kind == "prose":
            opener = ""
        elif blocks and blocks[-1].kind == "prose" and _CONDITION.fullmatch(before) and not is_stated(before):
            opener = before
            blocks.pop()
        if blocks and _EMPTY.fullmatch(_strip_mark(text[block.start : block.end])):
            blocks[-1] = replace(blocks[-1], end=block.end)
        else:
            blocks.append(replace(block, within=opener))
    return blocks


def _refine(text: str, blocks: Sequence[_Block], places: Sequence[int]) -> list[_Block]:
    """Cut the blocks where a model says that a requirement begins."""
    found: list[_Block] = []
    for block in blocks:
        fenced = text.find("```", block.start, block.end)
        end = fenced if fenced >= 0 else block.end
        cuts = [at for at in places if block.start + 3 < at < end and not _is_quoted(text, at)]
        lead = _LEAD.match(_strip_mark(text[block.start : block.end]))
        within = about = lead[0] if lead else block.within
        named = any(block.start <= at <= block.start + 3 for at in places)
        for a, b in pairwise([block.start, *cuts, block.end]):
            item, opener = text[a:b].rstrip(), ""
            if a == block.start and b < block.end and not named and _GOES_ON.search(item):
                item, opener = "", item  # `it should add` demands nothing before its end.
            elif b < block.end and item.endswith((":", "(")):
                # `blocks (headings, lists), inlines (links)`: the opening of an enumeration belongs to its items.
                item, _, opener = item.rpartition("), ") if a > block.start else ("", "", item)
            item = re.sub(r"[\s,;]+(?:and|but|then|[-*+])$", "", item) if b < block.end else item
            if within and a > block.start:
                item = re.sub(r"[\s,;]+(?:and|or)?$", "", item.rstrip(").") if within.endswith("(") else item)
            if item:
                around = within.rstrip(" (") if a > block.start else block.within
                found.append(replace(block, start=a, end=a + len(item), within=around))
            if opener:
                within = _strip_mark(opener) if a == block.start else f"{about} {opener}".strip()
    return found


@lru_cache(maxsize=4)
def _find_quoted(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _QUOTED.finditer(text)]


def _is_quoted(text: str, at: int) -> bool:
    spans = _find_quoted(text)
    before = bisect_left(spans, (at, 0)) - 1
    return before >= 0 and at < spans[before][1]


def _list_plan_requirements(goal: Step) -> tuple[Requirement, ...]:
    """List the requirements of a written plan: the goal's criteria; if it has none, the criteria of its steps;
    otherwise those of the goal's text."""
    texts = [("", criterion) for criterion in goal.criteria] or list(_walk_criteria(goal.steps, ()))
    if not texts:
        return _number_blocks(goal.instructions, _split_by_form(goal.instructions))
    found = []
    for number, (path, text) in enumerate(texts, 1):
        place = find_quote(text, goal.instructions)
        found.append(Requirement(number, text, *(place.span() if place else (0, 0)), step=path))
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
            said = _strip_mark(stretch)
            found.append(Requirement(len(found) + 1, said, start, start + len(stretch), within=group[0].within))
    return tuple(found)


def _strip_mark(text: str) -> str:
    """Return the text without its list marker."""
    return re.sub(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?", "", text).strip()


def _split_sentences(text: str) -> Iterator[_Block]:
    """Split a text into the sentences of its prose and the items of its lists. Code belongs to the text before it; code
    right below a heading or at the beginning asks for nothing."""
    last: _Block | None = None
    below = True
    for block in _split_blocks(text):
        if block.kind == "heading":
            below = True
            continue
        pieces = [block] if block.kind == "item" else list(_cut_block(text, block))
        for piece in pieces:
            if _is_code(text, piece):
                if last is not None and not below:
                    last = replace(last, end=piece.end)
                    continue
                piece = replace(piece, kind="code")
            below = False
            if last is not None:
                yield last
            last = piece
    if last is not None:
        yield last


def _is_code(text: str, block: _Block) -> bool:
    """Whether a passage is only code: fenced, or indented below a blank line."""
    lines = text[text.rfind("\n", 0, block.start) + 1 : block.end].splitlines()
    fenced = bool(_FENCE.match(lines[0])) and bool(_FENCE.match(lines[-1]))
    return fenced or (
        block.kind == "prose" and all(not line.strip() or line.startswith(("    ", "\t")) for line in lines)
    )


def _cut_block(text: str, block: _Block) -> Iterator[_Block]:
    start = block.start
    if "```" in text[block.start : block.end] or "~~~" in text[block.start : block.end] or _is_code(text, block):
        yield block
        return
    for gap in _GAP.finditer(text, block.start, block.end):
        begins = _OPENING.match(text, gap.end())
        if begins and not _NOT_AN_END.search(text, start, gap.start()) and not _is_quoted(text, gap.end()):
            yield _Block("prose", start, gap.start())
            start = gap.end()
    yield _Block("prose", start, block.end)


def _split_blocks(text: str) -> Iterator[_Block]:
    """Split a text into paragraphs, list items with all that is indented below them, and headings."""
    kind: Literal["prose", "item", ""] = ""
    start = at = end = depth = 0
    fenced = blank = False
    for line in text.splitlines(keepends=True):
        fence, empty = bool(_FENCE.match(line)), not line.strip()
        indent = len(line) - len(line.lstrip(" \t"))
        below = kind == "item" and indent > depth + 1
        item = bool(_ITEM.match(line)) and not below
        plain = not item and not _HEADING.match(line)
        goes_on = fenced or below or (kind and ((plain and not blank) or _is_quoted(text, at)))
        if not empty and not goes_on:
            if kind:
                yield _Block(kind, start, end)
            start, depth, kind = at, indent, "item" if item else "prose"
            if _HEADING.match(line):
                yield _Block("heading", at, at + len(line.rstrip()))
                kind = ""
        at += len(line)
        blank = empty or (fenced and fence and kind == "prose")  # What follows code is another paragraph.
        fenced = fenced != fence
        end = at - len(line) + len(line.rstrip()) if not empty else end
    if kind:
        yield _Block(kind, start, end)
