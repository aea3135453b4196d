"""Python, with pytest, unittest, tox and nox."""

import re
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from bough.core.verdict.language import Language, Missing
from bough.core.verdict.languages.python.interpreter import MANIFESTS
from bough.core.verdict.languages.python.pytest import Nox, Pytest, Tox
from bough.core.verdict.languages.python.unittest import Doctest, Unittest

_ALIASES: Mapping[str, str] = dict(
    pair.split("=")
    for pair in """bs4=beautifulsoup4 cv2=opencv mysqldb=mysqlclient pil=pillow pkg_resources=setuptools
    sklearn=scikit-learn""".split()  # noqa: SIM905
)
"""Modules whose package has a quite different name, and that name."""
_COMMON = frozenset(
    """pytest nose nose2 tox nox unittest2 coverage xdist pytest_cov django
    attr attrs freezegun hypothesis mock numpy pandas parameterized pretend pytest_asyncio pytest_mock requests
    requests_mock responses respx scipy setuptools six time_machine trustme yaml""".split()  # noqa: SIM905
)
"""Packages for tests whose names no project gives to its own modules: they count as missing even if undeclared."""
_NO_PLUGIN = r"unrecognized arguments:\s+--([\w-]+)|fixture '(\w+)' not found|(async) def functions are not natively"

BY_PYTEST = """\
if __name__ == '__main__':
    try: import pytest
    except ImportError: raise SystemExit(126)
    raise SystemExit(pytest.main(['-q', __file__]))
"""


class Python(Language):
    name = "python"
    suffixes = ("py", "pyi")
    case_path = "cases/{name}.py"
    case_command = "{interpreter} {file}"
    case_end = "__import__('os').write(1, b'{mark}')"
    case_how = (
        "A Python script that imports the product as its users do and compares with `assert`; an expected "
        "error in `try`/`except`/`else`."
    )
    # Special methods do not match, since creating objects needs them. A docstring is skipped: it may hold examples.
    body = (
        r"^[ \t]*(?:async )?def (?!__)(\w+)\((?:[^()]|\([^()]*\)){0,999}\)[^:\n]{0,200}:"
        r"[^\S\n]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*([ \t]+)"
        r"(?:[rRuU]?(?:\"{3}(?:\\[\s\S]|[^\\])*?\"{3}|'{3}(?:\\[\s\S]|[^\\])*?'{3}|\"[^\"\n]+\"|'[^'\n]+')"
        r"[ \t]*\n(?:[ \t]*(?:#.*)?\n)*\2(?=\S))?"
    )
    switch = 'assert 1 != {on}, "broken on purpose";'
    interpreters = ("python",)
    builds = ((r"setup\.py", r"\bExtension\b|ext_modules|cythonize", "python3 setup.py build_ext --inplace"),)
    own_modules = frozenset({*sys.stdlib_module_names, "pytest", "_pytest", "pluggy"} - {"test"})
    build_files = r"conf\.py|noxfile\.py|tasks\.py"
    rank = 0
    runners = (Unittest(), Pytest(), Doctest(), Tox(), Nox())
    manifests = (*MANIFESTS, "noxfile.py", "requirements.txt", "manage.py")
    dependency_files = (
        r"(^|/)(pyproject\.toml|setup\.(py|cfg)|tox\.(ini|toml)|noxfile\.py|Pipfile|environment\.ya?ml|uv\.lock|poetry\.lock"
        r"|[^/]*(requirements|constraints)[^/]*\.(txt|in)|requirements/[^/]*\.(txt|in))$"
    )
    task_files = r"tox\.(?:ini|toml)|noxfile\.py|pyproject\.toml|setup\.cfg|tasks\.py"
    settings = r"\.coveragerc|entry_points\.txt|.*\.pth"
    sections = (
        ("pyproject.toml", r"tool\.(?:coverage|nox|hatch\.envs)|project\.entry-points\.[\"']?pytest11"),
        ("setup.cfg", r"pytest|coverage|options\.entry_points"),
    )
    programs = frozenset("pytest py.test tox nox nose2 unittest python python3 hatch pdm poetry uv".split())  # noqa: SIM905
    environment = "pyvenv.cfg"
    frames = r"site-packages/|/lib/python3|<frozen |_pytest/|/pluggy/"
    moved = r"(?:E\s+)?(?:(?:Import|ModuleNotFound|Attribute|Name|FileNotFound|Syntax)Error\b|.*fixture ')"
    parameters = True
    no_module = (
        r"(?m)(?:ModuleNotFoundError|ImportError): No module named ['\"]?([\w.]+)|: No module named ([\w.]+)\s*$"
    )
    provided = MappingProxyType(
        {name: f"pipx install {name}" for name in ("uv", "poetry", "pdm", "hatch", "pipenv", "tox", "nox", "nose2")}
        | {"pipx": "apt-get install pipx", "trial": "pipx install twisted"}
    )
    setups = (
        (r"uv\.lock", "uv sync"),
        (r"poetry\.lock", "poetry install"),
        (r"pdm\.lock", "pdm install"),
        (r"Pipfile", "pipenv install --dev"),
        (r"environment\.ya?ml", "conda env update -f {file}"),
        (r"(?:requirements/)?[\w-]*(?:dev|test)[\w-]*\.txt", "pip install -r {file}"),
        (r"requirements\.txt", "pip install -r {file}"),
    )
    installs = (
        r"(?:python[\d.]* -m |uv )?pip[\d.]* install (?!-U pip|--upgrade pip)|(?:uv|pdm) sync"
        r"|(?:poetry|pdm|pipenv) install"
    )

    def strip_comments(self, text: str) -> str:
        """Leave out docstrings too: strings in three quotes that are statements of their own."""
        return super().strip_comments(re.sub(r"(?m)^[ \t]*[rRuU]?(\"{3}|'{3})(?:\\.|[^\\])*?\1[ \t]*$", "", text))

    def complete_case(self, text: str) -> str:
        """Add calls of the program's test functions: without these calls it would always pass. Only pytest can call
        those that take fixtures."""
        if "__main__" in text:
            return text
        if re.search(r"(?m)^(?:async )?def test\w*\(\s*\w|^@pytest\.(?:mark|fixture)", text):
            return f"{text}\n{BY_PYTEST}"
        called = re.search(r"(?m)^test\w*\(", text)
        found = [] if called else re.findall(r"(?m)^(async )?def (test\w*)\(\s*\)", text)
        calls = [f"__import__('asyncio').run({own}())" if late else f"{own}()" for late, own in found]
        ends = ["unittest.main()"] if re.search(r"(?m)^class \w+\(unittest\.", text) else []
        return text + "".join(f"\n{line}\n" for line in (*calls, *ends))

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        blocks = r"(?m)^(?:@.*\n){0,50}(?:async\s+)?(?:def test|class Test)\w*.*\n(?:[ \t)].*\n|\n)*"
        lines = text if text.endswith("\n") else f"{text}\n"
        return [found.span() for found in re.finditer(blocks, lines)] if reported else []

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        said = list(texts)
        if found := re.search(r"PackageNotFoundError: No package metadata was found for ([\w.-]+)", "\n".join(said)):
            # A project that asks for its own version has to be installed.
            name = found[1].lower().replace("-", "_")
            get = "-e ." if {name, f"{name}/"} & own else found[1]
            return Missing("package", found[1], "", self.name, get=get)
        return super().find_missing(said, manifests, own) or self._find_plugin(said, manifests)

    def _find_plugin(self, texts: Iterable[str], manifests: Mapping[str, str]) -> Missing | None:
        """Find a pytest plugin that is missing: its option or fixture is unknown, and a manifest may name it."""
        wanted = [next(filter(None, found.groups()), "") for text in texts for found in re.finditer(_NO_PLUGIN, text)]
        for path, body in manifests.items() if wanted else ():
            for plugin in re.findall(r"\bpytest-([a-z]\w*)", body):
                if any(word.startswith(plugin[:5]) or plugin in word for word in wanted):
                    return Missing("package", f"pytest-{plugin}", path, self.name)
        option = next((word for word in wanted if f"--{word}" in "\n".join(texts)), "")
        return Missing("package", f"the pytest plugin that knows --{option}", "", self.name) if option else None

    def find_declaration(self, module: str, manifests: Mapping[str, str]) -> str | None:
        top = self.find_top(module)
        names = {top.lower(), _ALIASES.get(top.lower(), top.lower())}
        pattern = "|".join(re.escape(name).replace("_", "[-_.]").replace("\\-", "[-_.]") for name in names)
        # A requirement begins a line, a string or a list entry. Its name may be a little longer than the module's:
        # `yaml` is in `pyyaml`, `git` in `gitpython`, `dateutil` in `python-dateutil`, `attr` in `attrs`.
        named = rf"(?:py|python-)?(?:{pattern})(?:s|dome|python)?"
        wanted = rf"""(?im)(?:^|["'\s,=\[]){named}(?=$|[\s"'<>=!~;,\[\]])"""
        for path, text in manifests.items():
            body = re.sub(r"""(?m)^[ \t]*(name|packages|module|module-name)\s*=.*$""", "", text)
            if re.search(self.dependency_files, path) and re.search(wanted, body):
                return path
        return "" if top in _COMMON else None

    def fit_setup(self, setup: str, missing: Missing, environment: str) -> str:
        """Make pip install into a virtual environment, since systems protect their own Python from pip."""
        by_pip = re.match(r"(?:python[\d.]* -m )?pip[\d.]* install ", setup)
        if by_pip is None:
            return setup
        rest = setup[by_pip.end() :]
        whole = re.search(r"(?:^|\s)(?:-r|-e|--editable|--requirement|\.|--group)", rest)
        if whole is None and missing.kind == "package" and not self.find_declaration(missing.name, {"setup.py": rest}):
            return ""  # The command installs other packages.
        return setup if environment else f"python3 -m venv .venv && .venv/bin/pip install {rest}"

    def explain_install(self, missing: Missing, environment: str, prefix: str) -> str:
        what = missing.get or missing.name
        if environment:
            return f"It is not in {environment}: install it there (`{prefix}/bin/python -m pip install {what}`)."
        how = f"`python3 -m venv .venv && .venv/bin/pip install {what}`"
        return f"No virtual environment was found here: create one ({how}), or activate yours before you start bough."
