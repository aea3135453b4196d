"""What is said before a run starts: what will be done, by which model, within which limits, proven how."""

from __future__ import annotations

from bough.core import events as e
from bough.core.plan import most_leaves
from bough.interfaces.terminal.paper import Line
from bough.interfaces.terminal.words import first_line, ledger, many, one_line, pad

LABEL = 9


def opening(record: e.Record, sandbox: str) -> list[Line]:
    """For the first event of a run, or of a stretch of one that is resumed. `sandbox`: how commands are confined."""
    event = record.event
    lines: list[Line] = []
    if isinstance(event, e.RunStarted):
        goal = event.plan.goal
        lines.append([(record.run, "bold"), ("  ", ""), (first_line(goal.instructions), "")])
        if not goal.requires_testing:
            check = "not needed"
        else:
            check = goal.test_command or "none given (--check CMD): bough looks for the project's own"
        lines.append(_fact("check", check))
        if goal.steps:
            at_once = f", up to {event.jobs} at once" if event.jobs > 1 else ""
            lines.append(_fact("plan", f"{many(most_leaves(goal), 'task')}{at_once}"))
    elif isinstance(event, e.RunResumed):
        lines.append([(record.run, "bold"), ("  goes on", "")])
    else:
        return []
    main, strong = event.models.get("main", ""), event.models.get("strong", "")
    models = main if strong in ("", main) else f"{main}, for the last repair {strong}"
    lines += [_fact("model", models), _fact("ledger", ledger(event.limits)), _fact("sandbox", sandbox)]
    return lines


def _fact(label: str, words: str) -> Line:
    return [(f"  {pad(label, LABEL)}", "dim"), (one_line(words), "")]
