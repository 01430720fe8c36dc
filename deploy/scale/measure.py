"""What the ledger's commands cost on this machine, and how fast real workers are: on a real Redis that writes to this disk."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from kombu import Consumer, Queue
from redis import Redis

from deploy.scale.model import Costs, Plan, simulate
from deploy.scale.waiting_worker import wait_instead
from service.local.ports import first_free
from service.local.redis_server import find_program, server_command
from workers.jobs.keys import queue_name
from workers.jobs.ledger import Ledger
from workers.jobs.queue import PermitSender, make_app
from workers.jobs.records import Permit
from workers.jobs.shift import Shift
from workers.jobs.spec import JobSpec, make_scenario
from workers.jobs.store import connect
from workers.settings import Settings

BLOCKS: Final = 8
"""Blocks of a chunk whose result is handed in over and over: a result is about as long whatever its blocks."""
CROWD: Final = 200
"""Workers that are there while a crowded sweep is measured."""
PATIENCE: Final = 120.0
SHORT_PERMIT: Final = 0.2
PLAY: Final = 0.02
"""Seconds of the chunks of real workers: so short that a good part of their time is the ledger's."""
WINDOW: Final = 5.0
"""Seconds over which real workers are measured."""
WARM: Final = 10
"""Chunks that are not counted, of those that follow each other at once and of those with a wait between."""
DENSE, SPARSE = 1500, 150
PASSED: Final = 200
"""Permits that are passed on."""


@contextmanager
def before_all_others() -> Iterator[None]:
    """Within, this process and those that it starts run before all others of this machine, where that is allowed.

    They wait more than they work, so that others are not held up for long.
    """
    with suppress(PermissionError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        with suppress(PermissionError, AttributeError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def own_redis() -> Iterator[str]:
    """A server with the settings of `k8s/base/redis`, its files in a folder that is gone afterwards; its address."""
    with tempfile.TemporaryDirectory() as folder:
        port = first_free(16379)
        process = subprocess.Popen(server_command(find_program(), Path(folder), port), stdout=subprocess.DEVNULL)
        try:
            ledger = Ledger(connect(url := f"redis://127.0.0.1:{port}/0"))
            _poll(lambda: _answers(ledger))
            yield url
        finally:
            process.terminate()
            process.wait()


def _answers(ledger: Ledger) -> bool:
    try:
        ledger.ping()
    except Exception:
        return False
    return True


def _poll(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {PATIENCE:.0f} seconds")
        time.sleep(0.02)


def _processor_seconds(redis: Redis) -> float:
    used: Any = redis.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def _cost(redis: Redis, what: Callable[[], object], times: int) -> tuple[float, float]:
    """Seconds of Redis's processor, and seconds that passed (the median), for one call."""
    passed = []
    begun = _processor_seconds(redis)
    for _ in range(times):
        moment = time.perf_counter()
        what()
        passed.append(time.perf_counter() - moment)
    return (_processor_seconds(redis) - begun) / times, median(passed)


def sleep_seconds(seconds: float, times: int = 100) -> float:
    """How long a sleep of so many seconds really is, on average."""
    begun = time.perf_counter()
    for _ in range(times):
        time.sleep(seconds)
    return (time.perf_counter() - begun) / times


def _job() -> JobSpec:
    return JobSpec((make_scenario(["heaviest", "random"], 2 * 10**9),), seed=7)


def measure_costs() -> Costs:
    """All of them; takes some twenty seconds."""
    with own_redis() as url, connect(url) as redis:
        settings = Settings(
            redis_url=url, chunk_blocks=BLOCKS, audit_every=0, permit_seconds=10**6, worker_life_seconds=600,
            permit_patience_seconds=600, permits_per_process=1,
        )  # fmt: skip
        sent: list[Permit] = []
        ledger = Ledger(connect(url), send=sent.append, settings=settings)
        ping, ping_passed = _cost(redis, redis.ping, 300)
        written, written_passed = _cost(redis, lambda: redis.set("x", "y"), 300)
        flush, flushing = max(0.0, written_passed - ping_passed), max(0.0, written - ping)

        ledger.beat("one", "here", 1, 1, is_new=True)
        sweep, _ = _cost(redis, ledger.sweep, 50)
        record, _ = ledger.submit(_job())
        ledger.sweep()
        # Redis's time where it has much to do, and what passes where everybody has waited in between and comes back cold.
        exchange, _, permit = _exchanges(redis, ledger, sent[-1], 0.0, DENSE)
        folding, begun = _processor_seconds(redis), time.process_time()
        entries = ledger.fold_job(record.id)
        fold_entry_outside = (time.process_time() - begun) / entries
        fold_entry = (_processor_seconds(redis) - folding) / entries
        ledger.cancel(record.id)
        ledger.submit(_job())
        _, exchange_passed, _ = _exchanges(redis, ledger, permit, PLAY, SPARSE)

        poll, _ = _cost(redis, ledger.fold, 300)
        beat, _ = _cost(redis, lambda: ledger.beat("one", "here", 1, 1, is_new=False), 300)
        for number in range(CROWD):
            ledger.beat(f"worker-{number}", "here", 1, 1, is_new=True)
        ledger.sweep()
        crowded, _ = _cost(redis, ledger.sweep, 10)
        passing = _passing(redis, settings)
    exchange = max(ping, exchange - flushing)
    return Costs(
        flush=flush, exchange=exchange, exchange_outside=max(0.0, exchange_passed - flush - exchange),
        turnover=passing, turnover_outside=max(0.0, _standing_in_line() - passing - flush),
        fold_entry=fold_entry, fold_entry_outside=fold_entry_outside, poll=poll, beat=max(ping, beat - flushing),
        sweep=max(ping, sweep), sweep_worker=max(0.0, crowded - sweep) / CROWD,
    )  # fmt: skip


def _exchanges(redis: Redis, ledger: Ledger, permit: Permit, play: float, chunks: int) -> tuple[float, float, Permit]:
    """A shift as workers have it, whose chunks take `play` seconds: Redis's and passed seconds for each exchange, and the
    permit as it goes on."""
    wait_instead(play)
    left = chunks + WARM
    used, begun = 0.0, 0.0

    def is_over() -> bool:
        nonlocal left, used, begun
        left -= 1
        if left == chunks:
            used, begun = _processor_seconds(redis), time.perf_counter()
        return left <= 0

    generation = Shift(ledger, "one", is_over).work(permit.slot, permit.generation)
    used, passed = _processor_seconds(redis) - used, time.perf_counter() - begun
    permit = replace(permit, generation=generation or "")
    return used / chunks, passed / chunks - (sleep_seconds(play) if play else 0.0), permit


def _passing(redis: Redis, settings: Settings) -> float:
    """Redis's time for a permit that is sent, received and acknowledged by the means of the real ones."""
    app, name = make_app(settings), queue_name("none")
    send = PermitSender(app)
    with app.connection_for_read() as connection:
        queue = Queue(name, routing_key=name)
        with Consumer(connection, [queue], callbacks=[lambda _, message: message.ack()], accept=["json"]):

            def pass_on() -> None:
                send(Permit("none", "0", "0"))
                connection.drain_events(timeout=PATIENCE)

            return _cost(redis, pass_on, PASSED)[0]


def _standing_in_line() -> float:
    """Seconds that a real worker loses with each permit: one that changes them often is compared with one that never does."""
    with own_redis() as url, real_workers(url, 1, permit=10**6) as ledger:
        seldom = measured_rate(ledger)
    with own_redis() as url, real_workers(url, 1, permit=SHORT_PERMIT) as ledger:
        often = measured_rate(ledger)
    chunks = SHORT_PERMIT * seldom + 0.5  # of a permit: the one that passes its end is played too
    return max(0.0, chunks / often - chunks / seldom)


@contextmanager
def real_workers(url: str, number: int, permit: float | None = None) -> Iterator[Ledger]:
    """So many real workers of one process each, whose chunks take `PLAY` seconds, at work on a job without end."""
    settings = {"REDIS_URL": url, "CHUNK_BLOCKS": str(BLOCKS), "AUDIT_EVERY": "0"}
    if permit is not None:
        settings["PERMIT_SECONDS"] = str(permit)
    environment = os.environ | {f"BLOCKYARD_{name}": value for name, value in settings.items()}
    ledger = Ledger(connect(url), settings=Settings(redis_url=url))
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "deploy.scale.waiting_worker", f"worker-{place}", str(PLAY)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for place in range(number)
    ]  # fmt: skip
    try:
        _poll(lambda: len(ledger.workers()) == number)
        ledger.submit(_job())
        _poll(lambda: all(worker.chunks > 20 for worker in ledger.workers()))
        yield ledger
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()


def measured_rate(ledger: Ledger) -> float:
    """Chunks a second that the workers record."""

    def recorded() -> int:
        return sum(worker.chunks for worker in ledger.workers())

    begun, before = time.perf_counter(), recorded()
    time.sleep(WINDOW)
    chunks, passed = recorded() - before, time.perf_counter() - begun
    return chunks / passed


def real_rate(number: int) -> float:
    """Chunks a second of so many real workers."""
    with own_redis() as url, real_workers(url, number) as ledger:
        return measured_rate(ledger)


def predicted_rate(number: int, costs: Costs) -> float:
    """The same by the model, where a wait takes as long as it really does here."""
    plan = Plan(number, chunk=sleep_seconds(PLAY), to_a_worker=1, spread=0.0, seconds=30.0)
    return simulate(plan, costs).chunks_per_second
