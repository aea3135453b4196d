"""Find the literals of a test and a changed value for each, by one rule for every language.

A literal is *expected* if a statement that every run of the test reaches compares something with it, so that changing
it makes the test fail. It is *asserted* anywhere else in an assertion, and *given* otherwise; changing these may make
the test fail. Literals that break a test without any assertion (titles, indexes, sizes, ports, exit statuses) are left
out. `bench/literals.py` measures this on real tests.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal

from msgspec import Struct

from bough.core.verdict.language import Language

NUMBER = "7919"
BOOLEANS = {"true": "false", "false": "true"}
NOTHING = frozenset(("None", "nil", "null", "undefined", "NULL"))

Role = Literal["expected", "asserted", "given"]
_ROLES: tuple[Role, ...] = ("expected", "asserted", "asserted", "given")
"""The role of a literal by its rank. In an assertion, literals that are compared rank before the others."""


class Replacement(Struct, frozen=True):
    """The place of a literal in a text, and a changed literal of the same kind for it."""

    start: int
    end: int
    new: str
    role: Role
    old: str = ""


class Token(Struct):
    kind: str
    text: str
    start: int
    end: int
    frame: "Frame | None"
    argument: int
    """Index of the argument that contains the token, in the call around it."""
    statement: int


class Frame(Struct):
    """A pair of brackets and the tokens between them."""

    first: int
    """Index of the first token: the name of the called function, or the bracket."""
    last: int
    kind: Literal["call", "data", "index", "block"]
    callee: str
    parent: "Frame | None"
    argument: int


_TOKENS = r"""(?P<comment>COMMENT)
|(?P<string>(?:\b(?:[rRbBfFuUL]|u8|[bBfF][rR]|[rR][bBfF]))?(?:\"\"\"(?:\\[\s\S]|[^\\])*?\"\"\"
  |'''(?:\\[\s\S]|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|`(?:\\[\s\S]|[^`\\])*`|QUOTE)
  |\b(?:qr|m)/(?:\\.|[^/\\\n])+/|(?:(?<=[(,=~])|(?<=[(,=~][ ]))/(?![/*\s])(?:\\.|[^/\\\n])+/)
|(?P<empty>\[\]|\{\})
|(?P<number>(?<![\w.$@%])(?<!\w-)(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)(?!\.?\d)\w*)
|(?P<word>-(?:eq|ne)\b|[$@%]*[^\W\d][\w$]*(?:[!?](?!=))?)
|(?P<operator>===?|!==?|=:=|=~|=>|->|::|:=|<>|/=|~=|&&|\|\||[-+*/<>%=!.,;:&|?~^\\@$])
|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<line>\n)"""
_COMMENTS = {
    "//": r"//[^\n]*|/\*[\s\S]*?\*/",
    "#": r"(?:(?<=\s)|^)\#(?!\[)[^\n]*|^[ \t]*(?://|--|;)[^\n]*",
    "--": r"--\[\[[\s\S]*?\]\]|--[^\n]*",
}
_WRAPPERS = (
    r"(?:\w+\.)?(?:approx|param)|set|frozenset|tuple|list|dict|bytes|str|float|int|array|c|vec!|listOf|@as|Some|Ok|Err|Just"
    r"|(?:List|Set|Map|Arrays?|String)(?:\.|::)(?:of|asList|from)|Decimal|Fraction|BigInt|BigDecimal"
)
"""Calls that wrap literals into another value."""
_TYPES = r"(?!\w*(?:[Aa]ssert|Expect|EXPECT|ASSERT|CHECK|REQUIRE|Equal|TEST|Verify))[A-Z]\w*"
"""Calls that may wrap a literal into another value."""
_TITLED = (
    r"(?:.*\W)?(?:describe|context|it|test|specify|run|Run|[sS]ub_?[tT]est|group|suite|scenario|section|SECTION|TEST\w*"
    r"|test_that|test_case|parametrize|step|feature|example|plan|skip\w*|todo)"
)
_SILENT = (
    r"(?:.*\W)?(?:print\w*|echo|puts|say|log\w*|diag|note|warn\w*|\w*(?:Error|Fatal|Log)f?|exit|die|fail\w*|panic!?|throw"
    r"|raise|range|sleep|wait\w*|timeout|setTimeout|open|require|import|include|load|source|format|sprintf|message"
    r"|getattr|hasattr|skipIf|skipUnless)"
)
"""Calls whose arguments do not show what is tested, or break the test whatever it asserts."""
_IDLE = (
    r"\s*(?:return|exit|import|from|use|using|require\w*|include|package|#\s*\w+|raise|throw|die"
    r"|print\w*|echo|puts|plan|goto|break|@(?!\w+\.mark)|#\[|export|source|sleep|\w+ timeout)\b"
)
"""Beginnings of statements whose literals are no values of the test."""
_NAMES = (
    r"(?i)(?:.*\W)?(?:\w*port|timeout\w*|delay|retries|seed|size|length|capacity|msg|message|reason|line|delta|places)"
)
"""Names of values that a test does not assert (ports, timeouts, messages)."""
_EXPECTING = r"(?i)(?:\w*_)?(?:want|expect|exp|expected|should|correct|golden)\w*"
_FAILS = r"[Ff]ail|FAIL|[Ff]atal|[Ee]rror|\bexit\b|\bdie\b|\bthrow\b|\braise\b|\bpanic|abort|return (?:[1-9t-]|EXIT)"
_ASSERTS = (
    r"(?i:assert|expect|require|check|verify|ensure|should|must|stopifnot|compare)|\b(?:ok|is|like|isnt|test|t|eq|be)\b"
    r"|\[\[? |>>>|EQ\b"
)
_NEGATED = (
    r"(?i:\b(?:not|refute|isnt|doesnt|ne|never|unlike)\b|not_|_not|_ne\b|refute_)|(?<=[a-z])(?:Not|Isnt)(?=[A-Z])"
    r"|\bNot(?=[A-Z(])|!==?|/=|<>|~="
)
_COMPARES = (
    r"(?:.*\W)?(?:\w*(?:[Ee]quals?|EQUALS?|[Ss]ame|[Ii]dentical|[Ee]ql?|EQ)(?![a-z])\w*|assert\w*\.(?:is|eq)\w*|is|is_deeply|isa_ok"
    r"|cmp_\w+|deep\w*|like|toBe\w*|toMatch\w*|toContain\w*|isEqualTo|[Bb]e|eqv|[Cc]ontains?\w*|CONTAINS|assertIn|assertIs"
    r"|[Ii]ncludes?|matches|match|[sS]trictEqual|throws|expect|lives_and|all_equal)!?"
)
BRANCH = (
    r"\b(?:if|else|elif|elsif|unless|for|foreach|while|until|catch|rescue|except|switch|case|when|match|loop|forEach|map"
    r"|filter|each|times|suppress|raises|assertRaises|warns)\b|\|\s*\{?\s*$"
)
_LONGEST, _NEAR = 5_000, 200
"""The longest line that is read, and the number of characters after a line in which its statement may continue."""
_EQUAL = frozenset(("==", "===", "=:=", "eq", "-eq", "is", "in"))
_UNEQUAL = frozenset(("!=", "!==", "ne", "-ne", "<>", "/=", "~="))


@lru_cache
def _compile(comment: str, quotes: bool) -> re.Pattern[str]:
    quote = r"(?<!\w)'(?:\\.|[^'\\\n])*'" if quotes else r"'(?:\\[^'\n]*|[^'\\\n])'"
    made = _TOKENS.replace("COMMENT", _COMMENTS[comment]).replace("QUOTE", quote)
    return re.compile(made, re.VERBOSE | re.MULTILINE)


def read_tokens(text: str, language: Language) -> list[Token]:
    """Cut a text into tokens, leaving out comments and line ends."""
    found: list[Token] = []
    frame: Frame | None = None
    counts: list[int] = [0]
    statement, fresh = 0, True
    for hit in _compile(language.comment, language.quotes).finditer(text):
        kind = hit.lastgroup or ""
        inside = frame is not None and frame.kind != "block"
        if kind == "comment":
            continue
        # `if got := add(2, 3); got != 5 {` and `if [ … ]; then` are one statement.
        heads = hit[0] == ";" and bool(found) and found[statement].text in ("if", "elif", "for", "while", "switch")
        if kind == "line" or (hit[0] == ";" and not inside and not heads):
            goes_on = found and (
                found[-1].text in (",", "\\", "&&", "||") or re.match(r"\s*\.\w", text[hit.end() : hit.end() + _NEAR])
            )
            fresh = fresh or not (inside or goes_on)
            continue
        if fresh:
            statement, fresh = len(found), False
            if not inside:
                counts[-1] = 0
        if kind == "string" and re.search(r"^[\"`].*(?:\$[\w({]|#\{)", hit[0]):
            kind = "word"  # The string contains variables, so it is not constant.
        token = Token(kind, hit[0], hit.start(), hit.end(), frame, counts[-1], statement)
        if kind == "open":
            frame = _open(found, token, text)
            found.append(token)
            counts.append(0)
            fresh = frame.kind == "block"
        elif kind == "close":
            if frame is not None:
                frame.last = len(found)
                token.frame, token.statement = frame.parent, found[frame.first].statement
                frame = frame.parent
                counts.pop()
                token.argument = counts[-1]
                statement = token.statement
            found.append(token)
        else:
            found.append(token)
            counts[-1] += hit[0] == ","
    return found


def _open(before: list[Token], token: Token, text: str) -> Frame:
    at, last = len(before), before[-1] if before else None
    close = last is not None and last.end == token.start
    kind: Literal["call", "data", "index", "block"] = "block" if token.text == "{" else "data"
    callee, first = "", at
    joined = last is not None and (last.kind in ("word", "string", "number") or last.text in (")", "]", "}"))
    if token.text == "(" and last is not None and last.kind == "word" and token.start - last.end <= 1:
        kind, first = "call", at - 1
        while first > 1 and before[first - 1].text in (".", "->", "::", "?.") and before[first - 2].kind != "line":
            first -= 2
        callee = text[before[first].start : last.end]
    elif last is not None and token.text == "{" and last.text in ("if", "elseif", "while", "expr"):
        kind, callee = "call", last.text
    elif re.match(r"\[\[? \S", text[token.start : token.start + 4]) and (
        last is None or last.statement != token.statement or last.text in ("if", "elif", "while", "&&", "||", "!")
    ):
        kind, callee = "call", "test"  # the shell's `[`
    elif token.text == "[" and close and joined and last is not None and not last.text.endswith("!"):
        kind = "index"
    elif token.text == "{" and last is not None:
        arrow = last.text == "=>" and len(before) > 1 and before[-2].text == ")"
        operator = last.kind in ("operator", "open") or last.text in ("return", "in")
        data = (close and joined and last.text != ")") or (operator and last.text not in ("->", ";"))
        kind = "data" if data and not arrow else "block"
    return Frame(first, at, kind, callee, token.frame, token.argument)


@lru_cache(maxsize=64)
def _finds(pattern: str, said: str, begins: bool = False) -> bool:
    """Whether a statement matches a pattern. Cached: a table asks this for thousands of literals in one statement."""
    return (re.match if begins else re.search)(pattern, said) is not None


class TestText:
    """The literals in a file of tests."""

    def __init__(self, text: str, language: Language) -> None:
        self._text = text
        self._start, self._end = 0, len(text)
        self._language = language
        # Blank out very long lines, which nobody wrote by hand.
        lines = (line if len(line) <= _LONGEST else "\0" * len(line) for line in text.split("\n"))
        self._tokens = read_tokens("\n".join(lines), language)
        self._ends = {token.statement: token.end for token in self._tokens}
        self._said: dict[int, str] = {}
        self._places: dict[str, list[int]] = {}
        for at, token in enumerate(self._tokens):
            self._places.setdefault(token.text, []).append(at)

    def list_changes(self, start: int, end: int, certain: Sequence[tuple[int, int]]) -> list[Replacement]:
        """List the changes between two offsets, the surest first. `certain`: what every run of the test reaches."""
        self._start, self._end = start, end
        found: list[tuple[int, Replacement]] = []
        for at, token in enumerate(self._tokens):
            if not self._start <= token.start < self._end:
                continue
            if token.kind == "string" and ">>> " in token.text:
                found += [(0, one) for one in _change_examples(token)]
                continue
            rank = self._rank(at) if self._is_literal(at, token) else None
            if rank is None:
                continue
            if rank == 0 and not any(start <= token.start < end for start, end in certain):
                rank = 1
            roughly = _finds(r"(?i)approx|almost|close|delta|within", self._say(token))
            new = make_other_literal(token.kind, token.text, roughly)
            found.append((rank, Replacement(token.start, token.end, new, _ROLES[rank], token.text)))
        return [one for _, one in sorted(found, key=lambda each: each[0])]

    def _say(self, token: Token) -> str:
        if (at := token.statement) not in self._said:
            self._said[at] = self._text[self._tokens[at].start : self._ends[at]]
        return self._said[at]

    def _rank(self, at: int, deep: bool = False) -> int | None:
        """Rank how surely the test fails if this changes, from 0; None: it shows nothing. `deep`: it is a name."""
        token = self._tokens[at]
        said = self._say(token)
        if _finds(_IDLE, said, True) and not _finds(r"\s(?:if|unless)\s", said):
            return None
        if _finds(r"\s*(?:for|foreach|while|until)\b", said, True) and (
            token.frame is None or token.frame.kind != "data"
        ):
            return None  # Literals in the head of a loop say how often it runs, unless they are in a list of data.
        first, last, frame, argument, sure = at, at, token.frame, token.argument, True
        columns: list[int] = []
        while frame is not None and frame.kind != "block":
            if frame.kind == "index" or re.fullmatch(_SILENT, frame.callee):
                return None
            wraps = frame.kind != "call" or re.fullmatch(_WRAPPERS, frame.callee) is not None
            if not wraps and not re.fullmatch(_TYPES, frame.callee):
                break
            sure = sure and wraps
            columns.append(argument)
            first, last, argument, frame = frame.first, frame.last, frame.argument, frame.parent
        name, sign = (token.text for token in self._tokens[first - 2 : first]) if first > 1 else ("", "")
        if sign in ("=", ":", "=>", ":=") and re.fullmatch(_NAMES, name):
            return None
        call = frame.callee if frame is not None and frame.kind == "call" else ""
        head = call or self._find_head(first)
        if re.fullmatch(_TITLED, head) and token.kind == "string" and argument == 0:
            return None
        if first and re.fullmatch(r"return|exit|die|raise|throw|timeout", self._tokens[first - 1].text):
            return None
        asserts = _finds(_ASSERTS, said)
        if frame is not None and call.endswith("parametrize"):
            return self._rank_case(frame, columns)
        compared = self._is_compared(first, last, (call, head), argument, said, asserts, deep)
        if compared is None or (token.kind == "empty" and not compared):
            return None
        if compared and sure and not _finds(rf"(?:\|\||\bor\b)(?!.*(?:{_FAILS}))", said):
            return 0
        return 1 if compared else 2 if asserts else 3

    def _is_literal(self, at: int, token: Token) -> bool:
        if token.kind == "word" and self._language.scripts and at:  # In a script a bare word is a text.
            shell = _finds(r"\[|test\b", self._say(token), True)
            return shell and self._tokens[at - 1].text in ("=", "==", "!=")
        return token.kind in ("string", "number", "empty") or token.text.lower() in BOOLEANS or token.text in NOTHING

    def _is_compared(
        self, first: int, last: int, called: tuple[str, str], argument: int, said: str, asserts: bool, deep: bool
    ) -> bool | None:
        """Whether something has to equal this value; None if the value is a message, or both sides are literals."""
        tokens, negated = self._tokens, _finds(_NEGATED, said)
        left, right = first - 1 - (first > 1 and tokens[first - 1].text == "-"), last + 1
        for beside, step in ((left, -1), (right, 1)):
            sign = self._find_sign(beside, tokens[first].statement)
            plain = sign == "=" and _finds(r"\[|(?:if|elif|while)? ?\[|test\b|if test\b", said, True)
            if not (sign in _EQUAL or sign in _UNEQUAL or plain) or (sign == "in" and step < 0):
                continue
            if self._is_alone(beside + step, step) or ("cmp(" in said and tokens[first].text == "0"):
                return None
            if _finds(r"(?:^|[\s}])(?:if|elif)\b", said) and self._is_refused(first, said):
                return sign in _UNEQUAL
            return asserts and sign not in _UNEQUAL and not negated
        before = tokens[left].text if left >= 0 else ""
        if before in ("=", ":", ":=", "=>"):
            name = tokens[left - 1].text.strip("\"'") if left else ""
            return bool(re.fullmatch(_EXPECTING, name)) or (not deep and self._rank_use(name) == 0)
        call, head = called
        if re.fullmatch(r"\w*cmp", call):  # These functions return zero for equal texts.
            same = _finds(r"==\s*0|!\s*\w*cmp\(", said)
            return same != (_finds(r"\s*(?:\} else )?if\b", said, True) and self._is_refused(first, said))
        if re.fullmatch(_COMPARES, head):
            return self._weigh_argument(first, argument, call, negated)
        if tokens[first].kind == "string" and argument and re.search(_ASSERTS, head):
            return None  # This literal is the assertion's message.
        # Tcl's `test name {} {body} 10`: the expected result comes last.
        return before in ("}", "result") and _finds(r"test\b", said, True)

    def _is_refused(self, first: int, said: str) -> bool:
        follows = self._text[self._tokens[first].start :][:400].split("\n")
        return re.search(_FAILS, "\n".join((said.partition("\n")[0], *follows[:3]))) is not None

    def mask(self) -> str:
        """Return the text with multi-line strings blanked out, since their indentation means nothing."""
        made = self._text
        for token in self._tokens:
            if token.kind in ("string", "word") and "\n" in token.text:
                made = made[: token.start] + re.sub(r"[^\n]", " ", token.text) + made[token.end :]
        return made

    def _find_sign(self, at: int, statement: int) -> str:
        held = 0 <= at < len(self._tokens) and self._tokens[at].statement == statement
        return self._tokens[at].text if held else ""

    def _find_head(self, first: int) -> str:
        """Find the function called without brackets: the word before the token, or the first of the statement."""
        start = self._tokens[self._tokens[first].statement]
        if self._tokens[first].frame is not start.frame:
            return ""
        before = self._tokens[first - 1] if first else None
        if before is not None and before.kind == "word" and before.statement == start.statement:
            return before.text
        return start.text if start.kind == "word" else ""

    def _weigh_argument(self, first: int, argument: int, call: str, negated: bool) -> bool | None:
        """Whether this argument is the expected value; None if it is a message, or all arguments are literals."""
        own = self._tokens[first]
        beside = [
            token for token in self._tokens[max(first - 200, 0) : first + 200]
            if token.frame is own.frame and token.statement == own.statement
        ]  # fmt: skip
        context = any(
            token.argument == 0 and re.fullmatch(r"\$?t|tb|self|assert|\w+\.T", token.text) for token in beside
        )
        most = max((token.argument for token in beside), default=0) - context
        if argument - context > 1 or (own.kind == "string" and argument == 0 and most >= 2):
            return None  # A message.
        others = {token.argument for token in beside if token.kind == "word" and token.text.lower() not in BOOLEANS}
        if (
            call
            and most >= 1
            and not others - {argument}
            and not any(token.kind == "open" and token.argument != argument for token in beside)
        ):
            return None
        return not negated

    def _is_alone(self, at: int, step: int) -> bool:
        if not 0 <= at < len(self._tokens) or self._tokens[at].kind not in ("string", "number"):
            return False
        beyond = self._tokens[at + step] if 0 <= at + step < len(self._tokens) else None
        return (
            beyond is None or beyond.statement != self._tokens[at].statement or beyond.kind in ("open", "close")
            or beyond.text in (",", "assert", "[", "test", "&&", "||")
        )  # fmt: skip

    def _rank_use(self, name: str) -> int | None:
        """Rank the use of a name that is assigned once and used once; None for any other name."""
        if not re.fullmatch(r"[$@%]?[^\W\d]\w*", name):
            return None
        held = (at for at in self._places.get(name, ()) if self._start <= self._tokens[at].start < self._end)
        uses = list(islice(held, 3))
        return self._rank(uses[1], deep=True) if len(uses) == 2 else None

    def _rank_case(self, frame: Frame, columns: Sequence[int]) -> int:
        """Rank a value in a table of test parameters: 0 if changing it surely fails the test, else 3."""
        start = self._tokens[frame.first].start + len(frame.callee)
        title = self._text[start : min(self._tokens[frame.last].start, start + _LONGEST)]
        names = re.findall(r"\w+", re.split(r"[\"')\]],\s", title, maxsplit=1)[0])
        column = 0 if len(names) == 1 else columns[-2] if len(columns) > 1 else len(names)
        rank = self._rank_use(names[column]) if column < len(names) else None
        return 0 if rank == 0 else 3


def _change_examples(token: Token) -> Iterator[Replacement]:
    lines = re.finditer(r"(?m)^[ \t]*>>> .*\n(?:[ \t]*\.\.\. .*\n)*[ \t]*(?!>>>|\.\.\.)(\S.*)$", token.text)
    for line in lines:
        if not re.search(r"#.*\+SKIP", line[0]):
            at = token.start + line.end(1)
            yield Replacement(at, at, f"~{NUMBER}", "expected", line[1])


def make_other_literal(kind: str, text: str, roughly: bool = False) -> str:
    """Return another literal of the same kind. `roughly`: the comparison allows small differences."""
    if kind == "string":
        body = re.fullmatch(r"([A-Za-z]{0,2}?\d?)(\"\"\"|'''|[\"'`/]|(?:qr|m)/)([\s\S]*)", text)
        quote = (body[2] if body else text[-1:])[-3:]
        if quote == "'" and body and len(body[3]) == 2:  # In many languages: a character.
            return f"{body[1]}'{'Z' if body[3][0] != 'Z' else 'Y'}'"
        end = len(text) - (3 if quote in ('"""', "'''") else 1)
        return f"{text[:end]}~{NUMBER}{text[end:]}"
    if kind == "empty":
        return f"[{NUMBER}]" if text == "[]" else f"{{{NUMBER}: {NUMBER}}}"
    if kind == "word":
        other = BOOLEANS.get(text.lower())
        if other is None:
            return NUMBER if text in NOTHING else f"{text}{NUMBER}"
        return other.upper() if text.isupper() else other.capitalize() if text[0].isupper() else other
    number = re.match(r"0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?", text)
    digits, rest = (number[0].replace("_", ""), text[number.end() :]) if number else (text, "")
    if len(digits) > 300:  # Too long to compute with, and rare in tests.
        return NUMBER
    if digits[:2] in ("0x", "0X"):
        return f"{int(digits, 16) // 2 if int(digits, 16) > 1 else 3:#x}{rest}"
    value = float(digits) if re.search(r"[.eE]", digits) else int(digits)
    # Half of a large number fits every type that the number fits, and differs enough from it.
    step = int(NUMBER) if roughly else 1
    made = value + step if roughly or value < 100 else value / 2 if isinstance(value, float) else value // 2
    return f"{made}{rest}"
