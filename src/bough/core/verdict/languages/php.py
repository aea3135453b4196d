"""PHP, with PHPUnit, which writes JUnit XML in addition to its usual output."""

import re
from collections.abc import Iterable, Sequence
from shlex import quote

from bough.core.verdict.language import Language
from bough.core.verdict.paths import parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner, strip_file


class PhpUnit(Runner):
    name = "phpunit"
    settings = r"phpunit\.xml.*|phpunit\.dist\.xml"
    program = ("phpunit",)
    interpreters = ("php",)
    suffixes = (".php",)
    report_arguments = "--log-junit {report}"
    reports_already = "--log-junit"
    one_file = "vendor/bin/phpunit {file}"
    starts = (
        (r"phpunit(?:\.dist)?\.xml(?:\.dist)?", "", "vendor/bin/phpunit"),
        (r"composer\.json", r"\"test\"\s*:", "composer test"),
        (r"config\.m4", r"PHP_NEW_EXTENSION|PHP_ARG_", "phpize && ./configure && NO_INTERACTION=1 make test"),
    )
    closes = (
        r"OK \((?P<total>\d{1,9}) tests?, \d+ assertions?\)|No tests executed!"
        r"|Tests: (?P<total2>\d{1,9}), Assertions: \d+"
        r"(?:, (?:Errors: (?P<failed>\d{1,9})|Failures: (?P<failed2>\d{1,9})|Skipped: (?P<skipped>\d{1,9})"
        r"|Incomplete: (?P<skipped2>\d{1,9})|[A-Z][A-Za-z ]+: \d{1,9}))*\."
    )

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        found = [*super().projects(look)]
        yield from found
        program, below = ("vendor/bin/phpunit", "") if "composer.json" in look.files else ("phpunit", "(?:[^/]+/){0,2}")
        named = rf"({below}tests?)/(?:.*/)?(?:\w+Test\.php|[^/]+\.phpt)"
        tests = next(filter(None, (re.fullmatch(named, path) for path in look)), None)
        if tests is not None and not any("make" in hit.command for hit in found):
            inside = parent_folder(tests[1])  # In PEAR's layout the package is installed from this folder.
            paths = f" --include-path {quote(inside)}" * bool(inside)
            yield ProjectCommand(f"{program}{paths} {quote(tests[1])}", f"there is a {tests[0]}")

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        # `Acme.BufferTest > testInsert with data set "x"` becomes `Acme\BufferTest::testInsert`.
        plain = (strip_file(one).split(" with data set ")[0].replace(" > ", "::") for one in ids)
        names = sorted({re.escape(name).replace(r"\.", ".") for name in plain})
        return self.append(command, f"--filter {quote('/(' + '|'.join(names) + ')( with data set .*)?$/')}")


class Php(Language):
    name = "php"
    suffixes = ("php",)
    case_path = "cases/{name}.php"
    case_command = "php -d zend.assertions=1 -d assert.exception=1 {file}"
    case_end = "echo '{mark}';"
    case_how = "A PHP script (`<?php` first) that requires the product from `__DIR__` and compares with `assert`."
    comment = "//"
    runners = (PhpUnit(),)
    manifests = ("phpunit.xml", "composer.json")
    programs = frozenset({"phpunit", "pest", "simple-phpunit"})
    task_files = r"composer\.json"
    dependency_files = r"(^|/)composer\.json$"
    no_package = (
        r"[Ff]ail\w+ (?:opening|to open).*vendor/autoload\.php|Class \"?(PHPUnit\\[\w\\]+)\"? not found"
        r"|Could not open input file: vendor/\S+|You need to set up the project dependencies"
    )
    setups = ((r"composer\.json", "composer install"),)
    installs = "composer (?:install|update)"
    body = r"\bfunction\s+&?(\w+)\s*\([^{};]{0,999}\)\s*(?::\s*[\w?|\\]+\s*)?\{"
    switch = 'if (1 == {on}) throw new \\Exception("broken on purpose");'
    interpreters = ("php",)
