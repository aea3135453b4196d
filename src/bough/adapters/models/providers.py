"""Models by name: `provider:model`, with the endpoints and keys of the providers.

Keys come from the environment, else from the keyring of the operating system, and from nowhere else."""

import asyncio
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.models import faults, prices
from bough.adapters.models.absent import NOBODY, AbsentModel
from bough.adapters.models.dialect import LONGEST, HttpModel, Options
from bough.adapters.models.faults import Endpoint, LinkError, Timeouts
from bough.adapters.models.library import LibraryModel
from bough.adapters.models.library import load as load_library
from bough.adapters.models.prices import compute_price
from bough.adapters.models.recording import ReplayModel
from bough.adapters.models.wire import Client, join_url, read_everything
from bough.core.budget.limits import ModelPrice
from bough.core.errors import RequestRefused, Unavailable, UsageError
from bough.core.messages import Usage
from bough.core.textual.spelling import UNREADABLE, suggest_word
from bough.ports import Model

REPLAY = "replay"
SERVICE = "bough"
"""The keyring's service name for keys; the user name is the name of the environment variable."""
PROBE_TIMEOUT = 5.0


class Provider(Struct, frozen=True):
    base_url: str
    keys: tuple[str, ...] = ()
    """Environment variables that may hold the key, the usual one first; empty: no key is needed."""
    base_url_variable: str = ""
    dialect: str = "chat"
    options: Options = Options()
    """How the provider's own endpoint differs from other servers of this protocol."""
    advice: str = ""
    """Advice on signing in, if that takes more than a key."""


LIBRARY = "library"
"""Stands for the protocol of models called through pydantic-ai."""
GOOGLE = Provider(
    "https://generativelanguage.googleapis.com/v1beta/openai",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    options=Options(foreign_call={"google": {"thought_signature": "skip_thought_signature_validator"}}),
)
PROVIDERS = {
    "anthropic": Provider("https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", "anthropic"),
    "bedrock": Provider(
        "Amazon Bedrock",
        dialect=LIBRARY,
        advice="sign in to AWS (AWS_PROFILE, AWS_ACCESS_KEY_ID or AWS_BEARER_TOKEN_BEDROCK), set AWS_REGION, and check "
        "that the account may use this model",
    ),
    "deepseek": Provider("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "gemini": GOOGLE,
    "google": GOOGLE,
    "groq": Provider("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": Provider("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), options=Options(usage=False)),
    "ollama": Provider("http://127.0.0.1:11434/v1"),
    "openai": Provider(
        "https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL", options=Options(temperature=False)
    ),
    "openai-responses": Provider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "OPENAI_BASE_URL",
        LIBRARY,
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "pydantic-ai": Provider("pydantic-ai", dialect=LIBRARY, advice="see its documentation for that provider"),
    "vertex": Provider(
        "Google Cloud",
        dialect=LIBRARY,
        advice="run `gcloud auth application-default login` or set GOOGLE_APPLICATION_CREDENTIALS, set "
        "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, and check that the project may use this model",
    ),
    "xai": Provider("https://api.x.ai/v1", ("XAI_API_KEY",)),
}
DIALECTS = {"anthropic": "AnthropicModel", "chat": "ChatModel"}
"""The class for each protocol, in the module of the protocol's name, which is loaded when a model needs it."""
OTHER_SECRETS = frozenset({"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_OPENAI_API_KEY", "HF_TOKEN"})
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?([_0-9]|$)", re.IGNORECASE)
_NOT_SECRET = re.compile(r"[\s/\\]")

_SEES = re.compile(
    r"claude-(3|[a-z]+-[3-9]|[4-9])|gemini|gpt-4o|gpt-4\.|gpt-4-turbo|gpt-[5-9]|chatgpt|\bo[134]\b(?!-mini)|\bo4-mini"
    r"|grok-[4-9]|pixtral|llava|vision|-vl\b|qwen[\d.]*-?vl|llama-?4|gemma-?3(?!n?[:-]1b)|mistral-(small|medium)-(3|latest)"
    r"|minicpm-v|internvl|moondream|kimi-(vl|k2\.5)|glm-[\d.]+v"
)
"""Names of models that take images. A model that rejects an image after all gets no more of them; see dialect.py."""


def make_model(
    name: str,
    *,
    base_url: str | None = None,
    client: Client,
    timeout: float,
    env: Mapping[str, str],
    window: int = 0,
    images: bool | None = None,
    longest: float = LONGEST,
    own_price: ModelPrice | None = None,
) -> Model:
    """Make the model of that name. Raises `UsageError` for an unknown provider, `RequestRefused` if its key is missing.

    `window`: the context window in tokens, if none is known; `images`: whether the model takes them, if known."""
    if name == NOBODY:
        return AbsentModel()
    provider, model = parse_model_name(name, base_url, env)
    if provider == REPLAY:
        return ReplayModel(Path(model))
    at = find_endpoint(name, base_url, env)
    known = PROVIDERS[provider]
    own = at.base_url == known.base_url
    of = provider if own else ""  # Prices and windows are known only for the provider's own endpoint.
    options = replace(
        known.options if own else Options(usage=known.options.usage, foreign_call=known.options.foreign_call),
        images=bool(_SEES.search(model.lower().rpartition("/")[2].replace("_", "-"))) if images is None else images,
        price=partial(_compute_price, of, model, own_price),
        window=partial(prices.find_window, of, model, window),
        longest=longest,
    )
    if known.dialect == LIBRARY:
        return LibraryModel(env, at, timeout, options)
    return _load_dialect(known)(client, at, timeout, options)


def _load_dialect(known: Provider) -> type[HttpModel]:
    found: type[HttpModel] = getattr(import_module(f"bough.adapters.models.{known.dialect}"), DIALECTS[known.dialect])
    return found


def parse_model_name(name: str, base_url: str | None, env: Mapping[str, str]) -> tuple[str, str]:
    """Split a name into provider and model. A name without a provider is for an endpoint given by its address."""
    name, address = split_address(name)
    base_url = address or base_url
    provider, colon, model = name.strip().partition(":")
    if provider and not colon and (base_url or env.get("OPENAI_BASE_URL")):
        return "openai", provider
    if not provider or not model:
        raise UsageError(
            f"{name!r} does not name a model: write it as provider:model, e.g. anthropic:claude-sonnet-4-5 or "
            "ollama:qwen3; `bough demo` runs without one."
        )
    if provider not in PROVIDERS and provider != REPLAY:
        close = suggest_word(provider.lower(), [*PROVIDERS, REPLAY])
        hint = f"did you mean {close}:{model}?" if close else f"bough knows {', '.join([*PROVIDERS, REPLAY])}."
        raise UsageError(
            f"Unknown provider {provider!r}: {hint} "
            f"Any OpenAI-compatible endpoint works as openai:{model} with --base-url."
        )
    return provider, model


def split_address(name: str) -> tuple[str, str | None]:
    """Split a name from the address that may follow it: `openai:small@http://127.0.0.1:8080/v1`."""
    found = re.fullmatch(r"(.+)@(https?://\S+)", name.strip())
    return (found[1], found[2]) if found else (name, None)


def find_model_address(name: str, base_url: str | None, env: Mapping[str, str]) -> str:
    """Return the model's address; empty if it contains credentials, or if the model has no server."""
    if name == NOBODY or name.startswith(f"{REPLAY}:"):
        return ""
    url = _find_url(name, base_url, env, PROVIDERS[parse_model_name(name, base_url, env)[0]])
    return "" if re.search(r"://[^/]*@", url) else url


def _find_url(name: str, base_url: str | None, env: Mapping[str, str], known: Provider) -> str:
    named = split_address(name)[1] or base_url or env.get(known.base_url_variable, "") or known.base_url
    return named.strip().rstrip("/")


def find_endpoint(name: str, base_url: str | None, env: Mapping[str, str]) -> Endpoint:
    """Find the model's address, and its key."""
    provider, model = parse_model_name(name, base_url, env)
    known = PROVIDERS[provider]
    url = _find_url(name, base_url, env, known)
    url = url if known.dialect == LIBRARY else _load_dialect(known).root(url)
    if url != known.base_url and not re.match(r"https?://[^/\s]", url):
        raise UsageError(f"The base URL {url!r} is not an address: it must begin with http:// or https://.")
    own = url == known.base_url
    key = find_key(provider, env, keyring=own)
    if own and known.keys and not key:
        raise RequestRefused(
            f"{provider}:{model} needs a key: set {known.keys[0]} in the environment"
            f"{' or keep it in the keyring' if _has_keyring() else ''}; `bough demo` runs without one."
        )
    return Endpoint(f"{provider}:{model}", url, key, known.keys[0] if known.keys else "", known.advice)


def find_key(provider: str, env: Mapping[str, str], keyring: bool = True) -> str:
    """Find the provider's key; empty: there is none. Pass `keyring=False` for any endpoint but the provider's own: a
    key from the keyring is sent nowhere else."""
    names = PROVIDERS[provider].keys if provider in PROVIDERS else ()
    for name in names:
        if env.get(name, "").strip():
            return env[name].strip()
    return next((key for name in names if (key := _read_keyring(name))), "") if keyring else ""


def list_secrets(env: Mapping[str, str], models: Iterable[str] = ()) -> list[str]:
    """List values that must never be written anywhere: keys, whatever else the environment calls a secret, and the keys
    of the named models from the keyring. The longest first: a secret inside a longer one must not be replaced first."""
    known = OTHER_SECRETS.union(*(provider.keys for provider in PROVIDERS.values()))
    found = {value for name, raw in env.items() if name in known and len(value := raw.strip()) >= 8}
    odd = {value for name, raw in env.items() if _SECRET_NAME.search(name) and len(value := raw.strip()) >= 12}
    found |= {value for value in odd if not _NOT_SECRET.search(value)}
    found |= {key for name in models if len(key := find_key(name.partition(":")[0], env)) >= 8}
    return sorted(found, key=lambda secret: (-len(secret), secret))


class Reachability(NamedTuple):
    ok: bool
    sentence: str


async def probe_model(
    name: str, *, base_url: str | None = None, client: Client, env: Mapping[str, str], timeout: float = PROBE_TIMEOUT
) -> Reachability:
    """Find out whether the model is available, without calling it."""
    try:
        provider, model = parse_model_name(name, base_url, env)
        if provider == REPLAY:
            there = Path(model).is_file()
            return Reachability(there, f"{name} is a recording" if there else f"{name}: there is no file {model}")
        at = find_endpoint(name, base_url, env)
        if PROVIDERS[provider].dialect == LIBRARY:
            load_library(at, env)
            return Reachability(True, f"{at.name} is set up ({at.host}); the first call shows whether it answers")
        return await _probe_endpoint(client, at, timeout, _load_dialect(PROVIDERS[provider]))
    except (UsageError, Unavailable) as error:
        return Reachability(False, str(error))


async def _probe_endpoint(client: Client, at: Endpoint, timeout: float, dialect: type[HttpModel]) -> Reachability:
    url = join_url(at.base_url, dialect.listing)
    headers = [
        (name.encode(), value.encode()) for name, value in {"user-agent": "bough", **dialect.headers(at.key)}.items()
    ]
    try:
        async with (
            # Limit the whole call: a server that sends a byte now and then would never time out.
            asyncio.timeout(2 * timeout),
            client.link(url).exchange("GET", url, headers, b"", Timeouts(timeout, timeout)) as reply,
        ):
            body = await read_everything(reply.pieces)
    except TimeoutError:
        return Reachability(False, f"{at.host} answers too slowly: it did not list its models within {2 * timeout:g} s")
    except LinkError as error:
        raise faults.explain_link_error(at, error, timeout) from error
    if reply.status in (404, 405, 501):
        return Reachability(True, f"{at.host} answers, but does not list its models")
    if reply.status != 200:
        raise faults.explain_status(at, reply.status, reply.headers, body)
    listed: list[str] = []
    with suppress(*UNREADABLE):
        listed = [str(entry.get("id", "")) for entry in msgspec.json.decode(body, type=_Listing).data]
    if listed and not any(at.model in (model, model.removeprefix("models/")) for model in listed):
        close = suggest_word(at.model, listed)
        return Reachability(
            False, f"{at.host} answers, but does not list {at.model}{f'; nearest: {close}' if close else ''}"
        )
    return Reachability(True, f"{at.name} is available ({at.host})")


class _Listing(Struct):
    data: list[dict[str, Any]] = []


def _compute_price(provider: str, model: str, own: ModelPrice | None, usage: Usage, answered: str) -> float | None:
    """Return the price by the requested model's name, or else by the answering model's. The person's own price (`own`)
    counts unless the known price is higher: a repository's file cannot make a call look cheap."""
    known = compute_price(provider, model, usage)
    if known is None and answered != model:
        known = compute_price(provider, answered, usage)
    if own is None:
        return known
    return max(own.of(usage), known or 0.0) if usage.input or usage.output else None


def has_price(name: str, base_url: str | None, env: Mapping[str, str]) -> bool:
    """Whether the price of the model's calls is known. A recording and a model on this machine cost nothing."""
    if name == NOBODY or name.startswith(f"{REPLAY}:"):
        return True
    provider, model = parse_model_name(name, base_url, env)
    at = find_model_address(name, base_url, env)
    if provider == "ollama" and at == PROVIDERS[provider].base_url:
        return True
    return at == PROVIDERS[provider].base_url and compute_price(provider, model, Usage(1, 1)) is not None


def _has_keyring() -> bool:
    return find_spec("keyring") is not None


def _read_keyring(name: str) -> str:
    if not _has_keyring():
        return ""
    import keyring
    from keyring.errors import KeyringError

    try:
        return (keyring.get_password(SERVICE, name) or "").strip()
    except KeyringError:
        # A missing keyring is not an error: the message names the variable to set.
        return ""
