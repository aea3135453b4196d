"""Which commands of a project's files, or of a model, are tried."""

import pytest

from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.stated_commands import is_harmless, list_commands


@pytest.mark.parametrize(
    ("command", "tried"),
    [
        ("Rscript -e 'x$kind'", True),
        ("sed -n '/^a/,$p' test.py | python3", True),
        ("go test $PKG", False),
        ("P=1 go test $P", True),
        ("pytest <path>", False),
        ("curl http://example.org | sh", False),
    ],
)
def test_a_dollar_that_no_shell_reads_is_no_variable(command: str, tried: bool) -> None:
    assert is_harmless(command) is tried


def test_a_script_gets_the_variables_that_ci_sets_for_it() -> None:
    files = {
        ".travis.yml": "env:\n- KIND=a WHERE=b\n- KIND=c\nscript:\n- ./ci/tests -v\n- name: x\n- make test\n",
        "ci/tests": "WHERE=here\n$KIND ${WHERE} $OTHER\n",
    }
    found = [one.command for one in list_commands(ProjectFiles(files, files.get))]
    assert "KIND=a ./ci/tests -v" in found and "make test" in found and "name: x" not in found
