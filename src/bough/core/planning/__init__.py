"""From a goal to steps, and from a stuck task to smaller ones: what planners answer, checked.

Everything here is pure. A model is asked with a prompt and one tool (`specs`); its answer becomes steps, or `Problems`:
sentences that go back to it once (the prompt `plan_repair`), after which the answer is refused. `measure` says when a
step only restates another one and when a criterion is empty words; `brief` has the values of each prompt.
"""

from __future__ import annotations

from bough.core.planning.changes import Changed, changed_plan
from bough.core.planning.estimate import Advice, Estimate, Proposal, advice, gate, proposal
from bough.core.planning.measure import smaller
from bough.core.planning.plans import phase_planned, planned
from bough.core.planning.specs import CHANGE, GATE, PLAN, SPLIT
from bough.core.planning.splits import decomposed, focused, replanned
from bough.core.structured import Problems

__all__ = [
    "CHANGE",
    "GATE",
    "PLAN",
    "SPLIT",
    "Advice",
    "Changed",
    "Estimate",
    "Problems",
    "Proposal",
    "advice",
    "changed_plan",
    "decomposed",
    "focused",
    "gate",
    "phase_planned",
    "planned",
    "proposal",
    "replanned",
    "smaller",
]
