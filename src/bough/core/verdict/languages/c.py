"""C, C++ and Objective-C, with CTest, Meson and Automake."""

import re
from collections.abc import Iterable
from typing import ClassVar

from bough.core.verdict.language import Language
from bough.core.verdict.paths import last_segment
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner


class CTest(Runner):
    name = "ctest"
    settings = r"CTest(Custom|Config)\.cmake"
    starts = (
        (
            r"CMakeLists\.txt",
            r"(?i)enable_testing|include\s*\(\s*CTest|add_test|add_subdirectory\s*\(\s*\"?tests?\b",
            "cmake -S . -B build-check && cmake --build build-check && "
            "ctest --test-dir build-check --output-on-failure",
        ),
    )
    closes = (
        r"\d{1,3}% tests passed, (?P<failed>\d{1,9}) tests? failed out of (?P<total>\d{1,9})|No tests were found!!!"
    )
    near_end = 400  # The list of failed tests follows the closing line.
    named = (
        r"\d+/\d+ Test +#\d+: (?P<test>\S.*?) \.{2,} *(?:\*\*\*)?(?P<outcome>Passed|Failed|Skipped|Not Run|Timeout"
        r"|Exception)\b.*"
    )
    outcomes: ClassVar = {"Passed": "passed", "Skipped": "skipped"}

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        # Find options for tests that are off by default, or that a condition reads and nothing declares.
        off = r"(?i)\boption\s*\(\s*(\w*TEST(?:S|ING)?)\s[^()]*\bOFF\s*\)|\bif\s*\(\s*(BUILD_TEST(?:S|ING))\s*\)"
        found = [one or other for one, other in re.findall(off, look.text("CMakeLists.txt"))]
        return _turn_on(super().projects(look), [f"{name}=ON" for name in dict.fromkeys(found)])


def _turn_on(found: Iterable[ProjectCommand], off: Iterable[str]) -> Iterable[ProjectCommand]:
    """Add to the commands the options (`off`, off by default) that make the project build its tests."""
    on = "".join(f" -D{option}" for option in off)
    return [hit._replace(command=hit.command.replace(" && ", f"{on} && ", 1)) for hit in found]


MAKE_INPUTS = r"(?:[^/]+/){0,4}(?:(?:GNUm|m|M)akefile|[^/]+\.mk)\.(?:am|in)"
"""Pattern for files from which a Makefile is generated."""
_HAS_CHECK = (
    r"(?m)^\s*(?:\w+_)?TESTS\s*\+?=|^(?P<target>check|test)\s*::?(?!\s*check-(?:am|recursive)|\s*\$\(BUILT)"
    r"|^check-(?:local|DEJAGNU)\s*:|\bdejagnu\b"
)


class Automake(Runner):
    """`make check`, which prints one table for each folder."""

    name = "automake"
    starts = (
        (r"configure", "", "./configure && make check"),
        (r"configure\.(?:ac|in)", "", "autoreconf -fi && ./configure && make check"),
    )
    named = r"(?P<outcome>PASS|XFAIL|SKIP|FAIL|XPASS|ERROR): (?P<test>.+)"
    outcomes: ClassVar = {"PASS": "passed", "XFAIL": "passed", "SKIP": "skipped"}
    unique_ids = "."
    closes = (
        r"# (?:PASS|XFAIL): +(?P<passed>\d{1,9})|# (?:FAIL|XPASS|ERROR): +(?P<failed>\d{1,9})"
        r"|# SKIP: +(?P<skipped>\d{1,9})"
    )
    in_parts = True

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        inputs = [path for path in look if re.fullmatch(MAKE_INPUTS, path)]
        hits = ((path, hit) for path in inputs for hit in re.finditer(_HAS_CHECK, look.text(path)))
        # Automake runs `check` in the folders below, but no other targets of these folders.
        outer = "Makefile.am" in look.files
        found = [hit for path, hit in hits if not (outer and "/" in path and hit["target"] == "test")]
        if inputs and not found and all(map(look.text, inputs)):
            return  # `make check` would do nothing.
        named = [hit["target"] for hit in found]
        target = "test" if named.count("test") > len(named) / 2 else "check"
        script = next((name for name in ("autogen.sh", "bootstrap", "bootstrap.sh") if name in look.files), "")
        # Many of these scripts run configure themselves; it takes long, so it is not run a second time.
        both = re.search(r"(?m)^[^#\n]*/configure\b", look.text(script)) and "NOCONFIGURE" not in look.text(script)
        instead = "autoreconf -fi" + " && ./configure" * bool(both)
        for hit in super().projects(look):
            made = hit.command.replace(instead, f"NOCONFIGURE=1 sh {script}") if script else hit.command
            for command in dict.fromkeys((made, hit.command)):
                yield hit._replace(command=command.replace("make check", f"make {target}"))


class Meson(Runner):
    name = "meson"
    starts = ((r"meson\.build", "", "meson setup build-check && meson test -C build-check"),)
    named = r"\d+/\d+ (?P<test>\S.*?) +(?P<outcome>OK|EXPECTEDFAIL|SKIP|[A-Z]{4,}) +[\d.]+ ?s\b.*"
    outcomes: ClassVar = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}
    closes = (
        r"Ok: +(?P<passed>\d{1,9})(?:\nExpected Fail: .*)?\nFail: +(?P<failed>\d{1,9})"
        r"(?:\nUnexpected Pass: +(?P<failed2>\d{1,9}))?(?:\nSkipped: +(?P<skipped>\d{1,9}))?"
        r"(?:\nTimeout: +(?P<failed3>\d{1,9}))?"
    )

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        every = "\n".join(look.text(path) for path in look if last_segment(path) == "meson.build")
        if not re.search(r"(?m)^\s*test\s*\(|\bsubdir\s*\(\s*'[^']*tests?\b", every):
            return []
        texts = look.text("meson_options.txt") + look.text("meson.options")
        off = re.findall(r"(?i)\boption\s*\(\s*'(\w*tests?)'\s*,[^()]*\bvalue\s*:\s*'?(false|disabled)\b", texts)
        values = {"false": "true", "disabled": "enabled"}
        return _turn_on(super().projects(look), [f"{name}={values[value]}" for name, value in off])


class C(Language):
    name = "c"
    suffixes = ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm")
    comment = "//"
    runners = (CTest(), Automake(), Meson())
    manifests = ("CMakeLists.txt", "meson.build", "configure.ac", "configure")
    programs = frozenset({"ctest", "cmake", "meson", "ninja"})
    builds = (
        (r"configure", "", "./configure && make"),
        (r"configure\.(?:ac|in)", "", "autoreconf -fi && ./configure && make"),
        (r"CMakeLists\.txt", "", "cmake -S . -B build && cmake --build build"),
    )
    debian = "lib{}-dev"
    body = (
        r"^(?!(?:typedef|struct|enum|union|class|namespace|extern|constexpr|template|else|do)\b)[A-Za-z_][^;{}()#=]{0,999}?(\w+)"
        r"\([^;{}]{0,999}\)\s*(?:const\s*)?\{"
    )
    switch = " if (1 == {on}) __builtin_trap();"
