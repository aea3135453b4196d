"""A check that started the product or a test and failed is red, whatever status or signal it ended with; one that
started nothing is not."""

from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.acceptance.verdict import Report
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.missing import find_idle
from tests.sampling import sample
from tests.verification.cases import Act, Case, explained, play, python_on_path, verdict_of

__all__ = ["python_on_path"]

PRODUCT = "echo $(($1 - $2))\n"
FIXED = Act(bash="sed -i 's/ - / + /' add.sh")
SHELL = {"add.sh": PRODUCT}
RED = [
    pytest.param("sh test.sh", SHELL | {"test.sh": "test $(sh add.sh 2 3) = 5 || exit 255"}, FIXED, 255, id="255"),
    pytest.param(
        "sh test.sh", SHELL | {"test.sh": "test $(sh add.sh 2 3) = 5 || kill -ABRT $$"}, FIXED, 134, id="abort"
    ),
    pytest.param(
        "sh test.sh", SHELL | {"test.sh": "test $(sh add.sh 2 3) = 5 || kill -SEGV $$"}, FIXED, 139, id="segfault"
    ),
    pytest.param(
        "sh test.sh",
        SHELL | {"test.sh": "test $(sh add.sh 2 3) = 5 || { echo 'FAIL: add'; exit 127; }"},
        FIXED,
        127,
        id="127 after a test",
    ),
    pytest.param(
        "perl test.pl",
        {"Add.pm": "package Add;\nsub add { return $_[0] - $_[1] }\n1;\n"}
        | {"test.pl": "use lib '.';\nuse Add;\ndie 'add is wrong' unless Add::add(2, 3) == 5;\n"},
        Act(bash="sed -i 's/ - / + /' Add.pm"),
        255,
        id="Perl's die",
    ),
    pytest.param(
        "sh -c 'gcc -o add_test add.c add_test.c && ./add_test'",
        {"add.c": "int add(int a, int b) { return a - b; }\n"}
        | {"add_test.c": "#include <assert.h>\nint add(int, int);\nint main(void) { assert(add(2, 3) == 5); }\n"},
        Act(bash="sed -i 's/a - b/a + b/' add.c"),
        134,
        id="C's assert",
    ),
]


@pytest.mark.parametrize(("check", "files", "fix", "status"), sample(RED, 3))
def test_it_is_red_with_any_status(check: str, files: dict[str, str], fix: Act, status: int, tmp_path: Path) -> None:
    case = Case(name="", project="none", files=files, check=check, does=[fix], goal="Make add add its two numbers.")
    if missing := case.needs():
        pytest.skip(f"no {missing}")
    outcome, journal = play(case, tmp_path)
    (base,) = journal.of(e.BaseChecked)
    assert base.exit_status == status and not base.lacking
    assert verdict_of(outcome).fixed == ("the check",), explained(outcome)
    assert outcome.completed, explained(outcome)


def test_a_script_that_the_work_writes_was_not_red(tmp_path: Path) -> None:
    script = Act(bash="printf '#!/bin/sh\\ntest $(sh add.sh 2 3) = 5\\n' > check.sh; chmod +x check.sh")
    case = Case(name="", project="none", files=SHELL, check="./check.sh", does=[script, FIXED], goal="Make add add.")
    outcome, _ = play(case, tmp_path)
    verdict = verdict_of(outcome)
    assert verdict.ruling == "passed" and not verdict.fixed, explained(outcome)


@pytest.mark.parametrize(
    ("status", "command", "said", "red"),
    [
        (255, "php test.php", "PHP Fatal error:  Uncaught Exception: 1 is not 2", True),
        (139, "make test", "make: *** [Makefile:3: test] Segmentation fault", True),
        (137, "./all", "", True),
        (127, "sh all.sh", "all.sh: 3: ./build/app: not found", True),
        (127, "./all.sh", "bash: line 1: ./all.sh: No such file or directory", False),
        (127, "make all && ./build/app", "bash: line 1: ./build/app: No such file or directory", False),
        (127, "./all", "", False),
        (126, "./all.sh", "./all.sh: Exec format error", False),
        (126, "sh all.sh", "ok 1 - loads\nnot ok 2 - adds", True),
        (2, "python3 tests.py", "python3: can't open file '/p/tests.py': [Errno 2] No such file or directory", False),
        (5, "python3 -m pytest", "no tests ran in 0.01s", False),
        (None, "./all", "", False),
        (0, "./all", "", False),
    ],
)
def test_what_started_nothing_is_not_red(status: int | None, command: str, said: str, red: bool) -> None:
    report = Report("exit status")
    idle = find_idle(status, command, said, report) is not None
    assert Baseline(report, closed=False, exit_status=status, absent=idle).red == red
