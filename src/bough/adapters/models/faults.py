"""Turns errors between bough and a provider into one of two classes, with a sentence for the person.

`TransientError` is worth a retry, `RequestRefused` is not. A sentence says what happened, where, and what to do, with
the provider's own message cut to a line; the key is redacted from it, even if a provider repeats only a part."""

import re
import socket
import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import datetime
from time import localtime, strftime, time
from typing import Any

import msgspec
from msgspec import Struct

from bough.core.errors import NotServed, QuotaExhausted, RequestRefused, Sign, TooLong, TransientError, Unavailable

Headers = Sequence[tuple[bytes, bytes]]


class LinkError(Exception):
    """The connection broke, or its data was not HTTP."""


class BadAddress(LinkError):
    """The URL is unusable."""


class Unreachable(LinkError):
    """No connection could be made."""


class UnreachableInTime(Unreachable):
    """No connection could be made before the timeout."""


class Silent(LinkError):
    """Nothing arrived on the connection for too long."""


class Timeouts(Struct, frozen=True):
    connect: float
    quiet: float
    """The most seconds without a byte in either direction."""
    patient: bool = False
    """Whether silence before the content's first byte is unlimited: then the caller limits the whole exchange."""

    @property
    def first(self) -> float | None:
        return None if self.patient else self.quiet


class Reply(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """The headers; their names are in lower case."""
    pieces: AsyncGenerator[bytes, None]
    """The content as it arrives, decompressed."""


SHOWN = 300
"""The most characters of a provider's own message that a person sees."""
LONGEST_WAIT = 8 * 86_400.0
"""The longest wait in seconds that a server may announce: a week, for a weekly quota, and a day to spare."""
PATIENCE = 600.0
"""The longest wait in seconds before a retry; if a server asks for more, the quota counts as exhausted until then."""
PASSING_STATUS = frozenset({408, 409, 425, 429})
OVERLOADED = 529
"""Anthropic's own status for an overloaded server."""
STATUS_OF_KIND = {
    r"(?i)overloaded": 529,
    r"(?i)rate_limit|resource_exhausted": 429,
    r"(?i)unauthenticated|authentication|api_key": 401,
    r"(?i)billing|insufficient_quota": 402,
    r"(?i)permission": 403,
    r"(?i)not_found": 404,
    r"(?i)too_large": 413,
    r"(?i)timeout|deadline_exceeded": 504,
    r"(?i)invalid_(argument|prompt|request)|failed_precondition|context_length_exceeded": 400,
}
"""Statuses for the names of errors inside an answer. An unknown name counts as transient."""

_TOO_LONG = (
    r"(?i)context.{0,3}(length|window|size)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input token count|exceeds? the (available|maximum|model).{0,20}(context|tokens)|request_too_large"
    r"|exceed_context_size|(maximum|max) prompt length|exceed(s|ed)? (the )?context|too large for model with"
    r"|reduce the length of the (messages|prompt)"
)
_WINDOWS = (
    r"(?i)exceed context limit: [\d,]+ \+ [\d,]+ > ([\d,]{3,})",
    r"(?i)(?:context|prompt) (?:length|window|size|limit)(?: is| of(?: only)?|:)? ?\(?([\d,]{3,})",
    r"(?i)tokens > ([\d,]{3,}) maximum",
    r"(?i)maximum number of tokens allowed \(([\d,]{3,})\)",
    r"(?i)with ([\d,]{3,}) maximum context",
)
"""Messages about a model's window, by provider; the number is the first group."""
_BAD_KEY = r"(?i)API key (not valid|expired)"
"""Google reports a bad key with the status of a malformed request."""
_RETRY_DELAY = r'"retryDelay"\s*:\s*"([0-9.]+)s"'


RESETS = ("anthropic-ratelimit-unified-reset", "x-ratelimit-reset")
"""Headers that say when a quota resets."""


class Endpoint(Struct, frozen=True):
    """Where one model is served, and with which key. Its repr has no secret in it."""

    name: str
    """The model's name, `provider:model`."""
    base_url: str
    """The base URL, which may contain credentials."""
    key: str = ""
    key_variable: str = ""
    """The environment variable that holds the key; empty when the endpoint takes none."""
    advice: str = ""
    """Advice when the endpoint denies access, if it needs more than a key."""

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r})"

    @property
    def model(self) -> str:
        return self.name.partition(":")[2]

    @property
    def host(self) -> str:
        """Return host and port, by which a person recognises the endpoint, without any credentials in the URL."""
        rest = self.base_url.partition("://")[2] or self.base_url
        return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]

    def sanitize(self, text: str) -> str:
        """Return the text on one line, without the key or its beginning, without control characters, and not too
        long."""
        if self.key:
            text = text.replace(self.key, "[key]")
            if len(self.key) >= 12:
                text = re.sub(re.escape(self.key[:8]) + r"[^\s\"',;)]*", "[key]", text)
        text = "".join(c if c.isprintable() else " " for c in text)
        text = " ".join(text.split())
        return text if len(text) <= SHOWN else text[:SHOWN].rstrip() + " …"


def explain_status(at: Endpoint, status: int, headers: Mapping[str, str], body: bytes) -> Unavailable:
    try:
        error = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body[:4000].decode(errors="replace")
        error = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL) if "<" in text else text
    wait = parse_retry_after(headers)
    if wait is None and (found := re.search(_RETRY_DELAY, body.decode(errors="replace"))):
        wait = min(float(found[1]), LONGEST_WAIT)
    if 300 <= status < 400:
        target = at.sanitize(headers.get("location", "another place"))
        return RequestRefused(f"{at.host} redirects ({status}) to {target}; set the base URL to that.")
    return _classify(at, status, _find_error(error), wait)


def explain_error(at: Endpoint, answer: Any) -> Unavailable:
    error = _find_error(answer)
    kinds = _extract_kinds(error)
    named = [status for kind in kinds for name, status in STATUS_OF_KIND.items() if re.search(name, kind)]
    numbers = [int(kind) for kind in reversed(kinds) if kind.isdigit() and 400 <= int(kind) < 600]
    return _classify(at, [*numbers, *named, 500][0], error, None)


def explain_link_error(at: Endpoint, error: LinkError, timeout: float) -> Unavailable:
    if isinstance(error, UnreachableInTime):
        said = f"{at.host} could not be reached in time for {at.name}; check the network and the base URL."
        return TransientError(said, sign="down")
    if isinstance(error, Silent):
        return TransientError(f"{at.name} at {at.host} sent nothing for {timeout:g} s.")
    if isinstance(error, Unreachable):
        if any(isinstance(each, ssl.SSLCertVerificationError) for each in _walk_causes(error)):
            return RequestRefused(
                f"The certificate of {at.host} was not accepted ({at.sanitize(str(error))}); "
                "check the base URL, or give the system the certificate of your own authority."
            )
        local = at.name.startswith("ollama:")
        advice = f"{'start it with `ollama serve`, or check' if local else 'check the network and'} the base URL"
        if is_unreachable(error):
            transient = TransientError(f"Nothing answers at {at.host} for {at.name}; {advice}.", sign="down")
            transient.nobody = True
            return transient
        said = f"{at.host} could not be reached for {at.name} ({at.sanitize(str(error))}); {advice}."
        return TransientError(said, sign="down")
    if isinstance(error, BadAddress):
        return RequestRefused(f"{at.host} is not a valid address; set the base URL to one with http:// or https://.")
    return explain_cut_stream(at, at.sanitize(str(error)))


def is_unreachable(error: BaseException) -> bool:
    """Whether nothing listens at the address or its host does not exist: a network that is down does not count."""
    for each in _walk_causes(error):
        if isinstance(each, ConnectionRefusedError):
            return True
        if isinstance(each, BaseExceptionGroup):  # All addresses of a host failed.
            return all(map(is_unreachable, each.exceptions))
        if isinstance(each, socket.gaierror):
            return each.errno != socket.EAI_AGAIN
    return False


def explain_cut_stream(at: Endpoint, detail: str = "") -> TransientError:
    return TransientError(
        f"The answer of {at.name} at {at.host} was cut off before its end{f' ({detail})' if detail else ''}."
    )


def explain_garbled(at: Endpoint, sample: bytes) -> TransientError:
    text = at.sanitize(sample[:200].decode(errors="replace"))
    return TransientError(f"{at.host} sent an invalid answer for {at.name}: {text!r}")


def explain_timeout(at: Endpoint, limit: float) -> TransientError:
    return TransientError(
        f"The answer of {at.name} at {at.host} timed out after {limit:g} s: if it is just slow, raise model_longest "
        "under [limits]."
    )


def explain_oversize(at: Endpoint, limit: int) -> TransientError:
    return TransientError(f"The answer of {at.name} at {at.host} was stopped after {limit // 1_000_000} MB.")


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asks to wait, in any of the headers used for that; None: it does not ask."""
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif "retry-after" in headers:
            from email.utils import parsedate_to_datetime

            text = headers["retry-after"].strip()
            wait = parsedate_to_datetime(text).timestamp() - time() if text[:1].isalpha() else float(text)
        elif reset := next((headers[name].strip() for name in RESETS if name in headers), ""):
            # The reset time comes as seconds or milliseconds since 1970, or as a date.
            date = not reset.replace(".", "", 1).isdigit()
            until = datetime.fromisoformat(reset).timestamp() if date else float(reset)
            wait = (until / 1000 if until > 1e11 else until) - time()
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return min(max(wait, 0.0), LONGEST_WAIT) if wait == wait else None


def _classify(at: Endpoint, status: int, error: Any, wait: float | None) -> Unavailable:
    words, kinds = _extract_message(error), _extract_kinds(error)
    said = at.sanitize(words)
    told = f": {said}" if said else ""
    if status == 400 and re.search(_BAD_KEY, words):
        status = 401
    if status == 402 or "insufficient_quota" in kinds:
        return NotServed(f"The account at {at.host} has no credit left for {at.name} ({status}){told}")
    # llama.cpp states the window in a field of the error.
    size = error.get("n_ctx") if isinstance(error, dict) else None
    if status != 429 and (status == 413 or re.search(_TOO_LONG, " ".join((words, *kinds)))):
        found = next((match for pattern in _WINDOWS if (match := re.search(pattern, words))), None)
        window = int(found[1].replace(",", "")) if found else 0
        return TooLong(
            f"The conversation is too long for {at.name} at {at.host}{told} "
            "— use a model with a larger context window, or a smaller goal.",
            window if 0 < window < 10**9 else size if isinstance(size, int) and size > 0 else 0,
        )
    if status == 429 and wait is not None and wait > PATIENCE:
        until = time() + wait
        local = localtime(until)
        clock = strftime("%H:%M" if local[:3] == localtime()[:3] else "%A %d %B, %H:%M", local)
        return QuotaExhausted(f"The quota for {at.name} at {at.host} is exhausted until {clock} (429){told}", until)
    if status == 429:
        return TransientError(f"{at.host} is rate-limiting {at.name} (429){told}", wait, "throttled")
    if status in PASSING_STATUS or status >= 500:
        # A server that names a time, or is overloaded, is not down: it only wants fewer requests.
        sign: Sign = "" if status < 500 else "throttled" if status == OVERLOADED or wait is not None else "down"
        return TransientError(f"{at.host} failed to serve {at.name} ({status}){told}", wait, sign)
    if status in (401, 403):
        return RequestRefused(f"{at.host} rejected the key for {at.name} ({status}){told} — {_advise_on_key(at)}.")
    if status == 404:
        pull = f", or run `ollama pull {at.model}`" if at.name.startswith("ollama:") else ""
        return NotServed(
            f"{at.host} does not know {at.name} (404){told} — check the model's name and the base URL{pull}."
        )
    return RequestRefused(
        f"{at.host} refused the request for {at.name} ({status}){told} "
        "— check the model's name, and that it can call tools."
    )


def _advise_on_key(at: Endpoint) -> str:
    if at.advice:
        return at.advice
    if not at.key_variable:
        return "this endpoint should not need one; check the base URL"
    if not at.key:
        return f"none was sent: set {at.key_variable}"
    return f"check the value of {at.key_variable}, and that it may use this model"


def _walk_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _find_error(answer: Any) -> Any:
    """Return the error in an error answer: providers wrap it in a list, in `error`, or not at all."""
    if isinstance(answer, list) and answer:
        answer = answer[0]
    return answer["error"] if isinstance(answer, dict) and answer.get("error") else answer


def _extract_message(error: Any) -> str:
    if isinstance(error, dict):
        error = next((error[key] for key in ("message", "detail", "error") if error.get(key)), error)
    return error if isinstance(error, str) else "" if error is None else msgspec.json.encode(error).decode()


def _extract_kinds(error: Any) -> tuple[str, ...]:
    if not isinstance(error, dict):
        return ()
    return tuple(str(error[key]) for key in ("type", "status", "code") if error.get(key) is not None)
