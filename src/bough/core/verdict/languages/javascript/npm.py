"""npm, pnpm, yarn and bun, which run whatever a script of package.json says."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bough.core.verdict.languages.javascript.packages import find_manager, get_table, read_package
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner

_PLACEHOLDER = "no test specified"
_WAITS = r"react-scripts test|\bvitest(?!\s+(?:run|bench|list|\S*--run))|\bng test|--watch(?!All=false)"


class Npm(Runner):
    name = "npm"
    settings = r"\.npmrc|\.yarnrc.*|\.pnpmfile\.cjs|\.pnp\..*"
    sections = (("package.json", "scripts"), ("package.json", "config"), ("package.json", "imports"))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        script = get_table(read_package(look), "scripts").get("test")
        if not isinstance(script, str) or not script.strip() or _PLACEHOLDER in script:
            return
        by = find_manager(look)
        command = "bun run test" if by == "bun" else f"{by} test"
        # Without CI set, it waits for changes and key presses; some projects leave tests out where it is set.
        prefix = "env CI=true " if re.search(_WAITS, script) else ""
        yield ProjectCommand(f"{prefix}{command}", "scripts.test in package.json")
