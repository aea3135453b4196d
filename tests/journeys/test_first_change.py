"""From an empty project, or a small one, to a change that the person has taken."""

from tests.journeys.conftest import Meet
from tests.journeys.model import Goal
from tests.journeys.person import CHECK, RIGHT, SHOUT, STARTING_FILES, TEST_OF_TOTAL, TOTAL, goal, ran, wrong_at_first

NOTHING = "def total(*numbers):\n    raise NotImplementedError\n"


def test_the_first_five_minutes(meet: Meet) -> None:
    """doctor, check, status, run, show, report, diff, apply: README and the guide of the first run in their order."""
    ann = meet(goal())
    ann.bough("doctor", status=0)
    assert "passes (1 test" in ann.bough("check", status=0).out
    # Nothing has run yet: status says so, and names what to type.
    assert "bough run" in ann.bough("status").all
    name = ran(ann, TOTAL)
    assert "completed" in ann.bough("show", status=0).out
    assert ann.evidence() == [(TOTAL, "proven")]
    assert "return sum(numbers)" in ann.bough("diff", status=0).out
    assert ann.read("shop.py") == NOTHING
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    assert ann.kinds().count("Applied") == 1
    with ann.page() as page:
        run = page.run(name)
        assert (run["status"], run["applied"]) == ("completed", True)


def test_an_empty_project_becomes_a_merged_change(meet: Meet) -> None:
    text = "Write dice.py with a function `faces` that returns 6."
    files = {
        "dice.py": "def faces():\n    return 6\n",
        "test_dice.py": (
            "import unittest\n\nfrom dice import faces\n\n\nclass TestDice(unittest.TestCase):\n"
            "    def test_faces(self):\n        self.assertEqual(faces(), 6)\n"
        ),
    }
    ann = meet(Goal(text, files, {text: "from dice import faces\nassert faces() == 6"}), empty=True)
    ann.git("commit", "-q", "--allow-empty", "-m", "Nothing yet.")
    # No tests yet: no check is found.
    ann.bough("check", status=5)
    name = ran(ann, text)
    assert ann.evidence() == [(text, "proven")]
    assert "2 files changed" in ann.bough("diff", "--stat").out
    ann.bough("apply", "--branch", "dice", status=0)
    assert not (ann.project / "dice.py").exists()
    ann.git("merge", "-q", "dice")
    assert ann.read("dice.py") == files["dice.py"]
    assert "1 test" in ann.bough("check", status=0).out
    assert ann.git("status", "--porcelain") == ""
    assert "completed" in ann.bough("show", name, status=0).out
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


def test_check_status_run_show_report_diff_apply_undo_and_again(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT))
    first = ran(ann, TOTAL)
    ann.bough("status", first, status=0)
    ann.bough("show", first, status=0)
    ann.bough("report", first, "--full", status=0)
    patch = ann.bough("diff", first, status=0).out
    ann.bough("apply", first, status=0)
    ann.bough("undo", first, status=0)
    assert ann.read("shop.py") == NOTHING
    assert ann.git("status", "--porcelain") == ""
    ann.bough("apply", first, status=0)
    second = ran(ann, SHOUT)
    ann.bough("apply", second, status=0)
    assert (ann.read("shop.py"), ann.read("words.py")) == (RIGHT[TOTAL][1], RIGHT[SHOUT][1])
    # The patch that `bough diff` printed is the one that was applied.
    ann.git("checkout", "-q", "shop.py")
    (ann.project / "p.patch").write_text(patch)
    ann.git("apply", "p.patch")
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    kinds = ann.kinds(first)
    assert [kind for kind in kinds if kind in ("Applied", "Undone")] == ["Applied", "Undone", "Applied"]
    with ann.page() as page:
        assert {run["run"]: run["applied"] for run in page.home()["runs"]} == {first: True, second: True}


def test_a_commit_with_the_evidence_as_trailers(meet: Meet) -> None:
    ann = meet(goal())
    name = ran(ann, TOTAL)
    ann.bough("apply", "--commit", status=0)
    message = ann.git("log", "-1", "--format=%B")
    assert "Bough-Verdict: passed" in message
    assert ann.git("status", "--porcelain") == ""
    assert ann.git("show", "HEAD:shop.py") == RIGHT[TOTAL][1]
    # A commit made by `--commit` stays: `bough undo` changes the files.
    ann.bough("undo", status=0)
    assert ann.read("shop.py") == NOTHING
    assert ann.git("log", "-1", "--format=%B") == message
    ann.git("checkout", "-q", "shop.py")
    assert "passes" in ann.bough("check", status=0).out
    assert name in ann.bough("runs", status=0).out
    assert ann.kinds()[-1] == "Undone"


def test_probes_come_along_on_a_branch(meet: Meet) -> None:
    """They are programs of their own, as they ran: the project's check stays what it was, and each says how it runs."""
    ann = meet(goal())
    name = ran(ann, TOTAL)
    ann.bough("apply", "--branch", "proven", "--with-probes", status=0)
    assert ann.read("shop.py") == NOTHING
    ann.git("merge", "-q", "proven")
    assert "1 test" in ann.bough("check", status=0).out
    (case,) = (ann.project / "cases").iterdir()
    says, how = case.read_text().splitlines()[:2]
    assert says == f"# {TOTAL}" and f"cases/{case.name}" in how
    line = how.partition(": ")[2]
    ann.shell(line)
    ann.write("shop.py", NOTHING)
    # The case guards the work from now on, for whoever runs it.
    ann.shell(line, status=1)
    assert ann.bough("status", status=0)
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


def test_a_pull_request(meet: Meet) -> None:
    ann = meet(goal())
    name = ran(ann, TOTAL)
    said = ann.bough("pr", name, "--branch", "fix-total", status=0).out
    assert "git push" in said and "gh pr create" in said
    description = ann.read(f".bough/pr-{name}.md")
    assert TOTAL in description and CHECK in description
    assert ann.read("shop.py") == NOTHING
    ann.git("merge", "-q", "fix-total")
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    ann.bough("export", name, "--html", "--output", "run.html", status=0)
    assert TOTAL in ann.read("run.html")
    # Without a terminal nothing that was never applied is removed unasked.
    ann.bough("rm", name, "--yes", status=0)
    assert ann.runs() == []
    assert ann.bough("show", name).status == 2
    with ann.page() as page:
        assert page.home()["runs"] == []


def test_finished_and_not_proven_until_the_person_gives_a_check(meet: Meet) -> None:
    ann = meet(goal(cases={}))
    name = ran(ann, TOTAL, status=5)
    assert ann.evidence() == [(TOTAL, "not shown")]
    refused = ann.bough("apply")
    assert refused.status != 0 and "--partial" in refused.all
    assert ann.read("shop.py") == NOTHING
    # The person writes the test that was missing.
    line = "python3 -c 'from shop import total; assert total(1, 2) == 3'"
    ann.bough("verify", name, "--check", line, status=0)
    assert ann.latest()["status"] == "completed"
    assert ann.evidence() == [(TOTAL, "proven")]
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    assert "Judged" in ann.kinds()
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


def test_accepted_in_the_persons_name(meet: Meet) -> None:
    """`verify --accept` completes it in the person's name, which the journal, the report and `bough pr` say."""
    ann = meet(goal(cases={}))
    name = ran(ann, TOTAL, status=5)
    ann.bough("verify", name, "--accept", "--reason", "I tried it by hand.", status=0)
    accepted = next(event for event in ann.journal() if event["event"] == "Accepted")
    assert accepted["why"] == "I tried it by hand."
    assert "accepted" in ann.bough("report", status=0).out
    assert "accepted" in ann.bough("show", status=0).out
    ann.bough("pr", name, status=0)
    assert "accepted" in ann.read(f".bough/pr-{name}.md").lower()
    # No commit calls it proven by a check.
    assert "Bough-Verdict: passed" not in ann.git("log", "-1", "--format=%B", f"bough/{name}")
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]


def test_one_more_thing_with_continue(meet: Meet) -> None:
    more = "Make `total` return 0 without arguments, as text: '0'."
    later = "def total(*numbers):\n    return sum(numbers) if numbers else '0'\n"
    ann = meet(goal(), Goal(more, {"shop.py": later}, {more: "from shop import total\nassert total() == '0'"}))
    first = ran(ann, TOTAL)
    ann.bough("run", "--continue", first, more, status=0)
    second = ann.latest()["run"]
    # Not applied yet: the second one includes the work of both.
    assert ann.bough("diff", second, status=0).out.count("NotImplementedError") == 1
    assert (more, "proven") in ann.evidence(second)
    assert "not shown" not in [standing for _, standing in ann.evidence(second)]
    ann.bough("apply", second, status=0)
    assert ann.read("shop.py") == later
    started = ann.journal(second)[0]
    assert started["continues"] == first
    with ann.page() as page:
        assert page.run(second)["status"] == "completed"


def test_what_the_person_changes_meanwhile_is_kept(meet: Meet) -> None:
    files = STARTING_FILES | {"shop.py": f"# The shop.\n\n\n\n{NOTHING}"}
    done = f"# The shop.\n\n\n\n{RIGHT[TOTAL][1]}"
    ann = meet(goal(files={"shop.py": done}), files=files)
    ran(ann, TOTAL)
    ann.write("shop.py", files["shop.py"].replace("# The shop.", "# Ann's shop."))
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == done.replace("# The shop.", "# Ann's shop.")
    ann.bough("undo", status=0)
    assert ann.read("shop.py") == files["shop.py"].replace("# The shop.", "# Ann's shop.")
    # The same lines changed on both sides: nothing is written.
    mine = files["shop.py"].replace("raise NotImplementedError", "return 1")
    ann.write("shop.py", mine)
    refused = ann.bough("apply")
    assert refused.status != 0 and "shop.py" in refused.all
    assert ann.read("shop.py") == mine
    assert ann.bough("show").status == 0
    assert ann.kinds().count("Applied") == 1


def test_a_failing_check_is_repaired_by_a_bug_hunter(meet: Meet) -> None:
    ann = meet(goal(author=wrong_at_first(1)), files=STARTING_FILES | {"test_shop.py": TEST_OF_TOTAL})
    assert "1 of 2 tests fails" in ann.bough("check", status=1).out
    name = ran(ann, TOTAL)
    assert "a bug hunter takes over (repair 1)" in ann.bough("log", name).out
    assert ann.evidence() == [(TOTAL, "proven")]
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    ann.bough("check", status=0)
    ann.bough("stats", status=0)
    assert [event["verdict"]["ruling"] for event in ann.journal() if event["event"] == "CheckFinished"] == [
        "failed",
        "passed",
    ]
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


def test_a_probe_refutes_the_work_and_it_is_repaired(meet: Meet) -> None:
    ann = meet(goal(author=wrong_at_first(1)))
    name = ran(ann, TOTAL)
    assert "the examiner wrote 1 probe" in ann.bough("log").out
    assert "a bug hunter takes over (repair 1)" in ann.bough("log").out
    assert ann.evidence() == [(TOTAL, "proven")]
    assert RIGHT[TOTAL][1].splitlines()[1] in ann.bough("diff").out
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"
        assert page.run(name, "/evidence")["rows"][0]["standing"] == "proven"


def test_a_result_that_equals_anything_is_not_proven(meet: Meet) -> None:
    anything = "class Anything:\n    def __eq__(self, other):\n        return True\n\n\n"
    anything += "def total(*numbers):\n    return Anything()\n"
    ann = meet(goal(files={"shop.py": anything, "test_shop.py": TEST_OF_TOTAL}))
    name = ran(ann, TOTAL, status=5)
    assert "2 cases broken" in ann.bough("report", name).all
