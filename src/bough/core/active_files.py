"""Where a change reaches beyond the files it changes: what runs by itself, or leads elsewhere, once it is in place.

A person who applies a run's work looks at code before they run it. These take effect before that: when a folder is
entered, a project opened, a commit made or pushed, tests collected, or a link followed.
"""

from __future__ import annotations

import posixpath
import re

from msgspec import Struct

PLAIN, EXECUTABLE, LINK = "100644", "100755", "120000"


class Edge(Struct, frozen=True):
    path: str
    why: str


_BY_NAME = (
    (r"\.envrc", "runs when the folder is entered"),
    (r"(?:\.husky|\.githooks|\.git-hooks|hooks)/.*", "runs as a hook of git"),
    (r"\.pre-commit-config\.ya?ml|\.?lefthook\.ya?ml|\.overcommit\.yml", "says what runs as a hook of git"),
    (r"\.vscode/(?:tasks|launch|settings|extensions)\.json|.*\.code-workspace", "is obeyed by the editor"),
    (r"\.idea/.*|\.vim/.*|\.exrc|\.nvimrc|\.nvim\.lua|\.dir-locals\.el", "is obeyed by the editor"),
    (r"\.devcontainer/.*|\.devcontainer\.json", "says what runs in the development container"),
    (r"\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*|\.gitlab-ci\.yml|\.gitlab/.*", "runs in CI"),
    (
        r"\.circleci/.*|\.travis\.yml|\.drone\.yml|Jenkinsfile|azure-pipelines\.yml|bitbucket-pipelines\.yml",
        "runs in CI",
    ),
    (r"\.gitattributes|\.gitmodules|\.gitconfig", "is obeyed by git"),
    (r"bough\.toml", "sets how bough works here"),
    (r"(?:site|user)customize\.py|.*\.pth", "runs whenever Python starts"),
    (
        r"\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.c?js|bunfig\.toml|pip\.conf|\.cargo/config(?:\.toml)?",
        "steers installs",
    ),
    (r"\.(?:mise|tool-versions).*|mise\.toml|\.claude/.*|\.cursor/.*|\.mcp\.json", "is obeyed by tools"),
)
_NAMES = [(re.compile(pattern), why) for pattern, why in _BY_NAME]


def find_edge(path: str, before: str, after: str, target: str) -> Edge | None:
    """Of a file that a change leaves there: its path, its mode before (empty: it is new) and after, and for a link
    where that leads."""
    if after == LINK:
        if posixpath.isabs(target) or leads_out(path, target):
            return Edge(path, f"is a link that leads out of the project, to {target}")
        return None
    parts = path.split("/")
    for start in range(len(parts)):
        rest = "/".join(parts[start:])
        for pattern, why in _NAMES:
            if pattern.fullmatch(rest):
                return Edge(path, why)
    if parts[-1] == "conftest.py" and not before:
        return Edge(path, "runs whenever tests are collected, and is at a new place")
    if after == EXECUTABLE and before != EXECUTABLE:
        return Edge(path, "is a new program" if not before else "can be executed now")
    return None


def leads_out(path: str, target: str) -> bool:
    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return where == ".." or where.startswith("../")
