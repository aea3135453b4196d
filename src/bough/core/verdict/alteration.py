"""Break a product on purpose, and judge a check by how it runs on the broken product.

A check is believed once it was seen to fail. If a language's record says how a function begins, every function gets a
first statement with a switch: switched on, it ends the function; switched off, it does nothing. A command that fails
with the switch on and passes with it off runs the product; a command that only reads, formats or builds the files sees
texts that differ in one digit. For other languages the files are emptied, which shows less.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from bough.core.shell_syntax import split_commands
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.language import DATA, Language, is_test_path
from bough.core.verdict.paths import find_suffix, last_segment
from bough.core.verdict.registry import LANGUAGES, NEUTRAL, find_language
from bough.core.verdict.test_files import is_configuration, is_foreign, is_product, is_test_file

How = Literal["on", "off", "emptied"]
"""Every function ends at once ("on") or gets a switch that does nothing ("off"), or every file is emptied."""
MOST_FILES = 2_000
NONSENSE = "}}} )))\n"
_INTERPRETERS = {program: language for language in LANGUAGES for program in language.interpreters}
"""Languages by their interpreters, for programs without a suffix: their first line (`#!`) names the interpreter."""


class Belief(Struct, frozen=True):
    """What running a check on a broken product shows about the check."""

    kind: Literal["tests", "reads", "passes", "nothing", "unknown"]
    """The check fails if the product misbehaves ("tests"), or only if the product cannot be read or built ("reads"); it
    always passes ("passes"); there is no product yet ("nothing"); its run was cut off ("unknown")."""
    said: str = ""
    """The observation behind `kind`, as a sentence."""

    @property
    def proves(self) -> bool:
        return self.kind == "tests"

    @property
    def doubt(self) -> str:
        """Explain why a pass of this check proves nothing; return an empty text if it does prove something."""
        return "" if self.proves else self.said


def find_script_language(path: str, text: str) -> Language:
    if find_suffix(path) or not text.startswith("#!"):
        return find_language(path)
    name = re.sub(r"[\d.]+$", "", text.split("\n", 1)[0].rstrip().rsplit("/", 1)[-1].rsplit(" ", 1)[-1])
    return _INTERPRETERS.get(name, NEUTRAL)


def list_product(paths: Collection[str], command: str) -> list[str]:
    """List the files that may be the product, those without a suffix included, since programs often have none."""
    run, set_up = find_run_files(command), r"[\w.-]+\.(?:config|conf)\.\w+|configure"
    own = [path for path in paths if not (is_foreign(path) or is_test_file(path) or is_test_path(path))]
    own = [path for path in own if not (path in run or is_configuration(path) or path.startswith("."))]
    own = [path for path in own if not re.fullmatch(set_up, last_segment(path))]
    found = [path for path in own if is_product(path)]
    bare = [path for path in own if not find_suffix(path)]
    # If most code is in a language without a record, take the files with the commonest suffix, apart from data files.
    others = [path for path in own if path not in found and find_suffix(path) not in ("", *DATA)]
    tested = {find_suffix(path) for path in paths if is_test_path(path)}  # Do not take the suffix of pictures, say.
    common = Counter(map(find_suffix, [path for path in others if find_suffix(path) in tested] or others)).most_common(
        1
    )
    if common and common[0][1] > len(found):
        found += [path for path in others if find_suffix(path) == common[0][0]]
    return [*found, *bare][:MOST_FILES]


def find_run_files(command: str) -> set[str]:
    """Find the project files that a command runs as programs. They are never broken: their failure proves nothing."""
    found = set()
    for part in split_commands(command):
        words = [word.text.removeprefix("./") for word in part]
        program = re.sub(r"[\d.]+$", "", last_segment(words[0])) if words else ""
        given = words[1:] if program in _INTERPRETERS or program == "." else []
        script = next((word for word in given if not word.startswith("-")), "")
        found |= {*words[:1], *([] if {"-m", "-c", "-e"} & {*given} else [script])}
    return found


def alter(texts: Mapping[str, str], how: How, reported: Collection[str] = ()) -> dict[str, str]:
    """Return the new texts of the files that change. `reported`: files in which the test runner found tests."""
    known = {path: find_script_language(path, text) for path, text in texts.items()}
    if how == "emptied":
        full = [path for path, text in texts.items() if text.strip() and (find_suffix(path) or known[path].name)]
        # An empty script succeeds, so files in languages without a record get a text that no language accepts.
        return {path: "" if known[path].name else NONSENSE for path in full}
    made = {}
    for path, text in texts.items():
        language = known[path]
        switch = language.switch.replace("{on}", "1" if how == "on" else "0")
        places = [at for _, at in language.find_bodies(text)] if switch else []
        tests = language.find_inner_tests(text, path in reported)
        places = [at for at in places if not any(start <= at < end for start, end in tests)]
        if places:
            made[path] = insert_switch(text, places, switch)
    return made


def insert_switch(text: str, places: Collection[int], switch: str) -> str:
    """Return the text of a file with the statement `switch` at the beginning of the function bodies at `places`."""
    parts, before = list[str](), 0
    for at in sorted({*places}):
        line = text[text.rfind("\n", 0, at) + 1 : at]
        # If the statement begins its line, put the switch on a line of its own above it, and keep the indentation.
        put = f"{switch}\n{line}" if line and not line.strip() else switch if switch.endswith(" ") else f"{switch} "
        parts += text[before:at], put
        before = at
    return "".join([*parts, text[before:]])


def counts_tests(known: Baseline) -> bool:
    return known.report.how != "exit status" and known.report.passed + known.report.failed > 0


def weigh_base(known: Baseline) -> Belief | None:
    """Judge a check by its run on the unbroken product: if that builds and some tests fail, the check can fail."""
    failed = known.report.failed - len(known.aside)
    ran = known.report.passed > 0 or any(case.outcome == "failed" for case in known.report.failing)
    if known.exit_status not in (0, None) and not known.lacking and ran and failed > 0:
        return Belief("tests", f"seen to fail: {failed} of {failed + known.report.passed} tests fail as the files are")
    return None


def weigh(how: How, now: Baseline, known: Baseline) -> Belief | None:
    """Judge a check by its run on a broken product (`now`) and an unbroken one; None if breaking the product in another
    way has to tell."""
    if now.exit_status is None:
        return None
    what = "with every file emptied" if how == "emptied" else "when every function fails at once"
    ran = known.report.passed + known.report.failed
    if now.exit_status == 0 and now.report.passed >= known.report.passed:
        said = "it passes whatever the product does: it tests nothing of it"
        return Belief("passes", said) if how == "emptied" else None
    if counts_tests(known) or (how == "emptied" and known.told):
        ran = ran or known.told
        left = min(now.report.passed, ran)
        return Belief("tests", f"seen to fail: {ran - left} of {ran} tests fail {what}")
    if how == "emptied":
        return Belief("reads", "it fails only if the files cannot be read or built, so it may test nothing")
    return None


def weigh_control(off: Baseline) -> Belief:
    """Judge a check without counts that fails with the switch on, by its run with the switch off."""
    if off.exit_status == 0:
        said = "seen to fail when every function fails at once, and to pass when they do not"
        return Belief("tests", said)
    return Belief("reads", "it fails as soon as the files look different, so it may test nothing")
