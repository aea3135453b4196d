"""The worst of what people should not have to read. docs/contributing/style.md has the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parent.parent
BANNED = (
    "to be had",
    "planned anew",
    "made anew",
    "test(s)",
    "file(s)",
    "step(s)",
    "whoever is first counts",
    "say how well it goes",
    "nobody carries it out any more",
    "finished beside it",
)


def pages() -> Iterator[Path]:
    yield from (TOP / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    for folder, pattern in (("src", "*.py"), ("src/bough/prompts", "*.md"), ("docs", "*.md"), ("web/src", "*.ts*")):
        yield from (TOP / folder).rglob(pattern)


def found(text: str) -> list[str]:
    return [phrase for phrase in BANNED if phrase in text.lower()]


def test_no_page_has_banned_phrases() -> None:
    read = {path.relative_to(TOP).as_posix(): found(path.read_text("utf-8")) for path in pages()}
    assert {path: phrases for path, phrases in read.items() if phrases and not path.endswith("style.md")} == {}
    assert len(read) > 300


def test_a_banned_phrase_is_found() -> None:
    assert found("3 Test(s) failed: the model was not to be had") == ["to be had", "test(s)"]
