"""The door: a project's own environment comes along, and what it lacks is said before anything is spent."""

import asyncio
import socket
from pathlib import Path

import pytest

from bough.adapters.sandboxes.levels import Mode
from bough.app import Choices, RunObserver, open_session
from bough.core import events as e
from bough.core.errors import SetupFailed
from bough.core.messages import Answer
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call
from tests.engine.libraries import DONE, environment, library, look
from tests.harness import allow_settings, git, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["library"]


@in_turn
def test_an_ignored_environment_is_used(library: Path) -> None:
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.completed
    (base,) = journal.of(e.BaseChecked)
    assert base.command == ".venv/bin/python -m pytest" and base.environment == "the environment in .venv"
    assert (base.exit_status, base.passed, base.failed) == (0, 1, 0)
    records = [type(record.event) for record in journal.records]
    assert records.index(e.BaseChecked) < records.index(e.RoundStarted)


def test_what_is_missing_halts_before_anything_is_spent(library: Path) -> None:
    packages = environment(library)
    (packages / "only_here.py").unlink()
    asked: list[object] = []

    def answer(prompt: object) -> Answer:
        asked.append(prompt)
        return DONE[0]

    outcome, journal = run_to_end(library, answer, goal="Write NOTES.txt.", check=None)
    assert outcome.exit_status == 2 and not asked and not journal.of(e.RoundStarted)
    (halt,) = journal.of(e.RunHalted)
    assert halt.reason == "environment"
    assert "only_here is not installed (pyproject.toml names it)" in halt.message
    assert ".venv/bin/python -m pip install only_here" in halt.message


@in_turn
def test_a_mistyped_check_is_not_a_bug(library: Path) -> None:
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check="pytst -q")
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert "the command `pytst` is not found" in journal.of(e.RunHalted)[0].message


@in_turn
def test_a_module_that_the_work_will_write_is_not_missing(library: Path) -> None:
    environment(library)
    (library / "tests" / "test_new.py").write_text("from pairs import pairs\n\ndef test_it():\n    assert pairs()\n")
    new = call("write", path="pairs.py", content="def pairs():\n    return [1]\n")
    outcome, journal = run_to_end(library, [new, DONE[1]], goal="Make the tests pass.", check=None)
    assert outcome.completed, journal.of(e.RunHalted)
    assert journal.of(e.BaseChecked)[0].failed == 1


@in_turn
def test_files_variables_and_a_set_up_come_along(library: Path) -> None:
    environment(library)
    (library / ".env").write_text("# secret\nexport GREETING='hello there'\n")
    (library / "data").mkdir()
    (library / "data" / "rows.csv").write_text("1,2\n")
    (library / "local.cfg").write_text("on\n")
    (library / ".gitignore").write_text(".venv/\n.env\ndata/\nlocal.cfg\nmade.txt\n")
    (library / "bough.toml").write_text(
        '[workspace]\nlink = ["data"]\ncopy = ["local.cfg"]\nenv_file = ".env"\nsetup = "echo made > made.txt"\n'
        '[workspace.env]\nCOLOUR = "green"\n[check]\nbefore = "test -f made.txt"\n[check.env]\nONLY = "c"\n'
    )
    allow_settings(library)
    script = (
        'import os, pathlib as p\nassert p.Path("data/rows.csv").read_text() == "1,2\\n"\n'
        'assert p.Path("local.cfg").read_text() == "on\\n" and p.Path("made.txt").exists()\n'
        'assert (os.environ["GREETING"], os.environ["COLOUR"], os.environ["ONLY"]) == ("hello there", "green", "c")\n'
        'assert int(os.environ["PORT"]) > 0 and os.environ["BOUGH_TASK"]\n'
    )
    (library / "probe.py").write_text(script)
    spoil = call("bash", command="echo off > local.cfg; cat data/rows.csv; echo $GREETING-$ONLY; echo x > data/new")
    model = ScriptedModel([spoil, *DONE])
    outcome, journal = run_to_end(library, model, goal="Write NOTES.txt.", check="python3 probe.py")
    assert outcome.completed, [event.verdict for event in journal.of(e.CheckFinished)]
    said = journal.of(e.ToolFinished)[0].output
    assert "hello there-\n" in said and "1,2" in said
    assert not (library / "data" / "new").exists() and (library / "local.cfg").read_text() == "on\n"


@in_turn
def test_a_service_runs_alongside_each_checkout(library: Path) -> None:
    environment(library)
    (library / "bough.toml").write_text(
        '[services.web]\nrun = "python3 -m http.server $PORT --directory $DATA"\nbefore = "echo up > $DATA/state"\n'
        '[services.web.env]\nWEB_URL = "http://127.0.0.1:$PORT"\n'
    )
    allow_settings(library)
    (library / "probe.py").write_text(
        'import os, urllib.request as u\nassert u.urlopen(os.environ["WEB_URL"] + "/state").read() == b"up\\n"\n'
    )
    outcome, _ = run_to_end(library, DONE, goal="Write NOTES.txt.", check="python3 probe.py")
    assert outcome.completed


def test_a_set_up_that_fails_halts_the_run(library: Path) -> None:
    (library / "bough.toml").write_text('[workspace]\nsetup = "echo no network; exit 3"\n')
    allow_settings(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check="true")
    assert outcome.exit_status == 2 and "no network" in journal.of(e.RunHalted)[0].message


@in_turn
def test_a_red_suite_is_usable_when_the_person_says_so(library: Path) -> None:
    environment(library)
    test = library / "tests" / "test_pair.py"
    test.write_text(test.read_text() + "\ndef test_red():\n    assert 1 == 2\n")
    choices = Choices(accept_failing=True)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None, choices=choices)
    assert outcome.completed
    assert "1 test fails as it did before the" in journal.of(e.CheckFinished)[-1].verdict.reason
    worse = [call("write", path="pair.py", content="def pair(a, b):\n    return b, a\n"), DONE[1]]
    limited = Choices(accept_failing=True, rounds=2)
    outcome, journal = run_to_end(library, worse, goal="Worse.", check=None, choices=limited)
    assert not outcome.completed and journal.of(e.CheckFinished)[-1].verdict.ruling == "failed", "it is a new failure"


@in_turn
def test_the_check_can_be_replaced_on_the_way_and_afterwards(library: Path) -> None:
    environment(library)
    first, _ = run_to_end(library, DONE, goal="Write NOTES.txt.", check="pytst")
    assert first.exit_status == 2

    async def go_on() -> None:
        async with open_session(library) as opened:
            model = ScriptedModel(DONE)
            done = await opened.resume(first.run, Choices(model=model, check="test -f pair.py"), RunObserver())
            assert done.completed and (await opened.run(first.run)).plan.goal.test_command == "test -f pair.py"
            judged = await opened.verify(first.run, Choices(check="test -f NOTES.txt"), RunObserver())
            assert judged.verdict.ruling == "passed"
            judged = await opened.verify(first.run, Choices(check="test -f nowhere"), RunObserver())
            assert judged.verdict.ruling == "failed"
            assert (await opened.outcome(first.run)).exit_status == 5

    asyncio.run(go_on())


@in_turn
def test_a_package_of_the_monorepo_is_the_checkouts_own(library: Path) -> None:
    """Installed as editable in the environment, it would be the person's: not seen, and not what was changed."""
    packages = environment(library)
    (library / "lib" / "src").mkdir(parents=True)
    (library / "lib" / "src" / "helper.py").write_text("def help():\n    return 1\n")
    (library / "lib" / "pyproject.toml").write_text("[project]\nname = 'helper'\n")
    (packages / "__editable__.helper.pth").write_text(f"{library}/lib/src\n")
    app = library / "app"
    app.mkdir()
    (app / "pyproject.toml").write_text("[project]\nname = 'app'\n[tool.pytest.ini_options]\n")
    (app / "test_app.py").write_text("import helper\n\ndef test_it():\n    assert helper.help() == 1\n")
    assert run_to_end(app, DONE, goal="Write NOTES.txt.", check=None)[0].completed
    worse = [call("write", path="../lib/src/helper.py", content="def help():\n    return 2\n"), DONE[1]]
    outcome, journal = run_to_end(app, worse, goal="Worse.", check=None, choices=Choices(rounds=2))
    assert not outcome.completed
    assert journal.of(e.BaseChecked)[0].command == "cd app && ../.venv/bin/python -m pytest"


@in_turn
def test_a_command_that_only_the_end_of_a_check_needs_is_not_hunted(library: Path) -> None:
    """The tests fail at the base, so nobody knows yet that the linter after them is missing."""
    environment(library)
    (library / "pair.py").write_text("def pair(a, b):\n    return b, a\n")
    (library / "Makefile").write_text("test:\n\tpython3 -m pytest -q\n\tlinter pair.py\n")
    right = call("write", path="pair.py", content="def pair(a, b):\n    return a, b\n")
    model = ScriptedModel([right, DONE[1]])
    with pytest.raises(SetupFailed, match=r"All tests pass, but the command `linter` is not found\. Install linter"):
        run_to_end(library, model, goal="Fix pair.", check="make test")


def test_an_empty_submodule_is_named(library: Path) -> None:
    (library / ".gitmodules").write_text('[submodule "kit"]\n\tpath = tests/kit\n\turl = ../kit\n')
    (library / "Makefile").write_text("test:\n\ttests/kit/run tests\n")
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check="make test")
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    said = journal.of(e.RunHalted)[0].message
    assert "the git submodule tests/kit is empty" in said and "git submodule update --init" in said


@in_turn
def test_an_environment_is_used_without_a_sandbox_too(library: Path) -> None:
    environment(library)
    chosen = Choices(sandbox="none", trust_config=True)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None, choices=chosen)
    (base,) = journal.of(e.BaseChecked)
    assert (base.exit_status, base.passed) == (0, 1) and outcome.completed


NEEDY = """import urllib.request
def test_far():
    urllib.request.urlopen("http://far.example.org/")
def test_near():
    assert True
"""


@in_turn
def test_single_tests_that_cannot_run_are_set_aside(library: Path) -> None:
    environment(library)
    (library / "tests" / "test_far.py").write_text(NEEDY)
    (library / "tests" / "test_other.py").write_text("import somewhere\n\ndef test_it():\n    assert somewhere\n")
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    (base,) = journal.of(e.BaseChecked)
    assert set(base.aside) == {"tests/test_far.py::test_far", "tests/test_other.py"}, base
    assert not base.lacking and outcome.completed, journal.of(e.CheckFinished)
    assert "not runnable here" in journal.of(e.CheckFinished)[-1].verdict.reason
    # One that ran before the work fails it, whatever it lacks now.
    worse = [call("write", path="pair.py", content="import nowhere_at_all\n"), DONE[1]]
    outcome, journal = run_to_end(library, worse, goal="Worse.", check=None, choices=Choices(rounds=2))
    assert not outcome.completed and journal.of(e.CheckFinished)[0].verdict.ruling == "failed"


@in_turn
def test_a_running_service_that_commands_cannot_reach_is_said_to_run(library: Path) -> None:
    environment(library)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (library / "tests" / "test_pair.py").write_text(
            f"import socket\n\ndef test_it():\n    socket.create_connection(('localhost', {port})).close()\n"
        )
        _, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    (halt,) = journal.of(e.RunHalted)
    assert "answers on this machine" in halt.message and "--network loopback" in halt.message


@in_turn
def test_the_projects_own_set_up_is_offered_and_run(library: Path) -> None:
    packages = environment(library)
    (packages / "only_here.py").unlink()
    (library / ".github" / "workflows").mkdir(parents=True)
    (library / ".github" / "workflows" / "ci.yml").write_text("steps:\n  - run: pip install -e .[tests]\n")
    _, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert '--setup "pip install -e .[tests]"' in journal.of(e.RunHalted)[0].message
    # `[check] setup` in bough.toml, `--setup` on the command line: in the copies, never in the person's files.
    with_setup = Choices(setup="touch only_here.py")

    async def check() -> e.BaseChecked:
        async with open_session(library, choices=with_setup) as opened:
            return (await opened.check(build_goal_step("Check it."), with_setup, RunObserver()))[0]

    found = asyncio.run(check())
    assert (found.passed, found.lacking) == (1, "") and not (library / "only_here.py").exists()


@in_turn
def test_what_was_compiled_in_place_comes_along_while_it_fits(library: Path) -> None:
    environment(library)
    (library / ".gitignore").write_text(".venv/\n*.so\n")
    (library / "fast.c").write_text("int fast;\n")
    (library / "fast.so").write_text("as it was built\n")
    (library / "tests" / "test_fast.py").write_text(
        "import pathlib\n\ndef test_fast():\n    assert pathlib.Path('fast.so').exists()\n"
    )
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.completed and journal.of(e.BaseChecked)[0].passed == 2
    other = [call("write", path="fast.c", content="int faster;\n"), DONE[1]]
    outcome, _ = run_to_end(library, other, goal="Make it faster.", check=None, choices=Choices(rounds=2))
    assert not outcome.completed, "it was built from other sources"


@in_turn
@pytest.mark.parametrize("sandbox", ["auto", "landlock", "none"])
def test_no_file_of_the_persons_is_above_a_checkout(library: Path, sandbox: Mode) -> None:
    """A manifest without a section for the runner sends it further up."""
    (library / "tests" / "test_pair.py").write_text("from pair import pair\n\ndef test_it():\n    assert pair(1, 2)\n")
    (library / "pyproject.toml").write_text('[project]\nname = "pair"\n')
    (library / ".gitignore").write_text(".venv/\n_version.py\nsecrets.py\n")
    (library / "_version.py").write_text("# file generated by a tool\nversion = 1\n")
    (library / "secrets.py").write_text("key = 1\n")
    (library / "pair.py").write_text("from _version import version\n\ndef pair(a, b):\n    return a, b\n\n# secrets\n")
    (library / "tests" / "test_up.py").write_text(
        "import pathlib\n\ndef test_up():\n    here = pathlib.Path(__file__).parents[1]\n"
        "    assert not (here / 'secrets.py').exists(), 'it may hold what no agent may see'\n"
        "    assert not [up for up in here.parents if (up / 'pyproject.toml').exists()]\n"
    )
    found, _ = look(library, Choices(sandbox=sandbox, trust_config=sandbox == "none"))
    assert (found.passed, found.failed) == (2, 0), found.said


def test_the_command_as_the_person_types_it_counts(tmp_path: Path) -> None:
    """What bough adds to see single tests may be what a test cannot stand."""
    root = tmp_path / "p"
    root.mkdir()
    (root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (root / "test_calc.py").write_text(
        "import sys, unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertNotIn('-v', sys.argv)\n        self.assertEqual(add(0, 0), 0)\n"
    )
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    repair = [call("write", path="calc.py", content="def add(a, b):\n    return a + b\n"), DONE[1]]
    _, journal = run_to_end(root, repair, goal="Let add add.", check="python3 -m unittest")
    (base,) = journal.of(e.BaseChecked)
    assert base.exit_status == 0 and base.passed == 1
    verdict = journal.of(e.CheckFinished)[-1].verdict
    assert verdict.exit_status == 0 and not verdict.failed, verdict.reason
