"""Writes the description of a run's pull request, and opens the pull request."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bough.app.session import Session
from bough.core.conversation.text_fitting import fence_text
from bough.core.errors import Unavailable
from bough.core.textual.cleaning import clean_markdown, escape_text
from bough.services.backlog import find_issue
from bough.services.hooks import ask_before
from bough.trust.files import Place
from bough.trust.remotes import push_branch, run_theirs
from bough.views.formatting import first_sentence
from bough.views.markdown import fold, render_table
from bough.views.vocabulary import describe_evidence, render_totals

LISTED = 12
"""The most lines of the goal, and of the list of changed files, before the rest is folded."""


async def write_description(opened: Session, name: str) -> tuple[Path, str]:
    """Write a pull request's description, from evidence and not from a model's words. Return its file and the goal."""
    state, task = await opened.run(name), await opened.task(name)
    stat = await opened.diff(name, stat=True)
    goal = escape_text(state.plan.goal.instructions.strip())
    verdict = task.acceptance.verdict
    said = describe_evidence(verdict) if verdict is not None else "not verified: no check ran"
    reason = ["", clean_markdown(verdict.reason)] if verdict is not None else []
    asked = clean_markdown(goal).splitlines()
    rest = fold(f"{len(asked) - LISTED} more lines", asked[LISTED:]) if len(asked) > LISTED else []
    parts = ["\n".join([*asked[:LISTED], *rest]), "## Evidence", "\n".join([f"- {said}", *reason])]
    table, view = await opened.evidence(name), await opened.view(name)
    if table.accepted:
        parts.append(f"**Not proven**: accepted by {table.accepted}.")
    parts.append("\n".join([f"{render_totals(table)}.\n" if table.rows else "", *render_table(table, view.rechecked)]))
    changes = fence_text(escape_text(stat.strip()))
    if stat.count("\n") > LISTED:
        changes = "\n".join(fold(stat.strip().splitlines()[-1].strip(), [changes])).strip()
    parts += ["## Changes", changes, f"Made by bough (run `{name}`)."]
    if issue := await find_issue(opened, state):
        parts.append(f"Closes #{issue}")
    path = opened.home / f"pr-{name}.md"
    Place(opened.home, path.name).write(("\n\n".join(parts) + "\n").encode())
    return path, goal


async def open_pull_request(opened: Session, run: str, branch: str) -> tuple[str, str]:
    """Push the branch and open a draft with the person's own `git` and `gh`; return its address, and a remark."""
    description, goal = await write_description(opened, run)
    create = ["gh", "pr", "create", "--draft", "--head", branch, "--title", first_sentence(goal)]
    remarks: list[str] = []
    await ask_before(opened, "before_push", run, f"{branch} is about to be pushed.", branch)
    try:
        remarks = await asyncio.to_thread(push_branch, opened.root, branch, 300.0)
        said = await asyncio.to_thread(run_theirs, [*create, "--body-file", str(description)], opened.root)
    except Unavailable as error:
        if "already exists" not in str(error):
            raise Unavailable(f"no pull request was opened: {error}") from None
        view = ["gh", "pr", "view", branch, "--json", "url", "--jq", ".url"]  # opened by a process that was then killed
        said = await asyncio.to_thread(run_theirs, view, opened.root)
    return said.splitlines()[-1] if said else "", "; ".join(remarks)
