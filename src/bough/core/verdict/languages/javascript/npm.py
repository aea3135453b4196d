"""npm, pnpm, yarn and bun, which run whatever a script of package.json says."""

from __future__ import annotations

from bough.core.verdict.languages.javascript.packages import find_manager, get_table, read_package
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner

_PLACEHOLDER = "no test specified"


class Npm(Runner):
    name = "npm"
    settings = r"\.npmrc|\.yarnrc.*|\.pnpmfile\.cjs|\.pnp\..*"
    sections = (("package.json", "scripts"), ("package.json", "config"), ("package.json", "imports"))

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        script = get_table(read_package(look), "scripts").get("test")
        if not isinstance(script, str) or not script.strip() or _PLACEHOLDER in script:
            return None
        by = find_manager(look)
        command = "bun run test" if by == "bun" else f"{by} test"
        # Without CI set, its test script waits for changes and key presses.
        waits = "react-scripts test" in script
        return ProjectCommand(
            f"env CI=true {command}" if waits else command, "scripts.test in package.json", "package.json"
        )
