"""Zig. Tests are in the same files as the code that they test."""

import re

from bough.core.verdict.language import Language
from bough.core.verdict.runner import Runner
from bough.core.verdict.texts import find_closing_brace


class Zig(Runner):
    name = "zig"
    suffixes = (".zig",)
    starts = ((r"build\.zig", "", "zig build test"),)
    one_file = "zig test {file}"
    closes = (
        r"All (?P<total>\d{1,9}) tests? passed\."
        r"|(?P<passed>\d{1,9}) passed; (?P<skipped>\d{1,9}) skipped; (?P<failed>\d{1,9}) failed\."
    )


class ZigLanguage(Language):
    name = "zig"
    suffixes = ("zig",)
    comment = "//"
    runners = (Zig(),)
    manifests = ("build.zig",)
    programs = frozenset({"zig"})
    frames = r"/lib/std/|/lib/compiler/"

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        heads = re.finditer(r"(?m)^test\b[^{\n]*(?=\{)", text)
        return [(head.start(), find_closing_brace(text, head.end())) for head in heads]
