"""What every address of the dashboard answers with: a page, a page that says why there is none, or a stream of fragments."""

from collections.abc import Callable

from fastapi import Response
from fastapi.responses import HTMLResponse, StreamingResponse

from service.events import EVENT_STREAM, STREAM_HEADERS, Produce
from service.page.rendering import render
from service.page.words import Words
from service.state import ServiceState
from workers.errors import BlockyardError, Conflict, LedgerUnavailable, NotFound, NotYours, QuotaExceeded
from workers.logs import masked


def html(words: Words, content: str, status: int = 200) -> HTMLResponse:
    """A page in the reader's language."""
    return HTMLResponse(content, status, {"Content-Language": words.language, "Vary": "Accept-Language"})


def page(words: Words, make: Callable[[], str]) -> Response:
    """A page, or a page that says why there is none."""
    try:
        return html(words, make())
    except NotFound as error:
        return trouble(words, 404, "not_found", "nothing_here", str(error))
    except Conflict as error:
        return trouble(words, 409, "not_replayed", None, str(error))
    except LedgerUnavailable as error:
        return trouble(words, 503, "redis_away", "no_answer", str(error), retry=True)


def refused(words: Words, error: BlockyardError, *, back: str) -> HTMLResponse:
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
) -> HTMLResponse:
    """A page that says what went wrong: `title` and `text` by their names among the words, `said` as the service words it."""
    shown = {"title": words(f"problem.{title}"), "text": text and words(f"problem.{text}")}
    return html(words, render(words, "problem.html", **shown, said=masked(said), retry=retry, back=back), status)


def live(service: ServiceState, words: Words, key: str, produce: Produce) -> StreamingResponse:
    """The fragments of a page, one event for each moment at which they have changed."""
    frames = service.feeds.listen(f"page {words.language} {key}", produce, changes_only=True)
    return StreamingResponse(frames, media_type=EVENT_STREAM, headers=STREAM_HEADERS | {"Vary": "Accept-Language"})
