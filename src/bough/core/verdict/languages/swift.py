"""Swift."""

from bough.core.verdict.language import Language


class Swift(Language):
    name = "swift"
    suffixes = ("swift",)
    comment = "//"
    programs = frozenset({"swift"})
    body = r"\bfunc\s+(\w+)[^{}\n]*\{"
    switch = ' if 1 == {on} { fatalError("broken on purpose") } '
