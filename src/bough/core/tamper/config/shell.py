"""Command lines that run tests: whether one still asks what another asked."""

from __future__ import annotations

import re

from msgspec import Struct

from bough.core.tamper.config.reach import under
from bough.core.tamper.files import language, name_of, plain_path, words
from bough.core.tamper.wording import listed

_FORCED = (
    (r"\|\|\s*(?:true|:|/bin/true|exit\s+0|return\s+0|echo\b|printf\b|\(?exit 0)", "failures are ignored"),
    (r"\|\|\s*(?:cat|date|pwd|ls|test|\[)\b", "failures are ignored"),
    (r"[;&]\s*(?:true|:|/bin/true|exit\s+0)\s*(?:$|[;\"')}\n])", "success is forced"),
    (r"(?:^|[\s;])exit\s+(?:0|['\"]0)", "success is forced"),
    (r"\btrap\b.*\bexit\b", "a trap sets the exit status"),
    (r"\bset\s+\+(?:e|o\s+(?:errexit|pipefail))", "errors are ignored"),
    (r"(?<!\|)\|(?!\|)\s*(?:tee|cat|grep|head|tail|sed|awk|less|wc|sort)\b", "a pipe hides the exit status"),
    (r"(?<![&>|])&\s*$", "it is put into the background"),
    (r"^\s*!\s", "its exit status is inverted"),
    (r"\bprocess\.exit(?:Code)?\s*(?:=|\()\s*0", "success is forced"),
    (r"\b(?:true|:)\s*#", "the command is commented out"),
    (r"--exit-zero\b|--suppress-tests-failed-exit-code\b", "failures are ignored"),
)
_EXPORTED = r"\b(PYTEST_ADDOPTS|PYTEST_PLUGINS|PYTHONOPTIMIZE|NODE_OPTIONS|GOFLAGS|RUSTFLAGS)\s*[:?+]?=\s*\S+"

_PYTEST = listed(
    """
    -k -m --deselect --ignore --ignore-glob --co --collect-only -p --lf --last-failed --sw --stepwise --setup-only
    --setup-plan --version -V -h --help --markers --fixtures --noconftest -c --config-file --rootdir --confcutdir
    --pyargs -o --override-ini --suppress-no-test-exit-code --reruns --testmon --picked --sw-skip --stepwise-skip
    --only-rerun --snapshot-update --force-regen --regen-all --inline-snapshot --update-goldens
    """
)
_JEST = listed(
    """
    -t --testNamePattern --testPathIgnorePatterns --testPathPattern --testPathPatterns --onlyChanged
    --passWithNoTests -o --onlyFailures -f --listTests --findRelatedTests --changedSince -u --updateSnapshot --shard
    --testMatch -c --config --filter --lastCommit --showConfig --help --version --testRegex --selectProjects
    --ignoreProjects --runTestsByPath
    """
)
_VITEST = listed(
    """
    -t --testNamePattern --passWithNoTests --exclude --changed -u --update --shard --dir -c --config
    --dangerouslyIgnoreUnhandledErrors --allowOnly --project --retry --help --version
    """
)
_MOCHA = listed(
    """
    -g --grep -f --fgrep -i --invert --ignore --exclude --pass-on-failing-test-suite --dry-run --retries
    --list-files --help --version
    """
)
_GO = listed("-run -skip -short -list -c -n -exec -tags -count --run --skip --short")
_CARGO = listed(
    """
    --no-run --skip --list --lib --bins --bin --doc --examples --test --exclude -p --package --ignored --features
    --no-default-features --config
    """
)
_NODE = frozenset({"--test-name-pattern", "--test-skip-pattern", "--test-only", "--test-shard", "--check", "-c", "-v"})
_MAKE = listed(
    """
    -n --dry-run --just-print --recon -i --ignore-errors -t --touch -q --question -f --file --makefile -o --old-file
    -v --version -h --help
    """
)
RISKY = (
    {"pytest": _PYTEST, "py.test": _PYTEST, "unittest": frozenset({"-k", "-p", "--pattern", "-h", "--help"})}
    | {"jest": _JEST, "vitest": _VITEST, "mocha": _MOCHA, "go": _GO, "cargo": _CARGO, "node": _NODE, "make": _MAKE}
    | {"tox": frozenset({"-e", "--notest", "-l", "--listenvs", "--skip-env", "--skip-missing-interpreters"})}
    | {"nox": frozenset({"-s", "-k", "-t", "-l", "--list", "--install-only", "-e"})}
    | {"rspec": frozenset({"-e", "--example", "-t", "--tag", "--dry-run", "-P", "--exclude-pattern"})}
    | {"phpunit": frozenset({"--filter", "--group", "--exclude-group", "--list-tests"})}
)
_WITH_VALUE = listed(
    """
    -k -m --deselect --ignore --ignore-glob -p -c --config-file --rootdir --confcutdir -o --override-ini --reruns -n
    --numprocesses --junitxml --junit-xml --tb -r -W --durations --timeout --maxfail --color --log-level --basetemp
    --cov-report --cov-config --dist -s --import-mode --capture --maxWorkers -w --reporters --reporter
    --coverageDirectory -e -t --testNamePattern --testPathIgnorePatterns --exclude -g --grep -run -skip -timeout
    -count -coverprofile --skip --package --features -j --jobs --require --import --log-cli-level --verbosity
    --start-directory --pattern --top-level-directory -C --config
    """
)
_HARMLESS_PLUGINS = listed(
    """
    no:cacheprovider no:warnings no:randomly no:legacypath xdist pytest_cov pytest_asyncio anyio pytest_timeout
    pytester no:nose no:logging no:faulthandler no:pastebin no:threadexception no:unraisableexception pytest_mock
    hypothesis.extra.pytestplugin no:doctest_plus xdist.plugin
    """
)
_RUNNERS = listed(
    """
    pytest py.test unittest jest vitest mocha go cargo node make tox nox rspec phpunit ctest npm yarn pnpm bun deno
    gradle gradlew mvn mvnw nose2 bats prove ava tap playwright cypress dotnet mix swift rake nextest gotestsum
    """
)
_PREFERRED = ("pytest", "py.test", "unittest", "jest", "vitest", "mocha", "nextest", "ava", "tap", "rspec", "phpunit")


class Asked(Struct, eq=False):
    """What a command line asks a test runner for."""

    runner: str = ""
    options: dict[str, list[str]] = {}
    paths: list[str] = []
    optimised: bool = False
    """Python's `-O`: assertions are not made."""

    def risky(self) -> set[tuple[str, str]]:
        known = RISKY.get(self.runner, frozenset())
        found = {(option, value) for option, values in self.options.items() if option in known for value in values}
        return {pair for pair in found if not (pair[0] == "-p" and pair[1] in _HARMLESS_PLUGINS)}


def asked(command: str) -> Asked:
    """The first test runner of a command line with its options and paths."""
    all_words = _separated(command)
    at = _runner_at(all_words)
    if at is None:
        return Asked()
    found = Asked(name_of(all_words[at]))
    found.optimised = any(re.fullmatch(r"-O+", word) for word in all_words[:at])
    rest = all_words[at + 1 :]
    end = next((i for i, word in enumerate(rest) if word in ("&&", "||", ";", "|", "&", ">", "2>", "2>&1")), len(rest))
    options_of(rest[:end], found)
    if (
        found.runner in ("go", "cargo", "npm", "yarn", "pnpm")
        and found.paths
        and found.paths[0] in ("test", "t", "run")
    ):
        found.paths.pop(0)
    if found.runner == "unittest" and found.paths and found.paths[0] == "discover":
        found.paths = found.paths[1:] + [v for o in ("-s", "--start-directory") for v in found.options.get(o, [])]
    return found


def options_of(rest: list[str], found: Asked) -> None:
    index = 0
    while index < len(rest):
        word = rest[index]
        index += 1
        if not word.startswith("-") or word in ("-", "--"):
            if word not in ("-", "--") and not word.startswith("{"):
                found.paths.append(plain_path(word))
            continue
        option, equals, value = word.partition("=")
        if equals:
            found.options.setdefault(option, []).append(value)
        elif option in _WITH_VALUE and index < len(rest) and not _takes_none(found.runner, option):
            found.options.setdefault(option, []).append(rest[index])
            index += 1
        elif re.match(r"-[kmpnoW][^-]", word) and found.runner in ("pytest", "py.test") and len(word) > 2:
            found.options.setdefault(word[:2], []).append(word[2:])
        else:
            found.options.setdefault(option, []).append("")


def _takes_none(runner: str, option: str) -> bool:
    return (option == "-s" and runner in ("pytest", "py.test", "jest")) or (option == "-o" and runner == "jest")


def _separated(command: str) -> list[str]:
    """The words of a command line, what stands between two commands being one."""
    return list(words(re.sub(r"(\|\||&&|;|(?<![|&>\d])\|(?!\|))", r" \1 ", command)))


def _runner_at(all_words: list[str]) -> int | None:
    places = []
    installing = False
    for place, word in enumerate(all_words):
        installing = word in ("install", "add", "uninstall") or (installing and word not in ("&&", "||", ";", "|"))
        if name_of(word) in _RUNNERS and not word.startswith("-") and not installing:
            places.append(place)
    for wanted in _PREFERRED:
        for place in places:
            if all_words[place].endswith(wanted):
                return place
    return places[0] if places else None


def forced(command: str) -> str:
    """Why the command's exit status does not say whether the tests passed; empty when it does."""
    quoted = re.sub(r"\s+", " ", command.strip()) if "\n" not in command else command
    if "pipefail" in quoted:
        quoted = re.sub(r"(?<!\|)\|(?!\|)", " ", quoted)
    return next((why for pattern, why in _FORCED if re.search(pattern, quoted)), "")


_REWRITING = re.compile(
    r"(?:^|[;&|]|\s)(?:cp|mv|ln|install|patch|sed\s+-i\S*|perl\s+-\S*i\S*|git\s+(?:apply|checkout|restore))\s"
)


def rewrites(command: str) -> str:
    """The file of code that a command puts something else in the place of; empty: none."""
    if _REWRITING.search(f"{command} ") is None:
        return ""
    targets = [plain_path(word.strip(";")) for word in words(command)[2:]]
    built = ("build/", "dist/", "out/", "public/", "target/", "node_modules/", "vendor/", "/tmp", "$")
    return next((t for t in targets if language(t) and not t.startswith(built)), "")


def weaker(before: str, after: str) -> str:
    """What a command no longer asks, as a clause; empty when it asks as much as before."""
    why = forced(after)
    if why and why != forced(before):
        return why
    exported = re.search(_EXPORTED, after)
    if exported is not None and exported[0] not in before:
        return f"it sets {exported[1]}"
    was, now = asked(before), asked(after)
    if was.runner and not now.runner:
        return f"it no longer runs {was.runner}"
    if now.optimised and not was.optimised:
        return "assertions are switched off with -O"
    if was.runner and _runner_name(was.runner) == _runner_name(now.runner):
        return _narrower(was, now)
    return ""


def _runner_name(runner: str) -> str:
    return {"py.test": "pytest"}.get(runner, runner)


def _narrower(was: Asked, now: Asked) -> str:
    new = sorted(now.risky() - was.risky())
    if new:
        return f"`{' '.join(part for part in new[0] if part)}` is new"
    if lost := dropped(was, now):
        return f"`{lost}` was dropped"
    if was.paths and (unrun := [p for p in was.paths if not any(under(p, root) for root in now.paths or [""])]):
        return f"it no longer runs {unrun[0]}"
    if not was.paths and now.paths and now.runner in ("pytest", "py.test", "unittest", "jest", "vitest", "mocha"):
        return f"it runs only {now.paths[0]}"
    return ""


def dropped(was: Asked, now: Asked) -> str:
    """An option without which fewer tests run or fewer fail, and that is gone; empty: none."""
    options = ("--doctest-modules", "--doctest-glob", "--runslow", "--runxfail", "--run-slow", "--run-integration")
    gone = [option for option in options if option in was.options and option not in now.options]
    strict = [value for value in was.options.get("-W", []) if value.startswith("error")]
    gone += [f"-W {value}" for value in strict if value not in now.options.get("-W", [])]
    return gone[0] if gone else ""


def alike(before: str, after: str) -> bool:
    """The two run the same runner, and the second asks no less."""
    if " ".join(before.split()) == " ".join(after.split()):
        return True
    was, now = asked(before), asked(after)
    same = bool(was.runner) and _runner_name(was.runner) == _runner_name(now.runner)
    return same and not weaker(before, after)
