"""A long conversation is made smaller before it fills the model's window, and nothing that is pinned is lost."""

import asyncio
import json
import re
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core import events as e
from bough.core.conversation.compaction import HEADINGS, measure_messages
from bough.core.messages import Answer, Prompt, Result, Usage
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from bough.views.event_lines import EventFormatter
from bough.views.run_view import Outcome
from bough.views.stats import compute_stats
from tests.harness import (
    CALC,
    QUICK_CHECK,
    Journal,
    allow_settings,
    begin,
    journal_of,
    make_project,
    resume,
    run_to_end,
)
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.wire import Reply, Status, WireModel, WireRequest

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

WINDOW = 9_000
SETTINGS = """\
[models]
window = {window}
[stuck]
patterns = ["monologue"]
[limits]
backoff_first = 0.01
backoff_longest = 0.05
[acceptance]
examine = "never"
[compaction]
summarizer = "{summarizer}"
"""
GOAL = "Make add add. The sum of 2 and 3 is 5, whatever the weather."
DEAD_END = "Turning the operands round does not help: b - a is as wrong as a - b."
FIX = call("edit", path="calc.py", old="a - b", new="a + b")
DONE = call("done", summary="add adds")
LOOKS = 14


def look(number: int) -> Answer:
    """Much to read, other text each time."""
    return call("read", path=f"cases/{number}.txt")


def works(number: int) -> Answer:
    """The agent's round of that number: reads much, notes a dead end, then repairs."""
    plan = {1: call("read", path="calc.py"), 2: call("note", kind="dead_end", text=DEAD_END)}
    plan |= {LOOKS: FIX, LOOKS + 1: DONE}
    return plan.get(number, look(number))


SUMMARY = """\
## Key decisions
- change only the operator
## Errors and solutions
- none so far
## Modified files
(nothing)
## Critical context
- calc.py holds add
"""


class Provider:
    """What a provider of the given dialect would do: it counts what it is sent."""

    def __init__(self, agent: Callable[[int], Answer] = works, helper: Reply | None = None) -> None:
        self.agent = agent
        self.helper = helper or Answer(text=SUMMARY, usage=Usage(2_000, 60))
        self.rounds = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        if not request.get("tools"):
            return self.helper
        self.rounds += 1
        answer = self.agent(self.rounds)
        used = len(str(request)) // 4
        return Answer(answer.text, answer.calls, "calls", Usage(used, 30))


def project_in(folder: Path, summarizer: str = "llm", window: int = WINDOW) -> Path:
    project = make_project(folder)
    (project / "bough.toml").write_text(SETTINGS.format(summarizer=summarizer, window=window))
    allow_settings(project)
    (project / "cases").mkdir()
    for number in range(1, LOOKS + 1):
        lines = (f"case {number} of {n * (number + 7)} goes on and on\n" for n in range(90))
        (project / "cases" / f"{number}.txt").write_text("".join(lines))
    return project


def carried_out(
    project: Path, provider: Provider, *, name: str = "openai:wire", goal: str = GOAL
) -> tuple[Outcome, Journal, list[WireRequest]]:
    with WireModel(provider) as wire:
        base = wire.anthropic_url if name.startswith("anthropic") else wire.base_url
        # It calls tools: to read much and change nothing for long is no reason to try it in text.
        choices = app.Choices(model=name, base_url=base, protocol="tools")
        outcome, journal = run_to_end(project, [], goal=goal, choices=choices)
    return outcome, journal, rounds_of(wire)


def rounds_of(wire: WireModel) -> list[WireRequest]:
    """Without the question that comes before the first round: what the server says of its model."""
    return [seen for seen in wire.requests if seen.method == "POST"]


def agents(requests: list[WireRequest]) -> list[WireRequest]:
    return [seen for seen in requests if seen.json.get("tools")]


def helpers(requests: list[WireRequest]) -> list[WireRequest]:
    return [seen for seen in requests if not seen.json.get("tools")]


def grows(before: WireRequest, after: WireRequest) -> bool:
    """Whether a request is the one before it, to the byte, and more at its end."""
    return unmarked(after).startswith(unmarked(before).rstrip(b"]}"))


def unmarked(seen: WireRequest) -> bytes:
    """Without Anthropic's marks of what to cache: they move on with the conversation and are no part of it."""
    return seen.body.replace(b',"cache_control":{"type":"ephemeral"}', b"")


# ── over the wire ───────────────────────────────────────────────────────────────────────────────────────────────────


LongRun = tuple[Outcome, Journal, list[WireRequest]]


@pytest.fixture(scope="module", params=["openai:wire", "anthropic:wire"])
def long_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LongRun:
    return carried_out(project_in(tmp_path_factory.mktemp("long")), Provider(), name=request.param)


@in_turn
def test_a_long_conversation_is_compacted_and_work_continues(long_run: LongRun) -> None:
    outcome, journal, requests = long_run
    assert outcome.completed
    assert len(agents(requests)) == LOOKS + 1
    done = journal.of(e.Compacted)
    assert len(done) >= 2
    for event in done:
        assert event.by == "model"
        assert event.after <= 0.5 * event.before
        assert [line[3:] for line in event.summary.splitlines() if line[3:] in HEADINGS] == list(HEADINGS)
    for started in journal.of(e.CompactionStarted):
        assert started.used >= 0.75 * WINDOW
        assert started.window == WINDOW
    asked = journal.of(e.HelperAnswered)
    assert len(asked) == len(helpers(requests)) >= len(done)
    assert outcome.spend.rounds == LOOKS + 1 + len(asked), "each call of the fast model is charged"
    sizes = [len(seen.body) // 4 for seen in agents(requests)]
    assert max(sizes) < WINDOW, "no request was too long for the model"


def test_between_compactions_a_request_only_grows(long_run: LongRun) -> None:
    _, journal, requests = long_run
    asked = agents(requests)
    restarts = [number for number, (before, after) in enumerate(pairwise(asked)) if not grows(before, after)]
    assert len(restarts) == len(journal.of(e.Compacted))
    brief = unmarked(asked[0]).rstrip(b"]}")
    assert all(unmarked(seen).startswith(brief) for seen in asked), "what comes before the summary never changes"


def test_pinned_facts_are_in_every_request_word_for_word(long_run: LongRun) -> None:
    _, journal, requests = long_run
    last = journal.of(e.Compacted)[-1].summary
    assert json.dumps(last, ensure_ascii=False).encode() in agents(requests)[-1].body
    assert DEAD_END in last
    assert f"calc.py: all of it, sha256 {sha256(CALC.encode()).hexdigest()[:12]}" in last
    for seen in agents(requests)[3:]:
        for fact in (GOAL, QUICK_CHECK, DEAD_END):
            assert fact.encode() in seen.body


def test_no_call_is_parted_from_its_result(tmp_path: Path) -> None:
    def twice(number: int) -> Answer:
        calls = (*look(number).calls, *call("list").calls)
        return works(number) if number in (LOOKS, LOOKS + 1) else Answer(calls=calls)

    _, journal, requests = carried_out(project_in(tmp_path / "p"), Provider(twice))
    assert journal.of(e.Compacted)
    for seen in agents(requests):
        waiting: list[str] = []
        for message in seen.json["messages"]:
            if message["role"] == "tool":
                waiting.remove(message["tool_call_id"])
            else:
                assert not waiting
            waiting += [call["id"] for call in message.get("tool_calls", ())]
        assert not waiting


@in_turn
@pytest.mark.parametrize(
    "failing", sample([Status(401), Status(500), Answer(text=" \n"), Answer(text="no", stop="refusal")], 2)
)
def test_a_fast_model_that_fails_is_replaced_by_plain_rules(tmp_path: Path, failing: Reply) -> None:
    outcome, journal, requests = carried_out(project_in(tmp_path / "p"), Provider(helper=failing))
    assert outcome.completed
    done = journal.of(e.Compacted)
    assert done
    assert {event.by for event in done} == {"rule"}
    assert all(event.after <= 0.5 * event.before for event in done)
    assert DEAD_END in agents(requests)[-1].json["messages"][2]["content"]


def test_without_a_summarizer_no_model_is_asked(tmp_path: Path) -> None:
    outcome, journal, requests = carried_out(project_in(tmp_path / "p", "truncate"), Provider())
    assert outcome.completed
    assert {event.by for event in journal.of(e.Compacted)} == {"rule"}
    assert helpers(requests) == []


def test_a_short_conversation_is_left_alone_where_the_window_is_unknown(tmp_path: Path) -> None:
    outcome, journal, _ = carried_out(project_in(tmp_path / "p", window=0), Provider())
    assert outcome.completed
    assert journal.of(e.CompactionStarted, e.Compacted) == []


def test_three_compactions_that_do_not_help_stop_the_attempt(tmp_path: Path) -> None:
    """The brief alone fills the window: nothing that is said later can make it shorter."""
    long_goal = GOAL + "\n" + "\n".join(f"Rule {n}: whatever else is said, {n} plus 0 is {n}." for n in range(500))

    def agent(number: int) -> Answer:
        return look(number) if number < 5 else FIX if number == 5 else DONE

    outcome, journal, requests = carried_out(project_in(tmp_path / "p"), Provider(agent), goal=long_goal)
    assert outcome.completed
    stopped, *_ = journal.of(e.Escalated)
    assert (stopped.trouble.cause, stopped.trouble.pattern, stopped.decision.rung) == ("signal", "compaction", "prune")
    assert "3 compactions in a row" in stopped.trouble.says
    order = [type(r.event) for r in journal.records if isinstance(r.event, e.Compacted | e.Escalated)]
    assert order[:4] == [e.Compacted, e.Compacted, e.Compacted, e.Escalated]
    assert not any("the summary that" in str(seen.json) for seen in helpers(requests)), "asked in vain"
    counted = compute_stats(journal.records)
    assert counted.overfull == 1
    assert any("context limit was hit" in warning for warning in counted.warnings)


def test_people_see_it(long_run: LongRun) -> None:
    _, journal, _ = long_run
    teller = EventFormatter()
    told = [teller.tell(record)[0] for record in journal.records]
    fills = re.compile(r"the conversation fills the model's window \(.*\): compacting")
    assert any(map(fills.fullmatch, told))
    assert any(line.startswith("conversation compacted by the fast model: about") for line in told)
    saved = sum(event.before - event.after for event in journal.of(e.Compacted))
    assert compute_stats(journal.records).compacted == saved > 0


# ── a crash on the way ──────────────────────────────────────────────────────────────────────────────────────────────


def scripted(prompt: Prompt) -> Answer:
    """The same story by what a prompt shows, so that it can be asked again after a crash at any point."""
    if not prompt.tools:
        return Answer(text=SUMMARY, usage=Usage(2_000, 60))
    number = int(prompt.key.rpartition("#")[2])
    last = prompt.messages[-1]
    fixed = isinstance(last, Result) and last.ok and "a + b" in last.text
    answer = DONE if fixed else look(number) if number < 9 else FIX
    return Answer(answer.text, answer.calls, "calls", Usage(500 + measure_messages(prompt.messages), 30))


@in_turn
def test_a_crash_at_every_point_of_a_compaction(tmp_path: Path) -> None:
    def model() -> ScriptedModel:
        return ScriptedModel(scripted, window=6_000)

    whole, fuse = project_in(tmp_path / "whole"), Fuse()
    asyncio.run(begin(whole, model(), check=QUICK_CHECK, fuse=fuse))
    told = asyncio.run(journal_of(whole)).of(e.Compacted)
    assert told
    points, during = list[int](), False
    for number, point in enumerate(fuse.points):
        during = during or "CompactionStarted" in point
        points += [number] if during else []
        during = during and not (point.startswith("after append") and point.endswith("Compacted"))
    assert len(points) >= 6, "before and after each append and each question"
    for at in sample(points[::2], 3):  # What is after one is before the next effect.
        project = project_in(tmp_path / f"p{at}")
        with pytest.raises(FuseBlown):
            asyncio.run(begin(project, model(), check=QUICK_CHECK, fuse=Fuse(at)))
        outcome = asyncio.run(resume(project, model()))
        journal = asyncio.run(journal_of(project))
        assert outcome.completed
        assert journal.of(e.Compacted) == told, f"killed at {fuse.points[at]}"
        answered = len(journal.of(e.ModelAnswered, e.HelperAnswered))
        assert outcome.spend.rounds == answered, "no round was counted twice"


# ── a refusal for its length ────────────────────────────────────────────────────────────────────────────────────────

TOKENS = 6_000


class Narrow(Provider):
    """A server with a window that nobody told bough of: it refuses what is too long, and says so in its own words."""

    def __init__(self, says: str, agent: Callable[[int], Answer] = works) -> None:
        super().__init__(agent)
        self.says = says
        self.refused = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        used = len(json.dumps(request)) // 4
        if used > TOKENS:
            self.refused += 1
            return Status(400, body={"error": {"message": self.says.format(window=TOKENS, used=used)}})
        return super().__call__(request)


@pytest.mark.parametrize(
    "says",
    sample(
        [
            "This model's maximum context length is {window} tokens. However, your messages resulted in {used} tokens.",
            "request ({used} tokens) exceeds the available context size ({window} tokens), try increasing it",
            "prompt is too long: {used} tokens > {window} maximum",
            "the input length exceeds the context length",
        ],
        2,
    ),
)
def test_a_refusal_for_its_length_teaches_the_window(tmp_path: Path, says: str) -> None:
    project = project_in(tmp_path / "p", window=0)
    provider = Narrow(says)
    outcome, journal, _ = carried_out(project, provider)
    assert outcome.status == "completed", outcome.summary
    assert 0 < provider.refused <= 2
    (first, *_) = [event for event in journal.of(e.ModelFailed) if event.too_long]
    assert first.window == (TOKENS if "{window}" in says else 0)
    assert journal.of(e.Compacted)
    assert outcome.spend.rounds == LOOKS + 1 + len(journal.of(e.HelperAnswered)), "a refused round is not counted twice"


def test_a_brief_that_does_not_fit_halts_and_another_model_resumes(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    refusal = Status(400, body={"error": {"message": "This model's maximum context length is 512 tokens."}})

    async def resumed(run: str, base_url: str) -> Outcome:
        async with app.open_session(project) as session:
            return await session.resume(run, app.Choices(model="openai:wide", base_url=base_url), app.RunObserver())

    with WireModel(lambda request: refusal) as narrow:
        outcome, journal = run_to_end(project, [], choices=app.Choices(model="openai:w", base_url=narrow.base_url))
    assert outcome.status == "unavailable"
    assert len(rounds_of(narrow)) == 1
    assert "too long" in journal.of(e.TaskHalted)[-1].message
    with WireModel([FIX, DONE]) as wide:
        again = asyncio.run(resumed(outcome.run, wide.base_url))
    assert again.status == "completed", again.summary
    assert again.spend.rounds == 2, "the unanswered round was asked again, and not counted twice"
