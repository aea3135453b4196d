"""The public fake of a model."""

import asyncio

import pytest

from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import TransientError
from bough.core.messages import Answer, Call, Prompt, UserMessage
from bough.ports import Model
from bough.testing.scripted import ScriptedModel, ScriptExhausted, call, say
from tests.answers import combine_answers, raw_call


def prompt(key: str = "goal#1#1") -> Prompt:
    return Prompt(key, "system", PersistentList((UserMessage("Begin."),)), ())


def ask(model: Model, times: int = 1) -> list[Answer]:
    async def go() -> list[Answer]:
        return [await model.ask(prompt(f"goal#1#{n}"), lambda text: None) for n in range(times)]

    return asyncio.run(go())


def test_answers_come_in_order_and_prompts_are_kept() -> None:
    model = ScriptedModel([say("Hello."), call("write", path="a.py", content="x"), lambda p: say(p.key)])
    said = ask(model, 3)
    assert [answer.text for answer in said] == ["Hello.", "", "goal#1#2"]
    assert said[1].calls == (Call("call_2_0", "write", '{"path":"a.py","content":"x"}'),)
    assert said[1].stop == "calls"
    assert [p.key for p in model.prompts] == ["goal#1#0", "goal#1#1", "goal#1#2"]
    assert model.left == 0


def test_calls_together_have_ids_of_their_own() -> None:
    (answer,) = ask(ScriptedModel([combine_answers(say("Both."), call("read", path="a"), raw_call("read", "{broken"))]))
    assert answer.text == "Both."
    assert [(c.id, c.arguments) for c in answer.calls] == [("call_1_0", '{"path":"a"}'), ("call_1_1", "{broken")]


def test_errors_are_raised() -> None:
    model = ScriptedModel([TransientError("busy", 3)])
    with pytest.raises(TransientError, match="busy"):
        ask(model)


def test_an_exhausted_script_fails_the_test() -> None:
    model = ScriptedModel([say("only one")])
    with pytest.raises(
        ScriptExhausted, match=r"1 answers and all are used; asked again as 'goal#1#1', after UserMessage"
    ):
        ask(model, 2)
    assert issubclass(ScriptExhausted, AssertionError)


def test_a_function_in_place_of_a_list_is_asked_every_time() -> None:
    async def slowly(p: Prompt) -> Answer:
        await asyncio.sleep(0)
        return say(p.key)

    assert [answer.text for answer in ask(ScriptedModel(slowly), 3)] == ["goal#1#0", "goal#1#1", "goal#1#2"]


def test_text_is_shown_as_progress() -> None:
    shown: list[str] = []

    async def go() -> None:
        await ScriptedModel([say("Hello.")]).ask(prompt(), shown.append)

    asyncio.run(go())
    assert shown == ["Hello."]
