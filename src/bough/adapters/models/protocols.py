"""Which protocol a model uses, by evidence: what the person sets, what an earlier run learned, what the server reports,
what is known about its family. Where nothing is known it is offered tools, and the ladder may change that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from bough.adapters.models.capabilities import Capabilities
from bough.adapters.models.wire import UNREADABLE
from bough.core.messages import AnswerProtocol
from bough.ports import Spoken
from bough.trust.files import Place

Setting = Literal["auto", "tools", "text"]

HOSTED = frozenset(
    {"anthropic", "deepseek", "gemini", "google", "groq", "mistral", "openai", "openai-responses", "vertex", "xai"}
)
"""Providers whose own models call tools."""
FAMILIES: tuple[tuple[str, AnswerProtocol], ...] = (
    (r"qwen-?2\.5-coder|qwen-?2\.5.*[^\d.](0\.5|1\.5|3)b|qwen-?2-", "text"),
    (r"deepseek-coder|deepseek-r1.*[^\d.](1\.5|7|8)b", "text"),
    (
        r"code-?llama|star-?coder|stable-?code|code-?gemma|gemma-?[123]|wizard-?coder|granite-code|yi-coder|opencoder",
        "text",
    ),
    (r"\bphi-?[123]|smollm|tinyllama|llama-?3\.2.*[^\d.][13]b|llama-?2|codestral", "text"),
    (
        r"claude|\bgpt-[4-9]|\bgpt-oss|\bo[1345]\b|gemini|grok|qwen-?3|qwen3-coder|devstral|mistral-(small|medium|large)",
        "tools",
    ),
    (r"llama-?3\.[13].*70b|llama-?4|glm-?4|kimi|minimax|deepseek-(v3|chat|reasoner)|hermes-[34]|command-[ar]", "tools"),
)
"""Names of models, and how well-behaved families act; the first match counts."""


class ProtocolLesson(Struct, frozen=True):
    """What a run learned about a model."""

    protocol: AnswerProtocol
    why: str


class KnownProtocols:
    """What is known about this project's models. `learn` keeps it in a file next to the journal, which may be
    deleted."""

    def __init__(
        self,
        file: Path,
        settings: Mapping[str, Setting],
        said: Mapping[str, Capabilities],
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        """`settings`: what the person sets, by model; `said`: what servers report; `elsewhere`: models not served by
        their provider itself, so that the provider's name says nothing."""
        self._file = file
        self._settings = settings
        self._said = said
        self._elsewhere = elsewhere
        self._learned = _load_lessons(file)

    def of(self, model: str) -> Spoken:
        setting = self._settings.get(model)
        if setting is None:  # The caller's own model: it is as capable as they say.
            return Spoken()
        if setting != "auto":
            return Spoken(setting, "you set it")
        if lesson := self._learned.get(model):
            return Spoken(lesson.protocol, f"an earlier run found that {lesson.why}")
        provider, _, name = model.partition(":")
        if provider in HOSTED and model not in self._elsewhere:
            return Spoken("tools", f"models of {provider} call tools")
        said = self._said.get(model, Capabilities())
        if said.tools is False:
            return Spoken("text", f"{said.server} says that it cannot call tools")
        if family := find_family_protocol(name or provider):
            return Spoken(family, "models of its family work best with it", may_change=family == "tools")
        why = f"{said.server} says that it can call tools" if said.tools else "nothing is known about it yet"
        return Spoken("tools", why, may_change=True)

    @property
    def learned(self) -> Mapping[str, ProtocolLesson]:
        return self._learned

    def learn(self, model: str, protocol: AnswerProtocol, why: str) -> None:
        self._learned[model] = ProtocolLesson(protocol, why)
        # A cache: the journal has it too. Written whole and moved into place, so that a crash leaves the old one.
        self._file.parent.mkdir(parents=True, exist_ok=True)
        body = msgspec.json.format(msgspec.json.encode(self._learned), indent=1)
        Place(self._file.parent, self._file.name).write(body)


def find_family_protocol(name: str) -> AnswerProtocol | None:
    name = name.lower().rpartition("/")[2].replace("_", "-").replace(":", "-")
    return next((protocol for pattern, protocol in FAMILIES if re.search(pattern, name)), None)


def _load_lessons(file: Path) -> dict[str, ProtocolLesson]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, ProtocolLesson])
    except (
        FileNotFoundError,
        *UNREADABLE,
    ):  # Nothing learned yet, or an unreadable file: it is learned again.
        return {}
