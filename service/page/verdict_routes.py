"""The addresses of regressions on the dashboard, all of them live: the list, one with its history, one run."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from service.page import verdicts
from service.page.answers import live, page
from service.page.words import WordsOf
from service.schemas.fields import MAX_NAME
from service.state import RegressionName, RunId, StateOf

Cursor = Annotated[str | None, Query(max_length=MAX_NAME)]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/regressions")
def regressions(service: StateOf, words: WordsOf) -> Response:
    """Every stored regression with its newest verdict."""
    return page(words, partial(verdicts.list_page, words, service.regressions))


# Not below /regressions, where it would take the place of a regression of that name.
@router.get("/live/regressions")
def live_regressions(service: StateOf, words: WordsOf) -> Response:
    """The list as it changes."""
    rows = verdicts.RunRows(service.regressions)
    return live(service, words, "regressions", partial(verdicts.list_frame, words, service.regressions, rows))


@router.get("/regressions/{name}")
def regression(name: RegressionName, service: StateOf, words: WordsOf, cursor: Cursor = None) -> Response:
    """One regression: its tests and its history."""
    return page(words, partial(verdicts.regression_page, words, service.regressions, name, cursor))


@router.get("/regressions/{name}/live")
def live_regression(name: RegressionName, service: StateOf, words: WordsOf, cursor: Cursor = None) -> Response:
    """One regression as runs begin and end."""
    rows = verdicts.RunRows(service.regressions)
    frames = partial(verdicts.regression_frame, words, service.regressions, name, cursor, rows)
    return live(service, words, f"regression {name} {cursor}", frames)


@router.get("/regressions/{name}/runs/{id}")
def run(name: RegressionName, id: RunId, service: StateOf, words: WordsOf) -> Response:  # noqa: A002
    """One run with its tests."""
    return page(words, partial(verdicts.run_page, words, service.regressions, name, id))


@router.get("/regressions/{name}/runs/{id}/live")
def live_run(name: RegressionName, id: RunId, service: StateOf, words: WordsOf) -> Response:  # noqa: A002
    """One run as it goes on."""
    return live(service, words, f"run {name} {id}", partial(verdicts.run_frame, words, service.regressions, name, id))
