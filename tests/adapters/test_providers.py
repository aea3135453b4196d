"""Names, places and keys of models."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bough.adapters.models import wire as wires
from bough.adapters.models.anthropic import AnthropicModel
from bough.adapters.models.chat import ChatModel
from bough.adapters.models.prices import compute_price
from bough.adapters.models.providers import (
    LIBRARY,
    PROVIDERS,
    Reachability,
    find_endpoint,
    list_secrets,
    make_model,
    parse_model_name,
    probe_model,
)
from bough.adapters.models.recording import RecordingModel, ReplayModel
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import RequestRefused, UsageError
from bough.core.messages import Answer, Call, Message, ModelMessage, Prompt, Result, Usage, UserMessage
from bough.ports import Model
from bough.testing.scripted import ScriptedModel
from tests.wire import KEY, Status, WireModel, WireRequest

PROMPT = Prompt("goal#1#1", "system", PersistentList((UserMessage("Begin."),)), ())
KEYS = {variable: KEY for provider in PROVIDERS.values() for variable in provider.keys}


def make(name: str, env: Mapping[str, str], base_url: str | None = None) -> Model:
    return make_model(name, base_url=base_url, client=wires.Client(), timeout=60, env=env)


def ask(name: str, env: Mapping[str, str], base_url: str | None = None) -> Answer:
    async def go() -> Answer:
        client = wires.Client()
        model = make_model(name, base_url=base_url, client=client, timeout=60, env=env)
        try:
            return await model.ask(PROMPT, lambda text: None)
        finally:
            await model.close()
            await client.close()

    return asyncio.run(go())


@pytest.mark.parametrize("provider", [name for name, known in PROVIDERS.items() if known.dialect != LIBRARY])
def test_every_provider_makes_a_model(provider: str) -> None:
    model = make(f"{provider}:some/model:1b", KEYS)
    assert model.name == f"{provider}:some/model:1b"
    assert type(model) is (AnthropicModel if provider == "anthropic" else ChatModel)
    at = find_endpoint(model.name, None, KEYS)
    assert at.base_url == PROVIDERS[provider].base_url
    assert at.model == "some/model:1b"
    assert at.key == (KEY if PROVIDERS[provider].keys else "")
    assert KEY not in repr(model) and KEY not in repr(at)


def test_gemini_gets_a_signature_for_calls_that_another_model_made() -> None:
    trail: PersistentList[Message] = PersistentList((UserMessage("Begin."),))
    calls = (Call("c1", "read", '{"path": "a"}'), Call("c2", "read", '{"path": "b"}'))
    trail = trail.then(ModelMessage("", calls), Result("c1", "a", True), Result("c2", "b", True))
    for name in ("gemini:m", "openai:m"):
        model = make(name, {}, "http://127.0.0.1:1")
        assert isinstance(model, ChatModel)
        first, second = json.loads(model.body(Prompt("goal#1#1", "", trail, ())))["messages"][1]["tool_calls"]
        signed = {"google": {"thought_signature": "skip_thought_signature_validator"}}
        assert first.get("extra_content") == (signed if name == "gemini:m" else None)
        assert "extra_content" not in second


def test_an_unknown_provider_names_the_nearest() -> None:
    for name, nearest in (("antropic:x", "anthropic:x"), ("OpenAI:gpt", "openai:gpt"), ("olama:q:8b", "ollama:q:8b")):
        with pytest.raises(UsageError, match=f"did you mean {nearest}"):
            make(name, {})
    with pytest.raises(UsageError, match="bough knows anthropic, bedrock, deepseek"):
        make("zzz:x", {})


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", ":x"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(UsageError, match=r"provider:model.*bough demo"):
        make(name, {})


def test_a_missing_key_says_which_variable_to_set() -> None:
    for provider, known in PROVIDERS.items():
        if known.keys:
            with pytest.raises(RequestRefused, match=rf"set {known.keys[0]} .*bough demo"):
                make(f"{provider}:m", {known.keys[0]: " "})


def test_the_second_name_of_a_key_counts_too() -> None:
    assert find_endpoint("google:gemini", None, {"GOOGLE_API_KEY": KEY}).key == KEY


def test_a_given_endpoint_needs_no_key_and_no_provider() -> None:
    with WireModel([Answer("one"), Answer("two"), Answer("three")]) as wire:
        assert ask("openai:m", {}, wire.base_url).text == "one"
        assert ask("qwen3", {"OPENAI_BASE_URL": wire.base_url + "/", "OPENAI_API_KEY": KEY}).text == "two"
        answer = ask("openai:gpt-4o", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, wire.base_url)
    assert answer.text == "three" and answer.cost is None
    assert "authorization" not in wire.requests[0].headers
    assert wire.requests[1].headers["authorization"] == f"Bearer {KEY}"
    assert wire.requests[1].json["model"] == "qwen3"


def test_anthropics_endpoint_by_variable() -> None:
    with WireModel([Answer("one"), Answer("two")]) as wire:
        assert ask("anthropic:m", {"ANTHROPIC_BASE_URL": wire.anthropic_url}).text == "one"
        assert ask("anthropic:m", {"ANTHROPIC_BASE_URL": wire.anthropic_url + "/v1/"}).text == "two"
    assert {request.path for request in wire.requests} == {"/v1/messages"}


def test_a_query_in_the_base_url_stays_at_its_end() -> None:
    with WireModel([Answer("ok")]) as wire:
        assert ask("openai:m", {}, f"{wire.base_url}/?api-version=1").text == "ok"
    assert wire.requests[0].path == "/v1/chat/completions?api-version=1"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "nonsense"])
def test_a_base_url_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="begin with http"):
        make("openai:m", {}, url)


def test_mistral_is_not_asked_for_the_usage() -> None:
    model = make("mistral:m", KEYS)
    assert isinstance(model, ChatModel)
    assert b"stream_options" not in model.body(PROMPT)


def test_a_recording_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "a:b.jsonl"

    async def record() -> None:
        recording = RecordingModel(ScriptedModel([Answer("recorded")]), path)
        await recording.ask(PROMPT, lambda text: None)

    asyncio.run(record())
    assert isinstance(make(f"replay:{path}", {}), ReplayModel)
    assert ask(f"replay:{path}", {}).text == "recorded"
    with pytest.raises(UsageError, match="cannot be read"):
        make(f"replay:{tmp_path}/none", {})


def test_neither_a_recording_nor_a_name_loads_the_http_library(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"bough-recording": 1, "model": "m"}\n')
    code = f"""
import sys
from bough.adapters.models import providers, wire
client = wire.Client()
for name in ("replay:{path}", "openai:m", "anthropic:m"):
    providers.make_model(name, client=client, timeout=60, env={KEYS!r})
print([name for name in ("httpx2", "genai_prices", "keyring", "pydantic_ai") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FAKE_KEYRING = """
KEPT = {"XAI_API_KEY": "from-the-keyring-0123", "OPENAI_API_KEY": "from-the-keyring-4567"}

class KeyringError(Exception):
    pass

def get_password(service, name):
    if name == "MISTRAL_API_KEY":
        raise KeyringError("locked")
    return KEPT.get(name) if service == "bough" else None
"""


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the person who runs the tests keeps in theirs is not ours to read."""
    monkeypatch.setitem(sys.modules, "keyring", None)


@pytest.fixture
def keyring(no_keyring: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of that name, as the optional dependency would be."""
    package = tmp_path / "site" / "keyring"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from keyring.errors import get_password\n")
    (package / "errors.py").write_text(FAKE_KEYRING)
    monkeypatch.syspath_prepend(str(package.parent))
    del sys.modules["keyring"]
    yield
    for name in ("keyring", "keyring.errors"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("keyring")
def test_keys_from_the_keyring() -> None:
    assert find_endpoint("xai:grok", None, {}).key == "from-the-keyring-0123"
    assert find_endpoint("xai:grok", None, {"XAI_API_KEY": KEY}).key == KEY
    with pytest.raises(RequestRefused, match="or keep it in the keyring"):
        find_endpoint("mistral:m", None, {})
    # What a person keeps for a provider is not sent to another place.
    assert find_endpoint("openai:m", "http://127.0.0.1:1/v1", {}).key == ""
    assert list_secrets({}, ["xai:grok", "ollama:q", "replay:x"]) == ["from-the-keyring-0123"]


def test_secrets_of_an_environment() -> None:
    env = {
        "OPENAI_API_KEY": "short-ke",
        "GROQ_API_KEY": "short",
        "AWS_SECRET_ACCESS_KEY": "abc/def+ghi/jkl",
        "GITHUB_TOKEN": "ghp_0123456789",
        "MY_APIKEY": "0123456789abcdef",
        "db_password": "correct-horse-battery",
        "SERVICE_CREDENTIALS": "abcdefghijklmnop",
        "TOKEN2": "tokentokentoken",
        "SSH_KEY_FILE": "/home/someone/.ssh/id_ed25519",
        "PASSPHRASE_HINT": "the name of my first cat",
        "SECRET_SENTENCE": "this has spaces in it",
        "TOKENIZERS_PARALLELISM": "falsefalsefalse",
        "KEYBOARD_LAYOUT": "some-long-layout-name",
        "PATH_KEY": "short",
        "HOME": "abcdefghijklmnopqrst",
    }
    names = (
        "db_password",
        "MY_APIKEY",
        "SERVICE_CREDENTIALS",
        "TOKEN2",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "OPENAI_API_KEY",
    )
    assert list_secrets(env) == sorted((env[name] for name in names), key=lambda value: (-len(value), value))
    assert list_secrets({"A_KEY": "  padded-secret-1  "}) == ["padded-secret-1"]


def probe(name: str, wire: WireModel, env: Mapping[str, str], base_url: str | None = None) -> Reachability:
    async def go() -> Reachability:
        client = wires.Client()
        try:
            return await probe_model(name, base_url=base_url or wire.base_url, client=client, env=env)
        finally:
            await client.close()

    return asyncio.run(go())


def test_whether_a_model_is_reachable() -> None:
    with WireModel(models=["qwen3", "models/gemini-x"]) as wire:
        assert probe("openai:qwen3", wire, {"OPENAI_API_KEY": KEY}) == Reachability(
            True, f"openai:qwen3 is available ({wire.base_url[7:-3]})"
        )
        assert probe("openai:gemini-x", wire, {}).ok
        absent = probe("openai:qwen2", wire, {})
        assert not absent.ok and "nearest: qwen3" in absent.sentence
        assert probe("anthropic:qwen3", wire, {"ANTHROPIC_API_KEY": KEY}, wire.anthropic_url).ok
    seen: list[WireRequest] = wire.looks
    assert seen[0].path == "/v1/models" and seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert seen[3].path == "/v1/models?limit=1000" and seen[3].headers["x-api-key"] == KEY


def test_what_a_probe_says_of_what_is_not_there(tmp_path: Path) -> None:
    with WireModel() as wire:
        missing = probe("replay:" + str(tmp_path / "none"), wire, {})
        assert not missing.ok and "there is no file" in missing.sentence
        assert probe("openai:any", wire, {}).ok  # An empty listing proves nothing against the model.
        unset = asyncio.run(probe_model("openai:m", client=wires.Client(), env={}))
        assert not unset.ok and "OPENAI_API_KEY" in unset.sentence
    assert not probe("openai:m", wire, {}).ok
    assert "Nothing answers" in probe("openai:m", wire, {}).sentence


def test_prices() -> None:
    usage = Usage(input=1_000_000, output=1000)
    cost = compute_price("openai", "gpt-4o-mini", usage)
    assert cost is not None and 0.1 < cost < 1
    cached = compute_price("openai", "gpt-4o-mini", Usage(input=1_000_000, output=1000, cache_read=900_000))
    assert cached is not None and cached < cost
    assert compute_price("openai", "no-such-model-at-all", usage) is None
    assert compute_price("ollama", "gpt-4o-mini", usage) is None
    assert compute_price("replay", "x", usage) is None
    assert compute_price("openai", "gpt-4o-mini", Usage()) is None
    assert compute_price("anthropic", "claude-sonnet-4-5", Usage(input=10, output=1, cache_read=500)) is not None


def test_the_price_of_an_alias_is_that_of_the_model_that_answered() -> None:
    from bough.adapters.models.providers import _compute_price

    usage = Usage(1000, 10)
    assert (
        _compute_price("openai", "some-alias", None, usage, "gpt-4o-mini")
        == compute_price("openai", "gpt-4o-mini", usage)
        is not None
    )


def test_parse() -> None:
    assert parse_model_name("ollama:qwen3:8b", None, {}) == ("ollama", "qwen3:8b")
    assert parse_model_name(" local ", "http://x", {}) == ("openai", "local")
    assert parse_model_name("replay:a:b", None, {}) == ("replay", "a:b")


def test_a_refusal_by_the_provider_reaches_the_caller() -> None:
    with WireModel([Status(404, {}, {"error": {"message": "no such model"}})]) as wire, pytest.raises(RequestRefused):
        ask("openai:m", {}, wire.base_url)
