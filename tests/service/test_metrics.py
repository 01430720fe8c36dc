"""The metrics: their names, that they parse, that labels stay bounded, and that counts are exact."""

import time

import httpx2
import pytest
import redis
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families

from service import metrics as module
from service.metrics import LedgerCollector
from tests.servers import poll
from tests.service.running import Hands, Service
from workers.regressions.store import DUE

JOB = {"seed": 7, "scenarios": [{"policies": ["heaviest", "random"], "matches": 64}]}

NAMES = {
    "blockyard_matches", "blockyard_rounds", "blockyard_plies", "blockyard_chunks", "blockyard_chunk_seconds", "blockyard_jobs",
    "blockyard_job_wait_seconds", "blockyard_pending_chunks", "blockyard_leased_chunks", "blockyard_oldest_lease_seconds",
    "blockyard_workers", "blockyard_worker_busy_ratio", "blockyard_redis_up", "blockyard_http_requests",
    "blockyard_http_request_seconds", "blockyard_regression_verdict", "blockyard_regression_llr",
    "blockyard_regression_last_run_timestamp_seconds", "blockyard_regression_due_timestamp_seconds", "blockyard_audits",
    "blockyard_jobs_without_engine", "blockyard_redis_memory_bytes",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_SECONDS", 0.0)


def scrape(http: httpx2.Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = http.get("/metrics").text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_the_promised_names_are_there(http: httpx2.Client, hands: Hands) -> None:
    http.post("/v1/jobs", json=JOB)
    hands.work()
    families = {family.name for family in text_string_to_metric_families(http.get("/metrics").text)}
    assert families >= NAMES
    answer = http.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert {family.name for family in open_families(answer.text)} >= NAMES


def test_counts_are_those_of_the_results(http: httpx2.Client, hands: Hands) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    queued = scrape(http)
    assert value(queued, "blockyard_jobs", state="queued") == 1
    assert value(queued, "blockyard_pending_chunks", priority="normal") >= 1
    chunks = hands.work()
    (result,) = http.get(f"/v1/jobs/{job}/results").json()["results"]
    samples = scrape(http)
    for name in ("matches", "rounds", "plies"):
        assert value(samples, f"blockyard_{name}_total", ruleset="block", players="2") == result[name]
    assert value(samples, "blockyard_chunks_total", outcome="recorded") == chunks == 2
    assert value(samples, "blockyard_chunk_seconds_count") == chunks
    assert value(samples, "blockyard_chunk_seconds_bucket", le="+Inf") == chunks
    assert value(samples, "blockyard_job_wait_seconds_count") == 1
    assert value(samples, "blockyard_jobs", state="done") == 1
    assert value(samples, "blockyard_jobs", state="queued") == 0
    assert value(samples, "blockyard_redis_up") == 1
    assert value(samples, "blockyard_workers") == 1


def test_a_chunk_in_somebodys_hands_is_told_with_its_age(http: httpx2.Client, hands: Hands) -> None:
    http.post("/v1/jobs", json=JOB)
    hands.ledger.beat("hands", "here", 1, 1, is_new=True)
    hands.ledger.sweep()
    permit, begun = hands.sent.pop(), time.monotonic()
    idle = scrape(http)
    for name in ("leased_chunks", "oldest_lease_seconds", "worker_busy_ratio"):
        assert value(idle, f"blockyard_{name}") == 0
    claim = hands.ledger.claim(permit.slot, permit.generation, "hands", is_message=True)
    assert claim.lease is not None
    poll(lambda: value(scrape(http), "blockyard_oldest_lease_seconds") > 0.5)

    def is_busy() -> bool:
        # Whoever goes on playing keeps the lease, not its youth; 100 seconds of play are more than all that passed.
        assert claim.lease is not None
        assert hands.ledger.renew(claim.lease, permit.slot, claim.generation, "hands", 100.0)
        hands.ledger.beat("hands", "here", 1, 1, is_new=False)
        return 0 < value(scrape(http), "blockyard_worker_busy_ratio") <= 1

    poll(is_busy)
    samples = scrape(http)
    assert value(samples, "blockyard_leased_chunks") == 1
    assert 0.5 < value(samples, "blockyard_oldest_lease_seconds") < time.monotonic() - begun + 1


def test_requests_are_counted_by_template(http: httpx2.Client) -> None:
    def counted(**labels: str) -> float:
        return scrape(http).get(("blockyard_http_requests_total", frozenset(labels.items())), 0.0)

    found = {"route": "/v1/jobs/{id}", "method": "GET", "status": "404"}
    lost = {"route": "none", "method": "GET", "status": "404"}
    wild = {"route": "none", "method": "other", "status": "404"}
    before = counted(**found), counted(**lost), counted(**wild)
    for number in range(3):
        http.get(f"/v1/jobs/unknown-{number}")
        http.get(f"/nowhere/{number}")
        http.request(("PROPFIND", "PURGE", "REPORT")[number], "/nowhere")
    assert (counted(**found), counted(**lost), counted(**wild)) == tuple(count + 3 for count in before)
    assert "unknown-1" not in http.get("/metrics").text


def test_a_scrape_asks_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_SECONDS", 60.0)
    asked = []
    collector = LedgerCollector(lambda: asked.append(1) or [])  # type: ignore[func-returns-value]
    for _ in range(5):
        list(collector.collect())
    assert len(asked) == 1


def test_an_overridden_ruleset_is_labelled_with_a_plus(http: httpx2.Client, hands: Hands) -> None:
    ruleset = {"preset": "block", "ends": {"target": 20}}
    http.post("/v1/jobs", json={"scenarios": [{"policies": ["random", "heaviest"], "matches": 4, "ruleset": ruleset}]})
    hands.work()
    assert value(scrape(http), "blockyard_matches_total", ruleset="block+", players="2") == 4


def test_a_job_whose_engine_is_gone_is_counted(http: httpx2.Client, hands: Hands) -> None:
    http.post("/v1/jobs", json=JOB)
    assert value(scrape(http), "blockyard_jobs_without_engine") == 1  # there was never a worker
    hands.ledger.beat("hands", "here", 1, 1, is_new=True)
    assert value(scrape(http), "blockyard_jobs_without_engine") == 0


def test_the_memory_of_redis_and_its_limit_are_shown(http: httpx2.Client, service: Service) -> None:
    before = scrape(http)
    assert value(before, "blockyard_redis_memory_bytes") > 100_000
    assert ("blockyard_redis_memory_limit_bytes", frozenset()) not in before
    with redis.Redis.from_url(service.redis_url) as client:
        client.config_set("maxmemory", 50_000_000)
        try:
            assert value(scrape(http), "blockyard_redis_memory_limit_bytes") == 50_000_000
        finally:
            client.config_set("maxmemory", 0)


def test_a_regression_owes_the_moment_whose_run_has_no_verdict(http: httpx2.Client, service: Service, hands: Hands) -> None:
    test = {"name": "equal", "players": 2, "candidate": "heaviest", "baseline": "heaviest", "h0": -0.3, "h1": 0.0}
    body = {"seed": 7, "tests": [{**test, "max_matches": 512}]}
    http.put("/v1/regressions/by-hand", json=body).raise_for_status()
    http.put("/v1/regressions/yearly", json={**body, "schedule": "0 0 1 1 *"}).raise_for_status()
    name = "blockyard_regression_due_timestamp_seconds"
    following = value(scrape(http), name, regression="yearly")
    assert following > time.time()
    with redis.Redis.from_url(service.redis_url) as client:
        missed = following - 366 * 86400
        client.zadd(DUE, {"yearly": missed})
    assert value(scrape(http), name, regression="yearly") == missed  # nobody has begun it
    (run,) = service.state.regressions.start_due()
    assert value(scrape(http), name, regression="yearly") == run.scheduled_at < time.time()  # begun, but without a verdict
    hands.work()
    service.state.regressions.advance()
    samples = scrape(http)
    assert value(samples, name, regression="yearly") == following
    assert value(samples, "blockyard_regression_verdict", regression="yearly", test="equal") == 1
    assert (name, frozenset({("regression", "by-hand")})) not in samples
