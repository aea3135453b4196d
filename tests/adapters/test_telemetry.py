"""A run as spans, received by an OTLP collector that speaks the protocol's own messages."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bough.core.messages import Usage
from bough.testing import ScriptedModel, call
from tests.harness import CHECK, FIXED, make_project, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

SECRET_PLAN = "I will make it add"
SCRIPT = [
    replace(call("write", path="calc.py", content=FIXED), text=SECRET_PLAN, usage=Usage(900, 60, cache_read=600)),
    replace(call("done", summary="adds"), usage=Usage(950, 20)),
]


class Collector:
    def __init__(self) -> None:
        self.spans: list[Any] = []

    def named(self, start: str) -> list[Any]:
        return [span for span in self.spans if span.name.startswith(start)]


@contextmanager
def collector() -> Iterator[tuple[Collector, str]]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            request = ExportTraceServiceRequest.FromString(body)
            found.spans += [span for r in request.resource_spans for s in r.scope_spans for span in s.spans]
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


@in_turn
def test_a_run_is_one_trace_by_the_conventions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as (found, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        outcome, _ = run_to_end(make_project(tmp_path / "p"), ScriptedModel(SCRIPT), check=CHECK)
    assert outcome.completed, outcome.summary
    assert len({span.trace_id for span in found.spans}) == 1
    by_id = {span.span_id: span for span in found.spans}

    def above(span: Any) -> str:
        return str(by_id[span.parent_span_id].name) if span.parent_span_id else ""

    (run,), (task,), (attempt,) = found.named("run "), found.named("task goal"), found.named("invoke_agent builder")
    assert [above(span) for span in (run, task, attempt)] == ["", run.name, "task goal"]
    chats, tools = found.named("chat "), found.named("execute_tool ")
    assert [above(span) for span in (*chats, *tools)] == ["invoke_agent builder"] * 4
    assert [span.kind for span in chats] == [3, 3], "client"
    assert attributes(chats[0])["gen_ai.usage.input_tokens"] == 900
    assert attributes(chats[0])["gen_ai.operation.name"] == "chat"
    assert attributes(chats[0])["gen_ai.provider.name"] == "scripted"
    assert [attributes(span)["gen_ai.response.finish_reasons"].values[0].string_value for span in chats] == [
        "tool_call",
        "tool_call",
    ]
    assert [attributes(span)["gen_ai.tool.name"] for span in tools] == ["write", "done"]
    (check,) = found.named("check")
    assert attributes(check)["bough.check.ruling"] == "passed" and above(check) == "task goal"
    assert attributes(run)["bough.end"] == "completed"
    assert SECRET_PLAN not in str(found.spans), "what models say is sent only when that is asked for"
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in found.spans)


@in_turn
def test_content_is_sent_in_the_conventions_form_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collector() as (found, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        outcome, _ = run_to_end(make_project(tmp_path / "p"), ScriptedModel(SCRIPT), check=CHECK)
    assert outcome.completed, outcome.summary
    first, second = (attributes(span) for span in found.named("chat "))
    (said,) = json.loads(first["gen_ai.output.messages"])
    text, asked = said["parts"]
    assert (said["role"], said["finish_reason"], text["content"]) == ("assistant", "tool_call", SECRET_PLAN)
    assert (asked["type"], asked["name"]) == ("tool_call", "write") and "calc.py" in asked["arguments"]
    heard = json.loads(second["gen_ai.input.messages"])
    assert [message["role"] for message in heard] == ["user", "assistant", "tool"]
    assert heard[1]["parts"] == said["parts"] and heard[2]["parts"][0]["id"] == asked["id"]
    assert json.loads(second["gen_ai.system_instructions"])[0]["content"].startswith("You are an engineer")
    write, _ = (attributes(span) for span in found.named("execute_tool "))
    assert "calc.py" in write["gen_ai.tool.call.arguments"]
    assert write["gen_ai.tool.call.result"] == heard[2]["parts"][0]["response"]
    assert attributes(found.named("run ")[0])["bough.goal"]


@in_turn
def test_a_collector_that_is_away_costs_a_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("bough.adapters.telemetry.PATIENCE", 300)
    outcome, _ = run_to_end(make_project(tmp_path / "p"), ScriptedModel(SCRIPT), check=CHECK)
    assert outcome.completed
    assert capfd.readouterr().err == ""
