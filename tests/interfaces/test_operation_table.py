"""The table of operations is whole: help reads from its source what it has, and a mistake is said in a sentence."""

import asyncio
import re
from pathlib import Path

import pytest

import bough
from bough.interfaces.cli.entry import COMMANDS, GROUPS, HOMES, read_operations
from bough.interfaces.mcp import Commands, make_server
from bough.operations import OPERATIONS, table
from bough.operations.table import Operation
from tests.interfaces.test_operations import TOY

COMMAND_FILES = Path(str(bough.__file__)).parent / "interfaces" / "cli"


def find_mistakes(made: dict[str, Operation], folder: Path) -> list[str]:
    """What is wrong with these operations, whose sources are in a folder: `bough --help` must read there what they
    are. `bough plan` makes a plan, and the operation `plan` answers one: it has no command."""
    sources, wrong = read_operations(folder), []
    read = {name: (group, about) for name, group, about in sources}
    wrong += [f"{name} is in the source, but not in the table" for name in read if name not in made]
    for name, one in made.items():
        first = one.about.partition("\n")[0]
        if one.group not in ("", *GROUPS):
            wrong.append(f"the group of {name} is none of {', '.join(GROUPS)}")
        own = COMMAND_FILES / f"{HOMES.get(name, (name, ''))[0]}.py"
        by_hand = own.exists() and not re.search(rf'(OPERATIONS\[|draw_command\()"{name}"', own.read_text("utf-8"))
        if name in COMMANDS and (one.group or by_hand) and name != "plan":
            wrong.append(f"there is a command `bough {name}` already")
        if not first:
            wrong.append(f"{name} has no docstring: its first line is the help")
        elif name not in read or read[name][1] != first:
            wrong.append(f"the help of {name} is not found in its source: `@operation(`, `async def` and docstring")
        elif read[name][0] != one.group:
            wrong.append(f"the group of {name} must be a literal, as `bough --help` reads it from the source")
    return wrong


def test_the_help_reads_from_the_source_what_the_table_has() -> None:
    folder = Path(str(table.__file__)).parent
    assert find_mistakes(OPERATIONS, folder) == []
    assert len(read_operations(folder)) == len(OPERATIONS) > 20


@pytest.mark.parametrize(
    ("right", "mistake", "sentence"),
    [
        ("", "", ""),
        ('group="Talk to it"', "group=TALK", "the group of cheer must be a literal"),
        ('"Talk to it"', '"Talk"', "the group of cheer is none of Begin, Watch"),
        ('    """Cheer for a run."""\n', "", "cheer has no docstring"),
        ('    """Cheer', '    r"""Cheer', "the help of cheer is not found"),
        ("def cheer", "def show", "there is a command `bough show` already"),
        ("def cheer", "def stop", "there is an operation `stop` already, in bough.operations.runs"),
        ("async def", "def", "the operation `cheer` must be an `async def`"),
        ("group=", "gruop=", "the operation `cheer` says `gruop=`, which is no field of Operation"),
    ],
)
def test_a_mistake_in_an_operation_is_said_in_a_sentence(
    right: str, mistake: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert right in TOY
    source = TOY.replace(right, mistake)
    monkeypatch.setattr(table, "OPERATIONS", before := {**OPERATIONS})
    (tmp_path / "toy.py").write_text(source)
    try:
        exec(source, {"TALK": "Talk to it", "__name__": "toy"})
    except TypeError as error:
        assert sentence and str(error).startswith(sentence)
        return
    wrong = find_mistakes({name: one for name, one in before.items() if name not in OPERATIONS}, tmp_path)
    assert [one[: len(sentence)] for one in wrong] == ([sentence] if sentence else [])


def test_a_result_of_another_type_is_named_with_its_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cheer(opened: object) -> str:
        return "Go!"

    (tmp_path / ".bough").mkdir()
    monkeypatch.setitem(OPERATIONS, "cheer", Operation(cheer, (), of="project", begins=True))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`cheer` must return an OperationResult, not str"):
        asyncio.run(bough.cheer(dir=str(tmp_path)))


def test_the_guide_names_every_tool() -> None:
    page = (Path(__file__).parents[2] / "docs/guides/other-agents.md").read_text("utf-8")
    cells = re.findall(r"^\| (`.+?) \|", page.partition("| tool |")[2].partition("\n\n")[0], re.MULTILINE)
    told = re.findall(r"`(\w+)`", " ".join(cells))
    tools = [one.name for one in asyncio.run(make_server(Commands(Path())).list_tools())]
    missing, gone = sorted({*tools} - {*told}), sorted({*told} - {*tools})
    assert not missing, f"docs/guides/other-agents.md lacks the tool(s): {', '.join(missing)}"
    assert not gone, f"docs/guides/other-agents.md names what is no tool: {', '.join(gone)}"
    assert len(told) == len(tools)
