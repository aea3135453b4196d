"""Real agents as bough's builders, on this machine alone: does each of them complete the demo's goal?

The language model is played by a server on loopback that speaks Anthropic Messages, OpenAI Responses and Chat, and
Gemini. It knows the repair of the demo's repository, looks at the files first, makes the repair with the agent's own
shell tool, runs the tests, and says that it is done. Everything else is real: the agents as their makers publish them,
bough's sandbox, git, the tests and the verdict.

    npm install --prefix /tmp/npm -g @agentclientprotocol/claude-agent-acp @agentclientprotocol/codex-acp \
        @google/gemini-cli opencode-ai @aaif/goose   # goose itself is in @aaif/goose's node_modules/.bin
    PATH=/tmp/npm/bin:$PATH python bench/outside_agents.py
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPAIR = r"""
python3 - <<'END'
from pathlib import Path
file = Path("calendar_slots.py")
text = file.read_text()
for old, new in (
    ("start < merged[-1][1]", "start <= merged[-1][1]"),
    ("(merged[-1][0], end)", "(merged[-1][0], max(merged[-1][1], end))"),
    ("        if start > now:", "        start = min(start, closes)\n        if start > now:"),
    ("        now = end", "        now = max(now, end)"),
):
    text = text.replace(old, new)
file.write_text(text)
END
""".strip()
STEPS = ("cat calendar_slots.py", REPAIR, "python -m pytest -q 2>&1 | tail -5")
SAYS = "The slots that touch are merged, a short meeting no longer ends a long one, and nothing is free after closing."
SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "developer__shell")
GOAL = "Some tests of this repository fail. Find the causes in calendar_slots.py and fix them."
Body = dict[str, Any]


class Brain(BaseHTTPRequestHandler):
    """One answer: the next step, in whatever protocol it is asked for."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, format: str, *args: object) -> None:
        """Not here."""

    def do_GET(self) -> None:
        listed = {
            "id": "fake-1",
            "object": "model",
            "type": "model",
            "display_name": "Fake",
            "created_at": "2026-01-01",
        }
        self._json({"object": "list", "data": [listed], "models": []})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self._read() or b"{}")
        Brain.asked += 1
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self._json({"input_tokens": 10})
        if path.endswith("/messages"):
            return self._messages(body)
        if path.endswith("/responses"):
            return self._responses(body)
        if path.endswith("/chat/completions"):
            return self._chat(body)
        if "enerateContent" in path:
            return self._gemini(body, "stream" in path)
        return self._json({"error": f"unknown {path}"}, 404)

    # ── what it thinks ──────────────────────────────────────────────────────────────────────────────────────────────

    def _step(self, tools: list[str], results: int) -> tuple[str, Body] | None:
        """The shell tool and its arguments for the next step; None: nothing is left, or nothing can be done."""
        shell = next((name for name in SHELLS if name in tools), None)
        if shell is None or results >= len(STEPS):
            return None
        line = STEPS[results]
        given: dict[str, Body] = {
            "exec_command": {"cmd": line},
        }
        return shell, given.get(shell, {"command": line, "description": "the next step"})

    def _messages(self, body: Body) -> None:
        tools = [str(tool.get("name")) for tool in body.get("tools") or []]
        parts = [part for message in body["messages"] for part in _parts(message["content"])]
        step = self._step(tools, sum(part.get("type") == "tool_result" for part in parts))
        block: Body = {"type": "text", "text": SAYS}
        if step:
            block = {"type": "tool_use", "id": f"toolu_{Brain.asked}", "name": step[0], "input": step[1]}
        usage = {"input_tokens": 1000, "output_tokens": 50}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [block],
        }
        message |= {"stop_reason": "tool_use" if step else "end_turn", "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return self._json(message)
        begun: Body = {**block, **({"input": {}} if step else {"text": ""})}
        delta = {"type": "text_delta", "text": SAYS}
        if step:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
        events: list[Body] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": begun},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                "usage": {"output_tokens": 50},
            },
            {"type": "message_stop"},
        ]
        return self._events(events)

    def _responses(self, body: Body) -> None:
        tools = [str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or []]
        given = body.get("input") if isinstance(body.get("input"), list) else []
        step = self._step(tools, sum(item.get("type") == "function_call_output" for item in given or []))
        said = {"type": "output_text", "text": SAYS, "annotations": []}
        item: Body = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [said]}
        if step:
            id = f"call_{Brain.asked}"
            item = {"type": "function_call", "id": f"fc_{Brain.asked}", "call_id": id, "name": step[0]}
            item["arguments"] = json.dumps(step[1])
        usage = {"input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # type: ignore[dict-item]
        whole = {"id": "r1", "object": "response", "created_at": int(time.time()), "status": "completed"}
        whole |= {"model": body.get("model"), "output": [item], "usage": usage}
        if not body.get("stream"):
            return self._json(whole)
        return self._events(
            [
                {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": whole},
            ]
        )

    def _chat(self, body: Body) -> None:
        tools = [str(tool["function"]["name"]) for tool in body.get("tools") or []]
        step = self._step(tools, sum(message.get("role") == "tool" for message in body["messages"]))
        delta: Body = {"role": "assistant", "content": SAYS}
        if step:
            function = {"name": step[0], "arguments": json.dumps(step[1])}
            call = {"index": 0, "id": f"call_{Brain.asked}", "type": "function", "function": function}
            delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        ends = "tool_calls" if step else "stop"
        usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": ends}
            return self._json({"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage})
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
        first = {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": ends}], "usage": usage}
        return self._events([first, last, "[DONE]"], named=False)

    def _gemini(self, body: Body, streams: bool) -> None:
        tools = [f["name"] for tool in body.get("tools") or [] for f in tool.get("functionDeclarations", [])]
        parts = [part for content in body.get("contents") or [] for part in content.get("parts", [])]
        step = self._step(tools, sum("functionResponse" in part for part in parts))
        part: Body = {"functionCall": {"name": step[0], "args": step[1]}} if step else {"text": SAYS}
        if shape := (body.get("generationConfig") or {}).get("responseJsonSchema"):
            part = {"text": json.dumps(_filled(shape))}  # How hard is this? It asks that before it begins.
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050}
        whole = {"candidates": [candidate], "usageMetadata": usage}
        return self._events([whole], named=False) if streams else self._json(whole)

    # ── the wire ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            raw = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            return gzip.decompress(raw)
        return raw

    def _json(self, document: Body, status: int = 200) -> None:
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _events(self, events: list[Any], named: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            head = f"event: {event['type']}\n" if named else ""
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"{head}data: {data}\n\n".encode())
        self.close_connection = True


def _parts(content: Any) -> list[Body]:
    return content if isinstance(content, list) else []


def _filled(shape: Body) -> Body:
    values: Body = {"STRING": "simple", "INTEGER": 10, "NUMBER": 10, "BOOLEAN": False}
    return {name: values.get(str(of.get("type")).upper()) for name, of in shape.get("properties", {}).items()}


def furnish(home: Path, url: str) -> None:
    """What each agent has to find in its home to ask the model here: all of it is given by bough, as a copy."""
    codex = [
        'model = "fake-1"',
        'model_provider = "here"',
        "[model_providers.here]",
        'name = "here"',
        f'base_url = "{url}/v1"',
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
    ]
    models = {"fake-1": {"name": "Fake", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}}
    options = {"baseURL": f"{url}/v1", "apiKey": "not-a-key"}
    here = {"npm": "@ai-sdk/openai-compatible", "name": "Here", "options": options, "models": models}
    opencode = {"model": "here/fake-1", "small_model": "here/fake-1", "provider": {"here": here}, "autoupdate": False}
    gemini = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    for path, text in (
        (".codex/config.toml", "\n".join(codex)),
        (".gemini/settings.json", json.dumps(gemini)),
        (".config/opencode/opencode.json", json.dumps(opencode)),
    ):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    settings = home / ".config" / "bough" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        '[agents.claude]\nnetwork = "loopback"\nenv = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]\n'
        '[agents.codex]\nnetwork = "loopback"\nenv = ["OPENAI_API_KEY"]\nhome = ["~/.codex"]\n'
        '[agents.gemini]\nnetwork = "loopback"\nhome = ["~/.gemini"]\n'
        'env = ["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"]\n'
        '[agents.goose]\nnetwork = "loopback"\n'
        'env = ["OPENAI_API_KEY", "OPENAI_HOST", "GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_DISABLE_KEYRING"]\n'
        '[agents.opencode]\nnetwork = "loopback"\nhome = ["~/.config/opencode"]\n'
    )


def run(agent: str, home: Path, url: str, minutes: float) -> Body:
    """One run of the demo's goal with that agent, as a person would start it."""
    project = home / f"project-{agent}"
    shutil.copytree(Path(__file__).parents[1] / "src/bough/demos/fix/repository", project)
    keys = {"ANTHROPIC_API_KEY": "not-a-key", "OPENAI_API_KEY": "not-a-key", "GEMINI_API_KEY": "not-a-key"}
    places = {"ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url, "OPENAI_HOST": url}
    places |= {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "fake-1", "GOOSE_DISABLE_KEYRING": "1"}
    own = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": str(home / "state"), "CI": "1"}
    env = {**os.environ, **keys, **places, **own}
    argv = [sys.executable, "-m", "bough", "run", GOAL, "--check", "python -m pytest -q", "--agent", agent]
    began, before = time.monotonic(), Brain.asked
    flags = ["--flat", "--json", "--max-minutes", str(minutes)]
    done = subprocess.run([*argv, *flags], cwd=project, env=env, capture_output=True, text=True)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = [event.get("event", event) for event in events]
    return {
        "status": done.returncode,
        "seconds": time.monotonic() - began,
        "asked": Brain.asked - before,
        "events": found,
        "error": done.stderr[-2000:],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("agents", nargs="*", default=["claude", "codex", "gemini", "goose", "opencode"])
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--keep", action="store_true", help="leave the projects, with their journals")
    chosen = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Brain)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    home = Path(tempfile.mkdtemp(prefix="bough-agents-"))
    furnish(home, url)
    print("| agent | bough's verdict | rounds | model calls | tokens it reports | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    worst = 0
    for agent in chosen.agents:
        came = run(agent, home, url, chosen.minutes)
        worst = max(worst, came["status"])
        print(f"| {agent} | {_verdict(came)} |", flush=True)
    if chosen.keep:
        print(f"\nThe projects are in {home}.")
    else:
        shutil.rmtree(home)
    raise SystemExit(worst)


def _verdict(came: Body) -> str:
    kinds = [event.get("event") for event in came["events"] if isinstance(event, dict)]
    answered = [event for event in came["events"] if isinstance(event, dict) and event.get("event") == "ModelAnswered"]
    tokens = sum(event.get("usage", {}).get("input", 0) + event.get("usage", {}).get("output", 0) for event in answered)
    rounds = kinds.count("RoundStarted")
    says = "completed" if came["status"] == 0 else f"exit status {came['status']}: {came['error'].strip()[-300:]}"
    return f"{says} | {rounds} | {came['asked']} | {tokens} | {came['seconds']:.1f}"


if __name__ == "__main__":
    main()
