"""Jobs: submit, list, read, steer, delete, and their results."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Header, Query, Request, Response

from service.actions import steer_job, submit_job
from service.body import JsonRoute
from service.results import result_document, results_csv
from service.routes.documented import CHANGED, LISTED, NAMED, SENT, content, problems
from service.schemas.answers import JobAnswer, JobPage, JobSummary, job_answer, job_summary
from service.schemas.requests import JobRequest, JobsQuery, ResultsQuery
from service.schemas.results import ResultsPage
from service.state import ONCE_EACH, CallerOf, JobId, OwnJobId, StateOf, caller_of, state_of
from service.tournament_tables import tournament_csv
from service.tournaments import tournament_documents
from workers.errors import InvalidInput
from workers.jobs.ledger import Ledger
from workers.jobs.spec import JobSpec

RESULTS_PAGE: Final = 100
"""Results on a page where no limit is given."""
MAX_KEY: Final = 200
CSV: Final = "text/csv"

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)


@router.post("", status_code=202, response_model=JobAnswer, responses=SENT, summary="Submit a job")
def submit(
    body: JobRequest,
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(description="The same key and body again answer with the same job; the same key with another body, 422."),
    ] = None,
) -> Response:
    """Store a batch and answer at once; workers play it. The batch is refused as a whole if anything in it is wrong."""
    # Asked of the request itself: as dependencies of the most frequent of calls they would cost a tenth of it.
    state, caller = state_of(request), caller_of(request)
    record, spec = submit_job(state, caller, body, _checked_key(idempotency_key))
    # The same key may have met an older job, whose drawn seed is its own.
    answer = job_answer(record, spec if record.seed == spec.seed else state.ledger.spec(record.id))
    # Written here: submitting is what is done most, and FastAPI would check the answer a second time.
    return Response(answer.model_dump_json(), 202, {"Location": f"/v1/jobs/{record.id}"}, "application/json")


@router.get("", dependencies=ONCE_EACH, responses=LISTED, summary="List jobs")
def jobs(query: Annotated[JobsQuery, Query()], state: StateOf) -> JobPage:
    """Jobs, newest first."""
    if query.label is not None and "=" not in query.label:
        raise InvalidInput.at("label", f"must be key=value, not {query.label!r}")
    records, cursor = state.ledger.jobs(query.state, query.label, query.limit, query.cursor)
    return JobPage(items=[job_summary(record) for record in records], next_cursor=cursor)


@router.get("/{id}", responses=NAMED, summary="Read a job")
def job(id: JobId, state: StateOf) -> JobAnswer:  # noqa: A002
    """A job's spec, state, progress and times."""
    return job_answer(state.ledger.job(id), state.ledger.spec(id))


@router.get(
    "/{id}/results",
    dependencies=ONCE_EACH,
    response_model=ResultsPage,
    responses={**problems(404, 422, 503), 200: content(CSV, "Results so far: as JSON, or as CSV where that is asked for.")},
    summary="Read results",
)
def results(id: JobId, query: Annotated[ResultsQuery, Query()], request: Request, state: StateOf) -> Response:  # noqa: A002
    """The results so far, one per scenario. `complete` says that no figure will change any more.

    The last page of a job with a matrix holds `tournament` too: each field's pair matrix, and its ratings once all of its
    pairs have been played. With `Accept: text/csv` a table with a line for each place of each scenario, from `cursor` on
    to the end; or, as `table` says, a line for each pair of the matrix, or for each policy's rating.
    """
    spec = state.ledger.spec(id)
    if wants_csv(request.headers.get("accept", "")):
        if query.table == "scenarios":
            text = "".join(_csv_pages(state.ledger, id, spec, query))
        else:
            text = tournament_csv(tournament_documents(spec, state.ledger.tallies(id)) if spec.matrix else [], query.table)
        return Response(text, media_type=f"{CSV}; charset=utf-8", headers={"Vary": "Accept"})
    # The state is read before the tallies: what is done then cannot have changed since.
    complete = state.ledger.job(id).state == "done"
    limit = query.limit or RESULTS_PAGE
    end = query.cursor + limit
    is_last = end >= len(spec.scenarios)
    page = {
        "results": _results(state.ledger, id, spec, query.cursor, limit),
        "tournament": tournament_documents(spec, state.ledger.tallies(id)) if is_last and spec.matrix else None,
        "complete": complete,
        "next_cursor": None if is_last else str(end),
    }
    return Response(orjson.dumps(page), media_type="application/json", headers={"Vary": "Accept"})


@router.post("/{id}/cancel", responses=CHANGED, summary="Cancel a job")
def cancel(id: OwnJobId, state: StateOf, caller: CallerOf) -> JobSummary:  # noqa: A002
    """Nothing more is claimed, and results that come late are refused. A finished job cannot be cancelled."""
    return job_summary(steer_job(state, caller, id, "cancel"))


@router.post("/{id}/pause", responses=CHANGED, summary="Pause a job")
def pause(id: OwnJobId, state: StateOf, caller: CallerOf) -> JobSummary:  # noqa: A002
    """Nothing more is claimed; what is being played is still taken."""
    return job_summary(steer_job(state, caller, id, "pause"))


@router.post("/{id}/resume", responses=CHANGED, summary="Resume a paused job")
def resume(id: OwnJobId, state: StateOf, caller: CallerOf) -> JobSummary:  # noqa: A002
    """A paused job goes on where it stands."""
    return job_summary(steer_job(state, caller, id, "resume"))


@router.post("/{id}/restart", responses=CHANGED, summary="Play a job anew")
def restart(id: OwnJobId, state: StateOf, caller: CallerOf) -> JobSummary:  # noqa: A002
    """A job that has ended, or waits for an engine version that is gone, is played anew from its first block.

    What was counted before is dropped. A job that is under way stays as it is.
    """
    return job_summary(steer_job(state, caller, id, "restart"))


@router.delete("/{id}", status_code=204, responses=CHANGED, summary="Delete a job")
def delete(id: OwnJobId, state: StateOf) -> None:  # noqa: A002
    """Remove a job and its results. A running job is not removed: cancel it first. Said twice, it is done once."""
    if state.ledger.delete(id):
        state.audit("job deleted", job=id)


def wants_csv(accept: str) -> bool:
    """Whether an Accept header prefers CSV to JSON: it names CSV, and JSON not with more weight."""
    weights = {CSV: 0.0, "application/json": 0.0}
    for part in accept.lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        if kind in weights:
            weights[kind] = next((_weight(piece[2:]) for piece in parameters if piece.startswith("q=")), 1.0)
    return weights[CSV] > 0 and weights[CSV] >= weights["application/json"]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _results(ledger: Ledger, job_id: str, spec: JobSpec, first: int, count: int) -> list[dict[str, Any]]:
    """The results of `count` scenarios from `first` on."""
    scenarios = spec.scenarios[first : first + count]
    tallies = ledger.tallies(job_id, first, len(scenarios)) if scenarios else []
    return [
        result_document(scenario, spec.seed, tally, spec.engine_version, index=first + position)
        for position, (scenario, tally) in enumerate(zip(scenarios, tallies, strict=True))
    ]


def _csv_pages(ledger: Ledger, job_id: str, spec: JobSpec, query: ResultsQuery) -> Iterator[str]:
    """The table from the cursor on, a page of scenarios at a time: only text is kept of all that were read."""
    end = len(spec.scenarios) if query.limit is None else min(query.cursor + query.limit, len(spec.scenarios))
    yield results_csv([])
    for first in range(query.cursor, end, RESULTS_PAGE):
        yield results_csv(_results(ledger, job_id, spec, first, min(RESULTS_PAGE, end - first)), header=False)


def _checked_key(key: str | None) -> str | None:
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise InvalidInput.at("Idempotency-Key", f"must be 1 to {MAX_KEY} printable ASCII characters")
    return key
