"""How many mutants of a finished work do its standing probes catch?

    python bench/mutants.py PROJECT RUN                       fifteen mutants, chosen by a fixed seed
    python bench/mutants.py PROJECT RUN --count 40 --seed 2

PROJECT is a Python project in which RUN is finished. The work goes to a branch with its probes (`bough apply --branch
--with-probes`); a mutant changes one expression of a function that the work wrote: a comparison, an operator, a
number, a condition, a return value (not a text: the words of a message are rarely asked for). A mutant is caught when
a probe fails. What survives is listed with its line: some of it may behave like the original.
"""

import argparse
import ast
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

LIMIT = 60
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def places(tree: ast.Module, lines: set[int]) -> Iterator[tuple[ast.AST, str, object, object]]:
    """What can be changed on these lines: the node, its field, the value before and the value after."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = function.body[1:] if ast.get_docstring(function) else function.body
        for node in (each for statement in body for each in ast.walk(statement)):
            if getattr(node, "lineno", 0) not in lines:
                continue
            match node:
                case ast.Compare(ops=[first, *_]) if type(first) in _SWAPS:
                    yield node, "ops", node.ops, [_SWAPS[type(first)](), *node.ops[1:]]
                case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in _SWAPS:
                    yield node, "op", op, _SWAPS[type(op)]()
                case ast.Constant(value=bool(value)):
                    yield node, "value", value, not value
                case ast.Constant(value=int(value)):
                    yield node, "value", value, value + 1
                case ast.If(test=test) | ast.IfExp(test=test):
                    yield node, "test", test, ast.UnaryOp(ast.Not(), test)
                case ast.Return(value=value) if value is not None:
                    yield node, "value", value, ast.Constant(None)


def mutants(path: str, text: str, lines: set[int]) -> list[tuple[str, int, str, str]]:
    """The path, the line, what it says now, and the text of the file."""
    tree = ast.parse(text)
    found = []
    for node, field, before, after in list(places(tree, lines)):
        setattr(node, field, after)
        said = ast.unparse(node).splitlines()[0]
        found.append((path, getattr(node, "lineno", 0), said, ast.unparse(ast.fix_missing_locations(tree)) + "\n"))
        setattr(node, field, before)
    return found


def added_lines(folder: Path, base: str, path: str) -> set[int]:
    lines: set[int] = set()
    for line in git(folder, "diff", "-U0", base, "HEAD", "--", path).splitlines():
        if line.startswith("@@"):
            start, _, count = line.split("+")[1].split()[0].partition(",")
            lines |= set(range(int(start), int(start) + int(count or 1)))
    return lines


def fails(folder: Path, probes: list[str]) -> bool:
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *probes]
    try:
        return subprocess.run(words, cwd=folder, capture_output=True, timeout=LIMIT).returncode != 0
    except subprocess.TimeoutExpired:
        return True  # An endless loop is seen, too.


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("run")
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    branch = f"mutants-of-{chosen.run}"
    bough = Path(sys.executable).with_name("bough")
    if branch not in git(chosen.project, "branch", "--list", branch):
        words = [str(bough), "apply", chosen.run, "--branch", branch, "--with-probes"]
        subprocess.run(words, cwd=chosen.project, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as box:
        folder = Path(box) / "work"
        git(chosen.project, "worktree", "add", "-q", "--detach", str(folder), branch)
        try:
            return measure(folder, chosen)
        finally:
            git(chosen.project, "worktree", "remove", "--force", str(folder))


def measure(folder: Path, chosen: argparse.Namespace) -> int:
    base = git(folder, "merge-base", "HEAD", git(chosen.project.resolve(), "rev-parse", "HEAD").strip()).strip()
    changed = git(folder, "diff", "--name-only", "--diff-filter=AM", base, "HEAD").split()
    probes = [path for path in changed if Path(path).name.startswith("test_probe_")]
    assert probes, "the work has no probes in Python"
    assert not fails(folder, probes), "the probes fail on the work itself"
    code = [path for path in changed if path.endswith(".py") and not Path(path).name.startswith("test_")]
    found = [
        one for path in code for one in mutants(path, (folder / path).read_text(), added_lines(folder, base, path))
    ]
    picked = random.Random(chosen.seed).sample(found, min(chosen.count, len(found)))
    caught = 0
    for path, line, said, text in sorted(picked):
        before = (folder / path).read_text()
        (folder / path).write_text(text)
        seen = fails(folder, probes)
        (folder / path).write_text(before)
        caught += seen
        print(f"{'caught  ' if seen else 'SURVIVED'} {path}:{line}: {said[:90]}", flush=True)
    print(f"\n{caught} of {len(picked)} mutants are caught by {len(probes)} files of probes ({len(found)} possible)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
