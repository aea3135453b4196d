"""A run that is stopped, paused, killed, out of budget or without a model, and what the person does then."""

import signal
import threading

from tests.journeys.conftest import Meet
from tests.journeys.model import Hold, Request, Turn, call
from tests.journeys.person import CHECK, PATIENCE, RIGHT, TOTAL, Person, goal, ran
from tests.wire import Status

NOTHING = "def total(*numbers):\n    raise NotImplementedError\n"
EMPTY = "`total` without arguments must return 0."


def taken(ann: Person, name: str) -> None:
    """The end of every such journey: proven, the same at the page, and applied."""
    assert ("completed", name) == (ann.latest()["status"], ann.latest()["run"])
    assert {standing for _, standing in ann.evidence()} == {"proven"}
    with ann.page() as page:
        assert page.run(name)["status"] == "completed"
        assert page.do(name, "apply")[0] == 200
    assert ann.read("shop.py") == RIGHT[TOTAL][1]
    assert ann.kinds()[-1] == "Applied"


def test_stopped_from_another_terminal_and_resumed(meet: Meet) -> None:
    hold = Hold(at=1)
    ann = meet(goal(author=hold))
    run = ann.start("run", TOTAL, "--check", CHECK)
    assert hold.reached.wait(PATIENCE)
    name = ann.latest()["run"]
    assert ann.latest()["status"] == "running"
    # It is running: a second process is refused and told which one has it.
    refused = ann.bough("resume", name)
    assert refused.status == 2 and str(run.pid) in refused.all
    ann.bough("stop", name, status=0)
    hold.free.set()
    assert ann.end(run).status == 6
    assert ann.read("shop.py") == NOTHING
    assert "NotImplementedError" in ann.bough("diff").out
    ann.bough("stop", name, status=0)
    ann.bough("resume", name, status=0)
    # The file was written once, before the stop.
    assert len([e for e in ann.journal() if e["event"] == "DoneClaimed"]) == 1
    taken(ann, name)


def test_ctrl_c_once(meet: Meet) -> None:
    hold = Hold(at=0)
    ann = meet(goal(author=hold))
    run = ann.start("run", TOTAL, "--check", CHECK)
    assert hold.reached.wait(PATIENCE)
    run.send_signal(signal.SIGINT)
    hold.free.set()
    ended = ann.end(run)
    assert ended.status == 6, ended.out
    assert "bough resume" in ended.out
    assert ann.bough("status", status=0)
    ann.bough("resume", status=0)
    taken(ann, ann.latest()["run"])


def test_paused_told_something_and_resumed(meet: Meet) -> None:
    # A run looks once a second whether somebody pauses it: an author who needs no time would be done before that.
    later = Hold(at=1)
    hold = Hold(at=0, then=later)
    cases = {TOTAL: "from shop import total\nassert total(2, 3) == 5"}
    cases[EMPTY] = "from shop import total\nassert total() == 0"
    ann = meet(goal(author=hold, cases=cases))
    run = ann.start("run", TOTAL, "--check", CHECK)
    assert hold.reached.wait(PATIENCE)
    name = ann.latest()["run"]
    ann.bough("pause", name, status=0)
    hold.free.set()
    threading.Timer(3, later.free.set).start()
    assert ann.end(run).status == 6
    assert ann.latest()["status"] == "paused"
    ann.bough("say", name, EMPTY, status=0)
    ann.bough("resume", name, status=0)
    assert ann.evidence() == [(TOTAL, "proven"), (EMPTY, "proven")]
    assert any(EMPTY in str(request["messages"]) for request in ann.model.requests("author"))
    assert "PersonSaid" in ann.kinds()
    taken(ann, name)


def test_killed_while_the_model_thinks(meet: Meet) -> None:
    hold = Hold(at=1)
    ann = meet(goal(author=hold))
    run = ann.start("run", TOTAL, "--check", CHECK)
    assert hold.reached.wait(PATIENCE)
    ann.kill(run)
    hold.free.set()
    assert ann.latest()["status"] == "interrupted"
    name = ann.latest()["run"]
    with ann.page() as page:
        assert page.run(name)["status"] == "interrupted"
    ann.bough("resume", status=0)
    # Finished calls are not run again.
    writes = [event for event in ann.journal() if event["event"] == "ToolFinished"]
    assert len([each for each in writes if not each.get("interrupted")]) == 2
    taken(ann, name)


def test_killed_during_the_check_and_during_the_examination(meet: Meet) -> None:
    slow = "python3 -c 'import time; time.sleep(3)' && " + CHECK
    ann = meet(goal())
    run = ann.start("run", TOTAL, "--check", slow)
    ann.wait(lambda: ann.runs() and "CheckStarted" in ann.kinds(), "the check begins")
    ann.kill(run)
    name = ann.latest()["run"]
    assert ann.latest()["status"] == "interrupted"
    waits = Hold()

    def examined(request: Request) -> None:
        waits.reached.set()
        waits.free.wait(PATIENCE)

    ann.model.roles["examiner"] = examined
    again = ann.start("resume", name)
    assert waits.reached.wait(PATIENCE)
    ann.kill(again)
    waits.free.set()
    del ann.model.roles["examiner"]
    ann.bough("resume", name, status=0)
    assert len([event for event in ann.journal() if event["event"] == "DoneClaimed"]) == 1
    taken(ann, name)


def test_the_budget_is_spent_and_raised(meet: Meet) -> None:
    ann = meet(goal())
    name = ran(ann, TOTAL, "--rounds", "3", status=4)
    assert ann.latest()["status"] == "budget"
    assert "--rounds" in ann.bough("status").out
    assert ann.read("shop.py") == NOTHING
    ann.bough("resume", "--rounds", "80", status=0)
    assert ann.latest()["limits"]["rounds"] == 80
    taken(ann, name)


def test_a_limit_in_dollars_needs_a_price(meet: Meet) -> None:
    ann = meet(goal())
    refused = ann.bough("run", TOTAL, "--check", CHECK, "--max-cost", "1", status=2)
    assert "[prices]" in refused.all
    assert ann.model.asked == []
    config = ann.home / ".config/bough/config.toml"
    config.write_text(config.read_text() + '\n[prices]\n"openai:wire-model" = {input = 10, output = 100}\n')
    assert "prices" in ann.bough("config", status=0).out
    # 1,000 and 100 tokens a call: two cents each.
    name = ran(ann, TOTAL, "--max-cost", "0.03", status=4)
    ann.bough("resume", "--max-cost", "1", status=0)
    spent = ann.latest()["spend"]
    assert round(spent["cost"], 4) == round(0.02 * len(ann.model.asked), 4)
    assert ann.bough("show", status=0)
    taken(ann, name)


def test_no_model_then_a_model(meet: Meet) -> None:
    ann = meet(goal())
    nowhere = ("--model", "openai:wire-model", "--base-url", "http://127.0.0.1:9/v1")
    ran(ann, TOTAL, *nowhere, status=7)
    name = ann.latest()["run"]
    assert ann.latest()["status"] == "unavailable"
    assert "bough doctor" in ann.bough("status").out
    with ann.page() as page:
        assert page.run(name)["status"] == "unavailable"
    ann.bough("resume", name, "--base-url", ann.wire.base_url, status=0)
    taken(ann, name)


def test_the_quota_is_exhausted(meet: Meet) -> None:
    ann = meet(goal())
    ann.model.roles["author"] = lambda request: Status(429, {"retry-after": "3600"}, {"error": {"message": "quota"}})
    name = ran(ann, TOTAL, status=7)
    status = ann.bough("status", status=0).out
    assert "--wait-for-quota" in status
    assert ann.latest()["until"]
    with ann.page() as page:
        assert page.run(name)["exit_status"] == 7
    ann.model.roles.clear()
    ann.bough("resume", name, "--model", "openai:another-model", status=0)
    assert {request["model"] for request in ann.model.requests("examiner")} == {"another-model"}
    taken(ann, name)


def test_rewound_to_the_start_with_a_message(meet: Meet) -> None:
    hint = "Use sum(), not a loop."
    loop = "def total(*numbers):\n    result = 0\n    for each in numbers:\n        result += each\n    return result\n"

    def author(request: Request, turn: int) -> Turn | None:
        told = hint in str(request["messages"])
        return None if told or turn else [call("write", path="shop.py", content=loop)]

    ann = meet(goal(author=author))
    name = ran(ann, TOTAL)
    assert "result += each" in ann.bough("diff").out
    before = ann.latest()["spend"]["tokens_in"]
    points = ann.bough("rewind", "--json", status=0).json
    assert points
    ann.bough("rewind", name, "--to", "0", "--say", hint, status=0)
    assert ann.latest()["status"] != "completed"
    ann.bough("resume", name, status=0)
    # What was spent stays spent.
    assert ann.latest()["spend"]["tokens_in"] > before
    assert "TaskRewound" in ann.kinds()
    taken(ann, name)
