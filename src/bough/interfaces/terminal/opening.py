"""What is said before a run starts: what will be done, by which model, within which limits, proven how."""

from __future__ import annotations

import re

from bough.core import events as e
from bough.core.agents import MODEL, title_of
from bough.core.plan import most_leaves
from bough.interfaces.terminal.lines import base_words
from bough.interfaces.terminal.paper import Line, Paper
from bough.interfaces.terminal.words import headline, ledger, many, one_line, pad

LABEL = 9


def opening(record: e.Record, sandbox: str) -> list[Line]:
    """For the first event of a run, or of a stretch of one that is resumed. `sandbox`: how commands are confined."""
    event = record.event
    lines: list[Line] = []
    if isinstance(event, e.RunStarted):
        goal = event.plan.goal
        lines.append([(record.run, "bold"), ("  ", ""), (headline(goal.instructions), "")])
        if event.continues:
            work = ", with its changes" if event.origin else ""
            lines.append(_fact("follows", f"{event.continues}{work}"))
        lines.append(_fact("examined", _examined(event)))
        if goal.steps:
            at_once = f", up to {event.jobs} at once" if event.jobs > 1 else ""
            lines.append(_fact("plan", f"{many(most_leaves(goal), 'task')}{at_once}"))
    elif isinstance(event, e.BaseStarted):
        return [_fact("check", check_words(event))]
    elif isinstance(event, e.BaseChecked):
        return _base(event)
    elif isinstance(event, e.RunResumed):
        lines.append([(record.run, "bold"), ("  goes on", "")])
    else:
        return []
    main, strong = event.models.get("main", ""), event.models.get("strong", "")
    models = main if strong in ("", main) else f"{main}, for the last repair {strong}"
    lines += [_fact("agent", _agents(event.agents))] if event.agents else []
    models = title_of(models.removeprefix(MODEL)) if models.startswith(MODEL) else models
    lines += [_fact("model", models), _fact("ledger", ledger(event.limits)), _fact("sandbox", sandbox)]
    return lines


def _agents(agents: dict[str, str]) -> str:
    """Who does the work, and who does what instead: `claude, strong: codex`."""
    named = {key: title_of(name) for key, name in agents.items()}
    main = named.pop("main", "")
    return ", ".join([*([main] if main else []), *(f"{key.replace('_', ' ')}: {name}" for key, name in named.items())])


def check_words(event: e.BaseStarted | e.BaseChecked) -> str:
    """The command, with the reason: `.venv/bin/python -m pytest, because of …`."""
    within = f" and {event.environment}" if event.environment else ""
    return f"{event.command}, because {_because(event.why)}{within}"


def _because(why: str) -> str:
    """A reason is a clause (`tox is configured in tox.ini`) or names a thing (`scripts.test in package.json`)."""
    return why if re.search(r"\b(is|are|was|were|said|says|said)\b", why) else f"of {why}"


def _base(event: e.BaseChecked) -> list[Line]:
    if not event.command:
        return [_fact("check", "none was found: give one with --check CMD, or have tests written")]
    lines = [_fact("base", base_words(event))]
    if event.left_out:
        names = ", ".join(event.left_out)
        lines.append(_fact("", f"not in the checkout, because git ignores it: {names} ([workspace] link or copy)"))
    return lines


def show_failing(page: Paper, event: e.BaseChecked) -> None:
    """The end of a failing check's output, and what brings in what it lacks."""
    if event.said:
        page.line("")
        for line in event.said.splitlines():
            page.text(f"    {line}", "dim")
    if event.lacking:
        page.line("")
        page.paragraph("  ", text=event.way_out, indent=2)


def _examined(event: e.RunStarted) -> str:
    rules = event.rules.acceptance
    if rules.examine == "never" or not event.plan.goal.requires_testing:
        return "no: the check alone decides"
    when = "always" if rules.examine == "always" else "unless the change is small or your own failing check proves it"
    return f"{when}; at most {rules.share:.0%} of the rounds"


def _fact(label: str, words: str) -> Line:
    return [(f"  {pad(label, LABEL)}", "dim"), (one_line(words), "")]
