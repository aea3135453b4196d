"""`split`: the agent asks for smaller steps in place of its task.

What can be checked without the task is checked here: the arguments are steps in the required form. Whether they are
smaller, provable and sufficient, and whether the task may be split at all, is for the engine to decide.
"""

from __future__ import annotations

from msgspec.structs import replace

from bough.adapters.tools.tool import Refusal
from bough.core.conversation.structured_answer import parse_answer
from bough.core.messages import Answer, Call
from bough.core.planning.given_steps import Answered
from bough.core.planning.tool_specs import ALIASES
from bough.core.planning.tool_specs import SPLIT as ASKED
from bough.ports import ToolResult

SPLIT = replace(
    ASKED,
    description=(
        "Cut this task into 2 to 4 smaller steps that together cover all of it. Once they are accepted, your work on "
        "it ends: each step is done by another agent from the files as they are, then the check of the whole runs."
    ),
)


def propose_split(call: Call) -> ToolResult:
    """The proposal as it came, when it is readable. `Refusal` when not."""
    found = parse_answer(Answer(calls=(call,)), SPLIT, Answered, ALIASES)
    if isinstance(found, str):
        raise Refusal(found, fault=True)
    return ToolResult("The proposal is valid.", proposal=call.arguments)
