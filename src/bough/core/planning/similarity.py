"""Find out by words, without a model, whether a step restates another one, and whether a criterion is vague."""

import re
from collections.abc import Iterable, Sequence

from bough.core.planning.plan import Step

# `_STOP`: words without meaning. `_MAKING`: words that occur in any instruction (making, praise, parts of code).
# `_CHECKING`: words about checks, which count only if a text has no others.
_STOP = frozenset(
    """a an the this that these those it its of to in on at for from with without within by as and or but not no nor so
    if then than when while where which who what how is are was were be been being do does did done has have had will
    would can could shall should may might must there their them they you your we our i he she his her him into onto
    over under out up down off about after before between through during per via also only just very own same other
    another any some each every all both either few more most many much new please now here
    one two three four five six seven eight nine ten""".split()  # noqa: SIM905
)
_MAKING = frozenset(
    """add adjust adapt apply build carry change code complete correct create deliver design develop enable ensure
    entire everything finish fix full fully get give handle implement implementation improve include introduce job let
    make necessary need needed perform please proper properly provide put remain remaining repair replace request
    require set setup solve sure support task thing update use using whole work write careful appropriate
    correctly fulfil achieve goal issue problem feature functionality requirement described above below part
    py js ts file function method class module""".split()  # noqa: SIM905
)
_CHECKING = frozenset(
    """check pass run test tested verify validate validation green succeed success proof pytest unittest ruff mypy lint
    linter""".split()  # noqa: SIM905
)

RESTATED, ECHOED = 0.55, 0.75
"""A step restates its parent if it has the first share of the parent's words, and the second share of its own words is
from the parent. Measured on the tests' table: real parts add words of their own or leave most of the parent's out."""
HEADLINE = 0.75
"""A step that has this share of words in common with the parent's headline (Dice's measure) restates its parent."""
ALIKE = 0.85
"""Two steps are the same if they share this part of their words and at most one of them has other words."""


def extract_words(text: str) -> frozenset[str]:
    """Extract the words of a text for comparison: in lower case, names split into parts, stemmed, no stop words."""
    found = re.findall(r"[^\W_]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text[:20_000]).lower())
    return frozenset(_stem(word) for word in found if word not in _STOP)


def _stem(word: str) -> str:
    """Drop the most common endings, so that `merging files` and `merge the file` are the same words."""
    for ending in ("ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ers", "ed", "es", "s", "ly", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word[: -len(ending)]
            word = stem + "y" if ending in ("ies", "ied") else stem
            break
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word


_MAKING_STEMS = frozenset(_stem(word) for word in _MAKING)
_CHECKING_STEMS = frozenset(_stem(word) for word in _CHECKING)


def extract_gist(*texts: str) -> frozenset[str]:
    """Extract the words that name a text's subject: without words about making (`add`, `fix`), and with words about
    checking only if no others remain."""
    told = extract_words(" ".join(texts)) - _MAKING_STEMS
    return told - _CHECKING_STEMS or told


def is_smaller(child: Step, parent: Step, shared: frozenset[str] = frozenset(), part: bool = False) -> bool:
    """Whether a step is a real part of its parent: it has a subject, and neither it nor its first sentence restates the
    parent or the parent's headline. Words that all siblings share (`shared`) do not count. A step known to cover only a
    `part` may use any wording but the parent's own."""
    own = extract_gist(child.instructions)
    apart = shared if own - shared and extract_gist(parent.instructions) - shared else frozenset[str]()
    if not own or is_alike(child, parent, apart):
        return False
    if part:
        return True
    first_sentence = re.split(r"[.!?](?=\s|$)|\n", child.instructions.strip(), maxsplit=1)[0]
    return not any(_restates(said, parent, apart) for said in (child.instructions, first_sentence))


def _restates(said: str, parent: Step, shared: frozenset[str]) -> bool:
    """Whether a text has most of the parent's words and few others, or hardly more than the parent's headline."""
    about, whole = extract_gist(said), extract_gist(parent.instructions)
    everything = extract_gist(parent.instructions, parent.title, *parent.criteria)
    if about - shared and whole - shared:
        about, whole, everything = about - shared, whole - shared, everything - shared
    if not about or not whole:
        return False
    if len(about & whole) >= RESTATED * len(whole) and len(about & everything) >= ECHOED * len(about):
        return True
    first_clause = re.split(r"[.;:,(\n]|\b(?:with|so that|and)\b", parent.instructions, maxsplit=1)[0]
    heads = (extract_gist(first_clause), extract_gist(parent.title))
    return any(2 * len(about & head) >= HEADLINE * (len(about) + len(head)) for head in heads if head)


def is_alike(one: Step, other: Step, shared: frozenset[str] = frozenset()) -> bool:
    """Whether two steps are the same, whatever their names. Steps of the same form about different subjects (`migrate
    accounts to the new client`, `migrate orders to the new client`) are different."""
    if one.files and other.files and not set(one.files) & set(other.files):
        return False
    mine, its = (extract_words(each.instructions) - _MAKING_STEMS - shared for each in (one, other))
    return (mine <= its or its <= mine) and len(mine & its) >= ALIKE * len(mine | its)


def find_shared_words(steps: Sequence[Step]) -> frozenset[str]:
    """Find the words that all steps share; empty for a single step."""
    gists = [extract_gist(step.instructions) for step in steps]
    return frozenset.intersection(*gists) if len(gists) > 1 else frozenset()


def find_alike(step: Step, others: Iterable[Step]) -> Step | None:
    return next((other for other in others if is_alike(step, other)), None)


def is_repetition(step: Step, tried: Step) -> bool:
    """Whether a step asks for what was already tried, reworded or not."""
    mine, its = extract_gist(step.instructions), extract_gist(tried.instructions)
    shared = len(mine & its)
    return is_alike(step, tried) or (shared > 0 and shared >= ECHOED * max(len(mine), len(its)))


_VAGUE = (
    r"(?i)\b(works?( (well|fine|correctly|properly|as (expected|intended|described)))?|working|clean(er|ly)?|readable|"
    r"maintainable|good|nice|better|best practices?|robust|solid|efficient(ly)?|fast|intuitive|user.?friendly|"
    r"high.?quality|quality|well.?(written|documented|structured|tested|designed|formatted)|proper(ly)?|correct(ly)?|"
    r"complete(d|ly)?|finished|done|implemented|ready|functional|no (bugs|errors|issues|problems)|bug.?free|"
    r"as (expected|intended|required|described)|gracefully|appropriate(ly)?|reasonable|satisf(ied|ies|actory)|"
    r"successful(ly)?)\b"
)
_CONCRETE = r"[`\"'(){}\[\]=<>/_*\d]|\w\.\w|(?<!\w)-{1,2}\w"
_SAID = 3
"""The number of other words that a criterion with a vague word needs in order to count."""
_SUBJECTS = frozenset(map(_stem, ("code", "solution", "program", "application", "project", "system", "module")))


def is_vague(criterion: str) -> bool:
    """Whether a criterion is so vague (`works well`, `the code is clean`) that no check could test it."""
    if re.search(_CONCRETE, criterion):
        return False
    rest = extract_words(re.sub(_VAGUE, " ", criterion)) - _MAKING_STEMS - _SUBJECTS
    return len(rest) < _SAID if re.search(_VAGUE, criterion) else not rest
