"""The public face of source files: names, signatures and what is documented, without the bodies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

DOC = 600
"""Characters of one docstring."""
_DECLARES = re.compile(
    r"^\s*(export\b|pub\b|public\b|func\b|fn\b|def\b|class\b|struct\b|enum\b|interface\b|trait\b|type\b|impl\b|module\b"
    r"|function\b|async function\b|module\.exports|exports\.|const\b[^=]*=\s*(async\s*)?(\(|function)|static\b|extern\b"
    r"|[A-Za-z_][\w:<>*&\s]*\s[*&]?\w+\([^;]*\)\s*\{?$)"
)
_COMMENT = re.compile(r"^\s*(///?|//!|#|\*|/\*\*?|--)")


def interface(texts: Mapping[str, str], limit: int) -> str:
    """Of these files, as much as fits; what is left out is said."""
    parts: list[str] = []
    room, left_out = limit, []
    for path, text in texts.items():
        face = (_python(text) if path.endswith((".py", ".pyi")) else _other(text)).strip()
        part = f"### {path}\n\n```\n{face}\n```" if face else f"### {path}\n\n(nothing public)"
        if len(part) > room:
            left_out.append(path)
            continue
        room -= len(part)
        parts.append(part)
    if left_out:
        parts.append(f"(left out for their length: {', '.join(left_out)})")
    return "\n\n".join(parts)


def _python(text: str) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return _other(text)
    module = ast.get_docstring(tree) or ""
    return "\n".join(([f'"""{_short(module)}"""', ""] if module else []) + list(_defined(tree.body, "")))


def _defined(body: list[ast.stmt], indent: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _public(node.name):
                yield from (f"{indent}@{ast.unparse(each)}" for each in node.decorator_list)
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
                yield f"{indent}{word} {node.name}({ast.unparse(node.args)}){returns}:"
                yield from _documented(node, indent)
            case ast.ClassDef() if _public(node.name):
                bases = ", ".join(map(ast.unparse, node.bases))
                yield f"{indent}class {node.name}{f'({bases})' if bases else ''}:"
                yield from _documented(node, indent)
                yield from _defined(node.body, f"{indent}    ")
            case ast.AnnAssign(target=ast.Name() as target) if _public(target.id):
                yield f"{indent}{ast.unparse(node)[:200]}"
            case ast.Assign(targets=[ast.Name() as target]) if _public(target.id):
                yield f"{indent}{ast.unparse(node)[:200]}"
            case ast.If() | ast.Try():
                yield from _defined(node.body, indent)
            case _:
                pass


def _documented(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, indent: str) -> Iterator[str]:
    said = ast.get_docstring(node)
    if said:
        lines = _short(said).splitlines()
        yield f'{indent}    """' + f"\n{indent}    ".join(lines) + '"""'


def _short(text: str) -> str:
    return text if len(text) <= DOC else f"{text[:DOC].rstrip()} … (cut)"


def _public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _other(text: str) -> str:
    """Lines that declare something, with the comments right above them."""
    kept: list[str] = []
    comments: list[str] = []
    for line in text.splitlines():
        if _COMMENT.match(line):
            comments.append(line)
            continue
        if _DECLARES.match(line):
            kept += [*comments[-12:], line.rstrip().removesuffix("{").rstrip()]
        comments = []
    return "\n".join(kept)
