"""Models through pydantic-ai: Amazon Bedrock, Google Cloud, OpenAI's Responses API, and whatever else it supports
(`pydantic-ai:PROVIDER:MODEL`).

The library handles sign-in and wire formats. It is an optional extra, loaded when such a model is needed. Promises:
reasoning and signatures are kept in `extra` and sent back in place; the library's cache marks are on; its errors become
bough's. The whole conversation is converted every round, as the library requires.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any

import msgspec
from msgspec.structs import replace

from bough.adapters.models import faults
from bough.adapters.models.dialect import Options, RemoteModel, ensure_content, get_arguments
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.wire import clamp_count, repair_calls, sanitize_name
from bough.core.errors import RequestRefused, TransientError, UsageError
from bough.core.messages import Answer, Call, Message, ModelMessage, Prompt, Result, Stop, Usage, UserMessage
from bough.core.textual.cleaning import repair_surrogates
from bough.installed import lacking

STOPS: dict[str, Stop] = {"length": "length", "content_filter": "refusal"}
EXTRAS = ("bedrock", "openai-responses", "vertex")
"""Providers for which bough has an extra of the same name; others need pydantic-ai's own extras."""


class LibraryModel(RemoteModel):
    def __init__(self, env: Mapping[str, str], at: Endpoint, timeout: float, options: Options) -> None:
        _check_installed(at)
        super().__init__(at, timeout, options)
        self._env = env
        self._model: Any = None
        self._open = AsyncExitStack()

    async def _ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        came: list[Any] = []
        try:
            async with asyncio.timeout(self._options.longest), _told(self._at, self._timeout):
                await self._exchange(prompt, progress, came)
        except TimeoutError as error:
            raise _charge(faults.explain_timeout(self._at, self._options.longest), came) from error
        except TransientError as error:
            raise _charge(error, came) from error.__cause__
        return self._answer(came[-1])

    async def close(self) -> None:
        self._model = None
        await self._open.aclose()

    async def _exchange(self, prompt: Prompt, progress: Callable[[str], None], came: list[Any]) -> None:
        from pydantic_ai import messages as m
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        responses = self.name.startswith("openai-responses:")
        if self._model is None:
            self._model = load(self._at, self._env)
            await self._open.enter_async_context(self._model)
            if responses or self._at.model.startswith("claude"):  # `load` made the client itself
                self._open.push_async_callback(self._model.client.close)
        tools = [
            ToolDefinition(name=s.name, description=s.description, parameters_json_schema=s.parameters)
            for s in prompt.tools
        ]
        # OpenAI is told to store nothing; its models also reject a temperature.
        settings: dict[str, Any] = {"cache": True, **({"openai_store": False} if responses else {})}
        if prompt.temperature is not None and not responses:
            settings["temperature"] = prompt.temperature
        parameters = ModelRequestParameters(function_tools=tools)
        async with (
            asyncio.timeout(None) as silence,
            model_request_stream(
                self._model, self._messages(prompt), model_settings=settings, model_request_parameters=parameters
            ) as stream,
        ):
            now = asyncio.get_running_loop().time
            async for event in stream:
                silence.reschedule(now() + self._timeout)
                came[:] = [stream.get()]
                if isinstance(event, m.PartStartEvent) and isinstance(event.part, m.TextPart) and event.part.content:
                    progress(repair_surrogates(event.part.content))
                elif isinstance(event, m.PartDeltaEvent) and isinstance(event.delta, m.TextPartDelta):
                    progress(repair_surrogates(event.delta.content_delta))
            silence.reschedule(None)
            came[:] = [stream.get()]

    def _messages(self, prompt: Prompt) -> list[Any]:
        """Return the conversation in the library's format: messages between two answers are one request."""
        from pydantic_ai import messages as m

        made: list[Any] = []
        names: dict[str, str] = {}
        for message in prompt.messages:
            if isinstance(message, ModelMessage):
                names = {call.id: sanitize_name(call.name, "unknown") for call in message.calls}
                made.append(self._response(message))
                continue
            if not made or isinstance(made[-1], m.ModelResponse):
                made.append(m.ModelRequest(parts=[]))
            made[-1].parts.append(self._said(message, names, prompt.pictures))
        if made and isinstance(made[-1], m.ModelRequest):
            made[-1].instructions = prompt.system or None
        return made

    def _said(self, message: Message, names: Mapping[str, str], pictures: Mapping[str, bytes]) -> Any:
        from pydantic_ai import messages as m

        match message:
            case Result(call, text, ok, picture):
                content: Any = text
                if picture and self._sees and picture.blob in pictures:
                    content = [text, m.BinaryContent(pictures[picture.blob], media_type=picture.kind)]
                outcome = "success" if ok else "failed"
                return m.ToolReturnPart(names.get(call, "unknown"), content, tool_call_id=call, outcome=outcome)
            case UserMessage(text):
                return m.UserPromptPart(ensure_content(text))
        raise TypeError(message)

    def _response(self, message: ModelMessage) -> Any:
        """Return this model's answer as it came, with bough's ids for calls; another model's as text and calls."""
        from pydantic_ai import messages as m

        kept = self._kept(message.extra)
        calls = [
            m.ToolCallPart(sanitize_name(call.name, "unknown"), get_arguments(call), call.id) for call in message.calls
        ]
        if not kept:
            said = [m.TextPart(message.text)] if message.text.strip() or not calls else []
            return m.ModelResponse(parts=[*said, *calls])
        (response,) = m.ModelMessagesTypeAdapter.validate_json(b"[" + bytes(kept["response"]) + b"]")
        parts: list[Any] = []
        for part in response.parts:
            if not isinstance(part, m.ToolCallPart):
                parts.append(part)
            elif calls:
                call = calls.pop(0)
                call.provider_name, call.provider_details, call.id = part.provider_name, part.provider_details, part.id
                parts.append(call)
        response.parts = parts + calls
        return response

    def _answer(self, response: Any) -> Answer:
        from pydantic_ai import messages as m

        text = "".join(part.content for part in response.parts if isinstance(part, m.TextPart))
        calls = tuple(
            Call(part.tool_call_id, part.tool_name, part.args_as_json_str())
            for part in response.parts
            if isinstance(part, m.ToolCallPart)
        )
        plain = all(
            isinstance(part, m.TextPart | m.ToolCallPart) and not part.provider_details for part in response.parts
        )
        extra = ""
        if not plain:
            (kept,) = msgspec.json.decode(m.ModelMessagesTypeAdapter.dump_json([response]), type=list[msgspec.Raw])
            extra = msgspec.json.encode({"by": self.name, "response": kept}).decode()
        return Answer(
            text=repair_surrogates(text),
            calls=repair_calls(calls),
            stop=STOPS.get(response.finish_reason or "", "calls" if calls else "end"),
            usage=_usage(response),
            model=response.model_name or self._at.model,
            extra=extra,
        )


def _charge(error: TransientError, came: list[Any]) -> TransientError:
    """Add the estimated usage of the part that has arrived to the error, so that it is charged."""
    if came:
        error.usage = replace(_usage(came[-1]), estimated=True)
    return error


def _usage(response: Any) -> Usage:
    used = response.usage
    return Usage(
        input=clamp_count(used.input_tokens),
        output=clamp_count(used.output_tokens),
        cache_read=clamp_count(used.cache_read_tokens),
        cache_write=clamp_count(used.cache_write_tokens),
    )


def _check_installed(at: Endpoint) -> None:
    if find_spec("pydantic_ai") is None:
        provider = at.name.partition(":")[0]
        raise lacking(at.name, provider if provider in EXTRAS else EXTRAS[0])


def load(at: Endpoint, env: Mapping[str, str]) -> Any:
    """Load the library's model of that name. Raises `UsageError` if the extra is missing, `RequestRefused` if the model
    cannot be set up."""
    _check_installed(at)
    from pydantic_ai.exceptions import UserError

    provider = at.name.partition(":")[0]
    own = at.base_url if at.base_url.startswith("http") else None
    try:
        match provider:
            case "bedrock":
                from pydantic_ai.models.bedrock import BedrockConverseModel
                from pydantic_ai.providers.bedrock import BedrockProvider

                region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
                return BedrockConverseModel(at.model, provider=BedrockProvider(region_name=region, base_url=own))
            case "vertex":  # Gemini, and Claude, which has a client of its own there.
                project, location = env.get("GOOGLE_CLOUD_PROJECT"), env.get("GOOGLE_CLOUD_LOCATION") or "global"
                if at.model.startswith("claude"):
                    from anthropic import AsyncAnthropicVertex
                    from pydantic_ai.models.anthropic import AnthropicModel
                    from pydantic_ai.providers.anthropic import AnthropicProvider

                    given: dict[str, Any] = {"project_id": project or "", "region": location, "base_url": own}
                    theirs = AsyncAnthropicVertex(**given, max_retries=0)
                    return AnthropicModel(at.model, provider=AnthropicProvider(anthropic_client=theirs))
                from pydantic_ai.models.google import GoogleModel
                from pydantic_ai.providers.google_cloud import GoogleCloudProvider

                cloud = GoogleCloudProvider(project=project, location=location, base_url=own)
                return GoogleModel(at.model, provider=cloud)
            case "openai-responses":
                from openai import AsyncOpenAI
                from pydantic_ai.models.openai import OpenAIResponsesModel
                from pydantic_ai.providers.openai import OpenAIProvider

                client = AsyncOpenAI(api_key=at.key or "none", base_url=own, max_retries=0)
                return OpenAIResponsesModel(at.model, provider=OpenAIProvider(openai_client=client))
        from pydantic_ai.models import infer_model

        return infer_model(at.model)
    except ImportError as error:
        if provider in EXTRAS:
            raise lacking(at.name, provider) from None
        raise UsageError(f"{at.name} needs packages that pydantic-ai installs only on request: {error}") from None
    except (UserError, ValueError, *_sign_in_errors()) as error:
        raise RequestRefused(f"{at.name} cannot be set up: {at.sanitize(str(error))} — {at.advice}.") from None


def _sign_in_errors() -> tuple[type[Exception], ...]:
    """List the errors that the providers' libraries raise for missing or unusable credentials."""
    found: list[type[Exception]] = []
    if find_spec("botocore"):
        from botocore.exceptions import BotoCoreError

        found.append(BotoCoreError)
    if find_spec("google") and find_spec("google.auth"):
        from google.auth.exceptions import GoogleAuthError

        found.append(GoogleAuthError)
    return tuple(found)


@asynccontextmanager
async def _told(at: Endpoint, timeout: float) -> AsyncIterator[None]:
    """Raise the library's errors as bough's own."""
    from pydantic_ai import exceptions as x

    try:
        yield
    except TimeoutError as error:
        raise TransientError(f"{at.name} at {at.host} sent nothing for {timeout:g} s.") from error
    except x.ModelHTTPError as error:
        body = error.body
        # Amazon wraps its errors in a further object.
        words = body.get("Error", body) if isinstance(body, dict) else body
        if isinstance(words, dict) and "Message" in words:
            words = {"message": words["Message"], "code": words.get("Code")}
        wait = {"retry-after": str(error.retry_after)} if error.retry_after is not None else {}
        raise faults.explain_status(
            at, error.status_code, wait, msgspec.json.encode(words if words else str(error), enc_hook=str)
        ) from error
    except x.ModelAPIError as error:
        raise TransientError(f"{at.host} could not be reached for {at.name}: {at.sanitize(str(error))}") from error
    except x.UnexpectedModelBehavior as error:
        raise faults.explain_garbled(at, str(error).encode()) from error
    except (x.UserError, *_sign_in_errors()) as error:
        said = at.sanitize(str(error))
        raise RequestRefused(f"{at.name} at {at.host} is unavailable: {said} — {at.advice}.") from error
