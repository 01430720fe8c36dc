"""The addresses of replays on the dashboard: a scenario's matches, and one match at any moment of it."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from service.page import replays
from service.page.answers import late_page, page
from service.page.words import WordsOf
from service.state import JobId, StateOf

Number = Annotated[int, Path(ge=0)]
Position = Annotated[int, Query(ge=0)]

router = APIRouter(prefix="/jobs/{id}/scenarios/{k}/matches", include_in_schema=False, default_response_class=HTMLResponse)


@router.get("")
def matches(
    id: JobId,  # noqa: A002
    k: Number,
    service: StateOf,
    words: WordsOf,
    first: Annotated[int, Query(alias="from", ge=0)] = 0,
    match: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """The matches of a scenario; with `match`, that one."""
    if match is not None:
        return RedirectResponse(f"/jobs/{id}/scenarios/{k}/matches/{match}", 303)
    return page(words, partial(replays.matches_page, words, service.ledger, id, k, first))


@router.get("/{m}")
async def match(
    id: JobId,  # noqa: A002
    k: Number,
    m: Number,
    service: StateOf,
    words: WordsOf,
    round: Position = 0,  # noqa: A002
    ply: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """A match after so many plies of a round."""
    return await late_page(words, partial(replays.replay_page, words, service.ledger, id, k, m, round, ply))
