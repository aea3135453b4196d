"""References between files: what a text names, loads or defines, and whether it asserts something or holds values."""

import re
from collections.abc import Iterator

from bough.core.verdict.paths import find_stem, last_segment, parent_folder
from bough.core.verdict.registry import find_language

_LOADS = r"\b(?:import|from|require\w*|include\w*|use|using|load|source|mod|alias|autoload)\b|(?:^|[;&|]\s*)\.[ \t]"
_DEFINED = (
    r"(?m)\b(?:def|class|function\*?|fn|func|fun|sub|struct|enum|trait|interface|type|const|let|var|val|mod|defp?|module)"
    r"\s+([A-Za-z_$][\w$]*)|^[ \t]*([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=)|\bexports\.([A-Za-z_$][\w$]*)"
    r"|^[ \t]*([A-Za-z_]\w*)[ \t]*\(\)[ \t]*\{|^#define[ \t]+(\w+)"
    r"|^[ \t]*(?:[\w*]+[ \t]+)+\**(\w+)[ \t]*\([^;\n]*\)[ \t]*\{"
)
"""Pattern for definitions in most languages; its groups hold the defined name."""
_EXPECTING = (
    r"(?:^|[\W_])(?:cases?|expect\w*|fixtures?|goldens?|snapshots?|vectors?|answers?|want(?:ed)?|samples?|asserts?"
    r"|assert_\w+|checks?|check_\w+|verify\w*|compare\w*|match(?:es|er|ers)?|oracles?|references?|truths?|same\w*|equal\w*|differ\w*)(?:$|[\W_])"
)
"""Names of expected values, and of code that compares with them."""
_BEHAVES = (
    r"[\w)\]]\s*[-+*/%]\s*[A-Za-z(]|\w\(|\)\s*=>|=>\s*[{(]|->|\)\s*\{|:-|\?-|\|>|\((?:defun|define)\b|\blet\s+(?:rec\s+)?\w+\s+[(\w]"
    r"|\b(?:def|class|function|fn|func|fun|sub|proc|struct|impl|void|if|while|for|loop|case|match|return|end|begin|do|then"
    r"|subroutine|procedure|module|section|ret|call|mov\w*)\b"
)
"""Pattern for code, outside of strings, that a mere list of values does not contain in any language."""


def behaves(text: str) -> bool:
    """Whether a text contains code, and not only values."""
    return re.search(_BEHAVES, re.sub(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", "", text)) is not None


def asserts(path: str, text: str) -> bool:
    """Whether a line of a file asserts something; a line that requires a module only loads it."""
    called = rf"(?:[\w$]+(?:\.|->|::))*(?:{find_language(path).asserts})\b"
    return re.search(rf"(?m)^[ \t]*(?!require(?:_relative)?[ \t(]){called}", text) is not None


def list_defined(text: str) -> set[str]:
    return {word for hit in re.findall(_DEFINED, text) for word in hit if word}


def names_file(text: str, path: str) -> bool:
    """Whether a text contains the name of a file or, in quotes or slashes, the name of its folder."""
    name, folder = last_segment(path), last_segment(parent_folder(path))
    return (name in text and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None) or (
        bool(folder) and folder in text and re.search(rf"[\"'/]{re.escape(folder)}[\"'/]", text) is not None
    )


def names_path(text: str, path: str) -> bool:
    """Whether a command line or a recipe names a file by its whole path."""
    # Test `in` first: it is fast, and a pattern search for every path of a project would take very long.
    return path in text and re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])", text) is not None


def is_loading(line: str) -> bool:
    return re.search(_LOADS, line) is not None


def loads(text: str, path: str) -> bool:
    """Whether code loads a module or sources a script, by the name of its file."""
    name = find_stem(path)
    stem = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    return name in text and any(re.search(stem, line) for line in _list_loading_lines(text))


def _list_loading_lines(text: str) -> Iterator[str]:
    """List the lines that import or include something, with all lines of a block that begins with `import (`."""
    inside = False
    for line in text.splitlines():
        if inside and line.lstrip().startswith(")"):
            inside = False
        elif inside or is_loading(line):
            yield line
            inside = inside or line.rstrip().endswith("(")


def expects(path: str, text: str) -> bool:
    """Whether a file contains expectations: it asserts, its names suggest a comparison, or it holds only values."""
    if not behaves(text):  # A file that only imports others holds no values.
        return any(not is_loading(line) for line in text.splitlines() if re.search(r"^\s*[^\s#/;*-]", line))
    named = re.search(rf"(?im){_EXPECTING}", "\n".join(list_defined(text)))
    return named is not None or asserts(path, text)
