"""What takes effect on its own once it is applied."""

import pytest

from bough.core.merge.active_files import EXECUTABLE, LINK, PLAIN, find_edge


@pytest.mark.parametrize(
    "path",
    [
        ".envrc",
        ".VSCode/Tasks.json",
        ".GitHub/Workflows/ci.yml",
        ".zed/tasks.json",
        "app.sublime-project",
        ".codex/config.toml",
        ".cursorrules",
        "sub/AGENTS.md",
        "Claude.md",
        ".buildkite/pipeline.yml",
        ".woodpecker.yml",
        "sub/.envrc",
        ".husky/pre-commit",
        ".githooks/post-checkout",
        ".pre-commit-config.yaml",
        ".vscode/tasks.json",
        "web/.vscode/settings.json",
        ".idea/runConfigurations/all.xml",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        ".gitattributes",
        "bough.toml",
        "sitecustomize.py",
        "src/evil.pth",
        ".npmrc",
        ".cargo/config.toml",
        ".devcontainer/devcontainer.json",
        "tests/new/conftest.py",
        ".vscode/mcp.json",
        ".VS/launch.vs.json",
        ".kiro/steering/a.md",
        ".GITHUB/Instructions/a.instructions.md",
        "Agent.md",
        ".clinerules/a.md",
        ".github/dependabot.yml",
        "azure-pipelines.yaml",
        ".mvn/extensions.xml",
        ".yarn/releases/yarn.cjs",
        ".gdbinit",
        ".gitpod.yml",
        "Jenkinsfile.nightly",
    ],
)
def test_files_that_act(path: str) -> None:
    assert find_edge(path, "", PLAIN, "") is not None


def test_what_is_not_an_edge() -> None:
    for path in ("src/app.py", "README.md", "tests/test_app.py", "docs/hooks.md", "Makefile"):
        assert find_edge(path, "", PLAIN, "") is None
    assert find_edge("tests/conftest.py", PLAIN, PLAIN, "") is None
    assert find_edge("run.sh", EXECUTABLE, EXECUTABLE, "") is None


def test_new_programs() -> None:
    assert find_edge("run.sh", "", EXECUTABLE, "") is not None
    assert find_edge("run.sh", PLAIN, EXECUTABLE, "") is not None


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("a", "/etc/passwd", True),
        ("a", "../x", True),
        ("a/b", "../x", False),
        ("a/b", "../../x", True),
        ("a/b", "c/../../../x", True),
        ("a", "b/../c", False),
        ("a", "..", True),
        ("a", ".", False),
    ],
)
def test_links(path: str, target: str, out: bool) -> None:
    assert (find_edge(path, "", LINK, target) is not None) is out
