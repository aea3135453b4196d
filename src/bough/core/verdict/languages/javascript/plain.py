"""Tests in JavaScript as a plain program: what they pass to `test` and `it` is called without a runner."""

from __future__ import annotations

import re

from bough.core.verdict.language import ENDS, FAILS, PASSES, REPEAT, SECONDS

_RUNNERS = r"(?:node:)?test|vitest|@jest/globals|mocha"
_NAMES = "describe it test expect before after beforeEach afterEach beforeAll afterAll suite specify".split()  # noqa: SIM905
_KIT = """\
const kitParts = [], kitFirst = [], kitEach = [], kitAbove = [];
function kitFail(message) { const error = new Error(message); error.name = "AssertionError"; throw error; }
function kitEqual(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => kitEqual(a[key], b[key]));
}
function kitExpect(value, negate = false) {
  const claim = (held, other) => { if (held === negate) kitFail(String(JSON.stringify([value, other]))); };
  const known = {
    toBe: (other) => claim(Object.is(value, other), other),
    toEqual: (other) => claim(kitEqual(value, other), other),
    toStrictEqual: (other) => claim(kitEqual(value, other), other),
    toContain: (other) => claim(value.includes(other), other),
    toBeTruthy: () => claim(Boolean(value)),
    toBeFalsy: () => claim(!value),
    toBeUndefined: () => claim(value === undefined),
    toBeNull: () => claim(value === null),
    toHaveLength: (other) => claim(value.length === other, other),
  };
  return negate ? known : { ...known, get not() { return kitExpect(value, true); } };
}
function kitPart(name, ...rest) {
  const call = rest.findLast((one) => typeof one === "function");
  if (call) kitParts.push([[...kitAbove, name].join(" > "), name, call]);
}
function kitGroup(name, ...rest) {
  kitAbove.push(name);
  rest.findLast((one) => typeof one === "function")?.();
  kitAbove.pop();
}
for (const one of [kitPart, kitGroup]) one.skip = one.todo = () => {};
const kit = {
  test: kitPart, it: kitPart, specify: kitPart, describe: kitGroup, suite: kitGroup, expect: kitExpect,
  before: (call) => kitFirst.push(call), beforeAll: (call) => kitFirst.push(call),
  beforeEach: (call) => kitEach.push(call), after() {}, afterEach() {}, afterAll() {},
};
Object.assign(kitPart, kit);
"""
_RUN = f"""
async function kitRun() {{
  const wanted = %s;
  for (const call of kitFirst) await call();
  for (const [whole, name, call] of kitParts) {{
    if (wanted && !wanted.includes(name) && !wanted.includes(whole)) continue;
    let held = true;
    const end = Date.now() + {SECONDS} * 1000;
    for (let time = 0; held && time < {REPEAT} && Date.now() < end; time++) {{
      try {{
        for (const each of kitEach) await each();
        await call({{ test: kitPart, diagnostic() {{}} }});
      }} catch (error) {{
        held = false;
        // A test may leave something behind: yes or no says too little about the second time.
        if (time && typeof error?.actual === "boolean") continue;
        if (error?.name === "AssertionError" || error?.code === "ERR_ASSERTION") {{
          const said = "actual" in error ? `${{String(error.actual)}} ${{String(error.expected)}}` : error.message;
          console.log(`\\n{FAILS}${{name}}: ${{said.replace(/\\s+/g, " ").slice(0, 300)}}`);
        }}
      }}
    }}
    if (held) console.log(`\\n{PASSES}${{name}}`);
  }}
  console.log("\\n{ENDS}");
}}
kitRun();
"""


def make_plain(text: str, wanted: str, global_names: bool) -> str:
    """The text of a program that runs these tests; empty: that cannot be done. `wanted`: their names as JSON, or null
    for all; `global_names`: the runner provides its functions without an import."""
    if re.search(r"__dirname|__filename|import\.meta|\bmock\b|\bdone\b", text):
        return ""
    made, found = re.subn(rf"require\(\s*['\"](?:{_RUNNERS})['\"]\s*\)", "kitPart", text)
    imports = rf"(?m)^import\s+(?:([\w$]+)\s*,?\s*)?(?:\{{([^}}]*)\}})?\s*from\s*['\"](?:{_RUNNERS})['\"];?"
    made, also = re.subn(imports, _replace_import, made)
    if not found and not also and not global_names:
        return ""
    taken = [name for name in _NAMES if not re.search(rf"\b(?:const|let|var|function)\b[^=\n]*\b{name}\b", made)]
    given = f"const {{ {', '.join(taken)} }} = kit;\n" if global_names and not found and not also else ""
    return f"{_KIT}{given}{made}\n{_RUN % wanted}"


def _replace_import(found: re.Match[str]) -> str:
    default = f"const {found[1]} = kitPart; " if found[1] else ""
    named = re.sub(r"\s+as\s+", ": ", found[2] or "")
    return default + (f"const {{{named}}} = kit;" if named.strip() else "")
