"""The guard decides who may read and who may post.

Promises: without the token, the only response says how to get in; no page from another origin can read or post,
whichever browser has the dashboard open; nothing external is ever loaded.

Cookies ignore ports: another page on this machine is "same-site", so its requests carry ours. What counts is therefore
the origin that the browser reports, and a header of our own, which no page from another origin may set.
"""

from __future__ import annotations

import hmac
import ipaddress
from hashlib import sha256
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
MARK = "x-bough"
"""The header that our own page sends with every post."""
LOCKED = """\
<!doctype html><meta charset="utf-8"><title>bough</title>
<h1>This page needs a token</h1>
<p>Open the address that <code>bough serve</code> printed: it ends in <code>?token=…</code>.</p>
"""
ENTER = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>bough</title>'
"""The page that follows the token. It is no redirect: after a link from elsewhere (a chat, a mail) browsers send no
strict cookie with one."""


class Guard:
    """Checks every request before anything else sees it."""

    def __init__(self, app: ASGIApp, *, token: str, port: int, hosts: tuple[str, ...] = ()) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(host.lower() for host in hosts)
        self._cookie = f"bough-{port}"
        # The cookie is not the token: nobody who finds it in a cookie store can derive the address from it.
        self._key = hmac.new(token.encode(), b"cookie", sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._find_refusal(scope) or self._check_entry(scope)
        await (answer or self._app)(scope, receive, sealed)

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_known(host):
            # A name that an attacker points here (DNS rebinding): their page would be of the same origin.
            return PlainTextResponse("This server does not answer to that host name.\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            if scope["method"] != "POST" or origin != f"{scope['scheme']}://{host}" or headers.get(MARK) != "1":
                return PlainTextResponse("Only the dashboard itself may post here.\n", 403)
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] != "/":
            return PlainTextResponse("Only the dashboard itself may read this.\n", 403)
        return None

    def _is_known(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name.lower() in self._hosts or name.lower() == "localhost":
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))  # Nobody can point an address elsewhere.
        except ValueError:
            return False
        return True

    def _check_entry(self, scope: Scope) -> Response | None:
        """Admit requests with the cookie, set it for those with the token, and reject all others."""
        given = cookie_parser(Headers(scope=scope).get("cookie", "")).get(self._cookie, "")
        if hmac.compare_digest(given.encode(), self._key.encode()):
            return None
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and hmac.compare_digest(token.encode(), self._token.encode()):
            response = HTMLResponse(ENTER)
            response.set_cookie(self._cookie, self._key, httponly=True, samesite="strict", path="/")
            return response
        return HTMLResponse(LOCKED, 401) if scope["path"] == "/" else PlainTextResponse("The token is missing.\n", 401)
