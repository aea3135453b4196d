"""The lines shown when a run starts: the goal, the model, the limits and the check."""

import json

from bough.core import events as e
from bough.core.planning.plan import count_most_leaves
from bough.core.settings.sections import MODEL, title_of
from bough.interfaces.terminal.output import Line, TerminalOutput
from bough.views.event_lines import describe_base, describe_scouting
from bough.views.formatting import format_limits, headline, one_line, pad, pluralize

LABEL = 9
SHOWN_ASKED = 20
"""The most requirements that are listed."""
SHOWN_ASIDE = 5
"""The most tests that are named one by one."""


def render_banner(record: e.Record, sandbox: str, examines: bool = False) -> list[Line]:
    """Render the lines for the first events of a run that starts or is resumed. `sandbox`: how commands are confined.
    `examines`: the run judges somebody else's change, so failures from before the change are not remarked on."""
    event = record.event
    facts: dict[str, str] = {}
    match event:
        case e.BaseStarted():
            return [_make_fact("check", describe_check(event))]
        case e.BaseChecked():
            return _render_base(event, examines)
        case e.RequirementsRead():
            return _render_requirements(event)
        case e.CheckScouted():
            return [_make_fact("scout", describe_scouting(event))]
        case e.RunStarted(plan=plan):
            title = headline(plan.goal.instructions)
            named = ", ".join(f"{name} = {value}" for name, value in event.settings.items())
            at_once = f", up to {event.jobs} at once" if event.jobs > 1 else ""
            tasks = pluralize(count_most_leaves(plan.goal), "task") + at_once
            facts = {
                "follows": event.continues and f"{event.continues}{', with its changes' if event.origin else ''}",
                "examines": event.examines,
                "examined": "" if event.examines else _describe_examination(event),
                "settings": named and f"of this repository: {named}",
                "plan": tasks if plan.goal.steps else "",
            }
        case e.RunResumed():
            title = "resumed"
        case _:
            return []
    main, strong = event.models.get("main", ""), event.models.get("strong", "")
    models = main if strong in ("", main) else f"{main}; {strong} for the last repair"
    facts |= {
        "agent": _describe_agents(event.agents),
        "model": title_of(models.removeprefix(MODEL)) if models.startswith(MODEL) else models,
        "fallback": ", ".join(name for key, name in event.models.items() if key.startswith("main+")),
        "budget": format_limits(
            event.limits, grows=getattr(event, "grows", False) and not getattr(event, "examines", "")
        ),
        "sandbox": sandbox,
    }
    head: Line = [(record.run, "bold"), (f"  {title}", "")]
    return [head, *(_make_fact(label, words) for label, words in facts.items() if words)]


def _render_requirements(event: e.RequirementsRead) -> list[Line]:
    """Render the requirements, numbered. A single requirement is not listed, because the title already says it."""
    if len(event.requirements) < 2:
        return []
    lines = [_make_fact("" if at else "asks for", str(one)) for at, one in enumerate(event.requirements[:SHOWN_ASKED])]
    more = len(event.requirements) - SHOWN_ASKED
    return [*lines, _make_fact("", f"… and {more} more")] if more > 0 else lines


def _describe_agents(agents: dict[str, str]) -> str:
    """Name the agent that does the work, then the agents for special cases: `claude, strong: codex`."""
    keys = sorted(agents, key=lambda key: key != "main")
    return ", ".join(f"{'' if key == 'main' else key.replace('_', ' ') + ': '}{title_of(agents[key])}" for key in keys)


def describe_check(event: e.BaseStarted | e.BaseChecked) -> str:
    """Describe the command and why it was chosen: `.venv/bin/python -m pytest (pytest is configured in tox.ini)`."""
    return f"{event.command} ({'; '.join(filter(None, (event.why, event.environment)))})"


def _render_base(event: e.BaseChecked, examines: bool) -> list[Line]:
    if not event.command:
        none = [_make_fact("check", "none found: pass one with --check CMD, or ask for tests in the goal")]
        return [*none, _make_fact("", f"not used: {event.belief}")] if event.belief else none
    lines = [_make_fact("base", describe_base(event))]
    if event.failed > len(event.aside) and event.exit_status != 0 and not event.lacking and not examines:
        named = f": {', '.join(event.failing[:SHOWN_ASIDE])}" if event.failing else ""
        lines.append(
            _make_fact("", f"fails already{named}; tests that the goal is not about may stay so with --accept-failing")
        )
    elif event.passed and event.exit_status not in (0, None) and not event.aside and not event.lacking:
        lines.append(
            _make_fact("", "a linter or a build in the command counts, too: pass the tests alone with --check CMD")
        )
    if event.belief:
        lines.append(_make_fact("", event.belief))
    if event.scouted:
        quoted = json.dumps(event.command, ensure_ascii=False)
        lines.append(_make_fact("", f"kept for this project; for everybody, in bough.toml: check.command = {quoted}"))
    for id, lack in [*event.aside.items()][:SHOWN_ASIDE]:
        lines.append(_make_fact("", f"not runnable here, so set aside: {id} ({lack})"))
    if (more := len(event.aside) - SHOWN_ASIDE) > 0:
        lines.append(_make_fact("", f"… and {pluralize(more, 'other test')}"))
    if event.left_out:
        names = ", ".join(event.left_out)
        lines.append(_make_fact("", f"ignored by git, so not in the checkout: {names} ([workspace] link or copy)"))
    return lines


def print_failing(page: TerminalOutput, event: e.BaseChecked) -> None:
    """Print the end of a failing check's output, and how to get what is missing if the check cannot start."""
    if event.said:
        page.line("")
        for line in event.said.splitlines():
            page.text(f"    {line}", "dim")
    if event.lacking:
        page.line("")
        page.paragraph("  ", text=event.way_out, indent=2)


def _describe_examination(event: e.RunStarted) -> str:
    rules = event.rules.acceptance
    if rules.examine == "never" or not event.plan.goal.requires_testing:
        return "no: only the check decides"
    when = "always" if rules.examine == "always" else "unless your failing check or an older test shows the difference"
    return f"{when}; at most {rules.share:.0%} of the rounds"


def _make_fact(label: str, words: str) -> Line:
    return [(f"  {pad(label, LABEL)}", "dim"), (one_line(words), "")]
