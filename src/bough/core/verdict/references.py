"""What a check reads besides the tests: modules and scripts that only help it, and data that it names.

By names in texts, from the check's command and the tests of the base: no list of cases. A module that only tests load
may be what they test, or what they test with. It is the latter when it asserts something or provides what is expected,
and no test asserts about it alone. What product code loads too is product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from bough.core.verdict.paths import find_stem, find_suffix, last_segment, parent_folder
from bough.core.verdict.registry import find_language

_LOADS = r"\b(?:import|from|require\w*|include\w*|use|using|load|source|mod|alias|autoload)\b|(?:^|[;&|]\s*)\.[ \t]"
_DEFINED = (
    r"(?m)\b(?:def|class|function\*?|fn|func|fun|sub|struct|enum|trait|interface|type|const|let|var|val|mod|defp?|module)"
    r"\s+([A-Za-z_$][\w$]*)|^[ \t]*([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=)|\bexports\.([A-Za-z_$][\w$]*)"
    r"|^[ \t]*([A-Za-z_]\w*)[ \t]*\(\)[ \t]*\{|^#define[ \t]+(\w+)"
    r"|^[ \t]*(?:[\w*]+[ \t]+)+\**(\w+)[ \t]*\([^;\n]*\)[ \t]*\{"
)
"""What a text defines, in most languages."""
_EXPECTING = (
    r"(?:^|[\W_])(?:cases?|expect\w*|fixtures?|goldens?|snapshots?|vectors?|answers?|want(?:ed)?|samples?|asserts?"
    r"|assert_\w+|checks?|check_\w+|verify\w*|compare\w*|match(?:es|er|ers)?|oracles?|references?|truths?|same\w*|equal\w*|differ\w*)(?:$|[\W_])"
)
"""Names of what something is compared with, or of what compares."""
_BEHAVES = (
    r"\b(?:def|class|function|fn|func|fun|sub|proc|struct|impl|void)\b|\)\s*=>|=>\s*[{(]|->|\)\s*\{"
    r"|\blet\s+(?:rec\s+)?\w+\s+[(\w]|\((?:defun|define)\b"
)
_STRANGE = (
    r"[\w)\]]\s*[-+*/%]\s*[A-Za-z(]|\w\(|\b(?:if|while|for|loop|case|match|return|end|begin|do|then|subroutine|procedure"
    r"|proc|module|section|ret|call|mov\w*)\b|:-|\?-|\|>"
)
"""What code in a language that has no record has, and values do not."""
_READERS = frozenset(
    """diff cmp comm cat grep egrep fgrep head tail sort uniq wc tee jq tr cut test [ [[ cp mv rm sum md5sum sha256sum
    """.split()  # noqa: SIM905
)
"""Programs that read or compare what they are given."""
_REFUSES = r"\b(?:AssertionError|assert|exit [1-9]|return [1-9]|die|abort|t\.(?:Error|Fatal)\w*)\b"


def behaves(text: str) -> bool:
    """Whether it holds more than values."""
    return re.search(_BEHAVES, text) is not None


def behaves_anywhere(text: str) -> bool:
    """The same in a language that has no record."""
    plain = re.sub(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", "", text)
    return behaves(text) or re.search(_STRANGE, plain) is not None


def is_built(called: str, path: str, fed: bool = False) -> bool:
    """Whether a line of a check gives a file to a compiler or an interpreter: neither to a program of the project's own
    nor to one that reads or compares it, and not as its input unless that is `fed`."""
    for line in called.splitlines() if path in called else ():
        for part in re.split(r"[|;&`]+|\$\((?!\w+\))", line) if names_path(line, path) else ():
            words = re.sub(r"^[\s@+-]*(?:(?:if|then|do|!|\w+=\S*|time|exec|env)\s+)*", "", part).split()
            own = bool(words) and (words[0] in _READERS or words[0].startswith((".", "/")) or words[1:2] == ["="])
            if words and not own and names_path(part if fed else re.sub(r"<\s*\S+", "", part), path):
                return True
    return False


def asserts(path: str, text: str) -> bool:
    """Whether a line of a file asserts something."""
    return re.search(rf"(?m)^[ \t]*(?:[\w$]+(?:\.|->|::))*(?:{find_language(path).asserts})\b", text) is not None


def list_defined(text: str) -> set[str]:
    return {word for hit in re.findall(_DEFINED, text) for word in hit if word}


def names_file(text: str, path: str) -> bool:
    """Whether a text names a file, or in quotes the folder that it is in."""
    name, folder = last_segment(path), last_segment(parent_folder(path))
    return (name in text and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None) or (
        bool(folder) and folder in text and re.search(rf"[\"'/]{re.escape(folder)}[\"'/]", text) is not None
    )


def names_path(text: str, path: str) -> bool:
    """Whether a command line or a recipe names a file by its whole path."""
    # Asked about every path of a tree: a pattern for each takes much longer than all else.
    return path in text and re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])", text) is not None


def is_loading(line: str) -> bool:
    """Whether a line of code loads something."""
    return re.search(_LOADS, line) is not None


def loads(text: str, path: str) -> bool:
    """Whether code loads a module or sources a script, by the name of its file."""
    name = find_stem(path)
    stem = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    return name in text and any(re.search(stem, line) for line in _list_loading_lines(text))


def is_loaded_by(path: str, loader: str, texts: Mapping[str, str]) -> bool:
    """Whether one file loads this very file, or starts it where it is a program, and not another of the same name."""
    text, name, folder = texts[loader], find_stem(path), last_segment(parent_folder(path))
    if name not in text:
        return False
    if not find_suffix(path) or find_language(path).scripts:
        return names_file(text, path)
    twins = any(other != path and find_stem(other) == name for other in texts)
    near = not twins or parent_folder(loader) == parent_folder(path)
    stem = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    lines = [line for line in _list_loading_lines(text) if re.search(stem, line)]
    return any(near or (folder and re.search(rf"\b{re.escape(folder)}\b", line)) for line in lines)


def _list_loading_lines(text: str) -> Iterator[str]:
    """The lines that load something; in a block that begins with `import (`, all of them."""
    inside = False
    for line in text.splitlines():
        if inside and line.lstrip().startswith(")"):
            inside = False
        elif inside or is_loading(line):
            yield line
            inside = inside or line.rstrip().endswith("(")


class ReadFiles:
    """What the check of a tree reads. `texts`: of the base, by path. `is_test`, `is_data`, `is_code`: by path."""

    def __init__(
        self,
        texts: Mapping[str, str],
        called: str,
        programs: str,
        is_test: Callable[[str], bool],
        is_code: Callable[[str], bool],
    ) -> None:
        """`called`: the command, and the recipes that it may run; `programs`: with the scripts that it names."""
        self._texts = texts
        self._programs = programs
        self._called = called
        code = [path for path in texts if is_code(path)]
        named = {path for path in code if names_path(called, path)}
        roots = {path for path in code if is_test(path)} | named
        self.roots = sorted(roots)
        self._others = [path for path in code if path not in roots]
        self._helpers: dict[str, bool] = {}

    def is_helper(self, path: str) -> bool:
        """Code that the check loads and that is not what it tests."""
        if path not in self._helpers:
            self._helpers[path] = False  # what loads itself in a circle is not one for that
            self._helpers[path] = self._helps(path)
        return self._helpers[path]

    def _helps(self, path: str) -> bool:
        text = self._texts.get(path, "")
        own = list_defined(text)
        if not _provides(path, text, own, is_built(self._programs, path)):
            return False
        loaded = [root for root in self.roots if root != path and loads(self._texts[root], path)]
        beside = [other for other in self._others if other != path and loads(self._texts[other], path)]
        if not loaded and not any(map(self.is_helper, beside)):
            return False
        return all(map(self.is_helper, beside)) and not self._is_subject(path, own, loaded)

    def _is_subject(self, path: str, own: set[str], tests: Iterable[str]) -> bool:
        """Whether a test asserts something about it and nothing else."""
        for test in tests:
            text = self._texts[test]
            loaded = (other for other in self._others if other != path and loads(text, other))
            beside = {name for other in loaded for name in list_defined(self._texts[other])} - own
            asserts = rf"(?:{find_language(test).asserts})"
            for line in text.splitlines():
                if re.search(_LOADS, line) or not re.match(rf"\s*(?:\w+\.)*{asserts}|{_COMPARES}", line):
                    continue
                words = {*re.findall(r"[A-Za-z_$][\w$]*", re.sub(rf"^\s*(?:self\.)?{asserts}\b", "", line))}
                if words & own and not words & beside:
                    return True
        return False

    def reads(self, path: str, code: bool, words: Collection[str]) -> bool:
        """`words`: the request's; a script that defines what they name is what it tests."""
        if not code:
            if names_file(self._called, path) or any(names_file(self._texts[root], path) for root in self.roots):
                return True
            named = (other for other in self._others if names_file(self._texts[other], path))
            return any(map(self.is_helper, named))
        return self.is_helper(path) or (
            self._is_sourced(path) and not list_defined(self._texts.get(path, "")) & {*words}
        )

    def _is_sourced(self, path: str) -> bool:
        """A script that only the check's own scripts load, where the product is in another language."""
        if not find_language(path).scripts or all(find_language(other).scripts for other in self._others):
            return False
        loading = [other for other in self._texts if other != path and loads(self._texts[other], path)]
        return any(other in self.roots for other in loading) and all(find_language(other).scripts for other in loading)


_COMPARES = r"\s*\(?(?:if|unless|when|test|\[|stopifnot)\b.*(?:[=!/<>~]=|<>|\b(?:eq|ne)\b|=)"
"""A line that asserts by a condition."""


def _provides(path: str, text: str, own: Collection[str], built: bool) -> bool:
    """It asserts something, its names say that something is compared with it, or it holds nothing but values. What the
    check builds or runs by its name is product unless it asserts."""
    known = find_language(path).name
    if not (
        behaves(text) if known else built or behaves_anywhere(text)
    ):  # A file that only loads others holds nothing itself.
        return any(not is_loading(line) for line in text.splitlines() if re.search(r"^\s*[^\s#/;*-]", line))
    said = "\n".join([path, *own])
    refuses = asserts(path, text) or re.search(_REFUSES, text) is not None
    return refuses or (not built and re.search(rf"(?im){_EXPECTING}", said) is not None)
