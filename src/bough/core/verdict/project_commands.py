"""Commands that a project's own files run: its CI configuration, the files of its task runners, its guides.

One reader for all of them. A file is not parsed, because there are dozens of formats: each of its lines is stripped of
markup, and what is left counts when its first word is a program that somebody asks about. What a line means is tried,
not guessed: a command that was misread does not start or runs no test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bough.core.shell_syntax import split_commands
from bough.core.verdict.language import Language
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import LANGUAGES

_CI = (
    r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|\.circleci/config\.yml|\.travis\.yml|\.?appveyor\.yml|Jenkinsfile"
    r"|(?:\.azure-pipelines/)?azure-pipelines[^/]*\.yml|bitbucket-pipelines\.yml|\.cirrus\.(?:yml|star)|\.drone\.yml"
    r"|\.woodpecker(?:/[^/]+)?\.ya?ml|\.builds/[^/]+\.yml|\.buildkite/[^/]+\.ya?ml|\.semaphore/[^/]+\.yml"
)
_GUIDES = r"(?:\.github/|docs?/)?(?:CONTRIBUTING|HACKING|DEVELOP\w*|README|TESTING)[^/]*\.?(?:md|rst|txt|adoc)?"
_TASK_FILES = "|".join(language.task_files for language in LANGUAGES if language.task_files)
_LARGEST = 100_000
_MOST_FILES = 20

_KEY = r"(?:[-*]\s+)?(?!(?:name|uses|if|description|title|deps)\s*[:=])(?:[\w.-]+\s*[:=]\s*)?[|>]?[-+]?\s*"
"""What stands before a command on a line: `- run: `, `test = `, `script: `."""
_FOLDED = r"(?m)^([ \t]*)((?:- +)?[\w.-]+:[ \t]*)>[-+]?[ \t]*\n((?:\1[ \t]+\S.*\n?|[ \t]*\n)+)"
"""A text of several lines in YAML that stands for one."""
_PROMPT = r"(?:[$%❯#]\s+)?"
_CALL = r"\b(?:run|sh|call|system|execute)\(?\s*((?:[\"'][^\"'\n]*[\"'][\s,]*)+)"
_PLACEHOLDER = r"\{(?:posargs|args)(?::([^{}]*))?\}|\$\{?(?:ARGS|TESTARGS|PYTEST_ARGS)\}?|\"?\$@\"?"
_HARMFUL = re.compile(
    r"\b(?:docker|docker-compose|podman|compose|kubectl|helm|terraform|sudo|ssh|scp|rsync|curl|wget|systemctl|service"
    r"|deploy\w*|publish\w*|release|upload|twine|push|serve|start|up|down|login)\b"
)
"""Words of commands that leave the machine, start services or ask for more rights: never tried unasked."""


_UNSET = r"\$\{?(?!(?:PWD|HOME|PATH|PYTHONPATH|SHELL|TMPDIR)\b)[A-Z_][A-Z0-9_]*\b"
"""Variables that only the matrix of a CI service sets."""


class Stated(NamedTuple):
    """A command that a file of the project runs."""

    command: str
    path: str


def list_commands(look: ProjectFiles) -> Iterator[Stated]:
    """The most trusted first: CI configuration, then task files, then guides; as often as they occur."""
    for pattern in (_CI, _TASK_FILES, _GUIDES):
        named = [path for path in look if path.count("/") < 3 and pattern and re.fullmatch(pattern, path)]
        # One that is named after tests says more about them than one for documents or releases.
        for path in sorted(named, key=lambda path: "test" not in path.lower())[:_MOST_FILES]:
            for line in _list_lines(path, look.text(path)[:_LARGEST]):
                yield Stated(line, path)


def rank_told(path: str) -> int:
    """How much a file says about how a project is tested, 1 the most; 0: nothing."""
    if path.count("/") > 2:
        return 0
    kinds = (_CI, _TASK_FILES, r"(?:[^/]+/)?(?:[Mm]ake|[Rr]ake|[Bb]uild|[Tt]est)[^/]*", _GUIDES)
    return next((rank for rank, kind in enumerate(kinds, 1) if kind and re.fullmatch(kind, path)), 0)


def is_ci(path: str) -> bool:
    return re.fullmatch(_CI, path) is not None


def is_guide(path: str) -> bool:
    return re.fullmatch(_GUIDES, path) is not None


def is_harmless(command: str) -> bool:
    """Whether a command can be tried: it does no harm, and nothing in it is known to a CI service alone."""
    return not (_HARMFUL.search(command) or "${{" in command or "<<" in command or re.search(_UNSET, command))


def find_setup(language: Language, look: ProjectFiles) -> tuple[str, str]:
    """The command that installs what a project of this language needs, and the file that shows it; empty: nothing
    does. What CI runs comes before what a lock file stands for."""
    for found in list_commands(look):
        shown = language.installs and re.match(rf"(?:{language.installs})", found.command)
        tools = re.search(r"\s(?:-g|--global|--user)\b", found.command)  # Of the machine, not of the project.
        if shown and not tools and is_harmless(found.command) and re.fullmatch(_CI, found.path):
            return found.command, found.path
    for pattern, command in language.setups:
        if named := next((path for path in look.near if re.fullmatch(pattern, path)), ""):
            return command.replace("{file}", named), named
    return "", ""


def _list_lines(path: str, text: str) -> Iterator[str]:
    folder = ""
    folded = re.sub(_FOLDED, lambda found: f"{found[1]}{found[2]}{' '.join(found[3].split())}\n", text)
    for line in _list_code(path, re.sub(r"\\\n\s*", " ", folded)):
        for command in (*_unwrap_calls(line), _unwrap(line)):
            words = split_commands(command)
            if not words:
                continue
            if words[0][0].text == "cd" and len(words) == 1 and len(words[0]) == 2:
                folder = words[0][1].text
            elif folder and not folder.startswith(("/", "~", "$", "-")):
                yield f"cd {folder} && {command}"
            else:
                yield command
        if re.match(r"\s*(?:-\s+)?(?:name|run|script|steps|jobs)\s*:", line) and not re.search(r"\bcd\b", line):
            folder = ""


def _unwrap(line: str) -> str:
    """The command of a line, without list marks, keys, prompts, quotes and placeholders."""
    bare = re.sub(rf"^\s*{_KEY}{_PROMPT}", "", line).rstrip(" \t,|>")
    bare = bare[1:-1].strip() if bare.startswith("[") and bare.endswith("]") else bare
    if len(bare) > 1 and bare[0] in "\"'" and bare.rfind(bare[0]) == len(bare) - 1:
        bare = bare[1:-1]
    return re.sub(_PLACEHOLDER, lambda found: found[1] or "", bare).strip()


def _unwrap_calls(line: str) -> Iterator[str]:
    """`session.run("tool", "-v")`, `sh 'make check'`."""
    for found in re.finditer(_CALL, line):
        yield " ".join(re.findall(r"[\"']([^\"'\n]*)[\"']", found[1]))


def _list_code(path: str, text: str) -> Iterator[str]:
    """The lines of a file; of a guide only its code, whose other lines may begin with the name of a program too."""
    if is_ci(path):
        yield from (line for line in text.splitlines() if not line.lstrip().startswith("#"))
        return
    if find_suffix(path) not in ("md", "rst", "txt", "adoc", "") or _is_task_file(path):
        yield from text.splitlines()
        return
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif fenced or line.startswith(("    ", "\t", "$ ")):
            yield line
        else:
            yield from re.findall(r"`([^`\n]+)`", line)


def _is_task_file(path: str) -> bool:
    return bool(_TASK_FILES) and re.fullmatch(_TASK_FILES, path) is not None
