"""Each kind of question, answered at each face: the first answer counts, and the run goes on with it."""

from tests.journeys.conftest import Meet
from tests.journeys.model import Goal, Hold, Request, Script, Turn, call, text_of
from tests.journeys.person import CHECK, RIGHT, TOTAL, Person, goal, ran, wrong_at_first
from tests.journeys.speaker import Editor, OtherAgent

HINT = "Use the builtin sum."
ROUNDING = {
    "rounding.py": "def half(n):\n    return n // 2\n",
    "test_rounding.py": (
        "import unittest\n\nfrom rounding import half\n\n\nclass TestHalf(unittest.TestCase):\n"
        "    def test_odd(self):\n        self.assertEqual(half(5), 2)\n"
    ),
}
ODD = "Improve `half` in rounding.py for odd numbers."
UP = {
    "rounding.py": "def half(n):\n    return -(-n // 2)\n",
    "test_rounding.py": ROUNDING["test_rounding.py"].replace("half(5), 2", "half(5), 3"),
}
CHANGED = Goal(ODD, UP, {ODD: "from rounding import half\nassert half(7) == 4"})
KEEP = "Keep half(5) as it is: round only numbers above ten up."
"""What a person says with a no."""


def stuck(meet: Meet, then: Script | None = None) -> tuple[Person, str]:
    """A run that has tried everything and waits, without a process, for an answer. `then`: the author after it."""
    ann = meet(goal(author=wrong_at_first(3, then)))
    return ann, ran(ann, TOTAL, "--ask-later", status=8)


def helped(ann: Person, name: str) -> None:
    """The answer reached the next agent, whose work is proven and taken."""
    ann.wait(lambda: ann.status() == "completed", "the run ends")
    assert any(HINT in text_of(request) for request in ann.model.requests("author"))
    assert ann.evidence() == [(TOTAL, "proven")]
    answers = [event for event in ann.journal(name) if event["event"] == "PersonAnswered"]
    assert [event["text"] for event in answers] == [HINT]
    ann.bough("apply", name, status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]


def test_a_stuck_goal_answered_in_another_terminal(meet: Meet) -> None:
    ann, name = stuck(meet)
    assert "What would you do?" in ann.bough("status", name, status=0).out
    ann.bough("answer", name, HINT, status=0)
    helped(ann, name)


def test_a_stuck_goal_answered_at_home(meet: Meet) -> None:
    ann, name = stuck(meet)
    with ann.page() as page:
        (run,) = page.home()["runs"]
        (waiting,) = run["waiting"]
        assert waiting["kind"] == "question" and "What would you do?" in waiting["question"]
        assert page.do(name, "answer", text=HINT, task="")[0] == 200
        helped(ann, name)
        assert [each["says"] for each in page.run(name)["answered"]] == [HINT]


def test_a_stuck_goal_answered_on_the_page_of_its_task(meet: Meet) -> None:
    ann, name = stuck(meet)
    with ann.page() as page:
        assert page.run(name, "/task?task=goal")["line"]["path"] == "goal"
        assert page.run(name)["waiting"][0]["task"] in ("", "goal")
        assert page.do(name, "say", text=HINT, task="")[0] == 200
        # A message to a run that waits for an answer is the answer.
        ann.bough("resume", name)
        helped(ann, name)


def test_a_stuck_goal_answered_by_another_agent(meet: Meet) -> None:
    ann, name = stuck(meet)
    agent = OtherAgent(ann)
    fine, said = agent.use("status", run=name)
    assert fine and "What would you do?" in said
    fine, said = agent.use("answer", run=name, text=HINT)
    assert fine, said
    ann.wait(lambda: ann.status() not in ("running", "interrupted", "question"), "the run ends")
    agent.close()
    helped(ann, name)


def test_a_stuck_goal_answered_in_the_editor(meet: Meet) -> None:
    ann = meet(goal(author=wrong_at_first(3)))
    editor = Editor(ann)
    editor.say(TOTAL)
    assert "What would you do?" in editor.shown()
    assert ann.read("shop.py") != RIGHT[TOTAL][1]
    # The next message answers the run's question.
    editor.say(HINT)
    assert "completed" in editor.shown()
    # Asked before the files change, and answered yes.
    assert [each["toolCall"]["title"].split()[0] for each in editor.questions] == ["Apply"]
    editor.close()
    assert ann.latest()["status"] == "completed"
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    assert "PersonAnswered" in ann.kinds()
    assert "completed" in ann.bough("show", status=0).out


def test_a_stuck_goal_from_python(meet: Meet) -> None:
    """A program starts the run; what it waits for is answered at the terminal, and the program resumes it."""
    ann, name = stuck(meet)
    ann.bough("say", name, HINT, status=0)
    source = f"import asyncio, bough\no = asyncio.run(bough.resume({name!r}))\nprint(o.status, o.exit_status)"
    said = ann.python(source)
    assert said.out.split() == ["completed", "0"], said.all
    helped(ann, name)


def test_a_stuck_goal_answered_at_its_own_terminal(meet: Meet) -> None:
    ann = meet(goal(author=wrong_at_first(3)))
    said = ann.terminal("run", TOTAL, "--check", CHECK, answers={"What would you do": HINT})
    assert said.status == 0, said.out[-3000:]
    helped(ann, ann.latest()["run"])


def test_leave_it(meet: Meet) -> None:
    """ "Leave it" is an answer: the goal is given up with what there is, and nothing more is spent on it."""
    ann, name = stuck(meet)
    before = len(ann.model.requests("author"))
    ann.bough("answer", name, "Leave it.", status=3)
    assert ann.latest()["status"] == "failed"
    assert len(ann.model.requests("author")) == before
    assert "bough apply" in ann.bough("status", name).out
    assert ann.bough("diff", name).out
    with ann.page() as page:
        assert page.run(name)["status"] == "failed"


def test_drop_this_requirement(meet: Meet) -> None:
    first, second = "Make `total` in shop.py add its arguments.", "Make `total` raise TypeError for None."
    text = f"{first} {second}"
    none = (
        "from shop import total\ntry:\n    total(None)\nexcept TypeError as error:\n"
        "    assert str(error) == 'None is no number'\nelse:\n    raise AssertionError('no error')"
    )
    cases = {first: "from shop import total\nassert total(2, 3) == 5", second: none}
    ann = meet(Goal(text, {"shop.py": RIGHT[TOTAL][1]}, cases))
    name = ran(ann, text, "--ask-later", status=8)
    assert ann.evidence()[1] == (second, "refuted")
    unclear = ann.bough("answer", name, "Drop requirements 1 and 2.", status=2)
    assert "by its number" in unclear.all
    ann.bough("answer", name, "Drop this requirement: None may raise anything.", status=0)
    assert [standing for _, standing in ann.evidence()] == ["proven", "dropped"]
    assert "dropped by " in ann.bough("report", name, status=0).out
    ann.bough("apply", name, status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


def test_two_people_answer_the_same_question(meet: Meet) -> None:
    hold = Hold(at=0)
    ann, name = stuck(meet, then=hold)
    with ann.page() as page:
        assert page.do(name, "answer", text=HINT, task="")[0] == 200
        assert ann.reaches(hold)
        # Ann's colleague comes second, and is told.
        late = ann.bough("answer", name, "Use a loop.")
        assert late.status == 2, late.all
        assert "answered" in late.all
        hold.free.set()
        helped(ann, name)
        assert [each["says"] for each in page.run(name)["answered"]] == [HINT]


def test_a_question_survives_a_kill(meet: Meet) -> None:
    hold = Hold(at=0)
    ann, name = stuck(meet, then=hold)
    answer = ann.start("answer", name, HINT)
    assert ann.reaches(hold)
    ann.kill(answer)
    hold.free.set()
    assert ann.latest()["status"] == "interrupted"
    ann.bough("resume", name, status=0)
    helped(ann, name)


# ── tests that would change ─────────────────────────────────────────────────────────────────────────────────


def asks_about_tests(meet: Meet, *more: Goal) -> tuple[Person, str]:
    ann = meet(CHANGED, *more, files=ROUNDING)
    return ann, ran(ann, ODD, status=8)


def allowed(ann: Person, name: str) -> None:
    ann.wait(lambda: ann.status() == "completed", "the run ends")
    assert ann.evidence() == [(ODD, "proven")]
    rulings = [event for event in ann.journal() if event["event"] == "ChangesRuled" and event["by"] == "person"]
    assert len(rulings) == 1
    ann.bough("apply", name, status=0)
    assert (ann.read("rounding.py"), ann.read("test_rounding.py")) == (UP["rounding.py"], UP["test_rounding.py"])


def test_test_changes_approved_in_another_terminal(meet: Meet) -> None:
    ann, name = asks_about_tests(meet)
    said = ann.bough("status", name, status=0).out
    assert "- self.assertEqual(half(5), 2)" in said and "+ self.assertEqual(half(5), 3)" in said
    ann.bough("approve", name, status=0)
    allowed(ann, name)


def test_test_changes_denied_with_a_message(meet: Meet) -> None:
    kept = "def half(n):\n    return n // 2 if n <= 10 else -(-n // 2)\n"
    told: list[Request] = []

    def author(request: Request, turn: int) -> Turn | None:
        if KEEP not in text_of(request):
            return None
        told.append(request)
        files = {"rounding.py": kept, "test_rounding.py": ROUNDING["test_rounding.py"]}
        writes = [call("write", path=path, content=content) for path, content in files.items()]
        return writes if len(told) == 1 else [call("done", summary="Only above ten.")]

    cases = {
        ODD: "from rounding import half\nassert half(17) == 9",
        KEEP: "from rounding import half\nassert (half(5), half(17)) == (2, 9)",
    }
    ann = meet(Goal(ODD, UP, cases, author=author), files=ROUNDING)
    name = ran(ann, ODD, status=8)
    ann.bough("approve", name, "--deny", "--say", KEEP, status=0)
    assert ann.latest()["status"] == "completed"
    assert "test_rounding.py" not in ann.bough("diff", "--stat").out
    ann.bough("apply", name, status=0)
    assert (ann.read("rounding.py"), ann.read("test_rounding.py")) == (kept, ROUNDING["test_rounding.py"])
    assert {standing for _, standing in ann.evidence()} == {"proven"}
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


def test_test_changes_approved_on_the_page(meet: Meet) -> None:
    ann, name = asks_about_tests(meet)
    with ann.page() as page:
        (waiting,) = page.home()["runs"][0]["waiting"]
        assert waiting["kind"] == "tests"
        assert [(each["was"].strip(), each["now"].strip()) for each in waiting["tests"]] == [
            ("self.assertEqual(half(5), 2)", "self.assertEqual(half(5), 3)")
        ]
        assert page.do(name, "approve", allow=True, say="", task=waiting["task"])[0] == 200
        allowed(ann, name)


def test_test_changes_approved_in_the_editor(meet: Meet) -> None:
    ann = meet(CHANGED, files=ROUNDING)
    editor = Editor(ann)
    assert editor.say(ODD) == "end_turn"
    titles = [each["toolCall"]["title"] for each in editor.questions]
    assert len(titles) == 2 and "test" in titles[0].lower() and titles[1].startswith("Apply")
    editor.close()
    assert ann.latest()["status"] == "completed"
    assert (ann.read("rounding.py"), ann.read("test_rounding.py")) == (UP["rounding.py"], UP["test_rounding.py"])
    assert "ChangesRuled" in ann.kinds()
    assert ann.bough("report", status=0)


def test_test_changes_approved_for_a_program(meet: Meet) -> None:
    ann = meet(CHANGED, files=ROUNDING)
    source = f"import bough\no = bough.run_sync({ODD!r}, check={CHECK!r})\nprint(o.run, o.exit_status, o.completed)"
    name, status, completed = ann.python(source).out.split()
    assert (status, completed) == ("8", "False")
    ann.bough("approve", name, status=0)
    again = f"import asyncio, bough\no = asyncio.run(bough.resume({name!r}))\nprint(o.exit_status, o.completed)"
    assert ann.python(again).out.split() == ["0", "True"]
    allowed(ann, name)


def test_two_people_rule_on_the_same_tests(meet: Meet) -> None:
    ann, name = asks_about_tests(meet)
    with ann.page() as page:
        assert page.do(name, "approve", allow=True, say="", task="goal")[0] == 200
        ann.wait(lambda: ann.status() == "completed", "the run ends")
        late = ann.bough("approve", name, "--deny")
        assert late.status == 2, late.all
        (answered,) = page.run(name)["answered"]
        assert answered["kind"] == "tests"
    allowed(ann, name)


def test_permission_in_advance(meet: Meet) -> None:
    ann = meet(CHANGED, files=ROUNDING)
    ann.bough("check", status=0)
    name = ran(ann, ODD, "--allow-test-changes=test_rounding.py*", status=0)
    # The change is still reported.
    assert "test_rounding" in ann.bough("status", name).out
    assert ann.evidence() == [(ODD, "proven")]
    ann.bough("apply", name, status=0)
    assert ann.read("test_rounding.py") == UP["test_rounding.py"]
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"


# ── plans and commands ──────────────────────────────────────────────────────────────────────────────────────


def test_a_command_that_needs_approval(meet: Meet) -> None:
    def author(request: Request, turn: int) -> Turn | None:
        return [call("bash", command="echo deploy > deployed.txt")] if turn == 1 else None

    ann = meet(goal(author=author))
    config = ann.home / ".config/bough/config.toml"
    config.write_text(config.read_text() + '\n[approve]\ncommands = ["*deploy*"]\nwait = 50\n')
    run = ann.start("run", TOTAL, "--check", CHECK)
    with ann.page() as page:
        ann.wait(lambda: page.home()["runs"] and page.home()["runs"][0]["waiting"], "the command is held")
        name = page.home()["runs"][0]["run"]
        (waiting,) = page.run(name)["waiting"]
        assert waiting["kind"] == "command" and "deploy" in waiting["question"]
        ann.bough("approve", name, "--deny", "--say", "Do not deploy.", status=0)
        # The second answer comes too late.
        assert page.do(name, "command", id=waiting["id"], allow=True, say="")[0] != 200
        ended = ann.end(run)
        assert ended.status == 0, ended.out
        assert [each["kind"] for each in page.run(name)["answered"]] == ["command"]
    ruled = [event for event in ann.journal() if event["event"] == "CommandRuled"]
    assert [event.get("allow", False) for event in ruled] == [False]
    ann.bough("apply", status=0)
    assert not (ann.project / "deployed.txt").exists()
    assert any("Do not deploy." in text_of(request) for request in ann.model.requests("author"))
