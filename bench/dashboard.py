"""How fast the dashboard shows a large run, and what many open pages cost.

    python -m bench.dashboard                 # 100,000 events; a diff of 200,000 lines; needs chromium and playwright
    python -m bench.dashboard --pages 100     # and a hundred pages that follow a run
    python -m bench.dashboard --day           # instead: 30 windows, 300 tasks, 5,000 rounds, a night of 20

Prints one JSON object. `first_paint` and `first_contentful_paint` are the browser's own numbers; `tree` is when the
first line of the tree is in the page. Cold: the server has just been started. Warm: it has read the run before.
"""

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.harness import make_project
from tests.interfaces.shell import act, bough, run_args
from tests.web import journals
from tests.web.serving import Server, serve
from tests.wire import WireModel

from bough.core import events as e
from bough.core.tree.task_state import State

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
PAINT = (
    """() => Object.fromEntries(performance.getEntriesByType('paint').map((e) => [e.name, Math.round(e.startTime)]))"""
)
TREE = """() => new Promise((done) => {
    const there = () => document.querySelector('.space .row .what');
    const look = () => there() ? done(Math.round(performance.now())) : requestAnimationFrame(look);
    look();
})"""

SHOWN = """(text) => new Promise((done) => {
    const there = () => document.querySelector('.rows.diff')?.textContent.includes(text);
    const look = () => there() ? done(Math.round(performance.now())) : requestAnimationFrame(look);
    look();
})"""
MAKE = (
    "python3 -c \"import pathlib; pathlib.Path('data').mkdir();"
    "pathlib.Path('data/rows.csv').write_text(''.join(f'{n},row number {n}\\n' for n in range(200000)));"
    "[pathlib.Path(f'data/test_{n}.json').write_text('{}') for n in range(302)]\""
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=23)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--day", action="store_true")
    chosen = parser.parse_args()
    if chosen.day:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({"load": os.getloadavg()[0], **measure_day(Path(folder), chosen.repeat)}, indent=2))
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        events = journals.write(root, "amber-heron", journals.large(chosen.tasks, chosen.rounds))
        found: dict[str, Any] = {"events": events, "tasks": chosen.tasks, "load": os.getloadavg()[0]}
        found["painted"] = painted(root, chosen.repeat)
        if chosen.pages:
            found["followed"] = followed(root, chosen.pages)
        found["changed"] = changed(root / "changed")
    print(json.dumps(found, indent=2))


def measure_day(root: Path, repeat: int) -> dict[str, Any]:
    """Milliseconds: the first line of a tree of 300 tasks, served and as a static file of the same run; the last of
    5,000 rounds, a search through them and a jump; the morning of 20 goals; and 30 windows on two live runs."""
    from playwright.sync_api import sync_playwright

    journals.write(root, "moss-heron", journals.large(300, 6))
    journals.write(root, "amber-heron", journals.large(1, 5000))
    for name in ("jade-fox", "ruby-owl"):
        journals.write(root, name, journals.large(3, 2, over=False))
    _write_night(root, 20)
    file = root / "run.html"
    bough(root, "export", "moss-heron", "--html", "--output", str(file))
    with sync_playwright() as started, serve(root) as served:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(f"window.localStorage?.setItem('bough-token', '{served.token}')")

        def open_page(address: str, css: str) -> int:
            page = context.new_page()
            page.goto(address, wait_until="commit")
            shown = int(page.evaluate(SEEN, css))
            page.close()
            return shown

        top, found = f"{served.url}/#", dict[str, Any]()
        tree, row = f"{top}/run/{served.project}/moss-heron/tree", ".space .row .what"
        found["tree_of_300"] = [open_page(tree, row) for _ in range(repeat)]
        found["static_file"] = [open_page(file.as_uri(), row) for _ in range(repeat)]
        found["morning_of_20"] = [open_page(f"{top}/", ".night") for _ in range(repeat)]
        found |= _measure_talk(context, f"{top}/task/{served.project}/amber-heron/group-0%2Fmodule-0-0")
        found["windows"] = _measure_windows(context, served, root)
        browser.close()
    return found


SEEN = """(css) => new Promise((done) => {
    const look = () => document.querySelector(css) ? done(Math.round(performance.now())) : requestAnimationFrame(look);
    look();
})"""


def _write_night(root: Path, goals: int) -> None:
    from bough.core.backlog.entry import GoalEntry, GoalReport

    told: list[journals.Told] = [(f"goal-{n}", e.GoalListed(GoalEntry(f"Goal {n} holds."))) for n in range(goals)]
    told.append(("@control", e.NightStarted(journals.TREE, "", None)))
    for number in range(goals):
        journals.write(root, f"run-{number}", journals.large(2, 3))
        told.append((f"goal-{number}", e.GoalTaken(f"run-{number}", journals.TREE)))
        report = GoalReport("completed", "its check passes", branch=f"bough/run-{number}", files=("a.py",), added=4)
        told.append((f"goal-{number}", e.GoalSettled(report)))
    journals.write(root, "@backlog/backlog", [*told, ("@control", e.NightEnded("everything is done"))])


def _measure_talk(context: Any, address: str) -> dict[str, int]:
    page = context.new_page()
    page.goto(address, wait_until="commit")
    opened = page.evaluate(SEEN, "#round-5000")
    begun = page.evaluate("performance.now()")
    page.get_by_label("Search").fill("test_6.py")
    searched = page.evaluate(SEEN, ".found li") - begun
    page.get_by_role("link", name="Round 7", exact=True).first.click()
    begun = page.evaluate("performance.now()")
    gone = page.evaluate(SEEN, "#round-7") - begun
    page.close()
    return {"last_of_5000_rounds": opened, "search_of_5000_rounds": round(searched), "go_to_a_round": round(gone)}


def _measure_windows(context: Any, served: Server, root: Path, count: int = 30) -> dict[str, Any]:
    """They share one stream: how many were ever open, how long until all show a tree, and until all show a change."""
    streams: list[str] = []
    context.on("request", lambda asked: streams.append(asked.url) if "/api/live" in asked.url else None)
    begun = time.monotonic()
    opened = []
    for number in range(count):
        page = context.new_page()
        page.goto(f"{served.url}/#/run/{served.project}/{('jade-fox', 'ruby-owl')[number % 2]}")
        page.locator(".space .row").first.wait_for()
        opened.append(page)
    ready = time.monotonic() - begun
    for run in ("jade-fox", "ruby-owl"):
        journals.append(root, run, "group-0/module-0-1", [e.StateChanged(State.BLOCKED, "it is stuck")])
    begun = time.monotonic()
    for page in opened:
        page.locator(".space .row.bad").first.wait_for(timeout=120_000)
    told = time.monotonic() - begun
    return {"count": count, "all_open_s": round(ready, 1), "all_told_s": round(told, 2), "streams": len(streams)}


def painted(root: Path, repeat: int) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started, serve(root) as served:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context()
        context.add_init_script(f"localStorage.setItem('bough-token', '{served.token}')")
        # Asking for its name would have the server read the run.
        project = sha256(str(root.resolve()).encode()).hexdigest()[:8]
        address = f"{served.url}/#/run/{project}/amber-heron"
        measured = []
        for _ in range(repeat + 1):
            page = context.new_page()
            page.goto(address, wait_until="commit")
            tree = page.evaluate(TREE)
            measured.append({**page.evaluate(PAINT), "tree": tree})
            page.close()
        browser.close()
    return {"cold": measured[0], "warm": measured[1:]}


def changed(root: Path) -> dict[str, Any]:
    """A run that changed 304 files, one of them by 200,000 lines: milliseconds until the first file is shown, and until
    the large one is, and how many nodes the page has then."""
    from playwright.sync_api import sync_playwright

    work = [act("bash", command=MAKE), act("edit", path="calc.py", old="a - b", new="a + b"), act("done", summary="")]
    with WireModel(work) as wire:
        bough(make_project(root), *run_args(wire.base_url, "--protocol", "tools", "--json"))
    with sync_playwright() as started, serve(root) as served:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context()
        context.add_init_script(f"localStorage.setItem('bough-token', '{served.token}')")
        run = served.get("/api/runs")["projects"][0]["runs"][0]["run"]
        page = context.new_page()
        page.goto(f"{served.url}/#/run/{served.project}/{run}/changes", wait_until="commit")
        first = page.evaluate(SHOWN, "return a + b")
        page.locator(".rows.files").evaluate("box => { box.scrollTop = box.scrollHeight; }")
        large = page.get_by_role("button", name="rows.csv")
        large.wait_for()
        begun = page.evaluate("performance.now()")
        large.click()
        opened = page.evaluate(SHOWN, "row number 5")
        nodes = page.evaluate("document.querySelectorAll('*').length")
        files = page.locator(".changes .bar").inner_text().split("\n")[0]
        browser.close()
    return {"files": files, "first_file": first, "large_file": round(opened - begun), "nodes": nodes}


def followed(root: Path, pages: int) -> dict[str, Any]:
    """Pages that follow a run, ten events a second for five seconds: what the server uses, and how late they hear."""
    journals.write(root, "jade-fox", journals.large(20, 4, over=False))
    late: list[float] = []
    with serve(root) as served, journals.carried_out(root, "jade-fox"):
        ready = threading.Barrier(pages + 1)
        threads = [threading.Thread(target=_listen, args=(served, ready, late)) for _ in range(pages)]
        for thread in threads:
            thread.start()
        ready.wait()
        before = _processor_time(served.process.pid)
        begun = time.monotonic()
        for number in range(50):
            journals.append(root, "jade-fox", "group-0/module-0-1", [journals.said(f"{number}")])
            time.sleep(max(0.0, begun + number * 0.1 - time.monotonic()))
        journals.append(root, "jade-fox", "", [e.RunHalted("stopped", "that is enough")])
        for thread in threads:
            thread.join()
        spent, seconds = _processor_time(served.process.pid) - before, time.monotonic() - begun
    late.sort()
    return {
        "pages": pages,
        "seconds": round(seconds, 1),
        "server_processor_seconds": round(spent, 2),
        "heard_after_median": round(late[len(late) // 2], 3),
        "heard_after_worst": round(late[-1], 3),
    }


def _listen(served: Server, ready: threading.Barrier, late: list[float]) -> None:
    import httpx2

    with (
        httpx2.Client(base_url=served.url, headers={"x-bough": served.token}, timeout=120) as client,
        client.stream("GET", served.live("jade-fox")) as stream,
    ):
        waiting = True
        for line in (line for line in stream.iter_lines() if line.startswith("data: ")):
            if waiting:
                waiting = False
                ready.wait()
                continue
            said = json.loads(line[6:])
            late.append(time.time() - said["run"]["last_at"])
            if said["run"]["summary"] == "that is enough":
                return


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
