"""Keeping the person's files as they are: `take`, with real git, in every kind of project."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bough.adapters.workspaces.home import find_root
from bough.core.errors import WorkspaceError
from tests.adapters.git_projects import (
    NOBODY,
    fingerprint,
    git,
    git_settings,
    kept,
    names,
    ordinary_user,
    project,
    spaces,
    take,
    write,
)
from tests.sampling import in_turn

__all__ = ["git_settings"]


def test_plain_folder(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"a.txt": "one", "deep/er/b.txt": "two"})
    tree = take(root)
    assert kept(root, tree) == {"a.txt": ("100644", b"one"), "deep/er/b.txt": ("100644", b"two")}


def test_empty_folder_and_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "p" / "hollow").mkdir(parents=True)
    assert take(tmp_path / "p") == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_dirty_repository(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"same": "s", "edited": "old", "gone": "g", "staged": "old"})
    (root / "edited").write_text("new")
    (root / "gone").unlink()
    (root / "staged").write_text("staged")
    git(root, "add", "staged")
    (root / "staged").write_text("later still")
    (root / "untracked").write_text("u")
    assert {name: body for name, (_, body) in kept(root, take(root)).items()} == {
        "same": b"s",
        "edited": b"new",
        "staged": b"later still",
        "untracked": b"u",
    }


def test_clean_repository_has_the_tree_that_git_gives_it(tmp_path: Path) -> None:
    root = project(
        tmp_path / "p", {"d/e": "1", "d-e": "2", "d.e": "3", "d0": "4", "D": "5", "d/e-/f": "6", "d/e0": "7"}
    )
    assert take(root) == git(root, "rev-parse", "HEAD^{tree}").decode().strip()


def test_repository_without_commits(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1", "b": "2"}, commit=False)
    git(root, "add", "a")
    assert names(root, take(root)) == {"a", "b"}


def test_ignored_files_stay_behind_but_tracked_ones_come(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {".gitignore": "*.log\nbuild/\n", "a": "1"})
    write(root, {"x.log": "no", "build/out": "no", "build/tracked": "yes", "kept.log": "yes"})
    git(root, "add", "-f", "kept.log", "build/tracked")
    assert names(root, take(root)) == {".gitignore", "a", "kept.log", "build/tracked"}


def test_ignore_rules_outside_gitignore(tmp_path: Path, git_settings: Path) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    (root / ".git" / "info" / "exclude").write_text("mine.txt\n")
    (git_settings.parent / "everywhere").write_text("*.swp\n")
    git(root, "config", "--global", "core.excludesFile", "~/everywhere")
    write(root, {"mine.txt": "", "x.swp": "", "b": ""})
    assert names(root, take(root)) == {"a", "b"}
    # Not a file that the repository names: it could be any of the person's.
    git(root, "config", "core.excludesFile", str(root / ".git" / "local-rules"))
    (root / ".git" / "local-rules").write_text("b\n")
    assert names(root, take(root)) == {"a", "b"}


def test_default_global_ignore_file(tmp_path: Path, git_settings: Path) -> None:
    write(git_settings.parent / ".config" / "git", {"ignore": "*.orig\n"})
    root = write(tmp_path / "p", {"a": "", "a.orig": ""})
    assert names(root, take(root)) == {"a"}


def test_junk_is_left_out_unless_tracked_or_wanted(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"node_modules/own/index.js": "tracked"})
    write(
        root, {"node_modules/other/index.js": "", "pkg/__pycache__/x.pyc": "", ".venv/bin/python": "", "pkg/a.py": ""}
    )
    assert names(root, take(root)) == {"node_modules/own/index.js", "pkg/a.py"}
    (root / ".gitignore").write_text("!.venv/\n")
    assert ".venv/bin/python" in names(root, take(root))


def test_file_that_became_ignored_is_dropped(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    write(root, {".env": "secret", "sub/.env": "secret"})
    assert ".env" in names(root, take(root))
    (root / ".gitignore").write_text(".env\n")
    assert names(root, take(root)) == {"a", ".gitignore"}


ODD_NAMES = [
    "with space",
    "näme-日本",
    "-dash",
    "new\nline",
    'quo"te',
    "back\\slash",
    ":colon",
    ":(top)x",
    "*",
    "[a]",
    "tab\t",
]


@pytest.mark.parametrize("kind", ["plain", "repository"])
def test_odd_names(tmp_path: Path, kind: str) -> None:
    root = write(tmp_path / "p q", dict.fromkeys(ODD_NAMES, "x") | {"földer é/" + name: "y" for name in ODD_NAMES})
    (root / os.fsdecode(b"not-\xff-text")).write_text("z")
    (root / ".gitignore").write_text(":ignored\n\\*.ignored\n")
    write(root, {":ignored": "no", "*.ignored": "no"})
    if kind == "repository":
        project(root, {})
    found = names(root, take(root))
    assert found == {*ODD_NAMES, *("földer é/" + n for n in ODD_NAMES), os.fsdecode(b"not-\xff-text"), ".gitignore"}


def test_links_and_executable_files(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"run.sh": "#!/bin/sh\n", "d/f": "x"})
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("d")
    (root / "dangling").symlink_to("/nowhere/at all")
    found = kept(root, take(root))
    assert found["run.sh"][0] == "100755"
    assert found["link"] == ("120000", b"d")
    assert found["dangling"] == ("120000", b"/nowhere/at all")
    assert "link/f" not in found


def test_pipes_and_sockets_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "p", {"a": "1"})
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert names(root, take(root)) == {"a"}


def test_contents_are_the_bytes_on_disk_whatever_attributes_say(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    ran = tmp_path / "ran"
    for key, program in (("clean", f"touch {ran}; tr a-z A-Z"), ("smudge", f"touch {ran}; tr a-z A-Z")):
        git(root, "config", "--global", f"filter.loud.{key}", program)
    git(root, "config", "--global", "filter.loud.required", "true")
    git(root, "config", "--global", "core.autocrlf", "true")
    (root / ".gitattributes").write_text(
        "*.loud filter=loud\n*.txt text eol=crlf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16\n*.lf eol=lf\n"
    )
    bodies = {
        "a.loud": b"quiet\n",
        "b.txt": b"one\r\ntwo\n",
        "c.id": b"$Id$ and $Id: 123 $\n",
        "d.u16": "hé\n".encode("utf-16"),
        "e.lf": b"one\r\ntwo\r\n",
        "f.bin": bytes(range(256)),
    }
    for name, body in bodies.items():
        (root / name).write_bytes(body)
    workspaces = spaces(root)

    async def go() -> None:
        tree = await workspaces.take()
        found = kept(root, tree)
        assert {name: found[name][1] for name in bodies} == bodies
        workspace = await workspaces.open("r", "goal", tree, "")
        assert {name: (workspace.root / name).read_bytes() for name in bodies} == bodies
        assert git(workspace.root, "status", "--porcelain") == b""
        assert await workspace.snapshot() == tree
        for name in bodies:
            (workspace.root / name).unlink()
        await workspace.restore(tree)
        assert {name: (workspace.root / name).read_bytes() for name in bodies} == bodies
        await workspaces.diff(tree, tree)

    asyncio.run(go())
    assert not ran.exists()


def test_submodules_and_embedded_repositories_are_ordinary_files(tmp_path: Path) -> None:
    inner = project(tmp_path / "inner", {"i.txt": "inner", ".gitignore": "*.o\n"})
    middle = project(tmp_path / "middle", {"m.txt": "middle", "build/keep": "tracked"})
    git(middle, "submodule", "add", "-q", str(inner), "inner")
    git(middle, "commit", "-q", "-m", "Add inner")
    root = project(tmp_path / "p", {"a": "1", ".gitignore": "build/\n"})
    git(root, "submodule", "add", "-q", str(middle), "mid")
    git(root, "submodule", "update", "-q", "--init", "--recursive")
    git(root, "commit", "-q", "-m", "Add mid")
    write(root, {"mid/new": "n", "mid/inner/x.o": "ignored", "mid/inner/new": "n"})
    project(root / "embedded", {"e": "e"})
    project(root / "unborn", {"u": "u"}, commit=False)
    (root / "void").mkdir()
    git(root / "void", "init", "-q")
    before = fingerprint(root)
    assert names(root, take(root)) == {
        *{"a", ".gitignore", ".gitmodules", "mid/.gitmodules", "mid/m.txt", "mid/new", "mid/build/keep"},
        *{"mid/inner/i.txt", "mid/inner/.gitignore", "mid/inner/new", "embedded/e", "unborn/u"},
    }
    assert fingerprint(root) == before


def test_submodule_that_is_not_checked_out(tmp_path: Path) -> None:
    inner = project(tmp_path / "inner", {"i.txt": "inner"})
    source = project(tmp_path / "source", {"a": "1"})
    git(source, "submodule", "add", "-q", str(inner), "sub")
    git(source, "commit", "-q", "-m", "Add sub")
    git(tmp_path, "clone", "-q", str(source), "p")
    assert names(tmp_path / "p", take(tmp_path / "p")) == {"a", ".gitmodules"}


def test_linked_worktree(tmp_path: Path) -> None:
    main = project(tmp_path / "main", {"a": "1"})
    (main / ".git" / "info" / "exclude").write_text("skip\n")
    git(main, "worktree", "add", "-q", "../p")
    root = tmp_path / "p"
    write(root, {"skip": "", "b": ""})
    assert (root / ".git").is_file()
    assert find_root(root) == root
    assert names(root, take(root)) == {"a", "b"}


def test_the_persons_repository_and_files_are_untouched(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1", "b": "2", "sub/c": "3"})
    hook = root / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {tmp_path}/monitor-ran\n")
    monitor.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(monitor))
    os.utime(root / "a")  # the index's knowledge of it is stale: git would like to refresh it
    (root / "b").write_text("changed")
    (root / "new").write_text("untracked")
    for trace in tmp_path.glob("*-ran"):
        trace.unlink()
    before = fingerprint(root)
    workspaces = spaces(root)

    async def go() -> None:
        tree = await workspaces.take()
        workspace = await workspaces.open("r", "goal", tree, "")
        (workspace.root / "a").write_text("agent's")
        after = await workspace.snapshot()
        await workspace.checkpoint(after, "Done")
        await workspace.restore(tree)
        await workspaces.diff(tree, after)
        await workspaces.discard("r", "goal")

    asyncio.run(go())
    assert fingerprint(root) == before
    assert not list(tmp_path.glob("*-ran"))
    git(root, "config", "--unset", "core.fsmonitor")
    assert b".bough" not in git(root, "status", "--porcelain", "--untracked-files=all")


def test_inside_a_hook_the_callers_repository_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = project(tmp_path / "other", {"o": "other"})
    root = project(tmp_path / "p", {"a": "1"})
    before = fingerprint(other)
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_PREFIX": "x/",
        "GIT_CONFIG_PARAMETERS": "'core.excludesFile'='/dev/null'",
    }.items():
        monkeypatch.setenv(name, value)
    tree = take(root)
    assert find_root(root) == root
    monkeypatch.undo()
    assert names(root, tree) == {"a"}
    assert fingerprint(other) == before


def test_folder_below_the_top(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1", "sub/b": "2"})
    assert find_root(root / "sub") == root


def test_changes_are_seen_in_the_next_take(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {f"f{i}": str(i) for i in range(40)})
    first = take(root)
    assert take(root) == first
    info = (root / "f7").stat()
    (root / "f7").write_text("X")  # as long as before, and with the old time
    os.utime(root / "f7", ns=(info.st_atime_ns, info.st_mtime_ns))
    second = take(root)
    assert kept(root, second)["f7"][1] == b"X"
    (root / "f7").write_text("7")
    assert take(root) == first


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_damaged_memory_of_the_last_take(tmp_path: Path, damage: bytes | None) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    first = take(root)
    memory = root / ".bough" / "repo.git" / "person"
    body = memory.read_bytes()
    memory.write_bytes(damage if damage is not None else body.replace(b"100644", b"100755"))
    assert take(root) == first


def test_unreadable_file_is_named() -> None:
    with ordinary_user() as folder:
        root = write(folder / "p", {"a": "1", "locked.txt": "x", ".gitignore": "fine\n", "fine": "x"})
        (root / "fine").chmod(0)
        workspaces = spaces(root)
        asyncio.run(workspaces.take())
        (root / "locked.txt").chmod(0)
        with pytest.raises(WorkspaceError, match=r"may not read locked\.txt"):
            asyncio.run(workspaces.take())
        (root / "locked.txt").chmod(0o644)
        write(root, {"closed/x": ""})
        (root / "closed").chmod(0)
        with pytest.raises(WorkspaceError, match="may not read closed"):
            asyncio.run(workspaces.take())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
def test_repository_of_another_user(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    workspaces = spaces(root)
    for path in (root, root / ".git"):
        os.chown(path, NOBODY, NOBODY)
    with pytest.raises(WorkspaceError, match=r"another user owns it.*safe\.directory"):
        asyncio.run(workspaces.take())
    git(root, "config", "--global", "--add", "safe.directory", str(root))
    assert names(root, asyncio.run(workspaces.take())) == {"a"}


def test_git_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "p", {"a": "1"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match=r"git was not found on PATH: install git, then run bough again\."):
        take(root)


def test_bare_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "p.git")
    with pytest.raises(WorkspaceError, match="run bough in a working tree"):
        take(tmp_path / "p.git")


def test_damaged_repository_is_refused(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1"})
    (root / ".git" / "HEAD").unlink()
    with pytest.raises(WorkspaceError, match="git cannot read the repository"):
        take(root)


def test_bough_folder_that_came_with_the_project_is_refused(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {"a": "1", ".bough/repo.git/HEAD": "ref: refs/heads/main\n"})
    with pytest.raises(WorkspaceError, match="under version control"):
        take(root)


def test_settings_that_came_with_a_cloned_bough_folder_are_not_used(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"a": "1"})
    first = take(root)
    config = root / ".bough" / "repo.git" / "config"
    good = config.read_text()
    config.write_text(f"{good}[core]\n\tfsmonitor = touch {tmp_path}/ran\n")
    (root / ".bough" / "repo.git" / "info" / "attributes").write_text("* text=auto\n")
    assert take(root) == first
    assert config.read_text() == good


def test_large_file(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"small": "s"})
    body = os.urandom(1 << 20) * 6
    (root / "large").write_bytes(body)
    assert kept(root, take(root))["large"][1] == body
    assert not list((root / ".bough" / "repo.git" / "objects" / "pack").glob("tmp_*"))


@in_turn
def test_two_takes_at_once(tmp_path: Path) -> None:
    root = project(tmp_path / "p", {f"d{i % 7}/f{i}": str(i) for i in range(100)})
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "from bough.adapters.workspaces.git import GitWorkspaces\n"
        "from bough.adapters.workspaces.home import prepare_home\n"
        "root = Path(sys.argv[1])\n"
        "print(asyncio.run(GitWorkspaces(root, prepare_home(root), False).take()))"
    )
    argv = [sys.executable, "-c", script, str(root)]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    trees = {process.communicate()[0].strip() for process in running}
    assert all(process.returncode == 0 for process in running)
    assert trees == {git(root, "rev-parse", "HEAD^{tree}").decode().strip()}
    git(root / ".bough" / "repo.git", "fsck", "--strict", "--no-dangling")
