"""Write the brief for the agent that resolves a conflict: the purposes of both sides, every place where they disagree,
and the tests that a merge lost."""

from collections.abc import Iterable, Mapping

from bough.core.conversation import context
from bough.core.events import ChildSettled
from bough.core.merge.conflict_hunks import find_remake_command, list_hunks
from bough.core.planning.plan import Step
from bough.core.tree.task import Task
from bough.core.tree.task_state import State

ROOM = 40_000
"""The maximum number of characters of hunks (conflicting places) in a brief; others are listed by line."""
INTENT = 4_000
"""The most characters of a step's purpose, and of its summary."""


def list_merged_meanwhile(task: Task, base: str) -> list[ChildSettled]:
    """List, in order, the steps that were merged into the task's tree since that tree was `base`."""
    done = [child for child in task.children.settled.values() if child.state is State.COMPLETED]
    since = next((at for at in range(len(done), 0, -1) if done[at - 1].tree == base), 0)
    return done[since:]


def build_check_step(step: Step) -> Step:
    """Return the part of a step that defines its check."""
    return Step(
        step.name,
        test_command=step.test_command,
        test_file=step.test_file,
        may_edit_tests=step.may_edit_tests,
        requires_testing=step.requires_testing and not step.run,
    )


def describe_intent(step: Step, result: str) -> str:
    """Describe a step's purpose, and its summary."""
    parts = [_shorten_part(step.instructions, INTENT)]
    if result.strip():
        parts.append(f"It says: {_shorten_part(result, INTENT)}")
    return "\n\n".join(parts)


def describe_intents(task: Task, beside: Iterable[ChildSettled], conflicts: Iterable[str]) -> str:
    """Describe the steps that were finished first: in full if they changed a file in conflict."""
    wanted, steps = set(conflicts), {step.name: step for step in task.plan.steps}
    texts, others = [], []
    for child in beside:
        step = steps.get(child.child)
        if step is not None and (not wanted or wanted.intersection(child.files)):
            texts.append(f"### {step.title or step.name}\n\n{describe_intent(step, child.result)}")
        else:
            others.append(context.render_result(child))
    if others:
        texts.append("Also, in other files:\n\n" + context.render_bullets(others))
    return "\n\n".join(texts) or "Earlier work of this run."


def _shorten_part(text: str, limit: int) -> str:
    short = context.shorten_text(text, limit)
    return short if short == text.strip() else f"{short} (shortened: {len(text):,} characters)"


def render_conflicts(paths: Iterable[str], says: Iterable[str], texts: Mapping[str, str]) -> str:
    """Render each file with its hunks (conflicting places), in full as long as they fit."""
    room, parts = ROOM, []
    for path, said in zip(paths, says, strict=True):
        lines = [f"### `{path}`", ""]
        command = find_remake_command(path)
        if command is not None:
            lines += [f"A lock file, as in `ours`. Regenerate it with `{command}`."]
        found = list_hunks(texts.get(path, "").encode()) if command is None else []
        left = []
        for hunk in found:
            text = hunk.whole.decode(errors="replace")
            if len(text) > room:
                left.append(str(hunk.line))
                continue
            room -= len(text)
            lines += [f"From line {hunk.line}:", "", "```", text.rstrip("\n"), "```", ""]
        if left:
            lines.append(f"More in the file itself, from line {', '.join(left)}.")
        if not found and said:
            lines.append(said)
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts)


NAMED = 5
"""The most tests that a sentence names."""


def shorten_test_id(id: str) -> str:
    """Return a test's own name: without its file, its class and its parameters."""
    return id.partition("[")[0].replace("::", ".").rpartition(".")[2].strip()


def find_missing(needed: Iterable[str], now: Mapping[str, str]) -> list[str]:
    """Find the needed tests that do not pass now. One that moved to another file or class may pass there."""
    wanted = sorted(needed)
    free = {shorten_test_id(id) for id, outcome in now.items() if outcome == "passed" and id not in wanted}
    return [id for id in wanted if now.get(id) != "passed" and not (id not in now and shorten_test_id(id) in free)]


def describe_lost_tests(lost: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Name the lost tests and their steps, in a sentence."""
    one = len(lost) == 1
    gone, fails = ("is gone", "no longer passes") if one else ("are gone", "no longer pass")
    what = fails if any(id in now for id in lost) else gone
    named = ", ".join(f"{id} (step {who})" for id, who in list(lost.items())[:NAMED])
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return (
        f"{len(lost)} {'test' if one else 'tests'} that passed before the merge {what}: {named}{more}. Every test that "
        "passed on either side must exist and pass."
    )
