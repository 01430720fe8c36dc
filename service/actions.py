"""What a caller does to jobs, by whichever door: stored once, changed, and told to the audit log."""

import hashlib
from typing import Final, Literal, TypeAlias

import orjson

from service.access.caller import Caller
from service.access.quotas import job_quota
from service.intake import job_spec
from service.schemas.requests import JobRequest
from service.state import ServiceState
from workers.jobs.records import JobRecord
from workers.jobs.spec import JobSpec

Verb: TypeAlias = Literal["cancel", "pause", "resume", "restart"]
DONE: Final[dict[Verb, str]] = {
    "cancel": "job cancelled", "pause": "job paused", "resume": "job resumed", "restart": "job restarted",
}  # fmt: skip
"""How the audit log tells it."""


def submit_job(state: ServiceState, caller: Caller, body: JobRequest, key: str | None) -> tuple[JobRecord, JobSpec]:
    """Stores the job that a request means: the record, and the spec that was made of the request.

    The same key and request again answer with the job that is there, whose drawn seed is its own. Raises `InvalidInput` with
    every reason, `IdempotencyMismatch`, `QuotaExceeded`.
    """
    spec = job_spec(body, state.settings)
    # What makes two requests the same is their meaning, not their white space.
    digest = hashlib.sha256(orjson.dumps(body.model_dump(), option=orjson.OPT_SORT_KEYS)).hexdigest()
    record, is_new = state.ledger.submit(
        spec, idempotency_key=key, request_digest=digest, owner=caller.name, quota=job_quota(caller, state.settings)
    )
    if is_new:
        state.audit("job submitted", job=record.id, matches=str(record.matches))
    return record, spec


def steer_job(state: ServiceState, caller: Caller, job_id: str, verb: Verb) -> JobRecord:
    """Changes a job that the caller may change (see `state.own_job_of`). Raises `NotFound`, `Conflict`, `QuotaExceeded`."""
    ledger = state.ledger
    match verb:
        case "cancel":
            record = ledger.cancel(job_id)
        case "pause":
            record = ledger.pause(job_id)
        case "resume":
            record = ledger.resume(job_id)
        case "restart":
            record = ledger.restart(job_id, quota=job_quota(caller, state.settings))
    state.audit(DONE[verb], job=record.id, owner=record.owner)
    return record
