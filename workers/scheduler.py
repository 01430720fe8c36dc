"""The scheduler: a process of its own that keeps the ledger moving and forgets old jobs, beside every API and worker."""

import logging
import signal
from threading import Event
from typing import Final

from workers.jobs.queue import open_ledger
from workers.jobs.upkeep import run_upkeep

EXPIRE_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


def run() -> None:
    """Runs until SIGTERM or Ctrl-C; while Redis is away it waits. Raises `LedgerUnavailable` for a bad address."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    log.setLevel(logging.INFO)
    ledger = open_ledger()
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    log.info("the scheduler runs")
    run_upkeep(ledger, stop, [(EXPIRE_SECONDS, ledger.expire)])
