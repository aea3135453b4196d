"""What a confined command cannot do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.kernel import landlock_abi
from bough.adapters.sandboxes.levels import SandboxLevel
from bough.adapters.sandboxes.process import ProcessSandbox, make_sandbox
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.ports import Mount
from tests.adapters.test_sandbox import shell

pytestmark = pytest.mark.skipif(landlock_abi() == 0, reason="this kernel has no Landlock; `confines` is False")


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    return make_plain_folder(tmp_path)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """The person's tree, beside the workspace."""
    folder = tmp_path / "person"
    folder.mkdir()
    (folder / "file.txt").write_text("theirs")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / ".cache").mkdir()
    (folder / ".ssh").mkdir()
    return folder


@pytest.fixture(scope="module")
def sandbox(home: Path) -> ProcessSandbox:
    return make_sandbox("landlock", {**make_env(os.environ), "HOME": str(home)})


def test_it_says_that_it_confines(sandbox: ProcessSandbox) -> None:
    assert sandbox.level.name == "landlock"


ATTACKS = {
    "write": "echo mine > {outside}/file.txt",
    "append": "echo mine >> {outside}/file.txt",
    "truncate": "truncate -s 0 {outside}/file.txt",
    "new file": "echo mine > {outside}/new.txt",
    "folder": "mkdir {outside}/new",
    "remove": "rm -f {outside}/file.txt",
    "remove all": "rm -rf {outside}",
    "move away": "mv {outside}/file.txt here.txt",
    "move in": "echo x > mine.txt; mv mine.txt {outside}/new.txt",
    "exchange": "echo x > mine.txt; ln -f mine.txt {outside}/file.txt",
    "hard link": "ln {outside}/file.txt hard.txt && echo mine > hard.txt",
    "through a link": "ln -s {outside} link; echo mine > link/file.txt",
    "through a link to the file": "ln -s {outside}/file.txt link.txt; echo mine > link.txt",
    "through /proc": "echo mine > /proc/self/root{outside}/file.txt",
    "fifo": "mkfifo {outside}/fifo",
    "link": "ln -s /etc {outside}/link",
    "after setsid": "setsid -w bash -c 'echo mine > {outside}/file.txt'",
    "home": "echo mine > {home}/.ssh/authorized_keys",
    "home itself": "echo mine > {home}/.bashrc",
}


def picture(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("line", ATTACKS.values(), ids=ATTACKS.keys())
def test_nothing_outside_can_be_changed(
    sandbox: ProcessSandbox, checkout: PlainFolder, outside: Path, home: Path, line: str
) -> None:
    line = line.format(outside=outside, home=home)
    finished = shell(sandbox, checkout, line)
    assert finished.exit_status != 0, finished.output
    assert picture(outside) == {"file.txt": "theirs"}
    assert [p.name for p in outside.iterdir()] == ["file.txt"]
    assert picture(home) == {}


def test_the_attacks_would_work_without(checkout: PlainFolder, outside: Path) -> None:
    unconfined = make_sandbox("none", make_env(os.environ))
    assert shell(unconfined, checkout, f"ln -s {outside} link; echo mine > link/file.txt").exit_status == 0
    assert picture(outside) == {"file.txt": "mine\n"}


def test_an_ignored_folder_that_is_linked_in_can_be_read_and_not_written(
    sandbox: ProcessSandbox, checkout: PlainFolder, outside: Path
) -> None:
    (checkout.root / "node_modules").symlink_to(outside)
    assert shell(sandbox, checkout, "cat node_modules/file.txt").exit_status != 0
    checkout.mounts = (Mount(outside),)
    assert shell(sandbox, checkout, "cat node_modules/file.txt").output == b"theirs"
    assert shell(sandbox, checkout, "touch node_modules/new").exit_status != 0


def test_everything_inside_can(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    line = """
    set -e
    mkdir -p a/b && echo one > a/b/x && mv a/b/x a/y && ln a/y a/z && ln -s y a/l && rm a/z && mkfifo a/p && rm a/p
    truncate -s 1 a/y && chmod 700 a && rmdir a/b
    echo tmp > "$TMPDIR/t" && mktemp && mktemp -d && mv "$TMPDIR/t" t && mv t "$TMPDIR/t"
    cat <<< here && cat <(echo substituted) && echo out > >(cat) && echo err > /dev/stderr && echo null > /dev/null
    mkdir -p ~/.cache/tool && echo cached > ~/.cache/tool/file && rm -r ~/.cache/tool
    """
    finished = shell(sandbox, checkout, line)
    assert finished.exit_status == 0, finished.output


def test_the_usual_programs_work(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    lines = [
        f"{sys.executable} -c 'import multiprocessing as m; m.Lock(); import tempfile; tempfile.mkdtemp()'",
        "git init -q . && git status --short && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    ]
    for line in lines:
        finished = shell(sandbox, checkout, line)
        assert finished.exit_status == 0, finished.output


def test_git_reads_a_worktree_whose_repository_is_outside(
    sandbox: ProcessSandbox, checkout: PlainFolder, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "repo")
    git("-C", "repo", "commit", "-q", "--allow-empty", "-m", "first")
    checkout.root.rmdir()
    git("-C", "repo", "worktree", "add", "-q", str(checkout.root))
    (checkout.root / "new.txt").write_text("new")
    checkout.mounts = (Mount(tmp_path / "repo"),)
    assert shell(sandbox, checkout, "git status --short && git diff && git log --oneline").exit_status == 0
    assert shell(sandbox, checkout, "git add new.txt").exit_status != 0
    assert shell(sandbox, checkout, "git branch mine").exit_status != 0


def test_more_can_be_allowed(checkout: PlainFolder, outside: Path, tmp_path: Path) -> None:
    single = tmp_path / "single.txt"
    single.write_text("before")
    sandbox = make_sandbox("landlock", make_env(os.environ), [outside, single, tmp_path / "absent"])
    line = f"echo more > {outside}/new.txt && echo after > {single} && ! echo x > {tmp_path}/other.txt"
    assert shell(sandbox, checkout, line).exit_status == 0
    assert single.read_text() == "after\n"


def test_a_cache_that_holds_the_workspace_is_not_writable_as_a_whole(tmp_path: Path) -> None:
    project = tmp_path / ".cache" / "project"
    project.mkdir(parents=True)
    checkout = make_plain_folder(project)
    sandbox = make_sandbox("landlock", {**make_env(os.environ), "HOME": str(tmp_path)})
    assert shell(sandbox, checkout, f"echo mine > {project}/file.txt").exit_status != 0
    assert shell(sandbox, checkout, "echo mine > file.txt").exit_status == 0


def test_a_key_in_the_environment_of_bough_cannot_be_read_from_proc(
    sandbox: ProcessSandbox, checkout: PlainFolder
) -> None:
    assert "PATH" in shell(sandbox, checkout, "cat /proc/self/environ").output.decode()
    holder = subprocess.Popen(["sleep", "60"], env={"PLANTED_KEY": "sk-planted-0123456789abcdef"})
    try:
        finished = shell(sandbox, checkout, f"cat /proc/{holder.pid}/environ; cat /proc/{os.getpid()}/environ; true")
        everything = shell(sandbox, checkout, "cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null; true")
    finally:
        holder.kill()
        holder.wait()
    assert b"planted" not in finished.output + everything.output
    assert finished.output.count(b"denied") == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device files")
def test_root_cannot_make_a_device_and_write_to_the_disk_through_it(
    sandbox: ProcessSandbox, checkout: PlainFolder
) -> None:
    assert shell(sandbox, checkout, "mknod disk b 7 0").exit_status != 0
    assert shell(sandbox, checkout, "mknod null c 1 3").exit_status != 0


@pytest.mark.skipif(landlock_abi() < 6, reason="signals are not confined before ABI 6")
def test_processes_outside_cannot_be_signalled(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        finished = shell(sandbox, checkout, f"kill -9 {bystander.pid} || kill -9 $PPID || kill -9 {os.getpid()}")
        assert finished.exit_status == 1
        assert bystander.poll() is None
        assert shell(sandbox, checkout, "sleep 60 & kill -9 $!; wait $!").exit_status == 137
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("abi", range(1, landlock_abi() + 1))
def test_older_versions_of_landlock_confine_as_far_as_they_go(checkout: PlainFolder, outside: Path, abi: int) -> None:
    """Each version has its own set of rights and size of structure; the kernel takes all that it grew out of."""
    sandbox = make_sandbox("landlock", make_env(os.environ))
    sandbox.level = SandboxLevel("landlock", abi)
    assert shell(sandbox, checkout, "echo fine > inside.txt && rm inside.txt").exit_status == 0
    assert shell(sandbox, checkout, f"echo mine > {outside}/new.txt").exit_status != 0
    assert shell(sandbox, checkout, f"rm -f {outside}/file.txt").exit_status != 0
    assert picture(outside) == {"file.txt": "theirs"}
