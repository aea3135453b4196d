"""Chooses whether a model acts by tool calls or in text, by evidence: the person's setting, earlier work, the server's
report.

For an unknown model, one tiny question decides; a model that later gets stuck is switched to the other way. Lessons are
stored in the person's state folder by model, endpoint and the server's description of the model, because a local server
may serve another model under the same name tomorrow.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import Struct

from bough.adapters.models.capabilities import Capabilities
from bough.adapters.models.prices import PRICED
from bough.core.messages import AnswerProtocol, ModelProtocol
from bough.core.textual.spelling import UNREADABLE
from bough.trust.files import Place

Setting = Literal["auto", "tools", "text"]
NONE: Mapping[str, ModelProtocol] = MappingProxyType({})


class ModelLesson(Struct, frozen=True, omit_defaults=True):
    """What earlier work showed about a model."""

    server: str = ""
    """The server's description of the model at that time."""
    protocol: AnswerProtocol | None = None
    why: str = ""


class KnownProtocols(Struct, eq=False):
    _file: Path
    _settings: Mapping[str, Setting]
    """The person's settings, by model."""
    _said: Mapping[str, Capabilities]
    """The servers' reports, by model."""
    _places: Mapping[str, str]
    """The addresses of models that are not served by their provider itself."""
    _began: Mapping[str, ModelProtocol] = NONE
    """The run's protocols at its start."""
    _learned: dict[str, ModelLesson] = {}

    def __post_init__(self) -> None:
        self._learned = _load_lessons(self._file) if self._places else {}

    def of(self, model: str) -> ModelProtocol:
        setting, began = self._settings.get(model), self._began.get(model)
        if setting is None:  # The caller passed the model in, so it is as capable as they say.
            return ModelProtocol()
        if setting != "auto":
            return ModelProtocol(setting, "you set it")
        if began is not None and not began.may_change:
            return began
        if model not in self._places and model.partition(":")[0] in PRICED:
            return ModelProtocol("tools", "the price list knows it, and such models call tools")
        lesson = self._recall(model)
        if lesson.protocol is not None:
            return ModelProtocol(lesson.protocol, lesson.why, may_change=True)
        if began is not None:
            return began
        said = self._said.get(model, Capabilities())
        if said.tools is False:
            return ModelProtocol("text", f"{said.server} says that it cannot call tools", may_change=True)
        why = f"{said.server} says that it can call tools" if said.tools else "nothing is known about it yet"
        return ModelProtocol("tools", why, may_change=True, unknown=model in self._places)

    def learn(self, model: str, protocol: AnswerProtocol, why: str) -> None:
        if self._recall(model).protocol != protocol:
            key, about = self._get_key(model), self._said.get(model, Capabilities()).about
            self._update(lambda lessons: lessons | {key: ModelLesson(about, protocol, why)})

    def forget(self, model: str) -> bool:
        """Forget what was learned about a model; return whether there was anything to forget."""
        known = model in self._places and self._get_key(model) in self._learned
        self._update(lambda lessons: {key: lesson for key, lesson in lessons.items() if key != self._get_key(model)})
        return known

    def _get_key(self, model: str) -> str:
        return f"{model} at {self._places.get(model, 'its provider')}"

    def _recall(self, model: str) -> ModelLesson:
        about = self._said.get(model, Capabilities()).about
        lesson = self._learned.get(self._get_key(model), ModelLesson(about))
        return lesson if lesson.server == about else ModelLesson(about)

    def _update(self, change: Callable[[dict[str, ModelLesson]], dict[str, ModelLesson]]) -> None:
        """Change the lessons in memory, and in the file under a lock, because other runs change it, too. If the file
        cannot be written, only this run remembers."""
        self._learned = change(self._learned)
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._file.with_suffix(".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                kept = change(_load_lessons(self._file))
                body = msgspec.json.format(msgspec.json.encode(kept), indent=1)
                Place(self._file.parent, self._file.name).write(body)
            self._learned = kept


def _load_lessons(file: Path) -> dict[str, ModelLesson]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, ModelLesson])
    except (OSError, *UNREADABLE):  # nothing learned yet, or an unreadable file: it is learned again
        return {}
