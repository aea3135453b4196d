"""Answers for scripted models that are odd, or have several calls."""

from bough.core.messages import Answer, Call


def raw_call(tool: str, arguments: str) -> Answer:
    """Return an answer that calls one tool with these exact arguments, malformed or not."""
    return Answer(calls=(Call("", tool, arguments),), stop="calls")


def combine_answers(*answers: Answer) -> Answer:
    """Return one answer with the texts and the calls of several, for a round with parallel calls."""
    text = "\n".join(answer.text for answer in answers if answer.text)
    calls = tuple(c for answer in answers for c in answer.calls)
    return Answer(text=text, calls=calls, stop="calls" if calls else "end")
