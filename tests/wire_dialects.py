"""The dialects of providers: an answer as a stream of events, or as one JSON document."""

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from bough.core.messages import Answer, Stop

CHAT_FINISH: dict[Stop, str] = {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "content_filter"}
ANTHROPIC_STOP: dict[Stop, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}


def sse(*payloads: Any) -> bytes:
    """Events with these payloads: text as it is, anything else as JSON."""
    return b"".join(b"data: %s\n\n" % (p if isinstance(p, str) else json.dumps(p)).encode() for p in payloads)


def chat_events(answer: Answer, piece: int) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, number: int = 0) -> bytes:
        choice = {"index": number, "delta": delta, "finish_reason": finish}
        return sse({"id": "x", "object": "chat.completion.chunk", "model": _model(answer), "choices": [choice]})

    yield chunk({"role": "assistant", "content": None})
    # Several answers arrive side by side.
    for row in zip_longest(*(_pieces(text, piece) for text in (answer.text, *answer.others))):
        yield from (chunk({"content": text}, number=number) for number, text in enumerate(row) if text)
    for number in range(1, len(answer.others) + 1):
        yield chunk({}, "stop", number)
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        for text in _pieces(call.arguments, piece):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield chunk({}, CHAT_FINISH[_stop(answer)])
    yield sse({"id": "x", "model": _model(answer), "choices": [], "usage": _chat_usage(answer)})
    yield sse("[DONE]")


def chat_document(answer: Answer) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]
    message = {"role": "assistant", "content": answer.text or None} | ({"tool_calls": calls} if calls else {})
    choice = {"index": 0, "message": message, "finish_reason": CHAT_FINISH[_stop(answer)]}
    others = [
        {"index": number, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for number, text in enumerate(answer.others, 1)
    ]
    return {"id": "x", "model": _model(answer), "choices": [choice, *others], "usage": _chat_usage(answer)}


def _chat_usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def anthropic_events(answer: Answer, piece: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return b"event: %s\n" % kind.encode() + sse({"type": kind, **fields})

    usage = _anthropic_usage(answer)
    start = {"id": "x", "type": "message", "role": "assistant", "model": _model(answer), "content": []}
    yield event("message_start", message=start | {"stop_reason": None, "usage": usage | {"output_tokens": 1}})
    yield event("ping")
    index = 0
    if answer.text:
        yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for text in _pieces(answer.text, piece):
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": text})
        yield event("content_block_stop", index=index)
        index += 1
    for call in answer.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for text in _pieces(call.arguments, piece):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": text})
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": ANTHROPIC_STOP[_stop(answer)], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": answer.usage.output})
    yield event("message_stop")


def anthropic_document(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    for call in answer.calls:
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)})
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": _model(answer),
        "content": content,
        "stop_reason": ANTHROPIC_STOP[_stop(answer)],
        "usage": _anthropic_usage(answer),
    }


def _anthropic_usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "input_tokens": usage.input - usage.cache_read - usage.cache_write,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    }


def responses_events(answer: Answer, piece: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return b"event: %s\n" % kind.encode() + sse({"type": kind, **fields})

    document = responses_document(answer)
    yield event("response.created", response=document | {"status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(document["output"]):
        empty: dict[str, Any] = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        yield event("response.output_item.added", output_index=index, item=item | empty)
        said = item.get("arguments") or item["content"][0]["text"]
        kind = "function_call_arguments" if item["type"] == "function_call" else "output_text"
        for text in _pieces(said, piece):
            yield event(f"response.{kind}.delta", output_index=index, item_id=item["id"], delta=text)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{document['status']}", response=document)


def responses_document(answer: Answer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for call in answer.calls:
        item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
        output.append(item | {"arguments": call.arguments, "status": "completed"})
    reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(answer.stop)
    usage = {
        "input_tokens": answer.usage.input,
        "input_tokens_details": {"cached_tokens": answer.usage.cache_read},
        "output_tokens": answer.usage.output,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "model": _model(answer),
        "output": output,
        "usage": usage,
    }


EVENTS: dict[str, Callable[[Answer, int], Iterator[bytes]]] = {
    "anthropic": anthropic_events,
    "chat": chat_events,
    "responses": responses_events,
}
DOCUMENTS: dict[str, Callable[[Answer], dict[str, Any]]] = {
    "anthropic": anthropic_document,
    "chat": chat_document,
    "responses": responses_document,
}


def dialect_of(path: str) -> str:
    """Which one a request is in, by where it goes."""
    path = path.partition("?")[0]
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith("/responses"):
        return "responses"
    return "chat"


def _stop(answer: Answer) -> Stop:
    """Scripts need not say that an answer with calls stops for them."""
    return "calls" if answer.calls and answer.stop == "end" else answer.stop


def _model(answer: Answer) -> str:
    return answer.model or "wire-model"


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
