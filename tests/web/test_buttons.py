"""The inventory of buttons is that of the pages' source: who adds one has to say in which states it can be used."""

import re
from pathlib import Path

from tests.web.inventory import KEYS, list_names

TOP = Path(__file__).parents[2]
SOURCES = [
    *sorted((TOP / "web" / "src").glob("*.tsx")),
    *sorted((TOP / "src" / "bough" / "interfaces" / "web" / "question").iterdir()),
]
ACTS = re.compile(r"<button\b|<select\b|type=\"checkbox\"|createElement\(\"button\"\)")
NAMES = re.compile(r'data-action=(?:"([\w-]+)"|\{([^}]*)\})|dataset\.action = "([\w-]+)"')


def find_names(text: str) -> list[str]:
    """Names as they are written, or all that an expression chooses from."""
    found: list[str] = []
    for plain, chosen, made in NAMES.findall(text):
        found += re.findall(r'\? "([\w-]+)" : "([\w-]+)"', chosen)[0] if chosen else [plain or made]
    return found


def test_every_button_has_a_name() -> None:
    for source in SOURCES:
        text = source.read_text()
        for tag in ACTS.finditer(text):
            begin = tag.start() if "create" in tag.group() else text.rfind("<", 0, tag.start() + 1)
            around = text[begin : tag.end() + 120]
            assert "data-action=" in around or "dataset.action" in around, f"{source.name}: {around[:120]}"


def test_the_inventory_has_every_button_and_no_other() -> None:
    assert {name for source in SOURCES for name in find_names(source.read_text())} == list_names()


def test_the_inventory_has_every_key() -> None:
    text = (TOP / "web" / "src" / "home.tsx").read_text()
    deeds = text.partition("const deeds")[2].partition("};")[0]
    assert {*re.findall(r'^\s+"?([^\s"]+)"?: \(\) =>', deeds, re.M), "Enter"} == {*KEYS["home"].split()}
    moves = (TOP / "web" / "src" / "tree.tsx").read_text().partition("const moves")[2].partition("};")[0]
    assert {*re.findall(r"^\s+(\w+): \(\) =>", moves, re.M)} == {*KEYS["tree"].split()}
