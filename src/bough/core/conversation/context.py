"""Render texts for agents from the journal alone; a text rendered here is recorded as an event."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from bough.core.acceptance.probes import Probe
from bough.core.acceptance.verdict import Disagreement, Verdict
from bough.core.budget.limits import Spend, compute_remaining
from bough.core.conversation.text_fitting import keep_ends
from bough.core.conversation.text_fitting import render_bullets as render_bullets
from bough.core.events import ChildSettled
from bough.core.ids import GOAL
from bough.core.planning.plan import Step
from bough.core.tree import task_result
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Note
from bough.core.tree.task_state import State
from bough.core.workflow import control_flow

CRUMB = 600
"""The maximum number of characters of a task's instructions that its steps see; for the goal it is `GOAL_CRUMB`."""
GOAL_CRUMB = 2_500
GOAL_FILE = "goal.md"
"""The file with the whole goal, outside the checkout, that agents can read: `$TMPDIR/goal.md`."""
RESULT = 400
"""The maximum number of characters of a finished step's result that its siblings see; those that need it see all."""
FILES = 8
OUT_OF_ROUNDS = ("it is not done after", "its grant is spent")
"""Beginnings of the reason for a task that only ran out of rounds."""
MERGE = "merge"
"""The last path segment of a task that merges a step's work with work that was merged meanwhile (the head)."""
MERGE_BESIDE = "merge-work"
"""The last path segment of such a task if `MERGE` is the name of one of the step's own steps."""


def render(template: str, values: Mapping[str, str]) -> str:
    """Fill in `{name}` placeholders. Values are inserted as they are, never read as templates."""
    return template.format_map(values).strip() + "\n"


def render_breadcrumb(task: str) -> str:
    """Render a task's path for people, as in `goal › buffer › insert-line`."""
    return GOAL if task == GOAL else " › ".join((GOAL, *task.split("/")))


def render_section(heading: str, text: str) -> str:
    """Render a part of a brief with its heading; empty if the text is empty."""
    return f"\n## {heading}\n\n{text}\n" if text else ""


def render_instructions(instructions: str) -> str:
    """Render the repository's own instructions for agents."""
    return render_section("The repository's own instructions for agents", instructions)


def render_place(task: Task) -> str:
    """Render the place of a task in the tree, as a part of a heading; empty for the goal."""
    return "" if task.id == GOAL else f" ({render_breadcrumb(task.id)})"


def render_check(step: Step, command: str, before: str = "") -> str:
    """Render the check. `before`: its result before the work."""
    if not step.requires_testing:
        return "No check runs for this task; it does not need one."
    if not command:
        return (
            "None found. First write a test that shows what has to be true, where this project keeps its tests "
            "(for Python: tests/test_*.py); then do the work. bough runs the tests when you call `done`."
        )
    unproven = "If it passes before your work, it proves nothing about the work: add tests that fail without it."
    return (
        f"bough runs this when you call `done`, and only a passing check completes the task:\n\n    {command}\n\n"
        f"{before or unproven} Its tests that passed before must still pass."
    )


def render_notes(kept: tuple[Note, ...]) -> str:
    return "\n".join(f"- {'dead end: ' if note.kind == 'dead_end' else ''}{note.text}" for note in kept)


def render_disagreements(found: Iterable[Disagreement]) -> str:
    """Render original tests that fail on the new code, with their expectations, for agents, judges and people."""
    shown: set[str] = set()
    texts = []
    for one in found:
        # Tests of a file that cannot be told apart have the same source: show it once.
        texts.append(_render_disagreement(one, again=one.source in shown))
        shown.add(one.source)
    return "\n\n".join(texts)


def _render_disagreement(one: Disagreement, again: bool = False) -> str:
    lines = [f"{one.test}{' (written by an earlier step of this run)' if one.own else ''}"]
    lines += [f"  on the new code: {one.said}"] if one.said else []
    lines += ["  no longer runs: what it uses is gone"] if not one.asked else []
    if again and one.source:
        return "\n".join([*lines, "  the same lines as above"])
    return "\n".join(lines + [f"  {line}" for line in one.source.splitlines()])


def render_failure(verdict: Verdict) -> str:
    """Render a verdict for the next agent: original tests that disagree, otherwise the failing tests or the output."""
    status = "was killed" if verdict.exit_status is None else f"exit status {verdict.exit_status}"
    head = f"$ {verdict.command}   ({status}, {verdict.seconds:.1f} s)\n{verdict.reason}"
    if verdict.disagreements:
        return f"{verdict.reason}\n\n{render_disagreements(verdict.disagreements)}"
    if not verdict.failures:
        return f"{head}\n\n{verdict.output}".rstrip()
    texts = [f"[{failure.kind}] {failure.text or failure.id}" for failure in verdict.failures]
    if verdict.failed > len(texts):
        texts.append(f"… and {verdict.failed - len(texts)} more.")
    return "\n\n".join((head, *texts))


def list_known_notes(task: Task) -> tuple[Note, ...]:
    """List the task's decisions and dead ends, inherited ones first, without those that its steps noted for
    themselves."""
    around = (Note("dead_end", text) for text in task.inherited.dead_ends)
    decided = (Note("decision", text) for text in task.inherited.decisions)
    return tuple(dict.fromkeys((*decided, *around, *task.talk.notes)))


def list_learned_notes(task: Task) -> tuple[Note, ...]:
    """List the notes for the planner of the task's steps, including the dead ends of earlier steps."""
    return tuple(dict.fromkeys((*list_known_notes(task), *(Note("dead_end", text) for text in task.children.learned))))


def list_decisions(task: Task) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*task.inherited.decisions, *_list_own(task, "decision"))))[-task.rules.notes :]


def list_dead_ends(task: Task) -> tuple[str, ...]:
    """List the dead ends that this task knows: inherited ones, and those of its own agents."""
    return tuple(dict.fromkeys((*task.inherited.dead_ends, *_list_own(task, "dead_end"))))[-task.rules.notes :]


def _list_own(task: Task, kind: str) -> list[str]:
    return [note.text for note in task.talk.notes if note.kind == kind]


def list_lessons(task: Task) -> tuple[str, ...]:
    """List the dead ends that the task's steps should know, including those of their siblings."""
    return tuple(dict.fromkeys((*list_dead_ends(task), *task.children.learned)))[-task.rules.notes :]


def _find_verdict_on_tree(task: Task) -> Verdict | None:
    """Find the verdict on the current files; after a repair was rolled back, that is an earlier verdict."""
    if task.acceptance.best is not None and task.acceptance.best.tree == task.tree:
        return task.acceptance.best
    return task.acceptance.verdict


def render_crumb(task: Task) -> str:
    """Render a task as its steps see it."""
    name = task.step.title or (GOAL if task.id == GOAL else task.step.name)
    said = task.step.instructions.strip()
    shown = shorten_text(said, GOAL_CRUMB if task.id == GOAL else CRUMB)
    if len(shown) >= len(said):
        return f"{name}: {said}"
    where = f"the whole text is in `$TMPDIR/{GOAL_FILE}`" if task.id == GOAL else "your part is below"
    return f"{name}: {shown} [cut here: {where}]"


def render_result(child: ChildSettled, limit: int | None = RESULT) -> str:
    """Render the result of a finished step for its siblings and its parent; in full if `limit` is None."""
    more = " …" if len(child.files) > FILES else ""
    files = f" (changed {', '.join(child.files[:FILES])}{more})" if child.files else ""
    said = (child.result or child.why).strip()
    return f"{child.child}: {said if limit is None else shorten_text(said, limit)}{files}"


def build_planner_goal(task: Task) -> Step:
    """Return the goal for planners, with the run that it follows up on."""
    if task.id != GOAL or not task.inherited.above:
        return task.step
    known = render_section(
        "What the goal follows up on", render_bullets((*task.inherited.above, *task.inherited.results))
    )
    return replace(task.step, instructions=f"{task.step.instructions}\n{known}")


def build_settled_event(step: Step, child: Task, state: State, why: str, tree: str, spend: Spend) -> ChildSettled:
    ends = _list_own(child, "dead_end")
    # A step that only ran out of rounds did nothing wrong, so the next agent gets no warning.
    if state is not State.COMPLETED and not why.startswith(OUT_OF_ROUNDS):
        about = step.title or step.instructions.strip().partition("\n")[0] or step.run or step.name
        tried = shorten_text(about, RESULT).rstrip(".")
        ends.append(f"{tried} – this approach failed: {shorten_text(why, RESULT)}")
    refuting = () if state is State.COMPLETED else task_result.list_live_probes(child)
    if child.step.role == "critic":
        refuting = task_result.list_critic_probes(child)
    return ChildSettled(
        child=step.name,
        state=state,
        why=why,
        tree=tree,
        spend=spend,
        result=task_result.render_task_result(child),
        summary=task_result.get_summary(child),
        files=child.outcome.files,
        dead_ends=tuple(ends),
        errors=task_result.has_errors(child),
        verdict=task_result.describe_verdict(child),
        decisions=tuple(_list_own(child, "decision")),
        shared=step.context == "shared",
        do=control_flow.find_outer_exit(child),
        task=child.id.rpartition("/")[2],
        probes=list_passed_probes(child) if state is State.COMPLETED else (),
        refuting=refuting,
        key=child.origin.key if state is State.COMPLETED else "",
        allowed=child.test_changes.allowed if state is State.COMPLETED else (),
        cases=child.acceptance.verdict.cases if child.acceptance.verdict is not None else "",
    )


def update_after_merge(settled: ChildSettled, work: Task, verdict: Verdict | None, said: str) -> ChildSettled:
    """Update the event of a step's end after its work was merged, since the merged result counts. `work`: the task that
    merged it; `said`: the summaries of the agents that resolved conflicts."""
    rulings = work.examination.rulings if work.origin.merge is not None else {}
    dropped = {name for name, ruling in rulings.items() if not ruling.demanded}
    return replace(
        settled,
        verdict=verdict.reason if verdict is not None and verdict.command else settled.verdict,
        cases=verdict.cases if verdict is not None else settled.cases,
        result=keep_ends(f"{settled.result}\n\nMerging it: {said}", task_result.ROOM) if said else settled.result,
        files=tuple(sorted({*settled.files, *work.outcome.files})) if said else settled.files,
        probes=tuple(probe for probe in settled.probes if probe.name not in dropped),
        not_asked=tuple(sorted(dropped)),
    )


def list_passed_probes(task: Task) -> tuple[Probe, ...]:
    """List the probes that a task's work passed; they run again on the whole work."""
    return tuple(
        probe
        for probe in task_result.list_asked_probes(task)
        if (result := task.examination.results.get(probe.name)) is None or result.outcome == "passed"
    )


def build_merge_path(task: Task, times: int) -> str:
    """Return the path of the task that merges a task's work for the n-th time."""
    name = MERGE if all(step.name != MERGE for step in task.plan.steps) else MERGE_BESIDE
    return f"{task.id}/{name}" if times == 1 else f"{task.id}/{name}@{times}"


def is_merge_task(path: str, step: Step) -> bool:
    """Whether the task at a path merges the work of that step."""
    return step.name == MERGE and path.rpartition("/")[2].partition("@")[0] in (MERGE, MERGE_BESIDE)


def is_merge_segment(task: Task, segment: str) -> bool:
    """Whether a path segment names a merge task, not a smaller step."""
    name = segment.partition("@")[0]
    return name in (MERGE, MERGE_BESIDE) and name not in task.children.begun


def build_merge_step(step: Step, instructions: str, conflicts: tuple[str, ...]) -> Step:
    """Build the step that merges a step's work with work that was merged meanwhile."""
    return replace(
        step,
        name=MERGE,
        title=f"merge {step.title or step.name}",
        instructions=instructions,
        steps=(),
        machine=None,
        repeat=1,
        summarize=False,
        run="",
        files=conflicts or step.files,
        needs=(),
        on_error="fail",
    )


def shorten_text(text: str, limit: int) -> str:
    """Shorten a text to its beginning, up to the end of a sentence if one is near, or else of a word."""
    text = text.strip()
    if len(text) <= limit:
        return text
    begun = text[: limit - 2]
    ends = max(begun.rfind(mark) for mark in (". ", ".\n", "; ", "\n"))
    ends = ends + 1 if ends > limit * 3 // 4 else begun.rfind(" ")
    return f"{(begun[:ends] if ends > limit // 2 else begun).rstrip()} …"


ASKED = "What the goal asks of this step, in its own words"


def render_requirements(task: Task) -> str:
    """Render a task's requirements in full, without those that other parts of the brief already state."""
    said = " ".join("\n".join((task.step.instructions, *task.step.criteria, *task.inherited.above)).split())
    # An isolated step sees only the requirements that it names.
    own = task.step.context != "isolated" or bool(task.step.covers)
    told = [one for one in task.asked if (own or one.step) and " ".join(one.text.split()) not in said]
    return "\n".join(f"{one.number}. {one.text}" for one in told)


def build_brief(task: Task, command: str, diff: str, instructions: str = "", before: str = "") -> dict[str, str]:
    """Collect everything that a role's brief may mention. `instructions`: the repository's own instructions for agents;
    `before`: the check's result before the work."""
    return {
        "place": render_place(task),
        "requirements": render_section(ASKED, render_requirements(task)),
        "above": render_section("What the task is part of", render_bullets(task.inherited.above))
        + render_section("Conventions that hold for every step", render_bullets(task.inherited.conventions))
        + render_section(
            "Names and signatures between steps: keep them exactly", render_bullets(task.inherited.interfaces)
        )
        + render_section(
            "What others do at the same time (leave their files alone)", render_bullets(task.inherited.beside)
        ),
        "results": render_section("What was finished before", render_bullets(task.inherited.results)),
        "instructions": task.step.instructions,
        "criteria": render_section("What must be true at the end", render_bullets(task.step.criteria)),
        "check": render_section("The check", render_check(task.step, command, before)),
        "notes": render_section("Known from earlier attempts", render_notes(list_known_notes(task))),
        "failure": render_failure(verdict) if (verdict := _find_verdict_on_tree(task)) else "",
        "summary": task_result.render_summaries(task) or "(nothing)",
        "diff": diff or "(nothing)",
        "rounds": str(compute_remaining(task.budget.spend, task.budget.limits).rounds),
        "project": render_instructions(instructions),
    }
