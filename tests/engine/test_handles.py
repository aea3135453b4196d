"""Nothing that bough opens for a run stays open after it: a long night would end at the system's limit."""

import gc
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.planning.plan import Plan, Step
from bough.services.night import NightObserver
from bough.testing import ScriptedModel, call
from bough.trust.files import Place, read_own
from tests.engine.test_backlog import House
from tests.harness import FIXED, make_project, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]


def _list_handles() -> set[str]:
    """What this process has open on the disk. Sockets belong to the supervisors, which all tests share."""
    found = set()
    for handle in Path("/proc/self/fd").iterdir():
        try:
            found.add(str(handle.readlink()))
        except FileNotFoundError:  # the listing's own handle
            continue
    return {path for path in found if path.startswith("/")}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not list open handles")
def test_a_run_leaves_no_handle_open(tmp_path: Path) -> None:
    before = _list_handles()
    gc.disable()  # what is closed only when garbage is collected may be open for hours
    try:
        answers = [call("write", path="calc.py", content=FIXED), call("done", summary="it adds")]
        outcome, _ = run_to_end(make_project(tmp_path / "p"), answers)
        assert outcome.status == "completed"
        assert _list_handles() - before == set()
    finally:
        gc.enable()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not list open handles")
@in_turn
async def test_a_night_and_the_steps_of_a_run_keep_nothing_open_from_one_to_the_next(tmp_path: Path) -> None:
    """Within one process: what each kept would add up over hours."""
    counts: list[int] = []

    def count(record: e.Record) -> None:
        if isinstance(record.event, e.GoalTaken | e.ChildStarted):
            counts.append(len(_list_handles()))

    gc.disable()
    try:
        async with app.open_session(make_project(tmp_path / "p"), create=True) as session:
            steps = tuple(Step(f"s{n}", run=f"echo {n} > step{n}", requires_testing=False) for n in range(6))
            plan = Plan(Step("goal", "Do them.", steps=steps, requires_testing=False))
            choices = app.Choices(model=ScriptedModel([]), jobs=1)
            assert (await session.start(plan, choices, app.RunObserver(recorded=count))).completed
            assert len(counts) == 6 and counts[-1] <= counts[1], counts
            counts.clear()
            house = House(session)
            for n in range(5):
                await house.add(f"g{n}", f"echo {n} > file{n}", check=f"test -e file{n}")
            await house.night(NightObserver(listed=lambda backlog, record: count(record)), jobs=1)
            assert len(counts) == 5 and counts[-1] <= counts[1], counts
    finally:
        gc.enable()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not list open handles")
def test_a_folder_that_is_read_as_a_file_is_closed_again(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        Place(tmp_path, "folder").read()
    with pytest.raises(OSError, match="not a regular file"):
        read_own(tmp_path / "folder")
    assert str(tmp_path / "folder") not in _list_handles()
