"""Lock files are generated from what both sides wrote elsewhere: they are regenerated, never merged."""

from __future__ import annotations

_COMMANDS = {
    "Cargo.lock": "cargo update --workspace",
    "Gemfile.lock": "bundle lock",
    "Pipfile.lock": "pipenv lock",
    "composer.lock": "composer update --lock --no-install --no-scripts",
    "package-lock.json": "npm install --package-lock-only --ignore-scripts --no-audit --no-fund",
    "npm-shrinkwrap.json": "npm install --package-lock-only --ignore-scripts --no-audit --no-fund",
    "pdm.lock": "pdm lock --update-reuse",
    "pnpm-lock.yaml": "pnpm install --lockfile-only --ignore-scripts",
    "poetry.lock": "poetry lock",
    "uv.lock": "uv lock",
    "yarn.lock": "yarn install --ignore-scripts",
}


def find_remake_command(path: str) -> str | None:
    """The command that regenerates the file at a path, to run in its folder; None: it is not a lock file."""
    return _COMMANDS.get(path.rpartition("/")[2])
