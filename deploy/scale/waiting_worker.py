"""A real worker whose engine waits instead of playing: more of them than cores can be compared. Takes NAME and SECONDS.

All else is as ever: Celery, permits, leases, the ledger. Every chunk is answered with the result of the first.
"""

import sys
import time
from collections.abc import Callable

from workers.jobs import shift
from workers.jobs.play_range import Played, Table
from workers.jobs.spec import JobSpec


def wait_instead(seconds: float) -> None:
    """From now on this process's shifts, and those of its children, wait so long for each chunk."""

    class WaitingTable(Table):
        """Plays once."""

        def __init__(self, spec: JobSpec) -> None:
            super().__init__(spec)
            self._answer: Played | None = None

        def play(self, first: int, last: int, is_wanted: Callable[[], bool] = lambda: True) -> Played | None:
            """The same answer for all."""
            if self._answer is None:
                self._answer = super().play(first, last, is_wanted)
            time.sleep(seconds)
            return self._answer

    setattr(shift, "Table", WaitingTable)  # noqa: B010


if __name__ == "__main__":
    from workers.app import run_worker

    wait_instead(float(sys.argv[2]))
    run_worker(1, sys.argv[1])
