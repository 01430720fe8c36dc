"""The worker: a Celery process with children that play, and a thread that keeps the ledger moving."""

import logging
import os
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawValue
from time import monotonic, sleep
from typing import Any, Final

from celery import signals
from celery.concurrency.asynpool import AsynPool
from celery.concurrency.prefork import TaskPool
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning
from celery.worker import state as worker_state
from celery.worker.consumer import Consumer
from kombu.asynchronous.hub import Hub
from redis import RedisError

from workers.engine.compile import is_cold
from workers.engine.play import warm_up
from workers.errors import InvalidInput, LedgerUnavailable
from workers.jobs.ledger import NAME, Ledger
from workers.jobs.queue import make_app, open_ledger
from workers.jobs.upkeep import Outage, Upkeep
from workers.logs import log_in_lines
from workers.settings import Settings

log = logging.getLogger(__name__)

BURIAL_SECONDS: Final = 0.5
"""How often a worker looks for playing processes that have died, to put new ones in their places."""
REFUSAL_PAUSE: Final = 1.0
"""Seconds to wait when Redis answers but refuses to write, as without memory."""


@dataclass(frozen=True, slots=True)
class Station:
    """What a worker's processes know of the worker that they belong to; set before they are forked."""

    settings: Settings
    name: str
    stopping: Any
    """A byte in shared memory: 1 once the worker shall end."""


_station: Station | None = None


def station() -> Station:
    """The worker that this process belongs to."""
    if _station is None:
        raise RuntimeError("a permit is played only in a process that `run_worker` has started")
    return _station


def run_worker(processes: int, name: str | None = None) -> None:
    """Runs a worker with so many playing processes until SIGTERM, Ctrl-C or `drain`; they finish the chunks in their hands.

    Raises `LedgerUnavailable` when Redis does not answer at the start (later it is waited for), `InvalidInput` for a bad
    name or number.
    """
    global _station
    settings = Settings()
    name = name or f"{socket.gethostname()}-{os.getpid()}"
    if not NAME.fullmatch(name):
        raise InvalidInput.at("name", "must be letters, digits, and any of _ . @ - after the first")
    if processes < 1:
        raise InvalidInput.at("processes", f"must be at least 1, not {processes}")
    log_in_lines(settings.log_format)
    # Its reason is pickled messages from strangers; these workers take JSON alone.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    os.nice(settings.niceness)
    ledger = open_ledger(settings)
    ledger.ping()
    if is_cold():
        log.info("compiling the engine, once for this machine: this takes some seconds")
    warm_up()
    _station = Station(settings, name, RawValue("b", 0))
    _work(ledger, _station, processes)


def _work(ledger: Ledger, place: Station, processes: int) -> None:
    is_new, crowd = True, 1

    def beat() -> None:
        nonlocal is_new, crowd
        drains = ledger.beat(place.name, socket.gethostname(), os.getpid(), processes, is_new=is_new)
        if is_new:
            ledger.sweep()  # permits for it, without waiting for its turn
        is_new = False
        crowd = ledger.worker_count()
        if drains and not place.stopping.value:
            log.info("this worker drains: it ends once its hands are empty")
            place.stopping.value = 1
            # As SIGTERM does; 0 is the exit code.
            worker_state.should_stop = 0  # type: ignore[assignment]

    upkeep = Upkeep(ledger, [(place.settings.beat_seconds, beat)], lambda: crowd)

    def on_ready(**_: object) -> None:
        upkeep.start()
        log.info("worker %s is ready: %d processes", place.name, processes)

    def on_stopping(**_: object) -> None:
        place.stopping.value = 1

    signals.setup_logging.connect(_keep_logging)
    signals.worker_ready.connect(on_ready, weak=False)
    signals.worker_shutting_down.connect(on_stopping, weak=False)
    worker: Any = make_app(place.settings).Worker(
        hostname=f"blockyard@{place.name}", pool=PromptTaskPool, concurrency=processes, quiet=True, loglevel=logging.WARNING,
        without_gossip=True, without_mingle=True, without_heartbeat=True, consumer_cls=PatientConsumer,
    )  # fmt: skip
    # At every attempt these would say what the ledger's upkeep says once.
    logging.getLogger(Consumer.__module__).setLevel(logging.ERROR)
    logging.getLogger(Hub.__module__).addFilter(_is_new)
    # At every outage it would tell of a default that is set on purpose.
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)
    try:
        worker.start()
    finally:
        upkeep.stop()
        with suppress(LedgerUnavailable):
            ledger.leave(place.name)
    sys.exit(worker.exitcode or 0)


class PromptPool(AsynPool):
    """Celery's processes, those that die being replaced within half a second.

    By itself it looks when a process closes its files, which is mostly too early to find it dead, and then every five seconds.
    """

    @property
    def timers(self) -> dict[Callable[[], None], float]:
        """What the event loop calls, and every how many seconds."""
        return {self.maintain_pool: BURIAL_SECONDS}


class PromptTaskPool(TaskPool):
    """Celery's pool over these."""

    Pool = PromptPool


class PatientConsumer(Consumer):
    """Celery's consumer, which here comes back within two seconds of Redis and says once that it waits.

    By itself it would wait up to half a minute after a long outage, with a line for every attempt, and end where Redis
    refuses to write.
    """

    channel_errors: tuple[type[Exception], ...]

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """The connection is made anew."""
        super().on_connection_error_after_connected(exc)
        self._wait_where_redis_refuses(exc)

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """The same, where the new one failed before it was of use; that it is tried again has been said."""
        self._wait_where_redis_refuses(exc)

    def _wait_where_redis_refuses(self, error: Exception) -> None:
        # Redis without memory takes connections at once, and then refuses again.
        if isinstance(error, self.channel_errors):
            end = monotonic() + REFUSAL_PAUSE
            while monotonic() < end:
                worker_state.maybe_shutdown()
                sleep(REFUSAL_PAUSE / 10)

    def ensure_connected(self, conn: Any) -> Any:
        """The connection, as soon as Redis answers."""
        outage = Outage()
        conn.ensure_connection(
            lambda error, _: outage.failed(error), None, interval_start=0.25, interval_step=0.25, interval_max=2.0,
            callback=worker_state.maybe_shutdown,
        )  # fmt: skip
        self.first_connection_attempt = False
        return conn


def _is_new(record: logging.LogRecord) -> bool:
    """Whether a line tells more than that Redis refuses to write or does not answer."""
    return record.exc_info is None or not isinstance(record.exc_info[1], RedisError)


def _keep_logging(**_: object) -> None:
    """Celery leaves logging alone where somebody listens to this signal."""
