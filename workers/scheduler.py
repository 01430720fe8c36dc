"""The scheduler: a process of its own that starts and moves on regressions, calls webhooks, and forgets old jobs.

Any number of schedulers may run: whatever they do, they do once.
"""

import logging
import signal
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Final

from workers.errors import LedgerUnavailable
from workers.jobs.queue import open_ledger
from workers.jobs.upkeep import run_upkeep
from workers.logs import log_in_lines
from workers.regressions.runs import ADVANCE_SECONDS, Regressions
from workers.regressions.store import RegressionStore
from workers.regressions.webhook import deliver_due
from workers.settings import Settings

EXPIRE_SECONDS: Final = 60.0
SCHEDULE_SECONDS: Final = 1.0
WEBHOOK_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


def run() -> None:
    """Runs until SIGTERM or Ctrl-C; while Redis is away it waits. Raises `LedgerUnavailable` for a bad address."""
    settings = Settings()
    log_in_lines(settings.log_format)
    ledger = open_ledger(settings)
    store = RegressionStore(ledger)
    regressions = Regressions(store)
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # Calls to strangers may hang for seconds, which must not hold up the ledger: they get a thread of their own.
    deliver = partial(deliver_due, store, ledger.settings)
    Thread(target=_call_webhooks, args=(deliver, stop), name="webhooks", daemon=True).start()
    log.info("the scheduler runs")
    run_upkeep(
        ledger,
        stop,
        [
            (EXPIRE_SECONDS, ledger.expire),
            (SCHEDULE_SECONDS, regressions.start_due),
            (ADVANCE_SECONDS, regressions.advance),
        ],
    )


def _call_webhooks(deliver: Callable[[], int], stop: Event) -> None:
    while not stop.wait(WEBHOOK_SECONDS):
        try:
            deliver()
        except LedgerUnavailable:
            continue
        except Exception:
            log.exception("a webhook met an error; it is tried again")
