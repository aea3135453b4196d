"""A night: everything that a person does to a list of goals, and what is there in the morning."""

import json
import signal
import threading
import time
from typing import Any

import pytest

from bough.services.night import OFTEN
from tests.journeys.conftest import Meet
from tests.journeys.model import Goal, Hold, Request, text_of
from tests.journeys.person import CHECK, CLAMP, PATIENCE, RIGHT, SHOUT, SHOWN, TOTAL, Person, goal, wrong_at_first
from tests.sampling import sample

EVENING = {"total": TOTAL, "shout": SHOUT, "clamp": CLAMP}


def listed(ann: Person, *names: str) -> None:
    """The evening: goals are added, each with its name and check."""
    for name in names or EVENING:
        ann.bough("backlog", "add", EVENING[name], "--name", name, "--check", CHECK, status=0)


def morning(ann: Person) -> dict[str, dict[str, Any]]:
    """The goals of the report, by name."""
    return {each["name"]: each for each in ann.bough("backlog", "report", "--json").json["goals"]}


def standing(ann: Person) -> dict[str, str]:
    return {each["name"]: each["standing"] for each in ann.bough("backlog", "list", "--json", status=0).json}


def at_home(night: dict[str, Any]) -> dict[str, str]:
    """What the first page shows of each goal."""
    return {each["name"]: each["kind"] for group in night["groups"] for each in group["goals"]}


def test_an_evening_a_night_and_a_morning(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT), goal(CLAMP))
    ann.bough("backlog", "add", TOTAL, "--check", CHECK, status=0)
    ann.bough("backlog", "add", SHOUT, "--name", "shout", "--check", CHECK, "--priority", "1", status=0)
    ann.bough("backlog", "add", CLAMP, "--name", "clamp", "--check", CHECK, "--needs", "shout", status=0)
    assert "shout" in ann.bough("backlog", "list", status=0).out
    ann.bough("backlog", "run", "--jobs", "2", status=0)
    ann.bough("backlog", "report", "--html", "night.html", "--md", "night.md", status=0)
    assert TOTAL in ann.read("night.md") and "night" in ann.read("night.html")
    page = morning(ann)
    assert {each["kind"] for each in page.values()} == {"proven"}
    # The clamp began from the work of what it needs.
    assert ann.git("show", f"{page['clamp']['branch']}:words.py") == RIGHT[SHOUT][1]
    assert RIGHT[CLAMP][1].splitlines()[1] in ann.bough("diff", page["clamp"]["run"]).out
    ann.git("merge", "-q", page["clamp"]["branch"])
    assert ann.read("bounds.py") == RIGHT[CLAMP][1]
    ann.bough("check", status=0)
    with ann.page() as browser:
        assert set(at_home(browser.home()["nights"][0]).values()) == {"proven"}


def test_lists_from_files_of_every_kind(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT), goal(CLAMP))
    ann.write(
        "goals.md",
        f"- [ ] {TOTAL}\n  - check: {CHECK}\n- [ ] {SHOUT}\n  - priority: 1\n  - check: {CHECK}\n- [x] Paint it.\n",
    )
    ann.write("goals.toml", f'[[goals]]\ngoal = "{CLAMP}"\nname = "clamp"\ncheck = "{CHECK}"\nlabels = ["math"]\n')
    line = {"goal": "Write a poem.", "name": "poem", "rounds": 5}
    for name in ("goals.md", "goals.toml"):
        ann.bough("backlog", "add", "--file", name, status=0)
    ann.bough("backlog", "add", "--file", "-", stdin=json.dumps(line) + "\n", status=0)
    goals = ann.bough("backlog", "list", "--json", status=0).json
    assert [each["goal"] for each in goals][:1] == [SHOUT]
    assert len(goals) == 4
    assert [each["name"] for each in ann.bough("backlog", "list", "--label", "math", "--json").json] == ["clamp"]
    ann.bough("backlog", "drop", "poem", status=0)
    ann.bough("backlog", "run", status=0)
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}
    assert len(ann.git("branch", "--list", "bough/*").split()) == 3
    assert ann.bough("backlog", "report").status == 0


def test_the_list_is_edited_reordered_and_dropped_before_the_night(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT), goal(CLAMP))
    listed(ann)
    ann.bough("backlog", "add", "Sing.", "--name", "sing", status=0)
    ann.bough("backlog", "edit", "sing", "--goal", "Dance.", "--priority", "3", "--needs", "total", status=0)
    ann.bough("backlog", "edit", "sing", "--no-needs", status=0)
    ann.bough("backlog", "move", "clamp", "--before", "total", status=0)
    assert [each["name"] for each in ann.bough("backlog", "list", "--json").json] == ["sing", "clamp", "total", "shout"]
    ann.bough("backlog", "move", "clamp", "--last", status=0)
    ann.bough("backlog", "drop", "sing", status=0)
    assert list(standing(ann)) == ["total", "shout", "clamp"]
    with ann.page() as page:
        assert page.night("move_goal", list="backlog", goal="clamp", before="total")[0] == 200
        assert page.night("edit_goal", list="backlog", goal="shout", fields={"priority": 2})[0] == 200
        assert page.night("drop_goal", list="backlog", goal="total")[0] == 200
        assert page.night("add_goal", list="backlog", fields={"goal": TOTAL, "check": CHECK})[0] == 200
    order = [each["name"] for each in ann.bough("backlog", "list", "--json").json]
    assert order[:2] == ["shout", "clamp"] and len(order) == 3
    ann.bough("backlog", "run", status=0)
    began = [request for role, request in ann.model.asked if role == "gate"]
    assert [next(text for text in EVENING.values() if text in str(each)) for each in began] == [SHOUT, CLAMP, TOTAL]
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}


def test_issues_become_goals(meet: Meet) -> None:
    ann = meet(goal())
    issues = [{"number": 7, "title": TOTAL, "body": "", "labels": [], "url": "https://x/7"}]
    said = ann.bough("backlog", "import", "github", "--stdin", "--yes", stdin=json.dumps(issues), status=0)
    assert "7" in said.out
    (only,) = ann.bough("backlog", "list", "--json").json
    # The text of an issue sets no check.
    assert not only.get("check")
    ann.bough("backlog", "edit", only["name"], "--check", CHECK, status=0)
    ann.bough("backlog", "run")
    (done,) = morning(ann).values()
    assert done["kind"] == "proven"
    assert ann.git("show", f"{done['branch']}:shop.py") == RIGHT[TOTAL][1]
    # Importing again adds nothing twice.
    ann.bough("backlog", "import", "github", "--stdin", "--yes", stdin=json.dumps(issues))
    assert len(ann.bough("backlog", "list", "--json").json) == 1


def test_the_end_of_a_night_looks_at_a_main_that_has_moved(meet: Meet) -> None:
    """Somebody commits while the night works: what is proven is checked on that, once and by itself."""
    ann = meet(goal(), goal(SHOUT))
    listed(ann, "total", "shout")
    culprit: list[str] = []

    def gate(request: Request) -> None:
        if not culprit:
            ann.write("shop.py", "def total(*numbers):\n    return 0\n")
            ann.commit("Another total.")
            culprit.append(ann.git("rev-parse", "HEAD").strip())

    ann.model.roles["gate"] = gate
    ann.bough("backlog", "run", "--jobs", "1", status=0)
    page = morning(ann)
    assert page["total"]["rechecked"] == f"conflicts with {culprit[0][:10]} in shop.py"
    assert page["shout"]["rechecked"] == f"proven at {culprit[0][:10]}"
    assert f"on main: proven at {culprit[0][:10]}" in " ".join(ann.bough("backlog", "report").out.split())
    with ann.page() as browser:
        words = [
            word for group in browser.home()["nights"][0]["groups"] for each in group["goals"] for word in each["words"]
        ]
        assert any(f"on main: conflicts with {culprit[0][:10]}" in word for word in words)
    assert [ann.kinds(page[name]["run"]).count("Rechecked") for name in ("total", "shout")] == [1, 1]


def test_proven_branches_come_together(meet: Meet) -> None:
    other = "Make `total` in shop.py count its arguments."
    count = Goal(
        other,
        {"shop.py": "def total(*numbers):\n    return len(numbers)\n"},
        {other: "from shop import total\nassert total(7, 7) == 2"},
    )
    ann = meet(goal(), goal(SHOUT), count)
    listed(ann, "total", "shout")
    ann.bough("backlog", "add", other, "--name", "count", "--check", CHECK, status=0)
    night = ann.bough("backlog", "run", "--apply-together", "night-1", status=0)
    assert "night-1" in night.out
    page = morning(ann)
    assert {each["kind"] for each in page.values()} == {"proven"}
    # One of the two that change the same lines is left out, and the page names the file.
    assert "shop.py" in page["count"]["together"], page["count"]
    assert ann.git("show", "night-1:shop.py") == RIGHT[TOTAL][1]
    assert len(ann.git("log", "--oneline", "main..night-1").splitlines()) == 2
    ann.git("merge", "-q", "night-1")
    ann.bough("check", status=0)
    with ann.page() as browser:
        shown = browser.home()["nights"][0]
        assert (shown["branch"], shown["left_out"]) == ("night-1", 1)


def test_the_persons_own_branch_is_left_alone(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT))
    ann.git("branch", "night-1")
    before = ann.git("rev-parse", "night-1")
    listed(ann, "total", "shout")
    said = ann.bough("backlog", "run", "--apply-together", "night-1")
    assert ann.git("rev-parse", "night-1") == before
    if said.status == 2:  # Told before anything begins: the person chooses another name.
        assert "night-1" in said.all
        ann.bough("backlog", "run", "--apply-together", "night-2", status=0)
    assert "Together on the branch night-1" not in ann.bough("backlog", "report").out
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}
    assert len(ann.git("branch", "--list", "bough/*").split()) == 2


def test_a_night_stopped_and_continued_at_the_page(meet: Meet) -> None:
    hold = Hold(at=0)
    ann = meet(goal(author=hold), goal(SHOUT))
    listed(ann, "total", "shout")
    assert "nothing to stop" in ann.bough("backlog", "stop", status=2).err
    with ann.page() as page:
        assert page.night("start_night", list="backlog", jobs=1)[0] == 200
        assert hold.reached.wait(PATIENCE)
        assert page.home()["nights"][0]["working"]
        assert page.night("stop_night", list="backlog")[0] == 200
        hold.free.set()
        ann.wait(lambda: not page.home()["nights"][0]["working"], "the night stops")
        assert ann.bough("backlog", "report").status == 6
        assert page.night("start_night", list="backlog", jobs=1)[0] == 200
        ann.wait(lambda: set(at_home(page.home()["nights"][0]).values()) == {"proven"}, "every goal is proven")
        ann.wait(lambda: not page.home()["nights"][0]["working"], "the night ends")
    ann.bough("backlog", "report", status=0)
    assert ann.git("show", f"{morning(ann)['total']['branch']}:shop.py") == RIGHT[TOTAL][1]


def test_ctrl_c_in_the_night_and_the_same_command_again(meet: Meet) -> None:
    hold = Hold(at=1)
    ann = meet(goal(author=hold), goal(SHOUT))
    listed(ann, "total", "shout")
    night = ann.start("backlog", "run")
    assert hold.reached.wait(PATIENCE)
    night.send_signal(signal.SIGINT)
    hold.free.set()
    assert ann.end(night).status == 6
    assert standing(ann)["shout"] == "ready"
    ann.bough("backlog", "run", status=0)
    assert len(ann.runs()) == 2
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}
    ann.bough("show", morning(ann)["total"]["run"], status=0)


def test_a_goal_that_was_given_up_is_edited_and_tried_again(meet: Meet) -> None:
    hopeless = "Make `total` in shop.py multiply its arguments."

    bad = Goal(
        hopeless,
        {"shop.py": "def total(*numbers):\n    return 1\n"},
        {hopeless: "from shop import total\nassert total(2, 3) == 6"},
    )
    ann = meet(bad, goal(), goal(SHOUT))
    ann.bough("backlog", "add", hopeless, "--name", "total", "--check", CHECK, status=0)
    listed(ann, "shout")
    ann.bough("backlog", "run", "--give-up", status=3)
    page = morning(ann)
    assert (page["total"]["kind"], page["shout"]["kind"]) == ("given_up", "proven")
    assert page["total"]["branch"] == ""
    first = page["total"]["spend"]["rounds"] + page["shout"]["spend"]["rounds"]
    ann.bough("backlog", "edit", "total", "--goal", TOTAL, status=0)
    ann.bough("backlog", "run", status=0)
    again = ann.bough("backlog", "report", "--json").json
    assert {each["kind"] for each in again["goals"]} == {"proven"}
    assert len(ann.runs()) == 3
    assert ann.git("show", f"{morning(ann)['total']['branch']}:shop.py") == RIGHT[TOTAL][1]
    assert first > 0


def test_two_processes_share_a_list(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT), goal(CLAMP))
    listed(ann)
    nights = [ann.start("backlog", "run") for _ in range(2)]
    assert [ann.end(night).status for night in nights] == [0, 0]
    # Each goal is claimed, and never taken twice.
    assert len(ann.runs()) == 3
    assert sorted(each["goal"] for each in ann.runs()) == sorted(EVENING.values())
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}
    ann.bough("backlog", "report", status=0)


def test_a_goal_is_dropped_and_another_added_during_the_night(meet: Meet) -> None:
    hold = Hold(at=0)
    ann = meet(goal(author=hold), goal(SHOUT), goal(CLAMP))
    listed(ann, "total", "shout")
    night = ann.start("backlog", "run")
    assert hold.reached.wait(PATIENCE)
    ann.bough("backlog", "drop", "total", status=0)
    listed(ann, "clamp")
    time.sleep(2 * OFTEN)  # The night has looked at the list since: nothing else shows that it did.
    hold.free.set()
    assert ann.end(night).status == 0
    assert set(standing(ann)) == {"shout", "clamp"}
    # The run of the dropped goal and its work stay.
    assert [run["status"] for run in ann.runs() if run["goal"] == TOTAL] == ["stopped"]
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}
    ann.bough("show", status=0)


SHARP = "from words import shout\nassert shout('groß') == 'GROSS'"
VAGUE = {
    "goal": "shout",
    "kind": "vague",
    "says": "“capitals” of what?",
    "question": "Should `ß` become SS?",
}


def test_the_goals_are_read_in_the_evening(meet: Meet) -> None:
    """Each once, and again when the person has changed it; what that costs is in the night's sum."""
    ann = meet(goal(), goal(SHOUT, cases={SHOUT: SHOWN[SHOUT], "A ß becomes SS.": SHARP}))
    ann.model.roles["reader"] = lambda request: ann.model.form(
        request, findings=[VAGUE] if "### shout" in text_of(request) and "ß becomes" not in text_of(request) else []
    )
    listed(ann, "total", "shout")
    ann.bough("backlog", "add", "Sing.", "--name", "sing", "--needs", "total", "--check", CHECK, status=0)
    ann.bough("backlog", "drop", "total", status=0)
    found = ann.bough("backlog", "check", "--json", status=8).json
    assert {name: [one["kind"] for one in each] for name, each in found["findings"].items()} == {
        "shout": ["vague"],
        "sing": ["needs"],
    }
    assert found["spend"]["rounds"] == 1
    # Nothing was changed, so nothing is read again; the findings are still there.
    said = ann.bough("backlog", "check", status=8).out
    assert "vague" in said and "sing" in said and len(ann.model.requests("reader")) == 1
    ann.bough("backlog", "drop", "sing", status=0)
    ann.bough("backlog", "edit", "shout", "--goal", f"{SHOUT} A ß becomes SS.", status=0)
    ann.bough("backlog", "check", status=0)
    ann.bough("backlog", "run", status=0)
    page = ann.bough("backlog", "report", "--json", status=0).json
    assert len(ann.model.requests("reader")) == 2
    assert page["spend"]["tokens_in"] == 1000 * len(ann.model.asked)
    assert ann.bough("backlog", "list", status=0).out


def test_a_finding_is_answered_at_the_start_of_the_night(meet: Meet) -> None:
    ann = meet(goal(SHOUT, cases={SHOUT: SHOWN[SHOUT], "Yes, as Python does.": SHARP}))
    ann.model.roles["reader"] = lambda request: ann.model.form(request, findings=[VAGUE])
    listed(ann, "shout")
    said = ann.terminal("backlog", "run", answers={"Should `ß` become SS?": "Yes, as Python does."})
    assert said.status == 0, said.out[-3000:]
    (only,) = ann.bough("backlog", "list", "--json").json
    assert only["goal"] == f"{SHOUT}\n\n“Should `ß` become SS?” – Yes, as Python does."
    assert [standing for _, standing in ann.evidence()] == ["proven", "proven"]
    assert "done: It is done, and tested by hand." in ann.bough("backlog", "report").out
    assert "Yes, as Python does." in text_of(ann.model.requests("author")[0])
    # Without a person, and with --no-review, nobody is asked.
    ann.bough("backlog", "add", SHOUT, "--name", "again", "--check", CHECK, status=0)
    ann.terminal("backlog", "run", "--no-review", answers={})
    assert len(ann.model.requests("reader")) == 1
    assert {each["kind"] for each in morning(ann).values()} == {"proven"}


def test_the_start_of_a_night_on_the_page_reads_the_goals(meet: Meet) -> None:
    """What is unclear is said before anything begins; the second start begins with the goals as they are."""
    ann = meet(goal(), goal(SHOUT, cases={SHOUT: SHOWN[SHOUT], "A ß becomes SS.": SHARP}))
    ann.model.roles["reader"] = lambda request: ann.model.form(
        request, findings=[VAGUE] if "### shout" in text_of(request) and "ß becomes" not in text_of(request) else []
    )
    listed(ann, "total", "shout")
    with ann.page() as page:
        status, told = page.night("start_night", list="backlog")
        assert status == 200 and "Unclear goals: shout" in told["said"], told
        (night,) = page.home()["nights"]
        shown = {line["name"]: line["words"] for group in night["groups"] for line in group["goals"]}
        assert any("“capitals” of what?" in words for words in shown["shout"]) and not night["working"]
        assert not ann.runs() and not ann.model.requests("author"), "nothing has begun"
        fields = {"goal": f"{SHOUT} A ß becomes SS."}
        assert page.night("edit_goal", list="backlog", goal="shout", fields=fields)[0] == 200
        assert "has begun" in page.night("start_night", list="backlog")[1]["said"]
        ann.wait(lambda: set(at_home(page.home()["nights"][0]).values()) == {"proven"}, "every goal is proven")
        ann.wait(lambda: not page.home()["nights"][0]["working"], "the night ends")
    assert len(ann.model.requests("reader")) == 2
    spend = ann.bough("backlog", "report", "--json", status=0).json["spend"]
    assert spend["tokens_in"] == 1000 * len(ann.model.asked), "what the reader cost is in the night's sum"


def test_the_morning_says_what_was_refuted_and_repaired(meet: Meet) -> None:
    ann = meet(goal(author=wrong_at_first(1)))
    listed(ann, "total")
    ann.bough("backlog", "check", status=0)
    ann.bough("backlog", "run", status=0)
    ann.bough("backlog", "report", "--md", "night.md", status=0)
    assert "- refuted by the examiner, then repaired: Make" in ann.read("night.md")
    refuted = f"refuted by the examiner, then repaired: {TOTAL}"
    assert morning(ann)["total"]["notes"] == ["done: It is done, and tested by hand.", refuted]
    ann.git("merge", "-q", morning(ann)["total"]["branch"])
    assert ann.read("shop.py") == RIGHT[TOTAL][1]


@pytest.mark.parametrize(
    "limit", sample(["--max-cost 5", "--per-goal 2", "--until", "--rounds 40", "--max-tokens 900000"], 2)
)
def test_a_night_killed_at_every_state(meet: Meet, limit: str) -> None:
    """Killed while a goal is sized, worked on and examined: the same command continues, and every answer that came is
    counted once."""
    ann = meet(goal())
    config = ann.home / ".config/bough/config.toml"
    config.write_text(config.read_text() + '\n[prices]\n"openai:wire-model" = {input = 10, output = 100}\n')
    options = [*limit.split(), time.strftime("%H:%M", time.localtime(time.time() + 40_000))][: 2 if " " in limit else 9]
    listed(ann, "total")
    for state in ("gate", "author", "examiner"):
        reached, free = threading.Event(), threading.Event()

        def held(request: Request, reached: threading.Event = reached, free: threading.Event = free) -> None:
            reached.set()
            free.wait(PATIENCE)

        ann.model.roles = {state: held}
        night = ann.start("backlog", "run", *options)
        assert reached.wait(PATIENCE), state
        ann.kill(night)
        ann.model.roles = {}
        free.set()
    ann.bough("backlog", "run", *options, status=0)
    assert morning(ann)["total"]["kind"] == "proven"
    page = ann.bough("backlog", "report", "--json", status=0).json
    heard = len(ann.model.asked) - 3  # Three answers were under way when the process was killed.
    assert page["spend"]["tokens_in"] == 1000 * heard
    assert round(page["spend"]["cost"], 4) == round(0.02 * heard, 4)
    ann.git("merge", "-q", morning(ann)["total"]["branch"])
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
