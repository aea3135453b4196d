"""What a change is made of: code that runs, or only documents, comments and tests; and whether public names differ."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from bough.core.acceptance.shown import Difference
from bough.core.conversation.code_outline import list_declarations
from bough.core.verdict.language import is_test_path

_DOCUMENTS = (".md", ".markdown", ".rst", ".adoc", ".tex")
_SLASHES = (
    *(".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".kt"),
    *(".php", ".rs", ".scala", ".swift", ".css", ".scss", ".proto"),
)
_HASHES = (".rb", ".sh", ".bash", ".pl", ".ex", ".exs", ".toml", ".yml", ".yaml", ".r", ".jl")
_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"


def is_document(path: str) -> bool:
    """A text for people: no program reads it. A `.txt` may be one (`README.txt`) or not (`requirements.txt`)."""
    name = PurePosixPath(path)
    return path.lower().endswith(_DOCUMENTS) or (name.suffix in ("", ".txt") and name.stem.isupper())


def compare_texts(before: Mapping[str, str], after: Mapping[str, str], paths: tuple[str, ...]) -> Difference:
    """The texts of the changed files, before and after. A file without a text in either (binary, too large) counts as
    code."""
    code = documents = False
    for path in paths:
        old, new = before.get(path), after.get(path)
        if is_document(path) or is_test_path(path):
            documents = True
        elif old is None or new is None or strip_comments(path, old) != strip_comments(path, new):
            code = True
        if not is_test_path(path) and old is not None and new is not None and old != new:
            documents = documents or _extract_comments(path, old) != _extract_comments(path, new)
    return Difference(code=code, documents=documents, interface=_declare(before) != _declare(after))


def _declare(texts: Mapping[str, str]) -> set[str]:
    return {
        f"{path}: {line}"
        for path, text in texts.items()
        if not is_test_path(path) and not is_document(path)
        for line in list_declarations(path, text)
    }


def strip_comments(path: str, text: str) -> str:
    """What runs of a source file, in a form that comments, documentation and layout do not change."""
    if path.endswith((".py", ".pyi")):
        try:
            return ast.dump(_Bare().visit(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError):
            return text
    if path.endswith(_SLASHES):
        kept = re.sub(rf"(?s)({_STRING})|//[^\n]*|/\*.*?\*/", lambda found: found[1] or " ", text)
        return " ".join(kept.split())
    if path.endswith(_HASHES):
        kept = re.sub(rf"({_STRING})|(?<!\S)#(?!!)[^\n]*", lambda found: found[1] or "", text)
        return "\n".join(line.rstrip() for line in kept.splitlines() if line.strip())
    return text


def _extract_comments(path: str, text: str) -> str:
    """The words of a file that do not run, roughly: it is compared only with itself."""
    return text if strip_comments(path, text) != text else ""


class _Bare(ast.NodeTransformer):
    """Without docstrings."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [each for each in body if not _is_text(each)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
