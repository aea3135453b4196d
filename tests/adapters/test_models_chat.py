"""Chat completions at the wire: what is sent, and what is made of what comes back."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from bough.adapters.models import wire as wires
from bough.adapters.models.chat import ChatModel
from bough.adapters.models.dialect import Options
from bough.adapters.models.faults import Endpoint
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import TransientError
from bough.core.messages import Answer, Call, ModelMessage, Prompt, Result, ToolSpec, Usage, UserMessage
from tests.wire import KEY, Item, Raw, Slow, Status, Whole, WireModel, WireRequest
from tests.wire_dialects import sse

READ = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}, False)


def prompt(*messages: UserMessage | ModelMessage | Result, tools: tuple[ToolSpec, ...] = (READ,)) -> Prompt:
    return Prompt("goal#1#1", "You are an agent.", PersistentList(messages or (UserMessage("Begin."),)), tools)


def ask(
    script: Sequence[Item], *prompts: Prompt, usage_option: bool = True
) -> tuple[list[Answer], list[WireRequest], str]:
    """Ask once for each prompt (or once), and give the answers, the requests and the text as it streamed in."""
    streamed: list[str] = []

    async def go(url: str) -> list[Answer]:
        client = wires.Client()
        model = ChatModel(
            client, Endpoint("openai:gpt-x", url, KEY, "OPENAI_API_KEY"), 5, options=Options(usage=usage_option)
        )
        try:
            return [await model.ask(p, streamed.append) for p in (prompts or (prompt(),))]
        finally:
            await model.close()
            await client.close()

    with WireModel(script) as wire:
        answers = asyncio.run(go(wire.base_url))
        return answers, wire.requests, "".join(streamed)


def one(*payloads: Any) -> Answer:
    """The answer that a server with these events gives."""
    answers, _, _ = ask([Raw(sse(*payloads))])
    return answers[0]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(**fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[fields])


def test_an_answer_streams_in_with_text_calls_and_usage() -> None:
    said = Answer(
        text="Let me look at that file: äöü 🌳.",
        calls=(Call("a", "read", '{"path": "x.py"}'), Call("b", "read", '{"path": "ünï.py"}')),
        stop="calls",
        usage=Usage(input=120, output=30, cache_read=100),
        model="gpt-x-2026",
    )
    (answer,), (request,), streamed = ask([said])
    assert answer == said
    assert streamed == said.text
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json["model"] == "gpt-x"
    assert request.json["stream"] is True
    assert request.json["stream_options"] == {"include_usage": True}
    assert request.json["messages"] == [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Begin."},
    ]
    function = {"name": "read", "description": "Reads a file.", "parameters": READ.parameters}
    assert request.json["tools"] == [{"type": "function", "function": function}]


def test_a_server_may_answer_without_streaming() -> None:
    said = Answer("Here.", (Call("a", "read", "{}"),), "calls", Usage(5, 6, 1), model="m")
    (answer,), _, streamed = ask([Whole(said)])
    assert answer == said
    assert streamed == "Here."


@pytest.mark.parametrize("streams", [True, False])
def test_several_answers_are_asked_for_and_kept_apart(streams: bool) -> None:
    said = Answer("One.", usage=Usage(100, 30), model="m", others=("Two: äöü.", "Three is longer than the others."))
    asks = replace(prompt(tools=()), answers=3)
    (answer,), (request,), streamed = ask([said if streams else Whole(said)], asks)
    assert answer == said and streamed == "One."
    assert request.json["n"] == 3


def test_a_further_answer_that_was_cut_off_is_left_out() -> None:
    def other(number: int, finish: str | None, text: str) -> dict[str, Any]:
        return {"choices": [{"index": number, "delta": {"content": text}, "finish_reason": finish}]}

    parts = delta(content="a"), other(1, None, "b"), other(2, None, "c"), other(1, "length", ""), other(2, "stop", "!")
    assert one(*parts, delta("stop"), "[DONE]").others == ("c!",)


def test_a_server_that_refuses_several_answers_is_asked_for_fewer_from_then_on() -> None:
    slots = Status(400, body={"error": {"message": "n_cmpl cannot be greater than the slots"}})
    asks = replace(prompt(tools=()), answers=8)
    answers, requests, _ = ask([slots, slots, Answer("a", others=("b",)), Answer("c")], asks, asks)
    assert [answer.text for answer in answers] == ["a", "c"] and answers[0].others == ("b",)
    assert [request.json.get("n") for request in requests] == [8, 4, 2, 2]
    answers, requests, _ = ask([slots, slots, slots, Answer("a"), Answer("b")], asks, asks)
    assert [request.json.get("n") for request in requests] == [8, 4, 2, None, None]


@pytest.mark.parametrize(
    ("failures", "asked"),
    [
        ([Status(429)], [8, 8]),
        ([Raw(sse(delta(content="cut")))] * 3, [8, 4, 2, None, 2, 4, 8, 8]),
    ],
    ids=["busy", "cut"],
)
def test_a_server_that_recovers_is_asked_for_as_many_answers_again(failures: list[Any], asked: list[int]) -> None:
    asks = replace(prompt(tools=()), answers=8)

    async def go(url: str) -> None:
        client = wires.Client()
        model = ChatModel(client, Endpoint("openai:m", url), 5)
        for _ in failures:
            with pytest.raises(TransientError):
                await model.ask(asks, lambda text: None)
        for _ in asked[len(failures) :]:
            await model.ask(asks, lambda text: None)
        await client.close()

    with WireModel([*failures, *[Answer("ok")] * len(asked)]) as wire:
        asyncio.run(go(wire.base_url))
    assert [request.json.get("n") for request in wire.requests] == asked


def test_no_tools_no_key_and_no_usage_option_leave_their_fields_out() -> None:
    async def go(url: str) -> None:
        client = wires.Client()
        model = ChatModel(client, Endpoint("openai:m", url), 5, options=Options(usage=False))
        await model.ask(prompt(tools=()), lambda text: None)
        await client.close()

    with WireModel([Answer("ok")]) as wire:
        asyncio.run(go(wire.base_url))
    assert set(wire.requests[0].json) == {"model", "stream", "messages"}
    assert "authorization" not in wire.requests[0].headers


def test_what_was_said_before_is_sent_in_its_shape() -> None:
    history = (
        UserMessage("Fix it."),
        ModelMessage("Reading.", (Call("c1", "read", '{"path": "a"}'), Call("c2", "read", "{}"))),
        Result("c1", "content", True),
        Result("c2", "no path", False),
        ModelMessage("", (Call("c3", "read", "{}"),)),
        Result("c3", "", True),
        ModelMessage("Done?"),
        UserMessage("Go on."),
    )
    _, (request,), _ = ask([Answer("ok")], prompt(*history))
    messages = request.json["messages"][1:]
    assert " ".join(m["role"] for m in messages) == "user assistant tool tool assistant tool assistant user"
    assert messages[1] == {
        "role": "assistant",
        "content": "Reading.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}},
            {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        ],
    }
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "content"}
    assert messages[4]["content"] is None
    assert messages[6] == {"role": "assistant", "content": "Done?"}


def test_malformed_arguments_are_kept_raw_and_sent_back_as_an_object() -> None:
    broken = '{"path": "a", '
    (answer,), _, _ = ask([Answer(calls=(Call("c", "read", broken), Call("d", "bad name!", '"text"')))])
    assert [call.arguments for call in answer.calls] == [broken, '"text"']
    back = prompt(
        UserMessage("x"), ModelMessage("", answer.calls), Result("c", "malformed", False), Result("d", "unknown", False)
    )
    _, (request,), _ = ask([Answer("ok")], back)
    functions = [call["function"] for call in request.json["messages"][2]["tool_calls"]]
    assert functions == [{"name": "read", "arguments": "{}"}, {"name": "bad_name_", "arguments": "{}"}]


def test_an_empty_answer_is_an_answer_and_can_be_sent_back() -> None:
    (answer,), _, _ = ask([Answer()])
    assert (answer.text, answer.calls, answer.stop) == ("", (), "end")
    _, (request,), _ = ask([Answer("ok")], prompt(UserMessage("x"), ModelMessage(""), UserMessage("Say something.")))
    assert request.json["messages"][2] == {"role": "assistant", "content": "(empty answer)"}


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end"), ("length", "length"), ("content_filter", "refusal"), ("eos", "end"), ("tool_calls", "end")],
)
def test_why_it_stopped(finish: str, stop: str) -> None:
    assert one(delta(content="hm"), delta(finish), "[DONE]").stop == stop


def test_a_refusal_is_an_answer() -> None:
    answer = one(delta(refusal="I will "), delta(refusal="not."), delta("stop"), "[DONE]")
    assert (answer.text, answer.stop) == ("I will not.", "refusal")


def test_calls_whose_answer_just_stops_are_calls() -> None:
    call = {"index": 0, "id": "x", "function": {"name": "read", "arguments": "{}"}}
    assert one(piece(**call), delta("stop"), "[DONE]").stop == "calls"


def names_and_arguments(answer: Answer) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in answer.calls]


def test_pieces_of_two_calls_may_be_interleaved() -> None:
    answer = one(
        piece(index=0, id="a", function={"name": "read", "arguments": ""}),
        piece(index=1, id="b", function={"name": "list", "arguments": ""}),
        piece(index=0, function={"arguments": '{"p":'}),
        piece(index=1, function={"arguments": "{}"}),
        piece(index=0, function={"arguments": "1}"}),
        "[DONE]",
    )
    assert names_and_arguments(answer) == [("a", "read", '{"p":1}'), ("b", "list", "{}")]


def test_whole_calls_without_index_and_with_split_arguments() -> None:
    answer = one(
        piece(id="a", function={"name": "read", "arguments": '{"p":'}),
        piece(function={"arguments": "1}"}),
        piece(id="b", function={"name": "read", "arguments": "{}"}),
        delta("stop"),
        "[DONE]",
    )
    assert names_and_arguments(answer) == [("a", "read", '{"p":1}'), ("b", "read", "{}")]


def test_calls_without_index_and_id() -> None:
    both = [{"function": {"name": "read", "arguments": "{}"}}, {"function": {"name": "read", "arguments": '{"a":1}'}}]
    answer = one(delta(tool_calls=both), delta("tool_calls"), "[DONE]")
    assert names_and_arguments(answer) == [("", "read", "{}"), ("", "read", '{"a":1}')]


def test_one_index_for_all_calls() -> None:
    answer = one(
        piece(index=0, id="a", function={"name": "read", "arguments": "{}"}),
        piece(index=0, id="b", function={"name": "list", "arguments": "{}"}),
        "[DONE]",
    )
    assert names_and_arguments(answer) == [("a", "read", "{}"), ("b", "list", "{}")]


def test_id_and_name_repeated_or_changed_in_every_piece() -> None:
    answer = one(
        piece(index=0, id="a", function={"name": "read", "arguments": '{"p"'}),
        piece(index=0, id="a", function={"name": "read", "arguments": ":1"}),
        piece(index=0, id="z", function={"arguments": "}"}),
        "[DONE]",
    )
    assert names_and_arguments(answer) == [("a", "read", '{"p":1}')]


def test_arguments_may_come_as_an_object_and_ids_as_numbers() -> None:
    answer = one(piece(index=0, id=7, function={"name": "read", "arguments": {"path": "a"}}), "[DONE]")
    assert answer.calls[0].id == "7"
    assert json.loads(answer.calls[0].arguments) == {"path": "a"}


def test_what_the_model_wants_back_goes_back_to_it_and_to_no_other() -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    answer = one(
        delta(reasoning_content="I think "),
        delta(reasoning_content="so."),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]),
        piece(index=0, id="c", function={"name": "read", "arguments": "{}"}, extra_content=signature),
        "[DONE]",
    )
    history = prompt(UserMessage("x"), ModelMessage(answer.text, answer.calls, answer.extra), Result("c", "r", True))
    _, (request,), _ = ask([Answer("ok")], history)
    message = request.json["messages"][2]
    assert message["reasoning_content"] == "I think so."
    assert message["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}]
    assert message["tool_calls"][0]["extra_content"] == signature
    assert "by" not in message and "by" not in message["tool_calls"][0]

    other = ChatModel(wires.Client(), Endpoint("groq:other", "http://127.0.0.1:1"), 1)
    message = json.loads(other.body(history))["messages"][2]
    assert set(message) == {"role", "content", "tool_calls"}
    assert set(message["tool_calls"][0]) == {"id", "type", "function"}


def test_usage_in_other_shapes() -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": None, "prompt_cache_hit_tokens": 4}
    answer = one(delta("stop", content="x"), {"choices": None, "usage": usage}, "[DONE]")
    assert answer.usage == Usage(input=10, output=0, cache_read=4)
    usage = {"prompt_tokens": 21, "completion_tokens": 3, "total_tokens": 84}  # Gemini's thoughts are in the total.
    assert one(delta("stop", content="x"), {"choices": None, "usage": usage}, "[DONE]").usage == Usage(21, 63)
    assert one(delta("stop", content="x"), "[DONE]").usage == Usage()


def test_content_in_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}, {"type": "text", "text": "Yes."}]
    assert one(delta(content=parts), delta("stop"), "[DONE]").text == "Yes."


def test_halves_of_a_character_in_two_pieces() -> None:
    assert one(delta(content="a\ud83c"), delta(content="\udf33"), "[DONE]").text == "a🌳"
    assert one(delta(content="a\ud83c"), "[DONE]").text.startswith("a")


def test_half_characters_anywhere_else_do_not_crash() -> None:
    half = "\ud83c"
    answer = one(
        {**delta(reasoning_details=[{"type": half}], reasoning_content=half, refusal=half), "model": half},
        piece(id=half, function={"name": half, "arguments": {half: 1}}, extra_content={half: half}),
        "[DONE]",
    )
    history = prompt(
        UserMessage("x"), ModelMessage(answer.text, answer.calls, answer.extra), Result(answer.calls[0].id, "r", True)
    )
    _, (request,), _ = ask([Answer("ok")], history)
    assert len(request.json["messages"]) == 4


def test_counts_beyond_reason_are_bounded() -> None:
    usage = {"prompt_tokens": 1e300, "completion_tokens": -5}
    assert one(delta("stop", content="x"), {"usage": usage}, "[DONE]").usage == Usage(input=10**12)


def test_a_long_line_in_many_pieces() -> None:
    async def go(url: str) -> Answer:
        client = wires.Client()
        answer = await ChatModel(client, Endpoint("openai:m", url, KEY), 20).ask(prompt(), lambda text: None)
        await client.close()
        return answer

    text = "long " * 1_000_000
    with WireModel([Raw(sse(delta(content=text), delta("stop"), "[DONE]"))]) as wire:
        assert asyncio.run(go(wire.base_url)).text == text


def test_streams_with_other_line_ends_comments_and_no_last_blank_line() -> None:
    whole = sse(delta(content="one "), delta("stop", content="two"))
    for body in (
        whole.replace(b"\n", b"\r\n") + b"data: [DONE]\r\n\r\n",
        b": keep-alive\n\n" + whole.replace(b"data: ", b"event: message\nid: 1\ndata:") + b"data:[DONE]",
        whole,  # No end mark, but a reason to finish and a clean end.
        b"\r\n\r\n" + whole + b"data: [DONE]\n",
    ):
        (answer,), _, _ = ask([Raw(body, "application/json")])
        assert answer.text == "one two"


def test_an_event_may_have_several_lines_of_data() -> None:
    (answer,), _, _ = ask([Raw(b'data: {"choices":\ndata: [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n')])
    assert answer.text == "x"


def test_slow_events_are_shown_as_they_come() -> None:
    (answer,), _, streamed = ask([Slow(Answer("slowly but surely"), 0.01)])
    assert answer.text == streamed == "slowly but surely"


def test_one_connection_serves_all_rounds() -> None:
    async def go(url: str) -> None:
        client = wires.Client()
        model = ChatModel(client, Endpoint("openai:m", url, KEY), 5)
        for _ in range(5):
            await model.ask(prompt(), lambda text: None)
        await client.close()

    with WireModel([Answer("ok")] * 5) as wire:
        asyncio.run(go(wire.base_url))
        assert wire.connections == 1


def test_many_agents_share_one_model() -> None:
    def answer(request: dict[str, Any]) -> Answer:
        return Answer(text=f"{len(request['messages'])} {request['messages'][1]['content']}")

    async def agent(model: ChatModel, number: int) -> None:
        trail: PersistentList[Any] = PersistentList((UserMessage(f"agent {number}"),))
        for turn in range(6):
            reply = await model.ask(Prompt(f"{number}#{turn}", f"system {number}", trail, (READ,)), lambda text: None)
            assert reply.text == f"{2 + 2 * turn} agent {number}"
            trail = trail.then(ModelMessage(reply.text), UserMessage(f"more {number}"))

    async def go(url: str) -> None:
        client = wires.Client()
        model = ChatModel(client, Endpoint("openai:m", url, KEY), 20)
        await asyncio.gather(*(agent(model, number) for number in range(30)))
        await client.close()

    with WireModel(answer) as wire:
        asyncio.run(go(wire.base_url))
    assert len(wire.requests) == 180


def test_a_cancelled_call_leaves_nothing_behind() -> None:
    async def go(url: str) -> Answer:
        client = wires.Client()
        model = ChatModel(client, Endpoint("openai:m", url, KEY), 5)
        begun = asyncio.Event()
        asking = asyncio.create_task(model.ask(prompt(), lambda text: begun.set()))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        answer = await model.ask(prompt(), lambda text: None)
        await client.close()
        return answer

    with WireModel([Slow(Answer("never seen in full"), 0.02), Answer("next")]) as wire:
        assert asyncio.run(go(wire.base_url)).text == "next"


def test_an_error_without_words_at_the_end_of_a_stream_is_passing() -> None:
    with pytest.raises(TransientError):
        one(delta(content="x"), delta("error"), "[DONE]")
