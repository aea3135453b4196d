"""Find the literals of a test and another value for each, by one rule for every language.

They are tried one at a time until one makes the test fail: first values that an assertion compares, then others in
assertions, then all others. What breaks a test whatever it asserts is left out (titles, indexes, sizes, ports).
`bench/literals.py` measures this on real tests.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from bough.core.verdict.language import Language

NUMBER = "7919"
_OTHERS = {"true": "false", "false": "true", "[]": f"[{NUMBER}]", "{}": f"{{{NUMBER}: {NUMBER}}}"}
COMPARED, ASSERTED, GIVEN = range(3)


class Replacement(Struct, frozen=True):
    """The place of a literal in a text, and another literal of the same kind for it."""

    start: int
    end: int
    new: str
    rank: int
    old: str = ""


_TOKENS = r"""(?P<comment>COMMENT)
|(?P<string>(?:\b(?:[rRbBfFuUL]|u8|[bBfF][rR]|[rR][bBfF]))?(?:\"\"\"(?:\\[\s\S]|[^\\])*?\"\"\"
  |'''(?:\\[\s\S]|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|`(?:\\[\s\S]|[^`\\])*`|QUOTE)
  |\b(?:qr|m)/(?:\\.|[^/\\\n])+/|(?:(?<=[(,=~])|(?<=[(,=~][ ]))/(?![/*\s])(?:\\.|[^/\\\n])+/)
|(?P<value>(?<![\w.$@%])(?<!\w-)(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)(?!\.?\d)\w*
  |\[\]|\{\}|(?<![\w.$@])(?:[Tt]rue|TRUE|[Ff]alse|FALSE|None|nil|null|undefined|NULL)(?!\w))
|(?P<bare>(?<=[ ]=[ ]|==[ ]|!=[ ])[A-Za-z][\w.-]*(?=[ ]\]))
|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<line>\n)"""
_COMMENTS = {
    "//": r"//[^\n]*|/\*[\s\S]*?\*/",
    "#": r"(?:(?<=\s)|^)\#(?!\[)[^\n]*|^[ \t]*(?://|--|;)[^\n]*",
    "--": r"--\[\[[\s\S]*?\]\]|--[^\n]*",
}
_TITLES = (
    r"\b(?:describe|context|it|test|specify|[rR]un|[sS]ub_?[tT]est|group|suite|scenario|section|SECTION|TEST\w*|test_that"
    r"|test_case|parametrize|step|feature|example|plan|skip\w*|todo)[ (]\s*$"
)
"""Pattern for the text before the title of a test, or of a group of tests."""
_SILENT = (
    r"(?:.*\W)?(?:print\w*|echo|puts|say|log\w*|diag|note|warn\w*|\w*(?:Error|Fatal|Log)f?|exit|die|fail\w*|panic!?|throw"
    r"|raise|range|sleep|wait\w*|timeout|setTimeout|open|require|import|include|load|source|format|sprintf|message"
    r"|getattr|hasattr|skipIf|skipUnless)"
)
"""Calls whose arguments do not show what is tested, or break the test whatever it asserts."""
_IDLE = (
    r"\s*(?:return|exit|import|from|use|using|require\w*|include|package|#\s*\w+|raise|throw|die|for|foreach|while|until"
    r"|print\w*|echo|puts|plan|goto|break|@(?!\w+\.mark)|#\[|export|source|sleep|\w+ timeout)\b(?!.*\s(?:if|unless)\s)"
)
"""Beginnings of statements whose literals are no values of the test, outside of lists of data."""
_NAMES = (
    r"(?i)\b(?:\w*port|timeout\w*|delay|retries|seed|size|length|capacity|msg|message|reason|line|delta|places)"
    r"[\"']?\s*(?:=>|:=|[=:])\s*-?$|\b(?:return|exit|die|raise|throw|timeout)\s*$|cmp\(.*\)\s*[!=]=\s*$"
)
"""Pattern for the text before values that a test does not assert: ports, timeouts, messages, exit statuses."""
_ONE, _TWO = (
    r"(?i)(?:.*\W)?(?:(?:assert_?)?(?:ok|true|false)|assert)!?",
    r"(?i).*(?:equals?|same|\bis|is_deeply|like|_?eq)!?",
)
"""Assertions of one and of two values; a further text is the message."""
_EXPECTS = r"(?i)\b(?:\w*_)?(?:want|expect|exp|expected|should|correct|golden)\w*[\"']?\s*(?:=>|:=|[=:])\s*-?$"
_ASSERTS = (
    r"(?i:assert|expect|require|check|verify|ensure|should|must|stopifnot|compare|cmp|equal|same|identical|match|contain|throws)"
    r"|\b(?:ok|is|like|isnt|is_\w+|isa_ok|cmp_\w+|test|t|eq|eqv|be|to[A-Z]\w*)\b|\[\[? |EQ\b"
)
_EMPTY = r"to[A-Z]\w*|(?i:assert\w*|expect|\w*equals?|is|ok|eq|be|like|not|and|or|self|this|t|none|nil|null|true|false)"
"""Words that name nothing of the product."""
_SIGN = r"(?:(?<![=!<>:])={2,3}(?!=)|=:=|!==?|<>|/=|~=|(?:\b|-)(?:eq|ne)\b|\bis\b)"
_LONGEST, _NEAR, _MOST = 5_000, 60, 120
"""The longest line that is read, and how many characters are read around a literal and of its statement."""


class _Frame(Struct):
    """An open bracket, and what it belongs to."""

    callee: str
    """The called function; `[` for an index, `{` for a block of statements, empty for data."""
    statement: int
    compared: bool = False
    """Whether something is compared with the data in the brackets."""
    commas: int = 0


@lru_cache
def _compile(language: Language) -> re.Pattern[str]:
    quote = r"(?<!\w)'(?:\\.|[^'\\\n])*'" if language.quotes else r"'(?:\\[^'\n]*|[^'\\\n])'"
    made = _TOKENS.replace("COMMENT", _COMMENTS[language.comment]).replace("QUOTE", quote)
    return re.compile(made, re.VERBOSE | re.MULTILINE)


def blank_texts(text: str, language: Language) -> str:
    """Blank out texts of several lines, since their indentation means nothing."""
    return _compile(language).sub(
        lambda hit: re.sub(r"[^\n]", " ", hit[0]) if hit.lastgroup == "string" and "\n" in hit[0] else hit[0], text
    )


def list_changes(text: str, language: Language) -> Iterator[Replacement]:
    """List the literals of a text in order, each with another one of its kind."""
    # Blank out very long lines, which nobody wrote by hand.
    text = "\n".join(line if len(line) <= _LONGEST else "\0" * len(line) for line in text.split("\n"))
    frames, statement = [_Frame("{", 0)], 0
    for hit in _compile(language).finditer(text):
        kind, said, (start, end) = hit.lastgroup, hit[0], hit.span()
        left, right = text[max(statement, start - _NEAR) : start], text[end : end + _NEAR]
        if kind == "open":
            callee = _find_callee(said, left)
            frames.append(_Frame(callee, statement, not callee and _is_compared(frames[-1], left, right)))
            statement = end if callee == "{" else statement
        elif kind == "close" and len(frames) > 1:
            statement = frames.pop().statement
        elif kind == "line" and frames[-1].callee == "{":
            goes_on = left.rstrip().endswith((",", "\\", "&&", "||")) or re.match(r"\s*\.\w", right)
            if not goes_on:
                statement, frames[-1].commas = end, 0
        elif kind == "comma":  # The first argument may be where the test says what it finds.
            frames[-1].commas += not re.search(r"\(\s*(?:\$?t|tb|self|assert|\w+\.T)$", left)
        elif kind in ("string", "value") or (kind == "bare" and language.scripts):
            whole = text[statement:end] + right.partition("\n")[0] if end - statement < _MOST else ""
            rank = _rank(said, frames[-1], left, right, whole or text[statement : statement + _MOST])
            if rank is not None:
                yield Replacement(start, end, make_other_literal(said), rank, said)


def _find_callee(bracket: str, before: str) -> str:
    """Find what a bracket belongs to, by the text before it; see `_Frame`."""
    named = re.search(r"[\w$@.:>!?-]*[\w!?] ?$", before)
    name = named[0].rstrip() if named else ""
    if bracket == "(":
        return name
    if bracket == "[":
        return name if name.endswith("!") else "[" if re.search(r"[\w)\]\"']$", before) else ""
    gives = r"[=:,(\[{&|\w]$|(?:[=:,(\[{&|]|\b(?:return|in|if|elseif|while|expr)|[^)\sA-Za-z_$]\s*=>)\s+$"
    return "" if re.search(gives, before) and not re.search(r"(?:\|\||&&)\s+$", before) else "{"


def _find_head(frame: _Frame, left: str) -> str:
    """Find the call that a literal is an argument of; it may have no brackets."""
    if frame.callee != "{":
        return frame.callee
    head = re.search(r"([\w.!?]+)[ \t]+-?$", left) or re.match(r"\s*([\w.!?]+)", left)
    return head[1] if head else ""


def _is_compared(frame: _Frame, left: str, right: str) -> bool:
    """Whether something is compared with what stands between two texts."""
    signed = re.search(rf"(?:{_SIGN}|(?:\[|\btest) .* =)\s*-?$", left) or re.match(rf"\s*(?:{_SIGN}|in\b)", right)
    return bool(signed or frame.compared or re.search(_ASSERTS, _find_head(frame, left)))


def _rank(said: str, frame: _Frame, left: str, right: str, statement: str) -> int | None:
    """Rank how likely a test fails if this literal changes, from 0; None: it shows nothing."""
    text, head = re.match(r"\w{0,2}[\"'`]", said) is not None, _find_head(frame, left)
    alone = ">>>" not in said and not left.strip() and not right.partition("\n")[0].strip(" \t\r;")
    varies = re.search(r"^[\"`].*(?:\$[\w({]|#\{)", said)
    message = frame.commas and re.fullmatch(_ONE if frame.commas == 1 else _TWO, head)
    if text and (alone or varies or message or re.search(_TITLES, left)):
        return None
    if frame.callee == "[" or re.fullmatch(_SILENT, frame.callee) or re.search(_NAMES, left):
        return None
    compared, asserts = _is_compared(frame, left, right), _finds(_ASSERTS, statement)
    if (asserts and not _names_something(statement)) or (said in ("[]", "{}") and not compared):
        return None
    if frame.callee and re.match(_IDLE, statement):
        return None
    return COMPARED if compared or re.search(_EXPECTS, left) else ASSERTED if asserts else GIVEN


@lru_cache(maxsize=64)
def _finds(pattern: str, statement: str) -> bool:
    """Whether a statement contains a pattern. Cached: a table asks this for each of its thousands of literals."""
    return re.search(pattern, statement) is not None


@lru_cache(maxsize=64)
def _names_something(statement: str) -> bool:
    """Whether a statement names anything besides assertions: `assert 5 == 5` says nothing of the product."""
    words = re.findall(r"(?<!\w)[^\W\d]\w*", re.sub(r"([\"'`]).*?\1", "", statement))
    return not all(re.fullmatch(_EMPTY, word) for word in words)


def make_other_literal(text: str) -> str:
    """Return another literal of the same kind."""
    if quoted := re.match(r"(?:\w{0,2}(\"\"\"|'''|[\"'`])|(?:qr|m)?(/))", text):
        quote = quoted[1] or quoted[2]
        if quote == "'" and len(text) == quoted.end() + 2:  # In many languages single quotes enclose one character.
            return f"{text[:-2]}{'Z' if text[-2] != 'Z' else 'Y'}'"
        return f"{text[: -len(quote)]}~{NUMBER}{quote}"
    if other := _OTHERS.get(text.lower()):
        return other.upper() if text.isupper() else other.capitalize() if text[0].isupper() else other
    number = re.match(r"0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?", text)
    digits = number[0].replace("_", "") if number else ""
    # The text is no number, or too long to compute with, which is rare in tests.
    if number is None or len(digits) > 300:
        return NUMBER
    whole = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits) if digits.isdecimal() else None
    # Half of a large number fits every type that the number fits, and differs enough from it.
    value = float(digits) if whole is None else whole
    made = value + 1 if value < 100 else value / 2 if whole is None else whole // 2
    return f"{made:#x}{text[number.end() :]}" if digits[:2] in ("0x", "0X") else f"{made}{text[number.end() :]}"
