"""Files that nobody writes by hand: a check of such a project takes bough itself seconds, before any consent."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bough.app import Choices
from tests.engine.libraries import look
from tests.harness import git
from tests.sampling import in_turn, sample

OWN = 10.0
"""Seconds of bough's own time, without what the check itself takes."""
CI = ".github/workflows/ci.yml"
HEAD = "on: push\njobs:\n  t:\n    steps:\n"
WORDS = 'a="b c" ' * 12_500
CONTINUED = "          pytest \\\n" * 2_000
MANIFESTS = (
    "package.json pyproject.toml Cargo.toml go.mod composer.json pom.xml tox.ini setup.cfg mix.exs Gemfile "
    "build.gradle CMakeLists.txt dune-project"
)


def _list_noise() -> Iterator[tuple[str, bytes]]:
    chance = random.Random(1)
    for name in MANIFESTS.split():
        yield name, chance.randbytes(100_000)


PROJECTS: dict[str, dict[str, bytes]] = {
    "10,000 lines of CI": {
        CI: (HEAD + "".join(f"      - run: make p{n} && ./run-tests-{n}.sh | tee o\n" for n in range(10_000))).encode()
    },
    "20 files of 2,000 long lines of CI": {
        CI.replace("ci", f"test{k}"): (
            HEAD + "".join(f"      - run: make p{n} {k} " + '"a b" $X ' * 50 + "\n" for n in range(2_000))
        ).encode()
        for k in range(20)
    },
    "one line of 100 KB": {
        CI: f"{HEAD}      - run: pytest {WORDS}\n      - run: |\n{CONTINUED}{'a: ' * 33_000}\n".encode(),
        "Makefile": f"test:\n\t@true {WORDS}\ntest{'x' * 100_000}:\n\ttrue\n".encode(),
        "package.json": json.dumps({"scripts": {"test": f"node x {WORDS}"}}).encode(),
        "tox.ini": f"[testenv]\ncommands = pytest {WORDS}\n".encode(),
    },
    "a Makefile of 5,000 targets": {
        "Makefile": ("".join(f"t{n}: t{n + 1} x\n\techo $(A{n})\n\n" for n in range(5_000)) + "test: t0\n").encode()
    },
    "manifests that are noise": dict(_list_noise()),
    "manifests that are deep": {
        "package.json": b"[" * 100_000,
        "pyproject.toml": b"a = " + b"[" * 100_000,
        "Cargo.toml": b"[" * 100_000,
        "pom.xml": b"<a>" * 50_000,
    },
}


@in_turn
@pytest.mark.parametrize("kind", sample(PROJECTS, 3))
def test_a_check_answers_within_seconds_of_its_own_time(tmp_path: Path, kind: str) -> None:
    for name, text in PROJECTS[kind].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text)
    (tmp_path / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "test_calc.py").write_text(
        "import unittest\nimport calc\n\n\nclass T(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
    )
    git(tmp_path, "init", "-q")
    began = time.process_time()
    found, _ = look(tmp_path, Choices(sandbox="none", trust_config=True))
    assert time.process_time() - began < OWN
    assert found.passed == 1 and found.believed, found
