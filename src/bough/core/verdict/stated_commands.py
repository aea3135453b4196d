"""The commands that a project's own files run: CI configuration and its scripts, task files, guides.

One reader serves them all. No format is parsed, because there are dozens: a line is stripped of markup, and what is
left counts when its first word is a program that somebody asks about, or when the step or the sentence around it speaks
of tests. What a line means is tried, not guessed: a command that was misread does not start or runs no test.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bough.core.shell_syntax import split_commands
from bough.core.verdict.ci_files import CodeBlock, list_scripts
from bough.core.verdict.language import Language
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.registry import LANGUAGES

_CI = (
    r"\.(?!pre-commit)[\w.-]+(?:/(?!\w+_TEMPLATE)[\w.-]+){0,3}\.ya?ml|(?:[^/]*[-_.])?(?:ci|pipelines?|appveyor)\b[^/]*\.ya?ml"
    r"|Jenkinsfile|\.cirrus\.star"
)
"""Services keep their configuration where no reader of a project looks: in files and folders that begin with a dot."""
_GUIDES = r"(?:\.github/|docs?/)?(?:CONTRIBUTING|HACKING|DEVELOP\w*|README|TESTING)[^/]*\.?(?:md|rst|txt|adoc)?"
_TASK_FILES = "|".join(language.task_files for language in LANGUAGES if language.task_files)
_LARGEST = 100_000
_MOST_FILES = 20

_ABOUT_TESTS = r"(?i)\b(?:unit)?tests?\b|\btesting\b|\bspecs?\b"
_ABOUT_OTHERS = r"(?i)\b(?:install|set ?up|build|compile|prepare|upload|publish|report|lint|format|coverage|doc)"
"""What a step is called that runs tests, and one that only has to do with them."""
_LABELS = r"\s*(?:[-*]\s+)?(?:name|description|title|deps)\s*[:=]"
"""Lines that run nothing, whatever they name."""
_KEY = r"(?:[-*]\s+)?(?:(?![A-Z_]+=\S)[\w.-]+\s*[:=]\s*|\"[\w./-]+\"\s*=\s*)?(?:[|>][-+]?)?\s*"
"""What stands before a command on a line: `- run: `, `test = `, `script: `."""
_PROMPT = r"(?:[$%❯#]\s+)?"
_CALL = r"\b(?:run|sh|call|system|execute)\(?\s*((?:[\"'][^\"'\n]*[\"'][\s,]*)+)"
_PLACEHOLDER = (
    r"\{(?:env_?bin_?dir|tox_?ini_?dir)\}/|\{?\{(?:posargs|args)(?::([^{}]*))?\}\}?|\$\{?(?:ARGS|TESTARGS|PYTEST_ARGS)\}?"
    r"|\"?\$@\"?| -j ?\"?\$\([^()]*\)\"?"
)
_HARMFUL = re.compile(
    r"\b(?:docker|docker-compose|podman|compose|kubectl|helm|terraform|sudo|ssh|scp|rsync|curl|wget|systemctl|service"
    r"|deploy\w*|publish\w*|release|upload|twine|push|serve|start|up|down|login)\b"
)
"""Words of commands that leave the machine, start services or ask for more rights: never tried unasked."""


_UNSET = r"\$\{?(?!(?:PWD|HOME|PATH|PYTHONPATH|SHELL|TMPDIR)\b)([A-Za-z_]\w*)"
"""Variables that only the matrix of a CI service sets, or another line."""
_SETTING = r"""(?:\s+-[A-Za-z])?\s+-{0,2}[\w.-]+=(?:"[^"\n]*"|'[^'\n]*'|(?:\$\{\{.*?\}\}|\S)+)"""
"""An argument that gives something a value, which has one without it, too: `LUA=$LUA`, `--basetemp={envtmpdir}`."""


BUILDS = re.compile(
    r"(?:\w+=(?:'[^']*'|\"[^\"]*\"|\S*)\s+)*"
    rf"(?:{'|'.join(language.builds for language in LANGUAGES if language.builds)})"
)
"""Commands that build what tests need."""


class Stated(NamedTuple):
    """A command that a file of the project runs."""

    command: str
    path: str
    built: str = ""
    """What CI runs before it in the same job to build the project; empty: nothing."""
    named: bool = False
    """The step or the sentence around it speaks of tests."""


def list_commands(look: ProjectFiles) -> Iterator[Stated]:
    """The most trusted first: CI configuration and the scripts that it runs, then task files, then guides; as often
    as they occur."""
    for pattern in (_CI, _TASK_FILES, _GUIDES):
        scripts: dict[str, str] = {}
        named = [path for path in look if path.count("/") < 4 and pattern and re.fullmatch(pattern, path)]
        # One that is named after tests says more about them than one for documents or releases, and one of workflows
        # more than one that stayed behind from another service.
        for path in sorted(named, key=lambda path: ("test" not in path.lower(), "workflows" not in path))[:_MOST_FILES]:
            for one in _list_lines(path, _split_into_scripts(path, look.text(path)[:_LARGEST])):
                yield one
                if pattern is _CI and (script := _find_shell_script(one.command, look)):
                    scripts.setdefault(script, path)
        for script, path in list(scripts.items())[:_MOST_FILES]:
            yield from _list_lines(path, [_without_comments(CodeBlock(look.text(script)[:_LARGEST]))])


def _find_shell_script(command: str, look: ProjectFiles) -> str:
    """The file of the project that a command runs in a shell; empty: none."""
    words = [word.text for word in (split_commands(command) or ((),))[0]]
    named = words[1:2] if words[:1] in (["bash"], ["sh"]) else words[:1]
    found = named[0].removeprefix("./") if named else ""
    return found if found in look.files and find_suffix(found) in ("", "sh", "bash") else ""


def rank_told(path: str) -> int:
    """How much a file says about how a project is tested, 1 the most; 0: nothing."""
    if path.count("/") > 3:
        return 0
    kinds = (_CI, _TASK_FILES, r"(?:[^/]+/)?(?:[Mm]ake|[Rr]ake|[Bb]uild|[Tt]est)[^/]*", _GUIDES)
    return next((rank for rank, kind in enumerate(kinds, 1) if kind and re.fullmatch(kind, path)), 0)


def is_ci(path: str) -> bool:
    return re.fullmatch(_CI, path) is not None


def is_guide(path: str) -> bool:
    return re.fullmatch(_GUIDES, path) is not None


def is_harmless(command: str) -> bool:
    """Whether a command can be tried: it does no harm, and nothing in it is known to a CI service or a reader alone."""
    unset = (name for name in re.findall(_UNSET, command) if not re.search(rf"\b{name}=|\bfor {name}\b", command))
    return not (_HARMFUL.search(command) or re.search(r"\$\{\{|<<|<[\w-]+>", command) or any(unset))


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


def _list_lines(path: str, scripts: Iterable[CodeBlock]) -> Iterator[Stated]:
    job, builds = -1, list[str]()
    for script in scripts:
        job, builds, folder = script.job, builds if script.job == job else [], script.folder
        named = bool(re.search(_ABOUT_TESTS, script.name)) and not re.search(_ABOUT_OTHERS, script.name)
        for line in re.sub(r"\\\n\s*", " ", script.text).splitlines():
            # `session.run("tool", "-v")`, `sh 'make check'`.
            calls = (" ".join(re.findall(r"[\"']([^\"'\n]*)[\"']", given)) for given in re.findall(_CALL, line))
            for command in (*calls, _unwrap(line)):
                parts = [[word.text for word in part] for part in split_commands(command)]
                moves = next((part[1] for part in parts[:1] + parts[-1:] if len(part) == 2 and part[0] == "cd"), "")
                folder = posixpath.normpath(posixpath.join(folder, moves)) if moves else folder
                if not parts or parts[-1][0] == "cd":
                    continue
                command = command.partition("&&")[2].strip() if moves else command
                inside = folder and not folder.startswith(("/", "~", "$", "-", "."))
                found = f"cd {folder} && {command}" if inside else command
                yield Stated(found, path, " && ".join(builds), named)
                if is_ci(path) and BUILDS.match(command) and is_harmless(found) and found not in builds:
                    builds.append(f"({found})" if inside else found)


def _split_into_scripts(path: str, text: str) -> Iterator[CodeBlock]:
    """The commands of a file that run in one shell, and what is said about them."""
    if is_ci(path) and find_suffix(path) in ("yml", "yaml"):
        yield from map(_without_comments, list_scripts(text))
    elif find_suffix(path) in ("md", "rst", "txt", "adoc", "") and is_guide(path):
        yield from _list_code(text)
    else:
        yield CodeBlock(text)


def _without_comments(script: CodeBlock) -> CodeBlock:
    return script._replace(text=re.sub(r"(?m)^\s*#.*\n?", "", script.text))


def _unwrap(line: str) -> str:
    """The command of a line, without list marks, keys, prompts, quotes and placeholders."""
    bare = "" if re.match(_LABELS, line) else re.sub(rf"^\s*{_KEY}{_PROMPT}", "", line).rstrip(" \t,|>")
    bare = bare[1:-1].strip() if bare.startswith("[") and bare.endswith("]") else bare
    if len(bare) > 1 and bare[0] in "\"'" and bare.rfind(bare[0]) == len(bare) - 1:
        bare = bare[1:-1]
    bare = re.sub(r"^(?:& )?(?=\./\S+\.ps1\b)", "pwsh -File ", bare)
    plain = re.sub(_PLACEHOLDER, lambda found: found[1] or "", bare).strip()
    unset = rf"^\s+(?:-\w\s+)?\w.*(?:\$\{{\{{|{_UNSET})|=\{{[a-z_]+\}}"
    return re.sub(_SETTING, lambda found: "" if re.search(unset, found[0]) else found[0], plain)


def _list_code(text: str) -> Iterator[CodeBlock]:
    """The code of a guide, whose other lines may begin with the name of a program too, and the line before it."""
    fenced, said, block = False, "", list[str]()
    for line in [*text.splitlines(), "."]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif fenced or line.startswith(("    ", "\t", "$ ")):
            block.append(line)
        elif line.strip():
            yield CodeBlock("\n".join(block), name=said)
            said, block = line, []
            yield from (CodeBlock(code, name=said) for code in re.findall(r"`([^`\n]+)`", line))
