"""Writes a run to one file: the dashboard's pages, with all responses that they would request."""

from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from bough.app import Session
from bough.core.ids import GOAL
from bough.interfaces.web import event_pages, pages
from bough.interfaces.web.live_run import LiveRun, LiveRuns
from bough.interfaces.web.shapes import Rounds
from bough.views.task_view import TaskView

STATIC = Path(__file__).parent / "static"
PROJECT = "export"
EVENTS = 4000
"""The most events per task; the last ones are kept."""
DIFFS = 200
"""The most tasks whose own changes are included, besides the changes of the whole run."""
FILES = 300
"""The most files of a task whose diffs are included."""
LONG = 20_000


async def export_run(session: Session, name: str) -> dict[str, Any]:
    """Return the response for each address that the pages request."""
    run = await LiveRuns(session, PROJECT).run(name)
    top = f"/api/{PROJECT}/runs/{_encode_part(run.view.name)}"
    made: dict[str, Any] = {
        "start": f"#/run/{PROJECT}/{_encode_part(run.view.name)}",
        top: {**pages.build_summary(run), "holder": None},
        f"{top}/tree": pages.build_tree(run, 0, len(run.rows)),
        f"{top}/charts": pages.build_charts(run, 0, 1200),
        f"{top}/evidence": await session.evidence(run.view.name),
        f"{top}/ladder": await event_pages.load_ladder(run),
        f"{top}/stats": await event_pages.build_statistics(session, [run.view.name]),
    }
    begun = [row.task for row in run.rows if row.task.started_at]
    for row in run.rows:
        made[f"{top}/task{_encode_task(row.task.path)}"] = pages.build_task(run, row.task.path)
        made[f"{top}/rounds{_encode_task(row.task.path)}"] = await _export_rounds(run, row.task.path)
    for task in [task for task in begun if task.path == GOAL] + [task for task in begun if task.path != GOAL][:DIFFS]:
        await _export_changes(made, top, session, task)
    return {address: pages.clean(answer) for address, answer in made.items()}


async def _export_changes(made: dict[str, Any], top: str, session: Session, task: TaskView) -> None:
    """Add a task's list of changed files, and the beginning of the diffs of the first `FILES` of them."""
    files = event_pages.list_files(await session.workspaces.count_changes(task.base, task.tree))
    made[f"{top}/files{_encode_task(task.path)}"] = files
    for file in files[:FILES]:
        text = await session.workspaces.diff_file(task.base, task.tree, file["name"])
        for beside in (False, True):
            address = f"{top}/diff{_encode_task(task.path)}&file={_encode_part(file['name'])}{'&beside=1' * beside}"
            made[address] = event_pages.build_part(event_pages.read_rows(text, beside), 0)


async def _export_rounds(run: LiveRun, path: str) -> Rounds:
    records = await run.journal.store.read(run.view.name, path)
    begun = run.charts.rounds(path)
    kept = records[-EVENTS:]
    left_out = sum(seq < kept[0].seq for seq in begun) if kept else 0
    return {"from": left_out, "total": len(begun), "events": event_pages.describe_events(kept, LONG), "seq": run.seq}


def render_page(data: dict[str, Any], title: str) -> bytes:
    """Render the file. Its content security policy allows only its own code, and loads nothing."""
    style = (STATIC / "app.css").read_bytes()
    script = (STATIC / "app.js").read_bytes()
    assert b"</script" not in script.lower() and b"</style" not in style.lower(), "the build would close its element"
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:"
    body = msgspec.json.encode(data).replace(b"<", b"\\u003c")  # So the data cannot close its `script` element.
    parts = (
        b'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        b'<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'.encode(),
        f"<title>{escape(title)}</title><style>".encode(),
        style,
        b'</style></head>\n<body><div id="app"></div><script type="application/json" id="bough-data">',
        body,
        b'</script>\n<script type="module">',
        script,
        b"</script></body></html>\n",
    )
    return b"".join(parts)


def _hash(content: bytes) -> str:
    return f"sha256-{b64encode(sha256(content).digest()).decode()}"


def _encode_part(text: str) -> str:
    """Encode a text as `encodeURIComponent` does in JavaScript."""
    return quote(text, safe="!'()*-._~")


def _encode_task(path: str) -> str:
    return f"?task={_encode_part(path)}"
