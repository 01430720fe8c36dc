"""A job as it goes on, as server-sent events."""

from collections.abc import AsyncIterator
from functools import partial

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from service.events import EVENT_STREAM, STREAM_HEADERS, Frame, event
from service.routes.documented import EVENT, NAMED, content
from service.schemas.answers import job_summary
from service.state import JobId, ServiceState, StateOf
from workers.jobs.ledger import Ledger
from workers.jobs.records import FINISHED

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "/{id}/events",
    response_class=StreamingResponse,
    responses={**NAMED, 200: content(EVENT_STREAM, "Events of a job, as they come.", EVENT)},
    summary="Follow a job",
)
def events(id: JobId, state: StateOf) -> StreamingResponse:  # noqa: A002
    """`progress` at least once a second while the job is unfinished, then `done` and the end of the stream.

    A stream also ends after about a minute: connect again, as every EventSource does by itself. `unavailable` says that
    Redis does not answer now.
    """
    state.ledger.job(id)
    return StreamingResponse(_stream(state, id), media_type=EVENT_STREAM, headers=STREAM_HEADERS)


def _stream(state: ServiceState, job_id: str) -> AsyncIterator[bytes]:
    return state.feeds.listen(f"job {job_id}", partial(job_frame, state.ledger, job_id))


def job_frame(ledger: Ledger, job_id: str) -> Frame:
    """The job at this moment."""
    record = ledger.job(job_id)
    over = record.state in FINISHED
    return Frame(event("done" if over else "progress", job_summary(record).model_dump(mode="json")), last=over)
