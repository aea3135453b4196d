"""Settings of package managers and toolchains by which another program, library or shell takes a check's place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config.settings import line_of, table, toml
from bough.core.tamper.wording import short

_SETTINGS = re.compile(
    r"^\s*(script-shell|scriptShell|shell|node-options|nodeOptions|ignore-scripts|if-present|yarn-path|yarnPath|prefix"
    r"|userconfig|globalconfig|plugins|preload|pnpmfile|enable-pre-post-scripts|NODE_OPTIONS|BUN_OPTIONS)\s*[=:]\s*(.*)$"
)
ASSERTING = re.compile(
    r"testify|gotest\.tools|onsi/(?:gomega|ginkgo)|go-cmp|is-dot|quicktest|go-testdeep|gopkg\.in/check|gocheck"
)
"""Go modules that hold a test's assertions."""


def compare(old: str, new: str, path: str) -> Iterator[Tampering]:
    name = files.name_of(path)
    if name in ("go.mod", "go.work"):
        yield from _replaced(old, new, path)
    elif name.startswith("rust-toolchain"):
        yield from _toolchain(old, new, path)
    elif name.startswith(".pnp") and old != new and not (name == ".pnp.cjs" and old):
        yield Tampering(path, 1, f"{path} decides which packages are loaded, the test runner's too")
    else:
        yield from _lines(old, new, path)


def _lines(old: str, new: str, path: str) -> Iterator[Tampering]:
    known = {" ".join(line.split()) for line in old.splitlines()}
    babel = "babel" in path or "swc" in path
    for number, line in enumerate(new.splitlines(), 1):
        if " ".join(line.split()) in known:
            continue
        if _SETTINGS.match(line):
            yield Tampering(path, number, f"`{short(line, 60)}` changes how the check is run")
        elif babel and re.search(r"['\"]\.{1,2}/", line):
            yield Tampering(path, number, f"`{short(line, 60)}` rewrites the code of the tests")


def _replaced(old: str, new: str, path: str) -> Iterator[Tampering]:
    """`replace a => ./b`: the assertions' own library, or one of the project's, is another one now."""
    for number, line in enumerate(new.splitlines(), 1):
        module, arrow, target = line.strip().removeprefix("replace ").partition("=>")
        if arrow and line.strip() not in old and (ASSERTING.search(module) or target.strip().startswith((".", "/"))):
            yield Tampering(path, number, f"`{short(line, 60)}` puts another library in place of {module.split()[0]}")


def _toolchain(old: str, new: str, path: str) -> Iterator[Tampering]:
    was, now = table(toml(old), "toolchain"), table(toml(new), "toolchain")
    if now.get("path") != was.get("path") and now.get("path"):
        yield Tampering(path, line_of(new, "path"), f"another toolchain builds and runs the tests: {now['path']}")


def dependencies(was: dict[str, object] | None, now: dict[str, object] | None) -> Iterator[tuple[str, str]]:
    """Of package.json: a runner or a library of assertions that is now taken from a folder of the project."""
    for section in ("dependencies", "devDependencies", "overrides", "resolutions", "optionalDependencies"):
        before = table(was, section)
        for name, wanted in table(now, section).items():
            local = isinstance(wanted, str) and re.match(r"file:|link:|portal:|workspace:|npm:|\.|/", wanted)
            plain = name.split("/")[0] if name.startswith("@") else name
            testing = plain in files.JS_RUNNERS or name in ("chai", "expect", "should", "sinon", "uvu", "supertest")
            if local and testing and before.get(name) != wanted:
                yield name, f"{section}: {name} is now `{short(str(wanted), 40)}`"
