"""Pages and their files come compressed to whoever can read that, and say the same to everybody else."""

import gzip
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.service.running import Service

POLICIES = ["random", "heaviest", "lightest", "double", "mobility", "balance", "starver", "linear"]
PATHS = ("/", "/rules", "/docs", "/docs/models", "/static/style.css", "/static/live.js")
MOST_BYTES = 100_000


@pytest.fixture
def raw(service: Service) -> Iterator[httpx2.Client]:
    """A client that takes what is asked for in each request, and nothing by itself."""
    with httpx2.Client(base_url=service.url, trust_env=False, timeout=60, headers={"Accept-Encoding": "identity"}) as client:
        yield client


def bytes_of(client: httpx2.Client, path: str, accepted: str) -> tuple[httpx2.Response, bytes]:
    """An answer, and its body as it came over the wire."""
    with client.stream("GET", path, headers={"Accept-Encoding": accepted}) as answer:
        return answer, b"".join(answer.iter_raw())


@pytest.mark.parametrize("path", PATHS)
def test_a_page_comes_small_and_whole(raw: httpx2.Client, path: str) -> None:
    plain, body = bytes_of(raw, path, "identity")
    assert "Content-Encoding" not in plain.headers
    packed, small = bytes_of(raw, path, "br, gzip;q=0.8")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert (packed.headers["Content-Length"], packed.headers["Content-Type"]) == (
        str(len(small)),
        plain.headers["Content-Type"],
    )
    assert gzip.decompress(small) == body
    assert len(small) < len(body) / 2
    for header in ("Content-Security-Policy", "Cache-Control"):
        assert packed.headers[header] == plain.headers[header]
    for accepted in ("", "br", "*"):
        assert "Content-Encoding" not in bytes_of(raw, path, accepted)[0].headers, accepted


def test_a_file_that_has_not_changed_is_not_sent_again(raw: httpx2.Client) -> None:
    packed, _ = bytes_of(raw, "/static/style.css", "gzip")
    again = raw.get("/static/style.css", headers={"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_what_programs_and_feeds_read_stays_as_it_is(raw: httpx2.Client) -> None:
    for path in ("/v1/policies", "/openapi.json", "/metrics", "/static/icon.svg", "/healthz"):
        assert "Content-Encoding" not in bytes_of(raw, path, "gzip")[0].headers, path
    with raw.stream("GET", "/live", headers={"Accept-Encoding": "gzip"}) as answer:
        assert "Content-Encoding" not in answer.headers
        assert next(iter(httpx2.EventSource(answer))).event == "fragments"


def test_only_the_head_tells_the_length(raw: httpx2.Client) -> None:
    answer = raw.head("/rules", headers={"Accept-Encoding": "gzip"})
    assert (answer.headers["Content-Encoding"], answer.content) == ("gzip", b"")
    assert int(answer.headers["Content-Length"]) == len(bytes_of(raw, "/rules", "gzip")[1])


def test_a_large_tournament_weighs_little(http: httpx2.Client, raw: httpx2.Client) -> None:
    body: dict[str, Any] = {"matrix": {"players": [2, 3, 4], "policies": POLICIES, "matches": 12}}
    path = f"/jobs/{http.post('/v1/jobs', json=body).json()['id']}"
    answer, packed = bytes_of(raw, path, "gzip")
    assert (answer.status_code, len(packed) < MOST_BYTES / 5) == (200, True)
    assert b"Tournament" in gzip.decompress(packed)
