"""Describe the content of a change: its diff by files, whether code that runs differs, and whether names differ."""

import ast
import re
from collections.abc import Mapping

from bough.core.acceptance.verdict import Difference
from bough.core.conversation.text_fitting import keep_ends, share_room
from bough.core.textual.python_source import parse_python
from bough.core.verdict.language import is_test_path
from bough.core.verdict.paths import find_stem, find_suffix
from bough.core.verdict.registry import NEUTRAL, find_language

_DECLARES = re.compile(
    r"^\s*(export\b|pub\b|public\b|func\b|fn\b|def\b|class\b|struct\b|enum\b|interface\b|trait\b|type\b|impl\b|module\b"
    r"|function\b|async function\b|module\.exports|exports\.|const\b[^=]*=\s*(async\s*)?(\(|function)|static\b|extern\b"
    r"|[A-Za-z_][\w:<>*&\s]*\s[*&]?\w+\([^;]*\)\s*\{?$)"
)


def list_declarations(path: str, text: str) -> list[str]:
    """List the names that a file defines, with their arguments."""
    if not path.endswith((".py", ".pyi")):
        return [line.strip() for line in text.splitlines() if _DECLARES.match(line)]
    tree = parse_python(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    made = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    return [*(f"{node.name}({ast.unparse(node.args)})" for node in made), *classes]


def fit_texts(parts: Mapping[str, str], limit: int) -> dict[str, str]:
    """Cut the texts to `limit` characters together: short ones stay whole, the longest share the rest, with a note
    about what is missing."""
    shares = share_room([len(text) for text in parts.values()], limit)
    return {name: keep_ends(text, max(share, 2)) for (name, text), share in zip(parts.items(), shares, strict=True)}


def split_diff(diff: str) -> dict[str, str]:
    """Split a diff into the diffs of its files, by path."""
    found: dict[str, str] = {}
    for part in re.split(r"(?m)^(?=diff --git )", diff):
        if part:
            found[part.partition("\n")[0].rpartition(" b/")[2]] = part
    return found


_VERSION = r"\d+(?:\.\d+)+"
_DOCUMENTS = ("md", "markdown", "rst", "adoc", "tex")


def is_document(path: str) -> bool:
    """Whether a file is for people, not programs. `.txt` can be either (`README.txt`, `requirements.txt`)."""
    return find_suffix(path) in _DOCUMENTS or (find_suffix(path) in ("", "txt") and find_stem(path).isupper())


def compare_texts(before: Mapping[str, str], after: Mapping[str, str], paths: tuple[str, ...]) -> Difference:
    """Compare the texts of the changed files before and after the work. A file without one of these texts (new,
    deleted, binary or too large) counts as changed code."""
    code = documents = version = False
    for path in paths:
        old, new, language = before.get(path), after.get(path), find_language(path)
        if is_document(path) or is_test_path(path):
            documents = True
        elif old is None or new is None or language.strip_comments(old) != language.strip_comments(new):
            code = True
        elif old != new:
            documents = True  # Only comments or layout differ.
        if language is NEUTRAL and not is_document(path):
            version |= re.findall(_VERSION, old or "") != re.findall(_VERSION, new or "")
    return Difference(code=code, documents=documents, interface=_declare(before) != _declare(after), version=version)


def _declare(texts: Mapping[str, str]) -> set[str]:
    return {
        f"{path}: {line}"
        for path, text in texts.items()
        if not is_test_path(path) and not is_document(path)
        for line in list_declarations(path, text)
    }
