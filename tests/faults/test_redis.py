"""Redis is killed, out of memory, and out of reach while a job is under way."""

import signal
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson
import pytest
import redis

from tests.faults.proxy import Command, delay
from tests.faults.yard import CHUNKS, Up, Yard
from tests.servers import poll

SMALL = {"seed": 1, "scenarios": [{"policies": ["random", "random"], "matches": 20}]}


def is_refused(up: Up) -> bool:
    """Whether a job cannot be submitted, with 503, just now."""
    request = Request(f"{up.url}/v1/jobs", orjson.dumps(SMALL), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=30):
            return False
    except HTTPError as refusal:
        with refusal:
            status, problem = refusal.code, orjson.loads(refusal.read())
    assert status == problem["status"] == 503
    assert "Traceback" not in problem["detail"]
    return True


def test_a_killed_redis_goes_on_from_its_append_only_file(yard: Yard, up: Up) -> None:
    trial = yard.begin(pace=0.05)
    runs = set()
    for kill in range(3):
        trial.until_recorded(CHUNKS // 8 * (kill + 1))
        assert not yard.ledger.job(trial.job_id).is_finished
        with redis.Redis.from_url(yard.server.url) as client:
            runs.add(client.info()["run_id"])
        yard.server.stop(signal.SIGKILL)
        if kill == 1:
            assert is_refused(up)
        yard.server.start()
    trial.prove(redis_died=True)
    assert len(runs) == 3


def test_redis_out_of_memory_is_waited_for(yard: Yard, up: Up) -> None:
    trial = yard.begin(pace=0.05)
    trial.until_recorded(CHUNKS // 8)
    logged = {name: len(up.log_of(name)) for name in ("api", "scheduler")}
    # A fold is held up until there is no memory: what it leaves unfolded is what every process then tries to fold.
    full = threading.Event()
    fold = yard.proxy.at("fold_write", "before", delay(30, full), times=100)
    poll(lambda: fold.hits >= 1)
    with redis.Redis.from_url(yard.server.url) as client:
        client.config_set("maxmemory", "1")
        full.set()
        try:
            for _ in range(5):
                assert is_refused(up)

            def refusals() -> int:
                return int(client.info("errorstats")["errorstat_OOM"]["count"])

            at = yard.ledger.job(trial.job_id).matches_done
            before = refusals()
            poll(lambda: refusals() > before + 5)
            poll(lambda: all("Redis refuses" in up.log_of(name)[start:] for name, start in logged.items()))
            assert yard.ledger.job(trial.job_id).matches_done == at < trial.spec.matches
            told = {name: up.log_of(name)[start:] for name, start in logged.items()}
        finally:
            client.config_set("maxmemory", "0")
    trial.prove()
    for name, text in told.items():
        assert text.count("Redis refuses") == 1, (name, text)
    poll(lambda: all("Redis answers again" in up.log_of(name)[start:] for name, start in logged.items()))
    with up.client as client:
        assert client.wait(client.submit(SMALL)["id"])["state"] == "done"


@pytest.mark.usefixtures("up")
def test_every_connection_is_cut_again_and_again(yard: Yard) -> None:
    trial = yard.begin()
    cuts = 0
    for turn in range(6):
        trial.until_recorded(CHUNKS // 8 * (turn + 1))
        cuts += yard.proxy.break_connections()
    trial.prove()
    assert cuts >= 6 * 3


def test_redis_out_of_reach_is_waited_for(yard: Yard, up: Up) -> None:
    trial = yard.begin(pace=0.05)
    is_away = threading.Event()

    def refuse_everybody(_: Command) -> None:
        yard.proxy.refuse_connections()
        is_away.set()

    # While a result is on its way, so that a lease is surely held.
    yard.proxy.at("record", "before", refuse_everybody, after=CHUNKS // 8)
    assert is_away.wait(60)
    assert is_refused(up)
    # Nobody hears of the leases meanwhile, which run out.
    poll(lambda: (yard.ledger.sweep(), trial.count("abandoned"))[1] >= 1)
    assert yard.ledger.job(trial.job_id).state == "running"
    yard.proxy.mend()
    trial.prove()


def test_a_pulled_cable_is_waited_for(yard: Yard, up: Up) -> None:
    trial = yard.begin(pace=0.05)
    is_pulled = threading.Event()

    def swallow_everything(_: Command) -> None:
        yard.proxy.swallow()
        is_pulled.set()

    yard.proxy.at("record", "before", swallow_everything, after=CHUNKS // 8)
    assert is_pulled.wait(60)
    assert not up.is_ready()
    poll(lambda: (yard.ledger.sweep(), trial.count("abandoned"))[1] >= 1)
    poll(lambda: not yard.ledger.workers())
    assert yard.ledger.job(trial.job_id).state == "running"
    yard.proxy.mend()
    # What was held up on its way arrives now, long after its senders gave it up.
    trial.prove()
    # The workers have lost their entries meanwhile, and are there again.
    poll(lambda: [worker.processes for worker in yard.ledger.workers()] == [1, 1], 60)
