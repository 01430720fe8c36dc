"""What the routes share: the settings, the ledger, the live feeds and the metrics, hung on the application once."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from service.events import Feeds
from service.metrics import HttpMetrics
from service.settings import ServiceSettings
from workers.errors import NotFound
from workers.jobs.ledger import NAME, Ledger
from workers.regressions.runs import Regressions
from workers.regressions.spec import NAME as REGRESSION_NAME
from workers.regressions.store import RegressionStore


@dataclass(frozen=True, slots=True)
class ServiceState:
    """One of each for a process."""

    settings: ServiceSettings
    ledger: Ledger
    feeds: Feeds
    metrics: HttpMetrics

    @property
    def regressions(self) -> Regressions:
        """The verbs on strategy regressions, over the same ledger."""
        return Regressions(RegressionStore(self.ledger))


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


def regression_name_of(
    name: Annotated[str, Path(description="A regression's name.", examples=["nightly"])],
) -> str:
    """A regression's name from the path: whatever cannot be one is not found."""
    if not REGRESSION_NAME.fullmatch(name):
        raise NotFound(f"there is no regression {name!r}")
    return name


def run_id_of(id: Annotated[str, Path(description="A run's id.", examples=["nightly-20261130T020000Z"])]) -> str:  # noqa: A002
    """A run's id from the path: whatever cannot be one is not found."""
    if not NAME.fullmatch(id):
        raise NotFound(f"there is no run {id!r}")
    return id


StateOf = Annotated[ServiceState, Depends(state_of)]
OwnerOf = Annotated[str, Depends(owner_of)]
JobId = Annotated[str, Depends(job_id_of)]
RegressionName = Annotated[str, Depends(regression_name_of)]
RunId = Annotated[str, Depends(run_id_of)]
