"""What an agent finds beside its task: a goal that waits for the person, not a larger change."""

from tests.journeys.conftest import Meet
from tests.journeys.model import Request, Turn, call
from tests.journeys.person import CHECK, RIGHT, SHOUT, TOTAL, goal, ran

FOUND = "Make `shout` in words.py return its text in capitals."


def finds(request: Request, turn: int) -> Turn | None:
    """An author that proposes before it works."""
    if turn:
        return None
    return [call("propose_goal", title=FOUND, why="words.py raises NotImplementedError.", files=["words.py"])]


def test_a_proposal_waits_until_it_is_accepted(meet: Meet) -> None:
    ann = meet(goal(author=finds), goal(SHOUT))
    ann.bough("backlog", "add", TOTAL, "--name", "total", "--check", CHECK, status=0)
    ann.bough("backlog", "run", status=0)
    # The night began nothing that nobody asked for, and the work has nothing of it.
    assert [each["name"] for each in ann.bough("backlog", "list", "--json").json] == ["total"]
    name = ann.latest()["run"]
    assert ann.git("diff", "--name-only", "main", f"bough/{name}").split() == ["shop.py"]
    (proposed,) = ann.bough("backlog", "list", "--proposed", "--json", status=0).json
    assert proposed["goal"] == FOUND and "NotImplementedError" in proposed["why"] and proposed["files"] == ["words.py"]
    for command in (("backlog", "list", "--proposed"), ("backlog", "report"), ("report", name)):
        assert proposed["name"] in ann.bough(*command).out, command
    with ann.page() as page:
        (night,) = page.home()["nights"]
        assert night["proposed"] == {proposed["name"]: FOUND}
        assert page.night("accept_goal", list="backlog", goal=proposed["name"])[0] == 200
    assert ann.bough("backlog", "list", "--proposed", "--json").json == []
    assert "is proposed" in ann.bough("backlog", "accept", proposed["name"], status=2).err
    accepted = ann.bough("backlog", "list", "--json").json[-1]
    assert accepted["standing"] == "ready" and not accepted.get("check")
    ann.bough("backlog", "edit", accepted["name"], "--check", CHECK, status=0)
    ann.bough("backlog", "run", status=0)
    assert RIGHT[SHOUT][1].splitlines()[1] in ann.bough("diff").out


def test_a_proposal_of_a_single_run_is_accepted_by_one_command(meet: Meet) -> None:
    ann = meet(goal(author=finds))
    name = ran(ann, TOTAL)
    (proposed,) = ann.bough("backlog", "list", "--proposed", "--json", status=0).json
    assert proposed["name"].startswith(name)
    assert "Added" in ann.bough("backlog", "accept", proposed["name"], status=0).out
    assert [each["source"] for each in ann.bough("backlog", "list", "--json").json] == [f"proposed: {proposed['name']}"]


def test_a_change_outside_the_tasks_files_is_named(meet: Meet) -> None:
    ann = meet(goal(files=dict((RIGHT[TOTAL], RIGHT[SHOUT]))))
    ann.bough("backlog", "add", TOTAL, "--name", "total", "--check", CHECK, "--files", "shop.py", status=0)
    ann.bough("backlog", "run", status=0)
    said = " ".join(ann.bough("report", "--full").out.split())
    assert "outside its task's files it changes words.py" in said
