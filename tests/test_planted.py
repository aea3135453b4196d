"""The bench of planted bugs with a scripted examiner: bough builds, examines, repairs and contests as with a model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

BENCH = Path(__file__).parent.parent / "bench"


@in_turn
def test_planted_bugs_are_found_and_a_wrong_finding_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOUGH_ACCEPTANCE_EXAMINE")
    results = tmp_path / "results.jsonl"
    command = [sys.executable, str(BENCH / "planted.py"), "--scripted", "--results", str(results)]
    command += ["--catalogue", str(BENCH / "planted" / "small.toml")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = [json.loads(line) for line in results.read_text().splitlines()]
    assert row["found"] == ["right-tie", "insort-key"] and row["status"] == "completed"
    assert (row["findings"], list(row["wrong"].values())) == (3, ["wrong"]), "one probe fails on right work too"
    assert (row["upheld"], row["wrong_upheld"]) == (2, []), "contested, and dropped by the judge"
    assert "| **all** | **2** | **2** (100%) |" in done.stdout and "upheld 2, of them 0 wrong" in done.stdout
