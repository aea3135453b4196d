"""A local server's report about its model: its context window, and whether it calls tools.

It is queried once, before the first round, and only from servers that a person runs. A server without such a report is
not an error: then nothing is known about its model.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bough.adapters.models.faults import Endpoint, LinkError, Timeouts, Unreachable, explain_link_error, is_unreachable
from bough.adapters.models.wire import Client, read_everything
from bough.core.textual.spelling import UNREADABLE

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
        async with asyncio.timeout(2 * TIMEOUT):  # a server that sends a byte now and then would never time out
            if ollama:
                asked = msgspec.json.encode({"model": at.model})
                shown = await _request_json(client, at, "POST", f"{root}/api/show", asked)
                if "capabilities" in shown or "model_info" in shown:
                    running = await _request_json(client, at, "GET", f"{root}/api/ps")
                    return _parse_ollama(shown, running, at.model)
            found = _parse_llama_cpp(await _request_json(client, at, "GET", f"{root}/props"))
            if found != Capabilities():
                return found
            listed = await _request_json(client, at, "GET", f"{at.base_url.rstrip('/')}/models")
            return _parse_models(listed, at.model)
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
    about = _describe(entry, "id", "root", "max_model_len")
    return Capabilities(window, server="vLLM" if window else "", about=about)


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
