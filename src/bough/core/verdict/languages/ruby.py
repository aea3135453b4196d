"""Ruby, with RSpec, which writes its own JSON to a file in addition to its usual output, and Minitest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

import msgspec

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import MOST_CASES, deduplicate, make_case
from bough.core.verdict.junit import MOST_TEXT
from bough.core.verdict.language import Language, PlainProgram, Wanted
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner, decode_report, strip_file
from bough.core.verdict.texts import Read

_OUTCOMES: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


class RSpec(Runner):
    name = "rspec"
    settings = r"\.rspec"
    program = ("rspec",)
    suffixes = (".rb",)
    manifests = ("Gemfile",)
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
        if (read := decode_report(report, _Report)) is None:
            return None
        cases = []
        for each in read.examples[:MOST_CASES]:
            own = (frame for frame in each.exception.backtrace or () if "/gems/" not in frame)
            message, trace = each.exception.message.strip(), "\n".join(own)[:MOST_TEXT]
            name = f"{each.file_path.removeprefix('./')}::{each.full_description}"
            outcome = _OUTCOMES.get(each.status, "skipped")
            cases.append(make_case(name, outcome, message, trace, each.run_time or 0.0, root))
        for number in range(read.summary.errors_outside_of_examples_count):
            cases.append(make_case(f"outside of examples {number + 1}", "error", "\n".join(read.messages)))
        return deduplicate(cases)

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if any(re.fullmatch(r"spec/.*_spec\.rb", path) for path in look):
            prefix = make_bundle_prefix(look)
            yield from (ProjectCommand(f"{way}rspec", "there is a spec/") for way in dict.fromkeys((prefix, "")))

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        return f"{make_bundle_prefix(look)}rspec {quote(path)}" if path.endswith("_spec.rb") else None


def make_bundle_prefix(look: ProjectFiles) -> str:
    return "bundle exec " if "Gemfile" in look.files else ""


class _Exception(msgspec.Struct, frozen=True):
    message: str = ""
    backtrace: list[str] | None = None


class _Example(msgspec.Struct):
    full_description: str = ""
    status: str = ""
    file_path: str = ""
    run_time: float | None = None
    exception: _Exception = _Exception()


class _Summary(msgspec.Struct, frozen=True):
    errors_outside_of_examples_count: int = 0


class _Report(msgspec.Struct):
    examples: list[_Example]
    summary: _Summary = _Summary()
    messages: list[str] = []


class Minitest(Runner):
    """Runs files of Minitest and test-unit, which run themselves."""

    name = "minitest"
    suffixes = (".rb",)
    manifests = ("Gemfile",)
    closes = (
        r"(?P<total>\d{1,9}) (?:runs|tests), \d+ assertions, (?P<failed>\d{1,9}) failures, (?P<failed2>\d{1,9}) errors"
        r"(?:, (?P<skipped>\d{1,9}) (?:skips|pendings))?.*"
    )
    named = (
        r"(?P<unit>(?:Failure|Error): )?(?P<test>(?(unit)\w.*?\([\w:]+\)|[A-Z][\w:]*#\S+?))"
        r"(?(unit)(?:: (?P<said>.*))?|(?: \[\S+\])?:)(?P<outcome>)"
    )
    repeated = r"\d+\) (?:Failure|Error):|=+"
    unnamed = r"(?m)^ *\d+\) Skipped:\n.*$"

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        tests = [path for path in look if re.fullmatch(r"test/(?:.*/)?(?:test_.*|.*_test)\.rb", path)]
        if not tests:
            return
        rake = "Rakefile" in look.files and re.search(r"TestTask|task\W+test\b", look.text("Rakefile"))
        every = """-e 'Dir["./test/**/{test_*,*_test}.rb"].sort.each { |file| require file }'"""
        for prefix in dict.fromkeys((make_bundle_prefix(look), "")):
            yield from [ProjectCommand(f"{prefix}rake test", "the task test of the Rakefile")] if rake else []
            yield ProjectCommand(f"{prefix}ruby -Ilib -Itest {every}", f"there are Ruby tests ({tests[0]})")

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"{make_bundle_prefix(look)}ruby -Ilib -Itest {quote(path)}"


_KIT = """\
class Kit
  class Fails < StandardError; end
  def self.kinds = (@kinds ||= [])
  def self.inherited(kind) = (Kit.kinds << kind; super)
  def setup = nil
  def kit_claim(held, *said) = held || raise(Fails, said.map(&:inspect).join(" "))
  def assert(held, message = nil) = kit_claim(held, held)
  def refute(held, message = nil) = kit_claim(!held, held)
  def assert_equal(a, b, message = nil) = kit_claim(a == b, a, b)
  def assert_same(a, b, message = nil) = kit_claim(a.equal?(b), a, b)
  def assert_nil(a, message = nil) = kit_claim(a.nil?, a)
  def assert_includes(a, b, message = nil) = kit_claim(a.include?(b), a, b)
  def assert_in_delta(a, b, by = 0.001, message = nil) = kit_claim((a - b).abs <= by, a, b)
  def refute_equal(a, b, message = nil) = kit_claim(a != b, a, b)
  def refute_nil(a, message = nil) = kit_claim(!a.nil?, a)
  def assert_raises(*kinds) = (begin; yield; rescue *kinds => error; return error; end; raise Fails, "nothing raised")
end
"""
_RUN = """
Kit.kinds.each do |kind|
  kind.instance_methods(false).grep(/\\Apart_/).sort.each do |name|
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1
    40.times do |time|
      break if Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
      one = kind.new
      one.setup
      one.public_send(name)
    rescue Kit::Fails => error
      puts "\\n~~ #{name}: #{error.message}" unless time > 0 && error.message =~ /\\A(true|false|nil)\\z/
      break
    rescue StandardError
      break
    end
  end
end
puts "\\n~~ done"
"""


class Ruby(Language):
    name = "ruby"
    suffixes = ("rb",)
    test_names = r"_(?:spec|test)\.rb$|^test_|_helper\.rb$"
    runners = (RSpec(), Minitest())
    manifests = ("Gemfile", "Rakefile")
    installed_runners = ("rspec", "rake", "minitest", "cucumber")
    programs = frozenset({*installed_runners, "bundle"})
    dependency_files = r"(^|/)(Gemfile|[^/]+\.gemspec)$"
    builds = r"(?:bundle exec )?rake compile\b"
    tests_by_default = r"(?:bundle exec )?rake"
    too_old = r"\brequires (Ruby) version [>=~ ]*(\d+(?:\.\d+)*)"
    no_module = r"cannot load such file -- ([\w-][\w./-]*)"
    no_package = r"Could not find (?:gem )?'?([\w-]+)[^\n]*in (?:any|locally|rubygems)|Bundler::GemNotFound"
    setups = (("Gemfile", "bundle install"), (r"[^/]+\.gemspec", "gem install --development ."))
    installs = "bundle install"

    def make_program(self, path: str, text: str, wanted: Wanted, command: str, read: Read) -> PlainProgram | None:
        """A plain program for tests whose classes are those of Minitest or of test-unit; None for others."""
        kinds = r"(?m)^(\s*)class\s+\w+\s*<\s*(?:Minitest::Test|MiniTest::Test|Test::Unit::TestCase)\b"
        made, found = re.subn(kinds, r"\1Class.new(Kit) do", text)
        made = re.sub(r"(?m)^\s*require\s*\(?\s*['\"](?:minitest|test/unit)[^\n]*", "", made)
        made = re.sub(r"\bdef test_", "def part_", made)
        if not found or re.search(r"require_relative|__dir__|__FILE__|test_helper|\bdescribe\b", made):
            return None
        program = f"{_KIT}{made}\n{_RUN}"
        return PlainProgram("ruby -Ilib program.rb", {"program.rb": program})
