"""What nobody asked for: parts of a change that nothing notices the loss of."""

import re
from typing import Any

from tests.journeys.conftest import Meet
from tests.journeys.person import RIGHT, SHOUT, TOTAL, Person, goal

BEFORE = (
    "LIMIT = 10\n\n\ndef round_up(number):\n    return int(number) + 1\n\n\n"
    "def total(*numbers):\n    first = 0\n    raise NotImplementedError\n"
)
AFTER = (
    "LIMIT = 12\n\n\ndef round_up(number):\n    return int(number) + 1\n\n\n"
    "def total(*numbers):\n    first = 0\n    return sum(numbers)\n\n\n"
    "def spare():\n    return LIMIT\n"
)
HELPER = "def help(number):\n    return number\n\n\nGAP = 1\n\n\ndef other():\n    return help(1)\n"
TEST_OF_HELPER = (
    "import unittest\n\n\nclass TestOther(unittest.TestCase):\n    def test_other(self):\n"
    "        from extra import other\n\n        self.assertEqual(other(), 1)\n"
)


def examine(ann: Person, files: dict[str, str], status: int = 0) -> dict[str, Any]:
    """A branch with these files, examined: what the report says about its parts."""
    ann.git("checkout", "-q", "-b", "add")
    for path, content in files.items():
        ann.write(path, content)
    ann.commit(TOTAL)
    ann.git("checkout", "-q", "main")
    ann.bough("examine", "add", "--needless", status=status)
    found: dict[str, Any] = ann.bough("report", "--json").json
    return found


def places(parts: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return sorted((one["path"], one.get("first", 0), one.get("last", 0)) for one in parts)


def test_what_nothing_needs_is_listed_with_what_ran(meet: Meet) -> None:
    ann = meet(goal())
    ann.write("shop.py", BEFORE)
    ann.commit("Begin.")
    report = examine(
        ann,
        {
            "shop.py": AFTER,
            "words.py": RIGHT[SHOUT][1],
            "bounds.py": "# Nothing but a comment.\n" + ann.read("bounds.py"),
            "README.md": "Totals.\n",
            "test_shop.py": "import unittest\n\n\nclass TestShop(unittest.TestCase):\n    def test_total(self):\n"
            "        from shop import total\n\n        self.assertEqual(total(1, 2), 3)\n",
        },
    )
    found = report["needless"]
    assert places(found["needless"]) == [("shop.py", 1, 1), ("shop.py", 13, 14), ("words.py", 0, 0)]
    assert places(found["needed"]) == [("shop.py", 10, 10)]
    assert found["needed"][0]["by"] == ["goal/probe-1", "test_shop.TestShop.test_total"]
    assert found["tests"] == ["goal/probe-1", "test_shop.TestShop.test_total"]
    assert "undecided" not in found and found["checks"] <= found["limit"] == 40
    # The reading order: the requirement, the part that it needs, and what shows it.
    (row,) = report["requirements"]
    assert row["read"] == ["shop.py:10"] and row["shown"]["by"] == ["goal/probe-1"]
    said = ann.bough("report", "--full").out
    assert "read: shop.py:10" in said
    assert "Nothing that was asked needs this: words.py" in said and "of at most 40 checks" in said
    assert "| proven | goal/probe-1 | shop.py:10 |" in ann.bough("report", "--markdown").out
    ann.bough("pr", report["run"], status=0)
    assert "| proven | goal/probe-1 | shop.py:10 |" in ann.read(f".bough/pr-{report['run']}.md")
    # All of it can go at once, and the person's files are as they were.
    assert ann.git("status", "--porcelain") == ""
    assert "parts of the change that nothing needs: 3; undecided: 0" in ann.bough("log").out


def test_parts_that_work_only_together_go_together(meet: Meet) -> None:
    """A renamed helper: neither of its two places can be taken out alone, both can."""
    ann = meet(goal())
    ann.write("extra.py", HELPER)
    ann.write("test_extra.py", TEST_OF_HELPER)
    ann.commit("Begin.")
    report = examine(ann, {"shop.py": RIGHT[TOTAL][1], "extra.py": HELPER.replace("help(", "aid(")})
    assert places(report["needless"]["needless"]) == [("extra.py", 0, 0)]


def test_entangled_parts_are_undecided(meet: Meet) -> None:
    """The same, where what was asked uses the helper: then neither can be judged alone."""
    ann = meet(goal())
    ann.write("shop.py", HELPER + ann.read("shop.py"))
    ann.write("test_shop.py", TEST_OF_HELPER.replace("extra", "shop"))
    ann.commit("Begin.")
    now = (HELPER + RIGHT[TOTAL][1]).replace("help(", "aid(")
    found = examine(ann, {"shop.py": now.replace("sum(numbers)", "aid(sum(numbers))")})["needless"]
    assert places(found["undecided"]) == [("shop.py", 1, 1), ("shop.py", 9, 9)]
    assert all("passes without the whole change" in one["why"] for one in found["undecided"])
    assert places(found["needed"]) == [("shop.py", 11, 11)] and "needless" not in found
    assert "Not decided: shop.py:1: without it alone" in ann.bough("report").out


def test_a_large_change_stays_within_the_limit(meet: Meet) -> None:
    ann = meet(goal())
    ann.git("checkout", "-q", "-b", "add")
    for path, content in {RIGHT[TOTAL][0]: RIGHT[TOTAL][1], **{f"extra{n}.py": "A = 1\n" for n in range(60)}}.items():
        ann.write(path, content)
    ann.commit(TOTAL)
    ann.git("checkout", "-q", "main")
    ann.bough("examine", "add", status=0)
    name = ann.latest()["run"]
    said = ann.python(
        "import asyncio\nfrom bough import app\nfrom bough.services.needless import find_needless\n\n"
        "async def work():\n    async with app.open_session('.') as opened:\n"
        f"        await find_needless(opened, {name!r}, app.Choices(), 5)\n\nasyncio.run(work())\n"
    )
    assert said.status == 0, said
    found = ann.bough("report", "--json").json["needless"]
    assert found["checks"] == found["limit"] == 5 and len(found["needless"]) + len(found["undecided"]) >= 60
    assert {one["why"] for one in found["undecided"]} == {"the limit of checks was reached"}
    ann.bough("pr", status=0)
    assert f"Examined by bough (run `{name}`)" in ann.read(f".bough/pr-{name}.md")
    for text in (ann.bough("report", "--markdown").out, ann.read(f".bough/pr-{name}.md")):
        assert "extra59.py" in text and len(re.sub("(?s)<details>.*?</details>", "", text).splitlines()) <= 60


def test_a_test_that_the_change_alters_notices_and_its_words_tell_what_belongs_to_it(meet: Meet) -> None:
    """The test passes before and after, with other assertions; of two uses of what it needs it looks at one."""
    ann = meet(goal(cases={}))
    test = (
        "import unittest\n\nimport shop\n\n\nclass TestShop(unittest.TestCase):\n    def test_shop(self):\n"
        "        self.assertTrue(shop.total)\n"
    )
    ann.write("test_shop.py", test)
    ann.write("bill.py", "def bill(numbers):\n    return sum(numbers)\n")
    ann.commit("Begin.")
    cents = "def cents(number):\n    return round(number, 2)\n\n\n"
    found = examine(
        ann,
        {
            "shop.py": f"{cents}def total(*numbers):\n    return cents(sum(numbers))\n",
            "bill.py": "import shop\n\n\ndef bill(numbers):\n    return shop.cents(sum(numbers))\n",
            "spare.py": "LEFT = 3\n",
            "test_shop.py": f"{test}        self.assertEqual(shop.total(1, 2), 3)\n",
        },
        status=5,
    )["needless"]
    assert places(found["needless"]) == [("spare.py", 0, 0)] and found["tests"] == ["test_shop.TestShop.test_shop"]
    (part,) = [one for one in found["undecided"] if one["path"] == "bill.py"]
    assert part["why"] == "no test notices, but it is about `cents`, as a part that is needed is"


def test_what_may_belong_to_a_needed_part_is_undecided(meet: Meet) -> None:
    """Nothing notices that these are gone: a helper that the needed part no longer uses, a call of a function that it
    changes, a rare word of the goal, a branch that nothing runs. A spare function and a line that runs are needless."""
    ann = meet(goal(cases={}))
    before = (
        "def dust(number):\n    return number\n\n\ndef scale(number):\n    return number\n\n\n"
        "NAMES = [\n    'bill',\n]\n\n\ndef bill(number):\n    return scale(number + 0)\n\n\n"
        "def refund(number):\n    if number < 0:\n        return 0\n    return number\n\n\n"
        "def total(*numbers):\n    first = dust(0)\n    raise NotImplementedError\n"
    )
    ann.write("shop.py", before)
    ann.commit("Begin.")
    after = before.replace("def dust(number):\n    return number\n\n\n", "").replace(
        "'bill',\n", "'bill',\n    'total',\n"
    )
    after = after.replace("scale(number):\n    return number", "scale(number):\n    return round(number)")
    after = after.replace("scale(number + 0)", "scale(number)").replace("        return 0", "        return -number")
    after = after.replace(
        "first = dust(0)\n    raise NotImplementedError", "spare = 1\n    return sum(map(scale, numbers))"
    )
    test = (
        "import unittest\n\n\nclass TestShop(unittest.TestCase):\n    def test_total(self):\n"
        "        from shop import total\n\n        self.assertEqual(total(1.4, 2), 3)\n"
    )
    files = {"shop.py": f"{after}\n\ndef left():\n    return 1\n", "test_shop.py": test}
    found = examine(ann, files, status=5)["needless"]
    assert places(found["needless"]) == [("shop.py", 26, 27)]
    why = {one["first"]: one["why"].partition(", but ")[2] for one in found["undecided"]}
    assert why == {
        1: "it is about `dust`, as a part that is needed is",
        7: "it is about `total`, as a part that is needed is",
        12: "it is about `scale`, as a part that is needed is",
        17: "none runs it, either",
    }


def test_a_change_that_a_case_refutes_is_searched_as_well(meet: Meet) -> None:
    """Its own test carries it, and the case that fails with it misses nothing. Nothing is examined again."""
    ann = meet(goal())
    ann.model.roles["judge"] = lambda request: ann.model.form(request, reason="Asked.", demanded=True, quote=TOTAL)
    test = (
        "import unittest\n\n\nclass TestShop(unittest.TestCase):\n    def test_total(self):\n"
        "        from shop import total\n\n        self.assertEqual(total(1, 2), 3)\n"
    )
    wrong = "def total(*numbers):\n    return sum(numbers[:2])\n"
    ann.git("checkout", "-q", "-b", "add")
    for path, content in {"shop.py": wrong, "spare.py": "LEFT = 3\n", "test_shop.py": test}.items():
        ann.write(path, content)
    ann.commit(TOTAL)
    ann.git("checkout", "-q", "main")
    ann.bough("examine", "add", status=3)
    asked = len(ann.wire.requests)
    said = ann.bough("examine", "add", "--needless", status=3)
    assert "its result is used" in said.all and len(ann.wire.requests) == asked and len(ann.runs()) == 1
    found = ann.bough("report", "--json").json["needless"]
    assert places(found["needless"]) == [("spare.py", 0, 0)] and found["tests"] == ["test_shop.TestShop.test_total"]


def test_a_search_that_was_killed_goes_on(meet: Meet) -> None:
    """What was tried is not tried again: the same command ends with what the search would have found at once."""
    ann = meet(goal())
    ann.git("checkout", "-q", "-b", "add")
    for path, content in {RIGHT[TOTAL][0]: RIGHT[TOTAL][1], **{f"extra{n}.py": "A = 1\n" for n in range(4)}}.items():
        ann.write(path, content)
    ann.commit(TOTAL)
    ann.git("checkout", "-q", "main")
    examining = ann.start("examine", "add", "--needless")
    tried = ann.wait(
        lambda: ann.runs() and [one["tree"] for one in ann.journal() if one["event"] == "PartTried"], "a part is tried"
    )
    ann.kill(examining)
    before = len(ann.wire.requests)
    said = ann.bough("examine", "add", "--needless", status=0)
    assert "its result is used" in said.all and len(ann.wire.requests) == before and len(ann.runs()) == 1
    trees = [one["tree"] for one in ann.journal() if one["event"] == "PartTried"]
    assert trees[: len(tried)] == tried and len(trees) == len({*trees}) == 5
    found = ann.bough("report", "--json").json["needless"]
    assert places(found["needless"]) == [(f"extra{n}.py", 0, 0) for n in range(4)]
    assert places(found["needed"]) == [("shop.py", 0, 0)] and found["checks"] == 8
    # What has been searched to the end is examined again.
    ann.bough("examine", "add", "--needless", status=0)
    assert len(ann.runs()) == 2


def test_where_nothing_carries_the_change_nothing_is_said(meet: Meet) -> None:
    """A case that fails with and without it shows nothing, so nothing could notice a loss."""
    ann = meet(goal(cases={TOTAL: "from shop import total\nassert total"}))
    ann.git("checkout", "-q", "-b", "add")
    ann.write("shop.py", RIGHT[TOTAL][1])
    ann.commit(TOTAL)
    said = ann.bough("examine", "add", "--base", "main", "--needless", status=5)
    assert "no test or probe fails without the change" in said.all
    assert "needless" not in ann.bough("report", "--json").json
