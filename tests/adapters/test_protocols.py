"""How a model is spoken to, by evidence; and what local servers say of theirs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.models.capabilities import Capabilities, read_capabilities
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.protocols import KnownProtocols, find_family_protocol
from bough.adapters.models.providers import find_endpoint, parse_model_name
from bough.adapters.models.wire import Client
from bough.app.model_knowledge import gather_knowledge
from bough.config import load_config
from bough.core.errors import UsageError

OLLAMA = {
    "/api/show": {
        "capabilities": ["completion"],
        "model_info": {"qwen2.context_length": 32768},
        "parameters": "num_ctx                        8192\nstop  x",
    },
    "/api/ps": {"models": []},
}
LLAMA = {"/props": {"default_generation_settings": {"n_ctx": 12288}, "chat_template_caps": {"supports_tools": True}}}


@contextmanager
def server(answers: dict[str, Any]) -> Iterator[str]:
    """A server that answers some paths with JSON, and others with 404."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Tests are quiet."""

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            body = json.dumps(answers.get(self.path, {})).encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}"
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def asked(answers: dict[str, Any], ollama: bool) -> Capabilities:
    async def ask(url: str) -> Capabilities:
        client = Client()
        try:
            return await read_capabilities(client, Endpoint("ollama:qwen", f"{url}/v1"), ollama)
        finally:
            await client.close()

    with server(answers) as url:
        return asyncio.run(ask(url))


def test_ollama_says_what_it_serves() -> None:
    assert asked(OLLAMA, ollama=True) == Capabilities(8192, False, "Ollama", images=False)
    loaded = OLLAMA | {"/api/ps": {"models": [{"name": "qwen:latest", "context_length": 16384}]}}
    assert asked(loaded, ollama=True).window == 16384
    unset = {"/api/show": {"capabilities": ["tools"], "model_info": {"q.context_length": 32768}}}
    assert asked(unset, ollama=True) == Capabilities(4096, True, "Ollama", images=False)


def test_llama_cpp_says_what_it_serves_and_others_say_nothing() -> None:
    assert asked(LLAMA, ollama=False) == Capabilities(12288, True, "llama.cpp")
    cases: list[dict[str, Any]] = [{}, {"/props": []}, {"/props": {"default_generation_settings": {"n_ctx": "many"}}}]
    for odd in cases:
        assert asked(odd, ollama=False) == Capabilities()


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("qwen2.5-coder:1.5b", "text"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "text"),
        ("gemma3:4b", "text"),
        ("phi3.5", "text"),
        ("deepseek-coder:6.7b", "text"),
        ("llama3.2:1b", "text"),
        ("qwen3:8b", "tools"),
        ("gpt-oss:20b", "tools"),
        ("claude-sonnet-4-5", "tools"),
        ("my-own-model", None),
    ],
)
def test_families(name: str, protocol: str | None) -> None:
    assert find_family_protocol(name) == protocol


def test_the_evidence_counts_in_its_order(tmp_path: Path) -> None:
    here = frozenset({"openai:mine", "ollama:gemma3", "ollama:mine"})
    auto = dict.fromkeys((*here, "anthropic:claude", "openai:gpt-5"), "auto")
    known = KnownProtocols(tmp_path / "models.json", auto, {"ollama:mine": Capabilities(4096, False, "Ollama")}, here)  # type: ignore[arg-type]
    assert (known.of("anthropic:claude").protocol, known.of("anthropic:claude").may_change) == ("tools", False)
    assert (known.of("openai:mine").protocol, known.of("openai:mine").may_change) == ("tools", True)
    assert known.of("ollama:gemma3").protocol == "text"
    assert "Ollama says" in known.of("ollama:mine").why
    known.learn("openai:mine", "text", "it gave 2 answers in a row without a usable tool call")
    again = KnownProtocols(tmp_path / "models.json", auto, {}, here)  # type: ignore[arg-type]
    assert again.of("openai:mine").protocol == "text" and "earlier run" in again.of("openai:mine").why
    said = KnownProtocols(tmp_path / "models.json", {"openai:mine": "tools"}, {}, here)
    assert said.of("openai:mine").protocol == "tools" and not said.of("openai:mine").may_change
    (tmp_path / "models.json").write_text("nonsense")
    assert KnownProtocols(tmp_path / "models.json", auto, {}, here).of("openai:mine").may_change  # type: ignore[arg-type]


def test_a_server_s_window_counts_unless_less_is_wanted(tmp_path: Path) -> None:
    async def look(url: str) -> None:
        client = Client()
        name = f"openai:mine@{url}/v1"
        found = await gather_knowledge([name], home=tmp_path, base_url=None, client=client, env={}, setting="auto")
        await client.close()
        assert found.window(name, 0) == 12288 and found.window(name, 4096) == 4096
        assert found.protocols.of("openai:mine").protocol == "tools"

    with server(LLAMA) as url:
        asyncio.run(look(url))


def test_an_address_behind_a_name() -> None:
    name = "openai:small@http://127.0.0.1:8080/v1"
    assert parse_model_name(name, None, {}) == ("openai", "small")
    assert find_endpoint(name, "http://elsewhere/v1", {}).base_url == "http://127.0.0.1:8080/v1"
    assert parse_model_name("small@http://127.0.0.1:8080/v1", None, {}) == ("openai", "small")


def test_a_repository_may_not_set_an_address(tmp_path: Path) -> None:
    (tmp_path / "bough.toml").write_text('[models]\nstrong = "openai:x@http://evil.example/v1"\n')
    with pytest.raises(UsageError, match="cannot be set in a repository"):
        load_config(tmp_path, {})
