"""Find the active files of a change, which take effect before a person reads them: when a folder is entered, a project
opened, a commit made or pushed, tests collected, or a link followed."""

import posixpath
import re

from msgspec import Struct

PLAIN, EXECUTABLE, LINK = "100644", "100755", "120000"


class ActiveFile(Struct, frozen=True):
    path: str
    why: str


_BY_NAME = (
    (r"\.envrc|\.autoenv(?:\.zsh)?|\.(?:bash|zsh|irb|pry)rc|\.gdbinit|\.lldbinit", "runs when the folder is entered"),
    (r"(?:\.husky|\.githooks|\.git-hooks|hooks)/.*", "runs as a git hook"),
    (
        r"\.pre-commit-config\.ya?ml|\.?lefthook(?:-local)?\.\w+|\.overcommit\.yml",
        "configures git hooks",
    ),
    (r"\.(?:vscode|idea|vim|zed|fleet|helix|nova|settings|vs)/.*|.*\.code-workspace", "configures the editor"),
    (
        r"\.(?:exrc|[nl]?vimrc|nvim\.lua|dir-locals.*\.el)|.*\.sublime-\w+",
        "configures the editor",
    ),
    (r"\.devcontainer(?:/.*|\.json)|\.gitpod\.ya?ml|\.replit|devbox\.json", "configures the development container"),
    (
        r"\.(?:github|gitea|forgejo)/(?:workflows|actions|dependabot\.ya?ml).*|\.gitlab(?:-ci\.ya?ml|/.*)|Jenkinsfile.*"
        r"|\.(?:circleci|buildkite|woodpecker|semaphore|builds|tekton|teamcity|harness|azure-pipelines)/.*"
        r"|\.(?:travis|drone|woodpecker|cirrus|build)\.(?:ya?ml|star)|\.?appveyor\.ya?ml"
        r"|(?:azure-pipelines|bitbucket-pipelines|cloudbuild|codefresh|wercker|buildspec)\.ya?ml|netlify\.toml|vercel\.json",
        "runs in CI",
    ),
    (r"\.gitattributes|\.gitmodules|\.gitconfig", "configures git"),
    (r"bough\.toml", "configures bough"),
    (r"(?:site|user)customize\.py|.*\.pth", "runs whenever Python starts"),
    (
        r"\.npmrc|\.yarnrc(?:\.yml)?|\.yarn/.*|\.pnpmfile\.c?js|bunfig\.toml|pip\.conf|\.cargo/config(?:\.toml)?"
        r"|\.(?:mvn|bundle)/.*|init\.gradle(?:\.kts)?|\.bazelrc|\.condarc",
        "configures installs and builds",
    ),
    (r"\.(?:mise|tool-versions).*|mise\.toml|\.mcp\.json", "configures tools"),
    (
        r"\.(?:claude|cursor|codex|gemini|continue|windsurf|roo|opencode|goose|aider|cline|amazonq|junie|kiro|trae|augment"
        r"|clinerules|kilocode|crush|qwen)[^/]*(?:/.*)?|opencode\.jsonc?|(?:AGENTS?|CLAUDE|GEMINI|QWEN)(?:\.local)?\.md"
        r"|\.github/(?:copilot-instructions\.md|(?:instructions|prompts|chatmodes|agents)/.*)|\.rules",
        "instructs agents",
    ),
)
# Case is ignored: most systems of people who apply changes take `.VSCode` for the same folder.
_NAMES = [(re.compile(pattern, re.IGNORECASE), why) for pattern, why in _BY_NAME]


def find_edge(path: str, before: str, after: str, target: str) -> ActiveFile | None:
    """Find out how a changed file could act on the person's machine by itself; None if it cannot. `before` and `after`
    are its modes (`before` is empty for a new file), and `target` is that of a link."""
    if after == LINK:
        where = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        out = posixpath.isabs(target) or where == ".." or where.startswith("../")
        return ActiveFile(path, f"is a link out of the project, to {target}") if out else None
    parts = path.split("/")
    for start in range(len(parts)):
        rest = "/".join(parts[start:])
        for pattern, why in _NAMES:
            if pattern.fullmatch(rest):
                return ActiveFile(path, why)
    if parts[-1] == "conftest.py" and not before:
        return ActiveFile(path, "runs whenever tests are collected, and is new here")
    if after == EXECUTABLE and before != EXECUTABLE:
        return ActiveFile(path, "is a new program" if not before else "is now executable")
    return None
