"""No framework at all: the standard library's HTTP client and a list of messages. What a round costs at the very least
when the whole conversation is encoded again each time and nothing is kept."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness import GOAL, KEY, MODEL, TOOL, TOOL_HELP, TOOL_RESULT, Entry, main

PARAMETERS = {"type": "object", "properties": {"part": {"type": "integer"}}, "required": ["part"]}
TOOLS = [{"type": "function", "function": {"name": TOOL, "description": TOOL_HELP, "parameters": PARAMETERS}}]


def rounds(n: int, base_url: str, folder: Path) -> None:
    address = urlsplit(base_url)
    assert address.hostname is not None
    client = http.client.HTTPConnection(address.hostname, address.port)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    messages: list[dict[str, Any]] = [{"role": "user", "content": GOAL}]
    while True:
        body = json.dumps({"model": MODEL, "messages": messages, "tools": TOOLS})
        client.request("POST", address.path + "/chat/completions", body, headers)
        message = json.loads(client.getresponse().read())["choices"][0]["message"]
        messages.append(message)
        calls = message.get("tool_calls", [])
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": TOOL_RESULT} for call in calls]
        if not calls:
            break
    client.close()


def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(partial(rounds, n, base_url), [folder] * count))


if __name__ == "__main__":
    main(Entry("pip", ("http.client", "json"), rounds, agents))
