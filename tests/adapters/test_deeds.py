"""What real agents report, in bough's words. The reports are as published agents send them."""

import json
from typing import Any

from acp.schema import ToolCallProgress, ToolCallStart

from bough.adapters.agents.tool_calls import ReportedCall, find_simultaneous, make_call, make_result
from bough.core.rules import Rules

ROOT = "/w/task"


def told(*reports: dict[str, Any]) -> ReportedCall:
    deed = ReportedCall("1", 0.0)
    for number, report in enumerate(reports, 1):
        kind: Any = ToolCallStart if number == 1 else ToolCallProgress
        name = "tool_call" if number == 1 else "tool_call_update"
        deed.report(kind.model_validate({"toolCallId": "1", "sessionUpdate": name, **report}), number)
    return deed


def test_an_edit_with_its_texts() -> None:
    diff = {"type": "diff", "path": f"{ROOT}/a.py", "oldText": "x", "newText": "y"}
    begun: dict[str, Any] = {"title": "Edit a.py", "kind": "edit", "status": "pending", "rawInput": {}}
    deed = told(begun)
    assert not deed.ready(0.5, 1.0) and deed.ready(1.5, 1.0), "its input may still come"
    deed = told(begun, {"rawInput": {"file_path": f"{ROOT}/a.py"}, "content": [diff]}, {"status": "completed"})
    assert json.loads(make_call(deed, ROOT).arguments) == {"path": "a.py", "old": "x", "new": "y"}
    assert make_result(deed, Rules(), ROOT).output == "a.py is written." and deed.writes


def test_a_command_whose_output_comes_in_pieces() -> None:
    given = {"command": ["bash", "-lc", f"cd {ROOT} && ls"]}
    pieces = [{"_meta": {"terminal_output_delta": {"data": text}}} for text in ("a\n", "b\n")]
    deed = told({"title": "ls", "kind": "execute", "rawInput": given}, *pieces, {"status": "failed"})
    assert json.loads(make_call(deed, ROOT).arguments) == {"command": "cd . && ls"}
    result = make_result(deed, Rules(), ROOT)
    assert (result.output, result.ok) == ("a\nb", False)


def test_one_that_does_not_say_what_it_is() -> None:
    deed = told({"title": "developer: shell", "rawInput": {"command": "ls"}})
    assert make_call(deed, ROOT).name == "bash" and deed.writes
    deed = told({"title": "Think", "kind": "think", "rawInput": "x" * 100_000})
    assert len(make_call(deed, ROOT).arguments) < 30_000 and not deed.writes
    assert "continues in the background" in make_result(deed, Rules(), ROOT).output


def test_calls_that_run_at_once_are_one_round() -> None:
    first, second, third = (ReportedCall(str(n), 0.0, order=n) for n in (1, 2, 4))
    first.ended = 3
    assert find_simultaneous([third, second, first]) == [first, second]
