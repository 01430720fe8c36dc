"""The addresses of regressions on the dashboard: all of them, one with its history, one run, live until it has its verdict."""

from functools import partial

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from service.page import verdicts
from service.page.answers import live, page
from service.page.words import WordsOf
from service.state import RegressionName, RunId, StateOf

router = APIRouter(prefix="/regressions", include_in_schema=False, default_response_class=HTMLResponse)


@router.get("")
def regressions(service: StateOf, words: WordsOf) -> Response:
    """Every stored regression with its newest verdict."""
    return page(words, partial(verdicts.list_page, words, service.regressions))


@router.get("/{name}")
def regression(name: RegressionName, service: StateOf, words: WordsOf) -> Response:
    """One regression: its tests and its history."""
    return page(words, partial(verdicts.regression_page, words, service.regressions, name))


@router.get("/{name}/runs/{id}")
def run(name: RegressionName, id: RunId, service: StateOf, words: WordsOf) -> Response:  # noqa: A002
    """One run with its tests."""
    return page(words, partial(verdicts.run_page, words, service.regressions, name, id))


@router.get("/{name}/runs/{id}/live")
def live_run(name: RegressionName, id: RunId, service: StateOf, words: WordsOf) -> Response:  # noqa: A002
    """One run as it goes on."""
    return live(service, words, f"run {name} {id}", partial(verdicts.run_frame, words, service.regressions, name, id))
