"""Keeps a backlog up to date with the issues of a tracker. Each issue becomes one goal, however often this runs.

Issues are identified by their address. Every change is one event, so that the next sync completes one that was killed.
"""

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from msgspec import json
from msgspec.structs import replace

from bough.app.journal import Journal, find_project_root
from bough.core import events as e
from bough.core.backlog.reading import Issue, read_issues
from bough.core.errors import Unavailable, UsageError
from bough.core.ids import CONTROL
from bough.services.backlog import add_goals, edit_goal, load_backlog, load_page
from bough.services.hooks import Outbox
from bough.trust.remotes import run_theirs
from bough.views.night import HEADINGS

BY = "sync"
"""The name recorded for whoever dropped a goal whose issue was closed. Goals that a person dropped stay dropped."""
MARK = "<!-- bough: {} -->"
"""The text by which bough finds its own comment on an issue."""


def read_tracker(where: str, labels: Sequence[str], limit: int, folder: Path, state: str = "open") -> list[Issue]:
    """Read the issues that have one of these labels, with the person's own `gh` or `glab`."""
    if where == "github":
        argv = ["gh", "issue", "list", "--state", state, "--limit", str(limit)]
        argv += ["--json", "number,title,body,labels,url,state"]
    else:
        argv = ["glab", "issue", "list", "--output", "json", "--per-page", str(min(limit, 100))]
    if len(labels) == 1:  # With several labels the client would list only issues that have all of them.
        argv += ["--label", labels[0]]
    try:
        said = run_theirs(argv, find_project_root(folder), timeout=120)
    except Unavailable as error:
        other = f"`{' '.join(argv)} | bough backlog import {where} --stdin --yes`"
        raise Unavailable(f"{error} On a machine where it works, run {other}.") from None
    return [issue for issue in read_issues(said, argv[0]) if not labels or set(issue.labels) & set(labels)]


Done = dict[str, list[str]]
"""The names of goals by what happened to them: `added`, `dropped`, `edited` (their issue was), `taken` (they took over
the edited text), `kept` (they have begun although their issue is closed now)."""


async def sync_issues(
    journal: Journal, name: str, issues: Sequence[Issue], *, edits: bool = False
) -> tuple[Done, dict[str, str]]:
    """Add goals for new issues, drop goals of closed issues that have not begun, and report edited issues. `edits`:
    goals that have not begun take over the edited text. Return what happened, and why goals were refused."""
    with Outbox(journal.root).lock("sync"):
        backlog, done, refused = await load_backlog(journal, name), Done(), dict[str, str]()
        texts: dict[str, set[str]] = {}
        dropped: dict[str, str] = {}
        for record in await journal.store.read(backlog.stream, kinds=("GoalsListed", "GoalEdited", "GoalDropped")):
            match record.event:
                case e.GoalsListed(entries):
                    for goal, entry in entries.items():
                        texts.setdefault(goal, set()).add(entry.goal)
                case e.GoalEdited(goal, entry):
                    texts.setdefault(goal, set()).add(entry.goal)
                case e.GoalDropped(goal, by):
                    dropped[goal] = by
        known = {item.entry.source or item.name: item for item in backlog.items.values()}
        new = []
        for issue in {issue.entry.source or issue.name: issue for issue in issues}.values():
            item = known.get(issue.entry.source or issue.name)
            gone = item is None or (item.dropped and dropped.get(item.name) == BY)
            if gone and not issue.closed:
                free = chain([issue.name], (f"{issue.name}-{number}" for number in count(2)))
                new.append((next(each for each in free if each not in backlog.items), issue.entry))
            elif item is not None and not item.dropped:
                # If the goal once had the issue's text, the person has changed the goal, and the issue is unchanged.
                changed = "edited" if issue.entry.goal not in texts[item.name] else ""
                what = changed if not issue.closed else "kept" if item.run else "dropped"
                if what:
                    done.setdefault(what, []).append(item.name)
                if what == "dropped":
                    await journal.store.post(backlog.stream, CONTROL, e.GoalDropped(item.name, BY))
                if what == "edited" and edits and not item.run:
                    try:
                        await edit_goal(journal, backlog, item, replace(item.entry, goal=issue.entry.goal))
                        done.setdefault("taken", []).append(item.name)
                    except UsageError as error:
                        refused[item.name] = str(error)
        for added in await add_goals(journal, backlog, new, keep_going=True):
            if added.refused:
                refused[added.name] = added.refused
            else:
                done.setdefault("added", []).append(added.name)
        return done, refused


async def comment_on_issues(journal: Journal, name: str, now: float) -> list[str]:
    """Write the status of each goal that has begun into one comment on its issue; return the goals that changed."""

    def api(path: str, *words: str) -> str:
        return run_theirs(["gh", "api", path, *words], journal.root, timeout=120)

    backlog, changed = await load_backlog(journal, name), []
    login = json.decode(api("user"))["login"]
    for goal in (await load_page(journal, backlog, now)).goals:
        item = backlog.items[goal.name]
        _, _, number = item.entry.source.rpartition("/issues/")
        if not item.run or not number.isdigit():
            continue
        mark, place = MARK.format(f"{name}/{goal.name}"), "repos/{owner}/{repo}/issues"
        where = f" on the branch `{goal.branch}`" if goal.branch else ""
        body = f"bough: {HEADINGS[goal.kind].lower()}{where}.{f' {goal.address}' if goal.address else ''}\n{mark}"
        found = json.decode(api(f"{place}/{number}/comments?per_page=100"), type=list[dict[str, object]])
        mine = [one for one in found if mark in str(one["body"]) and dict(one["user"])["login"] == login]  # type: ignore[call-overload]
        if mine and mine[0]["body"] == body:
            continue
        if mine:
            api(f"{place}/comments/{mine[0]['id']}", "--method", "PATCH", "-f", f"body={body}")
        else:
            api(f"{place}/{number}/comments", "-f", f"body={body}")
        changed.append(goal.name)
    return changed
