"""What an editor (ACP) or another agent (MCP) is to bough: a program that starts it and talks JSON-RPC, a line each."""

import json
import subprocess
import threading
from collections.abc import Callable
from queue import Empty, Queue
from typing import Any

from tests.journeys.person import PATIENCE, Person


class Speaker:
    def __init__(self, process: subprocess.Popen[str], asked: Callable[[str, Any], Any] | None = None) -> None:
        """`asked` answers what bough asks: a method and its parameters."""
        self.heard: list[tuple[str, Any]] = []
        """Requests and notifications of bough's."""
        self._process, self._asked = process, asked
        self._number = 0
        self._waiting: dict[int, Queue[Any]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, method: str, patience: float = PATIENCE, **params: object) -> Any:
        """The result, or the error, of a request."""
        answer = self.begin(method, **params)
        try:
            return answer.get(timeout=patience)
        except Empty:
            raise AssertionError(f"{method} was not answered within {patience} s; heard: {self.heard[-3:]}") from None

    def begin(self, method: str, **params: object) -> Queue[Any]:
        """A request whose answer comes later."""
        self._number += 1
        self._waiting[self._number] = Queue()
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._waiting[self._number]

    def tell(self, method: str, **params: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> int:
        """The other side goes away."""
        assert self._process.stdin
        self._process.stdin.close()
        self._reader.join(PATIENCE)
        assert self._process.stdout
        self._process.stdout.close()
        return self._process.wait(PATIENCE)

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            if not line.startswith("{"):
                continue
            message = json.loads(line)
            if "method" not in message:
                self._waiting[message["id"]].put(message.get("result", message.get("error")))
                continue
            self.heard.append((message["method"], message.get("params")))
            if "id" in message and self._asked:
                result = self._asked(message["method"], message.get("params"))
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})


class OtherAgent(Speaker):
    """An agent that gives goals to bough, over MCP."""

    def __init__(self, ann: Person) -> None:
        super().__init__(ann.start("mcp", "--dir", str(ann.project)))
        self.ask(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "journey", "version": "1"}
        )
        self.tell("notifications/initialized")

    def tools(self) -> set[str]:
        return {each["name"] for each in self.ask("tools/list")["tools"]}

    def use(self, tool: str, **arguments: object) -> tuple[bool, str]:
        """Whether it went well, and the text that came back."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        text = "\n".join(part.get("text", "") for part in result.get("content", ())) or json.dumps(result)
        return not result.get("isError", "content" not in result), text

    def resource(self, address: str) -> str:
        result = self.ask("resources/read", uri=address)
        return "\n".join(part.get("text", "") for part in result["contents"])


class Editor(Speaker):
    """An editor with a session, over ACP."""

    def __init__(self, ann: Person, chooses: Callable[[Any], str] | None = None) -> None:
        """`chooses` picks the option of a question by its parameters; by default the first that allows."""
        self.questions: list[Any] = []
        self._chooses = chooses or _first_that_allows
        super().__init__(ann.start("acp"), self._decide)
        self.ask("initialize", protocolVersion=1, clientCapabilities={})
        self.session = self.ask("session/new", cwd=str(ann.project), mcpServers=[])["sessionId"]

    def say(self, text: str) -> str:
        """A message, until the turn ends: why it ended."""
        prompt = [{"type": "text", "text": text}]
        reason: str = self.ask("session/prompt", sessionId=self.session, prompt=prompt)["stopReason"]
        return reason

    def shown(self) -> str:
        """All the text that bough has shown."""
        updates = [params["update"] for method, params in self.heard if method == "session/update"]
        return "".join(each["content"].get("text", "") for each in updates if isinstance(each.get("content"), dict))

    def _decide(self, method: str, params: Any) -> Any:
        self.questions.append(params)
        return {"outcome": {"outcome": "selected", "optionId": self._chooses(params)}}


def _first_that_allows(params: Any) -> str:
    allowing = [each for each in params["options"] if each["kind"].startswith("allow")]
    option: str = (allowing or params["options"])[0]["optionId"]
    return option
