"""What a check lacks in order to report anything: a command, a runner, an installed package, a service.

Read from its output at the base, before any work: there the project's own code is not to blame. A module that nothing
declares may be the one that the task has to write, and is not missing; nor is a script that does not exist yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bough.core.verdict.language import Missing
from bough.core.verdict.paths import find_stem
from bough.core.verdict.registry import LANGUAGES

_DEPENDENCY_FILES = "|".join(language.dependency_files for language in LANGUAGES if language.dependency_files)


def names_dependencies(path: str) -> bool:
    """Whether a file says what a project needs to be installed."""
    return re.search(_DEPENDENCY_FILES, path) is not None


def find_missing(
    exit_status: int | None, text: str, said: Iterable[str], manifests: Mapping[str, str], own: Iterable[str]
) -> Missing | None:
    """The first thing that a failed check lacks. `said`: what failing tests report; `own`: the project's files."""
    if exit_status in (0, None):
        return None
    if found := _find_missing_command(exit_status, text):
        return found
    said = list(said)
    names = {name for path in own for name in (find_stem(path.partition("/")[0]), find_stem(path))}
    packages = (language.find_missing([*said, text], manifests, names) for language in LANGUAGES)
    return next((found for found in packages if found), None) or _find_missing_service(said)


_NOT_FOUND = re.compile(
    r"^(?:.*: line \d+: |.*?sh: (?:\d+: |line \d+: )?|make(?:\[\d+\])?: |env: |)"
    r"['‘]?([\w.+@-]+)['’]?: (?:command not found|not found|No such file or directory)\s*$",
    re.MULTILINE,
)
_NPM = re.compile(r"^\s*'?([\w.-]+)'? is not recognized|^> .*\n.*?sh: \d+: ([\w.-]+): not found", re.MULTILINE)


def _find_missing_command(exit_status: int | None, text: str) -> Missing | None:
    """A bare name only: a path would be a file of the project that the work may have to create."""
    if exit_status != 127 and not re.search(r"Error 127\b|exit (?:code|status) 127|spawn ENOENT", text):
        return None
    found = _NOT_FOUND.search(text) or _NPM.search(text)
    name = next((group for group in found.groups() if group), "") if found else ""
    return Missing("command", name) if name else None


_UNRESOLVED = re.compile(
    r"(?:Failed to resolve '|Could not resolve host: |getaddrinfo (?:ENOTFOUND|EAI_AGAIN) |dial tcp: lookup "
    r"|failed to lookup address information.*?//)([\w.-]+)"
)


def find_missing_network(text: str) -> Missing | None:
    """A host whose name could not be resolved. For a check that ran no test: a suite may well have tests that fail
    where there is no network."""
    found = _UNRESOLVED.search(text)
    return Missing("network", found[1]) if found else None


_REFUSED = re.compile(
    r"(?:Connection refused|ECONNREFUSED|could not connect to server|Can't connect to .*server)", re.IGNORECASE
)
_ADDRESS = re.compile(r"""(?:127\.0\.0\.1|localhost|::1)["')]*[:, ]+(?:port[ =:]+)?(\d{2,5})|port[ =]+(\d{2,5})""")


def _find_missing_service(said: Iterable[str]) -> Missing | None:
    """From failing tests only: a test that expects a refused connection passes, and its text is not among them."""
    for text in said:
        if found := _REFUSED.search(text):
            around = text[max(0, found.start() - 300) : found.end() + 300]
            address = _ADDRESS.search(around)
            port = next((group for group in address.groups() if group), "") if address else ""
            return Missing("service", f"localhost:{port}" if port else "localhost")
    return None
