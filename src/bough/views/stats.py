"""Statistics: a fold over the events of one run or of many."""

from collections.abc import Iterable

from msgspec import Struct

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.decide import COMPACTION
from bough.core.ids import depth
from bough.core.tree.task_state import State

FEW = 4
"""The smallest count from which a percentage means something: below it there is no warning."""


class Share(Struct):
    """The share of one tier of models in the work and the cost."""

    rounds: int = 0
    tokens: int = 0
    cost: float = 0.0
    """US dollars, as far as prices are known."""
    won: int = 0
    """How many checks passed after work of this tier."""


class Stats(Struct):
    tasks: int = 0
    """Tasks that ended: completed, failed or blocked."""
    completed: int = 0
    rounds: int = 0
    repairs: int = 0
    """How many repairs by bug hunters were checked."""
    repaired: int = 0
    """How many of these repairs passed the check."""
    checks: int = 0
    checks_not_found: int = 0
    disagreed: int = 0
    flaky: int = 0
    seconds: float = 0.0
    """Seconds spent in model calls, tools and checks."""
    check_seconds: float = 0.0
    signals: dict[str, int] = {}
    """How often work was stuck, by pattern."""
    rungs: dict[str, int] = {}
    """How often bough reacted to stuck work, by kind of reaction (a rung of the escalation ladder)."""
    pruned: int = 0
    """Approximate tokens that pruning removed from conversations."""
    compacted: int = 0
    """Approximate tokens that compaction removed from conversations."""
    overfull: int = 0
    """How often bough had to escalate because a conversation stayed too long after compaction."""
    tiers: dict[str, Share] = {}
    """Each tier's share; `helpers` are the models that plan, prune, summarise and judge."""
    merges: int = 0
    """How often a step's work had to be merged, because its parent task had changed since the step began."""
    conflicts: int = 0
    """Merges that git could not do on its own."""
    merged_without_model: int = 0
    """Conflicts that were resolved without a model, so that the check passed."""
    merge_rounds: int = 0
    """Rounds of tasks that resolved conflicts."""
    merge_tokens: int = 0
    merge_cost: float = 0.0
    merge_seconds: float = 0.0
    """Seconds of the rounds and tools of these tasks, and of the checks of merged work."""
    tokens_by_role: dict[str, int] = {}
    deepest: int = 0
    """How deep the trees grew below the goal."""

    @property
    def warnings(self) -> list[str]:
        """List hints on what a person should change in how they use bough in this project."""
        found = []
        if self.repairs >= FEW and self.repaired / self.repairs < 0.5:
            found.append("bug hunters repair fewer than half of the failures: are the goals too large?")
        if self.checks >= FEW and self.check_seconds / (self.seconds or 1.0) > 0.3:
            found.append("more than 30% of the time is spent in checks: pass narrower ones with --check")
        if self.checks >= FEW and self.checks_not_found / self.checks > 0.2:
            found.append("more than 20% of the tasks have no check: pass one with --check")
        if self.overfull:
            found.append("the context limit was hit: use smaller goals or a model with a larger window")
        return found


def compute_stats(records: Iterable[e.Record]) -> Stats:
    made = Stats()
    roles: dict[tuple[str, str], str] = {}
    tiers: dict[tuple[str, str], str] = {}
    merging: set[tuple[str, str]] = set()
    merges: dict[tuple[str, str, str], e.ChildMerged] = {}
    for record in records:
        stream = (record.run, record.task)
        match record.event:
            case e.TaskCreated(merge=merge):
                made.deepest = max(made.deepest, depth(record.task))
                if merge is not None:
                    merging.add(stream)
            case e.ChildMerged() as event:
                merges[*stream, event.child] = event
                made.merge_seconds += event.verdict.seconds if event.verdict else 0.0
            case e.ModelAnswered(spare=False) as event:
                who = (tiers.get(stream, "main"), roles.get(stream, "builder"))
                _charge(made, event, *who, merging=stream in merging)
            case e.ToolFinished(seconds=seconds):
                made.seconds += seconds
                made.merge_seconds += seconds if stream in merging else 0.0
            case e.HelperAnswered() as event:
                _charge(made, event, "helpers", event.helper, merging=stream in merging)
            case e.CheckScouted(rounds=rounds) as event if rounds:
                _charge(made, event, "helpers", "scout", merging=False)
            case e.ContextPruned(before=before, after=after):
                made.pruned += max(0, before - after)
            case e.Compacted(before=before, after=after):
                made.compacted += max(0, before - after)
            case e.Escalated(decision=decision, trouble=trouble):
                made.overfull += trouble.pattern == COMPACTION
                made.rungs[decision.rung] = made.rungs.get(decision.rung, 0) + 1
            case e.SignalRaised(signal=signal):
                made.signals[signal.pattern] = made.signals.get(signal.pattern, 0) + 1
            case e.AttemptStarted(role=role, tier=tier):
                roles[stream] = role
                tiers[stream] = tier
            case e.CheckStarted(command=command):
                made.checks += 1
                made.checks_not_found += not command
            case e.CheckFinished(verdict=verdict):
                _count_verdict(made, verdict, roles.get(stream, ""), tiers.get(stream))
            case e.StateChanged(to=State.COMPLETED):
                made.tasks += 1
                made.completed += 1
            case e.StateChanged(to=State.FAILED | State.BLOCKED):
                made.tasks += 1
    made.merges = len(merges)
    made.conflicts = sum(bool(each.conflicts or each.both or each.remade) for each in merges.values())
    joined = [each for each in merges.values() if each.verdict is not None and each.verdict.ruling == "passed"]
    made.merged_without_model = sum(bool(each.both or each.remade) for each in joined)
    return made


KINDS = e.list_named(compute_stats)


def _count_verdict(made: Stats, verdict: Verdict, role: str, tier: str | None) -> None:
    made.seconds += verdict.seconds
    made.check_seconds += verdict.seconds
    made.disagreed += verdict.ruling == "needs_approval"
    made.flaky += len(verdict.flaky)
    if verdict.ruling == "passed" and tier is not None:
        made.tiers.setdefault(tier, Share()).won += 1
    if role == "bug_hunter":
        made.repairs += 1
        made.repaired += verdict.ruling == "passed"


def _charge(
    made: Stats, event: e.ModelAnswered | e.HelperAnswered | e.CheckScouted, tier: str, role: str, *, merging: bool
) -> None:
    tokens = event.usage.input + event.usage.output
    rounds = event.rounds if isinstance(event, e.CheckScouted) else 1
    share = made.tiers.setdefault(tier, Share())
    share.rounds += rounds
    share.tokens += tokens
    share.cost += event.cost or 0.0
    made.rounds += rounds
    made.seconds += event.seconds
    if tokens:
        made.tokens_by_role[role] = made.tokens_by_role.get(role, 0) + tokens
    if merging:
        made.merge_rounds += 1
        made.merge_tokens += tokens
        made.merge_cost += event.cost or 0.0
        made.merge_seconds += event.seconds
