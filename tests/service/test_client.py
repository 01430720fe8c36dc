"""The client against a small real HTTP server that answers as told."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import orjson
import pytest

from service.client import (
    Client,
    NotAllowed,
    NotNow,
    RequestRefused,
    ServiceError,
    ServiceUnreachable,
    TooMuch,
    UnknownName,
)
from service.local.ports import first_free

JOB = {"id": "j1", "state": "running", "progress": {"matches_done": 1, "matches_total": 2}}


class Scripted(ThreadingHTTPServer):
    """Answers the requests in turn with what is in `script`: (status, type, body, seconds to wait); keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.script: list[tuple[int, str, bytes, int | None]] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def then(self, body: Any, status: int = 200, kind: str = "application/json", retry_after: int | None = None) -> None:
        self.script.append((status, kind, body if isinstance(body, bytes) else orjson.dumps(body), retry_after))


class _Answer(BaseHTTPRequestHandler):
    server: Scripted

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        status, kind, content, retry_after = self.server.script.pop(0)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    for module in ("wire", "calls"):
        monkeypatch.setattr(f"service.client.{module}.RETRY_SECONDS", 0.01)
    with Client(server.url, "secret", timeout=10, outage=5) as client:
        yield client


def event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {orjson.dumps(data).decode()}\n\n".encode()


def test_job_is_submitted_with_a_key_of_its_own_and_the_bearer_token(server: Scripted, client: Client) -> None:
    server.then(JOB, 202)
    assert client.submit({"scenarios": []})["id"] == "j1"
    method, path, headers, body = server.asked[0]
    assert (method, path, body) == ("POST", "/v1/jobs", b'{"scenarios":[]}')
    assert headers["Authorization"] == "Bearer secret"
    assert len(headers["Idempotency-Key"]) == 32


def test_submit_sits_out_an_outage_with_the_same_key(server: Scripted, client: Client) -> None:
    server.then({"detail": "no Redis"}, 503)
    server.then(JOB, 202)
    client.submit({})
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in server.asked}
    assert len(server.asked) == 2
    assert len(keys) == 1


def test_submit_waits_as_long_as_a_quota_says_and_no_longer_than_the_outage(server: Scripted, client: Client) -> None:
    server.then({"detail": "too many jobs"}, 429, retry_after=1)
    server.then(JOB, 202)
    begun = time.monotonic()
    client.submit({})
    assert time.monotonic() - begun >= 1.0
    server.then({"detail": "too many jobs"}, 429, retry_after=3600)
    with pytest.raises(TooMuch, match="too many jobs") as refusal:
        client.submit({})
    assert refusal.value.retry_after == 3600


def test_all_pages_of_results_are_read(server: Scripted, client: Client) -> None:
    server.then({"results": [{"a": 1}], "tournament": None, "complete": True, "next_cursor": 1})
    server.then({"results": [{"a": 2}], "tournament": [{"b": 3}], "complete": True, "next_cursor": None})
    assert client.results("j/1") == {"results": [{"a": 1}, {"a": 2}], "tournament": [{"b": 3}], "complete": True}
    assert [path for _, path, _, _ in server.asked] == ["/v1/jobs/j%2F1/results", "/v1/jobs/j%2F1/results?cursor=1"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, RequestRefused), (422, RequestRefused), (413, RequestRefused), (401, NotAllowed), (404, UnknownName),
     (409, NotNow), (503, ServiceUnreachable), (500, ServiceError)],
)  # fmt: skip
def test_problem_documents_become_errors_of_their_kind(
    server: Scripted, client: Client, status: int, kind: type[ServiceError]
) -> None:
    problem = {"detail": "so it is", "errors": [{"path": "seed", "message": "must be less"}]}
    server.then(problem, status, "application/problem+json")
    with pytest.raises(kind, match="so it is") as caught:
        client.job("j1")
    assert caught.value.status == status
    assert caught.value.problem == problem
    assert caught.value.errors == [("seed", "must be less")]


def test_stranger_is_told_from_the_service(server: Scripted, client: Client) -> None:
    server.then(b"<html>hello</html>", kind="text/html")
    with pytest.raises(ServiceUnreachable, match="is not Blockyard"):
        client.job("j1")
    server.then(b"<html>gone</html>", 404, "text/html")
    with pytest.raises(UnknownName, match="the service answered 404"):
        client.job("j1")


def test_nothing_there_is_said_at_once() -> None:
    with Client(f"http://127.0.0.1:{first_free(30000)}", outage=60) as client:
        for call in (lambda: client.jobs(), lambda: client.submit({})):
            with pytest.raises(ServiceUnreachable, match="no service answers"):
                call()


def test_address_that_is_none_is_refused() -> None:
    for url in ("nonsense", "ftp://there", "http://"):
        with pytest.raises(ValueError, match="is no address"):
            Client(url)


def test_events_go_on_after_a_stream_that_ends_or_fails(server: Scripted, client: Client) -> None:
    server.then(b"retry: 500\n\n" + event("progress", JOB) + event("unavailable", {"detail": "x"}), kind="text/event-stream")
    server.then({"detail": "no Redis"}, 503)
    server.then(event("progress", JOB) + event("done", {**JOB, "state": "done"}), kind="text/event-stream")
    events = list(client.events("j1"))
    assert [each["event"] for each in events] == ["progress", "progress", "done"]
    assert events[-1]["job"]["state"] == "done"


def test_events_end_when_the_job_is_gone_or_the_service_stays_away(server: Scripted, client: Client) -> None:
    server.then(event("gone", {"detail": "deleted"}), kind="text/event-stream")
    with pytest.raises(UnknownName, match="deleted"):
        list(client.events("j1"))
    client.outage = 0.05
    for _ in range(1000):
        server.then({"detail": "no Redis"}, 503)
    with pytest.raises(ServiceUnreachable, match="no Redis"):
        list(client.events("j1"))


def test_events_of_an_unknown_job_are_refused(server: Scripted, client: Client) -> None:
    server.then({"detail": "no such job"}, 404)
    with pytest.raises(UnknownName, match="no such job"):
        next(client.events("j1"))


@pytest.mark.parametrize("package", ["service", "workers"])
def test_the_types_are_there_for_whoever_installs_the_client(package: str) -> None:
    """Without the marker a type checker takes nothing from an installed package."""
    assert files(package).joinpath("py.typed").is_file()
