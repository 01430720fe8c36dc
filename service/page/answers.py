"""What every address of the dashboard answers with: a page, a page that says why there is none, or a stream of fragments.

A page that takes long to make is sent in parts: whoever waits sees its head at once. What is wrong with a request is then
told by the answer's status only as far as it is known before the first part.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

from anyio.to_thread import run_sync
from fastapi import Response
from fastapi.responses import HTMLResponse, StreamingResponse

from service.events import EVENT_STREAM, STREAM_HEADERS, Produce
from service.page.rendering import LatePage, render
from service.page.words import Words
from service.state import ServiceState
from workers.errors import BlockyardError, Conflict, LedgerUnavailable, NotFound, NotYours, PlayFailed, QuotaExceeded
from workers.logs import masked

WHOLE_SECONDS: Final = 0.15
"""How long a page may take to be sent whole."""


def html(words: Words, content: str | Iterator[str] | AsyncIterator[str], status: int = 200) -> Response:
    """A page in the reader's language, whole or in parts."""
    headers = {"Content-Language": words.language, "Vary": "Accept-Language"}
    if isinstance(content, str):
        return HTMLResponse(content, status, headers)
    return StreamingResponse(content, status, headers | STREAM_HEADERS, "text/html")


async def late_page(words: Words, begin: Callable[[], LatePage]) -> Response:
    """A page, or a page that says why there is none: whole where it is soon known, else its head at once, and then the rest."""
    try:
        late = await run_sync(begin)
    except BlockyardError as error:
        return _no_page(words, error)
    making = asyncio.ensure_future(run_sync(late.rest))
    making.add_done_callback(lambda done: done.cancelled() or done.exception())  # whoever asked may have left
    await asyncio.wait((making,), timeout=WHOLE_SECONDS)
    if making.done():
        return page(words, lambda: late.head + making.result())
    return html(words, _late_parts(late, making))


async def _late_parts(late: LatePage, making: asyncio.Future[str]) -> AsyncIterator[str]:
    yield late.head
    await asyncio.wait((making,))
    try:
        rest = making.result()
    except BlockyardError as error:
        rest = late.sorry(masked(str(error)))
    yield rest


def page(words: Words, make: Callable[[], str | Iterator[str]]) -> Response:
    """A page, or a page that says why there is none."""
    try:
        return html(words, make())
    except BlockyardError as error:
        return _no_page(words, error)


def _no_page(words: Words, error: BlockyardError) -> Response:
    match error:
        case NotFound():
            return trouble(words, 404, "not_found", "nothing_here", str(error))
        case Conflict() | PlayFailed():  # a policy that fails as it did then is no fault of the service
            return trouble(words, 409, "not_replayed", None, str(error))
        case LedgerUnavailable():
            return trouble(words, 503, "redis_away", "no_answer", str(error), retry=True)
        case _:
            raise error


def refused(words: Words, error: BlockyardError, *, back: str) -> Response:
    """A page that says why nothing was changed."""
    match error:
        case LedgerUnavailable():
            return trouble(words, 503, "redis_away", "no_answer", str(error), back=back)
        case NotFound():
            return trouble(words, 404, "not_found", "nothing_here", str(error))
        case NotYours():
            status = 403
        case QuotaExceeded():
            status = 429
        case _:
            status = 409
    return trouble(words, status, "not_changed", None, str(error), back=back)


def trouble(
    words: Words, status: int, title: str, text: str | None, said: str = "", *, retry: bool = False, back: str = "/"
) -> Response:
    """A page that says what went wrong: `title` and `text` by their names among the words, `said` as the service words it."""
    shown = {"title": words(f"problem.{title}"), "text": text and words(f"problem.{text}")}
    return html(words, render(words, "problem.html", **shown, said=masked(said), retry=retry, back=back), status)


def live(service: ServiceState, words: Words, key: str, produce: Produce) -> StreamingResponse:
    """The fragments of a page, one event for each moment at which they have changed."""
    frames = service.feeds.listen(f"page {words.language} {key}", produce, changes_only=True)
    return StreamingResponse(frames, media_type=EVENT_STREAM, headers=STREAM_HEADERS | {"Vary": "Accept-Language"})
