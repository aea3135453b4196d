"""An examiner's test cases as ordinary programs: how to write one for a project, start it and read its result.

A program uses the product as its users do. No test runner, no variable of one and no name that mentions tests is
present, so the product cannot detect that it is being tested. In languages without such a form it is a shell script. A
case that needs a test runner (for a fixture or a module transformer) starts it by itself.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from shlex import quote

from bough.core.acceptance.probes import OUTPUT, SCRIPT, SCRIPT_PATH, Form, Probe, ProbeResult
from bough.core.acceptance.verdict import Check
from bough.core.verdict.check_run import NOT_STARTED, CommandResult, cut_middle
from bough.core.verdict.languages.python.interpreter import make_interpreter_command
from bough.core.verdict.paths import find_stem, last_segment, parent_folder
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import is_product

UNSEEN = (
    "for v in $(env | sed -n 's/^\\([A-Za-z0-9_]*\\(TEST\\|BOUGH\\)[A-Za-z0-9_]*\\)=.*/\\1/p') CI; do unset $v; done; "
)
"""Shell code that unsets the variables which show that tests are running."""


_SCRIPT_HOW = (
    "A shell script that starts with `#!/bin/sh` and runs with `sh -e` at the top of the project: it builds "
    "what it needs in `$(mktemp -d)`, starts the product as its users do, compares what it prints and ends "
    "with `exit 1` where something is not as asked."
)
_ENDS_ITSELF = r"\b_?exit\b|\bquit\(|SystemExit|\.main\(|^__(?:END|DATA)__"
"""Pattern for a case that may end before its last line on its own account."""


def find_form(paths: Sequence[str], changed: Collection[str] = ()) -> Form:
    """Choose how to write a case for this project: in the language of most of the changed product files."""
    product = [path for path in changed if is_product(path)] or [path for path in paths if is_product(path)]
    common = Counter(find_language(path) for path in product).most_common(1)
    known = common[0][0] if common and common[0][0].case_path else None
    return Form(known.name, known.case_path, known.case_how) if known else Form(SCRIPT, SCRIPT_PATH, _SCRIPT_HOW)


def make_command(probe: Probe, check: Check) -> str:
    """Make the command that runs one case from the project's top folder; empty if nothing here can run the case."""
    if not probe.language:  # The case is from an old journal, which had tests for the project's own runner.
        return ""
    start = "sh -e {file}" if probe.language == SCRIPT else find_language(probe.path).case_command
    known = {"file": quote(probe.path), "name": find_stem(probe.path), "folder": quote(parent_folder(probe.path))}
    words = {**known, "interpreter": make_interpreter_command(check.command)}
    return UNSEEN + re.sub(r"(?<!\$)\{(\w+)\}", lambda hit: words[hit[1]], start)


def make_file(probe: Probe, mark: str = "") -> str:
    """Return the text of the file that runs a case, completed for its language. `mark`: what it prints at its end."""
    if not probe.language or probe.language == SCRIPT:
        return probe.text
    language = find_language(probe.path)
    text = language.complete_case(probe.text)
    return language.mark_end(text, mark) if mark and not re.search(_ENDS_ITSELF, text) else text


def read_probe(probe: Probe, finished: CommandResult, text: str, mark: str = "") -> ProbeResult:
    """Read the result of a case. A case whose file prints the `mark` at its end has not passed without that mark."""
    status = finished.exit_status
    if status == 0 and mark and mark in make_file(probe, mark) and mark not in text:
        said = f"{cut_middle(text.rstrip(), OUTPUT)}\nIt ended with exit status 0 before it reached its last line."
        return ProbeResult(probe.name, "failed", said.strip())
    text = text.replace(mark, "") if mark else text
    if status == 0:
        return ProbeResult(probe.name, "passed")
    ended = f"killed {finished.killed}" if finished.killed else f"exit status {status}"
    said = cut_middle(text.rstrip("\n"), OUTPUT) or ended
    # The product may exit with 126 or 127 too: these mean that the case did not start only if nothing was printed.
    unreadable = _is_unreadable(probe, text) or (status in NOT_STARTED and not text.strip())
    return ProbeResult(probe.name, "broken" if unreadable and status is not None else "failed", said)


def _is_unreadable(probe: Probe, text: str) -> bool:
    own = re.escape(last_segment(probe.path))
    said = (
        # Python and Node print the location (without a function name), the source line, a caret below it, the error.
        rf'{own}(?:", line \d+|:\d+)\n(?:.*\n){{1,4}}?(?:E +)?(?:Syntax|Indentation|Tab)Error: (?!The requested mod)',
        rf"{own}\b.*\b(?:[Ss]yntax|[Pp]arse) error|syntax error at \S*{own}",  # shells, Ruby, Go, Perl
        rf"(?:SyntaxError|Parse error): .*{own}\b|Transform failed .*\n.*{own}\b",  # Babel, PHP, esbuild
        rf"(?m)^error: .*\n\s*--> .*{own}|{own}:\d+:\d+: .* and not used",  # Rust, Go
        r"fixture '\w+' not found",
    )
    return any(re.search(pattern, text) for pattern in said)
