"""Literals of real tests: is a value found in each, and does the test fail with another one?

    python bench/literals.py choose --index Sources.xz --mirror URL --to FOLDER    draw and unpack the libraries
    python bench/literals.py measure --to FOLDER [NAME ...]                         the table, a row a library
    python bench/literals.py rules --to FOLDER [NAME ...]                           what each rule leaves alone, and why

The rule, written before the first run. Libraries: the source packages of Debian's index whose names begin and end as
`LANGUAGES` says, in the order of the SHA-256 of their names, the first ones that hold at least `LEAST` tests, as many
of each language as it says: 20 in eight. Tests: `SAMPLE` of each, in the order of the SHA-256 of their names; a file of
Perl, which has no names in it, is one test. *Found*: at least one literal can be changed. *Falsified*, where
`literals.toml` says how a file of tests is run here and it passes as it is: the file fails with one of the changes that
a verdict would try, one at a time, and loads. *Doubted*: it passes with each value changed that something is compared
with, so that the verdict of an honest test needs a probe.
"""

import argparse
import ast
import hashlib
import json
import lzma
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bough.core.verdict import canary, literals
from bough.core.verdict.canary import Value

LANGUAGES = {
    "Python": (r"python-.*", 4, r"\.py$", r"(?m)^([ \t]*)(?:async )?def (test\w*)\("),
    "JavaScript": (
        r"node-.*",
        3,
        r"\.[cm]?[jt]sx?$",
        r"(?m)^([ \t]*)(?:it|test|t\.test)\(\s*[\"'`](.+?)[\"'`],",
    ),
    "Perl": (r"lib.*-perl", 3, r"\.t$", ""),
    "Ruby": (
        r"ruby-.*",
        2,
        r"\.rb$",
        r"(?m)^([ \t]*)(?:def (?=test_)|(?:it|test|should|specify) (?=[\"']))(\w+|([\"']).+?\3)",
    ),
    "Go": (r"golang-.*", 2, r"_test\.go$", r"(?m)^()func (Test\w+)\("),
    "Rust": (r"rust-.*", 2, r"\.rs$", r"(?m)^([ \t]*)#\[test\]\n(?:[ \t]*#\[.*\n)*[ \t]*(?:pub )?fn (\w+)\("),
    "PHP": (r"php-.*", 2, r"\.php$", r"(?m)^([ \t]*)(?:final )?public function (test\w+)\("),
    "R": (r"r-cran-.*", 2, r"\.[rR]$", r"(?m)^()test_that\(([\"'].+?[\"']),"),
}
"""The names of source packages, how many of them, files of tests, and how a test begins there: its indent, its name."""
LEAST = 10
SAMPLE = 10
LONGEST = 120
UNLOADED = (
    r"SyntaxError|IndentationError|ImportError|syntax error|error\[E\d+\]|could not compile|Can't locate"
    r"|Cannot find module"
)
RANKS = ("compared", "asserted", "given")
HOW = Path(__file__).with_suffix(".toml")


def order(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


# ── choosing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def choose(index: Path, mirror: str, to: Path) -> None:
    packages = {}
    for block in lzma.decompress(index.read_bytes()).decode().split("\n\n"):
        name, folder = re.search(r"(?m)^Package: (\S+)", block), re.search(r"(?m)^Directory: (\S+)", block)
        files = re.findall(r"(?m)^ \w{64} (\d+) (\S+\.orig\.tar\.\w+)$", block)
        if name and folder and files:
            packages[name[1]] = f"{mirror}/{folder[1]}/{files[0][1]}", int(files[0][0])
    chosen: dict[str, str] = {}
    for language, (names, count, _, _) in LANGUAGES.items():
        fitting = sorted((name for name in packages if re.fullmatch(names, name)), key=order)
        for one in fitting:
            if sum(each == language for each in chosen.values()) == count:
                break
            url, size = packages[one]
            if size < 5_000_000 and unpack(url, to / one) and len(list_tests(to / one, language)) >= LEAST:
                chosen[one] = language
                print(one, language, flush=True)
            else:
                shutil.rmtree(to / one, ignore_errors=True)
    (to / "chosen.json").write_text(json.dumps(chosen, indent=1))


def unpack(url: str, to: Path) -> bool:
    to.mkdir(parents=True)
    archive = to / url.rpartition("/")[2]
    try:
        with urllib.request.urlopen(url, timeout=60) as found:
            archive.write_bytes(found.read())
    except urllib.error.HTTPError as error:
        print(f"{url}: {error}", file=sys.stderr)
        return False
    done = subprocess.run(["tar", "xf", archive, "-C", to, "--strip-components=1"], check=False)
    archive.unlink()
    return done.returncode == 0


def list_tests(root: Path, language: str) -> list[tuple[str, str]]:
    """Files and names of tests, as a runner has them; an empty name: the file is one test."""
    _, _, files, begins = LANGUAGES[language]
    found = []
    for path in sorted(root.rglob("*")):
        inside = str(path.relative_to(root))
        if not path.is_file() or not re.search(files, inside) or re.search(r"node_modules|debian/|/dist/", inside):
            continue
        text = path.read_text(errors="replace")
        if not begins:
            found.append((inside, ""))
        for hit in re.finditer(begins, text) if begins else ():
            found.append((inside, find_class(text, hit) + hit[2].strip("\"' ")))
    return found


def find_class(text: str, hit: re.Match[str]) -> str:
    """The groups and the class that a test is in, as its runner says them."""
    if "def " in hit[0]:
        classes = re.findall(r"(?m)^class (\w+)", text[: hit.start()]) if hit[1] else []
        return f"{classes[-1]}::" if classes else ""
    titles: list[str] = []
    indent = len(hit[1])
    for line in reversed(text[: hit.start()].splitlines()):
        group = re.match(r"([ \t]*)(?:describe|context|suite)[ (]\s*([\"'`])(.+?)\2", line)
        if group and len(group[1]) < indent:
            indent = len(group[1])
            titles.insert(0, f"{group[3]} > ")
    return "".join(titles)


# ── measuring ──────────────────────────────────────────────────────────────────────────────────────────────────────


def find_rounds(root: Path, path: str, name: str) -> list[list[Value]] | None:
    """What a verdict would change, round by round; None: the test is not found in its file."""
    others = (
        each for each in root.rglob(f"*{Path(path).suffix}") if "node_modules" not in each.parts and each.is_file()
    )
    texts = {str(each.relative_to(root)): each.read_text(errors="replace") for each in others}
    if not name:
        values = canary.list_file_changes(texts, [path])
        return [[one] for one in values[:6]]
    found = canary.list_test_changes(texts, [f"{path}::{name}"])
    return [[one] for one in canary.choose_surest(next(iter(found.values())))[: canary.ROUNDS]] if found else None


class Library:
    def __init__(self, root: Path, language: str, how: str) -> None:
        self.root, self.language, self.how = root, language, how
        self._passing: dict[str, bool] = {}
        self._tests = sorted({*list_tests(root, language)}, key=lambda one: order("::".join(one)))

    @property
    def sample(self) -> list[tuple[str, str]]:
        return self._tests[:SAMPLE]

    def passes(self, path: str) -> bool:
        """Whether a file of tests passes as it is."""
        if self.how and path not in self._passing:
            self._passing[path] = self.run(path)[0] == 0
        return self._passing.get(path, False)

    def run(self, path: str) -> tuple[int | None, str]:
        try:
            command = self.how.replace("{file}", path)
            done = subprocess.run(command, shell=True, cwd=self.root, capture_output=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def fails_with(self, path: str, values: list[Value], mute: bool = False) -> bool:
        """Whether a file of tests fails, and loads, with these changes."""
        file = self.root / path
        text = file.read_bytes()
        try:
            made = canary.apply_changes(
                {path: text.decode(errors="replace")}, [one for one in values if one[0] == path]
            )
            new = made.get(path, text.decode(errors="replace"))
            file.write_text(ast.unparse(ast.fix_missing_locations(Mute().visit(ast.parse(new)))) if mute else new)
            status, said = self.run(path)
        finally:
            file.write_bytes(text)
        return status not in (0, None) and not re.search(UNLOADED, said)

    def measure(self) -> Iterator[tuple[str, str, str]]:
        """Each test of the sample: what was found, and what was seen."""
        for path, name in self.sample:
            rounds = find_rounds(self.root, path, name)
            found = "no test" if rounds is None else RANKS[rounds[0][0][1].rank] if rounds else "no value"
            seen = "not run"
            if rounds and self.passes(path):
                failed = next((each for each in rounds if self.fails_with(path, each)), None)
                seen = "falsified" if failed else "doubted" if found == "compared" else "green"
            yield f"{path}::{name}", found, seen


def measure(libraries: list[Library]) -> None:
    total: Counter[str] = Counter()
    print(
        "| library | language | tests | found | compared | run | falsified | green | doubted |\n" + "| --- " * 9 + "|"
    )
    for library in libraries:
        counts: Counter[str] = Counter()
        for test, found, seen in library.measure():
            counts.update((found, seen, "tests"))
            if found in ("no test", "no value") or seen in ("green", "doubted"):
                print(f"  {library.root.name}: {test}: {found}, {seen}", file=sys.stderr)
        row = count_row(counts)
        total += Counter(counts)
        print(f"| {library.root.name} | {library.language} | {' | '.join(map(str, row))} |", flush=True)
    print(f"| all | {len({one.language for one in libraries})} | {' | '.join(map(str, count_row(total)))} |")


def count_row(counts: Counter[str]) -> list[int]:
    run = counts["falsified"] + counts["green"] + counts["doubted"]
    found = counts["compared"] + counts["asserted"] + counts["given"]
    seen = [counts[word] for word in ("falsified", "green", "doubted")]
    return [counts["tests"], found, counts["compared"], run, *seen]


# ── the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────

RULES = {"statement": "_IDLE", "call": "_SILENT", "title": "_TITLES", "name": "_NAMES"}
"""Rules by which literals are left alone, and the patterns that are them."""


class Mute(ast.NodeTransformer):
    """Evaluates what is asserted, and asserts nothing."""

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        return ast.Expr(node.test)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        says = isinstance(node.func, ast.Attribute) and re.fullmatch(r"assert(?!.*Raises)\w*", node.func.attr)
        return ast.Tuple(node.args, ast.Load()) if says else node


def rules(libraries: list[Library]) -> None:
    """For each rank and rule: how often a test fails with another literal, and how often also with no assertion."""
    print("| literals | changed | fails | fails without any assertion |\n| --- | --- | --- | --- |")
    for kind in (*RANKS, *RULES):
        counts: Counter[str] = Counter()
        for library in libraries:
            for path, value in draw(library, kind):
                counts["changed"] += 1
                counts["fails"] += library.fails_with(path, [value])
                counts["mute"] += library.fails_with(path, [value], mute=True)
        print(f"| {kind} | {counts['changed']} | {counts['fails']} | {counts['mute']} |", flush=True)


def draw(library: Library, kind: str) -> Iterator[tuple[str, Value]]:
    """One literal of each test of the sample that has such ones."""
    for path, name in library.sample:
        texts = {path: (library.root / path).read_text(errors="replace")}
        if not library.passes(path):
            continue
        if kind in RULES:
            own = {one for each in canary.list_test_changes(texts, [f"{path}::{name}"]).values() for one in each}
            pattern, literals.__dict__[RULES[kind]] = literals.__dict__[RULES[kind]], r"(?!)"
            more = [one for each in canary.list_test_changes(texts, [f"{path}::{name}"]).values() for one in each]
            literals.__dict__[RULES[kind]] = pattern
            found = [one for one in more if one not in own]
        else:
            all_of = canary.list_test_changes(texts, [f"{path}::{name}"]).values()
            found = [one for each in all_of for one in each if one[1].rank == RANKS.index(kind)]
        for one in sorted(found, key=lambda each: order(f"{each[1].start}"))[:2]:
            yield path, one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("choose", "measure", "rules"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--mirror", default="")
    given = parser.parse_args()
    if given.what == "choose":
        choose(given.index, given.mirror, given.to)
        return
    chosen = json.loads((given.to / "chosen.json").read_text())
    how = tomllib.loads(HOW.read_text())["run"] if HOW.exists() else {}
    libraries = [
        Library(given.to / name, language, how.get(name, ""))
        for name, language in chosen.items()
        if not given.names or name in given.names
    ]
    measure(libraries) if given.what == "measure" else rules(libraries)


if __name__ == "__main__":
    main()
