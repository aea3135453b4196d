"""What the documents say is tried out: examples run, links lead somewhere, tables name what there is."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bough.app.config import SECTIONS, Config
from bough.core.events import KINDS
from bough.core.rules import Rules
from bough.interfaces.cli.entry import bough as bough_command
from bough.testing import ScriptedModel, call
from tests.shipped import AGENT_ONLY

TOP = Path(__file__).parent.parent
PAGES = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_the_python_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, watching, night, script = re.findall(
        r"```python\n(.*?)```", (TOP / "docs/guides/python.md").read_text(), re.DOTALL
    )
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "total.py").write_text("def total(*numbers):\n    return 0\n")
    test = "import unittest\nfrom total import total\nclass T(unittest.TestCase):\n    def test(self):\n"
    (shop / "test_total.py").write_text(f"{test}        self.assertEqual(total(1, 2), 3)\n")
    names: dict[str, object] = {}
    exec(script, names)
    model = names["model"]
    assert isinstance(model, ScriptedModel)
    monkeypatch.chdir(tmp_path)
    exec(program.replace('model="openai:some-model"', "model=model"), {"model": model})
    said = capsys.readouterr().out
    assert "completed 0" in said
    assert "goal completed the check passed (1 test passed" in said
    (shop / "total.py").write_text("def total(*numbers):\n    return 0\n")
    exec(script, names)
    exec(
        f"import asyncio\nimport bough\n{watching}\nasyncio.run(watch())".replace('"openai:some-model"', "model"), names
    )
    said = capsys.readouterr().out
    assert "goal ToolFinished(" in said and said.endswith("completed\n")
    names["model"] = ScriptedModel(lambda prompt: call("done", summary="nothing"))
    exec(f"import asyncio\nimport bough\n{night}\nasyncio.run(night())".replace('"openai:some-model"', "model"), names)
    assert re.findall(r"^\S+", capsys.readouterr().out, re.MULTILINE) == ["totals-of-an-empty-cart-are-0", "add-json"]


def test_every_setting_is_documented() -> None:
    page = (TOP / "docs/reference/configuration.md").read_text()
    for section, keys in SECTIONS.items():
        assert f"`[{section}]`" in page
        for key in keys:
            assert f"`{key}`" in page, f"{section}.{key} is not documented"


def documented_defaults() -> Iterator[tuple[str, str, str]]:
    """Section, key and default of every setting whose default is written as a value, not in words."""
    section = ""
    for line in (TOP / "docs/reference/configuration.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:5]]
        if len(cells) < 4 or not cells[1].startswith("`"):
            continue
        section = cells[0].strip("`[]") or section
        keys = re.findall(r"`(\w+)`", cells[1])
        values = [value.strip().strip("`") for value in cells[2].split(", ")]
        if section in SECTIONS and len(keys) == len(values):
            yield from ((section, key, value) for key, value in zip(keys, values, strict=True))


def test_documented_defaults_are_the_code_s() -> None:
    wrong, compared = [], 0
    for section, key, written in documented_defaults():
        value = getattr(getattr(Config(), section), key)
        if re.fullmatch(r"[\d_.]+|true|false|auto|tree|llm|off", written):
            compared += 1
            said = str(value).lower() if isinstance(value, bool | str) else f"{float(value):g}"
            if said != (f"{float(written):g}" if written[0].isdigit() else written):
                wrong.append(f"[{section}] {key}: the page says {written}, the code {value}")
    assert wrong == []
    assert compared > 35


RULES = Rules()
WORDS = {2: "two", 3: "three", 4: "four", 8: "eight", 10: "ten"}
REPEATED = {
    ("README.md", r"bug hunter gets the failures, up to (\w+) times"): WORDS[RULES.max_repairs],
    ("docs/concepts.md", r"a bug hunter, up to (\d+)\)"): str(RULES.max_repairs),
    ("docs/guides/local-models.md", r"(\w+) answers in a row without a usable call"): WORDS[
        RULES.ladder.other_protocol_after
    ],
    ("docs/guides/local-models.md", r"up to (\d+) further attempts"): str(RULES.ladder.attempts),
}
"""Numbers that prose repeats, by the pattern that finds each."""


@pytest.mark.parametrize("place", REPEATED, ids=lambda place: place[0])
def test_prose_repeats_the_numbers_that_hold(place: tuple[str, str]) -> None:
    page, pattern = place
    assert re.findall(pattern, (TOP / page).read_text()) == [REPEATED[place]]


def test_the_map_leads_somewhere() -> None:
    page = (TOP / "docs/contributing/map.md").read_text()
    paths = re.findall(r"`((?:src|docs|tests|web)/[\w./-]+)`", page)
    assert len(paths) > 40
    assert [path for path in paths if not (TOP / path).exists()] == []


def test_every_design_note_is_found_from_the_index_and_the_map() -> None:
    notes = {f"design/{page.name}" for page in (TOP / "docs/design").glob("*.md")}
    linked = set(re.findall(r"\]\((design/[\w-]+\.md)\)", (TOP / "docs/index.md").read_text()))
    mapped = set(re.findall(r"`docs/(design/[\w-]+\.md)`", (TOP / "docs/contributing/map.md").read_text()))
    assert notes == linked == mapped


def test_every_event_is_documented() -> None:
    page = (TOP / "docs/reference/events.md").read_text()
    for event in KINDS.values():
        assert f"`{event.__name__}`" in page
        for name in event.__struct_fields__:
            assert f"`{name}`" in page, f"{event.__name__}.{name} is not documented"


def test_the_references_are_what_the_code_says() -> None:
    done = subprocess.run([sys.executable, str(TOP / "scripts/reference"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def list_command_lines(text: str) -> Iterator[str]:
    """What a page says to type: lines of its blocks, and code in its prose, that begin with `bough`."""
    for block in re.findall(r"(?ms)^ *```\w*\n(.*?)^ *```", text):
        for part in re.split(r"\n|&& |; |\| ", block):
            yield re.sub(r"^\s*(\$ |until )?", "", part)
    yield from (" ".join(code.split()) for code in re.findall(r"`([^`]+)`", re.sub(r"(?ms)^ *```.*?^ *```", "", text)))


def explain_unknown(line: str) -> str:
    """What of a command line bough does not know; empty: nothing."""
    words = shlex.split(re.sub(r"\s{2,}#.*", "", line).replace("…", "x"), comments=True)[1:]
    command: click.Command | None = bough_command
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(click.Context(command), words.pop(0))
    if command is None:
        return f"{line}: no such command"
    known = {"--help", "--version", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))}
    return "".join(f"{line}: no {word}" for word in words if word[:2] == "--" and word.split("=")[0] not in known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_commands_and_options_of_a_page_exist(page: Path) -> None:
    typed = [line for line in list_command_lines(page.read_text()) if line.startswith("bough ")]
    ignored = "bough (works|itself|COMMAND) "  # The reference also has sentences in its blocks.
    assert [wrong for line in typed if not re.match(ignored, line) and (wrong := explain_unknown(line))] == []


def test_an_unknown_option_is_found() -> None:
    assert explain_unknown("bough run 'A goal' --chek x") == "bough run 'A goal' --chek x: no --chek"
    assert explain_unknown("bough rum x") and not explain_unknown("bough backlog add x --needs y")


def list_messages() -> Iterator[str]:
    """Every text in the code, with `…` for what is filled in."""
    for path in (TOP / "src/bough").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_the_messages_of_the_faq_are_the_code_s() -> None:
    asked = re.findall(r'\*\*"([^"]+)"', (TOP / "docs/guides/faq.md").read_text())
    said = "\n".join(list_messages())
    assert len(asked) > 4
    assert [one for one in asked if one.rstrip("….").strip() not in said] == []
