"""A shift: what a worker process does with a permit for about a second: claim, play, record, and again."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from time import monotonic
from typing import Final

from workers.errors import LedgerUnavailable, NotFound
from workers.jobs.ledger import Ledger
from workers.jobs.play_range import Played, Table
from workers.jobs.records import Claim, Lease
from workers.logs import on_behalf_of

log = logging.getLogger(__name__)

TABLES: Final = 16
"""Jobs that a process keeps ready to be played."""
RENEWALS: Final = 3
"""Renewals in the time of a lease."""
DRAIN_PAUSE: Final = 0.2
"""Seconds before a draining worker passes a permit on, lest it go round at once."""
LATER_PAUSE: Final = 0.1
"""Seconds before the next claim where the work that is left is not yet to be had."""
RECORD_PAUSE: Final = 0.25


@dataclass(slots=True)
class _Turn:
    """One chunk being played."""

    lease: Lease
    slot: str
    generation: str
    busy_since: float
    is_wanted: bool = True


class Renewer:
    """The thread that renews the lease of the chunk that this process plays."""

    def __init__(self, ledger: Ledger, worker: str) -> None:
        self._ledger = ledger
        self._worker = worker
        self._changed = Condition()
        self._turn: _Turn | None = None
        Thread(target=self._work, name="renewer", daemon=True).start()

    def begin(self, lease: Lease, slot: str, generation: str) -> _Turn:
        """A chunk begins to be played."""
        with self._changed:
            self._turn = _Turn(lease, slot, generation, monotonic())
            self._changed.notify()
            return self._turn

    def end(self, turn: _Turn) -> float:
        """The chunk is played; answers the seconds since its last renewal."""
        with self._changed:
            self._turn = None
            return monotonic() - turn.busy_since

    def _work(self) -> None:
        pause = self._ledger.settings.lease_seconds / RENEWALS
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._turn is not None)
                turn = self._turn
            time.sleep(pause)
            with self._changed:
                if turn is None or turn is not self._turn:
                    continue
                now = monotonic()
                busy, turn.busy_since = now - turn.busy_since, now
            try:
                turn.is_wanted = self._ledger.renew(turn.lease, turn.slot, turn.generation, self._worker, busy)
            except LedgerUnavailable as error:
                with on_behalf_of(turn.lease.request_id):
                    log.info("a lease could not be renewed: %s", error, extra={"job": turn.lease.job_id})


class Shift:
    """A worker process at work. `is_stopping` tells that the worker shall end after the present chunk."""

    def __init__(self, ledger: Ledger, worker: str, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._worker = worker
        self._is_stopping = is_stopping
        self._renewer = Renewer(ledger, worker)
        self._tables: OrderedDict[tuple[str, str], Table] = OrderedDict()

    def work(self, slot: str, generation: str) -> str | None:
        """Works for about a second; answers the generation under which the permit is to be sent again, None if not at all."""
        end = monotonic() + self._ledger.settings.permit_seconds
        claim = self._ledger.claim(slot, generation, self._worker, is_message=True)
        while claim.outcome not in ("idle", "stale"):
            generation = claim.generation
            following: Claim | None = None
            if claim.outcome == "drain":
                time.sleep(DRAIN_PAUSE)
                return generation
            if claim.lease is None:
                time.sleep(LATER_PAUSE)
            else:
                following = self._turn(claim.lease, slot, generation, end)
            if following is None:
                if self._is_over(end):
                    return generation
                following = self._ledger.claim(slot, generation, self._worker)
            claim = following
        return None

    def _is_over(self, end: float) -> bool:
        return monotonic() >= end or self._is_stopping()

    def _turn(self, lease: Lease, slot: str, generation: str, end: float) -> Claim | None:
        """Plays and records a chunk; answers the next claim if there was time for one."""
        with on_behalf_of(lease.request_id):
            return self._play(self._renewer.begin(lease, slot, generation), end)

    def _play(self, turn: _Turn, end: float) -> Claim | None:
        lease = turn.lease
        played, reason = None, ""
        try:
            played = self._table(lease).play(lease.first, lease.last, lambda: turn.is_wanted)
        except (LedgerUnavailable, NotFound) as error:
            log.info("a chunk was left: %s", error, extra={"job": lease.job_id})
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            log.warning("job %s: blocks %d to %d raised %s", lease.job_id, lease.first, lease.last - 1, reason,
                        extra={"job": lease.job_id})  # fmt: skip
            log.debug("where it was raised", exc_info=True)
        finally:
            busy = self._renewer.end(turn)
        if reason:
            self._ledger.fail(lease, reason)
        elif played is not None:
            return self._record(turn, played, busy, end)
        return None

    def _record(self, turn: _Turn, played: Played, busy: float, end: float) -> Claim | None:
        """Offers the result again while Redis is away, for as long as a lease: it would only have to be played again."""
        give_up = monotonic() + self._ledger.settings.lease_seconds
        while True:
            try:
                if self._is_over(end):
                    self._ledger.record(turn.lease, played, self._worker, busy)
                    return None
                return self._ledger.record_and_claim(
                    turn.lease, played, self._worker, busy, turn.slot, turn.generation
                )[1]  # fmt: skip
            except LedgerUnavailable:
                if monotonic() > give_up:
                    raise
                time.sleep(RECORD_PAUSE)

    def _table(self, lease: Lease) -> Table:
        key = lease.job_id, lease.run
        if key not in self._tables:
            self._tables[key] = Table(self._ledger.spec(*key))
            log.info("this process begins to play job %s", lease.job_id, extra={"job": lease.job_id, "worker": self._worker})
            if len(self._tables) > TABLES:
                self._tables.popitem(last=False)
        self._tables.move_to_end(key)
        return self._tables[key]
