"""A goal or a message, read once into numbered requirements: by a model's list, compared with the text's own form."""

import re
from collections.abc import Iterator, Sequence
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
    kind: str
    """`background`, or a `Kind`."""


_MARK = r"(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?\S"
_HEADING = r" {0,3}(?:#{1,6}\s|(?:\*\*|__)[^*_\n]+(?:\*\*|__)[ \t\r]*$)"
_GOES_ON = rf"\n(?! {{0,3}}{_MARK}|{_HEADING})(?=.*\S).+"
_BELOW = rf"\n(?:[ \t\r]*\n)*(?P=margin)[ \t]{{2,}}\S.*|{_GOES_ON}"
_BLOCK = re.compile(
    rf"(?m)^(?:(?P<item>(?P<margin> {{0,3}}){_MARK}.*(?:{_BELOW})*)|(?P<heading>{_HEADING}.*)"
    rf"|(?P<prose>.*\S.*(?:(?<!\0){_GOES_ON})*))"
)
"""A list item with all that is indented below it, a heading, or a paragraph with the code that ends it."""
_GAP = re.compile(r"(?<=[.!?])[\"')\]`]*\s+")
_OPENING = re.compile(r"[\"'(\[`“]*[\w`$@.-]*\w")
"""Beginning of a sentence, also with an identifier, which has no capital."""
_NOT_AN_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|no)|\.\.)\.$", re.IGNORECASE)
_DUTY = re.compile(r"\b(?:should|must|shall)\b", re.IGNORECASE)
"""Words of a demand that no model can call background."""
_WISH = re.compile(r"\b(?:(?<!you )wants?|would (?:like|prefer|expect)|please)\b", re.IGNORECASE)
"""Words of a wish, which may be mere politeness."""
_ENDS = re.compile(r"[.!?][\"')\]`*_]*\s*$")
"""End of a sentence, which a heading, a row of a table or a line of a log does not have."""
_ASIDE = re.compile(
    r"\W*(?:hi|hello|hey|dear|thanks|thank you|cheers|great|nice)\b[^.!?:`]{0,60}\W*|\W*why\b[^!]*\?\W*"
    r"|\W{0,20}(?:\S{1,60}\s+){0,4}(?:tests?|checks?|suite|build|CI)\b[^.!?:`]{0,60}"
    r"\b(?:fails?|failing|(?:is|are) (?:red|broken|failing))\b[^.!?:`]{0,40}[.!]?\s*"
    r"|\W*(?:please )?(?:make|get|let) (?:[a-z]+ ){0,4}(?:cases?|tests?|checks?|probes?|suite) pass(?: again)?\W*",
    re.IGNORECASE,
)
"""A greeting, thanks, a question why, or that tests fail or should pass: beside a demand, no demand."""
_JOINT = re.compile(r"(?:^|[\s,;]+)(?:and|or|but|then|[-*+])$")
"""Pattern for what joins a demand to the next one in its sentence."""
_EMPTY = re.compile(r"\W*(?:\w+\s+){0,2}(?:it|this|that|them|these|those)\W*", re.IGNORECASE)
"""`Fix it.`: a sentence that asks for what the sentence before names."""
_QUOTED = re.compile(
    r'(?<![\w"])"(?=\S)[^"]{0,400}(?<=\S)"(?![\w"])'
    r"|“[^”]{0,400}”|`[^`\n]{1,400}`|(?<![\w'])'(?=\S)[^'\n]{1,400}(?<=\S)'(?![\w'])"
)
"""Quoted text: one thing, even with commas, line breaks or ends of sentences."""
_FENCED = re.compile(r"(?s)(?<!\S)(```|~~~).*?(?:\1|\Z)")
_CODE, _COVER = "\0", "\u02d1"
"""Characters that cover fenced code, and the inside of quotations: no text has them, and nothing is cut there."""


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
    `beside`: the goal adds to the demands of an earlier one, so it may ask for nothing itself."""
    text = goal.instructions
    if listed := [("", one) for one in goal.criteria] or list(_walk_criteria(goal.steps, "")):
        spans = ((path, one, find_quote(one, text)) for path, one in listed)
        found = [Requirement(0, one, *(at.span() if at else (0, 0)), step=path) for path, one, at in spans]
        return GoalReading(_name_kinds(found, kinds))
    plain = _cover(text)
    form = _split_by_form(plain)
    idle = [*_find_places(text, [one.begins for one in kinds if one.kind == "background"])]
    asked = [one.begins for one in kinds if one.kind != "background"]
    places = sorted({*_find_places(text, starts), *_find_places(text, asked)})
    places = sorted({*places, *_list_siblings(form, places, idle)})
    blocks = list(_refine(text, plain, form, places))
    asking = [block for block in blocks if block.kind in ("prose", "item")]
    kept = [block for block in asking if _is_asked(text, block, places, idle)]
    kept = kept or ([] if beside else asking or blocks)
    kept = [one for one in kept if not _ASIDE.fullmatch(text, one.start, one.end)] or ([] if beside else kept)
    others = tuple(text[block.start : block.end] for block in sorted({*blocks} - {*kept}, key=lambda one: one.start))
    return GoalReading(_name_kinds(_join_blocks(text, kept), kinds), others)


def _cover(text: str) -> str:
    """Return the text, as long as it was, with its code and its quotations made unreadable."""
    text = _FENCED.sub(lambda code: _CODE * len(code[0]), text)
    return _QUOTED.sub(lambda quoted: _cover_quotation(quoted[0]), text)


def _cover_quotation(text: str) -> str:
    end = 2 if " " in text else 1  # Several words may be a sentence, whose end ends the one around it; `"."` is none.
    return text[0] + _COVER * (len(text) - 1 - end) + text[-end:]


def _list_siblings(form: Sequence[_Block], places: Sequence[int], idle: Sequence[int]) -> Iterator[int]:
    """List where items begin that a model forgot: it named another of the list, and did not call these background."""
    for kind, group in groupby(form, lambda block: block.kind):
        items = list(group)
        forgotten = [block for block in items if not _is_listed(block, places)]
        if kind == "item" and len(forgotten) < len(items):
            yield from (block.start for block in forgotten if not _is_listed(block, idle))


def _is_listed(block: _Block, places: Sequence[int]) -> bool:
    return any(block.start - 3 <= at < block.end for at in places)


def _is_asked(text: str, block: _Block, places: Sequence[int], idle: Sequence[int]) -> bool:
    """Whether a passage asks for something: a model lists it, or it is worded as a demand whatever a model calls it, or
    it is a whole sentence that the model does not mention. Without a model's list, every passage does."""
    passage = text[block.start : block.end]
    if _is_listed(block, places):
        return True
    if _is_listed(block, idle):
        return is_stated(passage, wish=not places)
    return not places or is_stated(passage) or (block.kind == "prose" and _ENDS.search(passage) is not None)


def is_stated(text: str, wish: bool = True) -> bool:
    """Whether a passage is worded as a demand, or as a wish, outside of its code and its quotations."""
    own = _cover(text)
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


def _name_kinds(found: Sequence[Requirement], kinds: Sequence[NamedKind]) -> tuple[Requirement, ...]:
    """Number the requirements, and set the kinds that a model named."""
    known = [one for one in reversed(kinds) if one.kind != "background" and one.kind in get_args(Kind)]
    named = [next((each.kind for each in known if find_quote(each.begins, one.text)), one.kind) for one in found]
    numbered = enumerate(zip(found, named, strict=True), 1)
    return tuple(replace(one, number=number, kind=kind) for number, (one, kind) in numbered)


def _split_by_form(plain: str) -> list[_Block]:
    """Split a covered text into headings, list items and sentences. Code belongs to the text before it; code right
    below a heading or at the beginning asks for nothing."""
    found: list[_Block] = []
    for block in _split_blocks(plain):
        lines = plain[block.start : block.end].splitlines()
        indented = block.kind == "prose" and all(not one.strip() or one.startswith(("    ", "\t")) for one in lines)
        for piece in [block] if indented or block.kind != "prose" else _cut_block(plain, block):
            said = plain[piece.start : piece.end]
            code = indented or not said.strip(f"{_CODE} \t\n")
            follows = bool(found) and found[-1].kind != "heading"
            if follows and (code or _EMPTY.fullmatch(_strip_mark(said))):
                found[-1] = replace(found[-1], end=piece.end)
            else:
                found.append(replace(piece, kind="code") if code else piece)
    return found


def _refine(text: str, plain: str, blocks: Sequence[_Block], places: Sequence[int]) -> Iterator[_Block]:
    """Cut the blocks where a model says that a requirement begins. An unfinished beginning (`It should add`, `The keys
    are:`) that the model does not name demands nothing by itself, and is said of all that follow in its block."""
    for block in blocks:
        cuts = [at for at in places if block.start + 3 < at < block.end and plain[at] not in (_CODE, _COVER)]
        named, within = any(block.start <= at <= block.start + 3 for at in places), ""
        for a, b in pairwise([block.start, *cuts, block.end]):
            item = plain[a:b].rstrip()
            opens = item.endswith((":", "(")) or not (named or _JOINT.search(item) or re.search(r"[^\w`]$", item))
            if a == block.start and cuts and opens:
                within = _strip_mark(text[a:b]).rstrip(" (")
                continue
            item = _JOINT.sub("", item) if b < block.end else item
            if item := item.rstrip(" ,;") if within else item:
                yield replace(block, start=a, end=a + len(item), within=within)


def _walk_criteria(steps: Sequence[Step], above: str) -> Iterator[tuple[str, str]]:
    for step in steps:
        yield from ((above + step.name, criterion) for criterion in step.criteria)
        yield from _walk_criteria(step.steps, f"{above}{step.name}/")


def _join_blocks(text: str, blocks: Sequence[_Block]) -> list[Requirement]:
    """Make a requirement of each block or, if there are too many, of several neighbours."""
    size = -(-len(blocks) // MOST) or 1
    groups = [blocks[at : at + size] for at in range(0, len(blocks), size)]
    spans = [(group[0].start, group[-1].end, group[0].within) for group in groups]
    return [Requirement(0, _strip_mark(text[a:b]), a, b, within=within) for a, b, within in spans]


def _strip_mark(text: str) -> str:
    return re.sub(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?", "", text).strip()


def _cut_block(plain: str, block: _Block) -> Iterator[_Block]:
    start = block.start
    for gap in _GAP.finditer(plain, block.start, block.end):
        if _OPENING.match(plain, gap.end()) and not _NOT_AN_END.search(plain, start, gap.start()):
            yield _Block("prose", start, gap.start())
            start = gap.end()
    yield _Block("prose", start, block.end)


def _split_blocks(plain: str) -> Iterator[_Block]:
    for found in _BLOCK.finditer(plain):
        yield _Block(found.lastgroup, found.start(), found.start() + len(found[0].rstrip()))  # type: ignore[arg-type]
