"""What may go wrong, by what the service answered."""

from collections.abc import Mapping
from typing import Final

import httpx2
import orjson

from service.client.answers import Document
from workers.errors import BlockyardError


class ServiceError(BlockyardError):
    """The service refused or failed; `problem` is its problem document, `status` the HTTP status.

    `retry_after` are the seconds after which the service says that asking again makes sense.
    """

    def __init__(self, status: int, problem: Document, retry_after: float | None = None) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"the service answered {status}"))
        self.status = status
        self.problem = problem
        self.retry_after = retry_after

    @property
    def errors(self) -> list[tuple[str, str]]:
        """What is wrong by field: (path, message)."""
        return [(str(error.get("path", "")), str(error.get("message", ""))) for error in self.problem.get("errors") or ()]


class RequestRefused(ServiceError):
    """The input was refused (400, 413, 422); `errors` names the fields."""


class NotAllowed(ServiceError):
    """The key is missing, unknown, or may not do this (401, 403)."""


class UnknownName(ServiceError):
    """What was named does not exist (404)."""


class NotNow(ServiceError):
    """The request does not fit the present state (409)."""


class TooMuch(ServiceError):
    """More is asked for than the service takes at the moment (429)."""


class ServiceUnreachable(ServiceError):
    """Nothing answers there, or what answers has no Redis (502, 503, 504)."""


_BY_STATUS: Final[Mapping[int, type[ServiceError]]] = {
    400: RequestRefused, 413: RequestRefused, 422: RequestRefused, 401: NotAllowed, 403: NotAllowed, 404: UnknownName,
    409: NotNow, 429: TooMuch, 502: ServiceUnreachable, 503: ServiceUnreachable, 504: ServiceUnreachable,
}  # fmt: skip


def refusal(response: httpx2.Response) -> ServiceError:
    """The error that an answer is."""
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"the service answered {response.status_code} {response.reason_phrase}"}
    kind = _BY_STATUS.get(response.status_code, ServiceError)
    wait = response.headers.get("retry-after", "")
    return kind(response.status_code, problem, float(wait) if wait.isascii() and wait.isdigit() else None)
