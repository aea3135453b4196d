"""Perl, with prove."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from bough.core.verdict.language import ENDS, Language, PlainProgram, Wanted
from bough.core.verdict.runner import ClosingLine, Runner
from bough.core.verdict.texts import Read


class Prove(Runner):
    name = "prove"
    settings = r"\.proverc"
    suffixes = (".t",)
    one_file = "prove -l {file}"
    starts = (
        (r"t/[^/]+\.t", "", "prove -lr t"),
        (r"Makefile\.PL", "", "perl Makefile.PL && make test"),
        (r"Build\.PL", "", "perl Build.PL && ./Build test"),
    )

    named = r"(?P<test>\S+) \.{2,}(?: (?P<outcome>ok|skipped)(?:: .*| +\d+ ms)?)?"
    outcomes: ClassVar = {"ok": "passed", "skipped": "skipped"}
    repeated = r"Dubious, test returned .*|No subtests run|Failed \d+/\d+ subtests|All \d+ subtests passed"
    said_before = True
    closes = r"Files=\d+, Tests=(?P<total>\d{1,9}), +[\d.]+ wallclock secs .*\nResult: (?:PASS|NOTESTS|(?P<least>FAIL))"

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        ended = super().closing(lines)
        bad = re.findall(r"(?m)^\S.* \(Wstat: .* Tests: \d+ Failed: (\d{1,9})\)$", "\n".join(lines[-400:]))
        if ended is None or not (failed := sum(map(int, bad))):
            return ended
        return ended._replace(passed=max(ended.passed + ended.failed - failed, 0), failed=failed)


_KIT = """\
sub kit_tell { my ($held, $name, @said) = @_; return 1 if $held; local $_;
  print "\\n~~ ", $name // "", ": ", join(" ", map { defined $_ ? "$_" : "undef" } @said), "\\n"; return 0; }
sub ok ($;$) { kit_tell($_[0], $_[1], $_[0]) }
sub is ($$;$) { my ($a, $b, $name) = @_;
  kit_tell(defined $a && defined $b ? "$a" eq "$b" : !defined $a && !defined $b, $name, $a, $b) }
sub isnt ($$;$) { kit_tell("$_[0]" ne "$_[1]", $_[2], @_[0, 1]) }
sub like ($$;$) { kit_tell(scalar($_[0] =~ $_[1]), $_[2], $_[0]) }
sub cmp_ok ($$$;$) { my ($a, $by, $b, $name) = @_; kit_tell(eval "\\$a $by \\$b", $name, $a, $b) }
sub pass { 1 } sub diag { } sub note { } sub plan { } sub done_testing { }
sub fail { kit_tell(0, $_[0]) }
sub subtest { $_[1]->() }
"""


class Perl(Language):
    name = "perl"
    suffixes = ("t", "pl", "pm")
    test_names = r"\.t$"
    compares = rf"is|is_deeply|{Language.compares}"
    runners = (Prove(),)
    manifests = ("Makefile.PL", "Build.PL", "cpanfile")
    programs = frozenset({"prove"})
    builds = r"\./Build$|perl (?:Makefile|Build)\.PL"
    too_old = r"\b(Perl) v(\d+(?:\.\d+)*) required"
    dependency_files = r"(^|/)(cpanfile|Makefile\.PL|Build\.PL|META\.(json|yml)|dist\.ini)$"
    no_module = r"Can't locate ([\w/]+)\.pm in @INC"
    setups = ((r"cpanfile|Makefile\.PL|Build\.PL", "cpanm --installdeps ."),)
    installs = "cpanm|cpan "

    def find_top(self, module: str) -> str:
        return module.replace("/", "::")

    def make_program(self, path: str, text: str, wanted: Wanted, command: str, read: Read) -> PlainProgram | None:
        """The script itself, with the functions of `Test::More` in it. What it does not have ends the program."""
        made, found = re.subn(r"(?m)^use Test::(?:More|Simple)\b[^;]*;", "", text)
        if not found or re.search(r"\b(?:is_deeply|SKIP|TODO|FindBin|__FILE__)\b", text):
            return None
        return PlainProgram("perl -Ilib program.pl", {"program.pl": f'{_KIT}{made}\nprint "\\n{ENDS}\\n";\n'})
