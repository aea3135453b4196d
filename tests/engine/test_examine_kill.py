"""The process dies at every point of an examination, and nothing is lost, asked twice for nothing or run twice."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from tests.engine.telling import spent_by_events
from tests.engine.test_examine import CHECK, EMPTY, FIRST, GOAL, RIGHT, STABLE, TEST, WRONG
from tests.engine.test_examine_steps import PLAN
from tests.harness import allow_settings, begin, by_progress, journal_of, make_project, resume
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.usefixtures("acceptance_as_shipped"),
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]

_BUILDER = by_progress(
    call("write", path="pick.py", content=WRONG),
    call("write", path="test_pick.py", content=TEST),
    call("done", summary="written"),
)
_HUNTER = by_progress(
    call("write", path="pick.py", content=RIGHT),
    call("dispute", test="goal/probe-2", evidence="None is not spoken of"),
    call("done", summary="repaired"),
)


def answer(prompt: Prompt) -> Answer:
    tools = [tool.name for tool in prompt.tools]
    if "probe" in tools:
        return call("probe", probes=[FIRST, STABLE, EMPTY])
    if "rule" in tools:
        return call("rule", reason="it is not said", demanded=False)
    brief = getattr(prompt.messages[0], "text", "")
    return (_HUNTER if "make the work do what was asked" in brief else _BUILDER)(prompt)


def project_in(folder: Path) -> Path:
    project = make_project(folder, repository=False)
    (project / "test_calc.py").unlink()
    return project


@in_turn
def test_a_crash_in_an_examination(tmp_path: Path) -> None:
    fuse = Fuse()
    asyncio.run(begin(project_in(tmp_path / "whole"), ScriptedModel(answer), goal=GOAL, check=CHECK, fuse=fuse))
    names = ("Examined", "Probes", "ProbeRuled", "HelperAnswered", "probe", "examiner", "judge")
    points = [at for at, point in enumerate(fuse.points) if any(name in point for name in names)]
    points += [at for at, point in enumerate(fuse.points) if point == "after ask" and "Helper" in fuse.points[at + 1]]
    assert any("ProbeRuled" in fuse.points[at] for at in points) and any(
        "after probe" in fuse.points[at] for at in points
    )
    for at in sample(points, 9):
        project = project_in(tmp_path / str(at))
        with pytest.raises(FuseBlown):
            asyncio.run(begin(project, ScriptedModel(answer), goal=GOAL, check=CHECK, fuse=Fuse(at)))
        outcome = asyncio.run(resume(project, ScriptedModel(answer)))
        journal = asyncio.run(journal_of(project))
        assert outcome.status == "completed", fuse.points[at]
        assert len(journal.of(e.Examined)) == 1 and len(journal.of(e.ProbeRuled)) == 1, fuse.points[at]
        assert [r.outcome for r in journal.of(e.ProbesFinished)[-1].results] == ["passed", "passed"], fuse.points[at]
        assert spent_by_events(journal.records) == outcome.spend.rounds, "the budget is exact"
        assert not list((project / ".bough" / "work").glob("*/*")), "no checkout is left behind"


_STEPS: dict[str, Callable[[Prompt], Answer]] = {
    "pick": by_progress(
        call("write", path="pick.py", content=RIGHT),
        call("write", path="test_pick.py", content=TEST),
        call("done", summary="written"),
    ),
    "notes": by_progress(call("write", path="pick.py", content=WRONG), call("done", summary="documented")),
    "notes/merge": by_progress(call("write", path="pick.py", content=RIGHT), call("done", summary="as it was")),
}


def of_steps(prompt: Prompt) -> Answer:
    if "probe" in [tool.name for tool in prompt.tools]:
        return call("probe", probes=[FIRST] if prompt.key.startswith("pick#") else [])
    return _STEPS[prompt.key.partition("#")[0]](prompt)


@in_turn
def test_a_crash_while_probes_run_at_a_merge_and_while_the_whole_is_reviewed(tmp_path: Path) -> None:
    def project(name: str) -> Path:
        folder = project_in(tmp_path / name)
        (folder / "bough.toml").write_text('[acceptance]\nexamine = "always"\n')
        allow_settings(folder)
        return folder

    fuse = Fuse()
    asyncio.run(begin(project("whole"), ScriptedModel(of_steps), goal=PLAN, fuse=fuse))
    merging = fuse.points.index("before append ChildMerged")
    reviewed = [at for at, point in enumerate(fuse.points) if point == "before append HelperAnswered+Examined"][-1]
    assert fuse.points[merging - 2] == "before probe" and fuse.points[reviewed - 1] == "after ask"
    for at in sample((merging - 1, merging, merging + 1, reviewed - 1, reviewed + 1), 3):
        folder = project(str(at))
        with pytest.raises(FuseBlown):
            asyncio.run(begin(folder, ScriptedModel(of_steps), goal=PLAN, fuse=Fuse(at)))
        outcome = asyncio.run(resume(folder, ScriptedModel(of_steps)))
        journal = asyncio.run(journal_of(folder))
        assert outcome.status == "completed", fuse.points[at]
        assert [record.task for record in journal.records if isinstance(record.event, e.Examined)] == [
            *("pick", "notes", "goal")
        ]
        assert spent_by_events(journal.records) == outcome.spend.rounds, "the budget is exact"
        assert not list((folder / ".bough" / "work").glob("*/*")), "no checkout is left behind"
