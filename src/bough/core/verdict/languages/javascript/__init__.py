"""JavaScript and TypeScript, with their package managers and test runners.

Node's own runner gets a reporter of bough's, because the JUnit reporter of node 20 leaves out each test's file and
groups, and counts a file without tests as a test. It is a `data:` address, which nothing in the workspace can replace.
"""

import re
from collections.abc import Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from urllib.parse import quote as url_quoted

from bough.core.shell_syntax import Part, get_program_name
from bough.core.verdict.language import Language
from bough.core.verdict.languages.javascript.runners import (
    SUFFIXES,
    JavaScript,
    Jest,
    Mocha,
    Npm,
    Vitest,
    escape_regex,
    find_manager,
    find_test_tool,
    get_table,
    list_dependencies,
    read_package,
)
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ClosingLine, join_options, strip_file

_FILE = r"(?:ok \d+ - |✔ )\S+\.[cm]?[jt]sx?(?: \([\d.]+ms\))?(?: # .*)?"


class NodeTestRunner(JavaScript):
    name = "node"
    by_environment = True
    # The closing lines of TAP (also tape's shorter form) and of the spec reporter, which lists failures after them.
    closes = (
        r"[#ℹ] tests +\d+(?:\n[#ℹ] suites +\d+)?\n[#ℹ] pass +(?P<passed>\d{1,9})(?:\n[#ℹ] (?:fail +(?P<failed>\d{1,9})"
        r"|cancelled +(?P<failed2>\d{1,9})|skipped +(?P<skipped>\d{1,9})|todo +(?P<skipped2>\d{1,9})))*"
    )
    near_end = 100_000

    def recognise(self, part: Part, at: int) -> int | None:
        is_node = get_program_name(part, at) in self.interpreters
        return at if is_node and any(word.text == "--test" for word in part[at + 1 :]) else None

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        if "--test-reporter" in command:
            return command, dict(env)
        # If there are several reporters, each needs its own destination.
        path = '"' + re.sub(r'(["\\])', r"\\\1", f"--test-reporter-destination={report}") + '"'
        options = f"--test-reporter={_REPORTER} {path} --test-reporter=spec --test-reporter-destination=stdout"
        return command, {**env, "NODE_OPTIONS": join_options(env.get("NODE_OPTIONS"), options)}

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        if self.place(command) is None:
            return None
        # node 20 matches the test's name alone, later versions its groups and name.
        leaves = sorted({strip_file(one).split(" > ")[-1] for one in ids})
        patterns = (f"--test-name-pattern={quote(f'(^| ){escape_regex(name)}$')}" for name in leaves)
        return self.put_in(command, " ".join(patterns))

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        # A file without tests is reported as a passing test, under its own name.
        ended, files = super().closing(lines), sum(1 for line in lines if re.fullmatch(_FILE, line))
        return ended._replace(doubtful=files) if ended is not None else None

    def chosen(self, look: ProjectFiles) -> bool:
        others = find_manager(look) == "bun" or {"deno.json", "deno.jsonc"} & look.files
        return not find_test_tool(look) and not others

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"node {'--import tsx ' if 'tsx' in list_dependencies(look) else ''}--test{path}"


_SOURCE = r"""
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { inspect } from 'node:util';

// Escape newlines too: in an attribute they would be read as spaces.
const clean = (text) => String(text ?? '')
  .replace(/\u001b\[[0-9;]*[A-Za-z]/g, '')
  .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
  .replace(/[&<>"\n\r\t]/g, (c) => `&#${c.charCodeAt(0)};`);

// A plain script that asserts is one test, as node counts it; a script that asserts nothing proves nothing.
const asserts = (file) => /\b(assert|expect|should|chai|tape?|uvu)\b/.test(readFileSync(file, 'utf8'));

const outcome = (type, data, whole, stderr) => {
  if (data.skip !== undefined && data.skip !== false) return '<skipped/>';
  if (data.todo !== undefined && data.todo !== false) return '<skipped type="todo"/>';
  if (type === 'test:pass') return whole && !asserts(data.file) ? '<skipped message="the file has no tests"/>' : '';
  const error = data.details?.error;
  const cause = error?.cause ?? error;
  const said = whole ? stderr.get(data.file) ?? '' : '';
  const message = said.match(/^\w*Error\b.*/m)?.[0] ?? cause?.message ?? cause;
  const trace = said || cause?.stack || inspect(cause);
  const tag = whole ? 'error' : 'failure';
  return `<${tag} message="${clean(message)}">${clean(trace)}</${tag}>`;
};

export default async function* report(source) {
  const names = [];
  const stderr = new Map();
  yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="node">\n';
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === 'test:stderr') {
      stderr.set(data.file, ((stderr.get(data.file) ?? '') + data.message).slice(-4000));
    } else if (type === 'test:pass' || type === 'test:fail') {
      // Leave out a group that failed because a test in it failed: that test has an entry of its own.
      const group = data.details?.type === 'suite';
      if (group && (type === 'test:pass' || data.details?.error?.failureType === 'subtestsFailed')) continue;
      const file = data.file ? relative(process.cwd(), data.file) : '';
      const whole = data.nesting === 0 && data.file !== undefined && resolve(data.name) === data.file;
      const groups = names.slice(0, data.nesting).join(' > ');
      const seconds = (data.details?.duration_ms ?? 0) / 1000;
      yield `<testcase file="${clean(file)}" classname="${clean(groups)}" name="${whole ? '' : clean(data.name)}"`
        + ` time="${seconds}">${outcome(type, data, whole, stderr)}</testcase>\n`;
    }
  }
  yield '</testsuites>\n';
}
"""

_REPORTER = "data:text/javascript," + url_quoted(_SOURCE.strip(), safe="")
"""A value of `--test-reporter` without spaces, quotes or backslashes, so that it can appear in NODE_OPTIONS."""


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
    builds = ((r"package\.json", r'"build"\s*:', "npm run build"),)
    build_files = r"(?:[Gg]ulp|[Gg]runt|[Cc]ake|[Jj]ake)file\b.*"
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
