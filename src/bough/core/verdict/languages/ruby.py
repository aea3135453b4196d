"""Ruby, with RSpec, which writes its own JSON to a file in addition to its usual output, and Minitest."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import make_case
from bough.core.verdict.junit import MOST_TEXT
from bough.core.verdict.language import Language
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner, read_json, strip_file

_OUTCOMES: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


class RSpec(Runner):
    name = "rspec"
    settings = r"\.rspec"
    program = ("rspec",)
    suffixes = (".rb",)
    closes = (
        r"(?P<total>\d{1,9}) examples?, (?P<failed>\d{1,9}) failures?(?:, (?P<skipped>\d{1,9}) pending)?"
        r"(?:, (?P<failed2>\d{1,9}) errors? occurred outside of examples)?"
    )

    placeholder = r"(?s)outside of examples \d+: .*loading \./(\S+?)\.\s.*cannot load such file -- \S*\1"

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        shown = "" if re.search(r"\s(-f|--format)\b", command) else "--format progress "
        return self.append(command, f"{shown}--format json --out {quote(report)}") or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, " ".join(f"--example {quote(strip_file(one))}" for one in ids))

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        return read_json(report, lambda found: _list_cases(found, root))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if any(re.fullmatch(r"spec/.*_spec\.rb", path) for path in look):
            yield ProjectCommand(f"{make_bundle_prefix(look)}rspec", "there is a spec/")

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        return f"{make_bundle_prefix(look)}rspec {quote(path)}" if path.endswith("_spec.rb") else None


def make_bundle_prefix(look: ProjectFiles) -> str:
    return "bundle exec " if "Gemfile" in look.files else ""


def _list_cases(read: dict[str, Any], root: str) -> Iterator[Case]:
    for each in read["examples"]:
        error = each.get("exception") or {}
        own = (frame for frame in error.get("backtrace") or () if "/gems/" not in frame)
        message, trace = error.get("message", "").strip(), "\n".join(own)[:MOST_TEXT]
        name = f"{each['file_path'].removeprefix('./')}::{each['full_description']}"
        outcome = _OUTCOMES.get(each["status"], "skipped")
        yield make_case(name, outcome, message, trace, each.get("run_time") or 0.0, root)
    for number in range(read.get("summary", {}).get("errors_outside_of_examples_count", 0)):
        yield make_case(f"outside of examples {number + 1}", "error", "\n".join(read.get("messages", ())))


class Minitest(Runner):
    """Runs the files of Minitest and test-unit, which are programs of their own."""

    name = "minitest"
    suffixes = (".rb",)
    closes = (
        r"(?P<total>\d{1,9}) (?:runs|tests), \d+ assertions, (?P<failed>\d{1,9}) failures, (?P<failed2>\d{1,9}) errors"
        r"(?:, (?P<skipped>\d{1,9}) (?:skips|pendings))?.*"
    )

    named = (
        r"(?P<unit>(?:Failure|Error): )?(?P<test>(?(unit)\w.*?\([\w:]+\)|[A-Z][\w:]*#\S+?))"
        r"(?(unit)(?:: (?P<said>.*))?|(?: \[\S+\])?:)(?P<outcome>)"
    )
    repeated = r"\d+\) (?:Failure|Error):|=+"
    left_out = r"(?m)^ *\d+\) Skipped:\n.*$"

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        tests = [path for path in look if re.fullmatch(r"test/(?:.*/)?(?:test_.*|.*_test)\.rb", path)]
        if not tests:
            return
        rake = "Rakefile" in look.files and re.search(r"TestTask|task\W+test\b", look.text("Rakefile"))
        every = """-e 'Dir["./test/**/{test_*,*_test}.rb"].sort.each { |file| require file }'"""
        prefix = make_bundle_prefix(look)
        yield from [ProjectCommand(f"{prefix}rake test", "the task test of the Rakefile")] if rake else []
        yield ProjectCommand(f"{prefix}ruby -Ilib -Itest {every}", f"there are Ruby tests ({tests[0]})")

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"{make_bundle_prefix(look)}ruby -Ilib -Itest {quote(path)}"


class Ruby(Language):
    name = "ruby"
    suffixes = ("rb",)
    case_path = "cases/{name}.rb"
    case_command = "ruby -Ilib -I. {file}"
    case_end = "puts '{mark}'"
    case_how = "A Ruby script; `lib` and the top folder are on the path. It raises where something is not as asked."
    body = r"^[ \t]*def (?:self\.)?([\w?!]+=?|\[\]=?)(?:\([^()\n]*\)|[^\n=;()]*)$"
    switch = '; raise "broken on purpose" if 1 == {on}'
    interpreters = ("ruby",)
    builds = ((r"Rakefile", r"ExtensionTask", "rake compile"),)
    runners = (RSpec(), Minitest())
    manifests = ("Gemfile", "Rakefile")
    programs = frozenset({"rspec", "rake", "minitest", "cucumber", "bundle"})
    dependency_files = r"(^|/)(Gemfile|gems\.rb|[^/]+\.gemspec)$"
    no_module = r"cannot load such file -- ([\w-][\w./-]*)"
    no_package = r"Could not find (?:gem )?'?([\w-]+)[^\n]*in (?:any|locally|rubygems)|Bundler::GemNotFound"
    setups = ((r"Gemfile|gems\.rb", "bundle install"), (r"[^/]+\.gemspec", "gem install --development ."))
    installs = "bundle install"
    gets = "gem install {}"
    debian = "ruby-{}"
