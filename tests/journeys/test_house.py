"""Plans, workflows, settings, other agents and programs: the rest of what the guides name."""

import json

from tests.journeys.conftest import Meet
from tests.journeys.model import Goal, Request, Turn, call
from tests.journeys.person import CHECK, CLAMP, RIGHT, SHOUT, TOTAL, goal, ran
from tests.journeys.speaker import Editor, OtherAgent

BOTH = f"{TOTAL} {SHOUT}"


PLAN = {
    "steps": [
        {
            "name": name,
            "instructions": f"In {path} alone: the function returns {what}. Leave other files as they are.",
            "criteria": [criterion],
            "files": [path],
            "covers": [number],
            "test_command": CHECK,
        }
        for number, name, path, what, criterion in (
            (1, "adding", "shop.py", "the sum of the numbers that it is given, 0 for none", "`total(1, 2) == 3`"),
            (2, "shouting", "words.py", "what it is given in upper case", "`shout('a') == 'A'`"),
        )
    ]
}


def test_a_plan_is_saved_edited_and_run(meet: Meet) -> None:
    ann = meet(goal(known_as="In shop.py alone"), goal(SHOUT, known_as="In words.py alone"))
    ann.model.roles["gate"] = lambda request: ann.model.form(request, reason="Two modules.", steps=2, atomic=False)
    ann.model.roles["planner"] = lambda request: ann.model.form(request, **PLAN)
    shown = ann.bough("plan", BOTH, "--check", CHECK, "--save", "plan.toml", status=0)
    assert "adding" in shown.out and ann.runs() == []
    ann.bough("workflow", "check", "plan.toml", status=0)
    assert "shouting" in ann.bough("workflow", "show", "plan.toml", status=0).out
    ann.bough("workflow", "list", status=0)
    ann.bough("run", "--workflow", "plan.toml", status=0)
    tasks = {each["path"]: each["state"] for each in ann.bough("show", "--json", status=0).json["tasks"]}
    assert tasks == {"goal": "completed", "adding": "completed", "shouting": "completed"}
    ann.bough("apply", status=0)
    assert (ann.read("shop.py"), ann.read("words.py")) == (RIGHT[TOTAL][1], RIGHT[SHOUT][1])
    with ann.page() as page:
        assert page.run(ann.latest()["run"])["done"] == 2


def test_a_workflow_without_a_model(meet: Meet) -> None:
    ann = meet()
    ann.write(
        "workflows/stamp.toml",
        'description = "Stamp it."\n\n[inputs]\nwhat = {}\n\n[[steps]]\nname = "stamp"\n'
        'action = { run = "echo {what} > stamp.txt" }\n\n[[steps]]\nname = "look"\n'
        f'action = {{ check = "{CHECK}" }}\n',
    )
    ann.bough("workflow", "check", status=0)
    assert "stamp" in ann.bough("workflow", "list", status=0).out
    ann.bough("run", "--workflow", "stamp", "--input", "what=a b; rm *", status=0)
    assert ann.model.asked == []
    assert "stamp" in ann.bough("show", "--flat", status=0).out
    ann.bough("apply", status=0)
    assert ann.read("stamp.txt") == "a b; rm *\n"
    ann.bough("undo", status=0)
    assert not (ann.project / "stamp.txt").exists()
    # A file with a mistake is refused with its line.
    ann.write("workflows/bad.toml", '[[steps]]\nname = "x"\naction = "y"\nneed = ["z"]\n')
    refused = ann.bough("workflow", "check", "workflows/bad.toml", status=2)
    assert "bad.toml:4" in refused.all and "needs" in refused.all


def test_a_repositorys_wishes_need_consent(meet: Meet) -> None:
    ann = meet(goal())
    ann.write("bough.toml", '[check]\ncommand = "python3 -m unittest -q"\n[workspace.env]\nTZ = "UTC"\n')
    ann.commit()
    asked = ann.bough("trust", status=1)
    assert "TZ" in asked.all
    with ann.page() as page:
        assert page.home()["wishes"]
    ann.bough("trust", "--yes", status=0)
    ann.bough("trust", status=0)
    assert "TZ" in ann.bough("config", status=0).out
    assert "bough.toml" in ann.bough("check", status=0).out
    ann.bough("run", TOTAL, status=0)
    assert ann.evidence() == [(TOTAL, "proven")]
    ann.bough("apply", status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    refused = ann.bough("config", env={"BOUGH_BUDGET_ROUND": "80"})
    assert refused.status == 2 and "BOUGH_BUDGET_ROUNDS" in refused.all
    assert ann.bough("config", "--json", env={"BOUGH_BUDGET_ROUNDS": "80"}, status=0).out.count("80") >= 1


def test_keeping_house(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT))
    first = ran(ann, TOTAL)
    second = ran(ann, SHOUT)
    numbers = ann.bough("stats", "--json", status=0).json
    assert numbers
    exported = ann.bough("export", first, "--json", status=0).json
    assert any(address.startswith("/api/") for address in exported)
    ann.bough("apply", first, status=0)
    ann.bough("prune", "--dry-run", status=0)
    assert len(ann.runs()) == 2
    kept = ann.bough("rm", second)
    assert kept.status != 0 and "--yes" in kept.all
    ann.bough("prune", "--older-than", "0h", status=0)
    assert ann.runs() == []
    # Applied changes stay.
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    for shell in ("bash", "zsh", "fish"):
        assert "bough" in ann.bough("completion", shell, status=0).out
    assert ann.bough("status").status == ann.bough("show").status


def test_the_demo_from_the_readme(meet: Meet) -> None:
    ann = meet(empty=True)
    demo = str(ann.project / "demo")
    said = ann.bough("demo", "--dir", demo, status=0)
    assert "completed" in said.out
    assert ann.model.asked == []
    folder = next(
        path.parent for path in [*(ann.project / "demo").rglob(".bough"), *(ann.project / "demo").glob(".bough")]
    )
    where = ("--dir", str(folder))
    report = ann.bough("report", *where, "--json", status=0).json
    assert {each["standing"] for each in report["requirements"]} == {"proven"}
    ann.bough("show", *where, status=0)
    ann.bough("diff", *where, status=0)
    ann.bough("apply", *where, status=0)
    assert ann.bough("check", *where, status=0)


def test_another_agent_gives_a_goal(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT))
    agent = OtherAgent(ann)
    assert {"run", "plan", "status", "show", "diff", "answer", "say", "resume", "stop", "apply"} <= agent.tools()
    fine, said = agent.use("run", goal=TOTAL, check=CHECK)
    assert fine and json.loads(said)["status"] == "completed"
    name = json.loads(said)["run"]
    assert "sum(numbers)" in agent.use("diff", run=name)[1]
    assert "proven" in agent.resource(f"bough://runs/{name}/report")
    assert agent.use("apply", run=name)[0]
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    assert agent.use("backlog_add", goal=SHOUT, check=CHECK)[0]
    assert agent.close() == 0
    # The person starts the night.
    ann.bough("backlog", "run", status=0)
    again = OtherAgent(ann)
    assert "proven" in again.use("backlog_report")[1]
    again.close()
    assert ann.kinds(name)[-1] == "Applied"
    ann.bough("backlog", "report", status=0)


def test_an_editor_is_closed_and_opened_again(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT))
    editor = Editor(ann, chooses=lambda params: "no")
    assert editor.say(TOTAL) == "end_turn"
    session = editor.session
    editor.close()
    # "Not now": the files are as they were, and the work waits.
    assert "NotImplementedError" in ann.read("shop.py")
    name = ann.latest()["run"]
    assert ann.latest()["status"] == "completed"
    again = Editor(ann)
    again.ask("session/load", sessionId=session, cwd=str(ann.project), mcpServers=[])
    # The session is replayed from the journal.
    assert "completed" in again.shown()
    again.session = session
    # The next message follows up on the finished run, and includes its work.
    assert again.say(SHOUT) == "end_turn"
    again.close()
    second = ann.latest()["run"]
    assert ann.journal(second)[0]["continues"] == name
    assert (ann.read("shop.py"), ann.read("words.py")) == (RIGHT[TOTAL][1], RIGHT[SHOUT][1])
    ann.bough("show", second, status=0)


def test_a_program_runs_goals_and_a_night(meet: Meet) -> None:
    ann = meet(goal(), goal(SHOUT), goal(CLAMP))
    one = f"import bough\no = bough.run_sync({TOTAL!r}, check={CHECK!r}, apply=True)\nprint(o.status, o.completed)"
    said = ann.python(one)
    assert said.out.split()[:2] == ["completed", "True"], said.all
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    stream = (
        "import asyncio, bough\n\n\nasync def watch():\n    kinds = []\n"
        f"    async with bough.stream({SHOUT!r}, check={CHECK!r}) as events:\n"
        "        async for record in events:\n            kinds.append(type(record.event).__name__)\n"
        "    print(events.outcome.status, 'RunFinished' in kinds)\n\n\nasyncio.run(watch())\n"
    )
    assert ann.python(stream).out.split() == ["completed", "True"]
    night = (
        "import asyncio, bough\n\n\nasync def night():\n"
        f"    await bough.add_goals(bough.GoalEntry({CLAMP!r}, check={CHECK!r}))\n"
        "    page = await bough.run_backlog(goals_at_once=2)\n    print([goal.kind for goal in page.goals])\n"
        "    later = await bough.report_backlog()\n    print(len(later.goals))\n\n\nasyncio.run(night())\n"
    )
    assert ann.python(night).out.splitlines() == ["['proven']", "1"]
    nowhere = "import bough\ntry:\n    bough.run_sync('x', dir='/no')\nexcept bough.BoughError:\n    print('told')"
    wrong = ann.python(nowhere)
    assert wrong.out.strip() == "told"
    assert len(ann.runs()) == 3
    ann.bough("backlog", "report", status=0)
    with ann.page() as page:
        assert {run["status"] for run in page.home()["runs"]} == {"completed"}


def test_a_run_started_and_steered_at_the_page(meet: Meet) -> None:
    ann = meet(goal())
    with ann.page() as page:
        assert page.home()["runs"] == []
        status, found = page.send(f"/api/{page.project}/check")
        assert status == 200 and found["exit_status"] == 0
        fields = {"goal": TOTAL, "check": CHECK, "model": "", "rounds": 0, "cost": 0, "continues": "", "ask": True}
        status, started = page.night("start", **fields)
        assert status == 200, started
        name = started["run"]
        ann.wait(lambda: page.run(name)["status"] == "completed", "the run completes")
        assert page.run(name, "/evidence")["rows"][0]["standing"] == "proven"
        assert page.run(name, "/tree")
        assert page.run(name, "/task?task=goal")["verdict"]["ruling"] == "passed"
        assert page.do(name, "apply")[0] == 200
        assert ann.read("shop.py") == RIGHT[TOTAL][1]
        assert page.do(name, "undo")[0] == 200
        assert "NotImplementedError" in ann.read("shop.py")
    assert ann.kinds()[-2:] == ["Applied", "Undone"]
    assert "completed" in ann.bough("show", name, status=0).out


def test_a_recording_is_played_back(meet: Meet) -> None:
    ann = meet(goal())
    ran(ann, TOTAL, "--record", "tape.jsonl")
    asked = len(ann.model.asked)
    ann.bough("diff", status=0)
    again = ran(ann, TOTAL, "--model", "replay:tape.jsonl")
    assert len(ann.model.asked) == asked
    assert ann.evidence(again) == [(TOTAL, "proven")]
    assert ann.bough("log", "--rounds", status=0).out
    ann.bough("apply", again, status=0)
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    with ann.page() as page:
        assert {run["status"] for run in page.home()["runs"]} == {"completed"}


def test_the_doctor_tries_a_model(meet: Meet) -> None:
    def author(request: Request, turn: int) -> Turn | None:
        return [call("done", summary="Done.")] if turn > 2 else None

    ann = meet(Goal(TOTAL, {RIGHT[TOTAL][0]: RIGHT[TOTAL][1]}, {}, author=author))
    said = ann.bough("doctor", "--json")
    assert said.status == 0 and said.json
    # A key in the environment is named, and never shown.
    plain = ann.bough("doctor", status=0)
    assert "OPENAI_API_KEY" in plain.out and ann.env["OPENAI_API_KEY"] not in plain.all
    ann.bough("doctor", "--model", "openai:wire-model", "--forget", status=0)
    # Nothing to learn from yet.
    nobody = ann.bough("workers")
    assert nobody.status == 2 and "--store" in nobody.all
    alone = ann.bough("worker")
    assert alone.status == 2 and "--store" in alone.all
