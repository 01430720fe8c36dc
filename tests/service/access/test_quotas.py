"""What one key may ask for at once, and what it is told when it asks for more."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from service.access.quotas import RequestQuota
from service.schemas.answers import Problem
from tests.service.access.conftest import Guarded, make_keys
from tests.service.running import Hands, serving
from workers.errors import QuotaExceeded
from workers.jobs.ledger import Ledger
from workers.jobs.records import Quota
from workers.jobs.spec import JobSpec, make_scenario
from workers.jobs.store import Store, connect
from workers.settings import Settings

Open = Callable[..., Guarded]


def job(matches: int = 64) -> dict[str, Any]:
    return {"scenarios": [{"policies": ["heaviest", "random"], "matches": matches}]}


@pytest.fixture
def open_service(redis_url: str) -> Iterator[Open]:
    """`open_service(quota_jobs=2)` is an API with keys and such settings."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Guarded:
            keys, store = make_keys(redis_url)
            return Guarded(stack.enter_context(serving(redis_url, **settings)), keys, store)

        yield start


def refused(answer: httpx2.Response) -> str:
    assert answer.status_code == 429, answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    problem = Problem.model_validate(answer.json())
    assert problem.type == "urn:blockyard:problem:quota-exceeded"
    return problem.detail


def test_jobs_under_way_are_counted_by_key_until_they_end(open_service: Open) -> None:
    guarded = open_service(quota_jobs=2)
    sent: list[Any] = []
    ledger = Ledger(connect(guarded.service.redis_url), send=sent.append, settings=Settings(chunk_blocks=64, audit_every=0))
    with guarded.client("sam") as sam, guarded.client("sue") as sue:
        first = sam.post("/v1/jobs", json=job(), headers={"Idempotency-Key": "a"}).json()["id"]
        second = sam.post("/v1/jobs", json=job()).json()["id"]
        assert "sam may have at most 2 jobs" in refused(sam.post("/v1/jobs", json=job()))
        assert sam.post("/v1/jobs", json=job(), headers={"Idempotency-Key": "a"}).json()["id"] == first
        assert sue.post("/v1/jobs", json=job()).status_code == 202
        sam.post(f"/v1/jobs/{second}/pause")
        refused(sam.post("/v1/jobs", json=job()))
        sam.post(f"/v1/jobs/{second}/cancel")
        third = sam.post("/v1/jobs", json=job())
        assert third.status_code == 202
        refused(sam.post(f"/v1/jobs/{second}/restart"))
        assert sam.get(f"/v1/jobs/{second}").json()["state"] == "cancelled"
        Hands(ledger, sent).work()
        assert sam.get(f"/v1/jobs/{first}").json()["state"] == "done"
        assert sam.post(f"/v1/jobs/{second}/restart").status_code == 200
        assert sam.post("/v1/jobs", json=job()).status_code == 202
        refused(sam.post("/v1/jobs", json=job()))


def test_matches_under_way_are_counted_too(open_service: Open) -> None:
    guarded = open_service(quota_matches=1000)
    with guarded.client("sam") as sam:
        refused(sam.post("/v1/jobs", json=job(1001)))
        big = sam.post("/v1/jobs", json=job(900)).json()["id"]
        assert "at most 1,000 matches" in refused(sam.post("/v1/jobs", json=job(200)))
        assert sam.post("/v1/jobs", json=job(100)).status_code == 202
        sam.post(f"/v1/jobs/{big}/cancel")
        assert sam.post("/v1/jobs", json=job(900)).status_code == 202


def test_runs_of_regressions_count(open_service: Open) -> None:
    guarded = open_service(quota_matches=3000)
    test = {"name": "two", "players": 2, "candidate": "heaviest", "baseline": "random", "h0": -0.02, "h1": 0.0}
    with guarded.client("sam") as sam:
        body = {"name": "once", "tests": [{**test, "max_matches": 4000}]}
        refused(sam.post("/v1/regression-runs", json=body))
        assert sam.get("/v1/jobs").json()["items"] == []
        body["tests"] = [{**test, "max_matches": 2000}]
        assert sam.post("/v1/regression-runs", json=body).status_code == 202
        refused(sam.post("/v1/regression-runs", json=body))


def test_requests_a_minute(open_service: Open) -> None:
    guarded = open_service(quota_requests=5)
    with guarded.client("sam") as sam, guarded.client("sue") as sue:
        assert [sam.get("/v1/policies").status_code for _ in range(5)] == [200] * 5
        answer = sam.get("/v1/policies")
        assert "requests of this minute" in refused(answer)
        assert int(answer.headers["Retry-After"]) <= 12
        assert sue.get("/v1/policies").status_code == 200
        assert sam.get("/healthz").status_code == 200


def test_the_rate_gives_back_what_time_has_passed(redis_url: str) -> None:
    quota = RequestQuota(Store(connect(redis_url)), 60_000)
    waits = [quota.wait("sam") for _ in range(3)]
    assert waits == [0, 0, 0]
    few = RequestQuota(Store(connect(redis_url)), 2)
    assert [few.wait("sue"), few.wait("sue")] == [0, 0]
    assert 29_000 < few.wait("sue") <= 30_000
    assert RequestQuota(Store(connect(redis_url)), 0).wait("sue") == 0


def test_the_count_is_exact_through_all_that_may_happen_to_jobs(redis_url: str) -> None:
    ledger = Ledger(connect(redis_url))
    spec = JobSpec((make_scenario(["heaviest", "random"], 10),), seed=1)
    quota = Quota(3, 30)
    ids = [ledger.submit(spec, owner="sam", quota=quota)[0].id for _ in range(3)]
    for _ in range(2):
        with pytest.raises(QuotaExceeded):
            ledger.submit(spec, owner="sam", quota=quota)
    for each in ids:
        ledger.pause(each)
        ledger.resume(each)
        ledger.cancel(each)
        ledger.cancel(each)
    ledger.restart(ids[0], quota=quota)
    ledger.restart(ids[0], quota=quota)
    ledger.cancel(ids[0])
    for each in ids:
        ledger.delete(each)
    with ledger.store.reading() as redis:
        assert redis.hgetall("{blockyard}:loads") == {}


def test_a_job_from_before_there_were_counts_does_no_harm(redis_url: str) -> None:
    ledger = Ledger(connect(redis_url))
    spec = JobSpec((make_scenario(["heaviest", "random"], 10),), seed=1)
    old, new = (ledger.submit(spec, owner="sam")[0].id for _ in range(2))
    with ledger.store.reading() as redis:
        redis.hdel(f"{{blockyard}}:job:{old}", "counted")
        redis.hset("{blockyard}:loads", mapping={"sam|jobs": 1, "sam|matches": 10})
    ledger.cancel(old)
    with pytest.raises(QuotaExceeded):
        ledger.submit(spec, owner="sam", quota=Quota(1, 0))
    ledger.cancel(new)
    ledger.submit(spec, owner="sam", quota=Quota(1, 0))
