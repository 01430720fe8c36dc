"""Around every request: its number, the limit of its body, the security headers of its answer, and its count in the metrics.

One plain ASGI layer outside everything else, so that answers to faults carry the same headers, and streams are not buffered.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.caller import CALLER
from service.access.roles import required_role
from service.errors import problem, unexpected
from service.metrics import HttpMetrics
from workers.logs import on_behalf_of

log = logging.getLogger(__name__)

REQUEST_ID: Final = "X-Request-Id"
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
UNROUTED: Final = ("/openapi.json", "/static/")
"""Where something answers that is no route of FastAPI's."""
API_POLICY: Final = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGE_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self';"
    b" frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Pages load from here alone and hold no inline script or style."""

SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""As an answer carries them: names in small letters. No route sets any of them."""


class BodyTooLarge(HTTPException):
    """The body is longer than the limit; what is left of it is not read."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"The body may have at most {limit:,} bytes.")


class _Enough(Exception):
    """The head of the answer is sent and nothing else is asked for: a stream need not go on."""


class Envelope:
    """The outermost layer of the application. HEAD is answered here for all routes: as GET, without the body."""

    def __init__(
        self, app: ASGIApp, *, max_body_bytes: int, metrics: HttpMetrics, as_read: Callable[[Scope, Response], Response]
    ) -> None:
        """`as_read` makes a problem what whoever sent a request reads."""
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._metrics = metrics
        self._as_read = as_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; anything but HTTP passes untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._max_body_bytes, self._metrics)
        with on_behalf_of(exchange.request_id):
            await self._answer(exchange, scope, receive)

    async def _answer(self, exchange: "_Exchange", scope: Scope, receive: Receive) -> None:
        try:
            if exchange.announced_length > self._max_body_bytes:
                too_large = problem(413, BodyTooLarge(self._max_body_bytes).detail)
                await self._as_read(scope, too_large)(scope, receive, exchange.send)
            else:
                await self._app(exchange.scope, exchange.receive, exchange.send)
        except _Enough:
            return
        except Exception as error:
            if exchange.started:
                raise
            await self._as_read(scope, unexpected(error, exchange.request_id))(scope, receive, exchange.send)


def route_of(scope: Scope) -> str:
    """The route that answers, as its path is written; `none` where there is none."""
    path: str = getattr(scope.get("route"), "path", "")
    if path:
        return path
    return next((known for known in UNROUTED if scope["path"].startswith(known)), "none")


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int, metrics: HttpMetrics) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        given = headers.get(REQUEST_ID, "")
        self.request_id = given if _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)
        self.announced_length = int(length) if length.isascii() and length.isdigit() else 0
        self.started = False
        self.scope: Scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        """What the application sees."""
        self._method: str = scope["method"]
        self._receive, self._send = receive, send
        self._limit, self._metrics = limit, metrics
        self._received = 0
        self._begun = time.perf_counter()

    async def receive(self) -> Message:
        """The next part of the body, as long as the whole stays inside the limit."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self._limit:
                raise BodyTooLarge(self._limit)
        return message

    async def send(self, message: Message) -> None:
        """The answer on its way out: dressed, and counted when it begins."""
        if message["type"] == "http.response.start":
            self.started = True
            self._dress(message)
            route = route_of(self.scope)
            seconds = time.perf_counter() - self._begun
            self._metrics.answered(route, self._method, message["status"], seconds)
            self._note(route, message["status"], seconds)
        elif self._method == "HEAD":
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise _Enough
        await self._send(message)

    def _note(self, route: str, status: int, seconds: float) -> None:
        """A line in the log for each answer, but for those that machines fetch every few seconds."""
        if status < 400 and required_role(self._method, self.scope["path"]) is None:
            return
        told = {"method": self._method, "path": self.scope["path"], "route": route, "status": status}
        by = CALLER.get().name
        log.info("%s %s %d", told["method"], told["path"], status, extra={**told, "seconds": round(seconds, 6), "by": by})

    def _dress(self, message: Message) -> None:
        given = dict(message["headers"])
        added = [(b"x-request-id", self.request_id.encode()), *SECURITY_HEADERS]
        if b"content-security-policy" not in given:
            html = given.get(b"content-type", b"").startswith(b"text/html")
            added.append((b"content-security-policy", PAGE_POLICY if html else API_POLICY))
        if b"cache-control" not in given:
            added.append((b"cache-control", b"no-cache" if b"etag" in given else b"no-store"))
        message["headers"] = [*message["headers"], *added]
