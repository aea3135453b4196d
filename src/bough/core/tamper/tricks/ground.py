"""What the base's tests are like, for whatever bends a test run only because of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bough.core.tamper import files


class Ground:
    """`texts`: all files of the base. `tests`: the paths of its Python tests. `now`: all files of now."""

    def __init__(
        self, texts: Mapping[str, str], tests: tuple[str, ...], now: Mapping[str, str], command: str = "pytest"
    ) -> None:
        self.texts, self.tests, self.now = texts, tests, now
        told = (text for path, text in texts.items() if files.makefile(path) or files.script(path))
        self.counted = any(re.search(r"\b(?:pytest|unittest|tox|nox)\b", text) for text in (command, *told))
        """The check is a runner that says what it ran. Of anything else the exit status is all that is known."""

    def _say(self, word: str, pattern: str) -> bool:
        """A test has the pattern. `word` is part of it, and quicker to look for."""
        found = re.compile(pattern, re.M)
        return any(word in self.texts[path] and found.search(self.texts[path]) for path in self.tests)

    def titled(self, name: str) -> bool:
        """A test function has the name."""
        return (
            name.startswith("test_")
            and name.isidentifier()
            and self._say(name, rf"^\s*(?:async\s+)?def\s+{re.escape(name)}\b")
        )

    def calls(self, name: str) -> bool:
        return self._say(name, rf"\b{re.escape(name)}\s*\(")

    def imports(self, module: str) -> bool:
        return self._say(module, rf"^\s*(?:from|import)\s+{re.escape(module)}\b")

    def module(self, name: str) -> str:
        """The file of the test side that a dotted name stands for; empty: none."""
        path = name.replace(".", "/").rstrip("/") + ".py"
        named = re.fullmatch(r"[\w.]+", name) is not None
        return path if named and (path in self.texts or path in self.now) and files.test_file(path) else ""

    def own(self, module: str) -> bool:
        """The project has a module of this name at its top."""
        places = (module, f"src/{module}", f"lib/{module}")
        inside = tuple(f"{place}/" for place in places)
        return any(f"{place}.py" in self.texts for place in places) or any(p.startswith(inside) for p in self.texts)
