"""The process dies at every point of an examination, and nothing is lost, asked twice for nothing or run twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import Blown
from tests.engine.telling import spent_by_events
from tests.engine.test_examine import CHECK, EMPTY, FIRST, GOAL, RIGHT, STABLE, TEST, WRONG
from tests.harness import begin, by_progress, journal_of, make_project, resume

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


def test_a_crash_at_every_point_of_an_examination(tmp_path: Path) -> None:
    fuse = Fuse()
    asyncio.run(begin(project_in(tmp_path / "whole"), ScriptedModel(answer), goal=GOAL, check=CHECK, fuse=fuse))
    names = ("Examined", "Probes", "ProbeRuled", "HelperAnswered", "probe", "examiner", "judge")
    points = [at for at, point in enumerate(fuse.points) if any(name in point for name in names)]
    assert any("ProbeRuled" in fuse.points[at] for at in points) and any(
        "after probe" in fuse.points[at] for at in points
    )
    for at in points:
        project = project_in(tmp_path / str(at))
        with pytest.raises(Blown):
            asyncio.run(begin(project, ScriptedModel(answer), goal=GOAL, check=CHECK, fuse=Fuse(at)))
        outcome = asyncio.run(resume(project, ScriptedModel(answer)))
        journal = asyncio.run(journal_of(project))
        assert outcome.status == "completed", fuse.points[at]
        assert len(journal.of(e.Examined)) == 1 and len(journal.of(e.ProbeRuled)) == 1, fuse.points[at]
        assert [r.outcome for r in journal.of(e.ProbesFinished)[-1].results] == ["passed", "passed"], fuse.points[at]
        assert spent_by_events(journal.records) == outcome.spend.rounds, "the ledger is exact"
        assert not list((project / ".bough" / "work").glob("*/*")), "no checkout is left behind"
