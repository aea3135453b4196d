"""Pushing and asking a forge: nothing of the project's own `.git` starts a program."""

import subprocess
from pathlib import Path

import pytest

from bough.core.errors import Unavailable
from bough.trust.remotes import push_branch, run_theirs
from tests.harness import git, make_project


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A remote behind the person's own ssh, which serves it from this machine."""
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "origin.git"], check=True)
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    return tmp_path / "origin.git"


@pytest.fixture
def project(tmp_path: Path, origin: Path) -> Path:
    folder = make_project(tmp_path / "p")
    git(folder, "branch", "work")
    git(folder, "remote", "add", "origin", f"ssh://host.invalid{origin}")
    return folder


def list_branches(origin: Path) -> str:
    return subprocess.run(["git", "-C", origin, "branch"], capture_output=True, text=True, check=True).stdout


def prepare(folder: Path, attack: str, marker: Path) -> None:
    """What an archive's `.git` may bring."""
    program = folder.parent / "evil"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    if attack == "pre-push":
        (hooks / "pre-push").symlink_to(program)
    elif attack == "include":
        (folder / "more").write_text(f"[core]\n\tsshCommand = {program}\n")
        git(folder, "config", "include.path", str(folder / "more"))
    elif attack == "hooksPath":
        (folder / "theirs").mkdir()
        (folder / "theirs" / "pre-push").symlink_to(program)
        git(folder, "config", "core.hooksPath", "theirs")
    elif attack == "ext":
        git(folder, "config", "remote.origin.url", f"ext::{program}")
        git(folder, "config", "protocol.ext.allow", "always")
    elif attack == "insteadOf":
        git(folder, "config", f"url.ext::{program} %S .insteadOf", "ssh://")
        git(folder, "config", "protocol.ext.allow", "always")
    elif attack == "vcs":
        git(folder, "config", "remote.origin.vcs", f"ext::{program}")
    else:
        git(folder, "config", attack, str(program))


ATTACKS = ["pre-push", "hooksPath", "include", "ext", "insteadOf", "core.sshCommand", "remote.origin.receivepack"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_of_the_project_runs(
    project: Path, origin: Path, tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(project, attack, tmp_path / "owned")
    if attack == "ext":
        with pytest.raises(Unavailable, match="does not push to"):
            push_branch(project, "work", 60)
    else:
        remarks = push_branch(project, "work", 60)
        assert "work" in list_branches(origin)
        assert bool(remarks) == (attack in ("pre-push", "hooksPath")), "a hook that is skipped is told"
    assert not (tmp_path / "owned").exists()
    if attack in ("core.sshCommand", "include"):
        monkeypatch.delenv("GIT_SSH_COMMAND")
    subprocess.run(["git", "push", "-q", "origin", "work:again"], cwd=project, capture_output=True, check=False)
    assert (tmp_path / "owned").exists(), "the attack works without the defence"


def test_a_forge_client_starts_git_elsewhere(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(project, "core.fsmonitor", tmp_path / "owned")
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text("#!/bin/sh\ngit status --porcelain\ngit remote get-url origin\n")
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    assert run_theirs(["gh", "issue", "list"], project).startswith("ssh://host.invalid/")
    assert not (tmp_path / "owned").exists()
    git(project, "status")
    assert (tmp_path / "owned").exists(), "the attack works without the defence"


ODD = ["./evil.git", "ext::sh -c x", "fd::17", "-oProxyCommand=x", "ssh://-oProxyCommand=x/y", "x::y:z"]


@pytest.mark.parametrize("url", ODD)
def test_remotes_of_other_kinds_are_refused(project: Path, url: str) -> None:
    git(project, "config", "remote.origin.url", url)
    with pytest.raises(Unavailable, match="does not push to"):
        push_branch(project, "work", 60)


def test_a_repository_of_the_project_does_not_receive(project: Path, tmp_path: Path) -> None:
    inside, outside = project / "evil.git", tmp_path / "mirror.git"
    for place in (inside, outside):
        subprocess.run(["git", "init", "-q", "--bare", place], check=True)
        (place / "hooks" / "pre-receive").write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
        (place / "hooks" / "pre-receive").chmod(0o755)
    git(project, "config", "remote.origin.url", str(inside))
    with pytest.raises(Unavailable, match="outside the project"):
        push_branch(project, "work", 60)
    git(project, "config", "remote.origin.url", str(outside))
    push_branch(project, "work", 60)
    assert "work" in list_branches(outside) and not (tmp_path / "owned").exists()


def test_files_of_git_lfs_are_refused_with_a_sentence(project: Path) -> None:
    (project / "film.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    git(project, "checkout", "-q", "-b", "films")
    git(project, "add", "film.bin")
    git(project, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "films")
    git(project, "checkout", "-q", "-")
    with pytest.raises(Unavailable, match=r"film.bin is kept by Git LFS.*git push origin films"):
        push_branch(project, "films", 60)


def test_a_worktree_and_a_shallow_clone_are_pushed(project: Path, origin: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside")
    push_branch(tmp_path / "beside", "beside", 60)
    git(project, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "more")
    subprocess.run(["git", "clone", "-q", "--depth=1", project.as_uri(), tmp_path / "shallow"], check=True)
    git(tmp_path / "shallow", "config", "remote.origin.url", f"ssh://host.invalid{origin}")
    git(tmp_path / "shallow", "branch", "thin")
    push_branch(project, "work", 60)
    assert "beside" in list_branches(origin)
