"""Python code without what does not run: comments, docstrings, layout."""

from __future__ import annotations

import ast


def dump_code(text: str) -> str:
    """The syntax tree without docstrings, as text; the text itself where it is not Python."""
    try:
        return ast.dump(_Bare().visit(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return text


class _Bare(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)] or [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
