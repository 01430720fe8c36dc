"""What the routes share: the settings, the ledger, the live feeds and the metrics, hung on the application once."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from service.events import Feeds
from service.metrics import HttpMetrics
from service.settings import ServiceSettings
from workers.errors import NotFound
from workers.jobs.ledger import NAME, Ledger


@dataclass(frozen=True, slots=True)
class ServiceState:
    """One of each for a process."""

    settings: ServiceSettings
    ledger: Ledger
    feeds: Feeds
    metrics: HttpMetrics


def state_of(request: Request) -> ServiceState:
    """The state of the application that got the request."""
    return cast(ServiceState, request.app.state.service)


def owner_of(request: Request) -> str:
    """Whose request it is. Everybody is the same owner until keys are set up."""
    del request
    return "anonymous"


def job_id_of(id: Annotated[str, Path(description="A job's id.", examples=["j4m2"])]) -> str:  # noqa: A002
    """A job's id from the path: whatever cannot be one is not found, before Redis is asked."""
    if not NAME.fullmatch(id):
        raise NotFound(f"there is no job {id!r}")
    return id


StateOf = Annotated[ServiceState, Depends(state_of)]
OwnerOf = Annotated[str, Depends(owner_of)]
JobId = Annotated[str, Depends(job_id_of)]
