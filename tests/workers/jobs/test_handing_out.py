"""What the ledger hands out, to whom, in what pieces and whose turn it is; and what it has played twice."""

import time

import pytest

from tests.servers import poll
from tests.workers.jobs.bench import Bench, BenchMaker, batch, expire_leases, made_up, whole_job
from workers.engine.play import ENGINE_VERSION
from workers.errors import NotFound
from workers.jobs.keys import ROOT
from workers.jobs.ledger import new_job_id

# Permits


def test_a_message_works_once_and_a_newer_one_ends_it(bench: Bench) -> None:
    bench.ledger.submit(batch(100))
    permit = bench.sent[0]
    claim = bench.ledger.claim(permit.slot, permit.generation, "one", is_message=True)
    assert claim.outcome == "work"
    assert bench.ledger.claim(permit.slot, permit.generation, "one", is_message=True).outcome == "stale"
    assert bench.ledger.claim(permit.slot, claim.generation, "one").outcome == "work"


def test_a_silent_permit_is_issued_again(make_bench: BenchMaker) -> None:
    bench = make_bench(permit_patience_seconds=0.001, permits_per_process=1)
    bench.open()
    bench.ledger.submit(batch(100))
    assert len(bench.sent) == 1
    first = bench.sent[0]
    poll(bench.ledger.sweep)
    assert (bench.sent[1].slot, bench.sent[1].version) == (first.slot, ENGINE_VERSION)
    assert bench.ledger.claim(first.slot, first.generation, "one", is_message=True).outcome == "stale"


def test_nothing_is_issued_while_the_queue_holds_the_messages(make_bench: BenchMaker) -> None:
    bench = make_bench(permit_patience_seconds=0.001, permits_per_process=1)
    bench.open()
    bench.ledger.submit(batch(100))
    with bench.ledger.store.reading() as redis:
        redis.rpush(f"{ROOT}:queue:{ENGINE_VERSION}", "waiting")
    time.sleep(0.01)
    assert bench.ledger.sweep() == 0


def test_parked_permits_wake_when_work_comes(bench: Bench) -> None:
    assert len(bench.sent) == 2
    assert bench.claim().outcome == "idle"
    assert bench.claim().outcome == "idle"
    assert bench.sent == []
    assert bench.ledger.sweep() == 0
    bench.ledger.submit(batch(5))
    assert len(bench.sent) == 2
    assert bench.claim().outcome == "work"


def test_there_are_as_many_permits_as_the_live_workers_need(bench: Bench) -> None:
    bench.open("two", processes=3)
    assert {permit.slot for permit in bench.sent} == {"0", "1", "2", "3", "4", "5"}
    bench.ledger.leave("two")
    bench.ledger.submit(batch(100))
    bench.ledger.sweep()
    outcomes = [bench.ledger.claim(p.slot, p.generation, "one", is_message=True).outcome for p in bench.sent]
    assert outcomes == ["work", "work", "stale", "stale", "stale", "stale"]


def test_a_worker_that_drains_gets_nothing_more(bench: Bench) -> None:
    bench.ledger.submit(batch(100))
    assert bench.claim().outcome == "work"
    bench.ledger.drain("one")
    assert bench.claim().outcome == "drain"
    assert [worker.draining for worker in bench.ledger.workers()] == [True]
    assert bench.ledger.beat("one", "here", 1, 1, is_new=False)
    assert not bench.ledger.beat("one", "here", 1, 1, is_new=True)
    assert bench.claim().outcome == "work"
    with pytest.raises(NotFound):
        bench.ledger.drain("nobody")


def test_a_job_of_a_vanished_engine_says_so_and_can_be_restarted(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(10, engine_version="0"))
    assert record.waiting_for == "a worker of engine version 0"
    assert bench.claim().outcome == "idle"
    restarted = bench.ledger.restart(record.id)
    assert (restarted.waiting_for, restarted.engine_version) == (None, ENGINE_VERSION)
    assert bench.ledger.spec(record.id).engine_version == ENGINE_VERSION
    bench.work_off()
    assert bench.ledger.job(record.id).state == "done"


# Sizes of chunks


def test_chunks_grow_from_a_small_first_one_to_the_time_set(make_bench: BenchMaker) -> None:
    bench = make_bench(chunk_blocks=0, first_chunk_blocks=8, chunk_growth=8, chunk_seconds=0.5)
    bench.open()
    bench.ledger.submit(batch(10**6))
    sizes = []
    for _ in range(6):
        lease = bench.lease()
        sizes.append(lease.last - lease.first)
        bench.record(lease, seconds=sizes[-1] / 10_000)
    assert sizes == [8, 64, 512, 4096, 5000, 5000]


def test_a_chunk_may_be_one_block_of_a_slow_policy(make_bench: BenchMaker) -> None:
    bench = make_bench(chunk_blocks=0)
    bench.open()
    bench.ledger.submit(batch(100))
    lease = bench.lease()
    bench.record(lease, seconds=80)
    assert [lease.last - lease.first for lease in (bench.lease(), bench.lease())] == [1, 1]


def test_one_chunk_spans_many_tiny_scenarios(make_bench: BenchMaker) -> None:
    bench = make_bench(chunk_blocks=0, chunk_scenarios=256)
    bench.open()
    spec = batch(*[3] * 1000)
    record, _ = bench.ledger.submit(spec)
    while (claim := bench.claim()).lease is not None:
        blocks = claim.lease.last - claim.lease.first
        bench.record(claim.lease, seconds=blocks / 10_000)
    bench.ledger.fold()
    assert bench.ledger.tallies(record.id) == whole_job(spec)
    assert bench.ledger.figures().chunks["recorded"] < 20


def test_no_chunk_crosses_a_step(make_bench: BenchMaker) -> None:
    bench = make_bench(chunk_blocks=7)
    bench.open()
    spec = batch(5, 30, 12)
    record, _ = bench.ledger.submit(spec, steps={1: 10})
    ranges = [(lease.first, lease.last) for lease in bench.work_off()]
    assert ranges == [(0, 7), (7, 14), (14, 15), (15, 22), (22, 25), (25, 32), (32, 35), (35, 42), (42, 47)]
    assert bench.ledger.tallies(record.id) == whole_job(spec)


def test_block_numbers_stay_exact_where_texts_of_numbers_would_be_rounded(make_bench: BenchMaker) -> None:
    bench = make_bench(chunk_blocks=10**14 + 1)
    bench.open()
    bench.ledger.submit(batch(10**15))
    bench.lease()
    assert [bench.lease().last for _ in range(9)][-1] == 10**15
    assert bench.claim().outcome == "idle"


# Fair shares


def shares(bench: Bench, turns: int) -> dict[str, int]:
    """How many of the next chunks each job gets, each taking the same time."""
    counts: dict[str, int] = {}
    for _ in range(turns):
        lease = bench.lease()
        bench.record(lease)
        counts[lease.job_id] = counts.get(lease.job_id, 0) + 1
    return counts


def test_priorities_share_by_weight(bench: Bench) -> None:
    low, normal, high = (bench.ledger.submit(batch(10**6, priority=priority))[0].id for priority in ("low", "normal", "high"))
    counts = shares(bench, 210)
    assert counts[low] == pytest.approx(10, abs=2)
    assert counts[normal] == pytest.approx(40, abs=3)
    assert counts[high] == pytest.approx(160, abs=4)


def test_owners_share_equally_however_many_jobs_they_have(bench: Bench) -> None:
    many = {bench.ledger.submit(batch(10**6), owner="many")[0].id for _ in range(9)}
    single, _ = bench.ledger.submit(batch(10**6), owner="single")
    counts = shares(bench, 90)
    assert counts[single.id] == pytest.approx(45, abs=2)
    assert all(counts[job] == pytest.approx(5, abs=1) for job in many)


def test_a_newcomer_is_served_at_once_beside_a_giant(bench: Bench) -> None:
    bench.ledger.submit(batch(10**9))
    shares(bench, 50)
    small, _ = bench.ledger.submit(batch(20))
    counts = shares(bench, 8)
    assert counts[small.id] == 4


def test_ids_sort_as_they_were_made_also_within_a_millisecond() -> None:
    ids = []
    for _ in range(200):
        ids.append(new_job_id())
        end = time.perf_counter_ns() + 10_000
        while time.perf_counter_ns() < end:
            pass
    assert ids == sorted(ids)


def test_small_jobs_end_in_the_order_they_came_also_beside_a_giant(bench: Bench) -> None:
    bench.ledger.submit(batch(10**9))
    shares(bench, 50)
    crowd = [bench.ledger.submit(batch(20))[0].id for _ in range(20)]
    ended: list[str] = []
    for turn in range(10 * len(crowd)):
        lease = bench.lease()
        # Chunks of a job take turns at being slow and quick, as they do where others use the machine.
        bench.record(lease, seconds=0.5 if lease.job_id not in crowd else (0.001, 0.029, 0.013)[turn % 3])
        if lease.job_id in crowd and lease.last == 20:
            ended.append(lease.job_id)
    assert ended == crowd


def test_a_job_is_charged_for_the_time_it_took_not_for_the_time_expected(bench: Bench) -> None:
    slow, quick = (bench.ledger.submit(batch(10**6))[0].id for _ in range(2))
    counts = {slow: 0, quick: 0}
    for _ in range(110):
        lease = bench.lease()
        bench.record(lease, seconds=5.0 if lease.job_id == slow else 0.5)
        counts[lease.job_id] += 1
    assert counts[slow] == pytest.approx(10, abs=2)


# Audits


def test_an_audit_is_played_by_another_worker_and_counts_nothing(make_bench: BenchMaker) -> None:
    bench = make_bench(audit_every=2, permits_per_process=1)
    bench.open("one")
    bench.open("two")
    spec = batch(20)
    record, _ = bench.ledger.submit(spec)
    leases = [bench.lease("one") for _ in range(4)]
    assert not any(lease.is_audit for lease in leases)
    for lease in leases:
        bench.record(lease, "one")
    bench.ledger.fold()
    assert bench.ledger.job(record.id).state == "running"
    assert bench.claim("one").outcome == "later"
    audits = [bench.lease("two"), bench.lease("two")]
    assert all(lease.is_audit for lease in audits)
    assert [bench.record(lease, "two") for lease in audits] == ["agreed", "agreed"]
    bench.ledger.fold()
    assert bench.ledger.job(record.id).state == "done"
    assert bench.ledger.tallies(record.id) == whole_job(spec)
    assert bench.ledger.figures().audits == {"agreed": 2, "differed": 0}
    assert bench.ledger.figures().matches == {("block", 2): 40}


def test_an_audit_that_differs_fails_the_job_by_name(make_bench: BenchMaker) -> None:
    bench = make_bench(audit_every=1)
    bench.open("one")
    bench.open("two")
    record, _ = bench.ledger.submit(batch(10))
    bench.record(bench.lease("one"), "one")
    audit = bench.lease("two")
    assert audit.is_audit
    played = made_up(bench.ledger.spec(record.id), audit.first, audit.last)
    played.tallies[0][1].draws += 1
    assert bench.ledger.record(audit, played, "two") == "differed"
    failed = bench.ledger.job(record.id)
    assert failed.state == "failed"
    assert failed.error == "audit: blocks 0 to 4 (counted over all scenarios) came out differently on one and on two"
    assert bench.ledger.figures().audits["differed"] == 1


def test_a_lost_audit_comes_again_and_a_single_worker_audits_itself(make_bench: BenchMaker) -> None:
    bench = make_bench(audit_every=1)
    bench.open()
    record, _ = bench.ledger.submit(batch(5))
    bench.record(bench.lease())
    assert bench.lease().is_audit
    expire_leases(bench.ledger)
    bench.ledger.sweep()
    audit = bench.lease()
    assert audit.is_audit
    assert bench.record(audit) == "agreed"
    bench.ledger.fold()
    assert bench.ledger.job(record.id).state == "done"
