"""Every call of the service as a method."""

import math
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

import orjson

from service.client.answers import Described, Document, Event, Job, JobPage, Results, ResultsTable, Run, State
from service.client.errors import ServiceUnreachable, TooMuch, UnknownName
from service.client.wire import RETRY_SECONDS, Wire

POLL_SECONDS: Final = 0.5
LONGEST_POLL_SECONDS: Final = 5.0
"""A run that takes hours is asked for less and less often, down to this."""
RUNS_PAGE: Final = 100
"""Runs asked for at once."""


class Client(Wire):
    """One service at `url`; `key` is sent as a bearer token. Every call may raise a `ServiceError`.

    Use it as a context manager, or close it. `outage` bounds in seconds how long `submit`, `events` and `wait` go on trying
    while the service is away, and `submit` while the key has used up its quota.
    """

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

    def results_csv(self, job_id: str, *, table: ResultsTable = "scenarios") -> str:
        """The results so far as CSV: a line for each place of each scenario, or for each pair or rating of a matrix."""
        return self._request("GET", f"{_job(job_id)}/results", headers={"Accept": "text/csv"}, params={"table": table}).text

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
        """Play a job anew that has ended, or whose engine version is gone; what was counted before is dropped."""
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

    def start_run(self, name: str, *, candidate: str | Document | None = None, labels: Mapping[str, str] | None = None) -> Run:
        """Begin a run now, with another candidate where one is given."""
        body = {"labels": dict(labels or {}), **({} if candidate is None else {"candidate": candidate})}
        return cast(Run, self._json("POST", f"{_regression(name)}/runs", json=body))

    def run_once(self, document: Document, *, labels: Mapping[str, str] | None = None) -> Run:
        """Begin a run of a regression that is not stored."""
        return cast(Run, self._json("POST", "/v1/regression-runs", json={**document, "labels": dict(labels or {})}))

    def runs(self, name: str, *, limit: int = 50) -> list[Run]:
        """The newest runs of a regression, newest first, over as many pages as that takes."""
        found: list[Run] = []
        cursor: str | None = None
        while True:
            params: dict[str, Any] = {"limit": min(limit - len(found), RUNS_PAGE)}
            page = self._json("GET", f"{_regression(name)}/runs", params=params | ({"cursor": cursor} if cursor else {}))
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None or len(found) >= limit:
                return found

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


def _job(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def _regression(name: str) -> str:
    return f"/v1/regressions/{quote(name, safe='')}"


def _items(page: Any) -> list[Described]:
    return cast(list[Described], page["items"] if isinstance(page, dict) else page)
