"""The `.git` of an archive, and what is tracked in it: programs, addresses, links and objects."""

import os
import shutil
import subprocess
from pathlib import Path

from .attempts import attempt
from .scene import CHECK, FIX, PATH, Scene

GH = """#!/bin/sh
env > "$HOME/../gh.env"
echo "$@" >> "$HOME/../gh.log"
case "$1 $2" in
"issue list") cat "$HOME/../issues.json" ;;
"issue view") cat "$HOME/../issue.json" ;;
"pr view") cat "$HOME/../pr.json" ;;
*) echo https://forge.example/pull/1 ;;
esac
"""


def settings(scene: Scene, *lines: str) -> None:
    """Add lines to the repository's own settings."""
    with (scene.project / ".git/config").open("a") as config:
        config.write("\n".join(lines) + "\n")


def everything(scene: Scene) -> None:
    """Do what a person does with a repository: a run, what it changed, its branch, its work, its pull request."""
    scene.program("gh", GH)
    scene.run()
    for words in (
        ("diff",),
        ("pr", "--partial"),
        ("pr", "--partial", "--draft", "--branch", "b"),
        ("apply", "--partial", "--commit"),
        ("undo",),
        ("apply", "--partial", "--branch", "c"),
        ("examine", "HEAD", "--goal", "x", "--rounds", "2", *scene.options()),
        ("check",),
    ):
        scene.bough(*words)


@attempt("git")
def git_settings_start_programs(scene: Scene) -> None:
    """The settings in `.git` name a monitor, hooks, a pager, an editor, a signer and an external diff."""
    for hook in (
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "pre-push",
        "reference-transaction",
        "post-index-change",
        "prepare-commit-msg",
        "fsmonitor-watchman",
        "post-merge",
    ):
        shutil.copy(scene.script, scene.project / ".git/hooks" / hook)
    p = scene.script
    settings(
        scene,
        "[core]",
        f"\tfsmonitor = {p}",
        f"\tpager = {p}",
        f"\teditor = {p}",
        f"\taskPass = {p}",
        f"\tsshCommand = {p}",
        f"\tgitProxy = {p}",
        f"\talternateRefsCommand = {p}",
        "[diff]",
        f"\texternal = {p}",
        "[gpg]",
        f"\tprogram = {p}",
        '[gpg "ssh"]',
        f"\tprogram = {p}",
        f"\tdefaultKeyCommand = {p}",
        "[commit]",
        "\tgpgsign = true",
        "[credential]",
        f"\thelper = !{p}",
        "[interactive]",
        f"\tdiffFilter = {p}",
        "[uploadpack]",
        f"\tpackObjectsHook = {p}",
        "[sequence]",
        f"\teditor = {p}",
        "[init]",
        f"\ttemplateDir = {scene.attacker}",
        '[trailer "x"]',
        f"\tcommand = {p}",
    )
    everything(scene)


@attempt("git")
def git_attributes_start_filters(scene: Scene) -> None:
    """Tracked and hidden attributes send every file through the attacker's filters, drivers and text converters."""
    p = scene.script
    settings(
        scene,
        '[filter "x"]',
        f"\tclean = {p}",
        f"\tsmudge = {p}",
        f"\tprocess = {p}",
        "\trequired = false",
        '[filter "lfs"]',
        f"\tclean = {p}",
        f"\tsmudge = {p}",
        f"\tprocess = {p}",
        '[diff "x"]',
        f"\ttextconv = {p}",
        f"\tcommand = {p}",
        '[merge "x"]',
        f"\tdriver = {p} %A %O %B",
    )
    scene.files({".gitattributes": "*.py filter=x diff=x merge=x\n*.bin filter=lfs diff=lfs\n", "a.bin": "x"})
    (scene.project / ".git/info/attributes").write_text("* filter=x diff=x merge=x\n")
    (scene.project / "shop.py").write_text("# changed\ndef total(*numbers):\n    return 0\n")
    everything(scene)


@attempt("git")
def git_settings_include_others(scene: Scene) -> None:
    """Settings come from included files, from a worktree's own file and from conditions."""
    other = scene.attacker / "more"
    other.write_text(
        f"[core]\n\tfsmonitor = {scene.script}\n\thooksPath = {scene.attacker}/hooks\n"
        f"[diff]\n\texternal = {scene.script}\n"
    )
    (scene.attacker / "hooks").mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-push"):
        shutil.copy(scene.script, scene.attacker / "hooks" / hook)
    settings(
        scene,
        "[include]",
        f"\tpath = {other}",
        '[includeIf "gitdir:/**"]',
        f"\tpath = {other}",
        "[extensions]",
        "\tworktreeConfig = true",
    )
    shutil.copy(other, scene.project / ".git/config.worktree")
    everything(scene)


@attempt("remotes")
def remote_is_a_program(scene: Scene) -> None:
    """The remote that a draft is pushed to is a program, an option, or another one by rewriting."""
    p = scene.script
    for lines in (
        [f"\turl = ext::{p}"],
        [f"\turl = ssh://-oProxyCommand={p}/x"],
        [
            "\turl = https://forge.example/x",
            f'[url "ext::{p} "]',
            "\tinsteadOf = https://",
            "\tpushInsteadOf = https://",
        ],
        ["\turl = https://forge.example/x", f"\tpushurl = ext::{p}"],
        ["\turl = /x", f"\treceivepack = {p}", f"\tuploadpack = {p}"],
        ["\turl = https://forge.example/x", f"\tvcs = ext::{p}", f"\tproxy = http://127.0.0.1:{scene.port.number}"],
        [f"\turl = file://{scene.attacker}/bare.git"],
    ):
        shutil.rmtree(scene.project / ".bough", ignore_errors=True)
        scene.git("config", "--remove-section", "remote.origin") if "origin" in scene.git("remote") else None
        settings(scene, '[remote "origin"]', *lines, "[protocol]", "\tallow = always", "[http]", "\tsslVerify = false")
        scene.program("gh", GH)
        scene.run()
        scene.bough("pr", "--partial", "--draft", limit=60, GH_TOKEN=scene.key)


@attempt("remotes")
def remote_has_hooks(scene: Scene) -> None:
    """The remote is a folder inside the archive whose own hooks run when something is pushed to it."""
    bare = scene.project / "vendor/origin.git"
    scene.git("init", "-q", "--bare", str(bare))
    for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        shutil.copy(scene.script, bare / "hooks" / hook)
    with (bare / "config").open("a") as config:
        config.write(
            f"[core]\n\thooksPath = {bare}/hooks\n\tfsmonitor = {scene.script}\n[receive]\n\tprocReceiveRefs = refs\n"
        )
    for url in (str(bare), f"file://{bare}", "vendor/origin.git", "./vendor/origin.git"):
        (scene.project / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
        settings(scene, '[remote "origin"]', f"\turl = {url}", "\tfetch = +refs/heads/*:refs/remotes/origin/*")
        shutil.rmtree(scene.project / ".bough", ignore_errors=True)
        scene.program("gh", GH)
        scene.run()
        scene.bough("pr", "--partial", "--draft", limit=60)


@attempt("git")
def git_folder_is_elsewhere(scene: Scene) -> None:
    """`.git` is a file that leads to a tracked folder with hooks, whose work tree is the person's home."""
    shutil.move(scene.project / ".git", scene.project / "evil")
    (scene.project / ".git").write_text("gitdir: evil\n")
    with (scene.project / "evil/config").open("a") as config:
        config.write(f"[core]\n\tworktree = {scene.home}\n\tfsmonitor = {scene.script}\n")
    scene.acts(("list", {"path": ".", "depth": 5}), ("bash", {"command": "cat .ssh/* */.ssh/*; ls -laR"}))
    scene.bough("apply", "--partial", "--edges")
    scene.bough("diff")
    scene.success((scene.home / "shop.py").exists(), "work was applied to the person's home")


@attempt("history")
def git_objects_are_borrowed(scene: Scene) -> None:
    """`alternates` and `commondir` lend the agent the objects of another repository of the person's."""
    private = scene.home / "private"
    private.mkdir()
    scene.git("init", "-q", at=private)
    (private / "s.txt").write_text(scene.secret)
    scene.git("add", "-A", at=private)
    scene.git("commit", "-q", "-m", "x", at=private)
    blob = scene.git("rev-parse", "HEAD:s.txt", at=private)
    (scene.project / ".git/objects/info").mkdir(exist_ok=True)
    (scene.project / ".git/objects/info/alternates").write_text(f"{private}/.git/objects\n")
    (scene.project / ".git/commondir").write_text(f"{private}/.git\n")
    command = f"git cat-file -p {blob}; git --git-dir={private}/.git cat-file -p {blob}; cat {private}/s.txt"
    scene.model.calls = [("bash", {"command": command})]
    scene.run()
    (scene.project / ".git/commondir").unlink()
    scene.acts(("bash", {"command": command}))


@attempt("git")
def submodule_updates_itself(scene: Scene) -> None:
    """A submodule has a command for its update, an address that is a program, and a name that leads out."""
    text = f'[submodule "../../home/owned"]\n\tpath = sub\n\turl = ext::{scene.script}\n\tupdate = !{scene.script}\n'
    scene.commit(
        {".gitmodules": text + f'[submodule "b"]\n\tpath = b\n\turl = -u{scene.script}\n\tupdate = !{scene.script}\n'}
    )
    settings(
        scene,
        '[submodule "b"]',
        f"\tupdate = !{scene.script}",
        f"\turl = ext::{scene.script}",
        "\tactive = true",
        "[submodule]",
        "\trecurse = true",
    )
    head = scene.git("rev-parse", "HEAD")
    scene.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    scene.git("update-index", "--add", "--cacheinfo", f"160000,{head},b")
    scene.git("commit", "-q", "-m", "sub")
    everything(scene)


@attempt("beneath")
def tracked_links_lead_home(scene: Scene) -> None:
    """Tracked links lead to the person's files, and the agent reads, edits and lists through them."""
    for name, target in (("key", ".ssh/id_ed25519"), ("home", "."), ("notes", "notes.txt")):
        (scene.project / name).symlink_to(os.path.relpath(scene.home / target, scene.project))
    (scene.project / "absolute").symlink_to(scene.home / ".ssh/id_ed25519")
    (scene.project / "AGENTS.md").symlink_to(scene.home / ".ssh/id_ed25519")
    (scene.project / "README.md").symlink_to(scene.home / ".ssh/id_ed25519")
    scene.commit({})
    calls: list[tuple[str, object]] = [
        ("read", {"path": name}) for name in ("key", "absolute", "home/.ssh/id_ed25519", "AGENTS.md")
    ]
    calls += [("search", {"pattern": "secret", "path": "home"}), ("list", {"path": "home/.ssh"})]
    calls += [
        ("write", {"path": "home/owned", "content": "x"}),
        ("edit", {"path": "notes", "old": "mine", "new": "owned"}),
    ]
    scene.model.calls = calls
    scene.bough("run", "Read AGENTS.md", "--flat", "--rounds", "12", "--check", CHECK, *scene.options())
    scene.bough("apply", "--partial", "--edges")


@attempt("handles")
def work_is_applied_through_a_link(scene: Scene) -> None:
    """The first work makes a folder a link to the home, the second writes below it, and both are applied."""
    scene.commit({"data/a.txt": "a\n"})
    scene.model.calls = [("bash", {"command": f"rm -r data; ln -s {scene.home} data"}), FIX]
    scene.run()
    scene.bough("apply", "--partial", "--edges")
    scene.model.calls = [
        ("bash", {"command": "rm data; mkdir data; echo x > data/owned; echo owned > data/notes.txt"}),
        FIX,
    ]
    scene.run()
    if not (scene.project / "data").is_symlink():
        shutil.rmtree(scene.project / "data", ignore_errors=True)
        (scene.project / "data").symlink_to(scene.home)
    scene.bough("apply", "--partial", "--edges")
    scene.bough("undo")


@attempt("text")
def file_names_write_to_the_terminal(scene: Scene) -> None:
    """Tracked file names hold escapes, line breaks, dashes and bytes that are no text."""
    names = [
        "a\x1b]0;owned\x07.py",
        "b\nbough: all is well\n.py",
        "-rf",
        "--output=owned",
        "c\u202eowned.py",
        "d\x9bowned",
    ]
    for name in names:
        (scene.project / name).write_text("x = 1\n")
    (scene.project / os.fsdecode(b"e\xff\xfe.py")).write_text("x = 2\n")
    scene.commit({})
    command = "for f in *; do echo '# more' >> \"./$f\"; done; git add -A"
    scene.acts(("list", {}), ("bash", {"command": command}), FIX)
    for words in (("diff",), ("show",), ("status",), ("report",), ("log",)):
        scene.terminal(*words, limit=20)
    scene.bough("apply", "--partial")
    scene.bough("pr", "--partial")


@attempt("git")
def attributes_hide_the_change(scene: Scene) -> None:
    """`export-ignore`, `binary`, `-diff` and an index full of lies hide a change from the person who looks."""
    scene.commit({".gitattributes": "*.py -diff binary export-ignore\n", "evil.py": "x = 1\n"})
    scene.git("update-index", "--assume-unchanged", "evil.py")
    scene.git("update-index", "--skip-worktree", "shop.py")
    scene.acts(FIX, ("write", {"path": "evil.py", "content": "x = 'owned'\n"}))
    said = scene.bough("diff")
    scene.success("sum(numbers)" not in said.text or "owned" not in said.text, "the diff hides a change")
    (scene.project / "evil.py").write_text("x = 'mine'\n")
    scene.bough("apply", "--partial", "--edges")
    scene.success("owned" in (scene.project / "evil.py").read_text(), "a change of the person's was overwritten")


@attempt("programs")
def programs_of_the_project(scene: Scene) -> None:
    """The project has a `git`, `gh`, `python3`, `rg`, `sh` and `ssh-keygen` of its own, and PATH leads there."""
    for name in (
        "git",
        "gh",
        "python3",
        "rg",
        "sh",
        "uname",
        "env",
        "ssh-keygen",
        "less",
        "xdg-open",
        "bough",
        "systemctl",
        "crontab",
    ):
        for folder in (scene.project, scene.project / "bin", scene.project / "node_modules/.bin"):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(scene.script, folder / name)
    path = f".::bin:{scene.project}:{scene.project}/bin:node_modules/.bin:{PATH}"
    scene.run(PATH=path)
    for words in (
        ("diff",),
        ("pr", "--partial"),
        ("examine", "#1", *scene.options()),
        ("doctor",),
        ("backlog", "import", "github", "--yes"),
        ("backlog", "schedule", "22:30"),
        ("check",),
    ):
        scene.bough(*words, PATH=path, limit=60)


@attempt("modules")
def modules_of_the_project(scene: Scene) -> None:
    """The project has modules named as the standard library's and bough's own, and bough is started in it."""
    for name in (
        "click",
        "json",
        "sqlite3",
        "bough",
        "subprocess",
        "sitecustomize",
        "usercustomize",
        "acp",
        "mcp",
        "tomllib",
        "asyncio",
    ):
        scene.files({f"{name}.py": scene.code})
    scene.run("--web", limit=60)
    for words in (
        ("show",),
        ("diff",),
        ("doctor",),
        ("mcp",),
        ("hooks", "list"),
        ("examine", "HEAD", "--goal", "x", *scene.options()),
    ):
        scene.bough(*words, limit=60)


@attempt("history")
def worktree_points_elsewhere(scene: Scene) -> None:
    """A linked worktree's `.git` leads to another repository of the person's, which does not know it."""
    private = scene.home / "private"
    private.mkdir()
    scene.git("init", "-q", at=private)
    (private / "s.txt").write_text(scene.secret)
    scene.git("add", "-A", at=private)
    scene.git("commit", "-q", "-m", scene.secret, at=private)
    shutil.rmtree(scene.project / ".git")
    (private / ".git/worktrees/x").mkdir(parents=True)
    (scene.project / ".git").write_text(f"gitdir: {private}/.git\n")
    scene.acts(
        (
            "bash",
            {"command": "git log -p --all; git show HEAD:s.txt; cat .git; git cat-file --batch-all-objects --batch"},
        )
    )
    subprocess.run(["true"], check=True)
    scene.success(Path(private / "s.txt").read_text() != scene.secret, "the other repository was changed")
