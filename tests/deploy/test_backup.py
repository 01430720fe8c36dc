"""Backup and restore as deploy/OPERATIONS.md tells: a copy of the append-only folder of a running server goes on exactly."""

import shutil
from pathlib import Path

import redis

from tests.servers import RedisServer, poll
from tests.service.running import Hands
from workers.jobs.ledger import Ledger
from workers.jobs.records import Permit
from workers.jobs.spec import JobSpec, make_scenario
from workers.jobs.store import connect
from workers.settings import Settings
from workers.stats.tally import Tally

SPEC = JobSpec((make_scenario(["heaviest", "random"], 400),), 7, "to be backed up")


def hands(server: RedisServer) -> Hands:
    """A worker by hand on a server."""
    sent: list[Permit] = []
    settings = Settings(chunk_blocks=16, audit_every=0, lease_seconds=60, permit_patience_seconds=0.05)
    return Hands(Ledger(connect(server.url), send=sent.append, settings=settings), sent)


def finish(worker: Hands, job: str) -> None:
    """Plays what is left: permits that the backup holds for working are sent again as soon as they are overdue."""

    def ended() -> bool:
        worker.ledger.sweep()
        if worker.sent:
            worker.work()
        return worker.ledger.job(job).state == "done"

    poll(ended)


def test_a_copy_of_a_running_server_goes_on_where_it_was(tmp_path: Path, own_redis: RedisServer) -> None:
    """On a new server, as when the volume is lost; and on the same, whose folder is changed for the copy under its hands."""
    copy = tmp_path / "backup/appendonlydir"
    before = hands(own_redis)
    job = before.ledger.submit(SPEC)[0].id
    assert before.work(chunks=5) == 5
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("auto-aof-rewrite-percentage", 0)
        poll(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
        shutil.copytree(own_redis.folder / "appendonlydir", copy)
        client.config_set("auto-aof-rewrite-percentage", 100)
    finish(before, job)
    (expected,) = before.ledger.tallies(job)

    elsewhere = RedisServer(tmp_path / "elsewhere")
    shutil.copytree(copy, elsewhere.folder / "appendonlydir")
    elsewhere.start()
    try:
        goes_on(elsewhere, job, expected)
    finally:
        elsewhere.stop()

    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("auto-aof-rewrite-percentage", 0)
        (own_redis.folder / "appendonlydir").rename(own_redis.folder / "before-restore")
        shutil.copytree(copy, own_redis.folder / "appendonlydir")
        client.shutdown(nosave=True)
    own_redis.stop()
    own_redis.start()
    goes_on(own_redis, job, expected)


def goes_on(server: RedisServer, job: str, expected: Tally) -> None:
    """The job is there as far as it was in the copy, and ends with the same integers."""
    after = hands(server)
    assert 0 < after.ledger.job(job).matches_done < SPEC.matches
    finish(after, job)
    assert after.ledger.tallies(job) == [expected]
