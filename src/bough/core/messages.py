"""The messages between bough and a model, in no provider's dialect."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from bough.core.conversation.persistent_list import PersistentList

AnswerProtocol = Literal["tools", "text", "agent"]
"""An agent's way to act: by native tool calls, by blocks in its text, or (an outside one) with tools of its own."""


class Call(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool call as the model asked for it. `arguments` is the raw JSON text: it may well be malformed."""

    id: str
    name: str
    arguments: str
    extra: str = ""
    """Provider fields of the call that must be sent back unchanged, as a JSON object."""


class UserMessage(Struct, frozen=True, forbid_unknown_fields=True, tag="said"):
    """bough's text to the model: the brief, a nudge, a message of escalation."""

    text: str


class ModelMessage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag="replied"):
    """The model's answer."""

    text: str
    calls: tuple[Call, ...] = ()
    extra: str = ""
    """Provider fields of the message that must be sent back unchanged (signed reasoning …), as a JSON object."""


class Picture(Struct, frozen=True, forbid_unknown_fields=True):
    """An image, for models that take them."""

    kind: str
    """The image's media type."""
    blob: str
    """The image's name in the blob store."""


class Result(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag="result"):
    """The result of one tool call."""

    call: str
    text: str
    ok: bool
    picture: Picture | None = None


Message = UserMessage | ModelMessage | Result


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments."""
    writes: bool
    """Whether the tool may change the workspace: such calls run one after the other, each followed by a snapshot."""
    roles: tuple[str, ...] = ()
    """The roles whose agents get the tool; empty: every agent."""


EDITORS = frozenset({"edit", "write"})
"""bough's own tools that change the file that their `path` names."""


def list_editors(specs: Iterable[ToolSpec]) -> frozenset[str]:
    """List the tools that change the file that their `path` names."""
    return frozenset(spec.name for spec in specs if spec.writes and "path" in spec.parameters.get("properties", ()))


class Prompt(Struct, frozen=True):
    """Everything that goes into one model call."""

    key: str
    """The call's name within its run (`task#attempt#round`), by which a recording is replayed."""
    system: str
    messages: PersistentList[Message]
    tools: tuple[ToolSpec, ...]
    schema: ToolSpec | None = None
    """A tool whose arguments give the form of the answer: one JSON object, in the text."""
    temperature: float | None = None
    """The sampling temperature; None: the model's own."""
    pictures: dict[str, bytes] = {}
    """The images of the messages, by their names in the blob store."""
    answers: int = 1
    """Number of answers wanted. A server may give fewer."""


class Usage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tokens of one model call. `input` counts all of the prompt, cached or not."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False
    """Whether bough estimated the tokens, because the provider does not report them."""


Stop = Literal["end", "calls", "length", "refusal"]


class Answer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model's whole answer to one prompt."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    stop: Stop = "end"
    usage: Usage = Usage()
    cost: float | None = None
    """US dollars, or None if the model's price is unknown."""
    model: str = ""
    extra: str = ""
    others: tuple[str, ...] = ()
    """The texts of further answers to the same prompt."""


class ModelProtocol(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The protocol that a model uses, and why."""

    protocol: AnswerProtocol = "tools"
    why: str = ""
    may_change: bool = False
    """Whether escalation may switch the protocol: it was found out or is unknown, not set by the person."""
    unknown: bool = False
    """Whether nothing shows yet if the model can call tools: bough tries that first."""
