"""A change that somebody else made is judged: proven, refuted, not shown, or for the person to decide."""

import asyncio
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.journeys.conftest import Meet
from tests.journeys.model import Goal, Request, text_of
from tests.journeys.person import BIN, CHECK, RIGHT, SHOUT, TOTAL, Person, goal
from tests.sampling import sample
from tests.wire import Reply

WRONG = "def total(*numbers):\n    return sum(numbers[:2])\n"


def branch(ann: Person, content: str = RIGHT[TOTAL][1], message: str = TOTAL, name: str = "add") -> None:
    """A branch of somebody's with a change of shop.py; the person is on main again."""
    ann.git("checkout", "-q", "-b", name)
    ann.write("shop.py", content)
    ann.commit(message)
    ann.git("checkout", "-q", "main")


def demands(ann: Person) -> None:
    """A judge that finds what a case asserts in the request."""

    def judge(request: Request) -> Reply:
        return ann.model.form(request, reason="The request says so.", demanded=True, quote=TOTAL)

    ann.model.roles["judge"] = judge


def state(ann: Person) -> tuple[str, str, str]:
    """Everything of the person's that an examination could touch."""
    files = "".join(f"{path}{path.read_text()}" for path in sorted(ann.project.glob("*.py")))
    return files, ann.git("status", "--porcelain"), ann.git("for-each-ref") + ann.git("rev-parse", "HEAD")


@pytest.mark.parametrize("what", sample(["add", "main..add", "main...add", "add~0", "patch", "mail", ""], 3))
def test_a_right_change_is_proven_in_every_form(meet: Meet, what: str, tmp_path: Path) -> None:
    ann = meet(goal())
    branch(ann)
    more: list[str] = []
    if what == "patch":
        what = str(tmp_path / "a.patch")
        Path(what).write_text(ann.git("diff", "main", "add") + "\n")
        more = ["--goal", TOTAL]
    elif what == "mail":
        what = str(tmp_path / "0001.patch")
        Path(what).write_text(ann.git("format-patch", "--stdout", "main..add") + "\n")
    elif not what:
        ann.write("shop.py", RIGHT[TOTAL][1])
        more = ["--goal", TOTAL]
    before = state(ann)
    said = ann.bough("examine", *([what] if what else []), *more, status=0)
    assert TOTAL in said.out and "proven" in said.out
    assert ann.evidence() == [(TOTAL, "proven")]
    assert state(ann) == before
    # Nobody was asked to do anything: what was asked is read, and examined; no author, no planner.
    assert [role for role, _ in ann.model.asked] == ["gate", "examiner"]
    assert "proven" in ann.bough("show").out


def test_a_wrong_change_is_refuted_by_a_case_that_the_person_can_run(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann, WRONG)
    demands(ann)
    before = state(ann)
    said = ann.terminal("examine", "add", answers={}, kind="xterm")
    assert said.status == 3 and "refuted" in said.out and ann.evidence() == [(TOTAL, "refuted")]
    # However narrow the terminal is, the line is whole.
    line = re.sub("\x1b\\[[0-9;]*m", "", next(line for line in said.out.splitlines() if "cp .bough/cases/" in line))
    assert state(ann) == before
    # The command that was printed fails on the change and passes on a right one.
    for content, status in ((WRONG, 1), (RIGHT[TOTAL][1], 0)):
        ann.write("shop.py", content)
        done = subprocess.run(["sh", "-c", line], cwd=ann.project, env=ann.env, capture_output=True, text=True)
        assert done.returncode == status, done


def test_a_case_that_nothing_demands_refutes_nothing(meet: Meet) -> None:
    """The examiner asserts too much, and a judge says so: what is left shows nothing."""
    text = "from shop import total\nassert total('a', 'b') == 'ab'"
    ann = meet(goal(cases={TOTAL: text}))
    branch(ann)
    said = ann.bough("examine", "add", status=5)
    assert "not shown" in said.out and ann.evidence() == [(TOTAL, "not shown")]


def test_a_judge_sees_what_cases_rest_on_and_rules_on_alike_ones_at_once(meet: Meet) -> None:
    ann = meet(goal())
    ann.write("README.md", "# Shop\n\n`total` of no number gives None.\n")
    branch(ann)
    says = ("total() is None.", "total(*[]) is None.")

    def examine(request: Request) -> Reply:
        calls = [] if "Nothing shows these yet" in text_of(request) else ["total()", "total(*[])"]
        bodies = [f"from shop import total\nassert {call} is None\n" for call in calls]
        quoted = {"requirement": 1, "quote": "of no number gives None"}
        return ann.model.form(
            request, probes=[{"says": say, "text": body, **quoted} for say, body in zip(says, bodies, strict=False)]
        )

    ann.model.roles["examiner"] = examine
    ann.bough("examine", "add", status=5)
    (asked,) = map(text_of, ann.model.requests("judge"))
    assert all(say in asked for say in says) and ann.kinds().count("ProbeRuled") == 2
    assert "These words are in `README.md`" in asked and "`total` of no number gives None." in asked
    assert "Without the work it fails, too." in asked and "faulty itself" in asked


def test_a_change_that_breaks_a_test_is_refuted_without_a_model(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann, "def tote(*numbers):\n    return sum(numbers)\n")
    said = ann.bough("examine", "add", status=3)
    assert "test_there" in said.out and not ann.model.asked


TOTE = "Make `tote` in shop.py add its arguments."


def rename(ann: Person, content: str) -> None:
    """A branch that breaks an original test and changes it."""
    ann.git("checkout", "-q", "-b", "add")
    ann.write("shop.py", content)
    ann.write("test_names.py", ann.read("test_names.py").replace("shop.total and ", ""))
    ann.commit(TOTE)
    ann.git("checkout", "-q", "main")


def test_a_changed_test_needs_the_persons_word_beside_what_the_cases_show(meet: Meet) -> None:
    ann = meet(Goal(TOTE, {}, {TOTE: "from shop import tote\nassert tote(2, 3) == 5"}))
    rename(ann, "def tote(*numbers):\n    return sum(numbers)\n")
    said = ann.bough("examine", "add", status=8)
    assert "needs your word" in said.out and "test_there" in said.all
    name = ann.latest()["run"]
    kinds = ann.kinds(name)
    assert kinds.index("ProbesFinished") < kinds.index("RunHalted") and "1 case passed" in said.out
    ann.bough("approve", name, status=0)
    assert ann.evidence() == [(TOTE, "proven")] and ann.kinds(name).count("ProbesFinished") == 1


def test_a_changed_test_that_the_person_denies_refutes_the_change(meet: Meet) -> None:
    ann = meet(Goal(TOTE, {}, {}))
    rename(ann, "def tote(*numbers):\n    return sum(numbers)\n")
    ann.bough("examine", "add", status=8)
    name = ann.latest()["run"]
    ann.bough("approve", name, "--deny")
    ann.bough("resume", name, status=3)
    assert "refuted" in ann.bough("show", name).out


def test_what_is_refuted_can_be_repaired(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann, WRONG)
    demands(ann)
    ann.bough("examine", "add", status=3)
    name = ann.latest()["run"]
    ann.model.roles.clear()
    ann.model.asked.clear()
    ann.bough("run", "--continue", name, "Make the case pass", "--check", CHECK, status=0)
    assert "return sum(numbers)\n" in ann.bough("diff").out and ann.evidence() == [(TOTAL, "proven")]
    # Who repairs it sees the case.
    assert "assert total(2, 3, 4) == 9" in text_of(ann.model.requests("author")[0])


# ── a run like any other ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_killed_examination_resumes_where_it_was(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann)
    reached, free = threading.Event(), threading.Event()

    def examiner(request: Request) -> None:
        reached.set()
        free.wait(240)

    ann.model.roles["examiner"] = examiner
    process = ann.start("examine", "add")
    assert reached.wait(240)
    ann.kill(process)
    free.set()
    ann.model.roles.clear()
    said = ann.bough("resume", status=0)
    assert "proven" in said.out and ann.evidence() == [(TOTAL, "proven")]
    # The check of the change ran once, before the kill.
    assert ann.kinds().count("CheckFinished") == 1
    with ann.page() as page:
        assert page.run(ann.latest()["run"])["words"] == "proven"


def test_the_branch_is_compared_with_where_it_left_main(meet: Meet) -> None:
    """What main got meanwhile is no part of the change."""
    ann = meet(goal())
    branch(ann)
    ann.write("words.py", RIGHT[SHOUT][1])
    ann.commit("Shout.")
    ann.bough("examine", "add", status=0)
    assert "words.py" not in ann.bough("diff").out


def test_what_two_commits_say_is_asked_once(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann)
    ann.git("checkout", "-q", "add")
    for message in ("fixup! " + TOTAL, TOTAL):
        ann.git("commit", "-q", "--allow-empty", "-m", message)
    ann.git("checkout", "-q", "main")
    assert "the branch add (3 commits)" in ann.bough("examine", "add", status=0).out
    assert ann.evidence() == [(TOTAL, "proven")]


# ── what cannot be examined ─────────────────────────────────────────────────────────────────────────────────────────


def refused(ann: Person, *args: str) -> str:
    said = ann.bough("examine", *args, status=2)
    assert said.err.startswith("bough: ") and said.err.count("\n") == 1
    assert not ann.model.asked and not ann.runs()
    return said.err


def test_bad_input_is_a_sentence(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann)
    assert "neither a branch, a commit, a range A..B nor a patch file" in refused(ann, "nowhere")
    assert "no commit `nowhere`" in refused(ann, "main..nowhere")
    assert "no commit `nowhere`" in refused(ann, "add", "--base", "nowhere")
    assert "no file differs in your uncommitted changes" in refused(ann)
    assert "empty" in refused(ann, "add..main")
    assert "there is no such folder" in refused(ann, "add", "--receipt", "nowhere/r.json")
    assert "mutually exclusive" in refused(ann, "add", "--goal", TOTAL, "--goal-file", "goal.md")
    assert "the first commit" in refused(ann, ann.git("rev-list", "--max-parents=0", "HEAD").strip())
    ann.write("shop.py", "")
    assert "Nothing says what your uncommitted changes should achieve" in refused(ann)
    ann.git("checkout", "-q", "shop.py")
    ann.write("empty.patch", "no diff here\n")
    assert "does not apply" in refused(ann, "empty.patch", "--goal", TOTAL)
    (ann.project / "empty.patch").unlink()
    branch(ann, message="wip", name="vague")
    assert "asks for nothing that a test could show" in refused(ann, "vague")


def test_a_model_that_does_not_answer_is_said_alone(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann)
    said = ann.bough("examine", "add", "--base-url", "http://127.0.0.1:9/v1", status=7)
    assert "Nothing answers at 127.0.0.1:9" in said.all and "bough: " not in said.err


def test_a_merge_commit_is_asked_about(meet: Meet) -> None:
    ann = meet(goal())
    branch(ann)
    ann.git("merge", "-q", "--no-ff", "-m", TOTAL, "add")
    assert "HEAD^1..HEAD" in refused(ann, "HEAD")
    ann.bough("examine", "HEAD^1..HEAD", status=0)


def test_a_shallow_clone_says_what_it_lacks(meet: Meet, tmp_path: Path) -> None:
    ann = meet(goal())
    branch(ann)
    ann.git("clone", "-q", "--depth=1", "--branch", "add", f"file://{ann.project}", str(tmp_path / "shallow"))
    ann.project = tmp_path / "shallow"
    assert "git fetch --unshallow" in refused(ann, "HEAD")
    assert "lacks the commit `HEAD~1`: run `git fetch --unshallow`" in refused(ann, "HEAD~1..HEAD")


def test_a_change_of_thousands_of_files_is_refused(meet: Meet) -> None:
    ann = meet(goal())
    ann.git("checkout", "-q", "-b", "add")
    for number in range(3_001):
        ann.write(f"data/{number}.txt", f"{number}\n")
    ann.commit(TOTAL)
    assert "3,001 files" in refused(ann, "add", "--base", "main")


def test_only_binary_files_show_nothing(meet: Meet) -> None:
    ann = meet(goal())
    ann.git("checkout", "-q", "-b", "add")
    (ann.project / "logo.png").write_bytes(b"\x89PNG\0\1\2\3" * 10)
    ann.commit("Make the logo rounder and smaller.")
    assert "only binary files (logo.png)" in refused(ann, "add", "--base", "main")


def test_a_tree_that_would_leave_the_checkout_is_refused(meet: Meet) -> None:
    """git itself never makes such a tree; a repository that somebody packed may have one."""
    ann = meet(goal())
    blob = ann.shell("echo owned | git hash-object -w --stdin").strip()
    inner = ann.shell(f"printf '100644 blob {blob}\\tpwned.py\\n' | git mktree").strip()
    tree = ann.shell(f"(git ls-tree HEAD; printf '040000 tree {inner}\\t..\\n') | git mktree").strip()
    commit = ann.git("commit-tree", "-p", "HEAD", "-m", TOTAL, tree).strip()
    assert "invalid path" in ann.bough("examine", commit, status=1).err
    assert not list(ann.project.rglob("pwned.py"))


def test_a_base_that_does_not_build_refutes_nothing(meet: Meet) -> None:
    ann = meet(goal())
    ann.write("bounds.py", "def clamp(number, low, high:\n")
    ann.commit("Break it.")
    branch(ann)
    said = ann.bough("examine", "add", status=5)
    assert "the check fails without the change, too" in said.out and not ann.model.asked


def test_the_items_of_an_enumeration_are_requirements_where_the_model_names_them(meet: Meet) -> None:
    ann = meet(goal())
    items = ["`total` in shop.py should add two positive numbers", "three numbers of any sign"]
    ann.model._gate = lambda request: ann.model.form(  # type: ignore[method-assign]
        request, reason="One function.", steps=1, atomic=True, requirements=items
    )
    ann.write("shop.py", RIGHT[TOTAL][1])
    ann.bough("examine", "--goal", f"{items[0]}, {items[1]}.")
    assert [text.strip(" ,.") for text, _ in ann.evidence()] == items


def test_what_is_not_installed_here_refutes_nothing(meet: Meet) -> None:
    """The change says itself that it needs something new. An import that nothing declares is a fault of the change."""
    ann = meet(goal())
    for name, files in (("declared", {"requirements.txt": "surely_not_installed\n"}), ("forgotten", {})):
        ann.git("checkout", "-q", "-b", name)
        for path, content in files.items():
            ann.write(path, content)
        ann.write("shop.py", "import surely_not_installed\n\n" + RIGHT[TOTAL][1])
        ann.commit(TOTAL)
        ann.git("checkout", "-q", "main")
    ann.bough("examine", "forgotten", status=3)
    said = ann.bough("examine", "declared", status=5)
    assert "surely_not_installed" in said.out and "cannot run here with the change" in said.out


def test_what_failed_before_does_not_count_against_the_change(meet: Meet) -> None:
    ann = meet(goal())
    ann.write(
        "test_old.py",
        "import unittest\n\n\nclass TestOld(unittest.TestCase):\n    def test_old(self):\n        self.fail()\n",
    )
    ann.commit("A test that fails.")
    branch(ann)
    said = ann.bough("examine", "add", status=0)
    assert "--accept-failing" not in said.all, "it is no option here"
    assert "fails as it did before" in said.out and ann.evidence() == [(TOTAL, "proven")]


@pytest.mark.parametrize("here", [True, False], ids=["fetched", "elsewhere"])
def test_a_pull_request_is_read_with_the_persons_own_client(meet: Meet, tmp_path: Path, here: bool) -> None:
    ann = meet(goal())
    branch(ann, message="Sum.")
    commits = ann.git("rev-parse", "main").strip(), ann.git("rev-parse", "add").strip() if here else "0" * 40
    told = [TOTAL, "", "main", *commits]
    (tmp_path / "bin").mkdir()
    (tmp_path / "diff").write_text(ann.git("diff", "main", "add"))
    (tmp_path / "view").write_text(json.dumps(told))
    program = tmp_path / "bin" / "gh"
    asked = {"diff 7": "diff", "repos/{owner}/{repo}/pulls/7 --jq": "view"}
    answers = "".join(f'"{words}") cat "{tmp_path}/{file}" ;;\n' for words, file in asked.items())
    program.write_text(f'#!/bin/sh\ncase "$2 $3" in\n{answers}*) exit 1 ;;\nesac\n')
    program.chmod(0o755)
    if not here:
        ann.git("branch", "-D", "add")
    ann.extra["PATH"] = f"{program.parent}:{ann.env['PATH']}"
    said = ann.bough("examine", "#7", status=0)
    assert "the pull request #7" in said.out and (TOTAL, "proven") in ann.evidence()
    assert "`gh api` failed" in ann.bough("examine", "#8").err
    program.unlink()
    (program.parent / "git").symlink_to(shutil.which("git") or "")
    ann.extra["PATH"] = str(program.parent)  # nor one of the system's
    assert "install it" in ann.bough("examine", "#7").err


def test_a_goal_that_asks_for_nothing_proves_nothing(meet: Meet) -> None:
    ann = meet(goal(cases={}))
    branch(ann, message="Some thoughts about the shop.")

    def examiner(request: Request) -> Reply:
        return ann.model.form(request, probes=[], kinds=[{"requirement": 1, "kind": "background"}])

    ann.model.roles["examiner"] = examiner
    said = ann.bough("examine", "add", status=5)
    assert "asks for something that could be shown" in said.out


def test_another_agent_has_its_work_judged_before_it_says_done(meet: Meet) -> None:
    ann = meet(goal())
    demands(ann)

    async def work() -> None:
        started = StdioServerParameters(
            command=str(BIN / "bough"), args=["mcp", "--dir", str(ann.project)], env=ann.env
        )
        async with Client(started) as client:
            for content, status, standing in ((WRONG, "failed", "refuted"), (RIGHT[TOTAL][1], "completed", "proven")):
                ann.write("shop.py", content)
                answer = await client.call_tool("examine", {"goal": TOTAL})
                found = answer.structured_content
                assert found and found["status"] == status, answer.content
                assert [row["standing"] for row in found["evidence"]] == [standing]
            empty = await client.call_tool("examine", {"goal": TOTAL, "what": "--model"})
            assert empty.is_error and "neither a branch" in str(empty.content)

    asyncio.run(work())
