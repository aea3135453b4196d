"""One task from its goal to its end: real git, real SQLite, real tools and checks; only the model is scripted."""

import asyncio
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.errors import RequestRefused, TransientError
from bough.core.messages import Answer, Call, UserMessage
from bough.core.tree.task_state import State
from bough.engine import perform
from bough.testing import Fuse, ScriptedModel, call, say
from bough.testing.fuse import FuseBlown
from tests.answers import combine_answers, raw_call
from tests.harness import CALC, CHECK, FIXED, TEST, begin, git, journal_of, make_project, resume, run_to_end
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

FIX = call("edit", path="calc.py", old="a - b", new="a + b")
BREAK = call("edit", path="calc.py", old="a - b", new="a * b")
DONE = call("done", summary="add adds")
READ = call("read", path="calc.py")


def test_a_goal_is_completed_by_its_check_and_by_nothing_else(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = run_to_end(project, [call("read", path="calc.py"), FIX, DONE], check=CHECK)
    assert (outcome.status, outcome.exit_status, outcome.completed) == ("completed", 0, True)
    assert journal.states() == ["in_progress", "testing", "completed"]
    (goal,) = outcome.tree
    assert goal.state is State.COMPLETED
    assert goal.verdict is not None
    assert goal.verdict.exit_status == 0
    assert goal.verdict.tree == goal.tree
    assert goal.files == ("calc.py",)
    assert (project / "calc.py").read_text() == CALC, "the person's tree stays as it was until `apply`"


@in_turn
def test_the_verdict_goes_against_a_false_claim_and_a_fresh_bug_hunter_repairs(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    model = ScriptedModel(
        [BREAK, call("note", kind="dead_end", text="multiplying is not adding"), DONE, FIX, call("done", summary="now")]
    )
    model._script[3] = call("edit", path="calc.py", old="a * b", new="a + b")  # type: ignore[index]
    outcome, journal = run_to_end(project, model, check=CHECK)
    assert outcome.completed
    assert journal.states() == ["in_progress", "testing", "test_failed", "in_progress", "testing", "completed"]
    builder, hunter = journal.of(e.AttemptStarted)
    assert (builder.role, hunter.role) == ("builder", "bug_hunter")
    assert "AssertionError: 6 != 5" in hunter.brief
    assert "+    return a * b" in hunter.brief
    assert "multiplying is not adding" in hunter.brief
    assert len(model.prompts[3].messages) == 1, "the bug hunter starts from a fresh context"


def test_three_repairs_and_no_more_then_failed_with_the_work_kept(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = run_to_end(project, [BREAK, DONE, DONE, DONE, DONE], choices=app.Choices(max_depth=0))
    assert (outcome.status, outcome.exit_status) == ("failed", 3)
    assert [a.role for a in journal.of(e.AttemptStarted)] == ["builder", "bug_hunter", "bug_hunter", "bug_hunter"]
    assert [a.tier for a in journal.of(e.AttemptStarted)] == ["main", "main", "main", "strong"]
    (checkpoint,) = journal.of(e.CheckpointMade)
    assert git(project / ".bough" / "repo.git", "show", f"{checkpoint.commit}:calc.py").endswith("a * b\n")


def test_without_a_check_it_is_finished_and_not_proven(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "test_calc.py").unlink()
    outcome, journal = run_to_end(project, [FIX, DONE, DONE], check=None)
    assert (outcome.status, outcome.exit_status) == ("not_proven", 5)
    assert outcome.tree[0].state is State.BLOCKED
    assert [a.role for a in journal.of(e.AttemptStarted)] == ["builder", "test_writer"]


@in_turn
def test_without_a_check_the_projects_own_tests_are_found(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = run_to_end(project, [FIX, DONE], check=None)
    assert outcome.completed
    (started,) = journal.of(e.CheckStarted)
    assert "unittest" in started.command
    assert started.found


@in_turn
@pytest.mark.parametrize(
    ("answer", "told"),
    sample(
        [
            (say("I would now edit the file."), "called no tool"),
            (Answer(), "empty"),
            (Answer(text="half a sent", stop="length"), "cut off"),
            (Answer(text="I cannot help with that.", stop="refusal"), "declined"),
            (raw_call("edit", '{"path": "calc.py", '), "JSON"),
            (call("edt", path="calc.py"), "edit"),
            (call("edit", path="calc.py"), "old"),
        ],
        3,
    ),
)
def test_unusable_answers_are_reported_to_the_model_which_continues(tmp_path: Path, answer: Answer, told: str) -> None:
    project = make_project(tmp_path / "p")
    model = ScriptedModel([answer, FIX, DONE])
    outcome, _ = run_to_end(project, model)
    assert outcome.completed
    last = model.prompts[1].messages[-1]
    assert told in getattr(last, "text", "")


@pytest.mark.parametrize("answer", [say("hm"), raw_call("edit", "{"), call("nonsense")])
def test_unusable_answers_are_bounded(tmp_path: Path, answer: Answer) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = run_to_end(project, lambda prompt: answer)
    assert (outcome.status, outcome.exit_status) == ("failed", 3)
    assert "5 unusable answers" in outcome.summary
    assert len(journal.of(e.ModelAnswered)) == 2 * 5, "and once more with a fresh context"
    assert len(journal.of(e.ContextPruned)) == 1


def test_transport_errors_are_retried_recorded_and_not_counted_as_rounds(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.05\n")
    outcome, journal = run_to_end(
        project, [TransientError("429"), TransientError("503", retry_after=0.05), FIX, TransientError("cut"), DONE]
    )
    assert outcome.completed
    failures = journal.of(e.ModelFailed)
    assert [failure.message for failure in failures] == ["429", "503", "cut"]
    assert failures[1].wait == pytest.approx(0.05)
    assert outcome.spend.rounds == 2


def test_a_model_that_stays_away_halts_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nmax_transport_failures = 3\n")
    outcome, journal = run_to_end(project, lambda prompt: _raise(TransientError("no route")))
    assert (outcome.status, outcome.exit_status) == ("unavailable", 7)
    assert journal.states() == ["in_progress"], "a transport error is never the agent's failure"


def _raise(error: Exception) -> Answer:
    raise error


def test_a_refusal_of_the_service_halts_at_once_with_its_sentence(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = run_to_end(project, [RequestRefused("The key was not accepted: set OPENAI_API_KEY.")])
    assert (outcome.status, outcome.exit_status) == ("unavailable", 7)
    assert "OPENAI_API_KEY" in outcome.summary
    assert len(journal.of(e.ModelFailed)) == 1


def test_the_last_round_is_a_hand_over_and_then_the_budget_is_spent(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    model = ScriptedModel(
        [
            call("read", path="calc.py"),
            BREAK,
            combine_answers(call("note", kind="decision", text="left: the sign"), FIX),
        ]
    )
    outcome, journal = run_to_end(project, model, choices=app.Choices(rounds=3))
    assert (outcome.status, outcome.exit_status) == ("budget", 4)
    assert {tool.name for tool in model.prompts[2].tools} == {"done", "note"}
    assert isinstance(model.prompts[2].messages[-1], UserMessage)
    assert journal.of(e.NoteKept)[0].text == "left: the sign"
    refused = journal.of(e.ToolFinished)[-1]
    assert not refused.ok, "a tool that was not offered does not run either"
    assert outcome.spend.rounds == 3


def test_a_claim_in_the_hand_over_round_is_checked(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, _ = run_to_end(project, [FIX, DONE], choices=app.Choices(rounds=2))
    assert outcome.completed


@pytest.mark.parametrize("failing", [BREAK.calls[0], call("bash", command="exit 3").calls[0]])
def test_a_claim_in_one_breath_with_something_that_failed_does_not_count(tmp_path: Path, failing: Call) -> None:
    project = make_project(tmp_path / "p")
    (project / "calc.py").write_text(CALC.replace("a - b", "a / b"))
    mend = call("edit", path="calc.py", old="a / b", new="a + b")
    at_once = combine_answers(Answer(calls=(failing,)), DONE)
    model = ScriptedModel([at_once, mend, combine_answers(call("read", path="gone.py"), DONE)])
    outcome, journal = run_to_end(project, model)
    assert outcome.completed
    assert journal.states() == ["in_progress", "testing", "completed"], "only the second claim was checked"
    assert "a call before it in the same answer failed" in journal.of(e.ToolFinished)[1].output
    assert len(journal.of(e.DoneClaimed)) == 1, "a file that is not there to be read does not stand against a claim"


def test_a_claim_in_the_hand_over_round_counts_whatever_else_was_tried(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, _ = run_to_end(project, [FIX, combine_answers(BREAK, DONE)], choices=app.Choices(rounds=2))
    assert outcome.completed


def test_money_and_tokens_are_limits_too(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    dear = call("read", path="calc.py")
    dear = Answer(calls=dear.calls, stop="calls", cost=0.6)
    outcome, _ = run_to_end(project, lambda prompt: dear, choices=app.Choices(cost=1.0))
    assert outcome.exit_status == 4
    assert "1.0 US dollars" in outcome.summary


def test_reading_calls_of_a_round_run_at_once_and_writing_ones_in_order(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    both = combine_answers(
        call("read", path="calc.py"),
        call("list"),
        call("write", path="a.txt", content="1"),
        call("bash", command="cat a.txt > b.txt"),
        call("read", path="b.txt"),
    )
    _, journal = run_to_end(project, [both, FIX, DONE])
    kinds = [type(event).__name__ for event in journal.of(e.ToolStarted, e.ToolFinished)][:10]
    started, finished = "ToolStarted", "ToolFinished"
    assert kinds == [started, started, finished, finished, started, finished, started, finished, started, finished]
    results = journal.of(e.ToolFinished)[:5]
    assert "1" in results[4].output
    assert [bool(result.tree) for result in results] == [False, False, True, True, False]


@in_turn
def test_a_call_that_only_reads_is_written_with_its_result_or_shown_as_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def points(folder: str, reads: Answer) -> list[str]:
        fuse = Fuse()
        asyncio.run(begin(make_project(tmp_path / folder), ScriptedModel([reads, FIX, DONE]), fuse=fuse))
        return [point for point in fuse.points if "Tool" in point or "tool" in point]

    written = points("quick", READ)
    both = ["before append ToolStarted+ToolFinished", "after append ToolStarted+ToolFinished"]
    assert written[:4] == ["before tool read", "after tool read", *both]
    assert written[4:7] == ["before append ToolStarted", "after append ToolStarted", "before tool edit"]
    monkeypatch.setattr(perform, "QUICK", 0.0)
    assert points("slow", call("search", pattern="def"))[:4] == [
        "before tool search",
        "before append ToolStarted",
        "after append ToolStarted",
        "after tool search",
    ]


@in_turn
def test_a_read_that_a_crash_cut_off_runs_again(tmp_path: Path) -> None:
    project, fuse = make_project(tmp_path / "p"), Fuse()
    asyncio.run(begin(make_project(tmp_path / "q"), ScriptedModel([READ, FIX, DONE]), fuse=fuse))
    with pytest.raises(FuseBlown):
        fatal = Fuse(fuse.points.index("after tool read"))
        asyncio.run(begin(project, ScriptedModel([READ, FIX, DONE]), fuse=fatal))
    outcome = asyncio.run(resume(project, ScriptedModel([FIX, DONE])))
    first, *_ = asyncio.run(journal_of(project)).of(e.ToolFinished)
    assert outcome.completed and not first.interrupted and "a - b" in first.output


def test_what_a_check_leaves_behind_is_not_work(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, _ = run_to_end(project, [FIX, DONE], check="touch rubbish.txt && grep -q 'a + b' calc.py")
    assert outcome.completed
    assert outcome.tree[0].files == ("calc.py",)


def test_the_repository_speaks_through_agents_md(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "AGENTS.md").write_text("Use tabs {everywhere}.\n")
    _, journal = run_to_end(project, [FIX, DONE])
    assert "Use tabs {everywhere}." in journal.of(e.AttemptStarted)[0].system


def test_long_output_is_cut_for_the_model_and_kept_whole(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    _, journal = run_to_end(project, [call("bash", command="seq 1 100000"), FIX, DONE])
    result = journal.of(e.ToolFinished)[0]
    assert len(result.output) < 20_000
    assert result.blob


def test_works_in_a_plain_folder(tmp_path: Path) -> None:
    plain = make_project(tmp_path / "plain", repository=False)
    outcome, _ = run_to_end(plain, [FIX, DONE])
    assert outcome.completed


@pytest.mark.parametrize("folder", ["part", ".github"])
def test_works_in_the_folder_where_the_person_stands(tmp_path: Path, folder: str) -> None:
    make_project(tmp_path / "top" / folder, repository=False)
    git(tmp_path, "init", "-q", "top")
    outcome, _ = run_to_end(tmp_path / "top" / folder, [FIX, DONE])
    assert outcome.completed
    assert outcome.tree[0].files == (f"{folder}/calc.py",)


def test_apply_brings_it_into_the_persons_tree(tmp_path: Path) -> None:
    import asyncio

    project = make_project(tmp_path / "p")
    outcome, _ = run_to_end(project, [FIX, DONE])

    async def apply() -> list[str]:
        async with app.open_session(project) as session:
            return [change.path for change in await session.apply(outcome.run)]

    assert asyncio.run(apply()) == ["calc.py"]
    assert (project / "calc.py").read_text() == FIXED
    assert git(project, "status", "--porcelain") == " M calc.py\n"


@in_turn
def test_an_editable_install_does_not_hide_the_workspaces_own_sources(tmp_path: Path) -> None:
    """A virtual environment in the project, with the project installed as editable, is the usual thing."""
    project = tmp_path / "p"
    (project / "src" / "calc").mkdir(parents=True)
    (project / "src" / "calc" / "__init__.py").write_text(CALC)
    (project / "test_calc.py").write_text(TEST)
    (project / "pyproject.toml").write_text("[project]\nname = 'calc'\nversion = '1'\n")
    (project / ".gitignore").write_text(".venv/\n")
    git(tmp_path, "init", "-q", "p")
    site = project / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "editable.pth").write_text(f"{project / 'src'}\n")
    # What `python` of such an environment does at its start, without making one: read its .pth files.
    start = "import site, unittest; site.addsitedir('.venv/lib/site-packages'); unittest.main('test_calc')"
    check = f'python3 -c "{start}"'
    fix = call("edit", path="src/calc/__init__.py", old="a - b", new="a + b")
    outcome, _ = run_to_end(project, [fix, DONE], check=check)
    assert outcome.completed, outcome.tree[0].verdict


@in_turn
def test_runs_that_start_at_once_get_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few names, so that several runs are sure to want the same one at the same moment."""
    import asyncio

    from bough.core.planning.plan import build_goal_step

    project = make_project(tmp_path / "p")
    monkeypatch.setattr("bough.app.project.RUN_NAMES", 12)

    async def work() -> list[str]:
        async with app.open_session(project, create=True) as session:
            step = build_goal_step("Make add add.", check="true")
            runs = (
                session.start(step, app.Choices(model=ScriptedModel([FIX, DONE])), app.RunObserver()) for _ in range(8)
            )
            return [outcome.run for outcome in await asyncio.gather(*runs)]

    assert len(set(asyncio.run(work()))) == 8
