"""Examines a change that somebody else made, as a run whose work is already there.

The run starts from the files before the change, and the change is its work. It is judged like any other run, but no
agent repairs anything: refuted work stays refuted."""

import asyncio
import re
from functools import partial

import msgspec
from msgspec.structs import replace

from bough.adapters.workspaces.person_repository import GivenChange, PersonCommits
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session
from bough.core.acceptance.goal_reading import read_goal
from bough.core.errors import UsageError
from bough.core.planning.plan import Step, build_goal_step
from bough.core.textual.spelling import UNREADABLE
from bough.services.earlier_runs import StartingPoint
from bough.trust.remotes import run_theirs
from bough.views.run_view import Outcome

MOST_FILES = 3_000
"""The most files that a change may have, because no examiner reads more."""
SHOWN_LINES = 12
"""The most lines of the goal that are shown before the examination begins."""
FEWEST_WORDS = 3
"""The fewest words that a goal must have: fewer cannot ask for anything."""
JUDGED = ("completed", "not_proven", "failed")
"""The statuses of completed examinations: the change is proven, neither proven nor refuted, or refuted."""


async def find_change(session: Session, what: str, against: str = "") -> GivenChange:
    """Find the change that the person names in their repository, or a pull request (`#1`) with their own `gh`."""
    if request := re.fullmatch(r"#(\d+)", what):
        return await asyncio.to_thread(_find_request, session, request[1], against)
    return await asyncio.to_thread(PersonCommits(session.root).find_change, what, against)


def _find_request(session: Session, number: str, against: str) -> GivenChange:
    """Find a pull request: by its commits if they are in this repository, else as a patch."""
    ask, commits = partial(run_theirs, root=session.root), PersonCommits(session.root)
    says, fields = f"the pull request #{number}", '[.title, .body, .base.ref, .base.sha, .head.sha] | map(. // "")'
    try:
        told = ask(("gh", "api", f"repos/{{owner}}/{{repo}}/pulls/{number}", "--jq", fields))
        title, body, branch, known, head = msgspec.json.decode(told, type=tuple[str, str, str, str, str])
    except UNREADABLE as error:
        raise UsageError(f"The answer of `gh` about {says} cannot be read ({error}): update `gh`.") from None
    messages, names = (f"{title}\n\n{body}".strip(),), (against, known, f"origin/{branch}", branch)
    base = next((found for name in names if name and (found := commits.find(name))), "") or commits.require("HEAD")
    if head and commits.find(head):
        return replace(commits.compare(base, head, says), says=says, messages=messages)
    return GivenChange(says, base, "", f"{ask(('gh', 'pr', 'diff', number))}\n".encode(), messages)


def choose_goal(change: GivenChange, head: str, goal: str, check: str | None) -> tuple[Step, str]:
    """Return a step for what the change should achieve, which is `goal` or in its commit messages, and a text for the
    person about that. `head`: the tree with the change."""
    count, lines = len(change.messages), (text := goal.strip() or "\n\n".join(change.messages)).splitlines()
    where = "as you say" if goal.strip() else "from its message" if count == 1 else f"from its {count} messages"
    if not text:
        raise UsageError(f"Nothing says what {change.says} should achieve: say it with --goal TEXT or --goal-file F.")
    step = replace(build_goal_step(text, check=check), given=head)
    if not read_goal(step).requirements or len(re.findall(r"\w+", text)) < FEWEST_WORDS:
        raise UsageError(f"“{text}” asks for nothing that a test could show: say with --goal TEXT what should be true.")
    more = [f"  … and {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    shown = (f"  {line}" for line in lines[:SHOWN_LINES])
    return step, "\n".join([f"Examining {change.says}. What it should achieve, {where}:", *shown, *more])


async def take_change(session: Session, change: GivenChange) -> tuple[str, str]:
    """Store the files before and after the change in bough's own repository, and return both trees. Raises an error if
    the change cannot be judged."""
    workspaces = session.workspaces
    base = await bring_commit(session, change.base)
    head = await (workspaces.patch(base, change.patch) if change.patch else bring_commit(session, change.head))
    changed = await workspaces.changes(base, head)
    if not changed:
        clean = ": name a branch, a commit or a range" if not change.head and not change.patch else ""
        raise UsageError(f"Nothing to examine: no file differs in {change.says}{clean}.")
    if len(changed) > MOST_FILES:
        many = f"{len(changed):,} files, more than could be examined ({MOST_FILES:,})"
        raise UsageError(f"{change.says} changes {many}: name a part of it, as a range A..B or with --base.")
    if all(one.binary for one in await workspaces.count_changes(base, head)):
        named = ", ".join(one.path for one in changed[:3])
        raise UsageError(f"{change.says} changes only binary files ({named}), which no test can examine: name another.")
    return base, head


async def bring_commit(session: Session, commit: str) -> str:
    """Copy the files of a commit, or the person's files if it is empty, into bough's repository; return their tree."""
    if not commit:
        return await session.workspaces.take()
    tree = await asyncio.to_thread(PersonCommits(session.root).find_tree, commit)
    await session.workspaces.bring(tree)
    return tree


async def find_examined(session: Session, base: str, step: Step) -> Outcome | None:
    """Find a run that has examined this very change and passed its check, but has not looked for needless parts yet."""
    for name in await session.store.runs():
        run = await session.run(name)
        if (run.base, run.plan.goal) != (base, step) or run.end is None or run.end.end not in JUDGED:
            continue
        verdict = (await session.work(name)).acceptance.verdict
        passed = verdict is not None and verdict.ruling == "passed"
        if passed and not await session.store.read(name, kinds=("NeedlessFound",)):
            return await session.outcome(name)
    return None


async def examine(session: Session, says: str, base: str, step: Step, choices: Choices, watch: RunObserver) -> Outcome:
    """Examine the change that the step has, from the tree `base`. `says`: a phrase for the change."""
    rules = choices.rules(session.config.limits)
    # The examination may use the whole budget.
    acceptance = replace(rules.acceptance, examine="always", proof="difference", share=1.0)
    point = StartingPoint(base=base, rules=replace(rules, acceptance=acceptance), examines=says)
    return await session.start(step, choices, watch, point)
