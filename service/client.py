"""A client of the service, for Python programs and for the command line.

>>> with Client("http://127.0.0.1:8000") as client:             # doctest: +SKIP
...     job = client.submit({"scenarios": [{"policies": ["heaviest", "random"], "matches": 100_000}]})
...     client.wait(job["id"])
...     client.results(job["id"])["results"][0]["policies"][0]["wins"]

Whole numbers over 2^53 come as strings of digits, as the service sends them.
"""

import ipaddress
import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Literal, NotRequired, Self, TypeAlias, TypedDict, cast
from urllib.parse import quote, urlsplit

import httpx2
import orjson

from workers.errors import BlockyardError

DEFAULT_URL: Final = "http://127.0.0.1:8000"
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 60.0
SILENCE_SECONDS: Final = 15.0
"""A stream sends something every second; one that is silent for so long is dead."""
RETRY_SECONDS: Final = 0.5
OUTAGE_SECONDS: Final = 30.0
"""How long submitting and following a job go on trying while the service is away, as during a restart."""

State: TypeAlias = Literal["queued", "running", "paused", "done", "cancelled", "failed"]
Integer: TypeAlias = int | str
Document: TypeAlias = Mapping[str, Any]
Described: TypeAlias = dict[str, Any]
ENDED: Final = ("done", "cancelled", "failed")
Verdict: TypeAlias = Literal["passed", "regressed", "inconclusive", "stopped", "failed"]
POLL_SECONDS: Final = 0.5
LONGEST_POLL_SECONDS: Final = 5.0
"""A run that takes hours is asked for less and less often, down to this."""


class Progress(TypedDict):
    """How far a job is; rate and time left are None while unknown."""

    matches_done: Integer
    matches_total: Integer
    matches_per_second: float | None
    eta_seconds: float | None


class Job(TypedDict):
    """A job; `spec` is left out of lists and events."""

    id: str
    name: str
    state: State
    error: str | None
    waiting_for: str | None
    progress: Progress
    seed: Integer
    priority: str
    labels: dict[str, str]
    engine_version: str
    scenario_count: int
    matches_requested: Integer
    matches: Integer
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: NotRequired[dict[str, Any]]


class JobPage(TypedDict):
    """A page of jobs, newest first; `next_cursor` is None on the last."""

    items: list[Job]
    next_cursor: str | None


class Results(TypedDict):
    """The results of all scenarios so far; `complete` once nothing can change any more.

    A job with a matrix has a `tournament` too: pair matrix and ratings of each ruleset and number of players.
    """

    results: list[dict[str, Any]]
    tournament: list[dict[str, Any]] | None
    complete: bool


class Run(TypedDict):
    """A run of a regression; `verdict` is None while its `state` is running."""

    id: str
    regression: str
    state: Literal["running", "done"]
    verdict: Verdict | None
    labels: dict[str, str]
    created_at: str
    scheduled_at: str | None
    late: bool
    finished_at: str | None
    seed: Integer
    engine_version: str
    tests: list[dict[str, Any]]
    spec: dict[str, Any]


class Event(TypedDict):
    """One message of a job's stream: `progress` while it runs, `done` at its end."""

    event: str
    job: dict[str, Any]


class ServiceError(BlockyardError):
    """The service refused or failed; `problem` is its problem document, `status` the HTTP status."""

    def __init__(self, status: int, problem: Document) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"the service answered {status}"))
        self.status = status
        self.problem = problem

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


class Client:
    """One service at `url`; `key` is sent as a bearer token. Every call may raise a `ServiceError`.

    Use it as a context manager, or close it. `outage` bounds in seconds how long `submit`, `events` and `wait` go on trying
    while the service is away.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        *,
        timeout: float = ANSWER_SECONDS,
        outage: float = OUTAGE_SECONDS,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.outage = outage
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as {DEFAULT_URL}")
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS),
            trust_env=not _is_loopback(parts.hostname),  # a proxy for the world is none for this machine
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # Jobs

    def submit(self, document: Document, *, idempotency_key: str | None = None) -> Job:
        """Store a job. Repeated with the same key (by default one of its own) it is the same job, so an outage is sat out."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex, "Content-Type": "application/json"}
        body = orjson.dumps(document)
        return cast(Job, self._persist(lambda: self._json("POST", "/v1/jobs", content=body, headers=headers)))

    def jobs(
        self, *, state: State | None = None, label: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> JobPage:
        """A page of jobs, newest first; `label` is `key=value`."""
        wanted = {"state": state, "label": label, "limit": limit, "cursor": cursor}
        params = {name: value for name, value in wanted.items() if value is not None}
        return cast(JobPage, self._json("GET", "/v1/jobs", params=params))

    def job(self, job_id: str) -> Job:
        """A job with its spec."""
        return cast(Job, self._json("GET", _job(job_id)))

    def results(self, job_id: str) -> Results:
        """The results of all scenarios so far, all pages."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self._json("GET", f"{_job(job_id)}/results", params=params)
            found.extend(page["results"])
            if page["next_cursor"] is None:
                return {"results": found, "tournament": page["tournament"], "complete": page["complete"]}
            params = {"cursor": page["next_cursor"]}

    def results_csv(self, job_id: str) -> str:
        """The results so far as CSV: a line for each place of each scenario."""
        return self._request("GET", f"{_job(job_id)}/results", headers={"Accept": "text/csv"}).text

    def cancel(self, job_id: str) -> Job:
        """Stop a job for good."""
        return cast(Job, self._json("POST", f"{_job(job_id)}/cancel"))

    def pause(self, job_id: str) -> Job:
        """Hand out nothing more of a job for now."""
        return cast(Job, self._json("POST", f"{_job(job_id)}/pause"))

    def resume(self, job_id: str) -> Job:
        """Go on with a paused job."""
        return cast(Job, self._json("POST", f"{_job(job_id)}/resume"))

    def restart(self, job_id: str) -> Job:
        """Go on with a job that failed or was cancelled."""
        return cast(Job, self._json("POST", f"{_job(job_id)}/restart"))

    def delete(self, job_id: str) -> None:
        """Forget a job that has ended, results and all."""
        self._request("DELETE", _job(job_id))

    def events(self, job_id: str) -> Iterator[Event]:
        """The job's progress until it has ended; comes back by itself where the stream breaks."""
        deadline = time.monotonic() + self.outage
        last_id = ""
        while True:
            try:
                for message in self._stream(f"{_job(job_id)}/events", last_id):
                    last_id = message.id or last_id
                    if message.event == "gone":
                        raise UnknownName(404, orjson.loads(message.data))
                    if message.event == "unavailable" and time.monotonic() > deadline:
                        raise ServiceUnreachable(503, orjson.loads(message.data))
                    if message.event in ("progress", "done"):
                        deadline = time.monotonic() + self.outage
                        yield {"event": message.event, "job": orjson.loads(message.data)}
                    if message.event == "done":
                        return
            except (ServiceUnreachable, TooMuch):
                if time.monotonic() > deadline:
                    raise
            time.sleep(RETRY_SECONDS)

    def wait(self, job_id: str) -> Job:
        """The job once it has ended."""
        for _ in self.events(job_id):
            pass
        return cast(Job, self._persist(lambda: self._json("GET", _job(job_id)), absent=True))

    def replay(self, job_id: str, scenario: int, match: int) -> dict[str, Any]:
        """One match again, ply by ply."""
        return cast(dict[str, Any], self._json("GET", f"{_job(job_id)}/scenarios/{scenario}/matches/{match}"))

    # Strategy regressions

    def put_regression(self, name: str, document: Document) -> Described:
        """Store a regression under this name, new or changed."""
        return cast(Described, self._json("PUT", _regression(name), json=document))

    def regression(self, name: str) -> Described:
        """A regression, when it runs next, and its newest run in short."""
        return cast(Described, self._json("GET", _regression(name)))

    def regressions(self) -> list[Described]:
        """Every regression by name."""
        return _items(self._json("GET", "/v1/regressions"))

    def delete_regression(self, name: str) -> None:
        """Forget a regression and its history."""
        self._request("DELETE", _regression(name))

    def start_run(
        self, name: str, *, candidate: str | Document | None = None, labels: Mapping[str, str] | None = None
    ) -> Run:
        """Begin a run now, with another candidate where one is given."""
        body = {"labels": dict(labels or {}), **({} if candidate is None else {"candidate": candidate})}
        return cast(Run, self._json("POST", f"{_regression(name)}/runs", json=body))

    def run_once(self, document: Document, *, labels: Mapping[str, str] | None = None) -> Run:
        """Begin a run of a regression that is not stored."""
        return cast(Run, self._json("POST", "/v1/regression-runs", json={**document, "labels": dict(labels or {})}))

    def runs(self, name: str, *, limit: int = 50) -> list[Run]:
        """The newest runs of a regression, newest first."""
        return cast(list[Run], _items(self._json("GET", f"{_regression(name)}/runs", params={"limit": limit})))

    def run(self, name: str, run_id: str) -> Run:
        """A run as it stands, or as it ended."""
        return cast(Run, self._json("GET", f"{_regression(name)}/runs/{quote(run_id, safe='')}"))

    def wait_for_run(self, name: str, run_id: str, *, timeout: float | None = None) -> Run:
        """The run once it has its verdict, or as it stands after `timeout` seconds; an outage is sat out."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        pause = POLL_SECONDS
        while True:
            run = cast(Run, self._persist(lambda: self.run(name, run_id), absent=True))
            left = deadline - time.monotonic()
            if run["state"] == "done" or left <= 0:
                return run
            time.sleep(min(pause, left))
            pause = min(pause * 1.2, LONGEST_POLL_SECONDS)

    def promote(self, name: str, *, run: str | None = None) -> Described:
        """Make the candidate (of a run, where one is named) the baseline of every test."""
        body = {} if run is None else {"run": run}
        return cast(Described, self._json("POST", f"{_regression(name)}/promote", json=body))

    # What can be named, and who works

    def policies(self) -> list[Described]:
        """Every policy that can be named, with its parameters."""
        return _items(self._json("GET", "/v1/policies"))

    def rulesets(self) -> list[Described]:
        """Every ruleset that can be named."""
        return _items(self._json("GET", "/v1/rulesets"))

    def workers(self) -> list[Described]:
        """The workers that have shown themselves lately."""
        return _items(self._json("GET", "/v1/workers"))

    def drain(self, worker: str) -> None:
        """Hand nothing more to a worker."""
        self._request("POST", f"/v1/workers/{quote(worker, safe='')}/drain")

    # Positions

    def judge(self, document: object) -> Any:
        """The rules on one position, or on each of a list."""
        return self._json("POST", "/v1/judge", json=document)

    def perft(self, document: object) -> Any:
        """The whole tree of one deal, or of each of a list."""
        return self._json("POST", "/v1/perft", json=document)

    # The wire

    def _json(self, method: str, path: str, **options: Any) -> Any:
        response = self._request(method, path, **options)
        try:
            return orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise self._stranger() from error

    def _request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            response = self._http.request(method, path, **options)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        if not response.is_success:
            raise _refusal(response)
        return response

    def _stream(self, path: str, last_id: str) -> Iterator[httpx2.ServerSentEvent]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
        timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        try:
            with self._http.stream("GET", path, headers=headers, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise _refusal(response)
                yield from httpx2.EventSource(response)
        except httpx2.SSEError as error:
            raise self._stranger() from error
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    def _persist(self, call: Callable[[], Any], *, absent: bool = False) -> Any:
        """Repeat a call that may be repeated while the service has no Redis, or (`absent`) while nothing answers at all."""
        deadline = time.monotonic() + self.outage
        while True:
            try:
                return call()
            except (ServiceUnreachable, TooMuch) as error:
                if (error.status == 0 and not absent) or time.monotonic() > deadline:
                    raise
            time.sleep(RETRY_SECONDS)

    def _unreachable(self, error: Exception) -> ServiceUnreachable:
        reason = "no answer in time" if isinstance(error, httpx2.TimeoutException) else str(error) or type(error).__name__
        return ServiceUnreachable(0, {"detail": f"no service answers at {self.url} ({reason})"})

    def _stranger(self) -> ServiceUnreachable:
        return ServiceUnreachable(0, {"detail": f"what answers at {self.url} is not Blockyard"})


def _refusal(response: httpx2.Response) -> ServiceError:
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"the service answered {response.status_code} {response.reason_phrase}"}
    return _BY_STATUS.get(response.status_code, ServiceError)(response.status_code, problem)


def _job(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def _regression(name: str) -> str:
    return f"/v1/regressions/{quote(name, safe='')}"


def _items(page: Any) -> list[Described]:
    return cast(list[Described], page["items"] if isinstance(page, dict) else page)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
