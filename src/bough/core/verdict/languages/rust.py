"""Rust, with `cargo test`; added options make it continue after a failing test program and name all tests."""

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from shlex import quote

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import MOST_CASES, make_case
from bough.core.verdict.language import Language
from bough.core.verdict.paths import find_stem, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import MOST_LINES, Runner, strip_file
from bough.core.verdict.texts import find_closing_brace

_SECTION = r" +Running (?:unittests )?(\S+) \(.*?([\w.-]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)"
_DOC_SECTION = r" +Doc-tests (\S+)"
_TEST = r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, .*)?"
_OUTPUT = r"(?m)^---- (.+?) stdout ----$((?:\n(?!---- .+? stdout ----$|(?:failures|successes):$|test result: ).*)*)"
"""Pattern for the output of a failing test, up to the output of the next test or the list of names."""
_PANIC = r"thread '.*' .*panicked at "
"""Pattern for the line before the message of a panic; what a test prints itself comes before it."""
_OUTCOMES: dict[str, CaseOutcome] = {"ok": "passed", "ignored": "skipped"}


class Cargo(Runner):
    name = "cargo"
    settings = r"nextest\.toml|rust-toolchain(\.toml)?"
    sections = tuple(("Cargo.toml", name) for name in ("test", "bench", "bin", "lib", "profile", "lints"))
    suffixes = (".rs",)
    program = ("cargo", "test", "t")
    report_flag = "--no-fail-fast"
    closes = (
        r"test result: (?:ok|FAILED)\. (?P<counts>\d{1,9} passed; \d{1,9} failed; \d{1,9} ignored)"
        r"; \d+ measured; \d+ filtered out(?:; finished in [\d.]+s)?"
        r"|Summary \[ *[\d.]+s\] \d{1,9}(?:/\d+)? tests? run: (?P<counts2>\d{1,9} (?:passed|failed).*|.*skipped)"
    )
    in_parts = True
    starts = (
        (r"Cargo\.toml", r"(?m)^\[workspace\]", "cargo test --workspace"),
        (r"Cargo\.toml", r"(?m)^\[package\]|\A\s*\Z|(?!.*\[workspace\])", "cargo test"),
    )

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        found = self.place(command)
        names = sorted({strip_file(one) for one in ids})
        # The name of a documentation test ends with its line number, which its id leaves out: match these by prefix.
        exact = [] if any(":doc::" in one for one in ids) else ["--exact"]
        dashes = [] if found and any(word.text == "--" for word in found[0]) else ["--"]
        return self.append(command, " ".join([*dashes, *exact, *map(quote, names)]))

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        told = {found[1]: found[2].split("\n")[1:] for found in re.finditer(_OUTPUT, "\n".join(lines))}
        target, found = "", list[tuple[str, str, CaseOutcome]]()
        for line in lines:
            if (section := re.fullmatch(_SECTION, line)) is not None:
                target = f"{section[2]}:{section[1]}"
            elif (docs := re.fullmatch(_DOC_SECTION, line)) is not None:
                target = f"{docs[1]}:doc"
            elif (test := re.fullmatch(_TEST, line)) is not None:
                found.append((target, test[1], _OUTCOMES.get(test[2], "failed")))
        # Documentation tests of one item differ only by their line and come in any order: sort them as in the file.
        found.sort(key=lambda each: (each[0].endswith(":doc"), *map(int, re.findall(r"\(line (\d{1,9})\)", each[1]))))
        cases = []
        for target, name, outcome in found[:MOST_CASES]:
            trace = told.get(name, [])[:MOST_LINES]
            panic = [line.strip() for line in dropwhile(lambda line: not re.match(_PANIC, line), trace)][1:4]
            # Leave out the line number of a documentation test, which changes with every edit above it.
            stable = re.sub(r" \(line \d+\).*", "", name)
            said = " ".join(takewhile(lambda line: not re.match(r"note:|stack backtrace|$", line), panic))
            cases.append(make_case(f"{target}::{stable}", outcome, said, "\n".join(trace), root=root))
        return cases

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        whole = " --test" if parent_folder(path) == "tests" else ""
        return f"cargo test{whole} {quote(find_stem(path))}"


class Rust(Language):
    name = "rust"
    suffixes = ("rs",)
    case_path = "examples/{name}.rs"
    case_command = "CARGO_NET_OFFLINE=true cargo run -q --example {name}"
    case_how = "A program (`fn main`) that uses the crate by its name and compares with `assert_eq!`."
    body = r"^[ \t]*(?:pub(?:\([^)]{0,999}\))? |async |unsafe )*fn (\w+)[^;{]{0,999}\{"
    switch = 'if std::hint::black_box(1) == {on} { panic!("broken on purpose") }'
    comment = "//"
    quotes = False
    rank = 4
    runners = (Cargo(),)
    manifests = ("Cargo.toml",)
    dependency_files = r"(^|/)Cargo\.toml$"
    settings = r"\.cargo/config[^/]*"
    programs = frozenset({"cargo"})
    frames = r"/rustc/"
    moved = r"error\[E\d+\]"
    no_package = (
        r"no matching package(?: named `([\w-]+)`)? found|failed to (?:download|get) `([\w-]+)"
        r"|info: syncing channel updates for (\S+)"
    )
    setups = ((r"Cargo\.toml", "cargo fetch"),)
    installs = "cargo fetch"

    def mark_end(self, text: str, mark: str) -> str:
        ends = f'\nstruct ReachedEnd;\nimpl Drop for ReachedEnd {{ fn drop(&mut self) {{ print!("{mark}"); }} }}\n'
        return re.sub(r"fn main\(\)[^{]*\{", r"\g<0> let _end = ReachedEnd;", text, count=1) + ends

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        modules = r"(?m)^[ \t]*#\[cfg\([^\]]*\btest\b[^\]]*\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*(?=[{;])"
        return [(found.start(), find_closing_brace(text, found.end())) for found in re.finditer(modules, text)]

    def holds_test(self, test: str, path: str) -> bool:
        """Whether the file may hold the test; an id that names a crate instead of a file fits every file."""
        file = test.partition("::")[0]
        return file.rpartition(":")[2] == path or not file.endswith(".rs")
