"""The worst of what people should not have to read. docs/contributing/style.md has the rest."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

TOP = Path(__file__).parent.parent
BANNED = (
    "to be had",
    "made anew",
    "test(s)",
    "file(s)",
    "step(s)",
    "whoever is first counts",
    "say how well it goes",
    "nobody carries it out any more",
    "finished beside it",
    "leave away",
    "planned anew",
    "carried out",
    "carries out",
    "goes on where",
    "as it was at the base",
    "nobody knows",
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


def find_long(text: str) -> list[str]:
    """Lines of prose above 120 characters. Code, tables, headings and what cannot be broken may be longer."""
    prose = re.sub(r"(?ms)^\s*```.*?^\s*```$", "", text)
    long = [line for line in prose.splitlines() if len(line) > 120 and not line.lstrip().startswith(("|", "#"))]
    return [line for line in long if not line.lstrip("- ").startswith("`")]


def test_prose_is_wrapped() -> None:
    wrapped = [page for page in pages() if page.suffix == ".md" and not {"prompts", "reference"} & set(page.parts)]
    long = {page.name: find_long(page.read_text(encoding="utf-8")) for page in wrapped if find_long(page.read_text())}
    assert not long, "wrap prose at 120 characters, with the `mdformat` line of CONTRIBUTING.md"
    assert find_long(f"A {'word ' * 30}") and not find_long(f"| a {'word ' * 30} |")


PARTICIPLE = re.compile(
    r"(?:.*[a-z])?_?(?:[A-Z][a-z]*(?:[^e]ed|ept|own|aid|eard|eld|iven)|Begun|Built|Caught|Chosen|Done|Found|Gone|Held|Left|Lost"
    r"|Made|Met|Overflown|Ran|Seen|Sent|Spent|Stuck|Taken|Told|Undone|Unsent|Worn|Written)"
)
"""Names of classes that end with a past participle: `Tried`, `_Kept`, `TurnEnded`."""
NOUNS = {"Busted"}
"""Programs that are called like that."""


def find_participles(sources: Iterable[str]) -> list[str]:
    """Classes named by a participle. An event may be (it says what happened), and so may an error with its subject."""
    bases: dict[str, set[str]] = {"Exception": set()}
    for node in (node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
        bases.setdefault(node.name, set()).update(ast.unparse(base).rpartition(".")[2] for base in node.bases)

    def descends(name: str, ancestors: tuple[str, ...]) -> bool:
        return name.endswith(ancestors) or any(
            descends(base, ancestors) for base in bases.get(name, ()) if base != name
        )

    named = [name for name in bases if PARTICIPLE.fullmatch(name) and name not in NOUNS and "Event" not in bases[name]]
    return sorted(
        name for name in named if not (re.search("[a-z][A-Z]", name) and descends(name, ("Exception", "Error")))
    )


def test_no_class_is_named_by_a_participle() -> None:
    read = [path.read_text("utf-8") for top in ("src", "tests", "bench") for path in sorted((TOP / top).rglob("*.py"))]
    pages = "".join(path.read_text("utf-8") for path in (TOP / "web/src").glob("*.ts*"))
    read += [f"class {name}: ..." for name in re.findall(r"(?:interface|class) (\w+)", pages)]
    assert find_participles(read) == []


def test_a_participle_is_found() -> None:
    names = (
        "Tried",
        "_Kept",
        "TurnEnded",
        "CheckedWork",
        "Feed",
        "Finished(Event)",
        "Refused(Exception)",
        "KeyLost(OSError)",
    )
    assert find_participles(f"class {name}: ..." for name in names) == ["Refused", "Tried", "TurnEnded", "_Kept"]
