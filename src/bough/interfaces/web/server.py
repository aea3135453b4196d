"""The dashboard's addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from bough.app import journal, session
from bough.core.errors import BoughError, NotFound, UsageError
from bough.core.evidence import Table
from bough.core.ids import GOAL
from bough.interfaces.terminal.points import point_words
from bough.interfaces.web import pages
from bough.interfaces.web.actions import act
from bough.interfaces.web.guard import Guard
from bough.interfaces.web.live import LiveRun, Lives

STATIC = Path(__file__).parent / "static"
FILES = {"/": "index.html", "/app.js": "app.js", "/app.css": "app.css"}
PAGE = 20
LINES = 100
"""Of a tree: more than fit on a screen, so that the first answer is soon there."""
LARGEST = 2_000_000
"""Bytes of a blob that are shown, and of a post that is read."""


class House:
    """The projects whose runs are served, by a short name each. A journal is opened when it is first looked at."""

    def __init__(self, roots: list[Path]) -> None:
        self.roots = {sha256(str(root).encode()).hexdigest()[:8]: root for root in roots}
        self._lives: dict[str, Lives] = {}
        self._open = AsyncExitStack()

    async def lives(self, project: str) -> Lives:
        if project not in self.roots:
            raise NotFound(f"This dashboard does not serve a project `{project}`.")
        if project not in self._lives:
            opened = await self._open.enter_async_context(journal(self.roots[project]))
            self._lives.setdefault(project, Lives(opened))
        return self._lives[project]

    async def run(self, request: Request) -> tuple[Path, Lives, LiveRun]:
        project = request.path_params["project"]
        lives = await self.lives(project)
        return self.roots[project], lives, await lives.run(request.path_params["run"])

    async def warm(self) -> None:
        """Read the newest run of each project before anybody asks: a hundred thousand events take a second or two."""
        for project in self.roots:
            try:
                lives = await self.lives(project)
                for name in (await lives.names())[:1]:
                    await lives.run(name)
            except BoughError:
                continue  # Whoever looks at it is told.

    async def close(self) -> None:
        await self._open.aclose()


def encoded(document: Any) -> bytes:
    return msgspec.json.encode(pages.clean(document))


def answer(document: Any, status: int = 200) -> Response:
    return Response(encoded(document), status, media_type="application/json")


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, "")
    if not given:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 15:
        raise UsageError(f"`{name}` is not a number.")
    return int(given)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def static(request: Request) -> Response:
    return FileResponse(STATIC / FILES[request.url.path])


async def runs(request: Request) -> Response:
    house: House = request.app.state.house
    start, limit = _number(request, "from", 0), min(_number(request, "limit", PAGE), 100)
    found = []
    for project, root in house.roots.items():
        try:
            found.append(await pages.runs(project, root, await house.lives(project), start, limit))
        except BoughError as error:  # One journal that is gone or damaged does not hide the others.
            found.append({"project": project, "root": pages.at_home(root), "total": 0, "runs": [], "error": str(error)})
    return answer({"projects": found})


async def run(request: Request) -> Response:
    _, _, live = await request.app.state.house.run(request)
    return answer(pages.summary(live))


async def tree(request: Request) -> Response:
    _, _, live = await request.app.state.house.run(request)
    return answer(pages.tree(live, _number(request, "from", 0), min(_number(request, "limit", LINES), 1000)))


async def charts(request: Request) -> Response:
    _, _, live = await request.app.state.house.run(request)
    return answer(pages.charts(live, _number(request, "from", 0), min(_number(request, "pixels", 800), 4000)))


async def task(request: Request) -> Response:
    _, _, live = await request.app.state.house.run(request)
    return answer(pages.task(live, request.query_params.get("task", GOAL)))


async def rounds(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    start = _number(request, "from", -1)
    path = request.query_params.get("task", GOAL)
    return answer(await pages.rounds(live, lives, path, None if start < 0 else start))


async def events(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    since, limit = _number(request, "since", 0), _number(request, "limit", 100)
    return answer(await pages.events(live, lives, request.query_params.get("task"), since, limit))


async def event(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    return answer(await pages.event(live, lives, request.path_params["seq"]))


async def blob(request: Request) -> Response:
    lives = await request.app.state.house.lives(request.path_params["project"])
    body = await lives.journal.store.get_blob(request.path_params["name"])
    text = body[:LARGEST].decode("utf-8", "replace")
    return answer({"text": text, "left_out": max(0, len(body) - LARGEST)})


async def evidence(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    found: Table = await lives.journal.evidence(live.view.name)
    return answer(msgspec.to_builtins(found))


async def ladder(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    records = await lives.journal.store.read(live.view.name, kinds=pages.LADDER_KINDS)
    return answer({"rungs": pages.ladder(records)})


async def diff(request: Request) -> Response:
    root, _, live = await request.app.state.house.run(request)
    path = request.query_params.get("task", GOAL)
    async with session(root) as opened:
        found = await opened.task(live.view.name, path)
        text = await opened.workspaces.diff(found.base, found.tree)
    return answer({"files": pages.files_of(text)})


async def points(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    found = await lives.journal.points(live.view.name, request.query_params.get("task", GOAL))
    return answer({"points": [{"at": point.at, "words": point_words(point)} for point in found]})


async def run_stats(request: Request) -> Response:
    _, lives, live = await request.app.state.house.run(request)
    return answer(await pages.statistics(lives, [live.view.name]))


async def stats(request: Request) -> Response:
    lives = await request.app.state.house.lives(request.path_params["project"])
    return answer(await pages.statistics(lives, await lives.names()))


# ── live ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def live(request: Request) -> Response:
    """What changes, as it happens. The number of each message is the journal's own: a page that comes back says which
    one it saw last and hears of everything since, once."""
    _, _, found = await request.app.state.house.run(request)
    given = request.headers.get("last-event-id") or request.query_params.get("since") or str(found.seq)
    since = int(given) if given.isascii() and given.isdigit() and len(given) < 16 else 0
    return StreamingResponse(_stream(found, since), media_type="text/event-stream")


def _changed(run: LiveRun, since: int) -> bytes:
    return encoded(pages.change(run, since))


async def _stream(run: LiveRun, since: int) -> AsyncIterator[bytes]:
    async with run.watched():
        known = ""
        while True:
            if run.seq > since or run.status != known:
                message = run.message(since, _changed)
                since, known = run.seq, run.status
                yield b"id: %d\ndata: %s\n\n" % (since, message)
            else:
                yield b": still here\n\n"
            await run.news(since, known)


# ── acting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def do(request: Request) -> Response:
    root, _, live = await request.app.state.house.run(request)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise HTTPException(413)
    return answer(await act(root, live.view.name, request.path_params["action"], bytes(body)))


# ── all together ────────────────────────────────────────────────────────────────────────────────────────────────────

Handler = Callable[[Request], Awaitable[Response]]
OF_RUN: Mapping[str, Handler] = {
    "": run,
    "/tree": tree,
    "/charts": charts,
    "/task": task,
    "/rounds": rounds,
    "/events": events,
    "/event/{seq:int}": event,
    "/evidence": evidence,
    "/ladder": ladder,
    "/diff": diff,
    "/points": points,
    "/stats": run_stats,
    "/live": live,
}


async def _refused(request: Request, error: Exception) -> Response:
    return answer({"error": str(error)}, 404 if isinstance(error, NotFound) else 409)


async def _unknown(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return answer({"error": f"There is nothing at {request.url.path}."}, status)


def make_app(roots: list[Path], token: str, port: int, hosts: tuple[str, ...] = ()) -> Starlette:
    house = House(roots)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(house.warm())
        try:
            yield
        finally:
            warming.cancel()
            await asyncio.gather(warming, return_exceptions=True)
            await house.close()

    run_routes = [Route(f"/api/{{project}}/runs/{{run}}{end}", handler) for end, handler in OF_RUN.items()]
    app = Starlette(
        routes=[
            *(Route(path, static) for path in FILES),
            Route("/api/runs", runs),
            Route("/api/{project}/stats", stats),
            Route("/api/{project}/blobs/{name}", blob),
            *run_routes,
            Route("/api/{project}/runs/{run}/do/{action}", do, methods=["POST"]),
        ],
        middleware=[
            Middleware(Guard, token=token, port=port, hosts=hosts),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1),
        ],
        exception_handlers={BoughError: _refused, HTTPException: _unknown},
        lifespan=lifespan,
    )
    app.state.house = house
    return app
