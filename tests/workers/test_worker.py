"""Real Celery workers on a real Redis: the integers are those of direct play, whoever is killed meanwhile."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import redis

from tests.servers import RedisServer, RunningWorker, WorkerFactory, free_port, poll
from workers.engine.play import ENGINE_VERSION
from workers.jobs.keys import ROOT
from workers.jobs.ledger import Ledger
from workers.jobs.play_range import Table
from workers.jobs.queue import open_ledger
from workers.jobs.records import JobRecord
from workers.jobs.spec import JobSpec, make_scenario
from workers.settings import Settings

CHUNKS = 240
CHUNK_BLOCKS = 2000
"""Enough that the job lasts for seconds, so that whoever is killed is killed in the midst of it."""

SPEC = JobSpec(
    (
        make_scenario(["heaviest", "random"], 2 * CHUNK_BLOCKS * CHUNKS // 2),
        make_scenario(["random", "heaviest", "lightest"], 3 * CHUNK_BLOCKS * CHUNKS // 4),
        make_scenario(["double", "random", "double", "random"], 2 * CHUNK_BLOCKS * CHUNKS // 4),
    ),
    seed=2**63 + 11,
)  # fmt: skip

QUICK_LEASES = {"lease_seconds": 1.0, "permit_patience_seconds": 1.0, "worker_life_seconds": 3.0, "beat_seconds": 0.5}
"""Settings under which what was lost comes back soon."""


@pytest.fixture
def ledger(redis_url: str) -> Ledger:
    """The ledger as an API process has it."""
    return open_ledger(Settings(redis_url=redis_url))


@pytest.fixture(scope="module")
def direct() -> list[object]:
    """The tallies of the job, played here in one go."""
    table = Table(SPEC)
    played = table.play(0, table.places.blocks)
    assert played is not None
    return [tally for _, tally in played.tallies]


def done(ledger: Ledger, job_id: str) -> JobRecord:
    """The job once it has ended, which must be well."""
    poll(lambda: ledger.job(job_id).is_finished, patience=120)
    record = ledger.job(job_id)
    assert (record.state, record.error) == ("done", None)
    return record


def submit(ledger: Ledger) -> str:
    """The job of these tests, begun."""
    return ledger.submit(SPEC)[0].id


def test_one_worker_gives_the_integers_of_direct_play(ledger: Ledger, worker_factory: WorkerFactory, direct: object) -> None:
    worker = worker_factory(chunk_blocks=CHUNK_BLOCKS)
    job_id = submit(ledger)
    record = done(ledger, job_id)
    assert record.matches_done == record.matches == SPEC.matches
    assert ledger.tallies(job_id) == direct
    figures = ledger.figures()
    assert figures.chunks == {"recorded": CHUNKS, "duplicate": 0, "abandoned": 0, "failed": 0}
    assert sum(figures.matches.values()) == SPEC.matches
    assert figures.leased_chunks == 0
    assert worker.stop() == 0
    assert ledger.workers() == []


def test_two_workers_share_a_job(ledger: Ledger, worker_factory: WorkerFactory, direct: object) -> None:
    worker_factory("one", chunk_blocks=CHUNK_BLOCKS)
    worker_factory("two", chunk_blocks=CHUNK_BLOCKS)
    job_id = submit(ledger)
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    shares = {worker.name: worker.chunks for worker in ledger.workers()}
    assert sum(shares.values()) == CHUNKS
    assert min(shares["one"], shares["two"]) >= CHUNKS / 5, shares


def test_the_processes_of_one_worker_share_a_job(ledger: Ledger, worker_factory: WorkerFactory, direct: object) -> None:
    worker_factory(processes=2, chunk_blocks=CHUNK_BLOCKS)
    job_id = submit(ledger)
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    (worker,) = ledger.workers()
    assert [child.chunks >= CHUNKS / 5 for child in worker.children] == [True, True], worker


def test_killed_processes_lose_and_double_nothing(ledger: Ledger, worker_factory: WorkerFactory, direct: object) -> None:
    settings = {"chunk_blocks": CHUNK_BLOCKS, **QUICK_LEASES}
    first = worker_factory("first", processes=2, **settings)
    job_id = submit(ledger)

    def recorded() -> int:
        return ledger.figures().chunks["recorded"]

    poll(lambda: recorded() > 10)
    # Its end is not waited for, lest the job be over by then.
    first.children()[0].kill()
    before = recorded()
    poll(lambda: recorded() > before + 10)
    assert not ledger.job(job_id).is_finished
    # The parent dies, its children are to follow by themselves; another worker goes on.
    family = first.children()
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait(10)
    worker_factory("second", **settings)
    _, alive = psutil.wait_procs(family, 15)
    assert not alive
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    assert recorded() == CHUNKS
    assert sum(ledger.figures().matches.values()) == SPEC.matches


def test_a_killed_process_is_replaced_at_once(running_worker: RunningWorker) -> None:
    # Celery by itself mostly takes up to five seconds for each.
    for _ in range(3):
        (victim,) = running_worker.children()
        victim.kill()
        poll(lambda dead=victim.pid: [child.pid for child in running_worker.children()] not in ([], [dead]), patience=3)


def test_a_killed_redis_loses_nothing(own_redis: RedisServer, worker_factory: WorkerFactory, direct: object) -> None:
    worker_factory("one", url=own_redis.url, chunk_blocks=CHUNK_BLOCKS, **QUICK_LEASES)
    ledger = open_ledger(Settings(redis_url=own_redis.url))
    job_id = submit(ledger)
    poll(lambda: ledger.figures().chunks["recorded"] > 20)
    own_redis.stop(signal.SIGKILL)
    own_redis.start()
    # Celery's own worker may end itself when its broker comes back; the supervisor's part is played here.
    worker_factory("two", url=own_redis.url, chunk_blocks=CHUNK_BLOCKS, **QUICK_LEASES)
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    assert ledger.figures().chunks["recorded"] == CHUNKS


def test_a_stopped_process_comes_back_late_and_harms_nothing(
    ledger: Ledger, worker_factory: WorkerFactory, direct: object
) -> None:
    worker = worker_factory(processes=2, chunk_blocks=CHUNK_BLOCKS, **QUICK_LEASES)
    job_id = submit(ledger)
    poll(lambda: ledger.figures().chunks["recorded"] > 10)
    sleeper = worker.children()[0]
    sleeper.suspend()
    other = worker.children()[1]
    other.suspend()
    poll(lambda: ledger.figures().leased_chunks == 0, patience=20)
    other.resume()
    sleeper.resume()
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    assert ledger.figures().chunks["recorded"] == CHUNKS


def test_sigterm_finishes_the_chunk_and_gives_the_permit_back(
    ledger: Ledger, worker_factory: WorkerFactory, direct: object
) -> None:
    settings = {"chunk_blocks": CHUNK_BLOCKS, "lease_seconds": 600, "permit_patience_seconds": 600}
    first = worker_factory("first", **settings)
    job_id = submit(ledger)
    poll(lambda: ledger.figures().chunks["recorded"] > 10)
    assert first.stop(signal.SIGTERM) == 0
    assert ledger.figures().leased_chunks == 0
    assert ledger.job(job_id).state == "running"
    # Leases and permits of this test never run out: the second worker can only go on with what was given back.
    worker_factory("second", **settings)
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    assert ledger.figures().chunks["abandoned"] == 0


def test_a_drained_worker_ends_once_its_hands_are_empty(ledger: Ledger, worker_factory: WorkerFactory, direct: object) -> None:
    settings = {"chunk_blocks": CHUNK_BLOCKS, "beat_seconds": 0.2}
    one = worker_factory("one", **settings)
    job_id = submit(ledger)
    poll(lambda: ledger.figures().chunks["recorded"] > 5)
    ledger.drain("one")
    assert one.process.wait(60) == 0
    assert "this worker drains: it ends once its hands are empty" in one.log.read_text()
    assert ledger.workers() == []
    assert ledger.job(job_id).state == "running"
    assert ledger.figures().leased_chunks == 0
    assert ledger.figures().chunks["abandoned"] == 0
    worker_factory("two", **settings)
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct


def test_cancel_stops_a_running_job_within_two_seconds(ledger: Ledger, running_worker: RunningWorker) -> None:
    giant = JobSpec((make_scenario(["random", "random", "heaviest"], 10**11),), 1)
    job_id = ledger.submit(giant)[0].id
    poll(lambda: ledger.job(job_id).matches_done > 0)
    assert ledger.cancel(job_id).state == "cancelled"
    poll(lambda: ledger.figures().leased_chunks == 0, patience=2)
    ledger.fold()
    stopped_at = ledger.job(job_id).matches_done
    small = submit(ledger)
    done(ledger, small)
    assert ledger.job(job_id).matches_done == stopped_at
    assert running_worker.process.poll() is None


def test_pause_stops_a_running_job_within_two_seconds(ledger: Ledger, running_worker: RunningWorker) -> None:
    spec = JobSpec((make_scenario(["random", "random", "heaviest"], 3 * 10**6),), 1)
    job_id = ledger.submit(spec)[0].id
    poll(lambda: ledger.job(job_id).matches_done > 0)
    assert ledger.pause(job_id).state == "paused"
    poll(lambda: ledger.figures().leased_chunks == 0, patience=2)
    ledger.fold()
    stopped_at = ledger.job(job_id).matches_done
    time.sleep(1)
    ledger.fold()
    assert ledger.job(job_id).matches_done == stopped_at < spec.matches
    ledger.resume(job_id)
    assert done(ledger, job_id).matches_done == spec.matches
    assert running_worker.process.poll() is None


@pytest.mark.usefixtures("running_worker")
def test_a_small_job_is_done_soon_beside_a_giant(ledger: Ledger) -> None:
    giant = ledger.submit(JobSpec((make_scenario(["random", "random"], 10**11),), 1))[0].id
    poll(lambda: ledger.job(giant).matches_done > 1000)
    small = ledger.submit(JobSpec((make_scenario(["random", "heaviest"], 2000),), 2))[0].id
    poll(lambda: ledger.job(small).is_finished, patience=20)
    assert ledger.job(small).state == "done"
    assert ledger.job(giant).state == "running"
    ledger.cancel(giant)


def test_without_redis_a_worker_says_so_at_once() -> None:
    code = "from workers.app import run_worker\nfrom workers.errors import LedgerUnavailable\n"
    code += "try: run_worker(1)\nexcept LedgerUnavailable as error: print(error)"
    environment = os.environ | {"BLOCKYARD_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""
    assert ended.stdout.startswith("Redis does not answer: ")
    assert len(ended.stdout.splitlines()) == 1


def test_the_scheduler_keeps_the_ledger_moving_and_ends_on_sigterm(redis_url: str, ledger: Ledger) -> None:
    scheduler = subprocess.Popen(
        [sys.executable, "-c", "from workers.scheduler import run; run()"], env=os.environ | {"BLOCKYARD_REDIS_URL": redis_url}
    )
    try:
        with ledger.store.reading() as redis:

            def permits_are_sent() -> bool:
                # To a worker that is only pretended, alive however long the scheduler takes to start.
                ledger.beat("pretended", "here", 1, 1, is_new=True)
                return bool(redis.llen("{blockyard}:queue:" + ledger.job(submit(ledger)).engine_version) > 0)

            poll(permits_are_sent, pause=0.5)
    finally:
        scheduler.terminate()
    assert scheduler.wait(10) == 0


def test_a_worker_outlives_a_redis_that_refuses_to_note_its_messages(
    own_redis: RedisServer, worker_factory: WorkerFactory, direct: object
) -> None:
    ledger = open_ledger(Settings(redis_url=own_redis.url))
    worker = worker_factory(url=own_redis.url, chunk_blocks=CHUNK_BLOCKS, **QUICK_LEASES)
    with redis.Redis.from_url(own_redis.url) as client:
        poll(lambda: client.scard(f"{ROOT}:permits:{ENGINE_VERSION}:parked"))
        # Messages wait for it, so that it meets the refusal at once.
        worker.process.send_signal(signal.SIGSTOP)
        job_id = submit(ledger)
        client.config_set("maxmemory", "1")
        try:
            worker.process.send_signal(signal.SIGCONT)
            poll(lambda: int(client.info("commandstats")["cmdstat_zadd"]["rejected_calls"]) > 0)
            with pytest.raises(subprocess.TimeoutExpired):
                worker.process.wait(3)
        finally:
            client.config_set("maxmemory", "0")
    done(ledger, job_id)
    assert ledger.tallies(job_id) == direct
    assert worker.stop() == 0
    told = worker.log.read_text()
    assert told.count("command not allowed when used memory") == 1, told
