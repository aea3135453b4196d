"""A run as OpenTelemetry spans, by the GenAI semantic conventions: a projection of the events as they are recorded.

Off unless an OTLP endpoint is set (`OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`). All
processes of a run, including those that resume it, add to one trace. The goal, prompts, answers and the arguments and
results of tools stay out of it unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is true."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, set_span_in_context

from bough import __version__
from bough.core import events as e
from bough.core.messages import Call
from bough.core.settings.sections import title_of
from bough.core.tree.task_state import SETTLED, State

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PATIENCE = 5_000
"""The most milliseconds that the end of a run waits for the collector."""
RUN = ""
"""The key of the run's own span; the key of a task is its path."""
PROVIDERS = {
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai-responses": "openai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""The conventions' names of providers for which bough uses another name."""
FINISHED = {"end": "stop", "calls": "tool_call", "length": "length", "refusal": "content_filter"}
"""Why a model stopped, in the conventions' words."""


class _OneTrace(RandomIdGenerator):
    """Makes every process of a run add to the same trace."""

    run = ""

    def generate_trace_id(self) -> int:
        return int.from_bytes(hashlib.sha256(self.run.encode()).digest()[:16])


class Spans:
    def __init__(self, env: Mapping[str, str]) -> None:
        # An unavailable collector must not fill the person's terminal.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        logging.getLogger("opentelemetry").propagate = False
        self._content = env.get(CONTENT, "").lower() in ("true", "1", "span_only", "span_and_event")
        self._ids = _OneTrace()
        name = env.get("OTEL_SERVICE_NAME", "bough")
        resource = Resource.create({"service.name": name, "service.version": __version__})
        self._provider = TracerProvider(resource=resource, id_generator=self._ids)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=PATIENCE / 1000)))
        self._tracer = self._provider.get_tracer("bough", __version__)
        self._open: dict[tuple[str, str], Span] = {}
        """Spans by task and subject: the task itself, `attempt`, `check`, or a call."""
        self._calls: dict[tuple[str, str], Call] = {}
        self._said: dict[str, list[bytes]] = {}
        """The messages of each task's conversation, encoded once each; kept only if traces hold content."""
        self._instructions: dict[str, str] = {}
        self._models: Mapping[str, str] = {}
        self._tiers: dict[str, str] = {}
        self._tasks: dict[str, SpanContext] = {}

    def close(self) -> None:
        for span in reversed(self._open.values()):
            span.end()
        self._provider.force_flush(PATIENCE)
        self._provider.shutdown()

    def recorded(self, record: e.Record) -> None:
        task, at = record.task, record.at
        match record.event:
            case e.RunStarted() | e.RunResumed() as event:
                self._ids.run, self._models = record.run, event.models
                named = {"bough.run": record.run, "bough.resumed": isinstance(event, e.RunResumed)}
                if self._content and isinstance(event, e.RunStarted):
                    named["bough.goal"] = event.plan.goal.instructions
                self._start(RUN, "run", f"run {record.run}", at, named)
            case e.RunFinished(end=end):
                self._end(RUN, "run", at, {"bough.end": end}, "" if end == "completed" else end)
            case e.RunHalted(reason=reason):
                self._end(RUN, "run", at, {"bough.end": reason}, reason)
            case e.TaskCreated(step=step):
                self._start(task, "task", f"task {task}", at, {"bough.task": task, "bough.title": step.title or task})
            case e.StateChanged(to=state) if state in SETTLED:
                self._end(task, "attempt", at)
                self._end(task, "task", at, {"bough.state": state}, "" if state is State.COMPLETED else state)
            case e.TaskHalted(reason=reason):
                self._end(task, "attempt", at)
                self._end(task, "task", at, {"bough.state": reason})
            case e.AttemptStarted(role=role, tier=tier, agent=agent) as event:
                self._end(task, "attempt", at)
                self._tiers[task], self._instructions[task], self._said[task] = tier, event.system, []
                self._hear(task, "user", {"type": "text", "content": event.brief})
                named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": role, "bough.tier": tier}
                named |= {"bough.agent": title_of(agent)} if agent else {}
                self._start(task, "attempt", f"invoke_agent {role}", at, named, under="task")
            case e.ModelAnswered(text=text) as event:
                calls = [
                    {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                    for call in event.calls
                ]
                parts = [*([{"type": "text", "content": text}] if text else []), *calls]
                if not event.spare:
                    self._add_model_span(task, at, event, parts, FINISHED[event.stop], self._show_conversation(task))
                self._hear(task, "assistant", *parts)
                self._calls |= {(task, call.id): call for call in event.calls}
            case e.HelperAnswered(text=text, helper=helper) as event:
                parts = [{"type": "text", "content": text}]
                self._add_model_span(task, at, event, parts, "stop", {"bough.helper": helper})
            case e.ToolFinished(call=call, ok=ok, output=output, seconds=seconds):
                asked = self._calls.pop((task, call), Call(call, "tool", ""))
                of_it = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": asked.name}
                of_it |= {"gen_ai.tool.call.id": call, "gen_ai.tool.type": "function"}
                of_it |= {"gen_ai.tool.call.arguments": asked.arguments} if self._content else {}
                self._start(task, call, f"execute_tool {asked.name}", at - seconds, of_it, under="attempt")
                result = {"gen_ai.tool.call.result": output} if self._content else {}
                self._end(task, call, at, result, "" if ok else "tool_error")
                self._hear(task, "tool", {"type": "tool_call_response", "id": call, "response": output})
            case e.CheckStarted(command=command):
                self._start(task, "check", "check", at, {"bough.check.command": command}, under="task")
            case e.CheckFinished(verdict=verdict):
                counts = {"bough.check.passed": verdict.passed, "bough.check.failed": verdict.failed}
                ruling = {"bough.check.ruling": verdict.ruling}
                self._end(task, "check", at, counts | ruling, "" if verdict.ruling == "passed" else verdict.ruling)
            case e.ChildMerged(child=child, conflicts=conflicts):
                self._add_merge_event(task, child, at, len(conflicts))
            case e.MessageAdded() | e.MessageReceived() | e.Compacted() as event:
                self._follow_conversation(task, event)

    def _follow_conversation(self, task: str, event: e.MessageAdded | e.MessageReceived | e.Compacted) -> None:
        if not isinstance(event, e.Compacted):
            self._hear(task, "user", {"type": "text", "content": event.text})
        elif self._said.get(task):
            brief, *others = self._said[task]
            self._said[task] = [brief]
            self._hear(task, "user", {"type": "text", "content": event.summary})
            self._said[task] += others[event.at - 1 :]

    def _hear(self, task: str, role: str, *parts: dict[str, str]) -> None:
        if self._content and task in self._said:
            self._said[task].append(msgspec.json.encode({"role": role, "parts": parts}))

    def _show_conversation(self, task: str) -> dict[str, str]:
        if not self._content or task not in self._said:
            return {}
        instructions = [{"type": "text", "content": self._instructions[task]}]
        return {
            "gen_ai.system_instructions": msgspec.json.encode(instructions).decode(),
            "gen_ai.input.messages": f"[{b','.join(self._said[task]).decode()}]",
        }

    def _start(
        self, task: str, what: str, name: str, at: float, attributes: Mapping[str, Any], under: str = ""
    ) -> None:
        parent = self._open.get((task, under)) or self._open.get((task, "task")) if under else None
        if parent is None and (task, what) != (RUN, "run"):  # The parent is the span of the task above, or of the run.
            above = self._open.get((task.rpartition("/")[0], "task")) if "/" in task else None
            goal = self._open.get(("goal", "task")) if task != "goal" else None
            parent = above or goal or self._open.get((RUN, "run"))
        began = _to_nanoseconds(at)
        span = self._tracer.start_span(name, _within(parent), start_time=began, attributes=dict(attributes))
        assert isinstance(span, Span)
        self._open[task, what] = span
        if what == "task":
            self._tasks[task] = span.get_span_context()

    def _end(
        self, task: str, what: str, at: float, attributes: Mapping[str, Any] | None = None, wrong: str = ""
    ) -> None:
        span = self._open.pop((task, what), None)
        if span is None:
            return
        span.set_attributes(dict(attributes or {}))
        if wrong:
            span.set_attribute("error.type", wrong)
            span.set_status(Status(StatusCode.ERROR, wrong))
        span.end(_to_nanoseconds(at))

    def _add_model_span(
        self,
        task: str,
        at: float,
        answered: e.ModelAnswered | e.HelperAnswered,
        parts: Sequence[Mapping[str, str]],
        finished: str,
        more: Mapping[str, Any],
    ) -> None:
        parent = self._open.get((task, "attempt")) or self._open.get((task, "task")) or self._open.get((RUN, "run"))
        tier = self._tiers.get(task, "main") if "bough.helper" not in more else "fast"
        asked = self._models.get(tier) or self._models.get("main") or f"bough:{answered.model}"
        usage = answered.usage
        provider, _, name = asked.partition(":")
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": PROVIDERS.get(provider, provider),
            "gen_ai.conversation.id": self._ids.run,
            "gen_ai.request.model": name,
            "gen_ai.response.model": answered.model or name,
            "gen_ai.response.finish_reasons": (finished,),
            "gen_ai.usage.input_tokens": usage.input,  # The count includes tokens read from and written to the cache.
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
            "gen_ai.usage.output_tokens": usage.output,
            **more,
        }
        if answered.cost is not None:
            attributes["bough.cost.usd"] = answered.cost
        if self._content:
            said = [{"role": "assistant", "parts": parts, "finish_reason": finished}]
            attributes["gen_ai.output.messages"] = msgspec.json.encode(said).decode()
        began = _to_nanoseconds(at - answered.seconds)
        span = self._tracer.start_span(f"chat {name}", _within(parent), SpanKind.CLIENT, attributes, start_time=began)
        span.end(_to_nanoseconds(at))

    def _add_merge_event(self, task: str, child: str, at: float, conflicts: int) -> None:
        path = child if task == "goal" else f"{task}/{child}"
        links = [Link(self._tasks[path])] if path in self._tasks else []
        attributes: dict[str, Any] = {"bough.step": child, "bough.conflicts": conflicts}
        parent, now = _within(self._open.get((task, "task"))), _to_nanoseconds(at)
        self._tracer.start_span(f"merge {child}", parent, SpanKind.INTERNAL, attributes, links, now).end(now)


def _within(parent: Span | None) -> Context | None:
    return set_span_in_context(parent) if parent is not None else None


def _to_nanoseconds(at: float) -> int:
    return int(at * 1_000_000_000)
