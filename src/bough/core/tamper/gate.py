"""The comparison of the base with now, part by part. What only some kinds of files need is loaded when one changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config import compare as config
from bough.core.tamper.python.sources import Project
from bough.core.tamper.tricks import shadows
from bough.core.tamper.tricks.ground import Ground

MOST = 200
"""Findings that are handed on; more help nobody."""
_DOCUMENTED = ("py", "md", "rst", "txt")
"""Endings of files that can hold doctests."""


def compare(before: Mapping[str, str], after: Mapping[str, str], command: str) -> list[Tampering]:
    """What `bough.core.tamper.inspect` promises, for texts of which some differ."""
    found = {(one.path, one.line, " ".join(one.what.split())) for one in _Gate(before, after, command).findings()}
    return [Tampering(*one) for one in sorted(found)[:MOST]]


class _Gate:
    def __init__(self, before: Mapping[str, str], after: Mapping[str, str], command: str) -> None:
        self.before, self.after, self.command = before, after, command
        self.old, self.new = Project(before), Project(after)
        self.changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        self.large = [path for path in self.changed if self._longest(path) > files.LARGEST]
        self.small = [path for path in self.changed if self._longest(path) <= files.LARGEST]
        tests = [p for p in before if p.endswith(".py") and self.test_side(p) and files.name_of(p) != "conftest.py"]
        self.ground = Ground(before, tuple(sorted(tests)), after, command)

    def _longest(self, path: str) -> int:
        return max(len(self.before.get(path, "")), len(self.after.get(path, "")))

    def test_side(self, path: str) -> bool:
        return files.test_file(path) or (path.endswith(".py") and files.named(self.command, path))

    def findings(self) -> Iterator[Tampering]:
        yield from self._too_large()
        yield from _bounded(
            partial(config.compare, self.before, self.after, self.changed, self.small, self.command, self.ground.tests)
        )
        yield from shadows.shadows(self.before, self.after, self.ground, self.command)
        yield from self._python()
        yield from self._doctests()
        yield from self._other_languages()
        yield from self._recorded()

    def _too_large(self) -> Iterator[Tampering]:
        """Not read; that a large file changed in another way than by growing is all that can be said."""
        for path in self.large:
            if files.language(path) in ("javascript", "go") and not files.test_file(path):
                continue  # a bundle, or generated code
            old, new = self.before.get(path), self.after.get(path)
            if old is not None and new is None:
                yield Tampering(path, 0, f"{path} was removed")
            elif old is not None and new is not None and not (new.startswith(old) and self._may_grow(path)):
                yield Tampering(path, 0, f"{path} was changed and is too large to compare")
            elif old is None and files.test_file(path) and path.endswith(".py"):
                yield Tampering(path, 0, f"{path} is new and too large to read")

    def _may_grow(self, path: str) -> bool:
        """Too large at the base already, or no place where what is added can undo what was there."""
        if len(self.before[path]) > files.LARGEST or files.test_data(path):
            return True
        return bool(files.language(path)) and not self.test_side(path)

    def _python(self) -> Iterator[Tampering]:
        trees, texts = [], []
        for path in self.small:
            if not path.endswith(".py") or not self.test_side(path):
                continue
            was, now = self.old.unreadable(path), self.new.unreadable(path)
            if now == "broken" and not was and path in self.before:
                yield Tampering(path, 1, f"{path} no longer parses")
            elif was or now:
                texts.append(path)
            else:
                trees.append(path)
        if trees:
            try:
                yield from list(self._trees(trees))
            except RecursionError:
                texts += trees
        if texts:
            yield from _bounded(partial(self._texts, "python", texts))
        yield from _bounded(self._tricks)

    def _trees(self, paths: list[str]) -> Iterator[Tampering]:
        from bough.core.tamper.config import settings
        from bough.core.tamper.python import compare as python

        was, now = settings.settings_in(self.before, ""), settings.settings_in(self.after, "")
        both = {*self.before, *self.after}
        reach = (settings.reach(self.command, was, both), settings.reach(self.command, now, both))
        collecting = settings.collecting(was, now)
        yield from python.compare(python.Sides(self.old, self.new, paths, collecting, reach, self.command))
        for path in paths:
            old, new = self.old.source(path), self.new.source(path)
            if old is not None and new is not None:
                yield from shadows.taken_over(old, new)

    def _tricks(self) -> Iterable[Tampering]:
        paths = [path for path in self.small if path.endswith(".py") and not files.foreign(path)]
        if not paths:
            return []
        from bough.core.tamper.tricks import compare as tricks

        was = [source for path in paths if (source := self.old.source(path)) is not None]
        now = [source for path in paths if (source := self.new.source(path)) is not None]
        return tricks.compare(was, now, self.ground)

    def _doctests(self) -> Iterable[Tampering]:
        paths = [p for p in self.small if ">>>" in self.before.get(p, "") and files.ending(p) in _DOCUMENTED]
        if not paths or not any("doctest" in text for text in (self.command, *self._settings())):
            return []
        from bough.core.tamper.python import doctests

        return doctests.compare(self.before, self.after, paths)

    def _settings(self) -> Iterator[str]:
        """What the base says at its top of how tests are run."""
        for path, text in self.before.items():
            if "/" not in path and (files.config_file(path) or files.makefile(path)):
                yield text

    def _other_languages(self) -> Iterator[Tampering]:
        for language in files.LANGUAGES:
            paths = [path for path in self.small if files.language(path) == language and language != "python"]
            tests = [path for path in paths if files.test_file(path)]
            if tests:
                yield from _bounded(partial(self._texts, language, tests))
            if language == "javascript" and tests:
                from bough.core.tamper.text import imports

                yield from imports.compare(self.before, self.after, tests)
            if paths and language in ("javascript", "go", "rust"):
                yield from self._beside(language, paths)

    def _beside(self, language: str, paths: list[str]) -> Iterator[Tampering]:
        from bough.core.tamper.text import beside

        product = [path for path in paths if beside.product(path, language)]
        yield from _bounded(partial(beside.compare, self.before, self.after, product, language))
        if language == "javascript":
            tests = [path for path in paths if path not in product]
            yield from _bounded(partial(beside.compare, self.before, self.after, tests, language, "the assertions"))
        if language == "go":
            yield from beside.moved_out(self.before, self.after)
            yield from beside.copied(self.before, self.after, [path for path in paths if path.endswith("_test.go")])

    def _texts(self, language: str, paths: list[str]) -> Iterable[Tampering]:
        from bough.core.tamper.text import compare as text

        old = {path: self.before[path] for path in paths if path in self.before}
        new = {path: self.after[path] for path in paths if path in self.after}
        return text.compare(language, old, new)

    def _recorded(self) -> Iterable[Tampering]:
        data = [path for path in self.small if files.test_data(path) and not files.config_file(path)]
        aside = [p for p in self.small if p in self.before and not self.test_side(p) and not files.test_data(p)]
        aside = [p for p in aside if p.endswith(".py") or not files.watched(p, self.command)]
        if not data and not aside:
            return []
        from bough.core.tamper import recorded

        aside = [path for path in aside if recorded.expecting(path, self.before[path])]
        data += recorded.read_by_tests(aside, self.before)
        return recorded.compare(self.before, self.after, data)


def _bounded(step: Callable[[], Iterable[Tampering]]) -> list[Tampering]:
    """One part of the comparison; text that is nested too deeply for it is left to the other parts."""
    try:
        return list(step())
    except RecursionError:
        return []
