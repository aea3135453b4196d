"""A judge's ruling on a dispute. The judge may uphold a claim only by quoting words of the goal that demand it, and
bough looks these words up itself: an opinion without a quote decides nothing."""

import re

from msgspec import Struct

from bough.core.conversation import schema
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.messages import Answer, ToolSpec

SHORTEST = 8
"""The minimum number of letters and digits in a quote: a word like `the` is in every text."""
_SAME = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " ", "`": " ", "*": " "})
_AROUND = " \t\n\"'.,;:…"


def find_quote(quote: str, text: str, enough: int = 0) -> re.Match[str] | None:
    """Find the words of a quote in the text, in their order; None if they are absent, or if the quote is too short and
    has fewer than `enough` words. Case, white space, Markdown emphasis and the style of quotation marks are ignored."""
    words = re.findall(r"\S+", quote.translate(_SAME).strip(_AROUND))
    few = not enough or len(words) < enough
    if few and sum(letter.isalnum() for letter in "".join(words)) < min(SHORTEST, len(re.findall(r"\w", text)) or 1):
        return None
    return re.search(r"\s+".join(map(re.escape, words)), text.translate(_SAME), re.IGNORECASE)


RULE = ToolSpec(
    name="rule",
    description="Give your ruling, in one call.",
    parameters=schema.table(
        {
            "reason": schema.text("What decides it, in one or two sentences. Written first."),
            "demanded": schema.flag("true only if words of the request demand it, and you quote them."),
            "quote": schema.text("Those words, exactly as written in the request. Empty if there are none."),
        },
        "reason",
        "demanded",
    ),
    writes=False,
)
LONGEST = 4_000


class Ruling(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    demanded: bool
    """Whether the goal demands what was claimed."""
    quote: str = ""
    """The words of the goal that demand the claim, as they are written there."""
    reason: str = ""


def read_ruling(answer: Answer, request: str) -> Ruling | Problems:
    """Read the ruling, or return what is wrong with it, such as a claim upheld without words of the request."""
    given = parse_answer(answer, RULE, Ruling, {"ruling": "demanded", "why": "reason"})
    if isinstance(given, str):
        return Problems((given,))
    if not given.demanded:
        return Ruling(False, "", given.reason[:LONGEST])
    place = find_quote(given.quote, request)
    if place is None:
        shown = f"`{given.quote[:200]}` is too short, or not in the request" if given.quote else "There is no quote"
        return Problems((f"{shown}: quote the words that demand it exactly, or rule that it is not demanded.",))
    return Ruling(True, request[slice(*place.span())], given.reason[:LONGEST])
