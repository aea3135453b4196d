"""Which check a run takes where a project has several, none that runs, or none that any rule knows."""

import asyncio
import shutil
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.adapters.sandboxes.levels import Mode, SandboxLevel, find_level
from bough.adapters.verifiers.check_environment import CheckEnvironment
from bough.adapters.workspaces.git import GitWorkspaces
from bough.app import Choices, project
from bough.core import events as e
from bough.core.acceptance.verdict import Report
from bough.core.verdict.language import Missing
from bough.core.verdict.missing import ProjectFacts, find_missing
from bough.engine import run_loop
from bough.interfaces.terminal.banner import render_banner
from bough.views.event_lines import describe_base
from tests.engine.libraries import DONE, environment, library, look
from tests.harness import git, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

__all__ = ["library"]


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_candidate_that_runs_no_test_gives_way_to_one_that_does(library: Path) -> None:
    environment(library)
    (library / "Makefile").write_text("test:\n\techo all is well\n")
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    first, second = journal.of(e.BaseStarted)
    assert first.command == "make test" and second.command == ".venv/bin/python -m pytest"
    assert "`make test` runs no test" in second.why
    (base,) = journal.of(e.BaseChecked)
    assert base.command == second.command and base.passed == 1
    assert outcome.completed and journal.of(e.CheckFinished)[-1].verdict.command == second.command
    # What was found out about these files is not found out again.
    assert [one.command for one in run_to_end(library, DONE, goal="x", check=None)[1].of(e.BaseStarted)] == [
        "make test",
        second.command,
    ]
    # Failing tests are no reason to switch: they may show the very bug.
    (library / "Makefile").write_text("test:\n\tpython3 -m unittest -q bad\n")
    (library / "bad.py").write_text("import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail()\n")
    (base,) = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None, choices=Choices(rounds=1))[1].of(
        e.BaseChecked
    )
    assert base.command == "make test" and base.failed == 1
    # Tests may need the product that the project's own build makes.
    (library / "Makefile").write_text("all:\n\tcp twice.in twice\ntest:\n\tbash check.sh\n")
    (library / "twice.in").write_text("echo $(($1 * 2))\n")
    (library / "check.sh").write_text(
        '[ "$(bash ./twice 2)" = 4 ] && echo "ok 1 - 2" || { echo "not ok 1 - 2"; exit 1; }\n'
    )
    (base,) = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)[1].of(e.BaseChecked)
    assert base.command == "make && make test" and base.exit_status == 0 and base.told == 1


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_suite_that_lacks_its_packages_does_not_give_way_to_a_few_tests(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the project itself runs needs a package; a script that needs none runs one test, and no agent begins for
    it."""
    monkeypatch.setattr(run_loop, "AHEAD", 0.0)
    (library / "package.json").write_text(
        '{"scripts": {"test": "linter && mocha"}, "devDependencies": {"linter": "*"}}'
    )
    (library / "package-lock.json").write_text("{}")
    (library / ".github" / "workflows").mkdir(parents=True)
    (library / ".github" / "workflows" / "test.yml").write_text("steps:\n  - run: npm ci\n  - run: npm test\n")
    ends_late = "import atexit, time\natexit.register(time.sleep, 1)\ndef test_pair():\n    pass\n"
    (library / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    (library / "tests" / "test_pair.py").write_text(ends_late)
    for name in ("one", "two"):
        (library / "tests" / f"{name}.test.js").write_text('require("mocha")\n')
    environment(library)
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=None)
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert journal.of(e.BaseChecked)[0].command == "npm test"
    assert "the command `linter` is not found" in journal.of(e.BaseChecked)[0].lacking
    assert "The project's own set-up is `npm ci`" in journal.of(e.RunHalted)[0].message


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_where_most_tests_lack_a_package_the_whole_cannot_run(library: Path) -> None:
    """The few that run anyway say nothing about the product."""
    (environment(library) / "only_here.py").unlink()
    for name in "abc":
        (library / "tests" / f"test_{name}.py").write_text("import only_here\n\ndef test_it():\n    pass\n")
    (library / "tests" / "test_plain.py").write_text("def test_it():\n    pass\n")
    command = "python3 -m pytest --continue-on-collection-errors"
    outcome, journal = run_to_end(library, DONE, goal="Write NOTES.txt.", check=command)
    assert outcome.exit_status == 2 and not journal.of(e.RoundStarted)
    assert "only_here is not installed" in journal.of(e.RunHalted)[0].message


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_check_runs_now_and_the_last_one_can_be_looked_up(tmp_path: Path) -> None:
    root, flag = tmp_path / "p", tmp_path / "flag"
    root.mkdir()
    (root / "Makefile").write_text(f"test:\n\t@echo 1..1\n\t@test -e {flag} && echo ok 1 || (echo not ok 1; exit 1)\n")
    git(root, "init", "-q")
    open_air = Choices(sandbox="none", trust_config=True)
    assert look(root, open_air, cached=True)[1] == 0.0
    assert look(root, open_air)[0].failed == 1
    kept, at = look(root, open_air, cached=True)
    assert kept.failed == 1 and time.time() - 60 < at <= time.time()
    flag.touch()
    assert look(root, open_air)[0].passed == 1, "a failure is not replayed"
    flag.unlink()
    assert look(root, open_air)[0].failed == 1, "nor is what passed"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_check_looks_at_the_files_and_at_the_sandbox_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo 1..1\n\t@echo ok 1\n")
    git(tmp_path, "init", "-q")
    both, take = threading.Barrier(2, timeout=240.0), GitWorkspaces.take

    async def takes(workspaces: GitWorkspaces) -> str:
        await asyncio.to_thread(both.wait)
        return await take(workspaces)

    def finds(mode: Mode) -> SandboxLevel:
        monkeypatch.setattr(project, "find_level", find_level)
        both.wait()
        return find_level(mode)

    monkeypatch.setattr(GitWorkspaces, "take", takes)
    monkeypatch.setattr(project, "find_level", finds)
    assert look(tmp_path, Choices(sandbox="none", trust_config=True))[0].passed == 1


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize(
    ("program", "tools", "said"),
    [
        ("poetry", {"pipx"}, "Install poetry: `pipx install poetry`."),
        ("poetry", {"apt-get"}, "Install pipx: `apt-get install pipx` as root. Then poetry: `pipx install poetry`."),
        ("pnpm", {"npm"}, "Install pnpm: `npm install --global pnpm`."),
        ("mvn", {"apt-get"}, "Install mvn: `apt-get install maven` as root."),
        ("aclocal", {"apt-get"}, "Install aclocal: `apt-get install automake` as root."),
        ("dot", {"apt-get"}, "Install dot: `apt-get install graphviz` as root."),
        ("unheard-of", {"apt-get", "npm", "pipx"}, "Install unheard-of, or pass another check"),
    ],
)
def test_the_way_to_a_program_can_be_typed_here(
    program: str, tools: set[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing program is not provided by a set-up that begins with it."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: name if name in tools else None)
    base = ProjectFacts({}, ["poetry.lock", "pnpm-lock.yaml", "pom.xml"])
    assert CheckEnvironment().for_missing(Missing("command", program), base).startswith(said)


GEMS = ProjectFacts({"gems.rb": 'gem "bake"'}, ["gems.rb", "a.rb"])


def test_advice_says_where_a_service_a_host_and_a_module_go() -> None:
    none = ProjectFacts({}, [])
    said = [
        CheckEnvironment().for_missing(missing, none)
        for missing in (
            Missing("service", "localhost:5432"),
            Missing("network", "another host"),
            Missing("script", "go.mod", language="go", module="github.com/a/b"),
        )
    ]
    assert "`[services.NAME] run" in said[0]
    assert "`--network allow:HOST`" in said[1]
    assert "`go mod init github.com/a/b && go mod tidy`" in said[2]
    bake = find_missing(127, "bundle exec bake test", "bundler: command not found: bake", Report("exit status"), GEMS)
    assert bake is not None and "set-up is `bundle install` (gems.rb)" in CheckEnvironment().for_missing(bake, GEMS)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_what_debian_has_is_named_by_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = "re2c 3 bash-completion 2 libtext-csv-xs-perl 1 libclass-accessor-perl 0.5 libold-dev '(none)'"
    lists = f"printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' {known}"
    for name, body in (("apt-get", ""), ("apt-cache", lists)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    facts = ProjectFacts({}, ["a.c"])

    def advise(said: str) -> str:
        found = find_missing(1, "make check", said, Report("exit status"), facts)
        assert found is not None
        return CheckEnvironment().for_missing(found, facts)

    stopped = "checking for re2c... no\nconfigure: error: in `/p':\nconfigure: error: the lexer needs one"
    assert advise(stopped) == "Install re2c: `apt-get install re2c` as root."
    said = advise("Can't locate Class/Accessor.pm in @INC")
    assert said.startswith(
        "Install Class::Accessor: `apt-get install libclass-accessor-perl` as root, or `cpan Class::A"
    )
    assert "`apt-get install libtext-csv-xs-perl`" in advise("Can't locate Text/CSV_XS.pm in @INC")
    assert "`apt-get install bash-completion`" in advise('ERROR: Dependency "bash-completion" not found')
    assert "Install lxp: `luarocks install lxp`" in advise("module 'lxp' not found:")
    assert "`apt-get install qt5-qmake`" in advise("*** ERROR: qmake not found. Make sure it is in your PATH.")
    assert "apt-get" not in advise("/usr/bin/ld: cannot find -lold: No such file")


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_candidate_of_which_all_fails_does_not_replace_one_that_lacks_something(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text('test:\n\t@echo "Can\'t locate Class/Accessor.pm in @INC"; exit 2\n')
    (tmp_path / "test.sh").write_text("echo 1..1\necho not ok 1\nexit 1\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert found.command == "make test" and found.lacking == "Class::Accessor is not installed"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_check_that_needs_an_ignored_file_cannot_run_and_says_what_helps(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@cat build-aux/rules.am && echo 1..1 && echo ok 1\n")
    (tmp_path / "build-aux").mkdir()
    (tmp_path / "build-aux" / "rules.am").write_text("a\n")
    (tmp_path / ".gitignore").write_text("build-aux/\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert found.lacking == "build-aux is ignored by git, so no checkout has it"
    assert '`[workspace] copy = ["build-aux"]` in bough.toml' in found.way_out
    (tmp_path / "bough.toml").write_text('[workspace]\ncopy = ["build-aux"]\n')
    assert look(tmp_path, Choices(trust_config=True))[0].passed == 1, "what it says helps"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_an_ignored_source_that_others_name_is_compiled_with_them(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@cc -o a a.c roaring.c && ./a && echo 1..1 && echo ok 1\n")
    (tmp_path / "a.c").write_text("int roaring(void);\nint main(void) {\n  return roaring();\n}\n")
    (tmp_path / "roaring.c").write_text("int roaring(void) {\n  return 0;\n}\n")
    (tmp_path / ".gitignore").write_text("roaring.*\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    assert look(tmp_path, Choices())[0].passed == 1


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_what_a_project_installs_for_itself_is_not_taken_from_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    texts = {
        "composer.json": "{}",
        "package.json": "{}",
        "rockspec/a-1.rockspec": "",
        ".travis.yml": "install:\n- npm install --save-dev coveralls@2\n- luarocks install luacov\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    given, base = CheckEnvironment(root=tmp_path), ProjectFacts(texts, [*texts])
    said = given.for_missing(Missing("command", "vendor/bin/phpunit", language="php"), base)
    assert said.startswith(
        "Install composer: `apt-get install composer` as root. The project's own set-up is `composer i"
    )
    # A line of CI that installs other packages is no set-up.
    assert "`npm install` (package.json)" in given.for_missing(Missing("command", "mocha", language="javascript"), base)
    lacks = Missing("package", "Test", "a.rockspec", "lua", module="Test.More")
    assert "`luarocks make rockspec/a-1.rockspec`" in given.for_missing(lacks, base)
    assert "`luarocks install luacov`" in given.for_missing(replace(lacks, name="luacov"), base)
    lacks = Missing("package", "Test::Nginx", "", "perl", declared=False, get="cpan Test::Nginx")
    assert given.for_missing(lacks, base).startswith(
        "Install Test::Nginx: `cpan Test::Nginx`. Should the work write it,"
    )
    assert "`--network allow:github.com`" in given.for_missing(Missing("network", "github.com"), ProjectFacts({}, []))


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_package_that_is_installed_from_beside_the_project_is_named_for_what_it_is(
    library: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path_factory.mktemp("beside") / "lib"
    beside.mkdir()
    (beside / "money.py").write_text("CENT = 1\n")
    (environment(library) / "_money.pth").write_text(f"{beside}\n")
    (library / "pair.py").write_text(f"import money\n{(library / 'pair.py').read_text()}")
    found = look(library, Choices())[0]
    assert found.lacking == f"commands may not use {beside}, from which money is installed"
    assert '`[sandbox] readable = ["' in found.way_out and ", from" not in found.way_out
    monkeypatch.setenv("BOUGH_SANDBOX_READABLE", str(beside))
    found = look(library, Choices())[0]
    assert found.passed == 1 and not found.lacking, "what it says helps"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_linter_beside_the_tests_is_named_as_that(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo 1..1\n\t@echo ok 1\n\t@echo a.c:1: too long; exit 3\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert describe_base(found).startswith("1 test passed, but the command fails with exit status 2 (")
    lines = ["".join(text for text, _ in line) for line in render_banner(e.Record(0, "", "", 0, 0.0, found), "")]
    assert any("a linter or a build in the command counts, too: pass the tests alone with" in line for line in lines)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_target_with_nothing_to_do_is_no_check(tmp_path: Path) -> None:
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "Makefile").write_text("check:\n")
    (tmp_path / "Makefile").write_text("check: a\n\t$(MAKE) -C doc check\na: a.c\n\tcc -o a a.c && ./a\n")
    (tmp_path / "a.c").write_text("int f(void) {\n  return 0;\n}\nint main(void) {\n  return f();\n}\n")
    git(tmp_path, "init", "-q")
    found = look(tmp_path, Choices())[0]
    assert not found.command and found.belief == "`make check`: it has nothing to do"
