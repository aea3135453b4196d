"""The control flow of a written plan: conditions, passes of repeated steps, exits from passes, and states.

condition = ["not "] [STEP "."] ( "success" | "failure" | "has_errors" | "empty" | "contains:" TEXT )

A condition is decided by the results of the steps; nothing in it is ever run. If escalation has replaced the written
plan, its steps run once, in the order that their needs demand."""

import re
from collections.abc import Mapping
from typing import Literal, cast, get_args

from msgspec import Struct

from bough.core.events import ChildSettled
from bough.core.planning.plan import Condition, Exits, Machine, Outcome, Step
from bough.core.textual.spelling import shorten_line
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.problems import suggest_nearest

BEFORE = ""
"""The name that the previous step has in `results`."""
END = "end"
"""The target of a transition that ends a state machine; the outcome is that of its last state."""
OUTCOMES: tuple[str, ...] = get_args(Outcome)
_FORM = re.compile(r"(?P<not>not\s+)?(?:(?P<step>[^\s.:]+)\.)?(?P<outcome>[^\s.:]+)(?::(?P<text>.*))?", re.DOTALL)
_WORDS = tuple("contains:TEXT" if outcome == "contains" else outcome for outcome in OUTCOMES)


def parse_condition(text: str) -> Condition | str:
    """Parse a condition, or return a sentence that says why the text is not one."""
    found = _FORM.fullmatch(text.strip())
    if not found:
        return (
            f"`{shorten_line(text)}` is not a condition: use one of {', '.join(_WORDS)}, with "
            f"`STEP.` or `not ` before it."
        )
    outcome, wanted = found["outcome"], found["text"]
    if outcome not in OUTCOMES:
        return f"`{shorten_line(outcome)}` is not something a condition can ask: {suggest_nearest(outcome, OUTCOMES)}"
    if outcome != "contains" and wanted is not None:
        return f"`{outcome}` takes no text after it: write `{outcome}`, or `contains:TEXT`."
    if outcome == "contains":
        wanted = (wanted or "").strip()
        if len(wanted) > 1 and wanted[0] == wanted[-1] == '"':
            wanted = wanted[1:-1]
        if not wanted:
            return "`contains:` says nothing to look for: write `contains:TEXT`."
    return Condition(cast(Outcome, outcome), found["step"] or "", wanted or "", bool(found["not"]))


def render_condition(condition: Condition) -> str:
    """Return the text that `parse_condition` reads as this condition."""
    text = condition.text
    quoted = f'"{text}"' if text != text.strip() or text[:1] == '"' else text
    return (
        f"{'not ' if condition.negated else ''}{condition.step}{'.' if condition.step else ''}{condition.outcome}"
        f"{':' if condition.outcome == 'contains' else ''}{quoted}"
    )


def is_met(condition: Condition, results: Mapping[str, ChildSettled]) -> bool:
    """Whether a condition holds. `results` has the finished steps by name, and the previous one under `BEFORE`.

    For a step that was skipped or has not run, only a negated condition holds. `empty` holds only for steps that
    succeeded, since a critic that failed has approved nothing."""
    result = results.get(condition.step)
    if result is None:
        return condition.negated
    success = result.state is State.COMPLETED
    holds: dict[Outcome, bool] = {
        "success": success,
        "failure": not success,
        "has_errors": result.errors,
        "empty": success and not result.result.strip(),
        "contains": condition.text in result.result,
    }
    return holds[condition.outcome] != condition.negated


class NextState(Struct, frozen=True):
    """What follows a finished state of a state machine."""

    to: str | None
    """The next state; None if the machine has ended."""
    success: bool
    """Whether the machine succeeded; true if it continues."""
    why: str
    """The reason, for the journal."""


def choose_next_state(machine: Machine, ended: ChildSettled, count: int) -> NextState:
    """Choose the successor of a finished state, after `count` transitions so far.

    The first transition whose condition holds is taken. If a state fails and no transition applies, the machine fails;
    it also fails at the limit of transitions, so that an endless loop does not count as success."""
    state, success = ended.child, ended.state is State.COMPLETED
    for transition in next((each for each in machine.states if each.name == state), Exits(state)).transitions:
        if transition.on is not None and not is_met(transition.on, {BEFORE: ended, state: ended}):
            continue
        why = f"{state} → {transition.to}" + (f", on {render_condition(transition.on)}" if transition.on else "")
        if transition.to == END:
            return NextState(None, success, why)
        if count >= machine.limit:
            return NextState(None, False, f"the limit of {machine.limit} transitions is reached at {state}")
        return NextState(transition.to, True, why)
    if success:
        return NextState(None, True, f"{state} has no further transition")
    return NextState(None, False, f"{state} failed, and no transition handles it")


Do = Literal["", "break", "continue"]


def is_as_written(task: Task) -> bool:
    """Whether the task still has the steps of the written plan."""
    return task.plan.approaches <= 1


def get_machine(task: Task) -> Machine | None:
    return task.step.machine if is_as_written(task) else None


def _collect_results(task: Task, before: Step | None) -> dict[str, ChildSettled]:
    """Return the last result of each finished step, of this pass or else of an earlier one; skipped steps have none."""
    ended = {**task.children.ended, **task.children.settled}
    known = {name: child for name, child in ended.items() if child.state is not State.SKIPPED}
    if before is not None and before.name in task.children.settled and before.name in known:
        known[BEFORE] = known[before.name]
    return known


def explain_skip(task: Task, step: Step) -> str:
    """Explain why a step that could start now is skipped; empty if it runs."""
    if step.condition is None:
        return ""
    number = task.plan.steps.index(step)
    before = task.plan.steps[number - 1] if number and not task.plan.parallel else None
    if is_met(step.condition, _collect_results(task, before)):
        return ""
    return f"its condition does not hold: {render_condition(step.condition)}"


def find_exit_request(task: Task) -> ChildSettled | None:
    """Find the step that asks to leave this pass or that of an enclosing step (`break`, `continue`)."""
    return next((child for child in task.children.settled.values() if child.do), None)


def is_repeating(task: Task) -> bool:
    return task.step.repeat > 1 and is_as_written(task)


def explain_rest_skipped(task: Task) -> str:
    """Explain why the remaining steps of this pass are skipped; empty while the pass continues."""
    asking = find_exit_request(task)
    if asking is None:
        return ""
    if asking.do == "continue" and is_repeating(task):
        return f"`{asking.child}` begins the next pass"
    return f"`{asking.child}` leaves the {'loop' if is_repeating(task) or task.inherited.loop else 'step'}"


def explain_next_pass(task: Task) -> str:
    """Explain why another pass begins after a successful one; empty if none does."""
    step, asking = task.step, find_exit_request(task)
    if not is_repeating(task) or task.children.passes >= step.repeat or (asking is not None and asking.do == "break"):
        return ""
    if step.until is None:
        return f"{task.children.passes} of {step.repeat}"
    if is_met(step.until, _collect_results(task, task.plan.steps[-1])):
        return ""
    return f"{render_condition(step.until)} does not hold yet ({task.children.passes} of {step.repeat})"


def find_outer_exit(task: Task) -> Do:
    """Return the `break` or `continue` that a finished task passes on to its enclosing steps, unless it repeats."""
    asking = find_exit_request(task)
    return asking.do if asking is not None and not is_repeating(task) and task.inherited.loop else ""


def describe_passes(task: Task) -> str:
    """Describe for people how the passes of a repeated step ended; empty if the step does not repeat."""
    step, asking = task.step, find_exit_request(task)
    if not is_repeating(task):
        return ""
    count = f"after {task.children.passes} of {step.repeat} passes"
    if asking is not None and asking.do == "break":
        return f"{count}, left by `{asking.child}`"
    if step.until is None:
        return count
    done = is_met(step.until, _collect_results(task, task.plan.steps[-1]))
    return f"{count}, {render_condition(step.until)} {'holds' if done else 'still does not hold'}"


def find_current_state(task: Task) -> Step | None:
    """Find the step that is the current state of a state machine; None if the task is not one."""
    turns = get_machine(task)
    if turns is None:
        return None
    name = task.children.at_state or turns.start
    return next((step for step in task.plan.steps if step.name == name), None)


def find_next_state(task: Task) -> NextState | None:
    """Find what follows the current state; None until that state has ended."""
    turns, state = get_machine(task), find_current_state(task)
    child = task.children.settled.get(state.name) if state is not None else None
    if turns is None or child is None:
        return None
    if child.do:
        return NextState(None, True, f"`{child.child}` was left")
    return choose_next_state(turns, child, task.children.turns)


def find_broken_state(task: Task) -> ChildSettled | None:
    """Find the state at which a state machine failed; None if it has not failed."""
    state, ways = find_current_state(task), find_next_state(task)
    if state is None or ways is None or ways.to is not None or ways.success:
        return None
    return task.children.settled[state.name]


def has_exhausted_transitions(task: Task) -> bool:
    """Whether a state machine has reached its limit of transitions."""
    turns = get_machine(task)
    return turns is not None and task.children.turns >= turns.limit
