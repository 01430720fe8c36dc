"""The dashboard's addresses: the list of jobs, one job, their live fragments, the API's reference, and static files."""

from functools import partial
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from service.page import login, reference, replay_routes, rules, scenarios, submitting, verdict_routes, views, workforce
from service.page.answers import html, live, page
from service.page.words import WordsOf
from service.schemas.fields import JobState
from service.state import JobId, StateOf

STATIC: Final = Path(__file__).parent / "static"
StateFilter = Annotated[JobState | None, Query()]
Cursor = Annotated[str | None, Query(max_length=200)]
Number = Annotated[int, PathParameter(ge=0)]
Position = Annotated[int, Query(ge=0)]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


ROUTERS: Final = (router, verdict_routes.router, replay_routes.router, submitting.router, login.router)
"""Of all pages."""


def mount(app: FastAPI) -> None:
    """Add the pages and their files to the application."""
    for each in ROUTERS:
        app.include_router(each)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


@router.get("/")
def index(service: StateOf, words: WordsOf, state: StateFilter = None, cursor: Cursor = None) -> Response:
    """The list of jobs."""
    return page(words, partial(views.jobs_page, words, service.ledger, state, cursor))


@router.get("/live")
def live_index(service: StateOf, words: WordsOf, state: StateFilter = None, cursor: Cursor = None) -> Response:
    """The list of jobs as it changes."""
    produce = partial(views.jobs_frame, words, service.ledger, state, cursor)
    return live(service, words, f"jobs {state} {cursor}", produce)


@router.get("/jobs/{id}")
def job(id: JobId, service: StateOf, words: WordsOf, first: Position = 0) -> Response:  # noqa: A002
    """One job, its scenarios from number `first` on."""
    return page(words, partial(views.job_page, words, service.ledger, id, first))


@router.get("/jobs/{id}/live")
def live_job(id: JobId, service: StateOf, words: WordsOf, first: Position = 0) -> Response:  # noqa: A002
    """One job as it goes on."""
    return live(service, words, f"job {id} {first}", views.JobFrames(words, service.ledger, id, first))


@router.get("/jobs/{id}/scenarios/{k}")
def scenario(id: JobId, k: Number, service: StateOf, words: WordsOf) -> Response:  # noqa: A002
    """One scenario of a job, with everything that was counted."""
    return page(words, partial(scenarios.scenario_page, words, service.ledger, id, k))


@router.get("/jobs/{id}/scenarios/{k}/live")
def live_scenario(id: JobId, k: Number, service: StateOf, words: WordsOf) -> Response:  # noqa: A002
    """One scenario as it goes on."""
    return live(service, words, f"scenario {id} {k}", partial(scenarios.scenario_frame, words, service.ledger, id, k))


@router.get("/workers")
def workers(service: StateOf, words: WordsOf) -> Response:
    """Who works."""
    return page(words, partial(workforce.workers_page, words, service.ledger))


@router.get("/workers/live")
def live_workers(service: StateOf, words: WordsOf) -> Response:
    """Who works, as it changes."""
    return live(service, words, "workers", partial(workforce.workers_frame, words, service.ledger))


@router.get("/rules")
async def rules_of_the_game(words: WordsOf) -> Response:
    """The rules, ruleset by ruleset."""
    return html(words, rules.rules_page(words))


@router.get("/docs")
def docs(request: Request, words: WordsOf) -> Response:
    """The API's reference: every call."""
    return html(words, reference.calls_page(words, request.app.openapi()))


@router.get(reference.MODELS)
def models(request: Request, words: WordsOf) -> Response:
    """The API's reference: what is sent and answered."""
    return html(words, reference.models_page(words, request.app.openapi()))
