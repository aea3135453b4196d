"""What JavaScript tests load: their runner, their assertions and the code under test have to stay what they were."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.text.scan import line_at, uncommented
from bough.core.tamper.wording import listed

_LOADS = re.compile(
    r"(?:const|let|var)\s+(?P<a>[\w$]+|\{[^}]*\})\s*=\s*(?:await\s+)?(?:require|import)\(\s*['\"`](?P<b>[^'\"`]+)['\"`]\s*\)"
    r"|import\s+(?P<c>[\w$*{][^;'\"]*?)\s+from\s*['\"](?P<d>[^'\"]+)['\"]"
)
_TESTING = listed(
    "assert test jest vitest chai expect should sinon ava tap mocha uvu @jest tape supertest node:assert node:test"
)
_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")


def compare(before: Mapping[str, str], after: Mapping[str, str], paths: list[str]) -> Iterator[Tampering]:
    """`paths`: JavaScript test files that differ."""
    gone = {files.name_of(path): path for path in paths if path not in after}
    for path in paths:
        old = path if path in before else gone.get(files.name_of(path), "")
        if path in after and old:
            yield from _one(old, path, before, after)


def _one(old: str, path: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Tampering]:
    now = _loaded(after[path])
    for name, (_, was) in (now | _loaded(before[old])).items():
        yield from _taken_over(name, was, before[old], path, after[path])
        line, there = now.get(name, (0, was))
        if there == was:
            continue
        what = f"{name} is now loaded from {there}, no longer from {was}"
        if _library(was):
            if there.startswith("."):
                yield Tampering(path, line, what)
        elif was.startswith(".") and _left_behind(name, old, path, was, there, before, after):
            yield Tampering(path, line, what)


def _taken_over(name: str, module: str, old: str, path: str, new: str) -> Iterator[Tampering]:
    """The test file now makes what it loaded, or puts something else into the module that it loads."""
    made = rf"^\s*(?:export\s+)?(?:const|let|var|(?:async\s+)?function\*?)\s+{re.escape(name)}"
    own = rf"(?:{made}\s*[=(]|[(,]\s*{re.escape(name)}\s*=(?![=>]))(?!.*\b(?:require|import|extend)\b)"
    within = rf"(?<![\w.$]){re.escape(name)}|\(\s*['\"]{re.escape(module)}['\"]\s*\)"
    stored = rf"(?:{within})\.(\w+)\s*=\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)"
    for pattern, what in ((own, f"makes its own {name}"), (stored, f"changes {module}")):
        was, now = (list(re.finditer(pattern, uncommented(text, "//"), re.M)) for text in (old, new))
        if len(now) > len(was) and (pattern == own or re.search(rf"\b{now[-1][1]}\(", old)):
            yield Tampering(path, line_at(new, now[-1].start()), f"{path} {what}, which it loaded from {module}")


def _library(module: str) -> bool:
    return module.split("/")[0] in _TESTING


def _loaded(text: str) -> dict[str, tuple[int, str]]:
    """Names, the line where they are loaded, and from where."""
    plain = uncommented(text, "//")
    found: dict[str, tuple[int, str]] = {}
    for match in _LOADS.finditer(plain):
        line = line_at(plain, match.start())
        for part in re.split(r"[{},]", match["a"] or match["c"]):
            name = re.split(r":| as ", part)[-1].strip()
            if re.fullmatch(r"[\w$]+", name) and name != "type":
                found[name] = (line, match["b"] or match["d"])
    return found


def _left_behind(
    name: str, old: str, path: str, was: str, there: str, before: Mapping[str, str], after: Mapping[str, str]
) -> bool:
    """The file that was tested is still there with code of its own, and the tests load another one."""
    tested = _resolved(old, was, before)
    loaded = _resolved(path, there, after)
    if not tested or loaded == tested:
        return False
    made = loaded not in before and files.in_tests(loaded) and not files.in_tests(tested)
    if made and "../" not in after[loaded] and after[loaded].split() != before[tested].split():
        return True
    if tested not in after:
        return False
    kept, other = after[tested], after.get(loaded, "")
    stem = posixpath.splitext(files.name_of(tested))[0]
    if loaded and re.search(
        rf"['\"][^'\"]*{re.escape(posixpath.splitext(files.name_of(loaded))[0])}[^'\"]*['\"]", kept
    ):
        return False
    if re.search(rf"['\"][^'\"]*/{re.escape(stem)}(?:\.\w+)?['\"]", other):
        return False
    return re.search(rf"\b{re.escape(name)}\b", kept) is not None or before.get(tested) == kept


def _resolved(path: str, module: str, texts: Mapping[str, str]) -> str:
    if not module.startswith("."):
        return ""
    stem = posixpath.normpath(posixpath.join(files.folder_of(path), module))
    plain = re.sub(r"\.[cm]?js$", "", stem)
    return next((f"{one}{e}" for one in (stem, plain) for e in _ENDINGS if f"{one}{e}" in texts), "")
