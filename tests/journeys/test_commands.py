"""Every command that a guide or the README names is in some journey."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference/command-line.md"
UNWALKED: dict[str, str] = {}
"""Commands of the guides that no journey takes, each with the reason."""


def commands() -> set[str]:
    return set(re.findall(r"^##+ bough (.+)$", REFERENCE.read_text(), re.MULTILINE)) - {"backlog"}


def named() -> set[str]:
    """What the guides say in code: in a block, or between backticks."""
    found: set[str] = set()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md"))):
        text = page.read_text()
        code = re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)
        for words in re.findall(r"\bbough ((?:backlog )?[a-z]+)", "\n".join(code)):
            found.add(words)
    return found & commands()


def walked() -> set[str]:
    """What journeys type: the words that `bough` and `start` are called with."""
    found: set[str] = set()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr not in ("bough", "start"):
                continue
            words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if words:
                found.add(" ".join(words[:2]) if words[0] == "backlog" else words[0])
    return found


def test_every_command_of_the_guides_is_in_a_journey() -> None:
    assert len(named()) > 35
    assert named() - walked() == set(UNWALKED)
