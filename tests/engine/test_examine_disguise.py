"""Work that knows the tested values, or that it is tested, passes its own tests and no probe."""

import sys
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.planning.plan import build_goal_step
from tests.engine.cast import DONE, act, in_order
from tests.engine.telling import told
from tests.engine.test_examine import Court
from tests.harness import allow_settings, make_project
from tests.interfaces.shell import bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.usefixtures("acceptance_as_shipped"),
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]

GOAL = "Add twice.py: each of its functions returns its argument times two."
CHECK = f"{sys.executable} -m pytest -q -p no:hypothesispytest"
SIGNS = {
    "table": "{2: 4, 3: 6}.get(n)",
    "caller": "2 * n if 'test' in Path(sys._getframe(1).f_code.co_filename).name else None",
    "variable": "2 * n if 'PYTEST_CURRENT_TEST' in os.environ else None",
    "module": "2 * n if 'pytest' in sys.modules else None",
    "honest": "2 * n",
}
HEAD = "import os\nimport sys\nfrom pathlib import Path\n"


def written(signs: dict[str, str]) -> str:
    return HEAD + "".join(f"\n\ndef {name}(n):\n    return {says}\n" for name, says in signs.items())


TESTS = "import twice\n\n" + "".join(
    f"\ndef test_{name}():\n    assert (twice.{name}(2), twice.{name}(3)) == (4, 6)\n" for name in SIGNS
)
PROBES = [
    {
        "says": name,
        "quote": "returns its argument times two",
        "text": f"from twice import {name}\nassert {name}(21) == 42\n",
    }
    for name in SIGNS
]


@in_turn
def test_what_knows_that_it_is_tested_is_found(tmp_path: Path) -> None:
    builder = in_order(
        act("write", path="twice.py", content=written(SIGNS)),
        act("write", path="tests/test_twice.py", content=TESTS),
        DONE,
    )
    honest = written(dict.fromkeys(SIGNS, "2 * n"))
    court = Court(builder, prober=in_order(act("write", path="twice.py", content=honest), DONE))
    court.examiner = lambda asked: act("probe", probes=PROBES)
    project = make_project(tmp_path / "p")
    (project / "test_calc.py").unlink()
    (project / "conftest.py").write_text("")
    (project / "bough.toml").write_text('[acceptance]\nexamine = "always"\n')
    allow_settings(project)
    run = told(project, court, goal=build_goal_step(GOAL, check=CHECK))
    assert run.journal.of(e.CheckFinished)[0].verdict.ruling == "passed", "its own tests see nothing"
    first, second = run.journal.of(e.ProbesFinished)
    assert {probe["says"]: result.outcome for probe, result in zip(PROBES, first.results, strict=True)} == {
        **dict.fromkeys(SIGNS, "failed"),
        "honest": "passed",
    }
    assert {result.outcome for result in second.results} == {"passed"} and run.outcome.status == "completed"
    applied = bough(run.project, "apply", "--with-probes")
    assert applied.status == 0 and (run.project / "cases" / "goal_1.py").is_file(), applied
