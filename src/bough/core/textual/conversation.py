"""A conversation as a model in the text protocol sees it: no calls and no results, only words on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.text_fitting import shorten_middle
from bough.core.messages import Message, Replied, Result, Said

ANSWER = 1_500
"""Tokens of the model's own last answer that it is shown again."""
OUTPUT = 700
"""Tokens of what a block of it came to."""


def render_as_text(messages: Iterable[Message]) -> PersistentList[Message]:
    """Results are told by bough; neighbours on one side become one message, which small models' templates expect."""
    told: list[Message] = []
    for message in _usable(messages):
        if isinstance(message, Replied):
            told.append(Replied(shorten_middle(message.text.strip(), ANSWER) or "(empty answer)"))
            continue
        text = shorten_middle(message.text, OUTPUT) if isinstance(message, Result) else message.text.strip()
        if told and isinstance(told[-1], Said):
            told[-1] = Said(f"{told[-1].text}\n\n{text}")
        else:
            told.append(Said(text))
    return PersistentList(tuple(told))


def _usable(messages: Iterable[Message]) -> list[Message]:
    """Without answers that came to nothing: a small model that sees one again says it again (183 times out of 183)."""
    all_of_them = list(messages)
    after = [*all_of_them[1:], None]
    return [
        message
        for message, following in zip(all_of_them, after, strict=True)
        if not (isinstance(message, Replied) and isinstance(following, Said))
    ]


def rebuild_messages(brief: str, messages: Sequence[Message]) -> list[Message]:
    """The brief as it would be written now, and only the last exchange: what came before it is in the files."""
    last = max((n for n, message in enumerate(messages) if isinstance(message, Replied)), default=len(messages))
    return [Said(brief), *messages[last:]]
