"""The words for the events of checks, examinations and disputes."""

from __future__ import annotations

from bough.core import events as e
from bough.views.formatting import first_line, format_duration, pluralize
from bough.views.telling.memory import TaskMemory, Told
from bough.views.verdict_text import choose_style, describe_verdict


def tell_check(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    match event:
        case e.CheckStarted():
            where = f" ({event.found})" if event.found else ""
            return f"running the check: {event.command}{where}" if event.command else "no check to run", ""
        case e.CheckFinished():
            return describe_verdict(event.verdict), choose_style(event.verdict)
        case e.CheckpointMade():
            return f"checkpoint {event.commit[:10]}: {pluralize(len(event.files), 'file')} changed", ""
        case e.Disputed():
            return f"the agent disputes {event.test}: {first_line(event.evidence)}", "yellow"
        case e.ChangesAsked():
            return f"asks you whether original tests may change: {', '.join(event.tests)}", "yellow"
        case e.ChangesRuled():
            return _tell_changes_ruled(event)
        case e.FindingReturned():
            return f"sent back to the same agent: {first_line(event.text)}", "yellow"
        case _:
            return None


def _tell_changes_ruled(event: e.ChangesRuled) -> Told:
    who = {"judge": "the judge", "person": "you", "earlier": "an earlier decision"}[event.by]
    allow = "allow" if event.by == "person" else "allows"
    if event.allowed:
        tests = ", ".join(one.test for one in event.allowed)
        return f"{who} {allow} changes to tests: {tests} ({event.allowed[0].why})", "yellow"
    if event.by == "earlier":
        return f"{who} {allow} these test changes", ""
    said = f": {first_line(event.why)}" if event.why else ""
    return f"{who} {'do' if event.by == 'person' else 'does'} not allow the test changes{said}", "yellow"


def tell_examination(event: e.AnyEvent, memory: TaskMemory) -> Told | None:
    match event:
        case e.Examined():
            left = pluralize(len(event.left_out), "probe")
            aside = f"; {left} dropped: nothing in the goal asks for it" if event.left_out else ""
            groups = len({probe.group for probe in event.probes})
            cases = f" with {pluralize(len(event.probes), 'case')}" if len(event.probes) > groups else ""
            return f"the {event.by} wrote {pluralize(groups, 'probe')}{cases}{aside}", ""
        case e.ExaminationSkipped():
            return f"not examined: {event.why}", "dim"
        case e.ProbesStarted():
            return f"running {pluralize(len(event.names), 'case')} of probes", "dim"
        case e.ProbesFinished():
            return _tell_probes_finished(event)
        case e.ProbeContested():
            return f"{event.probe} is contested: {event.reason}", "yellow"
        case e.ProbeRuled(ruling=ruling):
            if ruling.demanded:
                return f"the judge upholds {event.probe}: the goal says “{ruling.quote}”", "yellow"
            return f"the judge drops {event.probe}: {ruling.reason}", ""
        case e.DifferenceSeen(seen=seen):
            if seen.tests is not None:
                red = f"{pluralize(len(seen.tests), 'new test')} fail without the work"
                told = red if seen.tests else "none fail without it"
                return f"the agent's new tests, run without the work: {told}", ""
            if not seen.code:
                return "the change has no code: only documents, comments, tests or layout", ""
            return "your check fails without the work" if seen.check else "the change has code", "dim"
        case e.EvidenceJudged():
            if not event.missing:
                return f"shown for {pluralize(len(event.shown), 'requirement')}: the work made the difference", "green"
            numbers = ", ".join(map(str, event.missing))
            return f"nothing shows that the work made the difference for {numbers}", "yellow"
        case e.Reviewed(problems=problems, findings=findings):
            if problems:
                return f"no review, so no approval: {problems[0]}", "yellow"
            if not findings:
                return "the critic found nothing to change", "green"
            found = pluralize(len(findings), "thing")
            return f"the critic found {found}: {findings[0].file}: {findings[0].what}", "yellow"
        case _:
            return None


def _tell_probes_finished(event: e.ProbesFinished) -> Told:
    failed = [result.name for result in event.results if result.outcome == "failed"]
    passed = sum(result.outcome == "passed" for result in event.results)
    took = f" ({format_duration(event.seconds)})"
    if failed:
        return f"{pluralize(len(failed), 'case')} of {len(event.results)} failed{took}: {', '.join(failed)}", "red"
    red = sum(result.outcome != "passed" for result in event.before)
    before = f"; {red} of {len(event.before)} fail without the work" if event.before else ""
    return f"{passed} of {pluralize(len(event.results), 'case')} passed, none failed{before}{took}", "green"
