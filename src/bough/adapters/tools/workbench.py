"""The tools that every agent has. A wrong call is answered with a text that helps the model correct it."""

import errno
import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.tools.bash import BASH
from bough.adapters.tools.edit import EDIT
from bough.adapters.tools.files import READ, WRITE
from bough.adapters.tools.listing import LIST
from bough.adapters.tools.notes import DISPUTE, DONE, NOTE, PROPOSE
from bough.adapters.tools.search import make_search
from bough.adapters.tools.tool import Bench, Refusal, Tool
from bough.core.conversation.structured_answer import parse_answer
from bough.core.messages import Answer, Call, ToolSpec
from bough.core.planning.decomposition import PlanAnswer
from bough.core.planning.tool_specs import ALIASES
from bough.core.planning.tool_specs import SPLIT as ASKED
from bough.core.rules import Rules
from bough.core.textual.cleaning import repair_surrogates
from bough.core.textual.spelling import suggest_word
from bough.ports import Sandbox, ToolResult, WorkFolder

LONGEST = 4_000_000
"""The most characters of a call's arguments. Models write less, but a broken stream may not end."""


@cache
def make_schema(arguments: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments as one flat object without references; it is built only once."""
    (described,) = msgspec.json.schema(arguments)["$defs"].values()
    # Some providers require a `type` next to `enum`.
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", **argument} if "enum" in argument else argument
            for name, argument in described["properties"].items()
        },
        "required": described["required"],
        "additionalProperties": False,
    }


def decode_arguments(tool: Tool, raw: str) -> Struct:
    """Decode the arguments of a call. Raises `Refusal` if they do not fit the tool."""
    if len(raw) > LONGEST:
        raise _make_refusal(tool, f"the arguments are {len(raw):,} characters long, and the limit is {LONGEST:,}")
    try:
        values = msgspec.json.decode(raw) if raw.strip() else {}
    except UnicodeError:
        raise _make_refusal(tool, "the arguments contain half a character (a lone surrogate)") from None
    except RecursionError:
        raise _make_refusal(tool, "the arguments are nested too deeply") from None
    except msgspec.DecodeError as error:
        raise _make_refusal(tool, f"the arguments are not valid JSON ({error})") from None
    if not isinstance(values, dict):
        raise _make_refusal(tool, "the arguments must be one JSON object")
    known = tool.arguments.__struct_fields__
    for name in values:
        if name not in known:
            close = suggest_word(name, known)
            hint = f"; did you mean `{close}`?" if close else ""
            raise _make_refusal(tool, f"there is no argument `{name[:100]}`{hint}")
    # Many models write null for an omitted field, and numbers in quotes: accept both.
    given = {name: value for name, value in values.items() if value is not None}
    try:
        arguments: Struct = msgspec.convert(given, tool.arguments, strict=False)
    except (msgspec.ValidationError, OverflowError) as error:
        raise _make_refusal(tool, str(error)) from None
    return arguments


def _make_refusal(tool: Tool, what: str) -> Refusal:
    schema, usage = make_schema(tool.arguments), []
    for name, described in schema["properties"].items():
        kind = " | ".join(f'"{choice}"' for choice in described.get("enum", ())) or described.get("type", "value")
        usage.append(f"{name}{'' if name in schema['required'] else '?'}: {kind}")
    call = f"Call it as {tool.name}({', '.join(usage)}), for example with {tool.example}."
    return Refusal(f"Wrong call of `{tool.name}`: {what}. {call}", fault=True)


SPLIT = replace(
    ASKED,
    description=(
        "Cut this task into 2 to 4 smaller steps that together cover all of it. Once they are accepted, your work on "
        "it ends: each step is done by another agent from the files as they are, then the check of the whole runs."
    ),
)


class WorkbenchTools:
    """Runs the calls of the tools, and keeps no state between them."""

    def __init__(self, sandbox: Sandbox, ripgrep: str | None = "rg") -> None:
        """Make the tools. `ripgrep`: the program for `search`; if it is None or not on the PATH, `grep.py` is used."""
        self._sandbox = sandbox
        search = make_search(shutil.which(ripgrep) if ripgrep else None)
        bash = replace(BASH, description=BASH.description.format(reach=sandbox.says))
        tools = (READ, WRITE, EDIT, search, LIST, bash, NOTE, PROPOSE, DISPUTE, DONE)
        self._tools = {tool.name: tool for tool in tools}
        *specs, done = (ToolSpec(t.name, t.description, make_schema(t.arguments), t.writes) for t in tools)
        self.specs = (*specs, SPLIT, done)

    async def run(self, call: Call, workspace: WorkFolder, rules: Rules, progress: Callable[[str], None]) -> ToolResult:
        try:
            if call.name == SPLIT.name:
                # Only the form is checked here. The engine decides whether the steps are smaller, provable and
                # sufficient, and whether the task may be split at all.
                found = parse_answer(Answer(calls=(call,)), SPLIT, PlanAnswer, ALIASES)
                if isinstance(found, str):
                    raise Refusal(found, fault=True)
                return ToolResult("The proposal is valid.", proposal=call.arguments)
            if (tool := self._tools.get(call.name)) is None:
                known = [spec.name for spec in self.specs]
                close = suggest_word(call.name.lower(), known)
                hint = f" Did you mean `{close}`?" if close else ""
                raise Refusal(f"There is no tool `{call.name[:100]}`.{hint} There are: {', '.join(known)}.", fault=True)
            arguments = decode_arguments(tool, call.arguments)
            result = await tool.act(arguments, Bench(workspace, rules, self._sandbox, progress))
            return replace(result, output=repair_surrogates(result.output))
        except Refusal as refusal:
            return ToolResult(repair_surrogates(str(refusal)), ok=False, fault=refusal.fault)
        except OSError as error:
            why = error.strerror or str(error)
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                why = "a part of the path is a link or a file where a folder was expected"
            return ToolResult(repair_surrogates(f"`{call.name}` failed: {why}."), ok=False)
