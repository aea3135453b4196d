"""The guard decides who may read and who may post.

Without the token, only pages without data are served. A page from another origin can neither read nor post, even in a
browser that has the dashboard open. The pages load nothing external.

The token is not a cookie, because cookies ignore ports: a browser would send it to every other server on this host. The
page sends the token in a header, from its own storage, which belongs to this host and port alone."""

import hmac
import ipaddress
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
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
PAGES = ("/", "/question")
"""The pages that other sites may link to, because they hold no data."""
QUESTION = "/api/question"
TOKEN = "x-bough"
"""The header that our own page sends with every request for data."""
_HOST = re.compile(r"(\[[\da-f:.]+\]|[^:@/\[\]]+)(:\d{1,5})?", re.I)


class Guard:
    """Checks every request before anything else sees it."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: tuple[str, ...] = ()) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(host.lower() for host in hosts)

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
            # An attacker may point a name of theirs here (DNS rebinding): their page would have the same origin.
            return PlainTextResponse("This server does not answer to that host name.\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            if scope["method"] != "POST" or headers.get("origin") != f"{scope['scheme']}://{host}":
                return PlainTextResponse("Only the dashboard itself may post here.\n", 403)
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] not in PAGES:
            return PlainTextResponse("Only the dashboard itself may read this.\n", 403)
        return None

    def _is_known(self, host: str) -> bool:
        if (parts := _HOST.fullmatch(host)) is None:
            return False
        name = parts[1].lower()
        if name in self._hosts or name == "localhost":
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))  # Unlike a name, an IP address cannot be redirected.
        except ValueError:
            return False
        return True

    def _check_entry(self, scope: Scope) -> Response | None:
        """Return the refusal of a request without the token; None admits it. Pages need no token: they hold no data."""
        given = Headers(scope=scope).get(TOKEN, "")
        if scope["method"] in ("GET", "HEAD") and not scope["path"].startswith("/api"):
            return None
        if scope["path"] == QUESTION:  # The page of one question has a token of its own, which its handler checks.
            return None
        known = hmac.compare_digest(given.encode(), self._token.encode())
        return None if known else PlainTextResponse("The token is missing.\n", 401)
