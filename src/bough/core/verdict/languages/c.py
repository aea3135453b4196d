"""C, C++ and Objective-C, with CTest."""

from __future__ import annotations

from bough.core.verdict.language import Language
from bough.core.verdict.runner import Runner


class CTest(Runner):
    name = "ctest"
    settings = r"CTest(Custom|Config)\.cmake"
    closes = (
        r"\d{1,3}% tests passed, (?P<failed>\d{1,9}) tests? failed out of (?P<total>\d{1,9})|No tests were found!!!"
    )
    near_end = 400  # The list of failed tests follows.


class C(Language):
    name = "c"
    suffixes = ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm")
    test_names = r"[-_]tests?\.\w+$|^tests?[-_.]|Tests?\.\w+$"
    comment = "//"
    runners = (CTest(),)
    programs = frozenset({"ctest"})
    no_module = r"fatal error: ([\w+-]+(?:/[\w.+-]+)*)\.h(?:pp|xx)?: No such file"
    no_package = (
        r"Could NOT find (\w+)|No package '([\w.+-]+)' found|Package '?([\w.+-]+)'?, required by .* not found"
        r"|cannot find -l(\w+)|Dependency \"?([\w.+-]+)\"? not found|configure: error: (.*not found.*)"
    )


LANGUAGE = C()
