"""JavaScript and TypeScript, with their package managers and test runners."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping

from bough.core.verdict.language import BESIDE, PROJECT, Language, PlainProgram, ReadText, Wanted
from bough.core.verdict.languages.javascript.nodejs import NodeTestRunner
from bough.core.verdict.languages.javascript.plain import make_plain
from bough.core.verdict.languages.javascript.runners import (
    SUFFIXES,
    Ava,
    Bun,
    Deno,
    Jest,
    Mocha,
    Npm,
    Vitest,
    get_table,
    read_package,
)
from bough.core.verdict.paths import find_suffix, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.texts import Read, parse_object

_LOADS = r"\b(?:require|import|from)\s*\(?\s*['\"]((?:@[\w.-]+/)?\w[\w.-]*)(?=['\"/])"
"""The packages that a file loads, without paths inside them."""


class JavaScriptLanguage(Language):
    name = "javascript"
    suffixes = tuple(suffix[1:] for suffix in SUFFIXES)
    test_names = r"[.\-_](?:test|spec|tests|specs|e2e|cy)\.[^.]+$|^tests?[.\-]"
    comment = "//"
    rank = 1
    runners = (Npm(), Vitest(), Jest(), Mocha(), Ava(), Bun(), Deno(), NodeTestRunner())
    manifests = ("package.json",)
    builds = r"(?:npm|pnpm|yarn|bun) (?:run )?(?:build|compile)\b"
    too_old = r"\brequires (node|npm)(?: version)?[ '\"v>=~^]*(\d+(?:\.\d+)*)"
    dependency_files = r"(^|/)package\.json$"
    settings = r"(?:playwright|cypress|ava|karma|babel|tsup)\.(?:config|setup|workspace|conf)\b.*|\.babelrc.*|\.swcrc"
    sections = tuple(("package.json", name) for name in ("ava", "nyc", "c8", "tap"))
    installed_runners = tuple(
        "jest vitest mocha ava tap playwright cypress nyc c8 tsx ts-node tape uvu".split()  # noqa: SIM905
    )
    programs = frozenset({*installed_runners, *"node npm npx yarn pnpm bun deno".split()})  # noqa: SIM905
    package_lists = (
        *(".package-lock.json", ".pnpm/lock.yaml", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity"),
        *("../package-lock.json", "../pnpm-lock.yaml", "../yarn.lock", "../bun.lock", "../bun.lockb"),
    )
    packages = "node_modules"
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
    setups = (
        (r"package-lock\.json|npm-shrinkwrap\.json", "npm ci"),
        (r"pnpm-lock\.yaml", "pnpm install --frozen-lockfile"),
        (r"yarn\.lock", "yarn install --frozen-lockfile"),
        (r"bun\.lockb?", "bun install --frozen-lockfile"),
        (r"package\.json", "npm install"),
    )
    installs = r"npm (?:ci|i|install)\b|pnpm i(?:nstall)?\b|yarn(?: install.*)?$|bun install"

    def list_loaded_packages(self, text: str) -> Collection[str]:
        return re.findall(_LOADS, text)

    def make_program(self, path: str, text: str, wanted: Wanted, command: str, read: Read) -> PlainProgram | None:
        suffix, folder = find_suffix(path), parent_folder(path)
        listed = json.dumps(sorted({name.rpartition(" > ")[2] for name in wanted}) if wanted is not None else None)
        made = make_plain(text, listed, "node --test" not in command) if suffix in ("js", "mjs", "cjs") else ""
        if not made:
            return None
        if self.list_loaded_packages(text):  # They are found from here only.
            place = f"{folder}/program.{suffix}".lstrip("/")
            return PlainProgram(f"node {place}", {place: made})
        name = "program.mjs" if re.search(r"(?m)^import\b", text) else "program.cjs"
        away = re.sub(r"(?<=['\"])(?=\.\.?/)", f"../{PROJECT}/{folder}/", made)
        return PlainProgram(f"node ../{BESIDE}/{name}", {f"{BESIDE}/{name}": away})

    def find_top(self, module: str) -> str:
        return module

    def list_project_names(self, read: ReadText) -> Iterable[str]:
        if isinstance(name := (parse_object(read("package.json")) or {}).get("name"), str):
            yield name

    def requires(self, text: str, names: Collection[str]) -> bool:
        about = parse_object(text) or {}
        tables = (get_table(about, key) for key in ("dependencies", "devDependencies", "peerDependencies"))
        return any(not table.keys().isdisjoint(names) for table in tables)

    def list_scripts(self, look: ProjectFiles) -> Mapping[str, object]:
        return get_table(read_package(look), "scripts")
