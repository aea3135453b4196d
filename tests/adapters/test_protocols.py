"""How a model is spoken to, by evidence; and what local servers say of theirs."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.models.capabilities import Capabilities, KnownProtocols, Setting, read_capabilities
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.providers import find_endpoint, parse_model_name
from bough.adapters.models.wire import Client
from bough.app.config import load_config
from bough.app.run_models import gather_knowledge
from bough.core.errors import UsageError
from bough.core.messages import ModelProtocol

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


def test_vllm_says_how_long_a_conversation_may_be_and_others_what_they_serve() -> None:
    listed = {"/v1/models": {"data": [{"id": "other"}, {"id": "qwen", "root": "Q/q", "max_model_len": 32768}]}}
    found = asked(listed, ollama=False)
    assert (found.window, found.server, found.about) == (32768, "vLLM", "id=qwen root=Q/q max_model_len=32768")
    assert asked({"/v1/models": {"data": [{"id": "x"}]}}, ollama=False) == Capabilities(about="id=x")


HERE = {"openai:mine": "http://127.0.0.1:1/v1"}
AUTO: dict[str, Setting] = dict.fromkeys((*HERE, "anthropic:claude", "openai:gpt-5"), "auto")


def test_the_evidence_counts_in_its_order(tmp_path: Path) -> None:
    file, says_no = tmp_path / "models.json", {"openai:mine": Capabilities(4096, False, "Ollama")}
    known = KnownProtocols(file, AUTO, {}, HERE)
    assert (known.of("anthropic:claude").protocol, known.of("anthropic:claude").may_change) == ("tools", False)
    assert (known.of("openai:mine").protocol, known.of("openai:mine").may_change) == ("tools", True)
    assert KnownProtocols(file, AUTO, says_no, HERE).of("openai:mine").protocol == "text"
    known.learn("openai:mine", "text", "this model does not call tools reliably")
    again = KnownProtocols(file, AUTO, {}, HERE).of("openai:mine")
    assert (again.protocol, again.why) == ("text", "this model does not call tools reliably")
    said = KnownProtocols(file, {"openai:mine": "tools"}, {}, HERE).of("openai:mine")
    assert said.protocol == "tools" and not said.may_change
    file.write_text("nonsense")
    assert KnownProtocols(file, AUTO, {}, HERE).of("openai:mine").protocol == "tools"


def test_no_name_decides(tmp_path: Path) -> None:
    for name in ("openai:qwen2.5-coder-1.5b", "openai:claude-opus", "openai:x", "ollama:gemma3:4b"):
        known = KnownProtocols(tmp_path / "models.json", {name: "auto"}, {}, {name: "http://127.0.0.1:1/v1"})
        assert known.of(name) == ModelProtocol("tools", "nothing is known about it yet", may_change=True, unknown=True)


def test_what_is_learned_belongs_to_the_endpoint_and_to_what_it_serves(tmp_path: Path) -> None:
    file, old = tmp_path / "models.json", {"openai:mine": Capabilities(about="id=a")}
    known = KnownProtocols(file, AUTO, old, HERE)
    known.learn("openai:mine", "text", "because")
    assert KnownProtocols(file, AUTO, old, HERE).of("openai:mine").protocol == "text"
    swapped = KnownProtocols(file, AUTO, {"openai:mine": Capabilities(about="id=b")}, HERE)
    assert swapped.of("openai:mine").protocol == "tools"
    elsewhere = KnownProtocols(file, AUTO, old, {"openai:mine": "http://127.0.0.1:2/v1"})
    assert elsewhere.of("openai:mine").protocol == "tools"
    assert known.forget("openai:mine") and not known.forget("openai:mine")
    assert KnownProtocols(file, AUTO, old, HERE).of("openai:mine").protocol == "tools"


def test_a_resumed_run_uses_what_it_began_with(tmp_path: Path) -> None:
    """A worker on another machine has no memory of the model, and a person who chose a protocol meant the whole run."""
    for began in (
        ModelProtocol("text", "this model does not call tools reliably", True),
        ModelProtocol("text", "you set it"),
    ):
        known = KnownProtocols(tmp_path / "models.json", AUTO, {}, HERE, {"openai:mine": began})
        assert known.of("openai:mine") == began


def test_a_server_s_window_counts_unless_less_is_wanted() -> None:
    async def look(url: str) -> None:
        client = Client()
        name = f"openai:mine@{url}/v1"
        found = await gather_knowledge([name], base_url=None, client=client, env={}, setting="auto")
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
