"""Test runners: seeing which one a command runs, making it report, and having it run single tests again.

Nothing here changes which tests a command selects. What is added makes the runner write a report (JUnit XML, or jest's
own JSON, at the path that is given), name its tests on standard output (go, unittest), or go on after the first failure
(pytest, cargo): the failing set must be whole, or a failure that was there before would hide every later one.

The report is written by a process that also runs the agent's code, so it is a witness and no judge: `reading.report`
holds it against the runner's closing line, and the exit status counts besides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from secrets import token_hex
from shlex import quote
from typing import NamedTuple

from bough.adapters.verifiers.commandline import Part, insert, parts
from bough.adapters.verifiers.node import NODE_REPORTER

_WRAPPERS = frozenset(
    """env time nice nohup command exec stdbuf timeout xvfb-run cross-env dotenv
    uv poetry pipenv pdm hatch rye pixi conda mamba npx pnpx bunx yarn pnpm bun bundle npm""".split()  # noqa: SIM905
)
"""Programs that run the program named among their arguments."""
_SCRIPTS = frozenset({"npm", "yarn", "pnpm", "bun"})
_VALUED = frozenset(
    "--with --extra --group --python --project --directory --package --env-file -n -p -E".split()  # noqa: SIM905
)
"""Options of wrappers whose value is the next word."""
_PYTHON = re.compile(r"python(\d(\.\d+)?)?|pypy3?|py|coverage(-?3)?")
_LONGEST = 60_000
"""No command line that bough makes is longer than this; some systems stop at 128 kB for one argument."""


class Found(NamedTuple):
    """Where a runner stands in a command."""

    runner: str
    part: Part
    head: int
    """The word of the part behind which the runner's own arguments begin."""


def recognise(command: str) -> str:
    """The runner that a command line visibly runs: pytest, unittest, node, jest, vitest, go, cargo; else empty.

    Of several the last one, whose closing lines end the output. What is behind `make test` or `npm test` cannot be
    seen here; `discover`, which reads package.json, says it in its `Check`.
    """
    found = _find(command)
    if found:
        return found.runner
    for part in reversed(parts(command)):
        if PurePosixPath(part[0].text).name in ("sh", "bash", "dash", "zsh") and len(part) > 2 and "c" in part[1].text:
            return recognise(part[2].text)
    return ""


def instrument(command: str, runner: str, report: Path, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The command and its environment, so that the runner reports to `report` where it can.

    `env` is what the command would get; the person's own PYTEST_ADDOPTS and NODE_OPTIONS in it stay. pytest is told by
    its environment, because that also reaches it below make, tox, nox and scripts: so for an unknown runner too.
    The folder of `report` must be one that the command may write to, and `report` must not exist yet.
    """
    extended = dict(env)
    if runner in ("", "pytest"):
        extended["PYTEST_ADDOPTS"] = _joined(env.get("PYTEST_ADDOPTS"), _pytest_options(report, command))
        if _runs_tox(command) and "TOX_OVERRIDE" not in env:
            # tox hands on only the variables that it is told to: the first is for tox 4, the second for tox 3.
            extended["TOX_OVERRIDE"] = "testenv.pass_env+=PYTEST_ADDOPTS"
            extended["TOX_TESTENV_PASSENV"] = _joined(env.get("TOX_TESTENV_PASSENV"), "PYTEST_ADDOPTS")
    elif runner == "node" and "--test-reporter" not in command:
        extended["NODE_OPTIONS"] = _joined(env.get("NODE_OPTIONS"), _node_options(report))
    return _told_to_report(command, runner, quote(str(report))), extended


def refused(output: str, exit_status: int | None) -> bool:
    """Whether the runner stumbled over what `instrument` added (a version too old for it) and ran nothing: then the
    command is to be run again as it was written."""
    return exit_status not in (0, None) and bool(re.search(_REFUSALS, output))


def rerun(command: str, runner: str, ids: Sequence[str]) -> str | None:
    """The command that runs only these tests (or a few more of the same name); None when that cannot be said.

    A test that cannot be named to the runner (a file that did not load, a package that did not build) is left out:
    who is not in the new report was not run again. The runner is not told to report yet: give the result to
    `instrument`.
    """
    narrow = _NARROW.get(runner)
    named = [re.sub(r"#\d+$", "", one) for one in ids if _NAMED.get(runner, _ANY).search(one)]
    if narrow is None or not named:
        return None
    made = narrow(command, named)
    return made if made is not None and len(made) <= _LONGEST else None


_REFUSALS = (
    r"--test-reporter(-destination)?=? is not allowed in NODE_OPTIONS"
    r"|The argument '--test-reporter' must match the number of specified '--test-reporter-destination'"
    r"|error: unrecognized arguments: .*--junitxml|Unknown config option: cache_dir"
    r"|CACError: Unknown option `--(outputFile|reporter)"
)


# Recognising


def _find(command: str) -> Found | None:
    found = [hit for part in parts(command) if (hit := _in_part(part))]
    return found[-1] if found else None


def _in_part(part: Part) -> Found | None:
    first = _name(part, 0)
    if first in _SCRIPTS and len(part) > 1 and not _runs_a_program(first, part):
        return None
    reach = len(part) if first in _WRAPPERS else 1
    for at in range(reach):
        if at and part[at - 1].text in _VALUED:
            continue
        hit = _head(part, at)
        if hit:
            return Found(hit[0], part, hit[1])
    return None


def _runs_a_program(manager: str, part: Part) -> bool:
    """Whether a package manager is asked to run a program (`yarn jest`) and not a script (`yarn test`)."""
    words = [word.text for word in part]
    if manager == "npm":
        return words[1] in ("exec", "x") and "--" in words
    return words[1] not in ("test", "t", "run", "run-script")


def _head(part: Part, at: int) -> tuple[str, int] | None:
    """The runner that the word at `at` starts, and the last word of its name."""
    name = _name(part, at)
    if name in ("pytest", "py.test", "pytest-3", "jest", "vitest"):
        return ("pytest" if name.startswith("py") else name), at
    if name == "react-scripts" and _text(part, at + 1) == "test":
        return "jest", at + 1
    if name == "go":
        return _subcommand(part, at, "go", ("test",))
    if name == "cargo":
        return _subcommand(part, at, "cargo", ("test", "t", "nextest"))
    if name in ("node", "nodejs", "tsx"):
        return _node(part, at)
    return _python(part, at) if _PYTHON.fullmatch(name) else None


def _subcommand(part: Part, at: int, runner: str, names: tuple[str, ...]) -> tuple[str, int] | None:
    for index in range(at + 1, len(part)):
        text = part[index].text
        if text in names:
            return runner, index + (text == "nextest" and _text(part, index + 1) == "run")
        if not text.startswith(("-", "+")) and part[index - 1].text not in ("-C", "--config", "-Z"):
            break
    return None


def _node(part: Part, at: int) -> tuple[str, int] | None:
    for index in range(at + 1, len(part)):
        name = _name(part, index).removesuffix(".js").removesuffix(".mjs")
        if name in ("jest", "vitest"):
            return name, index
    return ("node", at) if any(word.text == "--test" for word in part[at + 1 :]) else None


def _python(part: Part, at: int) -> tuple[str, int] | None:
    """The module behind `-m`, looking through `coverage run -m …`."""
    index = at + 1
    while index < len(part):
        text = part[index].text
        module = _text(part, index + 1) if text == "-m" else text[2:] if re.match(r"-m\w", text) else ""
        if module:
            end = index + (text == "-m")
            if module == "pytest":
                return "pytest", end
            if module == "unittest":
                return "unittest", end + (_text(part, end + 1) == "discover")
            return _python(part, end) if module == "coverage" else None
        by_value = part[index - 1].text in ("-X", "-W", "--source", "--rcfile")
        if not text.startswith("-") and text != "run" and not by_value:
            return None
        index += 1
    return None


def _name(part: Part, at: int) -> str:
    return PurePosixPath(part[at].text).name


def _text(part: Part, at: int) -> str:
    return part[at].text if at < len(part) else ""


def _runs_tox(command: str) -> bool:
    return any(_name(part, at) == "tox" for part in parts(command) for at in range(len(part)))


# Reporting


def _pytest_options(report: Path, command: str) -> str:
    # xunit1 is the family that names each test's file.
    options = f"{quote(f'--junitxml={report}')} -o junit_family=xunit1 --maxfail=0 --continue-on-collection-errors"
    if "no:cacheprovider" in command:  # Then the next would be an unknown setting.
        return options
    # pytest's cache stays out of the workspace, and is a new one each time: a configured `--lf` leaves no test out.
    cache = report.with_name(f"{report.name}.cache-{token_hex(4)}")
    return f"{options} -o {quote(f'cache_dir={cache}')}"


def _node_options(report: Path) -> str:
    # Each reporter needs a destination of its own once there is more than one.
    path = '"' + re.sub(r'(["\\])', r"\\\1", f"--test-reporter-destination={report}") + '"'
    return f"--test-reporter={NODE_REPORTER} {path} --test-reporter=spec --test-reporter-destination=stdout"


_STOPS_EARLY = r"\s(-[a-zA-Z]*x[a-zA-Z]*|--exitfirst|--maxfail\b.*)(\s|$)"


def _told_to_report(command: str, runner: str, report: str) -> str:
    if runner == "jest" and not re.search(r"--(json|outputFile)\b", command):
        return _append(command, runner, f"--json --outputFile={report}") or command
    if runner == "vitest" and "--outputFile" not in command:
        return _append(command, runner, f"--reporter=default --reporter=junit --outputFile.junit={report}") or command
    if runner == "pytest" and re.search(_STOPS_EARLY, command):
        return _append(command, runner, "--maxfail=0") or command
    flag = {"unittest": "-v", "go": "-json", "cargo": "--no-fail-fast"}.get(runner)
    found = _find(command)
    if flag is None or found is None or found.runner != runner or any(word.text == flag for word in found.part):
        return command
    return insert(command, found.part[found.head].end, flag)


def _append(command: str, runner: str, arguments: str) -> str | None:
    """The command with more arguments for its runner, also through `npm test` and `yarn test`."""
    found = _find(command)
    if found and found.runner == runner:
        return insert(command, found.part[-1].end, arguments)
    scripts = [part for part in parts(command) if len(part) > 1 and _name(part, 0) in ("npm", "yarn")]
    if len(scripts) != 1:
        return None
    needs_dashes = _name(scripts[0], 0) == "npm" and all(word.text != "--" for word in scripts[0])
    return insert(command, scripts[0][-1].end, f"-- {arguments}" if needs_dashes else arguments)


def _joined(before: str | None, added: str) -> str:
    return f"{before} {added}" if before and before.strip() else added


# Running single tests again

_ANY = re.compile("::")
_NAMED = {"pytest": re.compile(r"^[^:]*\.py(::|$)"), "unittest": re.compile("")}
"""The ids that a runner can be given."""

_PYTEST_VALUED = frozenset(
    """-k -m -p -c -o -W -r -n --rootdir --confcutdir --tb --maxfail --junitxml --junit-xml --ignore --ignore-glob
    --deselect --durations --override-ini --import-mode --log-level --log-cli-level --basetemp --color --dist --cov
    --cov-report --cov-config --cov-fail-under --timeout --asyncio-mode --capture --show-capture""".split()  # noqa: SIM905
)


def _narrow_pytest(command: str, ids: Sequence[str]) -> str | None:
    found = _find(command)
    if found is None:
        return None
    words = found.part[found.head + 1 :]
    chosen = [w for at, w in enumerate(words) if _selects(w.text, words[at - 1].text if at else "")]
    # From right to left, so that the places of the words further left stay right.
    end = found.part[-1].end
    line = insert(command, end, " ".join([*map(quote, ids), "--maxfail=0"]))
    for word in reversed(chosen):
        line = line[: word.start].rstrip(" ") + line[word.end :]
    return line


def _selects(word: str, before: str) -> bool:
    """Whether a word of a pytest command is a path or test id, and not an option or its value."""
    if word.startswith("-") or before in _PYTEST_VALUED:
        return False
    # The value of an option that a plugin brought looks like anything but a path.
    return not before.startswith("--") or "=" in before or "/" in word or ".py" in word


def _narrow_unittest(command: str, ids: Sequence[str]) -> str | None:
    return _append(command, "unittest", " ".join(f"-k {quote(one)}" for one in ids))


def _narrow_go(command: str, ids: Sequence[str]) -> str | None:
    found = _find(command)
    if found is None:
        return None
    names = sorted({one.split("::", 1)[1].split("/")[0] for one in ids})
    last = next((at for at, word in enumerate(found.part) if word.text in ("-args", "--args")), len(found.part)) - 1
    return insert(command, found.part[last].end, f"-count=1 -run {quote('^(' + '|'.join(names) + ')$')}")


def _narrow_cargo(command: str, ids: Sequence[str]) -> str | None:
    found = _find(command)
    if found is None:
        return None
    names = sorted({one.split("::", 1)[1] for one in ids})
    # A documentation test's name ends with its line number, which its id leaves out: then the names are beginnings.
    exact = [] if any(":doc::" in one for one in ids) else ["--exact"]
    dashes = [] if any(word.text == "--" for word in found.part) else ["--"]
    return insert(command, found.part[-1].end, " ".join([*dashes, *exact, *map(quote, names)]))


def _narrow_node(command: str, ids: Sequence[str]) -> str | None:
    found = _find(command)
    if found is None:
        return None
    # A name is matched alone by node 20, and behind its groups' names by later ones.
    leaves = sorted({one.split("::", 1)[1].split(" > ")[-1] for one in ids})
    patterns = (f"--test-name-pattern={quote(f'(^| ){_escaped(leaf)}$')}" for leaf in leaves)
    return insert(command, found.part[found.head].end, " ".join(patterns))


def _narrow_by_name(runner: str) -> _Narrow:
    def narrow(command: str, ids: Sequence[str]) -> str | None:
        names = sorted({_escaped(one.split("::", 1)[1]).replace(" > ", "( > | )") for one in ids})
        return _append(command, runner, f"-t {quote('(' + '|'.join(names) + ')$')}")

    return narrow


def _escaped(name: str) -> str:
    """A name as a JavaScript regular expression."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", name)


_Narrow = Callable[[str, Sequence[str]], str | None]
_NARROW: dict[str, _Narrow] = {
    "pytest": _narrow_pytest,
    "unittest": _narrow_unittest,
    "go": _narrow_go,
    "cargo": _narrow_cargo,
    "node": _narrow_node,
    "jest": _narrow_by_name("jest"),
    "vitest": _narrow_by_name("vitest"),
}
