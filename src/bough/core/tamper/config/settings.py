"""Pytest's settings, wherever they are kept, and what in a change of them leaves tests out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import chain

from msgspec import Struct

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config import shell
from bough.core.tamper.config.reach import Collecting, Reach, under

_PLACES = (
    *(("pytest.toml", "pytest"), (".pytest.toml", "pytest"), ("pytest.ini", "pytest"), (".pytest.ini", "pytest")),
    *(("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")),
)
"""In the order in which pytest looks for them; the first with a section counts, the others are not read."""

_YES = ("true", "1", "yes", "on")


class Settings(Struct, eq=False):
    path: str = ""
    values: dict[str, object] = {}

    def listed(self, name: str) -> list[str]:
        value = self.values.get(name)
        if isinstance(value, list):
            return [str(one) for one in value]
        return list(files.words(str(value))) if value is not None else []

    def text(self, name: str) -> str:
        return str(self.values.get(name, "")).strip().lower()

    @property
    def collecting(self) -> Collecting:
        """What pytest collects when nothing else is said."""
        usual = Collecting(files=("test_*.py", "*_test.py"))
        functions, classes = tuple(self.listed("python_functions")), tuple(self.listed("python_classes"))
        patterns = tuple(self.listed("python_files"))
        return Collecting(functions or usual.functions, classes or usual.classes, patterns or usual.files)

    @property
    def options(self) -> shell.Asked:
        found = shell.Asked("pytest")
        shell.options_of(self.listed("addopts"), found)
        return found


def toml(text: str) -> dict[str, object] | None:
    """The table, or None when the text is no TOML."""
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None


def ini(text: str) -> dict[str, dict[str, str]] | None:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(text.replace("\0", ""))
    except (configparser.Error, ValueError, TypeError, AttributeError):
        return None
    return {section: {k: v if v is not None else "" for k, v in parser.items(section)} for section in parser.sections()}


def table(value: object, *path: str) -> dict[str, object]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return {str(k): v for k, v in value.items()} if isinstance(value, dict) else {}


def settings_in(texts: Mapping[str, str], folder: str) -> Settings:
    """The settings that hold in a folder."""
    for name, section in _PLACES:
        path = f"{folder}/{name}" if folder else name
        if path not in texts or len(texts[path]) > files.LARGEST:
            continue
        values = _section(texts[path], name, section)
        if values is not None:
            return Settings(path, values)
    return Settings()


def _section(text: str, name: str, section: str) -> dict[str, object] | None:
    """None: pytest goes on to the next place."""
    if name.endswith(".toml"):
        read = toml(text)
        if section == "tool.pytest":
            own = table(read, "tool", "pytest")
            values = {k: v for k, v in own.items() if k != "ini_options"} | table(read, "tool", "pytest", "ini_options")
            return values or None
        return table(read, "pytest")
    sections = ini(text) or {}
    if section in sections:
        return dict(sections[section])
    return {} if name in ("pytest.ini", ".pytest.ini") else None


def collecting(was: Settings, now: Settings) -> Collecting:
    """What counts as a test: as either side says, since a change of the settings is named by itself."""
    sides = (was.collecting, now.collecting, Collecting())
    functions, classes, patterns = zip(*((one.functions, one.classes, one.files) for one in sides), strict=True)
    return Collecting(*(tuple(dict.fromkeys(chain(*both))) for both in (functions, classes, patterns)))


def reach(command: str, settings: Settings, texts: Collection[str]) -> Reach:
    """What the check runs of the tests. `texts`: the paths of both sides."""
    asked = shell.asked(command)
    python = asked.runner in ("pytest", "py.test", "unittest")
    options = settings.options.options if asked.runner in ("pytest", "py.test") else {}
    roots = [_module_path(path, texts) for path in asked.paths] if python else []
    roots = [root for root in roots if any(p == root or p.startswith(f"{root}/") for p in texts) or root == "."]
    if not roots and asked.runner in ("pytest", "py.test"):
        roots = [files.plain_path(entry) for entry in settings.listed("testpaths")]
    own = asked.options if python else {}
    ignored = [
        files.plain_path(v) for o in ("--ignore", "--ignore-glob") for v in [*own.get(o, []), *options.get(o, [])]
    ]
    marks = [*options.get("-m", []), *(own.get("-m", []) if asked.runner != "unittest" else [])]
    keywords = [*options.get("-k", []), *own.get("-k", [])]
    return Reach(tuple(roots), tuple(ignored), marks[-1] if marks else "", keywords[-1] if keywords else "")


def _module_path(path: str, texts: Collection[str]) -> str:
    if path in texts or not re.fullmatch(r"[\w.]+", path):
        return path
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        stem = "/".join(parts[:count])
        if f"{stem}.py" in texts:
            return f"{stem}.py"
    return path


def compare(
    before: Mapping[str, str], after: Mapping[str, str], changed: list[str], tests: Collection[str]
) -> Iterator[Tampering]:
    """Settings in every folder that has some. `changed`: paths that differ. `tests`: the test files of the base."""
    names = {name for name, _ in _PLACES}
    for folder in sorted({files.folder_of(path) for path in changed if files.name_of(path) in names}):
        was, now = settings_in(before, folder), settings_in(after, folder)
        path = now.path or was.path
        inside = [t for t in tests if t.startswith(f"{folder}/" if folder else "")]
        for setting, what in [*_options(was, now), *_narrowed(was, now, inside, before, folder)]:
            yield Tampering(path, line_of(after.get(path, ""), setting), what)


def line_of(text: str, word: str) -> int:
    """The first line with the word, 0 when there is none."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if word in line), 0)


def _options(was: Settings, now: Settings) -> Iterator[tuple[str, str]]:
    before, after = was.options, now.options
    for option, value in sorted(after.risky() - before.risky()):
        if option in ("-o", "--override-ini") and value.startswith(("junit", "log", "cache_dir", "console")):
            continue
        yield "addopts", f"addopts has a new `{f'{option} {value}'.strip()}`, which changes which tests run"
    if lost := shell.dropped(before, after):
        yield "addopts", f"addopts no longer has `{lost}`"
    if set(after.paths) - set(before.paths):
        yield "addopts", f"addopts now names paths: {' '.join(after.paths)}"
    if was.text("xfail_strict") in _YES and now.text("xfail_strict") not in _YES:
        yield "xfail_strict", "xfail_strict was switched off"
    if was.text("asyncio_mode") == "auto" and now.text("asyncio_mode") != "auto":
        yield "asyncio_mode", "asyncio_mode is no longer auto, so async tests are not run"
    strict = [one for one in was.listed("filterwarnings") if one.startswith("error")]
    if any(one not in now.listed("filterwarnings") for one in strict):
        yield "filterwarnings", f"filterwarnings no longer has `{strict[0]}`"
    if fresh := [one for one in now.listed("usefixtures") if one not in was.listed("usefixtures")]:
        yield "usefixtures", f"usefixtures now gives every test {fresh[0]}"
    if "PYTEST_ADDOPTS" in str(now.values) and "PYTEST_ADDOPTS" not in str(was.values):
        yield "PYTEST_ADDOPTS", "PYTEST_ADDOPTS is set"


def _narrowed(
    was: Settings, now: Settings, tests: list[str], texts: Mapping[str, str], folder: str
) -> Iterator[tuple[str, str]]:
    def seen(settings: Settings, path: str) -> bool:
        roots = settings.listed("testpaths")
        inner = path[len(folder) + 1 :] if folder else path
        return not roots or any(under(inner, files.plain_path(root)) for root in roots)

    left = [t for t in tests if seen(was, t) and not seen(now, t)]
    if left:
        yield "testpaths", f"testpaths no longer covers {left[0]}"
    before, after = was.collecting, now.collecting
    left = [t for t in tests if before.file(t) and not after.file(t)]
    if left:
        yield "python_files", f"python_files no longer covers {left[0]}"
    for kind, pattern, then, fits in (
        ("functions", r"def (\w+)", before.function, after.function),
        ("classes", r"class (\w+)", before.klass, after.klass),
    ):
        names = (name for t in tests for name in re.findall(pattern, texts[t]))
        changed = was.listed(f"python_{kind}") != now.listed(f"python_{kind}")
        gone = next((name for name in names if then(name) and not fits(name)), "") if changed else ""
        if gone:
            yield f"python_{kind}", f"python_{kind} no longer covers {gone}"
    blocked = [p for p in now.listed("norecursedirs") if p not in was.listed("norecursedirs")]
    left = [t for t in tests if any(fnmatchcase(part, p) for p in blocked for part in files.folders(t))]
    if left:
        yield "norecursedirs", f"norecursedirs now leaves out {left[0]}"
