"""Product code of other languages that bends a test run, read as text: it changes the assertions or the runner, knows
that it is tested, reads the tests, or equals everything. What was there at the base is nobody's fault."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.text.scan import line_at, uncommented
from bough.core.tamper.wording import short

LANGUAGES = ("javascript", "go", "rust")

_ASSERTING = (
    r"(?:node:)?(?:assert(?:/strict)?|test)|jest|@jest/\w+|vitest|chai|expect|should|sinon|ava|tap|mocha|uvu(?:/\w+)?"
)
_LOADED = rf"(?:require|import|getBuiltinModule['\"]?\]?)\s*\(\s*['\"`](?:{_ASSERTING})['\"`]\s*\)"
_BOUND = re.compile(
    rf"(?:const|let|var|import)\s+(?:\*\s+as\s+)?(?P<names>[\w$]+|[\w$\s]*,?\s*\{{[^}}]*\}})\s*"
    rf"(?:=\s*(?:await\s+)?(?:process(?:\.|\[['\"]))?{_LOADED}|from\s*['\"](?:{_ASSERTING})['\"])"
)
_TARGET = r"(?:\.[\w$]+|\[[^\]\n]*\])+\s*(?:\|\||&&|\?\?)?=(?![=>])"
_BUILT_IN = r"(?:Object|Number|String|Boolean|Array|Function|Promise|Error|Map|Set|RegExp|Date|Symbol|BigInt)"
_GLOBALS = r"(?:describe|it|test|expect|jest|vi|beforeEach|afterEach|mocha|suite|assert)"

_ASKED = (
    r"(?:\bNODE_ENV\b[^;\n]*['\"]test['\"]|\brequire\.main\s*!==?\s*module\b|(?<!!)\bmodule\.parent\b"
    r"|\bprocess\.mainModule\b)"
)
"""Questions that have honest uses, but not to choose an answer by."""

_RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "javascript": (
        (rf"{_LOADED}{_TARGET}", "changes the assertions or the test runner"),
        (rf"Object\.\w+\(\s*{_LOADED}|Reflect\.\w+\(\s*{_LOADED}", "changes the assertions or the test runner"),
        (
            r"\brequire\.cache\b|\bModule\._\w+|\bModule\.prototype\b|\.registerHooks\(",
            "changes how modules are loaded",
        ),
        (
            r"\bprocess\.binding\(|\bmodule\.(?:parent\.|children\b)|_linkedBinding",
            "looks into the module that loads it",
        ),
        (r"\brequire\(\s*['\"][^'\"]*['\"]\s*\+\s*['\"]", "hides which module it loads"),
        (rf"\brequire\(\s*[^'\"`()]+\){_TARGET}", "changes a module that it does not name"),
        (
            r"\b(?:NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST(?:_\w+)?|MOCHA_\w+|npm_lifecycle_\w+|TAP_CHILD_ID)\b"
            rf"|__vitest_\w+|\btypeof\s+{_GLOBALS}\b|\bglobal(?:This)?\.{_GLOBALS}\b|\bglobal(?:This)?\[['\"]{_GLOBALS}['\"]\]",
            "looks for a running test",
        ),
        (
            r"\b(?:process\.(?:argv|execArgv|argv0)|require\.main|process\.mainModule)\b[^;\n]*test"
            r"|\bObject\.\w+\(\s*process\.env\s*\)[^;\n]*(?:NODE|JEST|VITEST|MOCHA|[Tt]est)",
            "looks for a running test",
        ),
        (rf"{_ASKED}[^;{{}}\n]*?(?:\?(?![.?])|\)\s*\{{?\s*return\s+[^;\s])", "answers differently in a test"),
        (r"(?:\breturn\b|\?|=>)[^;\n]*NODE_ENV[^;\n]*['\"]test['\"]", "answers differently in a test"),
        (r"\bNODE_ENV\b[^;\n]*['\"]test['\"][^;\n]*(?:\?|\breturn\b|&&)", "answers differently in a test"),
        (
            r"\.stack\b[^;\n]*(?:test|spec)|\bError\.prepareStackTrace\b|\.getFileName\(\)"
            r"|\bnew Error\([^()]*\)\)?\.stack\b|\bcaptureStackTrace\(\s*(?!this\b|error\b)"
            r"|\b([\w$]+)\s*=\s*new Error\([^()]*\)[\s\S]{0,200}?(?<![\w$])\1\.stack\b"
            r"|\barguments\.callee\.caller\b|\bfunction\s+([\w$]+)[\s\S]{0,300}?\b\2\.caller\b",
            "looks at its callers",
        ),
        (
            r"process\.on(?:ce)?\(\s*['\"](?:exit|beforeExit)['\"][^;{}]*(?:\{[^}]*)?(?:exitCode|process\.exit|reallyExit)"
            r"|\bprocess\.(?:reallyExit|abort)\s*\(|\bprocess\.exitCode\s*=\s*0|\bprocess\.(?:exit|emit|kill)\s*=(?!=)"
            r"|\bprocess\.kill\(\s*process\.p?pid",
            "ends the test run with an exit status of its own",
        ),
        (r"\bprocess\.std(?:out|err)\.write\s*=(?!=)|\bprocess\.send\s*=(?!=)", "changes what the test run says"),
        (
            rf"\b{_BUILT_IN}\.prototype(?:\.(?:valueOf|toString|toJSON|constructor|equals|then)|\[[^\]]*\])\s*=(?!=)"
            rf"|\bdefinePropert(?:y|ies)\(\s*{_BUILT_IN}(?:\.prototype)?\s*,|\b(?:Object|Reflect|JSON|Number)\.\w+\s*=(?![=>])"
            r"|\bglobal(?:This)?\[[\w$]+\]\s*=(?![=>])",
            "changes what JavaScript itself provides",
        ),
        (r"\basymmetricMatch\b|jest\.asymmetricMatcher", "makes every comparison hold"),
        (
            rf"\bexpect\.extend\(\s*\{{[^}}]*\bto(?:Be|(?:Strict)?Equal|Throw|Match)\b|(?m:^)\s*{_GLOBALS}\s*=(?![=>])",
            "changes the assertions or the test runner",
        ),
        (
            r"\b(?:eval|Function|runIn\w+|_compile)\s*\([^;\n]*(?:atob|base64|fromCharCode|['\"]hex)",
            "runs code that cannot be read",
        ),
        (
            r"(?:readFile\w*|createReadStream|require|import|readdir\w*)\s*\([^;\n]*(?:\.(?:test|spec)\b|__tests__|_test\b)",
            "reads the tests",
        ),
    ),
    "go": (
        (
            r"\btesting\.Testing\(\)|flag\.Lookup\(\s*\"test\.|\bos\.Args\b[^\n]*\btest|\"\.test\"|\"-test\."
            r"|\bos\.Args\[0\][\s\S]{0,200}?\"[^\"\n]*(?:\.t|[Tt]est)",
            "looks for a running test",
        ),
        (r"func\s+init\s*\(\)\s*\{[^}]*(?:os|syscall)\.Exit", "ends the test run with an exit status of its own"),
        (r"\b(?:os|syscall)\.(?:Exit|Kill|Exec)\(\s*0\s*\)", "ends the test run with an exit status of its own"),
        (r"//go:linkname\s+\w+\s+(?:testing|os)\b", "changes the test runner"),
        (r"\"[^\"\n]*_test\.go\"", "names the tests"),
        (r"\bruntime\.(?:Callers?|FuncForPC|Stack)\([\s\S]{0,300}?\"[^\"\n]*[Tt]est", "looks at its callers"),
        (r"\bdebug\.ReadBuildInfo\b[\s\S]{0,200}?test", "looks for a running test"),
    ),
    "rust": (
        (r"\bcfg!\s*\(\s*(?:not\s*\(\s*)?(?:test|debug_assertions)\b", "answers differently in a test"),
        (
            r"#!?\[cfg\(\s*not\s*\(\s*test\s*\)\s*\)\]"
            r"|#\[cfg\(\s*(?:test|debug_assertions)\s*\)\]\s*(?:let|return|[a-z_]\w*\s*[-+*/]?=)",
            "is something else in a test",
        ),
        (r"\bBacktrace::\w*capture\(\)[\s\S]{0,200}?\.(?:contains|find|matches)\(", "looks at its callers"),
        (r"\benv::args(?:_os)?\(\)[\s\S]{0,160}?\"[^\"]*(?:deps|test)", "looks for a running test"),
        (
            r"fn\s+eq\s*\(\s*&self\s*,\s*\w+\s*:[^)]*\)\s*->\s*bool\s*"
            r"\{\s*(?:let _ = \w+;\s*)?(?:true|return true;)\s*\}",
            "makes every comparison hold",
        ),
        (r"macro_rules!\s*(?:debug_)?(?:assert\w*|panic)\b", "changes the assertions"),
        (
            r"\bthread::current\(\)[\s\S]{0,120}?\.name\(\)[^;\n]*(?:==|\bSome\(\"|contains|matches!|_with\()"
            r"|\benv::var(?:_os)?\(\s*\"CARGO",
            "looks for a running test",
        ),
        (r"\"(?:RUST_TEST_\w+|NEXTEST\w*|__RUST_TEST_INVOKE|CARGO_TARGET_TMPDIR)\"", "looks for a running test"),
        (r"\bcurrent_exe\(\)[\s\S]{0,120}?\"[^\"]*(?:deps|test)", "looks for a running test"),
        (r"\binclude_(?:str|bytes)!\s*\(\s*(?:file!|\"[^\"]*\.rs\")", "reads the tests"),
    ),
}


class _Place(Struct, frozen=True):
    line: int
    said: str
    why: str


def compare(
    before: Mapping[str, str], after: Mapping[str, str], paths: list[str], language: str, only: str = ""
) -> Iterator[Tampering]:
    """`paths`: files of the language that differ and are no tests, or are tests and product in one. `only`: the one
    thing that is looked for."""
    known: Counter[str] = Counter()
    for path in paths:
        known.update(place.said for place in _places(path, before.get(path, ""), language))
    for path in paths:
        for place in _places(path, after.get(path, ""), language):
            known[place.said] -= 1
            if known[place.said] < 0 and only in place.why:
                yield Tampering(path, place.line, f"`{short(place.said, 60)}` {place.why}")


def _places(path: str, text: str, language: str) -> Iterator[_Place]:
    if _generated(path, text):
        return
    plain = text if language == "go" else uncommented(text, "//")
    if language == "javascript":
        plain = re.sub(r"\[\s*(['\"])([A-Za-z_$][\w$]*)\1\s*\]", r".\2", plain)
    more: Callable[[str], Iterator[tuple[str, str]]] = {"javascript": _on_names, "go": _go}.get(language, _nothing)
    program = re.search(r"(?m)^package main\b", plain) is not None
    for pattern, why in (*_RULES[language], *more(plain)):
        for found in re.finditer(pattern, plain):
            if language == "go" and ("test" in path or (program and "Exit" in found[0])):
                continue
            yield _Place(line_at(plain, found.start()), " ".join(found[0].split()), why)


_BUILT = frozenset({"dist", "build", "out", "public", "static", "assets", "third_party"})


def _generated(path: str, text: str) -> bool:
    """What a bundler wrote: a few endless lines in a folder for such."""
    return bool(_BUILT & {*files.folders(path)}) and len(text) > 300 * (text.count("\n") + 1)


def _nothing(plain: str) -> Iterator[tuple[str, str]]:
    return iter(())


def _go(plain: str) -> Iterator[tuple[str, str]]:
    if not re.search(r"\*testing\.[TBM]\b|testing\.TB\b", plain):
        yield r"(?m)^\s*(?:import\s+)?(?:\w+\s+)?\"testing\"\s*$", "looks for a running test"


def _on_names(plain: str) -> Iterator[tuple[str, str]]:
    """What is done to the names that assertions and runners are bound to."""
    names: set[str] = set()
    for found in _BOUND.finditer(plain):
        names |= {part.split(":")[-1].split(" as ")[-1].strip() for part in re.split(r"[{},]", found["names"])}
    names = {name for name in names if re.fullmatch(r"[\w$]+", name)}
    for name in sorted(names):
        names |= set(re.findall(rf"(?:const|let|var)\s+([\w$]+)\s*=\s*{re.escape(name)}(?:\.strict)?\s*[;\n]", plain))
    if names:
        one = f"(?:{'|'.join(re.escape(name) for name in sorted(names))})"
        why = "changes the assertions or the test runner"
        yield rf"(?<![\w$.]){one}{_TARGET}", why
        yield rf"\b(?:Object|Reflect)\.(?:assign|define\w+|set\w*)\(\s*{one}\b|\bmock\.method\(\s*{one}\b", why


_GO_SYSTEMS = "windows|darwin|plan9|js|wasip1|android|ios|freebsd|netbsd|openbsd|solaris|aix|illumos|dragonfly|zos"
_GO_UNBUILT = re.compile(rf"(?:^|/)(?:[_.][^/]*|testdata/.*|[^/]*_(?:{_GO_SYSTEMS})_test\.go)$|(?:^|/)[_.][^/]+/")


def moved_out(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Tampering]:
    """Go tests that are now in a file that Go leaves out here."""
    gone = [p for p in before if p.endswith("_test.go") and p not in after]
    titles = {t for path in gone for t in re.findall(r"(?m)^func (Test\w+)", before[path])}
    for path in sorted(after):
        if path.endswith("_test.go") and path not in before and _GO_UNBUILT.search(path):
            for title in re.findall(r"(?m)^func (Test\w+)", after[path]):
                if title in titles:
                    yield Tampering(path, 1, f"{title} was moved to {path}, which Go leaves out")


def copied(before: Mapping[str, str], after: Mapping[str, str], paths: list[str]) -> Iterator[Tampering]:
    """Go tests that import a new package with functions of the name of those that they called."""
    named = re.search(r"(?m)^module\s+(\S+)", after.get("go.mod", ""))
    module = named[1] if named is not None else ""
    for path in paths:
        if path not in before or path not in after:
            continue
        known = set(re.findall(r"\"([\w./-]+)\"", before[path]))
        called = set(re.findall(r"\b([A-Z]\w*)\s*\(", before[path]))
        for found in re.finditer(r"\"([\w.-]+(?:/[\w.-]+)+)\"", after[path]):
            folder = found[1].removeprefix(f"{module}/")
            new = [p for p in after if p not in before and files.folder_of(p).endswith(folder) and p.endswith(".go")]
            made = {name for p in new for name in re.findall(r"(?m)^func ([A-Z]\w*)", after[p])}
            kept = {
                n for p in before if p in after and p.endswith(".go") for n in re.findall(r"(?m)^func (\w+)", after[p])
            }
            if found[1] not in known and folder and (twice := sorted(made & called & kept)):
                line = line_at(after[path], found.start())
                yield Tampering(path, line, f"{twice[0]} is now taken from {found[1]}, which is new")


def product(path: str, language: str) -> bool:
    """Files of a language in which product code can stand. In Rust, tests and what they test share their files."""
    if files.foreign(path) or files.language(path) != language or ".min." in path or files.name_of(path) == "build.rs":
        return False
    return language == "rust" or not files.test_file(path)
