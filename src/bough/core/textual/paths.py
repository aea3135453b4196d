"""The fenced blocks of a model's text, with the text around each, and the file that each is for."""

import re
from collections.abc import Iterable

from msgspec import Struct

from bough.core.messages import EDITORS
from bough.core.verdict.language import is_test_path

_FENCE = re.compile(r"^[ \t>*-]{0,6}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_NESTING = frozenset({"markdown", "md", "mdx"})
"""Languages whose text may contain fenced blocks itself."""


class Block(Struct, frozen=True):
    info: str
    """The text after the opening marks of the block."""
    text: str
    before: str
    """The last lines of text before the block, if they are about it."""
    closed: bool = True

    @property
    def language(self) -> str:
        """The language tag; empty if there is none, or if it is a path."""
        found = re.match(r"\{?\.?([A-Za-z][\w+#-]*)", self.info)
        rest = self.info[found.end() :] if found else ""
        return found[1].lower() if found and not rest.startswith((".", "/", "\\")) else ""


def find_blocks(text: str) -> list[Block]:
    """Find all blocks, in order. If the last block is never closed, it extends to the end."""
    lines = text.replace("\r\n", "\n").split("\n")
    fences = [n for n, line in enumerate(lines) if _FENCE.match(line)]
    only = _FENCE.match(lines[fences[0]]) if len(fences) == 1 else None
    if only is not None and not only[2].strip() and not "".join(lines[fences[0] + 1 :]).strip():
        # The only fence closes a block: the answer began inside that block.
        return [Block("", "\n".join(lines[: fences[0]]), "")] if fences[0] else []
    found: list[Block] = []
    at, after = 0, 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        end = _find_end(lines, at, opening)
        body = lines[at + 1 : end]
        indent = len(lines[at]) - len(lines[at].lstrip())
        body = [line[min(indent, len(line) - len(line.lstrip())) :] for line in body] if indent else body
        before = "\n".join(lines[after:at])
        # The last two lines of text before a block.
        words = [line.strip() for line in before.split("\n") if line.strip()]
        found.append(Block(opening[2].strip(), "\n".join(body), "\n".join(words[-2:]), closed=end < len(lines)))
        at = after = end + 1
    return found


def _find_end(lines: list[str], at: int, opening: re.Match[str]) -> int:
    """Find the line that closes a block, or the end of the text."""
    mark, nests = opening[1], opening[2].strip().split(" ")[0].lower() in _NESTING
    inside = 0
    for n in range(at + 1, len(lines)):
        fence = _FENCE.match(lines[n])
        if fence is None or fence[1][0] != mark[0] or len(fence[1]) < len(mark):
            continue
        if fence[2].strip():
            if not nests:
                if re.fullmatch(r"[A-Za-z][\w+#.-]*([ :].*)?", fence[2].strip()):
                    return n - 1 if n - 1 > at else n  # The closing fence was forgotten.
                continue
            inside += 1
        elif inside:
            inside -= 1
        else:
            return n
    return len(lines)


_PATH = re.compile(r"(?<![\w/.\\-])((?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z][\w]{0,9})(?![\w/\\(-])")
_COMMENT = re.compile(
    r"^\s*(?:#|//|--|;|/\*|<!--)\s*(?:file(?:name)?\s*[:=]\s*|path\s*[:=]\s*)?([^\s*>]+?)\s*(?:\*/|-->)?\s*$", re.I
)
_LABEL = re.compile(
    r"^[\s#>*`_\d.:-]*(?:file(?:name)?|path|in|the file|update|create|edit|new file)?[\s:*`\"']*"
    r"([^\s:*`\"']+)[\s:*`\"'.]*(?:\(.*\))?:?[\s*`]*$",
    re.I,
)
_PLACEHOLDER = re.compile(
    r"(^|/)(solution|main|app|example|file|filename|code|script|answer|your_\w+|my_\w+)\.\w+$", re.I
)
"""Generic names that may stand for the real file name."""
_NAMES = ("Makefile", "Dockerfile", "Justfile", "Rakefile", "Gemfile", "go.mod")
_LANGUAGES = (
    ("Python", "python py python3", "py pyi"),
    ("JavaScript", "javascript js", "js mjs cjs jsx"),
    ("JavaScript", "jsx", "jsx js"),
    ("TypeScript", "typescript ts", "ts tsx mts"),
    ("TypeScript", "tsx", "tsx ts"),
    ("Go", "go golang", "go"),
    ("Rust", "rust rs", "rs"),
    ("Java", "java", "java"),
    ("Kotlin", "kotlin", "kt"),
    ("C", "c", "c h"),
    ("C++", "cpp c++", "cpp cc cxx hpp h"),
    ("C#", "csharp cs", "cs"),
    ("Ruby", "ruby rb", "rb"),
    ("PHP", "php", "php"),
    ("Swift", "swift", "swift"),
    ("Scala", "scala", "scala"),
    ("HTML", "html", "html htm"),
    ("CSS", "css", "css"),
    ("", "json", "json"),
    ("", "yaml yml", "yml yaml"),
    ("TOML", "toml", "toml"),
    ("SQL", "sql", "sql"),
    ("Markdown", "markdown md", "md"),
    ("shell", "", "sh"),
    ("Lua", "lua", "lua"),
    ("Elixir", "elixir", "ex exs"),
    ("Haskell", "haskell", "hs"),
    ("R", "r", "r R"),
    ("Perl", "perl", "pl pm"),
    ("Dart", "dart", "dart"),
    ("Zig", "zig", "zig"),
)
"""Languages: the name, unless it says nothing about a project; the tags in fences, the usual one first; suffixes."""
SUFFIXES = {tag: tuple(suffixes.split()) for _, tags, suffixes in _LANGUAGES for tag in tags.split()}
"""File extensions of a language, by tag."""
TAGS = {end: tags.split()[0] for _, tags, suffixes in reversed(_LANGUAGES) if tags for end in suffixes.split()}
NAMES = {end: name for name, _, suffixes in reversed(_LANGUAGES) if name for end in suffixes.split()}


class CandidateFiles(Struct, frozen=True):
    """The files to choose from."""

    paths: tuple[str, ...] = ()
    """The files of the workspace."""
    meant: tuple[str, ...] = ()
    """The task's own paths, the likeliest first."""
    editors: frozenset[str] = EDITORS
    """The tools that change files."""


def collect_known(paths: Iterable[str], instructions: str, changed: Iterable[str] = ()) -> CandidateFiles:
    """Collect the files of a workspace, and those that a task is about: named in its text, or changed so far."""
    listed = tuple(paths)
    there = set(listed)
    found = {said: _find_existing(said, listed) for said in _PATH.findall(instructions)}
    new = (said for said, path in found.items() if not path)
    both = dict.fromkeys((*filter(None, found.values()), *(path for path in changed if path in there), *new))
    return CandidateFiles(listed, tuple(both))


def find_path(block: Block, known: CandidateFiles) -> str:
    """Find the file that a block names in one of the usual places; empty if it names none."""
    # ```python app.py, ```python:app.py, ```app.py, ```python title="app.py", ```{.python file=app.py}.
    rest = block.info.strip("{} ")
    if block.language:
        rest = rest.lstrip(".")[len(block.language) :]
    words = re.split(r"[\s:=\"',()]+", rest)
    for said in [word.strip("`*") for word in words if word]:
        if path := _resolve_path(said, known, sure=True):
            return path
    first = block.text.partition("\n")[0]
    if (found := _COMMENT.match(first)) and (path := _resolve_path(found[1], known, sure=False)):
        return path
    # Look in the last lines of text before the block: a line that is only a path, or that mentions a single path.
    lines = block.before.split("\n")
    for line in reversed(lines[-2:]):
        if (label := _LABEL.match(line)) and (path := _resolve_path(label[1], known, sure=True)):
            return path
        # A line that ends with a path announces the file whose text follows, so this may be a file that does not exist
        # yet.
        end = len(line.rstrip(" :*`\"'"))
        paths = dict.fromkeys(_resolve_path(found[1], known, sure=found.end() == end) for found in _PATH.finditer(line))
        suffixes = SUFFIXES.get(block.language)
        fitting = [path for path in paths if path and (suffixes is None or path.rpartition(".")[2] in suffixes)]
        if len(fitting) == 1:
            return fitting[0]
        if line is lines[-1] and fitting:
            product = [path for path in fitting if not is_test_path(path)]
            return product[0] if len(product) == 1 else ""
    return ""


def _resolve_path(said: str, known: CandidateFiles, sure: bool) -> str:
    """Return the workspace's path for a name. `sure`: only a path can stand there, so it may be a new file."""
    said = said.strip().strip("`*\"'()[]{}<>,;").removeprefix("./").replace("\\", "/")
    said = re.sub(r"^(a|b)/(?=.)", "", said) if said not in known.paths else said
    if not said or (said.startswith("/") and "." not in said):
        return ""
    if path := _find_existing(said, known.paths):
        return path
    shaped = bool(_PATH.fullmatch(said)) or said.rpartition("/")[2] in _NAMES
    if not shaped or ".." in said.split("/") or said.startswith(("/", "~")) or "://" in said:
        return ""
    if not (sure or said in known.meant):
        return ""
    own = find_only_path(Block("", "", ""), known)
    return own if own and _PLACEHOLDER.search(said) and said.rpartition(".")[2] == own.rpartition(".")[2] else said


def _find_existing(said: str, listed: tuple[str, ...]) -> str:
    """Find the file with this path, or the only one whose path ends with it; empty if there is none."""
    if said in listed:
        return said
    ends = [path for path in listed if path.endswith(f"/{said}") or said.endswith(f"/{path}")]
    return ends[0] if len(ends) == 1 else ""


def find_only_path(block: Block, known: CandidateFiles) -> str:
    """Find the only file that a block without a name can be for: the task's own, in that language, and not a test."""
    suffixes = SUFFIXES.get(block.language)
    fitting = [path for path in known.meant if suffixes is None or path.rpartition(".")[2] in suffixes]
    code = [path for path in fitting if path.rpartition(".")[2] not in _WORDS]
    product = [path for path in code if not is_test_path(path)]
    if product:
        return product[0]
    others = [
        path for path in known.paths if not is_test_path(path) and suffixes and path.rpartition(".")[2] in suffixes
    ]
    return others[0] if len(others) == 1 else ""


_WORDS = frozenset({"md", "txt", "rst", "toml", "cfg", "ini", "lock"})
