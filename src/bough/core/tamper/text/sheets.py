"""One file of tests as text: its tests with what they assert, skip and work with, and what stands around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from bough.core.tamper import files
from bough.core.tamper.text import literals
from bough.core.tamper.text.languages import LANGUAGES, Language
from bough.core.tamper.text.scan import STRING, balanced, line_at, nesting, rx, statement_end, uncommented, values
from bough.core.tamper.wording import short

MOST = 2_000
"""Tests of one file that are looked at."""
FAR = 20_000
"""Characters from a file's start up to which it is asked what a test stands in."""
_SAID = r"\b(?:t\.(?:Error|Fatal|Log|Skip)\w*|console\.\w+|print\w*!?|log\.\w+|fmt\.\w+|panic!|puts|echo)\s*\(?[^\n]*"
_LEAVES = r"\bif\b[^{};\n]*\{?\s*return\s*;?\s*(?=[\n}])"
_LOADED = r"\b(?:require|import)\s*\([^)]*\)"
_CONDITION = r"\b(?:if|while|switch|match|catch|else)\b|(?:&&|\|\||\?\?|\?)\s*(?:[\w$.]+\s*(?:=>)?\s*)?$"
_NOTHING = r"(?:\[\s*\]\s*\.\w+|\bof\s*\[\s*\]\s*\)|\bin\s+0\.\.0|;\s*false\s*;\s*\))\s*$"
_DEFERRED = r"\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|nextTick|then|catch|on|once)\s*$"


class Unit(Struct, eq=False):
    """One test as text."""

    path: str
    title: str
    line: int
    text: str
    """Without comments, blanks squeezed."""
    around: str = ""
    """The same of the whole file."""
    assertions: list[str] = []
    unreachable: int = 0
    values: set[str] = set()
    skips: Counter[str] = field(default_factory=Counter)
    swallows: int = 0
    leaves: int = 0
    """Places where it may return early."""
    guarded: list[str] = []
    """For each assertion what it depends on: a condition, a handler, a timer. Empty: nothing."""


class Sheet(Struct, eq=False):
    """One file as text."""

    path: str
    units: list[Unit] = []
    loose: Counter[str] = field(default_factory=Counter)
    """Skip marks outside of single tests."""
    only: Counter[str] = field(default_factory=Counter)
    tricks: Counter[str] = field(default_factory=Counter)
    assertions: int = 0
    lines: dict[str, int] = {}
    """Where what is counted stands first."""

    def count(self, counter: Counter[str], said: str, text: str, position: int) -> None:
        counter[said] += 1
        self.lines.setdefault(said, line_at(text, position))


def read(path: str, text: str, language: str) -> Sheet:
    kind = LANGUAGES[language]
    sheet = Sheet(path)
    plain = uncommented(literals.plain(text, language), kind.comment)
    starts = list(rx(kind.test).finditer(plain))[:MOST]
    spans, around = [], " ".join(plain.split())
    for index, match in enumerate(starts):
        following = starts[index + 1].start() if index + 1 < len(starts) else len(plain)
        title, end = _title(match, plain, language), _end(match, plain, kind, following)
        if title is not None:
            start = _above(plain, match.start(), kind)
            spans.append((start, end))
            sheet.units.append(_unit(path, title, plain, start, end, kind, match))
            sheet.units[-1].around = around
    for found in rx(kind.loose or kind.skip).finditer(plain):
        if not any(start <= found.start() < end for start, end in spans):
            sheet.count(sheet.loose, found[0].strip(), plain, found.start())
    for found in rx(kind.only).finditer(plain) if kind.only else []:
        sheet.count(sheet.only, found[0].strip(), plain, found.start())
    _tricks(sheet, text if language == "go" else plain, kind, language)
    sheet.assertions = len(rx(kind.assertion).findall(plain))
    return sheet


def _tricks(sheet: Sheet, text: str, kind: Language, language: str) -> None:
    if kind.trick and (language != "rust" or files.in_tests(sheet.path)):
        for found in rx(kind.trick).finditer(text):
            if not (found[0].startswith("func TestMain") and ".Run()" in text):
                sheet.count(sheet.tricks, short(found[0], 60), text, found.start())
    if language == "javascript":
        _mocks(sheet, text)
    elif language == "rust":
        _own_versions(sheet, text)


def _mocks(sheet: Sheet, plain: str) -> None:
    """A mock of the very module that the file imports."""
    for found in re.finditer(r"(?:jest|vi)\.(?:mock|doMock)\(\s*['\"](\.[^'\"]*)['\"]", plain):
        if len(re.findall(rf"['\"]{re.escape(found[1])}['\"]", plain)) > 1:
            sheet.count(sheet.tricks, f"a mock of {found[1]}", plain, found.start())


def _own_versions(sheet: Sheet, plain: str) -> None:
    """Functions among the tests of a Rust file that are called as one beside them: the tests would use those."""
    first = plain.find("mod tests")
    if first < 0:
        return
    beside = set(re.findall(r"\bfn\s+(\w+)", plain[:first]))
    for found in re.finditer(r"\bfn\s+(\w+)", plain[first:]):
        if found[1] in beside:
            sheet.count(sheet.tricks, f"fn {found[1]} beside the tests", plain, first + found.start())
    for found in re.finditer(r"\buse\s+(?:super|crate)::(\w+)::(?:\*|\{?[^;]*)", plain[first:]):
        taken = "*" in found[0] or set(re.findall(r"\w+", found[0])) & beside
        if taken and f"mod {found[1]}" in plain[:first]:
            sheet.count(sheet.tricks, " ".join(found[0].split()), plain, first + found.start())


def _title(match: re.Match[str], plain: str, language: str) -> str | None:
    groups = match.groupdict()
    if language != "javascript":
        return groups.get("title") or groups.get("name")
    position = match.end()
    if ".each" in match[0] or ".for" in match[0]:
        position = balanced(plain, position)
        while position < len(plain) and plain[position] in " \n\t":
            position += 1
    opened = rx(rf"\(\s*({STRING})").match(plain, position)
    return opened[1][1:-1] if opened is not None else None


def _end(match: re.Match[str], plain: str, kind: Language, following: int) -> int:
    if kind.block == "next":
        return following
    if kind.block == "indent":
        indent = len(match[0]) - len(match[0].lstrip())
        after = plain.find("\n", match.end())
        found = rx(rf"^[ \t]{{0,{indent}}}\S").search(plain, after + 1) if after >= 0 else None
        return found.start() if found is not None else len(plain)
    opening = match.end()
    if kind.block == "braces":
        brace = plain.find("{", opening)
        return balanced(plain, brace if brace >= 0 else opening)
    inside = plain[opening : opening + 1] not in "(`"
    end = balanced(plain, plain.rfind("(", match.start(), opening) if inside else opening)
    while plain[end : end + 1] == "(":
        end = balanced(plain, end)
    return end


def _above(plain: str, start: int, kind: Language) -> int:
    if not kind.above:
        return start
    while start > 0:
        previous = plain.rfind("\n", 0, start - 1) + 1
        line = plain[previous : max(start - 1, previous)]
        if not rx(kind.above).fullmatch(line):
            break
        start = previous
    return start


def _unit(path: str, title: str, plain: str, start: int, end: int, kind: Language, match: re.Match[str]) -> Unit:
    block = plain[start:end]
    unit = Unit(path, title, line_at(plain, match.start()), " ".join(block.split()))
    go, bracketed = kind is LANGUAGES["go"], kind.block in ("braces", "call")
    cut = _early_return(plain[match.end() : end]) if bracketed else None
    offset = match.end() - start
    for position, said in _asserted(block, kind):
        if bracketed and not go and (guard := _guard(block, offset, position)):
            unit.guarded.append(guard)
        if cut is not None and position > offset + cut:
            unit.unreachable += 1
        else:
            unit.assertions.append(said)
    unit.skips = Counter(found[0].strip() for found in rx(kind.skip).finditer(block))
    if kind.block == "call" and match.start() < FAR and (guard := _guard(plain, 0, match.start())):
        unit.skips[guard] += 1
    unit.swallows = len(rx(kind.swallow).findall(block)) if kind.swallow else 0
    if go and not re.search(r"\.Wait\(\)|<-", block):
        unit.swallows += len(re.findall(r"\bgo\s+func\b", block))
    unit.leaves = len(re.findall(_LEAVES, block))
    unit.values = values(re.sub(_SAID, "", re.sub(_LOADED, "", block.replace(title, "", 1))))
    return unit


def _guard(block: str, start: int, position: int) -> str:
    """What stands between a test and an assertion of it: `if (…)`, `setTimeout(`; empty: nothing."""
    stack: list[int] = []
    for found in rx(STRING + r"|[(){}\[\]]").finditer(block, start, position):
        if found[0] in "([{":
            stack.append(found.start())
        elif found[0] in ")]}" and stack:
            stack.pop()
    for at in (*stack, position):
        # The statement so far: what is in brackets that were closed again is no statement of its own.
        head = whole = block[max(start, at - 300) : at]
        while (closed := rx(r"[\[{(][^\[\](){}]*[\])}](?!\s*$)|\([^\[\](){}]*\)").sub("", head)) != head:
            head = closed
        head = rx(r"[;{}]").split(head)[-1]
        if rx(f"{_CONDITION}|{_DEFERRED}").search(head) or _over_nothing(whole, block) or _uncalled(head, block):
            return " ".join((whole[-40:].split("\n")[-1] + block[at : at + 30].split("\n")[0]).split())
    return ""


def _over_nothing(head: str, block: str) -> bool:
    """It is the head of a loop over `[]`, or over a list by the name of one that stays empty."""
    through = rx(r"\bof\s+(\w+)\s*\)\s*$|(\w+)\.\w+\s*$").search(head)
    if through is None:
        return rx(_NOTHING).search(head) is not None
    name = through[1] or through[2]
    return re.search(rf"\b{name}\s*=\s*\[\s*\]", block) is not None and f"{name}.push" not in block


def _uncalled(head: str, block: str) -> bool:
    """It is the head of a function that nobody calls."""
    made = rx(r"\b(?:const|let|var)\s+_?(\w+)\s*=[^=]*(?:=>|\|)|\bfunction\s+(\w+)\s*$").search(head)
    return made is not None and len(re.findall(rf"\b_?{made[1] or made[2]}\b", block)) < 2


def _asserted(block: str, kind: Language) -> Iterator[tuple[int, str]]:
    """Assertions as they are written, up to the end of the statement; in Go with the condition they depend on."""
    for found in rx(kind.assertion).finditer(block):
        end = statement_end(block, found.start())
        awaited = re.search(r"\b(?:await|return)\s+$", block[: found.start()][-20:])
        said = ("await " if awaited else "") + " ".join(block[found.start() : end].split())
        if re.match(r"[tb]\.(?:Error|Fatal|Fail)", said):
            condition = re.search(r"if\s+([^{}]*)\{\s*$", block[: found.start()])
            said = f"if {' '.join(condition[1].split())}" if condition is not None else said
        yield found.start(), said.rstrip(";, ")


def _early_return(body: str) -> int | None:
    """Where a test returns on its outermost level."""
    returns = nesting(body, also=r"\breturn\b\s*;?\s*(?=[\n}])", brackets="{}")
    return next((found.start() for found, depth in returns if depth == 1 and found[0].startswith("return")), None)
