"""Describe the content of a change: the public interface of changed files (names, signatures and documentation, without
bodies), whether code that runs differs, and whether public names differ."""

import ast
import re
from collections.abc import Iterator, Mapping

from bough.core.acceptance.verdict import Difference
from bough.core.conversation.text_fitting import keep_ends, share_room
from bough.core.textual.python_source import parse_python
from bough.core.verdict.language import is_test_path
from bough.core.verdict.paths import find_stem, find_suffix
from bough.core.verdict.registry import NEUTRAL, find_language

DOC = 1_500
"""The maximum number of characters of one docstring."""
NEAR = 12
"""The number of lines after a declaration that count as part of it."""
_DECLARES = re.compile(
    r"^\s*(export\b|pub\b|public\b|func\b|fn\b|def\b|class\b|struct\b|enum\b|interface\b|trait\b|type\b|impl\b|module\b"
    r"|function\b|async function\b|module\.exports|exports\.|const\b[^=]*=\s*(async\s*)?(\(|function)|static\b|extern\b"
    r"|[A-Za-z_][\w:<>*&\s]*\s[*&]?\w+\([^;]*\)\s*\{?$)"
)
_COMMENT = re.compile(r"^\s*(///?|//!|#|\*|/\*\*?|--)")


def outline_files(texts: Mapping[str, str], limit: int, before: Mapping[str, str]) -> str:
    """Show as much of these files as fits, and list what is left out. Of a file that existed `before`, only additions
    and changes are shown: the rest is not part of the work."""
    parts: list[str] = []
    room, left_out = limit, []
    for path, text in texts.items():
        old = before.get(path)
        face = (_outline_python(text, old) if path.endswith((".py", ".pyi")) else _outline_other(text, old)).strip()
        only = "" if old is None else " (what was added or changed)"
        part = f"### {path}{only}\n\n```\n{face}\n```" if face else f"### {path}\n\n(nothing public)"
        if len(part) > room:
            left_out.append(path)
            continue
        room -= len(part)
        parts.append(part)
    if left_out:
        parts.append(f"(left out for their length: {', '.join(left_out)})")
    return "\n\n".join(parts)


def list_declarations(path: str, text: str) -> list[str]:
    """List the names that a file defines, with their arguments."""
    if not path.endswith((".py", ".pyi")):
        return [line.strip() for line in text.splitlines() if _DECLARES.match(line)]
    tree = parse_python(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    made = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    return [*(f"{node.name}({ast.unparse(node.args)})" for node in made), *classes]


def extract_added_lines(text: str, before: str | None) -> str:
    """Extract the additions and changes in a document, with one line of context; return a new document in full."""
    if before is None:
        return text
    import difflib

    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), lineterm="", n=1)
    return "\n".join("…" if line.startswith("@@") else line for line in list(lines)[2:])


def _outline_python(text: str, before: str | None) -> str:
    tree, old = parse_python(text), parse_python(before or "")
    if tree is None or old is None:
        return _outline_other(text, before)
    module = ast.get_docstring(tree) or ""
    head = [f'"""{_shorten_doc(module)}"""', ""] if module and module != ast.get_docstring(old) else []
    return "\n".join(head + list(_outline_definitions(tree.body, "", old.body)))


def _outline_definitions(body: list[ast.stmt], indent: str, old: list[ast.stmt]) -> Iterator[str]:
    """Outline definitions. `old`: the earlier text; unchanged definitions are left out."""
    same = {ast.dump(node) for node in old}
    for node in body:
        if ast.dump(node) in same:
            continue
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_public(node.name):
                yield from (f"{indent}@{ast.unparse(each)}" for each in node.decorator_list)
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
                yield f"{indent}{word} {node.name}({ast.unparse(node.args)}){returns}:"
                yield from _outline_docstring(node, indent)
            case ast.ClassDef() if _is_public(node.name):
                bases = ", ".join(map(ast.unparse, node.bases))
                yield f"{indent}class {node.name}{f'({bases})' if bases else ''}:"
                yield from _outline_docstring(node, indent)
                was = [each for each in old if isinstance(each, ast.ClassDef) and each.name == node.name]
                yield from _outline_definitions(node.body, f"{indent}    ", was[0].body if was else [])
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]) if (
                _is_public(name) and name != "__all__"
            ):
                yield f"{indent}{ast.unparse(node)[:200]}"
            case ast.If() | ast.Try():
                yield from _outline_definitions(node.body, indent, [])


def _outline_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, indent: str) -> Iterator[str]:
    said = ast.get_docstring(node)
    if said:
        lines = _shorten_doc(said).splitlines()
        yield f'{indent}    """' + f"\n{indent}    ".join(lines) + '"""'


def _shorten_doc(text: str) -> str:
    return text if len(text) <= DOC else f"{text[:DOC].rstrip()} … (cut)"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _outline_other(text: str, before: str | None) -> str:
    """List the lines that declare something, with the comments right above; in an existing file, only those that are
    new or have new lines below."""
    kept: list[str] = []
    comments: list[str] = []
    fresh = _find_new_lines(text, before)
    for number, line in enumerate(text.splitlines()):
        if _COMMENT.match(line):
            comments.append(line)
            continue
        if _DECLARES.match(line) and fresh & {*range(number - len(comments), number + NEAR)}:
            kept += [*comments[-12:], line.rstrip().removesuffix("{").rstrip()]
        comments = []
    return "\n".join(kept)


def _find_new_lines(text: str, before: str | None) -> set[int]:
    lines = text.splitlines()
    if before is None:
        return {*range(len(lines))}
    import difflib

    blocks = difflib.SequenceMatcher(None, before.splitlines(), lines).get_opcodes()
    return {number for tag, _, _, start, end in blocks if tag != "equal" for number in range(start, end)}


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
