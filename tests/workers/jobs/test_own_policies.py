"""A policy of somebody's own that raises fails its job, by the match's address and after one repeat, and no other job."""

from pathlib import Path

import pytest

from tests.workers.engine.offered import FIRST, THROWS, offer
from tests.workers.jobs.bench import Bench, batch
from workers.engine.policies.own import own_policies
from workers.jobs.shift import Shift
from workers.jobs.spec import JobSpec, make_scenario


def test_it_harms_no_other_job(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    offer(tmp_path, "thrower", THROWS)
    offer(tmp_path, "steady", FIRST)
    own_policies.cache_clear()
    try:
        scenarios = (make_scenario(["heaviest", "random"], 6), make_scenario(["heaviest", "thrower"], 6))
        bad = bench.ledger.submit(JobSpec(scenarios, 7))[0].id
        own = bench.ledger.submit(JobSpec((make_scenario(["heaviest", "steady"], 6),), 7))[0].id
        good = bench.ledger.submit(batch(10))[0].id
        permit = bench.sent.pop(0)
        Shift(bench.ledger, "one").work(permit.slot, permit.generation)
        bench.ledger.fold()
    finally:
        own_policies.cache_clear()
    failed = bench.ledger.job(bad)
    assert failed.state == "failed"
    assert failed.error is not None
    address = "scenario 1, match 0 (block 0, rotation 0, seed 7)"
    assert failed.error.startswith(f"PlayFailed: {address}: policy thrower in seat 1 raised Zero")
    for other in (own, good):
        job = bench.ledger.job(other)
        assert (job.state, job.matches_done) == ("done", job.matches)
