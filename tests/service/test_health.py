"""Alive, ready, and what happens without Redis."""

from collections.abc import Iterator

import httpx2
import pytest

from service.schemas.answers import Problem
from tests.servers import RedisServer, free_port
from tests.service.running import Hands, serving

JOB = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 2}]}


def test_ready_tells_the_number_of_workers(http: httpx2.Client, hands: Hands) -> None:
    assert http.get("/healthz").json() == {"status": "alive"}
    assert http.get("/readyz").json() == {"status": "ready", "workers": 0}
    none = http.get("/readyz?workers=1")
    assert none.status_code == 503
    assert "worker" in none.json()["detail"]
    hands.ledger.beat("one", "here", 1, 2, is_new=True)
    assert http.get("/readyz?workers=1").json() == {"status": "ready", "workers": 1}
    assert http.get("/readyz?workers=x").status_code == 422
    hands.ledger.drain("one")
    assert http.get("/readyz").json() == {"status": "ready", "workers": 0}
    assert http.get("/readyz?workers=1").status_code == 503


@pytest.fixture
def lonely() -> Iterator[httpx2.Client]:
    """An API whose Redis is not there and never was."""
    with (
        serving(f"redis://127.0.0.1:{free_port()}/0", redis_timeout_seconds=0.5) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as client,
    ):
        yield client


def test_without_redis_everything_that_needs_it_says_so(lonely: httpx2.Client) -> None:
    assert lonely.get("/healthz").status_code == 200
    calls = [
        ("GET", "/readyz"), ("GET", "/v1/jobs"), ("GET", "/v1/jobs/a"), ("GET", "/v1/jobs/a/results"),
        ("GET", "/v1/jobs/a/events"),
        ("POST", "/v1/jobs/a/cancel"), ("DELETE", "/v1/jobs/a"), ("GET", "/v1/jobs/a/scenarios/0/matches/0"),
        ("GET", "/v1/workers"), ("POST", "/v1/workers/a/drain"),
    ]  # fmt: skip
    answers = [lonely.request(method, path) for method, path in calls]
    answers.append(lonely.post("/v1/jobs", json=JOB))
    answers.append(lonely.post("/v1/jobs", json={"scenarios": []}))  # whether there are keys is not known
    for answer in answers:
        assert answer.status_code == 503, answer.request.url
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.headers["Retry-After"].isdigit()
        problem = Problem.model_validate(answer.json())
        assert "Redis" in problem.detail
        assert "Traceback" not in answer.text


def test_without_redis_the_rest_works(lonely: httpx2.Client) -> None:
    assert lonely.get("/v1/policies").status_code == 200
    assert lonely.get("/v1/rulesets").status_code == 200
    assert "blockyard_redis_up 0" in lonely.get("/metrics").text
    assert lonely.post("/v1/judge", json={"players": 2}).status_code == 422
    page = lonely.get("/")
    assert page.status_code == 503
    assert "Redis" in page.text
    assert lonely.get("/docs").status_code == 200


def test_redis_may_come_later_and_go_again(own_redis: RedisServer) -> None:
    own_redis.stop()
    with (
        serving(own_redis.url, redis_timeout_seconds=1.0) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        assert http.get("/readyz").status_code == 503
        own_redis.start()
        assert http.get("/readyz").status_code == 200
        job = http.post("/v1/jobs", json=JOB).json()["id"]
        own_redis.stop()
        assert http.get(f"/v1/jobs/{job}").status_code == 503
        own_redis.start()
        assert http.get(f"/v1/jobs/{job}").json()["id"] == job
