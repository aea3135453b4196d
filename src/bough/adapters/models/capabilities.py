"""What a local server reports about its model: its context window, and whether it calls tools; and the choice whether a
model acts by tool calls or in text, by evidence: the person's setting, earlier work, the server's report.

A server is asked once, before the first round, and only if a person runs it. For an unknown model, one tiny question
decides; a model that later gets stuck is switched to the other way. Lessons are stored in the person's state folder by
model, endpoint and the server's description of the model, because a local server may serve another model under the same
name tomorrow."""

import asyncio
import fcntl
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from bough.adapters.models.faults import Endpoint, LinkError, Timeouts, Unreachable, explain_link_error, is_unreachable
from bough.adapters.models.prices import PRICED
from bough.adapters.models.wire import Client, read_everything
from bough.core.messages import AnswerProtocol, ModelProtocol
from bough.core.textual.spelling import UNREADABLE
from bough.trust.files import Place

T = TypeVar("T")

TIMEOUT = 3.0
OLLAMA_WINDOW = 4_096
"""Ollama's window for a model whose file does not set one, unless Ollama was started with another default."""


class Capabilities(Struct, frozen=True):
    window: int = 0
    """The context window in tokens; 0: the server does not say."""
    tools: bool | None = None
    """Whether the model's template supports tools; None: the server does not say."""
    server: str = ""
    """The server program: `Ollama`, `llama.cpp`, `vLLM`; empty: unknown."""
    about: str = ""
    """The server's description of the model; if it changes, the server has another model."""
    unreachable: str = ""
    """The error if nothing listens at the server's address; else empty."""
    images: bool | None = None
    """Whether the model takes images; None: the server does not say."""


async def read_capabilities(client: Client, at: Endpoint, ollama: bool) -> Capabilities:
    root = re.sub(r"/v1/?$", "", at.base_url)
    try:
        # Limit the whole call: a server that sends a byte now and then would never time out.
        async with asyncio.timeout(2 * TIMEOUT):
            if ollama:
                asked = msgspec.json.encode({"model": at.model})
                shown = await _request_json(client, at, "POST", f"{root}/api/show", asked)
                if "capabilities" in shown or "model_info" in shown:
                    return _parse_ollama(shown, await _request_json(client, at, "GET", f"{root}/api/ps"), at.model)
            found = _parse_llama_cpp(await _request_json(client, at, "GET", f"{root}/props"))
            if found != Capabilities():
                return found
            return _parse_models(await _request_json(client, at, "GET", f"{at.base_url.rstrip('/')}/models"), at.model)
    except TimeoutError:
        return Capabilities()
    except Unreachable as error:
        return Capabilities(unreachable=str(explain_link_error(at, error, TIMEOUT)))


def _parse_ollama(shown: dict[str, Any], running: dict[str, Any], model: str) -> Capabilities:
    able = shown.get("capabilities")
    tools = "tools" in able if isinstance(able, list) else None
    trained = [value for key, value in _get(shown, "model_info", dict).items() if key.endswith(".context_length")]
    set_to = re.search(r"(?m)^[ \t]*num_ctx[ \t]+(\d+)", str(shown.get("parameters", "")))
    loaded = [
        entry.get("context_length")
        for entry in _get(running, "models", list)
        if isinstance(entry, dict)
        and str(entry.get("name", "")).removesuffix(":latest") == model.removesuffix(":latest")
    ]
    given = _to_number(loaded[0]) if loaded else 0
    window = given or (int(set_to[1]) if set_to else OLLAMA_WINDOW)
    most = max(map(_to_number, trained), default=0)
    images = "vision" in able if isinstance(able, list) else None
    about = _describe(shown, "modified_at") + _describe(_get(shown, "details", dict), "family", "parameter_size")
    return Capabilities(min(window, most) if most else window, tools, "Ollama", about, images=images)


def _parse_llama_cpp(props: dict[str, Any]) -> Capabilities:
    settings = _get(props, "default_generation_settings", dict)
    window = _to_number(settings.get("n_ctx", props.get("n_ctx")))
    caps = _get(props, "chat_template_caps", dict)
    says = caps.get("supports_tools", caps.get("supports_tool_calls"))
    tools = says if isinstance(says, bool) else None
    sees = _get(props, "modalities", dict).get("vision")
    images = sees if isinstance(sees, bool) else None
    known = window or tools is not None
    about = _describe(props, "model_path", "model_alias")
    return Capabilities(window, tools, "llama.cpp", about, images=images) if known else Capabilities()


def _parse_models(listed: dict[str, Any], model: str) -> Capabilities:
    """Read a list of models: vLLM's has the context window, those of other servers at least the models' names."""
    entries = [entry for entry in _get(listed, "data", list) if isinstance(entry, dict)]
    entry = next((entry for entry in entries if entry.get("id") == model), entries[0] if len(entries) == 1 else {})
    window = _to_number(entry.get("max_model_len"))
    return Capabilities(window, server="vLLM" if window else "", about=_describe(entry, "id", "root", "max_model_len"))


def _describe(found: dict[str, Any], *keys: str) -> str:
    return " ".join(f"{key}={str(found[key])[:200]}" for key in keys if found.get(key))


async def _request_json(client: Client, at: Endpoint, method: str, url: str, body: bytes = b"") -> dict[str, Any]:
    """Return the JSON object in the server's answer; empty if it is anything else."""
    headers = [(b"user-agent", b"bough"), (b"content-type", b"application/json")]
    if at.key:
        headers.append((b"authorization", f"Bearer {at.key}".encode()))
    try:
        async with client.link(url).exchange(method, url, headers, body, Timeouts(TIMEOUT, TIMEOUT)) as reply:
            content = await read_everything(reply.pieces)
            found = msgspec.json.decode(content) if reply.status == 200 else {}
    except (LinkError, *UNREADABLE) as error:
        if isinstance(error, Unreachable) and is_unreachable(error):
            raise
        return {}
    return found if isinstance(found, dict) else {}


def _get(found: dict[str, Any], key: str, kind: type[T]) -> T:
    value = found.get(key)
    return value if isinstance(value, kind) else kind()


def _to_number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9 else 0


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
    except (OSError, *UNREADABLE):  # The file is missing or unreadable: its lessons are learned again.
        return {}
