"""The runner `make`, which runs the commands of a target in the Makefile."""

import posixpath
import re
from collections.abc import Iterable, Iterator

from bough.core.verdict.language import Language
from bough.core.verdict.paths import parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner

NAMES = ("GNUmakefile", "makefile", "Makefile")
"""The names of a Makefile in the order in which make looks for them; make reads only the first that exists."""
_RULE = r"(?P<targets>[^:=#\t][^:=#]*)::?(?![:=])(?P<rest>.*)"
_OWN_VARIABLE = r"\s*(?:(?:export|override|private)\s+)*[\w.-]+\s*(?:::?:?|[?+!])?="
_INCLUDE = r"[-s]?include\s+(.+)"
_MOST_FILES = 100
_OF_BSD = r"(?m)^\.[ \t]*(?:include|if|for)\b"
"""Pattern for lines that only BSD's make understands."""
_FORWARDS = r"(?m)^(?:%|\.DEFAULT)[ \t]*:(?![^\n]*%)[^\n]*\n(?:\t+@?\$[({]MAKE[)}] -C (\w+) \$@)?"
"""Pattern for a rule for every target, which may run make in another folder."""


class Make(Runner):
    name = "make"
    scripts = r"GNUmakefile|makefile|Makefile|.*\.ma?k"
    # The closing lines say that make did nothing, since a folder has the target's name or the target has no recipe.
    closes = r"g?make(?:\[\d+\])?: (?:'.*' is up to date|Nothing to be done for '.*')\."
    near_end = 1

    def find_targets(self, look: ProjectFiles) -> tuple[str, frozenset[str]]:
        """Return the Makefile that make would read here, and the targets of its rules and of included files."""
        name = next((name for name in NAMES if name in look.files), "")
        return name, frozenset(_list_targets(look, name, set())) if name else frozenset()

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        name, known = self.find_targets(look)
        text = look.text(name)
        make = "bmake" if re.search(_OF_BSD, text) else "make"
        usual = [target for target in ("test", "check", "tests") if target in known]
        if not usual and (found := re.search(_FORWARDS, text)):
            below = f" -C {found[1]}" if found[1] else ""
            yield ProjectCommand(f"{make}{below} test", f"{name} forwards every target")
        others = sorted(
            target for target in known if re.fullmatch(r"(?:run|unit|all|self)[-_]?tests?|tests?[-_]all", target)
        )
        for target in (*usual, *others):
            yield ProjectCommand(f"{make} {target}", f"the target {target} of {name}")
        inner = next((path for path in look.near if re.fullmatch(rf"tests?/(?:{'|'.join(NAMES)})", path)), "")
        if inner and not usual:
            folder, own = parent_folder(inner), frozenset(_list_targets(look, inner, set()))
            target = next((f" {target}" for target in ("test", "check", "tests", "run") if target in own), "")
            yield ProjectCommand(f"make -C {folder}{target}", f"there is a {inner}")


def _list_targets(look: ProjectFiles, path: str, seen: set[str]) -> Iterator[str]:
    """List the targets of a file and of those that it includes; `seen`: the files that were read already."""
    seen.add(path)
    joined = re.sub(r"(?<!\\)\\\r?\n", " ", look.text(path)).splitlines()
    for line in (line if line.startswith("\t") else re.sub(r"(?<!\\)#.*", "", line).rstrip() for line in joined):
        include = re.fullmatch(_INCLUDE, line.strip())
        if include and len(seen) < _MOST_FILES:
            for name in (one for one in include[1].split() if not re.fullmatch(r"\$[({].*", one) or "/" in one):
                # A variable in the name may stand for anything: `include $(folder)/Makefile.sub`.
                fits = re.sub(r"\\\$\\[({]\w+\\[)}]", "[^/]*", re.escape(posixpath.normpath(name)))
                for other in (each for each in look.near if each not in seen and re.fullmatch(fits, each)):
                    yield from _list_targets(look, other, seen)
        elif not line.startswith("\t"):
            yield from _parse_targets(line)


def _parse_targets(line: str) -> Iterator[str]:
    rule = re.match(_RULE, line)
    # `test: FLAGS = -x` gives a target a variable; it does not define the target.
    if rule is None or re.match(_OWN_VARIABLE, rule["rest"]):
        return
    for name in rule["targets"].split():
        if "%" not in name and "$" not in name and not re.fullmatch(r"\.[A-Z_]+", name):
            yield name


class MakeFiles(Language):
    """Stands for no language, but for make, which runs tests in many languages."""

    name = "make"
    rank = -1
    runners = (Make(),)
    manifests = NAMES
    task_files = r"\.?[jJ]ustfile|Taskfile\.ya?ml"
    settings = r"\.?[jJ]ustfile|Taskfile\.ya?ml|\.envrc?"
    programs = frozenset({"make", "just", "task"})
    builds = (("|".join(NAMES), "", "make"),)
    moved = r"make(?:\[\d+\])?: \*\*\* No rule"
