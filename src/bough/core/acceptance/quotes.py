"""Where a quote is in a text. A model that must quote is believed only if the quote can be found."""

from __future__ import annotations

import re

from msgspec import Struct

SHORTEST = 8
"""Letters and digits a quote needs to say anything: `the` is in every text."""
_SAME = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " ", "`": " ", "*": " "})
_AROUND = " \t\n\"'.,;:…"


class TextSpan(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A stretch of a text, in characters."""

    start: int
    end: int


def find_quote(quote: str, text: str) -> TextSpan | None:
    """Where the text has these words in this order; None if it does not, or if they are too few to say anything.
    Case, white space, Markdown emphasis and the style of quotation marks do not count."""
    words = re.findall(r"\S+", quote.translate(_SAME).strip(_AROUND))
    if sum(letter.isalnum() for letter in "".join(words)) < min(SHORTEST, len(re.findall(r"\w", text)) or 1):
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text.translate(_SAME), re.IGNORECASE)
    return TextSpan(found.start(), found.end()) if found else None
