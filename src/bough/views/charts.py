"""What charts show of a run over time: each task's work (its lane), the spend, and the passing tests."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct, field

from bough.core import events as e
from bough.core.ids import CONTROL, GOAL, RUN, child_path
from bough.core.tree.task_state import State

WORK = ("thinking", "tool", "check", "merge", "waiting", "you")
"""The kinds of work in a lane. A span holds the index of its kind."""
THINKING, TOOL, CHECK, MERGE, WAITING, YOU = range(len(WORK))
YOU_WORDS: dict[type, str] = {e.PlanProposed: "the plan", e.QuestionAsked: "a question", e.ChangesAsked: "test changes"}
T = TypeVar("T")
Span = tuple[float, float, int, str, int, int]
"""Start, end, kind of work, label, number of merged spans, the round in which it ended."""
Spent = tuple[float, int, int]
"""What was spent: dollars, tokens, rounds."""
TestCount = tuple[float, str, str, int, int]
"""Time, task, source (`base`, `tool`, `check`), passed, failed."""
POINTS = 120
"""The most points of a curve."""


class Lane(Struct):
    spans: list[tuple[float, float, int, str, int]] = field(default_factory=list)
    """Start, end, kind of work, label, round."""
    open: dict[str, tuple[float, int, str]] = field(default_factory=dict)
    """The spans that have begun and not ended, by the key that `end` gets: start, kind of work, label."""
    tools: dict[str, str] = field(default_factory=dict)
    """The names of the tools that the last answer called, by call id."""
    steps: dict[str, str] = field(default_factory=dict)
    """The path of the task that runs each step now: each repetition of a step has its own path."""
    rounds: list[int] = field(default_factory=list)
    """The number of the first event of each round."""

    def begin(self, key: str, at: float, work: int, words: str = "") -> None:
        self.open[key] = (at, work, words)

    def end(self, key: str, at: float, seconds: float = 0.0) -> None:
        """End a span. `seconds`: its least duration, because start and end of short work are recorded together."""
        if (begun := self.open.pop(key, None)) is not None:
            self.add(min(begun[0], at - seconds), at, begun[1], begun[2])

    def add(self, begun: float, ended: float, work: int, words: str) -> None:
        self.spans.append((begun, ended, work, words, len(self.rounds)))


class Charts:
    """Collects the data of the charts from a run's events; only those of `CHART_KINDS` matter."""

    def __init__(self) -> None:
        self.lanes = defaultdict[str, Lane](Lane)
        self.spent: list[tuple[float, str, float, int]] = []
        """One entry per model answer: time, branch of the tree (the first part of the task's path), dollars, tokens."""
        self.tests: list[TestCount] = []

    def see(self, record: e.Record) -> None:
        if record.task in (RUN, CONTROL):
            self._see_run(record)
            return
        lane, at = self.lanes[record.task], record.at
        match record.event:
            case e.RoundStarted():
                lane.rounds.append(record.seq)
                lane.begin("round", at, THINKING)
            case e.ModelAnswered() as event:
                lane.end("round", at)
                lane.tools = {call.id: call.name for call in event.calls}
                self._spend(record, event.cost, event.usage.input + event.usage.output)
            case e.ModelFailed(wait=wait, message=message):
                lane.end("round", at)
                if wait:
                    lane.add(at, at + wait, WAITING, message)
            case e.HelperAnswered() as event:
                lane.add(at - event.seconds, at, THINKING, event.helper.replace("_", " "))
                self._spend(record, event.cost, event.usage.input + event.usage.output)
            case e.ToolStarted(call=call):
                lane.begin(call, at, TOOL, lane.tools.get(call, ""))
            case e.ToolFinished(call=call, passed=passed, seconds=seconds):
                lane.end(call, at, seconds)
                if passed is not None:
                    self.tests.append((at, record.task, "tool", passed, 0))
            case e.CommandStarted(command=command):
                lane.begin("command", at, TOOL, command)
            case e.CommandFinished():
                lane.end("command", at)
            case e.CheckStarted(command=command):
                lane.begin("check", at, CHECK, command)
            case e.ProbesStarted():
                lane.begin("check", at, CHECK, "probes")
            case e.CheckFinished(verdict=verdict):
                lane.end("check", at)
                if verdict.passed or verdict.failed:
                    self.tests.append((at, record.task, "check", verdict.passed, verdict.failed))
            case e.ProbesFinished():
                lane.end("check", at)
            case e.ChildHeld(step=step, other=other):
                self.lanes[child_path(record.task, step)].open.setdefault("held", (at, WAITING, f"waits for {other}"))
            case e.ChildStarted(step=step, task=task):
                self.lanes[child_path(record.task, step)].end("held", at)
                lane.steps[step] = child_path(record.task, task)
            case e.StateChanged(to=State.COMPLETED) if record.task != GOAL:
                lane.begin("turn", at, WAITING, "waits for its turn to merge")
            case e.MergeStarted(child=step):
                self.lanes[lane.steps.get(step, "")].end("turn", at)
            case e.ChildMerged(verdict=found, child=child):
                lane.add(at - (found.seconds if found else 0.0), at, MERGE, f"merges {child}")
            case e.PlanProposed() | e.QuestionAsked() | e.ChangesAsked():
                lane.begin("you", at, YOU, YOU_WORDS[type(record.event)])
            case e.PlanAnswered() | e.Planned() | e.PersonAnswered() | e.ChangesRuled():
                lane.end("you", at)
            case e.TaskHalted() | e.AttemptStarted():
                _close(lane, at)

    def _see_run(self, record: e.Record) -> None:
        match record.event:
            case e.CheckScouted() as event:
                self.spent.append((record.at, GOAL, event.cost or 0.0, event.spend.tokens))
            case e.BaseChecked() as event if event.passed or event.failed:
                self.tests.append((record.at, GOAL, "base", event.passed, event.failed))
            case e.CommandHeld(id=id, task=task):
                if (asking := self.lanes.get(task)) is not None:
                    asking.begin(id, record.at, YOU, "a command")
            case e.CommandRuled(id=id):
                for lane in self.lanes.values():
                    if id in lane.open:
                        held = lane.open[id][0]
                        for key, (begun, work, words) in list(lane.open.items()):
                            if work == TOOL:  # While the tool's command waited for the person, the tool did not run.
                                lane.add(begun, held, work, words)
                                lane.open[key] = (record.at, work, words)
                        lane.end(id, record.at)
            case e.RunHalted() | e.RunFinished() | e.RunResumed():
                for lane in self.lanes.values():
                    _close(lane, record.at)

    def _spend(self, record: e.Record, cost: float | None, tokens: int) -> None:
        self.spent.append((record.at, record.task.partition("/")[0], cost or 0.0, tokens))

    def rounds(self, path: str) -> list[int]:
        """List the number of the first event of each round of a task."""
        return self.lanes[path].rounds if path in self.lanes else []

    def timeline(self, paths: Iterable[str], start: float, now: float, pixels: int) -> list[tuple[str, list[Span]]]:
        """Return the lane of each path until `now`, in no more detail than `pixels` for the time since `start` show."""
        least = max((now - start) / max(pixels, 1), 1e-6)
        drawn = []
        for path in paths:
            lane = self.lanes.get(path, Lane())
            under_way = [(begun, now, work, words, len(lane.rounds)) for begun, work, words in lane.open.values()]
            drawn.append((path, _merge_close_spans([*lane.spans, *under_way], least)))
        return drawn

    def burn(self) -> tuple[list[str], list[tuple[float, list[Spent]]]]:
        """Return the branches of the tree, and the cumulative spend of each of them over time."""
        branches = list(dict.fromkeys(branch for _, branch, *_ in self.spent))
        sums: dict[str, Spent] = dict.fromkeys(branches, (0.0, 0, 0))
        points, shown = [], {*thin_out(range(len(self.spent)))}
        for number, (at, branch, cost, tokens) in enumerate(self.spent):
            spent = sums[branch]
            sums[branch] = (spent[0] + cost, spent[1] + tokens, spent[2] + 1)
            if number in shown:
                points.append((at, [sums[each] for each in branches]))
        return branches, points


CHART_KINDS = e.list_named(Charts.see, Charts._see_run)


def thin_out(points: Sequence[T]) -> list[T]:
    """Return about `POINTS` of the points, evenly chosen, always including the last."""
    return [*points[: -1 : max(1, -(-len(points) // POINTS))], *points[-1:]]


def _close(lane: Lane, at: float) -> None:
    for key in list(lane.open):
        lane.end(key, at)


def _merge_close_spans(spans: list[tuple[float, float, int, str, int]], least: float) -> list[Span]:
    """Merge spans that are too close together to be drawn apart, and drop waits shorter than `least` seconds."""
    made: list[Span] = []
    for begun, ended, work, words, number in spans:
        if work == WAITING and ended - begun < least:
            continue
        last = made[-1] if made else None
        joins = last is not None and begun - last[1] < least and (last[2] == work or ended - last[0] < least)
        if last is not None and joins:
            made[-1] = (last[0], max(last[1], ended), *last[2:4], last[4] + 1, last[5])
        else:
            made.append((begun, ended, work, words[:80], 1, number))
    return made
