"""Single assertions of languages that are compared as text: what is weaker in the one that took another one's place."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping

from bough.core.tamper.text.scan import NUMBER, STRING, nesting, rx, values, without_strings
from bough.core.tamper.wording import short

_ALWAYS = re.compile(
    r"expect\(\s*(true|1|false|null|undefined)\s*\)|assert(?:\w*!|\.\w+|\w*)\s*\(\s*(?:t,\s*)?(?:true|1)\b\s*[,)]"
    r"|\|\|\s*true\b|^if\s+false\b|(?:Equals?|_eq!|toBe|toEqual)\(\s*(?P<one>\w+)\s*,\s*(?P=one)\s*\)",
    re.I,
)
_STRONG = re.compile(
    r"[Ee]qual|_eq\b|\beq\b|toBe\(|toBe$|Same|deep|Strict|\bis\b|is_deeply|shouldBe\b|must_equal|toHaveBeenCalledWith|throws?\w*\(\s*\w",
    re.I,
)
_MIDDLE = re.compile(
    r"contain|match|greater|less|delta|close|near|throw|raise|error|include|length|count|like|instance", re.I
)
_ANYTHING = re.compile(r"\bexpect\.(?:any\w*|\w+Containing|stringMatching)\(|\bmatch\.any\b|mock\.Anything")


def _in_a_row(said: str, best: str, text: str) -> bool:
    """The values of an assertion stand together in a table that the new one goes through."""
    row = [found[0] for found in re.finditer(f"{STRING}|{NUMBER}", said)]
    fixed = {value for value in values(best) - values(said) if not re.search(r"[{%$ ]", value)}
    if fixed or len(row) < 2:
        return False
    return re.search(r"[\s,:(){}\[\]]{1,8}(?:\w+:\s*)?".join(map(re.escape, row)), text) is not None


def tabled(said: str, fresh: list[str], text: str) -> bool:
    """An assertion that is now made of a row of a table, by one of these that calls the same."""
    called = set(_CALLED.findall(said))
    alike = (one for one in fresh if called <= {*_CALLED.findall(one)} and values(said) - values(one))
    return any(not weakened(said, [one], frozenset(), text) for one in alike)


def _named_parts(said: str, text: str) -> str:
    """With what it calls by a name put in the name's place: `const got = add(2, 3);` → `equal(got, 5)` asks that."""
    for name, part in re.findall(r"\b(?:const|let)\s+(\w+)\s*=\s*([^;=]+);", text):
        if len(re.findall(rf"\b{name}\s*=[^=>]", text)) == 1:
            said = part.strip().join(re.split(rf"(?<![\w.]){name}(?![\w.(])", said))
    return said


def weakened(said: str, fresh: list[str], own: frozenset[str], text: str) -> str:
    """What is wrong with the assertion that took the place of one. Takes it out of `fresh`. `text` is the file's."""
    best = max(fresh, key=lambda one: difflib.SequenceMatcher(None, said, one, autojunk=False).ratio(), default=None)
    if best is None:
        return f"an assertion was removed: `{short(said)}`"
    fresh.remove(best)
    if "".join(_named_parts(best, text).split()) == "".join(said.split()):
        return ""
    change = f"`{short(said)}` became `{short(best)}`"
    if (_ALWAYS.search(best) and not _ALWAYS.search(said)) or (_same_twice(best) and not _same_twice(said)):
        return f"{change}, which always holds"
    if said.startswith("await ") and not best.startswith("await ") and said[6:].split("(")[0] == best.split("(")[0]:
        return f"{change}, which is no longer waited for"
    if _strength(best) < _strength(said) or len(_ANYTHING.findall(best)) > len(_ANYTHING.findall(said)):
        return f"assertion loosened: {change}"
    if less := next((one for one in _no_longer_given(said, best) if one[0] not in "\"'`"), ""):
        return f"{change}, without {short(less, 40)}"
    if "".join(said.split()) != "".join(best.split()) and _unsigned(said) == _unsigned(best):
        return f"the condition was turned: {change}"
    if other := _asks_another(said, best, own):
        return f"{change}: {other} is made beside the tests"
    if values(best) <= values(said) and (
        twice := [one for one in values(said) if _times(best, one) > _times(said, one)]
    ):
        return f"{change}: {twice[0]} is asked of itself"
    lost = values(said) - values(best) or _exchanged(said, best)
    if lost and _strength(best) == _strength(said) and not _in_a_row(said, best, text):
        return f"expected value changed: {change}"
    return ""


def _exchanged(said: str, best: str) -> bool:
    """One of several equal values became another: `add(2, 3), 2` and `add(2, 3), 5`."""
    was, now = (
        Counter(one[0].strip("\"'`") for one in re.finditer(f"{STRING}|{NUMBER}", text)) for text in (said, best)
    )
    return bool(was - now) and bool(now - was) and len(was - now) == len(now - was)


def _times(said: str, value: str) -> int:
    return len(re.findall(rf"(?<![\w.]){re.escape(value.strip(chr(34)))}(?![\w.])", said))


_SIGNS = re.compile(r"[=!<>]=?=?|\bnot\b")
_CALLED = re.compile(r"(?<![\w.$])([A-Za-z_$][\w$]*)\s*\(")
_DEFINED = re.compile(
    r"\b(?:func|function|fn|def|fun|sub)\s+(\w+)|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:\(|function)"
)


def _unsigned(said: str) -> str:
    return "".join(_SIGNS.sub("", rx(STRING).sub(lambda found: found[0].replace("=", "≡"), said)).split())


def _asks_another(said: str, best: str, own: frozenset[str]) -> str:
    """The function that an assertion calls now in place of another one, when it came with the tests."""
    gone = set(_CALLED.findall(said)) - set(_CALLED.findall(best))
    fresh = [name for name in _CALLED.findall(best) if name in own and name not in said]
    return fresh[0] if gone and fresh else ""


def defined(texts: Mapping[str, str]) -> frozenset[str]:
    return frozenset(a or b for text in texts.values() for a, b in _DEFINED.findall(text))


def _arguments(said: str, start: int) -> list[str]:
    """Of the call whose bracket opens right before a place."""
    parts = list[str]()
    for found, depth in nesting(said, start, also=","):
        if depth < 0 or (found[0] == "," and depth == 0):
            parts.append("".join(said[start : found.start()].split()))
            start = found.end()
        if depth < 0:
            break
    return parts


def _same_twice(said: str) -> bool:
    """`equal(add(2, 3), add(2, 3))`."""
    parts = _arguments(said, said.find("(") + 1)
    return "(" in said and len(parts) > 1 and parts[0] == parts[1] and "(" in parts[0]


def _last_call(said: str) -> tuple[str, list[str]]:
    opened = [found.end() for found, depth in nesting(said) if depth == 1 and found[0] == "("]
    given = [one for one in _arguments(said, opened[-1]) if one] if opened else []
    return said[: opened[-1]].split("(")[-2] if opened else "", given


def _no_longer_given(said: str, best: str) -> list[str]:
    """What the same assertion has no more at its end: `throws(f, SomeError)` → `throws(f)`."""
    (name, was), (other, now) = _last_call(said), _last_call(best)
    return was[len(now) :] if name == other and was[: len(now)] == now else []


def _strength(said: str) -> int:
    bare = without_strings(said)
    if re.search(r"NotEqual|(?:\b|does)[nN]ot[A-Z]|_ne!|\.not\b|isnt", bare):
        return 1
    if _STRONG.search(bare) or bare.startswith("if "):
        return 3
    return 2 if _MIDDLE.search(bare) else 1
