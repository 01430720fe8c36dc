"""What every address of the dashboard answers with: a page, a page that says why there is none, or a stream of fragments."""

from collections.abc import Callable

from fastapi import Response
from fastapi.responses import HTMLResponse, StreamingResponse

from service.events import EVENT_STREAM, STREAM_HEADERS, Produce
from service.page import views
from service.state import ServiceState
from workers.errors import LedgerUnavailable, NotFound


def page(make: Callable[[], str]) -> Response:
    """A page, or a page that says why there is none."""
    try:
        return HTMLResponse(make())
    except NotFound as error:
        return HTMLResponse(views.render("problem.html", title="Not found", detail=str(error), retry=False), 404)
    except LedgerUnavailable as error:
        return HTMLResponse(views.render("problem.html", title="Redis is away", detail=str(error), retry=True), 503)


def live(service: ServiceState, key: str, produce: Produce) -> StreamingResponse:
    """The fragments of a page, one event for each moment at which they have changed."""
    frames = service.feeds.listen(key, produce, changes_only=True)
    return StreamingResponse(frames, media_type=EVENT_STREAM, headers=STREAM_HEADERS)
