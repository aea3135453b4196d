"""Perl, with prove."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from bough.core.verdict.language import Language, Missing
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner


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

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        """List the test commands; those with a build come first if tests need its result: without lib/, or with C."""
        if "META6.json" in look.files:  # Raku is Perl's successor, and its tests have the same names.
            return [ProjectCommand("prove --ext .t --ext .rakutest -re 'raku -Ilib' t", "there is a META6.json")]
        found = [*super().projects(look)]
        compiled = any(path.endswith(".xs") for path in look)
        return found if look.has_folder("lib") and not compiled else found[::-1]


class Perl(Language):
    name = "perl"
    suffixes = ("t", "pl", "pm")
    case_path = "cases/{name}.pl"
    case_command = "perl -Ilib -I. {file}"
    case_end = "print '{mark}';"
    case_how = "A Perl script; `lib` and the top folder are on the path. It dies where something is not as asked."
    body = r"^sub (?!import\b)(\w+)\s*(?:\([^)]{0,999}\))?\s*\{"
    switch = 'die "broken on purpose" if 1 == {on};'
    interpreters = ("perl",)
    asserts = rf"is(?:_deeply|nt|a_ok)?|(?:un)?like|cmp_ok|{Language.asserts}"
    runners = (Prove(),)
    manifests = ("Makefile.PL", "Build.PL", "cpanfile")
    programs = frozenset({"prove"})
    dependency_files = r"(^|/)(cpanfile|Makefile\.PL|Build\.PL|META\.(json|yml)|dist\.ini)$"
    no_module = (
        r"Can't locate ([\w/]+)\.pm in @INC|Base class package \"([\w:]+)\" is empty"
        r"|[Ww]arning: prerequisite ([\w:]+) [\d.]+ not found"
    )
    setups = ((r"cpanfile|Makefile\.PL|Build\.PL", "cpanm --installdeps ."),)
    installs = "cpanm|cpan "
    gets = "cpan {}"
    debian = "lib{}-perl"

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        # A folder (`lib/URI/`) is no module.
        return super().find_missing(texts, manifests, {name for name in own if not name.endswith("/")})

    def find_top(self, module: str) -> str:
        return module.replace("/", "::")

    def find_declaration(self, module: str, manifests: Mapping[str, str]) -> str | None:
        """Find the manifest that names a module, or the one above it, whose package may contain it."""
        found, above = super().find_declaration(module, manifests), self.find_top(module).rpartition("::")[0]
        return super().find_declaration(above, manifests) if found is None and above else found
