"""The environment that commands get: what tools need to work, and nothing that grants access.

A variable is passed only if its name is listed here and neither name nor value looks like a secret, or if the person
named it; one that contains a key of bough's is never passed.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_NAMES = """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ CI TERM
    VIRTUAL_ENV JAVA_HOME GOPATH GOROOT GOFLAGS GOPROXY GOCACHE GOMODCACHE CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
    GRADLE_USER_HOME MAVEN_OPTS DOTNET_ROOT GEM_HOME GEM_PATH PNPM_HOME BUN_INSTALL DENO_DIR
    PKG_CONFIG_PATH LD_LIBRARY_PATH LIBRARY_PATH CPATH CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
    REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
"""
NAMES = frozenset(_NAMES.split())
PREFIXES = ("LC_", "PYENV_", "CONDA_", "NVM_", "NODE_", "SSL_CERT_", "PIP_", "UV_", "npm_config_", "NPM_CONFIG_")

# NO_COLOR and TERM are not set here: tests of colours depend on them, and without a terminal most programs print no
# colours anyway.
FIXED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    # git must not ask for a password, nor write the index when it only reads: commands may not write there.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # Python takes cached bytecode as current if the source has the same size and time in whole seconds. An agent edits
    # and runs within one second, and a restore brings old times back, so Python would run outdated code.
    "PYTHONDONTWRITEBYTECODE": "1",
    # A program killed by a timeout would lose its buffered output.
    "PYTHONUNBUFFERED": "1",
}

_SECRET_NAME = re.compile(
    r"secret|token|passw|passphrase|passwd|credential|private|cookie|session|api_?key|(^|_)_*(key|keys|auth|pwd|pat)($|_)",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"://[^/\s@]+@"  # a URL with a user name or a password
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})"
)
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_SHORTEST_SECRET = 6
"""Secrets of fewer characters are ignored here, because they would occur in harmless values."""


def make_env(source: Mapping[str, str], secrets: Sequence[str] = (), extra: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables of `source` that commands may see, and those that bough sets.

    `extra`: variables that the person wants passed (`NAME`, or `PREFIX*`), even if they look like secrets. A variable
    whose value contains one of `secrets`, bough's own keys, is never passed.
    """
    known = tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)
    env = {
        name: value
        for name, value in source.items()
        if not any(secret in value for secret in known)
        and (
            is_named(name, extra)
            or (
                (name in NAMES or name.startswith(PREFIXES))
                and not _SECRET_NAME.search(name)
                and not _SECRET_VALUE.search(value)
            )
        )
    }
    return {"PATH": os.defpath, "TERM": "dumb", **env, **FIXED}


def is_named(name: str, names: Sequence[str]) -> bool:
    """Whether a variable's name is among `names`, each of which is a `NAME` or a `PREFIX*`."""
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in names if one != "*")


def find_own_sources(root: Path, folder: Path, also: str = "") -> dict[str, str]:
    """Return a PYTHONPATH by which Python imports the projects in this checkout before installed ones: those of the
    folder and of the folders around it, then the paths in `also`. Otherwise a virtual environment in which a project is
    installed as editable would import the person's files, and a check would test the wrong code."""
    around = [place for place in (folder, *folder.parents) if place.is_relative_to(root)]
    projects = [place for place in around if any((place / name).is_file() for name in _PYTHON_PROJECT)]
    places = [place for project in projects for place in (project / "src", project) if place.is_dir()]
    paths = dict.fromkeys([*map(str, places), *filter(None, also.split(os.pathsep))])
    return {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
