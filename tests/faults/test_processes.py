"""Processes of the service are killed while a job is under way; the supervisor brings them back."""

import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
import redis

from tests.faults.proxy import Command, Cut
from tests.faults.yard import CHUNKS, SETTINGS, Trial, Up, Yard, make_spec, start_up
from tests.servers import poll
from workers.jobs.ledger import Ledger
from workers.jobs.queue import open_ledger
from workers.settings import Settings

KILLS = 2


def kill_and_await(up: Up, name: str) -> None:
    """SIGKILL to a process of the service, and it is back."""
    victim = up.children()[name]
    victim.kill()
    poll(lambda: up.has_new(name, victim.pid), 60)


@pytest.mark.parametrize("name", ["api", "scheduler"])
def test_killed_parts_of_the_service_are_started_again(yard: Yard, up: Up, name: str) -> None:
    poll(up.is_ready, 120)
    trial = yard.begin(pace=0.05)
    said = up.log.read_text().count(f"{name} ended (signal SIGKILL)")
    for kill in range(KILLS):
        trial.until_recorded(CHUNKS // 8 * (kill + 1))
        assert not yard.ledger.job(trial.job_id).is_finished
        kill_and_await(up, name)
    trial.prove()
    assert up.log.read_text().count(f"{name} ended (signal SIGKILL)") == said + KILLS
    poll(up.is_ready, 120)
    assert up.matches_total() == sum(yard.ledger.figures().matches.values())


def test_killed_workers_are_started_again(yard: Yard, up: Up) -> None:
    poll(lambda: len(up.players()) == 2, 120)
    trial = yard.begin(pace=0.05)
    said = up.log.read_text().count("ended (signal SIGKILL)")
    killed = []

    def kill_parent(command: Command) -> None:
        """SIGKILL to the worker whose child holds a chunk, played and not recorded."""
        parent = psutil.Process(command.sender()).parent()
        assert parent is not None
        killed.append(parent)
        parent.kill()
        raise Cut

    for kill in range(KILLS):
        trial.until_recorded(CHUNKS // 8 * (kill + 1))
        yard.proxy.at("record", "before", kill_parent)
        poll(lambda kill=kill: len(killed) > kill)  # type: ignore[misc]
        assert not yard.ledger.job(trial.job_id).is_finished
        poll(lambda: not killed[-1].is_running() and {"worker-1", "worker-2"} <= set(up.children()), 60)
    trial.prove()
    assert trial.count("abandoned") >= KILLS
    assert up.log.read_text().count("ended (signal SIGKILL)") == said + KILLS
    assert not {process.pid for process in killed} & {child.pid for child in up.children().values()}
    poll(lambda: sum(worker.processes for worker in yard.ledger.workers()) == 2, 120)
    assert up.matches_total() == sum(yard.ledger.figures().matches.values())


def test_killed_playing_processes_are_replaced(yard: Yard, up: Up) -> None:
    poll(lambda: len(up.players()) == 2, 120)
    trial = yard.begin(pace=0.05)
    for kill in range(KILLS):
        trial.until_recorded(CHUNKS // 8 * (kill + 1))
        family = up.players()
        for victim in family:
            victim.kill()
        _, alive = psutil.wait_procs(family, 60)
        assert not alive
        poll(lambda: len(up.players()) == 2, 60)
    trial.prove()
    assert trial.count("abandoned") >= KILLS


def test_a_worker_asked_to_stop_loses_nothing(yard: Yard, up: Up) -> None:
    poll(up.is_ready, 120)
    trial = yard.begin(pace=0.05)
    trial.until_recorded(CHUNKS // 8)
    victim = up.children()["worker-1"]
    victim.send_signal(signal.SIGTERM)
    poll(lambda: up.has_new("worker-1", victim.pid), 60)
    trial.prove()


BIG_CHUNKS = 360
BIG_CHUNK_BLOCKS = 6000


def test_the_supervisor_is_killed_and_up_goes_on_with_the_same_data(tmp_path: Path) -> None:
    spec = make_spec(77, BIG_CHUNKS, BIG_CHUNK_BLOCKS)
    with ExitStack() as started:
        up = start_up(tmp_path, chunk_blocks=BIG_CHUNK_BLOCKS)
        started.callback(up.stop)
        ledger = open_ledger(Settings(redis_url=own_redis_url(up), **SETTINGS))
        before = ledger.figures()
        with up.client as client:
            assert client.jobs()["items"] == []
        trial = Trial(ledger, spec, ledger.submit(spec)[0].id, before)
        trial.until_recorded(BIG_CHUNKS // 30)
        # Redis alone first, which its supervisor starts again on its append-only file.
        victim = up.children()["redis"]
        victim.kill()
        poll(lambda: up.has_new("redis", victim.pid), 60)
        poll(lambda: answers(own_redis_url(up)), 60)
        trial.until_recorded(BIG_CHUNKS // 12)
        poll(lambda: stopped_amid_a_chunk(up, ledger))
        assert not ledger.job(trial.job_id).is_finished
        up.kill()
        again = start_up(tmp_path, chunk_blocks=BIG_CHUNK_BLOCKS)
        started.callback(again.stop)
        trial.ledger = open_ledger(Settings(redis_url=own_redis_url(again), **SETTINGS))
        trial.prove(BIG_CHUNKS)
        assert trial.count("abandoned") >= 1
        assert again.matches_total() == spec.matches


def stopped_amid_a_chunk(up: Up, ledger: Ledger) -> bool:
    """Stops all that play, and lets them go on if none of them was at a chunk."""
    players = up.players()
    for player in players:
        player.suspend()
    if ledger.figures().leased_chunks:
        return True
    for player in players:
        player.resume()
    return False


def own_redis_url(up: Up) -> str:
    """Where the Redis that `up` has started listens, once it does."""
    ports: list[int] = []

    def listens() -> bool:
        with suppress(KeyError, psutil.NoSuchProcess):
            sockets = up.children()["redis"].net_connections("inet")
            ports[:] = [socket.laddr.port for socket in sockets if socket.status == psutil.CONN_LISTEN]
        return bool(ports)

    poll(listens, 60)
    return f"redis://127.0.0.1:{ports[0]}/0"


def answers(url: str) -> bool:
    """Whether Redis is there and has loaded its data."""
    with redis.Redis.from_url(url, socket_timeout=2) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
