"""Upkeep: what keeps the ledger moving, run by a thread of every API, worker and scheduler process."""

import logging
from collections.abc import Callable, Sequence
from threading import Event
from time import monotonic
from typing import Final

from workers.errors import LedgerUnavailable
from workers.jobs.ledger import Ledger

Duty = tuple[float, Callable[[], object]]
"""What is to be done, and every how many seconds."""

FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 5.0

log = logging.getLogger(__name__)


class Outage:
    """Waits longer from failure to failure, and says once that Redis is gone and once that it is back."""

    def __init__(self) -> None:
        self._pause = 0.0

    def failed(self, error: Exception) -> float:
        """Seconds to wait before the next attempt."""
        if not self._pause:
            log.warning("%s; trying again until it does", error)
        self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
        return self._pause

    def worked(self) -> None:
        """The ledger answered."""
        if self._pause:
            log.warning("Redis answers again")
        self._pause = 0.0


def run_upkeep(ledger: Ledger, stop: Event, more: Sequence[Duty] = ()) -> None:
    """Sweeps, folds and does `more` at their intervals until `stop` is set; while Redis is away it waits."""
    duties: list[Duty] = [
        (ledger.settings.sweep_seconds, ledger.sweep), (ledger.settings.fold_seconds, ledger.fold), *more,
    ]  # fmt: skip
    due = [0.0] * len(duties)
    outage = Outage()
    pause = 0.0
    while not stop.wait(pause):
        try:
            for place, (seconds, duty) in enumerate(duties):
                if monotonic() >= due[place]:
                    duty()
                    due[place] = monotonic() + seconds
            outage.worked()
            pause = max(0.0, min(due) - monotonic())
        except LedgerUnavailable as error:
            pause = outage.failed(error)
        except Exception:
            log.exception("upkeep met an error and goes on")
            pause = LONGEST_PAUSE
