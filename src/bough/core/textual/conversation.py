"""A conversation as a model in the text protocol sees it: no calls and no results, only text on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.text_fitting import shorten_middle
from bough.core.messages import Message, Replied, Result, Said

ANSWER = 1_500
"""Tokens of its own last answer that the model sees again."""
OUTPUT = 700
"""Tokens of a block's result."""


def render_as_text(messages: Iterable[Message]) -> PersistentList[Message]:
    """bough reports results; adjacent messages of one side become one, which small models' templates expect."""
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
    """Drop useless answers: a small model that sees one again repeats it (183 times out of 183)."""
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
