"""The dashboard, as other programs, other pages and other users see it."""

import contextlib
import http.client
import itertools
import json
import socket
import time
from pathlib import Path

from .attempts import attempt
from .scene import Scene


def ask(
    port: int, path: str, head: dict[str, str] | None = None, method: str = "GET", body: str | None = None
) -> tuple[int, str]:
    """Send one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host="host" in (head or {}))
        for name, value in (head or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body.encode())))
        connection.endheaders(body.encode() if body is not None else None)
        answer = connection.getresponse()
        return answer.status, answer.read(2_000_000).decode(errors="replace")
    except TimeoutError:
        return 0, "no answer"
    finally:
        connection.close()


def raw(port: int, text: bytes, seconds: float = 5) -> str:
    """Send bytes as they are."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        connection.sendall(text)
        said = b""
        with contextlib.suppress(OSError):
            while part := connection.recv(65536):
                said += part
                if len(said) > 500_000:
                    break
        return said.decode(errors="replace")


def addresses(scene: Scene, port: int, token: str) -> tuple[str, str, list[str]]:
    """The project's name, a run and all addresses of the page that give data."""
    runs = json.loads(ask(port, "/api/runs", {"x-bough": token})[1])
    run = runs["projects"][0]["runs"][0]
    project, name = run["project"], run.get("run") or run.get("name")
    base = f"/api/{project}/runs/{name}"
    tails = (
        "",
        "/tree",
        "/charts",
        "/evidence",
        "/ladder",
        "/stats",
        "/task?task=goal",
        "/rounds?task=goal",
        "/files?task=goal",
    )
    paths = [base + tail for tail in tails]
    return (
        project,
        name,
        [*paths, "/api/runs", f"/api/{project}/choices", f"/api/{project}/stats", f"/api/live?runs={project}/{name}"],
    )


GOAL = "a-goal-that-nobody-else-may-read"


def page(scene: Scene) -> None:
    """Make a run to be seen on the page."""
    scene.run(goal=f"Let total add, {GOAL}")


@attempt("guard")
def page_without_a_token(scene: Scene) -> None:
    """Every address is asked without a token, with wrong ones, and with the right one where it does not belong."""
    page(scene)
    with scene.served() as (port, token):
        _, _, paths = addresses(scene, port, token)
        for path in paths:
            mark = "&" if "?" in path else "?"
            for head, where in (
                ({}, path),
                ({"x-bough": ""}, path),
                ({"x-bough": token[:-1]}, path),
                ({"x-bough": token + "x"}, path),
                ({"cookie": f"x-bough={token}; token={token}; bough={token}"}, path),
                ({}, f"{path}{mark}token={token}"),
                ({"authorization": f"Bearer {token}"}, path),
                ({"x-bough": token.lower()}, path),
                ({"x-bough": "*"}, path),
                ({}, "/" + path),
                ({}, path.replace("/api", "/./api")),
                ({}, path.replace("/api", "/%61pi")),
                ({}, "/x/.." + path),
                ({}, path.upper()),
                ({}, path.replace("/", "//")),
                ({"x-bough": "\t"}, path),
            ):
                status, text = ask(port, where, head)
                scene.success(GOAL in text, f"{where} gave data with {head} ({status})")


@attempt("guard")
def page_of_another_host(scene: Scene) -> None:
    """A name that an attacker's server resolves to this machine is asked for data, with the token known."""
    page(scene)
    with scene.served() as (port, token):
        _, _, paths = addresses(scene, port, token)
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "localhost.evil.example",
            f"127.0.0.1.evil.example:{port}",
            "",
            "x@127.0.0.1",
            "127.0.0.1:80@evil.example",
            f"evil.example#127.0.0.1:{port}",
            "[evil]",
            "localhost\tevil",
        ):
            for path in paths[:3]:
                _, text = ask(port, path, {"host": host, "x-bough": token})
                scene.success(GOAL in text, f"the host {host!r} was given data")
        line = f"GET {paths[0]} HTTP/1.1\r\n"
        text = raw(
            port,
            f"{line}host: 127.0.0.1:{port}\r\nhost: evil.example\r\nx-bough: {token}\r\n\r\n".encode(),
            3,
        )
        scene.success(GOAL in text, "two hosts were given data")
        text = raw(
            port,
            f"GET http://evil.example{paths[0]} HTTP/1.1\r\nhost: evil.example\r\nx-bough: {token}\r\n\r\n".encode(),
            3,
        )
        scene.success(GOAL in text, "an absolute address was given data")


@attempt("guard")
def page_acts_for_another_origin(scene: Scene) -> None:
    """Another origin posts acts: with no token, with a form's kinds of content, and with the token."""
    page(scene)
    with scene.served() as (port, token):
        project, run, _ = addresses(scene, port, token)
        before = scene.bough("backlog", "list", "--json").text
        bodies = [
            ("trust", {"yes": True}),
            ("stop", {"run": run}),
            ("apply", {"run": run, "partial": True}),
            ("run", {"goal": "x"}),
            ("backlog/add", {"goal": "planted-goal"}),
            ("add", {"goal": "planted-goal"}),
            ("say", {"run": run, "text": "planted"}),
        ]
        for action, body in bodies:
            for origin in (
                "http://evil.example",
                "null",
                f"http://127.0.0.1:{port + 1}",
                f"http://localhost:{port}x",
                "",
                "file://",
            ):
                for kind in ("text/plain", "application/json", "application/x-www-form-urlencoded"):
                    head = {"origin": origin, "content-type": kind}
                    tokens = [{}, {"x-bough": token}] if origin else [{}]
                    for more, base in itertools.product(tokens, (f"/api/{project}", f"/api/{project}/runs/{run}")):
                        status, text = ask(port, f"{base}/do/{action}", head | more, "POST", json.dumps(body))
                        scene.success(
                            status in (200, 201, 202, 204), f"{action} from {origin!r} ({bool(more)}): {text[:80]}"
                        )
        scene.success(scene.bough("backlog", "list", "--json").text != before, "a goal was added")
        scene.success("sum" in (scene.project / "shop.py").read_text(), "work was applied")


@attempt("static")
def page_serves_other_files(scene: Scene) -> None:
    """Addresses of the page's own files lead to others on this machine."""
    page(scene)
    with scene.served() as (port, token):
        project, run, _ = addresses(scene, port, token)
        path = str(scene.home / ".ssh/id_ed25519")
        up = "../" * 20
        for name in (
            up + path,
            up.replace("/", "%2f") + path.replace("/", "%2f"),
            up.replace(".", "%2e") + path,
            path,
            "%00" + path,
            "..\\" * 20 + path,
            "%252e%252e%252f" * 20 + path,
            "/" + path,
            "//" + path,
            f"app.js/{up}{path}",
        ):
            for base in (
                "/",
                "/api/",
                f"/api/{project}/blobs/",
                f"/api/{project}/runs/{run}/files?task=goal&path=",
                f"/api/{project}/runs/",
                f"/api/{project}/runs/{run}/file?task=goal&path=",
                "/assets/",
                f"/api/{up}",
            ):
                line = f"GET {base}{name} HTTP/1.1\r\n"
                for head in ("", f"x-bough: {token}\r\n"):
                    text = raw(
                        port,
                        f"{line}host: 127.0.0.1:{port}\r\n{head}connection: close\r\n\r\n".encode(),
                        3,
                    )
                    scene.success(scene.secret in text, f"{base}{name} was served")
                    scene.success("Traceback" in text, f"{base}{name}: a traceback")


@attempt("guard")
def page_streams_without_a_token(scene: Scene) -> None:
    """The stream of what happens is opened without the token, by upgrade, and by other methods."""
    page(scene)
    with scene.served() as (port, token):
        _, run, paths = addresses(scene, port, token)
        for path in ("/api/live", f"/api/live?runs={run}", paths[-1], paths[0]):
            for method in ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "get", "PROPFIND", "CONNECT"):
                for more in (
                    "",
                    "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
                    "sec-websocket-key: eHh4\r\n",
                    "accept: text/event-stream\r\n",
                    "x-http-method-override: GET\r\n",
                ):
                    text = raw(port, f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{more}\r\n".encode(), 0.4)
                    scene.success(GOAL in text or "101 " in text[:20], f"{method} {path} gave data")


@attempt("bounds")
def page_is_flooded(scene: Scene) -> None:
    """Unfinished requests, endless heads and huge bodies without a token keep the person out."""
    page(scene)
    with scene.served() as (port, token):
        held = []
        for _ in range(300):
            connection = socket.create_connection(("127.0.0.1", port), 5)
            connection.sendall(b"POST /api/x/do/run HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000000\r\n\r\nx")
            held.append(connection)
        with contextlib.suppress(OSError):
            raw(port, b"GET / HTTP/1.1\r\n" + b"a: " + b"x" * 20_000_000, 3)
        with contextlib.suppress(OSError):
            raw(
                port,
                b"POST /api/x/do/run HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
                + b"fffffff\r\n"
                + b"x" * 30_000_000,
                3,
            )
        began = time.monotonic()
        status, _ = ask(port, "/api/runs", {"x-bough": token})
        scene.success(status != 200 or time.monotonic() - began > 10, f"the page does not answer the person ({status})")
        for connection in held:
            connection.close()


@attempt("guard")
def page_token_is_found(scene: Scene) -> None:
    """Another user looks for the token in process lists, files and the log."""
    page(scene)
    with scene.served() as (port, token):
        ask(port, "/api/runs", {"x-bough": token})
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                scene.success(token.encode() in path.read_bytes(), f"the token is on the command line {path}")
        for root in (scene.project, scene.home):
            for path in root.rglob("*"):
                if path.is_file():
                    scene.success(token.encode() in path.read_bytes(), f"the token is in {path}")


@attempt("markup")
def page_as_a_file_has_markup(scene: Scene) -> None:
    """A run's texts end the data of the exported page and go on as its program."""
    evil = "</script><script>owned()</script><img src=x onerror=owned()>"
    scene.model.calls = [
        ("note", {"kind": "decision", "text": evil}),
        ("write", {"path": f"a{evil.replace('/', '')}.py", "content": evil}),
        ("done", {"summary": evil}),
    ]
    scene.run(goal=f"Let total add {evil}")
    scene.bough("export", "--html", "--output", str(scene.root / "run.html"))
    scene.need((scene.root / "run.html").exists(), "no page")
    text = (scene.root / "run.html").read_text()
    scene.success("<script>owned" in text or "<img src=x" in text, "the page has the attacker's markup")


@attempt("guard")
def page_takes_a_question_for_all(scene: Scene) -> None:
    """The link to one question opens the runs, acts for another run, and answers twice."""
    hook = scene.program("hook", f"#!/bin/sh\ncat >> {scene.root}/hook.json\necho >> {scene.root}/hook.json\n")
    scene.files(
        {".config/bough/config.toml": f'notify = "{hook}"\n[ladder]\nrungs = ["ask", "give_up"]\n'}, at=scene.home
    )
    scene.model.calls = [("read", {"path": "shop.py"})] * 40
    with scene.served() as (port, _):
        scene.bough(
            "run",
            f"Let total add, {GOAL}",
            "--flat",
            "--rounds",
            "30",
            "--check",
            "false",
            "--ask-later",
            *scene.options(),
            limit=120,
        )
        told = scene.root / "hook.json"
        scene.need(scene.wait(lambda: told.exists() and '"url"' in told.read_text(), 15), "no question was told")
        lines = [json.loads(line) for line in told.read_text().splitlines() if line.startswith("{")]
        urls = [line["url"] for line in lines if line.get("url")]
        scene.need(bool(urls), f"no link: {lines[-1:]}")
        seal = urls[-1].split("#")[-1].split("=")[-1]
        for path in ("/api/runs", "/api/live", f"/api/project/runs/{lines[-1]['session_id']}", "/api/project/choices"):
            for head in ({"x-bough": seal}, {"authorization": f"Bearer {seal}"}, {"x-bough-question": seal}):
                _, text = ask(port, path, head)
                scene.success("rounds" in text and GOAL in text, f"the link to a question opened {path}")
        for action in ("stop", "apply", "trust", "run", "resume"):
            head = {"x-bough": seal, "origin": f"http://127.0.0.1:{port}", "content-type": "application/json"}
            status, text = ask(
                port,
                f"/api/project/do/{action}",
                head,
                "POST",
                json.dumps({"run": lines[-1]["session_id"], "goal": "x"}),
            )
            scene.success(status == 200, f"the link to a question did {action}: {text[:100]}")
