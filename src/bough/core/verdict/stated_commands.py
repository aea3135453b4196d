"""List the commands that a project's CI and task files run.

In CI files only executed lines are read: the values of keys such as `run` and `script`. A misread command does no harm:
when bough tries it, it does not start or tests nothing.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from bough.core.shell_syntax import split_commands
from bough.core.verdict.language import Language
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import LANGUAGES
from bough.core.verdict.runner import ProjectCommand

_CI = r"\.(?!pre-commit)[\w.-]+(?:/[\w.-]+){0,3}\.ya?ml|(?:[^/]*[-_.])?(?:ci|pipelines?|appveyor)\b[^/]*\.ya?ml"
"""Pattern for the configuration of CI services, mostly in files and folders that begin with a dot."""
_TASK_FILES = "|".join(language.task_files for language in LANGUAGES if language.task_files)
_MOST_FILES, _MOST, _LONGEST = 20, 100_000, 500
"""The maximum numbers that are read: files, characters of a file, and of a line."""

_RUNS = r"(\s*(?:- +)?)[\"']?(?:\w*[-_])?(?:runs?|scripts?|commands?|cmds?|bash|sh|install)[\"']?\s*:\s*(.*)"
_KEY = r"(?:[-*]\s+)?(?:(?![A-Z_]+=\S)[\w.-]+\s*[:=]\s*|\"[\w./-]+\"\s*=\s*)?(?:[|>][-+]?)?\s*"
"""Pattern for the text before a command on a line: `- run: `, `test = `, `script: `."""
_PLACEHOLDER = r"\{env_?bin_?dir\}/|\{?\{(?:posargs|args)(?::([^{}]*))?\}\}?|\"?\$@\"?| -j ?\"?\$\([^()]*\)\"?"
_HARMFUL = re.compile(
    r"\b(?:docker|docker-compose|podman|compose|kubectl|helm|terraform|sudo|ssh|scp|rsync|curl|wget|systemctl|service"
    r"|deploy\w*|publish\w*|release|upload|twine|push|serve|start|up|down|login)\b"
)
"""Words in commands that reach other machines, start services or need more rights: bough never tries these unasked."""
_UNSET = r"\$\{?(?!(?:PWD|HOME|PATH|PYTHONPATH|SHELL|TMPDIR)\b)([A-Za-z_]\w*)"
"""Pattern for variables that only a CI service or another line of the file sets."""


def is_ci(path: str) -> bool:
    return re.fullmatch(_CI, path) is not None


def rank_told(path: str) -> int:
    """Rank how much a file reveals about a project's tests: 1 is the most, and 0 means nothing."""
    kinds = (_CI, _TASK_FILES, r"(?:[^/]+/)?(?:[Mm]ake|[Rr]ake|[Bb]uild|[Tt]est)[^/]*") if path.count("/") < 4 else ()
    return next((rank for rank, kind in enumerate(kinds, 1) if kind and re.fullmatch(kind, path)), 0)


def is_harmless(command: str) -> bool:
    """Whether a command can be tried: it does no harm, and every variable and placeholder in it has a value here."""
    read = re.sub(r"'[^']*'", "''", command)  # In single quotes `$x` is no variable of the shell.
    unset = (name for name in re.findall(_UNSET, read) if not re.search(rf"\b{name}=|\bfor {name}\b", read))
    return not (_HARMFUL.search(command) or re.search(r"\$\{\{|<<|<[\w-]+>", read) or any(unset))


def list_setups(language: Language, look: ProjectFiles) -> Iterator[tuple[str, str]]:
    """List the commands that may install a project's packages, and their files: CI's, then those of lock files."""
    for found in list_commands(look):
        # These options install tools for the whole machine.
        fits = rf"(?!.*\s(?:-g|--global|--user)\b)(?:{language.installs})"
        if language.installs and re.match(fits, found.command) and is_harmless(found.command) and is_ci(found.why):
            yield found.command, found.why
    for pattern, command in language.setups:
        if named := next((path for path in look.near if re.fullmatch(pattern, path)), ""):
            yield command.replace("{file}", named), named


def list_commands(look: ProjectFiles) -> Iterator[ProjectCommand]:
    """List the commands of CI, then those of task files, each with its file."""
    for pattern in (_CI, _TASK_FILES):
        named = [path for path in look if path.count("/") < 4 and pattern and re.fullmatch(pattern, path)]
        # Configurations of services other than GitHub may be leftovers.
        for path in sorted(named, key=lambda path: "workflows" not in path)[:_MOST_FILES]:
            lines = [line for line in look.text(path)[:_MOST].splitlines() if len(line) <= _LONGEST]
            for block in _list_blocks(lines) if pattern is _CI else [lines]:
                yield from (ProjectCommand(command, path) for command in _list_lines(block))


def _list_blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """List the lines of a CI configuration, grouped by the shell that runs them."""
    for at, line in enumerate(lines):
        if (found := re.match(_RUNS, line)) is None:
            continue
        below, rest = rf"\s*$|\s{{{len(found[1])}}}(?:\s|- )", found[2].strip()
        inner = list(takewhile(partial(re.match, below), lines[at + 1 :]))
        if rest[:1] in ("|", ">"):
            yield [" ".join(map(str.strip, inner))] if rest[0] == ">" else inner
        else:  # Keys below this key have values of their own.
            yield [rest] if rest else [line for line in inner if not re.match(r"\s*(?:- +)?[\w-]+:(?:\s|$)", line)]


def _list_lines(lines: Sequence[str]) -> Iterator[str]:
    """List the commands in the lines that one shell runs, each with a `cd` to the folder that it runs in."""
    folder = ""
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        command = _unwrap(line)
        if moves := re.match(r"cd +([\w.][\w./-]*) *(?:&& *|; *|$)", command):
            folder, command = posixpath.normpath(posixpath.join(folder, moves[1])), command[moves.end() :]
        if len(folder + line) <= _LONGEST and split_commands(command):
            yield f"cd {folder} && {command}" if folder and not folder.startswith(("/", ".")) else command


def _unwrap(line: str) -> str:
    """Strip list marks, keys, quotes and placeholders from a line's command."""
    bare = re.sub(rf"^\s*{_KEY}", "", line).rstrip(" \t,|>")
    bare = re.sub(r"^([\"'])(.*)\1$", r"\2", re.sub(r"^\[(.*)\]$", r"\1", bare).strip())
    return re.sub(_PLACEHOLDER, lambda found: found[1] or "", bare).strip()
