"""Read a model's text as calls, as a person would who reads the answer and has to act on it.

Whole files, edits and a command are in blocks. A block that is cut off, or whose file is unknown, is ignored. Many
small models write tool calls as JSON into their text, whatever the prompt says: those are read too."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bough.core.messages import Call, Stop
from bough.core.textual import paths
from bough.core.textual.paths import Block, CandidateFiles, find_blocks
from bough.core.textual.python_source import parse_python
from bough.core.verdict.language import is_test_path

_DECODER = json.JSONDecoder(strict=False)
_NAMED = re.compile(r'\{\s*"(?:name|function|tool)"\s*:')
_BROKEN_WRITE = re.compile(
    r'"name"\s*:\s*"write".*?"path"\s*:\s*"([^"\n]+)"\s*,\s*"content"\s*:\s*"(.*?)"?\s*\}*\s*(?:```|</tool_call>)?\s*$',
    re.DOTALL,
)
"""A call whose JSON is broken, usually by quotes or line ends in the code: its meaning is clear."""
_FENCED = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
_WRAPPED = re.compile(r"\s*<code>\n?(.*?)\n?</code>\s*", re.DOTALL)
FIELDS = {
    "write": ("path", "content"),
    "edit": ("path", "old", "new"),
    "bash": ("command",),
    "read": ("path",),
    "done": ("summary",),
}
"""The tools of the text protocol, and the required fields of each."""


def find_written_calls(text: str) -> list[Call]:
    """Find the calls in a text, in order: complete ones of known tools."""
    found = [call for value in _find_objects(text) if (call := _read_call(value)) is not None]
    if found:
        return found
    broken = _BROKEN_WRITE.search(text)
    if broken is None or broken[2].count("\n") + broken[2].count("\\n") < 1:
        return []
    content = broken[2]
    if content.startswith('""'):  # The content may be in three quotes, as in Python.
        content = content.strip('"').strip("\n")
    if content.count("\\n") > content.count("\n"):
        content = content.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\\\", "\\")
    return [make_call("write", path=broken[1], content=_strip_tags(content))]


def make_call(name: str, **arguments: str) -> Call:
    return Call("", name, json.dumps(arguments, ensure_ascii=False))


def _find_objects(text: str) -> Iterator[Any]:
    at = 0
    while (found := _NAMED.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.end()
        else:
            yield value


def _read_call(value: Any) -> Call | None:
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((value[key] for key in ("name", "tool", "function") if isinstance(value.get(key), str)), "")
    given: dict[str, Any] = next(
        (value[key] for key in ("arguments", "parameters", "args", "input") if isinstance(value.get(key), dict)), {}
    )
    wanted = FIELDS.get(name)
    if wanted is None or not all(isinstance(given.get(field), str) for field in wanted):
        return None
    texts = {field: given[field] for field in wanted}
    if "content" in texts:
        texts["content"] = _strip_tags(texts["content"])
    return make_call(name, **texts) if texts[wanted[0]].strip() else None


def _strip_tags(content: str) -> str:
    """Remove the tags that some models put around code, and make the code end with a newline."""
    wrapped = _WRAPPED.fullmatch(content) or _FENCED.fullmatch(content)
    content = wrapped[1] if wrapped else content
    return content if content.endswith("\n") or not content else f"{content}\n"


SHELL = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "shellscript", "cmd"})
NOT_CODE = frozenset({"text", "txt", "plaintext", "output", "log", "none"})
_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_SPECIAL = re.compile(r"<\|(?:im_start|im_end|endoftext|eot_id|assistant|user)\|>(?:assistant\n|\n)?")
_DONE = re.compile(
    r"(?im)^[ \t>*_`#-]*(?:done|task (?:is )?(?:done|complete|completed|finished)|finished)\b"
    r"[ \t*_`]*(?:[.:!-][ \t]*(.*))?$"
)
_MORE = re.compile(r"(?m)^[ \t>*_`#-]*MORE[ \t*_`.!]*$")
_SEARCH = re.compile(
    r"^\s{0,3}<{5,9}\s*(?:SEARCH|ORIGINAL|HEAD)?[ \t]*\n(.*?)^\s{0,3}={5,9}[ \t]*\n"
    r"(.*?)^\s{0,3}>{5,9}[ \t]*(?:REPLACE|UPDATED)?[^\n]*$",
    re.M | re.DOTALL,
)
_HUNK = re.compile(r"^@@.*$", re.M)
_CODE = re.compile(
    r"(?m)^(?:def |class |import |from \w[\w.]* import |async def |@\w|function |const |let |var |export |package |fn "
    r"|pub |use |#include|public |struct |type |func )"
)
_TESTS = re.compile(r"(?m)^[ \t]*(?:def test_\w*\(|class \w*Tests?\b|import unittest|@pytest\.)")
_TYPED = re.compile(r"\s*(\$ |(python3?|pytest|pip|npm|go|cargo|make|git|ls|cat|cd|mkdir|mv) )")
_SUMMARY = 300


class Reading(Struct, frozen=True):
    calls: tuple[Call, ...] = ()
    done: str | None = None
    """The agent's summary, if it claims to be done."""
    more: bool = False
    """Whether the answer announces more work."""
    aside: tuple[str, ...] = ()
    """Existing tests that the answer rewrites along with the work: they are left alone."""


def read_calls(text: str, known: CandidateFiles, stop: Stop = "end") -> Reading:
    """Read the calls of an answer. `stop`: how it ended; the last block of a cut-off one is incomplete."""
    text = _SPECIAL.sub("", _THINKING.sub("", text)).strip("\n")
    done = _DONE.search(text)
    more = bool(_MORE.search(text))
    found = _read_blocks(text, known, cut=stop == "length")
    if not found:
        found = find_written_calls(text) if stop != "length" else []
    if not found and stop != "length":
        found = _read_bare_code(text, known)
    kept, aside = _drop_tests(found, known)
    last = next((call for call in kept if call.name == "done"), None)
    summary = " ".join(re.sub(r"(?s)(```|~~~).*?(\1|\Z)", " ", text).split())[:_SUMMARY] or "The files are written."
    said = None if last is not None or done is None else (done[1] or "").strip() or summary
    return Reading(tuple(kept), said, more, aside)


def _read_blocks(text: str, known: CandidateFiles, cut: bool) -> list[Call]:
    listed = [block for block in find_blocks(text) if block.text.strip() and not (cut and not block.closed)]
    made: list[Call] = []
    commands: list[str] = []
    unnamed: list[Block] = []
    for block in listed:
        json_like = block.language in ("json", "tool_call", "") and block.text.lstrip().startswith(("{", "["))
        if found := _read_edits(block, known) or (find_written_calls(block.text) if json_like else []):
            made += found
        elif _is_shell(block):
            lines = block.text.strip().split("\n")
            typed = [line.lstrip()[2:] for line in lines if line.lstrip().startswith("$ ")]
            commands.append("\n".join(typed or lines).strip())
        elif path := paths.find_path(block, known) if _may_be_file(block) else "":
            made.append(_build_write(path, block))
        elif _may_be_file(block):
            unnamed.append(block)
    if unnamed and not any(call.name in known.editors for call in made):
        made += _read_unnamed(unnamed, known)
    made += [make_call("bash", command=command) for command in commands[:1] if command]
    # If one answer writes a file twice, the last version counts.
    writes = {_get_path(call): call for call in made if call.name == "write"}
    return [call for call in made if call.name != "write" or writes[_get_path(call)] is call]


def _get_path(call: Call) -> str:
    return str(json.loads(call.arguments).get("path", ""))


def _build_write(path: str, block: Block) -> Call:
    text = block.text
    first, _, rest = text.partition("\n")
    # A first line that is only the path says where the block goes; it is not part of the file.
    if first.strip().strip("`*:") == path:
        text = rest.lstrip("\n")
    return make_call("write", path=path, content=text.rstrip() + "\n")


def _read_unnamed(unnamed: list[Block], known: CandidateFiles) -> list[Call]:
    """Write the longest of the blocks that name no file: it is usually the file, and the others show its use."""
    found = ((paths.find_only_path(block, known), block) for block in unnamed)
    code = [(path, block) for path, block in found if path and _is_whole_file(block, path)]
    if not code:
        return []
    return [_build_write(*max(code, key=lambda one: (bool(_CODE.search(one[1].text)), len(one[1].text))))]


def _is_whole_file(block: Block, path: str) -> bool:
    """Whether a block looks like the file at `path`: code, and not tests or program output."""
    if _TESTS.search(block.text) and not is_test_path(path):
        return False
    if block.language in paths.SUFFIXES:
        return True
    return bool(_CODE.search(block.text)) and (not path.endswith(".py") or parse_python(block.text) is not None)


def _may_be_file(block: Block) -> bool:
    if block.language in NOT_CODE or block.language == "diff":
        return False
    return bool(block.info) or "\n" in block.text.strip() or bool(_CODE.search(block.text))


def _is_shell(block: Block) -> bool:
    if block.language:
        return block.language in SHELL
    lines = [line for line in block.text.strip().split("\n") if line.strip()]
    return 0 < len(lines) <= 3 and all(_TYPED.match(f"{line} ") for line in lines)


def _read_bare_code(text: str, known: CandidateFiles) -> list[Call]:
    block = Block("python", text, "")
    path = paths.find_only_path(block, known)
    if "```" in text or not _CODE.match(text.lstrip()) or not path.endswith(".py"):
        return []
    tree = parse_python(text)
    holds = tree is not None and any(
        isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign) for node in tree.body
    )
    return [_build_write(path, block)] if holds else []


def _read_edits(block: Block, known: CandidateFiles) -> list[Call]:
    found = _SEARCH.findall(f"{block.text}\n")
    if found:
        path = _find_edited_path(block, known)
        return [_build_edit(path, old, new) for old, new in found] if path else []
    return _read_diff(block, known) if block.language == "diff" or block.text.startswith(("--- ", "@@ ")) else []


def _find_edited_path(block: Block, known: CandidateFiles) -> str:
    """Find the file of an edit, whose name may be inside, above the first marker."""
    for line in block.text.split("<<<<<", 1)[0].split("\n"):
        if line.strip() and (path := paths.find_path(Block("", "", line), known)):
            return path
    return paths.find_path(block, known) or paths.find_only_path(block, known)


def _build_edit(path: str, old: str, new: str) -> Call:
    if not old.strip():  # With nothing to search for, the block is the whole file.
        return make_call("write", path=path, content=new)
    return make_call("edit", path=path, old=old, new=new)


def _read_diff(block: Block, known: CandidateFiles) -> list[Call]:
    """Read a unified diff as edits: the removed text is searched for, line numbers are ignored."""
    path, made = "", []
    for part in re.split(r"(?m)^(?=--- )", block.text):
        named = re.search(r"(?m)^\+\+\+ (?:b/)?(\S+)", part)
        path = paths.find_path(Block(f"x {named[1]}", "", ""), known) if named else path
        target = path or paths.find_path(block, known) or paths.find_only_path(block, known)
        for hunk in _HUNK.split(part)[1:]:
            lines = [line for line in hunk.strip("\n").split("\n") if not line.startswith("\\")]
            old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-", ""))
            new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+", ""))
            if target and old != new:
                made.append(_build_edit(target, old, new))
    return made


def _drop_tests(found: list[Call], known: CandidateFiles) -> tuple[list[Call], tuple[str, ...]]:
    """Drop rewritten tests if there is other work: small models like to rewrite existing tests."""
    changes = [(call, _get_path(call)) for call in found if call.name in known.editors]
    there = set(known.paths)
    aside = [call for call, path in changes if is_test_path(path) and path in there]
    if not aside or len(aside) == len(changes):
        return found, ()
    return [call for call in found if call not in aside], tuple(dict.fromkeys(_get_path(call) for call in aside))
