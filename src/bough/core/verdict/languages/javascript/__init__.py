"""JavaScript and TypeScript, with their package managers and test runners."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bough.core.verdict.language import AT_LOAD, Language
from bough.core.verdict.languages.javascript.nodejs import NodeTestRunner
from bough.core.verdict.languages.javascript.runners import (
    SUFFIXES,
    Jest,
    Mocha,
    Npm,
    Vitest,
    get_table,
    read_package,
)
from bough.core.verdict.project_files import ProjectFiles


class JavaScriptLanguage(Language):
    name = "javascript"
    suffixes = tuple(suffix[1:] for suffix in SUFFIXES)
    declares = True
    case_path = "cases/{name}.mjs"
    case_command = "node {file}"
    case_end = "process.stdout.write('{mark}');"
    case_how = (
        "A script for node (an ES module; `createRequire` from `node:module` where the product is CommonJS) "
        "that imports the product by its path from the folder `cases/` (`../…`) and compares with "
        "`node:assert/strict`."
    )
    body = (
        r"(?<![(!+~-])\bfunction\s*\*?\s+([\w$]+)\s*\([^(){}]{0,999}\)\s*(?::[^{}()=;]{1,999})?\{"
        r"|[=:]\s*(?:async\s+)?function\s*\*?\s*\([^(){}]{0,999}\)\s*\{"
        r"|([\w$]+)\s*[=:]\s*(?:async\s*)?(?:\([^(){}]{0,999}\)|[\w$]+)\s*(?::[^{}()=;]{1,999})?=>\s*\{"
        r"|^[ \t]+(?:(?:async|static|get|set|public|private|protected|override)\s+)*(?!(?:if|for|while|switch|catch"
        r"|with|function|constructor|return|else|super)\b)([\w$#]+)\s*\([^(){}]{0,999}\)\s*(?::[^{}()=;]{1,999})?\{"
    )
    switch = 'if (Number("{on}")) throw new Error("broken on purpose");'
    interpreters = ("node",)
    build_files = r"(?:[Gg]ulp|[Gg]runt|[Cc]ake|[Jj]ake)file\b.*"
    loads = AT_LOAD
    comment = "//"
    rank = 1
    runners = (Npm(), Vitest(), Jest(), Mocha(), NodeTestRunner())
    manifests = ("package.json",)
    dependency_files = r"(^|/)package\.json$"
    settings = r"(?:playwright|cypress|ava|karma|babel|tsup)\.(?:config|setup|workspace|conf)\b.*|\.babelrc.*|\.swcrc"
    sections = tuple(("package.json", name) for name in ("ava", "nyc", "c8", "tap"))
    programs = frozenset(
        """jest vitest mocha ava tap playwright cypress nyc c8 tsx ts-node tape uvu node npm npx yarn pnpm bun deno
        """.split()  # noqa: SIM905
    )
    frames = r"node:internal|node:async_hooks|/node_modules/"
    moved = r"ReferenceError\b|.* is not (?:a function|defined)"
    no_module = (
        r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)[^']*'"
        r"|Failed to resolve import \"((?:@[\w.-]+/)?[\w-][\w.-]*)"
    )
    no_package = (
        r"(?:Cannot|Could not) find (?:module )?'[^'\n]*/node_modules/((?:@[\w.-]+/)?[^'/\n]+)"
        r"|node_modules missing|node_modules state file was not"
    )
    provided = MappingProxyType(
        {name: f"npm install --global {name}" for name in ("pnpm", "yarn", "bun")}
        | {"npm": "apt-get install npm", "node": "apt-get install nodejs", "npx": "apt-get install npm"}
    )
    setups = (
        (r"package-lock\.json|npm-shrinkwrap\.json", "npm ci"),
        (r"pnpm-lock\.yaml", "pnpm install --frozen-lockfile"),
        (r"yarn\.lock", "yarn install --frozen-lockfile"),
        (r"bun\.lockb?", "bun install --frozen-lockfile"),
        (r"package\.json", "npm install"),
    )
    installs = r"npm (?:ci|i|install)\b|pnpm i(?:nstall)?\b|yarn(?: install.*)?$|bun install"

    def find_top(self, module: str) -> str:
        return module

    def list_scripts(self, look: ProjectFiles) -> Mapping[str, object]:
        return get_table(read_package(look), "scripts")
