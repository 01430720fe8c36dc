"""Upkeep: what keeps the ledger moving, in every API, worker and scheduler process.

One process would do for all; every one does it, so that no death of others matters. What a sweep costs Redis grows with the
workers, so thousands of them that each swept would leave it no time for work: `deploy/scale` shows how much.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from threading import Event, Thread
from time import monotonic
from typing import Final

from workers.errors import LedgerUnavailable
from workers.jobs.ledger import Ledger

Duty = tuple[float, Callable[[], object]]
"""What is to be done, and every how many seconds."""

CROWD: Final = 8
"""Workers that each sweep and fold at their intervals; of more, each does so as much less often as there are more."""
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 5.0
FOLD_PATIENCE: Final = 1.0
"""Seconds without a fold by anybody else after which a process with other work folds itself."""

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


def run_upkeep(
    ledger: Ledger, stop: Event, more: Sequence[Duty] = (), crowd: Callable[[], int] = lambda: 1, *, fold_patience: float = 0.0
) -> None:
    """Does `more`, sweeps and folds at their intervals until `stop` is set; while Redis is away it waits.

    `crowd` tells how many processes of this kind do so. Folding is left to others as long as one of them has begun to within
    `fold_patience` seconds.
    """
    own, settings = len(more), ledger.settings
    duties: list[Duty] = [
        *more, (settings.sweep_seconds, ledger.sweep_in_turn), (settings.fold_seconds, partial(ledger.fold, fold_patience)),
    ]  # fmt: skip
    done = [-inf] * len(duties)
    outage = Outage()
    pause = 0.0

    def due(place: int) -> float:
        return done[place] + duties[place][0] * (1 if place < own else max(1.0, crowd() / CROWD))

    while not stop.wait(pause):
        try:
            for place, (_, duty) in enumerate(duties):
                if monotonic() >= due(place):
                    duty()
                    done[place] = monotonic()
            outage.worked()
            pause = max(0.0, min(map(due, range(len(duties)))) - monotonic())
        except LedgerUnavailable as error:
            pause = outage.failed(error)
        except Exception:
            log.exception("upkeep met an error and goes on")
            pause = LONGEST_PAUSE


class Upkeep:
    """The same in a thread of its own, beside work that others wait for: folding is left to a scheduler while one folds."""

    def __init__(self, ledger: Ledger, more: Sequence[Duty] = (), crowd: Callable[[], int] = lambda: 1) -> None:
        self._stop = Event()
        work = partial(run_upkeep, ledger, self._stop, more, crowd, fold_patience=FOLD_PATIENCE)
        self._thread = Thread(target=work, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begins, unless it has begun."""
        if not self._thread.is_alive():
            self._thread.start()

    def stop(self, patience: float = 5.0) -> None:
        """Ends after the present step; waits for that so many seconds."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(patience)
