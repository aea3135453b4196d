"""The addresses (routes) of the dashboard's server, and their handlers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from bough.app import Session, open_journal, open_session
from bough.core.errors import BoughError, NotFound, UsageError
from bough.core.ids import GOAL
from bough.core.textual.spelling import UNREADABLE
from bough.interfaces.web import event_pages, pages, shapes
from bough.interfaces.web.actions import act, answer_linked, find_check
from bough.interfaces.web.guard import QUESTION, Guard
from bough.interfaces.web.live_run import LiveRun, LiveRuns
from bough.ports.steering import cancel_tasks
from bough.services.backlog import load_backlog
from bough.services.question_links import name_project, read_question

STATIC = Path(__file__).parent / "static"
FILES = {"/": "index.html", "/app.js": "app.js", "/app.css": "app.css"}
FILES |= {"/question": "../question/question.html", "/question.js": "../question/question.js"}
PAGE = 20
LINES = 100
"""The lines of a tree in one response: more than fit on a screen, but few enough to be fast."""
WORDS = 200
"""The most characters of a text that a page searches for."""
DIFFS = 4
"""The most diffs of files that are kept in memory."""
LARGEST = 2_000_000
"""The most bytes of a blob that are shown, and of a request's body."""


class ServedProjects:
    """The projects whose runs are served, by short name. A journal is opened on first use."""

    def __init__(self, roots: list[Path]) -> None:
        self.roots = {name_project(root): root for root in roots}
        self._lives: dict[str, LiveRuns] = {}
        self._diffs: dict[tuple[str, str, str, bool], Sequence[event_pages.Row]] = {}
        self._open = AsyncExitStack()

    def find_root(self, project: str) -> Path:
        if project not in self.roots:
            raise NotFound(f"This dashboard does not serve a project `{project}`.")
        return self.roots[project]

    async def lives(self, project: str) -> LiveRuns:
        root = self.find_root(project)
        if project not in self._lives:
            self._lives.setdefault(project, LiveRuns(await self._open.enter_async_context(open_journal(root)), project))
        return self._lives[project]

    async def run(self, request: Request) -> tuple[Path, LiveRun]:
        project = request.path_params["project"]
        lives = await self.lives(project)
        return self.roots[project], await lives.run(request.path_params["run"])

    async def diff(self, opened: Session, base: str, tree: str, name: str, beside: bool) -> Sequence[event_pages.Row]:
        """Return the diff of one file. The last diffs are cached, because a page reads a long one in parts."""
        key = (base, tree, name, beside)
        if key not in self._diffs:
            while len(self._diffs) >= DIFFS:
                del self._diffs[next(iter(self._diffs))]
            text = await opened.workspaces.diff_file(base, tree, name)
            # Use a thread, because a long diff takes a while: other requests are answered meanwhile.
            self._diffs[key] = await asyncio.to_thread(event_pages.read_rows, text, beside)
        return self._diffs[key]

    async def close(self) -> None:
        await self._open.aclose()


def encode_json(document: Any) -> bytes:
    return msgspec.json.encode(pages.clean(document))


def make_response(document: Any, status: int = 200) -> Response:
    return Response(encode_json(document), status, media_type="application/json")


def read_number(request: Request, name: str, default: int, most: int = 10**15) -> int:
    given = request.query_params.get(name, "")
    if given and not is_number(given):
        raise UsageError(f"`{name}` is not a number.")
    return min(int(given), most) if given else default


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


class Query(Struct, frozen=True):
    """A page's query about a run."""

    request: Request
    root: Path
    live: LiveRun

    @property
    def task(self) -> str:
        return self.request.query_params.get("task", GOAL)

    def number(self, name: str, default: int, most: int = 10**15) -> int:
        return read_number(self.request, name, default, most)


async def build_files(asked: Query) -> list[shapes.FileShape]:
    """Build the list of a task's changed files, with their line counts."""
    async with open_session(asked.root) as opened:
        found = await opened.task(asked.live.view.name, asked.task)
        counts = await opened.workspaces.count_changes(found.base, found.tree)
    return event_pages.list_files(counts)


async def build_diff(asked: Query) -> shapes.DiffPart:
    """Build some lines of one file's diff."""
    params, house = asked.request.query_params, asked.request.app.state.house
    async with open_session(asked.root) as opened:
        found = await opened.task(asked.live.view.name, asked.task)
        rows = await house.diff(opened, found.base, found.tree, params.get("file", ""), params.get("beside") == "1")
    return event_pages.build_part(rows, asked.number("from", 0))


OF_RUN: Mapping[str, Callable[[Query], Any]] = {
    "": lambda asked: pages.build_summary(asked.live),
    "/tree": lambda asked: pages.build_tree(asked.live, asked.number("from", 0), asked.number("limit", LINES, 1000)),
    "/charts": lambda asked: pages.build_charts(asked.live, asked.number("from", 0), asked.number("pixels", 800, 4000)),
    "/task": lambda asked: pages.build_task(asked.live, asked.task),
    "/rounds": lambda asked: event_pages.build_rounds(asked.live, asked.task, asked.number("from", -1)),
    "/events": lambda asked: event_pages.build_events(
        asked.live, asked.request.query_params.get("task"), asked.number("since", 0), asked.number("limit", 100)
    ),
    "/event/{seq:int}": lambda asked: event_pages.build_event(asked.live, asked.request.path_params["seq"]),
    "/find": lambda asked: event_pages.find_words(
        asked.live, asked.task, asked.request.query_params.get("words", "")[:WORDS]
    ),
    "/evidence": lambda asked: asked.live.journal.evidence(asked.live.view.name),
    "/ladder": lambda asked: event_pages.load_ladder(asked.live),
    "/files": build_files,
    "/diff": build_diff,
    "/points": lambda asked: asked.live.journal.points(asked.live.view.name, asked.task),
    "/stats": lambda asked: event_pages.build_statistics(asked.live.journal, [asked.live.view.name]),
}
"""The functions that build a run's pages, plain or async, by the end of the page's address."""


def show_run(build: Callable[[Query], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def get(request: Request) -> Response:
        made = build(Query(request, *await request.app.state.house.run(request)))
        return make_response(await made if isawaitable(made) else made)

    return get


async def get_static(request: Request) -> Response:
    return FileResponse(STATIC / FILES[request.url.path])


async def get_runs(request: Request) -> Response:
    house: ServedProjects = request.app.state.house
    start, limit = read_number(request, "from", 0), read_number(request, "limit", PAGE, 100)
    home: shapes.Home = {"projects": [], "beside": request.app.state.beside}
    for project, root in house.roots.items():
        page = await pages.build_project(project, root)
        home["projects"].append(page)
        try:
            await pages.add_runs(page, await house.lives(project), start, limit)
        except NotFound:
            pass  # The project has no journal yet: the page shows how to begin.
        except BoughError as error:  # A missing or damaged journal does not hide the other projects.
            page["error"] = str(error)
    return make_response(home)


async def get_blob(request: Request) -> Response:
    lives = await request.app.state.house.lives(request.path_params["project"])
    body = await lives.journal.store.get_blob(request.path_params["name"])
    return make_response({"text": body[:LARGEST].decode("utf-8", "replace"), "left_out": max(0, len(body) - LARGEST)})


async def get_choices(request: Request) -> Response:
    house: ServedProjects = request.app.state.house
    project = request.path_params["project"]
    root = house.find_root(project)
    try:
        lives = await house.lives(project)
        runs = await lives.load((await lives.names())[:PAGE])
    except NotFound:  # The project has no journal yet.
        runs = []
    return make_response(pages.build_choices(root, runs))


async def get_goal(request: Request) -> Response:
    """Return a goal of a backlog as the person wrote it, for editing."""
    lives = await request.app.state.house.lives(request.path_params["project"])
    backlog = await load_backlog(lives.journal, request.path_params["list"])
    return make_response(backlog.find(request.path_params["goal"]).entry)


async def get_stats(request: Request) -> Response:
    lives = await request.app.state.house.lives(request.path_params["project"])
    return make_response(await event_pages.build_statistics(lives.journal, await lives.names()))


async def get_live(request: Request) -> Response:
    """Send changes of runs as they happen, on one connection for all windows of a browser. Each `follow` names a
    project, a run and the last event that the page knows: everything after it is sent, once."""
    wanted = [each.split("/") for each in request.query_params.getlist("follow")]
    if not wanted or any(len(each) != 3 or not is_number(each[2]) for each in wanted):
        raise UsageError("`follow` is not PROJECT/RUN/EVENT.")
    known = [(project, run, int(last)) for project, run, last in wanted]
    return StreamingResponse(_stream(request.app.state.house, known), media_type="text/event-stream")


async def _stream(house: ServedProjects, wanted: list[tuple[str, str, int]]) -> AsyncIterator[bytes]:
    said: asyncio.Queue[bytes | None] = asyncio.Queue(100)
    readers = [asyncio.create_task(_follow(house, said, *each)) for each in wanted]
    try:
        while (message := await said.get()) is not None:
            yield message
    finally:
        await cancel_tasks(readers)


async def _follow(
    house: ServedProjects, said: asyncio.Queue[bytes | None], project: str, name: str, since: int
) -> None:
    known: object = None
    try:
        run = await (await house.lives(project)).run(name)
        async with run.watched():
            while True:
                if run.seq > since or run.mark != known:
                    message = encode_json(pages.build_change(run, since))
                    since, known = run.seq, run.mark
                    await said.put(b"id: %d\ndata: %s\n\n" % (since, message))
                else:
                    await said.put(b": still here\n\n")
                await run.news(known)
    except NotFound:
        await said.put(b"event: removed\ndata: %s\n\n" % encode_json(pages.Raw(f"{project}/{name}")))
    except BoughError:
        await said.put(None)  # The page then asks again, and gets the error.


async def post_action(request: Request) -> Response:
    asked = request.path_params
    root = request.app.state.house.find_root(asked["project"])
    return make_response(await act(root, asked.get("run", ""), asked["action"], await _read_body(request)))


async def answer_question(request: Request) -> Response:
    """Show or answer one question. Its own token, sent with the request, allows nothing else."""
    token = request.headers.get("x-bough-question", "")
    root = request.app.state.house.find_root(token.partition(".")[0])
    if request.method == "POST":
        try:
            text = msgspec.json.decode(await _read_body(request), type=dict[str, str])["answer"]
        except (KeyError, *UNREADABLE):
            raise UsageError('The request has no answer: send {"answer": "…"}.') from None
        return make_response({"said": await answer_linked(root, token, text)})
    async with open_journal(root) as journal:
        return make_response(await read_question(journal, token))


async def post_check(request: Request) -> Response:
    """Run the project's check, as `bough check` finds it."""
    return make_response(await find_check(request.app.state.house.find_root(request.path_params["project"])))


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise HTTPException(413)
    return bytes(body)


async def _handle_error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        large = f"A request has at most {LARGEST // 1_000_000} MB: put the text into a file and name it."
        said = large if error.status_code == 413 else f"Nothing found at {request.url.path}."
        return make_response({"error": said}, error.status_code)
    return make_response({"error": str(error)}, 404 if isinstance(error, NotFound) else 409)


def make_app(roots: list[Path], token: str, hosts: tuple[str, ...] = (), beside: int | None = None) -> Starlette:
    """Make the app. `beside`: the process that works on the run which the dashboard opens at first."""
    house = ServedProjects(roots)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await house.close()

    app = Starlette(
        routes=[
            *(Route(path, get_static) for path in FILES),
            Route("/api/runs", get_runs),
            Route(QUESTION, answer_question, methods=["GET", "POST"]),
            Route("/api/live", get_live),
            Route("/api/{project}/choices", get_choices),
            Route("/api/{project}/check", post_check, methods=["POST"]),
            Route("/api/{project}/do/{action}", post_action, methods=["POST"]),
            Route("/api/{project}/stats", get_stats),
            Route("/api/{project}/backlogs/{list}/{goal}", get_goal),
            Route("/api/{project}/blobs/{name}", get_blob),
            *[Route(f"/api/{{project}}/runs/{{run}}{end}", show_run(build)) for end, build in OF_RUN.items()],
            Route("/api/{project}/runs/{run}/do/{action}", post_action, methods=["POST"]),
        ],
        middleware=[
            Middleware(Guard, token=token, hosts=hosts),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1),
        ],
        exception_handlers={BoughError: _handle_error, HTTPException: _handle_error},
        lifespan=lifespan,
    )
    app.state.house, app.state.beside = house, beside
    return app
