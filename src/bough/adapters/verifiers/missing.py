"""What a check lacks in order to report anything: a command, a runner, an installed package, a service.

Read from its output at the base, before any work: there the project's own code is not to blame. A module that nothing
declares may be the one that the task has to write, and is not missing; nor is a script that does not exist yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["command", "module", "package", "service", "network"]

RUNNERS = frozenset({"pytest", "nose", "nose2", "tox", "nox", "unittest2", "coverage", "xdist", "pytest_cov", "django"})
ALIASES: Mapping[str, str] = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "crypto": "pycryptodome",
    "cv2": "opencv",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "google": "google",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mysqldb": "mysqlclient",
    "openssl": "pyopenssl",
    "pil": "pillow",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2",
    "serial": "pyserial",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Modules whose package has another name."""
COMMON = frozenset(
    """attr attrs freezegun hypothesis mock numpy pandas parameterized pretend pytest_asyncio pytest_mock requests
    requests_mock responses respx scipy setuptools six time_machine trustme yaml""".split()  # noqa: SIM905
)
"""Packages that tests use and that no project uses as a module name: missing even where nothing declares them."""

_MANIFEST = re.compile(
    r"(^|/)(pyproject\.toml|setup\.(py|cfg)|tox\.(ini|toml)|noxfile\.py|Pipfile|environment\.ya?ml|package\.json"
    r"|uv\.lock|poetry\.lock|[^/]*(requirements|constraints)[^/]*\.(txt|in)|requirements/[^/]*\.(txt|in)|go\.mod|Cargo\.toml)$"
)


class Missing(Struct, frozen=True):
    kind: Kind
    name: str
    """The command, module or package; for a service, its address; for the network, a host."""
    why: str = ""
    """The manifest that says it belongs here."""

    def __str__(self) -> str:
        match self.kind:
            case "command":
                return f"the command `{self.name}` is not found"
            case "network":
                return f"it needs network access ({self.name}), which commands do not have"
            case "service":
                return f"nothing answers at {self.name}: a service the tests need is not running"
            case _:
                named = f" ({self.why} names it)" if self.why else ""
                return f"{self.name} is not installed{named}"


def is_manifest(path: str) -> bool:
    """Whether a file says what a project needs to be installed."""
    return _MANIFEST.search(path) is not None


def find_missing(
    exit_status: int | None, text: str, said: Iterable[str], manifests: Mapping[str, str], own: Iterable[str]
) -> Missing | None:
    """The first thing that a failed check lacks. `said`: what failing tests report; `own`: the project's files."""
    if exit_status in (0, None):
        return None
    tops = {
        part
        for path in own
        for part in (path.split("/")[0].removesuffix(".py"), path.rsplit("/", 1)[-1].removesuffix(".py"))
    }
    texts = [*said, text]
    return (
        _find_missing_command(exit_status, text)
        or _find_missing_module(texts, manifests, tops)
        or _find_missing_package(texts, manifests)
        or _find_missing_service(said)
    )


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


_MODULES = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named ['\"]?([\w.]+)|: No module named ([\w.]+)\s*$", re.MULTILINE
)


def _find_missing_module(texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
    for text in texts:
        for found in _MODULES.finditer(text):
            top = (found[1] or found[2]).split(".")[0]
            if top in own:
                continue
            where = _find_declaration(top, manifests)
            if where or top in RUNNERS or top in COMMON:
                return Missing("module", top, where)
    return None


def _find_declaration(module: str, manifests: Mapping[str, str]) -> str:
    """The manifest that names the package of a module."""
    names = {module.lower(), ALIASES.get(module.lower(), module.lower())}
    pattern = "|".join(re.escape(name).replace("_", "[-_.]").replace("\\-", "[-_.]") for name in names)
    # As a requirement: a name that stands alone, at the beginning of a line, a string or a list entry.
    wanted = re.compile(rf"""(?:^|["'\s,=\[])(?:{pattern})(?=$|[\s"'<>=!~;,\[\]])""", re.IGNORECASE | re.MULTILINE)
    for path, text in manifests.items():
        if path.rsplit("/", 1)[-1] in ("package.json", "go.mod", "Cargo.toml"):
            continue
        body = re.sub(r"""(?m)^\s*(name|packages|module|module-name)\s*=.*$""", "", text)
        if wanted.search(body):
            return path
    return ""


_NODE = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)[^']*'")
_GO = re.compile(
    r"(?:no required module provides package|missing go\.sum entry for module providing package"
    r"|cannot find module providing package) (\S+?)[;:]?\s"
)
_CARGO = re.compile(r"no matching package(?: named `([\w-]+)`)? found|failed to (?:download|get) `([\w-]+)")


def _find_missing_package(texts: Iterable[str], manifests: Mapping[str, str]) -> Missing | None:
    nodes = {path: text for path, text in manifests.items() if path.endswith("package.json")}
    for text in texts:
        for found in _NODE.finditer(text):
            where = next((path for path, body in nodes.items() if f'"{found[1]}"' in body), "")
            if where:
                return Missing("package", found[1], where)
        if found_go := _GO.search(text):
            return Missing("package", found_go[1], "go.mod")
        if found_cargo := _CARGO.search(text):
            return Missing("package", found_cargo[1] or found_cargo[2] or "a crate", "Cargo.toml")
    return None


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
