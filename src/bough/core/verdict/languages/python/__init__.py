"""Python, with pytest, unittest, tox and nox."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from bough.core.verdict.language import Language, Missing, PlainProgram, ReadText, Wanted, find_table_name
from bough.core.verdict.languages.python.expectations import falsify_python, has_no_assertion
from bough.core.verdict.languages.python.interpreter import MANIFESTS, dump_code, make_interpreter_command
from bough.core.verdict.languages.python.plain import make_plain
from bough.core.verdict.languages.python.pytest import Nox, Pytest, Tox
from bough.core.verdict.languages.python.slips import repair_python
from bough.core.verdict.languages.python.unittest import Django, Doctest, Unittest
from bough.core.verdict.paths import find_suffix, list_parents, parent_folder
from bough.core.verdict.texts import Read

_RUNNER_MODULES = frozenset(
    """pytest _pytest py pluggy iniconfig unittest doctest nose nose2 xdist tox nox hypothesis pytest_cov pytest_asyncio
    pytest_mock pytest_timeout testtools assertpy sitecustomize usercustomize""".split()  # noqa: SIM905
)
"""Modules that determine the result of a test run."""
_ALIASES: Mapping[str, str] = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "crypto": "pycryptodome",
    "cv2": "opencv",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mysqldb": "mysqlclient",
    "openssl": "pyopenssl",
    "pil": "pillow",
    "pkg_resources": "setuptools",
    "serial": "pyserial",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Modules whose package has another name."""
_COMMON = frozenset(
    """pytest nose nose2 tox nox unittest2 coverage xdist pytest_cov django
    attr attrs freezegun hypothesis mock numpy pandas parameterized pretend pytest_asyncio pytest_mock requests
    requests_mock responses respx scipy setuptools six time_machine trustme yaml""".split()  # noqa: SIM905
)
"""Packages that tests use and that no project uses as a module name: missing even where nothing declares them."""
_NO_PLUGIN = r"unrecognized arguments:\s+--([\w-]+)|fixture '(\w+)' not found|(async) def functions are not natively"


class Python(Language):
    name = "python"
    suffixes = ("py", "pyi")
    test_names = r"^(?:test.*|.*_tests?|conftest)\.py$"
    rank = 0
    runners = (Django(), Unittest(), Pytest(), Doctest(), Tox(), Nox())
    manifests = (*MANIFESTS, "noxfile.py", "requirements.txt")
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
    installed_runners = ("pytest", "py.test", "tox", "nox", "nose2")
    programs = frozenset({*installed_runners, *"unittest python python3 hatch pdm poetry uv".split()})  # noqa: SIM905
    environment = "pyvenv.cfg"
    frames = r"site-packages/|/lib/python3|<frozen |_pytest/|/pluggy/"
    moved = r"(?:E\s+)?(?:(?:Import|ModuleNotFound|Attribute|Name|FileNotFound|Syntax)Error\b|.*fixture ')"
    parameters = True
    no_module = (
        r"(?m)(?:ModuleNotFoundError|ImportError): No module named ['\"]?([\w.]+)|: No module named ([\w.]+)\s*$"
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
    builds = r"python3? setup\.py build"
    launchers = (
        r"\{env_?python\} -m (?=pytest)|(?:uv|poetry|pdm|pipenv|rye) run (?:--?[\w-]+ )*"
        r"|hatch run (?:\w+:)?(?=py|coverage)"
    )
    installs = (
        r"(?:python[\d.]* -m |uv )?pip[\d.]* install (?!-U pip|--upgrade pip)|(?:uv|pdm) sync"
        r"|(?:poetry|pdm|pipenv) install"
    )

    strip_comments = staticmethod(dump_code)
    falsify = staticmethod(falsify_python)
    asserts_nothing = staticmethod(has_no_assertion)
    repair_slips = staticmethod(repair_python)

    def has_only_tests(self, text: str) -> bool:
        names = re.findall(r"(?m)^(?:async\s+)?(?:def|class)\s+(\w+)", text)
        return bool(names) and all(re.match(r"_|test|Test|setup|teardown|check", name) for name in names)

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        blocks = r"(?m)^(?:@.*\n)*(?:async\s+)?(?:def test|class Test)\w*.*\n(?:[ \t)].*\n|\n)*"
        lines = text if text.endswith("\n") else f"{text}\n"
        return [found.span() for found in re.finditer(blocks, lines)] if reported else []

    def shadows_runner(self, path: str) -> bool:
        parts = path.split("/")
        stem, suffix = parts[-1].partition(".")[0], find_suffix(path)
        if suffix in ("pyc", "pyo", "so", "pyd"):
            return True
        if suffix != "py" and len(parts) == 1:
            return False
        first = stem if len(parts) == 1 else parts[1] if parts[0] in ("src", "lib") and len(parts) > 2 else parts[0]
        own = suffix == "py" and first in sys.stdlib_module_names
        return own or not _RUNNER_MODULES.isdisjoint({*parts[:-1], stem})

    def name_within_file(self, test: str, path: str) -> str:
        """`Adding.test_add`: two tests of one name in different classes are two tests."""
        name = re.sub(r"\[.*", "", test)
        module = path.rpartition(".")[0].replace("/", ".")
        rest = name.partition("::")[2].replace("::", ".") if "::" in name else name.removeprefix(f"{module}.")
        return rest.removeprefix(f"{module}.").removeprefix(f"{module.rpartition('.')[2]}.")  # as in doctests

    def make_program(self, path: str, text: str, wanted: Wanted, command: str, read: Read) -> PlainProgram | None:
        folders = [*reversed(list(list_parents(path)))]
        shared = [read(f"{folder}/conftest.py".lstrip("/")) or "" for folder in folders]
        made = make_plain(text, parent_folder(path), wanted, shared)
        return PlainProgram(f"{make_interpreter_command(command)} program.py", {"program.py": made}) if made else None

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        said = list(texts)
        return super().find_missing(said, manifests, own) or self._find_plugin(said, manifests)

    def _find_plugin(self, texts: Iterable[str], manifests: Mapping[str, str]) -> Missing | None:
        """A plugin of the runner that a manifest names, and whose option or fixture is unknown."""
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
        # As a requirement: a name that stands alone, at the beginning of a line, a string or a list entry.
        wanted = rf"""(?im)(?:^|["'\s,=\[])(?:{pattern})(?=$|[\s"'<>=!~;,\[\]])"""
        for path, text in manifests.items():
            body = re.sub(r"""(?m)^\s*(name|packages|module|module-name)\s*=.*$""", "", text)
            if re.search(self.dependency_files, path) and re.search(wanted, body):
                return path
        return "" if top in _COMMON else None

    def explain_install(self, missing: Missing, environment: str, prefix: str) -> str:
        if not environment:
            return (
                "No virtual environment was found here: create one (`python3 -m venv .venv`, then `.venv/bin/pip "
                f"install {missing.name}` and whatever else the project needs), or activate yours before you start "
                "bough; `[workspace] setup` in bough.toml can create one for each checkout."
            )
        return f"It is not in {environment}: install it there (`{prefix}/bin/python -m pip install {missing.name}`)."

    def list_project_names(self, read: ReadText) -> Iterable[str]:
        names = (find_table_name(read("pyproject.toml"), table) for table in ("project", "tool.poetry"))
        yield from filter(None, names)
        if named := re.search(r"""^\s*name\s*=\s*["']?([\w.-]+)""", read("setup.cfg"), re.MULTILINE):
            yield named[1]
