"""What node's test runner is given so that it writes JUnit XML that names each test's file and groups.

The reporter that comes with node 20 names neither the file of a test nor marks what is no test at all: a file without a
single test is reported as a test that passed. So bough brings its own, as a `data:` address: no file has to be
readable from inside the sandbox, and nothing in the workspace can stand in for it.
"""

from __future__ import annotations

from urllib.parse import quote

_SOURCE = r"""
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { inspect } from 'node:util';

// Newlines too: in an attribute they would be read as spaces.
const clean = (text) => String(text ?? '')
  .replace(/\u001b\[[0-9;]*[A-Za-z]/g, '')
  .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
  .replace(/[&<>"\n\r\t]/g, (c) => `&#${c.charCodeAt(0)};`);

// A plain script that asserts is one test, as node counts it; a script that asserts nothing proves nothing.
const asserts = (file) => {
  try {
    return /\b(assert|expect|should|chai|tape?|uvu)\b/.test(readFileSync(file, 'utf8'));
  } catch {
    return false;
  }
};

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
      // A group failed because a test in it did: that one is told by itself.
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

NODE_REPORTER = "data:text/javascript," + quote(_SOURCE.strip(), safe="")
"""A value of `--test-reporter` that holds no space, quote or backslash, so that it can stand in NODE_OPTIONS."""
