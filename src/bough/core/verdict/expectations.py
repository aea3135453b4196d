"""Making expected values wrong, in any language: a literal that an assertion compares something with becomes another.

Only where it is certain that the assertion is evaluated and that it fails then: not below a branch, not in a negation,
and never the message that follows a condition. What these rules do not recognise stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from bough.core.verdict.language import Language, Spans

NUMBER = "7919"
_SMALL = 1000
"""A number up to here is falsified by the next one; for larger ones the tolerance of near equality is wider."""
_LITERAL = (
    r"(?<![\w.$@\"'])(?:-?\d[\d_]*(?:\.\d+)?\w*|\"(?:[^\"\\\n$#]|\\.|\$(?![\w({])|#(?!\{))*\"|'(?:[^'\\\n]|\\.)*'"
    r"|(?:true|false|True|False|nil|null|None)\b)"
)
_AROUND = (
    r"[\s,:&<>!%@?*\[\](){}]|=>|\b(?:as|new|Some|Ok|Just|vec|Array|List|Set|Map|of|listOf|BigDecimal|BigInt|Decimal"
    r"|std|string|[iuf]\d+|int|usize|char|long|double|float)\b"
)
"""What may stand around literals in a value."""
_BRANCH = (
    r"\b(?:if|else|elif|elsif|unless|for|foreach|while|until|catch|rescue|except|switch|case|when|match|loop|forEach|map"
    r"|filter|each|times)\b|=>\s*\{?\s*$|\|\s*\{?\s*$|\|\s*$"
)
_HEAD = r"\b(?:def|fn|func|fun|function|void|sub|test|it|specify|example|scenario|[Tt]ask|TEST\w*|async|static)\b"
_NEGATED = (
    r"(?i:\b(?:not|refute|isnt|doesnt|ne|never)\b|not_|_not|_ne\b|refute_|(?<=[a-z])isnt)|(?<=[a-z])Not(?=[A-Z])"
    r"|\bNot(?=[A-Z(])|!==?|/=|<>"
)
_EXPECTING = r"\b(?:want|expect|expected|exp)\w*[\"']?\s*(?::=|=(?!=)|:(?!:))\s*"
"""A name that says that something is compared with its value, before that value."""
_REFUSES = (
    r"\b(?:if|unless)\b(?!.*[^=!]==[^=]).*(?:!==?|-ne|<>|\bne\b|,)[ \t]*"
    r"(?!nil\b|null\b|None\b|true\b|false\b)(?P<value>LITERAL|[\w.-]+)[\"')\];} \t]*(?:\{|then|:)?[ \t]*(?:\n.*)?"
    r"(?:[Ff]ail|[Ff]atal|[Ee]rror|\bexit\b|\bdie\b|\bthrow\b|\braise\b|\bpanic|abort|return [1-9t-])"
).replace("LITERAL", _LITERAL)
"""A condition under which a test reports a failure itself."""
_EQUALS = r"(\s*(?:===?|=:=|\beq\b|-eq|(?<![=<>!~+*/-])=(?![=~>]))\s*)"
_TOKEN = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[()\[\]{},;#\n]|\|\||&&"
_LONGEST = 12
"""Lines of one assertion."""


def apply_changes(text: str, changes: Spans) -> str:
    for start, end, new in sorted(set(changes), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def make_other_value(value: object) -> object:
    """Another value of the same kind. As a literal: code that reads the tests should find it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}~{NUMBER}"
    if isinstance(value, bytes):
        return value + b"~"
    if isinstance(value, int | float):
        return value + 1 if abs(value) < _SMALL else value * 2 + 1
    return int(NUMBER)


def falsify_lines(text: str, wanted: set[str], script: bool, language: Language) -> tuple[Spans, set[str]]:
    """See `Language.falsify`."""
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    blocks = {"": (0, len(lines))} if script else {name: find_test(lines, name) for name in wanted}
    changes: Spans = []
    done: set[str] = set()
    for name, (first, last) in ((name, block) for name, block in blocks.items() if block is not None):
        # What is on the line of the name is its title, unless there is nothing else.
        for at in _list_certain_lines(lines, first if script or last == first + 1 else first + 1, last):
            statement = "".join(lines[at : min(at + _LONGEST, last)])
            if spans := list(_find_expected(statement, language)):
                changes += [(starts[at] + start, starts[at] + end, new) for start, end, new in spans]
                done.add(name)
    return changes, done


def find_test(lines: Sequence[str], name: str) -> tuple[int, int] | None:
    """The lines of the test of this name, when there is exactly one."""
    named = rf"([\"'`]){re.escape(name)}\1|(?<![\w.]){re.escape(name)}\s*(?:\(|\{{|=|:|$)"
    starts = rf"{_HEAD}|\bpublic\b"
    heads = [at for at, line in enumerate(lines) if name and re.search(named, line) and re.search(starts, line)]
    if not heads:  # a runner may put the titles of the groups around it in front
        titles = ((at, hit[2]) for at, line in enumerate(lines) for hit in re.finditer(r"([\"'`])(.{3,}?)\1", line))
        heads = [at for at, title in titles if name.endswith(title) and re.search(_HEAD, lines[at])]
    if len(heads) != 1:
        return None
    indent = _find_indent(lines[heads[0]])
    end = heads[0] + 1
    while end < len(lines) and (
        not lines[end].strip() or _find_indent(lines[end]) > indent or re.match(r"\s*[)\]}{]", lines[end])
    ):
        end += 1
        if re.match(r"\s*[)\]}]", lines[end - 1]) and _find_indent(lines[end - 1]) <= indent:
            break
    return heads[0], end


def _find_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _list_certain_lines(lines: Sequence[str], first: int, last: int) -> Iterator[int]:
    """The lines that every run of the test reaches: not below a branch, not after a return. The lines of a table that
    is looped over are reached as well."""
    above: list[str] = []
    top = min((_find_indent(line) for line in lines[first:last] if line.strip()), default=0)
    for at in range(first, last):
        line = lines[at]
        if not line.strip() or re.match(r"\s*(?:#(?!expect)|//|/?\*|--)", line):
            continue
        depth = _find_indent(line)
        above = [other for other in above if _find_indent(other) < depth]
        if not any(re.search(_BRANCH, other) for other in above):
            yield at
        if depth <= top and re.match(r"\s*(?:return|exit)\b", line):
            return
        above.append(line)


def _find_expected(text: str, language: Language) -> Iterator[tuple[int, int, str]]:
    """Expected values in the assertion that begins in the first line of a text."""
    line = text.partition("\n")[0]
    for found in re.finditer(_EXPECTING + f"(?P<value>{_LITERAL})", line):
        yield from _falsify(text, *found.span("value"))
    refuses = re.search(_REFUSES, "\n".join(text.split("\n")[:2]))
    if refuses is not None and refuses.start() < len(line):
        yield from _falsify(text, *refuses.span("value"), bare=language.scripts)
        return
    for found in re.finditer(rf"(?<![\w$])(?:{language.compares})!?(?=\s*\(|[ \t]+\S)", line):
        arguments = _split_arguments(text, found.end())
        if not re.search(_NEGATED, text[: found.end()].rpartition("\n")[2]) and arguments:
            given = bool(language.context) and re.fullmatch(language.context, text[slice(*arguments[0])]) is not None
            values = [span for span in arguments[given : given + 2] if _is_value(text[slice(*span)])]
            if len(values) == 1:
                yield from _falsify(text, *values[0])
                return
    for found in re.finditer(rf"(?<![\w$])(?:{language.asserts})!?(?=\s*\(|[ \t]+\S)", line):
        arguments = _split_arguments(text, found.end())
        if arguments and not re.search(_NEGATED, text[found.start() : arguments[0][1]]):
            start, stop = arguments[0]
            sides = re.split(_EQUALS, text[start:stop], maxsplit=2)
            if len(sides) == 3:
                spans = [(start, start + len(sides[0])), (stop - len(sides[2]), stop)]
                values = [span for span in spans if _is_value(text[slice(*span)])]
                if len(values) == 1:
                    yield from _falsify(text, *values[0], bare=language.scripts)
                    return


def _split_arguments(text: str, at: int) -> list[tuple[int, int]]:
    """The arguments of a call after its name, in brackets or up to the end of the line."""
    at += len(text[at:]) - len(text[at:].lstrip(" \t"))
    enclosed = text[at : at + 1] == "("
    start, end, found, open_now = at + enclosed, len(text), [], 0
    for token in re.compile(_TOKEN).finditer(text, start):
        if token[0] in ("(", "[", "{"):
            open_now += 1
        elif token[0] in (")", "]", "}"):
            open_now -= 1
        ends = open_now < 0 or (not enclosed and not open_now and token[0] in ("\n", ";", "#", "||", "&&"))
        if ends:
            end = token.start()
            break
        if token[0] == "," and not open_now:
            found.append((start, token.start()))
            start = token.end()
    return [_trim(text, *span) for span in (*found, (start, end)) if text[slice(*span)].strip()]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _is_value(text: str) -> bool:
    """Nothing but literals."""
    text = text.removesuffix("]").rstrip() if "[" not in text else text
    return re.search(_LITERAL, text) is not None and not re.sub(f"{_LITERAL}|{_AROUND}", "", text)


def _falsify(text: str, start: int, end: int, bare: bool = False) -> Iterator[tuple[int, int, str]]:
    """`bare`: a word is a value too."""
    found = list(re.finditer(_LITERAL, text[start:end]))
    for one in found:
        yield start + one.start(), start + one.end(), _make_other_literal(one[0])
    if not found and bare and re.fullmatch(r"[\w.-]+", text[start:end]):
        yield end, end, NUMBER


def _make_other_literal(value: str) -> str:
    if value[0] in "\"'":
        inner = value[1:-1]
        if len(inner) == 1 and value[0] == "'":  # in many languages that is a character
            return f"{value[0]}{'Z' if inner != 'Z' else 'Y'}{value[-1]}"
        return f"{value[:-1]}~{NUMBER}{value[-1]}"
    if number := re.match(r"-?\d[\d_]*(?:\.\d+)?", value):
        digits, rest = number[0].replace("_", ""), value[number.end() :]
        if rest[:1] in ("x", "X", "b", "o"):
            return NUMBER
        return f"{make_other_value(float(digits) if '.' in digits else int(digits))}{rest}"
    return {"true": "false", "false": "true", "True": "False", "False": "True"}.get(value, NUMBER)
