"""`bough backlog schedule`: a timer of the person's system, one a list."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.harness import make_project
from tests.interfaces.shell import CommandOutput, bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

CRONTAB = """#!/bin/sh
case "$1" in
-l) [ -e {0} ] && cat {0} || {{ echo "no crontab for me" >&2; exit 1; }};;
-) cat > {0};;
esac
"""
SYSTEMCTL = '#!/bin/sh\necho "$@" >> {0}\n'


class Machine:
    """A person's machine with stand-ins for the systems that keep timers."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.tools = make_project(top / "a 100% project"), top / "tools"
        self.table, self.asked, self.config = top / "crontab", top / "asked", top / "config"
        self.tools.mkdir()
        for name in ("state", "config"):
            monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(top / name))
        keep = [each for each in os.environ["PATH"].split(os.pathsep) if not Path(each, "crontab").exists()]
        links = {name: f"/usr/bin/{name}" for name in ("git", "sh", "cat", "env")}
        for name, target in links.items():
            (self.tools / name).symlink_to(target)
        self.path = os.pathsep.join([str(self.tools), *keep])

    def add(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def say(self, *words: str) -> CommandOutput:
        return bough(self.project, "backlog", *words, PATH=self.path)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path, monkeypatch)
    made.add("systemctl", "#!/bin/sh\nexit 1\n")
    return made


def test_it_is_printed_and_nothing_is_installed(machine: Machine) -> None:
    machine.add("crontab", CRONTAB.format(machine.table))
    said = machine.say("schedule", "22:30", "--label", "it's; touch x")
    assert said.status == 0 and "OnCalendar=*-*-* 22:30:00" in said.out and "30 22 * * * /bin/sh" in said.out
    assert not machine.table.exists()


@in_turn
def test_cron_has_one_line_a_list_beside_the_persons_own(machine: Machine) -> None:
    machine.add("crontab", CRONTAB.format(machine.table))
    machine.table.write_text("0 4 * * * backup # mine\n")
    for at in ("22:30", "7:05"):
        assert machine.say("schedule", at, "--install", "--label", "bough").status == 0
    mine, line = machine.table.read_text().splitlines()
    assert mine == "0 4 * * * backup # mine" and line.startswith("5 7 * * * /bin/sh ")
    assert machine.say("schedule", "23:00", "--install", "--list", "other").status == 0
    assert len(machine.table.read_text().splitlines()) == 3
    assert "every day at 07:05, by cron" in machine.say("list").out
    assert machine.say("schedule", "--remove").out == "Removed the timer.\n"
    assert machine.say("schedule", "--remove").out == "There is no timer: nothing to remove.\n"
    assert len(machine.table.read_text().splitlines()) == 2 and "every day" not in machine.say("list").out


def test_the_line_of_cron_starts_sync_and_night(machine: Machine) -> None:
    """The line as cron reads it, with programs in place of bough."""
    machine.add("crontab", CRONTAB.format(machine.table))
    assert machine.say("schedule", "22:30", "--install", "--label", "it's; touch x").status == 0
    command = machine.table.read_text().partition("* * * ")[2].replace("\\%", "%")
    script = next(Path(os.environ["XDG_STATE_HOME"]).rglob("night-backlog"))
    script.write_text("set -e\n" + script.read_text().replace("exec ", "").replace("cd /\n", "cd /\nset -x\n"))
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert "backlog sync github --dir" in done.stderr and "it's; touch x" in done.stderr
    assert str(machine.project) in done.stderr and not (machine.project / "x").exists()


def test_systemd_comes_first_and_is_asked_to_enable_it(machine: Machine) -> None:
    machine.add("systemctl", SYSTEMCTL.format(machine.asked))
    assert "by systemd" in machine.say("schedule", "22:30", "--install").out
    units = sorted(path.suffix for path in (machine.config / "systemd/user").iterdir())
    assert units == [".service", ".timer"] and "enable --now bough-" in machine.asked.read_text()
    assert "at 22:30, by systemd" in machine.say("list").out
    assert machine.say("schedule", "--remove").out == "Removed the timer.\n"
    assert not list((machine.config / "systemd/user").iterdir())


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("25:00", "--install"), 2, "is not a time of day"),
        (("22:30; rm -rf ~",), 2, "is not a time of day"),
        ((), 2, "give a TIME"),
        (("22:30", "--remove"), 2, "give a TIME"),
        (("22:30", "--list", "../x"), 2, "not a valid name"),
        (("22:30", "--install"), 7, "Neither systemd"),
    ],
)
def test_wrong_ones_get_a_sentence(machine: Machine, words: tuple[str, ...], status: int, says: str) -> None:
    said = machine.say("schedule", *words)
    assert (said.status, says in said.err) == (status, True), said.err


def test_a_table_that_cannot_be_read_is_not_written_over(machine: Machine) -> None:
    machine.table.write_text("0 4 * * * backup\n")
    machine.add("crontab", f'#!/bin/sh\n[ "$1" = - ] && cat > {machine.table}\necho "not allowed" >&2\nexit 1\n')
    said = machine.say("schedule", "22:30", "--install")
    assert said.status == 7 and "not allowed" in said.err and machine.table.read_text() == "0 4 * * * backup\n"
