"""The ledger's verbs one by one, on a real server."""

import time

import pytest

from tests.servers import RedisServer, poll
from tests.workers.jobs.bench import Bench, BenchMaker, batch, made_up, whole_job
from workers.engine.play import ENGINE_VERSION
from workers.errors import Conflict, IdempotencyMismatch, InvalidInput, LedgerUnavailable, NotFound
from workers.jobs.keys import LEASES, METRICS, ROOT, deleted_key, job_key
from workers.jobs.ledger import DELETED_SECONDS, Ledger, new_job_id
from workers.jobs.spec import JobSpec
from workers.jobs.work import MAX_LOST


def expire_leases(ledger: Ledger) -> None:
    """Lets every lease run out now."""
    with ledger.store.reading() as redis:
        for name in redis.zrange(LEASES, 0, -1):
            redis.zadd(LEASES, {name: 1})


# A job's way


def test_a_job_goes_from_queued_to_done_with_every_block_counted_once(bench: Bench) -> None:
    spec = batch(12, 1, 1, 9, labels={"branch": "main"})
    record, is_new = bench.ledger.submit(spec)
    assert is_new
    assert (record.state, record.matches, record.scenario_count, record.labels) == ("queued", 46, 4, {"branch": "main"})
    assert record.matches_done == 0
    assert record.started_at is None
    assert bench.ledger.spec(record.id) == spec

    first = bench.lease()
    assert bench.ledger.job(record.id).state == "running"
    assert bench.record(first) == "recorded"
    leases = bench.work_off()

    ranges = [(lease.first, lease.last) for lease in [first, *leases]]
    assert ranges == [(0, 5), (5, 10), (10, 15), (15, 20), (20, 23)]
    done = bench.ledger.job(record.id)
    assert (done.state, done.matches_done, done.error, done.eta_seconds) == ("done", 46, None, None)
    assert done.created_at <= (done.started_at or 0) <= (done.finished_at or 0)
    assert bench.ledger.tallies(record.id) == whole_job(spec)
    assert bench.ledger.tallies(record.id, 1, 2) == whole_job(spec)[1:3]


def test_a_job_is_done_only_when_everything_is_folded(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(10))
    bench.record(bench.lease())
    bench.ledger.fold()
    assert bench.ledger.job(record.id).matches_done == 10
    assert bench.ledger.tallies(record.id)[0].matches == 10
    bench.record(bench.lease())
    assert bench.ledger.job(record.id).state == "running"
    bench.ledger.fold()
    assert bench.ledger.job(record.id).state == "done"


def test_a_job_stored_since_before_there_were_matrices_is_read() -> None:
    spec = batch(10)
    stored = spec.to_json()
    del stored["matrix"]
    assert JobSpec.from_json(stored) == spec


def test_scenarios_not_begun_have_empty_tallies(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(5, 5))
    bench.record(bench.lease())
    bench.ledger.fold()
    assert [tally.matches for tally in bench.ledger.tallies(record.id)] == [10, 0]


def test_progress_has_a_speed_and_an_end_in_sight(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(100))
    bench.record(bench.lease())
    bench.ledger.fold()
    running = bench.ledger.job(record.id)
    assert running.matches_per_second is not None
    assert running.matches_per_second > 0
    assert running.eta_seconds == pytest.approx(190 / running.matches_per_second)


# Submitting twice


def test_a_key_answers_with_the_same_job_and_refuses_another_request(bench: Bench) -> None:
    first, is_new = bench.ledger.submit(batch(5), idempotency_key="k", request_digest="a")
    again, is_new_again = bench.ledger.submit(batch(5), idempotency_key="k", request_digest="a")
    assert (is_new, is_new_again, again.id) == (True, False, first.id)
    with pytest.raises(IdempotencyMismatch):
        bench.ledger.submit(batch(6), idempotency_key="k", request_digest="b")
    other, _ = bench.ledger.submit(batch(6), idempotency_key="k", request_digest="b", owner="somebody else")
    assert other.id != first.id
    assert len(bench.ledger.jobs()[0]) == 2


def test_a_derived_id_is_one_job(bench: Bench) -> None:
    first, is_new = bench.ledger.submit(batch(5), job_id="nightly-2026-01-01", request_digest="a")
    again, is_new_again = bench.ledger.submit(batch(5), job_id="nightly-2026-01-01", request_digest="a")
    assert (is_new, is_new_again, again.id) == (True, False, first.id)
    with pytest.raises(IdempotencyMismatch):
        bench.ledger.submit(batch(6), job_id="nightly-2026-01-01", request_digest="b")
    with pytest.raises(InvalidInput):
        bench.ledger.submit(batch(6), job_id="a|b")


# Chunks lost and doubled


def test_a_result_counts_once_however_often_it_comes(bench: Bench) -> None:
    spec = batch(15)
    record, _ = bench.ledger.submit(spec)
    leases = [bench.lease() for _ in range(3)]
    assert [bench.record(lease) for lease in (leases[2], leases[0], leases[2], leases[0])] == [
        "recorded", "recorded", "duplicate", "duplicate",
    ]  # fmt: skip
    assert bench.record(leases[1]) == "recorded"
    assert [bench.record(lease) for lease in leases] == ["duplicate"] * 3
    bench.ledger.fold()
    assert bench.ledger.tallies(record.id) == whole_job(spec)
    assert bench.ledger.figures().chunks == {"recorded": 3, "duplicate": 5, "abandoned": 0, "failed": 0}


def test_a_lost_chunk_comes_again_as_the_same_chunk(bench: Bench) -> None:
    spec = batch(10)
    record, _ = bench.ledger.submit(spec)
    lost = bench.lease()
    expire_leases(bench.ledger)
    bench.ledger.sweep()
    again = bench.lease()
    assert (again.first, again.last) == (lost.first, lost.last)
    assert again.token != lost.token
    assert bench.ledger.figures().chunks["abandoned"] == 1
    # The worker that was held for dead comes back first: its result is as good.
    assert bench.record(lost) == "recorded"
    assert bench.record(again) == "duplicate"
    bench.work_off()
    assert bench.ledger.tallies(record.id) == whole_job(spec)


def test_a_late_result_takes_the_chunk_out_of_the_line(bench: Bench) -> None:
    bench.ledger.submit(batch(10))
    lost = bench.lease()
    expire_leases(bench.ledger)
    bench.ledger.sweep()
    assert bench.record(lost) == "recorded"
    assert bench.lease().first == 5


def test_a_renewed_lease_lives_on_and_a_lost_one_is_taken_back(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(10))
    lease = bench.lease()
    slot, generation = bench.held["one"]
    expire_leases(bench.ledger)
    assert bench.ledger.renew(lease, slot, generation, "one", 0.1)
    bench.ledger.sweep()
    assert bench.ledger.figures().leased_chunks == 1
    expire_leases(bench.ledger)
    bench.ledger.sweep()
    assert bench.ledger.figures().leased_chunks == 0
    assert bench.ledger.renew(lease, slot, generation, "one", 0.1)
    assert bench.ledger.figures().leased_chunks == 1
    assert bench.lease().first == 5
    bench.ledger.cancel(record.id)
    assert not bench.ledger.renew(lease, slot, generation, "one", 0.1)


def test_a_chunk_that_is_lost_again_and_again_fails_its_job(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(10))
    for _ in range(MAX_LOST):
        bench.lease()
        expire_leases(bench.ledger)
        bench.ledger.sweep()
        assert bench.ledger.job(record.id).state == "running"
    bench.lease()
    expire_leases(bench.ledger)
    bench.ledger.sweep()
    failed = bench.ledger.job(record.id)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error.startswith("blocks 0 to 4")


def test_a_play_that_raises_fails_its_job_after_one_repeat_and_no_other(bench: Bench) -> None:
    bad, _ = bench.ledger.submit(batch(10))
    lease = bench.lease()
    assert bench.ledger.fail(lease, "PlayFailed: broken") == "retried"
    assert bench.ledger.fail(lease, "PlayFailed: broken") == "refused"
    again = bench.lease()
    assert (again.first, again.last) == (lease.first, lease.last)
    good, _ = bench.ledger.submit(batch(10))
    assert bench.ledger.fail(again, "PlayFailed: broken") == "failed"
    assert bench.record(lease) == "refused"
    assert {lease.job_id for lease in bench.work_off()} == {good.id}
    assert (bench.ledger.job(bad.id).state, bench.ledger.job(bad.id).error) == ("failed", "PlayFailed: broken")
    assert bench.ledger.job(good.id).state == "done"
    assert bench.ledger.figures().chunks["failed"] == 2


# What a user may wish


def test_after_cancel_nothing_is_claimed_and_late_results_are_refused(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(20))
    taken, late = bench.lease(), bench.lease()
    bench.record(taken)
    cancelled = bench.ledger.cancel(record.id)
    assert cancelled.state == "cancelled"
    assert cancelled.finished_at is not None
    assert bench.ledger.figures().leased_chunks == 0
    assert bench.record(late) == "refused"
    assert bench.claim().outcome == "idle"
    bench.ledger.fold()
    assert bench.ledger.job(record.id).matches_done == 10
    assert bench.ledger.cancel(record.id) == bench.ledger.job(record.id)
    for verb in (bench.ledger.pause, bench.ledger.resume):
        with pytest.raises(Conflict, match="cancelled cannot be"):
            verb(record.id)


def test_a_paused_job_takes_results_but_gives_no_chunks(bench: Bench) -> None:
    spec = batch(20)
    record, _ = bench.ledger.submit(spec)
    held, lost = bench.lease(), bench.lease()
    assert bench.ledger.pause(record.id).state == "paused"
    assert bench.ledger.pause(record.id).state == "paused"
    assert bench.record(held) == "recorded"
    expire_leases(bench.ledger)
    bench.ledger.sweep()
    assert bench.claim().outcome == "idle"
    bench.ledger.fold()
    assert bench.ledger.job(record.id).matches_done == 10
    assert bench.ledger.resume(record.id).state == "running"
    assert bench.ledger.resume(record.id).state == "running"
    assert bench.lease().first == lost.first
    bench.record(lost)
    bench.work_off()
    assert bench.ledger.tallies(record.id) == whole_job(spec)


def test_a_job_paused_before_it_began_is_queued_again(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(5))
    bench.ledger.pause(record.id)
    assert bench.ledger.resume(record.id).state == "queued"


def test_a_paused_job_whose_last_chunk_comes_in_is_done(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(5))
    lease = bench.lease()
    bench.ledger.pause(record.id)
    bench.record(lease)
    bench.ledger.fold()
    assert bench.ledger.job(record.id).state == "done"


def test_a_redis_that_has_lost_its_last_writes_counts_nothing_twice(bench: Bench, make_bench: BenchMaker) -> None:
    spec = batch(20)
    record, _ = bench.ledger.submit(spec)
    bench.record(bench.lease())
    # A replica takes over that has not heard of the last claim; the chunks that are cut from then on are of another size.
    with bench.ledger.store.reading() as server:
        replica = {name: server.dump(name) for name in server.scan_iter()}
        lost = bench.lease()
        server.flushall()
        for name, value in replica.items():
            server.restore(name, 0, value)
    after = make_bench(chunk_blocks=3)
    after.open("two")
    assert bench.record(lost) == "refused"
    taken = after.work_off("two")
    assert [(lease.first, lease.last) for lease in taken] == [(5, 8), (8, 11), (11, 14), (14, 17), (17, 20)]
    done = after.ledger.job(record.id)
    assert (done.state, done.matches_done) == ("done", 40)
    assert after.ledger.tallies(record.id) == whole_job(spec)


def test_a_restarted_job_begins_anew_and_takes_nothing_of_its_former_life(bench: Bench) -> None:
    spec = batch(20)
    record, _ = bench.ledger.submit(spec)
    bench.record(bench.lease())
    old = bench.lease()
    bench.ledger.cancel(record.id)
    assert bench.ledger.restart(record.id).state == "queued"
    assert bench.ledger.restart(record.id).matches_done == 0
    assert bench.record(old) == "refused"
    bench.work_off()
    done = bench.ledger.job(record.id)
    assert (done.state, done.matches_done) == ("done", 40)
    assert bench.ledger.tallies(record.id) == whole_job(spec)


def test_a_live_job_is_not_deleted_and_a_deleted_one_leaves_nothing(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(10, labels={"a": "b"}), idempotency_key="k", request_digest="d")
    with pytest.raises(Conflict):
        bench.ledger.delete(record.id)
    bench.work_off()
    assert bench.ledger.delete(record.id)
    assert not bench.ledger.delete(record.id), "it is done already"
    with bench.ledger.store.reading() as redis:
        left = [key for key in redis.keys("*") if record.id.encode() in key or b"client_key" in key or b"label" in key]
        assert left == [deleted_key(record.id).encode()]
        assert 0 < redis.ttl(left[0]) <= DELETED_SECONDS
        assert bench.ledger.owner(record.id) == record.owner
        redis.delete(left[0])
    for verb in (bench.ledger.delete, bench.ledger.job, bench.ledger.cancel, bench.ledger.spec, bench.ledger.tallies):
        with pytest.raises(NotFound):
            verb(record.id)
    assert bench.ledger.jobs() == ([], None)


def test_old_jobs_expire_and_kept_ones_do_not(make_bench: BenchMaker) -> None:
    bench = make_bench(retention_seconds=0.001)
    bench.open()
    old, _ = bench.ledger.submit(batch(5))
    kept, _ = bench.ledger.submit(batch(5), keep=True)
    live, _ = bench.ledger.submit(batch(5))
    bench.ledger.pause(live.id)
    bench.work_off()
    poll(bench.ledger.expire)
    assert [job.id for job in bench.ledger.jobs()[0]] == [live.id, kept.id]
    for verb in (bench.ledger.job, bench.ledger.owner, bench.ledger.delete):
        with pytest.raises(NotFound):
            verb(old.id)


# Lists


def test_lists_are_newest_first_in_pages_by_state_and_label(bench: Bench) -> None:
    ids = [bench.ledger.submit(batch(1, labels={"n": str(n % 2)}))[0].id for n in range(7)]
    bench.ledger.cancel(ids[2])
    bench.ledger.cancel(ids[5])
    seen, cursor = [], None
    while True:
        page, cursor = bench.ledger.jobs(limit=3, cursor=cursor)
        seen += [job.id for job in page]
        if cursor is None:
            break
        assert len(page) == 3
    assert seen == ids[::-1]
    assert [job.id for job in bench.ledger.jobs(state="cancelled")[0]] == [ids[5], ids[2]]
    assert [job.id for job in bench.ledger.jobs(label="n=1")[0]] == [ids[5], ids[3], ids[1]]
    assert [job.id for job in bench.ledger.jobs(state="queued", label="n=1", limit=1)[0]] == [ids[3]]
    for wrong in ({"state": "gone"}, {"cursor": "x"}):
        with pytest.raises(InvalidInput):
            bench.ledger.jobs(**wrong)  # type: ignore[arg-type]


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


# Figures and workers


def test_figures_equal_the_integers(bench: Bench) -> None:
    spec = batch(12, 3)
    bench.ledger.submit(spec)
    paused, _ = bench.ledger.submit(batch(10**6, priority="high"))
    before = bench.ledger.figures()
    assert before.jobs == {"queued": 2, "running": 0, "paused": 0, "done": 0, "cancelled": 0, "failed": 0}
    assert before.pending_chunks == {"low": 0, "normal": 1, "high": 1}
    bench.ledger.pause(paused.id)
    lease = bench.lease()
    held = bench.ledger.figures()
    assert held.leased_chunks == 1
    assert 0 <= held.oldest_lease_seconds < 5
    assert held.pending_chunks == {"low": 0, "normal": 2, "high": 0}
    bench.record(lease, seconds=0.3)
    bench.ledger.fold()
    after = bench.ledger.figures()
    tally = made_up(spec, lease.first, lease.last).tallies[0][1]
    assert after.matches == {("block", 2): tally.matches}
    assert (after.rounds, after.plies) == ({("block", 2): tally.rounds}, {("block", 2): tally.plies})
    assert (sum(after.chunk_seconds.counts), after.chunk_seconds.total) == (1, pytest.approx(0.3))
    assert after.chunk_seconds.counts[after.chunk_seconds.bounds.index(0.5)] == 1
    assert sum(after.job_wait_seconds.counts) == 1
    assert after.workers == 1


def test_workers_show_what_each_of_their_processes_recorded(bench: Bench) -> None:
    bench.ledger.submit(batch(20))
    spec_of = bench.ledger.spec
    for process in (11, 12, 12):
        lease = bench.lease()
        bench.ledger.record(lease, made_up(spec_of(lease.job_id), lease.first, lease.last), "one", process=process)
    (worker,) = bench.ledger.workers()
    assert (worker.name, worker.host, worker.chunks, worker.matches) == ("one", "here", 3, 30)
    assert [(child.pid, child.chunks, child.matches) for child in worker.children] == [(11, 1, 10), (12, 2, 20)]
    bench.ledger.leave("one")
    assert bench.ledger.workers() == []


def test_a_worker_without_a_beat_is_gone(make_bench: BenchMaker) -> None:
    bench = make_bench(worker_life_seconds=0.05)
    bench.ledger.beat("one", "here", 1, 1, is_new=True)
    poll(lambda: not bench.ledger.workers())
    assert bench.ledger.figures().workers == 0


# What a job costs


def test_the_memory_of_a_job_does_not_grow_with_its_matches(make_bench: BenchMaker) -> None:
    bench = make_bench(chunk_blocks=10**6)
    bench.open()
    record, _ = bench.ledger.submit(batch(5 * 10**11))
    spec = batch(1)
    for _ in range(60):
        # Recorded out of order: the later one first.
        pair = [bench.lease(), bench.lease()]
        for lease in reversed(pair):
            played = made_up(spec, 0, 1)
            bench.ledger.record(lease, played, "one")
        bench.ledger.fold()
    with bench.ledger.store.reading() as redis:
        parts = redis.keys(job_key(record.id) + "*")
        assert sum(redis.memory_usage(part, samples=0) for part in parts) < 12_000


# Redis in trouble


def test_a_server_that_forgets_the_scripts_is_taught_again(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(10))
    bench.record(bench.lease())
    with bench.ledger.store.reading() as redis:
        redis.script_flush()
    bench.work_off()
    assert bench.ledger.job(record.id).state == "done"


def test_a_full_server_is_named_and_changes_nothing(make_bench: BenchMaker, own_redis: RedisServer) -> None:
    bench = make_bench(own_redis.url)
    bench.open()
    with bench.ledger.store.reading() as redis:
        redis.config_set("maxmemory", "1")
        before = redis.hgetall(METRICS), sorted(redis.keys("*"))
        with pytest.raises(LedgerUnavailable, match="refuses"):
            bench.ledger.submit(batch(10))
        assert (redis.hgetall(METRICS), sorted(redis.keys("*"))) == before
        redis.config_set("maxmemory", "0")
    assert bench.ledger.submit(batch(10))[1]


def test_without_a_server_every_verb_says_so_and_goes_on_afterwards(make_bench: BenchMaker, own_redis: RedisServer) -> None:
    bench = make_bench(own_redis.url)
    bench.open()
    spec = batch(20)
    record, _ = bench.ledger.submit(spec)
    bench.record(bench.lease())
    own_redis.stop(9)
    verbs = [
        bench.ledger.ping, bench.ledger.sweep, bench.ledger.fold, bench.ledger.figures, bench.ledger.workers,
        bench.ledger.jobs, lambda: bench.ledger.job(record.id), lambda: bench.ledger.submit(spec), bench.claim,
    ]  # fmt: skip
    for verb in verbs:
        with pytest.raises(LedgerUnavailable, match="does not answer"):
            verb()
    own_redis.start()
    bench.work_off()
    assert bench.ledger.job(record.id).state == "done"
    assert bench.ledger.tallies(record.id) == whole_job(spec)
