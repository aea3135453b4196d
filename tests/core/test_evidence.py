"""The table of what speaks for each requirement, from nothing but events."""

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.evidence_table import RequirementStatus, build_table
from bough.core.acceptance.probes import Probe, ProbeResult
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import RequirementProof, Verdict
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree.task_state import Inheritance, State

ONE, TWO = Requirement(1, "It adds."), Requirement(2, "It subtracts.")
PASSED = Verdict("passed", "the check passed", "pytest", tree="t", changed=("tests/test_new.py",))
OWN = replace(PASSED, fixed=("tests/test_calc.py::test_add",))


class Journal:
    def __init__(self, *asked: Requirement) -> None:
        self.records: list[e.Record] = []
        self.add("goal", e.TaskCreated(Step("goal", "Do it."), "base", Limits(), Rules()), e.RequirementsRead(asked))

    def add(self, task: str, *events: e.AnyEvent) -> None:
        for event in events:
            version = sum(record.task == task for record in self.records) + 1
            self.records.append(e.Record(len(self.records) + 1, "run", task, version, 0.0, event))

    def done(self, task: str, verdict: Verdict = PASSED, *covers: Requirement) -> None:
        if task != "goal":
            told = Inheritance(requirements=covers)
            self.add(task, e.TaskCreated(Step(task.rpartition("/")[2]), "base", Limits(), Rules(), inherited=told))
        self.add(task, e.CheckFinished(verdict), e.StateChanged(State.COMPLETED, "the check passed"))

    def probed(self, task: str, outcome: str, number: int = 1) -> None:
        probe = Probe(f"{task}/probe-1", "test_probe.py", "", "It adds.", requirements=(number,))
        self.add(task, e.Examined("examiner", (probe,)))
        self.add(task, e.ProbesFinished("t", (ProbeResult(probe.name, outcome),), 0.1))  # type: ignore[arg-type]

    @property
    def standings(self) -> list[RequirementStatus]:
        return [row.standing for row in build_table(self.records).rows]


def test_before_the_goal_is_judged_only_a_case_speaks_for_a_requirement() -> None:
    journal = Journal(ONE)
    journal.done("goal", OWN)
    assert journal.standings == ["not shown"]
    shown = RequirementProof(1, "tests", OWN.fixed)
    journal.add("goal", e.EvidenceJudged((shown,)))
    assert journal.standings == ["proven"]


def test_a_case_that_passes_since_a_repair_is_told_from_one_that_always_did() -> None:
    journal = Journal(ONE)
    journal.done("goal")
    journal.probed("goal", "passed")
    assert build_table(journal.records).rows[0].cases == "1 of 1 case"
    journal.probed("goal", "failed")
    assert build_table(journal.records).rows[0].cases == "0 of 1 case"
    journal.probed("goal", "passed")
    assert build_table(journal.records).rows[0].cases == "1 of 1 case, 1 after a repair"


def test_what_a_rewind_has_undone_does_not_count() -> None:
    journal = Journal(ONE)
    journal.done("goal")
    journal.probed("goal", "failed")
    assert journal.standings == ["refuted"]
    journal.add("goal", e.TaskRewound(2, "base"))
    assert journal.standings == ["not shown"] and not build_table(journal.records).rows[0].probes
    journal.probed("goal", "passed")
    journal.add("goal", e.StateChanged(State.COMPLETED, "the check passed"))
    assert journal.standings == ["proven"]
    journal.add("goal", e.TaskRewound(0, "base"))
    assert not build_table(journal.records).rows, "not even what is asked was read yet"


def test_steps_that_a_later_plan_left_out_and_earlier_passes_do_not_count() -> None:
    journal = Journal(ONE, TWO)
    journal.add("goal", e.Planned((Step("add"), Step("subtract")), "so"))
    journal.done("add", PASSED, ONE)
    journal.probed("add", "passed")
    journal.add(
        "subtract", e.TaskCreated(Step("subtract"), "b", Limits(), Rules(), inherited=Inheritance(requirements=(TWO,)))
    )
    journal.add("subtract", e.StateChanged(State.FAILED, "it did not work"))
    assert journal.standings == ["proven", "not shown"]
    journal.add("goal", e.Planned((Step("minus"),), "another way", dropped=("add", "subtract")))
    journal.done("minus", PASSED, TWO)
    assert journal.standings == ["proven", "not shown"], "what is completed stays"
    journal.done("minus@2", PASSED, TWO)
    journal.probed("minus@2", "passed", 2)
    assert journal.standings == ["proven", "proven"]


def test_of_attempts_only_the_one_counts_that_carried_the_task() -> None:
    journal = Journal(ONE)
    journal.add("goal", e.Planned((Step("a"), Step("b")), "several ways", join="any"))
    journal.done("a", PASSED, ONE)
    journal.add("b", e.TaskCreated(Step("b"), "b", Limits(), Rules(), inherited=Inheritance(requirements=(ONE,))))
    journal.probed("a", "passed")
    assert journal.standings == ["proven"]
