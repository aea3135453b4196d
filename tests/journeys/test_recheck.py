"""Proven work on a main that has moved since: still proven, in conflict, or broken by a commit that is named."""

import shutil

from tests.journeys.conftest import Meet
from tests.journeys.person import CHECK, RIGHT, SHOUT, TEST_OF_TOTAL, TOTAL, Person, goal, ran


def move(ann: Person, message: str, **files: str) -> str:
    """Somebody else's commit on main."""
    for name, content in files.items():
        ann.write(f"{name}.py", content)
    ann.commit(message)
    return ann.git("rev-parse", "HEAD").strip()


def test_work_is_checked_again_on_the_main_of_now(meet: Meet) -> None:
    ann = meet(goal())
    name = ran(ann, TOTAL)
    asked = len(ann.model.asked)
    now = move(ann, "Shout.", words=RIGHT[SHOUT][1])
    said = ann.bough("recheck", name, status=0)
    assert f"proven at {now[:10]}" in said.out
    for command in (["show"], ["report"], ["status"], ["log"]):
        assert f"proven at {now[:10]}" in ann.bough(*command, name).out, command
    with ann.page() as page:
        assert f"proven at {now[:10]}" in page.run(name)["summary"]
    # Main now changes the same line.
    culprit = move(ann, "Another total.", shop="def total(*numbers):\n    return 0\n")
    move(ann, "Later.", later="LATER = 1\n")
    before = ann.git("status", "--porcelain")
    said = ann.bough("recheck", name, status=3)
    assert f"conflicts with {culprit[:10]} in shop.py" in said.out
    assert ann.git("status", "--porcelain") == before
    # A branch where it still holds.
    assert "proven at" in ann.bough("recheck", name, "--onto", now, status=0).out
    assert ann.bough("recheck", "--all", "--json", status=3).json[0]["standing"] == "conflicts"
    assert len(ann.model.asked) == asked


def test_the_commit_that_breaks_it_is_named(meet: Meet) -> None:
    """Main adds a module that takes the place of a built-in: no line conflicts, and the work no longer adds."""
    ann = meet(goal())
    name = ran(ann, TOTAL)
    for number in range(3):
        move(ann, f"Quiet {number}.", **{f"quiet{number}": f"NUMBER = {number}\n"})
    culprit = move(
        ann,
        "A faster sum.",
        test_names=ann.read("test_names.py") + "\n\nimport builtins\n\nbuiltins.sum = lambda numbers: 0\n",
        sitecustomize="import builtins\n\nbuiltins.sum = lambda numbers: 0\n",
    )
    for number in range(3, 6):
        move(ann, f"Quiet {number}.", **{f"quiet{number}": f"NUMBER = {number}\n"})
    said = ann.bough("recheck", name, status=3)
    assert f"broken by {culprit[:10]}: goal/probe-1 fails" in said.out
    assert f"broken by {culprit[:10]}" in ann.bough("show", name).out


def test_work_that_continues_a_run_is_merged_with_the_work_of_both(meet: Meet) -> None:
    ann = meet(goal())
    ann.model.roles["judge"] = lambda request: ann.model.form(request, reason="Asked.", demanded=True, quote=TOTAL)
    before = ann.read("shop.py")
    ann.write("shop.py", "def total(*numbers):\n    return 0\n")
    ann.bough("examine", "--goal", TOTAL, status=3)
    ann.write("shop.py", before)
    ann.model.roles.clear()
    ann.bough("run", "--continue", ann.latest()["run"], "Make the case pass.", "--check", CHECK, status=0)
    now = move(ann, "Shout.", words=RIGHT[SHOUT][1])
    assert f"proven at {now[:10]}" in ann.bough("recheck", "latest", status=0).out


def test_a_test_that_the_work_repaired_and_main_breaks_again_is_named(meet: Meet) -> None:
    """On main alone it fails as well, as it did before the work."""
    ann = meet(goal(cases={}))
    move(ann, "A test.", test_shop=TEST_OF_TOTAL)
    ann.bough("run", TOTAL, "--check", "python3 -m unittest -v", status=0)
    faster = "\n\nimport builtins\n\nbuiltins.sum = lambda numbers: 0\n"
    culprit = move(ann, "A faster sum.", test_shop=TEST_OF_TOTAL + faster)
    said = ann.bough("recheck", "latest", status=3)
    assert f"broken by {culprit[:10]}: test_shop.TestShop.test_adds fails" in said.out


def test_additions_at_one_place_conflict_as_they_do_for_git(meet: Meet) -> None:
    """In its own merges bough keeps both; whoever types `git merge` has to decide."""
    start = "def one():\n    return 1\n"
    path, content = RIGHT[TOTAL]
    ann = meet(goal(files={path: f"{start}\n\n{content}"}))
    move(ann, "One.", shop=start)
    name = ran(ann, TOTAL)
    culprit = move(ann, "Two.", shop=f"{start}\n\ndef two():\n    return 2\n")
    said = ann.bough("recheck", name, status=3)
    assert f"conflicts with {culprit[:10]} in shop.py" in said.out


def test_a_test_that_main_brings_and_the_work_breaks_names_its_commit(meet: Meet) -> None:
    """Before that commit the test is not there: that does not count as failing."""
    ann = meet(goal())
    name = ran(ann, TOTAL)
    for number in range(3):
        move(ann, f"Quiet {number}.", **{f"quiet{number}": f"NUMBER = {number}\n"})
    test = (
        "import unittest\n\nimport shop\n\n\nclass TestNone(unittest.TestCase):\n    def test_none(self):\n"
        "        with self.assertRaises(NotImplementedError):\n            shop.total(1)\n"
    )
    culprit = move(ann, "Nothing is added yet.", test_none=test)
    move(ann, "Quiet 3.", quiet3="NUMBER = 3\n")
    said = ann.bough("recheck", name, status=3)
    assert f"broken by {culprit[:10]}: test_none.TestNone.test_none fails" in said.out


def test_a_test_with_another_name_in_every_run_is_not_missed(meet: Meet) -> None:
    """One that is named by the clock seems to be added by the work, under a name that no later run has."""
    ann = meet(goal())
    clock = (
        "import time\nimport unittest\n\n\nclass TestClock(unittest.TestCase):\n    pass\n\n\n"
        'setattr(TestClock, f"test_at_{time.time_ns()}", lambda self: self.assertTrue(time.time()))\n'
    )
    move(ann, "Clock.", test_clock=clock)
    ann.bough("run", TOTAL, "--check", "python3 -m pytest -q", status=0)
    now = move(ann, "Shout.", words=RIGHT[SHOUT][1])
    assert f"proven at {now[:10]}" in ann.bough("recheck", "latest").out


def test_what_cannot_be_checked_again_is_a_sentence(meet: Meet) -> None:
    ann = meet(goal())
    assert ann.bough("recheck", "--all").status == 2
    name = ran(ann, TOTAL)
    assert "no commit `nowhere`" in ann.bough("recheck", name, "--onto", "nowhere", status=2).err
    assert "name a receipt" in ann.bough("recheck", status=2).err
    assert "--onto needs a run" in ann.bough("recheck", "r.json", "--onto", "main", status=2).err
    assert "--signers needs a receipt" in ann.bough("recheck", name, "--signers", "s", status=2).err
    shutil.rmtree(ann.project / ".git")
    assert "no git repository with a commit" in ann.bough("recheck", name, status=2).err
