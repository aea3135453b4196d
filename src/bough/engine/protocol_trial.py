"""Whether a model that nothing is known about can act by tool calls: one tiny question, before the first real one.

The answer has to hold a small file with quotes and line breaks. Models that do not call tools reliably fail at exactly
that: of 90 such answers by Qwen2.5-Coder 1.5B one was a right call, though 25 were calls.
"""

from __future__ import annotations

import ast
import json

from msgspec import Struct

from bough.core import events as e
from bough.core.errors import Refused, TooLong
from bough.core.messages import AnswerProtocol, Call
from bough.core.planning.plan import Role, Tier
from bough.core.tree.task import Task
from bough.engine.agent_protocol import find_agent, find_protocol
from bough.engine.consult import consult
from bough.engine.task_workspace import TaskRuntime

HELPER = "trial"
"""The template of the question: a function `slug` in `words.py`."""
FIT = "it wrote a file by a tool call when it was tried"
UNFIT = "this model does not call tools reliably: it could not write a tiny file by a tool call"


class Tried(Struct, frozen=True):
    events: tuple[e.AnyEvent, ...] = ()
    protocol: AnswerProtocol | None = None
    """The one to start with; None: what is known decides."""


async def try_protocol(task: Task, runtime: TaskRuntime, role: Role, tier: Tier) -> Tried:
    """Ask, if nothing is known about the model, and remember what came of it."""
    known = tier in task.models.protocols or not find_protocol(task, runtime, tier).unknown
    if known or find_agent(task, runtime, role, tier):
        return Tried()
    write = next(spec for spec in runtime.ports.tools.specs if spec.name == "write")
    try:
        asked = await consult(task, runtime, HELPER, tier, {}, write)
    except TooLong:
        return Tried()
    except Refused as error:  # It may take no tools at all. If that is not why, the first real question says so.
        return Tried((e.HelperFailed(HELPER, str(error)),), "text")
    if asked.answer is None:
        return Tried(asked.events)
    fit = any(map(_is_right, asked.answer.calls))
    name = runtime.ports.models[tier].name
    runtime.ports.protocols.learn(name, "tools" if fit else "text", FIT if fit else UNFIT)
    return Tried(asked.events)


def _is_right(call: Call) -> bool:
    try:
        given = json.loads(call.arguments)
        tree = ast.parse(given["content"])
        named = given["path"].rpartition("/")[2] == "words.py"
    except (ValueError, SyntaxError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
        return False
    written = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "slug"]
    return call.name == "write" and named and bool(written) and "NotImplementedError" not in given["content"]
