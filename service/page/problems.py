"""Problems for people: whoever asks for a page with a browser is answered with a page, never with a document for programs."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.caller import CALLER, NOBODY
from service.errors import PROBLEM_TYPE
from service.page.answers import trouble
from service.page.words import ALL, preferred

FOR_PROGRAMS: Final = ("/v1/", "/metrics", "/healthz", "/readyz", "/openapi.json")
"""Where every problem stays a document, whoever asks."""
KEPT: Final = ("allow", "retry-after")
"""Headers that a page takes over from the document in its place."""
TEXTS: Final[Mapping[int, tuple[str, str | None]]] = {
    401: ("not_changed", "session_over"), 403: ("not_allowed", None), 404: ("not_found", "nothing_here"),
    405: ("not_found", "nothing_here"), 413: ("not_changed", None), 422: ("not_understood", None), 429: ("too_much", None),
    503: ("redis_away", "no_answer"),
}  # fmt: skip
"""Title and text by status, by their names among the words of the page."""
OTHERS: Final = ("went_wrong", None)


def is_for_people(scope: Scope) -> bool:
    """Whether a request is a person's, who reads pages."""
    return not scope["path"].startswith(FOR_PROGRAMS) and "text/html" in Headers(scope=scope).get("accept", "")


def as_read(scope: Scope, response: Response) -> Response:
    """A problem as whoever sent the request reads it: as it is, or as a page."""
    return _page(scope, response.status_code, response.headers, bytes(response.body)) if is_for_people(scope) else response


class ProblemPages:
    """An ASGI layer that makes each problem document on its way to a person a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not is_for_people(scope):
            await self._app(scope, receive, send)
            return
        begun: Message | None = None
        body = b""

        async def pass_on(message: Message) -> None:
            nonlocal begun, body
            if message["type"] == "http.response.start" and Headers(raw=message["headers"]).get("content-type") == PROBLEM_TYPE:
                begun = message
            elif begun is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    await _page(scope, begun["status"], Headers(raw=begun["headers"]), body)(scope, receive, send)

        await self._app(scope, receive, pass_on)


def _page(scope: Scope, status: int, headers: Mapping[str, str], body: bytes) -> Response:
    problem: Mapping[str, Any] = orjson.loads(body)
    title, text = TEXTS.get(status, OTHERS)
    words = ALL[preferred(Headers(scope=scope).get("accept-language", ""))]
    # Of a key in a header, which a 401 speaks of, people know nothing: they sign in.
    said = "" if status == 401 else problem["detail"]
    token = CALLER.set(scope.get("state", {}).get("caller", NOBODY))
    try:
        response = trouble(words, status, title, text, said, retry=status == 503 and scope["method"] == "GET")
    finally:
        CALLER.reset(token)
    response.headers.update({name: headers[name] for name in KEPT if name in headers})
    return response
