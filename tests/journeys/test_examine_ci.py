"""The action judges a pull request: summary, annotations, one comment, a receipt; without a key only a receipt."""

import json
import subprocess
import sys
from pathlib import Path

from tests.journeys.conftest import Meet
from tests.journeys.person import RIGHT, SHOUT, TOTAL, Person, goal

ROOT = Path(__file__).parents[2]
GH = """#!/bin/sh
echo "$@" >>LOG
case "$*" in
  *--paginate*) test ! -e LOG.made || echo 17 ;;
  *POST*) touch LOG.made ;;
esac
"""


def request(ann: Person, content: str) -> str:
    """A pull request's merge commit is checked out; the commit before it on main."""
    base = ann.git("rev-parse", "HEAD").strip()
    ann.git("checkout", "-q", "-b", "theirs")
    ann.write("shop.py", content)
    ann.commit("Sum.")
    ann.git("checkout", "-q", "main")
    ann.git("merge", "-q", "--no-ff", "-m", "Merge.", "theirs")
    return base


def act(ann: Person, tmp_path: Path, base: str, **inputs: str) -> tuple[int, dict[str, str], str]:
    """The exit status, the outputs, and what the step printed."""
    program, log = tmp_path / "bin" / "gh", tmp_path / "gh.log"
    program.parent.mkdir(exist_ok=True)
    program.write_text(GH.replace("LOG", str(log)))
    program.chmod(0o755)
    (tmp_path / "output").write_text("")
    env = ann.env | {
        "PATH": f"{program.parent}:{ann.env['PATH']}",
        "MODE": "examine",
        "MODEL": "openai:wire-model",
        "GOAL": "",
        "TITLE": TOTAL,
        "BODY": "",
        "BASE": base,
        "NUMBER": "7",
        "COMMENT": "true",
        "CHECK": "",
        "DIRECTORY": ".",
        "NETWORK": "off",
        "MAX_COST": "",
        "MAX_MINUTES": "60",
        "BRANCH": "",
        "ARGUMENTS": "",
        "GITHUB_WORKSPACE": str(ann.project),
        "GITHUB_REPOSITORY": "ann/shop",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "RUNNER_TEMP": str(tmp_path),
    }
    script = [str(ROOT / "scripts" / "action"), sys.executable]
    done = subprocess.run(script, cwd=tmp_path, env=env | inputs, capture_output=True, text=True)
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return done.returncode, told, done.stdout + done.stderr


def obeyed(said: str) -> list[str]:
    """The lines that a runner takes for commands: blanks before `::` do not count, and `##[` counts anywhere."""
    found, word = [], ""
    for line in map(str.strip, said.splitlines()):
        if word:
            word = "" if line == f"::{word}::" else word
        elif line.startswith("::stop-commands::"):
            word = line.removeprefix("::stop-commands::")
        elif line.startswith("::") or "##[" in line:
            found.append(line)
    assert not word, "the runner obeys the next step again"
    return found


def test_a_right_request_is_proven_and_its_receipt_runs_without_a_key(meet: Meet, tmp_path: Path) -> None:
    ann = meet(goal())
    base = request(ann, RIGHT[TOTAL][1])
    status, told, said = act(ann, tmp_path, base)
    assert status == 0 and told["status"] == "completed", said
    assert "### bough: proven" in (tmp_path / "summary").read_text()
    receipt = json.loads(Path(told["receipt"]).read_text())
    # A change that is not there gets neither the verdict nor the receipt of an earlier one.
    (tmp_path / "summary").write_text("")
    status, told, said = act(ann, tmp_path, "0" * 40)
    assert (status, told) == (2, {"run": "", "status": ""}) and not (tmp_path / "summary").read_text(), said
    # Somebody else's fork, without a key: without a receipt nothing is shown, and nothing refuted.
    for fail, fails in (("refuted", 0), ("unproven", 5), ("never", 0)):
        status, told, said = act(ann, tmp_path, base, MODEL="", FAIL=fail)
        assert (status, told["status"]) == (fails, "receipt not run"), said
    # With the receipt in the branch: no model, no claim.
    (ann.project / "receipt.json").write_text(json.dumps(receipt))
    ann.model.asked.clear()
    status, told, said = act(ann, tmp_path, base, MODEL="")
    assert (status, told["status"]) == (0, "receipt re-run: same"), said
    assert not ann.model.asked and "proven" not in (tmp_path / "bough-examined.md").read_text()
    receipt["predicate"]["rerun"]["probes"][0]["outcome"]["before"] = "passed"
    (ann.project / "receipt.json").write_text(json.dumps(receipt))
    assert act(ann, tmp_path, base, MODEL="")[1]["status"] == "receipt re-run: differs"


def test_a_receipt_of_other_code_is_not_run(meet: Meet, tmp_path: Path) -> None:
    """Both trees of a receipt must be those of the request, in which only the receipt itself may be new."""
    ann = meet(goal())
    ann.write("README.md", "A shop.\n")
    ann.commit("Say what it is.")
    base = request(ann, RIGHT[TOTAL][1])
    ann.bough("examine", "theirs", "--base", base, "--goal", TOTAL, "--receipt", "receipt.json", status=0)
    ann.git("checkout", "-q", "theirs")
    ann.commit("The receipt.")
    fork = {"HEAD": ann.git("rev-parse", "HEAD").strip(), "MODEL": ""}
    # Main goes on, and the request is merged with it as GitHub does before the checkout.
    ann.git("checkout", "-q", "main")
    ann.write("words.py", RIGHT[SHOUT][1])
    ann.commit("Shout.")
    ann.git("merge", "-q", "-m", "Merge.", "theirs")
    status, told, said = act(ann, tmp_path, base, **fork)
    assert (status, told["status"]) == (0, "receipt re-run: same"), said
    # The same receipt with other code, and the same code compared with another base.
    for other in ({"HEAD": "HEAD"}, {"BASE": f"{base}^"}):
        status, told, said = act(ann, tmp_path, base, **fork | other)
        assert (status, told["status"]) == (3, "receipt is about other code"), said
        assert "Running" not in said and ("words.py" in said) == ("HEAD" in other)


def test_a_request_that_breaks_a_test_fails_at_its_line(meet: Meet, tmp_path: Path) -> None:
    ann = meet(goal())
    base = request(ann, "def tote(*numbers):\n    return sum(numbers)\n")
    # Its author writes commands to the runner, which would hide the annotation and add another.
    commands = "::notice title=bough::proven\n##[error]bough\n::stop-commands::zzz"
    status, told, said = act(ann, tmp_path, base, BODY=commands)
    assert status == 3 and told["status"] == "failed" and "::notice title=bough::proven" in said, said
    (annotation,) = obeyed(said)
    assert annotation.startswith("::error file=test_names.py,line=8::test_names.TestNames.test_there")
    # Only reported, where the person wants that; and the comment is changed, not repeated.
    status, _, said = act(ann, tmp_path, base, FAIL="never")
    log = (tmp_path / "gh.log").read_text()
    assert status == 0 and log.count("POST") == 1 and "PATCH repos/ann/shop/issues/comments/17" in log, said
