"""Pages and their files are sent compressed to whoever can read that: a page is mostly repeated markup, and shrinks to a tenth.

What is sent in parts is compressed part by part, so that each arrives when it is sent. Event streams and the API's answers
stay as they are: hundreds may listen to the same fragment, and programs ask for speed rather than for few bytes.

That lengths tell something of a page's secrets to whoever can make a browser ask for pages of their choice (BREACH) needs
requests from elsewhere that carry the session; its cookie is SameSite=Strict.
"""

import zlib
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COMPRESSED: Final = ("text/html", "text/css", "text/javascript", "image/svg+xml")
LEVEL: Final = 5
GZIP: Final = 16 + zlib.MAX_WBITS
"""Asks zlib for the wrapping of gzip."""
LEAST_BYTES: Final = 1000
"""Shorter bodies fit one packet anyway."""


class Compression:
    """An ASGI layer that compresses pages, style sheets, scripts and drawings."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back, compressed where that is asked for."""
        if scope["type"] == "http" and _accepts_gzip(Headers(scope=scope).get("accept-encoding", "")):
            send = _Compressor(send)
        await self._app(scope, receive, send)


class _Compressor:
    """The way out of one answer. Its head waits for the first part of its body, which says whether it is worth it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None
        self._stream: zlib._Compress | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_compressible(MutableHeaders(raw=message["headers"])):
            self._head = message
            return
        if message["type"] == "http.response.body":
            message = await self._shrunk(message)
        elif self._head is not None:
            head, self._head = self._head, None
            await self._send(head)
        await self._send(message)

    async def _shrunk(self, message: Message) -> Message:
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._head is not None:
            head, self._head = self._head, None
            if more or len(body) >= LEAST_BYTES:
                self._stream = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
            shrunk = self._part(body, more)
            _describe(
                MutableHeaders(raw=head["headers"]), is_shrunk=self._stream is not None, length=None if more else len(shrunk)
            )
            await self._send(head)
        else:
            shrunk = self._part(body, more)
        return {**message, "body": shrunk}

    def _part(self, body: bytes, more: bool) -> bytes:
        if self._stream is None:
            return body
        return self._stream.compress(body) + self._stream.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)


def _describe(headers: MutableHeaders, *, is_shrunk: bool, length: int | None) -> None:
    """What the head says of a body that may come compressed; `length` in bytes where it is known."""
    headers.add_vary_header("Accept-Encoding")
    if not is_shrunk:
        return
    headers["Content-Encoding"] = "gzip"
    if "ETag" in headers and not headers["ETag"].startswith("W/"):
        headers["ETag"] = f"W/{headers['ETag']}"  # the same file, not the same bytes
    if length is None:
        del headers["Content-Length"]
    else:
        headers["Content-Length"] = str(length)


def _is_compressible(headers: MutableHeaders) -> bool:
    kind = headers.get("content-type", "").partition(";")[0]
    return kind in COMPRESSED and "content-encoding" not in headers and "content-range" not in headers


def _accepts_gzip(accept_encoding: str) -> bool:
    for part in accept_encoding.lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
