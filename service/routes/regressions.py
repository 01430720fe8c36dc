"""Strategy regressions: put, read, delete, run, and promote."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from service.access.caller import Caller
from service.access.quotas import job_quota
from service.body import JsonRoute
from service.intake import regression_spec
from service.routes.documented import CHANGED, LISTED, NAMED, SENT, problems
from service.routes.run_answers import regression_answer, run_answer
from service.schemas.regressions import (
    PromoteRequest,
    RegressionAnswer,
    RegressionList,
    RegressionRequest,
    RunAnswer,
    RunList,
    RunOnceRequest,
    RunRequest,
    RunsQuery,
)
from service.state import ONCE_EACH, CallerOf, RegressionName, RunId, ServiceState, StateOf
from workers.errors import FieldError, InvalidInput, NotFound
from workers.regressions.spec import RegressionSpec
from workers.regressions.store import Run

SENT_TO_ONE: Final = SENT | problems(404)
PROMOTED: Final = SENT_TO_ONE | problems(409)

router = APIRouter(prefix="/v1", tags=["regressions"], route_class=JsonRoute)


@router.put(
    "/regressions/{name}",
    responses={**SENT, 201: {"model": RegressionAnswer, "description": "It is new."}},
    summary="Put a regression",
)
def put(
    name: Annotated[str, Path(max_length=200, description="A regression's name.", examples=["nightly"])],
    body: RegressionRequest,
    response: Response,
    state: StateOf,
) -> RegressionAnswer:
    """Store a regression, new (201) or changed (200). A change drops what `promote` pinned; runs keep the spec they had."""
    spec = regression_spec(body, name, state.settings)
    regressions = state.regressions
    is_new = regressions.put(spec)
    state.audit("regression put", regression=name)
    if is_new:
        response.status_code = 201
        response.headers["Location"] = f"/v1/regressions/{name}"
    return regression_answer(regressions, spec)


@router.get("/regressions", responses=problems(503), summary="List regressions")
def regressions(state: StateOf) -> RegressionList:
    """Every regression by name, with its newest run in short."""
    return RegressionList(items=[regression_answer(state.regressions, spec) for spec in state.regressions.store.all()])


@router.get("/regressions/{name}", responses=NAMED, summary="Read a regression")
def regression(name: RegressionName, state: StateOf) -> RegressionAnswer:
    """A regression, when it runs next, and its newest run in short."""
    return regression_answer(state.regressions, state.regressions.store.load(name))


@router.delete("/regressions/{name}", status_code=204, responses=CHANGED, summary="Delete a regression")
def delete(name: RegressionName, state: StateOf) -> None:
    """Remove a regression with its history. While a run is under way it stays: cancel the run's jobs or wait."""
    state.regressions.delete(name)
    state.audit("regression deleted", regression=name)


@router.post("/regressions/{name}/runs", status_code=202, responses=SENT_TO_ONE, summary="Run a regression")
def start(
    name: RegressionName, response: Response, state: StateOf, caller: CallerOf, body: RunRequest | None = None
) -> RunAnswer:
    """Begin a run now, if wanted with another candidate, and answer at once; workers play it."""
    body = body or RunRequest(labels={})
    _check_quota(state.regressions.store.load(name), caller, state)
    try:
        run = state.regressions.start(name, candidate=body.candidate, labels=body.labels, owner=caller.name)
    except InvalidInput as refusal:
        raise _of_candidate(refusal) if body.candidate is not None else refusal from None
    return _begun(run, response, state)


@router.get("/regressions/{name}/runs", dependencies=ONCE_EACH, responses=NAMED | LISTED, summary="List runs")
def runs(name: RegressionName, query: Annotated[RunsQuery, Query()], state: StateOf) -> RunList:
    """A regression's runs, newest first; also of one that is not stored but was run once."""
    store = state.regressions.store
    found = store.runs(name, query.limit + 1, query.cursor)
    if not found and query.cursor is None:
        store.load(name)
    page = found[: query.limit]
    cursor = page[-1].id if len(found) > len(page) else None
    return RunList(items=[run_answer(state.regressions, run) for run in page], next_cursor=cursor)


@router.get("/regressions/{name}/runs/{id}", responses=NAMED, summary="Read a run")
def run(name: RegressionName, id: RunId, state: StateOf) -> RunAnswer:  # noqa: A002
    """A run with its tests as they stand, or as they were when it ended."""
    found = state.regressions.store.run(id)
    if found.regression != name:
        raise NotFound(f"{name} has no run {id}")
    return run_answer(state.regressions, found)


@router.post("/regressions/{name}/promote", responses=PROMOTED, summary="Promote the candidate")
def promote(name: RegressionName, state: StateOf, body: PromoteRequest | None = None) -> RegressionAnswer:
    """The candidate becomes the baseline of every test, pinned to what it is today: that of a run where one is named."""
    promoted = state.regressions.promote(name, body.run if body else None)
    baselines = {test.name: test.baseline for test in promoted.tests}
    state.audit("regression promoted", regression=name, run=body.run if body else None, baselines=baselines)
    return regression_answer(state.regressions, promoted)


@router.post("/regression-runs", status_code=202, responses=SENT, summary="Run a regression once")
def start_once(body: RunOnceRequest, response: Response, state: StateOf, caller: CallerOf) -> RunAnswer:
    """Begin a run of a spec without storing it as a regression. The run is found under the spec's name."""
    spec = regression_spec(body, body.name, state.settings)
    _check_quota(spec, caller, state)
    run = state.regressions.start_once(spec, labels=body.labels, owner=caller.name)
    return _begun(run, response, state)


def _check_quota(spec: RegressionSpec, caller: Caller, state: ServiceState) -> None:
    """A run may begin where all of its tests, up to their caps, fit into what the caller may have under way."""
    matches = sum(test.max_matches for test in spec.tests)
    state.ledger.check_quota(caller.name, len(spec.tests), matches, job_quota(caller, state.settings))


def _begun(run: Run, response: Response, state: ServiceState) -> RunAnswer:
    state.audit("regression run", regression=run.regression, run=run.id)
    response.headers["Location"] = f"/v1/regressions/{run.regression}/runs/{run.id}"
    return run_answer(state.regressions, run)


def _of_candidate(refusal: InvalidInput) -> InvalidInput:
    """What is wrong with a run's own candidate, once for all tests, by the field that brought it."""
    found = [
        FieldError(f"candidate{path.partition('].candidate')[2]}" if "].candidate" in path else path, error.message)
        for error in refusal.errors
        for path in (error.path,)
    ]
    return InvalidInput(*dict.fromkeys(found))
