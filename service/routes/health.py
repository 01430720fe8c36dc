"""Whether the process lives, and whether it can serve."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from service.errors import problem
from service.routes.documented import problems
from service.schemas.answers import Health, Readiness
from service.state import StateOf

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Is the process alive?")
def healthz() -> Health:
    """Answers as long as the process does, whatever Redis does."""
    return Health()


@router.get("/readyz", response_model=Readiness, responses=problems(422, 503), summary="Can the service serve?")
def readyz(
    state: StateOf,
    workers: Annotated[int, Query(ge=0, le=1, description="1: a worker must be there too, and not be about to end.")] = 0,
) -> Readiness | Response:
    """Redis answers; the body tells how many workers are alive and not about to end."""
    state.ledger.ping()
    alive = sum(not worker.draining for worker in state.ledger.workers())
    if alive < workers:
        return problem(503, "No worker is alive.", kind="no-worker", title="No worker")
    return Readiness(workers=alive)
