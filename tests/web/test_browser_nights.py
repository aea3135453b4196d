"""Every button of a list of goals, in every state of the list and of a goal, at home and on the backlog's page."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from msgspec.structs import replace

from bough.core import events as e
from bough.core.backlog.entry import GoalEntry, GoalReport
from bough.core.ids import GOAL
from bough.core.planning.plan import Plan
from tests.harness import CALC, CHECK, FIXED, git
from tests.interfaces.shell import bough, until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import Page, at, browser, expect, find_axe_violations, page_of
from tests.web.journals import TREE, Told
from tests.web.places import Place, make_place

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]

SCREENS = pytest.mark.parametrize("screen", ["home", "backlog"])
Listed = tuple[str, GoalEntry, str, GoalReport | None]
KINDS = ("ready", "not_begun", "waiting", "given_up", "not_proven", "running")


def report(kind: str, conflicts: dict[str, tuple[str, ...]] | None = None) -> GoalReport:
    status = {"given_up": "failed", "proven": "completed", "waiting": "waiting"}.get(kind, kind)
    return GoalReport(status, "as it is", files=("calc.py",), added=1, removed=1, conflicts=conflicts or {})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The lists of one project: one a screen with goals of all kinds, one a screen in each of a night's states, one a
    screen with goals that conflict, and one with goals that do not."""
    sources = ("changed", "other", "edges", "release")
    with make_place(tmp_path_factory.mktemp("nights"), *sources) as made, ExitStack() as stack:
        for screen in ("home", "backlog"):
            for name in write_kinds(made, screen):
                stack.enter_context(journals.carried_out(made.root, name))
            write_conflicts(made, screen)
            for state in ("fresh", "open", "ended"):
                write_list(
                    made,
                    f"{state}-{screen}",
                    [("only", GoalEntry("Say hello in hello.py.", "python3 hello.py"), "", None)],
                )
        write_ready(made)
        assert bough(made.root, "trust", "--yes", **made.mine).status == 0  # The same person listed the goals.
        yield made


def write_list(place: Place, name: str, goals: Sequence[Listed]) -> None:
    """A list: its goals, each with its run and what came of it. How its night stands is the beginning of its name."""
    listed: list[Told] = [(goal, e.GoalListed(entry)) for goal, entry, *_ in goals]
    if not name.startswith("fresh"):
        listed.append(("@control", e.NightStarted(place.tree, git(place.root, "rev-parse", "HEAD").strip())))
    for goal, _, run, came in goals:
        if run:
            listed.append((goal, e.GoalTaken(run, TREE)))
        if came is not None:
            listed.append((goal, e.GoalSettled(came)))
    if not name.startswith(("fresh", "open", "working")):
        listed.append(("@control", e.NightEnded("the night is over")))
    journals.write(place.root, f"@backlog/{name}", listed)


def begin(listed: str) -> list[Told]:
    """A run that works on that goal of a list."""
    (task, started), *rest = journals.large(1, 1, over=False)
    assert isinstance(started, e.RunStarted)
    return [(task, replace(started, listed=listed)), *rest]


def write_kinds(place: Place, screen: str) -> list[str]:
    """Two goals of each kind: one is changed, the other dropped. Returns the runs that somebody has to carry out."""
    goals: list[Listed] = [("rest", GoalEntry("Rest.", "true"), "", None)]
    for kind in KINDS:
        for n in (1, 2):
            name, run = f"{kind.replace('_', '-')}-{n}", f"{kind.replace('_', '-')}-{screen}-{n}"
            entry = GoalEntry(f"Goal {name}.", "true", needs=("given-up-1",) if kind == "not_begun" else ())
            if kind in ("ready", "not_begun"):
                goals.append((name, entry, "", None))
                continue
            asked: list[Told] = [(GOAL, e.QuestionAsked("Which?"))]
            halted: list[Told] = [
                *asked,
                (GOAL, e.TaskHalted("waiting", "Which?")),
                ("", e.RunHalted("waiting", "Which?")),
            ]
            end: dict[str, list[Told]] = {
                "running": asked,
                "waiting": halted,
                "given_up": [("", e.RunFinished("failed", "no"))],
                "not_proven": [("", e.RunFinished("not_proven", "no"))],
            }
            journals.write(
                place.root,
                run,
                [*begin(f"working-{screen}/{name}"), *end[kind]],
            )
            goals.append((name, entry, run, None if kind == "running" else report(kind)))
    write_list(place, f"working-{screen}", goals)
    return [f"running-{screen}-{n}" for n in (1, 2)]


def write_conflicts(place: Place, screen: str) -> None:
    """Two pairs of goals that are proven and do not fit together."""
    goals = []
    for pair in ("a", "b"):
        one, other = f"{screen}-sum-{pair}", f"{screen}-order-{pair}"
        files = ("calc.py",)
        goals += [
            (one, GoalEntry("Make add add.", CHECK), place.copy("changed", "completed"), report("proven")),
            (other, GoalEntry("Other.", CHECK), place.copy("other", "completed"), report("proven", {one: files})),
        ]
    write_list(place, f"torn-{screen}", goals)


def write_ready(place: Place) -> None:
    goals = [
        (source, GoalEntry(f"Goal {source}."), place.copy(source, "completed"), report("proven"))
        for source in ("changed", "edges", "release")
    ]
    write_list(place, "ended", goals)


def see(page: Page, place: Place, screen: str) -> None:
    page.goto(f"{place.served.url}/#/" if screen == "home" else at(place.served, "backlog", place.served.project))
    expect(page.get_by_role("region", name="Goals of").first).to_be_visible()


def find_goals(place: Place, name: str) -> dict[str, dict[str, Any]]:
    """The goals of a list, by name, as they are shown."""
    nights = place.served.get("/api/runs")["projects"][0]["nights"]
    groups = [group for night in nights if night["list"] == name for group in night["groups"]]
    return {goal["name"]: goal for group in groups for goal in group["goals"]}


def await_goal(place: Place, name: str, goal: str, *kinds: str) -> None:
    """Until it is in the list, as one of these."""
    until(lambda: (found := find_goals(place, name).get(goal)) and (not kinds or found["kind"] in kinds))


def await_gone(place: Place, name: str, goal: str) -> None:
    until(lambda: goal not in find_goals(place, name))


def find_entry(place: Place, name: str, goal: str) -> dict[str, Any]:
    found: dict[str, Any] = place.served.get(f"/api/{place.served.project}/backlogs/{name}/{goal}")
    return found


def move(place: Place, name: str, row: Any) -> None:
    order = list(find_goals(place, name))
    press_in(row, "move-down")
    until(lambda: list(find_goals(place, name)) != order)
    shown = row.page.get_by_role("region", name=f"Goals of {name}").locator(".goal .name")
    expect(shown).to_have_text(list(find_goals(place, name)))  # Until then, another press counts for nothing.
    press_in(row, "move-up")
    until(lambda: list(find_goals(place, name)) == order)


def drop(place: Place, name: str, row: Any, goal: str) -> None:
    press_in(row, "drop")
    press_in(row, "keep-it")
    press_in(row, "drop")
    press_in(row, "really-drop")
    await_gone(place, name, goal)
    expect(row).to_have_count(0)


def change(place: Place, name: str, row: Any, goal: str) -> None:
    """It begins after the rest from now on."""
    press_in(row, "edit")
    press_in(row, "close-goal")
    press_in(row, "edit")
    row.get_by_label("rest").check()
    press_in(row, "save-goal")
    expect(row.get_by_role("form")).to_have_count(0)
    assert "rest" in find_entry(place, name, goal)["needs"]


@SCREENS
def test_a_goal_is_changed_moved_and_dropped_in_every_state(browser: Any, place: Place, screen: str) -> None:
    name = f"working-{screen}"
    with page_of(browser, place.served) as page:
        see(page, place, screen)
        goals = page.get_by_role("region", name=f"Goals of {name}")
        shown = find_goals(place, name)
        for kind in KINDS:
            first, second = (f"{kind.replace('_', '-')}-{n}" for n in (1, 2))
            assert shown[first]["kind"] == shown[second]["kind"] == kind, shown
            rows = {
                each: goals.locator(".goal").filter(has=page.get_by_text(each, exact=True)) for each in (first, second)
            }
            if kind in ("ready", "not_begun"):
                move(place, name, rows[first])
            drop(place, name, rows[second], second)
            change(place, name, rows[first], first)


def press_in(box: Any, action: str) -> None:
    box.locator(f'[data-action="{action}"]').first.click()


def test_a_goal_that_somebody_works_on_is_shown_and_alone_is_no_night(browser: Any, place: Place) -> None:
    journals.write(place.root, "by-hand", begin("ended-hand/only"))
    write_list(place, "ended-hand", [("only", GoalEntry("Resumed by hand."), "by-hand", report("budget"))])
    with page_of(browser, place.served) as page, journals.carried_out(place.root, "by-hand"):
        for screen, count in (("home", 0), ("backlog", 1)):
            see(page, place, screen)
            goals = page.get_by_role("region", name="Goals of ended-hand")
            expect(goals.locator(".goal")).to_have_count(count)  # At home it is with what happens now.
            expect(goals.locator('[data-action="stop-night"]')).to_have_count(0)


@SCREENS
def test_goals_are_added_and_a_night_begins_from_every_state(browser: Any, place: Place, screen: str) -> None:
    with page_of(browser, place.served) as page:
        see(page, place, screen)
        for state in ("fresh", "open", "ended", "working"):
            name = f"{state}-{screen}"
            goals = page.get_by_role("region", name=f"Goals of {name}")
            press_in(goals, "add")
            press_in(goals, "close-goal")
            press_in(goals, "add")
            goals.get_by_label("Goal", exact=True).fill("Keep notes in nine files.")
            goals.get_by_label("Check").fill("test -e notes/9.txt")
            goals.get_by_role("group", name="Begins after").get_by_role("checkbox").first.check()
            press_in(goals, "save-goal")
            await_goal(place, name, "keep-notes-in-nine-files")
            press_in(goals, "close-goal")
            assert len(find_entry(place, name, "keep-notes-in-nine-files")["needs"]) == 1
            if state == "working":
                press_in(goals, "stop-night")
                place.await_event(f"@backlog/{name}", "StopRequested")
                continue
            for end in ("cancel-night", "start-night"):
                press_in(goals, "night")
                for choice in ("give-up", "partial-branches", "draft-requests"):
                    goals.locator(f'[data-action="{choice}"]').check()
                assert not (found := find_axe_violations(page)), found
                press_in(goals, end)
            await_goal(place, name, "keep-notes-in-nine-files", "proven")
            place.await_last(f"@backlog/{name}", "NightEnded")
            assert find_goals(place, name)["only"]["address"] == "https://github.example/o/r/pull/7"


@SCREENS
def test_of_what_conflicts_one_is_kept_or_an_agent_merges(browser: Any, place: Place, screen: str) -> None:
    name = f"torn-{screen}"
    (task, started), *rest = journals.large(1, 1, over=False)
    assert isinstance(started, e.RunStarted)
    goal = replace(started.plan.goal, instructions=f"Bring together {screen}-sum-b and {screen}-order-b.\n\nBoth.")
    tried: list[Told] = [(task, replace(started, plan=Plan(goal))), *rest, ("", e.RunFinished("failed", "no"))]
    journals.write(place.root, f"tried-{screen}", tried)
    with page_of(browser, place.served) as page:
        see(page, place, screen)
        for pair in ("a", "b"):
            one, other = f"{screen}-sum-{pair}", f"{screen}-order-{pair}"
            clash = page.get_by_role("region", name=f"Conflict of {one} and {other}")
            if pair == "a":
                press_in(clash, "merge")
                expect(page.get_by_role("heading", level=1)).to_have_text(f"Bring together {one} and {other}.")
                run = page.url.rpartition("/")[2]
                place.await_end(run)
                expect(page.locator(".outcome")).to_be_visible()
                assert (
                    "sum((a, b))" in place.served.client.get(place.served.of(run, "/diff?task=goal&file=calc.py")).text
                )
                see(page, place, screen)
                expect(clash).to_contain_text("An agent has merged them")
            else:
                expect(clash).to_contain_text("An agent could not merge them: failed")
                expect(clash.get_by_role("button", name="Let an agent merge")).to_be_enabled()
            press_in(clash, "see-both")
            expect(clash.locator("pre.ins")).to_have_text(["    return a + b", "    return b + a"])
            press_in(clash, "keep-one")
            press_in(clash, "drop-other")
            await_gone(place, name, other)
            expect(clash).to_have_count(0)


def forget_branch(place: Place, run: str) -> None:
    for root in (place.root, place.root.parent / "origin.git"):
        git(root, "branch", "-D", f"bough/{run}")


def open_requests(page: Page, place: Place, night: Any) -> None:
    """A draft for the last of what is ready alone."""
    log = place.root.parent / "gh.log"
    before = log.read_text().count("pr create --draft") if log.exists() else 0
    press_in(night, "open-requests")
    press_in(night, "cancel-taking")
    press_in(night, "open-requests")
    *others, last = night.locator('[data-action="take"]').all()
    for box in others:
        box.set_checked(False)
    last.set_checked(True)
    press_in(night, "open-chosen")
    expect(night.get_by_role("list", name="What came of it")).to_contain_text("/pull/7")
    assert log.read_text().count("pr create --draft") == before + 1
    forget_branch(place, find_goals(place, "ended")["release"]["run"])


def apply_chosen(night: Any, *names: str) -> None:
    """These of what is ready; those with files that take effect on their own only after one more word."""
    press_in(night, "apply-all")
    expect(night.locator('[data-action="apply-chosen"]')).to_be_visible()  # Not what is left of the requests' boxes.
    boxes = night.locator("label.tick-box").filter(has_text="Goal ")
    for number, said in enumerate(boxes.all_inner_texts()):
        boxes.nth(number).get_by_role("checkbox").set_checked(any(f"Goal {name}." in said for name in names))
    press_in(night, "apply-chosen")
    for name in names:
        line = night.get_by_role("list", name="What came of it").get_by_role("listitem").filter(has_text=f"{name}:")
        if name != "changed":
            press_in(line, "apply-edges")
        expect(line).to_contain_text("Applied")


@SCREENS
def test_all_that_is_proven_is_applied_opened_and_taken_back(browser: Any, place: Place, screen: str) -> None:
    root = place.root
    files = (root / ".github/workflows/ci.yml", root / ".github/workflows/tag.yml")
    with page_of(browser, place.served) as page:
        see(page, place, screen)
        night = page.get_by_role("region", name="The backlog ended", exact=True)
        expect(night.get_by_role("button", name="Apply 3 to my files…")).to_be_visible()
        open_requests(page, place, night)
        apply_chosen(night, "edges")
        assert files[0].exists() and (root / "calc.py").read_text() == CALC
        expect(night.get_by_role("button", name="Apply 2 to my files…")).to_be_visible()
        open_requests(page, place, night)
        press_in(night, "undo-all")
        expect(night.get_by_role("button", name="Apply 3 to my files…")).to_be_visible()
        assert not files[0].exists()
        apply_chosen(night, "changed")
        expect(night.get_by_role("button", name="Apply 2 to my files…")).to_be_visible()
        apply_chosen(night, "edges", "release")
        expect(night.locator('[data-action="apply-all"]')).to_have_count(0)
        assert all(file.exists() for file in files) and (root / "calc.py").read_text() == FIXED
        press_in(night, "undo-all")
        expect(night.get_by_role("button", name="Apply 3 to my files…")).to_be_visible()
        assert not any(file.exists() for file in files) and (root / "calc.py").read_text() == CALC
