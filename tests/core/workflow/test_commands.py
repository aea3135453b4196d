"""Values in commands: one argument each, in a real shell and without one, and never code."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bough.core.planning.plan import Step
from bough.core.workflow.loading import load
from bough.core.workflow.placeholders import (
    NotAPlace,
    fill_command,
    fill_places,
    find_refusals,
    load_check,
    load_command,
    split_places,
)
from bough.core.workflow.problems import WorkflowError

SHELLS = [shell for name in ("sh", "bash", "dash") if (shell := shutil.which(name))]
NASTY = "a'; touch PWNED; ' \" $(touch PWNED) `touch PWNED` \\\n touch PWNED # ${HOME} * ~ & | > PWNED < ! \\"


def arguments(command: tuple[str, dict[str, str]], folder: Path, shell: str) -> list[str]:
    """What the program `printf` was given."""
    line, env = command
    done = subprocess.run(
        [shell, "-c", line],
        cwd=folder,
        capture_output=True,
        timeout=240,
        check=True,
        env={"PATH": "/bin:/usr/bin", **env},
    )
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def step_of(action: str, **inputs: str) -> Step:
    """The step that a workflow makes of an action and inputs."""
    names = "".join(f'{name} = {{ type = "string" }}\n' for name in inputs)
    text = f"[inputs]\n{names}[[steps]]\nname = 'x'\naction = {action}\n"
    return load(text, inputs=inputs).plan.goal.steps[0]


def run_of(command: str, **inputs: str) -> tuple[str, dict[str, str]]:
    """The command as a workflow makes it of inputs, with its environment."""
    step = step_of(f"{{ run = '''{command}''' }}", **inputs)
    return step.run, step.env


def filled(command: str, results: dict[str, str]) -> tuple[str, dict[str, str]]:
    env: dict[str, str] = {}
    return fill_command(command, results, env), env


VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.sampled_from(
    [NASTY, "", "-rf", "a b", "{x}", "{steps.a.result}", "{{", "'", '"', "\\", "\n", "$'\\''"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(VALUES, min_size=1, max_size=3))
@example([NASTY])
def test_a_value_is_one_argument(tmp_path: Path, values: list[str]) -> None:
    inputs = {f"v{number}": value for number, value in enumerate(values)}
    places = " ".join(f"{{{name}}}" for name in inputs)
    expected = [*values, f"--all={''.join(values)}!"]
    line = "printf '%s\\0' " + places + " --all=" + places.replace(" ", "") + "'!'"
    check = step_of(f"{{ check = '''{line}''' }}", **inputs).test_command
    assert check is not None and shlex.split(check)[2:] == expected
    loaded, env = run_of(f"true && {line} | cat", **inputs)
    assert loaded.startswith("true && printf '%s\\0' \"$INPUT_v0\"")
    env = {name: fill_places(text, {}) for name, text in env.items()}
    for shell in SHELLS:
        assert arguments((loaded, env), tmp_path, shell) == expected
        assert arguments((f"true && {check} | cat", {}), tmp_path, shell) == expected
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES)
@example(NASTY)
def test_a_result_is_one_argument(tmp_path: Path, value: str) -> None:
    results = {"a": value, "b/c": "x y"}
    line = "true; printf '%s\\0' {steps.a.result}{steps.b/c.result} '{steps.a.result}'"
    for shell in SHELLS:
        assert arguments(filled(line, results), tmp_path, shell) == [f"{value}x y", "{steps.a.result}"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_known_stays_and_zero_characters_go() -> None:
    assert filled("echo {steps.later.result}", {}) == ("echo {steps.later.result}", {})
    assert filled("echo {steps.a.result}", {"a": "x\0y"}) == ('echo "$RESULT_a"', {"RESULT_a": "x\ufffdy"})


def test_each_value_has_a_variable_of_its_own() -> None:
    results = {"a-b": "1", "a/b": "2"}
    line, env = filled("echo {steps.a-b.result} {steps.a/b.result} {steps.a-b.result}", results)
    assert line == 'echo "$RESULT_a_b" "$RESULT_a_b_" "$RESULT_a_b"'
    assert env == {"RESULT_a_b": "1", "RESULT_a_b_": "2"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo '{x}'", "inside quotes"),
        ('echo "{x}"', "inside quotes"),
        ('sh -c "echo {x}"', "inside quotes"),
        ("echo hi # {x}", "in a comment"),
        ("echo a \\\n# {x}", "in a comment"),
        ("cat <<END\n{x}\nEND", "a here-document"),
        ("echo `echo {x}`", "backticks"),
        ("echo $(( {x} ))", "arithmetic"),
        ("echo $[ {x} ]", "$["),
        ("$(echo {x})", "a substitution that is itself a command"),
        ("eval $(echo {x})", "a substitution that is itself a command"),
        ("coproc let {x}", "`let` would read it as code"),
        ("[[ {x} -eq 1 ]]", "[["),
        ("echo ${{y:-{x}}}", "${"),
        ('echo "$(echo "{x}")"', "a substitution in quotes"),
        ("echo $'a' {x}", "$ quotes"),
        ("echo \\{x}", "right after"),
        ("echo ${x}", "right after `$`"),
        ("a[{x}]=1", "right after `[`"),
        ("{x} --help", "the program itself"),
        ("true && {x}", "the program itself"),
        ("FOO=1 {x}", "the program itself"),
        ("if {x}; then :; fi", "the program itself"),
        ("env FOO=1 {x}", "the program itself"),
        ("eval {x}", "`eval` would read it as code"),
        ("bash -c {x}", "`bash` would read it as code"),
        ("/bin/sh -ec {x}", "`sh` would read it as code"),
        ("ssh host {x}", "`ssh` would read it as code"),
        ("printf -v {x} hello", "`printf` would read it as code"),
    ],
)
def test_where_a_value_could_be_read_as_code_it_is_refused(command: str, reason: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        run_of(command, x="1")
    assert any(reason in problem.text for problem in caught.value.problems), caught.value


@pytest.mark.parametrize(
    "command",
    [
        "echo {x}",
        "echo a{x}b --y={x}",
        "FOO={x} echo",
        "env FOO={x} printenv FOO",
        "echo $(echo {x})",
        "! echo {x}",
        "for i in {x}; do echo; done",
        "echo 'it''s' \"fine\" {x} # said",
        "echo a; echo {x} > out.txt",
        "if true; then echo {x}; fi",
    ],
)
def test_where_it_is_safe_it_is_taken(command: str) -> None:
    line, env = run_of(command, x="1 2")
    assert '"$INPUT_x"' in line and env == {"INPUT_x": "1 2"}
    assert "'1 2'" in (step_of(f"{{ check = '''{command}''' }}", x="1 2").test_command or "")


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "echo ",
                "true ",
                "printf %s ",
                "{x}",
                "{x}",
                " {x}",
                "{x} ",
                " ",
                "\n",
                "\\",
                "\\\n",
                "'",
                '"',
                "$",
                "`",
            ),
            *("#", " # ", "$(", ")", "((", "))", "[[ ", " ]]", "[", "]", "<<E\n", "\nE\n", "<<<", "${{", "}}", ":-"),
            *("; ", " && ", " | ", "a", "=", "a=", "-v ", "-c ", "-eq 1", "case a in a) ", ";; esac", "{{ ", "; }}"),
            *("if ", "then ", "fi", "in ", "for ", "do ", "done", "$'", '$"', "test ", "[ ", " ]", "!", "~", "*", "-"),
        ]
    ),
    min_size=1,
    max_size=12,
).map("".join)
CODE = "x[$(touch PWNED)] '; touch PWNED; \" $(touch PWNED) `touch PWNED`\n touch PWNED\n \\"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PIECES, st.sampled_from([CODE, "$(touch PWNED)", "'$(touch PWNED)'", "\ntouch PWNED\n", "a[$(touch PWNED)]"]))
@example("echo a \\\n# {x}", CODE)
@example('echo "$(echo "{x}")"', CODE)
def test_no_command_that_is_accepted_runs_its_values(tmp_path: Path, command: str, value: str) -> None:
    try:
        if find_refusals(split_places(command)):
            return
    except NotAPlace:
        return
    pieces, values, env = split_places(command), {"x": (value,)}, dict[str, str]()
    for line in (load_command(pieces, values, env), load_check(pieces, values)):
        for shell in SHELLS[:2]:
            subprocess.run(
                [shell, "-c", line],
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=240,
                env={"PATH": "/bin", **env},
            )
            assert not (tmp_path / "PWNED").exists(), (shell, line)
            assert not (tmp_path / "PWNED)]").exists(), (shell, line)
