"""The layers of the architecture, the names and the public interface, as executable checks.

Each rule is a function of a source tree that lists its violations; a second test shows that it finds a planted one.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import bough
import bough.testing
from bough.core.verdict.registry import LANGUAGES as LANGUAGES_KNOWN
from bough.core.verdict.registry import RUNNERS
from bough.operations import OPERATIONS
from tests.source_tree import at_load, imported, modules, nodes

SOURCE = Path(bough.__file__).parent
_SHOWING = {"core", "ports", "trust", "app", "services", "operations", "views", "installed"}
MAY_IMPORT = {
    "core": {"core"},
    "ports": {"core", "ports"},
    "trust": {"core", "trust"},
    # How this copy was installed: about the package itself, and every layer's messages may say it.
    "installed": {"core"},
    "engine": {"core", "ports", "trust", "engine"},
    "adapters": {"core", "ports", "trust", "installed", "adapters"},
    "testing": {"core", "ports", "adapters", "testing"},
    "views": {"core", "views"},
    "interfaces": {*_SHOWING, "interfaces"},
    # What people read is in `views`: other interfaces draw it in their own way, and none needs the terminal's.
    "interfaces/web": {*_SHOWING, "interfaces/web"},
    "interfaces/acp": {*_SHOWING, "interfaces/acp"},
    "interfaces/mcp": {*_SHOWING, "interfaces/mcp"},
    # A session hands its work to services, and services get sessions: modules of the two form no cycle.
    "app": {"core", "ports", "trust", "engine", "adapters", "views", "installed", "app", "services"},
    "services": {"core", "ports", "trust", "engine", "adapters", "views", "installed", "app", "services"},
    "operations": {"core", "ports", "app", "services", "views", "operations"},
    "api": {"core", "ports", "app", "services", "operations", "views"},
    "__main__": {"interfaces"},
}
"""What a layer may import, by the longest prefix of a module's path."""
EXCEPT = {("interfaces", "adapters/stores/liveness")}
"""Pure words about a worker's name, which the whole adapter of stores is too heavy for."""
HIDDEN = {"interfaces": {"core/journal/task_fold", "core/tree/task"}}
"""Of what it may import otherwise: read models stand between these."""
IMPURE = {"asyncio", "os", "io", "time", "datetime", "random", "logging", "pathlib", "subprocess", "socket", "sqlite3"}


def layer(name: str) -> str | None:
    """The most specific layer that a module belongs to; the package itself belongs to none."""
    fitting = [known for known in MAY_IMPORT if name == known or name.startswith(f"{known}/")]
    return max(fitting, key=len, default=None)


# ── the rules ───────────────────────────────────────────────────────────────────────────────────────────────────────


def wrong_layers(source: Path) -> list[str]:
    known, found = modules(source), []
    for name, tree in known.items():
        mine = layer(name)
        if mine is None and name != ".":
            found.append(f"{name} belongs to no layer: put it into one, or give it a row in MAY_IMPORT")
        for line, other in imported(nodes(tree), known) if mine else ():
            if other not in known or other == ".":
                continue
            may = any(other == ok or other.startswith(f"{ok}/") for ok in MAY_IMPORT[mine or ""])
            within = (mine or "").partition("/")[0]
            if (not may and (within, other) not in EXCEPT) or other in HIDDEN.get(within, ()):
                found.append(f"{name}:{line}: {mine} must not import {other}")
    return found


def relative_imports(source: Path) -> list[str]:
    return [
        f"{name}:{node.lineno}: a relative import hides the layer"
        for name, tree in modules(source).items()
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def impurities(source: Path) -> list[str]:
    known, found = modules(source), []
    for name, tree in known.items():
        if not name.startswith("core"):
            continue
        for line, other in imported(nodes(tree), known):
            if other.partition(".")[0] in IMPURE:
                found.append(f"{name}:{line}: the core has no {other}")
        if any(isinstance(node, ast.AsyncFunctionDef | ast.Await) for node in nodes(tree)):
            found.append(f"{name}: the core is not async")
    return found


def cycles(source: Path) -> list[str]:
    """Of what modules import while they are loaded."""
    known = modules(source)
    graph = {name: {o for _, o in imported(at_load(tree.body), known) if o in known} for name, tree in known.items()}
    open_path: list[str] = []
    done: set[str] = set()
    found: list[str] = []

    def visit(name: str) -> None:
        if name in open_path:
            found.append(" -> ".join([*open_path[open_path.index(name) :], name]))
        elif name not in done:
            open_path.append(name)
            for other in sorted(graph[name] - {name}):
                visit(other)
            open_path.pop()
            done.add(name)

    for name in sorted(graph):
        visit(name)
    return found


def same_classes(source: Path) -> list[str]:
    """Class names that exist more than once: a search for one finds another."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, tree in modules(source).items():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    return [f"{name} in {', '.join(sorted(found))}" for name, found in sorted(places.items()) if len(found) > 1]


LONGEST = 65
"""Lines of a function, its docstring included."""


def long_functions(source: Path) -> list[str]:
    return [
        f"{name}:{node.lineno}: {node.name} has {lines} lines"
        for name, tree in modules(source).items()
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST
    ]


COMMANDS = "interfaces/cli/"
"""A command's file is loaded for its `--help` and its completion too: it loads `click`, and the rest when it runs."""
LISTED = re.compile(r"^\| `([\w.]+)` \| (?:[\d,]+|extra) \|", re.MULTILINE)


@cache
def heavy_modules() -> frozenset[str]:
    """Those whose cost is written down."""
    page = Path(__file__).parent.parent / "docs" / "design" / "start-up.md"
    return frozenset(LISTED.findall(page.read_text("utf-8")))


def within_functions(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom))


def late_imports(source: Path) -> list[str]:
    """Imports within functions that save nothing worth it: the module is not on the list in docs/design/start-up.md,
    and importing it at the top would make no cycle."""
    known = modules(source)
    graph = {name: {o for _, o in imported(at_load(tree.body), known) if o in known} for name, tree in known.items()}

    def reached(name: str) -> set[str]:
        found, todo = set[str](), [name]
        while todo:
            for other in graph.get(todo.pop(), set()) - found:
                found.add(other)
                todo.append(other)
        return found

    wrong = set()
    for name, tree in known.items():
        for line, other in imported(within_functions(tree), known):
            dotted = f"bough.{other.replace('/', '.')}" if other in known else other
            listed = any(dotted == heavy or dotted.startswith(f"{heavy}.") for heavy in heavy_modules())
            of_command = name.startswith(COMMANDS) and other in known
            if not listed and not of_command and name not in reached(other):
                wrong.add(f"{name}:{line}: import {dotted} at the top, or measure it and list it")
            elif other in reached(name):
                wrong.add(f"{name}:{line}: {dotted} is loaded by then: import it at the top")
    return sorted(wrong)


OPENING = frozenset(
    """
    read_text read_bytes write_text write_bytes resolve realpath iterdir glob rglob exists is_file is_dir is_symlink
    lstat stat readlink copy2 copytree copyfile rmtree scandir listdir symlink symlink_to touch mkdir makedirs unlink
    """.split()  # noqa: SIM905
)
"""Functions and methods that open, list or change what a path of the system names."""
OPENERS = {
    "bough's own folder, in which `trust/home` has found no link, pipe or device before anything in it is opened": """
        adapters/models/capabilities adapters/stores/liveness adapters/stores/sqlite_file
        adapters/workspaces/agent_repository adapters/workspaces/exchange adapters/workspaces/git
        adapters/workspaces/home
        adapters/workspaces/objects
        adapters/workspaces/person_repository
        adapters/workspaces/plain_folder adapters/workspaces/provisioning adapters/workspaces/saved_scan
        adapters/workspaces/repository adapters/workspaces/trees
        adapters/workspaces/workspace services/activity services/diagnosis app/journal app/project
        services/worker_service services/night engine/task_workspace
        adapters/verifiers/claim adapters/verifiers/check_runner
    """,
    "folders by handle, name by name, as `trust/handles` does: the hot path of every round": """
        adapters/workspaces/apply adapters/workspaces/checkout adapters/workspaces/disk
        adapters/workspaces/scan adapters/workspaces/file_index adapters/tools/paths adapters/tools/listing
    """,
    "links that bough makes and recognises; it never follows them": """
        adapters/workspaces/shared_folders adapters/workspaces/surroundings
    """,
    "where the person's tools keep their environments, and times of change": """
        adapters/workspaces/python_environment
    """,
    "the kernel's files, mounts and what a sandbox is made of": """
        adapters/sandboxes/env adapters/sandboxes/kernel
        adapters/sandboxes/limits adapters/sandboxes/mounts adapters/sandboxes/namespaces
        adapters/sandboxes/pipes
        adapters/sandboxes/process adapters/sandboxes/seatbelt adapters/sandboxes/spawner adapters/sandboxes/view
    """,
    "inside the sandbox": "adapters/tools/grep adapters/tools/search",
    "names only, to tell one workspace from another": """
        adapters/mcp/tools
    """,
    "the person's own files: their settings and state, and what they name on the command line": """
        adapters/agents/acp adapters/state_folder services/permission_store services/hooks
        services/recheck services/schedule adapters/models/providers adapters/models/recording api app/journal_location
        interfaces/cli/begin interfaces/cli/connect interfaces/cli/entry interfaces/cli/house interfaces/cli/printing
        interfaces/cli/run app/workflow_files
    """,
    "bough's own package, and projects that it has just made": """
        app/prompts services/demo installed interfaces/web/export
    """,
    "the tool calls of a model, which go through adapters/tools/paths": "adapters/tools/edit adapters/tools/files",
}
"""Why a module opens paths although there is `trust/files`. All others use a `Place`."""


def opened_paths(source: Path) -> list[str]:
    """Paths that are opened without `trust/files`."""
    listed = {name for names in OPENERS.values() for name in names.split()}
    opens = [
        (name, call.lineno, called)
        for name, tree in modules(source).items()
        if not name.startswith("trust")
        for call, owner, called in _calls(tree)
        if called in OPENING or (called == "open" and (owner in ("", "os", "io") or _names_mode(call)))
    ]
    found = [
        f"{name}:{line}: {called} opens a path: use a Place (trust/files), or give the reason in OPENERS"
        for name, line, called in opens
        if name not in listed
    ]
    stale = {name for name in modules(source) if name in listed} - {name for name, _, _ in opens}
    return found + [f"{name} opens no paths any more: take it out of OPENERS" for name in sorted(stale)]


def _names_mode(call: ast.Call) -> bool:
    """`path.open("rb")`, not `workspaces.open(run)`."""
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and str(first.value).strip("rwaxbt+") == ""


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str, str]]:
    """Calls with what they are called on (`os`; empty: nothing) and their name."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, ast.unparse(node.func.value), node.func.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node, "", node.func.id


STARTING = frozenset(
    """
    Popen check_call check_output create_subprocess_exec create_subprocess_shell posix_spawn posix_spawnp
    execv execve execvp execvpe execl execle execlp spawnv spawnve spawnvp startfile
    """.split()  # noqa: SIM905
)
STARTING_OF = {"subprocess.run", "subprocess.call", "os.system", "os.popen", "click.launch"}
STARTERS = {
    "sandboxes/supervisors": "the spawner, isolated from the person's and the project's modules (`-I -S`)",
    "sandboxes/namespaces": "inside the sandbox",
    "sandboxes/spawner": "inside the sandbox, or confined before it starts",
    "tools/grep": "inside the sandbox",
}


def started_programs(source: Path) -> list[str]:
    """Programs that are started without `trust/programs`."""
    return [
        f"{name}:{call.lineno}: {owner}.{called} starts a program: use trust/programs"
        for name, tree in modules(source).items()
        if name != "trust/programs" and name.removeprefix("adapters/") not in STARTERS
        for call, owner, called in _calls(tree)
        if called in STARTING or owner == "webbrowser" or f"{owner}.{called}" in STARTING_OF
    ]


LANGUAGES = "core/verdict/languages"
VERDICT = ("core/verdict", "core/acceptance", "adapters/verifiers")
ENGLISH = {"c", "go", "make", "mix", "node", "prove", "shell", "swift", "tap", "dart", "t", "m", "h"}
"""Names of languages, runners and suffixes that are words too."""
OTHER_SUBJECTS = (
    "adapters/workspaces",  # environments and compiled code
    "adapters/sandboxes",
    "core/shell_syntax",  # reads command lines
    "core/textual",  # reads code blocks in a model's text
    "core/conversation/code_outline",
    "engine/make_plan",  # says to a model which languages a project has
    "interfaces",  # says what is installed
)
"""Modules whose knowledge of a language has nothing to do with tests."""


@cache
def language_names() -> tuple[frozenset[str], frozenset[str]]:
    """Names of languages and runners, and suffixes with their dots."""
    names = {language.name for language in LANGUAGES_KNOWN} | {runner.name for runner in RUNNERS}
    suffixes = {f".{suffix}" for language in LANGUAGES_KNOWN for suffix in language.suffixes}
    return frozenset(names - ENGLISH), frozenset(suffixes)


def named_languages(source: Path) -> list[str]:
    """Places that know a language or a runner by name: outside its record nothing does. Texts for people and models may
    name one; where verdicts are made, no text does."""
    names, suffixes = language_names()
    word = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    found = []
    for name, tree in modules(source).items():
        if name.startswith((LANGUAGES, *OTHER_SUBJECTS)):
            continue
        told = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}
        strict = name.startswith(VERDICT)
        for node in nodes(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in told:
                continue
            if node.value in names | suffixes or (strict and word.search(node.value)):
                found.append(f"{name}:{node.lineno}: only a record in {LANGUAGES} knows {node.value[:40]!r}")
    return found


RULES: dict[str, tuple[Callable[[Path], list[str]], dict[str, str]]] = {
    "layers": (wrong_layers, {"core/a.py": "from bough.engine import b\n", "engine/b.py": ""}),
    "layers: packages too": (wrong_layers, {"core/__init__.py": "import bough.engine.b\n", "engine/b.py": ""}),
    "layers: within functions too": (
        wrong_layers,
        {"core/deep/a.py": "def f():\n    from bough.app.b import g\n", "app/b.py": ""},
    ),
    "layers: read models": (
        wrong_layers,
        {"interfaces/a.py": "from bough.core.tree.task import T\n", "core/tree/task.py": ""},
    ),
    "layers: the dashboard draws for itself": (
        wrong_layers,
        {"interfaces/web/a.py": "from bough.interfaces.terminal import b\n", "interfaces/terminal/b.py": ""},
    ),
    "layers: an editor has no command line": (
        wrong_layers,
        {"interfaces/acp.py": "def f():\n    from bough.interfaces.cli.b import g\n", "interfaces/cli/b.py": ""},
    ),
    "layers: a file without one": (wrong_layers, {"stray.py": ""}),
    "relative imports": (relative_imports, {"core/a.py": "from . import b\n"}),
    "purity": (impurities, {"core/deep/a.py": "import os\n"}),
    "purity: not async": (impurities, {"core/a.py": "async def f():\n    pass\n"}),
    "cycles": (cycles, {"core/a.py": "from bough.core import b\n", "core/b.py": "import bough.core.a\n"}),
    "late imports": (late_imports, {"core/a.py": "def f():\n    import textwrap\n"}),
    "late imports: loaded by then": (
        late_imports,
        {
            "interfaces/cli/a.py": "from bough.core import b\ndef f():\n    from bough.core import c\n",
            "core/b.py": "import bough.core.c\n",
            "core/c.py": "",
        },
    ),
    "long functions": (long_functions, {"core/a.py": "def f():\n" + "    pass\n" * LONGEST}),
    "files": (opened_paths, {"app/a.py": "def f(root):\n    return (root / 'x').read_text()\n"}),
    "files: by handle": (opened_paths, {"engine/a.py": "import os\n\ndef f(root):\n    return os.open(root, 0)\n"}),
    "files: with a mode": (opened_paths, {"views/a.py": "def f(path):\n    return path.open('rb')\n"}),
    "programs": (started_programs, {"app/a.py": "import subprocess\n\nsubprocess.run(['git'])\n"}),
    "programs: async": (started_programs, {"app/a.py": "async def f(a):\n    await a.create_subprocess_exec('x')\n"}),
    "programs: by a shell": (started_programs, {"app/a.py": "import os\n\nos.system('x')\n"}),
    "programs: in its place": (started_programs, {"app/a.py": "import os\n\nos.execv('x', ['x'])\n"}),
    "languages: compared with": (named_languages, {"engine/a.py": "def f(r):\n    return r == 'pytest'\n"}),
    "languages: by its suffix": (named_languages, {"app/a.py": "A = [p for p in () if p.endswith('.rs')]\n"}),
    "languages: in a table": (named_languages, {"core/verdict/a.py": "A = 'jest|mocha'\n"}),
    "classes": (same_classes, {"core/a.py": "class A:\n    pass\n", "core/b.py": "class A:\n    pass\n"}),
}


@pytest.mark.parametrize(
    "rule",
    [
        *(wrong_layers, relative_imports, impurities, cycles, late_imports, long_functions, same_classes),
        *(named_languages, opened_paths, started_programs),
    ],
)
def test_the_source_keeps_the_rule(rule: Callable[[Path], list[str]]) -> None:
    assert rule(SOURCE) == []


@pytest.mark.parametrize("name", RULES)
def test_a_planted_violation_is_found(name: str, tmp_path: Path) -> None:
    rule, files = RULES[name]
    (tmp_path / "__init__.py").touch()
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert len(rule(tmp_path)) == 1


def test_public_names() -> None:
    public = (
        "BoughError GoalEntry Outcome Plan Step Stream __version__ add_goals answer apply approve load_workflow "
        "pause pr report_backlog resume rewind run run_backlog run_sync say stop stream undo"
    )
    assert bough.__all__ == public.split()
    assert set(dir(bough)) == {*bough.__all__, *OPERATIONS}
    assert bough.testing.__all__ == ["Fuse", "MemoryStore", "ScriptedModel", "call", "say"]
    for module in (bough, bough.testing):
        for name in module.__all__:
            assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = bough.nonsense
