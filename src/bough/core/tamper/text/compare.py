"""Tests of other languages, and Python that is no tree, compared as text: tests, marks, assertions and values."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.text.asserted import NUMBER, STRING, defined, weakened
from bough.core.tamper.text.languages import LANGUAGES, Language, rx
from bough.core.tamper.wording import short

ALIKE = 0.8
MOST = 2_000
"""Tests of one file that are looked at."""
_SAID = re.compile(
    r"\b(?:t\.(?:Error|Fatal|Log|Skip)\w*|console\.\w+|print\w*!?|log\.\w+|fmt\.\w+|panic!|puts|echo)\s*\(?[^\n]*"
)
_LEAVES = re.compile(r"\bif\b[^{};\n]*\{?\s*return\s*;?\s*(?=[\n}])")
_LOADED = re.compile(r"\b(?:require|import)\s*\([^)]*\)")


class Unit(Struct, eq=False):
    """One test as text."""

    path: str
    title: str
    line: int
    text: str
    """Without comments, blanks squeezed."""
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


def compare(language: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Tampering]:
    """The changed files of one language."""
    kind = LANGUAGES[language]
    was = [read(path, text, kind, language) for path, text in before.items()]
    now = [read(path, text, kind, language) for path, text in after.items()]
    yield from _marks(was, now)
    old, new = [u for sheet in was for u in sheet.units], [u for sheet in now for u in sheet.units]
    yield from _units(old, new, defined(after) - defined(before))
    if not old:
        yield from _assertion_counts(was, now)


def read(path: str, text: str, kind: Language, language: str) -> Sheet:
    sheet = Sheet(path)
    plain = uncommented(text, kind.comment)
    starts = list(rx(kind.test).finditer(plain))[:MOST]
    spans = []
    for index, match in enumerate(starts):
        following = starts[index + 1].start() if index + 1 < len(starts) else len(plain)
        title, end = _title(match, plain, language), _end(match, plain, kind, following)
        if title is None:
            continue
        start = _above(plain, match.start(), kind)
        spans.append((start, end))
        sheet.units.append(_unit(path, title, plain, start, end, kind, match))
    _file_marks(sheet, plain, kind, spans)
    if kind.trick and (language != "rust" or files.in_tests(path)):
        source = text if language == "go" else plain
        for found in rx(kind.trick).finditer(source):
            if found[0].startswith("func TestMain") and re.search(r"\.Run\(\)", source):
                continue
            sheet.tricks[short(found[0], 60)] += 1
            sheet.lines.setdefault(short(found[0], 60), _line(source, found.start()))
    if language == "javascript":
        _mocks(sheet, plain)
    elif language == "rust":
        _own_versions(sheet, plain, spans)
    sheet.assertions = len(rx(kind.assertion).findall(plain))
    return sheet


def _mocks(sheet: Sheet, plain: str) -> None:
    """A mock of the very module that the file imports."""
    for found in re.finditer(r"(?:jest|vi)\.(?:mock|doMock)\(\s*['\"](\.[^'\"]*)['\"]", plain):
        said = f"a mock of {found[1]}"
        if len(re.findall(rf"['\"]{re.escape(found[1])}['\"]", plain)) > 1:
            sheet.tricks[said] += 1
            sheet.lines.setdefault(said, _line(plain, found.start()))


def _own_versions(sheet: Sheet, plain: str, spans: list[tuple[int, int]]) -> None:
    """Functions among the tests of a Rust file that are called as one beside them: the tests would use those."""
    first = plain.find("mod tests")
    if first < 0:
        return
    beside = set(re.findall(r"\bfn\s+(\w+)", plain[:first]))
    for found in re.finditer(r"\bfn\s+(\w+)", plain[first:]):
        if found[1] in beside:
            said = f"fn {found[1]} beside the tests"
            sheet.tricks[said] += 1
            sheet.lines.setdefault(said, _line(plain, first + found.start()))
    for found in re.finditer(r"\buse\s+(?:super|crate)::(\w+)::(?:\*|\{?[^;]*)", plain[first:]):
        if f"mod {found[1]}" in plain[:first] and set(re.findall(r"\w+", found[0])) & beside | ({"*"} & {*found[0]}):
            said = " ".join(found[0].split())
            sheet.tricks[said] += 1
            sheet.lines.setdefault(said, _line(plain, first + found.start()))


def _file_marks(sheet: Sheet, plain: str, kind: Language, spans: list[tuple[int, int]]) -> None:
    for found in rx(kind.loose or kind.skip).finditer(plain):
        if not any(start <= found.start() < end for start, end in spans):
            said = found[0].strip()
            sheet.loose[said] += 1
            sheet.lines.setdefault(said, _line(plain, found.start()))
    for found in rx(kind.only).finditer(plain) if kind.only else []:
        said = found[0].strip()
        sheet.only[said] += 1
        sheet.lines.setdefault(said, _line(plain, found.start()))


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def uncommented(text: str, comment: str) -> str:
    """The text without comments; line breaks stay. Strings are stepped over."""
    if comment == "//":
        pattern = re.compile(STRING.pattern + r"|//[^\n]*|/\*[\s\S]*?\*/")
    else:
        pattern = re.compile(STRING.pattern + r"|(?<![\w$&])#(?![\[{])[^\n]*")

    def blank(found: re.Match[str]) -> str:
        said = found[0]
        return said if said[0] in "\"'`" else "\n" * said.count("\n")

    return pattern.sub(blank, text)


def _title(match: re.Match[str], plain: str, language: str) -> str | None:
    groups = match.groupdict()
    if language != "javascript":
        return groups.get("title") or groups.get("name")
    position = match.end()
    if ".each" in match[0] or ".for" in match[0]:
        position = _balanced(plain, position)
        while position < len(plain) and plain[position] in " \n\t":
            position += 1
    string = STRING.match(plain, position + 1 + len(plain[position + 1 :]) - len(plain[position + 1 :].lstrip()))
    return string[0][1:-1] if string is not None and plain[position : position + 1] == "(" else None


def _balanced(text: str, position: int) -> int:
    """The end of the bracket or template that opens at or after a position."""
    if text[position : position + 1] == "`":
        string = STRING.match(text, position)
        return string.end() if string is not None else len(text)
    depth = 0
    for found in re.compile(STRING.pattern + r"|[(){}\[\]]").finditer(text, position):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
            if depth <= 0:
                return found.end()
    return len(text)


def _end(match: re.Match[str], plain: str, kind: Language, following: int) -> int:
    if kind.block == "next":
        return following
    if kind.block == "indent":
        indent = len(match[0]) - len(match[0].lstrip())
        dedent = re.compile(rf"^[ \t]{{0,{indent}}}\S", re.M)
        after = plain.find("\n", match.end())
        found = dedent.search(plain, after + 1) if after >= 0 else None
        return found.start() if found is not None else len(plain)
    opening = match.end()
    if kind.block == "braces":
        brace = plain.find("{", opening)
        return _balanced(plain, brace if brace >= 0 else opening)
    end = _balanced(
        plain, plain.rfind("(", match.start(), opening) if plain[opening : opening + 1] not in "(`" else opening
    )
    while plain[end : end + 1] == "(":
        end = _balanced(plain, end)
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
    unit = Unit(path, title, _line(plain, match.start()), " ".join(block.split()))
    cut = _early_return(plain[match.end() : end]) if kind.block in ("braces", "call") else None
    offset = match.end() - start
    bracketed = kind.block in ("braces", "call") and kind is not LANGUAGES["go"]
    for found in _asserted(block, kind):
        if bracketed and (guard := _guard(block, offset, found[0])):
            unit.guarded.append(guard)
        if cut is not None and found[0] > offset + cut:
            unit.unreachable += 1
        else:
            unit.assertions.append(found[1])
    unit.skips = Counter(found[0].strip() for found in rx(kind.skip).finditer(block))
    unit.swallows = len(rx(kind.swallow).findall(block)) if kind.swallow else 0
    if kind is LANGUAGES["go"] and not re.search(r"\.Wait\(\)|<-", block):
        unit.swallows += len(re.findall(r"\bgo\s+func\b", block))
    unit.leaves = len(_LEAVES.findall(block))
    silent = _SAID.sub("", _LOADED.sub("", block.replace(title, "", 1)))
    unit.values = {found[0] for found in STRING.finditer(silent)}
    unit.values |= {found[0] for found in NUMBER.finditer(STRING.sub('""', silent))}
    return unit


_OPENERS = re.compile(STRING.pattern + r"|[(){}\[\]]")
_CONDITION = re.compile(r"\b(?:if|while|switch)\s*$|\b(?:catch|else)\b[^{}]*$|\?\s*$|&&\s*$")
_DEFERRED = re.compile(r"\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|nextTick|then|catch|on|once)\s*$")


def _guard(block: str, start: int, position: int) -> str:
    """What stands between a test and an assertion of it: `if (…)`, `setTimeout(`; empty: nothing."""
    stack: list[tuple[int, str]] = []
    closed = ""
    for found in _OPENERS.finditer(block, start, position):
        if found[0] in "([{":
            head = block[max(0, found.start() - 200) : found.start()]
            stack.append((found.start(), closed if found[0] == "{" and head.rstrip().endswith(")") else head))
        elif found[0] in ")]}" and stack:
            at, head = stack.pop()
            closed = head
            after = block[found.end() : position].strip()
            if found[0] == ")" and not after and re.search(r"\bif\s*$", head):
                return " ".join(f"if {block[at : found.end()]}".split())
    for at, head in stack:
        if _CONDITION.search(head) or _DEFERRED.search(head):
            return " ".join((head[-30:].split("\n")[-1] + block[at : at + 30].split("\n")[0]).split())
    return ""


def _asserted(block: str, kind: Language) -> Iterator[tuple[int, str]]:
    """Assertions as they are written, up to the end of the statement; in Go with the condition they depend on."""
    for found in rx(kind.assertion).finditer(block):
        end = _statement_end(block, found.start())
        awaited = re.search(r"\b(?:await|return)\s+$", block[: found.start()][-20:])
        said = ("await " if awaited else "") + " ".join(block[found.start() : end].split())
        if re.match(r"[tb]\.(?:Error|Fatal|Fail)", said):
            condition = re.search(r"if\s+([^{}]*)\{\s*$", block[: found.start()])
            said = f"if {' '.join(condition[1].split())}" if condition is not None else said
        yield found.start(), said.rstrip(";, ")


def _statement_end(block: str, position: int) -> int:
    depth = 0
    for found in re.compile(STRING.pattern + r"|[(){}\[\];\n]").finditer(block, position):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
            if depth < 0:
                return found.start()
        elif depth == 0 and (found[0] == ";" or _line_ends(found, block)):
            return found.start()
    return len(block)


def _line_ends(found: re.Match[str], block: str) -> bool:
    """A line break that is not followed by the rest of a chain."""
    return found[0] == "\n" and not re.match(r"\s*[.?:&|]", block[found.end() : found.end() + 200])


def _early_return(body: str) -> int | None:
    """Where a test returns on its outermost level."""
    depth = 0
    for found in re.compile(STRING.pattern + r"|[{}]|\breturn\b\s*;?\s*(?=[\n}])").finditer(body):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
        elif found[0].startswith("return") and depth == 1:
            return found.start()
    return None


def _marks(was: list[Sheet], now: list[Sheet]) -> Iterator[Tampering]:
    """Skip marks around tests, marks that leave out all others, and tricks, that are new."""
    for name, reason in (("loose", "is new: tests are skipped"), ("only", "is new: other tests are not run")):
        before = sum((getattr(sheet, name) for sheet in was), Counter[str]())
        for sheet in now:
            for said, count in getattr(sheet, name).items():
                fresh = name == "loose" and sheet.path not in {old.path for old in was}
                if count > before[said] and not fresh:
                    yield Tampering(sheet.path, sheet.lines.get(said, 0), f"`{short(said, 60)}` {reason}")
                before[said] -= count
    known = {sheet.path: sheet for sheet in was}
    for sheet in now:
        old = known.get(sheet.path, Sheet(sheet.path)).tricks
        for said, count in sheet.tricks.items():
            mocked = said.startswith(("a mock of", "//go:build", "// +build")) and sheet.path not in known
            if count > old[said] and not mocked:
                yield Tampering(sheet.path, sheet.lines.get(said, 0), f"`{said}` is new: it bends the test run")


def _units(old: list[Unit], new: list[Unit], own: frozenset[str]) -> Iterator[Tampering]:
    """`own`: functions that came with the tests."""
    left = list(new)
    pairs: list[tuple[Unit, Unit]] = []
    for rule in (_same_place, _same_title, _same_text):
        taken = {id(was) for was, _ in pairs}
        for was in old:
            if id(was) not in taken:
                found = next((now for now in left if rule(was, now)), None)
                if found is not None:
                    left.remove(found)
                    pairs.append((was, found))
    taken = {id(was) for was, _ in pairs}
    gone = [was for was in old if id(was) not in taken]
    spare = Counter(said for unit in left for said in unit.assertions)
    loose = {value for unit in left for value in unit.values}
    for was in gone:
        renamed = max(left, key=lambda now: _alike(was, now), default=None)
        if renamed is not None and _alike(was, renamed) >= ALIKE:
            left.remove(renamed)
            pairs.append((was, renamed))
        elif not (was.assertions and not Counter(was.assertions) - spare):
            yield Tampering(was.path, 0, f"test {short(was.title, 60)} was removed")
    for was, now in pairs:
        yield from _unit_changes(was, now, spare, loose, own)


def _same_place(was: Unit, now: Unit) -> bool:
    return was.path == now.path and was.title == now.title


def _same_title(was: Unit, now: Unit) -> bool:
    return was.title == now.title


def _same_text(was: Unit, now: Unit) -> bool:
    return was.text.replace(was.title, "", 1) == now.text.replace(now.title, "", 1)


def _alike(was: Unit, now: Unit) -> float:
    return difflib.SequenceMatcher(None, was.text[:2_000], now.text[:2_000], autojunk=False).ratio()


def _unit_changes(
    was: Unit, now: Unit, spare: Counter[str], loose: set[str], own: frozenset[str]
) -> Iterator[Tampering]:
    title = short(was.title, 60)
    marks = now.skips - was.skips
    if marks:
        yield Tampering(now.path, now.line, f"test {title} is now marked `{short(next(iter(marks)), 60)}`")
        return
    if was.text == now.text:
        return
    if now.unreachable > was.unreachable and len(now.assertions) < len(was.assertions):
        yield Tampering(
            now.path, now.line, f"assertions of test {title} can no longer be reached: it returns before them"
        )
        return
    for count, what in (
        (now.swallows - was.swallows, "a failure in test {} is now caught"),
        (now.leaves - was.leaves, "test {} may now return before its assertions"),
    ):
        if count > 0 and was.assertions:
            yield Tampering(now.path, now.line, what.format(title))
    free, free_now = len(was.assertions) - len(was.guarded), len(now.assertions) - len(now.guarded)
    if len(now.guarded) > len(was.guarded) and free_now < free:
        guard = next((g for g in now.guarded if g not in was.guarded), now.guarded[0])
        yield Tampering(now.path, now.line, f"an assertion of test {title} now depends on `{short(guard, 60)}`")
        return
    lost = list(((Counter(was.assertions) - Counter(now.assertions)) - spare).elements())
    fresh = list((Counter(now.assertions) - Counter(was.assertions)).elements())
    named = False
    for said in lost:
        clause = weakened(said, fresh, own, now.text)
        if clause:
            named = True
            yield Tampering(now.path, now.line, f"test {title}: {clause}")
    missing = was.values - now.values - loose - {"-1"}
    if missing and not named:
        gained = sorted(now.values - was.values)[:3]
        became = f"became {', '.join(gained)}" if gained else "is gone"
        what = f"what test {title} works with changed: {', '.join(sorted(missing)[:3])} {became}"
        yield Tampering(now.path, now.line, what)


def _assertion_counts(was: list[Sheet], now: list[Sheet]) -> Iterator[Tampering]:
    """Files in which no single test was recognised: at least as many assertions as before."""
    before, after = sum(sheet.assertions for sheet in was), sum(sheet.assertions for sheet in now)
    if after < before and was:
        path = was[0].path
        yield Tampering(path, 0, f"{path} has fewer assertions: {before} before, {after} now")
