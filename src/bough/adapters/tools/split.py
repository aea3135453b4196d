"""`split`: the agent asks for smaller steps in place of its task.

What can be seen without the task is checked here: the arguments are steps in the form that is asked for. Whether they
are smaller, provable and sufficient, and whether the task may be split at all, is weighed by whoever knows the task.
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
        "Cut this task into 2 to 4 smaller steps that together are all of it. When they are accepted your work on it "
        "is over: each step is done by somebody else from the files as they are, then the check of the whole runs."
    ),
)


def propose_split(call: Call) -> ToolResult:
    """The proposal as it came, when it can be read. `Refusal` when not."""
    found = parse_answer(Answer(calls=(call,)), SPLIT, Answered, ALIASES)
    if isinstance(found, str):
        raise Refusal(found, fault=True)
    return ToolResult("The proposal can be read.", proposal=call.arguments)
