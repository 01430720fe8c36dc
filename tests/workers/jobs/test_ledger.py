"""The ledger's verbs one by one, on a real server."""

import pytest

from tests.servers import RedisServer, poll
from tests.workers.jobs.bench import Bench, BenchMaker, batch, expire_leases, made_up, whole_job
from workers.errors import Conflict, IdempotencyMismatch, InvalidInput, LedgerUnavailable, NotFound
from workers.jobs.keys import METRICS, deleted_key, job_key
from workers.jobs.ledger import DELETED_SECONDS
from workers.jobs.spec import JobSpec
from workers.jobs.work import MAX_LOST

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
