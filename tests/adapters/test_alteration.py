"""A product that is broken on purpose still loads, and only what runs it notices."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from bough.app import Choices, RunObserver, open_session
from bough.core.planning.plan import build_goal_step
from bough.core.verdict.alteration import alter, list_product
from tests.harness import git
from tests.sampling import sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

PYTHON = """\
import functools

def twice(function):
    return lambda *given: function(*given) * 2

@twice
def add(a, b):
    '''Add.'''
    @functools.cache
    def inner(x): return x
    return inner(a) + b

class Kind:
    def __init__(self): self.x = 1
    def loop(self):
        for _ in ():
            pass
        return 2

if __name__ == "__main__":
    print(getattr(__import__("a"), "add")(1, 2))
"""
SCRIPT = """\
'use strict';
const x = make(3);
function make(n) { return n; }
class A extends Object {
  constructor() { super(); }
  get v() {
    return x;
  }
  async run(a, b = 2) {
    if (a) { return 1; }
  }
}
exports.add = (a, b) => {
  return a + b;
};
exports.add(1, 2); new A().v;
"""
C = """\
#include <stdio.h>
static int add(int a, int b)
{
  int c;
  c = a + b; return c;
}
int
main(int argc, char **argv) {
  printf("%d\\n", add(1, 2)); return 0;
}
"""
RUST = """\
#![deny(warnings)]
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}
fn all() -> impl Iterator<Item = i32> { 0..3 }
fn main() { println!("{}", add(1, 2)); for _ in all() {} }
"""
JAVA = """\
import java.util.*;
public class A {
    final int x;
    public A(int x) { this.x = x; }
    public static <T> List<T> of(T a) throws RuntimeException {
        return new ArrayList<T>();
    }
    static int add(int a, int b) {
        if (a > 1) { return 1; }
        return a + b;
    }
    public static void main(String[] args) {
        System.out.println(add(1, 2)); of(1);
    }
}
"""
PERL = "use strict;\nsub add { my ($a, $b) = @_; return $a + $b; }\nmy $f = \\&add;\nprint $f->(1, 2), qq{\\n};\n"
SHELL = "#!/bin/bash\nset -e\nadd() {\n  echo $(($1 + $2))\n}\nfunction sub { echo 1; }\nadd 1 2\n"


@pytest.mark.parametrize(
    ("name", "text", "program", "command"),
    sample(
        [
            ("a.py", PYTHON, "python3", "python3 a.py"),
            ("a.js", SCRIPT, "node", "node a.js"),
            ("a.c", C, "gcc", "gcc -Wall -Werror -o a a.c && ./a"),
            ("a.rs", RUST, "rustc", "rustc -o r a.rs && ./r"),
            ("A.java", JAVA, "javac", "javac -Werror A.java && java A"),
            ("a.pl", PERL, "perl", "perl a.pl"),
            ("a.sh", SHELL, "bash", "bash a.sh"),
            ("tool", SHELL, "bash", "bash tool"),
        ],
        3,
    ),
)
def test_only_the_switch_decides(tmp_path: Path, name: str, text: str, program: str, command: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")

    def run(folder: str, content: str) -> int:
        # A folder each, as altered copies have: Python keeps what it compiled for a text of the same size and second.
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(content)
        return subprocess.run(["bash", "-c", command], cwd=tmp_path / folder, capture_output=True).returncode

    assert run("as_it_is", text) == 0
    assert run("off", alter({name: text}, "off")[name]) == 0
    assert run("on", alter({name: text}, "on")[name]) != 0


def test_what_builds_or_runs_the_tests_is_no_product() -> None:
    paths = ["setup.py", "src/a.py", "tests/test_a.py", "rollup.config.js", "install.sh", "bin/tool", "README.md"]
    assert list_product(paths, "sh ./install.sh --all") == ["src/a.py", "bin/tool"]
    assert list_product(["README.org", "a.el", "a-test.el"], "emacs -l a-test") == ["a.el"]
    assert list_product(["1.png", "2.png", "a.el", "a-test.el"], "emacs -l a-test") == ["a.el"]
    assert list_product(["release.sh", "a.el", "b.el", "a-test.el"], "emacs -l a-test") == [
        "release.sh",
        "a.el",
        "b.el",
    ]


PRODUCT = {
    "calc.py": "def add(a, b):\n    return a + b\n\n\ndef main():\n    print(add(1, 2))\n",
    "lib/tool.sh": '#!/bin/sh\nshout() {\n  echo "$1!"\n}\n',
    "Makefile": "all:\n\tpython3 -m py_compile calc.py\n",
    "install.sh": "test -d lib || exit 1\necho nothing to install\n",
    "test/run.sh": '. ./lib/tool.sh\ntest "$(shout a)" = "a!"\n',
}


@pytest.mark.parametrize(
    ("command", "kind"),
    sample(
        [
            ("sh test/run.sh", "tests"),
            ("python3 -c 'import calc; assert calc.add(1, 2) == 3'", "tests"),
            # Ten commands that only install, compile, lint or format.
            ("sh install.sh", "passes"),
            ("true", "passes"),
            ("echo 12 tests passed", "passes"),
            ("make", "passes"),
            ("python3 -m compileall -q .", "passes"),
            ("python3 -c 'import ast; ast.parse(open(\"calc.py\").read())'", "passes"),
            ("python3 -c 'import calc'", "passes"),
            ("sh -n lib/tool.sh", "passes"),
            ("grep -q 'def add' calc.py", "reads"),
            ("! grep -n ';' calc.py", "reads"),
            ("python3 -m tabnanny calc.py", "passes"),
            ("sha256sum -c sums", "reads"),
        ],
        3,
    ),
)
def test_a_check_is_believed_once_it_was_seen_to_fail(tmp_path: Path, command: str, kind: str) -> None:
    root = tmp_path / "p"
    for name, text in PRODUCT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    summed = subprocess.run(["sha256sum", "calc.py"], cwd=root, capture_output=True, text=True)
    (root / "sums").write_text(summed.stdout)
    git(root, "init", "-q")

    async def check() -> tuple[str, bool]:
        choices = Choices()
        async with open_session(root, create=True, choices=choices) as opened:
            found, _ = await opened.check(build_goal_step("Check it.", check=command), choices, RunObserver())
            return found.belief, found.believed

    said, believed = asyncio.run(check())
    assert believed is (kind == "tests"), said
    assert ("tests nothing" in said) is (kind == "passes") and ("may test nothing" in said) is (kind == "reads"), said
