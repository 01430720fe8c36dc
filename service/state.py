"""What the routes share: the settings, the ledger, the live feeds and the metrics, hung on the application once.

What asks nothing of Redis is `async`: each plain function that a route depends on would cost it a trip to another thread.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, cast

from anyio import CapacityLimiter
from fastapi import Depends, Path, Request

from service.access.audit import Audit
from service.access.caller import Caller
from service.access.keyring import Keyring
from service.access.sessions import Sessions
from service.events import Feeds
from service.metrics import HttpMetrics
from service.settings import ServiceSettings
from workers.errors import FieldError, InvalidInput, NotFound, NotYours
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
    audit: Audit
    keyring: Keyring
    sessions: Sessions
    perft_turns: CapacityLimiter
    """Lets a few calls count trees at once, each for seconds."""

    @property
    def regressions(self) -> Regressions:
        """The verbs on strategy regressions, over the same ledger."""
        return Regressions(RegressionStore(self.ledger))


def state_of(request: Request) -> ServiceState:
    """The state of the application that got the request."""
    return cast(ServiceState, request.app.state.service)


def caller_of(request: Request) -> Caller:
    """Whose request it is; the gate has seen to it. What is made belongs to the caller's name."""
    return cast(Caller, request.state.caller)


# As dependencies of routes they are asked for without a trip to another thread.
async def _state_of(request: Request) -> ServiceState:
    return state_of(request)


async def _caller_of(request: Request) -> Caller:
    return caller_of(request)


async def once_each(request: Request) -> None:
    """Query parameters given twice are refused: one of two filters would be dropped in silence."""
    counts = Counter(name for name, _ in request.query_params.multi_items())
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InvalidInput(*(FieldError(name, "is given twice; only one can count") for name in twice))


async def job_id_of(id: Annotated[str, Path(description="A job's id.", examples=["j4m2"])]) -> str:  # noqa: A002
    """A job's id from the path: whatever cannot be one is not found, before Redis is asked."""
    if not NAME.fullmatch(id):
        raise NotFound(f"there is no job {id!r}")
    return id


async def regression_name_of(
    name: Annotated[str, Path(description="A regression's name.", examples=["nightly"])],
) -> str:
    """A regression's name from the path: whatever cannot be one is not found."""
    if not REGRESSION_NAME.fullmatch(name):
        raise NotFound(f"there is no regression {name!r}")
    return name


async def run_id_of(id: Annotated[str, Path(description="A run's id.", examples=["nightly-20261130T020000Z"])]) -> str:  # noqa: A002
    """A run's id from the path: whatever cannot be one is not found."""
    if not NAME.fullmatch(id):
        raise NotFound(f"there is no run {id!r}")
    return id


StateOf = Annotated[ServiceState, Depends(_state_of)]
CallerOf = Annotated[Caller, Depends(_caller_of)]
JobId = Annotated[str, Depends(job_id_of)]
RegressionName = Annotated[str, Depends(regression_name_of)]
RunId = Annotated[str, Depends(run_id_of)]


def own_job_of(state: StateOf, id: JobId, caller: CallerOf) -> str:  # noqa: A002
    """The id of a job that the caller may change. Raises `NotFound`, and `NotYours` for others' jobs without the role admin."""
    if not caller.may("admin"):
        owner = state.ledger.owner(id)
        if owner != caller.name:
            raise NotYours(f"The job belongs to {owner}; {caller.name!r} needs the role admin to change it, not {caller.role}.")
    return id


OwnJobId = Annotated[str, Depends(own_job_of)]
ONCE_EACH = [Depends(once_each)]
"""For routes that read query parameters."""
