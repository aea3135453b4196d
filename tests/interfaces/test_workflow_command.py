"""`bough workflow` from outside."""

from pathlib import Path

import pytest

from bough.core.planning.plan import Condition, Plan, Step
from bough.interfaces.terminal.plan_tree import render_plan
from tests.interfaces.shell import bough, here
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

TOP = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]
GOOD = """\
description = "Ship it."
[inputs]
what = { description = "what to ship" }
[[steps]]
name = "design"
action = "Think about {what}."
requires_testing = false
[[steps]]
name = "build"
action = { workflow = "parts/build.toml", inputs = { thing = "{what}" } }
[[steps]]
name = "push"
action = { run = "git push origin {what}" }
condition = "build.success"
"""
PART = """\
description = "Build {thing}."
[inputs]
thing = {}
[[steps]]
name = "make"
action = "Make {thing}."
test_command = "make {thing}"
"""
BAD = 'nmae = "x"\n[[steps]]\nname = "a"\naction = "{x}"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "workflows"
    (folder / "parts").mkdir(parents=True)
    (folder / "ship.toml").write_text(GOOD)
    (folder / "parts" / "build.toml").write_text(PART)
    return tmp_path


def test_check(project: Path, capsys: Capture) -> None:
    said = here(project, capsys, "workflow", "check", "workflows/ship.toml")
    assert (said.status, said.err) == (0, "")
    assert said.out == "✔ workflows/ship.toml  3 steps, 1 input\n"
    (project / "workflows" / "bad.toml").write_text(BAD)
    said = here(project, capsys, "workflow", "check")
    assert said.status == 2
    assert said.err.splitlines() == [
        "workflows/bad.toml:1: A workflow has no key `nmae`: did you mean `name`?",
        "workflows/bad.toml:4: There is no input `x`: declare it under [inputs]. Write `{{` for a literal brace.",
    ]
    assert "workflows/ship.toml" in said.out
    facts = here(project, capsys, "workflow", "check", "--json")
    assert facts.status == 2
    assert [(each["file"], len(each["problems"])) for each in facts.json] == [
        ("workflows/bad.toml", 2),
        ("workflows/ship.toml", 0),
    ]
    assert facts.json[0]["problems"][0]["line"] == 1


def test_check_names_files_from_where_one_stands(project: Path, capsys: Capture) -> None:
    (project / "workflows" / "parts" / "build.toml").write_text(PART + "rounds = 'x'\n")
    said = here(project / "workflows", capsys, "workflow", "check", "ship.toml")
    assert said.status == 2
    assert said.err == "parts/build.toml:8: `rounds` is invalid: expected a whole number, got text.\n"


def test_list(project: Path, capsys: Capture) -> None:
    (project / "workflows" / "bad.toml").write_text(BAD)
    said = here(project, capsys, "workflow", "list")
    assert said.status == 0
    own, _, with_bough = said.out.partition("\n\n")
    assert [" ".join(line.split()) for line in own.splitlines()] == [
        "bad ✘ 2 problems: bough workflow check workflows/bad.toml",
        "ship 3 steps Ship it.",
    ]
    assert "bug-fix" in with_bough
    facts = here(project, capsys, "workflow", "list", "--json").json
    assert facts[1]["name"] == "ship" and facts[1]["inputs"] == [
        {"name": "what", "type": "string"} | facts[1]["inputs"][0]
    ]


def test_list_where_there_are_none(tmp_path: Path, capsys: Capture) -> None:
    said = here(tmp_path, capsys, "workflow", "list")
    assert said.status == 0 and "no workflows here yet" in said.out
    listed = here(tmp_path, capsys, "workflow", "list", "--json").json
    assert all(each["shipped"] for each in listed) and "bug-fix" in [each["name"] for each in listed]
    assert here(tmp_path, capsys, "workflow", "show", "bug-fix").status == 0
    assert here(tmp_path, capsys, "workflow", "check").status == 0
    assert list(tmp_path.iterdir()) == []


def test_show_draws_the_tree(project: Path, capsys: Capture) -> None:
    assert here(project, capsys, "workflow", "show", "ship").out.splitlines() == [
        "ship  Ship it.",
        "inputs",
        "  what  string  required  what to ship",
        "",
        "goal        3 steps  Ship it.",
        "├─ design   Think about {what}.  no check",
        "├─ build    1 step  Build {what}.",
        "│  └─ make  Make {what}.  check: make {what}",
        "└─ push     if build.success  runs git push origin {what}",
    ]
    filled = here(project, capsys, "workflow", "show", "ship", "--input", "what=a b").out
    assert "runs git push origin 'a b'" in filled and "Make a b." in filled
    facts = here(project, capsys, "workflow", "show", "ship", "--json", "--input", "what=x").json
    push = facts["plan"]["goal"]["steps"][2]
    assert (push["run"], push["env"]) == ('git push origin "$INPUT_what"', {"INPUT_what": "x"})


def test_wrong_usage_is_one_sentence_with_the_way_out(project: Path, capsys: Capture) -> None:
    for args, part in {
        ("show",): "takes one FILE",
        ("show", "shp"): "did you mean `ship`?",
        ("show", "ship", "--input", "what"): "write --input NAME=VALUE",
        ("show", "ship", "--input", "wat=1"): "did you mean `what`?",
        ("check", "ship", "--input", "a=b"): "--input is for `bough workflow show`",
        ("list", "x"): "takes no FILE",
        ("chek",): "is not one of 'check', 'list', 'show'",
        ("check", "--dir", "nowhere"): "nowhere is not a folder",
    }.items():
        said = here(project, capsys, "workflow", *args)
        assert said.status == 2 and part in said.err and said.out == "", (args, said)
    assert bough(project, "workflow").status == 2


def test_no_file_leads_out_of_the_project(
    project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Capture
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.toml"
    outside.write_text('[[steps]]\nname = "a"\naction = "secret"\n')
    (project / "workflows" / "parts" / "build.toml").unlink()
    (project / "workflows" / "parts" / "build.toml").symlink_to(outside)
    said = here(project, capsys, "workflow", "check", "ship")
    assert said.status == 2 and "it leads out of the project" in said.err
    assert here(project, capsys, "workflow", "check", str(outside)).status == 0, "but a person may name any file"
    (project / "workflows" / "link.toml").symlink_to(outside)
    assert "secret" not in here(project, capsys, "workflow", "list").out
    named = here(project, capsys, "workflow", "show", "workflows/link.toml")
    assert named.status == 2 and "it leads out of the project" in named.err, named


def test_files_that_are_none(project: Path, capsys: Capture) -> None:
    (project / "workflows" / "latin.toml").write_bytes(b'name = "x"\n# caf\xe9\n')
    said = here(project, capsys, "workflow", "check", "latin")
    assert said.err == "workflows/latin.toml:2: This is not UTF-8 text: save the file as UTF-8.\n"
    (project / "workflows" / "big.toml").write_text("#" * 3_000_000)
    assert "more than 2,000,000 bytes" in here(project, capsys, "workflow", "check", "big").err
    (project / "workflows" / "evil.toml").write_text(
        '"\\u001b[31m" = 1\ndescription = "\\u001b]0;x\\u0007"\naction = "x"\n'
    )
    assert "\x1b" not in here(project, capsys, "workflow", "check", "evil").err


def test_the_examples_check_clean(capsys: Capture) -> None:
    said = here(TOP, capsys, "workflow", "check", "--json")
    assert said.status == 0
    assert len(said.json) >= 10 and all(each["problems"] == [] for each in said.json)


def test_what_is_special_about_a_step_is_drawn() -> None:
    leaf = Step("x", "X", role="critic", model="fast", on_error="retry", max_retries=3, requires_testing=False)
    loop = Step(
        "loop",
        steps=(leaf, Step("y", do="break", condition=Condition("contains", "x", "ok", negated=True))),
        repeat=4,
        until=Condition("empty", "x"),
        needs=("a", "b"),
    )
    fork = Step("fork", parallel=True, join="any", steps=(Step("z", "Z", plan_first=True, test_file="t.py"),))
    drawn = [
        "".join(text for text, _ in row).rstrip() for row in render_plan(Plan(Step("goal", "G", steps=(loop, fork))))
    ]
    assert drawn == [
        "goal     2 steps  G",
        "├─ loop  after a, b  2 steps  at most 4 passes until x.empty",
        "│  ├─ x  critic  fast model  retried at most 3 times  X",
        "│  └─ y  if not x.contains:ok  leaves the loop",
        "└─ fork  1 step at once, one is enough",
        "   └─ z  planned when it starts  Z  check: t.py",
    ]
