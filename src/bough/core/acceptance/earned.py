"""Red, then green: find out whether something shows, for every requirement, that the work makes the difference.

Otherwise a goal is not completed. A check that passes before the work would also pass after a mere comment, so a test
must fail without the work and pass with it. Such a test comes from an examiner (a *live* case, which fails without the
work) or from the person (a test that failed before), never from the work's author: a wrong repair together with a wrong
test by its author would go from red to green, too.
"""

from __future__ import annotations

from bough.core.acceptance.requirements import Requirement, list_active
from bough.core.acceptance.verdict import Difference, RequirementProof
from bough.core.textual.spelling import shorten_line
from bough.core.tree.task import Task
from bough.core.tree.task_result import list_live_probes

NOTHING_TO_RUN = "nothing to show by running; the check still passes"
OWN_TEST = "shown by your test alone, not examined"
NAMED = 3
"""The maximum number of requirements, tests or probes that a sentence names."""


def list_asked(task: Task) -> tuple[Requirement, ...]:
    """List the requirements that need evidence."""
    return tuple(one for one in list_active(task.asked) if one.kind != "background")


def list_shown(task: Task) -> tuple[RequirementProof, ...]:
    """Return the evidence of each requirement that has any."""
    asked, known = list_asked(task), task.examination.seen
    seen = known.seen if known is not None and known.tree == task.tree else Difference()
    found = {one.number: shown for one in asked if (shown := _show_by_running(one, task, seen)) is not None}
    others = bool(found)
    for one in asked:
        if one.number not in found and one.kind != "behaviour" and _is_form_seen(one, task, seen, others):
            found[one.number] = RequirementProof(one.number, one.kind)  # type: ignore[arg-type]
    return tuple(found[number] for number in sorted(found))


def list_missing(task: Task) -> tuple[Requirement, ...]:
    """List the requirements without evidence."""
    shown = {one.number for one in list_shown(task)}
    return tuple(one for one in list_asked(task) if one.number not in shown)


def list_unexamined(task: Task) -> tuple[Requirement, ...]:
    """List the requirements on behaviour that no passing live case of an examiner is about."""
    return tuple(one for one in list_asked(task) if one.kind == "behaviour" and not _find_red(one, task))


def describe_own_proof(task: Task) -> str:
    """Say, as the end of a sentence, that some requirement is proven by tests alone, unexamined; empty if none is."""
    own = [one for one in list_shown(task) if one.how in ("check", "tests", "author")]
    if task.rules.acceptance.examine == "never":
        return '; not examined: `examine = "never"`' if own else ""
    return f"; {OWN_TEST}" if own else ""


def has_nothing_to_run(task: Task) -> bool:
    """Whether there is evidence, but none of it comes from something that ran."""
    shown = list_shown(task)
    return bool(shown) and not any(one.ran for one in shown)


def describe_missing(task: Task) -> str:
    """Say in a clause for people which requirements lack evidence."""
    missing = list_missing(task)
    named = "; ".join(f"{one.number} ({shorten_line(one.whole, 60)})" for one in missing[:NAMED])
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    what = f"requirement{'s' if len(missing) > 1 else ''} {named}{more}"
    return f"the check passes, but nothing shows that the work made the difference for {what}"


def _show_by_running(one: Requirement, task: Task, seen: Difference) -> RequirementProof | None:
    verdict = task.acceptance.verdict
    if red := _find_red(one, task):
        return RequirementProof(one.number, "probe", red[:NAMED])
    # A check that was never seen to fail (the verdict has a doubt) proves nothing alone.
    if verdict is None or verdict.doubt or one.kind != "behaviour":
        return None
    never = task.rules.acceptance.examine == "never"
    # If there are several requirements, a test may be about any of them, so each needs a case of its own.
    alone = sum(other.kind == "behaviour" for other in list_asked(task)) == 1
    if not alone and not never:
        return None
    if seen.check and not verdict.changed:
        return RequirementProof(one.number, "check")
    if verdict.fixed:
        return RequirementProof(one.number, "tests", verdict.fixed[:NAMED])
    if alone and seen.tests and never:
        return RequirementProof(one.number, "author", seen.tests[:NAMED])
    return None


def _find_red(one: Requirement, task: Task) -> tuple[str, ...]:
    """List the probes of a requirement that fail without the work and pass with it."""
    known = task.examination
    return tuple(
        probe.name
        for probe in list_live_probes(task)
        if one.number in probe.requirements
        and probe.name in known.results
        and known.results[probe.name].outcome == "passed"
        and known.before.get(probe.name, "passed") != "passed"
    )


def _is_form_seen(one: Requirement, task: Task, seen: Difference, others: bool) -> bool:
    """Whether bough itself saw that the work is the kind of change that a requirement asks for, if no test can show
    that. `others`: whether other requirements, with evidence that ran, explain why code changed."""
    if one.kind == "document":
        return seen.documents and (others or not seen.code)
    if one.kind == "coverage":
        verdict = task.acceptance.verdict
        return verdict is not None and bool(verdict.changed) and (others or not seen.code)
    if one.kind in ("restructure", "speed", "upgrade"):
        return {"restructure": seen.interface, "speed": seen.faster, "upgrade": seen.version}[one.kind]
    kinds = {other.kind for other in list_asked(task)}
    return others or (kinds == {"unchanged", "document", "coverage"} & kinds and not seen.code)
