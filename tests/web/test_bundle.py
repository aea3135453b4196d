"""The built pages: from these sources, small, and without markup made of text."""

import gzip
from pathlib import Path

from tests.web.page_types import write_types
from tests.web.sources import sources

TOP = Path(__file__).parents[2]
STATIC = TOP / "src/bough/interfaces/web/static"


def test_the_pages_are_built_from_these_sources() -> None:
    assert (STATIC / "sources.txt").read_text() == sources(), "web/ has changed: run scripts/web and commit it"


def test_the_types_of_the_pages_are_those_of_the_server() -> None:
    page = TOP / "web/src/types.ts"
    assert page.read_text() == write_types(), "the server's answers have changed: run scripts/web and commit it"


def test_the_pages_are_small() -> None:
    size = sum(len(gzip.compress((STATIC / name).read_bytes())) for name in ("index.html", "app.js", "app.css"))
    assert size <= 90_000


def test_no_page_makes_markup_of_text() -> None:
    web = TOP / "web" / "src"
    for file in web.rglob("*.ts*"):
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert forbidden not in file.read_text(), f"{file.name}: {forbidden}"
